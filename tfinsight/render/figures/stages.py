"""What a first call consists of: tracing, optimizing, compiling, and what is left for running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfinsight.records import Comparison, GraphCompare, Run, Timing
from tfinsight.render import numbers
from tfinsight.render.figures.canvas import (
    INK,
    SMALL,
    legend_above,
    plain_axes,
    row_ticks,
    scale,
    usable,
)
from tfinsight.render.wording_graph import flows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BAR, MARGINS, LINE = 0.26, 1.15, 0.2
# Part, colour and hatching, in the order of what happens.
PARTS = (
    ("tracing", "#0b62b0", ""),
    ("optimizing", "#7fb2e0", "//"),
    ("compiling", "#e0a458", "xx"),
    ("the rest: running", "#d9d9d9", ""),
)


def rows(record: Comparison) -> list[Run]:
    """Returns the rows that are drawn: those whose first call traces something."""
    return [
        run
        for run in record.runs
        if run.timing is not None
        and run.timing.trace_s is not None
        and usable(run.timing.first_call_s)
    ]


def height(record: Comparison) -> float:
    """Returns the height in inches that the rows need."""
    return MARGINS + BAR * len(rows(record)) + LINE * len(_ways(record))


def lacks(record: Comparison) -> str:
    """Returns what is missing for this picture, nothing where it can be drawn."""
    return "" if rows(record) else "no row's first call traced anything"


def parts(timing: Timing) -> tuple[float, float, float, float]:
    """Returns the seconds of a first call by part, in the order of `PARTS`."""
    known = [
        value if value is not None and usable(value) else 0.0
        for value in (timing.trace_s, timing.optimize_s, timing.compile_s)
    ]
    whole = timing.first_call_s or 0.0
    return known[0], known[1], known[2], max(0.0, whole - sum(known))


def alt(record: Comparison) -> str:
    """Returns what the picture shows, in words."""
    said = [
        f"{run.strategy}: {numbers.seconds(run.timing.first_call_s)}, of it "
        + ", ".join(
            f"{numbers.seconds(seconds)} {name}"
            for seconds, (name, *_) in zip(parts(run.timing), PARTS, strict=True)
            if seconds
        )
        for run in rows(record)
        if run.timing is not None
    ]
    ways = (f"{way}." for way in _ways(record))
    return " ".join([f"What first calls consist of. {'; '.join(said)}.", *ways])


def draw(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    """Draws a bar for each row, and beneath them the way from Python to kernels with counts."""
    del logarithmic  # parts of a whole add up on a linear axis only
    shown = rows(record)
    ways = _ways(record)
    tall = height(record)
    below = (0.55 + LINE * len(ways)) / tall
    axes = figure.add_axes((0.235, below, 0.745, 1 - below - 0.36 / tall))
    starts = [0.0] * len(shown)
    for index, (name, colour, hatch) in enumerate(PARTS):
        widths = [parts(run.timing)[index] for run in shown if run.timing is not None]
        if any(widths):
            axes.barh(
                range(len(shown)),
                widths,
                left=starts,
                height=0.66,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=name,
            )
        starts = [start + width for start, width in zip(starts, widths, strict=True)]
    row_ticks(axes, [run.strategy for run in shown])
    scale(axes, "x", [0.0, *starts], numbers.seconds, logarithmic=False)
    plain_axes(axes, "first call")
    axes.grid(visible=False, axis="y")
    legend_above(axes, 4)
    for index, way in enumerate(reversed(ways)):
        y = (0.08 + LINE * index) / tall
        figure.text(0.012, y, way, fontsize=SMALL, color=INK, parse_math=False)


def _ways(record: Comparison) -> list[str]:
    """Returns the ways from Python to kernels, a sentence each."""
    if not isinstance(record, GraphCompare):
        return []
    return [f"{way[0]}: {' → '.join(way[1:])}" for way in flows(record) if len(way) > 2]
