"""Findings about how the function covers the batch: loops, vectorized maps, one call."""

from __future__ import annotations

import re

from tfinsight.findings.rows import (
    draws_random_numbers,
    fastest,
    ids,
    is_ok,
    logged,
    map_fn_run,
    median_s,
    ok_runs,
    ops_in_graphs,
    ops_in_logs,
    ratio,
    time_evidence,
)
from tfinsight.findings.snippets import strategy_code
from tfinsight.records import Evidence, Finding, MapCost, Run

MAP_FN = "https://www.tensorflow.org/api_docs/python/tf/map_fn"
VECTORIZED_MAP = "https://www.tensorflow.org/api_docs/python/tf/vectorized_map"
FUNCTION_GUIDE = "https://www.tensorflow.org/guide/function"

# Eager map_fn is 5 to 40 times slower than the same in a graph where elements are small. Timing of
# one and the same row varies by up to 40 % between runs, so below this a ratio shows nothing.
SERIAL_RATIO = 1.5
# Tracing costs 10 ms and more; kernels that small are few. Half leaves room on either side.
KERNEL_SHARE = 0.5
# One call on the whole batch may use all cores and warm caches. A ratio shows that the elements'
# own arithmetic is not what takes the time only where it is more than that explains.
DISPATCH_RATIO = 5.0
RATIO_PER_CORE = 2.0

PARALLEL_ITERATIONS_LOG = re.compile(r"Setting parallel_iterations > 1 has no effect")
FALLBACK_LOG = re.compile(r"Using a while_loop for converting (\S+)")
PFOR_RETRACE_LOG = re.compile(r"calls to <function pfor\.<locals>\.f\b.* triggered .*retracing")


def map_fn_runs_serially(record: MapCost) -> Finding | None:
    """Eager `tf.map_fn` takes one element after the other, whatever `parallel_iterations` says."""
    run, workload = map_fn_run(record), record.workload
    if run is None or run.execution != "eager":
        return None
    graph = record.run("map_fn/graph")
    times = ratio(run, graph) if is_ok(graph) else None
    asked = workload.arguments.get("parallel_iterations", "")
    ignored = asked not in ("", "1", "None")
    faster = times is not None and times >= SERIAL_RATIO
    if not (faster or ignored):
        return None
    evidence = [*time_evidence(run, graph if faster else None)]
    if faster and times is not None:
        evidence.append(Evidence("graph is faster by", times, "x"))
    if ignored:
        evidence.append(Evidence("parallel_iterations given, but not used", asked))
    return Finding(
        code="map_fn_runs_serially",
        severity="advice",
        title="tf.map_fn outside a tf.function runs one element after the other",
        evidence=tuple(evidence),
        advice="Eager tf.map_fn sets parallel_iterations to 1 and sends every op of every element "
        "to TensorFlow from Python. Inside a tf.function the loop runs in TensorFlow itself.",
        snippet=strategy_code(workload, "map_fn", "graph") if is_ok(graph) else "",
        link=MAP_FN,
        strategies=ids(r for r in (run, graph if faster else None) if r is not None),
    )


def dispatch_bound(record: MapCost) -> Finding | None:
    """The time of `tf.map_fn` goes into starting ops, not into what the ops compute."""
    workload, run = record.workload, map_fn_run(record)
    if run is None or workload.element_count < 2:
        return None
    evidence = _kernel_share(run) or _kernel_share(record.run("map_fn/graph"))
    whole = fastest(ok_runs(record, "batched", "vectorized_map"))
    times = ratio(run, whole)
    least = max(DISPATCH_RATIO, RATIO_PER_CORE * record.environment.cores)
    if times is not None and times >= least:
        evidence += (*time_evidence(run, whole), Evidence("all elements at once are", times, "x"))
    if not evidence:
        return None
    if workload.ops_per_element is not None:
        started = workload.ops_per_element * workload.element_count
        evidence = (Evidence("ops started for all elements", started, "count"), *evidence)
    at_once = _one_call(record)
    return Finding(
        code="dispatch_bound",
        severity="advice",
        title="Most of the time goes into starting many small ops, not into computing",
        evidence=evidence,
        advice="Every op costs some microseconds to start, however little it computes. Give "
        "TensorFlow few ops on large tensors: treat all elements in one call."
        + ("" if at_once else " Here no form that does so gave the same result."),
        snippet=strategy_code(workload, at_once.mapping, at_once.execution) if at_once else "",
        link=MAP_FN,
        strategies=ids(r for r in (run, at_once) if r is not None),
    )


def _kernel_share(run: Run | None) -> tuple[Evidence, ...]:
    """Returns the share of a traced call in which kernels ran, if it is small."""
    if run is None or run.ops is None or run.ops.wall_s <= 0 or run.ops.elements < 2:
        return ()
    share = run.ops.kernel_s / run.ops.wall_s
    label = f"share of {run.strategy} in which an op computed"
    return (Evidence(label, share, "%"),) if share < KERNEL_SHARE else ()


def _one_call(record: MapCost) -> Run | None:
    """Returns the row to suggest: by form and not by time, so that it is the same in each run."""
    wanted = ["vectorized_map/graph", "vectorized_map/xla"]
    if not draws_random_numbers(record) or record.workload.batched:
        wanted = ["batched/graph", *wanted]
    return next((r for name in wanted if is_ok(r := record.run(name))), None)


def pfor_fallback(record: MapCost) -> Finding | None:
    """`tf.vectorized_map` runs some ops in a loop, whether or not TensorFlow warned."""
    logged_ops = tuple(op.strip(",.'\"") for op in ops_in_logs(record, FALLBACK_LOG))
    ops = tuple(dict.fromkeys((*ops_in_graphs(record, lambda g: g.fallback_ops), *logged_ops)))
    if not ops:
        return None
    rows = [r for r in record.runs if r.graph is not None and r.graph.fallback_ops]
    return Finding(
        code="pfor_fallback",
        severity="advice" if record.workload.call == "tf.vectorized_map" else "info",
        title="tf.vectorized_map cannot vectorize every op of the function",
        evidence=tuple(Evidence("runs in a loop over the elements", op) for op in ops),
        advice="Ops without a vectorized form run once for each element, so tf.vectorized_map "
        "gains little where they take most of the time. Use ops for whole batches in their "
        "place, or keep tf.map_fn inside a tf.function.",
        link=VECTORIZED_MAP,
        strategies=ids(rows),
    )


def eager_vectorized_map_retraces(record: MapCost) -> Finding | None:
    """`tf.vectorized_map` outside a `tf.function` traces the function anew on each call."""
    workload = record.workload
    uses_it = workload.call == "tf.vectorized_map" and workload.execution == "eager"
    mappings = ("vectorized_map", "chunked") + (("as-written",) if uses_it else ())
    rows = [
        run
        for run in record.runs
        if run.execution == "eager"
        and run.mapping in mappings
        and run.recompilation is not None
        and run.recompilation.traces_per_call > 0
    ]
    if not rows and not logged(record, PFOR_RETRACE_LOG):
        return None
    evidence = [
        Evidence(f"traces on each later call of {run.strategy}", traces.traces_per_call, "count")
        for run in rows
        if (traces := run.recompilation) is not None
    ]
    graph = record.run("vectorized_map/graph")
    eager_s, graph_s = median_s(record.run("vectorized_map/eager")), median_s(graph)
    if eager_s is not None and graph_s is not None and eager_s > graph_s:
        evidence.append(Evidence("what that costs a call", eager_s - graph_s, "s"))
    return Finding(
        code="eager_vectorized_map_retraces",
        severity="advice" if uses_it else "info",
        title="tf.vectorized_map outside a tf.function is traced again on every call",
        evidence=tuple(evidence),
        advice="Call it inside a tf.function: then it is traced once and only runs afterwards.",
        snippet=strategy_code(workload, "vectorized_map", "graph") if is_ok(graph) else "",
        link=VECTORIZED_MAP,
        strategies=ids(rows),
    )


def batched_equivalent(record: MapCost) -> Finding | None:
    """The function applied to the whole batch gives what mapping it gives."""
    workload = record.workload
    if draws_random_numbers(record) or workload.element_count == 0:
        return None
    rows = [
        run
        for run in ok_runs(record, "batched")
        if run.agreement is not None and run.agreement.verdict in ("equal", "close")
    ]
    if not rows:
        return None
    probed = any(run.agreement.probed for run in rows if run.agreement is not None)
    called = f"`{workload.batched}`" if workload.batched else "The function"
    evidence = [
        Evidence(f"result of {run.strategy}", run.agreement.verdict)
        for run in rows
        if run.agreement is not None
    ]
    if probed:
        evidence.append(Evidence("on random elements", "agrees as well"))
    form = next((run for run in rows if run.execution == "graph"), rows[0])
    return Finding(
        code="batched_equivalent",
        severity="advice",
        title=f"{called} gives the same result for the whole batch in one call"
        + ("" if probed else ", on this input"),
        evidence=(*evidence, *time_evidence(map_fn_run(record), form)),
        advice="Call it on the whole batch: no map is needed."
        + (
            ""
            if probed
            else " It was compared on these elements only: check that it holds for "
            "others, since some functions agree by luck on equal or single elements."
        ),
        snippet=strategy_code(workload, "batched", form.execution),
        link=MAP_FN,
        strategies=ids(rows),
    )


def batched_differs(record: MapCost) -> Finding | None:
    """The function applied to the whole batch gives something else."""
    rows = different_batched(record)
    if not rows:
        return None
    named = record.workload.batched
    details = [
        Evidence(run.strategy, run.agreement.detail or "the result differs")
        for run in rows
        if run.agreement is not None
    ]
    return Finding(
        code="batched_differs",
        severity="warning" if named else "info",
        title=(f"`{named}`" if named else "The function")
        + " gives another result when it is called on the whole batch",
        evidence=tuple(details),
        advice="Do not call it on the whole batch, however fast that is: it mixes elements that "
        "the map keeps apart. Often an argument such as axis=-1 makes it work on each row alone.",
        link=VECTORIZED_MAP,
        strategies=ids(rows),
    )


def different_batched(record: MapCost) -> tuple[Run, ...]:
    """Returns the batched rows that differ, if no batched row agrees.

    Where one agrees, the form itself is right and what differs is an execution's doing.
    """
    if ok_runs(record, "batched"):
        return ()
    return tuple(r for r in record.runs if r.mapping == "batched" and r.status == "different")
