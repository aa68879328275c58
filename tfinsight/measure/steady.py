"""Steady state: all rows interleaved, speed-ups from pairs within rounds."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable

import tensorflow as tf

from tfinsight.measure.rows import Row
from tfinsight.measure.session import Measurement
from tfinsight.measure.statistics import compare
from tfinsight.measure.timing import Contender, InterleavedTiming

# Left of the budget for memory and evidence, which come after timing.
SHARE_OF_LEFT = 0.8
# Of the whole budget: what more rounds would still tell is not worth the wait.
SHARE_OF_BUDGET = 0.4


def steady_state(measurement: Measurement) -> None:
    """Times all rows that run, until the verdict is settled or the budget's share is spent."""
    rows = {row.strategy.id: row for row in measurement.rows.values() if row.runs}
    if not rows:
        return
    baseline_row = measurement.row(measurement.baseline)
    baseline = baseline_row.strategy.id if baseline_row is not None else measurement.baseline
    ranked = {name for name, row in rows.items() if row.ranked}
    left = max(0.0, measurement.deadline - time.perf_counter())
    timing = InterleavedTiming(
        [_contender(measurement, row) for row in rows.values()],
        baseline_id=baseline,
        eligible_ids=ranked,
        deadline=time.perf_counter()
        + min(SHARE_OF_LEFT * left, SHARE_OF_BUDGET * measurement.budget_s),
        clock=time.perf_counter,
        processor_clock=time.process_time,
        synchronize=_synchronizer(),
        on_round=lambda done, total: measurement.progress.update(
            "timing", "all strategies in turn", done, total
        ),
    )
    try:
        timing.run()
    finally:
        measurement.add_user_seconds(timing.user_seconds)
        results = timing.results()
        comparisons = compare(results, baseline, ranked)
        for name, cores in timing.cores_used().items():
            rows[name].cores_used = cores
        for name, result in results.items():
            rows[name].steady, rows[name].comparison = result, comparisons[name]
        for name, error in timing.failures:
            rows[name].fail("timing", error)


def _contender(measurement: Measurement, row: Row) -> Contender:
    call: Callable[[], object]
    assert row.call is not None
    call = row.call
    if row.new_value_calls:
        turns = itertools.cycle(row.new_value_calls)
        call = lambda: next(turns)()  # noqa: E731 - a one-line turn-taker reads best as such
    return Contender(
        row.strategy.id, call, row.estimate_s or 0.0, functools.partial(measurement.prepare, row)
    )


def _synchronizer() -> Callable[[], None]:
    """Returns what waits for the devices; eager CPU calls have ended when they return."""
    if (
        tf.config.list_logical_devices("GPU")
        or not tf.config.experimental.get_synchronous_execution()
    ):
        return lambda: tf.test.experimental.sync_devices()
    return lambda: None
