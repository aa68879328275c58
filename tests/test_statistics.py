"""Statistics of timings: intervals by order statistics, paired ratios, ties, ranking."""

from __future__ import annotations

import math
import random

import pytest

from tfinsight.statistics import (
    SteadyState,
    compare,
    contested,
    median_interval,
    paired_ratio,
    spread,
    steady_state,
    ties,
)


def state(name: str, *samples: float, rounds: range | None = None) -> SteadyState:
    numbers = rounds or range(len(samples))
    return steady_state(name, dict(zip(numbers, samples, strict=True)), len(samples), 1.0)


def states(**samples: list[float]) -> dict[str, SteadyState]:
    return {name: state(name, *values) for name, values in samples.items()}


def around(value: float, width: float, count: int = 12) -> list[float]:
    steps = [(i * 5 % count) / (count - 1) - 0.5 for i in range(count)]
    return [value * (1.0 + width * step) for step in steps]


@pytest.mark.parametrize(
    ("count", "confidence", "depth"),
    [(6, 0.95, 1), (8, 0.95, 1), (9, 0.95, 2), (12, 0.95, 3), (48, 0.95, 17), (8, 0.99, 1)],
)
def test_interval_ends_are_the_order_statistics_of_published_tables(
    count: int, confidence: float, depth: int
) -> None:
    samples = list(range(1, count + 1))
    random.Random(0).shuffle(samples)
    assert median_interval(samples, confidence) == (depth, count + 1 - depth)


@pytest.mark.parametrize(("count", "confidence"), [(0, 0.95), (1, 0.95), (5, 0.95), (7, 0.99)])
def test_too_few_samples_have_no_interval(count: int, confidence: float) -> None:
    assert median_interval([1.0] * count, confidence) is None


@pytest.mark.parametrize("count", [6, 12, 24, 48])
def test_interval_covers_the_median_of_a_skewed_distribution(count: int) -> None:
    source, held, repeats = random.Random(count), 0, 2000
    for _ in range(repeats):
        low, high = median_interval([source.lognormvariate(0, 1) for _ in range(count)]) or (9, 9)
        held += low <= 1.0 <= high
    nominal_and_noise = 0.95 - 2 * math.sqrt(0.95 * 0.05 / repeats)
    assert held / repeats >= nominal_and_noise


def test_interval_is_not_wider_than_its_confidence_needs() -> None:
    source, held, repeats = random.Random(1), 0, 2000
    for _ in range(repeats):
        low, high = median_interval([source.random() for _ in range(48)]) or (0, 1)
        held += low <= 0.5 <= high
    assert held / repeats < 0.985


def test_spread_is_interquartile_range_over_median() -> None:
    assert spread([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2.0 / 3.0)
    assert spread([1.0]) is None


def test_ratio_uses_only_rounds_in_which_both_took_part() -> None:
    ratio = paired_ratio({0: 4.0, 1: 8.0, 2: 100.0}, {0: 2.0, 1: 2.0, 5: 0.1})
    assert ratio is not None
    assert (ratio.median, ratio.low, ratio.high, ratio.pairs) == (3.0, None, None, 2)
    assert paired_ratio({0: 1.0}, {1: 1.0}) is None


def test_drift_that_hits_both_rows_cancels_in_the_ratio() -> None:
    drift = [1.0 + 0.3 * i for i in range(12)]
    ratio = paired_ratio(dict(enumerate(3.0 * d for d in drift)), dict(enumerate(drift)))
    assert ratio is not None
    assert (ratio.median, ratio.low, ratio.high) == pytest.approx((3.0, 3.0, 3.0))


def test_ratio_the_other_way_round_is_its_inverse() -> None:
    source = random.Random(3)
    one, other = ({i: source.uniform(1, 2) for i in range(13)} for _ in range(2))
    forth, back = paired_ratio(one, other), paired_ratio(other, one)
    assert forth is not None
    assert back is not None
    assert back.low is not None
    assert forth.high is not None
    assert (forth.median, forth.high) == pytest.approx((1 / back.median, 1 / back.low))


def test_ratio_ties_only_if_its_interval_holds_one() -> None:
    def verdict(values: list[float]) -> bool | None:
        ratio = paired_ratio(dict(enumerate(values)), dict.fromkeys(range(len(values)), 1.0))
        assert ratio is not None
        return ties(ratio)

    assert verdict(around(1.0, 0.1)) is True
    assert verdict(around(1.2, 0.1)) is False
    assert verdict([1.0, 1.0, 1.0]) is None


def test_steady_state_has_the_statistics_in_order_of_the_rounds() -> None:
    found = steady_state("row", {5: 3.0, 1: 1.0, 9: 2.0}, 30, 7.0)
    assert (found.samples_s, found.rounds) == ((1.0, 3.0, 2.0), (1, 5, 9))
    assert (found.median_s, found.low_s, found.high_s, found.calls) == (2.0, None, None, 30)
    assert found.by_round() == {1: 1.0, 5: 3.0, 9: 2.0}
    assert not found.estimated


def test_without_samples_the_estimate_stands_in_and_is_flagged() -> None:
    found = steady_state("row", {}, 0, 7.0)
    assert (found.median_s, found.samples_s, found.spread, found.estimated) == (7.0, (), None, True)


def test_speedups_refer_to_the_baseline_and_ties_to_the_fastest() -> None:
    results = states(base=around(8.0, 0.1), fast=around(2.0, 0.1), twin=around(2.0, 0.2))
    found = compare(results, "base", results)
    assert found["base"].speedup == 1.0
    assert found["fast"].speedup == pytest.approx(4.0)
    assert (found["fast"].speedup_low or 0) <= 4.0 <= (found["fast"].speedup_high or 0)
    assert [name for name in found if found[name].ties_with_fastest] == ["fast", "twin"]


def test_a_wrong_row_is_never_ranked_however_fast() -> None:
    results = states(base=around(8.0, 0.1), wrong=around(0.1, 0.1), fast=around(2.0, 0.1))
    found = compare(results, "base", {"base", "fast"})
    assert found["fast"].ties_with_fastest
    assert not found["wrong"].ties_with_fastest
    assert found["wrong"].speedup == pytest.approx(80.0)


def test_without_the_baseline_there_are_ties_but_no_speedups() -> None:
    found = compare(states(only=around(1.0, 0.1)), "gone", {"only"})["only"]
    assert (found.speedup, found.speedup_low, found.ties_with_fastest) == (None, None, True)


def test_with_nothing_eligible_nothing_ties() -> None:
    assert not compare(states(only=around(1.0, 0.1)), "only", ())["only"].ties_with_fastest


@pytest.mark.parametrize(
    ("other", "tie"), [([1.05, 1.15, 1.2], True), ([1.5, 1.6, 1.7], False), ([1.3], True)]
)
def test_rows_with_few_samples_tie_if_their_ranges_overlap(other: list[float], tie: bool) -> None:
    results = states(fast=[1.0, 1.1, 1.05], other=other)
    assert compare(results, "fast", results)["other"].ties_with_fastest is tie


def test_rows_that_never_met_are_compared_by_medians_without_interval() -> None:
    results = {"base": state("base", 4.0), "row": state("row", 1.0, rounds=range(3, 4))}
    found = compare(results, "base", results)["row"]
    assert (found.speedup, found.speedup_low, found.speedup_high) == (4.0, None, None)


def test_shared_rounds_outweigh_medians_that_drifted_apart() -> None:
    slower_later = around(1.0, 0.02) + around(2.0, 0.02) * 3
    results = states(fast=slower_later, left_early=around(1.3, 0.02))
    assert results["left_early"].median_s < results["fast"].median_s
    found = compare(results, "fast", results)
    assert [name for name in found if found[name].ties_with_fastest] == ["fast"]


def test_clear_order_is_settled_however_wide_the_intervals() -> None:
    results = states(a=around(1e-3, 0.2), b=around(2e-3, 0.4), c=around(4e-3, 0.4))
    assert contested(results, "c", results) == set()


def test_unclear_neighbours_go_on_together_with_a_fast_baseline() -> None:
    results = states(
        base=around(9e-3, 0.1), a=around(1e-3, 0.3), b=around(1.02e-3, 0.4), c=around(4e-3, 0.4)
    )
    assert contested(results, "base", results) == {"a", "b", "base"}


def test_narrow_speedups_settle_a_tie() -> None:
    results = states(base=around(9e-3, 0.01), a=around(1e-3, 0.02), b=around(1e-3, 0.03))
    assert contested(results, "base", results) == set()


def test_slow_rows_go_on_for_the_fastest_place_alone_and_until_they_have_intervals() -> None:
    few, more = around(0.5, 0.2, 3), around(0.5, 0.4, 6)
    also_rans = states(fast=around(1e-3, 0.1), slow=few, twin=few[::-1])
    assert contested(also_rans, "slow", also_rans) == set()
    leaders = states(slow=few, twin=few[::-1])
    assert contested(leaders, "slow", leaders) == {"slow", "twin"}
    with_intervals = states(slow=more, twin=more[::-1])
    assert contested(with_intervals, "slow", with_intervals) == set()


def test_rows_that_are_not_ranked_do_not_go_on() -> None:
    results = states(a=around(1e-3, 0.3), wrong=around(1e-3, 0.4))
    assert contested(results, "a", {"a"}) == set()


def test_copies_tie_and_different_rows_do_not_under_noise_shared_within_rounds() -> None:
    source, tied, told_apart, repeats = random.Random(5), 0, 0, 300
    for _ in range(repeats):
        weather = [source.lognormvariate(0, 0.5) for _ in range(24)]
        row, twin, slower = (
            [cost * w * source.lognormvariate(0, 0.05) for w in weather] for cost in (1, 1, 1.15)
        )
        results = states(row=row, twin=twin, slower=slower)
        found = compare(results, "row", results)
        tied += found["row"].ties_with_fastest and found["twin"].ties_with_fastest
        told_apart += not found["slower"].ties_with_fastest
    assert tied / repeats >= 0.92
    assert told_apart / repeats >= 0.95
