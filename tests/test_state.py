"""After the magic a notebook is as after one plain run: compared with a control process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from state_script import SCENARIOS

SCRIPT = Path(__file__).parent / "state_script.py"


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_state_is_that_of_a_plain_run(scenario, tmp_path):
    processes = [start(how, scenario, tmp_path) for how in ("plain", "magic")]
    plain, magic = [finished(process) for process in processes]

    assert len(plain) == len(magic) == len(SCENARIOS[scenario])
    for step, (expected, found) in enumerate(zip(plain, magic, strict=True)):
        for item in expected:
            assert found[item] == expected[item], (scenario, step, item)


def start(how, scenario, tmp_path):
    folder = tmp_path / how
    (folder / "tmp").mkdir(parents=True)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp"), "PYTHONHASHSEED": "0"}
    environment.pop("TF_CPU_ALLOCATOR_USE_BFC", None)
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), how, scenario],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )


def finished(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-3000:]
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]
