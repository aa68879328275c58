"""The rows at a glance: mapping by execution as a heat map, or the executions as bars."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfinsight.records import Comparison, MapCost, Run
from tfinsight.render import numbers, wording
from tfinsight.render.figures.canvas import (
    FRONT,
    INK,
    OTHER,
    SMALL,
    plain_axes,
    row_ticks,
    scale,
    usable,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXECUTIONS = ("eager", "graph", "xla")
CELL, BAR, MARGINS = 0.46, 0.34, 0.8
# From fast to slow, light enough for dark words on all of them.
SHADES = ("#f5f9ff", "#e1edff", "#c8deff", "#abccff", "#8cb8ff")
NO_SHADE = "#f0f0f0"


def lacks(record: Comparison) -> str:
    """Returns what is missing for this picture, nothing where it can be drawn."""
    return "" if any(map(_seconds, record.runs)) else "no row was timed"


def height(record: Comparison) -> float:
    """Returns the height in inches that the rows need."""
    if isinstance(record, MapCost):
        return MARGINS + CELL * len(_mappings(record))
    return MARGINS + BAR * len(record.runs)


def alt(record: Comparison) -> str:
    """Returns what the picture shows, in words."""
    said = "; ".join(f"{run.strategy}: {_words(record, run, ', ')}" for run in record.runs)
    return f"Time of a call and speed-up against {record.baseline}. {said}."


def draw(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    """Draws mapping by execution for maps, and for other code a bar for each row."""
    if isinstance(record, MapCost):
        _heat_map(figure, record)
    else:
        _bars(figure, record, logarithmic)


def _heat_map(figure: Figure, record: MapCost) -> None:
    from matplotlib.patches import Rectangle

    mappings = _mappings(record)
    executions = [name for name in EXECUTIONS if any(r.execution == name for r in record.runs)]
    tall = height(record)
    axes = figure.add_axes((0.19, 0.3 / tall, 0.795, 1 - 0.7 / tall))
    for run in record.runs:
        x, y = executions.index(run.execution), mappings.index(run.mapping)
        best = run.strategy == record.verdict.recommended
        axes.add_patch(
            Rectangle(
                (x - 0.49, y - 0.46),
                0.98,
                0.92,
                facecolor=_shade(record, run),
                edgecolor=FRONT if best else "white",
                linewidth=2 if best else 0,
            )
        )
        words = ("★ " if best else "") + _words(record, run, "\n")
        axes.text(
            x, y, words, ha="center", va="center", fontsize=SMALL, color=INK, parse_math=False
        )
    axes.set_xlim(-0.5, len(executions) - 0.5)
    axes.set_ylim(-0.5, len(mappings) - 0.5)
    axes.set_xticks(range(len(executions)), executions)
    axes.xaxis.tick_top()
    row_ticks(axes, mappings)
    axes.tick_params(length=0, colors=INK, labelsize=9)
    axes.spines[:].set_visible(False)
    said = f"time of a call, and speed-up against {record.baseline}"
    figure.text(0.19, 0.08 / tall, said, fontsize=SMALL, color=INK, parse_math=False)


def _bars(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    tall = height(record)
    axes = figure.add_axes((0.235, 0.5 / tall, 0.745, 1 - 0.6 / tall))
    times = [_seconds(run) for run in record.runs]
    known = [time for time in times if time]
    scale(
        axes, "x", [0.0, *known] if not logarithmic else known, numbers.seconds, bool(logarithmic)
    )
    for y, (run, time) in enumerate(zip(record.runs, times, strict=True)):
        best = run.strategy == record.verdict.recommended
        axes.barh(y, time, height=0.62, color=FRONT if best else OTHER)
        _interval(axes, y, run)
        words = ("★ " if best else "") + _words(record, run, ", ")
        axes.annotate(
            words,
            (_end(run), y),
            (5, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=INK,
            parse_math=False,
        )
    row_ticks(axes, [run.strategy for run in record.runs])
    plain_axes(axes, "time of a call, with the 95 % interval of its median")
    axes.grid(visible=False, axis="y")
    low, high = axes.get_xlim()
    # Room for the words of the longest bar.
    axes.set_xlim(low, high * (high / low) ** 0.4 if logarithmic else high * 1.45)


def _interval(axes: Axes, y: int, run: Run) -> None:
    low, high = (run.timing.low_s, run.timing.high_s) if run.timing is not None else (None, None)
    if low is None or high is None or not (usable(low) and usable(high)):
        return
    axes.plot([low, high], [y, y], color=INK, lw=1.2, marker="|", ms=7)


def _end(run: Run) -> float:
    high = run.timing.high_s if run.timing is not None else None
    return max(_seconds(run), high if high is not None and usable(high) else 0.0)


def _mappings(record: MapCost) -> list[str]:
    return list(dict.fromkeys(run.mapping for run in record.runs))


def _seconds(run: Run) -> float:
    """Returns a row's time, 0 where it has none that can be drawn."""
    time = run.timing.median_s if run.timing is not None else None
    return time if time is not None and usable(time) and run.status in ("ok", "different") else 0.0


def _words(record: Comparison, run: Run, between: str) -> str:
    time = _seconds(run)
    if not time or run.timing is None:
        return wording.row_result(record, run)
    said = [numbers.seconds(time)]
    if usable(run.timing.speedup):
        said.append(numbers.ratio(run.timing.speedup))
    if run.status == "different":
        said.append("different result")
    return between.join(said) if between != "\n" else f"{said[0]}\n{', '.join(said[1:])}".strip()


def _shade(record: Comparison, run: Run) -> str:
    logs = [math.log(time) for other in record.runs if (time := _seconds(other))]
    if not _seconds(run):
        return NO_SHADE
    low, high = min(logs), max(logs)
    step = int(len(SHADES) * (math.log(_seconds(run)) - low) / ((high - low) or 1.0))
    return SHADES[min(len(SHADES) - 1, step)]
