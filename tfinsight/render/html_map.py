"""What only a report of `mapcost` has as HTML: mapping by execution, and the other maps of the cell."""

from __future__ import annotations

from html import escape

from tfinsight.records import Execution, MapCost, Run
from tfinsight.render import numbers, wording
from tfinsight.render.html_parts import draw_table, legend, mark, shades, with_code

EXECUTIONS: tuple[Execution, ...] = ("eager", "graph", "xla")


def grid(record: MapCost) -> str:
    """Returns mapping by execution as a table that is also a heat map."""
    cells: dict[str, dict[str, Run]] = {}
    for run in record.runs:
        cells.setdefault(run.mapping, {})[run.execution] = run
    columns = [name for name in EXECUTIONS if any(name in row for row in cells.values())]
    heats = shades(record)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(mapping)}</th>'
        + "".join(
            _cell(record, row[name], heats) if name in row else "<td></td>" for name in columns
        )
        + "</tr>"
        for mapping, row in cells.items()
    )
    caption = (
        f"Time of a call, speed-up against {escape(record.baseline)} with its 95 % interval, "
        f"peak memory, and how the result stands to the reference's.{legend(record)}"
    )
    return draw_table(("mapping", *columns), rows, caption, "tfi-grid")


def _cell(record: MapCost, run: Run, heats: dict[str, int]) -> str:
    result = escape(wording.row_result(record, run))
    timing, memory = run.timing, run.memory
    if run.status not in ("ok", "different") or timing is None:
        return f'<td class="tfi-unranked">{result}</td>'
    classes = [f"tfi-heat-{heats[run.strategy]}"] if run.strategy in heats else []
    classes += ["tfi-recommended"] if run.strategy == record.verdict.recommended else []
    classes += ["tfi-unranked"] if run.status == "different" else []
    speedup = "" if timing.speedup is None else f" {numbers.ratio(timing.speedup)}"
    spread = numbers.interval(timing.speedup_low, timing.speedup_high)
    peak = None if memory is None else memory.peak_bytes
    facts = [] if peak is None else [numbers.size(peak)]
    facts += [result, *([f"chunks of {numbers.count(run.chunk_size)}"] if run.chunk_size else [])]
    return (
        (f'<td class="{" ".join(classes)}">' if classes else "<td>")
        + f"<b>{mark(record, run)}{numbers.seconds(timing.median_s)}</b>{speedup}"
        + (f" <small>{spread}</small>" if spread else "")
        + f"<br><small>{', '.join(facts)}</small></td>"
    )


def first_calls(record: MapCost) -> str:
    """Returns first calls against steady state."""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(run.strategy)}</th><td>{numbers.seconds(run.timing.first_call_s)}</td>'
        f"<td>{numbers.seconds(run.timing.trace_s)}</td><td>{numbers.seconds(run.timing.compile_s)}</td>"
        f'<td>{numbers.seconds(run.timing.median_s)}</td><td class="tfi-words">'
        f"{wording.break_even(record, run)}</td></tr>"
        for run in record.runs
        if run.timing is not None
    )
    heads = (
        "strategy",
        "first call",
        "of it tracing",
        "of it compiling, about",
        "steady",
        "pays off",
    )
    return draw_table(heads, rows)


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
