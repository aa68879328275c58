"""The three forms are one thing: the same options under the same names, help from the parser."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import tfinsight
from tfinsight.magics import map_parser
from tfinsight.options import MAP_OPTIONS

SETUP = """
import tensorflow as tf
x = tf.reshape(tf.range(24.0), [6, 4])
def half(r):
    return r * 0.5
def half_of_all(batch):
    return batch * 0.5
def wrong(elements):
    return elements * 0.25
"""
QUICK = "--budget 3 -s map_fn/graph,vectorized_map/graph,batched/graph"


def test_the_function_takes_the_magics_options_under_their_names():
    parameters = inspect.signature(tfinsight.mapcost).parameters
    wanted = {option.name for option in MAP_OPTIONS if "function" in option.forms}
    assert wanted <= set(parameters)
    assert set(parameters) - wanted == {"fn", "elems", "progress"}


def test_the_parser_has_every_option_once():
    actions = [action for action in map_parser()._actions if action.option_strings]
    flags = [flag for action in actions for flag in action.option_strings]
    assert sorted(flags) == sorted({*(f for o in MAP_OPTIONS for f in o.flags), "-h", "--help"})
    assert {option.name for option in MAP_OPTIONS} <= {action.dest for action in actions}


def test_help_is_the_parsers(shell):
    ran = shell.ok("%mapcost --help")
    for option in MAP_OPTIONS:
        assert option.flags[-1] in ran.printed
    assert shell.ip.find_line_magic("mapcost").__doc__ == map_parser().format_help()


@pytest.mark.parametrize(
    "code",
    [
        f"%%mapcost {QUICK} -o report\ny = tf.map_fn(half, x)",
        f"%%mapcost {QUICK} --fn half --over x -o report\nsize = len(x)",
        f"%mapcost half x {QUICK} -o report",
        "import tfinsight\nreport = tfinsight.mapcost(half, x, budget=3, "
        "strategies='map_fn/graph,vectorized_map/graph,batched/graph')",
    ],
)
def test_all_forms_measure_the_same(shell, code):
    shell.ok(SETUP)
    shell.ok(code)
    record = shell.names["report"].record
    wanted = {"map_fn/graph", "vectorized_map/graph", "batched/graph"}
    assert {run.strategy for run in record.runs} - {"as-written", "map_fn/eager"} == wanted
    assert all(run.status == "ok" and run.timing.median_s > 0 for run in record.runs)
    assert (record.workload.function, record.workload.elements) == ("half", "x")
    assert record.workload.element_count == 6


def test_batched_and_also_run_beside_the_others(shell):
    shell.ok(SETUP)
    shell.ok(
        "%%mapcost --budget 3 -s batched,wrong/graph --batched half_of_all --also wrong\n"
        "y = tf.map_fn(half, x)"
    )
    rows = {run.strategy: run for run in shell.record.runs}
    assert rows["batched/graph"].status == "ok"
    assert rows["wrong/graph"].status == "different"
    assert shell.record.workload.batched == "half_of_all"
    assert shell.record.verdict.recommended != "wrong/graph"


def test_the_recommended_way_can_be_called(shell):
    shell.ok(SETUP)
    shell.ok(f"%%mapcost {QUICK}\ny = tf.map_fn(half, x)")
    found = shell.report.best()(shell.names["x"])
    np.testing.assert_allclose(found, shell.names["y"])


def test_quiet_shows_nothing_and_keeps_the_report(shell):
    shell.ok(SETUP)
    ran = shell.ok(f"%%mapcost -q {QUICK}\ny = tf.map_fn(half, x)")
    assert ran.shown == []
    assert ran.printed == ""
    assert shell.report.record.verdict.recommended


def test_the_cells_last_value_stays_the_cells(shell):
    shell.ok(SETUP)
    shell.ok(f"%%mapcost {QUICK}\ny = tf.map_fn(half, x)\ny.shape[0]")
    assert shell.names["_"] == 6
    assert "tfi-static" in shell.ok("%tfinsight last").printed or shell.names["_"] is shell.report


def test_save_writes_what_load_reads(shell, tmp_path):
    shell.ok(SETUP)
    path = tmp_path / "cost.json"
    shell.ok(f"%%mapcost {QUICK} --save {path}\ny = tf.map_fn(half, x)")
    again = tfinsight.load(path)
    assert again.record == shell.record
    assert json.loads(path.read_text())["kind"] == "mapcost"


def test_other_calls_are_listed_and_can_be_picked(shell):
    shell.ok(SETUP)
    cell = "a = tf.map_fn(half, x)\nb = tf.map_fn(lambda r: tf.reduce_sum(r), x[:3])"
    shell.ok(f"%%mapcost {QUICK} --call 2\n{cell}")
    assert shell.record.workload.call_number == 2
    assert shell.record.workload.element_count == 3
    (other,) = shell.record.workload.other_calls
    assert other.number == 1
    assert other.text == "tf.map_fn(half, x)"
    assert other.seconds > 0


def test_unloading_takes_the_magics_away(shell):
    shell.ip.run_line_magic("unload_ext", "tfinsight")
    assert shell.ip.find_cell_magic("mapcost") is None
    assert shell.ip.find_line_magic("tfinsight") is None
    shell.ip.run_line_magic("load_ext", "tfinsight")
    assert shell.ip.find_cell_magic("mapcost")


def test_environment_is_shown(shell):
    printed = shell.ok("%tfinsight env").printed
    assert "tensorflow" in printed
    assert "CPU" in printed
