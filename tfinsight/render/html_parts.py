"""Pieces of HTML that every report is made of: escaped text, tables, marks and shades."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape
from importlib import resources

from tfinsight.records import Comparison, Run
from tfinsight.render.tables import Head, Table
from tfinsight.render.view import MORE, View, figure_of

HEAT_STEPS = 5


def style() -> str:
    """Returns the style sheet."""
    return resources.files("tfinsight.render").joinpath("static/report.css").read_text("utf-8")


def with_code(text: str) -> str:
    """Escapes text, with what stands between backticks as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: nothing to pair
        return escape(text)
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def soft(words: str) -> str:
    """Returns a paragraph of words that matter less, nothing without words."""
    return f'<p class="tfi-soft">{with_code(words)}</p>' if words else ""


def code_block(code: str) -> str:
    """Returns code that one click selects whole, nothing where there is none."""
    if not code:
        return ""
    return f'<pre class="tfi-code" tabindex="0"><code>{escape(code)}</code></pre>'


def draw_rows(heads: Iterable[str], rows: Iterable[str], caption: str, kind: str) -> str:
    """Returns a table of rows that are HTML already, nothing where there are none.

    Args:
        heads: cells of the head, as HTML.
        rows: `<tr>` elements.
        caption: what the table shows, as HTML.
        kind: class of the table.
    """
    body = "\n".join(rows)
    if not body:
        return ""
    head = "".join(heads)
    # What is too wide scrolls, for the keyboard as well.
    return (
        f'<div class="tfi-scroll" tabindex="0"><table class="{kind}">\n'
        f"<caption><span>{caption}</span></caption>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def head_cells(names: Iterable[str]) -> list[str]:
    """Returns cells of a head."""
    return [f'<th scope="col">{escape(name)}</th>' for name in names]


def draw_table(table: Table) -> str:
    """Returns a table of text as HTML, nothing where there are no rows."""
    heads = (f'<th scope="col"{_class(head)}>{escape(head.name)}</th>' for head in table.heads)
    rows = (_row(table.heads, row) for row in table.rows)
    return draw_rows(heads, rows, with_code(table.caption), "tfi-facts")


def mark(record: Comparison, run: Run) -> str:
    """Returns the sign of a row that is recommended or ties with the fastest."""
    if run.strategy == record.verdict.recommended:
        return "★ "
    tied = len(record.verdict.fastest) > 1 and run.strategy in record.verdict.fastest
    return "= " if tied else ""


def shades(record: Comparison, view: View) -> dict[str, int]:
    """Returns for each row shown how large its figure is, in equal steps of the logarithm."""
    figures = {run.strategy: figure_of(run, view.metric) for run in view.runs(record)}
    logs = {name: math.log(value) for name, value in figures.items() if value is not None}
    if not logs:
        return {}
    low = min(logs.values())
    width = (max(logs.values()) - low) or 1.0
    return {
        name: min(HEAT_STEPS - 1, int(HEAT_STEPS * (log - low) / width))
        for name, log in logs.items()
    }


def cell_class(record: Comparison, run: Run, heats: dict[str, int]) -> str:
    """Returns the attribute of a cell that is shaded, recommended or not ranked."""
    names = [f"tfi-heat-{heats[run.strategy]}"] if run.strategy in heats else []
    names += ["tfi-recommended"] if run.strategy == record.verdict.recommended else []
    names += ["tfi-unranked"] if run.status != "ok" else []
    return f' class="{" ".join(names)}"' if names else ""


def legend(record: Comparison, view: View) -> str:
    """Returns what the signs and shades of the grid mean."""
    words = " ★ recommended." if record.verdict.recommended else ""
    if len(record.verdict.fastest) > 1:
        words += " = ties with the fastest."
    return f"{words} The stronger the shade, the {MORE[view.metric]}."


def folded_away(title: str, body: str, opened: bool = False) -> str:
    """Returns a part that a click opens, nothing where it is empty."""
    if not body:
        return ""
    start = "<details open>" if opened else "<details>"
    return f"{start}<summary>{escape(title)}</summary>\n{body}\n</details>"


def _row(heads: tuple[Head, ...], cells: tuple[str, ...]) -> str:
    first, *rest = (
        f"<code>{escape(cell)}</code>" if head.form == "code" else with_code(cell)
        for head, cell in zip(heads, cells, strict=True)
    )
    drawn = (f"<td{_class(head)}>{cell}</td>" for head, cell in zip(heads[1:], rest, strict=True))
    return f'<tr><th scope="row">{first}</th>{"".join(drawn)}</tr>'


def _class(head: Head) -> str:
    return ' class="tfi-figure"' if head.form == "figure" else ""
