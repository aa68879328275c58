"""All that is known of one row, as tables of text."""

from __future__ import annotations

from collections.abc import Iterator

from tfinsight.records import Agreement, Comparison, GraphFacts, Memory, OpProfile, Run, Timing
from tfinsight.render import numbers, wording
from tfinsight.render.tables import Head, Table

Fact = tuple[str, str]


def row_tables(record: Comparison, run: Run) -> tuple[Table, ...]:
    """Returns a row's facts, what held its memory at the peak, and its costliest ops."""
    facts = tuple(fact for fact in _facts(record, run) if fact[1] not in ("", numbers.NONE))
    return (
        Table(f"All that is known of `{run.strategy}`", (Head("what"), Head("value")), facts),
        live_tensors(f"Live at the peak of `{run.strategy}`, largest first", (run,)),
        _costliest(run.ops),
    )


def live_tensors(caption: str, runs: tuple[Run, ...], most: int | None = None) -> Table:
    """Returns what held the memory at the peak of rows.

    Args:
        caption: of the table.
        runs: the rows; they are named where there are several.
        most: tensors of each row; `None` for all.
    """
    heads = (
        Head("op", "code"),
        Head("tensor"),
        Head("how many", "figure"),
        Head("bytes", "figure"),
    )
    rows = [
        (run.strategy, *_tensor_cells(tensor.op, tensor.dtype, tensor.shape), *figures)
        for run in runs
        if run.memory is not None
        for tensor in run.memory.top[:most]
        for figures in ((numbers.count(tensor.count), numbers.size(tensor.size_bytes)),)
    ]
    if len(runs) == 1:
        return Table(caption, heads, tuple(row[1:] for row in rows))
    return Table(caption, (Head("row"), *heads), tuple(rows))


def _tensor_cells(op: str, dtype: str, shape: str) -> tuple[str, str]:
    return op, f"{dtype} {shape}".strip()


def _facts(record: Comparison, run: Run) -> Iterator[Fact]:
    yield "result", wording.row_result(record, run)
    yield "why it is not ranked", wording.row_reason(run)
    yield from _agreement(run.agreement)
    if run.timing is not None:
        yield from _timing(run.timing)
        yield "first call has paid off", wording.break_even(record, run)
    if run.chunk_size is not None:
        yield "elements a chunk", numbers.count(run.chunk_size)
    if run.memory is not None:
        yield from _memory(run.memory)
    if run.graph is not None:
        yield from _graph(run.graph)
    if run.ops is not None:
        yield "kernels that one traced call ran", numbers.count(run.ops.op_count)
        yield "time in which a kernel ran", _share_of_call(run.ops)
    if run.recompilation is not None:
        yield "traces on each later call", numbers.count(run.recompilation.traces_per_call)
        again = run.recompilation.compiles_per_new_value
        yield "compilations for other values", numbers.count(again)


def _agreement(agreement: Agreement | None) -> Iterator[Fact]:
    if agreement is None:
        return
    if agreement.verdict != "different":  # its detail stands in the reason
        yield "compared", agreement.detail
    if agreement.max_abs is not None:
        yield "largest difference from the reference", numbers.significant(agreement.max_abs)
    if agreement.max_rel is not None:
        yield "relative to the values", numbers.significant(agreement.max_rel)
    if agreement.probed:
        yield "on random elements", "agrees as well"


def _timing(timing: Timing) -> Iterator[Fact]:
    spread = numbers.seconds_interval(timing.low_s, timing.high_s)
    yield "steady call, median", f"{numbers.seconds(timing.median_s)} {spread}".strip()
    yield "steady calls timed", numbers.count(timing.calls or None)
    if timing.spread is not None:
        yield "spread between rounds", numbers.percent(timing.spread)
    if timing.speedup is not None:
        of = numbers.interval(timing.speedup_low, timing.speedup_high)
        yield "speed-up", f"{numbers.ratio(timing.speedup)} {of}".strip()
    if timing.changing_values:
        yield "timed on", "changing values, since each new value compiles anew"
    yield "cores used", numbers.count(timing.cores_used)
    yield "first call", numbers.seconds(timing.first_call_s)
    yield "of it tracing", numbers.seconds(timing.trace_s)
    yield "of it optimizing", numbers.seconds(timing.optimize_s)
    estimated = timing.compile_s is not None and timing.optimize_s is None
    what = "of it optimizing and compiling, about" if estimated else "of it XLA compiling"
    yield what, numbers.seconds(timing.compile_s)


def _memory(memory: Memory) -> Iterator[Fact]:
    yield "peak memory", numbers.size(memory.peak_bytes)
    if memory.peak_lowest_bytes != memory.peak_bytes:
        yield "lowest peak of its calls", numbers.size(memory.peak_lowest_bytes)
    yield "peak by requested sizes", numbers.size(memory.peak_requested_bytes)
    yield "requested in one call, in all", numbers.size(memory.total_requested_bytes)
    yield "allocations in one call", numbers.count(memory.allocation_count)
    if memory.traced_elements is not None:
        yield "elements of the traced call", numbers.count(memory.traced_elements)
    if memory.kept_per_call_bytes:
        yield "stays live with each further call", numbers.size(memory.kept_per_call_bytes)


def _graph(graph: GraphFacts) -> Iterator[Fact]:
    yield "ops in the graph", numbers.count(graph.op_count)
    if graph.loops:
        yield "loops in the graph", numbers.count(graph.loops)
    yield "ops run in a loop for want of a vectorized form", ", ".join(graph.fallback_ops)
    yield "ops that call Python", ", ".join(graph.host_callbacks)
    yield "random ops", ", ".join(graph.random_ops)
    if graph.constant_bytes:
        yield "constants in the graph", numbers.size(graph.constant_bytes)


def _share_of_call(ops: OpProfile) -> str:
    share = ops.kernel_s / ops.wall_s if ops.wall_s else None
    return f"{numbers.percent(share)} of {numbers.seconds(ops.wall_s)}"


def _costliest(ops: OpProfile | None) -> Table:
    rows = () if ops is None else ops.top
    return Table(
        "Costliest kinds of op in one traced call",
        (Head("op", "code"), Head("time", "figure"), Head("count", "figure")),
        tuple((op.op, numbers.seconds(op.seconds), numbers.count(op.count)) for op in rows),
    )
