"""What is the same in every run of a cell: what nbval compares, and what it must not see."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sample_graph_records
import sample_records
from sample_records import WRONG, full, row, timing, with_row

from tfinsight import findings
from tfinsight.records import Finding, Memory
from tfinsight.render.same import MEASURED, SANITIZE, STRUCTURAL, TITLE, facts
from tfinsight.report import Report

KINDS = pytest.mark.parametrize(
    "make", [full, sample_graph_records.full], ids=["mapcost", "graphcompare"]
)


def sanitized(record):
    """Returns what nbval compares of a report: each form with the rules applied in their order."""
    forms = []
    for text in Report(record)._repr_mimebundle_().values():
        for pattern, replacement in SANITIZE:
            text = re.sub(pattern, replacement, text)
        forms.append(text)
    return forms


def another_run(record):
    """Returns the record of another run of the same cell: other figures, other noise."""
    runs = tuple(
        replace(
            run,
            timing=run.timing and timing(3.7 * (run.timing.median_s or 1.0), interval=False),
            memory=run.memory and replace(run.memory, peak_bytes=12_345_678, top=()),
            agreement=run.agreement
            and replace(
                run.agreement,
                max_abs=1e-7,
                verdict={"equal": "close", "close": "equal"}.get(
                    run.agreement.verdict, run.agreement.verdict
                ),
            ),
        )
        for run in record.runs
    )
    noise = Finding("noisy_machine", "info", "Times vary a lot more today")
    kept = tuple(f for f in record.findings if f.code in STRUCTURAL)
    verdict = replace(record.verdict, recommended=record.runs[1].strategy, fastest=())
    return replace(record, runs=runs, findings=(noise, *kept), verdict=verdict, logs=(), stages=())


@KINDS
def test_another_run_of_the_same_cell_reads_the_same_to_nbval(make):
    assert Report(make())._repr_mimebundle_() != Report(another_run(make()))._repr_mimebundle_()
    assert sanitized(another_run(make())) == sanitized(make())


@KINDS
def test_both_forms_keep_the_facts(make):
    text, html = sanitized(make())
    for form in (text, html):
        assert form.startswith("A report of tfinsight. ")
        words = " ".join(form.split())
        for fact in facts(make()):
            assert fact in words
    assert "ms" not in text.split()


@KINDS
def test_a_status_that_flips_is_seen(make):
    record = make()
    strategy = record.runs[1].strategy
    for status in ("failed", "different", "skipped"):
        agreement = WRONG if status == "different" else record.runs[1].agreement
        flipped = with_row(record, strategy, status=status, agreement=agreement)
        assert all(a != b for a, b in zip(sanitized(flipped), sanitized(record), strict=True))


@KINDS
def test_a_finding_about_the_code_that_comes_or_goes_is_seen(make):
    record = make()
    added = Finding("host_callback", "advice", "The function calls back into Python")
    changed = replace(record, findings=(*record.findings, added))
    assert all(a != b for a, b in zip(sanitized(changed), sanitized(record), strict=True))


def test_other_inputs_are_seen():
    record = full()
    workload = replace(record.workload, elements="other")
    assert sanitized(replace(record, workload=workload)) != sanitized(record)


def test_a_row_more_is_seen():
    record = full()
    assert sanitized(replace(record, runs=(*record.runs, row("mine/eager", 1.0)))) != sanitized(
        record
    )


def test_every_finding_is_of_one_kind():
    named = {claim.__name__ for claim in (*findings.MAP_FINDINGS, *findings.GRAPH_FINDINGS)}
    named.add("dispatch_bound")
    assert named == STRUCTURAL | MEASURED
    assert not STRUCTURAL & MEASURED


@pytest.mark.parametrize(
    "make", [*sample_records.SAMPLES, *sample_graph_records.SAMPLES], ids=lambda make: make.__name__
)
def test_the_rules_leave_nothing_but_the_facts_of_any_report(make):
    for form in sanitized(make()):
        assert len(form) < 6_000
        assert TITLE in form


def test_output_that_is_no_report_is_left_alone():
    for text in ("1.23 ms", "<div>3 x</div>", f"{TITLE}", "", "loss 0.5\n\nThe same"):
        for pattern, replacement in SANITIZE:
            assert re.sub(pattern, replacement, text) == text


def test_memory_without_a_peak_changes_no_fact():
    record = with_row(full(), "loop/eager", memory=Memory(None, None, 0, None, None, None, "none"))
    assert sanitized(record) == sanitized(full())
