"""A snapshot of what the user's code may change, cheap to put back before every call."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight.state.keepers import RANDOM_STREAMS, Restore, keep_random_streams, keepers
from tfinsight.state.process import deferred_interrupts, reseed
from tfinsight.state.reachable import moves_on, walk
from tfinsight.tensorflow_private import resolve

# Arrays are copied up to so much in all; TensorFlow's variables are shared until they change.
COPIED_ARRAY_BYTES = 2**30


class Snapshot:
    """What was there when it was taken.

    Attributes:
        uncovered: what is not put back, a phrase each.
        not_repeatable: what reading changes for good, a phrase each.
        changed_objects: the Python objects that have been put back so far, by name.
        streams_moved: random streams of Python or NumPy have been put back so far.
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.uncovered: tuple[str, ...] = ()
        self.not_repeatable: tuple[str, ...] = ()
        self._variables = {id(v): _Variable(v) for v in _living_variables()}
        self.changed_objects: tuple[str, ...] = ()
        self.streams_moved = False
        self._entries: list[tuple[str, Restore]] = []
        self._often: list[Restore] = []
        self._streams: list[Restore] = keep_random_streams()
        self._keep(roots)

    def restore(self) -> None:
        """Puts everything back."""
        with deferred_interrupts():
            for variable in self._variables.values():
                variable.restore()
            # What changed once will change again: it alone is put back before each call.
            changed = {name: restore for name, restore in self._entries if restore()}
            self._often += changed.values()
            self._entries = [e for e in self._entries if e[1] not in changed.values()]
            self.changed_objects += tuple(changed)
            self.restore_changing()

    def restore_changing(self) -> None:
        """Puts back what has changed before, and the random streams; cheap."""
        for variable in self._variables.values():
            if variable.changes:
                variable.restore()
        for restore in self._often:
            restore()
        if True in [restore() for restore in self._streams]:  # all of them are put back
            self.streams_moved = True
        reseed()

    def changed_variables(self) -> tuple[Any, ...]:
        """Returns the variables whose values are not those of the snapshot."""
        found = [v for v in self._variables.values() if v.differs()]
        return tuple(variable.variable for variable in found)

    def created_variables(self) -> tuple[Any, ...]:
        """Returns the variables that came into being after the snapshot."""
        return tuple(v for v in _living_variables() if id(v) not in self._variables)

    def _keep(self, roots: Mapping[str, Any]) -> None:
        copied = 0
        uncovered, moving = [], []
        for name, value in walk(roots):
            if (what := moves_on(value)) is not None:
                moving.append(f"the {what} `{name}`")
            elif isinstance(value, np.ndarray):
                copied += value.nbytes
                if copied > COPIED_ARRAY_BYTES:
                    copied -= value.nbytes
                    uncovered.append(f"the array `{name}`, which is too large to be copied")
                elif value.flags.writeable:
                    self._entries += [(name, keep) for keep in keepers(value)]
            elif isinstance(value, RANDOM_STREAMS):
                self._streams += keepers(value)
            else:
                self._entries += [(name, keep) for keep in keepers(value)]
        self.uncovered, self.not_repeatable = tuple(uncovered), tuple(dict.fromkeys(moving))


class _Variable:
    """A variable with its value at the snapshot.

    The value shares the variable's buffer until the variable is written to; one that turns out to
    change is kept as a copy, so that its memory is the same as without the snapshot.
    """

    def __init__(self, variable: Any) -> None:
        self.variable = variable
        self.changes = False
        self._saved: Any = variable.read_value()

    def differs(self) -> bool:
        """Whether the value is another than at the snapshot."""
        if not self.variable.is_initialized():
            return False
        now, saved = _view(self.variable.read_value()), _view(self._saved)
        if now.shape != saved.shape:
            return True
        if now.ctypes.data == saved.ctypes.data:  # one buffer: it was not written to
            return False
        return not np.array_equal(now, saved, equal_nan=now.dtype.kind in "fc")

    def restore(self) -> None:
        """Puts the value back where it changed."""
        if not self.changes and not self.differs():
            return
        if not self.changes:
            self._saved, self.changes = self._saved.numpy(), True
        self.variable.assign(self._saved, read_value=False)


def _view(value: Any) -> np.ndarray:
    """Returns a tensor's values, without copying them where that is possible."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError, BufferError):  # strings, bfloat16, on another device
        return np.asarray(value.numpy())


def take(roots: Mapping[str, Any]) -> Snapshot:
    """Keeps what may change while code runs that refers to `roots`.

    Args:
        roots: name to function, container or object; everything reachable from them is kept, and
            all of TensorFlow's variables.
    """
    return Snapshot(roots)


def _living_variables() -> Iterator[Any]:
    kind = resolve("BaseResourceVariable")
    unread = resolve("UnreadVariable")
    for value in gc.get_objects():
        # The class and not isinstance: other objects may answer to __class__ with side effects.
        if (
            issubclass(type(value), kind)
            and not issubclass(type(value), unread)
            and _readable(value)
        ):
            yield value


def _readable(variable: Any) -> bool:
    try:
        return tf.executing_eagerly() and bool(variable.is_initialized())
    except Exception:  # of a graph that is not run eagerly, or deleted on a device
        return False
