"""Total time against number of calls: when a first call has paid for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfinsight.records import Comparison, Run, Timing
from tfinsight.render import numbers, wording
from tfinsight.render.figures.canvas import (
    INK,
    LINES,
    SMALL,
    foremost,
    legend_above,
    plain_axes,
    scale,
    usable,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.9
FRAME = (0.115, 0.125, 0.87, 0.76)
SHOWN = len(LINES)
# Calls up to which lines are drawn: some beyond the last crossing, within what anybody runs.
LEAST_CALLS, MOST_CALLS, BEYOND = 100, 1_000_000, 5


def rows(record: Comparison) -> list[Run]:
    """Returns the rows that are drawn: those that run right and have both times, foremost first."""
    timed = [
        run
        for run in record.runs
        if run.status == "ok"
        and run.timing is not None
        and usable(run.timing.first_call_s)
        and usable(run.timing.median_s)
    ]
    return foremost(record, timed, SHOWN)


def lacks(record: Comparison) -> str:
    """Returns what is missing for this picture, nothing where it can be drawn."""
    return "" if len(rows(record)) > 1 else "it takes two rows with a first call and a steady time"


def total_s(timing: Timing, calls: float) -> float:
    """Returns the seconds of so many calls, the first among them."""
    assert timing.first_call_s is not None
    assert timing.median_s is not None
    return timing.first_call_s + (calls - 1) * timing.median_s


def crossings(record: Comparison) -> dict[str, int]:
    """Returns row to the number of calls, the first included, at which it has paid for itself."""
    baseline = record.run(record.baseline)
    if baseline is None or baseline.timing is None:
        return {}
    return {
        run.strategy: calls + 1
        for run in rows(record)
        if run.timing is not None
        and run is not baseline
        and (calls := run.timing.break_even_calls(baseline.timing))
    }


def alt(record: Comparison) -> str:
    """Returns what the picture shows, in words."""
    said = [
        f"{run.strategy}: {numbers.seconds(run.timing.first_call_s)}, then "
        f"{numbers.seconds(run.timing.median_s)} a call"
        + (f", pays off {when}" if (when := wording.break_even(record, run)) else "")
        for run in rows(record)
        if run.timing is not None
    ]
    return f"Total time against number of calls, against {record.baseline}. {'; '.join(said)}."


def draw(figure: Figure, record: Comparison, logarithmic: bool | None) -> None:
    """Draws a line for each row, and marks where it crosses the baseline's."""
    axes = figure.add_axes(FRAME)
    crossed = crossings(record)
    last = max((*crossed.values(), LEAST_CALLS / BEYOND))
    most = int(min(MOST_CALLS, BEYOND * last))
    curved = logarithmic is not False
    calls = _calls(most) if curved else [1, most]
    totals: list[float] = []
    for run, (colour, dashes) in zip(rows(record), LINES, strict=False):
        timing = run.timing
        assert timing is not None
        times = [total_s(timing, n) for n in calls]
        totals += times
        axes.plot(calls, times, color=colour, ls=dashes, lw=1.6, label=run.strategy)
        if run.strategy in crossed and crossed[run.strategy] <= most:
            _mark(axes, crossed[run.strategy], timing, colour)
    scale(axes, "x", [float(n) for n in calls], _whole, curved)
    scale(axes, "y", totals, numbers.seconds, curved)
    plain_axes(axes, "calls, the first included", "time of all of them")
    legend_above(axes, 3)


def _mark(axes: Axes, calls: int, timing: Timing, colour: str) -> None:
    at = (calls, total_s(timing, calls))
    axes.plot(*at, marker="o", ms=6, color=colour, zorder=3)
    axes.annotate(
        _whole(calls),
        at,
        (6, -11),
        textcoords="offset points",
        fontsize=SMALL,
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )


def _calls(most: int) -> list[int]:
    """Returns numbers of calls in even steps of their logarithm."""
    steps = 60
    return sorted({round(most ** (i / steps)) for i in range(steps + 1)})


def _whole(value: float) -> str:
    return numbers.count(round(value))
