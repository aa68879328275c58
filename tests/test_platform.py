"""This machine and what a function does on it, held against paper."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tfinsight.compiler.flops import flops
from tfinsight.compiler.platform import (
    devices,
    machine_ceilings,
    platform_facts,
    processor_features,
    reduced_precision,
)
from tfinsight.compiler.traffic import moved_bytes


def traced(function, *args):
    return tf.function(function).get_concrete_function(*args)


def optimized(function, *args):
    """Returns the traced function, and the graph that Grappler made of it."""
    fresh = tf.function(function)
    context.context().enable_run_metadata()
    try:
        fresh(*args)
        graphs = context.context().export_run_metadata().function_graphs
    finally:
        context.context().disable_run_metadata()
    # Where there are variables, a small function that checks them comes with it.
    definition = max((g.post_optimization_graph for g in graphs), key=lambda g: len(g.node))
    return fresh.get_concrete_function(*args), definition


ONES = tf.ones([256, 512])
WEIGHTS = tf.ones([512, 128])


def test_a_product_has_two_operations_for_each_triple():
    count = flops(traced(lambda x, w: x @ w, ONES, WEIGHTS).graph)
    assert (count.count, count.known, count.uncounted) == (2 * 256 * 512 * 128, True, set())


def test_what_is_called_counts_and_what_has_no_count_is_named():
    inner = tf.function(lambda y: tf.exp(y) * 2.0)
    count = flops(traced(lambda x, w: inner(x @ w) + inner(x @ w), ONES, WEIGHTS).graph)
    product, elements = 2 * 256 * 512 * 128, 256 * 128
    assert count.count == 2 * product + 2 * elements + elements
    assert count.uncounted == {"Exp"}


def test_a_loop_over_elements_counts_once_an_element():
    count = flops(traced(lambda x: tf.map_fn(lambda row: row * 2.0, x), ONES).graph)
    assert (count.count, count.uncounted) == (256 * 512, set())


def test_a_loop_of_unknown_length_is_named():
    def halved(x):
        return tf.while_loop(lambda x: tf.reduce_max(x) > 1.0, lambda x: (x * 0.5,), (x,))

    count = flops(traced(halved, ONES).graph)
    assert (count.count, count.uncounted) == (0, {"StatelessWhile", "Max"})


def test_of_branches_the_lesser_counts_and_the_branch_is_named():
    def branched(x):
        return tf.cond(x[0, 0] > 0.0, lambda: (x * 2.0) + 1.0, lambda: x * 3.0)

    count = flops(traced(branched, ONES).graph)
    assert count.count == 256 * 512 + 1  # the comparison
    assert count.uncounted == {"StatelessIf"}


def test_whole_numbers_are_no_floating_point_operations():
    count = flops(traced(lambda x: x * 2 + 1, tf.ones([100], tf.int32)).graph)
    assert (count.count, count.uncounted) == (0, set())


def test_with_an_unknown_shape_there_is_no_count():
    function = tf.function(
        lambda x: x * 2.0, input_signature=[tf.TensorSpec([None, 4], tf.float32)]
    )
    facts = platform_facts(function.get_concrete_function(), None)
    assert facts.flops is None


def test_the_registry_does_not_tell_the_user_that_it_is_old(caplog):
    flops(traced(lambda x: tf.nn.softmax(x @ x), tf.ones([8, 8])).graph)
    assert "deprecated" not in caplog.text


def test_bytes_are_those_of_inputs_and_outputs():
    _, definition = optimized(lambda x, w: tf.exp(tf.reshape(x @ w, [-1])), ONES, WEIGHTS)
    x, w, y = 4 * 256 * 512, 4 * 512 * 128, 4 * 256 * 128
    assert moved_bytes(definition) == (x + w + y) + (y + y)


def test_a_row_that_is_picked_is_all_that_is_read():
    table = tf.Variable(tf.ones([1000, 64]))
    _, definition = optimized(lambda i: tf.gather(table, i), tf.constant([1, 2, 3]))
    rows, indices = 4 * 3 * 64, 4 * 3
    assert moved_bytes(definition) == rows + rows + indices


def test_a_variable_that_is_added_to_is_read_and_written():
    total = tf.Variable(tf.zeros([1000]))

    def add(x):
        total.assign_add(x)
        return x

    _, definition = optimized(add, tf.ones([1000]))
    assert moved_bytes(definition) == 3 * 4000


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tf.map_fn(lambda row: row * 2.0, x),
        lambda x: tf.cond(x[0, 0] > 0.0, lambda: x * 2.0, lambda: x),
        lambda x: tf.strings.as_string(x),
        lambda x: tf.boolean_mask(x, x > 0.0) * 2.0,
    ],
    ids=["loop", "branch", "strings", "unknown shape"],
)
def test_bytes_that_the_graph_does_not_tell_are_unknown(function):
    _, definition = optimized(function, ONES)
    assert moved_bytes(definition) is None


def test_facts_of_a_function_that_turns_to_float64():
    concrete, definition = optimized(lambda x: tf.exp(tf.cast(x, tf.float64)) * 2.0, ONES)
    facts = platform_facts(concrete, definition)
    assert facts.float64_ops == 3  # Cast, Exp, Mul
    assert facts.devices == {"CPU:0": 3}
    assert facts.flops == 256 * 512
    assert facts.uncounted == ("Exp",)
    x, y = 4 * 256 * 512, 8 * 256 * 512
    assert facts.moved_bytes == (x + y) + (y + y) + (y + 8 + y)
    assert (facts.peak_flops_s, facts.peak_bytes_s) == (None, None)
    assert platform_facts(concrete, None).moved_bytes is None


def test_ops_count_on_the_device_that_they_are_placed_on():
    cpu, gpu = (f"/job:localhost/replica:0/task:0/device:{name}" for name in ("CPU:0", "GPU:1"))
    assert devices([gpu, cpu, gpu, ""]) == {"GPU:1": 2, "CPU:0": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model name\t: X\nflags\t\t: fpu sse4_2 avx avx2 fma\nbugs\t: avx512f\n", 4),
        ("BogoMIPS\t: 50\nFeatures\t: fp asimd asimdhp bf16\n", 3),
        ("nothing\n", 0),
    ],
)
def test_features_of_a_processor(tmp_path, text, expected):
    facts = tmp_path / "cpuinfo"
    facts.write_text(text)
    assert len(processor_features(facts)) == expected


def test_where_the_system_does_not_tell_there_are_no_features(tmp_path):
    assert processor_features(tmp_path / "absent") == ()


@pytest.mark.parametrize(
    ("features", "gpus", "onednn", "start"),
    [
        (("avx2",), (), True, "bfloat16 does not pay"),
        (("avx2", "amx_bf16"), (), True, "bfloat16 pays"),
        (("avx2", "amx_bf16"), (), False, "bfloat16 does not pay: oneDNN"),
        ((), (), True, ""),
        (("amx_bf16",), ((6, 1),), True, "neither float16 nor bfloat16 pays on a GPU"),
        ((), ((7, 5),), True, "float16 pays in"),
        ((), ((8, 0), (9, 0)), True, "float16 and bfloat16 pay in"),
    ],
)
def test_whether_reduced_precision_pays(features, gpus, onednn, start):
    words = reduced_precision(features, gpus, onednn)
    assert words.startswith(start)
    assert bool(words) == bool(start)


def test_the_machine_s_rates_repeat_and_no_random_stream_moves():
    before = random.getstate(), np.random.get_state()[1].tolist()
    tf.random.set_seed(7)
    expected = [tf.random.uniform([2]).numpy().tolist() for _ in range(2)]
    tf.random.set_seed(7)
    first = tf.random.uniform([2]).numpy().tolist()
    rates = [machine_ceilings() for _ in range(2)]
    assert [first, tf.random.uniform([2]).numpy().tolist()] == expected
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before
    for one, other in zip(*rates, strict=True):
        assert 1 / 3 < one / other < 3
    (product, copy), _ = rates
    assert product > 1e9
    assert copy > 1e8
