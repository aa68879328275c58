"""What only a report of `graphcompare` has as HTML: its rows, the cell line by line, the evidence."""

from __future__ import annotations

from html import escape

from tfinsight.records import GraphCompare, LineFacts, Run, Timing
from tfinsight.render import numbers, wording
from tfinsight.render.html_parts import (
    cell_class,
    draw_rows,
    draw_table,
    folded_away,
    head_cells,
    legend,
    mark,
    shades,
    with_code,
)
from tfinsight.render.tables import Section
from tfinsight.render.view import View
from tfinsight.render.wording_graph import first_call_parts, line_words

_COLUMNS = ("row", "time", "speed-up", "result", "peak memory", "first call", "pays off", "cores")


def grid(record: GraphCompare, view: View) -> str:
    """Returns a line for each row: time, speed-up, memory, first call, when it pays off, result."""
    heats = shades(record, view)
    caption = (
        f"Time of a call in steady state, speed-up against {escape(record.baseline)} with its 95 % "
        "interval, how the result stands to the reference's, peak memory, the first call, after how "
        f"many calls that has paid for itself, and cores used.{legend(record, view)}"
    )
    rows = (_row(record, run, view, heats) for run in view.runs(record))
    return draw_rows(head_cells(_COLUMNS), rows, caption, "tfi-rows")


def annotated(record: GraphCompare) -> str:
    """Returns the cell as a table: number and text of each line, and what became of it."""
    lines = record.compiled.lines
    shares = [
        (name, values)
        for name, values in (
            ("time", [line.time_share for line in lines]),
            ("peak", [line.peak_share for line in lines]),
        )
        if any(value is not None for value in values)
    ]
    heads = ("line", "code", "what became of it", *(f"share of {name}" for name, _ in shares))
    caption = "What became of each line in the row graph."
    if shares:
        caption += " Shares are of the time of all its kernels, and of the bytes at its peak."
    rows = [_line(line, [values[i] for _, values in shares]) for i, line in enumerate(lines)]
    return draw_rows(head_cells(heads), rows, caption, "tfi-cell")


def sections(parts: tuple[Section, ...]) -> str:
    """Returns parts of the evidence: one as it is, several folded away but for the first."""
    if len(parts) == 1:
        return _section(parts[0])
    return "\n".join(folded_away(part.title, _section(part), part is parts[0]) for part in parts)


def _row(record: GraphCompare, run: Run, view: View, heats: dict[str, int]) -> str:
    timing, memory = run.timing, run.memory
    name = f'<tr><th scope="row">{mark(record, run)}{escape(run.strategy)}</th>'
    result = escape(wording.row_result(record, run))
    if run.status not in ("ok", "different") or timing is None:
        before, after = "<td></td>" * 2, "<td></td>" * (len(_COLUMNS) - 4)
        return f'{name}{before}<td class="tfi-unranked">{result}</td>{after}</tr>'
    shaded = cell_class(record, run, heats)
    time, peak, first = (
        shaded if view.metric == metric else "" for metric in ("time", "peak memory", "first call")
    )
    return (
        f"{name}<td{time}><b>{numbers.seconds(timing.median_s)}</b></td>"
        f"<td>{_speed_up(timing)}</td><td>{result}</td>"
        f"<td{peak}>{numbers.size(memory.peak_bytes if memory else None)}</td>"
        f"<td{first}>{_first_call(timing)}</td>"
        f"<td>{wording.break_even(record, run) or numbers.NONE}</td>"
        f"<td>{numbers.count(timing.cores_used)}</td></tr>"
    )


def _speed_up(timing: Timing) -> str:
    spread = numbers.interval(timing.speedup_low, timing.speedup_high)
    ratio = numbers.ratio(timing.speedup)
    return f"{ratio}<br><small>{spread}</small>" if spread else ratio


def _first_call(timing: Timing) -> str:
    whole, parts = numbers.seconds(timing.first_call_s), ",<br>".join(first_call_parts(timing))
    return f'{whole}<br><small class="tfi-parts">{parts}</small>' if parts else whole


def _line(line: LineFacts, shares: list[float | None]) -> str:
    start = "<tr>" if line.part == "measured" else '<tr class="tfi-once">'
    return (
        f'{start}<th scope="row">{numbers.line(line.number)}</th><td><pre>{escape(line.text)}</pre></td>'
        f"<td>{escape(line_words(line))}</td>" + "".join(map(_bar, shares)) + "</tr>"
    )


def _bar(share: float | None) -> str:
    """Returns a cell with a share as a bar and, for all who can't see it, as a number."""
    if share is None:
        return "<td></td>"
    bar = f'<span class="tfi-bar" style="width:{numbers.css_percent(share)}"></span>'
    return (
        f'<td class="tfi-share">{numbers.percent(share)}<span class="tfi-track">{bar}</span></td>'
    )


def _section(section: Section) -> str:
    said = "\n".join(f"<p>{with_code(words)}</p>" for words in section.said if words)
    flows = "\n".join(_flow(flow) for flow in section.flows)
    tables = "\n".join(draw_table(table) for table in section.tables if table.rows)
    return "\n".join(part for part in (flows, said, tables) if part)


def _flow(steps: tuple[str, ...]) -> str:
    """Returns a way from Python to kernels as a list, which styles draw as boxes with arrows."""
    row, *rest = steps
    items = "".join(f"<li>{escape(step)}</li>" for step in rest)
    return f'<ol class="tfi-flow"><li><b>row {escape(row)}</b></li>{items}</ol>'
