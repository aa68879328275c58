"""Facts of a traced graph, the functions inside it included."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from tfinsight.records import GraphFacts
from tfinsight.tensorflow_private import function_graph

HOST_CALLBACKS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
# Ops that draw from a stream with a state of its own; stateless ones repeat by design.
RANDOM = re.compile(
    r"Random(?!Dataset)|Stateful(?!Partitioned)|TruncatedNormal|Multinomial|Rng(ReadAndSkip|Skip)"
    r"|CandidateSampler|SampleDistortedBoundingBox"
)
LOOPS = frozenset({"While", "StatelessWhile"})
BRANCHES = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
# Kind of op to the attributes that name the functions it runs, each with the scope that lowering gives
# to their ops: both branches of a condition may hold an op of one name (`cond/then/cond/Sin`).
FUNCTIONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(CALLS, (("f", ""),)),
    **dict.fromkeys(LOOPS, (("cond", "cond/"), ("body", "body/"))),
    **dict.fromkeys(("If", "StatelessIf"), (("then_branch", "then/"), ("else_branch", "else/"))),
    **dict.fromkeys(("Case", "StatelessCase"), (("branches", "branch{}/"),)),
}
# Ops that no user wrote: they carry values in and out of a graph or a function.
PLUMBING = frozenset({"Placeholder", "NoOp", "Identity", "IdentityN", "Const", "_Arg", "_Retval"})
# How vectorized_map names the loop that it runs for an op without a vectorized form.
FALLBACK = re.compile(r"(?P<op>[^/]+)/pfor/while(_\d+)?$")
# A loop of the user's own that vectorized_map made into one loop over the whole batch.
OWN_LOOP = re.compile(r"^(while|cond|map)(_\d+)?$", re.IGNORECASE)


def graph_facts(concrete: Any) -> GraphFacts:
    """Describes the graph of a concrete function before any optimization."""
    definition = concrete.graph.as_graph_def()
    nodes = list(_nodes(definition))
    kinds = Counter(node.op for node in nodes)
    constants = sorted(
        ((_constant_bytes(n), n.name) for n in nodes if n.op == "Const"), reverse=True
    )
    largest = constants[0] if constants else (0, "")
    return GraphFacts(
        op_count=len(nodes),
        op_kinds=dict(kinds.most_common()),
        fallback_ops=tuple(dict.fromkeys(_fallbacks(definition))),
        host_callbacks=tuple(sorted(HOST_CALLBACKS & set(kinds))),
        random_ops=random_ops(kinds),
        loops=sum(kinds[kind] for kind in LOOPS),
        constant_bytes=sum(size for size, _ in constants),
        largest_constant=largest[1],
        largest_constant_bytes=largest[0],
    )


def random_ops(kinds: Any) -> tuple[str, ...]:
    """Returns those of `kinds` that draw random numbers from a stream with a state."""
    drawing = [k for k in kinds if RANDOM.search(k) and not k.startswith("Stateless")]
    return tuple(sorted(drawing))


def draws_statelessly(kinds: Iterable[str]) -> bool:
    """Tells whether any of `kinds` draws random numbers from a seed that is an input."""
    return any(kind.startswith("StatelessRandom") for kind in kinds)


def working_op_count(concrete: Any) -> int:
    """Returns the number of ops that do something, functions inside included."""
    return sum(node.op not in PLUMBING for node in _nodes(concrete.graph.as_graph_def()))


def live_bytes_bound(concrete: Any) -> tuple[int, bool]:
    """Bounds the bytes that a graph's results need at one time, from static shapes.

    Ops are taken in the order of tracing; a tensor lives from the op that makes it to the last that
    reads it, or to the end if it is a result. This is what an executor without in-place updates
    needs at least when it runs the ops one by one in that order.

    Returns:
        the bytes, and whether every shape was known.
    """
    graph = concrete.graph
    operations = graph.get_operations()
    last_use = {t.name: i for i, op in enumerate(operations) for t in op.inputs}
    kept = {tensor.name for tensor in graph.outputs}
    live = peak = 0
    known = True
    ends: dict[int, int] = {}
    for index, op in enumerate(operations):
        for tensor in op.outputs if op.type not in PLUMBING else ():
            size = _static_bytes(tensor)
            known = known and size is not None
            live += size or 0
            if tensor.name not in kept:
                end = last_use.get(tensor.name, index)
                ends[end] = ends.get(end, 0) + (size or 0)
        peak = max(peak, live)
        live -= ends.pop(index, 0)
    return peak, known


def scoped_graphs(op: Any) -> Iterator[tuple[str, Any]]:
    """Yields the graphs that a call, a loop or a branch runs, each with the scope of its ops.

    The same scope stands in the optimized graph and in the profiler's trace, with a number behind
    (see `origins.canonical`).
    """
    for attribute, scope in FUNCTIONS.get(op.type, ()):
        value = op.get_attr(attribute)
        for index, function in enumerate(value if isinstance(value, (list, tuple)) else [value]):
            graph = function_graph(op.graph, function.name)
            if graph is not None:  # a function that was loaded may have none
                yield f"{op.name}/{scope.format(index)}", graph


def operations(graph: Any) -> Iterator[Any]:
    """Returns all ops of a traced graph, bodies of called functions included, each body once a call."""
    return (op for _, op in named_operations(graph))


def named_operations(graph: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields all ops of a graph and of the functions that it runs, by the names of the calls."""
    for op in graph.get_operations():
        yield prefix + op.name, op
        for scope, body in scoped_graphs(op):
            yield from named_operations(body, prefix + scope)


def _nodes(definition: Any) -> Iterator[Any]:
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def _constant_bytes(node: Any) -> int:
    tensor = node.attr["value"].tensor
    size = tf.dtypes.as_dtype(tensor.dtype).size or 0
    return int(math.prod(d.size for d in tensor.tensor_shape.dim)) * size


def _fallbacks(definition: Any) -> Iterator[str]:
    bodies = {f.signature.name: {n.op for n in f.node_def} for f in definition.library.function}
    for node in _nodes(definition):
        found = FALLBACK.search(node.name) if node.op in LOOPS else None
        if found is None or OWN_LOOP.match(found["op"]):
            continue
        name = re.sub(r"_\d+$", "", found["op"])
        # The loop's body holds the op itself; its kind says more than a name that users can choose.
        body = bodies.get(node.attr["body"].func.name, set())
        yield next((kind for kind in body if kind.lower() == name.lower()), name)


def _static_bytes(tensor: Any) -> int | None:
    count = tensor.shape.num_elements()
    if count is None or tensor.dtype.base_dtype in (tf.resource, tf.variant, tf.string):
        return None if count is None else 0
    return int(count) * int(tensor.dtype.base_dtype.size)
