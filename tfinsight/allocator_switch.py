"""Complete memory figures on the CPU, where TensorFlow counts large allocations only, or none.

An environment variable decides, which TensorFlow reads once, when it creates its devices. It is set
until then and taken out again, so that the user's child processes do not inherit it. A value that the
user has set stays as it is.
"""

from __future__ import annotations

import os
import sys
from typing import Literal

VARIABLE = "TF_CPU_ALLOCATOR_USE_BFC"
# Imports nothing: a user's fresh kernel must not load TensorFlow with the extension.
_CONTEXT_MODULE = "tensorflow.python.eager.context"

Outcome = Literal["requested", "already set", "too late"]


class AllocatorRequest:
    """A request for complete figures, in force until it is withdrawn.

    Attributes:
        outcome: `requested`; `already set`, by the user or since the figures are complete; or `too
            late`, where TensorFlow has created its devices and counts only large allocations or none.
    """

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self._is_ours = outcome == "requested"

    def settle(self) -> None:
        """Takes the variable out again if TensorFlow has read it by now."""
        if devices_exist():
            self.withdraw()

    def withdraw(self) -> None:
        """Takes the variable out again if it was put in by this request."""
        if self._is_ours and os.environ.get(VARIABLE) == "1":
            del os.environ[VARIABLE]
        self._is_ours = False


def request_full_coverage() -> AllocatorRequest:
    """Asks TensorFlow for complete memory figures, if it has not created its devices yet."""
    if VARIABLE in os.environ:
        return AllocatorRequest("already set")
    if devices_exist():
        return AllocatorRequest("already set" if _is_complete() else "too late")
    os.environ[VARIABLE] = "1"
    return AllocatorRequest("requested")


def devices_exist() -> bool:
    """Tells whether TensorFlow has created its devices, without making it do so."""
    module = sys.modules.get(_CONTEXT_MODULE)
    # A module that is being imported may lack the name.
    current = getattr(module, "context_safe", lambda: None)()
    return bool(getattr(current, "_initialized", False))


def _is_complete() -> bool:
    """Tells whether a small allocation shows; the devices exist."""
    tf = sys.modules["tensorflow"]
    if tf.config.list_logical_devices("GPU"):
        return True  # its allocator counts everything
    try:
        before = tf.config.experimental.get_memory_info("CPU:0")["current"]
        small = tf.fill([64], 0.0)
        after = tf.config.experimental.get_memory_info("CPU:0")["current"]
    except ValueError:  # the allocator keeps no statistics
        return False
    del small
    return bool(after > before)
