"""Pieces of text that every report is made of: words and tables within 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80


def wrapped(words: str, hang: int = 0, indent: int = 0, width: int = WIDTH) -> list[str]:
    """Returns words as lines; `hang` is what later lines are indented by beyond the first."""
    return [
        line
        for part in words.splitlines()
        for line in textwrap.wrap(
            part,
            width,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=True,
            break_on_hyphens=False,
        )
    ]


def cut(text: str, width: int) -> str:
    """Returns text of at most `width` characters, with dots where it was longer."""
    return text if len(text) <= width else text[: width - 3] + "..."


def columns(rows: Sequence[Sequence[str]], right: Sequence[bool], indent: int) -> list[str] | None:
    """Returns rows of cells as lines with columns beneath each other, `None` where they are too wide.

    Args:
        rows: cells of one line each; the first row is the head.
        right: for each column whether it is set to the right, as numbers are.
        indent: spaces before each line.
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(right))]
    if indent + sum(widths) + 2 * (len(widths) - 1) > WIDTH:
        return None
    return [
        (
            " " * indent
            + "  ".join(
                f"{cell:>{width}}" if to_right else f"{cell:<{width}}"
                for cell, width, to_right in zip(row, widths, right, strict=True)
            )
        ).rstrip()
        for row in rows
    ]
