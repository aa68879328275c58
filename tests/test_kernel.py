"""In a real Jupyter kernel: what a notebook stores, and what Ctrl-C leaves behind."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

SETUP = """
%load_ext tfinsight
import tensorflow as tf
x = tf.reshape(tf.range(400.0), [100, 4])
calls = tf.Variable(0)
def half(r):
    return r * 0.5
def counted(r):
    calls.assign_add(1)
    return r * 0.5
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


class Kernel:
    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel()

    def run(self, code: str, interrupt_at: str | None = None) -> list[dict[str, Any]]:
        """Runs a cell; interrupts the kernel once the progress tells of a stage."""
        wanted = self.client.execute(code)
        outputs: list[dict[str, Any]] = []
        until = time.monotonic() + 180
        while time.monotonic() < until:
            try:
                message = self.client.get_iopub_msg(timeout=5)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") != wanted:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return outputs
            if (
                kind == "comm_msg"
                and interrupt_at is not None
                and interrupt_at in str(content["data"])
            ):
                interrupt_at = None
                self.manager.interrupt_kernel()
            if kind in ("display_data", "execute_result", "stream", "error"):
                outputs.append({"kind": kind, **content})
        raise TimeoutError(code)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    assert kernel.run(SETUP) == []
    yield kernel
    kernel.client.stop_channels()
    kernel.manager.shutdown_kernel(now=True)


def test_a_cell_stores_its_live_and_its_static_report_and_keeps_its_value(kernel):
    value, live, static = kernel.run("%%mapcost --budget 3\ny = tf.map_fn(half, x)\ny.shape[0]")
    assert WIDGET in live["data"]
    assert live["data"]["text/plain"] == "LiveReport()"
    assert (value["kind"], value["data"]["text/plain"]) == ("execute_result", "100")
    assert static["data"]["text/html"].startswith('<div class="tfi-static">')
    assert "recommended" in static["data"]["text/plain"]
    (after,) = kernel.run("_")
    assert after["data"]["text/plain"] == "100"


def test_an_interrupt_shows_what_is_done_and_puts_everything_back(kernel):
    before = kernel.run("calls.assign(7); None")
    assert before == []
    outputs = kernel.run(
        "%%mapcost --budget 8\ny = tf.map_fn(counted, x)", interrupt_at="first calls"
    )
    error = outputs[-1]
    assert error["kind"] == "error"
    assert error["ename"] == "MeasurementInterrupted"
    assert "interrupted during" in "".join(error["traceback"])
    assert any("Interrupted" in str(output.get("data", {}).get("text/plain")) for output in outputs)
    (count,) = kernel.run("int(calls)")
    assert count["data"]["text/plain"] == "107"


def test_an_error_of_the_cells_own_is_shown_once_without_our_frames(kernel):
    outputs = kernel.run("%%mapcost\ny = tf.map_fn(lambda r: tf.matmul(r, r), x)")
    (error,) = outputs
    assert error["ename"] == "InvalidArgumentError"
    text = "".join(error["traceback"])
    assert "tfinsight" not in text
    assert "ndims must be" in text  # of TensorFlow or of oneDNN, which have words of their own
    assert text.count("InvalidArgumentError") >= 1


def test_a_usage_error_is_one_line(kernel):
    outputs = kernel.run("%%mapcost --nothing\n1")
    assert all("Traceback" not in str(output) for output in outputs)
    assert "--nothing" in str(outputs)


def test_graphcompare_stores_its_live_and_its_static_report(kernel):
    code = "%%graphcompare --budget 3\nimport asyncio\na = tf.exp(x)\ntf.reduce_sum(a, axis=1).shape[0]"
    value, live, static = kernel.run(code)
    assert WIDGET in live["data"]
    assert value["data"]["text/plain"] == "100"
    assert "From Python to kernels" in static["data"]["text/plain"]
    assert static["data"]["text/html"].startswith('<div class="tfi-static">')


def test_a_cell_that_waits_runs_beside_the_kernels_own_loop(kernel):
    outputs = kernel.run("%%graphcompare --budget 3\nawait asyncio.sleep(0.01)\nx * 2.0")
    assert all(output["kind"] != "error" for output in outputs)
    assert "waits with `await`" in outputs[-1]["data"]["text/plain"]


def test_an_interrupted_training_step_leaves_one_plain_run_behind(kernel):
    kernel.run("w = tf.Variable(tf.ones([4, 1])); None")
    outputs = kernel.run(
        "%%graphcompare --budget 8\nw.assign_sub(0.5 * tf.ones([4, 1]))", interrupt_at="timing"
    )
    assert outputs[-1]["ename"] == "MeasurementInterrupted"
    (left,) = kernel.run("float(w[0, 0])")
    assert left["data"]["text/plain"] == "0.5"
