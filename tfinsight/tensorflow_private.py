"""Every touch of a private part of TensorFlow, each with its reason; no other module has one.

`NAMES` lists what is used. `missing()` tells what the installed TensorFlow no longer has, and each
use of a missing name raises `TensorFlowMovedError`, which names it and the reason it is needed.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class TensorFlowMovedError(RuntimeError):
    """A private part of TensorFlow that tfinsight needs is not where it was in version 2.21."""


class PrivateName(NamedTuple):
    """A private module or attribute and what it is needed for."""

    module: str
    attribute: str
    reason: str


# fmt: off
NAMES: dict[str, PrivateName] = {
    "map_fn": PrivateName(
        "tensorflow.python.ops.map_fn", "map_fn",
        "seeing calls of tf.map_fn under any alias, with tf.map_fn itself untouched"),
    "pfor": PrivateName(
        "tensorflow.python.ops.parallel_for.control_flow_ops", "pfor",
        "seeing calls of tf.vectorized_map under any alias"),
}
# fmt: on


def resolve(key: str) -> Any:
    """Returns the private object listed under `key` in `NAMES`.

    Raises:
        TensorFlowMovedError: the installed TensorFlow does not have it.
    """
    name = NAMES[key]
    try:
        return getattr(importlib.import_module(name.module), name.attribute)
    except (ImportError, AttributeError):
        import tensorflow as tf

        raise TensorFlowMovedError(
            f"TensorFlow {tf.__version__} has no {name.module}.{name.attribute}, which tfinsight "
            f"needs for {name.reason}. It was written for TensorFlow 2.21."
        ) from None


def missing() -> tuple[str, ...]:
    """Returns what the installed TensorFlow no longer has, a sentence each; empty if all is well."""
    problems = []
    for key in NAMES:
        try:
            resolve(key)
        except TensorFlowMovedError as error:
            problems.append(str(error))
    return tuple(problems)
