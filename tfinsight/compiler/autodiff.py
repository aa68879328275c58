"""The backward pass: its ops, and what it needs of the forward pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tfinsight.compiler.graph import (
    BRANCHES,
    CALLS,
    LOOPS,
    PLUMBING,
    named_operations,
    scoped_graphs,
)
from tfinsight.compiler.lines import LineMap
from tfinsight.compiler.tracing import graph_tensor, largest
from tfinsight.records import Backward, GraphTensor

_SHAPES = frozenset({"Shape", "ShapeN", "Size", "Rank", "VariableShape"})
# They give what lives anyway (arguments, variables), or a few numbers on a shape.
_NOT_KEPT = PLUMBING | _SHAPES | frozenset({"ReadVariableOp", "VarHandleOp"})
# They ask for a shape alone, at once, so that what they read can go.
_ASK_FOR_SHAPE = _SHAPES | frozenset({"ZerosLike", "OnesLike"})
_PASSING_ON = frozenset({"Identity", "IdentityN", "StopGradient", "PreventGradient"})


def backward_facts(concrete: Any, lines: LineMap) -> Backward | None:
    """Describes the backward pass in a traced graph, `None` where it has none.

    Kept is what an op of the forward pass computes and an op of the backward pass reads the values
    of, in any function that the graph runs; what a called function hands out for its own backward
    pass is the op in it that computes it. What a loop keeps has one element for each turn: its first
    dimension, and so its size, is known where the number of turns is (`tf.map_fn`).
    """
    computing = [
        lines.is_backward(name)
        for name, op in named_operations(concrete.graph)
        if op.type not in PLUMBING | CALLS
    ]
    if not any(computing):
        return None
    kept = _all_kept(concrete, lines)
    return Backward(
        forward_ops=computing.count(False),
        backward_ops=computing.count(True),
        kept=largest(kept),
        kept_count=len(kept),
        kept_bytes=sum(tensor.size_bytes or 0 for tensor in kept),
    )


def kept_by_line(concrete: Any, lines: LineMap) -> dict[int, int]:
    """Returns the bytes that the backward pass needs, by the line that computes them."""
    by_line: dict[int, int] = defaultdict(int)
    for tensor in _all_kept(concrete, lines):
        if tensor.line is not None:
            by_line[tensor.line] += tensor.size_bytes or 0
    return dict(by_line)


def _all_kept(concrete: Any, lines: LineMap) -> list[GraphTensor]:
    return list(dict(_kept(concrete.graph, "", lines, ())).values())


def _kept(
    graph: Any, prefix: str, lines: LineMap, turns: tuple[int | None, ...]
) -> Iterator[tuple[str, GraphTensor]]:
    """Yields what is kept, each under a name of its own; `turns` are those of the loops around."""
    for op in graph.get_operations():
        if lines.is_backward(prefix + op.name):
            for tensor in op.inputs if op.type not in _ASK_FOR_SHAPE else ():
                source, place = _source(tensor, prefix)
                if _is_kept(source, place, op, lines):
                    name = place + source.op.name
                    described = graph_tensor(source, name, lines.line(name))
                    yield place + source.name, _repeated(described, turns)
            continue
        around = (*turns, _turns(op)) if op.type in LOOPS else turns
        for scope, body in scoped_graphs(op):
            yield from _kept(body, prefix + scope, lines, around)


def _is_kept(source: Any, place: str, reader: Any, lines: LineMap) -> bool:
    if lines.is_backward(place + source.op.name):
        return False
    if source.op.type == "Placeholder":
        # A loop's variable has a new value each turn, all of which are handed over.
        return bool(reader.type == "TensorListPushBack" and source.dtype != tf.variant)
    # What a loop or a branch hands over is counted inside, where it is computed.
    handed_over = source.op.type in LOOPS | BRANCHES and source.dtype == tf.variant
    return source.op.type not in _NOT_KEPT and not handed_over


def _source(tensor: Any, prefix: str) -> tuple[Any, str]:
    """Returns the tensor that is handed on under another name, and the prefix of its own."""
    while True:
        op = tensor.op
        if op.type in _PASSING_ON:
            tensor = op.inputs[tensor.value_index]
            continue
        body = next(scoped_graphs(op), None) if op.type in CALLS else None
        if body is None:
            return tensor, prefix
        scope, graph = body
        inner, place = _source(graph.outputs[tensor.value_index], prefix + scope)
        arguments = [id(argument) for argument in graph.inputs]
        if place != prefix + scope or id(inner) not in arguments:
            return inner, place
        tensor = op.inputs[arguments.index(id(inner))]


def _turns(loop: Any) -> int | None:
    """Returns how often a loop runs at most, `None` where tracing doesn't know."""
    bound = tf.get_static_value(loop.inputs[1])
    return int(bound) if bound is not None and bound >= 0 else None


def _repeated(tensor: GraphTensor, turns: tuple[int | None, ...]) -> GraphTensor:
    """Returns a tensor of a loop's body as it is kept: once for each turn."""
    for count in reversed(turns):
        size = None if count is None or tensor.size_bytes is None else count * tensor.size_bytes
        shape = None if tensor.shape is None else (count, *tensor.shape)
        tensor = replace(tensor, shape=shape, size_bytes=size)
    return tensor
