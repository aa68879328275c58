"""The same record seen from another row: speed-ups against it, by the statistics of measuring."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tfinsight.findings import find
from tfinsight.records import Comparison, Run
from tfinsight.statistics import PairedRatio, SteadyState, paired_ratio, speedup_of

AnyRecord = TypeVar("AnyRecord", bound=Comparison)


def ratio(record: Comparison, slower: str, faster: str) -> PairedRatio | None:
    """Returns how many times longer one row takes than another, from rounds that both took part in.

    Returns:
        the median ratio with its interval; `None` where the rows share no round.

    Raises:
        ValueError: there is no such row.
    """
    one, other = (_steady(_row(record, name)) for name in (slower, faster))
    if one is None or other is None:
        return None
    return paired_ratio(one.by_round(), other.by_round())


def rebased(record: AnyRecord, baseline: str) -> AnyRecord:
    """Returns the record with speed-ups against another row, and findings to match.

    Raises:
        ValueError: there is no such row.
    """
    steady = _steady(_row(record, baseline))
    runs = tuple(_against(steady, run) for run in record.runs)
    record = replace(record, baseline=baseline, runs=runs)
    return replace(record, findings=find(record))


def _against(baseline: SteadyState | None, run: Run) -> Run:
    mine = _steady(run)
    if run.timing is None or mine is None:
        return run
    speedup, low, high = (None, None, None) if baseline is None else speedup_of(baseline, mine)
    timing = replace(run.timing, speedup=speedup, speedup_low=low, speedup_high=high)
    return replace(run, timing=timing)


def _row(record: Comparison, strategy: str) -> Run:
    run = record.run(strategy)
    if run is None:
        known = ", ".join(run.strategy for run in record.runs)
        raise ValueError(f"there is no row `{strategy}`; the rows are {known}")
    return run


def _steady(run: Run) -> SteadyState | None:
    """Returns a row's steady calls; a record of old says of no sample which round it is from."""
    timing = run.timing
    if timing is None or timing.median_s is None:
        return None
    paired = len(timing.rounds) == len(timing.samples_s)
    return SteadyState(
        id=run.strategy,
        median_s=timing.median_s,
        low_s=timing.low_s,
        high_s=timing.high_s,
        calls=timing.calls,
        samples_s=timing.samples_s if paired else (),
        rounds=timing.rounds if paired else (),
        spread=timing.spread,
    )
