"""A record seen from another row: the same statistics as when it was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tensorflow as tf
from sample_records import full, row

import tfinsight
from tfinsight.rebase import ratio, rebased
from tfinsight.records import Timing


def timed(strategy, by_round, **more):
    """A row with samples of known rounds."""
    samples = tuple(by_round.values())
    median = sorted(samples)[len(samples) // 2]
    return row(
        strategy,
        timing=Timing(
            first_call_s=1.0, median_s=median, samples_s=samples, rounds=tuple(by_round), **more
        ),
    )


@pytest.fixture(scope="module")
def measured():
    x = tf.random.stateless_normal([64, 16], [1, 2])
    return tfinsight.mapcost(lambda v: v * 2.0 + 1.0, x, budget=4, quiet=True).record


def test_against_its_own_baseline_a_measured_record_is_unchanged(measured):
    assert rebased(measured, measured.baseline) == measured


def test_there_and_back_again(measured):
    there = rebased(measured, "vectorized_map/graph")
    assert there.run("vectorized_map/graph").timing.speedup == 1.0
    assert there.run("map_fn/eager").timing.speedup < 0.5
    assert rebased(there, measured.baseline) == measured


def test_ratios_come_from_shared_rounds():
    drifting = {number: 0.001 * 2**number for number in range(8)}
    slower = {number: 3.0 * seconds for number, seconds in drifting.items()}
    record = replace(full(), runs=(timed("a/eager", slower), timed("b/eager", drifting)))
    found = ratio(record, "a/eager", "b/eager")
    assert (found.median, found.low, found.high, found.pairs) == (3.0, 3.0, 3.0, 8)
    moved = rebased(record, "b/eager")
    assert moved.run("a/eager").timing.speedup == pytest.approx(1 / 3)
    assert moved.run("a/eager").timing.speedup_high == pytest.approx(1 / 3)


def test_too_few_shared_rounds_give_no_interval():
    record = replace(
        full(), runs=(timed("a/eager", {0: 4.0, 1: 4.0}), timed("b/eager", {1: 2.0, 2: 2.0}))
    )
    timing = rebased(record, "b/eager").run("a/eager").timing
    assert (timing.speedup, timing.speedup_low) == (0.5, None)
    assert ratio(record, "a/eager", "b/eager").pairs == 1


def test_rows_without_rounds_have_medians_only():
    record = rebased(full(), "map_fn/graph")  # as saved before rounds were
    assert record.baseline == "map_fn/graph"
    timing = record.run("chunked/xla").timing
    assert timing.speedup == pytest.approx(0.0102 / 0.000847)
    assert timing.speedup_low is None
    assert ratio(full(), "map_fn/graph", "chunked/xla") is None


def test_a_baseline_without_a_time_gives_no_speed_ups():
    record = rebased(full(), "loop/xla")
    assert {run.timing.speedup for run in record.runs if run.timing} == {None}


def test_an_unknown_row_names_the_known_ones():
    with pytest.raises(ValueError, match="no row `nothing`; the rows are as-written, loop/eager"):
        rebased(full(), "nothing")
