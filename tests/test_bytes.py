"""The truth of bytes: calls whose memory is known on paper, every allocation of TensorFlow's explained.

They run in a fresh process in which the allocator counts everything. It gives chunks of a multiple of
256 bytes, and of a free chunk that is less than twice as large as needed, it gives the whole. So
`peak_bytes` lies between the sum of the requests, each rounded up to 256, and twice that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tfinsight.measure.live_set import live_set, thinned
from tfinsight.measure.memory import Peak, memory_record, predicted_events
from tfinsight.trace_file import AllocationEvent, Window

SCRIPT = """
import json
import tensorflow as tf
from tfinsight import trace_file
from tfinsight.measure import memory

# Else two threads race for whether the loop's index is increased in place.
tf.config.threading.set_inter_op_parallelism_threads(1)

a, b = tf.random.normal([300, 200]), tf.random.normal([200, 500])
x = tf.random.normal([1000, 10])
v, w = tf.random.normal([16, 25000]), tf.random.normal([16, 64])
p, q = tf.random.normal([100, 70]), tf.random.normal([100, 90])

def product():
    return a @ b

def chain():
    return tf.reduce_sum(tf.exp(tf.matmul(x, x, transpose_b=True)), axis=1)

def copying_map():
    return tf.map_fn(lambda row: tf.reverse(row, [0]), v, parallel_iterations=1)

def outer():
    return tf.vectorized_map(lambda e: e[0][:, None] * e[1][None, :], (p, q))

def one_row():
    return w[3]  # rows are a multiple of 64 bytes: no copy

def wave():
    return tf.sin(v) + 1.0

calls = {
    "product/eager": product,
    "product/graph": tf.function(product),
    "chain/eager": chain,
    "chain/graph": tf.function(chain),
    "map_fn/graph": tf.function(copying_map),
    "vectorized_map/graph": tf.function(outer),
    "slice/eager": one_row,
    "wave/xla": tf.function(wave, jit_compile=True),
}
figures = {}
for call in calls.values():
    call(), call()
peaks = {}
for name, call in calls.items():
    before = tf.config.experimental.get_memory_info("CPU:0")["current"]
    peaks[name] = memory.peak_of_call(call, "CPU:0", 3)
    assert tf.config.experimental.get_memory_info("CPU:0")["current"] == before
with trace_file.record() as recorder:
    for name, call in calls.items():
        with recorder.window(name):
            call()
for name, window in recorder.trace.windows.items():
    record = memory.memory_record(window, peaks[name], memory.coverage("CPU:0"), None)
    figures[name] = {
        "coverage": record.coverage,
        "peak": [record.peak_lowest_bytes, record.peak_bytes],
        "peak_requested": record.peak_requested_bytes,
        "total_requested": record.total_requested_bytes,
        "count": record.allocation_count,
        "attributed": record.attributed,
        "top": [[t.op, t.size_bytes, t.count, t.dtype, t.shape] for t in record.top],
        "last": record.timeline[-1][1],
    }
print(json.dumps(figures))
"""


@pytest.fixture(scope="module")
def figures():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def requests(*sizes):
    """Returns the sum, and the sum rounded up to the allocator's 256 bytes."""
    return sum(sizes), sum(-(-size // 256) * 256 for size in sizes)


def check(facts, at_peak, others=()):
    """Holds the figures against the sizes live at the peak and all other sizes that were asked for."""
    exact, rounded = requests(*at_peak)
    assert facts["coverage"] == "all"
    assert facts["peak_requested"] == exact
    assert facts["total_requested"] == exact + sum(others)
    assert facts["count"] == len(at_peak) + len(others)
    lowest, highest = facts["peak"]
    assert rounded <= lowest <= highest <= 2 * rounded


@pytest.mark.parametrize("execution", ["eager", "graph"])
def test_a_matrix_product_needs_its_result(figures, execution):
    facts = figures[f"product/{execution}"]
    result = 4 * 300 * 500
    check(facts, [result])
    # Kind of op, where oneDNN's kernels are in use that of oneDNN's; name of the node.
    names = {"eager": ("MatMul", "_MklMatMul"), "graph": ("matmul",)}[execution]
    ((name, *rest),) = facts["top"]
    assert name in names
    assert rest == [result, 1, "float32", "[300,500]"]
    assert facts["attributed"] == 1.0
    assert facts["last"] == 0, "the result was dropped in the window"


def test_an_eager_chain_holds_two_large_intermediates_at_a_time(figures):
    square, exponential, result = 4 * 1000 * 1000, 4 * 1000 * 1000, 4 * 1000
    facts = figures["chain/eager"]
    check(facts, [square, exponential], [result])  # Python drops the square before the sum is taken
    kinds = [name.removeprefix("_Mkl") for name, *_ in facts["top"]]  # oneDNN has its own MatMul
    assert kinds == ["Exp", "MatMul"]


def test_in_a_graph_the_exponential_is_computed_in_place(figures):
    square, result = 4 * 1000 * 1000, 4 * 1000
    facts = figures["chain/graph"]
    check(facts, [square, result])
    assert [name for name, *_ in facts["top"]] == ["MatMul", "Sum"]


def test_map_fn_in_a_graph_copies_its_input_and_stacks_its_results(figures):
    count, row = 16, 4 * 25_000
    lists = [64, 64]  # two variants, the lists of input rows and of results
    # The index of the element, before and after adding 1, and the loop's own counter: int32.
    counters = [4, 4, 4]
    at_peak = [row] * count + [row] * count + lists + counters
    stacked = count * row  # when the copy of the input is gone
    # Two conditions (bool) before each element and after the last; the index of the other elements.
    others = [1] * (2 * (count + 1)) + [4] * (count - 2) + [stacked]
    facts = figures["map_fn/graph"]
    total, _ = requests(*at_peak, *others)
    # Two threads race for whether an element's index is increased in place: then it is no request.
    in_place, rest = divmod(total - facts["total_requested"], 4)
    assert rest == 0
    assert 0 <= in_place < count
    assert facts["count"] == len(at_peak) + len(others) - in_place
    tensors, rounded = requests(*at_peak[: -len(counters)])
    assert tensors <= facts["peak_requested"] <= tensors + sum(counters)
    lowest, highest = facts["peak"]
    assert rounded <= lowest <= highest <= 2 * rounded
    copied = next(t for t in facts["top"] if t[0].endswith("TensorListFromTensor"))
    assert copied[1:3] == [count * row + 64, count + 1]


def test_a_vectorized_outer_product_needs_its_result(figures):
    result = 4 * 100 * 70 * 90
    facts = figures["vectorized_map/graph"]
    check(facts, [result])
    assert facts["top"][0][0] == "loop_body/mul/pfor/Mul"


def test_a_slice_needs_its_three_bounds_which_come_from_no_op(figures):
    bounds = [4, 4, 4]  # begin, end and step: int32; the row shares the tensor's memory
    facts = figures["slice/eager"]
    check(facts, bounds)
    assert facts["attributed"] == 0.0
    assert facts["top"] == [["no known op", 12, 3, *facts["top"][0][3:]]]


def test_a_compiled_elementwise_chain_needs_its_result(figures):
    facts = figures["wave/xla"]
    check(facts, [4 * 16 * 25_000])
    assert "wave" in facts["top"][0][0]


def event(at_s, address, size, op="A", freed=False, allocator="cpu"):
    return AllocationEvent(at_s, address, size, size, freed, op, "float32", "[1]", allocator)


def test_memory_from_before_the_window_never_counts():
    live = live_set([event(1, 7, 500, freed=True), event(2, 8, 100), event(3, 8, 100, freed=True)])
    assert (live.peak_requested_bytes, live.total_requested_bytes) == (100, 100)
    assert live.timeline == ((0.0, 0), (1, 0), (2, 100), (3, 0))


def test_an_address_that_is_used_again_is_a_new_tensor():
    live = live_set(
        [
            event(1, 7, 100, "A"),
            event(2, 7, 100, freed=True),
            event(3, 7, 60, "B"),
            event(4, 8, 50, "B"),
            event(5, 9, 10, ""),
        ]
    )
    assert [(t.op, t.size_bytes, t.count) for t in live.top] == [
        ("B", 110, 2),
        ("no known op", 10, 1),
    ]
    assert live.attributed == 110 / 120
    assert (live.total_requested_bytes, live.allocation_count) == (220, 4)


def test_where_a_gpu_takes_part_its_memory_alone_counts():
    live = live_set([event(1, 7, 100), event(2, 7, 30, allocator="GPU_0_bfc")])
    assert live.peak_requested_bytes == 30


def test_a_thinned_timeline_keeps_the_peak_and_the_end():
    points = [(float(i), i % 997) for i in range(50_000)]
    points[31_234] = (31_234.0, 10_000)
    thin = thinned(points, 2_000)
    assert len(thin) == 2_000
    assert (31_234.0, 10_000) in thin
    assert thin[-1] == points[-1]
    assert list(thin) == sorted(thin)


def test_a_trace_of_fewer_elements_gives_no_totals():
    window = Window(1.0, (event(0.5, 1, 100),), (), 0, 0.0, ())
    peak = Peak(512, 256, 3)
    whole = memory_record(window, peak, "all", None)
    part = memory_record(window, peak, "all", 10)
    assert (whole.peak_requested_bytes, whole.allocation_count, whole.traced_elements) == (
        100,
        1,
        None,
    )
    assert (part.peak_requested_bytes, part.total_requested_bytes, part.allocation_count) == (
        None,
    ) * 3
    assert (part.traced_elements, part.top, part.timeline) == (10, whole.top, whole.timeline)
    assert (part.peak_bytes, part.peak_lowest_bytes, part.peak_calls) == (512, 256, 3)


def test_without_statistics_there_are_no_figures():
    record = memory_record(Window(1.0, (), (), 0, 0.0, ()), None, "none", None)
    assert (record.peak_bytes, record.peak_requested_bytes, record.allocation_count) == (None,) * 3


def test_only_loops_over_elements_have_traces_that_grow_with_them():
    small = {m: predicted_events(3, 100, m, "graph") for m in ("map_fn", "vectorized_map")}
    large = {m: predicted_events(3, 100_000, m, "graph") for m in ("map_fn", "vectorized_map")}
    assert large["vectorized_map"] == small["vectorized_map"]
    assert large["map_fn"] > 500 * small["map_fn"]
    assert predicted_events(3, 100, "map_fn", "eager") > predicted_events(3, 100, "loop", "eager")
