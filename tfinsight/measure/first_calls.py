"""The first call of each strategy, apart from the rest, and its agreement with the reference."""

from __future__ import annotations

import contextlib
import functools
import time
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tfinsight.compiler.graph import draws_statelessly, graph_facts
from tfinsight.errors import WorkloadError
from tfinsight.measure.agreement import DRAWN_WHILE_TRACING, Outcome, compare
from tfinsight.measure.batched_guard import checked_on_random_elements
from tfinsight.measure.map_run import MapMeasurement, strategy_of
from tfinsight.measure.preflight import Probe, element, predicted_seconds, probe, skip_reason
from tfinsight.measure.rows import Row
from tfinsight.measure.session import Called
from tfinsight.measure.truth import Truth
from tfinsight.records import AS_WRITTEN, Agreement, Failure
from tfinsight.strategies.executions import BoundCall
from tfinsight.strategies.mappings import Plan, UnsupportedError, floating_leaves
from tfinsight.workload import Gradient, Workload

# A second call costs little below this, and is a better estimate than a first one.
SECOND_CALL_BELOW_S = 0.1
# A plain run that took more of the budget than this is not repeated just for its result.
LONG_RUN_SHARE = 0.2
# Functions that stand in for a reference that is skipped or fails, best known first.
STAND_INS = ("map_fn/graph", "loop/eager", "vectorized_map/graph", "batched/graph")


def preflight(measurement: MapMeasurement) -> None:
    """Probes a few elements and leaves out what would not fit."""
    workload = measurement.workload
    if measurement.snapshot.not_repeatable:
        _leave_it_at_the_plain_run(measurement)
        return
    with measurement.user_time():
        _first_of_all(measurement)
        probed = probe(workload, functools.partial(_restore_after_probing, measurement, []))
    if measurement.changing and _draws_by_state(probed):
        probed = replace(probed, random=True)
    measurement.probe = probed
    measurement.plan = Plan(
        output_signature=probed.output_signature,
        chunk_size=max(1, workload.element_count // 8),
        gradient=_gradient(workload, probed.concrete),
    )
    for row in measurement.rows.values():
        reason = skip_reason(
            strategy_of(row), workload, probed, measurement.limits, measurement.plan.chunk_size
        )
        if reason is not None:
            row.skip(reason)


def first_calls(measurement: MapMeasurement) -> None:
    """Runs every strategy once, the reference first, the cheapest of the others next."""
    if measurement.snapshot.not_repeatable:
        return
    reference = _run_reference(measurement)
    truth = Truth(measurement)
    rows = [row for row in measurement.rows.values() if row is not reference and not row.failure]
    rows.sort(key=lambda row: (_is_slow_by_nature(row), _predicted(measurement, row)))
    for done, row in enumerate(rows):
        measurement.progress.update("first calls", row.strategy.id, done, len(rows))
        if (spent := measurement.budget_spent()) is not None:
            row.skip(spent)
            continue
        outcome = first_call(measurement, row)
        if outcome is not None and measurement.outcome is not None:
            row.agreement = truth.judged(_agreement(measurement, row, outcome), outcome)


def first_call(measurement: MapMeasurement, row: Row) -> Outcome | None:
    """Runs one row for the first time; what goes wrong becomes the row's failure."""
    measurement.mark(row.strategy.id)
    stage = "trace"
    try:
        measurement.restore()
        with measurement.user_time():
            started = time.perf_counter()
            executable = measurement.executable(strategy_of(row))
            call = executable.bind(measurement.workload.elements)
            concrete = None if row.strategy.execution == "eager" else call.trace()
            row.trace_s = None if concrete is None else time.perf_counter() - started
            bound_s = time.perf_counter() - started
        stage = "compile" if row.strategy.execution == "xla" else "run"
        first = _first_run(measurement, row, call)
        row.executable, row.call = executable, call
        row.first_call_s = bound_s + first.seconds
        row.graph = None if concrete is None else graph_facts(concrete)
        _call_again(measurement, row, first)
    except UnsupportedError as error:
        row.skip(Failure("trace", "unsupported", str(error)))
        return None
    except Exception as error:
        row.fail(stage, error)
        return None
    if row.strategy.mapping == "chunked":
        row.chunk_size = measurement.plan_of(strategy_of(row)).chunk_size
    return first.outcome


def _first_run(measurement: MapMeasurement, row: Row, call: BoundCall) -> Called:
    """Runs a bound call; of a long plain run its result is taken, where running changes nothing."""
    workload = measurement.workload
    plain_s = workload.plain_run_s or 0.0
    as_written = row.strategy.mapping == AS_WRITTEN and workload.plain_result is not None
    repeatable = not measurement.probe.random and not measurement.changing
    long_run = plain_s > LONG_RUN_SHARE * measurement.options.budget_s
    if as_written and repeatable and long_run and measurement.plan.gradient is None:
        return Called(Outcome(workload.plain_result), plain_s, None)
    return measurement.outcome_of(call)


def _restore_after_probing(measurement: MapMeasurement, earlier: list[None]) -> None:
    """Puts everything back; after the first, eager part notes whether Python drew random numbers."""
    measurement.snapshot.streams_moved = False
    measurement.restore_all()
    if not earlier:
        measurement.python_random = measurement.snapshot.streams_moved
    earlier.append(None)


def _draws_by_state(probed: Probe) -> bool:
    """Random ops without state of their own, whose seeds come from a variable that moves on."""
    kinds = () if probed.graph is None else probed.graph.op_kinds
    return draws_statelessly(kinds)


def _leave_it_at_the_plain_run(measurement: MapMeasurement) -> None:
    """Skips all rows but `as-written`, whose only sample is the cell's own run.

    Raises:
        WorkloadError: there was no such run.
    """
    workload, what = measurement.workload, " and ".join(measurement.snapshot.not_repeatable)
    if workload.plain_run_s is None:
        raise WorkloadError(
            f"`{workload.wording.function}` reads {what}, which moves on with every call, so the "
            "function can't be run again with the same result"
        )
    for row in measurement.rows.values():
        if row.strategy.mapping == AS_WRITTEN:
            row.note_plain_run(workload.plain_run_s)
        else:
            row.skip(Failure("preflight", "not repeatable", f"the function reads {what}"))


def _first_of_all(measurement: MapMeasurement) -> None:
    """Lets a function that no plain run has called yet make its variables, which then stay."""
    workload = measurement.workload
    if workload.call is not None or not workload.element_count:
        return
    with contextlib.suppress(Exception):  # the probe will tell
        workload.function(element(workload.elements, 0))
    if measurement.snapshot.created_variables():
        measurement.take_snapshot()
    else:
        measurement.restore_all()


def _call_again(measurement: MapMeasurement, row: Row, first: Called) -> None:
    """Calls once more where that is cheap: a better estimate, and does it trace again?"""
    row.estimate_s = first.seconds
    eager = row.strategy.execution == "eager"
    if eager and row.strategy.mapping == "vectorized_map":
        row.traces_per_call = _eager_traces(measurement, row)
        return
    assert row.call is not None
    if eager and first.seconds > SECOND_CALL_BELOW_S:
        row.peak = first.peak  # nothing was compiled: the first call's peak is that of every call
        return
    traces = row.call.trace_count()
    again = measurement.outcome_of(row.call)
    row.estimate_s, row.peak = again.seconds, again.peak
    if not eager:
        row.traces_per_call = float(row.call.trace_count() - traces)


def _eager_traces(measurement: MapMeasurement, row: Row) -> float:
    """Counts how often one more eager call enters the user's function to trace it."""
    traces = 0
    function = measurement.workload.function

    def counted(item: Any) -> Any:
        nonlocal traces
        traces += not tf.executing_eagerly()
        return function(item)

    workload = replace(measurement.workload, function=counted)
    call = measurement.executable(strategy_of(row), workload).bind(workload.elements)
    row.peak = measurement.outcome_of(call).peak
    return float(traces)


def _run_reference(measurement: MapMeasurement) -> Row:
    """Runs the reference; where it can't be run, another row takes its place."""
    names = [measurement.reference, *STAND_INS, *measurement.rows]
    if measurement.reference == AS_WRITTEN:
        names = [AS_WRITTEN]
    wanted = measurement.reference
    for name in names:
        row = measurement.rows.get(name)
        if row is None or row.failure is not None:
            continue
        measurement.progress.update("first calls", name, 0, len(measurement.rows))
        outcome = first_call(measurement, row)
        if outcome is None:
            continue
        measurement.outcome = outcome
        row.agreement = Agreement("equal", 0.0, 0.0, "the reference itself")
        if name != wanted:
            if measurement.baseline == wanted:
                measurement.baseline = name
            measurement.reference = name
            measurement.notes.append(
                f"`{wanted}` could not be run, so results are compared with `{name}`."
            )
        return row
    return measurement.rows[wanted]


def _agreement(measurement: MapMeasurement, row: Row, outcome: Outcome) -> Agreement:
    assert measurement.outcome is not None
    if measurement.workload.element_count == 0:
        return Agreement("unchecked", detail="there are no elements to compare")
    if measurement.python_random and _draws_while_tracing(measurement, row):
        return DRAWN_WHILE_TRACING
    agreement = compare(measurement.outcome, outcome, random=measurement.probe.random)
    if row.strategy.mapping == "batched" and agreement.verdict in ("equal", "close"):
        return checked_on_random_elements(measurement, agreement)
    return agreement


def _draws_while_tracing(measurement: MapMeasurement, row: Row) -> bool:
    """A row that freezes Python's random numbers, where the reference does not."""
    frozen = row.strategy.execution != "eager" or row.strategy.mapping == "dataset"
    reference = measurement.row(measurement.reference)
    return frozen and reference is not None and reference.strategy.execution == "eager"


def _gradient(workload: Workload, concrete: Any) -> Gradient | None:
    if not workload.under_tape:
        return None
    variables = () if concrete is None else tuple(v for v in concrete.variables if v.trainable)
    watches = workload.tape_watches_elements and bool(floating_leaves(workload.elements))
    return Gradient(variables, watches) if variables or watches else None


def _is_slow_by_nature(row: Row) -> bool:
    """Rows that are never the way to go come last, in case the budget ends before them."""
    eager = row.strategy.execution == "eager"
    return row.strategy.mapping == "loop" or (eager and row.strategy.mapping == "chunked")


def _predicted(measurement: MapMeasurement, row: Row) -> float:
    plan = measurement.plan
    seconds = predicted_seconds(
        strategy_of(row), measurement.workload, measurement.probe, plan.chunk_size
    )
    return seconds + (1.0 if row.strategy.execution == "xla" else 0.0)
