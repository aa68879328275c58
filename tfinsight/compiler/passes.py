"""What each pass of the graph optimizer does alone to a graph as traced."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tfinsight.records import PassShare
from tfinsight.tensorflow_private import resolve

# Grappler's default order, as its own log gives it (TF_CPP_VMODULE=meta_optimizer=1), under the names
# that its configuration takes.
PASSES = (
    "pruning",
    "function",
    "common_subgraph_elimination",
    "constfold",
    "shape",
    "arithmetic",
    "layout",
    "remap",
    "loop",
    "dependency",
    "memory",
)


def pass_shares(before: Any, fetches: Sequence[str], device: str) -> tuple[PassShare, ...]:
    """Runs each pass alone on a graph.

    Args:
        before: the `GraphDef` before optimization.
        fetches: names of the nodes whose results are wanted.
        device: full name of the device that nodes without one are placed on: fusing does nothing to
            nodes that have none.
    """
    placed = type(before)()
    placed.CopyFrom(before)
    for node in placed.node:
        node.device = node.device or device
    return tuple(_share(name, placed, fetches) for name in PASSES)


def _share(name: str, graph: Any, fetches: Sequence[str]) -> PassShare:
    config = resolve("ConfigProto")()
    options = config.graph_options.rewrite_options
    options.optimizers.append(name)
    options.min_graph_nodes = -1
    options.meta_optimizer_iterations = 1
    metagraph = resolve("MetaGraphDef")()
    metagraph.graph_def.CopyFrom(graph)
    wanted = metagraph.collection_def["train_op"].node_list.value
    wanted.extend(fetches)
    started = time.perf_counter()
    after = resolve("optimize_graph")(config, metagraph)
    seconds = time.perf_counter() - started
    known = {node.name: node for node in graph.node}
    changed = sum(
        node.name not in known
        or node.op != known[node.name].op
        or list(node.input) != list(known[node.name].input)
        for node in after.node
    )
    return PassShare(name, len(graph.node), len(after.node), changed, seconds)
