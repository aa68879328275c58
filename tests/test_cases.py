"""Every cell of `map_cells` under `%%mapcost`, each in a fresh IPython shell."""

from __future__ import annotations

import subprocess
import sys

import pytest
from map_cells import CASES
from shells import run_case

BY_NAME = {case["name"]: case for case in CASES}
DRAW = "import tensorflow as tf, numpy as np, random\n" + (
    "tail = [float(tf.random.normal([])), float(tf.random.uniform([])), np.random.rand(), random.random()]"
)


@pytest.mark.parametrize("name", [case["name"] for case in CASES])
def test_case_holds(shell, name):
    case = BY_NAME[name]
    run_case(shell, case, "%%mapcost", lambda record: check_report(record, case["expect"]))


def check_report(record, expect):
    codes = {finding.code for finding in record.findings}
    rows = {run.strategy: run for run in record.runs}
    for strategy, right in expect.get("status", {}).items():
        assert rows[strategy].status in right, (strategy, rows[strategy])
    for code in expect.get("findings", ()):
        assert code in codes
    for code in expect.get("no_findings", ()):
        assert code not in codes
    for slow, fast, ratio in expect.get("slower_than", ()):
        assert rows[slow].timing.median_s > ratio * rows[fast].timing.median_s
    assert len(rows) == 18, "the grid of 17 and the cell as written"
    for run in record.runs:
        assert run.status == "ok" or run.failure or run.agreement.detail, run
        assert run.failure is None or run.failure.message, run


@pytest.mark.parametrize(
    "name", [case["name"] for case in CASES if case["expect"].get("next_draw")]
)
def test_next_draws_are_those_of_a_plain_run(shell, name):
    case = BY_NAME[name]
    shell.ok(case["setup"])
    shell.ok("import random; np.random.seed(1); random.seed(1); tf.random.set_seed(2)")
    shell.ok("%%mapcost --budget 3\n" + case["cell"])
    shell.ok(DRAW)
    if "g" in shell.names:
        shell.ok("tail.append(g.normal([2]).numpy().tolist())")
    assert repr(shell.names["tail"]) == control(case)


def control(case):
    code = "\n".join(
        [
            case["setup"],
            "import random; np.random.seed(1); random.seed(1); tf.random.set_seed(2)",
            case["cell"],
            DRAW,
        ]
    )
    code += "\nif 'g' in globals(): tail.append(g.normal([2]).numpy().tolist())\nprint(repr(tail))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]
