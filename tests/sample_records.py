"""Records as measuring makes them, for what draws them: complete, cut short, empty, failed, hostile."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from tfinsight.records import (
    Agreement,
    Environment,
    Evidence,
    Execution,
    Failure,
    Finding,
    LiveTensor,
    LogLine,
    MapCall,
    MapCost,
    MapOptions,
    Memory,
    Run,
    ScalingPoint,
    Stage,
    TensorFacts,
    Timing,
    Verdict,
    WorkloadFacts,
)

KIB = 1024
HOSTILE = "<script>alert(1)</script>"
BASELINE_S = 0.3902

ENVIRONMENT = Environment(
    versions={"python": "3.11.7", "tensorflow": "2.21.0", "numpy": "2.4.6"},
    platform="Linux x86_64",
    processor="AMD EPYC",
    cores=2,
    memory_bytes=24 * 2**30,
    devices=("CPU:0",),
    device="CPU:0",
    coverage="all",
    settings={"intra-op threads": "default", "automatic XLA": "off"},
    created="2026-01-01T12:00:00+00:00",
)
WORKLOAD = WorkloadFacts(
    function="lambda v: tf.linalg.matvec(A, v)",
    elements="x",
    call="tf.map_fn",
    call_text="tf.map_fn(lambda v: tf.linalg.matvec(A, v), x)",
    place="line 2 of the cell",
    enclosing=None,
    execution="eager",
    with_gradient=False,
    element_count=512,
    inputs=(TensorFacts("", "dense", "float32", (512, 128), 512 * 128 * 4),),
    outputs=(TensorFacts("", "dense", "float32", (512, 128), 512 * 128 * 4),),
    arguments={},
    assigned_name="y",
    ops_per_element=3,
    batched=None,
    source="A = make()\ny = tf.map_fn(lambda v: tf.linalg.matvec(A, v), x)",
    call_number=1,
    other_calls=(
        MapCall(2, "tf.vectorized_map(norm, x)", "line 5 of the cell", 3, 0.0042, 512),
        MapCall(3, "tf.map_fn(\n    scale,\n    x,\n)", "line 9 of `rescale`", 1, None, 64),
    ),
)
EQUAL = Agreement("equal", 0.0, 0.0)
CLOSE = Agreement("close", 3.8e-6, 2.1e-7)
REFUSED = Failure(
    "compile",
    "InvalidArgumentError",
    "Detected unsupported operations when trying to compile graph: PyFunc\n"
    "No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices",
)
WRONG = Agreement(
    "different",
    3.25,
    1.4,
    "values differ: largest difference 3.25 at [0, 17]",
    max_error=2e-7,
    reference_max_error=9e-7,
)


def timing(median_s: float, *, interval: bool = True, first_s: float = 0.08, **more: Any) -> Timing:
    """A timed row against a baseline of 390 ms."""
    speedup = BASELINE_S / median_s
    values: dict[str, Any] = {
        "first_call_s": first_s + median_s,
        "median_s": median_s,
        "low_s": 0.97 * median_s if interval else None,
        "high_s": 1.03 * median_s if interval else None,
        "calls": 30 if interval else 3,
        "samples_s": (0.99 * median_s, median_s, 1.01 * median_s),
        "spread": 0.02,
        "speedup": speedup,
        "speedup_low": 0.95 * speedup if interval else None,
        "speedup_high": 1.05 * speedup if interval else None,
        **more,
    }
    return Timing(**values)


def memory(kib: float, *top: LiveTensor) -> Memory:
    """Memory of a traced row."""
    peak = int(kib * KIB)
    return Memory(
        peak_bytes=peak,
        peak_lowest_bytes=peak,
        peak_calls=3,
        peak_requested_bytes=peak - 512,
        total_requested_bytes=3 * peak,
        allocation_count=1_540,
        coverage="all",
        top=top,
        timeline=((0.0, 0), (0.001, peak - 512), (0.002, 0)),
        attributed=0.99,
    )


def row(strategy: str, median_s: float | None = None, kib: float | None = None, **more: Any) -> Run:
    """A row; `ok` and equal unless told otherwise."""
    mapping, _, execution = strategy.partition("/")
    kind: Execution = execution or "eager"  # type: ignore[assignment]
    traced = {} if kind == "eager" else {"trace_s": 0.045, "compile_s": 0.02}
    values: dict[str, Any] = {
        "status": "ok",
        "timing": None if median_s is None else timing(median_s, **traced),
        "memory": None if kib is None else memory(kib),
        "agreement": EQUAL,
        "code": f"y = {mapping.replace('-', '_')}(x)",
        **more,
    }
    return Run(strategy, mapping, kind, **values)


def skipped(strategy: str, message: str) -> Run:
    """A row that was not tried."""
    failure = Failure("preflight", "too many ops", message)
    return row(strategy, status="skipped", agreement=None, failure=failure, code="")


FINDINGS = (
    Finding(
        code="different_result",
        severity="warning",
        title="batched/graph does not give the reference's result",
        evidence=(Evidence("largest difference", 3.25), Evidence("where", "[0, 17]")),
        advice="Do not use it before you know why.",
        strategies=("batched/graph",),
    ),
    Finding(
        code="map_fn_runs_serially",
        severity="advice",
        title="tf.map_fn outside a tf.function runs one element after the other",
        evidence=(
            Evidence("one call of as-written", BASELINE_S, "s"),
            Evidence("graph is faster by", 38.3, "x"),
            Evidence("share that ops computed", 0.0916, "%"),
            Evidence("ops started", 1_536, "count"),
            Evidence("held", 288 * KIB, "B"),
        ),
        advice="Inside a `tf.function` the loop runs in TensorFlow itself.",
        snippet="@tf.function\ndef faster(x):\n"
        "    return tf.map_fn(lambda v: tf.linalg.matvec(A, v), x)\n\ny = faster(x)",
        link="https://www.tensorflow.org/api_docs/python/tf/map_fn",
        strategies=("as-written", "map_fn/graph"),
    ),
    Finding(code="noisy_machine", severity="info", title="Times vary from round to round"),
)


def full() -> MapCost:
    """A whole run of a matvec over `[512, 128]`: 17 rows and the cell's own, of every status."""
    pack = LiveTensor("Pack", 256 * KIB, 1, "float32", "[512,128]")
    product = LiveTensor("MatMul", 256 * KIB, 512, "float32", "[128]")
    unrolled = "the loop would be unrolled to 1,536 ops; up to {} are tried"
    tied = timing(0.00089, trace_s=0.045, compile_s=0.05, ties_with_fastest=True)
    runs = (
        row("as-written", BASELINE_S, 512),
        row("loop/eager", 0.089, 767, memory=memory(767, product, pack)),
        skipped("loop/graph", unrolled.format("1,000")),
        skipped("loop/xla", unrolled.format("300")),
        row("map_fn/eager", 0.391, 512),
        row("map_fn/graph", 0.0102, 514),
        row("map_fn/xla", status="failed", agreement=None, failure=REFUSED, code=""),
        row("vectorized_map/eager", 0.0484, 584, agreement=CLOSE),
        row("vectorized_map/graph", 0.00113, 576, agreement=CLOSE),
        row("vectorized_map/xla", 0.00088, 576, agreement=CLOSE, timing=tied),
        row("batched/eager", 0.00101, 320),
        row("batched/graph", 0.00135, 320, status="different", agreement=WRONG),
        row("batched/xla", 0.000936, 576, agreement=CLOSE),
        row("chunked/eager", 0.215, 606, agreement=CLOSE, chunk_size=64),
        row("chunked/graph", 0.00156, 525, agreement=CLOSE, chunk_size=64),
        row("chunked/xla", 0.000847, 352, agreement=CLOSE, chunk_size=64),
        row("dataset/eager", 0.0321, 322),
        row("dataset/graph", 0.0263, 322),
    )
    return MapCost(
        workload=WORKLOAD,
        environment=ENVIRONMENT,
        options=MapOptions(),
        reference="as-written",
        baseline="as-written",
        runs=runs,
        scaling=(ScalingPoint("map_fn/graph", 256, None, 0.0051, 257 * KIB),),
        findings=FINDINGS,
        logs=(
            LogLine("tensorflow", "5 out of the last 5 calls triggered retracing", 7, "x/eager"),
        ),
        verdict=Verdict(("chunked/xla", "vectorized_map/xla"), ("batched/eager",), "chunked/xla"),
        stages=(Stage("first calls", 2.5, 2.0), Stage("timing", 6.5, 6.0)),
        notes=("The cell's own way ran once.",),
    )


def with_row(record: MapCost, strategy: str, **fields: Any) -> MapCost:
    """The same record with other facts in one row."""
    changed = (replace(r, **fields) if r.strategy == strategy else r for r in record.runs)
    return replace(record, runs=tuple(changed))


def recommending(record: MapCost, strategy: str, *tied: str) -> MapCost:
    """The same record with another verdict; without ties `strategy` alone is fastest."""
    verdict = Verdict(tied or (strategy,), (strategy,), strategy)
    return replace(record, verdict=verdict)


def interrupted() -> MapCost:
    """Stopped during the first calls: nothing was timed in steady state."""
    begun = Timing(first_call_s=0.4)
    stopped = Failure("timing", "interrupted", "the measurement was interrupted before this row")
    runs = (
        row("as-written", timing=begun),
        row("map_fn/eager", timing=begun),
        *(
            row(name, status="skipped", agreement=None, failure=stopped)
            for name in ("map_fn/graph", "vectorized_map/graph")
        ),
    )
    return replace(
        full(), runs=runs, findings=(), logs=(), verdict=Verdict(), interrupted="first calls"
    )


def no_elements() -> MapCost:
    """A map over an empty batch: run and compared, but not ranked."""
    facts = replace(WORKLOAD, element_count=0, other_calls=())
    runs = (
        row("as-written", timing=Timing(first_call_s=0.001)),
        row("map_fn/graph", timing=Timing(first_call_s=0.08)),
    )
    return replace(full(), workload=facts, runs=runs, findings=(), verdict=Verdict())


def failed_baseline() -> MapCost:
    """The row that speed-ups refer to failed: there are times and no ratios."""
    runs = tuple(
        replace(r, timing=replace(r.timing, speedup=None, speedup_low=None, speedup_high=None))
        if r.timing
        else r
        for r in full().runs
    )
    return recommending(replace(full(), runs=runs, baseline="map_fn/xla"), "chunked/xla")


def hostile() -> MapCost:
    """A full record with markup in every string that is free text, names of rows included."""
    return poisoned(full())


FIXED = {"status", "execution", "coverage", "severity", "unit", "part", "by"}
FIXED_VALUES = {
    *("equal", "close", "different", "shape-only", "unchecked", "mapcost", "graphcompare"),
    *("dense", "ragged", "sparse", "tensorflow", "native", "warning", "output"),
}


def poisoned(value: Any, name: str = "") -> Any:
    """Returns `value` with markup added to its strings, but for those with a fixed set of values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            f.name: poisoned(getattr(value, f.name), f.name) for f in dataclasses.fields(value)
        }
        return replace(value, **fields)
    if isinstance(value, tuple):
        return tuple(poisoned(item, name) for item in value)
    if isinstance(value, dict):
        return {poisoned(key): poisoned(item) for key, item in value.items()}
    if isinstance(value, str) and name not in FIXED and value not in FIXED_VALUES:
        return value + HOSTILE
    return value


SAMPLES = (full, interrupted, no_elements, failed_baseline, hostile)
