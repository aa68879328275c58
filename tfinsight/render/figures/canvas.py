"""What all pictures share: a white ground, colours, axes with figures as reports write them.

Drawn without pyplot and under matplotlib's own defaults, so that neither the user's figures nor the
user's style and these pictures touch each other.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tfinsight.records import Comparison, Run
from tfinsight.render import numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AnyRecord = TypeVar("AnyRecord", bound=Comparison)

INK, GRID, FRONT, OTHER, WRONG = "#333333", "#dddddd", "#0b62b0", "#767676", "#b3401f"
WIDTH, DPI = 7.0, 110
SMALL = 8
# Told apart by dashes as well as by colour: colours of Okabe and Ito, darkened for white paper.
LINES = (
    ("#0b62b0", "-"),
    ("#b3401f", "--"),
    ("#00755a", "-."),
    ("#8a5a00", ":"),
    ("#8b3a72", (0, (5, 1, 1, 1, 1, 1))),
    ("#555555", (0, (1, 1))),
)
# Hinting takes a tenth of the time of drawing and changes next to nothing at this size.
UNHINTED: dict[str, Any] = {"text.hinting": "none"}
# Spans wider than this are drawn on a logarithmic axis.
LOG_FROM = 8.0
# Within spans below this, powers of ten alone are too few ticks.
SHORT = 150.0


@contextlib.contextmanager
def own_style() -> Iterator[None]:
    """Puts matplotlib's defaults in force, whatever style the user has set, until the block ends."""
    from matplotlib import style

    with style.context([UNHINTED], after_reset=True):
        yield


def blank(height: float) -> Figure:
    """Returns an empty figure of the common width; `height` is in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def to_png(figure: Figure) -> bytes:
    """Returns a figure as PNG, the same bytes for the same figure."""
    out = io.BytesIO()
    canvas: Any = figure.canvas
    # Half the time of the default level for a few percent more bytes.
    canvas.print_png(out, metadata={"Software": None}, pil_kwargs={"compress_level": 4})
    return out.getvalue()


def plain_axes(axes: Axes, across: str = "", up: str = "") -> None:
    """Draws a light grid and two spines, and names the axes."""
    axes.set_xlabel(across, color=INK)
    axes.set_ylabel(up, color=INK)
    axes.grid(color=GRID, lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=SMALL)


def scale(
    axes: Axes,
    which: str,
    values: Sequence[float],
    form: Callable[[float], str],
    logarithmic: bool | None = None,
) -> None:
    """Chooses a linear or logarithmic axis, with ticks as reports write such figures.

    Args:
        axes: where.
        which: `x` or `y`.
        values: all that is drawn along this axis.
        form: a figure as text.
        logarithmic: which of the two; `None` lets the span decide. An axis with 0 is linear.
    """
    from matplotlib.ticker import (
        FuncFormatter,
        LogLocator,
        MaxNLocator,
        MultipleLocator,
        NullLocator,
    )

    axis = axes.xaxis if which == "x" else axes.yaxis
    sizes = form is numbers.size
    wide = min(values) > 0 and max(values) / min(values) > LOG_FROM
    if min(values) > 0 and (wide if logarithmic is None else logarithmic):
        set_scale = axes.set_xscale if which == "x" else axes.set_yscale
        base = 2 if sizes else 10
        set_scale("log", base=base)
        short = max(values) / min(values) < SHORT
        axis.set_major_locator(LogLocator(base, (1.0, 2.0, 5.0) if short and not sizes else (1.0,)))
        axis.set_minor_locator(NullLocator())  # hundreds of unnamed ticks take their time
    elif sizes:  # they read well at multiples of powers of two
        axis.set_major_locator(MultipleLocator(2.0 ** round(math.log2(max(values) / 5 + 1))))
    else:
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))


def legend_above(axes: Axes, columns: int) -> None:
    """Draws the legend over the axes; names of rows are no formulas."""
    legend = axes.legend(
        frameon=False,
        fontsize=SMALL,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=columns,
        columnspacing=1.3,
        handletextpad=0.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def row_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Writes names of rows along the upright axis, the first on top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    for label in axes.get_yticklabels():
        label.set_parse_math(False)


def only(record: AnyRecord, strategies: Collection[str] | None) -> AnyRecord:
    """Returns the record with the rows that are shown."""
    if strategies is None:
        return record
    return replace(record, runs=tuple(r for r in record.runs if r.strategy in strategies))


def foremost(record: Comparison, runs: Sequence[Run], most: int) -> list[Run]:
    """Returns so many rows at most: baseline, recommended, fastest, leanest, then the others."""
    verdict = record.verdict
    first = (record.baseline, verdict.recommended, *verdict.fastest, *verdict.leanest)
    place = {name: i for i, name in reversed(list(enumerate(first)))}
    return sorted(runs, key=lambda run: place.get(run.strategy, len(first)))[:most]


def usable(value: float | None) -> bool:
    """Returns whether a figure can be drawn: a loaded report may hold any."""
    return value is not None and 0 < value < math.inf
