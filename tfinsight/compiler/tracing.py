"""The graph as Python traced it: its ops by kind and by line, its constants, what it captures."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tfinsight.compiler.graph import CALLS, PLUMBING, named_operations, operations
from tfinsight.compiler.lines import LineMap
from tfinsight.records import GraphFacts, GraphTensor, Tracing

MOST_TENSORS = 20


def tracing_facts(concrete: Any, facts: GraphFacts, lines: LineMap) -> Tracing:
    """Describes the graph of a concrete function before any optimization.

    Args:
        concrete: the concrete function.
        facts: what is known of its graph already.
        lines: of the cell.
    """
    graph = concrete.graph
    ops = list(operations(graph))
    constants = [_tensor(op.outputs[0], lines) for op in ops if op.type == "Const"]
    captured = [
        _tensor(inside, lines)
        for outside, inside in graph.captures
        if not inside.dtype.is_compatible_with("resource")
    ]
    variables = [_variable(variable) for variable in concrete.variables]
    return Tracing(
        op_count=facts.op_count,
        function_count=len({id(op.graph) for op in ops}) - 1,
        kinds=dict(facts.op_kinds),
        placed=sum(lines.line(op.name) is not None for op in ops),
        constants=largest(constants),
        constant_bytes=sum(constant.size_bytes or 0 for constant in constants),
        captured=largest(captured),
        variables=largest(variables),
    )


def ops_by_line(concrete: Any, lines: LineMap) -> tuple[dict[int, int], dict[int, int]]:
    """Counts ops by the line that they come from.

    Counted is what computes: not arguments, constants and identities, and of a call the ops of the
    function in place of the call itself.

    Returns:
        ops of the forward pass by line, and ops of the backward pass.
    """
    forward: Counter[int] = Counter()
    backward: Counter[int] = Counter()
    for name, op in named_operations(concrete.graph):
        line = lines.line(name)
        if line is not None and op.type not in PLUMBING | CALLS:
            (backward if lines.is_backward(name) else forward)[line] += 1
    return dict(forward), dict(backward)


def graph_tensor(tensor: Any, name: str, line: int | None) -> GraphTensor:
    """Describes a symbolic tensor."""
    return _described(tensor, name, tensor.op.type, line)


def largest(tensors: list[GraphTensor]) -> tuple[GraphTensor, ...]:
    """Returns the largest tensors, largest first."""
    return tuple(sorted(tensors, key=lambda t: (-(t.size_bytes or 0), t.name))[:MOST_TENSORS])


def _tensor(tensor: Any, lines: LineMap) -> GraphTensor:
    return graph_tensor(tensor, tensor.op.name, lines.line(tensor.op.name))


def _variable(variable: Any) -> GraphTensor:
    return _described(variable, variable.name.split(":")[0], "VarHandleOp", None)


def _described(value: Any, name: str, kind: str, line: int | None) -> GraphTensor:
    """Describes a tensor or a variable by its static shape."""
    shape, dtype = value.shape, value.dtype.base_dtype
    count = shape.num_elements()
    return GraphTensor(
        name=name,
        op=kind,
        dtype=dtype.name,
        shape=None if shape.rank is None else tuple(shape.as_list()),
        size_bytes=count * dtype.size if count is not None and dtype.size else None,
        line=line,
    )
