"""What compiling did, gathered from the graphs, the traces and the results of the rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from tfinsight.compiler.autodiff import backward_facts, kept_by_line
from tfinsight.compiler.grappler import Optimized, grappler_facts
from tfinsight.compiler.lines import LineMap, line_map
from tfinsight.compiler.passes import pass_shares
from tfinsight.compiler.platform import platform_facts
from tfinsight.compiler.tracing import ops_by_line, tracing_facts
from tfinsight.compiler.xla import main_program, xla_program
from tfinsight.measure.graph_run import GraphMeasurement
from tfinsight.records import (
    Compiled,
    Conversion,
    Grappler,
    HostRead,
    LineFacts,
    XlaProgram,
)


def compiled_evidence(measurement: GraphMeasurement) -> None:
    """Fills in `measurement.compiled`, as far as the rows were traced and ran."""
    concrete, row, graphs = measurement.concrete, measurement.row("graph"), measurement.graphs
    compiled = Compiled(host_reads=measurement.host_reads)
    optimized = None
    if concrete is None or row is None or row.graph is None:
        lines = LineMap({})
    else:
        lines = line_map(concrete.graph, measurement.workload.offsets, measurement.gradients)
        optimized = None if graphs is None else grappler_facts(graphs, lines)
        conversions = tuple(Conversion(*pair) for pair in dict.fromkeys(measurement.conversions))
        tracing = tracing_facts(concrete, row.graph, lines)
        compiled = replace(
            compiled,
            tracing=replace(tracing, conversions=conversions),
            grappler=None if optimized is None else _with_passes(measurement, optimized.facts),
            backward=backward_facts(concrete, lines),
            platform=platform_facts(concrete, None if graphs is None else graphs.after),
        )
    compiled = replace(compiled, xla=_xla(measurement, lines))
    folded = Counter[int]() if optimized is None else _by_line(optimized, lines)
    measurement.compiled = replace(compiled, lines=_annotated(measurement, compiled, lines, folded))


def _with_passes(measurement: GraphMeasurement, facts: Grappler) -> Grappler:
    """Adds what each pass does alone, where that is asked for."""
    graphs = measurement.graphs
    if graphs is None or not measurement.options.passes:
        return facts
    fetches = [node.name for node in graphs.before.node if node.op == "_Retval"]
    fetches = fetches or [node.name for node in graphs.before.node]
    device = f"/job:localhost/replica:0/task:0/device:{measurement.device}"
    return replace(facts, passes=pass_shares(graphs.before, fetches, device))


def _xla(measurement: GraphMeasurement, lines: LineMap) -> XlaProgram | None:
    row = measurement.row("xla")
    if row is None or row.window is None or not row.window.hlo_modules:
        return None
    names = [getattr(f, "__name__", "") for f in measurement.tf_functions(row)]
    hlo = main_program(row.window.hlo_modules, names[0] if names else "")
    return None if hlo is None else xla_program(hlo, row.window.op_events, lines)


def _annotated(
    measurement: GraphMeasurement, compiled: Compiled, lines: LineMap, folded: Mapping[int, int]
) -> tuple[LineFacts, ...]:
    """Returns the source line by line, with what became of each."""
    words, concrete = measurement.workload.words, measurement.concrete
    if not words.source:
        return ()
    forward, backward = ({}, {}) if concrete is None else ops_by_line(concrete, lines)
    kept = {} if concrete is None else kept_by_line(concrete, lines)
    fused = _fused_with(compiled)
    times, peaks = _time_shares(measurement, lines), _peak_shares(measurement, lines)
    reads = _reads(compiled.host_reads)
    return tuple(
        LineFacts(
            number=number,
            text=text,
            part=_part(measurement, number, text),
            ops=forward.get(number, 0),
            gradient_ops=backward.get(number, 0),
            folded=folded.get(number, 0),
            fused_with=tuple(sorted(fused.get(number, set()) - {number})),
            time_share=times.get(number),
            peak_share=peaks.get(number),
            kept_bytes=kept.get(number, 0),
            host_reads=reads.get(number, 0),
        )
        for number, text in enumerate(words.source.splitlines(), start=1)
    )


def _part(
    measurement: GraphMeasurement, number: int, text: str
) -> Literal["once", "measured", "other"]:
    words = measurement.workload.words
    if not text.strip() or text.strip().startswith("#"):
        return "other"
    if words.measured_lines is None:
        return "measured"
    first, last = words.measured_lines
    return "measured" if first <= number <= last else "once"


def _by_line(optimized: Optimized, lines: LineMap) -> Counter[int]:
    """Counts the ops that were folded by line."""
    found = (lines.line(name) for name in optimized.folded)
    return Counter(line for line in found if line is not None)


def _fused_with(compiled: Compiled) -> Mapping[int, set[int]]:
    """Returns for each line the lines that share a fused op or kernel with it."""
    groups: list[tuple[int, ...]] = []
    if compiled.grappler is not None:
        groups += [op.lines for op in compiled.grappler.fused]
    if compiled.xla is not None:
        groups += [fusion.lines for fusion in compiled.xla.fusions]
    shared: dict[int, set[int]] = defaultdict(set)
    for group in groups:
        for line in group:
            shared[line] |= set(group)
    return shared


def _time_shares(measurement: GraphMeasurement, lines: LineMap) -> Mapping[int, float]:
    row = measurement.row("graph")
    if row is None or row.window is None:
        return {}
    events = row.window.op_events
    return _shares(((event.name, event.end_s - event.start_s) for event in events), lines)


def _peak_shares(measurement: GraphMeasurement, lines: LineMap) -> Mapping[int, float]:
    row = measurement.row("graph")
    if row is None or row.memory is None:
        return {}
    held = ((tensor.op, float(tensor.size_bytes)) for tensor in row.memory.top)
    return _shares(held, lines)


def _shares(parts: Iterable[tuple[str, float]], lines: LineMap) -> Mapping[int, float]:
    """Returns each line's share of the sum of all parts, those without a line included."""
    total = 0.0
    by_line: dict[int, float] = defaultdict(float)
    for name, amount in parts:
        total += amount
        line = lines.line(name)
        if line is not None:
            by_line[line] += amount
    return {line: amount / total for line, amount in by_line.items()} if total else {}


def _reads(reads: Iterable[HostRead]) -> Mapping[int, int]:
    counts: Counter[int] = Counter()
    for read in reads:
        counts[read.line] += read.count
    return counts
