"""What `%%mapcost` does with cells that have a trap in them, beyond those of `map_cells`."""

from __future__ import annotations

import numpy as np
import pytest
from shells import Shell

SETUP = """
import numpy as np
import tensorflow as tf
import keras
x = tf.random.stateless_normal([40, 6], seed=[1, 2])
def half(r):
    return r * 0.5
"""
QUICK = "--budget 4 -s map_fn,vectorized_map/graph,batched/graph"


def rows(shell):
    return {run.strategy: run for run in shell.record.runs}


def codes(shell):
    return {finding.code for finding in shell.record.findings}


def measured(shell, cell, options=QUICK, setup=""):
    shell.ok(SETUP + setup)
    ran = shell.ok(f"%%mapcost {options}\n{cell}")
    assert rows(shell)["as-written"].status == "ok" if "as-written" in rows(shell) else True
    return ran


def test_nothing_is_printed_but_the_report(shell):
    ran = measured(
        shell, "y = tf.map_fn(lambda r: tf.linalg.svd(r[None], compute_uv=False), x)", "--budget 4"
    )
    assert len(ran.shown) == 1
    assert ran.printed == ""


def test_prints_in_the_function_appear_once_and_are_a_finding(shell):
    ran = measured(
        shell, "def loud(r):\n    print('here')\n    return r * 0.5\ny = tf.map_fn(loud, x)"
    )
    assert ran.printed.count("here") == 40
    assert "python_side_effect" in codes(shell)


def test_a_map_in_a_layers_call_is_found(shell):
    setup = """
class Halves(keras.layers.Layer):
    def call(self, batch):
        return tf.map_fn(half, batch)
layer = Halves()
"""
    measured(shell, "y = layer(x)", setup=setup)
    assert rows(shell)["vectorized_map/graph"].status == "ok"
    assert "Halves" in shell.record.workload.place or "call" in shell.record.workload.place


def test_of_nested_maps_the_outer_is_measured(shell):
    measured(shell, "y = tf.map_fn(lambda r: tf.map_fn(lambda v: v * 0.5, r), x)")
    assert shell.record.workload.element_count == 40
    assert shell.record.workload.other_calls == ()


def test_a_map_inside_a_compiled_function_is_measured_as_compiled(shell):
    setup = "@tf.function(jit_compile=True)\ndef run(batch):\n    return tf.map_fn(half, batch)\n"
    measured(shell, "y = run(x)", setup=setup)
    assert shell.record.workload.execution == "xla"
    assert shell.record.workload.enclosing == "run"
    assert rows(shell)["map_fn/xla"].timing == rows(shell)["as-written"].timing


def test_of_a_different_row_it_is_said_which_is_nearer_the_truth(shell):
    measured(shell, "y = tf.map_fn(lambda r: r - tf.reduce_mean(r), x)")
    agreement = rows(shell)["batched/graph"].agreement
    assert agreement.verdict == "different"
    assert agreement.max_error > 1e-3 > agreement.reference_max_error


def test_what_would_not_fit_is_left_out_with_what_it_would_have_needed(shell):
    setup = "big = tf.zeros([64, 256, 256])\n"
    cell = "y = tf.map_fn(lambda m: tf.reduce_sum(tf.exp(m) + tf.sin(m)), big)"
    measured(
        shell, cell, "--budget 4 --memory-limit 8MiB -s map_fn/graph,vectorized_map/graph", setup
    )
    failure = rows(shell)["vectorized_map/graph"].failure
    assert (failure.stage, failure.kind) == ("preflight", "would not fit")
    assert failure.needed_bytes > 8 * 2**20


def test_a_million_elements_are_legal(shell):
    setup = "many = tf.range(1_000_000, dtype=tf.float32)\n"
    measured(shell, "y = tf.vectorized_map(lambda t: t * t, many)", "--budget 6", setup)
    assert rows(shell)["map_fn/eager"].status == "skipped"
    assert rows(shell)["map_fn/eager"].failure.kind == "would take too long"
    assert rows(shell)["batched/graph"].status == "ok"
    assert shell.record.verdict.recommended


def test_a_function_that_reads_a_generator_is_not_repeated(shell):
    shell.ok(
        SETUP + "numbers = iter(range(1000))\ndef draws(r):\n    return r + float(next(numbers))\n"
    )
    shell.ok(f"%%mapcost {QUICK}\ny = tf.map_fn(draws, x)")
    assert any("numbers" in what for what in shell.record.not_repeatable)
    assert {run.status for run in shell.record.runs} == {"ok", "skipped"}
    assert rows(shell)["as-written"].timing.first_call_s > 0
    assert "not_repeatable" in codes(shell)
    drawn = 1000 - len(list(shell.names["numbers"]))
    shell.ok("numbers = iter(range(1000)); y = tf.map_fn(draws, x)")
    assert drawn == 1000 - len(list(shell.names["numbers"]))


def test_a_profiler_of_the_users_goes_on(shell, tmp_path):
    shell.ok(SETUP + f"tf.profiler.experimental.start({str(tmp_path)!r})")
    shell.ok(f"%%mapcost {QUICK}\ny = tf.map_fn(half, x)")
    assert any("profiler session of your own" in note for note in shell.record.notes)
    shell.ok("tf.profiler.experimental.stop()")
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_functions_run_eagerly_are_named(shell):
    shell.ok(SETUP + "tf.config.run_functions_eagerly(True)")
    try:
        shell.ok(f"%%mapcost {QUICK}\ny = tf.map_fn(half, x)")
        assert any("run_functions_eagerly" in note for note in shell.record.notes)
        assert rows(shell)["map_fn/graph"].graph is not None
    finally:
        shell.ok("tf.config.run_functions_eagerly(False)")


def test_elements_are_held_as_they_were(shell):
    setup = "grid = np.ones([30, 4], np.float32)\n"
    measured(shell, "y = tf.map_fn(half, grid)\ngrid[:] = -1.0", setup=setup)
    assert np.all(shell.names["grid"] == -1.0)
    found = shell.report.best()(shell.names["np"].ones([30, 4], np.float32))
    np.testing.assert_allclose(found, shell.names["y"])


@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        (
            "pair = (x, tf.range(40))",
            "y = tf.map_fn(lambda p: p[0][p[1] % 6], pair, fn_output_signature=tf.float32)",
        ),
        (
            "words = tf.constant(['a b', 'c', ''] * 10)",
            "y = tf.map_fn(tf.strings.length, words, fn_output_signature=tf.int32)",
        ),
        (
            "s = tf.sparse.from_dense(tf.eye(12))",
            "y = tf.map_fn(tf.sparse.reduce_sum, s, fn_output_signature=tf.float32)",
        ),
        (
            "",
            "y = tf.map_fn(lambda r: {'top': tf.reduce_max(r), 'r': r}, x, "
            "fn_output_signature={'top': tf.float32, 'r': tf.float32})",
        ),
        ("z = tf.cast(x, tf.complex64)", "y = tf.map_fn(tf.math.conj, z, parallel_iterations=3)"),
        ("h = tf.cast(x, tf.bfloat16)", "y = tf.map_fn(lambda r: r * r, h)"),
        ("b = x > 0", "y = tf.map_fn(tf.reduce_any, b)"),
        ("v = tf.Variable(x)", "y = tf.map_fn(half, v)"),
        ("", "y = tf.map_fn(lambda r: tf.cast(tf.reduce_sum(r), tf.int32), x, dtype=tf.int32)"),
    ],
)
def test_all_kinds_of_elements_and_results(shell, setup, cell):
    measured(shell, cell, QUICK.replace("4", "7", 1), setup)
    assert rows(shell)["map_fn/graph"].status == "ok", rows(shell)["map_fn/graph"]


def test_keras_dropout_is_random_and_not_wrong(shell):
    setup = "drop = keras.layers.Dropout(0.5, seed=3)\n"
    measured(shell, "y = tf.map_fn(lambda r: drop(r, training=True), x)", setup=setup)
    assert {"nondeterministic"} <= codes(shell)
    assert "different_result" not in codes(shell)
    assert rows(shell)["vectorized_map/graph"].agreement.verdict == "shape-only"


def test_first_dimensions_of_one_are_broadcast_as_vectorized_map_does(shell):
    cell = "y = tf.vectorized_map(lambda p: p[0] * p[1], (x, tf.ones([1, 6])))"
    measured(shell, cell)
    assert rows(shell)["map_fn/graph"].status == "ok"


def test_code_for_a_call_in_a_helper_says_where_it_belongs(shell):
    setup = "def work(batch):\n    return tf.map_fn(half, batch)\n"
    measured(shell, "y = work(x)", setup=setup)
    for run in shell.record.runs:
        assert not run.code or run.code.startswith(
            "# in work, in the place of its call of tf.map_fn"
        )


def test_a_python_if_that_vectorized_map_cannot_take_is_explained(shell):
    cell = "def f(v):\n    if v > 0.0:\n        return v\n    return -v\ny = tf.map_fn(f, x[:, 0])"
    measured(shell, cell)
    assert rows(shell)["map_fn/graph"].status == "ok"
    assert rows(shell)["vectorized_map/graph"].status == "failed"
    (finding,) = [f for f in shell.record.findings if f.code == "autograph_failed"]
    assert "tf.vectorized_map" in finding.title


def test_numbers_drawn_by_numpy_are_never_ranked_where_a_graph_freezes_them(shell):
    setup = "stream = np.random.default_rng(0)\n"
    for draw in ("np.random.rand()", "stream.random()"):
        measured(
            shell, f"y = tf.map_fn(lambda r: r + float({draw}), x)", "--budget 4 -s loop", setup
        )
        assert rows(shell)["loop/eager"].status == "ok"
        assert rows(shell)["loop/graph"].status == "different"
        assert "drawn once, while tracing" in rows(shell)["loop/graph"].agreement.detail


def test_objects_that_change_at_tracing_only_are_named(shell):
    setup = "seen = []\ndef noted(r):\n    seen.append(1)\n    return r * 0.5\n"
    measured(shell, "y = tf.map_fn(noted, x)", setup=setup)
    (finding,) = [f for f in shell.record.findings if f.code == "python_side_effect"]
    assert [fact.value for fact in finding.evidence] == ["seen"]
    assert len(shell.names["seen"]) == 40


def test_a_keras_fit_ends_as_one_plain_fit_though_the_map_in_it_is_measured():
    setup = """
import keras, numpy as np, tensorflow as tf
keras.utils.set_random_seed(5)
class Doubled(keras.layers.Layer):
    def call(self, batch):
        return tf.map_fn(lambda r: r * 2.0, batch)
layers = [keras.Input((8,)), keras.layers.Dense(4), Doubled(), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
model = keras.Sequential(layers)
model.compile("adam", "mse")
X = np.random.default_rng(0).normal(size=(64, 8)).astype("float32")
"""
    cell = "history = model.fit(X, X[:, :1], epochs=2, batch_size=16, verbose=0).history"
    after = """
found = [np.asarray(v).tolist() for v in [*model.weights, *model.optimizer.variables]]
found.append(history)
found.append(model.fit(X, X[:, :1], verbose=0).history)
"""
    results = []
    for magic in ("", "%%mapcost --budget 4\n"):
        shell = Shell()
        shell.ok(setup)
        shell.ok(magic + cell)
        if magic:
            assert shell.record.workload.execution == "graph"
        shell.ok(after)
        results.append(shell.names["found"])
        shell.close()
    assert results[0] == results[1]


def test_every_snippet_runs_in_the_notebook(shell):
    measured(shell, "y = tf.map_fn(half, x)", "--budget 6")
    for run in shell.record.runs:
        if run.status == "ok" and run.code:
            shell.ok("y = None\n" + run.code)
            np.testing.assert_allclose(shell.names["y"], shell.names["x"] * 0.5, rtol=1e-5)


def test_completion_offers_options_and_strategies(shell):
    _, options = shell.ip.complete("--bu", "%%mapcost --bu", 14)
    assert "--budget" in options
    _, strategies = shell.ip.complete("vect", "%%mapcost -s vect", 17)
    assert {"vectorized_map", "vectorized_map/xla"} <= set(strategies)
    _, rows = shell.ip.complete("graph-", "%%graphcompare -s graph-", 23)
    assert "graph-no-grappler" in rows
    _, dtypes = shell.ip.complete("bf", "%%graphcompare --mixed bf", 25)
    assert "bfloat16" in dtypes
