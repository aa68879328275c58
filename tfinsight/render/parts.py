"""The parts of a report behind the verdict, grid and findings: each folds away, or is a tab."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tfinsight.records import Comparison, GraphCompare, MapCost
from tfinsight.render import html_graph, html_why
from tfinsight.render.evidence_run import backward, compiling
from tfinsight.render.html_why import picture
from tfinsight.render.view import DEFAULT, View


class Part(NamedTuple):
    """One part.

    Attributes:
        title: what it is about, short enough for a tab.
        draw: its HTML, empty where the record has nothing of it.
        pictures: kinds of picture that stand above that; see `figures.FIGURES`.
        opened: it is open in a saved report.
    """

    title: str
    draw: Callable[[Any], str]
    pictures: tuple[str, ...] = ()
    opened: bool = False


EACH_ROW = Part("Each row", html_why.each_row)
_FIRST_CALLS = Part("First calls", html_why.first_calls, ("break_even",))
_LAST = (
    EACH_ROW,
    Part("Messages", html_why.logs),
    Part("How to read this", html_why.method),
)
MAP_PARTS = (
    _FIRST_CALLS,
    Part("Memory", html_why.culprits, ("memory", "scaling")),
    *_LAST,
)
GRAPH_PARTS = (
    Part("Compiling", lambda record: html_graph.sections(compiling(record)), opened=True),
    Part("The cell, line by line", html_graph.annotated, opened=True),
    Part("Backward pass", lambda record: html_graph.sections(backward(record))),
    _FIRST_CALLS,
    Part("Memory", html_why.culprits, ("memory",)),
    *_LAST,
)


def parts_of(record: MapCost | GraphCompare) -> tuple[Part, ...]:
    """Returns the parts of a record's report, in their order."""
    return MAP_PARTS if isinstance(record, MapCost) else GRAPH_PARTS


def draw(part: Part, record: Comparison, view: View = DEFAULT, pictures: bool = True) -> str:
    """Returns a part as HTML, nothing where the record has nothing of it."""
    kinds = part.pictures if pictures else ()
    pieces = (*(picture(record, kind, view) for kind in kinds), part.draw(record))
    return "\n".join(piece for piece in pieces if piece)
