"""A graph's nodes with the functions that it runs in place, as TensorFlow puts them before optimizing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tfinsight.compiler.graph import CALLS, FUNCTIONS
from tfinsight.compiler.origins import canonical

# Lowering a loop or a branch leaves nodes that carry values in, out and around; each ends in a number.
_CARRYING = re.compile(r"/_\d+$")


def inlined(definition: Any, kept: Callable[[str], bool] = lambda _: False) -> dict[str, Any]:
    """Returns the nodes of a graph by name, those of the functions that it runs in place.

    Bodies of loops and branches have the names that `canonical` makes of those in the optimized
    graph (`while/body/while/Sin`); the loop and the branch themselves are gone, as they are there.

    Args:
        definition: the `GraphDef`.
        kept: tells whether a loop or branch of this name stays as it is, as some do.
    """
    functions = {function.signature.name: function for function in definition.library.function}
    nodes = _nodes(definition.node, functions, "", {}, kept)
    return {node.name: node for node in nodes}


def lowered(definition: Any) -> dict[str, Any]:
    """Returns the nodes of an optimized graph by canonical name, those that only carry left out."""
    return {
        canonical(node.name): node
        for node in definition.node
        if not _CARRYING.search(node.name) or node.op == "Const"
    }


def data_inputs(node: Any) -> list[str]:
    """Returns the names of the nodes whose results a node reads."""
    return [name.split(":")[0] for name in node.input if name[:1] != "^"]


def _nodes(
    nodes: Iterable[Any],
    functions: Mapping[str, Any],
    prefix: str,
    arguments: Mapping[str, str],
    kept: Callable[[str], bool],
) -> Iterator[Any]:
    for node in nodes:
        copy = type(node)()
        copy.CopyFrom(node)
        copy.name = prefix + node.name
        if prefix:
            copy.input[:] = [_outer(name, prefix, arguments) for name in node.input]
        bodies = [
            (scope, functions[name]) for scope, name in _function_names(node) if name in functions
        ]
        if not bodies or (node.op not in CALLS and kept(copy.name)):
            yield copy
            continue
        for scope, function in bodies:
            given = [argument.name for argument in function.signature.input_arg]
            # What a loop's body reads differs from turn to turn, and a branch may not be taken.
            passed = dict(zip(given, copy.input, strict=False)) if node.op in CALLS else {}
            inside = f"{copy.name}/{scope}"
            yield from _nodes(function.node_def, functions, inside, passed, kept)


def _function_names(node: Any) -> Iterator[tuple[str, str]]:
    """Yields the functions that a node runs, each with the scope that lowering gives to its nodes."""
    for attribute, scope in FUNCTIONS.get(node.op, ()):
        value = node.attr[attribute]
        for index, function in enumerate(value.list.func or [value.func]):
            yield scope.format(index), function.name


def _outer(name: str, prefix: str, arguments: Mapping[str, str]) -> str:
    control, base = name[:1] == "^", name.lstrip("^").split(":")[0]
    found = arguments.get(base, prefix + base)
    return f"^{found}" if control else found
