"""A row while it is being measured; it becomes a frozen `Run` at the end or at an interrupt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tfinsight.measure.memory import Peak
from tfinsight.measure.reasons import reason
from tfinsight.records import (
    Agreement,
    Execution,
    Failure,
    GraphFacts,
    Memory,
    OpProfile,
    Recompilation,
    Run,
    Status,
    Timing,
)
from tfinsight.statistics import Comparison, SteadyState
from tfinsight.strategies.executions import BoundCall, Executable
from tfinsight.trace_file import Window


class AnyStrategy(Protocol):
    """A way of running: `strategies.Strategy` of a map, `strategies.graph_rows.GraphRow` of a cell."""

    @property
    def id(self) -> str:
        """The id that users see and type."""

    @property
    def mapping(self) -> str:
        """The mapping, empty where nothing is mapped."""

    @property
    def execution(self) -> Execution:
        """Who runs it."""


NOT_REACHED = Failure("run", "interrupted", "it was not reached before the interrupt")


@dataclass
class Row:
    """What is known of one strategy so far; see `records.Run` and `records.Timing`.

    Attributes:
        executable: the strategy, ready to be called on elements.
        call: the strategy with its input in place, once it has run.
        estimate_s: a single call after the first, or the first where that needs no compiling.
        peak: peak of the latest single call.
        new_value_calls: the same call on other values, where new values compile anew.
        only_plain_run: the cell's own run is its only sample.
        window: what a traced steady call did.
    """

    strategy: AnyStrategy
    executable: Executable | None = None
    call: BoundCall | None = None
    failure: Failure | None = None
    skipped: bool = False
    agreement: Agreement | None = None
    graph: GraphFacts | None = None
    first_call_s: float | None = None
    trace_s: float | None = None
    optimize_s: float | None = None
    compile_s: float | None = None
    cores_used: float | None = None
    estimate_s: float | None = None
    traces_per_call: float | None = None
    compiles_per_new_value: int | None = None
    new_value_calls: tuple[BoundCall, ...] = ()
    steady: SteadyState | None = None
    comparison: Comparison | None = None
    peak: Peak | None = None
    memory: Memory | None = None
    ops: OpProfile | None = None
    chunk_size: int | None = None
    only_plain_run: bool = False
    window: Window | None = None

    @property
    def runs(self) -> bool:
        """Whether it gives a result, right or wrong."""
        return self.call is not None and self.failure is None

    @property
    def ranked(self) -> bool:
        """Whether it gives a result that nothing speaks against."""
        return self.runs and (self.agreement is None or self.agreement.verdict != "different")

    @property
    def seconds(self) -> float:
        """What one call takes, as far as known."""
        return self.steady.median_s if self.steady is not None else self.estimate_s or 0.0

    @property
    def status(self) -> Status:
        """The status that readers see."""
        if self.only_plain_run:
            return "ok"
        if self.skipped or not (self.call or self.failure):
            return "skipped"
        if self.failure:
            return "failed"
        return "ok" if self.ranked else "different"

    def skip(self, failure: Failure) -> None:
        """Leaves the row out, with the reason."""
        self.failure, self.skipped = failure, True

    def note_plain_run(self, seconds: float) -> None:
        """Takes the cell's own run as the only sample."""
        self.first_call_s, self.only_plain_run = seconds, True

    def fail(self, stage: str, error: BaseException, place: str = "") -> None:
        """Notes that the strategy can't run this workload; `place` names the statement, if known."""
        said = f"{place}: {reason(error)}" if place else reason(error)
        self.failure, self.call = Failure(stage, type(error).__name__, said), None

    def finished(self, code: str) -> Run:
        """Returns the frozen row.

        Args:
            code: text to paste that runs the workload this way.
        """
        return Run(
            strategy=self.strategy.id,
            mapping=self.strategy.mapping,
            execution=self.strategy.execution,
            status=self.status,
            timing=self._timing(),
            memory=self.memory,
            agreement=self.agreement,
            failure=self.failure or (None if self.call or self.only_plain_run else NOT_REACHED),
            graph=self.graph,
            ops=self.ops,
            recompilation=None
            if self.traces_per_call is None
            else Recompilation(self.traces_per_call, self.compiles_per_new_value),
            chunk_size=self.chunk_size,
            code=code,
        )

    def _timing(self) -> Timing | None:
        if self.first_call_s is None:
            return None
        steady, comparison = self.steady, self.comparison
        compile_s = self.compile_s
        estimated = compile_s is None and self.optimize_s is None
        if estimated and steady is not None and self.trace_s is not None:
            compile_s = max(0.0, self.first_call_s - self.trace_s - steady.median_s)
        return Timing(
            first_call_s=self.first_call_s,
            trace_s=self.trace_s,
            optimize_s=self.optimize_s,
            compile_s=compile_s,
            median_s=None if steady is None else steady.median_s,
            low_s=None if steady is None else steady.low_s,
            high_s=None if steady is None else steady.high_s,
            calls=0 if steady is None else steady.calls,
            samples_s=() if steady is None else steady.samples_s,
            rounds=() if steady is None else steady.rounds,
            spread=None if steady is None else steady.spread,
            speedup=None if comparison is None else comparison.speedup,
            speedup_low=None if comparison is None else comparison.speedup_low,
            speedup_high=None if comparison is None else comparison.speedup_high,
            ties_with_fastest=comparison is not None and comparison.ties_with_fastest,
            changing_values=bool(self.new_value_calls),
            cores_used=self.cores_used,
        )
