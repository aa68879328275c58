"""The live box of a notebook: it shows the progress and then the report, with controls."""

from __future__ import annotations

import time
from typing import Any

import ipywidgets

from tfinsight.render.live import Face, LiveView
from tfinsight.render.live_controls import close
from tfinsight.render.progress import SHOWN_EVERY_S, told

# What stands for the box where widgets aren't shown: the static report is another output.
_NOTHING = "<!-- The live report of tfinsight needs a running kernel. -->"


class LiveReport(ipywidgets.VBox):
    """The box that shows the progress and then the report, one output of the cell for both.

    Args:
        budget_s: seconds that measuring may take, or `None`; the bar then shows the stage alone.
    """

    children: Any

    def __init__(self, budget_s: float | None = None) -> None:
        self._budget_s = budget_s
        self._began = time.monotonic()
        self._bar = ipywidgets.FloatProgress(min=0.0, max=1.0, layout={"width": "40%"})
        self._words = ipywidgets.Label("starting")
        self._shown_at = 0.0
        self._view: LiveView | None = None
        super().__init__([ipywidgets.HBox([self._bar, self._words])])
        self.add_class("tfi-live")

    def __repr__(self) -> str:
        return "LiveReport()"  # the same from run to run, for those who compare outputs

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        # Converters that can't show widgets prefer HTML to the plain text, which says nothing.
        return bundle if bundle is None else {**bundle, "text/html": _NOTHING}

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Shows what is being done; seldom enough not to disturb what is measured."""
        now = time.monotonic()
        if now - self._shown_at < SHOWN_EVERY_S:
            return
        self._shown_at = now
        left_s = None if self._budget_s is None else self._budget_s - (now - self._began)
        self._words.value = told(stage, detail, done, total, left_s)
        share = done / total if total else 0.0
        if self._budget_s is not None:  # the stages follow each other, and the bar never goes back
            share = (now - self._began) / self._budget_s
        self._bar.value = min(1.0, max(self._bar.value, share))

    def show(self, report: Face) -> None:
        """Puts the report in the place of the progress."""
        self._view = LiveView(report)
        self._replace(self._view.children)

    def clear(self) -> None:
        """Takes the box away, where there is nothing to show."""
        self._replace([])
        close(self)

    def _replace(self, children: Any) -> None:
        before = tuple(self.children)
        self.children = children
        for child in before:
            close(child)
