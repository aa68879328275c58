"""A report as widgets: what stands where, and what each control does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from html import escape
from typing import Any, Protocol

import ipywidgets

from tfinsight.records import GraphCompare, MapCost, Progress
from tfinsight.render import html, html_why, numbers, wording
from tfinsight.render.html_parts import soft, style
from tfinsight.render.live_controls import Controls, Words
from tfinsight.render.parts import EACH_ROW, Part, draw, parts_of
from tfinsight.render.progress import SeldomTold


class Face(Protocol):
    """What a live report needs of `report.Report`."""

    record: MapCost | GraphCompare

    @property
    def can_measure_longer(self) -> bool:
        """Whether there is something to measure again."""

    def rebased(self, baseline: str) -> Face:
        """Returns the report with speed-ups against another row."""

    def measure_longer(
        self, strategies: Any, seconds: float, progress: Progress | None = None
    ) -> None:
        """Times rows for longer, into the same report."""

    def save(self, path: str) -> None:
        """Writes the report to a file."""


class LiveView:
    """A report and its widgets; a control that is moved redraws what depends on it.

    Attributes:
        children: the widgets from top to bottom.
    """

    def __init__(self, report: Face) -> None:
        self._report = self._shown = report
        self._controls = controls = Controls(report.record, report.can_measure_longer)
        # One model of layout and one of style for all.
        self._plain = ipywidgets.Layout(), controls.says.style
        self._head, self._grid = self._html(), self._html()
        self._picture, self._reasons = self._html(), self._html()
        self._detail = self._html()
        self._parts: dict[str, Any] = {}
        self._drawn: set[str] = set()
        self._tabs = self._make_tabs()
        top = self._html()
        top.value = f"<style>{style()}</style>"
        self.children = [
            *(top, self._head, self._grid),
            *(controls.panel(), controls.says),
            *(self._picture, self._reasons, self._tabs),
        ]
        self._connect()
        self._redraw()

    def _html(self) -> Any:
        layout, look = self._plain
        return ipywidgets.HTML(layout=layout, style=look)

    def _make_tabs(self) -> Any:
        """Makes a tab for each part that the record has something of, and one for a chosen row."""
        record = self._report.record
        found = [part for part in parts_of(record) if draw(part, record, pictures=False)]
        children, titles = [], []
        for part in found:
            if part is EACH_ROW:
                children.append(ipywidgets.VBox([self._controls.detail, self._detail]))
                titles.append("A row")
            else:
                self._parts[part.title] = self._html()
                children.append(self._parts[part.title])
                titles.append(part.title)
        return ipywidgets.Tab(children, titles=titles, selected_index=0)

    def _connect(self) -> None:
        controls = self._controls
        for control, react in (
            (controls.baseline, self._choose_baseline),
            (controls.metric, self._redraw),
            (controls.axes, self._redraw),
            (controls.rows, self._redraw),
            (controls.detail, self._draw_detail),
        ):
            control.observe(self._guarded(react), "value")
        self._tabs.observe(self._guarded(self._draw_tab), "selected_index")
        controls.longer.on_click(self._guarded(self._measure_longer))
        controls.save.on_click(self._guarded(self._save))

    def _guarded(self, react: Callable[[], None]) -> Callable[[Any], None]:
        """Returns a handler that shows what went wrong: a front end would swallow it."""

        @functools.wraps(react)
        def handler(_: Any) -> None:
            try:
                react()
            except KeyboardInterrupt:
                self._say("Interrupted; what was measured until then is in the report.")
            except Exception as error:
                self._say(f"{type(error).__name__}: {error}")

        return handler

    def _say(self, words: str) -> None:
        self._controls.says.value = f'<span role="status">{escape(words)}</span>'

    def _choose_baseline(self) -> None:
        self._shown = self._report.rebased(self._controls.baseline.value)
        self._redraw()

    def _measure_longer(self) -> None:
        controls = self._controls
        timed = {
            run.strategy for run in self._report.record.runs if run.timing and run.timing.calls
        }
        rows = [row for row in controls.rows.value or controls.rows.options if row in timed]
        if not rows:
            self._say("Expected rows that were timed among the rows shown.")
            return
        controls.longer.disabled = True
        try:
            progress = SeldomTold(Words(self._say))
            self._report.measure_longer(rows, controls.seconds.value, progress)
            seconds = numbers.seconds(controls.seconds.value)
            self._say(f"Measured for {seconds} longer: {', '.join(rows)}.")
        finally:
            controls.longer.disabled = False
            self._choose_baseline()

    def _save(self) -> None:
        self._shown.save(self._controls.file.value)
        self._say(f"Saved to {self._controls.file.value}.")

    def _redraw(self) -> None:
        record, view = self._shown.record, self._controls.view()
        self._head.value = _report(html.head(record))
        self._grid.value = _report(html.grid(record, view), soft(wording.coverage_sentence(record)))
        self._picture.value = _report(html_why.picture(record, "pareto", view))
        self._reasons.value = _report(html.reasons(record))
        self._drawn.clear()
        self._draw_tab()
        self._draw_detail()

    def _draw_tab(self) -> None:
        """Draws the tab that is open, if that has not been done: pictures take their time."""
        index = self._tabs.selected_index
        title = "" if index is None else self._tabs.titles[index]
        if title in self._drawn or title not in self._parts:
            return
        part = next(part for part in parts_of(self._report.record) if part.title == title)
        self._parts[title].value = _report(self._drawn_part(part))
        self._drawn.add(title)

    def _drawn_part(self, part: Part) -> str:
        return draw(part, self._shown.record, self._controls.view())

    def _draw_detail(self) -> None:
        run = self._shown.record.run(self._controls.detail.value or "")
        self._detail.value = _report(html_why.one_row(self._shown.record, run) if run else "")


def _report(*pieces: str) -> str:
    """Returns pieces of a report in the element that the style sheet is about."""
    body = "\n".join(piece for piece in pieces if piece)
    return f'<div class="tfi-report">\n{body}\n</div>' if body else ""
