"""How long until the verdict? The whole magic against `%timeit` of eight of its rows.

Both run in one process, the rows as a user would write them. Printed are the ratio of the two wall
times, at most a fifth, and the share of the magic's own that was spent in the user's function,
tracing and compiling included, at least 70 %.

Run as a script, or with `pytest -m benchmark tests/benchmarks/bench_time_to_verdict.py`.
"""

from __future__ import annotations

import time

import pytest

SETUP = """
import tensorflow as tf
w = tf.random.normal([128, 128], seed=1)
x = tf.random.normal([512, 128], seed=2)
def f(r):
    return tf.nn.relu(tf.linalg.matvec(w, r)) + 1
def loop(batch):
    return tf.stack([f(r) for r in tf.unstack(batch)])
def mapped(batch):
    return tf.map_fn(f, batch)
def vectorized(batch):
    return tf.vectorized_map(f, batch)
def batched(batch):
    return tf.nn.relu(tf.matmul(batch, w, transpose_b=True)) + 1
rows = {
    "loop/eager": loop,
    "map_fn/eager": mapped,
    "vectorized_map/eager": vectorized,
    "map_fn/graph": tf.function(mapped),
    "vectorized_map/graph": tf.function(vectorized),
    "map_fn/xla": tf.function(mapped, jit_compile=True),
    "vectorized_map/xla": tf.function(vectorized, jit_compile=True),
    "batched/graph": tf.function(batched),
}
"""
MOST_OF_TIMEIT = 0.2
LEAST_USER_SHARE = 0.7


@pytest.mark.benchmark
@pytest.mark.timeout(600)
def test_the_verdict_takes_a_fifth_of_what_timeit_takes(capsys):
    ratio, user_share = measure()
    with capsys.disabled():
        print(f"\nmagic / timeit: {ratio:.3f} (at most {MOST_OF_TIMEIT})")
        print(f"in the user's function: {user_share:.1%} (at least {LEAST_USER_SHARE:.0%})")
    assert ratio <= MOST_OF_TIMEIT
    assert user_share >= LEAST_USER_SHARE


def measure() -> tuple[float, float]:
    """Returns the ratio of wall times, and the user's share of the magic's wall time."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "tfinsight")
    assert shell.run_cell(SETUP).success

    started = time.perf_counter()
    result = shell.run_cell("%%mapcost\ny = tf.map_fn(f, x)")
    magic_s = time.perf_counter() - started
    assert result.success
    record = shell.magics_manager.registry["TfinsightMagics"].last.record
    plain_s = record.workload and record.run("as-written").timing.first_call_s
    user_s = plain_s + sum(stage.user_seconds for stage in record.stages)
    for stage in record.stages:
        print(
            f"{stage.name:<14}{stage.seconds:>8.2f} s, of it {stage.user_seconds:.2f} s the user's"
        )

    started = time.perf_counter()
    for name in shell.user_ns["rows"]:
        print(name, end=": ", flush=True)
        shell.run_line_magic("timeit", f"rows[{name!r}](x)")
    timeit_s = time.perf_counter() - started
    print(f"magic {magic_s:.1f} s, timeit {timeit_s:.1f} s")
    return magic_s / timeit_s, user_s / magic_s


if __name__ == "__main__":
    ratio, user_share = measure()
    print(f"magic / timeit: {ratio:.3f}; in the user's function: {user_share:.1%}")
