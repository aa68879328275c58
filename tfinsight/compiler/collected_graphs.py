"""The graphs that TensorFlow optimizes, as it hands them out when a function first runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tfinsight.tensorflow_private import resolve


class GraphTriple(NamedTuple):
    """The graphs of one function.

    Attributes:
        before: the `GraphDef` before optimization.
        after: the `GraphDef` after it, called functions inlined.
        partitions: what each device runs of it; oneDNN's ops are only here.
    """

    before: Any
    after: Any
    partitions: tuple[Any, ...]


@dataclass
class Collected:
    """What was collected; empty until the block has ended.

    Attributes:
        graphs: of the functions that were optimized, in order.
    """

    graphs: tuple[GraphTriple, ...] = field(default=())


@contextlib.contextmanager
def collecting() -> Iterator[Collected]:
    """Collects the graphs of functions that run for the first time until the block ends.

    TensorFlow hands out a function's graphs only when it instantiates it, and none for a function
    that XLA compiles, which Grappler leaves alone.
    """
    context = resolve("context")()
    collected = Collected()
    context.enable_graph_collection()
    try:
        yield collected
        graphs = context.export_run_metadata().function_graphs
        collected.graphs = tuple(
            GraphTriple(
                g.pre_optimization_graph, g.post_optimization_graph, tuple(g.partition_graphs)
            )
            for g in graphs
        )
    finally:
        context.disable_graph_collection()


def matching(graphs: Sequence[GraphTriple], concrete: Any) -> GraphTriple | None:
    """Returns the graphs of a concrete function: those with most names in common with it."""
    names = {op.name for op in concrete.graph.get_operations()}

    def common(triple: GraphTriple) -> int:
        return sum(node.name in names for node in triple.before.node)

    best = max(graphs, key=common, default=None)
    return best if best is not None and common(best) else None
