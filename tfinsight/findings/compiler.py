"""Findings about what the compilers did to a cell: folded, fused, dropped, kept."""

from __future__ import annotations

from tfinsight.findings.rows import is_ok, median_s, peak_bytes, time_evidence
from tfinsight.records import Evidence, Finding, GraphCompare, GraphTensor

GRAPPLER_GUIDE = "https://www.tensorflow.org/guide/graph_optimization"
XLA_GUIDE = "https://www.tensorflow.org/xla"
RECOMPUTE_GRAD = "https://www.tensorflow.org/api_docs/python/tf/recompute_grad"
FUNCTION_GUIDE = "https://www.tensorflow.org/guide/function"

SHOWN = 4
ASSERTIONS = ("Assert",)
# Below, what the backward pass keeps is no one's concern.
KEPT_BYTES = 2**20
KEPT_SHARE = 0.25


def constant_folding(record: GraphCompare) -> Finding | None:
    """Parts that depend on no input are computed once, while the graph is optimized."""
    grappler = record.compiled.grappler
    if grappler is None or not grappler.folded_count:
        return None
    evidence = [Evidence("ops computed once, while optimizing", grappler.folded_count, "count")]
    evidence += [_sized(tensor) for tensor in grappler.folded[:SHOWN]]
    graph, unfolded_s = record.run("graph"), record.compiled.unfolded_s
    folded_s = median_s(graph)
    if unfolded_s is not None and folded_s:
        evidence.append(Evidence("one call without folding", unfolded_s, "s"))
        evidence.append(Evidence("one call with folding", folded_s, "s"))
    return Finding(
        code="constant_folding",
        severity="info",
        title="Parts of this depend on no input: a graph computes them once, not in each call",
        evidence=tuple(evidence),
        advice="Eager code computes them again in each call. Either run this as a tf.function, or "
        "compute them once outside.",
        link=GRAPPLER_GUIDE,
        strategies=("graph",),
    )


def operator_fusion(record: GraphCompare) -> Finding | None:
    """Several ops became one kernel, so that results between them are never written to memory."""
    grappler, xla = record.compiled.grappler, record.compiled.xla
    fused = () if grappler is None else grappler.fused
    evidence = [
        Evidence(f"{op.by} fused{_lines(op.lines)}", " + ".join(op.members)) for op in fused[:SHOWN]
    ]
    strategies = ["graph"] if fused else []
    if xla is not None and xla.fusion_count:
        strategies.append("xla")
        evidence += [
            Evidence("kernels that XLA fused", xla.fusion_count, "count"),
            Evidence("instructions before fusing", xla.instructions_before, "count"),
            Evidence("instructions after", xla.instructions_after, "count"),
            Evidence("results that are never written to memory", xla.saved_bytes, "B"),
        ]
        evidence += [
            Evidence(f"{fusion.name}{_lines(fusion.lines)}", " + ".join(fusion.members[:8]))
            for fusion in xla.fusions[:SHOWN]
        ]
    if not evidence:
        return None
    return Finding(
        code="operator_fusion",
        severity="info",
        title="Compiling merges several ops into one kernel",
        evidence=tuple(evidence),
        advice="A fused kernel reads its inputs and writes its result once; what lies between "
        "stays in registers and caches. This saves memory and memory traffic; it saves time where "
        "traffic is what takes the time.",
        link=XLA_GUIDE if "xla" in strategies else GRAPPLER_GUIDE,
        strategies=tuple(strategies),
    )


def xla_drops_assertions(record: GraphCompare) -> Finding | None:
    """XLA leaves out the checks that `tf.debugging.assert_*` make."""
    run = record.run("xla")
    checks = drops_checks(record)
    if not checks or run is None or not is_ok(run):
        return None
    return Finding(
        code="xla_drops_assertions",
        severity="warning",
        title="XLA leaves out the assertions of this code",
        evidence=(Evidence("assertions in the graph", checks, "count"),),
        advice="With jit_compile=True, tf.debugging.assert_* checks nothing and says nothing. "
        "The row is not recommended for that. Check your data before the compiled function.",
        link=FUNCTION_GUIDE,
        strategies=("xla",),
    )


def drops_checks(record: GraphCompare) -> int:
    """Returns how many assertions the traced code has: XLA drops them."""
    counts = (r.graph.op_kinds for r in record.runs if r.graph is not None)
    return max((sum(kinds.get(kind, 0) for kind in ASSERTIONS) for kinds in counts), default=0)


def backward_keeps(record: GraphCompare) -> Finding | None:
    """Results of the forward pass that stay in memory until the backward pass has read them."""
    backward = record.compiled.backward
    if backward is None or backward.kept_bytes < KEPT_BYTES:
        return None
    peak = peak_bytes(record.run("graph"))
    if peak and backward.kept_bytes < KEPT_SHARE * peak:
        return None
    evidence = [
        Evidence("tensors kept for the backward pass", backward.kept_count, "count"),
        Evidence("bytes of them", backward.kept_bytes, "B"),
        *(_sized(tensor) for tensor in backward.kept[:SHOWN]),
    ]
    if peak:
        evidence.append(Evidence("peak of the row graph", peak, "B"))
    return Finding(
        code="backward_keeps",
        severity="advice",
        title="Much of the memory holds results that the backward pass needs",
        evidence=tuple(evidence),
        advice="They are kept from the forward pass on. tf.recompute_grad around a part of the "
        "model computes them again instead: less memory, more time. A smaller batch needs less.",
        link=RECOMPUTE_GRAD,
        strategies=("graph",),
    )


def new_shape_costs(record: GraphCompare) -> Finding | None:
    """A call with another shape is traced and compiled anew."""
    costly = [s for s in record.compiled.new_shapes if s.traces and s.first_call_s is not None]
    if not costly:
        return None
    evidence = [
        Evidence(f"{shape.strategy}, {shape.change}", shape.first_call_s or 0.0, "s")
        for shape in costly
    ]
    evidence += time_evidence(*(record.run(shape.strategy) for shape in costly))
    relaxed = [s for s in costly if s.relaxed_traces == 0]
    signature = next((s.signature for s in costly if s.signature), "")
    advice = "The last, smaller batch of a data set costs this once in each program."
    if relaxed:
        advice += " With reduce_retracing=True one trace serves all lengths."
    if signature:
        advice += " So it does with the signature below."
    return Finding(
        code="new_shape_costs",
        severity="advice",
        title="A call with another shape is traced and compiled again",
        evidence=tuple(evidence),
        advice=advice,
        snippet=f"@tf.function(input_signature={signature})" if signature else "",
        link=FUNCTION_GUIDE,
        strategies=tuple(dict.fromkeys(shape.strategy for shape in costly)),
    )


def _sized(tensor: GraphTensor) -> Evidence:
    label = f"{tensor.op} {tensor.name}{_lines(() if tensor.line is None else (tensor.line,))}"
    if tensor.size_bytes is None:
        return Evidence(label, "of varying size")
    return Evidence(label, tensor.size_bytes, "B")


def _lines(lines: tuple[int, ...]) -> str:
    if not lines:
        return ""
    plural = "lines" if len(lines) > 1 else "line"
    return f" ({plural} {', '.join(map(str, lines))})"
