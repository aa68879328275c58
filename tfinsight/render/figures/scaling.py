"""Peak memory at other sizes: what more elements cost, and what smaller chunks save."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tfinsight.records import Comparison, MapCost
from tfinsight.render import numbers
from tfinsight.render.figures.canvas import LINES, legend_above, plain_axes, scale, usable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.6
MARKERS = ("o", "s", "^", "D", "v", "P")


class Series(NamedTuple):
    """One row's peaks.

    Attributes:
        strategy: the row.
        sizes: elements in all, or in a chunk, rising.
        peaks: bytes at each.
    """

    strategy: str
    sizes: tuple[int, ...]
    peaks: tuple[int, ...]


def by_elements(record: Comparison) -> list[Series]:
    """Returns peaks against the number of elements, the whole batch among them."""
    if not isinstance(record, MapCost):
        return []
    points = [
        (p.strategy, p.element_count, p.peak_bytes) for p in record.scaling if not p.chunk_size
    ]
    known = {strategy for strategy, _, _ in points}
    whole = record.workload.element_count
    points += [
        (run.strategy, whole, run.memory.peak_bytes)
        for run in record.runs
        if run.strategy in known and run.memory is not None
    ]
    return _series(record, points)


def by_chunk(record: Comparison) -> list[Series]:
    """Returns peaks against the number of elements in a chunk."""
    if not isinstance(record, MapCost):
        return []
    points = [(p.strategy, p.chunk_size, p.peak_bytes) for p in record.scaling if p.chunk_size]
    return _series(record, [(name, size or 0, peak) for name, size, peak in points])


def lacks(record: Comparison) -> str:
    """Returns what is missing for this picture, nothing where it can be drawn."""
    if by_elements(record) or by_chunk(record):
        return ""
    return (
        "no row was measured at two sizes" if isinstance(record, MapCost) else "nothing is mapped"
    )


def alt(record: Comparison) -> str:
    """Returns what the picture shows, in words."""
    said = [
        f"{row.strategy}: "
        + ", ".join(
            f"{numbers.size(peak)} {what.format(numbers.count(size))}"
            for size, peak in zip(row.sizes, row.peaks, strict=True)
        )
        for rows, what in (
            (by_elements(record), "at {} elements"),
            (by_chunk(record), "in chunks of {}"),
        )
        for row in rows
    ]
    return f"Peak memory at other sizes. {'; '.join(said)}."


def draw(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    """Draws peaks against elements, and against the size of a chunk beside it where that is known."""
    panels = [
        (rows, name)
        for rows, name in (
            (by_elements(record), "elements"),
            (by_chunk(record), "elements a chunk"),
        )
        if rows
    ]
    for column, (rows, name) in enumerate(panels):
        width = 0.87 / len(panels)
        left = 0.115 + column * (width + 0.055)
        axes = figure.add_axes((left, 0.135, width - 0.055 * (len(panels) - 1), 0.74))
        _panel(axes, rows, name, logarithmic)
        if column:
            axes.set_ylabel("")


def _panel(axes: Axes, rows: list[Series], name: str, logarithmic: bool | None) -> None:
    for row, (colour, dashes), marker in zip(rows, LINES, MARKERS, strict=False):
        axes.plot(
            row.sizes, row.peaks, color=colour, ls=dashes, marker=marker, ms=5, label=row.strategy
        )
    sizes = [float(size) for row in rows for size in row.sizes]
    peaks = [float(peak) for row in rows for peak in row.peaks]
    scale(axes, "x", sizes, numbers.count, logarithmic)
    scale(axes, "y", peaks, numbers.size, logarithmic)
    plain_axes(axes, name, "peak memory")
    legend_above(axes, 2)


def _series(record: Comparison, points: list[tuple[str, int, int | None]]) -> list[Series]:
    """Returns what has two sizes or more, by row in the report's order."""
    shown = [run.strategy for run in record.runs]
    rows = []
    for strategy in shown:
        own = sorted({(s, p) for name, s, p in points if name == strategy and p and usable(p)})
        if len({size for size, _ in own}) > 1:
            sizes, peaks = zip(*own, strict=True)
            rows.append(Series(strategy, sizes, peaks))
    return rows[: len(LINES)]
