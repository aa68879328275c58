"""The measurement of how code is executed: as written, eagerly, as a graph, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tfinsight import keras_entry
from tfinsight.code_workload import CodeWorkload, plain_result
from tfinsight.compiler.collected_graphs import GraphTriple
from tfinsight.errors import WorkloadError
from tfinsight.measure.new_values import changed_values
from tfinsight.measure.rows import Row
from tfinsight.measure.session import Measurement
from tfinsight.measure.truth import widened
from tfinsight.records import (
    AS_WRITTEN,
    CellFacts,
    Compiled,
    Execution,
    GraphCompare,
    GraphOptions,
    HostRead,
    Progress,
    Run,
)
from tfinsight.strategies import canonical
from tfinsight.strategies.executions import BoundCall
from tfinsight.strategies.graph_calls import KerasCall, bound_call
from tfinsight.strategies.graph_rows import (
    EAGER,
    GraphRow,
    check_names,
    graph_rows,
    select,
)
from tfinsight.tensorflow_private import (
    GradientCall,
    is_xla_function,
    optimizer_options,
    set_optimizer_options,
)
from tfinsight.workload import tensor_facts

# Longer calls are not traced: their traces would take longer to read than they tell.
LONGEST_TRACED_S = 2.0
VARIABLES_NAMED = 20


class GraphMeasurement(Measurement):
    """One run of `graphcompare`.

    Attributes:
        workload: what is measured.
        options: how.
        strategies: the report's rows, in order.
        captured_arrays: NumPy arrays became constants of the graph, since it can't take them.
        random: results differ by design.
        concrete: the concrete function of the row `graph`, once it is traced.
        graphs: the graphs of that function before and after optimization.
        gradients: the gradients that tapes computed while it was traced.
        conversions: functions that AutoGraph converted for it, each with its problem.
        host_reads: where values cross between TensorFlow and Python.
        compiled: what compiling did, so far.
    """

    def __init__(self, workload: CodeWorkload, options: GraphOptions, progress: Progress) -> None:
        check_names(options.strategies, options.baseline, options.also, options.mixed)
        self.workload = _with_arrays_as_inputs(workload) if options.grad else workload
        self.options = options
        written = GraphRow(AS_WRITTEN, _own_execution(workload))
        self.strategies = _strategies(workload, options, written)
        twin = _twin_of_as_written(workload)
        if written not in self.strategies:
            twin = None
        measured = [row for row in self.strategies if row != twin]
        super().__init__(options, progress, {row.id: Row(row) for row in measured})
        self.twin = twin
        self.reference = AS_WRITTEN if AS_WRITTEN in self.rows else EAGER.id
        self.baseline = canonical(options.baseline) if options.baseline else self.reference
        self.captured_arrays = False
        self.random = False
        self.concrete: Any = None
        self.graphs: GraphTriple | None = None
        self.conversions: list[tuple[str, str]] = []
        self.gradients: list[GradientCall] = []
        self.host_reads: tuple[HostRead, ...] = ()
        self.compiled = Compiled()
        self._given_options = optimizer_options()

    def roots(self) -> Mapping[str, Any]:
        """Returns what a run refers to, by the user's names."""
        words = self.workload.words.name
        return {
            **self.workload.roots,
            words: self.workload.function,
            **self.workload.variants,
        }

    def call_of(self, row: Row, captured_arrays: bool | None = None) -> BoundCall:
        """Builds what a row calls."""
        captured = self.captured_arrays if captured_arrays is None else captured_arrays
        return bound_call(
            self.workload,
            row_of(row),
            captured_arrays=captured,
            grad=self.options.grad,
        )

    def mark(self, strategy: str) -> None:
        """Attributes what is printed or logged from now on to a row, and puts its options in force."""
        super().mark(strategy)
        self._put_options(self.rows.get(strategy))

    def prepare(self, row: Row) -> None:
        """Gets ready for a block of calls of a row: its options of the optimizer, and the state."""
        self._put_options(row)
        self.restore()

    def _put_options(self, row: Row | None) -> None:
        """Puts a row's options of the graph optimizer in force, the user's own if there is no row."""
        options = self._given_options
        if row is not None:
            options = row_of(row).optimizer_options(options, self.device)
        set_optimizer_options(options)

    def changed_call(self, row: Row, step: int) -> BoundCall | None:
        """Returns the row's call on other values of the same shapes."""
        assert row.call is not None
        inputs = row.call.arguments
        if not inputs or not any(tf.is_tensor(leaf) for leaf in tf.nest.flatten(inputs)):
            return None
        other = changed_values(inputs, step)
        return None if other is None else BoundCall(row.call.function, tuple(other))

    def traceable(self, row: Row, most_events: int) -> tuple[Callable[[], Any] | None, int | None]:
        """Returns the call, or `None` in its place where its trace would be too long."""
        assert row.call is not None
        del most_events  # calls are not taken apart
        return (None if row.seconds > LONGEST_TRACED_S else row.call), None

    def result_of(self, result: Any) -> Any:
        """Returns a result in the form in which results are compared."""
        return plain_result(result)

    def float64_result(self) -> Any:
        """Returns the result on inputs in float64."""
        if self.workload.entry is not None or not self.workload.inputs:
            return None
        inputs = {
            name: tf.nest.map_structure(_widened_tensor, value)
            for name, value in self.workload.inputs.items()
        }
        call = bound_call(
            replace(self.workload, inputs=inputs),
            EAGER,
            captured_arrays=False,
            grad=self.options.grad,
        )
        return plain_result(call())

    def record(
        self, code: Callable[[CellFacts, Run], str], interrupted: str | None
    ) -> GraphCompare:
        """Returns what is known so far, without findings and verdict.

        Args:
            code: makes the text to paste for a row.
            interrupted: name of the stage in which it was interrupted, or `None`.
        """
        facts = self._facts()
        runs = [self.finished(row, "") for row in self.strategies if self.row(row.id)]
        return GraphCompare(
            cell=facts,
            options=self.options,
            compiled=self.compiled,
            runs=tuple(replace(run, code=code(facts, run)) for run in runs),
            **self.shared_record(interrupted),
        )

    def tf_functions(self, row: Row) -> tuple[Any, ...]:
        """Returns the functions under `tf.function` that a row's call runs."""
        call = None if row.call is None else row.call.function
        if isinstance(call, KerasCall):
            return call.switches.functions()
        if hasattr(call, "get_concrete_function"):
            return (call,)
        return self.workload.functions if row.strategy.id == AS_WRITTEN else ()

    def _facts(self) -> CellFacts:
        workload, words = self.workload, self.workload.words
        outputs = None if self.outcome is None else self.outcome.result
        backward = self.compiled.backward is not None
        return CellFacts(
            name=words.name,
            source=words.source,
            measured=words.measured,
            ran_once=words.ran_once,
            measured_lines=words.measured_lines,
            inputs=tuple(
                replace(facts, path=f"{name}{facts.path}")
                for name, value in {**workload.inputs, **workload.arrays}.items()
                for facts in tensor_facts(value)
            ),
            outputs=() if outputs is None else tensor_facts(_dense_only(outputs)),
            result=words.result,
            captured=tuple(workload.arrays) if self.captured_arrays else (),
            variables=tuple(v.name for v in self.changing)[:VARIABLES_NAMED],
            with_gradient=self.options.grad or backward,
            entry=workload.entry,
            as_function=words.as_function,
            call=words.call,
            models=words.models,
            traces=workload.traces,
            functions=tuple(getattr(f, "__name__", "function") for f in workload.functions),
        )


def row_of(row: Row) -> GraphRow:
    """Returns the row's strategy."""
    assert isinstance(row.strategy, GraphRow)
    return row.strategy


def _strategies(
    workload: CodeWorkload, options: GraphOptions, written: GraphRow
) -> tuple[GraphRow, ...]:
    """Returns the rows to run: those asked for, and always reference and baseline."""
    has_plain_run = workload.plain_run_s is not None
    rows = graph_rows(options.also, options.mixed, workload.entry)
    wanted = {row.id for row in select(options.strategies, rows)}
    baseline = canonical(options.baseline) if options.baseline else None
    if not has_plain_run:
        wanted.add(EAGER.id)
        if baseline == AS_WRITTEN:
            raise WorkloadError(
                "there is no row `as-written` for a function and its arguments; the reference is `eager`"
            )
    if baseline is not None:
        wanted.add(baseline)
    chosen = tuple(row for row in rows if row.id in wanted)
    return (written, *chosen) if has_plain_run else chosen


def _own_execution(workload: CodeWorkload) -> Execution:
    if workload.models:
        switches = keras_entry.switches_of(workload.models[0])
        if switches.run_eagerly:
            return "eager"
        return "xla" if switches.jit_compile else "graph"
    if tf.config.functions_run_eagerly() or not workload.functions:
        return "eager"
    return "xla" if any(is_xla_function(f) for f in workload.functions) else "graph"


def _twin_of_as_written(workload: CodeWorkload) -> GraphRow | None:
    """Returns the row that the code as written is, where that is certain.

    A Keras model is none of them: it is traced already, and a row of its own shows what tracing does.
    """
    return None if workload.models or workload.functions else EAGER


def _with_arrays_as_inputs(workload: CodeWorkload) -> CodeWorkload:
    """Returns the workload with tensors for its arrays, so that gradients reach them."""
    tensors = {name: tf.convert_to_tensor(array) for name, array in workload.arrays.items()}
    return replace(workload, inputs={**workload.inputs, **tensors}, arrays={})


def _widened_tensor(leaf: Any) -> Any:
    return widened(leaf) if tf.is_tensor(leaf) else leaf


def _dense_only(outputs: Any) -> Any:
    """Returns the results that facts can be told of."""
    leaves = [x for x in tf.nest.flatten(outputs) if x is not None]
    if len(leaves) != len(tf.nest.flatten(outputs)) or any(
        isinstance(leaf, tf.IndexedSlices) for leaf in leaves
    ):
        return [tf.convert_to_tensor(leaf) for leaf in leaves]
    return outputs
