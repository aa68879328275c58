"""How each kind of object is kept and put back: one literal table."""

from __future__ import annotations

import collections
import operator
import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tfinsight.state.reachable import global_names, is_own

RANDOM_STREAMS = (np.random.Generator, np.random.RandomState, random.Random)
# Puts an object back; returns whether it had changed.
Restore = Callable[[], bool]


def keepers(value: Any) -> list[Restore]:
    """Returns what puts `value` back as it is now; empty for what can't change or isn't kept."""
    found = [keep(value) for kind, keep in _KEEPERS if isinstance(value, kind)]
    if not found and is_own(type(value).__module__) and hasattr(value, "__dict__"):
        found.append(_keep_mapping(vars(value)))
    return found


def keep_random_streams() -> list[Restore]:
    """Returns what puts the global random streams of Python and NumPy back."""
    return [
        _keep_state(random.getstate, random.setstate),
        _keep_state(
            lambda: np.random.get_state(legacy=False),
            np.random.set_state,
            lambda state: state["state"]["pos"],
        ),
    ]


def _keep_sequence(value: Any) -> Restore:
    saved = list(value)

    def restore() -> bool:
        if len(value) == len(saved) and all(map(operator.is_, value, saved)):
            return False
        value.clear()
        value.extend(saved)
        return True

    return restore


def _keep_set(value: set[Any]) -> Restore:
    saved = set(value)

    def restore() -> bool:
        if len(value) == len(saved) and {id(v) for v in value} == {id(v) for v in saved}:
            return False
        value.clear()
        value.update(saved)
        return True

    return restore


def _keep_mapping(value: Any) -> Restore:
    saved = dict(value)

    def restore() -> bool:
        missing = object()
        same = len(value) == len(saved)
        if same and all(value.get(key, missing) is item for key, item in saved.items()):
            return False
        value.clear()
        value.update(saved)
        return True

    return restore


def _keep_array(value: np.ndarray) -> Restore:
    saved = value.copy()

    def restore() -> bool:
        if value.shape == saved.shape and _same(value, saved):
            return False
        if value.shape != saved.shape:
            value.resize(saved.shape, refcheck=False)
        value[...] = saved
        return True

    return restore


def _same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.hasobject:
        return all(map(operator.is_, left.ravel(), right.ravel()))
    return bool(np.array_equal(left, right, equal_nan=left.dtype.kind in "fc"))


def _keep_bytes(value: bytearray) -> Restore:
    saved = bytes(value)

    def restore() -> bool:
        changed = value != saved
        value[:] = saved
        return changed

    return restore


def _keep_cell(value: types.CellType) -> Restore:
    try:
        saved = value.cell_contents
    except ValueError:  # empty
        return lambda: False

    def restore() -> bool:
        if value.cell_contents is saved:
            return False
        value.cell_contents = saved
        return True

    return restore


def _keep_globals(value: types.FunctionType) -> Restore:
    """Keeps the bindings of the global names that a function of the user's own may assign."""
    known = value.__globals__
    if not (is_own(value.__module__) or known.get("__name__") == "__main__"):
        return lambda: False
    missing = object()
    saved = {name: known.get(name, missing) for name in global_names(value)}

    def restore() -> bool:
        changed = {n: v for n, v in saved.items() if known.get(n, missing) is not v}
        for name, item in changed.items():
            if item is missing:
                del known[name]
            else:
                known[name] = item
        return bool(changed)

    return restore


def _keep_class(value: type) -> Restore:
    if not is_own(value.__module__):
        return lambda: False
    saved = {key: item for key, item in vars(value).items() if key[:2] != "__"}

    def restore() -> bool:
        now = {key: item for key, item in vars(value).items() if key[:2] != "__"}
        for key in now.keys() - saved.keys():
            delattr(value, key)
        changed = [key for key, item in saved.items() if now.get(key, saved) is not item]
        for key in changed:
            setattr(value, key, saved[key])
        return bool(changed) or now.keys() != saved.keys()

    return restore


def _keep_state(
    get: Callable[[], Any], put: Callable[[Any], Any], compared: Callable[[Any], Any] = lambda s: s
) -> Restore:
    saved = get()

    def restore() -> bool:
        changed = bool(compared(get()) != compared(saved))
        put(saved)
        return changed

    return restore


def _keep_generator(value: np.random.Generator) -> Restore:
    bits = value.bit_generator

    def put(state: Any) -> None:
        bits.state = state

    return _keep_state(lambda: bits.state, put, repr)


_KEEPERS: tuple[tuple[Any, Callable[[Any], Restore]], ...] = (
    ((list, collections.deque), _keep_sequence),
    (set, _keep_set),
    (dict, _keep_mapping),
    (bytearray, _keep_bytes),
    (np.ndarray, _keep_array),
    (np.random.Generator, _keep_generator),
    (
        np.random.RandomState,
        lambda value: _keep_state(value.get_state, value.set_state, repr),
    ),
    (random.Random, lambda value: _keep_state(value.getstate, value.setstate)),
    (types.CellType, _keep_cell),
    (types.FunctionType, _keep_globals),
    (types.FunctionType, lambda value: _keep_mapping(vars(value))),
    (type, _keep_class),
)
