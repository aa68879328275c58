"""Live bytes within one call: when the memory is taken, and when it is given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfinsight.records import Comparison, Memory, Run
from tfinsight.render import numbers
from tfinsight.render.figures.canvas import (
    LINES,
    foremost,
    legend_above,
    plain_axes,
    scale,
    usable,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 3.6
FRAME = (0.115, 0.135, 0.855, 0.72)
SHOWN = 4


def rows(record: Comparison) -> list[Run]:
    """Returns the rows that are drawn: those with a timeline, foremost first."""
    traced = [run for run in record.runs if run.memory is not None and _timeline(run.memory)]
    return foremost(record, traced, SHOWN)


def lacks(record: Comparison) -> str:
    """Returns what is missing for this picture, nothing where it can be drawn."""
    return "" if rows(record) else "no row's memory was traced"


def alt(record: Comparison) -> str:
    """Returns what the picture shows, in words."""
    said = []
    for run in rows(record):
        at_s, peak = _peak(run)
        whole = _timeline_of(run)[-1][0]
        part = numbers.percent(at_s / whole) if whole else numbers.NONE
        said.append(
            f"{run.strategy}: at most {numbers.size(peak)}, {part} into a traced call of "
            f"{numbers.seconds(whole)}{_of_how_many(run)}"
        )
    return f"Live bytes within one call. {'; '.join(said)}."


def draw(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    """Draws the live bytes of each row over its own call, the peak marked."""
    axes = figure.add_axes(FRAME)
    sizes = [1.0]
    for run, (colour, dashes) in zip(rows(record), LINES, strict=False):
        points = _timeline_of(run)
        whole = points[-1][0] or 1.0
        across = [100 * seconds / whole for seconds, _ in points]
        sizes += [float(size) for _, size in points]
        name = f"{run.strategy}, {numbers.seconds(whole)}{_of_how_many(run)}"
        drawn = axes.step(
            across,
            [size for _, size in points],
            where="post",
            color=colour,
            ls=dashes,
            lw=1.3,
            label=name,
        )
        drawn[0].set_rasterized(False)
        at_s, peak = _peak(run)
        axes.plot(100 * at_s / whole, peak, marker="v", ms=7, color=colour, zorder=3)
    if logarithmic:
        axes.set_yscale("symlog", base=2, linthresh=1024)
        scale_values = [size for size in sizes if size > 0]
    else:
        scale_values = [0.0, *sizes]
        axes.set_ylim(bottom=0)
    scale(axes, "y", scale_values, numbers.size, False if not logarithmic else None)
    axes.set_xlim(0, 100)
    plain_axes(axes, "share of the call, in percent", "live bytes (▼ peak)")
    legend_above(axes, 2)


def _timeline(memory: Memory) -> tuple[tuple[float, int], ...]:
    """Returns the points that can be drawn; a loaded report may hold any."""
    return tuple((s, b) for s, b in memory.timeline if (s == 0 or usable(s)) and b >= 0)


def _timeline_of(run: Run) -> tuple[tuple[float, int], ...]:
    assert run.memory is not None
    return _timeline(run.memory)


def _peak(run: Run) -> tuple[float, int]:
    return max(_timeline_of(run), key=lambda point: point[1])


def _of_how_many(run: Run) -> str:
    many = None if run.memory is None else run.memory.traced_elements
    return "" if many is None else f" with {numbers.many(many, 'element')} only"
