"""The same function with its constants fed as inputs, so that nothing can be folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfinsight.compiler.collected_graphs import GraphTriple
from tfinsight.compiler.grappler import folded_inputs


def unfolded_function(
    triple: GraphTriple, concrete: Any, arguments: Sequence[Any]
) -> Callable[[], Any] | None:
    """Returns a call that computes what `concrete` computes, and computes again what was folded.

    Args:
        triple: the graphs of the function, which tell what was folded.
        concrete: the concrete function.
        arguments: its inputs.

    Returns:
        the call; `None` where nothing was folded.
    """
    names = folded_inputs(triple)
    if not names:
        return None
    graph = concrete.graph
    constants = [tf.constant(_value(graph, name)) for name in names]
    fed = [*tf.nest.flatten(arguments, expand_composites=True), *concrete.captured_inputs]
    given = [tensor.name for tensor in graph.inputs]
    wanted = [tensor.name for tensor in graph.outputs]
    updates = [op.name for op in graph.get_operations() if not op.outputs and op.type != "NoOp"]
    definition = graph.as_graph_def()

    def unfolded(constants: Sequence[Any], fed: Sequence[Any]) -> Any:
        fed_by_name = {f"{n}:0": c for n, c in zip(names, constants, strict=True)}
        fed_by_name |= dict(zip(given, fed, strict=True))
        return tf.graph_util.import_graph_def(
            definition, input_map=fed_by_name, return_elements=[*wanted, *updates], name=""
        )[: len(wanted)]

    compiled = tf.function(unfolded, autograph=False)
    return lambda: compiled(constants, fed)


def _value(graph: Any, name: str) -> Any:
    return tf.make_ndarray(graph.get_operation_by_name(name).get_attr("value"))
