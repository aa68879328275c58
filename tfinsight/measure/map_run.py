"""The measurement of a map over elements."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tfinsight.errors import WorkloadError
from tfinsight.measure import memory
from tfinsight.measure.new_values import changed_values
from tfinsight.measure.preflight import Probe, element
from tfinsight.measure.rows import Row
from tfinsight.measure.session import Measurement
from tfinsight.measure.truth import widened
from tfinsight.records import (
    AS_WRITTEN,
    MapCost,
    MapOptions,
    Progress,
    ScalingPoint,
    WorkloadFacts,
)
from tfinsight.strategies import GRID, Strategy, canonical, check_names, select, variants
from tfinsight.strategies.executions import BoundCall, Executable
from tfinsight.strategies.mappings import Plan, part, stacked
from tfinsight.workload import Workload, tensor_facts

MAP_REFERENCE = Strategy("map_fn", "eager")
# A call of many seconds shows in one traced part what it is made of.
TRACED_S = 0.15
# The run in float64 is eager and one element after the other; longer ones aren't worth it.
LONGEST_FLOAT64_S = 0.5


class MapMeasurement(Measurement):
    """One run of `mapcost`.

    Attributes:
        workload: what is measured.
        options: how.
        strategies: the report's rows, in the grid's order.
        probe: what a few elements told; filled in by the first stage.
        plan: what the mappings need to know; filled in by the first stage.
        eager_chunk_size: elements a chunk where each chunk is traced anew, so that few are better.
        scaling: rows at other sizes.
    """

    def __init__(self, workload: Workload, options: MapOptions, progress: Progress) -> None:
        self.workload = workload
        self.options = options
        self.strategies = _strategies(workload, options)
        twin = _twin_of_as_written(workload)
        measured = [row for row in self.strategies if row != twin]
        super().__init__(options, progress, {row.id: Row(row) for row in measured})
        self.twin = twin
        self.reference = AS_WRITTEN if AS_WRITTEN in self.rows else MAP_REFERENCE.id
        self.baseline = canonical(options.baseline) if options.baseline else self.reference
        self.probe = Probe()
        self.plan = Plan()
        self.eager_chunk_size = 1
        self.elements = workload.element_count
        self.scaling: list[ScalingPoint] = []

    def roots(self) -> Mapping[str, Any]:
        """Returns what a run refers to, by the user's names."""
        return self.workload.roots()

    def scopes(self) -> contextlib.AbstractContextManager[None]:
        """Returns the device and distribution scopes of the user's own call."""
        return self.workload.scopes()

    def changed_call(self, row: Row, step: int) -> BoundCall | None:
        """Returns the row's call on other elements of the same shapes."""
        other = changed_values(self.workload.elements, step)
        assert row.call is not None
        return None if other is None else BoundCall(row.call.function, (other,))

    def traceable(self, row: Row, most_events: int) -> tuple[Callable[[], Any], int | None]:
        """Returns a call whose trace stays small enough to be read, and its number of elements."""
        assert row.call is not None
        count = self._traced_count(row, strategy_of(row), most_events)
        if count == self.workload.element_count:
            return row.call, None
        reduced = self.reduced(count)
        try:
            with self.user_time():
                call = self.executable(strategy_of(row), reduced).bind(reduced.elements)
                if row.strategy.execution != "eager":
                    call()  # traced and compiled before the pass, not in it
        except Exception:
            return row.call, None
        return call, count

    def float64_result(self) -> Any:
        """Returns the result on elements in float64; `None` where the function doesn't take them."""
        workload = self.workload
        count = workload.element_count
        if count * (self.probe.element_s or 0.0) > LONGEST_FLOAT64_S or self.plan.gradient:
            return None
        elements = tf.nest.map_structure(widened, workload.elements)
        results = [workload.function(element(elements, i)) for i in range(count)]
        return stacked(results, None)

    def executable(self, strategy: Strategy, workload: Workload | None = None) -> Executable:
        """Builds a strategy for the workload, or for another with fewer elements."""
        return Executable(strategy, workload or self.workload, self.plan_of(strategy))

    def plan_of(self, strategy: Strategy) -> Plan:
        """Returns the plan, with the chunk size that suits the strategy."""
        if strategy != Strategy("chunked", "eager"):
            return self.plan
        return replace(self.plan, chunk_size=max(self.plan.chunk_size, self.eager_chunk_size))

    def record(self, code: Callable[[WorkloadFacts, Row], str], interrupted: str | None) -> MapCost:
        """Returns what is known so far, without findings and verdict.

        Args:
            code: makes the text to paste for a row.
            interrupted: name of the stage in which it was interrupted, or `None`.
        """
        facts = self._facts()
        known = [(strategy, self.row(strategy.id)) for strategy in self.strategies]
        return MapCost(
            workload=facts,
            options=self.options,
            scaling=tuple(self.scaling),
            runs=tuple(self.finished(s, code(facts, row)) for s, row in known if row is not None),
            **self.shared_record(interrupted),
        )

    def reduced(self, count: int) -> Workload:
        """Returns the workload with its first `count` elements only."""
        elements = tf.nest.map_structure(lambda leaf: part(leaf, 0, count), self.workload.elements)
        return replace(
            self.workload, elements=elements, given_elements=elements, element_count=count
        )

    def _traced_count(self, row: Row, strategy: Strategy, most_events: int) -> int:
        count = self.workload.element_count
        if strategy.mapping == AS_WRITTEN and isinstance(self.twin, Strategy):
            strategy = self.twin
        events = memory.predicted_events(
            self.probe.op_count or 1,
            count,
            "map_fn" if row.graph is not None and row.graph.loops else strategy.mapping,
            strategy.execution,
        )
        share = min(1.0, most_events / max(1, events), TRACED_S / max(row.seconds, 1e-9))
        least = 2 * self.plan_of(strategy).chunk_size if strategy.mapping == "chunked" else 1
        return min(count, max(least, int(count * share)))

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


def strategy_of(row: Row) -> Strategy:
    """Returns the row's strategy: mapping and execution."""
    assert isinstance(row.strategy, Strategy)
    return row.strategy


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
