"""What only a report of `mapcost` has as HTML: mapping by execution, and the other maps of the cell."""

from __future__ import annotations

from html import escape

from tfinsight.records import Execution, MapCost, Run, Timing
from tfinsight.render import numbers, wording
from tfinsight.render.html_parts import (
    cell_class,
    draw_rows,
    head_cells,
    legend,
    mark,
    shades,
    with_code,
)
from tfinsight.render.view import View, figure_of

EXECUTIONS: tuple[Execution, ...] = ("eager", "graph", "xla")
# What stands in a cell beside the figure of the metric itself.
_SAID = {
    "time": "Time of a call, speed-up against {} with its 95 % interval, peak memory",
    "peak memory": "Peak memory of a call, and of that of {}; time and speed-up with its 95 % interval",
    "first call": "First call, and of that of {}; time in steady state, speed-up with its 95 % interval",
}


def grid(record: MapCost, view: View) -> str:
    """Returns mapping by execution as a table that is also a heat map."""
    cells: dict[str, dict[str, Run]] = {}
    for run in view.runs(record):
        cells.setdefault(run.mapping, {})[run.execution] = run
    columns = [name for name in EXECUTIONS if any(name in row for row in cells.values())]
    heats = shades(record, view)
    rows = (
        f'<tr><th scope="row">{escape(mapping)}</th>'
        + "".join(
            _cell(record, row[name], view, heats) if name in row else "<td></td>"
            for name in columns
        )
        + "</tr>"
        for mapping, row in cells.items()
    )
    caption = (
        f"{_SAID[view.metric].format(escape(record.baseline))}, and how the result stands to the "
        f"reference's.{legend(record, view)}"
    )
    return draw_rows(head_cells(("mapping", *columns)), rows, caption, "tfi-grid")


def other_calls(record: MapCost) -> str:
    """Returns the maps of the cell that were not measured, and how to pick them."""
    items = "".join(
        f"<li><code>--call {call.number}</code>: <code>{escape(wording.one_line(call.text))}</code>, "
        f"{with_code(call.place)}"
        + (f", {numbers.seconds(call.seconds)}" if call.seconds is not None else "")
        + "</li>"
        for call in record.workload.other_calls
    )
    return f"<h3>Other maps in this cell, not measured</h3>\n<ul>{items}</ul>" if items else ""


def _cell(record: MapCost, run: Run, view: View, heats: dict[str, int]) -> str:
    result = escape(wording.row_result(record, run))
    timing = run.timing
    if run.status not in ("ok", "different") or timing is None:
        return f'<td class="tfi-unranked">{result}</td>'
    first, beside, *facts = _figures(record, run, timing, view)
    facts += [result, *([f"chunks of {numbers.count(run.chunk_size)}"] if run.chunk_size else [])]
    said = ", ".join(fact for fact in facts if fact)
    return (
        f"<td{cell_class(record, run, heats)}><b>{mark(record, run)}{first}</b>"
        f"{f' {beside}' if beside else ''}<br><small>{said}</small></td>"
    )


def _figures(record: MapCost, run: Run, timing: Timing, view: View) -> tuple[str, ...]:
    """Returns the figure of the metric, what stands beside it, and what stands beneath."""
    spread = numbers.interval(timing.speedup_low, timing.speedup_high)
    speedup = "" if timing.speedup is None else numbers.ratio(timing.speedup)
    if view.metric == "time":
        beside = f"{speedup} <small>{spread}</small>" if spread else speedup
        peak = run.memory.peak_bytes if run.memory else None
        sizes = () if peak is None else (numbers.size(peak),)
        return (numbers.seconds(timing.median_s), beside, *sizes)
    mine = figure_of(run, view.metric)
    theirs = figure_of(record.run(record.baseline), view.metric)
    form = numbers.size if view.metric == "peak memory" else numbers.seconds
    share = numbers.ratio(mine / theirs) if mine is not None and theirs else ""
    return form(mine), share, numbers.seconds(timing.median_s), f"{speedup} {spread}".strip()
