"""Memory and evidence of each row, apart from timing: exact peaks, then one traced pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tfinsight import trace_file
from tfinsight.measure import memory
from tfinsight.measure.rows import Row
from tfinsight.measure.run import MapMeasurement
from tfinsight.records import AS_WRITTEN, ScalingPoint
from tfinsight.strategies import Strategy

# Calls whose peaks are compared where that costs little: parallel loops vary from run to run.
PEAK_CALLS = 3
SINGLE_CALL_FROM_S = 0.05
# What the traces of all rows may have, since reading a thousand events takes 10 ms, and the trace of
# one row; a call of many seconds shows in one traced part what it is made of.
EVENTS, EVENTS_PER_ROW = 100_000, 20_000
TRACED_S = 0.15
GROWTH_MEASURED_ON = Strategy("vectorized_map", "graph")


def memory_pass(measurement: MapMeasurement) -> None:
    """Measures the peaks of all rows that run, then traces one call of each."""
    rows = [row for row in measurement.rows.values() if row.runs]
    if not rows:
        return
    for done, row in enumerate(rows):
        measurement.progress.update("memory", row.strategy.id, done, 2 * len(rows))
        measurement.mark(row.strategy.id)
        row.peak = _peak(measurement, row)
        if row.peak is not None:
            row.memory = memory.memory_record(None, row.peak, measurement.coverage, None)
    _traced_pass(measurement, rows)
    measurement.restore()


def growth(measurement: MapMeasurement) -> None:
    """Measures the vectorized row's peak on half of the elements, for the bytes of one element."""
    row = measurement.row(GROWTH_MEASURED_ON.id)
    half = measurement.workload.element_count // 2
    if row is None or not row.ranked or row.memory is None or row.memory.peak_bytes is None:
        return
    if half == 0 or measurement.coverage == "none":
        return
    workload = measurement.reduced(half)
    measurement.restore()
    with measurement.user_time():
        call = measurement.executable(GROWTH_MEASURED_ON, workload).bind(workload.elements)
        call()
        peak = measurement.peak_of(call, 1)
    measurement.restore()
    if peak is None:
        return
    whole = measurement.workload.element_count
    for count, size in ((half, peak.highest_bytes), (whole, row.memory.peak_bytes)):
        measurement.scaling.append(ScalingPoint(GROWTH_MEASURED_ON.id, count, None, None, size))


def _peak(measurement: MapMeasurement, row: Row) -> memory.Peak | None:
    """Returns the peak of several cheap calls, or of the one call of a dear row that was seen."""
    assert row.call is not None
    if measurement.coverage == "none":
        return None
    seconds = _seconds(row)
    if row.peak is not None and seconds >= SINGLE_CALL_FROM_S:
        return row.peak
    if seconds > max(SINGLE_CALL_FROM_S, measurement.deadline - time.perf_counter()):
        measurement.notes.append(
            f"The memory of `{row.strategy.id}` was not measured: a further call would not have "
            "fitted into the budget."
        )
        return None
    measurement.restore()
    with measurement.user_time():
        calls = 1 if seconds >= SINGLE_CALL_FROM_S else PEAK_CALLS
        return measurement.peak_of(row.call, calls)


def _traced_pass(measurement: MapMeasurement, rows: list[Row]) -> None:
    most = min(EVENTS_PER_ROW, EVENTS // len(rows))
    traced = {row.strategy.id: _traceable(measurement, row, most) for row in rows}
    try:
        with trace_file.record() as recorder:
            for done, (name, (call, _)) in enumerate(traced.items()):
                measurement.progress.update("memory", name, len(rows) + done, 2 * len(rows))
                measurement.mark(name)
                measurement.restore()
                with measurement.user_time(), recorder.window(name):
                    call()
    except trace_file.ProfilerBusyError as error:
        measurement.notes.append(f"{error} So there is no timeline and no list of live tensors.")
        return
    whole = measurement.workload.element_count
    for row in rows:
        window = recorder.trace.windows[row.strategy.id]
        count = traced[row.strategy.id][1]
        row.ops = trace_file.op_profile(window, count)
        row.memory = memory.memory_record(
            window, row.peak, measurement.coverage, None if count == whole else count
        )


def _traceable(
    measurement: MapMeasurement, row: Row, most_events: int
) -> tuple[Callable[[], Any], int]:
    """Returns a call whose trace stays small enough to be read, and its number of elements."""
    assert row.call is not None
    whole = measurement.workload.element_count
    count = _traced_count(measurement, row, most_events)
    if count == whole:
        return row.call, whole
    reduced = measurement.reduced(count)
    try:
        with measurement.user_time():
            call = measurement.executable(row.strategy, reduced).bind(reduced.elements)
            if row.strategy.execution != "eager":
                call()  # traced and compiled before the pass, not in it
    except Exception:
        return row.call, whole
    return call, count


def _traced_count(measurement: MapMeasurement, row: Row, most_events: int) -> int:
    workload, strategy = measurement.workload, row.strategy
    if strategy.mapping == AS_WRITTEN and measurement.twin is not None:
        strategy = measurement.twin
    events = memory.predicted_events(
        measurement.probe.op_count or 1,
        workload.element_count,
        "map_fn" if row.graph is not None and row.graph.loops else strategy.mapping,
        strategy.execution,
    )
    share = min(1.0, most_events / max(1, events), TRACED_S / max(_seconds(row), 1e-9))
    least = 2 * measurement.plan_of(strategy).chunk_size if strategy.mapping == "chunked" else 1
    return min(workload.element_count, max(least, int(workload.element_count * share)))


def _seconds(row: Row) -> float:
    return row.steady.median_s if row.steady is not None else row.estimate_s or 0.0
