"""What a reader chose to see of a record: which rows, by which figure, on which axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from tfinsight.records import Comparison, Run

Metric = Literal["time", "peak memory", "first call"]
METRICS: tuple[Metric, ...] = ("time", "peak memory", "first call")
# What more of each is, in the words of a legend.
MORE = {"time": "slower", "peak memory": "more memory", "first call": "longer the first call"}


@dataclass(frozen=True, slots=True)
class View:
    """One way of looking at a record; the default is that of a saved report.

    Attributes:
        metric: the figure that shades the grid and stands first in it.
        logarithmic: whether pictures have logarithmic axes; `None` lets the span of values decide.
        strategies: ids of the rows shown; `None` for all.
    """

    metric: Metric = "time"
    logarithmic: bool | None = None
    strategies: frozenset[str] | None = None

    def runs(self, record: Comparison) -> tuple[Run, ...]:
        """Returns the rows that are shown, in the record's order."""
        return tuple(run for run in record.runs if self.shows(run.strategy))

    def shows(self, strategy: str) -> bool:
        """Returns whether a row is shown."""
        return self.strategies is None or strategy in self.strategies


DEFAULT = View()


def figure_of(run: Run | None, metric: Metric) -> float | None:
    """Returns a row's figure: seconds, or bytes for memory; `None` where it has none that is usable."""
    if run is None or run.status not in ("ok", "different"):
        return None
    value: float | None = None
    if metric == "peak memory":
        value = None if run.memory is None else run.memory.peak_bytes
    elif run.timing is not None:
        value = run.timing.median_s if metric == "time" else run.timing.first_call_s
    return value if value is not None and 0 < value < math.inf else None
