"""What compiling did, second half: gradients, what is captured, what runs again, and the machine."""

from __future__ import annotations

from tfinsight.records import GraphCompare, HostRead, NewShape, Platform
from tfinsight.render import evidence, numbers
from tfinsight.render.evidence import tensor_table
from tfinsight.render.tables import Head, Section, Table

_COUNT = Head("count", "figure")


def compiling(record: GraphCompare) -> tuple[Section, ...]:
    """Returns what compiling did, from Python to kernels; sections without facts are left out."""
    return _drawn(
        evidence.stages(record),
        evidence.folded(record),
        evidence.rewritten(record),
        evidence.fused(record),
        _captured(record),
        _conversions(record),
        _new_shapes(record),
        _host_reads(record.compiled.host_reads),
        _platform(record),
        evidence.passes(record),
    )


def backward(record: GraphCompare) -> tuple[Section, ...]:
    """Returns what automatic differentiation did, nothing where no gradient was taken."""
    return _drawn(_backward(record))


def _drawn(*sections: Section) -> tuple[Section, ...]:
    return tuple(section for section in sections if not section.is_empty())


def _backward(record: GraphCompare) -> Section:
    backward = record.compiled.backward
    if backward is None or not backward.backward_ops:
        return Section("The backward pass")
    said = (
        f"The gradient adds {numbers.many(backward.backward_ops, 'op')} to "
        f"{numbers.count(backward.forward_ops)} forward. It needs "
        f"{numbers.many(backward.kept_count, 'result')} of the forward pass, "
        f"{numbers.size(backward.kept_bytes)}, which stay in memory until it has used them."
    )
    caption = "Results kept for the backward pass, largest first"
    return Section("The backward pass", (said,), (), (tensor_table(caption, backward.kept),))


def _captured(record: GraphCompare) -> Section:
    tracing = record.compiled.tracing
    title = "Constants and captured values"
    if tracing is None or not (tracing.constants or tracing.captured or tracing.variables):
        return Section(title)
    said = (
        f"Constants of the graph hold {numbers.size(tracing.constant_bytes)}; captured tensors and "
        "variables stay outside and are referred to."
    )
    tables = (
        tensor_table("Constants in the graph, largest first", tracing.constants),
        tensor_table("Tensors captured from outside", tracing.captured),
        tensor_table("Variables that it reads or writes", tracing.variables),
    )
    return Section(title, (said,), (), tables)


def _conversions(record: GraphCompare) -> Section:
    done = record.compiled.tracing.conversions if record.compiled.tracing else ()
    if not done:
        return Section("AutoGraph")
    failed = sum(bool(item.problem) for item in done)
    said = (
        "AutoGraph turns Python's `if`, `for` and `while` on tensors into ops: "
        f"{numbers.many(len(done) - failed, 'function')} converted, {numbers.count(failed)} not."
    )
    rows = tuple((item.function, item.problem or "converted") for item in done)
    table = Table("Functions", (Head("function", "code"), Head("what became of it")), rows)
    return Section("AutoGraph", (said,), (), (table,))


def _new_shapes(record: GraphCompare) -> Section:
    shapes = record.compiled.new_shapes
    if not shapes:
        return Section("Another shape")
    heads = (
        Head("row"),
        Head("change"),
        Head("first call", "figure"),
        Head("traces", "figure"),
        Head("relaxed", "figure"),
        Head("note"),
    )
    table = Table(
        "New traces for another shape; relaxed: with `reduce_retracing=True`, after two shapes",
        heads,
        tuple(_new_shape(item) for item in shapes),
    )
    said = (
        "A graph is traced, and XLA compiles, for each new shape unless a signature says otherwise."
    )
    return Section("Another shape", (said,), (), (table,))


def _new_shape(item: NewShape) -> tuple[str, ...]:
    helps = f"`input_signature={item.signature}`" if item.signature else ""
    return (
        item.strategy,
        item.change,
        numbers.seconds(item.first_call_s),
        numbers.count(item.traces),
        numbers.count(item.relaxed_traces),
        "; ".join(words for words in (item.problem, helps) if words) or numbers.NONE,
    )


def _host_reads(reads: tuple[HostRead, ...]) -> Section:
    title = "Values that cross between TensorFlow and Python"
    if not reads:
        return Section(title)
    total = sum(read.count for read in reads)
    said = (
        f"In one run {numbers.many(total, 'value')} cross. Python waits for each "
        "of them, and such a line can't be part of a graph unless AutoGraph converts it."
    )
    rows = tuple((numbers.line(read.line), read.kind, numbers.count(read.count)) for read in reads)
    table = Table("By line of the cell", (Head("line"), Head("how", "code"), _COUNT), rows)
    return Section(title, (said,), (), (table,))


def _platform(record: GraphCompare) -> Section:
    platform, grappler = record.compiled.platform, record.compiled.grappler
    kernels = grappler.platform_kernels if grappler else {}
    said = () if platform is None else tuple(_platform_words(platform))
    tables = [
        Table(
            "Kernels specific to this processor",
            (Head("op", "code"), _COUNT),
            tuple((kind, numbers.count(many)) for kind, many in kernels.items()),
        )
    ]
    if platform is not None:
        tables.append(_rates(record, platform))
    return Section("This machine", said, (), tuple(tables))


def _platform_words(platform: Platform) -> list[str]:
    said = []
    if platform.features:
        said.append(f"The processor has {', '.join(platform.features)}.")
    if platform.devices:
        placed = ", ".join(
            f"{numbers.many(ops, 'op')} on {name}" for name, ops in platform.devices.items()
        )
        said.append(f"Placed: {placed}.")
    if platform.float64_ops:
        said.append(
            f"{numbers.many(platform.float64_ops, 'op')} in float64, which accelerators are slow at."
        )
    if platform.reduced_precision:
        said.append(platform.reduced_precision)
    if platform.flops is not None:
        said.append(
            f"One call does {numbers.operations(platform.flops)} by TensorFlow's own registry."
        )
    if platform.uncounted:
        said.append(f"Kinds of op that it has no count for: {numbers.names(platform.uncounted)}.")
    if platform.moved_bytes is not None:
        said.append(
            f"The ops of the optimized graph read and write {numbers.size(platform.moved_bytes)} a "
            "call; a row that fuses more moves less."
        )
    return said


def _rates(record: GraphCompare, platform: Platform) -> Table:
    """Returns operations and bytes a second of each row beside what this machine reaches."""
    ceilings = platform.peak_flops_s, platform.peak_bytes_s
    best = ("this machine, at best", *_rate_cells(platform, *ceilings))
    rows = [best] if any(ceilings) else []
    for run in record.runs:
        median = run.timing.median_s if run.timing is not None else None
        if run.status not in ("ok", "different") or not median:
            continue
        flops_s = None if platform.flops is None else platform.flops / median
        bytes_s = None if platform.moved_bytes is None else platform.moved_bytes / median
        rows.append((run.strategy, *_rate_cells(platform, flops_s, bytes_s)))
    known = platform.flops is not None or platform.moved_bytes is not None
    heads = ("operations", "of the best", "bytes moved", "of the best")
    return Table(
        "Rates beside this machine's own on a large matrix product and a large copy",
        (Head("row"), *(Head(name, "figure") for name in heads)),
        tuple(rows) if known or any(ceilings) else (),
    )


def _rate_cells(
    platform: Platform, flops_s: float | None, bytes_s: float | None
) -> tuple[str, str, str, str]:
    return (
        numbers.operations_rate(flops_s),
        numbers.percent(_share(flops_s, platform.peak_flops_s)),
        numbers.size_rate(bytes_s),
        numbers.percent(_share(bytes_s, platform.peak_bytes_s)),
    )


def _share(rate: float | None, ceiling: float | None) -> float | None:
    return None if rate is None or not ceiling else rate / ceiling
