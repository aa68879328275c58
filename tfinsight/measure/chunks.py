"""The search for a chunk size: a handful of sizes, the leanest of those that are about as fast."""

from __future__ import annotations

import time
from dataclasses import replace

from tfinsight.measure.map_run import MapMeasurement
from tfinsight.records import ScalingPoint
from tfinsight.strategies import Strategy
from tfinsight.strategies.executions import Executable
from tfinsight.strategies.mappings import Plan

SEARCHED = Strategy("chunked", "graph")
# Shares of the batch that are tried as a chunk.
SHARES = (4, 16, 64)
# Sizes within this ratio of the fastest are about as fast; the leanest of them is taken.
ABOUT_AS_FAST = 1.15
TRIES = 3
# A further size is tried until so much of the budget has gone.
SHARE_OF_BUDGET = 0.05


def chunk_sizes(element_count: int) -> tuple[int, ...]:
    """Returns the sizes to try, rounded down to powers of two, largest first."""
    sizes = [
        2 ** ((element_count // share).bit_length() - 1)
        for share in SHARES
        if element_count // share >= 1
    ]
    return tuple(dict.fromkeys(sizes))


def choose_chunk_size(measurement: MapMeasurement) -> None:
    """Tries a handful of chunk sizes and puts the best one into the plan."""
    rows = [r for r in measurement.rows.values() if r.strategy.mapping == "chunked"]
    if all(row.failure for row in rows) or measurement.plan.gradient is not None:
        return
    sizes = chunk_sizes(measurement.workload.element_count)
    measurement.eager_chunk_size = max(sizes, default=1)
    points: list[ScalingPoint] = []
    measurement.mark(SEARCHED.id)
    latest = time.perf_counter() + SHARE_OF_BUDGET * measurement.options.budget_s
    for done, size in enumerate(sizes):
        if points and time.perf_counter() > latest:
            break
        measurement.progress.update("chunk sizes", f"{size} elements", done, len(sizes))
        point = _try_size(measurement, replace(measurement.plan, chunk_size=size))
        if point is None:
            return  # the rows themselves will tell why
        points.append(point)
    measurement.scaling += points
    if points:
        fastest = min(point.seconds or 0.0 for point in points)
        good = [p for p in points if (p.seconds or 0.0) <= ABOUT_AS_FAST * fastest]
        best = min(good, key=lambda p: (p.peak_bytes or 0, p.seconds or 0.0))
        assert best.chunk_size is not None
        measurement.plan = replace(measurement.plan, chunk_size=best.chunk_size)


def _try_size(measurement: MapMeasurement, plan: Plan) -> ScalingPoint | None:
    try:
        with measurement.user_time():
            executable = Executable(SEARCHED, measurement.workload, plan)
            call = executable.bind(measurement.workload.elements)
            call()
        calls = [measurement.outcome_of(call) for _ in range(TRIES)]
    except Exception:
        return None
    seconds = min(called.seconds for called in calls)
    peaks = [called.peak.highest_bytes for called in calls if called.peak is not None]
    count = measurement.workload.element_count
    return ScalingPoint(SEARCHED.id, count, plan.chunk_size, seconds, max(peaks, default=None))
