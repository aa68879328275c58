"""What compiling did, gathered from the graphs, the traces and the results of the rows."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from tfinsight.compiler.autodiff import backward_facts, kept_by_line
from tfinsight.compiler.grappler import folded_names, grappler_facts
from tfinsight.compiler.lines import LineMap, Source, line_map
from tfinsight.compiler.passes import pass_shares
from tfinsight.compiler.platform import machine_ceilings, platform_facts
from tfinsight.compiler.tracing import ops_by_line, tracing_facts
from tfinsight.compiler.unfolded import unfolded_function
from tfinsight.compiler.xla import main_program, xla_program
from tfinsight.measure.graph_run import GraphMeasurement
from tfinsight.measure.rows import Row
from tfinsight.measure.timing import Contender, InterleavedTiming
from tfinsight.records import (
    Compiled,
    Conversion,
    Grappler,
    HostRead,
    LineFacts,
    Platform,
    XlaProgram,
)
from tfinsight.strategies.executions import BoundCall

# What comparing a graph with the same one without folding may take.
UNFOLDED_S = 0.4


def compiled_evidence(measurement: GraphMeasurement) -> None:
    """Fills in `measurement.compiled`, as far as the rows were traced and ran."""
    measurement.compiled = Compiled(host_reads=measurement.host_reads)
    concrete = measurement.concrete
    row = measurement.row("graph")
    if concrete is None or row is None or row.graph is None:
        lines = LineMap({})
        measurement.compiled = replace(measurement.compiled, xla=_xla(measurement, lines))
    else:
        sources = [Source(p.filename, p.offset) for p in measurement.workload.places]
        lines = line_map(concrete.graph, sources, measurement.gradients)
        tracing = tracing_facts(concrete, row.graph, lines)
        conversions = tuple(Conversion(*pair) for pair in dict.fromkeys(measurement.conversions))
        measurement.compiled = replace(
            measurement.compiled,
            tracing=replace(tracing, conversions=conversions),
            grappler=_grappler(measurement, lines),
            backward=backward_facts(concrete, lines),
            xla=_xla(measurement, lines),
            platform=_platform(measurement),
            unfolded_s=_unfolded_s(measurement, row),
        )
    measurement.compiled = replace(
        measurement.compiled, lines=_annotated(measurement, lines, concrete)
    )


def _grappler(measurement: GraphMeasurement, lines: LineMap) -> Grappler | None:
    graphs = measurement.graphs
    if graphs is None:
        return None
    facts = grappler_facts(graphs, lines)
    if not measurement.options.passes:
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


def _platform(measurement: GraphMeasurement) -> Platform:
    graphs = measurement.graphs
    facts = platform_facts(measurement.concrete, None if graphs is None else graphs.after)
    if time.perf_counter() > measurement.deadline:
        return facts
    flops_s, bytes_s = machine_ceilings()
    return replace(facts, peak_flops_s=flops_s, peak_bytes_s=bytes_s)


def _unfolded_s(measurement: GraphMeasurement, row: Row) -> float | None:
    """Times the graph with its constants fed as inputs, in turn with the graph itself."""
    graphs, call = measurement.graphs, row.call
    left = measurement.deadline - time.perf_counter()
    if graphs is None or call is None or not row.ranked or measurement.workload.entry is not None:
        return None
    if 20 * row.seconds + (row.first_call_s or 0.0) > left:
        return None
    try:
        with measurement.user_time():
            other = unfolded_function(graphs, measurement.concrete, call.arguments)
            if other is None:
                return None
            measurement.prepare(row)
            other()
    except Exception:  # a graph that can't be imported as it is
        return None
    return _median_beside(measurement, row, BoundCall(other, ()))


def _median_beside(measurement: GraphMeasurement, row: Row, other: BoundCall) -> float | None:
    """Returns the median of another call, scaled by what the row's own has changed meanwhile."""
    assert row.call is not None
    contenders = [
        Contender(name, call, row.seconds, lambda: measurement.prepare(row))
        for name, call in (("folded", row.call), ("unfolded", other))
    ]
    timing = InterleavedTiming(
        contenders,
        baseline_id="folded",
        eligible_ids=("folded", "unfolded"),
        deadline=min(measurement.deadline, time.perf_counter() + UNFOLDED_S),
        clock=time.perf_counter,
        synchronize=lambda: None,
    )
    timing.run()
    measurement.add_user_seconds(timing.user_seconds)
    results = timing.results()
    if not all(name in results and results[name].calls for name in ("folded", "unfolded")):
        return None
    return results["unfolded"].median_s * row.seconds / results["folded"].median_s


def _annotated(
    measurement: GraphMeasurement, lines: LineMap, concrete: Any
) -> tuple[LineFacts, ...]:
    """Returns the source line by line, with what became of each."""
    words, compiled = measurement.workload.words, measurement.compiled
    if not words.source:
        return ()
    forward, backward = ({}, {}) if concrete is None else ops_by_line(concrete, lines)
    kept = {} if concrete is None else kept_by_line(concrete, lines)
    folded = _folded_by_line(compiled.grappler, measurement, lines)
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


def _part(measurement: GraphMeasurement, number: int, text: str) -> Any:
    words = measurement.workload.words
    if not text.strip() or text.strip().startswith("#"):
        return "other"
    if words.measured_lines is None:
        return "measured"
    first, last = words.measured_lines
    return "measured" if first <= number <= last else "once"


def _folded_by_line(
    grappler: Grappler | None, measurement: GraphMeasurement, lines: LineMap
) -> Mapping[int, int]:
    if grappler is None or measurement.graphs is None:
        return {}
    found = (lines.line(name) for name in folded_names(measurement.graphs))
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
