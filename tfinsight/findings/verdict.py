"""The verdict: which rows are fastest and leanest, and which one to use."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfinsight.findings.compiler import drops_checks
from tfinsight.findings.rows import draws_random_numbers, ids, median_s, ok_runs, peak_bytes
from tfinsight.records import (
    AS_WRITTEN,
    MIXED_DTYPES,
    Comparison,
    Execution,
    GraphCompare,
    MapCost,
    Run,
    Verdict,
)

# Of rows that are equally fast and lean, the one that is simplest to write and to live with.
MAPPINGS = (AS_WRITTEN, "batched", "vectorized_map", "map_fn", "chunked", "dataset", "loop")
ROWS = (AS_WRITTEN, "graph", "eager", "xla", "steps-per-execution")
EXECUTIONS: tuple[Execution, ...] = ("graph", "eager", "xla")

# Allocators round up to chunks: figures this near to each other are the same.
SAME_SHARE, SAME_BYTES = 0.01, 4096


def verdict(record: Comparison, memory_limit_bytes: int | None) -> Verdict:
    """Says which rows are fastest and leanest, and which one to use.

    Only rows with status `ok` and a steady time are ranked; a row that was timed on changing values
    counts with that time. With no elements nothing is ranked.

    Recommended is, of the rows within the memory limit (an unknown peak counts as within), the
    fastest; of those that tie with it the leanest; of those that tie there too the simplest for
    the user: the cell as written first, then by `MAPPINGS` and `EXECUTIONS`, or by `ROWS`. A
    function that draws random numbers and was never meant for batches may draw the same numbers
    for all elements, which no comparison can show: `batched` is then not recommended unless the
    user named the function.
    Nor is what computes with fewer digits, or what leaves out the code's assertions.

    Args:
        record: the rows; its own verdict is not looked at.
        memory_limit_bytes: most peak memory that a recommended row may have; `None` for no limit.
    """
    nothing = isinstance(record, MapCost) and record.workload.element_count == 0
    rows = [] if nothing else _ranked(record)
    if not rows:
        return Verdict()
    fastest = _fastest(rows)
    candidates = [run for run in rows if _may_be_used(run, record, memory_limit_bytes)]
    best = None
    if candidates:
        tied = [run for run in candidates if run in fastest] or _overlapping(candidates)
        best = min(_leanest(tied), key=_simplicity)
    return Verdict(
        fastest=ids(fastest),
        leanest=ids(_leanest([run for run in rows if peak_bytes(run) is not None])),
        recommended=best.strategy if best else None,
    )


def _ranked(record: Comparison) -> list[Run]:
    return [run for run in ok_runs(record) if median_s(run) is not None]


def _fastest(rows: Sequence[Run]) -> list[Run]:
    """Returns the rows with the smallest median and those marked as tied with it."""
    least = min(_seconds(run) for run in rows)
    return [run for run in rows if _seconds(run) == least or _is_tied(run)]


def _is_tied(run: Run) -> bool:
    return run.timing is not None and run.timing.ties_with_fastest


def _overlapping(rows: Sequence[Run]) -> list[Run]:
    """Returns the fastest row and those whose interval overlaps with its own.

    Ties are marked with the fastest row of all; where that one needs too much memory, the
    intervals of the times are what is left to tell ties among the others.
    """
    quickest = min(rows, key=_seconds)
    high = quickest.timing.high_s if quickest.timing is not None else None
    limit = _seconds(quickest) if high is None else high
    lows = [run.timing.low_s if run.timing is not None else None for run in rows]
    return [
        run
        for run, low in zip(rows, lows, strict=True)
        if run is quickest or (low is not None and low <= limit)
    ]


def _leanest(rows: Sequence[Run]) -> list[Run]:
    """Returns the rows with the least peak; all of them where no peak is known."""
    peaks = [peak for run in rows if (peak := peak_bytes(run)) is not None]
    if not peaks:
        return list(rows)
    most = min(peaks) + max(SAME_BYTES, SAME_SHARE * min(peaks))
    return [run for run in rows if (peak := peak_bytes(run)) is not None and peak <= most]


def _may_be_used(run: Run, record: Comparison, memory_limit_bytes: int | None) -> bool:
    peak = peak_bytes(run)
    if memory_limit_bytes is not None and peak is not None and peak > memory_limit_bytes:
        return False
    if isinstance(record, GraphCompare):
        return not (_is_less_precise(run) or (run.execution == "xla" and drops_checks(record)))
    assert isinstance(record, MapCost)
    unsure = run.mapping == "batched" and not record.workload.batched
    return not (unsure and draws_random_numbers(record))


def _is_less_precise(run: Run) -> bool:
    return run.strategy.endswith(tuple(f"-{dtype}" for dtype in MIXED_DTYPES))


def _simplicity(run: Run) -> tuple[int, int]:
    """Returns a key that is the smaller, the simpler the row; the user's own variants come last."""
    order, name = (MAPPINGS, run.mapping) if run.mapping else (ROWS, run.strategy)
    place = order.index(name) if name in order else len(order)
    return place, EXECUTIONS.index(run.execution)


def _seconds(run: Run) -> float:
    time = median_s(run)
    return math.inf if time is None else time
