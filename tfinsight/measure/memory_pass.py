"""Memory and evidence of each row, apart from timing: exact peaks, then one traced pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfinsight import trace_file
from tfinsight.measure import memory
from tfinsight.measure.rows import Row
from tfinsight.measure.run import MapMeasurement
from tfinsight.records import AS_WRITTEN, ScalingPoint
from tfinsight.strategies import Strategy
from tfinsight.strategies.executions import Executable

# Calls whose peaks are compared: parallel loops vary from run to run.
PEAK_CALLS = 3
SINGLE_CALL_FROM_S = 0.05
# Events that one row's trace may have: reading a million takes some seconds.
EVENTS_PER_ROW = 60_000
GROWTH_MEASURED_ON = Strategy("vectorized_map", "graph")


def memory_pass(measurement: MapMeasurement) -> None:
    """Measures the peaks of all rows that run, then traces one call of each."""
    rows = [row for row in measurement.rows.values() if row.runs]
    if not rows:
        return
    peaks: dict[str, memory.Peak] = {}
    for done, row in enumerate(rows):
        measurement.progress.update("memory", row.strategy.id, done, 2 * len(rows))
        measurement.mark(row.strategy.id)
        calls = 1 if _seconds(row) >= SINGLE_CALL_FROM_S else PEAK_CALLS
        assert row.call is not None
        measurement.restore()
        peak = _peak(measurement, row.call, calls)
        if peak is not None:
            peaks[row.strategy.id] = peak
            row.memory = memory.memory_record(None, peak, measurement.coverage, None)
    _traced_pass(measurement, rows, peaks)
    measurement.restore()


def growth(measurement: MapMeasurement) -> None:
    """Measures the vectorized row's peak on half of the elements, for the bytes of one element."""
    row = measurement.rows.get(GROWTH_MEASURED_ON.id)
    half = measurement.workload.element_count // 2
    if row is None or not row.ranked or row.memory is None or row.memory.peak_bytes is None:
        return
    if half == 0:
        return
    workload = measurement.reduced(half)
    measurement.restore()
    with measurement.user_time():
        call = Executable(row.strategy, workload, measurement.plan).bind(workload.elements)
        call()
    peak = _peak(measurement, call, 1)
    measurement.restore()
    if peak is None:
        return
    whole = measurement.workload.element_count
    for count, size in ((half, peak.highest_bytes), (whole, row.memory.peak_bytes)):
        measurement.scaling.append(ScalingPoint(row.strategy.id, count, None, None, size))


def _peak(measurement: MapMeasurement, call: Callable[[], Any], calls: int) -> memory.Peak | None:
    if measurement.coverage == "none":
        return None
    with measurement.user_time():
        return memory.peak_of_call(call, measurement.device, calls)


def _traced_pass(
    measurement: MapMeasurement, rows: list[Row], peaks: dict[str, memory.Peak]
) -> None:
    traced: dict[str, tuple[Callable[[], Any], int]] = {}
    for row in rows:
        traced[row.strategy.id] = _traceable(measurement, row)
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
            window,
            peaks.get(row.strategy.id),
            measurement.coverage,
            None if count == whole else count,
        )


def _traceable(measurement: MapMeasurement, row: Row) -> tuple[Callable[[], Any], int]:
    """Returns a call whose trace stays small enough to be read, and its number of elements."""
    assert row.call is not None
    workload = measurement.workload
    strategy = row.strategy
    if strategy.mapping == AS_WRITTEN:
        strategy = Strategy((workload.call or "map_fn").removeprefix("tf."), strategy.execution)
    ops = measurement.probe.op_count or 1
    events = memory.predicted_events(
        ops, workload.element_count, strategy.mapping, strategy.execution
    )
    if events <= EVENTS_PER_ROW or row.strategy.mapping == "chunked":
        return row.call, workload.element_count
    count = max(1, int(workload.element_count * EVENTS_PER_ROW / events))
    reduced = measurement.reduced(count)
    try:
        with measurement.user_time():
            call = Executable(row.strategy, reduced, measurement.plan).bind(reduced.elements)
            call()  # traced and compiled before the pass, not in it
    except Exception:
        return row.call, workload.element_count
    return call, count


def _seconds(row: Row) -> float:
    return row.steady.median_s if row.steady is not None else row.estimate_s or 0.0
