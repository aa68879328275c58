"""Measuring longer: more samples for the same report, and the notebook left as it is by now."""

from __future__ import annotations

import pytest
import tensorflow as tf

import tfinsight

MAP_SETUP = "import tensorflow as tf\nx = tf.random.stateless_normal([64, 16], [1, 2])"
MAP_CELL = "%%mapcost -q -s map_fn,vectorized_map --budget 3 -o report\ny = tf.map_fn(lambda v: v * 2.0, x)"
STEP_SETUP = """
import tensorflow as tf
w = tf.Variable(tf.ones([16, 4]))
x = tf.random.stateless_normal([64, 16], [1, 2])
"""
STEP_CELL = """%%graphcompare -q --budget 4 -o report
with tf.GradientTape() as tape:
    loss = tf.reduce_sum((x @ w) ** 2)
w.assign_sub(0.01 * tape.gradient(loss, w))
loss"""


def calls(report):
    return {run.strategy: run.timing.calls for run in report.record.runs if run.timing}


def test_the_rows_asked_for_the_baseline_and_the_fastest_get_more_samples(shell):
    shell.ok(MAP_SETUP)
    shell.ok(MAP_CELL)
    report = shell.names["report"]
    before, old = calls(report), report.record
    report.measure_longer("map_fn/graph", seconds=1.0)
    after = calls(report)
    grown = {name for name in after if after[name] > before[name]}
    fastest = min(before, key=lambda name: old.run(name).timing.median_s)
    # The cell as written is map_fn/eager, so both have its samples.
    assert {"map_fn/graph", "as-written", "map_fn/eager", fastest} == grown | {fastest}
    for name in grown:
        assert len(report.record.run(name).timing.samples_s) > len(old.run(name).timing.samples_s)
    for run in report.record.runs:
        assert run.memory == old.run(run.strategy).memory
        assert run.code == old.run(run.strategy).code
    assert report.record.run("map_fn/graph").timing.speedup_low is not None


def test_the_notebook_is_left_as_it_is_by_now(shell):
    shell.ok(STEP_SETUP)
    shell.ok(STEP_CELL)
    shell.ok(
        "w.assign(3.0 * tf.ones([16, 4])); tf.random.set_seed(7); import random; random.seed(3)"
    )
    shell.ok("expected = tf.random.Generator.from_seed(1).normal([2]); state = random.getstate()")
    report = shell.names["report"]
    before = calls(report)
    report.measure_longer(seconds=1.5)
    assert all(calls(report)[name] > before[name] for name in ("eager", "graph", "xla"))
    shell.ok("assert bool(tf.reduce_all(w == 3.0)) and random.getstate() == state")
    assert not tf.config.functions_run_eagerly()


def test_an_unknown_row_names_those_that_there_are(shell):
    shell.ok(MAP_SETUP)
    shell.ok(MAP_CELL)
    with pytest.raises(
        ValueError, match=r"no timed row `map_fn/grap`; rows with times: as-written"
    ):
        shell.names["report"].measure_longer("map_fn/grap", seconds=0.5)


def test_a_loaded_report_says_that_it_has_nothing_to_measure(tmp_path):
    report = tfinsight.mapcost(
        lambda v: v * 2.0, tf.ones([8, 4]), strategies="map_fn", budget=1.5, quiet=True
    )
    report.save(tmp_path / "r.json")
    with pytest.raises(RuntimeError, match="was loaded and holds no functions"):
        tfinsight.load(tmp_path / "r.json").measure_longer()
