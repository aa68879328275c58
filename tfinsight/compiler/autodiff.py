"""The backward pass: its ops, and what it needs of the forward pass."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tfinsight.compiler.graph import CALLS, PLUMBING
from tfinsight.compiler.lines import LineMap
from tfinsight.compiler.tracing import graph_tensor, largest, named_operations
from tfinsight.records import Backward, GraphTensor

# They give what lives anyway (arguments, variables), or a few numbers on a shape.
_NOT_KEPT = PLUMBING | frozenset(
    {"ReadVariableOp", "VarHandleOp", "Shape", "ShapeN", "Size", "Rank", "VariableShape"}
)
_PASSING_ON = frozenset({"Identity", "IdentityN", "StopGradient", "PreventGradient"})


def backward_facts(concrete: Any, lines: LineMap) -> Backward | None:
    """Describes the backward pass in a traced graph, `None` where it has none.

    Kept is what an op of the forward pass computes and an op of the backward pass reads. A function
    under `tf.function` in the forward pass hands out what its own backward pass needs, and is counted
    by what it hands out.
    """
    computing = [
        lines.is_backward(name)
        for name, op in named_operations(concrete.graph)
        if op.type not in PLUMBING | CALLS
    ]
    if not any(computing):
        return None
    kept = list(_kept(concrete, lines))
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
    for tensor in _kept(concrete, lines):
        if tensor.line is not None:
            by_line[tensor.line] += tensor.size_bytes or 0
    return dict(by_line)


def _kept(concrete: Any, lines: LineMap) -> Iterator[GraphTensor]:
    seen: set[str] = set()
    for op in concrete.graph.get_operations():
        if not lines.is_backward(op.name):
            continue
        for tensor in map(_source, op.inputs):
            forward = not lines.is_backward(tensor.op.name) and tensor.op.type not in _NOT_KEPT
            if forward and tensor.name not in seen:
                seen.add(tensor.name)
                yield graph_tensor(tensor, tensor.op.name, lines.line(tensor.op.name))


def _source(tensor: Any) -> Any:
    """Returns the tensor that is handed on under another name."""
    while tensor.op.type in _PASSING_ON:
        tensor = tensor.op.inputs[list(tensor.op.outputs).index(tensor)]
    return tensor
