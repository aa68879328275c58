"""The measurement of one workload: its rows, and the stages that fill them in.

Each stage is a function of the measurement that can be read alone, in a file of its own; `api` calls
them in order. What is known so far can be turned into a record at any moment, so that an interrupt
loses nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import tensorflow as tf

from tfinsight import captured_output, state
from tfinsight.errors import WorkloadError
from tfinsight.measure import memory
from tfinsight.measure.agreement import Outcome
from tfinsight.measure.environment import environment, measured_device
from tfinsight.measure.preflight import MEMORY_SHARE, Limits, Probe, available_memory_bytes
from tfinsight.measure.rows import Row
from tfinsight.records import (
    AS_WRITTEN,
    Agreement,
    LogLine,
    MapCost,
    MapOptions,
    Progress,
    Run,
    ScalingPoint,
    Stage,
    WorkloadFacts,
)
from tfinsight.strategies import GRID, Strategy, canonical, check_names, select, variants
from tfinsight.strategies.executions import Executable
from tfinsight.strategies.mappings import Plan, part
from tfinsight.workload import Workload, tensor_facts

MAP_REFERENCE = Strategy("map_fn", "eager")


class Called(NamedTuple):
    """What one call left behind, its seconds, and its peak where the allocator keeps count."""

    outcome: Outcome
    seconds: float
    peak: memory.Peak | None


class MapMeasurement:
    """One run of `mapcost`.

    Attributes:
        workload: what is measured.
        options: how.
        progress: is told what is being done.
        strategies: the report's rows, in the grid's order.
        twin: the strategy that the cell as written is; it is measured once, as `as-written`.
        rows: id to what is known of a row.
        reference: id of the row that results are compared with.
        baseline: id of the row that speed-ups refer to.
        limits: seconds and bytes that one call may need.
        probe: what a few elements told; filled in by the first stage.
        plan: what the mappings need to know; filled in by the first stage.
        eager_chunk_size: elements a chunk where each chunk is traced anew, so that few are better.
        outcome: the reference's outcome while rows are compared with it.
        snapshot: the state that every call starts from and the notebook ends in.
        changing: the variables that the workload changes.
        python_random: the function draws random numbers of Python or NumPy.
        scaling: rows at other sizes.
        notes: what a reader must know.
    """

    def __init__(self, workload: Workload, options: MapOptions, progress: Progress) -> None:
        self.workload = workload
        self.options = options
        self.progress = progress
        self.started = time.perf_counter()
        self.strategies = _strategies(workload, options)
        self.twin = _twin_of_as_written(workload)
        measured = [row for row in self.strategies if row != self.twin]
        self.rows = {row.strategy.id: row for row in map(Row, measured)}
        self.reference = AS_WRITTEN if AS_WRITTEN in self.rows else MAP_REFERENCE.id
        self.baseline = canonical(options.baseline) if options.baseline else self.reference
        self.probe = Probe()
        self.plan = Plan()
        self.eager_chunk_size = 1
        self.outcome: Outcome | None = None
        self.changing: tuple[Any, ...] = ()
        self.python_random = False
        self.scaling: list[ScalingPoint] = []
        self.notes: list[str] = []
        self.device = measured_device()
        self.coverage = memory.coverage(self.device)
        free = options.memory_limit_bytes
        if free is None:
            free = int(MEMORY_SHARE * available_memory_bytes())
        self.limits = Limits(options.budget_s, free)
        self._stages: list[Stage] = []
        self._user_s = 0.0
        self._output: captured_output.Captured | None = None
        self._logs: tuple[LogLine, ...] = ()
        self.snapshot: state.Snapshot

    @property
    def deadline(self) -> float:
        """Value of `time.perf_counter` at which the budget is spent."""
        return self.started + self.options.budget_s

    @contextlib.contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Keeps the notebook as it is, and its output free, until the block ends."""
        self.take_snapshot()
        if tf.config.functions_run_eagerly():
            self.notes.append(
                "This notebook runs functions eagerly (tf.config.run_functions_eagerly(True)); the "
                "rows `graph` and `xla` were measured as graphs all the same."
            )
        with state.preserved(), captured_output.captured() as self._output:
            try:
                with self.workload.scopes():
                    yield
            finally:
                self.snapshot.restore()
                self._logs = self._output.lines()

    def take_snapshot(self) -> None:
        """Keeps the present state as the one that every call starts from and the notebook ends in."""
        self.snapshot = state.take(self.workload.roots())
        self.notes += [f"Not put back after measuring: {what}." for what in self.snapshot.uncovered]

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times a stage, and what of it is spent in the user's own function."""
        started, user_before = time.perf_counter(), self._user_s
        try:
            self.progress.update(name, "", 0, 1)
            yield
        finally:
            seconds = time.perf_counter() - started
            self._stages.append(Stage(name, seconds, self._user_s - user_before))
            self.mark("")

    @contextlib.contextmanager
    def user_time(self) -> Iterator[None]:
        """Counts the block as time spent in the user's own function."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._user_s += time.perf_counter() - started

    def add_user_seconds(self, seconds: float) -> None:
        """Counts seconds that were spent in the user's own function."""
        self._user_s += seconds

    def row(self, strategy: str) -> Row | None:
        """Returns what is known of a row; of the cell's own strategy that is the row `as-written`."""
        twin = self.twin is not None and strategy == self.twin.id
        return self.rows.get(AS_WRITTEN if twin else strategy)

    def executable(self, strategy: Strategy, workload: Workload | None = None) -> Executable:
        """Builds a strategy for the workload, or for another with fewer elements."""
        return Executable(strategy, workload or self.workload, self.plan_of(strategy))

    def plan_of(self, strategy: Strategy) -> Plan:
        """Returns the plan, with the chunk size that suits the strategy."""
        if strategy != Strategy("chunked", "eager"):
            return self.plan
        return replace(self.plan, chunk_size=max(self.plan.chunk_size, self.eager_chunk_size))

    def mark(self, strategy: str) -> None:
        """Attributes what is printed or logged from now on to a row."""
        if self._output is not None:
            self._output.mark(strategy)

    def restore(self) -> None:
        """Puts back what a run may have changed: every call starts from the same state."""
        self.snapshot.restore_changing()

    def restore_all(self) -> None:
        """Puts everything back, and remembers what had changed."""
        self.changing += tuple(
            v for v in self.snapshot.changed_variables() if not any(v is c for c in self.changing)
        )
        self.snapshot.restore()

    def outcome_of(self, call: Callable[[], Any]) -> Called:
        """Runs `call` once from the common state."""
        self.restore()
        changing = self.changing
        before = [variable.numpy() for variable in changing]
        result, seconds = None, 0.0

        def timed() -> Any:
            nonlocal result, seconds
            started = time.perf_counter()
            result = call()
            tf.test.experimental.sync_devices()
            seconds = time.perf_counter() - started

        with self.user_time():
            peak = self.peak_of(timed, 1)
        after = [variable.numpy() for variable in changing]
        names = [variable.name for variable in changing]
        self.restore_all()
        outcome = Outcome(result, tuple(zip(names, before, after, strict=True)))
        return Called(outcome, seconds, peak)

    def peak_of(self, call: Callable[[], Any], calls: int) -> memory.Peak | None:
        """Returns the peak of so many calls, or `None` where the allocator keeps no count."""
        if self.coverage == "none":
            call()
            return None
        return memory.peak_of_call(call, self.device, calls)

    def record(self, code: Callable[[WorkloadFacts, Row], str], interrupted: str | None) -> MapCost:
        """Returns what is known so far, without findings and verdict.

        Args:
            code: makes the text to paste for a row.
            interrupted: name of the stage in which it was interrupted, or `None`.
        """
        facts = self._facts()
        return MapCost(
            workload=facts,
            environment=environment(self.device, self.coverage),
            options=self.options,
            reference=self.reference,
            baseline=self.baseline,
            runs=tuple(self._run(strategy, facts, code) for strategy in self.strategies),
            scaling=tuple(self.scaling),
            logs=self._logs,
            stages=tuple(self._stages),
            interrupted=interrupted,
            notes=tuple(self.notes),
            not_repeatable=self.snapshot.not_repeatable,
            changed_objects=tuple(dict.fromkeys(self.snapshot.changed_objects)),
        )

    def current_stage(self) -> str:
        """Returns the name of the latest stage."""
        return self._stages[-1].name if self._stages else "start"

    def reduced(self, count: int) -> Workload:
        """Returns the workload with its first `count` elements only."""
        elements = tf.nest.map_structure(lambda leaf: part(leaf, 0, count), self.workload.elements)
        return replace(
            self.workload, elements=elements, given_elements=elements, element_count=count
        )

    def _run(
        self, strategy: Strategy, facts: WorkloadFacts, code: Callable[[WorkloadFacts, Row], str]
    ) -> Run:
        row = self.row(strategy.id)
        assert row is not None
        run = row.finished(code(facts, row))
        if strategy != self.twin:
            return run
        agreement = Agreement(
            "equal", 0.0, 0.0, "this is the cell as written, measured once for both"
        )
        return replace(run, strategy=strategy.id, mapping=strategy.mapping, agreement=agreement)

    def _facts(self) -> WorkloadFacts:
        workload, wording = self.workload, self.workload.wording
        result = () if self.outcome is None else self.outcome.result
        forward = result[0] if self.plan.gradient is not None and result else result
        return WorkloadFacts(
            function=wording.function,
            elements=wording.elements,
            call=workload.call,
            call_text=wording.call_text,
            place=wording.place,
            enclosing=wording.enclosing,
            execution=workload.execution,
            with_gradient=self.plan.gradient is not None,
            element_count=workload.element_count,
            inputs=tensor_facts(workload.elements),
            outputs=tensor_facts(forward),
            arguments=dict(wording.arguments),
            assigned_name=wording.assigned_name,
            ops_per_element=self.probe.op_count,
            batched=workload.batched_name,
            source=wording.source,
            call_number=workload.call_number,
            other_calls=workload.other_calls,
        )


def _twin_of_as_written(workload: Workload) -> Strategy | None:
    """Returns the strategy that the user's own call is."""
    if workload.call is None:
        return None
    return Strategy(workload.call.removeprefix("tf."), workload.execution)


def _strategies(workload: Workload, options: MapOptions) -> tuple[Strategy, ...]:
    """Returns the rows to run: those asked for, and always reference and baseline.

    Raises:
        WorkloadError: an unknown strategy or baseline.
    """
    check_names(options.strategies, options.baseline, options.also)
    written = Strategy(AS_WRITTEN, workload.execution)
    rows = (written, *GRID, *variants(options.also))
    wanted = {row.id for row in select(options.strategies, variants(options.also))}
    wanted.add(MAP_REFERENCE.id if workload.call is None else AS_WRITTEN)
    if options.baseline is not None:
        wanted.add(canonical(options.baseline))
        if workload.call is None and options.baseline == AS_WRITTEN:
            raise WorkloadError(
                "there is no row `as-written` where function and elements are named; "
                f"the reference is `{MAP_REFERENCE.id}`"
            )
    return tuple(row for row in rows if row.id in wanted)
