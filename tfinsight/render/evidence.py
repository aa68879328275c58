"""What compiling did, as sections of text that every form of a report draws: the parts in their order."""

from __future__ import annotations

from collections.abc import Sequence

from tfinsight.records import GraphCompare, GraphTensor, Grappler, Tracing, XlaProgram
from tfinsight.render import numbers
from tfinsight.render.tables import Head, Section, Table
from tfinsight.render.wording_graph import flows

_BYTES = Head("bytes", "figure")
_LINE = Head("line", "figure")
_LINES = Head("lines", "figure")


def tensor_table(caption: str, tensors: Sequence[GraphTensor]) -> Table:
    """Returns tensors of a graph as a table: name, op, dtype and shape, bytes, line of the cell."""
    return Table(
        caption,
        (Head("name", "code"), Head("op"), Head("tensor"), _BYTES, _LINE),
        tuple(
            (t.name, t.op, _tensor(t), numbers.size(t.size_bytes), numbers.line(t.line))
            for t in tensors
        ),
    )


def stages(record: GraphCompare) -> Section:
    """Returns the ways from Python to kernels, with counts at each step."""
    compiled = record.compiled
    said = (_traced(compiled.tracing), _optimized(compiled.grappler), _compiled(compiled.xla))
    return Section("From Python to kernels", said, flows(record))


def folded(record: GraphCompare) -> Section:
    """Returns what was computed once while optimizing, and what that is worth."""
    grappler = record.compiled.grappler
    if grappler is None or not (grappler.folded_count or grappler.folded):
        return Section("Folded constants")
    said = (
        f"Grappler computed {numbers.many(grappler.folded_count, 'op')} once, while optimizing, "
        "since all that goes into them is known then. Constants stand in their place.",
        _worth_of_folding(record),
    )
    caption = "Constants in the place of folded ops, largest first"
    return Section("Folded constants", said, (), (tensor_table(caption, grappler.folded),))


def rewritten(record: GraphCompare) -> Section:
    """Returns the ops that became another kind of op."""
    rewrites = record.compiled.grappler.rewritten if record.compiled.grappler else ()
    if not rewrites:
        return Section("Rewritten ops")
    rows = tuple((r.name, r.before, r.after, numbers.line(r.line)) for r in rewrites)
    heads = (Head("name", "code"), Head("before", "code"), Head("after", "code"), _LINE)
    said = f"Grappler wrote {numbers.many(len(rows), 'op')} as another kind that does the same."
    return Section("Rewritten ops", (said,), (), (Table("Ops and what they became", heads, rows),))


def fused(record: GraphCompare) -> Section:
    """Returns what became one op or one kernel."""
    grappler, xla = record.compiled.grappler, record.compiled.xla
    said = []
    if grappler is not None and grappler.fused:
        said.append(f"In the graph {numbers.many(len(grappler.fused), 'op')} stand for several.")
    if xla is not None and xla.fusion_count:
        shown = len(xla.fusions)
        some = f", the costliest {numbers.count(shown)} below" if shown < xla.fusion_count else ""
        said.append(
            f"XLA made {numbers.many(xla.fusion_count, 'fused kernel')}{some}. Results inside a "
            f"kernel are never written to memory: {numbers.size(xla.saved_bytes)} a call."
        )
    return Section("Fused ops", tuple(said), (), (_fused_ops(record), _fusions(record)))


def passes(record: GraphCompare) -> Section:
    """Returns what each of Grappler's passes does alone, where that was measured."""
    shares = record.compiled.grappler.passes if record.compiled.grappler else ()
    if not shares:
        return Section("Grappler's passes")
    heads = ("nodes before", "nodes after", "changed", "time")
    rows = tuple(
        (
            share.name,
            numbers.count(share.nodes_before),
            numbers.count(share.nodes_after),
            numbers.count(share.changed),
            numbers.seconds(share.seconds),
        )
        for share in shares
    )
    table = Table(
        "Each pass alone on the graph as traced",
        (Head("pass", "code"), *(Head(name, "figure") for name in heads)),
        rows,
    )
    said = "Passes build on each other, so their shares do not add up to what all of them do."
    return Section("Grappler's passes", (said,), (), (table,))


def _traced(tracing: Tracing | None) -> str:
    if tracing is None:
        return ""
    said = (
        "Tracing runs the Python code once and writes down its ops: "
        f"{numbers.many(tracing.op_count, 'op')}, {numbers.count(tracing.placed)} of them from a line "
        f"of the cell, in a graph with {numbers.many(tracing.function_count, 'function')} of its own"
    )
    kinds = ", ".join(f"{numbers.count(many)} {kind}" for kind, many in tracing.kinds.items())
    return f"{said}. By kind: {kinds}." if kinds else f"{said}."


def _optimized(grappler: Grappler | None) -> str:
    if grappler is None:
        return ""
    return (
        f"Grappler rewrites that graph before it runs: of {numbers.many(grappler.nodes_before, 'node')}, "
        f"called functions inlined, {numbers.count(grappler.folded_count)} were folded and "
        f"{numbers.count(grappler.removed_count)} removed otherwise, "
        f"{numbers.count(grappler.added_count)} were added, {numbers.count(grappler.moved_count)} read "
        f"other inputs; {numbers.count(grappler.nodes_after)} are left."
    )


def _compiled(xla: XlaProgram | None) -> str:
    if xla is None:
        return ""
    name = f" `{xla.name}`" if xla.name else ""
    return (
        f"XLA compiles the graph as traced, without Grappler. Its program{name} has "
        f"{numbers.many(xla.parameters, 'input')} and plans buffers of {numbers.size(xla.argument_bytes)} "
        f"for them, {numbers.size(xla.output_bytes)} for results, {numbers.size(xla.temporary_bytes)} "
        f"for temporary results and {numbers.size(xla.constant_bytes)} for constants."
    )


def _worth_of_folding(record: GraphCompare) -> str:
    unfolded, graph = record.compiled.unfolded_s, record.run("graph")
    if unfolded is None:
        return ""
    said = "With the constants fed as inputs, so that nothing is folded, a call takes "
    said += numbers.seconds(unfolded)
    median = graph.timing.median_s if graph is not None and graph.timing is not None else None
    if not median:
        return f"{said}."
    return (
        f"{said}; the row `graph`, with folding, takes {numbers.seconds(median)}: folding makes it "
        f"{numbers.ratio(unfolded / median)} as fast."
    )


def _fused_ops(record: GraphCompare) -> Table:
    ops = record.compiled.grappler.fused if record.compiled.grappler else ()
    return Table(
        "Ops of the graph that stand for several",
        (Head("name", "code"), Head("op", "code"), Head("made of"), Head("by"), _LINES),
        tuple(
            (op.name, op.kind, " + ".join(op.members), op.by, numbers.lines(op.lines)) for op in ops
        ),
    )


def _fusions(record: GraphCompare) -> Table:
    fusions = record.compiled.xla.fusions if record.compiled.xla else ()
    figures = ("time", "read", "written", "saved")
    return Table(
        "XLA's fused kernels, costliest first: bytes read, written, and never written",
        (
            Head("kernel", "code"),
            Head("kind"),
            Head("made of"),
            _LINES,
            *(Head(name, "figure") for name in figures),
        ),
        tuple(
            (
                fusion.name,
                fusion.kind,
                " + ".join(fusion.members),
                numbers.lines(fusion.lines),
                numbers.seconds(fusion.seconds),
                numbers.size(fusion.read_bytes),
                numbers.size(fusion.written_bytes),
                numbers.size(fusion.saved_bytes),
            )
            for fusion in fusions
        ),
    )


def _tensor(tensor: GraphTensor) -> str:
    shape = "any rank" if tensor.shape is None else numbers.shape(tensor.shape)
    return f"{tensor.dtype} {shape}"
