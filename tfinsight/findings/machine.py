"""Findings about the measurement itself: noise, and messages that TensorFlow wrote meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable

from tfinsight.findings.mapping import (
    FALLBACK_LOG,
    PARALLEL_ITERATIONS_LOG,
    PFOR_RETRACE_LOG,
    eager_vectorized_map_retraces,
    map_fn_runs_serially,
    pfor_fallback,
)
from tfinsight.findings.rows import first_line, ids
from tfinsight.findings.tracing import AUTOGRAPH_LOG, RETRACE_LOG, autograph_failed, retracing
from tfinsight.records import Comparison, Evidence, Finding, GraphCompare, LogLine, MapCost

# Quiet machines stay under a tenth; a shared one may show a quarter in a row or two.
NOISY_SPREAD, NOISY_ROWS = 0.25, 0.5
SPREAD_SAMPLES = 3
LINES_SHOWN = 10

# Messages that a finding tells of in its own words, and that finding.
EXPLAINED_OF_MAPS: tuple[tuple[re.Pattern[str], Callable[[MapCost], Finding | None]], ...] = (
    (PARALLEL_ITERATIONS_LOG, map_fn_runs_serially),
    (FALLBACK_LOG, pfor_fallback),
    (PFOR_RETRACE_LOG, eager_vectorized_map_retraces),
)
EXPLAINED: tuple[tuple[re.Pattern[str], Callable[[Comparison], Finding | None]], ...] = (
    (RETRACE_LOG, retracing),
    (AUTOGRAPH_LOG, autograph_failed),
)

# What TensorFlow's C++ log writes for information: `I0000 ...` or `2026-...: I tensorflow/...`.
_INFORMATION = re.compile(r"^(I\d{4} |[\d-]{10} [\d:.]+: I |WARNING: All log messages before absl)")
# Times, process numbers and addresses differ from run to run and tell a reader nothing.
_STAMP = re.compile(r"^[\d-]{10} [\d:.]+: ([EFW]) |^([EFW])\d{4} [\d:.]+ +\d+ ")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def noisy_machine(record: Comparison) -> Finding | None:
    """Times of one and the same row vary so much that close rows can't be told apart."""
    spreads = {
        run.strategy: run.timing.spread
        for run in record.runs
        if run.timing is not None
        and run.timing.spread is not None
        and len(run.timing.samples_s) >= SPREAD_SAMPLES
    }
    noisy = {name: spread for name, spread in spreads.items() if spread >= NOISY_SPREAD}
    if not noisy or len(noisy) < NOISY_ROWS * len(spreads):
        return None
    ties = [run for run in record.runs if run.timing is not None and run.timing.ties_with_fastest]
    return Finding(
        code="noisy_machine",
        severity="info",
        title="Times vary a lot on this machine",
        evidence=(
            Evidence("rows with a wide spread", len(noisy), "count"),
            Evidence("rows timed", len(spreads), "count"),
            Evidence("widest spread of a row", max(noisy.values()), "%"),
            Evidence("rows that tie with the fastest", len(ties), "count"),
        ),
        advice="Rows with similar times cannot be told apart and count as ties. Close other "
        "programs, or measure for longer with a larger budget.",
        strategies=tuple(noisy),
    )


def captured_warnings(record: Comparison) -> Finding | None:
    """Warnings that were kept out of the notebook and that no other finding explains."""
    left = [line for line in record.logs if not _is_explained(line, record)]
    if not left:
        return None
    shown: dict[tuple[str, str], int] = {}
    for line in left:
        key = (line.source, _plain(line.message))
        shown[key] = shown.get(key, 0) + line.count
    kept = list(shown)[:LINES_SHOWN]
    more = len(shown) - len(kept)
    evidence = [Evidence(source, text) for source, text in kept]
    if more:
        evidence.append(Evidence("further messages", more, "count"))
    return Finding(
        code="captured_warnings",
        severity="info",
        title="Warnings appeared while this was measured",
        evidence=tuple(evidence),
        advice="They were kept out of the notebook. They may be about your code or about one of "
        "the ways of running it that were tried.",
        strategies=ids(r for r in record.runs if any(r.strategy == n.strategy for n in left)),
    )


def _is_explained(line: LogLine, record: Comparison) -> bool:
    if line.source == "output":
        return True  # printed by the user's own code: no warning
    if line.source == "native":
        run = record.run(line.strategy)
        # A row that failed gives the same error as its reason.
        if _INFORMATION.match(line.message) or (run is not None and run.status == "failed"):
            return True
    if isinstance(record, MapCost):
        of_maps = any(
            p.search(line.message) and finding(record) for p, finding in EXPLAINED_OF_MAPS
        )
        if of_maps:
            return True
    if isinstance(record, GraphCompare) and RETRACE_LOG.search(line.message):
        return True  # of the functions that measuring itself makes, or told of by `retracing`
    return any(p.search(line.message) and finding(record) for p, finding in EXPLAINED)


def _plain(message: str) -> str:
    return _ADDRESS.sub("", first_line(_STAMP.sub("", message)))
