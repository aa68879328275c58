"""Progress while measuring, outside of widgets: a line on a terminal, or nothing."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time

from tfinsight.records import Progress
from tfinsight.render import numbers

SHOWN_EVERY_S = 0.1
TERMINAL_AFTER_S = 1.0
LINE = 78


def told(stage: str, detail: str, done: int, total: int, left_s: float | None) -> str:
    """Returns in words what is being measured, how far it is, and how long it may still take.

    Args:
        stage: of measuring.
        detail: what is being worked on, or empty.
        done: steps of the stage that are done.
        total: steps of the stage; 1 where they aren't counted.
        left_s: seconds left of the budget; `None` where that is not known.
    """
    words = f"{stage} {done} of {total}" if total > 1 else stage
    words += f": {detail}" if detail else ""
    if left_s is None:
        return words
    left = f"up to {numbers.count(math.ceil(left_s))} s left" if left_s > 0 else "nearly done"
    return f"{words} ({left})"


class TerminalProgress:
    """One line on standard error, where that is a terminal, once measuring has taken a second."""

    def __init__(self, budget_s: float | None = None) -> None:
        self._descriptor = _terminal()
        self._budget_s = budget_s
        self._began = self._shown_at = time.monotonic()
        self._width = 0

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Shows what is being done."""
        now = time.monotonic()
        late = now - self._began >= TERMINAL_AFTER_S and now - self._shown_at >= SHOWN_EVERY_S
        if self._descriptor is None or not late:
            return
        self._shown_at = now
        left_s = None if self._budget_s is None else self._budget_s - (now - self._began)
        self._write(told(stage, detail, done, total, left_s)[:LINE])

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


class SeldomTold:
    """Passes on what is being done no more often than people can read, so as not to disturb it."""

    def __init__(self, told: Progress) -> None:
        self._told = told
        self._told_at = -math.inf

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Passes it on, or not."""
        now = time.monotonic()
        if now - self._told_at >= SHOWN_EVERY_S:
            self._told_at = now
            self._told.update(stage, detail, done, total)


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
