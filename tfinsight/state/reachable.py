"""What a function can change, found by walking what it refers to: names, closures, objects."""

from __future__ import annotations

import collections
import functools
import io
import os
import random
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

# A container with more items is still kept itself, but its items are not looked into.
ITEMS_LOOKED_INTO = 10_000
_LIBRARY_PLACES = tuple(
    {
        os.path.realpath(sysconfig.get_path(key))
        for key in ("stdlib", "platstdlib", "purelib", "platlib")
    }
)
_PLAIN = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    types.ModuleType,
    tf.Tensor,
    tf.Variable,
)


def walk(roots: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields every object that `roots` lead to, once, with the name that leads to it.

    Looked into are functions (their globals, closures, defaults and attributes), containers and
    instances of classes that no library defines.

    Args:
        roots: name to object.
    """
    seen: dict[int, Any] = {}
    waiting = collections.deque(roots.items())
    while waiting:
        name, value = waiting.popleft()
        if id(value) in seen or isinstance(value, _PLAIN):
            continue
        seen[id(value)] = value
        yield name, value
        waiting.extend(_children(name, value))


def global_names(function: types.FunctionType) -> tuple[str, ...]:
    """Returns the global names that a function reads or assigns, functions inside it included."""
    return tuple(
        dict.fromkeys(name for code in _codes(function.__code__) for name in code.co_names)
    )


def is_own(module_name: str | None) -> bool:
    """Tells whether a module is the user's own: the notebook or a file that no library brought."""
    if module_name in (None, "builtins") or str(module_name).split(".")[0] == "tfinsight":
        return False
    module = sys.modules.get(str(module_name))
    path = getattr(module, "__file__", None)
    if path is None:
        return module_name == "__main__"
    return not os.path.realpath(path).startswith(_LIBRARY_PLACES)


def moves_on(value: object) -> str | None:
    """Returns in a word what `value` is if reading it changes it for good, or `None`."""
    if isinstance(value, (io.IOBase, types.GeneratorType)):
        return "file" if isinstance(value, io.IOBase) else "generator"
    if isinstance(value, (tf.data.Iterator, Iterator)) and not hasattr(value, "__len__"):
        return "iterator"
    return None


def _children(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    for kind, children in _CHILDREN:
        if isinstance(value, kind):
            return children(name, value)
    python_function = getattr(type(value), "python_function", None)
    if isinstance(python_function, property):  # what tf.function returns
        return [(name, value.python_function)]
    if is_own(type(value).__module__):
        return [(f"{name}.{key}", item) for key, item in getattr(value, "__dict__", {}).items()]
    return []


def _function_children(name: str, value: types.FunctionType) -> list[tuple[str, Any]]:
    found = [("", cell) for cell in value.__closure__ or ()]
    found += [(name, item) for item in value.__defaults__ or ()]
    found += list((value.__kwdefaults__ or {}).items()) + list(vars(value).items())
    if is_own(value.__module__) or value.__globals__.get("__name__") == "__main__":
        known = value.__globals__
        found += [(key, known[key]) for key in global_names(value) if key in known]
    names = value.__code__.co_freevars
    return [(names[i] if i < len(names) else key, item) for i, (key, item) in enumerate(found)]


def _cell_children(name: str, value: types.CellType) -> list[tuple[str, Any]]:
    try:
        return [(name, value.cell_contents)]
    except ValueError:  # empty
        return []


def _few(items: Iterable[tuple[str, Any]], count: int) -> Iterable[tuple[str, Any]]:
    return items if count <= ITEMS_LOOKED_INTO else ()


def _class_children(name: str, value: type) -> list[tuple[str, Any]]:
    if not is_own(value.__module__):
        return []
    return [(f"{name}.{key}", item) for key, item in vars(value).items() if key[:2] != "__"]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


# What is looked into, and how; the first kind that fits counts.
_CHILDREN: tuple[tuple[Any, Callable[[str, Any], Iterable[tuple[str, Any]]]], ...] = (
    (types.FunctionType, _function_children),
    (types.CellType, _cell_children),
    (types.MethodType, lambda name, v: [(name, v.__self__), (name, v.__func__)]),
    (functools.partial, lambda name, v: [(name, v.func), (name, v.args), (name, v.keywords)]),
    (type, _class_children),
    (Mapping, lambda name, v: _few(((f"{name}[{k!r}]", i) for k, i in v.items()), len(v))),
    (
        (list, tuple, set, frozenset, collections.deque),
        lambda name, v: _few(((name, item) for item in v), len(v)),
    ),
    ((np.ndarray, np.random.Generator, np.random.RandomState, random.Random), lambda *_: []),
)
