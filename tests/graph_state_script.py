"""Trains in an IPython shell, plainly or under `%%graphcompare`, and prints all that is left behind.

Called as `graph_state_script.py plain|magic|interrupted`; prints one JSON object for each scenario.
"""

from __future__ import annotations

import json
import os
import signal
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

SETUP = """
import random
import keras
import numpy as np
import tensorflow as tf
keras.utils.set_random_seed(3)
generator = tf.random.Generator.from_seed(5)
X = np.random.default_rng(1).normal(size=(64, 8)).astype("float32")
Y = X[:, :1] * 2.0
x, y = tf.constant(X), tf.constant(Y)
model = keras.Sequential([
    keras.Input([8]), keras.layers.Dense(16, activation="relu"), keras.layers.Dropout(0.5),
    keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
sgd, adam = keras.optimizers.SGD(0.1, momentum=0.9), keras.optimizers.Adam(0.01)
w = tf.Variable(tf.ones([8, 1]))
losses = []
def step(opt):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2) + generator.normal([]) * 0.0
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    losses.append(loss)
    return loss
"""
HAND = """with tf.GradientTape() as tape:
    loss = tf.reduce_mean((x @ w - y) ** 2) + tf.random.normal([]) * 0.0
g = tape.gradient(loss, w)
w.assign_sub(0.1 * g)
loss"""
SCENARIOS = {
    "sgd": "step(sgd)",
    "adam": "step(adam)",
    "hand-written": HAND,
    "fit": "history = model.fit(X, Y, batch_size=16, epochs=2, verbose=0)",
    "train_on_batch": "model.train_on_batch(X, Y)",
    # XLA can't run Python: its row fails half-way, after the weights were written.
    "one fails": HAND.replace("\nloss", "\ntf.numpy_function(np.sort, [w], tf.float32)"),
}
LEFT = """
import hashlib
def digest(values):
    return hashlib.sha256(b"".join(np.asarray(v).tobytes() for v in values)).hexdigest()[:16]
left = dict(
    weights=digest(model.get_weights()),
    w=digest([w]),
    sgd=digest(v.numpy() for v in sgd.variables),
    adam=digest(v.numpy() for v in adam.variables),
    compiled=digest(v.numpy() for v in model.optimizer.variables),
    metrics=digest(v.numpy() for m in model.metrics for v in m.variables),
    generator=digest([generator.state]),
    losses=len(losses),
    switches=[model.run_eagerly, model.jit_compile, model.steps_per_execution],
    eagerly=tf.config.functions_run_eagerly(),
    optimizer=sorted(tf.config.optimizer.get_experimental_options().items()),
    draws=[float(tf.random.normal([])), float(np.random.rand()), random.random()],
    keras_draw=float(keras.random.normal([])),
)
"""


def main(mode: str) -> None:
    for number, (name, cell) in enumerate(SCENARIOS.items()):
        from shells import Shell

        shell = Shell()
        shell.ok(SETUP)
        if mode == "plain":
            shell.ok(cell)
        else:
            undo = interrupt_at(3 + 2 * number) if mode == "interrupted" else None
            ran = shell.run("%%graphcompare --budget 5\n" + cell)
            if undo is not None:
                undo()
            expected = KeyboardInterrupt if mode == "interrupted" else type(None)
            assert isinstance(ran.error, expected), (name, ran.printed)
            check(shell, name, mode)
        shell.ok(LEFT)
        print(json.dumps({"scenario": name, **shell.names["left"]}), flush=True)
        shell.close()


def interrupt_at(count: int):
    """Sends a real SIGINT when measuring turns to a row for the so-manieth time."""
    from tfinsight.measure.graph_run import GraphMeasurement

    original = GraphMeasurement.mark
    marks = 0

    def mark(measurement, strategy):
        nonlocal marks
        marks += 1
        original(measurement, strategy)
        if marks == count:
            signal.raise_signal(signal.SIGINT)

    GraphMeasurement.mark = mark

    def undo():
        GraphMeasurement.mark = original

    return undo


def check(shell, name, mode):
    record = shell.record
    if mode == "interrupted":
        assert record.interrupted, name
        return
    statuses = {run.strategy: run.status for run in record.runs}
    assert statuses["graph"] == "ok", (name, record.run("graph"))
    assert (statuses["xla"] == "failed") == (name == "one fails"), (name, record.run("xla"))


if __name__ == "__main__":
    main(sys.argv[1])
