"""Records of graphcompare as measuring makes them: complete, cut short, empty, hostile."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sample_records import CLOSE, ENVIRONMENT, EQUAL, KIB, memory, poisoned, timing

from tfinsight.records import (
    Backward,
    CellFacts,
    Compiled,
    Conversion,
    Evidence,
    Failure,
    Finding,
    FusedOp,
    Fusion,
    GraphCompare,
    GraphOptions,
    GraphTensor,
    Grappler,
    HostRead,
    LineFacts,
    LiveTensor,
    LogLine,
    NewShape,
    PassShare,
    Platform,
    Rewrite,
    Run,
    Stage,
    TensorFacts,
    Timing,
    Tracing,
    Verdict,
    XlaProgram,
)

SOURCE = """\
# A dense layer and its gradient.
scale = tf.constant([2.0] * 128)

with tf.GradientTape() as tape:
    h = tf.nn.gelu(tf.matmul(x, w) + b)
    y = h * tf.sqrt(scale)
    if float(tf.reduce_mean(y)) > 0:
        y = y - tf.reduce_mean(y, axis=0)
    loss = tf.reduce_sum(y * y)
grads = tape.gradient(loss, [w, b])"""
BATCH_BYTES = 64 * 128 * 4


def _facts(number: int, text: str) -> LineFacts:
    """What became of each line of `SOURCE`; lines 1 to 3 are no part of the measured ones."""
    known: dict[int, dict[str, Any]] = {
        2: {"part": "once"},
        4: {"part": "measured"},
        5: {
            "ops": 12,
            "gradient_ops": 17,
            "fused_with": (6, 8),
            "time_share": 0.612,
            "peak_share": 0.5,
            "kept_bytes": 2 * BATCH_BYTES,
        },
        6: {"ops": 2, "gradient_ops": 3, "folded": 1, "fused_with": (5,), "time_share": 0.101},
        7: {"ops": 3, "host_reads": 1, "time_share": 0.02},
        8: {"ops": 3, "gradient_ops": 4, "fused_with": (5,), "time_share": 0.15},
        9: {"ops": 2, "gradient_ops": 3, "time_share": 0.117, "peak_share": 0.25},
        10: {"ops": 1},
    }
    part = "measured" if number > 3 else "other"
    return LineFacts(number, text, **{"part": part, **known.get(number, {})})


LINES = tuple(_facts(i, text) for i, text in enumerate(SOURCE.splitlines(), 1))
TRACING = Tracing(
    op_count=54,
    function_count=2,
    kinds={"Mul": 14, "MatMul": 3, "Sum": 3},
    placed=50,
    constants=(GraphTensor("Const_3", "Const", "float32", (128,), 512, 2),),
    constant_bytes=1_540,
    captured=(GraphTensor("x", "Placeholder", "float32", (None, 128), None),),
    variables=(GraphTensor("w", "ReadVariableOp", "float32", (128, 128), 64 * KIB, 5),),
    conversions=(
        Conversion("center"),
        Conversion("clip", "the source of `clip` could not be read"),
    ),
)
GRAPPLER = Grappler(
    nodes_before=61,
    nodes_after=31,
    folded_count=7,
    folded=(
        GraphTensor("Sqrt", "Const", "float32", (128,), 512, 6),
        GraphTensor("mystery", "Const", "float32", None, None, None),
    ),
    removed_count=23,
    added_count=4,
    moved_count=6,
    rewritten=(
        Rewrite("mul_2", "Mul", "Square", 9),
        Rewrite("gradient_tape/Pow", "Pow", "Reciprocal"),
    ),
    fused=(
        FusedOp("Gelu", "_FusedMatMul", ("MatMul", "BiasAdd", "GeluApproximate"), "Grappler", (5,)),
        FusedOp("add_9", "_MklFusedAdd", ("AddV2", "Relu"), "oneDNN"),
    ),
    platform_kernels={"_MklNativeFusedMatMul": 1},
    passes=(
        PassShare("constant_folding", 61, 54, 9, 0.0041),
        PassShare("remapper", 61, 57, 5, 0.0035),
    ),
)
XLA = XlaProgram(
    name="a_inference_cell_64__.164",
    instructions_before=83,
    instructions_after=14,
    parameters=4,
    fusions=(
        Fusion(
            "multiply_tanh_fusion",
            "kLoop",
            ("multiply", "add", "tanh", "multiply"),
            (5, 6),
            0.000021,
            3 * BATCH_BYTES,
            BATCH_BYTES,
            5 * BATCH_BYTES,
        ),
        Fusion("reduce_fusion", "kInput", ("multiply", "reduce"), (), None, BATCH_BYTES, 4, 1_024),
    ),
    fusion_count=9,
    saved_bytes=6 * BATCH_BYTES,
    argument_bytes=98 * KIB,
    output_bytes=65 * KIB,
    temporary_bytes=33 * KIB,
    constant_bytes=513,
)
BACKWARD = Backward(
    forward_ops=27,
    backward_ops=27,
    kept=(
        GraphTensor("MatMul", "MatMul", "float32", (64, 128), BATCH_BYTES, 5),
        GraphTensor("Gelu/Tanh", "Tanh", "float32", (64, 128), BATCH_BYTES, 5),
    ),
    kept_count=3,
    kept_bytes=2 * BATCH_BYTES + 512,
)
NEW_SHAPES = (
    NewShape(
        "graph",
        "the first dimension of `x`: 63 instead of 64",
        0.0873,
        1,
        0,
        "[tf.TensorSpec([None, 128], tf.float32)]",
    ),
    NewShape(
        "xla", "the second dimension of `x`: 127 instead of 128", problem="shapes of `w` differ"
    ),
)
PLATFORM = Platform(
    features=("AVX2", "AVX512F", "FMA"),
    devices={"CPU:0": 31},
    float64_ops=2,
    reduced_precision="bfloat16 does not pay here: the processor has no AMX.",
    flops=6_400_000,
    uncounted=("Erf", "Tanh"),
    moved_bytes=1_600 * KIB,
    peak_flops_s=128e9,
    peak_bytes_s=16 * 2**30,
)
COMPILED = Compiled(
    lines=LINES,
    tracing=TRACING,
    grappler=GRAPPLER,
    xla=XLA,
    backward=BACKWARD,
    new_shapes=NEW_SHAPES,
    host_reads=(HostRead(7, "float()", 1), HostRead(9, "NumPy argument", 2)),
    platform=PLATFORM,
    unfolded_s=0.00125,
)
CELL = CellFacts(
    name="the cell",
    source=SOURCE,
    measured="\n".join(SOURCE.splitlines()[3:]),
    ran_once=(1, 3),
    measured_lines=(4, 10),
    inputs=(
        TensorFacts("x", "dense", "float32", (64, 128), BATCH_BYTES),
        TensorFacts("batch['rows']", "ragged", "float32", (64, None), None),
    ),
    outputs=(
        TensorFacts("[0]", "dense", "float32", (), 4),
        TensorFacts("[1][0]", "dense", "float32", (128, 128), 64 * KIB),
    ),
    result="loss, grads",
    captured=("table",),
    variables=("w", "b"),
    with_gradient=True,
    entry="fit",
    functions=("center",),
    models=("net",),
)
FINDINGS = (
    Finding(
        code="host_read",
        severity="warning",
        title="Line 7 reads a value from TensorFlow in each run",
        evidence=(Evidence("values read in one run", 1, "count"),),
        advice="Use `tf.cond`, so that the branch is part of the graph.",
        snippet="y = tf.cond(tf.reduce_mean(y) > 0, lambda: y - 1, lambda: y)",
        link="https://www.tensorflow.org/api_docs/python/tf/cond",
        strategies=("graph", "xla"),
    ),
    Finding(
        code="constant_folding",
        severity="info",
        title="Part of the graph was computed once, while optimizing",
        evidence=(Evidence("ops folded", 7, "count"), Evidence("share of time", 0.25, "%")),
    ),
)


def row(strategy: str, median_s: float | None = None, kib: float = 96, **more: Any) -> Run:
    """A row of `graphcompare`; `ok` and equal unless told otherwise."""
    kind = strategy.rpartition("/")[2]
    timed = None if median_s is None else timing(median_s, cores_used=1.5)
    values: dict[str, Any] = {
        "status": "ok",
        "timing": timed,
        "memory": None if median_s is None else memory(kib),
        "agreement": EQUAL,
        "code": f"{kind.replace('-', '_')}_cell(x)",
        **more,
    }
    execution: Any = kind if kind in ("eager", "graph", "xla") else "eager"
    return Run(strategy, "", execution, **values)


def full() -> GraphCompare:
    """A whole run of a cell with a gradient: rows of every status, and all of the evidence."""
    gelu = LiveTensor("Gelu", 64 * KIB, 2, "float32", "[64,128]")
    traced = timing(0.001, trace_s=0.045, optimize_s=0.012, compile_s=0.0, cores_used=1.94)
    xla = timing(
        0.0008, trace_s=0.046, optimize_s=0.013, compile_s=0.21, first_s=0.3, cores_used=1.0
    )
    bare = timing(0.0012, trace_s=0.044, compile_s=0.02, first_s=0.6)
    wrong = replace(CLOSE, verdict="different", detail="values differ: largest difference 0.25")
    refused = Failure("compile", "InvalidArgumentError", "Detected unsupported operations: PyFunc")
    few = Failure("preflight", "too few steps", "an epoch has 1 step")
    return GraphCompare(
        cell=CELL,
        environment=ENVIRONMENT,
        options=GraphOptions(also=("mine",), mixed="bfloat16", passes=True),
        reference="as-written",
        baseline="as-written",
        runs=(
            row("as-written", 0.3902, 512),
            row("eager", 0.39, 512, memory=memory(512, gelu)),
            row("graph", timing=traced, memory=memory(161, gelu), agreement=CLOSE),
            row("graph-no-grappler", timing=bare, memory=memory(288)),
            row("xla", timing=xla, memory=memory(98), agreement=CLOSE),
            row("steps-per-execution", status="skipped", failure=few, agreement=None, code=""),
            row("mine/eager", 0.2, 700),
            row("mine/graph", 0.0021, 300),
            row("mine/xla", status="failed", failure=refused, agreement=None, code=""),
            row("graph-bfloat16", 0.0031, 120, status="different", agreement=wrong),
        ),
        findings=FINDINGS,
        logs=(LogLine("tensorflow", "5 out of the last 5 calls triggered retracing", 3, "eager"),),
        verdict=Verdict(("xla", "graph"), ("xla",), "xla"),
        stages=(Stage("first calls", 2.5, 2.0), Stage("timing", 6.5, 6.0)),
        notes=("The first epoch was left out.",),
        changed_objects=("history",),
        compiled=COMPILED,
    )


def interrupted() -> GraphCompare:
    """Stopped during the first calls: nothing was timed, and only tracing was looked at."""
    stopped = Failure("timing", "interrupted", "the measurement was interrupted before this row")
    skipped = {"status": "skipped", "failure": stopped, "agreement": None}
    runs = (
        row("as-written", timing=Timing(first_call_s=0.4)),
        row("graph", timing=Timing(first_call_s=0.2, trace_s=0.1)),
        row("xla", **skipped),
    )
    lines = tuple(replace(line, time_share=None, peak_share=None) for line in LINES)
    return replace(
        full(),
        runs=runs,
        findings=(),
        logs=(),
        verdict=Verdict(),
        interrupted="first calls",
        compiled=Compiled(lines=lines, tracing=TRACING),
    )


def empty() -> GraphCompare:
    """A function form of which nothing could be had: no rows, no evidence, no inputs."""
    cell = CellFacts("f(x)", "", "f(x)", None, None, (), (), "")
    nothing = replace(ENVIRONMENT, versions={}, settings={}, memory_bytes=None, coverage="none")
    return GraphCompare(
        cell=cell,
        environment=nothing,
        options=GraphOptions(),
        reference="eager",
        baseline="eager",
        runs=(),
    )


def hollow() -> GraphCompare:
    """Every part of the evidence is there and holds nothing."""
    compiled = Compiled(
        lines=(LineFacts(1, "", "other"), LineFacts(2, "y = f(x)", "measured")),
        tracing=Tracing(0, 0, {}, 0),
        grappler=Grappler(0, 0, 0, (), 0, 0, 0),
        xla=XlaProgram("", 0, 0, 0, (), 0, 0, 0, 0, 0, 0),
        backward=Backward(0, 0, (), 0, 0),
        platform=Platform(),
    )
    return replace(empty(), runs=(row("eager"), row("graph")), compiled=compiled)


def hostile() -> GraphCompare:
    """A full record with markup in every string that is free text, names of rows included."""
    return poisoned(full())


SAMPLES = (full, interrupted, empty, hollow, hostile)
