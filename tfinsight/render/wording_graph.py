"""What a report of `graphcompare` says in words: what was measured, and what became of each line."""

from __future__ import annotations

from collections.abc import Sequence

from tfinsight.records import GraphCompare, LineFacts, TensorFacts, Timing
from tfinsight.render import numbers
from tfinsight.render.wording import one_line

INPUTS_SHOWN = 8
_PARTS = {"once": "ran once", "other": "", "measured": ""}


def measured_sentences(record: GraphCompare) -> list[str]:
    """Returns what was measured: the lines, their inputs, and what one run of them changes."""
    cell = record.cell
    said = [_lines_measured(record), _inputs(cell.inputs)]
    if cell.result:
        said.append(f"The result is `{one_line(cell.result)}`{_shapes(cell.outputs)}.")
    if cell.captured:
        said.append(
            f"NumPy arrays that stay as they are, as constants: {numbers.names(cell.captured)}."
        )
    if cell.variables:
        said.append(f"Variables that one run changes: {numbers.names(cell.variables)}.")
    if record.changed_objects:
        said.append(f"Python objects that it changes: {numbers.names(record.changed_objects)}.")
    if cell.functions:
        said.append(
            f"Functions under `tf.function` that it calls: {numbers.names(cell.functions)}."
        )
    if cell.models:
        said.append(f"Keras models that it runs: {numbers.names(cell.models)}.")
    return [" ".join(sentence for sentence in said if sentence)]


def line_words(line: LineFacts) -> str:
    """Returns what became of a line of the cell, in words; empty for comments and empty lines."""
    said = [_PARTS[line.part]] if _PARTS[line.part] else []
    if line.ops:
        said.append(numbers.many(line.ops, "op"))
    if line.folded:
        said.append(f"{numbers.count(line.folded)} of them folded to constants")
    if line.fused_with:
        name = "line" if len(line.fused_with) == 1 else "lines"
        said.append(f"fused with {name} {numbers.lines(line.fused_with)}")
    if line.gradient_ops:
        said.append(f"{numbers.many(line.gradient_ops, 'op')} of the backward pass")
    if line.kept_bytes:
        said.append(f"{numbers.size(line.kept_bytes)} kept for the backward pass")
    if line.host_reads:
        said.append(f"{numbers.many(line.host_reads, 'value')} read by Python")
    if not said and line.part == "measured":
        return "no ops of its own"
    return "; ".join(said)


def first_call_parts(timing: Timing) -> list[str]:
    """Returns what a first call spent its time on, as far as it is known."""
    parts = []
    if timing.trace_s is not None:
        parts.append(f"tracing {numbers.seconds(timing.trace_s)}")
    if timing.optimize_s is not None:
        parts.append(f"optimizing {numbers.seconds(timing.optimize_s)}")
    if timing.compile_s is not None:
        what = "XLA compiling" if timing.optimize_s is not None else "optimizing and XLA, about"
        parts.append(f"{what} {numbers.seconds(timing.compile_s)}")
    return parts


def flows(record: GraphCompare) -> tuple[tuple[str, ...], ...]:
    """Returns the ways from Python to kernels, the row that takes each first.

    XLA starts from the traced graph, not from Grappler's: `jit_compile=True` leaves Grappler out.
    """
    compiled = record.compiled
    tracing, grappler, xla = compiled.tracing, compiled.grappler, compiled.xla
    measured = sum(line.part == "measured" for line in compiled.lines)
    start = f"Python, {numbers.many(measured, 'line')}" if measured else "Python"
    traced = (start, f"{numbers.many(tracing.op_count, 'op')} traced") if tracing else (start,)
    ways = []
    if grappler is not None:
        said = [f"{numbers.count(grappler.folded_count)} folded"]
        said.append(f"{numbers.count(len(grappler.fused))} fused")
        nodes = f"{numbers.many(grappler.nodes_after, 'node')} after Grappler ({', '.join(said)})"
        ways.append(("graph", *traced, nodes))
    elif tracing is not None:
        ways.append(("graph", *traced))
    if xla is not None:
        before = f"XLA: {numbers.many(xla.instructions_before, 'instruction')}"
        after = numbers.many(xla.instructions_after, "kernel")
        fused = f"{after} ({numbers.many(xla.fusion_count, 'fusion')})"
        ways.append(("xla", *traced, before, fused))
    return tuple(ways)


def _lines_measured(record: GraphCompare) -> str:
    cell = record.cell
    if cell.measured_lines is not None:
        first, last = cell.measured_lines
        what = f"{numbers.span(first, last)} of {one_line(cell.name) or 'the cell'}"
        calls = "calls" if first == last else "call"
    else:
        what, calls = f"`{one_line(cell.name)}`", "calls"
    said = f"Measured: {what}"
    if cell.entry:
        said += f", which {calls} the Keras method `{one_line(cell.entry)}`"
    if cell.with_gradient:
        said += ", forward and backward together"
    if record.options.mixed:
        said += f", once also in mixed precision ({one_line(record.options.mixed)})"
    if cell.ran_once is not None:
        ran = numbers.span(*cell.ran_once)
        said += f"; {ran} ran once and {'is' if ran.startswith('line ') else 'are'} not measured"
    return said + "."


def _inputs(tensors: Sequence[TensorFacts]) -> str:
    if not tensors:
        return ""
    shown = [f"`{one_line(t.path)}` ({tensor_words(t)})" for t in tensors[:INPUTS_SHOWN]]
    more = len(tensors) - len(shown)
    rest = f" and {numbers.count(more)} more" if more else ""
    return f"Inputs: {', '.join(shown)}{rest}."


def tensor_words(tensor: TensorFacts) -> str:
    """Returns dtype and shape of a tensor, and its kind where that is not dense."""
    kind = "" if tensor.kind == "dense" else f"{tensor.kind} "
    return f"{kind}{tensor.dtype} {numbers.shape(tensor.shape)}"


def _shapes(tensors: Sequence[TensorFacts]) -> str:
    shown = [tensor_words(tensor) for tensor in tensors[:INPUTS_SHOWN]]
    more = ", ..." if len(tensors) > len(shown) else ""
    return f" ({', '.join(shown)}{more})" if shown else ""
