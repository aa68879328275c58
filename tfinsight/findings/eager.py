"""Findings about running from Python: what it costs, and where values cross to Python."""

from __future__ import annotations

from tfinsight.findings.rows import is_ok, median_s, peak_bytes, ratio, time_evidence
from tfinsight.records import AS_WRITTEN, Evidence, Finding, GraphCompare

FUNCTION_GUIDE = "https://www.tensorflow.org/guide/function"
EAGER_RATIO = 1.5
# Kernels account for less of the time than this: the rest is starting them.
KERNEL_SHARE = 0.5
NEAR_CEILING = 0.6
SHOWN = 6


def eager_overhead(record: GraphCompare) -> Finding | None:
    """Python starts each op, which takes longer than a graph does."""
    eager, graph = record.run("eager"), record.run("graph")
    written = record.run(AS_WRITTEN)
    if written is not None and written.execution != "eager":
        return None  # nobody runs this from Python
    times = ratio(eager, graph)
    if eager is None or graph is None or times is None or times < EAGER_RATIO or not is_ok(graph):
        return None
    evidence = list(time_evidence(eager, graph))
    evidence.append(Evidence("time saved by the graph", times, "x"))
    profile = eager.ops
    bound = False
    if profile is not None and profile.wall_s > 0:
        share = min(1.0, profile.kernel_s / profile.wall_s)
        bound = share < KERNEL_SHARE
        evidence.append(Evidence(f"ops that {eager.strategy} starts", profile.op_count, "count"))
        evidence.append(Evidence("share of the time that kernels account for", share, "%"))
    eager_peak, graph_peak = peak_bytes(eager), peak_bytes(graph)
    if eager_peak and graph_peak and eager_peak != graph_peak:
        evidence.append(Evidence("memory of eager over the graph's", eager_peak / graph_peak, "x"))
    return Finding(
        code="dispatch_bound" if bound else "eager_overhead",
        severity="advice",
        title="Most of the time goes into starting ops from Python"
        if bound
        else "Running op by op from Python costs time that a graph saves",
        evidence=tuple(evidence),
        advice="Put the code under tf.function. Besides speed, only graphs can be saved and served "
        "without Python, are optimized as a whole, and run on several devices at a time under a "
        "distribution strategy; eager code can be stepped through and printed from.",
        snippet=graph.code,
        link=FUNCTION_GUIDE,
        strategies=(eager.strategy, graph.strategy),
    )


def host_synchronization(record: GraphCompare) -> Finding | None:
    """Values cross from TensorFlow to Python in each run, which waits for them."""
    reads = record.compiled.host_reads
    if not reads:
        return None
    return Finding(
        code="host_synchronization",
        severity="advice",
        title="Values go from TensorFlow to Python and back in each run",
        evidence=tuple(
            Evidence(f"line {read.line}: {read.kind}", read.count, "count")
            for read in reads[:SHOWN]
        ),
        advice="Each makes Python wait for the device, and none can be part of a graph. Keep "
        "values as tensors, and read them once after the loop; use tf.cond or a tf.function for "
        "decisions; turn NumPy arrays into tensors once, before.",
        link=FUNCTION_GUIDE,
        strategies=(AS_WRITTEN,) if record.run(AS_WRITTEN) else ("eager",),
    )


def near_ceiling(record: GraphCompare) -> Finding | None:
    """The best row already computes or moves data about as fast as this machine can."""
    platform = record.compiled.platform
    best = record.run(record.verdict.recommended or "")
    seconds = median_s(best)
    if platform is None or best is None or not seconds:
        return None
    shares = []
    if platform.flops and platform.peak_flops_s:
        shares.append(("arithmetic", platform.flops / seconds / platform.peak_flops_s))
    if platform.moved_bytes and platform.peak_bytes_s:
        shares.append(("memory traffic", platform.moved_bytes / seconds / platform.peak_bytes_s))
    near = [(what, share) for what, share in shares if share >= NEAR_CEILING]
    if not near:
        return None
    return Finding(
        code="near_ceiling",
        severity="info",
        title="There is little left to gain on this machine",
        evidence=tuple(
            Evidence(f"{what} of {best.strategy}, of what this machine reaches", share, "%")
            for what, share in near
        ),
        advice="The work itself takes the time. What helps is less work (smaller types, fewer "
        "elements) or another machine, not another way of running it.",
        strategies=(best.strategy,),
    )
