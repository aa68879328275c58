"""What figures are held against: the graph without folding, and this machine's own best rates."""

from __future__ import annotations

import time
from dataclasses import replace

from tfinsight.compiler.platform import machine_ceilings
from tfinsight.compiler.unfolded import unfolded_function
from tfinsight.measure.graph_run import GraphMeasurement
from tfinsight.measure.rows import Row
from tfinsight.measure.timing import Contender, InterleavedTiming
from tfinsight.strategies.executions import BoundCall

# What comparing a graph with the same one without folding may take.
UNFOLDED_S = 0.4


def yardsticks(measurement: GraphMeasurement) -> None:
    """Measures what folding is worth, and what this machine reaches at best."""
    compiled, row = measurement.compiled, measurement.row("graph")
    if row is not None:
        measurement.mark("graph")
        compiled = replace(compiled, unfolded_s=_unfolded_s(measurement, row))
    if compiled.platform is not None and time.perf_counter() < measurement.deadline:
        flops_s, bytes_s = machine_ceilings()
        platform = replace(compiled.platform, peak_flops_s=flops_s, peak_bytes_s=bytes_s)
        compiled = replace(compiled, platform=platform)
    measurement.compiled = compiled
    measurement.restore_all()


def _unfolded_s(measurement: GraphMeasurement, row: Row) -> float | None:
    """Times the graph with its constants fed as inputs, in turn with the graph itself."""
    graphs, call = measurement.graphs, row.call
    left = measurement.deadline - time.perf_counter()
    if graphs is None or call is None or not row.ranked or measurement.workload.entry is not None:
        return None
    if 20 * row.seconds + (row.first_call_s or 0.0) > left:
        return None
    try:
        with measurement.user_time():
            other = unfolded_function(graphs, measurement.concrete, call.arguments)
            if other is None:
                return None
            measurement.prepare(row)
            other()
    except Exception:  # a graph that can't be imported as it is
        return None
    return _median_beside(measurement, row, BoundCall(other, ()))


def _median_beside(measurement: GraphMeasurement, row: Row, other: BoundCall) -> float | None:
    """Returns the median of another call, scaled by what the row's own has changed meanwhile."""
    assert row.call is not None
    contenders = [
        Contender(name, call, row.seconds, lambda: measurement.prepare(row))
        for name, call in (("folded", row.call), ("unfolded", other))
    ]
    timing = InterleavedTiming(
        contenders,
        baseline_id="folded",
        eligible_ids=("folded", "unfolded"),
        deadline=min(measurement.deadline, time.perf_counter() + UNFOLDED_S),
        clock=time.perf_counter,
        synchronize=lambda: None,
    )
    timing.run()
    measurement.add_user_seconds(timing.user_seconds)
    results = timing.results()
    if not all(name in results and results[name].calls for name in ("folded", "unfolded")):
        return None
    return results["unfolded"].median_s * row.seconds / results["folded"].median_s
