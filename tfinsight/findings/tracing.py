"""Findings about tracing Python to graphs: what is traced again, left out, or baked in."""

from __future__ import annotations

import re

from tfinsight.findings.mapping import eager_vectorized_map_retraces
from tfinsight.findings.rows import first_line, graphs, ids, unique
from tfinsight.records import (
    AS_WRITTEN,
    Comparison,
    Evidence,
    Finding,
    GraphCompare,
    LogLine,
    MapCost,
)

FUNCTION_GUIDE = "https://www.tensorflow.org/guide/function"
TF_FUNCTION = "https://www.tensorflow.org/api_docs/python/tf/function"

# Every trace of the function holds its own copy; below a MiB nobody notices.
BAKED_BYTES = 2**20

RETRACE_LOG = re.compile(r"calls to (?!<function pfor\.<locals>\.f\b).* triggered .*retracing")
AUTOGRAPH_LOG = re.compile(r"AutoGraph could not transform (.+?) and will run it as-is")
_AUTOGRAPH_FAILURE = re.compile(r"your source code may not be visible to AutoGraph")
_CAUSE = re.compile(r"Cause: (.+)")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# A row is traced once, and once more where it does not take arrays as inputs.
_TRACES = 2


def retracing(record: Comparison) -> Finding | None:
    """Later calls with the same arguments are traced again."""
    known = eager_vectorized_map_retraces(record) if isinstance(record, MapCost) else None
    rows = [
        (run, run.recompilation.traces_per_call)
        for run in record.runs
        if run.recompilation is not None
        and run.recompilation.traces_per_call > 0
        and not (known and run.strategy in known.strategies)
    ]
    logs = [n for n in record.logs if RETRACE_LOG.search(n.message) and not _is_own(n, record)]
    repeated = _traced_repeatedly(record)
    if not rows and not logs and not repeated:
        return None
    evidence = [Evidence(f"traces of `{f}` in the cell's own run", n, "count") for f, n in repeated]
    evidence += [
        Evidence(f"traces on each later call of {r.strategy}", n, "count") for r, n in rows
    ]
    evidence += [
        Evidence("TensorFlow says", _ADDRESS.sub("", first_line(line.message))) for line in logs
    ]
    return Finding(
        code="retracing",
        severity="warning",
        title="A tf.function is traced again and again",
        evidence=tuple(evidence),
        advice="Tracing costs far more than running. It is repeated if the tf.function is made "
        "anew in each call, or if it gets Python numbers or new shapes as arguments: make it once, "
        "outside, and pass tensors; reduce_retracing=True helps with changing shapes.",
        link=FUNCTION_GUIDE,
        strategies=ids(run for run, _ in rows),
    )


def _is_own(line: LogLine, record: Comparison) -> bool:
    """Tells whether a message is of traces that measuring itself made."""
    return isinstance(record, GraphCompare) and line.strategy != AS_WRITTEN


def _traced_repeatedly(record: Comparison) -> list[tuple[str, int]]:
    """Returns the functions that one run of the cell traced more than once."""
    if not isinstance(record, GraphCompare):
        return []
    named = zip(record.cell.functions, record.cell.traces, strict=False)
    return [(name, count) for name, count in named if count > 1]


def baked_constant(record: Comparison) -> Finding | None:
    """A large array that the function closes over became a constant of its graph."""
    found = next(
        ((run, g) for run, g in graphs(record) if g.largest_constant_bytes >= BAKED_BYTES), None
    )
    if found is None:
        return None
    run, graph = found
    return Finding(
        code="baked_constant",
        severity="advice",
        title="A large array became a constant of the graph",
        evidence=(
            Evidence(f"constant {graph.largest_constant}", graph.largest_constant_bytes, "B"),
            Evidence("all constants", graph.constant_bytes, "B"),
        ),
        advice="A NumPy array that the function uses is copied into each graph, and later changes "
        "to it are not seen. Make it a tensor with tf.constant before, or pass it as an argument.",
        link=TF_FUNCTION,
        strategies=(run.strategy,),
    )


def python_side_effect(record: Comparison) -> Finding | None:
    """Python code in the function runs while it is traced, and not for each element."""
    compiled = {
        run.strategy
        for run in record.runs
        if (run.execution != "eager" or run.mapping in ("vectorized_map", "chunked", "dataset"))
        and run.strategy != AS_WRITTEN
        and run.status in ("ok", "different")
    }
    # Printed in each call (by tf.print), or for each element, it is no side effect of tracing.
    count = record.workload.element_count if isinstance(record, MapCost) else _TRACES + 1
    lines = [
        line
        for line in record.logs
        if line.source == "output" and line.strategy in compiled and line.count < count
    ]
    changed = (
        record.changed_objects if any(r.status == "ok" for r in record.runs if r.graph) else ()
    )
    if not lines and not changed:
        return None
    return Finding(
        code="python_side_effect",
        severity="warning",
        title="Python code in the function runs only while it is traced",
        evidence=(
            *(_printed(line) for line in lines),
            *(Evidence("changed while tracing only", name) for name in changed),
        ),
        advice="print, append and counters are Python: a graph runs without them. Use tf.print and "
        "tf.Variable for what must happen "
        + ("for each element." if isinstance(record, MapCost) else "in each call."),
        link=FUNCTION_GUIDE,
        strategies=unique(line.strategy for line in lines),
    )


def _printed(line: LogLine) -> Evidence:
    text = first_line(line.message, length=60)
    return Evidence(f"{line.strategy} printed “{text}”", line.count, "count")


def autograph_failed(record: Comparison) -> Finding | None:
    """AutoGraph could not turn Python's `if`, `for` or `while` of the function into graph ops."""
    warned = [line for line in record.logs if AUTOGRAPH_LOG.search(line.message)]
    failed = [
        run
        for run in record.runs
        if run.failure is not None and _AUTOGRAPH_FAILURE.search(run.failure.message)
    ]
    if not warned and not failed:
        return None
    facts: list[tuple[str, str]] = []
    for line in warned:
        name, cause = AUTOGRAPH_LOG.search(line.message), _CAUSE.search(line.message)
        facts.append(("not converted", _ADDRESS.sub("", name.group(1)) if name else ""))
        facts.append(("reason", cause.group(1) if cause else ""))
    facts += [("reason", first_line(run.failure.message)) for run in failed if run.failure]
    # tf.vectorized_map hands the function to no AutoGraph, whatever stands around it.
    only_vectorized = not warned and all(r.mapping in ("vectorized_map", "chunked") for r in failed)
    return Finding(
        code="autograph_failed",
        severity="warning",
        title="tf.vectorized_map does not convert Python's if, for and while on tensors"
        if only_vectorized
        else "AutoGraph could not convert a function",
        evidence=tuple(Evidence(label, text) for label, text in dict.fromkeys(facts) if text),
        advice="Decorate the function with @tf.function: tf.vectorized_map then gets graph ops. Or "
        "use tf.cond, tf.where and tf.while_loop."
        if only_vectorized
        else "Python's if, for and while on tensors need AutoGraph, and AutoGraph needs the "
        "source: put the function in a def of its own, one to a line, or use tf.cond, tf.where and "
        "tf.while_loop.",
        link=FUNCTION_GUIDE,
        strategies=unique((*(line.strategy for line in warned if line.strategy), *ids(failed))),
    )
