"""Memory and evidence of each row, apart from timing: exact peaks, then one traced pass."""

from __future__ import annotations

import time
from dataclasses import replace

from tfinsight import trace_file
from tfinsight.measure import memory
from tfinsight.measure.map_run import MapMeasurement
from tfinsight.measure.rows import Row
from tfinsight.measure.session import Measurement
from tfinsight.records import ScalingPoint
from tfinsight.strategies import Strategy

# Calls whose peaks are compared where that costs little: parallel loops vary from run to run.
PEAK_CALLS = 3
SINGLE_CALL_FROM_S = 0.05
LEAK_CALLS = 6
# What the traces of all rows may have, since reading a thousand events takes 10 ms, and the trace of
# one row.
EVENTS, EVENTS_PER_ROW = 100_000, 20_000
GROWTH_MEASURED_ON = Strategy("vectorized_map", "graph")


def memory_pass(measurement: Measurement) -> None:
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
    _look_for_a_leak(measurement)
    measurement.restore_all()


def _look_for_a_leak(measurement: Measurement) -> None:
    """Calls the reference several times with nothing put back between: does memory stay taken?"""
    row = measurement.row(measurement.reference)
    if row is None or row.call is None or row.memory is None or measurement.coverage == "none":
        return
    if row.seconds > SINGLE_CALL_FROM_S or time.perf_counter() > measurement.deadline:
        return
    measurement.mark(row.strategy.id)
    measurement.prepare(row)
    with measurement.user_time():
        kept = memory.kept_per_call(row.call, measurement.device, LEAK_CALLS)
    row.memory = replace(row.memory, kept_per_call_bytes=kept)


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


def _peak(measurement: Measurement, row: Row) -> memory.Peak | None:
    """Returns the peak of several cheap calls, or of the one call of a dear row that was seen."""
    assert row.call is not None
    if measurement.coverage == "none":
        return None
    seconds = row.seconds
    if row.peak is not None and seconds >= SINGLE_CALL_FROM_S:
        return row.peak
    if seconds > max(SINGLE_CALL_FROM_S, measurement.deadline - time.perf_counter()):
        measurement.notes.append(
            f"The memory of `{row.strategy.id}` was not measured: a further call would not have "
            "fitted into the budget."
        )
        return None
    measurement.prepare(row)
    with measurement.user_time():
        calls = 1 if seconds >= SINGLE_CALL_FROM_S else PEAK_CALLS
        return measurement.peak_of(row.call, calls)


def _traced_pass(measurement: Measurement, rows: list[Row]) -> None:
    most = min(EVENTS_PER_ROW, EVENTS // len(rows))
    traced = {row.strategy.id: measurement.traceable(row, most) for row in rows}
    try:
        with trace_file.record() as recorder:
            for done, (name, (call, _)) in enumerate(traced.items()):
                if call is None:
                    continue
                measurement.progress.update("memory", name, len(rows) + done, 2 * len(rows))
                measurement.mark(name)
                measurement.prepare(measurement.rows[name])
                with measurement.user_time(), recorder.window(name):
                    call()
    except trace_file.ProfilerBusyError as error:
        measurement.notes.append(f"{error} So there is no timeline and no list of live tensors.")
        return
    for row in rows:
        window = recorder.trace.windows.get(row.strategy.id)
        if window is None:
            continue
        count = traced[row.strategy.id][1]
        row.window = window
        row.ops = trace_file.op_profile(window, measurement.elements if count is None else count)
        row.memory = memory.memory_record(window, row.peak, measurement.coverage, count)
