"""Looking rows and their figures up in a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from tfinsight.records import AS_WRITTEN, Comparison, Evidence, GraphFacts, MapCost, Run


def median_s(run: Run | None) -> float | None:
    """Returns seconds a steady call, or `None` where there is no row or no timing."""
    return run.timing.median_s if run is not None and run.timing is not None else None


def peak_bytes(run: Run | None) -> int | None:
    """Returns the peak of a call, or `None` where there is no row or it was not measured."""
    return run.memory.peak_bytes if run is not None and run.memory is not None else None


def is_ok(run: Run | None) -> bool:
    """Returns whether the row is there and agrees with the reference."""
    return run is not None and run.status == "ok"


def ok_runs(record: Comparison, *mappings: str) -> tuple[Run, ...]:
    """Returns the rows of these mappings (of all, where none is given) whose status is `ok`."""
    return tuple(
        run for run in record.runs if is_ok(run) and (not mappings or run.mapping in mappings)
    )


def map_fn_run(record: MapCost) -> Run | None:
    """Returns the row that is `tf.map_fn` as the user runs it or would run it first.

    `None` where the cell calls `tf.vectorized_map`, or nothing of it was measured.
    """
    if record.workload.call == "tf.vectorized_map":
        return None
    if record.workload.call == "tf.map_fn" and record.run(AS_WRITTEN) is not None:
        return record.run(AS_WRITTEN)
    return record.run("map_fn/eager") or record.run("map_fn/graph")


def fastest(runs: Iterable[Run]) -> Run | None:
    """Returns the row with the smallest median, or `None` where none was timed."""
    timed = [(time, run) for run in runs if (time := median_s(run)) is not None]
    return min(timed, key=lambda pair: pair[0])[1] if timed else None


def graphs(record: Comparison) -> Iterator[tuple[Run, GraphFacts]]:
    """Yields the rows that have facts of a traced graph, with them."""
    for run in record.runs:
        if run.graph is not None:
            yield run, run.graph


def ops_in_graphs(
    record: Comparison, ops_of: Callable[[GraphFacts], tuple[str, ...]]
) -> tuple[str, ...]:
    """Returns the kinds of op that `ops_of` picks from any row's graph, each once."""
    return unique(op for _, graph in graphs(record) for op in ops_of(graph))


def ops_in_logs(record: Comparison, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """Returns what the pattern's group matches in the logged messages, each once."""
    return unique(op for line in record.logs for op in pattern.findall(line.message))


def logged(record: Comparison, pattern: re.Pattern[str]) -> bool:
    """Returns whether a logged message matches the pattern."""
    return any(pattern.search(line.message) for line in record.logs)


def unique(words: Iterable[str]) -> tuple[str, ...]:
    """Returns each word once, in order of first appearance."""
    return tuple(dict.fromkeys(words))


def ids(runs: Iterable[Run]) -> tuple[str, ...]:
    """Returns the rows' ids."""
    return tuple(run.strategy for run in runs)


def time_evidence(*runs: Run | None) -> tuple[Evidence, ...]:
    """Returns the steady time of each row that has one."""
    return tuple(
        Evidence(f"one call of {run.strategy}", time, "s")
        for run in runs
        if run is not None and (time := median_s(run)) is not None
    )


def ratio(slow: Run | None, fast: Run | None) -> float | None:
    """Returns how many times longer `slow` takes than `fast`, or `None` if either is untimed."""
    slow_s, fast_s = median_s(slow), median_s(fast)
    return slow_s / fast_s if slow_s is not None and fast_s else None


def draws_random_numbers(record: Comparison) -> bool:
    """Returns whether the results differ from run to run by design, as far as the record shows."""
    return any(graph.random_ops for _, graph in graphs(record)) or any(
        run.agreement is not None and run.agreement.verdict == "shape-only" for run in record.runs
    )


def first_line(text: str, length: int = 300) -> str:
    """Returns the first line of a message, cut at `length` characters."""
    line = (text.strip().splitlines() or [""])[0]
    return line if len(line) <= length else line[: length - 1] + "…"
