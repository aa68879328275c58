"""Pieces of HTML that every report is made of: escaped text, tables, marks and shades."""

from __future__ import annotations

import math
from html import escape
from importlib import resources

from tfinsight.records import Comparison, Run

HEAT_STEPS = 5
# Columns of words; all others hold numbers.
_WORDS = ("status", "reason", "op", "tensor", "pays off")
_WORDS_CLASS = ' class="tfi-words"'


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


def draw_table(heads: tuple[str, ...], rows: str, caption: str = "", kind: str = "") -> str:
    """Returns a table with header cells, nothing where there are no rows."""
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col"{_WORDS_CLASS if name in _WORDS else ""}>{name}</th>' for name in heads
    )
    return (
        (f'<table class="{kind}">\n' if kind else "<table>\n")
        + (f"<caption>{caption}</caption>\n" if caption else "")
        + f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def mark(record: Comparison, run: Run) -> str:
    """Returns the sign of a row that is recommended or ties with the fastest."""
    if run.strategy == record.verdict.recommended:
        return "★ "
    tied = len(record.verdict.fastest) > 1 and run.strategy in record.verdict.fastest
    return "= " if tied else ""


def shades(record: Comparison) -> dict[str, int]:
    """Returns for each row how slow it is, in equal steps of the logarithm of its time."""
    times = {run.strategy: run.timing.median_s for run in record.runs if run.timing}
    logs = {
        name: math.log(time)
        for name, time in times.items()
        if time is not None and 0 < time < math.inf
    }
    if not logs:
        return {}
    low = min(logs.values())
    width = (max(logs.values()) - low) or 1.0
    return {
        name: min(HEAT_STEPS - 1, int(HEAT_STEPS * (log - low) / width))
        for name, log in logs.items()
    }


def legend(record: Comparison) -> str:
    """Returns what the signs and shades of the grid mean."""
    words = " ★ recommended." if record.verdict.recommended else ""
    if len(record.verdict.fastest) > 1:
        words += " = ties with the fastest."
    return words + " The stronger the shade, the slower."


def folded_away(title: str, body: str, opened: bool = False) -> str:
    """Returns a part that a click opens, nothing where it is empty."""
    if not body:
        return ""
    start = "<details open>" if opened else "<details>"
    return f"{start}<summary>{escape(title)}</summary>\n{body}\n</details>"
