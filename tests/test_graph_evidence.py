"""Evidence read from graphs, held to what is known on paper (TensorFlow 2.21)."""

from __future__ import annotations

import linecache
from typing import Any, NamedTuple

import pytest
import tensorflow as tf

from tfinsight.cell import distinct
from tfinsight.compiler.autodiff import backward_facts, kept_by_line
from tfinsight.compiler.collected_graphs import collecting, matching
from tfinsight.compiler.grappler import grappler_facts
from tfinsight.compiler.lines import LineMap, line_map
from tfinsight.compiler.tracing import ops_by_line
from tfinsight.tensorflow_private import gradient_calls

X = [128, 16]
X_BYTES = 128 * 16 * 4


class Traced(NamedTuple):
    concrete: Any
    lines: LineMap
    function: Any
    arguments: tuple[Any, ...]

    def grappler(self):
        with collecting() as collected:
            self.function(*self.arguments)
        triple = matching(collected.graphs, self.concrete)
        return grappler_facts(triple, self.lines)


@pytest.fixture
def traced(request):
    """Traces the function `f` of a source, whose first line is line 1 of the cell."""

    def run(source, *arguments, offset=3, signature=None, **names):
        filename = f"<{request.node.name}>"
        text = "\n" * offset + source
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        namespace = {"tf": tf, **names}
        exec(distinct(compile(text, filename, "exec"), filename), namespace)
        function = tf.function(namespace["f"], input_signature=signature)
        with gradient_calls() as gradients:
            concrete = function.get_concrete_function(*arguments)
        lines = line_map(concrete.graph, {filename: offset}, gradients)
        return Traced(concrete, lines, function, arguments)

    yield run
    linecache.cache.pop(f"<{request.node.name}>", None)


@pytest.fixture
def w():
    return tf.Variable(tf.fill([16, 16], 0.1))


def kept(cell):
    facts = backward_facts(cell.concrete, cell.lines)
    return {(t.op, t.shape, t.size_bytes, t.line) for t in facts.kept}


# Lines


def test_a_helper_of_the_cell_has_its_own_line_and_a_foreign_one_that_of_the_call(traced):
    def foreign(v):
        return tf.cos(v)

    source = """\
def helper(v):
    return tf.nn.relu(v)
def f(x):
    y = helper(x)
    z = foreign(y)
    for _ in tf.range(3):
        z = tf.sin(z)
    return z
"""
    cell = traced(source, tf.ones(X), foreign=foreign)
    forward, backward = ops_by_line(cell.concrete, cell.lines)
    # The loop's own: counting the range's elements, the loop, its condition and two counters.
    assert forward == {2: 1, 5: 1, 6: 12, 7: 1}
    assert backward == {}


def test_both_branches_may_hold_an_op_of_one_name(traced):
    source = """\
def f(x):
    if tf.reduce_sum(x) > 0:
        y = tf.sin(x)
    else:
        y = tf.sin(x)
    return y
"""
    cell = traced(source, tf.ones(X))
    assert cell.lines.line("cond/then/_0/cond/Sin") == 3
    assert cell.lines.line("cond/else/_1/cond/Sin") == 5
    assert cell.lines.line("cond/switch_pred/_2") == 2


def test_names_that_later_stages_make(traced):
    source = """\
@tf.function
def inner(v):
    return v * v
def f(x):
    y = inner(x)
    z = tf.map_fn(lambda r: tf.exp(r), y)
    return tf.nn.relu(z)
"""
    cell = traced(source, tf.ones(X))
    expected = {
        "PartitionedCall/mul": 3,
        "PartitionedCall/ArithmeticOptimizer/ReplaceMulWithSquare_mul": 3,
        "map/while/body/_1/map/while/Exp": 6,
        "map/while/enter/_5": 6,
        "Relu": 7,
        "ConstantFolding/Relu-folded-0": 7,
        "ConstantFolding/Relu_recip": 7,
        "ArithmeticOptimizer/AddOpsRewrite_Leaf_1_Relu": 7,
        "jit_f/map/while/body/map/while/Exp": 6,
        "nowhere/to/be/found": None,
    }
    assert {name: cell.lines.line(name) for name in expected} == expected
    assert cell.lines.lines(["Relu", "PartitionedCall/mul", "Relu"]) == (3, 7)


def test_gradient_ops_have_the_line_of_the_op_that_they_are_gradients_of(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        h = x @ w
        t = tf.tanh(h)
        s = tf.vectorized_map(lambda r: tf.sin(r), t)
        loss = tf.reduce_sum(s)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    backward = {
        op.type: cell.lines.line(op.name)
        for op in cell.concrete.graph.get_operations()
        if cell.lines.is_backward(op.name)
    }
    assert (backward["MatMul"], backward["TanhGrad"]) == (3, 4)
    assert (backward["Cos"], backward["Tile"]) == (5, 6)


def test_the_gradient_of_a_loop_has_the_lines_inside_it(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        h = x @ w
        for _ in tf.range(3):
            h = tf.sin(h)
        loss = tf.reduce_sum(h)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    name = "gradient_tape/while/while_grad/body/_9/gradient_tape/while/gradients/while/Sin_grad/mul"
    assert cell.lines.line(name) == 5
    assert cell.lines.is_backward(name)
    backward = ops_by_line(cell.concrete, cell.lines)[1]
    # Taking h out again, the cosine and the product with it; h itself is the loop's, on line 4.
    assert backward[5] == 3


# The backward pass


def test_tanh_and_square_share_what_they_keep(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        h = tf.tanh(x @ w)
        loss = tf.reduce_sum(h * h)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    # tanh' = 1 - tanh^2 needs the result, and so does (h * h)' = 2h; the product's needs x, an
    # argument; the sum's only the shape, known while tracing.
    assert kept(cell) == {("Tanh", (128, 16), X_BYTES, 3)}
    assert kept_by_line(cell.concrete, cell.lines) == {3: X_BYTES}
    forward, backward = ops_by_line(cell.concrete, cell.lines)
    assert forward == {3: 3, 4: 2}  # reading w, the product, tanh; the square, the sum
    # Of the sum a reshape and a tile, of the square two products, which the tape adds up; tanh and the
    # product, by w alone.
    assert backward == {4: 4, 5: 1, 3: 2}


def test_a_tape_in_a_function_of_the_cell_counts_as_one_in_the_cell(traced, w):
    source = """\
@tf.function
def step(x):
    with tf.GradientTape() as tape:
        h = tf.tanh(x @ w)
        loss = tf.reduce_sum(h * h)
    w.assign_sub(tape.gradient(loss, w))
    return loss
def f(x):
    return step(x)
"""
    cell = traced(source, tf.ones(X), w=w)
    assert kept(cell) == {("Tanh", (128, 16), X_BYTES, 4)}
    forward, backward = ops_by_line(cell.concrete, cell.lines)
    assert (forward[4], forward[5]) == (3, 2)
    assert (backward[4], backward[5]) == (2, 4)
    assert 9 not in forward  # the call is counted by what is in it


def test_a_called_function_keeps_what_is_computed_in_it_once_per_call(traced, w):
    source = """\
@tf.function
def inner(v):
    return tf.tanh(v) * 2.0
def f(x):
    with tf.GradientTape() as tape:
        h = inner(x @ w)
        loss = tf.reduce_sum(inner(h))
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    # The factor 2 is handed to the backward pass too, and is a constant.
    assert kept(cell) == {("Tanh", (128, 16), X_BYTES, 3)}
    assert backward_facts(cell.concrete, cell.lines).kept_bytes == 2 * X_BYTES
    calls = [o for o in cell.concrete.graph.get_operations() if o.type == "PartitionedCall"]
    assert [cell.lines.line(op.name) for op in calls] == [6, 7, 7, 6]
    assert [cell.lines.is_backward(op.name) for op in calls] == [False, False, True, True]


def test_a_loop_keeps_one_value_for_each_turn(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        h = tf.map_fn(lambda r: tf.exp(r), x @ w)
        loss = tf.reduce_sum(h)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    assert ("Exp", (128, 16), X_BYTES, 3) in kept(cell)  # 128 turns, 16 numbers each


def test_turns_that_tracing_does_not_know_have_no_size(traced, w):
    source = """\
def f(x, n):
    with tf.GradientTape() as tape:
        h = x @ w
        for _ in tf.range(n):
            h = tf.sin(h) * h
        loss = tf.reduce_sum(h)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), tf.constant(3), w=w)
    # sin(h) and h itself, which is new each turn.
    big = {(op, shape, size) for op, shape, size, _ in kept(cell) if shape != ()}
    assert big == {("Sin", (None, 128, 16), None), ("Placeholder", (None, 128, 16), None)}


def test_a_branch_keeps_what_it_computes(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        h = x @ w
        if tf.reduce_sum(x) > 0:
            h = tf.tanh(h)
        loss = tf.reduce_sum(h)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    assert ("Tanh", (128, 16), X_BYTES, 5) in kept(cell)


def test_what_is_asked_for_its_shape_alone_is_not_kept(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.reshape(x @ w, [-1]))
    return tape.gradient(loss, w)
"""
    cell = traced(source, signature=[tf.TensorSpec([None, 16])], w=w)
    kinds = {op.type for op in cell.concrete.graph.get_operations()}
    assert "Shape" in kinds  # the backward pass asks for one
    assert kept(cell) == set()


def test_no_gradient_no_backward_pass(traced):
    cell = traced("def f(x):\n    return tf.exp(x)\n", tf.ones(X))
    assert backward_facts(cell.concrete, cell.lines) is None


def test_looking_adds_nothing_to_a_graph(traced, w):
    source = """\
def f(x):
    with tf.GradientTape() as tape:
        h = tf.map_fn(lambda r: tf.exp(r), tf.identity_n([x @ w, x])[0])
        loss = tf.reduce_sum(h)
    return tape.gradient(loss, w)
"""
    cell = traced(source, tf.ones(X), w=w)
    before = len(cell.concrete.graph.get_operations())
    backward_facts(cell.concrete, cell.lines)
    ops_by_line(cell.concrete, cell.lines)
    assert len(cell.concrete.graph.get_operations()) == before


# Grappler


def test_three_ops_fold_to_one_number(traced):
    source = """\
def f(x):
    scale = tf.sqrt(tf.constant(2.0) * tf.constant(8.0)) + 1.0
    return x * scale
"""
    cell = traced(source, tf.ones(X))
    facts, folded = cell.grappler()
    assert folded == {"mul", "Sqrt", "add"}
    assert [(t.name, t.op, t.size_bytes, t.line) for t in facts.folded] == [("add", "AddV2", 4, 2)]
    assert (facts.removed_count, facts.added_count, facts.moved_count) == (0, 0, 0)
    # x, three constants, four ops, a pass-through and the result; then x, one constant, one op, result.
    assert (facts.nodes_before, facts.nodes_after) == (10, 4)


@pytest.mark.parametrize(
    "body",
    [
        "for _ in tf.range(3):\n        x = tf.sin(x) * (tf.constant(2.0) * tf.constant(3.0))",
        "x = tf.sin(x) * (tf.constant(2.0) * 3.0) if tf.reduce_sum(x) > 0 else x",
        "x = tf.switch_case(tf.cast(x[0, 0], tf.int32) % 2, [lambda: x, lambda: x * (tf.constant(2.0) * 3.0)])",
    ],
    ids=["loop", "branch", "cases"],
)
def test_loops_and_branches_are_compared_as_they_are_optimized(traced, body):
    cell = traced(f"def f(x):\n    {body}\n    return x\n", tf.ones(X))
    facts, _ = cell.grappler()
    assert facts.folded_count == 1  # the product of the constants
    assert [t.op for t in facts.folded] == ["Mul"]
    assert facts.added_count == 0  # what carries values in and out is no op of the cell


def test_a_called_function_is_compared_where_it_is_called(traced):
    source = """\
@tf.function
def inner(v):
    return v * v
def f(x):
    return inner(x) + inner(x + 1.0)
"""
    facts, _ = traced(source, tf.ones(X)).grappler()
    assert {(r.name, r.before, r.after, r.line) for r in facts.rewritten} == {
        ("PartitionedCall/mul", "Mul", "Square", 3),
        ("PartitionedCall_1/mul", "Mul", "Square", 3),
    }
    assert (facts.removed_count, facts.added_count, facts.folded_count) == (0, 0, 0)


def test_a_dense_layer_becomes_one_op_that_is_listed_once(traced):
    source = """\
def f(x, w, b):
    y = x @ w
    z = tf.nn.bias_add(y, b)
    return tf.nn.relu(z)
"""
    cell = traced(source, tf.ones(X), tf.ones([16, 16]), tf.ones([16]))
    facts, _ = cell.grappler()
    (fused,) = facts.fused
    assert (fused.kind, fused.by) == ("_FusedMatMul", "Grappler")
    assert fused.members == ("MatMul", "BiasAdd", "Relu")
    assert fused.lines == (2, 3, 4)
    assert facts.removed_count == 0


def test_functions_of_one_element_that_follow_one_another_become_one_op(traced):
    source = """\
def f(x):
    y = tf.exp(tf.tanh(x))
    return tf.sqrt(y)
"""
    facts, _ = traced(source, tf.ones(X)).grappler()
    (fused,) = facts.fused
    assert fused.members == ("Tanh", "Exp", "Sqrt")
    assert (fused.by, fused.lines) == ("Grappler", (2, 3))
    assert (facts.removed_count, facts.added_count) == (0, 0)


def test_graphs_are_matched_by_their_names(traced):
    one = traced("def f(x):\n    return tf.sin(x, name='one')\n", tf.ones(X))
    other = tf.function(lambda x: tf.cos(x, name="other"))
    with collecting() as collected:
        other(tf.ones(X))
        one.function(*one.arguments)
    assert len(collected.graphs) == 2
    triple = matching(collected.graphs, one.concrete)
    assert "one" in {node.name for node in triple.before.node}
    with collecting() as again:
        one.function(*one.arguments)
    assert again.graphs == ()  # handed out at the first call only
