"""Progress: one box in a notebook, one line on a terminal, and silence elsewhere."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import ipywidgets
import pytest
import sample_graph_records
from sample_records import full

from tfinsight.render import widgets
from tfinsight.render.html import render_html
from tfinsight.render.widgets import LiveReport, NoProgress, TerminalProgress


def shown(live):
    """Returns the values and words of the box's parts."""
    (line,) = live.children
    bar, words = line.children
    return bar.value, words.value


def test_the_box_is_marked_and_its_repr_is_constant():
    live = LiveReport()
    assert "tfi-live" in live._dom_classes
    assert repr(live) == repr(LiveReport()) == "LiveReport()"


def test_the_box_shows_what_is_done():
    live = LiveReport()
    live.update("timing", "map_fn/graph", 3, 4)
    assert shown(live) == (0.75, "timing: map_fn/graph")


def test_a_stage_without_steps_shows_its_name():
    live = LiveReport()
    live.update("preflight", "", 0, 0)
    assert shown(live) == (0.0, "preflight")


def test_updates_are_seldom_enough_not_to_disturb(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    live, sent = LiveReport(), []
    live.children[0].children[1].observe(lambda change: sent.append(change.new), "value")
    for step in range(1_000):
        now[0] += 0.001
        live.update("timing", f"call {step}", step, 1_000)
    assert 9 <= len(sent) <= 11


@pytest.mark.parametrize("make", [full, sample_graph_records.full], ids=["map", "graph"])
def test_the_report_takes_the_place_of_the_progress(make):
    live = LiveReport()
    (line,) = live.children
    live.show(make())
    (report,) = live.children
    assert isinstance(report, ipywidgets.HTML)
    assert report.value == render_html(make())
    assert line.comm is None
    assert live.comm is not None


def test_clearing_takes_the_box_away_with_all_its_models():
    live = LiveReport()
    (line,) = live.children
    bar, words = line.children
    live.clear()
    assert live.children == ()
    closed = (live, line, bar, words, bar.style, bar.layout, words.layout, line.layout, live.layout)
    assert [part for part in closed if part.comm is not None] == []


def test_nothing_is_shown_where_there_is_no_terminal(capfd, monkeypatch):
    monkeypatch.setattr(widgets, "TERMINAL_AFTER_S", 0.0)
    monkeypatch.setattr(widgets, "SHOWN_EVERY_S", 0.0)
    for progress in (TerminalProgress(), NoProgress()):
        progress.update("timing", "map_fn/graph", 3, 4)
        progress.clear()
    assert capfd.readouterr() == ("", "")


TERMINAL = """
import os, sys
from tfinsight.render import widgets
widgets.TERMINAL_AFTER_S = float(sys.argv[1])
widgets.SHOWN_EVERY_S = 0.0
progress = widgets.TerminalProgress()
held = set(os.listdir("/proc/self/fd"))
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as while measuring
sys.stderr = open(os.devnull, "w")
progress.update("timing", "map_fn/graph", 3, 4)
progress.update("memory", "", 0, 1)
progress.clear()
progress.clear()
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
    assert "timing 3/4 map_fn/graph" in seen
    assert "\n" not in seen


def test_a_shorter_line_covers_a_longer_one(seen):
    assert screen(seen[: seen.rindex("memory") + len("memory")]) == "memory"


def test_clearing_wipes_the_line(seen):
    assert screen(seen) == ""


def test_a_short_measurement_shows_nothing_on_a_terminal():
    assert on_a_terminal(1_000.0)[0] == ""


def test_a_terminal_that_went_away_does_not_stop_the_measurement(monkeypatch):
    monkeypatch.setattr(widgets, "TERMINAL_AFTER_S", 0.0)
    monkeypatch.setattr(widgets, "SHOWN_EVERY_S", 0.0)
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(widgets, "_terminal", lambda: writing)
    progress = TerminalProgress()
    progress.update("timing", "map_fn/graph", 3, 4)
    progress.clear()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(writing)
