"""Steady state: all rows interleaved, speed-ups from pairs within rounds."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Collection, Sequence

import tensorflow as tf

from tfinsight.measure.rows import Row
from tfinsight.measure.session import Measurement
from tfinsight.measure.timing import Contender, InterleavedTiming
from tfinsight.statistics import compare, joined

# Left of the budget for memory and evidence, which come after timing.
SHARE_OF_LEFT = 0.8
# Of the whole budget: what more rounds would still tell is not worth the wait.
SHARE_OF_BUDGET = 0.4


def steady_state(measurement: Measurement) -> None:
    """Times all rows that run, until the verdict is settled or the budget's share is spent."""
    left = max(0.0, measurement.deadline - time.perf_counter())
    seconds = min(SHARE_OF_LEFT * left, SHARE_OF_BUDGET * measurement.budget_s)
    rows = [row for row in measurement.rows.values() if row.runs]
    _time(measurement, rows, seconds)


def steady_state_again(
    measurement: Measurement, strategies: Collection[str], seconds: float
) -> None:
    """Times some rows for longer; the new samples come to those that are there.

    The baseline and the fastest row are timed beside them, since ratios come from shared rounds.

    Args:
        measurement: one that is finished.
        strategies: ids of the rows.
        seconds: how long to go on.
    """
    measurement.check_known(strategies)
    timed = [row for row in measurement.rows.values() if row.runs and row.steady is not None]
    ranked = [row for row in timed if row.ranked]
    wanted = {measurement.baseline, *strategies}
    chosen = [measurement.row(strategy) for strategy in wanted]
    chosen += [min(ranked, key=lambda row: row.seconds)] if ranked else []
    rows = [row for row in timed if any(row is other for other in chosen)]
    past = (number for row in timed if row.steady is not None for number in row.steady.rounds)
    _time(measurement, rows, seconds, first_round=max(past, default=-1) + 1, exhaustive=True)


def _time(
    measurement: Measurement,
    rows: Sequence[Row],
    seconds: float,
    first_round: int = 0,
    exhaustive: bool = False,
) -> None:
    """Times rows for so long at most, and compares all rows that have been timed."""
    if not rows:
        return
    baseline_row = measurement.row(measurement.baseline)
    baseline = baseline_row.strategy.id if baseline_row is not None else measurement.baseline
    timing = InterleavedTiming(
        [_contender(measurement, row) for row in rows],
        baseline_id=baseline,
        eligible_ids={row.strategy.id for row in rows if row.ranked},
        deadline=time.perf_counter() + seconds,
        clock=time.perf_counter,
        processor_clock=time.process_time,
        synchronize=_synchronizer(),
        on_round=lambda done, total: measurement.progress.update(
            "timing", "all strategies in turn", done, total
        ),
        first_round=first_round,
        exhaustive=exhaustive,
    )
    try:
        timing.run()
    finally:
        measurement.add_user_seconds(timing.user_seconds)
        for name, cores in timing.cores_used().items():
            measurement.rows[name].cores_used = cores
        for name, result in timing.results().items():
            row = measurement.rows[name]
            row.steady = result if row.steady is None else joined(row.steady, result)
        for name, error in timing.failures:
            measurement.rows[name].fail("timing", error)
        _compare(measurement, baseline)


def _compare(measurement: Measurement, baseline: str) -> None:
    """Compares all rows that have been timed with the baseline and with the fastest."""
    rows = {name: row for name, row in measurement.rows.items() if row.runs}
    results = {name: row.steady for name, row in rows.items() if row.steady is not None}
    ranked = {name for name in results if rows[name].ranked}
    for name, comparison in compare(results, baseline, ranked).items():
        rows[name].comparison = comparison


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
