"""The verdict ranks what may be ranked, and recommends what a user can rely on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tfinsight.findings.verdict import verdict
from tfinsight.records import (
    Agreement,
    Environment,
    GraphFacts,
    MapCost,
    MapOptions,
    Memory,
    Run,
    Timing,
    Verdict,
    WorkloadFacts,
)

KIB = 1024


def row(
    strategy: str,
    median: float | None,
    peak: int | None = 100 * KIB,
    *,
    ties: bool = False,
    width: float = 0.02,
    status: Any = "ok",
    agreement: Any = "equal",
) -> Run:
    mapping, _, execution = strategy.partition("/")
    timing = Timing(
        median_s=median,
        low_s=None if median is None else median * (1 - width),
        high_s=None if median is None else median * (1 + width),
        ties_with_fastest=ties,
    )
    memory = None if peak is None else Memory(peak, peak, 3, None, None, None, "all")
    values: Any = execution or "eager"
    return Run(strategy, mapping, values, status, timing, memory, Agreement(agreement))


def record(*runs: Run, element_count: int = 100, batched: str | None = None) -> MapCost:
    workload = WorkloadFacts(
        function="f",
        elements="x",
        call="tf.map_fn",
        call_text="tf.map_fn(f, x)",
        place="",
        enclosing=None,
        execution="eager",
        with_gradient=False,
        element_count=element_count,
        inputs=(),
        outputs=(),
        arguments={},
        assigned_name="y",
        ops_per_element=1,
        batched=batched,
        source="",
        call_number=1,
        other_calls=(),
    )
    environment = Environment({}, "", "", 2, None, (), "CPU:0", "all", {}, "")
    return MapCost(
        workload=workload,
        environment=environment,
        options=MapOptions(),
        reference="as-written",
        baseline="as-written",
        runs=runs,
    )


def test_the_fastest_row_and_those_that_tie_with_it() -> None:
    rows = (
        row("as-written", 1.0, 10 * KIB),
        row("vectorized_map/graph", 0.0100, 200 * KIB, ties=True),
        row("batched/graph", 0.0101, 100 * KIB, ties=True),
    )
    assert verdict(record(*rows), None) == Verdict(
        fastest=("vectorized_map/graph", "batched/graph"),
        leanest=("as-written",),
        recommended="batched/graph",
    )


def test_wrong_failed_skipped_and_untimed_rows_are_never_ranked() -> None:
    rows = (
        row("as-written", 1.0),
        row("batched/graph", 0.001, 1, status="different"),
        row("batched/xla", 0.001, 1, status="failed", ties=True),
        row("loop/xla", 0.001, 1, status="skipped"),
        row("map_fn/graph", None, 1),
    )
    assert verdict(record(*rows), None) == Verdict(("as-written",), ("as-written",), "as-written")


@pytest.mark.parametrize("rows", [(), (row("as-written", 1.0),)])
def test_without_elements_nothing_is_ranked(rows: tuple[Run, ...]) -> None:
    assert verdict(record(*rows, element_count=0), None) == Verdict()
    assert verdict(record(), None) == Verdict()


def test_the_memory_limit_holds_for_what_is_recommended_alone() -> None:
    found = record(
        row("as-written", 1.0, 10 * KIB),
        row("vectorized_map/graph", 0.01, 900 * KIB),
        row("chunked/graph", 0.02, 50 * KIB),
        row("map_fn/graph", 0.0201, 40 * KIB),
        row("dataset/graph", 0.03, 1 * KIB),
    )
    assert verdict(found, None).recommended == "vectorized_map/graph"
    limited = verdict(found, 100 * KIB)
    assert limited.fastest == ("vectorized_map/graph",)
    assert limited.recommended == "map_fn/graph"  # its interval overlaps, and it is leaner
    assert verdict(found, 10).recommended is None


@pytest.mark.parametrize(
    ("rows", "recommended"),
    [
        (("batched/graph", "as-written"), "as-written"),
        (("vectorized_map/graph", "batched/xla", "batched/graph"), "batched/graph"),
        (("map_fn/xla", "vectorized_map/xla", "mine/graph"), "vectorized_map/xla"),
    ],
)
def test_of_rows_that_tie_in_all_the_simplest_is_recommended(
    rows: tuple[str, ...], recommended: str
) -> None:
    tied = [row(name, 0.01, 100 * KIB + 200 * i, ties=True) for i, name in enumerate(rows)]
    found = verdict(record(*tied), None)
    assert found.recommended == recommended
    assert found.leanest == rows


def test_unknown_memory_is_no_reason_against_the_fastest() -> None:
    found = record(row("as-written", 1.0, None), row("batched/graph", 0.01, None))
    assert verdict(found, 10) == Verdict(("batched/graph",), (), "batched/graph")


def test_a_batched_form_that_could_only_be_compared_by_shape_is_not_recommended() -> None:
    rows = (
        row("as-written", 1.0, agreement="equal"),
        row("vectorized_map/graph", 0.02, agreement="shape-only"),
        row("batched/graph", 0.01, agreement="shape-only"),
    )
    found = verdict(record(*rows), None)
    assert found.fastest == ("batched/graph",)
    assert found.recommended == "vectorized_map/graph"
    assert verdict(record(*rows, batched="augment"), None).recommended == "batched/graph"
    random = GraphFacts(1, {}, random_ops=("RandomStandardNormal",))
    drawn = (replace(rows[0], graph=random), row("batched/graph", 0.01))
    assert verdict(record(*drawn), None).recommended == "as-written"
