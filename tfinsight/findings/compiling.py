"""Findings about XLA: what it refuses, what it makes slower, what it compiles again."""

from __future__ import annotations

import re

from tfinsight.findings.rows import (
    first_line,
    graphs,
    ids,
    is_ok,
    median_s,
    ok_runs,
    ops_in_graphs,
    ratio,
    time_evidence,
    unique,
)
from tfinsight.records import Comparison, Evidence, Finding, MapCost, Run

TF_FUNCTION = "https://www.tensorflow.org/api_docs/python/tf/function"
FUNCTION_GUIDE = "https://www.tensorflow.org/guide/function"
NUMPY_FUNCTION = "https://www.tensorflow.org/api_docs/python/tf/numpy_function"

# Well above what the timing of one row varies by from run to run.
SLOWER_RATIO = 1.5

_UNSUPPORTED_OP = re.compile(r"No registered '(\w+)' OpKernel|on XLA_\w+_JIT: (\w+)")
_REFUSED = re.compile(
    r"Detected unsupported operations|XLA compilation requires|must be a compile-time constant"
    r"|tf2xla conversion failed"
)


def host_callback(record: Comparison) -> Finding | None:
    """The function calls back into Python, which holds up everything else."""
    ops = ops_in_graphs(record, lambda graph: graph.host_callbacks)
    if not ops:
        return None
    rows = [run for run, graph in graphs(record) if graph.host_callbacks]
    return Finding(
        code="host_callback",
        severity="advice",
        title="The function calls back into Python for every element"
        if isinstance(record, MapCost)
        else "The code calls back into Python from inside the graph",
        evidence=tuple(Evidence("op that runs Python", op) for op in ops),
        advice="Python code runs for one call at a time, XLA cannot compile it, and it cannot "
        "be saved with a model. Look for TensorFlow ops that do the same.",
        link=NUMPY_FUNCTION,
        strategies=ids(rows),
    )


def xla_unsupported(record: Comparison) -> Finding | None:
    """XLA refused ops of the function."""
    refused = [
        (run, run.failure.message)
        for run in record.runs
        if run.execution == "xla"
        and run.status == "failed"
        and run.failure is not None
        and _REFUSED.search(run.failure.message)
    ]
    if not refused:
        return None
    found = (pair for _, message in refused for pair in _UNSUPPORTED_OP.findall(message))
    ops = unique(first or second for first, second in found)
    reasons = unique(first_line(message) for _, message in refused)
    evidence = [Evidence("XLA has no form of", op) for op in ops]
    return Finding(
        code="xla_unsupported",
        severity="info",
        title="XLA cannot compile every op of this",
        evidence=tuple(evidence or [Evidence("XLA says", reason) for reason in reasons]),
        advice="jit_compile=True works only where XLA can compile each op. Take these ops out of "
        "the function, or stay with a plain tf.function.",
        link=TF_FUNCTION,
        strategies=ids(run for run, _ in refused),
    )


def xla_slower(record: Comparison) -> Finding | None:
    """The compiled form takes longer than the plain graph."""
    slower = [
        (run, plain)
        for run in ok_runs(record)
        if run.execution == "xla" and (plain := _slower_than_graph(record, run)) is not None
    ]
    if not slower:
        return None
    evidence: list[Evidence] = []
    for run, plain in slower:
        times = ratio(run, plain)
        if times is not None:
            evidence.append(Evidence(f"{run.strategy} takes, of {plain.strategy}", times, "x"))
        if run.ops is not None and run.ops.top:
            costliest = run.ops.top[0]
            label = f"{run.strategy}: most time in {costliest.op}"
            evidence.append(Evidence(label, costliest.seconds, "s"))
    return Finding(
        code="xla_slower",
        severity="info",
        title="Compiling with XLA makes this slower here"
        if len(slower) == 1
        else "Compiling with XLA makes some forms slower here",
        evidence=tuple(evidence),
        advice="On a CPU, TensorFlow's own kernels can beat compiled ones, and they use several "
        "cores more often. Stay with a plain tf.function unless the memory saved is worth it.",
        link=TF_FUNCTION,
        strategies=ids(run for run, _ in slower),
    )


def _slower_than_graph(record: Comparison, run: Run) -> Run | None:
    """Returns the plain graph's row of the same mapping if it is clearly faster."""
    plain = record.run(run.strategy.replace("xla", "graph"))
    times = ratio(run, plain)
    if plain is None or not is_ok(plain) or times is None or times < SLOWER_RATIO:
        return None
    low = run.timing.low_s if run.timing is not None else None
    high = plain.timing.high_s if plain.timing is not None else None
    return None if low is not None and high is not None and low <= high else plain


def recompiles_per_value(record: Comparison) -> Finding | None:
    """XLA compiles anew for other values of the same shape, without a new trace."""
    rows = [
        (run, again.compiles_per_new_value)
        for run in record.runs
        if (again := run.recompilation) is not None
        and again.compiles_per_new_value
        and again.traces_per_call == 0
    ]
    if not rows:
        return None
    return Finding(
        code="recompiles_per_value",
        severity="warning",
        title="XLA compiles again for every new value, though the shapes stay the same",
        evidence=tuple(
            evidence
            for run, compiles in rows
            for evidence in (
                Evidence(f"compilations by {run.strategy} on new values", compiles or 0, "count"),
                *time_evidence(run),
            )
        ),
        advice="Repeating one input hides this; new data pays for compiling on every call. A shape "
        "that is computed from the data is the usual cause. Use the plain tf.function, or keep "
        "reduced axes with keepdims=True.",
        link=TF_FUNCTION,
        strategies=ids(run for run, _ in rows),
    )


def never_pays_off(record: Comparison) -> Finding | None:
    """Compiled forms that no number of calls makes cheaper than the baseline."""
    baseline = record.run(record.baseline)
    if baseline is None or median_s(baseline) is None:
        return None
    rows = [
        run
        for run in ok_runs(record)
        if run.execution != "eager"
        and run.strategy != record.baseline
        and (ratio(run, baseline) or 0.0) >= SLOWER_RATIO
        and not _pays_off(run, baseline)
    ]
    if not rows:
        return None
    return Finding(
        code="never_pays_off",
        severity="info",
        title="Some compiled forms never make up for their first call",
        evidence=time_evidence(baseline, *rows),
        advice="Each call takes longer than the baseline's, so the time spent on tracing and "
        "compiling is never won back, however often they are called.",
        link=FUNCTION_GUIDE,
        strategies=ids(rows),
    )


def _pays_off(run: Run, baseline: Run) -> bool:
    if run.timing is None or baseline.timing is None:
        return True
    return run.timing.break_even_calls(baseline.timing) is not None
