"""The live box of a notebook: progress, then the report with controls that do what they say."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import ipywidgets
import pytest
import sample_graph_records
from ipywidgets.widgets.widget import _instances
from sample_records import BASELINE_S, full, hostile

from tfinsight.records import Timing
from tfinsight.render.widgets import LiveReport
from tfinsight.report import Report, load

BOTH = pytest.mark.parametrize("make", [full, sample_graph_records.full], ids=["map", "graph"])


def shown(live):
    """Returns the values and words of the progress."""
    (line,) = live.children
    bar, words = line.children
    return bar.value, words.value


def controls(live):
    """Returns the controls by what stands beside them."""
    found = {}
    todo = [live]
    while todo:
        widget = todo.pop()
        todo += getattr(widget, "children", ())
        if name := getattr(widget, "description", ""):
            found[name] = widget
    return found


def page(live):
    """Returns all HTML of a live report."""
    todo, values = [live], []
    while todo:
        widget = todo.pop()
        todo += getattr(widget, "children", ())
        if isinstance(widget, ipywidgets.HTML):
            values.append(widget.value)
    return "\n".join(values)


def says(live):
    return next(w.value for w in live.children if "tfi-says" in w._dom_classes)


def test_the_box_is_marked_and_its_repr_is_constant():
    live = LiveReport()
    assert "tfi-live" in live._dom_classes
    assert repr(live) == repr(LiveReport()) == "LiveReport()"


def test_what_converters_show_of_the_box_is_nothing():
    html = LiveReport()._repr_mimebundle_()["text/html"]
    assert re.sub(r"<!--.*?-->", "", html).strip() == ""


def test_the_box_shows_what_is_done():
    live = LiveReport()
    live.update("timing", "map_fn/graph", 3, 4)
    assert shown(live) == (0.75, "timing 3 of 4: map_fn/graph")


def test_a_stage_without_steps_shows_its_name():
    live = LiveReport()
    live.update("preflight", "", 0, 0)
    assert shown(live) == (0.0, "preflight")


def test_within_a_budget_the_time_left_is_told_and_the_bar_never_goes_back(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    live, seen = LiveReport(budget_s=8.0), []
    for passed, stage, done in ((2.0, "first calls", 3), (5.5, "timing", 1), (9.0, "memory", 0)):
        now[0] = 100.0 + passed
        live.update(stage, "", done, 4)
        seen.append(shown(live))
    assert seen == [
        (0.25, "first calls 3 of 4 (up to 6 s left)"),
        (0.6875, "timing 1 of 4 (up to 3 s left)"),
        (1.0, "memory 0 of 4 (nearly done)"),
    ]


def test_updates_are_seldom_enough_not_to_disturb(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    live, sent = LiveReport(), []
    live.children[0].children[1].observe(lambda change: sent.append(change.new), "value")
    for step in range(1_000):
        now[0] += 0.001
        live.update("timing", f"call {step}", step, 1_000)
    assert 9 <= len(sent) <= 11


@BOTH
def test_the_report_takes_the_place_of_the_progress(make):
    live = LiveReport()
    (line,) = live.children
    live.show(Report(make()))
    assert line.comm is None
    assert live.comm is not None
    assert "tfi-verdict" in page(live)


def test_clearing_takes_the_box_away_with_all_its_models():
    live = LiveReport()
    (line,) = live.children
    bar, words = line.children
    live.clear()
    assert live.children == ()
    closed = (live, line, bar, words, bar.style, bar.layout, words.layout, line.layout, live.layout)
    assert [part for part in closed if part.comm is not None] == []


@BOTH
def test_a_live_report_has_few_models(make):
    before = len(_instances)
    live = Report(make()).live()
    assert len(_instances) - before < 60
    live.clear()
    assert len(_instances) == before


@BOTH
def test_every_control_works_without_a_complaint(make):
    live = Report(make()).live()
    for name, control in controls(live).items():
        for value in getattr(control, "options", ()):
            control.value = (value,) if isinstance(control, ipywidgets.SelectMultiple) else value
            assert says(live) == "", (name, value)
    tabs = live.children[-1]
    for index in range(len(tabs.children)):
        tabs.selected_index = index
        assert says(live) == ""
        assert page(tabs.children[index]), tabs.titles[index]


def test_another_baseline_changes_the_speed_ups():
    live = Report(full()).live()
    assert "<b>★ 847 µs</b> 461x" in page(live)
    controls(live)["Baseline"].value = "map_fn/graph"
    said = page(live)
    assert "speed-up against map_fn/graph" in said
    assert "<b>★ 847 µs</b> 12.0x" in said
    assert "461x" not in said


def test_the_metric_stands_first_and_shades():
    live = Report(full()).live()
    controls(live)["Shade by"].value = "peak memory"
    said = page(live)
    assert "<b>★ 352 KiB</b> 0.688x" in said
    assert "the more memory" in said
    assert re.search(r"tfi-heat-4[^>]*><b>767 KiB", said)


def test_the_first_call_as_metric():
    live = Report(sample_graph_records.full()).live()
    controls(live)["Shade by"].value = "first call"
    assert re.search(
        r'<td class="tfi-heat-\d[^"]*">\S+ m?s<br><small class="tfi-parts">', page(live)
    )


def test_rows_that_are_not_chosen_are_not_in_the_grid():
    live = Report(full()).live()
    controls(live)["Rows shown"].value = ("as-written", "batched/xla")
    grid = next(w.value for w in live.children if 'class="tfi-grid"' in getattr(w, "value", ""))
    assert re.findall(r'<th scope="row">([^<]*)</th>', grid) == ["as-written", "batched"]
    controls(live)["Rows shown"].value = ()
    grid = next(w.value for w in live.children if 'class="tfi-grid"' in getattr(w, "value", ""))
    assert "vectorized_map" in grid


def test_a_row_is_chosen_for_all_that_is_known_of_it():
    live = Report(full()).live()
    controls(live)["Detail of"].value = "loop/eager"
    said = page(live)
    assert "All that is known of <code>loop/eager</code>" in said
    assert "1,540" in said


def test_what_is_shown_is_saved(tmp_path):
    live = Report(full()).live()
    controls(live)["Baseline"].value = "map_fn/graph"
    controls(live)["File"].value = str(tmp_path / "shown.json")
    controls(live)["Save"].click()
    assert f"Saved to {tmp_path / 'shown.json'}." in says(live)
    assert load(tmp_path / "shown.json").record.baseline == "map_fn/graph"


def test_what_goes_wrong_is_said_as_text(tmp_path):
    live = Report(full()).live()
    controls(live)["File"].value = str(tmp_path / "<b>none" / "r.json")
    controls(live)["Save"].click()
    assert "FileNotFoundError" in says(live)
    assert "<b>" not in says(live)
    controls(live)["File"].value = str(tmp_path / "report.txt")
    controls(live)["Save"].click()
    assert "expected a path that ends in .json or .html" in says(live)


def test_a_loaded_report_has_nothing_to_measure_longer(tmp_path):
    Report(full()).save(tmp_path / "r.json")
    assert controls(load(tmp_path / "r.json").live())["Measure longer"].disabled


def test_measuring_longer_asks_for_the_rows_shown_and_redraws():
    asked = []

    def longer(record, strategies, seconds, progress):
        progress.update("timing", "all strategies in turn", 3, 12)
        asked.append((strategies, seconds))
        runs = tuple(
            replace(run, timing=Timing(first_call_s=1.0, median_s=BASELINE_S / 2, calls=1_000))
            if run.strategy == "as-written"
            else run
            for run in record.runs
        )
        return replace(record, runs=runs), False

    report = Report(full(), None, longer)
    live = report.live()
    controls(live)["Rows shown"].value = ("as-written", "loop/xla")
    controls(live)["Seconds"].value = 3.0
    controls(live)["Measure longer"].click()
    assert asked == [(["as-written"], 3.0)]
    assert report.record.run("as-written").timing.calls == 1_000
    assert "195 ms" in page(live)
    assert "Measured for 3.00 s longer: as-written." in says(live)
    assert not controls(live)["Measure longer"].disabled


def test_an_interrupt_while_measuring_longer_keeps_what_was_measured():
    report = Report(full(), None, lambda record, *_: (replace(record, notes=("cut",)), True))
    live = report.live()
    controls(live)["Measure longer"].click()
    assert "Interrupted" in says(live)
    assert report.record.notes == ("cut",)


def test_markup_in_names_stays_text(tmp_path):
    live = Report(hostile()).live()
    for index in range(len(live.children[-1].children)):
        live.children[-1].selected_index = index
    assert "<script" not in page(live)


def test_reports_in_a_file_are_those_of_the_box(tmp_path):
    report = Report(full())
    report.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text())["kind"] == "mapcost"
    assert page(load(tmp_path / "r.json").live()) == page(report.live())
