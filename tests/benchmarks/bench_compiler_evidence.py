"""What looking inside costs: evidence beside what TensorFlow itself needs to trace, optimize, compile.

Run with `pytest -m benchmark -s tests/benchmarks/bench_compiler_evidence.py`; prints both figures.
"""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.benchmark


def stages_of(report):
    return {stage.name: stage for stage in report.record.stages}


def compiling_s(report):
    """Seconds that TensorFlow took to trace, optimize and compile the rows."""
    timings = [run.timing for run in report.record.runs if run.timing is not None]
    parts = (
        part
        for timing in timings
        for part in (timing.trace_s, timing.optimize_s, timing.compile_s)
        if timing.trace_s is not None
    )
    return sum(part for part in parts if part is not None)


def test_evidence_of_a_training_step_costs_little_beside_compiling():
    import keras
    import tensorflow as tf

    import tfinsight

    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input([32]), *(keras.layers.Dense(64, activation="relu") for _ in range(6))]
    )
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)
    x = tf.random.normal([64, 32])

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply_gradients(
            zip(
                tape.gradient(loss, model.trainable_variables),
                model.trainable_variables,
                strict=True,
            )
        )
        return loss

    report = tfinsight.graphcompare(step, x, budget=30, quiet=True)
    stage = stages_of(report)["evidence"]
    own, needed = stage.seconds - stage.user_seconds, compiling_s(report)
    print(
        f"\nevidence {own:.2f} s beside {needed:.2f} s of tracing, optimizing, compiling: {own / needed:.0%}"
    )
    assert own <= 0.25 * needed


def test_evidence_of_resnet50_forward_and_backward():
    import keras
    import tensorflow as tf

    import tfinsight

    model = keras.applications.ResNet50(weights=None, input_shape=(64, 64, 3), classes=10)
    x = tf.random.normal([4, 64, 64, 3])

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x, training=True) ** 2)
        return tape.gradient(loss, model.trainable_variables)

    started = time.perf_counter()
    report = tfinsight.graphcompare(step, x, budget=120, quiet=True)
    whole = time.perf_counter() - started
    stage = stages_of(report)["evidence"]
    own, needed = stage.seconds - stage.user_seconds, compiling_s(report)
    ops = report.record.run("graph").graph.op_count
    print(
        f"\n{ops} ops: evidence {own:.1f} s beside {needed:.1f} s of tracing, optimizing, compiling; "
        f"whole measurement {whole:.0f} s"
    )
    assert ops > 6_000
    assert own < 15.0
