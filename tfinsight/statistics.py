"""Statistics of interleaved timings: medians with intervals, speed-ups from pairs, ties.

Times of code are skewed, have outliers and drift with the machine. So nothing here assumes a
distribution: intervals come from order statistics, and two rows are compared by their ratios within
rounds, in which whatever slows the machine down for a while slows both. Standard library only.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
# Measuring looks at the order several times and may stop at each look, so each look must be surer.
LOOK_CONFIDENCE = 0.99
NARROW = 0.05
SLOW_S = 0.100


@dataclass(frozen=True, slots=True)
class PairedRatio:
    """How many times longer one row takes than another, from pairs within rounds.

    Attributes:
        median: median of the rounds' ratios.
        low: lower end of the median's interval, `None` with too few pairs.
        high: upper end of it.
        pairs: rounds in which both took part.
    """

    median: float
    low: float | None
    high: float | None
    pairs: int


@dataclass(frozen=True, slots=True)
class SteadyState:
    """Steady calls of one contender.

    Attributes:
        id: of the contender.
        median_s: median of the samples, seconds a call.
        low_s: lower end of its 95 % interval, `None` with too few samples.
        high_s: upper end of it.
        calls: steady calls timed.
        samples_s: seconds a call, one figure a round.
        rounds: number of the round of each sample.
        spread: interquartile range over median, `None` with fewer than two samples.
        estimated: there was no time for a sample; `median_s` is the earlier single call.
    """

    id: str
    median_s: float
    low_s: float | None
    high_s: float | None
    calls: int
    samples_s: tuple[float, ...]
    rounds: tuple[int, ...]
    spread: float | None
    estimated: bool = False

    def by_round(self) -> dict[int, float]:
        """Returns number of the round to seconds a call."""
        return dict(zip(self.rounds, self.samples_s, strict=True))


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row against the baseline and against the fastest row.

    Attributes:
        speedup: the baseline's time over this row's; `None` if the baseline has no time.
        speedup_low: lower end of its 95 % interval, `None` with too few pairs.
        speedup_high: upper end of it.
        ties_with_fastest: this row is the fastest or can't be told from it.
    """

    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    ties_with_fastest: bool


def median_interval(
    samples: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float] | None:
    """Returns a distribution-free confidence interval of the median.

    Between the d-th smallest and the d-th largest of n independent samples lies the median with
    probability 1 - 2 P(B < d), B binomial with n draws of 1/2; d is the largest that keeps
    `confidence`. Source: H. A. David, H. N. Nagaraja, "Order Statistics", 3rd edition, section 7.1.

    Returns:
        Its ends, both of them samples, or `None` if no such interval exists: with fewer than 6
        samples at 95 %, fewer than 8 at 99 %.
    """
    count, outside, depth = len(samples), 0.0, 0
    while depth < count:
        outside += 2.0 * math.comb(count, depth) / 2.0**count
        if outside > 1.0 - confidence:
            break
        depth += 1
    if depth == 0:
        return None
    ordered = sorted(samples)
    return ordered[depth - 1], ordered[count - depth]


def spread(samples: Sequence[float]) -> float | None:
    """Returns the interquartile range over the median, `None` with fewer than two samples."""
    if len(samples) < 2:
        return None
    low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
    return (high - low) / middle if middle else None


def paired_ratio(
    baseline_by_round: Mapping[int, float],
    other_by_round: Mapping[int, float],
    confidence: float = CONFIDENCE,
) -> PairedRatio | None:
    """Returns baseline over other, from ratios within rounds in which both took part.

    A disturbance that lasts longer than a round multiplies both times and leaves their ratio alone.

    Returns:
        Median ratio and its interval, or `None` where no round is shared.
    """
    shared = sorted(baseline_by_round.keys() & other_by_round.keys())
    ratios = [baseline_by_round[number] / other_by_round[number] for number in shared]
    if not ratios:
        return None
    low, high = median_interval(ratios, confidence) or (None, None)
    return PairedRatio(statistics.median(ratios), low, high, len(ratios))


def ties(ratio: PairedRatio) -> bool | None:
    """Tells whether the interval of `ratio` holds 1; `None` where there is no interval."""
    if ratio.low is None or ratio.high is None:
        return None
    return ratio.low <= 1.0 <= ratio.high


def steady_state(
    name: str, samples_by_round: Mapping[int, float], calls: int, estimate_s: float
) -> SteadyState:
    """Returns the statistics of a contender's samples; of none, the estimate, flagged.

    Args:
        name: id of the contender.
        samples_by_round: number of the round to seconds a call.
        calls: steady calls timed.
        estimate_s: an earlier single call.
    """
    rounds = tuple(sorted(samples_by_round))
    samples = tuple(samples_by_round[number] for number in rounds)
    low, high = median_interval(samples) or (None, None)
    return SteadyState(
        id=name,
        median_s=statistics.median(samples) if samples else estimate_s,
        low_s=low,
        high_s=high,
        calls=calls,
        samples_s=samples,
        rounds=rounds,
        spread=spread(samples),
        estimated=not samples,
    )


def joined(first: SteadyState, second: SteadyState) -> SteadyState:
    """Returns the statistics of two timings of one contender, whose rounds differ."""
    if second.estimated:
        return first
    samples = second.by_round() if first.estimated else {**first.by_round(), **second.by_round()}
    calls = second.calls + (0 if first.estimated else first.calls)
    return steady_state(first.id, samples, calls, first.median_s)


def compare(
    results: Mapping[str, SteadyState], baseline_id: str, eligible_ids: Collection[str]
) -> dict[str, Comparison]:
    """Compares every row with the baseline, and the eligible ones with the fastest of them.

    Args:
        results: id to steady state.
        baseline_id: row that speed-ups refer to; it may be missing, then there are none.
        eligible_ids: rows that may be ranked; others, whose result is wrong, never tie.
    """
    ranked = _ranked(results, eligible_ids)
    return {
        name: _comparison(
            results.get(baseline_id), result, name in ranked and _tied(results[ranked[0]], result)
        )
        for name, result in results.items()
    }


def speedup_of(
    baseline: SteadyState, result: SteadyState
) -> tuple[float | None, float | None, float | None]:
    """Returns the baseline's time over a row's, with the ends of its 95 % interval where it has one."""
    ratio = paired_ratio(baseline.by_round(), result.by_round())
    if ratio is None or ratio.low is None:
        # With a few pairs only, their median may be far from what the two medians say to a reader.
        return (baseline.median_s / result.median_s if result.median_s else None), None, None
    return ratio.median, ratio.low, ratio.high


def contested(
    results: Mapping[str, SteadyState], baseline_id: str, eligible_ids: Collection[str]
) -> set[str]:
    """Returns the rows whose place is not settled yet and what they are to be measured against.

    Two neighbours in the ranking, or a row and the fastest, are settled once their order is clear
    or both speed-ups are known to 5 %. Rows over 100 ms a call go on for the sake of the fastest
    place alone, until they have intervals; a baseline that slow never goes on for others' sake.
    """
    ranked = _ranked(results, eligible_ids)
    baseline = results.get(baseline_id)
    narrow = {name for name in ranked if _is_narrow(baseline, results[name])}
    going_on: set[str] = set()
    for first, second in _rivals(ranked):
        one, other = results[first], results[second]
        if {first, second} <= narrow or not _tied(one, other, LOOK_CONFIDENCE):
            continue
        slow = max(one.median_s, other.median_s) > SLOW_S
        have_intervals = one.low_s is not None and other.low_s is not None
        if not slow or (first == ranked[0] and not have_intervals):
            going_on |= {first, second}
    if going_on and baseline is not None and baseline.median_s <= SLOW_S:
        going_on.add(baseline_id)
    return going_on


def _ranked(results: Mapping[str, SteadyState], eligible_ids: Collection[str]) -> list[str]:
    """Returns the eligible rows by their medians, the fastest in front.

    Rows that were timed in different rounds may have medians that drifted apart, so one that is
    surely faster in shared rounds than the smallest median's row takes its place.
    """
    eligible = [name for name in results if name in eligible_ids]
    ranked = sorted(eligible, key=lambda name: results[name].median_s)
    for name in ranked[1:]:
        ratio = paired_ratio(results[ranked[0]].by_round(), results[name].by_round())
        if ratio is not None and ratio.low is not None and ratio.low > 1.0:
            ranked.remove(name)
            ranked.insert(0, name)
    return ranked


def _rivals(ranked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields neighbours in the ranking, and the fastest with every other row."""
    yield from itertools.pairwise(ranked)
    yield from ((ranked[0], other) for other in ranked[2:])


def _comparison(
    baseline: SteadyState | None, result: SteadyState, ties_with_fastest: bool
) -> Comparison:
    if baseline is None:
        return Comparison(None, None, None, ties_with_fastest)
    return Comparison(*speedup_of(baseline, result), ties_with_fastest)


def _is_narrow(baseline: SteadyState | None, result: SteadyState) -> bool:
    ratio = baseline and paired_ratio(baseline.by_round(), result.by_round())
    if not ratio or ratio.low is None or ratio.high is None:
        return False
    return ratio.high - ratio.low <= NARROW * ratio.median


def _tied(first: SteadyState, second: SteadyState, confidence: float = CONFIDENCE) -> bool:
    """Tells whether two rows can't be told apart.

    With too few pairs for an interval they tie if the ranges of their samples overlap: of 3 and 3
    samples of one distribution the ranges are apart in one case of 10, of 3 and 12 in one of 227.
    The range of fewer than 3 samples is taken wider by a quarter at both ends.
    """
    ratio = paired_ratio(first.by_round(), second.by_round(), confidence)
    verdict = None if ratio is None else ties(ratio)
    if verdict is not None:
        return verdict
    (low, high), (other_low, other_high) = _range(first), _range(second)
    return high >= other_low and other_high >= low


def _range(result: SteadyState) -> tuple[float, float]:
    samples = result.samples_s or (result.median_s,)
    margin = 1.0 if len(samples) > 2 else 1.25
    return min(samples) / margin, max(samples) * margin
