"""What compiling did to cells whose folded, fused and kept values are known on paper (TensorFlow 2.21)."""

from __future__ import annotations

import subprocess
import sys

import pytest
import tensorflow as tf

import tfinsight
from tfinsight.compiler.autodiff import kept_by_line
from tfinsight.compiler.lines import line_map
from tfinsight.tensorflow_private import gradient_calls

TF = "import tensorflow as tf\nimport numpy as np\n"
MIB = 2**20


@pytest.fixture
def compiled(shell):
    """Runs a cell and returns what compiling did to it."""

    def run(setup, cell, options="--budget 4"):
        shell.ok(TF + setup)
        shell.ok(f"%%graphcompare {options}\n{cell}")
        return shell.record.compiled

    return run


def by_line(compiled, field):
    return {f.number: getattr(f, field) for f in compiled.lines if getattr(f, field)}


def test_folding_of_a_scalar(compiled):
    cell = "scale = tf.sqrt(tf.constant(2.0) * tf.constant(3.0)) + 1.0\nx * scale"
    found = compiled("x = tf.ones([8, 8])", cell)
    # The product, the root and the sum; one number of 4 bytes stands in their place.
    assert found.grappler.folded_count == 3
    assert [(t.op, t.shape, t.size_bytes, t.line) for t in found.grappler.folded] == [
        ("AddV2", (), 4, 1)
    ]
    assert by_line(found, "folded") == {1: 3}
    assert by_line(found, "ops") == {1: 3, 2: 1}


def test_a_cell_that_runs_again_has_its_lines_again(compiled):
    for _ in range(2):
        found = compiled("x = tf.ones([8, 8])", "y = tf.exp(x)\ny + x")
        assert by_line(found, "ops") == {1: 1, 2: 1}


def test_nothing_folds_where_all_depends_on_inputs(compiled):
    found = compiled("x = tf.ones([8, 8])", "tf.exp(x) + x")
    assert found.grappler.folded_count == 0
    assert found.unfolded_s is None


def test_what_folding_is_worth_is_measured(compiled, shell):
    # Matrices of up to 100 KiB are folded.
    setup = "x = tf.ones([128, 128])"
    cell = "k = tf.fill([128, 128], 0.01)\nfor _ in range(40):\n    k = k @ k\nx + k"
    found = compiled(setup, cell)
    assert found.grappler.folded_count == 41  # the products and the matrix
    assert found.unfolded_s > 2 * shell.record.run("graph").timing.median_s


def test_a_dense_layer_is_one_fused_op(compiled):
    setup = "x = tf.ones([64, 32])\nw = tf.ones([32, 16])\nb = tf.ones([16])"
    found = compiled(setup, "y = tf.matmul(x, w)\nz = tf.nn.bias_add(y, b)\ntf.nn.relu(z)")
    (fused,) = [op for op in found.grappler.fused if op.by == "Grappler"]
    assert fused.kind == "_FusedMatMul"
    assert fused.members == ("MatMul", "BiasAdd", "Relu")
    assert fused.lines == (1, 2, 3)
    shared = {f.number: set(f.fused_with) for f in found.lines}
    assert shared[1] >= {2, 3}


def test_a_square_is_rewritten(compiled):
    found = compiled("x = tf.ones([64, 32])", "y = x * x\ny + 1.0")
    (rewrite,) = found.grappler.rewritten
    assert (rewrite.before, rewrite.after, rewrite.line) == ("Mul", "Square", 1)


def test_what_xla_never_writes(compiled):
    setup = "x = tf.ones([1024, 1024])"
    cell = "a = x * 2.0\nb = tf.exp(-a * a)\nc = tf.sin(b) + tf.cos(a)\ntf.reduce_sum(c, axis=1)"
    found = compiled(setup, cell)
    # Of x*2, its negative, the product, exp, sin, cos and the sum of both, only the last is written.
    (fusion,) = found.xla.fusions
    assert fusion.saved_bytes == 6 * 4 * MIB
    assert fusion.lines == (1, 2, 3)
    assert (fusion.read_bytes, fusion.written_bytes) == (4 * MIB, 4 * MIB)
    assert found.xla.argument_bytes == 4 * MIB
    assert found.xla.output_bytes == 4096


def test_peaks_of_an_elementwise_chain_are_in_order(shell):
    shell.ok(TF + "x = tf.ones([1024, 1024])")
    shell.ok(
        "%%graphcompare --budget 4\na = x * 2.0\nb = tf.exp(-a * a)\nc = tf.sin(b) + tf.cos(a)\n"
        "tf.reduce_sum(c, axis=1)"
    )
    if shell.record.environment.coverage == "none":
        pytest.skip("this process keeps no count of memory")
    peaks = {run.strategy: run.memory.peak_bytes for run in shell.record.runs}
    assert peaks["xla"] < peaks["graph"] < peaks["eager"]


def test_what_the_backward_pass_keeps(compiled):
    setup = "w = tf.Variable(tf.ones([16, 16]))\nx = tf.ones([128, 16])"
    cell = (
        "with tf.GradientTape() as tape:\n    h = tf.tanh(x @ w)\n"
        "    loss = tf.reduce_mean(h * h)\ntape.gradient(loss, w)"
    )
    found = compiled(setup, cell)
    # The gradient of tanh needs its result, and so does that of h * h: one tensor of 128 x 16 floats.
    # The product's needs its argument x, which lives anyway; the mean's only the shape.
    assert [(t.op, t.shape, t.size_bytes, t.line) for t in found.backward.kept] == [
        ("Tanh", (128, 16), 128 * 16 * 4, 2)
    ]
    assert by_line(found, "kept_bytes") == {2: 8192}
    # Forward: the reading of w is no computing; the product, tanh, h * h and the mean are.
    assert by_line(found, "ops") == {2: 3, 3: 2}
    gradients = by_line(found, "gradient_ops")
    assert gradients[2] == 2  # of tanh and of the product, by w alone
    assert gradients[3] >= 3  # of the mean and of both factors


def test_grad_takes_the_gradient_of_code_without_a_tape(compiled, shell):
    found = compiled("x = tf.ones([128, 16])", "tf.reduce_sum(tf.tanh(x))", "--budget 4 --grad")
    assert [(t.op, t.size_bytes) for t in found.backward.kept] == [("Tanh", 8192)]
    assert shell.record.cell.with_gradient
    assert all(run.status == "ok" for run in shell.record.runs)


def test_lines_of_helpers_loops_and_functions():
    def helper(v):
        return v * 2.0 + 1.0

    @tf.function
    def inner(v):
        return tf.nn.relu(v)

    def cell(x):  # line 1 of the source
        a = helper(x)
        b = inner(a)
        for _ in tf.range(3):
            b = tf.sin(b)
        return tf.reduce_sum(b)

    first = cell.__code__.co_firstlineno
    concrete = tf.function(cell).get_concrete_function(tf.ones([4]))
    lines = line_map(concrete.graph, {__file__: first - 1})
    assert lines.line("Sum") == 6
    inside = [name for name in ("while/body/_1/while/Sin", "while/Sin") if lines.line(name)]
    assert [lines.line(name) for name in inside] == [5, 5]
    assert lines.line("PartitionedCall/Relu") is not None
    assert lines.line("nowhere/to/be/found") is None


def test_the_backward_pass_of_an_own_function_belongs_to_its_call():
    @tf.function
    def inner(v):
        return tf.nn.relu(v) + 1.0

    def cell(x, w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            h = tf.tanh(x @ w)
            q = inner(h)
            loss = tf.reduce_sum(q * h)
        return tape.gradient(loss, w)

    first = cell.__code__.co_firstlineno
    with gradient_calls() as gradients:
        concrete = tf.function(cell).get_concrete_function(tf.ones([8, 4]), tf.ones([4, 4]))
    lines = line_map(concrete.graph, {__file__: first - 1}, gradients)
    assert kept_by_line(concrete, lines)[4] == 8 * 4 * 4
    calls = [op.name for op in concrete.graph.get_operations() if "PartitionedCall" in op.type]
    assert [lines.line(name) for name in calls] == [5, 5]
    assert [lines.is_backward(name) for name in calls] == [False, True]


def test_passes_on_demand(compiled):
    setup = "x = tf.ones([64, 32])\nw = tf.ones([32, 16])\nb = tf.ones([16])"
    cell = "tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b)) * tf.sqrt(4.0)"
    found = compiled(setup, cell, "--budget 4 --passes")
    shares = {share.name: share for share in found.grappler.passes}
    assert shares["constfold"].changed == 1  # the root of 4
    assert shares["remap"].nodes_after < shares["remap"].nodes_before
    assert shares["loop"].changed == 0


def test_captured_values_and_conversions(compiled):
    setup = "x = tf.ones([4])\ntable = tf.ones([1000])\ndef look(v):\n    return v + table[:4]"
    found = compiled(setup, "look(x)")
    assert [(t.shape, t.size_bytes) for t in found.tracing.captured] == [((1000,), 4000)]
    assert {c.function for c in found.tracing.conversions} == {"cell", "look"}
    assert not any(c.problem for c in found.tracing.conversions)


def test_host_reads_by_line(compiled):
    cell = "y = x * 2.0\nfor _ in range(3):\n    y = y + float(tf.reduce_sum(y))\ny.numpy()"
    found = compiled("x = tf.ones([4])", cell)
    assert {(r.line, r.kind): r.count for r in found.host_reads} == {
        (3, "float()"): 3,
        (4, ".numpy()"): 1,
    }


def test_another_shape(compiled):
    found = compiled("x = tf.ones([64, 8])", "tf.reduce_sum(x * x, axis=1)")
    graph, xla = found.new_shapes
    assert (graph.strategy, graph.traces, graph.relaxed_traces) == ("graph", 1, 0)
    assert graph.signature == "[tf.TensorSpec([None, 8], tf.float32)]"
    assert graph.change == "first dimension of `x`: 63 instead of 64"
    assert (xla.strategy, xla.traces) == ("xla", 1)


def test_flops_and_bytes_of_a_product(compiled):
    found = compiled("a = tf.ones([256, 512])\nb = tf.ones([512, 128])", "a @ b")
    assert found.platform.flops == 2 * 256 * 512 * 128
    assert found.platform.moved_bytes == 4 * (256 * 512 + 512 * 128 + 256 * 128)
    assert found.platform.peak_flops_s > 0


def test_mixed_precision_is_a_row_of_its_own(shell):
    shell.ok(TF + "a = tf.random.normal([256, 256], seed=1)")
    before = tf.config.optimizer.get_experimental_options()
    shell.ok("%%graphcompare --budget 4 --mixed bfloat16\ntf.reduce_sum(tf.nn.relu(a @ a), axis=1)")
    row = shell.record.run("graph-bfloat16")
    assert row.status in ("ok", "different")
    assert row.agreement.max_rel is not None
    assert shell.record.verdict.recommended != "graph-bfloat16"
    assert tf.config.optimizer.get_experimental_options() == before


def test_the_function_form():
    def step(x, scale=2.0):
        return tf.reduce_sum(tf.exp(x) * scale)

    report = tfinsight.graphcompare(step, tf.ones([16]), scale=3.0, budget=3, quiet=True)
    record = report.record
    assert record.reference == "eager"
    assert [run.strategy for run in record.runs] == ["eager", "graph", "graph-no-grappler", "xla"]
    assert all(run.status == "ok" for run in record.runs)
    assert record.cell.call == "step(x, scale)"
    assert sum(line.ops for line in record.compiled.lines) == 3
    assert float(report.best()(tf.ones([16]))) > 0


def test_the_line_form_and_variants(shell):
    shell.ok(
        TF
        + "x = tf.ones([16])\ndef step(v):\n    return tf.exp(v)\ndef other(v):\n    return tf.exp(v) + 1.0"
    )
    shell.ok("%graphcompare --budget 3 --also other -s graph step(x)")
    rows = {run.strategy: run.status for run in shell.record.runs}
    assert rows == {"as-written": "ok", "graph": "ok", "other/graph": "different"}


def test_assertions_keep_xla_from_being_recommended(shell):
    shell.ok(TF + "x = tf.ones([64, 64])")
    shell.ok(
        "%%graphcompare --budget 3\ntf.debugging.assert_non_negative(x)\ntf.reduce_sum(tf.exp(x) * x)"
    )
    codes = {finding.code for finding in shell.record.findings}
    assert "xla_drops_assertions" in codes
    assert shell.record.verdict.recommended != "xla"


IN_ONE_FILE = """
import tensorflow as tf, tfinsight

def step(x):
    return tf.reduce_sum(x * x)

report = tfinsight.graphcompare(step, tf.ones([8]), budget=2, quiet=True)
compiled = report.record.compiled
print([(r.line, r.kind) for r in compiled.host_reads], {line.number for line in compiled.lines if line.ops})
print(compiled.tracing.op_count, compiled.tracing.placed)
"""


def test_a_function_and_its_measuring_in_one_file_are_told_apart(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(IN_ONE_FILE)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.splitlines()[0] == "[] {2}"
    ops, placed = done.stdout.splitlines()[1].split()
    assert int(placed) < int(ops)
