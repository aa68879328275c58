"""Progress while measuring: a live box in a notebook, a line on a terminal, or nothing."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any

import ipywidgets

from tfinsight.records import GraphCompare, MapCost
from tfinsight.render.html import render_html

SHOWN_EVERY_S = 0.1
TERMINAL_AFTER_S = 1.0


class LiveReport(ipywidgets.VBox):
    """The box that shows the progress and then the report, one output of the cell for both."""

    children: Any

    def __init__(self) -> None:
        self._bar = ipywidgets.FloatProgress(min=0.0, max=1.0, layout={"width": "40%"})
        self._words = ipywidgets.Label("starting")
        self._shown_at = 0.0
        super().__init__([ipywidgets.HBox([self._bar, self._words])])
        self.add_class("tfi-live")

    def __repr__(self) -> str:
        return "LiveReport()"  # the same from run to run, for those who compare outputs

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Shows what is being done; seldom enough not to disturb what is measured."""
        now = time.monotonic()
        if now - self._shown_at < SHOWN_EVERY_S:
            return
        self._shown_at = now
        self._bar.value = done / total if total else 0.0
        self._words.value = f"{stage}: {detail}" if detail else stage

    def show(self, record: MapCost | GraphCompare) -> None:
        """Puts the report in the place of the progress."""
        self._replace([ipywidgets.HTML(render_html(record))])

    def clear(self) -> None:
        """Takes the box away, where there is nothing to show."""
        self._replace([])
        _close(self)

    def _replace(self, children: list[Any]) -> None:
        before = tuple(self.children)
        self.children = children
        for child in before:
            _close(child)


def _close(widget: Any) -> None:
    """Closes a widget, what it holds, and the models of layout and style that come with each."""
    for child in getattr(widget, "children", ()):
        _close(child)
    for part in (widget.layout, getattr(widget, "style", None)):
        if part is not None:
            part.close()
    widget.close()


class TerminalProgress:
    """One line on standard error, where that is a terminal, once measuring has taken a second."""

    def __init__(self) -> None:
        self._descriptor = _terminal()
        self._began = self._shown_at = time.monotonic()
        self._width = 0

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Shows what is being done."""
        now = time.monotonic()
        late = now - self._began >= TERMINAL_AFTER_S and now - self._shown_at >= SHOWN_EVERY_S
        if self._descriptor is None or not late:
            return
        self._shown_at = now
        part = f" {done}/{total}" if total > 1 else ""
        self._write(f"{stage}{part} {detail}".strip()[:78])

    def clear(self) -> None:
        """Wipes the line."""
        if self._descriptor is None:
            return
        if self._width:
            self._write("")
        os.close(self._descriptor)
        self._descriptor = None

    def _write(self, text: str) -> None:
        assert self._descriptor is not None
        with contextlib.suppress(
            OSError
        ):  # a terminal that went away must not stop the measurement
            os.write(self._descriptor, f"\r{text:<{self._width}}\r{text}".encode())
        self._width = len(text)


class NoProgress:
    """Shows nothing."""

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Does nothing."""

    def clear(self) -> None:
        """Does nothing."""


def _terminal() -> int | None:
    """Returns a descriptor of its own for the terminal, since output is redirected while measuring."""
    try:
        return os.dup(2) if sys.stderr.isatty() and os.isatty(2) else None
    except (OSError, ValueError, AttributeError):
        return None
