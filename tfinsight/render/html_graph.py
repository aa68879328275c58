"""What only a report of `graphcompare` has as HTML: its rows, the cell line by line, the evidence."""

from __future__ import annotations

from html import escape

from tfinsight.records import GraphCompare, LineFacts, Run, Timing
from tfinsight.render import numbers, wording
from tfinsight.render.evidence_run import after_the_cell, before_the_cell
from tfinsight.render.html_parts import folded_away, legend, mark, shades, with_code
from tfinsight.render.tables import Head, Section, Table
from tfinsight.render.wording_graph import first_call_parts, line_words

_COLUMNS = (
    "time",
    "speed-up",
    "result",
    "peak memory",
    "first call",
    "pays off",
    "cores",
)
_CELL_TITLE = "The cell, line by line"


def grid(record: GraphCompare) -> str:
    """Returns a line for each row: time, speed-up, memory, first call, when it pays off, result."""
    if not record.runs:
        return ""
    heat = shades(record)
    rows = "\n".join(_row(record, run, heat.get(run.strategy)) for run in record.runs)
    caption = (
        f"Time of a call in steady state, speed-up against {escape(record.baseline)} with its 95 % "
        "interval, peak memory, the first call, after how many calls that has paid for itself, "
        f"cores used, and how the result stands to the reference's.{legend(record)}"
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("row", *_COLUMNS))
    return _scrolling(
        f'<table class="tfi-rows">\n<caption>{caption}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def compiled(record: GraphCompare) -> str:
    """Returns what compiling did, each part folded away but for the first two."""
    parts = (
        *(_section(section, opened=True) for section in before_the_cell(record)),
        folded_away(_CELL_TITLE, _annotated(record.compiled.lines), opened=True),
        *(_section(section) for section in after_the_cell(record)),
    )
    body = "\n".join(part for part in parts if part)
    return f"<h3>What compiling did</h3>\n{body}" if body else ""


def _row(record: GraphCompare, run: Run, heat: int | None) -> str:
    timing, memory = run.timing, run.memory
    name = f'<tr><th scope="row">{mark(record, run)}{escape(run.strategy)}</th>'
    result = escape(wording.row_result(record, run))
    if run.status not in ("ok", "different") or timing is None:
        before, after = "<td></td>" * 2, "<td></td>" * (len(_COLUMNS) - 3)
        return f'{name}{before}<td class="tfi-unranked">{result}</td>{after}</tr>'
    return (
        f"{name}{_time(record, run, timing, heat)}<td>{_speed_up(timing)}</td><td>{result}</td>"
        f"<td>{numbers.size(memory.peak_bytes if memory else None)}</td><td>{_first_call(timing)}</td>"
        f'<td class="tfi-words">{wording.break_even(record, run) or numbers.NONE}</td>'
        f"<td>{numbers.count(timing.cores_used)}</td></tr>"
    )


def _time(record: GraphCompare, run: Run, timing: Timing, heat: int | None) -> str:
    classes = [f"tfi-heat-{heat}"] if heat is not None else []
    classes += ["tfi-recommended"] if run.strategy == record.verdict.recommended else []
    classes += ["tfi-unranked"] if run.status == "different" else []
    start = f'<td class="{" ".join(classes)}">' if classes else "<td>"
    return f"{start}<b>{numbers.seconds(timing.median_s)}</b></td>"


def _speed_up(timing: Timing) -> str:
    spread = numbers.interval(timing.speedup_low, timing.speedup_high)
    ratio = numbers.ratio(timing.speedup)
    return f"{ratio}<br><small>{spread}</small>" if spread else ratio


def _first_call(timing: Timing) -> str:
    whole, parts = numbers.seconds(timing.first_call_s), ",<br>".join(first_call_parts(timing))
    return f'{whole}<br><small class="tfi-parts">{parts}</small>' if parts else whole


def _annotated(lines: tuple[LineFacts, ...]) -> str:
    """Returns the cell as a table: number and text of each line, and what became of it."""
    if not lines:
        return ""
    shares = [
        (name, values)
        for name, values in (
            ("time", [line.time_share for line in lines]),
            ("peak", [line.peak_share for line in lines]),
        )
        if any(value is not None for value in values)
    ]
    heads = ("line", "code", "what became of it", *(f"share of {name}" for name, _ in shares))
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    rows = "\n".join(
        _line(line, [values[i] for _, values in shares]) for i, line in enumerate(lines)
    )
    caption = (
        "Shares are of the time of all kernels, and of the bytes at the peak, in the row graph."
    )
    return _scrolling(
        f'<table class="tfi-cell">\n<caption>{caption if shares else _CELL_TITLE}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


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


def _section(section: Section, opened: bool = False) -> str:
    said = "\n".join(f"<p>{with_code(words)}</p>" for words in section.said if words)
    flows = "\n".join(_flow(flow) for flow in section.flows)
    tables = "\n".join(_table(table) for table in section.tables if table.rows)
    body = "\n".join(part for part in (flows, said, tables) if part)
    return folded_away(section.title, body, opened)


def _flow(steps: tuple[str, ...]) -> str:
    """Returns a way from Python to kernels as a list, which styles draw as boxes with arrows."""
    row, *rest = steps
    items = "".join(f"<li>{escape(step)}</li>" for step in rest)
    return f'<ol class="tfi-flow"><li><b>row {escape(row)}</b></li>{items}</ol>'


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_class(head)}>{escape(head.name)}</th>' for head in table.heads
    )
    rows = "\n".join(_table_row(table.heads, row) for row in table.rows)
    return _scrolling(
        f'<table class="tfi-facts">\n<caption>{with_code(table.caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _table_row(heads: tuple[Head, ...], cells: tuple[str, ...]) -> str:
    first, *rest = (
        f"<code>{escape(cell)}</code>" if head.form == "code" else with_code(cell)
        for head, cell in zip(heads, cells, strict=True)
    )
    drawn = (f"<td{_class(head)}>{cell}</td>" for head, cell in zip(heads[1:], rest, strict=True))
    return f'<tr><th scope="row">{first}</th>{"".join(drawn)}</tr>'


def _class(head: Head) -> str:
    return ' class="tfi-figure"' if head.form == "figure" else ""


def _scrolling(table: str) -> str:
    return f'<div class="tfi-scroll">{table}</div>'
