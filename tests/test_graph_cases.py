"""Every cell of `graph_cells` under `%%graphcompare`, each in a fresh IPython shell."""

from __future__ import annotations

import pytest
from graph_cells import CASES
from shells import run_case

BY_NAME = {case["name"]: case for case in CASES}


@pytest.mark.parametrize("name", list(BY_NAME))
def test_case_holds(shell, name):
    case = BY_NAME[name]
    expect = case["expect"]

    def check(record):
        check_report(record, expect)
        assert shell.report.to_text()
        assert shell.report.to_html()

    ran = run_case(shell, case, "%%graphcompare --budget 6", check)
    if "prints" in expect:
        assert ran.printed.startswith(expect["prints"])
        assert ran.printed.count(expect["prints"]) == 1


def check_report(record, expect):
    codes = {finding.code for finding in record.findings}
    rows = {run.strategy: run for run in record.runs}
    for strategy, right in expect.get("status", {}).items():
        assert rows[strategy].status in right, (strategy, rows[strategy])
    assert codes >= set(expect.get("findings", ())), codes
    assert not codes & set(expect.get("no_findings", ()))
    for lean, fat in expect.get("leaner_than", ()):
        if record.environment.coverage == "all":
            assert rows[lean].memory.peak_bytes < rows[fat].memory.peak_bytes
    for strategy, reason in expect.get("reasons", {}).items():
        assert reason in rows[strategy].failure.message
    check_cell(record.cell, expect)
    for run in record.runs:
        assert run.status == "ok" or run.failure or run.agreement.detail, run


def check_cell(cell, expect):
    if "inputs" in expect:
        assert [tensor.path for tensor in cell.inputs] == expect["inputs"]
    if "captured" in expect:
        assert list(cell.captured) == expect["captured"]
    if "measured" in expect:
        assert cell.measured_lines == expect["measured"]
    if "result" in expect:
        assert cell.result == expect["result"]
    if "functions" in expect:
        assert list(cell.functions) == expect["functions"]


def test_python_that_runs_while_tracing_is_put_back(shell):
    case = BY_NAME["prints_and_counts"]
    shell.ok(case["setup"])
    shell.ok("%%graphcompare --budget 3\n" + case["cell"])
    assert shell.names["seen"] == ["step"]
