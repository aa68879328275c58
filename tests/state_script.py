"""Runs cells in an IPython shell, plainly or under `%%mapcost`, and prints the notebook's state.

Called as `state_script.py plain|magic SCENARIO`; prints one JSON object for each step.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import warnings

SETUP = """
import random
import keras
import numpy as np
import tensorflow as tf
keras.utils.set_random_seed(3)
tf.get_logger().setLevel("ERROR")
tf.config.set_soft_device_placement(True)
generator = tf.random.Generator.from_seed(5)
seeds = keras.random.SeedGenerator(7)
stream = np.random.default_rng(9)
weights = tf.Variable(tf.ones([3]))
seen, tally, marks, row = [], {}, set(), np.zeros(4)
counter = 0

class Box:
    made = 0
    def __init__(self):
        self.calls = 0

box = Box()
x = tf.random.normal([12, 3])

def step(r):
    global counter
    counter += 1
    seen.append(counter)
    tally["n"] = tally.get("n", 0) + 1
    marks.add(counter % 3)
    row[0] += 1
    box.calls += 1
    Box.made += 1
    step.calls = counter
    weights.assign_add(tf.ones([3]) * 0.5)
    noise = tf.random.normal([3]) + generator.normal([3]) + keras.random.normal([3], seed=seeds)
    return r + noise + np.float32(np.random.rand() + random.random() + stream.random())
"""
CELL = "y = tf.map_fn(step, x)"
FAILS = "first = 1\ny = tf.map_fn(lambda r: tf.matmul(r, r), x)"
# A strategy that fails: XLA and the vectorized forms can't run Python; the cell itself can.
ONE_FAILS = "y = tf.map_fn(lambda r: step(r) + tf.numpy_function(np.sort, [r], tf.float32), x)"
EAGERLY = "tf.config.run_functions_eagerly(True)\ny = tf.map_fn(step, x)"
STAGES = (
    "preflight",
    "chunk sizes",
    "first calls",
    "other values",
    "timing",
    "memory",
    "other sizes",
)
# Stages that are interrupted in the middle of their work, the others at their beginning.
DEEP = ("first calls", "timing", "memory")
SCENARIOS: dict[str, list[tuple[str, str | None]]] = {
    "normal end": [(CELL, None)],
    "user error": [(FAILS, None)],
    "failing strategy": [(ONE_FAILS, None)],
    "functions run eagerly": [(EAGERLY, None)],
    "interrupts": [(CELL, stage) for stage in STAGES],
}


def state(names, files_before):
    """The literal list of what a notebook can notice."""
    import keras
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.eager import context
    from tensorflow.python.ops import map_fn as map_module
    from tensorflow.python.ops.parallel_for import control_flow_ops as pfor_module

    box, kind = names["box"], names["Box"]
    return {
        "variables": [names[n].numpy().tolist() for n in ("weights",)]
        + [names["generator"].state.numpy().tolist(), np.asarray(names["seeds"].state).tolist()],
        "containers": [
            names["seen"],
            names["tally"],
            sorted(names["marks"]),
            names["row"].tolist(),
        ],
        "objects": [names["counter"], box.calls, kind.made, names["step"].__dict__],
        "result": None if "y" not in names else np.asarray(names["y"]).tolist(),
        "names": sorted(n for n in names if not n.startswith("_")),
        "next draws": [
            tf.random.normal([2]).numpy().tolist(),
            tf.random.uniform([2], seed=3).numpy().tolist(),
            tf.function(lambda: tf.random.normal([2]))().numpy().tolist(),
            names["generator"].normal([2]).numpy().tolist(),
            np.random.rand(),
            random.random(),
            names["stream"].random(),
            np.asarray(keras.random.normal([2])).tolist(),
        ],
        "seed": context.global_seed(),
        "config": {
            "run eagerly": tf.config.functions_run_eagerly(),
            "jit": tf.config.optimizer.get_jit(),
            "optimizer": tf.config.optimizer.get_experimental_options(),
            "soft placement": tf.config.get_soft_device_placement(),
            "synchronous": tf.config.experimental.get_synchronous_execution(),
            "tf32": tf.config.experimental.tensor_float_32_execution_enabled(),
            "threads": tf.config.threading.get_intra_op_parallelism_threads(),
            "floatx": keras.config.floatx(),
            "policy": keras.config.dtype_policy().name,
        },
        "loggers": {
            name: [logging.getLogger(name).level, repr(logging.getLogger(name).handlers)]
            for name in ("tensorflow", "absl", "root")
        },
        "warnings": [repr(warnings.filters), warnings.showwarning.__module__],
        "working directory": os.getcwd(),
        "environment": {n: v for n, v in os.environ.items() if n.startswith(("TF_", "XLA"))},
        "threads": sorted(t.name for t in threading.enumerate()),
        "patched": [
            map_module.map_fn.__code__.co_filename.split("/")[-1],
            pfor_module.pfor.__code__.co_filename.split("/")[-1],
            tf.map_fn.__module__,
            type(sys.stdout).__name__,
            type(sys.stderr).__name__,
            repr(signal.getsignal(signal.SIGINT)),
        ],
        "open files": sorted(set(open_files()) - files_before),
        # What AutoGraph converts it writes to files that TensorFlow removes when the process ends.
        "temporary files": sorted(
            name
            for name in os.listdir(tempfile.gettempdir())
            if not name.startswith("__autograph_")
        ),
    }


def open_files():
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        # Libraries keep files of their own open, such as matplotlib its fonts.
        if target.startswith("/") and not target.startswith(("/proc", "/dev", "/sys", sys.prefix)):
            yield target


def main(how, scenario):
    from IPython.core.interactiveshell import InteractiveShell

    sys.stdout = sys.stderr  # the last word on standard output is this script's alone
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "tfinsight")
    assert shell.run_cell(SETUP).success
    files = set(open_files())
    for cell, stage in SCENARIOS[scenario]:
        if how == "magic":
            interrupt_at(stage)
            ran = shell.run_cell("%%mapcost --budget 8\n" + cell)
            assert type(ran.error_in_exec).__name__ == expected_error(cell, stage), (
                ran.error_in_exec
            )
            report = shell.magics_manager.registry["TfinsightMagics"].last
            if stage:
                assert report.record.interrupted == stage, (report.record.interrupted, stage)
        else:
            shell.run_cell(cell)
        print(
            json.dumps(state(shell.user_ns, files), default=repr), file=sys.__stdout__, flush=True
        )


def expected_error(cell, stage):
    if stage:
        return "MeasurementInterrupted"
    return "InvalidArgumentError" if cell is FAILS else "NoneType"


def interrupt_at(stage):
    """Makes the progress line raise what Ctrl-C raises, at the second word from this stage."""
    from tfinsight.render import progress

    def update(self, at, detail, done, total):
        if at == stage and (detail or at not in DEEP):
            raise KeyboardInterrupt

    progress.TerminalProgress.update = update


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
