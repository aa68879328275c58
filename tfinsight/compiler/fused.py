"""Ops that became one: by Grappler in the optimized graph, by oneDNN in what each device runs of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, Literal, NamedTuple

from tfinsight.compiler.collected_graphs import GraphTriple
from tfinsight.compiler.graph import PLUMBING
from tfinsight.compiler.inlined import data_inputs, lowered
from tfinsight.compiler.lines import LineMap
from tfinsight.compiler.origins import canonical
from tfinsight.records import FusedOp

_FUSED_KIND = re.compile(r"^_(MklNative|Mkl|OneDnn)?(Quantized)?Fused(?P<base>[A-Z]\w*?)(Ex|V\d)?$")
# Grappler puts functions of one element each that follow one another into one op.
_COMPOSITION = "_UnaryOpsComposition"
_COMPOSITION_END = "/unary_ops_composition"
# oneDNN computes the gradients of a convolution's filter and of its bias together.
_WITH_BIAS = re.compile(r"^_Mkl\w*(?P<base>Conv\dDBackpropFilter)WithBias$")


class Replacement(NamedTuple):
    """A fused op, and the ops that it stands for.

    Attributes:
        fused: the op.
        names: of the ops before.
    """

    fused: FusedOp
    names: frozenset[str]


def replacements(
    triple: GraphTriple, before: Mapping[str, Any], lines: LineMap
) -> list[Replacement]:
    """Returns the fused ops; one that Grappler made and oneDNN runs is listed once, as Grappler's.

    Args:
        triple: the function's graphs.
        before: nodes before optimization by name, functions in place.
        lines: of the cell.
    """
    found: dict[str, Replacement] = {}
    after = lowered(triple.after)
    known: dict[str, Any] = {**before, **after}
    makers: list[tuple[Literal["Grappler", "oneDNN"], Any, Mapping[str, Any]]] = [
        ("Grappler", triple.after, before)
    ]
    # oneDNN works on what Grappler left.
    makers += [("oneDNN", graph, known) for graph in triple.partitions]
    for by, graph, earlier in makers:
        left = {canonical(node.name) for node in graph.node}
        for node in graph.node:
            kinds = _members(node)
            if kinds and node.name not in found:
                names = frozenset(_names(node, kinds, earlier, left))
                fused = FusedOp(node.name, node.op, kinds, by, lines.lines(sorted(names)))
                found[node.name] = Replacement(fused, names)
    return list(found.values())


def is_fused(node: Any) -> bool:
    """Tells whether a node stands for several ops."""
    return bool(_members(node))


def name_before(name: str) -> str:
    """Returns the name of the op that a pass replaced under a name of its own making."""
    scope, _, end = name.rpartition("/")
    outer, _, optimizer = scope.rpartition("/")
    if not optimizer.endswith("Optimizer") or "_" not in end:
        return name
    old = end.split("_", 1)[1]
    return f"{outer}/{old}" if outer else old


def _members(node: Any) -> tuple[str, ...]:
    """Returns the kinds of the ops in a fused one, first to last; of others, nothing."""
    if node.op == _COMPOSITION:
        return tuple(name.decode() for name in node.attr["op_names"].list.s)
    if with_bias := _WITH_BIAS.match(node.op):
        return (with_bias["base"], "BiasAddGrad")
    matched = _FUSED_KIND.match(node.op)
    if matched is None:
        return ()
    fused = [name.decode() for name in node.attr["fused_ops"].list.s]
    activation = node.attr["activation_mode"].s.decode()
    if activation and activation != "Identity":
        fused.append(activation)
    base = {"BatchNorm": "FusedBatchNormV3"}.get(matched["base"], matched["base"])
    return (base, *fused)


def _names(node: Any, kinds: Sequence[str], before: Mapping[str, Any], left: Set[str]) -> set[str]:
    name = canonical(node.name)
    if node.op == _COMPOSITION:
        return _chain(name_before(name.removesuffix(_COMPOSITION_END)), kinds, before)
    if _WITH_BIAS.match(node.op):
        return {name, *_bias_gradients(name, before, left)}
    return _gone_before(name, len(kinds), before, left)


def _chain(last: str, kinds: Sequence[str], before: Mapping[str, Any]) -> set[str]:
    """Returns the ops of these kinds that lead to the last one, each the first input of the next."""
    names: set[str] = set()
    name = last
    for kind in reversed(kinds):
        # In between there may be what is gone without a trace, such as a sum with 0.
        while name in before and before[name].op not in _kinds_before(kind):
            name = _first_input(before[name])
        if name not in before:
            break
        names.add(name)
        name = _first_input(before[name])
    return names


def _first_input(node: Any) -> str:
    return next(iter(data_inputs(node)), "")


def _kinds_before(kind: str) -> tuple[str, ...]:
    return (kind, "Mul") if kind == "Square" else (kind,)


def _bias_gradients(name: str, before: Mapping[str, Any], left: Set[str]) -> set[str]:
    """Returns the gradients of a bias that read what the gradient of a filter reads and are gone."""
    read = set(data_inputs(before[name])) if name in before else set()
    return {
        other
        for other, node in before.items()
        if node.op == "BiasAddGrad" and other not in left and read & set(data_inputs(node))
    }


def _gone_before(name: str, count: int, before: Mapping[str, Any], left: Set[str]) -> set[str]:
    """Returns the op of this name, and those that led to it and are gone, `count` in all at most."""
    names, waiting = {name}, [name]
    while waiting and len(names) < count:
        node = before.get(waiting.pop())
        for read in () if node is None else data_inputs(node):
            gone = read in before and read not in left and before[read].op not in PLUMBING
            if gone and read not in names and len(names) < count:
                names.add(read)
                waiting.append(read)
    return names
