"""A measurement: rows, the state that every call starts from, and what is kept out of the notebook.

Each stage is a function of the measurement that can be read alone, in a file of its own; `api` calls
them in order. What is known so far can be turned into a record at any moment, so that an interrupt
loses nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import tensorflow as tf

from tfinsight import captured_output, state
from tfinsight.errors import WorkloadError
from tfinsight.measure import memory
from tfinsight.measure.agreement import Change, Outcome
from tfinsight.measure.environment import environment, measured_device
from tfinsight.measure.preflight import MEMORY_SHARE, Limits, available_memory_bytes
from tfinsight.measure.rows import AnyStrategy, Row
from tfinsight.records import AS_WRITTEN, Agreement, Failure, LogLine, Progress, Run, Stage
from tfinsight.strategies.executions import BoundCall

# Of the budget; what remains is for steady state and memory.
SHARE_FOR_FIRST_CALLS = 0.7


class Options(Protocol):
    """What the options of every measurement have; see `records.MapOptions`."""

    @property
    def budget_s(self) -> float:
        """Seconds for everything after the plain run."""

    @property
    def memory_limit_bytes(self) -> int | None:
        """Most memory that a strategy may need."""


class Called(NamedTuple):
    """What one call left behind, its seconds, and its peak where the allocator keeps count."""

    outcome: Outcome
    seconds: float
    peak: memory.Peak | None


class Measurement:
    """One run; `MapMeasurement` and `GraphMeasurement` say what is measured.

    Attributes:
        progress: is told what is being done.
        rows: id to what is known of a row.
        reference: id of the row that results are compared with.
        baseline: id of the row that speed-ups refer to.
        limits: seconds and bytes that one call may need.
        not_repeatable: what the plain run changed for good, as far as the snapshot can't tell.
        elements: of one call; 1 where nothing is mapped.
        outcome: the reference's outcome while rows are compared with it.
        snapshot: the state that every call starts from and the notebook ends in.
        changing: the variables that the code changes.
        python_random: the code draws random numbers of Python or NumPy.
        notes: what a reader must know.
        twin: the strategy that the cell as written is; it is measured once, as `as-written`.
    """

    def __init__(self, options: Options, progress: Progress, rows: Mapping[str, Row]) -> None:
        self.budget_s = options.budget_s
        self.progress = progress
        self.started = time.perf_counter()
        self.rows = dict(rows)
        self.reference = ""
        self.baseline = ""
        self.elements = 1
        self.not_repeatable: tuple[str, ...] = ()
        self.outcome: Outcome | None = None
        self.changing: tuple[Any, ...] = ()
        self.python_random = False
        self.notes: list[str] = []
        self.twin: AnyStrategy | None = None
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

    def roots(self) -> Mapping[str, Any]:
        """Returns what a run refers to, by the user's names."""
        raise NotImplementedError

    def scopes(self) -> contextlib.AbstractContextManager[None]:
        """Returns the device and distribution scopes that the user's own call stands in."""
        return contextlib.nullcontext()

    def changed_call(self, row: Row, step: int) -> BoundCall | None:
        """Returns the row's call on other values of the same shapes, or `None` if there are none."""
        raise NotImplementedError

    def traceable(self, row: Row, most_events: int) -> tuple[Callable[[], Any] | None, int | None]:
        """Returns a call whose trace stays small enough to be read.

        Returns:
            the call, `None` where there is none; and its number of elements where it is of fewer
            than all, else `None`.
        """
        raise NotImplementedError

    def result_of(self, result: Any) -> Any:
        """Returns what a call returned in the form in which results are compared."""
        return result

    def float64_result(self) -> Any:
        """Returns the result of a run in float64; `None` where the code doesn't take it."""
        raise NotImplementedError

    @property
    def deadline(self) -> float:
        """Value of `time.perf_counter` at which the budget is spent."""
        return self.started + self.budget_s

    def budget_spent(self) -> Failure | None:
        """Returns why no further row has a first call, `None` while there is time for one."""
        if time.perf_counter() - self.started <= SHARE_FOR_FIRST_CALLS * self.budget_s:
            return None
        said = f"most of the budget of {self.budget_s:g} s was spent before its turn"
        return Failure("preflight", "budget spent", said)

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
                with self.scopes():
                    yield
            finally:
                self.snapshot.restore()
                self._logs = self._output.lines()

    def take_snapshot(self) -> None:
        """Keeps the present state as the one that every call starts from and the notebook ends in."""
        self.snapshot = state.take(self.roots())
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

    def check_known(self, strategies: Collection[str]) -> None:
        """Checks that there are such rows, and that they have been timed.

        Raises:
            WorkloadError: names one that has not, and those that have.
        """
        timed = [name for name, row in self.rows.items() if row.runs and row.steady is not None]
        timed += [self.twin.id] if self.twin is not None and AS_WRITTEN in timed else []
        for name in strategies:
            if name not in timed:
                known = ", ".join(timed) or "none"
                raise WorkloadError(f"there is no timed row `{name}`; rows with times: {known}")

    def prepare(self, row: Row) -> None:  # noqa: ARG002 - some need to know the row
        """Gets ready for a block of calls of a row."""
        self.restore()

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
        # A result may hold variables, whose values are those of before once they are put back.
        result = self.result_of(result)
        after = [variable.numpy() for variable in changing]
        self.restore_all()
        variables = tuple(
            Change(variable.name, old, new, bool(variable.trainable))
            for variable, old, new in zip(changing, before, after, strict=True)
        )
        outcome = Outcome(result, variables)
        return Called(outcome, seconds, peak)

    def peak_of(self, call: Callable[[], Any], calls: int) -> memory.Peak | None:
        """Returns the peak of so many calls, or `None` where the allocator keeps no count."""
        if self.coverage == "none":
            call()
            return None
        return memory.peak_of_call(call, self.device, calls)

    def current_stage(self) -> str:
        """Returns the name of the latest stage."""
        return self._stages[-1].name if self._stages else "start"

    def shared_record(self, interrupted: str | None) -> dict[str, Any]:
        """Returns what every record has, by field, so far; without rows, findings and verdict."""
        return {
            "environment": environment(self.device, self.coverage),
            "reference": self.reference,
            "baseline": self.baseline,
            "logs": self._logs,
            "stages": self.stages,
            "interrupted": interrupted,
            "notes": tuple(self.notes),
            "not_repeatable": self.not_repeatable or self.snapshot.not_repeatable,
            "changed_objects": tuple(dict.fromkeys(self.snapshot.changed_objects)),
        }

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What has been done so far."""
        return tuple(self._stages)

    def latest(self, strategy: str) -> Run:
        """Returns the frozen row with this id as it is now, without its code."""
        if self.twin is not None and strategy == self.twin.id:
            return self.finished(self.twin, "")
        return self.finished(self.rows[strategy].strategy, "")

    def finished(self, strategy: AnyStrategy, code: str) -> Run:
        """Returns the frozen row of a strategy; `code` is the text to paste for it."""
        row = self.row(strategy.id)
        assert row is not None
        run = row.finished(code)
        if strategy != self.twin:
            return run
        agreement = Agreement(
            "equal", 0.0, 0.0, "this is the cell as written, measured once for both"
        )
        return replace(run, strategy=strategy.id, mapping=strategy.mapping, agreement=agreement)
