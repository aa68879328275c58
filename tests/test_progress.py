"""Progress outside of widgets: one line on a terminal, and silence elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import pytest

from tfinsight.render import progress
from tfinsight.render.progress import NoProgress, SeldomTold, TerminalProgress


def test_updates_are_passed_on_seldom_enough_not_to_disturb(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    told = []

    class Told:
        def update(self, *facts):
            told.append(facts)

    seldom = SeldomTold(Told())
    for step in range(1_000):
        now[0] += 0.001
        seldom.update("timing", "all", step, 1_000)
    assert 9 <= len(told) <= 11


def test_nothing_is_shown_where_there_is_no_terminal(capfd, monkeypatch):
    monkeypatch.setattr(progress, "TERMINAL_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "SHOWN_EVERY_S", 0.0)
    for shown in (TerminalProgress(), NoProgress()):
        shown.update("timing", "map_fn/graph", 3, 4)
        shown.clear()
    assert capfd.readouterr() == ("", "")


TERMINAL = """
import os, sys
from tfinsight.render import progress
progress.TERMINAL_AFTER_S = float(sys.argv[1])
progress.SHOWN_EVERY_S = 0.0
line = progress.TerminalProgress()
held = set(os.listdir("/proc/self/fd"))
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as while measuring
sys.stderr = open(os.devnull, "w")
line.update("timing", "map_fn/graph", 3, 4)
line.update("memory", "", 0, 1)
line.clear()
line.clear()
print(len(held) - len(os.listdir("/proc/self/fd")))
"""


def on_a_terminal(after_s):
    """Returns what appears on the terminal, and what the script prints."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-c", TERMINAL, str(after_s)], stdout=subprocess.PIPE, stderr=theirs, check=True
        )  # fmt: skip
        os.write(theirs, b"END")
        text = b""
        while not text.endswith(b"END"):
            text += os.read(ours, 4096)
    finally:
        os.close(ours)
        os.close(theirs)
    return text.decode().removesuffix("END"), done.stdout.decode().strip()


@pytest.fixture(scope="module")
def seen():
    return on_a_terminal(0.0)[0]


def screen(text):
    """Returns what a line of a terminal shows after `text`."""
    cells: list[str] = []
    at = 0
    for letter in text:
        if letter == "\r":
            at = 0
        else:
            cells[at : at + 1] = [letter]
            at += 1
    return "".join(cells).rstrip()


def test_the_terminals_line_survives_the_redirection(seen):
    assert "timing 3 of 4: map_fn/graph" in seen
    assert "\n" not in seen


def test_a_shorter_line_covers_a_longer_one(seen):
    assert screen(seen[: seen.rindex("memory") + len("memory")]) == "memory"


def test_clearing_wipes_the_line(seen):
    assert screen(seen) == ""


def test_a_short_measurement_shows_nothing_on_a_terminal():
    assert on_a_terminal(1_000.0)[0] == ""


def test_a_terminal_that_went_away_does_not_stop_the_measurement(monkeypatch):
    monkeypatch.setattr(progress, "TERMINAL_AFTER_S", 0.0)
    monkeypatch.setattr(progress, "SHOWN_EVERY_S", 0.0)
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(progress, "_terminal", lambda: writing)
    line = TerminalProgress()
    line.update("timing", "map_fn/graph", 3, 4)
    line.clear()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writing)
