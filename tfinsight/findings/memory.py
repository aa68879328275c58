"""Findings about memory: what grows, what a loop keeps, and which chunk size is a good trade."""

from __future__ import annotations

from dataclasses import replace

from tfinsight.findings.rows import ids, is_ok
from tfinsight.findings.snippets import strategy_code
from tfinsight.records import (
    Comparison,
    Evidence,
    Execution,
    Finding,
    MapCost,
    Memory,
    Run,
    ScalingPoint,
    WorkloadFacts,
)

VECTORIZED_MAP = "https://www.tensorflow.org/api_docs/python/tf/vectorized_map"
RECOMPUTE_GRAD = "https://www.tensorflow.org/api_docs/python/tf/recompute_grad"

LEAK_GUIDE = "https://www.tensorflow.org/guide/autodiff"
# Less a call is bookkeeping.
LEAK_BYTES = 1024
# Below this no machine that runs TensorFlow is short of memory.
WORTH_BYTES = 16 * 2**20
# The result itself grows with the batch; what is worth a word is what comes on top of it.
TIMES_RESULT = 2.0
# How near to proportional: a peak that grows at half the rate still has a large constant part.
PROPORTIONAL = 0.5
# A chunk size is a good trade if it halves the memory at no more than half as much time again.
CHUNK_MEMORY, CHUNK_TIME = 0.5, 1.5
# Share of the traced peak that a loop must hold for it to be the cause.
LOOP_SHARE = 0.25
TENSORS_SHOWN = 3


def leak(record: Comparison) -> Finding | None:
    """Each call leaves memory taken that nothing gives back."""
    leaking = [
        (run, run.memory.kept_per_call_bytes)
        for run in record.runs
        if run.memory is not None and (run.memory.kept_per_call_bytes or 0) >= LEAK_BYTES
    ]
    if not leaking:
        return None
    run, kept = leaking[0]
    return Finding(
        code="leak",
        severity="warning",
        title="Each call leaves memory taken",
        evidence=(
            Evidence(f"bytes that stay live with each call of {run.strategy}", kept or 0, "B"),
            *(Evidence("changed by each call", name) for name in record.changed_objects),
        ),
        advice="Results that a list or an object of yours holds on to stay in memory, with all that "
        "they were computed from under a tape. Keep numbers (float(loss)) or a running mean, and "
        "make variables and functions once, outside.",
        link=LEAK_GUIDE,
        strategies=(run.strategy,),
    )


def memory_grows_with_batch(record: MapCost) -> Finding | None:
    """Peak memory in proportion to the elements, beyond what the result itself needs."""
    result = [t.size_bytes or 0 for t in record.workload.outputs]
    least = TIMES_RESULT * sum(result) / max(1, record.workload.element_count)
    growth = {
        run.strategy: slope
        for run in record.runs
        if is_ok(run) and (slope := _bytes_per_element(record, run.strategy)) is not None
    }
    rows = sorted((name for name in growth if growth[name] >= least), key=lambda n: -growth[n])
    if not rows:
        return None
    evidence = [Evidence(f"{name}: peak for each element", growth[name], "B") for name in rows]
    worst = record.run(rows[0])
    if worst is not None and worst.memory is not None:
        evidence += _held(worst.memory)
    return Finding(
        code="memory_grows_with_batch",
        severity="info",
        title="Memory grows with the number of elements",
        evidence=tuple(evidence),
        advice="Values on the way to the result are held for all elements at once. If memory gets "
        "short, map over chunks of elements: it keeps most of the speed.",
        link=VECTORIZED_MAP,
        strategies=tuple(rows),
    )


def _bytes_per_element(record: MapCost, strategy: str) -> float | None:
    points = sorted(
        (p.element_count, p.peak_bytes)
        for p in record.scaling
        if p.strategy == strategy and p.chunk_size is None and p.peak_bytes is not None
    )
    if len(points) < 2 or points[-1][1] < WORTH_BYTES or points[0][0] == points[-1][0]:
        return None
    (few, low), (many, high) = points[0], points[-1]
    if low > 0 and high / low < PROPORTIONAL * many / few:
        return None
    return (high - low) / (many - few)


def _held(memory: Memory) -> list[Evidence]:
    return [
        Evidence(f"held at the peak by {tensor.op}", tensor.size_bytes, "B")
        for tensor in memory.top[:TENSORS_SHOWN]
    ]


def chunk_fits(record: MapCost) -> Finding | None:
    """A chunk size that keeps most of the speed at a fraction of the memory, or fits the limit."""
    points = _chunk_points(record)
    whole = record.run("vectorized_map/graph")
    if not points or whole is None:
        return None
    limit = record.options.memory_limit_bytes
    peak = whole.memory.peak_bytes if whole.memory is not None else None
    seconds = whole.timing.median_s if whole.timing is not None else None
    refused = whole.failure is not None and whole.failure.kind == "would not fit"
    if refused or (limit is not None and peak is not None and peak > limit):
        good = [p for p in points if limit is None or (p.peak_bytes or 0) <= limit]
    elif is_ok(whole) and peak is not None and peak >= WORTH_BYTES and seconds is not None:
        good = [
            point
            for point in points
            if (point.peak_bytes or 0) <= CHUNK_MEMORY * peak
            and (point.seconds or 0) <= CHUNK_TIME * seconds
        ]
    else:
        good = []
    if not good:
        return None
    best = min(good, key=lambda p: (not _is_row(record, p), p.seconds or 0.0))
    return _chunk_finding(record, best, whole)


def _is_row(record: MapCost, point: ScalingPoint) -> bool:
    """Returns whether this size is the one that the row of the report was measured with."""
    run = record.run(point.strategy)
    return run is not None and run.chunk_size == point.chunk_size


def _chunk_points(record: MapCost) -> list[ScalingPoint]:
    """Returns what was measured of chunks on all elements, by rows that agree."""
    return [
        point
        for point in record.scaling
        if point.chunk_size is not None
        and point.seconds is not None
        and point.peak_bytes is not None
        and point.element_count == record.workload.element_count
        and is_ok(record.run(point.strategy))
    ]


def _chunk_finding(record: MapCost, point: ScalingPoint, whole: Run) -> Finding:
    run = record.run(point.strategy)
    execution: Execution = run.execution if run is not None else "graph"
    evidence = [
        Evidence("elements a chunk", point.chunk_size or 0, "count"),
        Evidence("peak in chunks", point.peak_bytes or 0, "B"),
        Evidence("one call in chunks", point.seconds or 0.0, "s"),
    ]
    if whole.memory is not None and whole.memory.peak_bytes is not None:
        evidence.append(Evidence(f"peak of {whole.strategy}", whole.memory.peak_bytes, "B"))
    if whole.failure is not None and whole.failure.needed_bytes is not None:
        evidence.append(Evidence(f"{whole.strategy} would need", whole.failure.needed_bytes, "B"))
    if whole.timing is not None and whole.timing.median_s is not None:
        evidence.append(Evidence(f"one call of {whole.strategy}", whole.timing.median_s, "s"))
    return Finding(
        code="chunk_fits",
        severity="advice",
        title="Mapping over chunks keeps the speed of a vectorized map in less memory",
        evidence=tuple(evidence),
        advice="Vectorize over some elements at a time. The larger the chunk, the faster and the "
        "more memory; of the sizes tried this one is a good trade.",
        snippet=strategy_code(record.workload, "chunked", execution, point.chunk_size),
        link=VECTORIZED_MAP,
        strategies=(point.strategy,),
    )


def tensorlist_gradient(record: MapCost) -> Finding | None:
    """The loop of `tf.map_fn` keeps values of every element for the backward pass."""
    if not record.workload.with_gradient:
        return None
    kept = {r.strategy: size for r in record.runs if (size := _kept_by_loop(record, r))}
    if not kept:
        return None
    rows = [run for run in record.runs if run.strategy in kept]
    snippet = strategy_code(_recomputing(record), "map_fn", "graph")
    return Finding(
        code="tensorlist_gradient",
        severity="advice",
        title="The loop keeps values of every element for the backward pass",
        evidence=tuple(Evidence(f"kept by {name}", size, "B") for name, size in kept.items()),
        advice="The backward pass needs what each element computed on the way. tf.recompute_grad "
        "computes it again in its place: slower, but in less memory.",
        snippet=snippet,
        link=RECOMPUTE_GRAD,
        strategies=ids(rows),
    )


def _recomputing(record: MapCost) -> WorkloadFacts:
    function = f"tf.recompute_grad({record.workload.function})"
    return replace(record.workload, function=function)


def _kept_by_loop(record: MapCost, run: Run) -> int:
    """Returns the bytes at the traced peak that a `map_fn` loop holds once for each element."""
    mapped = run.mapping == "map_fn" or (
        run.mapping == "as-written" and record.workload.call == "tf.map_fn"
    )
    if not mapped or run.execution != "graph" or run.memory is None:
        return 0
    elements = run.memory.traced_elements or record.workload.element_count
    # Values that are kept share the memory of the op that made them, so both names occur.
    kept = sum(
        t.size_bytes
        for t in run.memory.top
        if "while" in t.op and ("TensorList" in t.op or 2 * t.count >= elements > 1)
    )
    whole = run.memory.peak_requested_bytes or sum(t.size_bytes for t in run.memory.top)
    return kept if kept >= max(LOOP_SHARE * whole, WORTH_BYTES) else 0
