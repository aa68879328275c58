"""After a training step under `%%graphcompare`, all is as after one plain run, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NAMES = ("sgd", "adam", "hand-written", "fit", "train_on_batch", "one fails")


def left_behind(mode: str) -> dict[str, dict[str, object]]:
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        [sys.executable, str(HERE / "graph_state_script.py"), mode],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line.pop("scenario"): line for line in lines}


@pytest.fixture(scope="module")
def plain() -> dict[str, dict[str, object]]:
    return left_behind("plain")


@pytest.fixture(scope="module", params=["magic", "interrupted"])
def measured(request) -> dict[str, dict[str, object]]:
    return left_behind(request.param)


@pytest.mark.parametrize("name", NAMES)
def test_all_is_as_after_one_plain_run(plain, measured, name):
    assert measured[name] == plain[name]


def test_the_scenarios_change_what_is_compared(plain):
    assert len({str(plain[name]["weights"]) for name in ("sgd", "adam", "fit")}) == 3
    assert plain["sgd"]["sgd"] != plain["adam"]["sgd"]
    assert plain["hand-written"]["w"] != plain["sgd"]["w"]
