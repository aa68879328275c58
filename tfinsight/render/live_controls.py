"""The controls of a live report: core widgets only, which every front end shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from tfinsight.records import GraphCompare, MapCost
from tfinsight.render.view import METRICS, View

AXES: dict[str, bool | None] = {"automatic": None, "linear": False, "logarithmic": True}
SECONDS = 10.0
_ROWS_TALL = 4


class Controls:
    """What a reader can choose, press and type; `LiveView` says what that does.

    Attributes:
        baseline: the row that speed-ups refer to.
        metric: the figure that shades the grid.
        axes: linear or logarithmic pictures.
        rows: the rows shown, and measured longer.
        detail: the row whose facts are all shown.
        seconds: how long to measure.
        longer: measures the rows for so long.
        file: path to save to.
        save: saves the report.
        says: what became of the latest request.
    """

    def __init__(self, record: MapCost | GraphCompare, can_measure: bool) -> None:
        # One model of layout and one of style for all that look alike: each is sent to the browser.
        self._wide = ipywidgets.Layout(width="16.5rem", max_width="100%")
        self._named = {"description_width": "5rem"}
        ids = [run.strategy for run in record.runs]
        timed = [run.strategy for run in record.runs if run.timing and run.timing.median_s]
        timed = timed if record.baseline in timed else [record.baseline, *timed]
        self.baseline = self._dropdown("Baseline", timed, record.baseline)
        self.metric = self._dropdown("Shade by", METRICS, View().metric)
        self.axes = self._dropdown("Axes", AXES, "automatic")
        self.rows = ipywidgets.SelectMultiple(
            description="Rows shown",
            options=ids,
            value=ids,
            rows=_ROWS_TALL,
            layout=self._wide,
            style=self.baseline.style,
            tooltip="With Ctrl or Shift, choose several",
        )
        best = record.verdict.recommended
        self.detail = self._dropdown("Detail of", ids, best if best in ids else None)
        self.seconds = ipywidgets.BoundedFloatText(
            description="Seconds",
            value=SECONDS,
            min=0.1,
            max=3600.0,
            step=5.0,
            layout=ipywidgets.Layout(width="9.5rem"),
            style=self.baseline.style,
        )
        narrow = ipywidgets.Layout(width="auto", align_self="flex-start")
        self.longer = _button("Measure longer", narrow, "Times the rows shown for longer")
        self.longer.disabled = not can_measure
        self.file = ipywidgets.Text(
            description="File",
            value=f"{record.kind}.json",
            continuous_update=False,
            layout=self._wide,
            style=self._named,
        )
        self.save = _button("Save", narrow, "Saves the report as .json or .html")
        self.says = ipywidgets.HTML(layout=self._wide)
        self.says.add_class("tfi-says")

    def panel(self) -> Any:
        """Returns all controls but the choice of a row as one box."""
        box = ipywidgets.VBox
        row = ipywidgets.HBox
        looks = box([self.baseline, self.metric, self.axes])
        measuring = row([self.seconds, self.longer])
        files = box([measuring, self.file, self.save])
        panel = row([looks, self.rows, files], layout=ipywidgets.Layout(flex_flow="row wrap"))
        panel.add_class("tfi-controls")
        return panel

    def view(self) -> View:
        """Returns what is chosen."""
        chosen = frozenset(self.rows.value)
        everything = not chosen or len(chosen) == len(self.rows.options)
        return View(
            metric=self.metric.value,
            logarithmic=AXES[self.axes.value],
            strategies=None if everything else chosen,
        )

    def _dropdown(self, name: str, options: Any, value: Any) -> Any:
        return ipywidgets.Dropdown(
            description=name,
            options=list(options),
            value=value,
            layout=self._wide,
            style=self.baseline.style if hasattr(self, "baseline") else self._named,
        )


class Words:
    """Tells the progress of measuring longer in words."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Shows what is being done."""
        part = f" {done} of {total} rounds" if total > 1 else ""
        self._say(f"{stage}{part}: {detail}" if detail else f"{stage}{part}")


def _button(name: str, layout: Any, tooltip: str) -> Any:
    return ipywidgets.Button(description=name, layout=layout, tooltip=tooltip)


def close(widget: Any) -> None:
    """Closes a widget, what it holds, and the models of layout and style that come with each."""
    for child in getattr(widget, "children", ()):
        close(child)
    for part in (widget.layout, getattr(widget, "style", None)):
        if part is not None:
            part.close()
    widget.close()
