"""Traces of real calls: windows, kernels, compilations, and what is left behind."""

from __future__ import annotations

import contextlib
import glob
import tempfile

import pytest
import tensorflow as tf

from tfinsight import trace_file
from tfinsight.trace_file import OpEvent, ProfilerBusyError, Window, op_profile

SIDE = 200  # large enough for the graph executor to write an event for each product


@tf.function
def products_in_a_graph(x):
    for _ in range(10):
        x = x @ x
    return x


def products(x):
    for _ in range(10):
        x = x @ x
    return x


@pytest.fixture
def square():
    return tf.linalg.qr(tf.random.stateless_normal([SIDE, SIDE], seed=[1, 2]))[0]


def traced(call, times=1):
    """Returns the windows of some calls."""
    with trace_file.record() as recorder:
        for number in range(times):
            with recorder.window(f"call {number}"):
                call()
    return [recorder.trace.windows[f"call {number}"] for number in range(times)]


@pytest.mark.parametrize("run", [products, products_in_a_graph], ids=["eager", "graph"])
def test_ten_matrix_products_are_ten_kernels(run, square):
    run(square)
    (window,) = traced(lambda: run(square))
    profile = op_profile(window, 3)
    ((kind, count),) = [(time.op, time.count) for time in profile.top]
    assert (kind.removeprefix("_Mkl"), count) == ("MatMul", 10)  # oneDNN has its own MatMul
    assert profile.op_count == 10
    assert profile.elements == 3
    assert 0 < profile.kernel_s <= profile.wall_s * 1.05
    assert sum(1 for event in window.allocations if not event.freed) == 10


def test_a_compiled_loop_counts_its_fusions_and_not_the_loop_around_them(square):
    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.map_fn(lambda row: tf.nn.relu(row @ row) + 1.0, tf.stack([x] * 4))

    compiled(square)
    (window,) = traced(lambda: compiled(square))
    profile = op_profile(window, 4)
    kinds = {time.op: time.count for time in profile.top}
    (product,) = (kind for kind in kinds if "matmul" in kind.lower() or kind.startswith("dot"))
    assert kinds[product] == 4
    assert not any(kind.startswith("while") for kind in kinds)
    assert profile.kernel_s <= profile.wall_s * 1.05


def test_kernels_that_run_at_the_same_time_fill_it_once():
    events = (OpEvent("A", 0.0, 2.0), OpEvent("B", 1.0, 3.0), OpEvent("A", 5.0, 6.0))
    profile = op_profile(Window(10.0, (), events, 0, 0.0, ()), 1)
    assert profile.kernel_s == 4.0
    assert [(t.op, t.seconds, t.count) for t in profile.top] == [("A", 3.0, 2), ("B", 2.0, 1)]


def test_python_called_from_a_graph_counts_what_it_runs_and_not_the_call(square):
    @tf.function
    def called_back(x):
        return tf.py_function(lambda v: (v @ v) @ v, [x], tf.float32)

    called_back(square)
    (window,) = traced(lambda: called_back(square))
    assert [(t.op, t.count) for t in op_profile(window, 1).top] == [("MatMul", 2)]


def test_events_belong_to_their_window():
    small, large = tf.ones([1000]), tf.ones([3000])
    with trace_file.record() as recorder:
        with recorder.window("small"):
            a = tf.exp(small)
        tf.tanh(small)
        with recorder.window("large"):
            b = tf.sin(large)
    windows = recorder.trace.windows
    assert set(windows) == {"small", "large"}
    for name, kind, size in (("small", "Exp", 4_000), ("large", "Sin", 12_000)):
        (allocation,) = windows[name].allocations
        assert (allocation.op, allocation.requested_bytes, allocation.dtype) == (
            kind,
            size,
            "float32",
        )
        assert [event.kind for event in windows[name].op_events] == [kind]
        assert 0 < allocation.at_s < windows[name].duration_s
    del a, b


def test_compilations_are_counted_at_the_first_call_alone():
    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.reduce_sum(tf.exp(x @ x), axis=1)

    x = tf.ones([10, 10])
    first, second = traced(lambda: compiled(x), times=2)
    assert (first.compile_count, second.compile_count) == (1, 0)
    assert 0 < first.compile_s < first.duration_s
    assert second.compile_s == 0
    assert len(second.hlo_modules) == 1
    assert b"compiled" in second.hlo_modules[0]


def test_a_program_that_did_not_run_is_not_in_the_window():
    one = tf.function(lambda x: tf.exp(x) + 1.0, jit_compile=True)
    other = tf.function(lambda x: tf.sin(x) + 2.0, jit_compile=True)
    x = tf.ones([100])
    one(x), other(x)
    with trace_file.record() as recorder:
        with recorder.window("one"):
            one(x)
        with recorder.window("other"):
            other(x)
        with recorder.window("none"):
            tf.exp(x)
    windows = recorder.trace.windows
    assert [len(windows[name].hlo_modules) for name in ("one", "other", "none")] == [1, 1, 0]
    assert windows["one"].hlo_modules != windows["other"].hlo_modules


def test_a_compilation_for_each_new_value_shows():
    """The count of traces stays 1 here, and timing repeats of one value shows nothing."""

    @tf.function(jit_compile=True)
    def gradient(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.vectorized_map(lambda row: tf.reduce_sum(row * row), x)
        return tape.gradient(y, x)

    values = [tf.random.stateless_normal([8, 16], seed=[1, i]) for i in range(3)]
    gradient(values[0])
    with trace_file.record() as recorder:
        for name, value in (("same", values[0]), ("new", values[1]), ("newer", values[2])):
            with recorder.window(name):
                gradient(value)
    counts = {name: window.compile_count for name, window in recorder.trace.windows.items()}
    assert gradient.experimental_get_tracing_count() == 1
    assert counts == {"same": 0, "new": 1, "newer": 1}


def test_a_session_of_the_users_is_named_and_stays(tmp_path):
    tf.profiler.experimental.start(str(tmp_path))
    try:
        with (
            pytest.raises(
                ProfilerBusyError, match="A profiler session of your own is running, and"
            ),
            trace_file.record(),
        ):
            pytest.fail("recorded")
    finally:
        tf.profiler.experimental.stop()
    assert glob.glob(f"{tmp_path}/**/*.xplane.pb", recursive=True), "the user's trace was saved"


def test_a_window_that_fails_is_kept_and_one_that_never_began_is_absent():
    x = tf.ones([500])
    with trace_file.record() as recorder:
        with contextlib.suppress(ZeroDivisionError), recorder.window("failed"):
            tf.exp(x)
            raise ZeroDivisionError
        with recorder.window("after"):
            tf.sin(x)
    assert list(recorder.trace.windows) == ["failed", "after"]
    assert [event.kind for event in recorder.trace.windows["failed"].op_events] == ["Exp"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_stops_the_profiler_and_leaves_nothing_behind(error, tmp_path, monkeypatch, capfd):
    notebooks, temporary = tmp_path / "notebooks", tmp_path / "temporary"
    notebooks.mkdir(), temporary.mkdir()
    monkeypatch.chdir(notebooks)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def fail():
        assert len(list(temporary.iterdir())) == 1
        raise error

    with pytest.raises(error):
        traced(fail)
    traced(lambda: tf.ones([1]))  # another session can begin
    assert [*notebooks.iterdir(), *temporary.iterdir()] == []
    assert capfd.readouterr().out == ""


def test_a_recording_without_windows_has_none():
    with trace_file.record() as recorder:
        pass
    assert dict(recorder.trace.windows) == {}
