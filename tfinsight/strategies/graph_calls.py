"""Building what each row of `%%graphcompare` calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tfinsight.code_workload import CodeWorkload
from tfinsight.keras_entry import Switches
from tfinsight.records import AS_WRITTEN
from tfinsight.strategies.executions import WRAPPERS, BoundCall
from tfinsight.strategies.graph_rows import GraphRow


def bound_call(
    workload: CodeWorkload, row: GraphRow, *, captured_arrays: bool, grad: bool
) -> BoundCall:
    """Returns the row with its inputs in place.

    Args:
        workload: what is measured.
        row: how.
        captured_arrays: NumPy arrays become constants of the graph, not inputs.
        grad: forward and backward are measured together.
    """
    function = workload.variants.get(row.variant, workload.function)
    if grad:
        function = with_gradient(function)
    if row.id == AS_WRITTEN:
        return BoundCall(lambda: workload.call_plainly(function), ())
    if workload.entry is not None and not row.variant:
        return BoundCall(KerasCall(workload, row), ())
    if row.execution == "eager":
        return BoundCall(lambda: _run_eagerly(lambda: workload.call_plainly(function)), ())
    measured = workload.graph_function(function, captured_arrays)
    return BoundCall(WRAPPERS[row.execution](measured), workload.arguments(captured_arrays))


class KerasCall:
    """A Keras entry point under the switches of a row."""

    def __init__(self, workload: CodeWorkload, row: GraphRow) -> None:
        self._workload = workload
        eager, compiled = row.execution == "eager", row.execution == "xla"
        self.switches = Switches(eager, compiled, row.steps)

    def __call__(self) -> Any:
        """Runs the cell once, its models under the row's switches."""
        with self.switches.on(self._workload.models):
            return self._workload.call_plainly()


def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that also gives the gradient of the sum of its floating-point results.

    The gradient is with respect to floating-point inputs and to the variables that it reads.
    """

    def measured(*inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            watched = [leaf for leaf in tf.nest.flatten(inputs) if _is_floating(leaf)]
            tape.watch(watched)
            result = function(*inputs)
        targets = [leaf for leaf in tf.nest.flatten(result) if _is_floating(leaf)]
        sources = [*watched, *tape.watched_variables()]
        return result, tape.gradient(targets, sources)

    return measured


def _is_floating(leaf: Any) -> bool:
    return isinstance(leaf, tf.Tensor) and leaf.dtype.is_floating


def _run_eagerly(call: Callable[[], Any]) -> Any:
    """Calls with functions under `tf.function` run op by op, too."""
    with contextlib.ExitStack() as undo:
        undo.callback(tf.config.run_functions_eagerly, tf.config.functions_run_eagerly())
        tf.config.run_functions_eagerly(True)
        return call()
