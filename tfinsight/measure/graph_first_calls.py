"""The first call of each execution, apart from the rest, and its agreement with the reference."""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import tensorflow as tf

from tfinsight import state, trace_file
from tfinsight.code_workload import Obstacle
from tfinsight.compiler.collected_graphs import collecting, matching
from tfinsight.compiler.graph import draws_statelessly, graph_facts, live_bytes_bound
from tfinsight.measure.agreement import DRAWN_WHILE_TRACING, TOLERANCES, Outcome, compare
from tfinsight.measure.graph_run import GraphMeasurement, row_of
from tfinsight.measure.rows import Row
from tfinsight.measure.session import Called
from tfinsight.measure.truth import Truth
from tfinsight.records import AS_WRITTEN, Agreement, Failure, HostRead
from tfinsight.strategies.executions import BoundCall
from tfinsight.strategies.graph_rows import GRAPH
from tfinsight.tensorflow_private import (
    autograph_conversions,
    concrete_functions,
    gradient_calls,
    watched_host_reads,
)

WATCHING = "tfinsight.tensorflow_private"

# A plain run that takes more of the budget is not repeated op by op from Python.
LONG_RUN_SHARE = 0.3
OTHER_SEED = 0x5EED
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def graph_first_calls(measurement: GraphMeasurement) -> None:
    """Runs every row once, the reference first; compares their results."""
    obstacles = _obstacles(measurement)
    if obstacles:
        _leave_it_at_the_plain_run(measurement, obstacles)
        return
    _first_of_all(measurement)
    reference = _run_reference(measurement)
    truth = Truth(measurement)
    rows = [row for row in measurement.rows.values() if row is not reference]
    # The plain graph tells what the code is made of, so it comes first.
    rows.sort(key=lambda row: row.strategy.id != GRAPH.id)
    for done, row in enumerate(rows):
        measurement.progress.update("first calls", row.strategy.id, done, len(rows))
        reason = _skip_reason(measurement, row)
        if reason is not None:
            row.skip(reason)
            continue
        outcome = first_call(measurement, row)
        if row.strategy.id == GRAPH.id and outcome is None and row.graph is None:
            measurement.random = measurement.random or _repeats_differ(measurement)
        if outcome is not None and measurement.outcome is not None:
            row.agreement = truth.judged(_agreement(measurement, row, outcome), outcome)


def first_call(measurement: GraphMeasurement, row: Row) -> Outcome | None:
    """Runs one row for the first time; what goes wrong becomes the row's failure."""
    measurement.mark(row.strategy.id)
    stage = "trace"
    try:
        measurement.prepare(row)
        with measurement.user_time():
            call, concrete = _traced(measurement, row)
        if concrete is not None:
            row.graph = graph_facts(concrete)
            _note_random(measurement, row)
            too_large = _would_not_fit(measurement, concrete)
            if too_large is not None:
                row.skip(too_large)
                return None
        stage = "compile" if row.strategy.execution == "xla" else "run"
        first = _first_run(measurement, row, call)
        row.call, row.first_call_s = call, (row.trace_s or 0.0) + first.seconds
        _call_again(measurement, row, first)
        return first.outcome
    except Exception as error:
        row.fail(stage, error, _place(measurement, error))
        return None


def _place(measurement: GraphMeasurement, error: BaseException) -> str:
    """Returns the line of the cell that an error comes from, as written; empty if none is known.

    AutoGraph and XLA tell it in the message; otherwise a frame of the traceback is in the source.
    """
    words = measurement.workload.words
    lines = words.source.splitlines()
    frames = [(m[1], int(m[2])) for m in _FRAME.finditer(str(error))]
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    offsets = measurement.workload.offsets
    known = [line - offsets[name] for name, line in frames if name in offsets]
    if not known or not 0 < known[-1] <= len(lines):
        return ""
    return f"line {known[-1]}, `{lines[known[-1] - 1].strip()}`"


def _traced(measurement: GraphMeasurement, row: Row) -> tuple[BoundCall, Any]:
    """Builds the row's call and traces it, NumPy arrays as inputs where the code takes that."""
    call = measurement.call_of(row)
    if not hasattr(call.function, "get_concrete_function"):
        return call, None
    is_graph = row.strategy.id == GRAPH.id
    with autograph_conversions() as conversions, gradient_calls() as gradients:
        started = time.perf_counter()
        try:
            concrete = call.trace()
        except Exception:
            if measurement.captured_arrays or not measurement.workload.arrays:
                raise
            started = time.perf_counter()
            call = measurement.call_of(row, captured_arrays=True)
            concrete = call.trace()
            measurement.captured_arrays = True
        row.trace_s = time.perf_counter() - started
    if is_graph:
        measurement.concrete, measurement.conversions = concrete, conversions
        measurement.gradients = gradients
    return call, concrete


def _first_run(measurement: GraphMeasurement, row: Row, call: BoundCall) -> Called:
    """Runs a call for the first time, in a trace that tells what compiling took."""
    loops = row.graph is not None and row.graph.loops
    compiles = row.strategy.execution != "eager" and not loops
    with contextlib.ExitStack() as watching:
        graphs = None
        if row.strategy.id == GRAPH.id:
            graphs = watching.enter_context(collecting())
        recorder = None
        if compiles:
            with contextlib.suppress(trace_file.ProfilerBusyError):
                recorder = watching.enter_context(trace_file.record())
        if recorder is not None:
            watching.enter_context(recorder.window(row.strategy.id))
        called = measurement.outcome_of(call)
    if recorder is not None:
        window = recorder.trace.windows[row.strategy.id]
        row.optimize_s = window.optimize_s
        row.compile_s = window.compile_s if window.compile_count else None
    if graphs is not None:
        _keep_graphs(measurement, row, call, graphs.graphs)
    return called


def _keep_graphs(measurement: GraphMeasurement, row: Row, call: BoundCall, graphs: Any) -> None:
    if measurement.concrete is None:  # Keras traced it itself
        row.call = call
        functions = measurement.tf_functions(row)
        traced = [c for function in functions for c in concrete_functions(function)]
        measurement.concrete = traced[0] if traced else None
        if measurement.concrete is not None:
            row.graph = graph_facts(measurement.concrete)
            _note_random(measurement, row)
    if measurement.concrete is not None:
        measurement.graphs = matching(graphs, measurement.concrete)


def _call_again(measurement: GraphMeasurement, row: Row, first: Called) -> None:
    """Calls once more: a better estimate, the peak, and does it trace again?"""
    assert row.call is not None
    functions = measurement.tf_functions(row)
    row.estimate_s, row.peak = first.seconds, first.peak
    if row.strategy.execution == "eager" and not functions:
        return
    before = [f.experimental_get_tracing_count() for f in functions]
    again = measurement.outcome_of(row.call)
    row.estimate_s, row.peak = again.seconds, again.peak
    after = [f.experimental_get_tracing_count() for f in functions]
    row.traces_per_call = float(sum(after) - sum(before))


def _run_reference(measurement: GraphMeasurement) -> Row:
    """Runs the reference: once to see what it changes, and again if it changes variables."""
    row = measurement.rows[measurement.reference]
    measurement.progress.update("first calls", row.strategy.id, 0, len(measurement.rows))
    measurement.mark(row.strategy.id)
    try:
        measurement.prepare(row)
        call = measurement.call_of(row)
        measurement.snapshot.streams_moved = False
        with _counted_host_reads(measurement):
            first = measurement.outcome_of(call)
        measurement.python_random = measurement.snapshot.streams_moved
        again = measurement.outcome_of(call) if measurement.changing else first
    except Exception as error:
        row.fail("run", error)
        measurement.notes.append(
            f"`{row.strategy.id}` could not be run a second time, so results are not compared: "
            + (row.failure.message if row.failure else "")
        )
        return row
    row.call = call
    plain_s = measurement.workload.plain_run_s
    row.first_call_s = first.seconds if plain_s is None else plain_s
    _call_again(measurement, row, again)
    measurement.outcome = again.outcome
    row.agreement = Agreement("equal", 0.0, 0.0, "the reference itself")
    return row


@contextlib.contextmanager
def _counted_host_reads(measurement: GraphMeasurement) -> Iterator[None]:
    """Counts, by line of the cell, where Python reads values from tensors."""
    counts: Counter[tuple[int, str]] = Counter()
    offsets = measurement.workload.offsets

    def seen(kind: str, frame: FrameType | None) -> None:
        first = True
        while frame is not None:
            module = str(frame.f_globals.get("__name__", ""))
            name = "" if module == WATCHING else module.split(".")[0]
            if first and name in ("tensorflow", "keras"):
                return  # a library's own affair
            if name == "tfinsight":
                return  # measuring's own, called from a file that holds lines of the cell
            first = first and name == "numpy"
            if frame.f_code.co_filename in offsets:
                counts[frame.f_lineno - offsets[frame.f_code.co_filename], kind] += 1
                return
            frame = frame.f_back

    with watched_host_reads(seen):
        yield
    measurement.host_reads = tuple(
        HostRead(line, kind, count) for (line, kind), count in sorted(counts.items())
    )


def _agreement(measurement: GraphMeasurement, row: Row, outcome: Outcome) -> Agreement:
    reference = measurement.outcome
    assert reference is not None
    if measurement.python_random and row.strategy.execution != "eager":
        return DRAWN_WHILE_TRACING
    if not tf.nest.flatten(reference.result) and not reference.variables:
        return Agreement("unchecked", detail="there is no result to compare")
    tolerances = {"float32": TOLERANCES[mixed]} if (mixed := row_of(row).mixed) else {}
    agreement = compare(reference, outcome, random=measurement.random, tolerances=tolerances)
    if agreement.verdict == "different" and _draws_statelessly(measurement):
        return compare(reference, outcome, random=True)
    return agreement


def _draws_statelessly(measurement: GraphMeasurement) -> bool:
    """Random ops whose seed is an input: XLA draws other numbers from it than a plain graph."""
    graph = measurement.row(GRAPH.id)
    kinds = graph.graph.op_kinds if graph is not None and graph.graph is not None else {}
    return draws_statelessly(kinds)


def _note_random(measurement: GraphMeasurement, row: Row) -> None:
    if row.graph is not None and row.graph.random_ops:
        measurement.random = True


def _repeats_differ(measurement: GraphMeasurement) -> bool:
    """Tells whether the reference gives other results under another seed."""
    row = measurement.rows[measurement.reference]
    if row.call is None or measurement.outcome is None:
        return False
    try:
        measurement.prepare(row)
        state.reseed(OTHER_SEED)
        with measurement.user_time():
            result = measurement.result_of(row.call())
        return compare(Outcome(measurement.outcome.result), Outcome(result)).verdict == "different"
    except Exception:
        return False
    finally:
        measurement.restore_all()


def _first_of_all(measurement: GraphMeasurement) -> None:
    """Lets a function that nobody has called yet make its variables, which then stay."""
    if measurement.workload.plain_run_s is not None:
        return
    row = measurement.rows[measurement.reference]
    measurement.mark(row.strategy.id)
    with contextlib.suppress(Exception), measurement.user_time():  # the reference run will tell
        measurement.call_of(row)()
    if measurement.snapshot.created_variables():
        measurement.take_snapshot()
    else:
        measurement.restore_all()


def _obstacles(measurement: GraphMeasurement) -> tuple[Obstacle, ...]:
    found = measurement.workload.obstacles
    named = " ".join(o.why for o in found)
    others = [what for what in measurement.snapshot.not_repeatable if what not in named]
    return (*found, *(Obstacle(0, "", f"reads {what}, which moves on") for what in others))


def _leave_it_at_the_plain_run(
    measurement: GraphMeasurement, obstacles: tuple[Obstacle, ...]
) -> None:
    """Fails all rows but `as-written`, whose only sample is the cell's own run."""
    why = "; ".join(str(o) if o.line else o.why for o in obstacles)
    measurement.not_repeatable = tuple(str(o) if o.line else o.why for o in obstacles)
    for row in measurement.rows.values():
        if row.strategy.id == AS_WRITTEN:
            row.note_plain_run(measurement.workload.plain_run_s or 0.0)
        else:
            row.failure = Failure("trace", "not repeatable", why)


def _skip_reason(measurement: GraphMeasurement, row: Row) -> Failure | None:
    if (spent := measurement.budget_spent()) is not None:
        return spent
    reference = measurement.rows[measurement.reference]
    long = reference.seconds > LONG_RUN_SHARE * measurement.budget_s
    if row.strategy.execution == "eager" and long:
        said = (
            f"a run of the cell as written takes {reference.seconds:.1f} s, so that one more way from "
            f"Python does not fit into the budget of {measurement.budget_s:g} s"
        )
        return Failure("preflight", "would not fit", said, needed_s=reference.seconds)
    return None


def _would_not_fit(measurement: GraphMeasurement, concrete: Any) -> Failure | None:
    needed, _ = live_bytes_bound(concrete)
    if needed <= measurement.limits.memory_bytes:
        return None
    said = "its results alone would need more memory than the limit allows"
    return Failure("preflight", "would not fit", said, needed_bytes=needed)
