"""Pictures of a report, as PNG: drawn without pyplot, so that the user's own figures stay as they are."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tfinsight.records import MapCost
from tfinsight.render import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

INK, GRID, FRONT, OTHER, WRONG = "#333333", "#dddddd", "#0b62b0", "#8a8a8a", "#b3401f"
LABELLED = 9
# Spans wider than this are drawn on a logarithmic axis.
LOG_FROM = 8.0
# Where a name may stand, in points from its row's marker.
PLACES = (
    (7, 5, "left"),
    (7, -11, "left"),
    (-7, 5, "right"),
    (-7, -11, "right"),
    (0, 12, "center"),
    (0, -18, "center"),
    (7, 16, "left"),
    (-7, 16, "right"),
)


class Point(NamedTuple):
    """A row with both figures."""

    strategy: str
    seconds: float
    peak_bytes: int
    ranked: bool


def points(record: MapCost) -> tuple[Point, ...]:
    """Returns the rows that were timed and whose memory is known."""
    return tuple(
        Point(run.strategy, run.timing.median_s, run.memory.peak_bytes, run.status == "ok")
        for run in record.runs
        if run.status in ("ok", "different")
        and run.timing is not None
        and run.timing.median_s is not None
        and run.memory is not None
        and run.memory.peak_bytes is not None
    )


def pareto_front(rows: tuple[Point, ...]) -> tuple[Point, ...]:
    """Returns the ranked rows that no other ranked row beats in both time and memory, by time."""
    ranked = sorted((p for p in rows if p.ranked), key=lambda p: (p.seconds, p.peak_bytes))
    front: list[Point] = []
    for point in ranked:
        if not front or point.peak_bytes < front[-1].peak_bytes:
            front.append(point)
    return tuple(front)


def pareto_alt(record: MapCost) -> str:
    """Returns what the picture shows, in words."""
    front = pareto_front(points(record))
    listed = "; ".join(
        f"{p.strategy}, {numbers.seconds(p.seconds)}, {numbers.size(p.peak_bytes)}" for p in front
    )
    return (
        f"Peak memory against time of {len(points(record))} strategies. Best trade-offs: {listed}."
    )


def pareto_png(record: MapCost) -> bytes | None:
    """Draws peak memory against time; the rows that nothing beats in both are joined by a line.

    Returns:
        A PNG, the same bytes for the same record; `None` with fewer than two rows to draw.
    """
    rows = points(record)
    if len(rows) < 2:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.9), dpi=110, facecolor="white", layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw(axes, rows)
    _label(axes, canvas, _labelled(record, rows))
    out = io.BytesIO()
    canvas.print_png(out, metadata={"Software": None})
    return out.getvalue()


def _draw(axes: Axes, rows: tuple[Point, ...]) -> None:
    front = pareto_front(rows)
    kinds = (
        (front, "o", FRONT, "nothing is both faster and leaner"),
        (tuple(p for p in rows if p.ranked and p not in front), "s", OTHER, "other strategies"),
        (tuple(p for p in rows if not p.ranked), "x", WRONG, "different result, not ranked"),
    )
    axes.step(
        [p.seconds for p in front], [p.peak_bytes for p in front], where="post", color=FRONT, lw=1.2
    )
    for group, marker, colour, name in kinds:
        if group:
            at = [p.seconds for p in group], [p.peak_bytes for p in group]
            axes.scatter(*at, marker=marker, color=colour, s=42, label=name, zorder=3)
    _scale(axes, "x", [p.seconds for p in rows], numbers.seconds)
    _scale(axes, "y", [float(p.peak_bytes) for p in rows], numbers.size)
    axes.margins(0.12, 0.16)
    axes.set_xlabel("time of a call: left is faster", color=INK)
    axes.set_ylabel("peak memory: down is leaner", color=INK)
    axes.grid(color=GRID, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=8)
    axes.legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _scale(axes: Axes, which: str, values: list[float], form: Callable[[float], str]) -> None:
    from matplotlib.ticker import FuncFormatter, MultipleLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    if which == "y":  # sizes read well at multiples of powers of two
        axis.set_major_locator(MultipleLocator(2.0 ** round(math.log2(max(values) / 5 + 1))))
    if min(values) > 0 and max(values) / min(values) > LOG_FROM:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))


def _labelled(record: MapCost, rows: tuple[Point, ...]) -> list[Point]:
    """Returns the rows that get a name in the picture: the front, the baseline, then the fastest."""
    front = pareto_front(rows)
    named = {record.baseline, record.reference, record.verdict.recommended}
    first = [p for p in rows if p in front or p.strategy in named]
    others = sorted((p for p in rows if p not in first and p.ranked), key=lambda p: p.seconds)
    return (first + others)[:LABELLED]


def _label(axes: Axes, canvas: FigureCanvasAgg, rows: list[Point]) -> None:
    """Writes names beside their points, each at the first place where it covers nothing."""
    canvas.draw()
    renderer = canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    places = [axes.transData.transform((p.seconds, p.peak_bytes)) for p in rows]
    taken = [_around(x, y) for x, y in places]
    for point in rows:
        for dx, dy, across in PLACES:
            text = axes.annotate(
                point.strategy,
                (point.seconds, point.peak_bytes),
                (dx, dy),
                textcoords="offset points",
                ha=across,
                fontsize=7.5,
                color=INK,
            )
            box = text.get_window_extent(renderer)
            inside = frame.containsx(box.x0) and frame.containsx(box.x1)
            inside = inside and frame.containsy(box.y0) and frame.containsy(box.y1)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def _around(x: float, y: float) -> Bbox:
    """Returns what a marker covers."""
    from matplotlib.transforms import Bbox

    return Bbox([[x - 6, y - 6], [x + 6, y + 6]])
