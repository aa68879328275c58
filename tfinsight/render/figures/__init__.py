"""The pictures of a report, by name: a table, and what makes figures, PNGs and words of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple

from tfinsight.records import Comparison
from tfinsight.render.figures import break_even, grid, memory, pareto, scaling, stages
from tfinsight.render.figures.canvas import blank, only, own_style, to_png

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Kind(NamedTuple):
    """One kind of picture.

    Attributes:
        lacks: what a record lacks for it, as words; empty where it can be drawn.
        height: inches, of a record.
        draw: draws it into an empty figure; the last argument is as in `figure`.
        alt: says in words what it shows.
    """

    lacks: Callable[[Comparison], str]
    height: Callable[[Comparison], float]
    draw: Callable[[Figure, Comparison, bool | None], None]
    alt: Callable[[Comparison], str]


FIGURES: Mapping[str, Kind] = {
    "pareto": Kind(pareto.lacks, lambda _: pareto.HEIGHT, pareto.draw, pareto.alt),
    "grid": Kind(grid.lacks, grid.height, grid.draw, grid.alt),
    "break_even": Kind(
        break_even.lacks, lambda _: break_even.HEIGHT, break_even.draw, break_even.alt
    ),
    "memory": Kind(memory.lacks, lambda _: memory.HEIGHT, memory.draw, memory.alt),
    "scaling": Kind(scaling.lacks, lambda _: scaling.HEIGHT, scaling.draw, scaling.alt),
    "stages": Kind(stages.lacks, stages.height, stages.draw, stages.alt),
}


def figure(
    record: Comparison,
    kind: str,
    *,
    logarithmic: bool | None = None,
    strategies: Collection[str] | None = None,
) -> Figure:
    """Draws a picture.

    Args:
        record: what to draw.
        kind: a name of `FIGURES`.
        logarithmic: whether axes are logarithmic; `None` lets the span of the values decide.
        strategies: ids of the rows shown; `None` for all.

    Returns:
        a figure of matplotlib's, 7 inches wide, that belongs to no pyplot.

    Raises:
        ValueError: an unknown kind or row, or there is nothing to draw; the message says what is missing.
    """
    if kind not in FIGURES:
        raise ValueError(f"there is no picture `{kind}`; there are {', '.join(FIGURES)}")
    unknown = set(strategies or ()) - {run.strategy for run in record.runs}
    if isinstance(strategies, str) or unknown:
        named = strategies if isinstance(strategies, str) else ", ".join(sorted(unknown))
        raise ValueError(
            f"expected a list of rows, not `{named}`; "
            f"rows are {', '.join(run.strategy for run in record.runs)}"
        )
    shown = only(record, strategies)
    if missing := FIGURES[kind].lacks(shown):
        raise ValueError(f"there is nothing to draw as `{kind}`: {missing}")
    with own_style():
        drawn = blank(FIGURES[kind].height(shown))
        FIGURES[kind].draw(drawn, shown, logarithmic)
    return drawn


def png(
    record: Comparison,
    kind: str,
    *,
    logarithmic: bool | None = None,
    strategies: Collection[str] | None = None,
) -> bytes | None:
    """Returns a picture as PNG, the same bytes for the same record; `None` with nothing to draw."""
    if FIGURES[kind].lacks(only(record, strategies)):
        return None
    drawn = figure(record, kind, logarithmic=logarithmic, strategies=strategies)
    with own_style():
        return to_png(drawn)


def alt(record: Comparison, kind: str, *, strategies: Collection[str] | None = None) -> str:
    """Returns what a picture shows, in words with figures."""
    return FIGURES[kind].alt(only(record, strategies))


def available(record: Comparison) -> tuple[str, ...]:
    """Returns the kinds that have something to draw, in the table's order."""
    return tuple(name for name, kind in FIGURES.items() if not kind.lacks(record))
