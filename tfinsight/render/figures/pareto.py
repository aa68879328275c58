"""Memory against time: which rows are worth a thought, since nothing is both faster and leaner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tfinsight.records import Comparison
from tfinsight.render import numbers
from tfinsight.render.figures.canvas import (
    FRONT,
    INK,
    OTHER,
    SMALL,
    WRONG,
    legend_above,
    plain_axes,
    scale,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

HEIGHT = 3.9
LABELLED = 14
# Left, bottom, width and height of the axes in the picture; room for the longest `1,000 KiB`.
FRAME = (0.115, 0.125, 0.87, 0.795)
# Where a name may stand, in points from its row's marker.
PLACES = (
    (7, 5, "left"),
    (7, -11, "left"),
    (-7, 5, "right"),
    (-7, -11, "right"),
    (0, 10, "center"),
    (0, -17, "center"),
    (16, 18, "left"),
    (16, -24, "left"),
    (-16, 18, "right"),
    (-16, -24, "right"),
    (24, 31, "left"),
    (24, -37, "left"),
)
# A name further away than this is tied to its marker by a line.
FAR = 17
# Names stand on the line of the front and beneath markers.
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
LEADER = {"arrowstyle": "-", "color": OTHER, "lw": 0.6, "shrinkA": 0, "shrinkB": 4}


class Point(NamedTuple):
    """A row with both figures."""

    strategy: str
    seconds: float
    peak_bytes: int
    ranked: bool


def points(record: Comparison) -> tuple[Point, ...]:
    """Returns the rows that were timed and whose memory is known."""
    return tuple(
        Point(run.strategy, run.timing.median_s, run.memory.peak_bytes, run.status == "ok")
        for run in record.runs
        if run.status in ("ok", "different")
        and run.timing is not None
        and run.timing.median_s is not None
        and 0 < run.timing.median_s < math.inf
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


def lacks(record: Comparison) -> str:
    """Returns what is missing for this picture, nothing where it can be drawn."""
    return "" if len(points(record)) > 1 else "it takes two rows with a time and a peak"


def alt(record: Comparison) -> str:
    """Returns what the picture shows, in words."""
    front = pareto_front(points(record))
    listed = "; ".join(
        f"{p.strategy}, {numbers.seconds(p.seconds)}, {numbers.size(p.peak_bytes)}" for p in front
    )
    return (
        f"Peak memory against time of {len(points(record))} strategies. Best trade-offs: {listed}."
    )


def draw(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    """Draws peak memory against time; the rows that nothing beats in both are joined by a line."""
    rows = points(record)
    axes = figure.add_axes(FRAME)
    _draw(axes, rows, record.verdict.recommended, logarithmic)
    _label(axes, figure.canvas, _labelled(record, rows), rows)


def _draw(
    axes: Axes, rows: tuple[Point, ...], recommended: str | None, logarithmic: bool | None
) -> None:
    front = pareto_front(rows)
    best = tuple(p for p in rows if p.strategy == recommended)
    other = tuple(p for p in rows if p.ranked and p not in front and p not in best)
    kinds = (
        (best, "*", FRONT, 150, "recommended"),
        (tuple(p for p in front if p not in best), "o", FRONT, 42, "nothing is faster and leaner"),
        (other, "s", OTHER, 36, "other strategies"),
        (tuple(p for p in rows if not p.ranked), "x", WRONG, 42, "different result, not ranked"),
    )
    axes.step(
        [p.seconds for p in front], [p.peak_bytes for p in front], where="post", color=FRONT, lw=1.2
    )
    for group, marker, colour, area, name in kinds:
        if group:
            at = [p.seconds for p in group], [p.peak_bytes for p in group]
            axes.scatter(*at, marker=marker, color=colour, s=area, label=name, zorder=3)
    scale(axes, "x", [p.seconds for p in rows], numbers.seconds, logarithmic)
    scale(axes, "y", [float(p.peak_bytes) for p in rows], numbers.size, logarithmic)
    axes.margins(0.12, 0.16)
    plain_axes(axes, "time of a call: left is faster", "peak memory: down is leaner")
    legend_above(axes, 4)


def _labelled(record: Comparison, rows: tuple[Point, ...]) -> list[Point]:
    """Returns the rows that get a name in the picture: the front, the baseline, then the fastest."""
    front = pareto_front(rows)
    named = {record.baseline, record.reference, record.verdict.recommended}
    first = [p for p in rows if p in front or p.strategy in named or not p.ranked]
    others = sorted((p for p in rows if p not in first), key=lambda p: p.seconds)
    return (first + others)[:LABELLED]


def _label(axes: Axes, canvas: Any, named: list[Point], rows: tuple[Point, ...]) -> None:
    """Writes names beside their points, each at the first place where it covers nothing."""
    from matplotlib.font_manager import FontProperties

    axes.autoscale_view()  # places are known from here on
    font = FontProperties(size=SMALL)
    renderer = canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    pixels = renderer.points_to_pixels(1.0)
    taken = [_around(*axes.transData.transform((p.seconds, p.peak_bytes))) for p in rows]
    _, tall, deep = renderer.get_text_width_height_descent("lp", font, ismath=False)
    front = pareto_front(rows)
    for point in named:
        width, _, _ = renderer.get_text_width_height_descent(point.strategy, font, ismath=False)
        at = axes.transData.transform((point.seconds, point.peak_bytes))
        for dx, dy, across in PLACES:
            box = _box(at[0] + dx * pixels, at[1] + dy * pixels, across, (width, tall, deep))
            if _holds(frame, box) and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                axes.annotate(
                    point.strategy,
                    (point.seconds, point.peak_bytes),
                    (dx, dy),
                    textcoords="offset points",
                    ha=across,
                    fontproperties=font,
                    color=FRONT if point in front else INK,
                    arrowprops=LEADER if abs(dy) > FAR and dx else None,
                    parse_math=False,
                    bbox=CLEAR,
                    zorder=2.5,
                )
                break


def _box(x: float, y: float, across: str, size: tuple[float, float, float]) -> Bbox:
    """Returns what a text covers: width, height and depth in pixels, its baseline at `y`."""
    from matplotlib.transforms import Bbox

    width, height, depth = size
    left = x - width * {"left": 0.0, "center": 0.5, "right": 1.0}[across]
    return Bbox([[left, y - depth], [left + width, y - depth + height]])


def _holds(frame: Bbox, box: Bbox) -> bool:
    across = frame.x0 <= box.x0 and box.x1 <= frame.x1
    return bool(across and frame.y0 <= box.y0 and box.y1 <= frame.y1)


def _around(x: float, y: float) -> Bbox:
    """Returns what a marker covers."""
    from matplotlib.transforms import Bbox

    return Bbox([[x - 6, y - 6], [x + 6, y + 6]])
