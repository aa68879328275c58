"""The report that users hold: saved and loaded the same, strict about what it reads."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace

import pytest
import sample_records as samples
from sample_records import full, hostile, interrupted, row, with_row

import tfinsight
from tfinsight.records import Agreement
from tfinsight.report import Report, load

SAMPLES = pytest.mark.parametrize("make", samples.SAMPLES, ids=lambda make: make.__name__)


@SAMPLES
def test_a_saved_report_loads_and_draws_the_same(make, tmp_path):
    report = Report(make())
    report.save(tmp_path / "r.json")
    again = tfinsight.load(str(tmp_path / "r.json"))
    assert again.record == report.record
    assert again.to_text() == report.to_text()
    assert again.to_html() == report.to_html()
    assert again.to_dict() == report.to_dict()


def test_the_dictionary_has_the_verdict_in_words():
    data = Report(full()).to_dict()
    assert data["schema"] == 1
    assert data["kind"] == "mapcost"
    assert data["verdict"]["sentence"].startswith("`chunked/xla` is 461x faster")
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_floats_that_json_lacks_survive(tmp_path):
    far = Agreement("different", float("inf"), float("-inf"), "no end")
    Report(with_row(full(), "batched/graph", agreement=far)).save(tmp_path / "r.json")
    assert load(tmp_path / "r.json").record.run("batched/graph").agreement == far


def test_a_name_that_is_no_unicode_survives(tmp_path):
    record = replace(full(), notes=("read \udce9t\udce9.npy",))
    Report(record).save(tmp_path / "r.json")
    Report(record).save(tmp_path / "r.html")
    assert load(tmp_path / "r.json").record == record


def test_a_page_is_saved_whole(tmp_path):
    Report(full()).save(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</html>\n")


@pytest.mark.parametrize("name", ["r.txt", "r", "json", "r.json.gz"])
def test_other_endings_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match=r"\.json or \.html"):
        Report(full()).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_missing_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing"):
        Report(full()).save(tmp_path / "missing" / "r.json")


def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    target = tmp_path / "r.json"
    Report(full()).save(target)
    before = target.read_text("utf-8")

    def full_disk(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        Report(interrupted()).save(target)
    assert target.read_text("utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_saved_file_has_the_users_usual_permissions(tmp_path):
    (tmp_path / "other").write_text("x")
    Report(full()).save(tmp_path / "r.json")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("other", "r.json")}
    assert len(modes) == 1


def changed(**fields):
    return json.dumps({**Report(full()).to_dict(), **fields})


FIRST_ROW = Report(full()).to_dict()["runs"][0]
DAMAGED = {
    "no JSON": ("{", "is no JSON file, or is damaged"),
    "another file": ('{"cells": []}', "no report of tfinsight"),
    "a list": ("[1, 2]", "no report of tfinsight"),
    "deep": ("[" * 100_000, "nested too deeply|no JSON"),
    "newer": (changed(schema=2), "schema 2 .* a newer tfinsight"),
    "no schema": (changed(schema=None), "schema None"),
    "an unknown field": (changed(extra=1), "unknown field 'extra'"),
    "a wrong type": (changed(reference=3), r"report\.reference: expected str"),
    "no rows": (changed(runs=None), r"report\.runs: expected a list"),
    "a status": (changed(runs=[{**FIRST_ROW, "status": "fine"}]), r"runs\[0\]\.status"),
    "a verdict": (
        changed(verdict={"fastest": [], "leanest": [], "recommended": "nobody/graph"}),
        "there is no row 'nobody/graph'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_no_report_is_refused_in_words(case, tmp_path):
    text, message = DAMAGED[case]
    path = tmp_path / "r.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "r.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="no JSON file"):
        load(tmp_path / "r.json")


def test_loading_runs_nothing_and_needs_no_tensorflow(tmp_path):
    Report(hostile()).save(tmp_path / "r.json")
    code = (
        "import sys, tfinsight; r = tfinsight.load(sys.argv[1]); r.to_text(); r.to_html();"
        "print('tensorflow' in sys.modules, 'IPython' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "r.json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]


def test_the_best_strategy_is_a_function():
    assert Report(full(), best=abs).best()(-3) == 3


def test_a_loaded_report_has_no_functions_and_says_where_the_code_is():
    with pytest.raises(RuntimeError, match=r"record\.run\('chunked/xla'\)\.code"):
        Report.from_dict(Report(full()).to_dict()).best()


def test_with_nothing_recommended_there_is_no_best():
    with pytest.raises(RuntimeError, match="no strategy was timed"):
        Report(interrupted(), best=abs).best()


def test_a_notebook_gets_text_and_static_html():
    report = Report(full())
    bundle = report._repr_mimebundle_(include=None, exclude=None)
    assert list(bundle) == ["text/plain", "text/html"]
    assert bundle["text/plain"] == report.to_text()
    assert bundle["text/html"] == f'<div class="tfi-static">{report.to_html()}</div>'


def test_ipython_takes_the_forms():
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(Report(full()))
    assert set(data) == {"text/plain", "text/html"}
    assert data["text/plain"].startswith("`chunked/xla` is 461x faster")


@SAMPLES
def test_its_repr_is_one_line(make):
    assert len(repr(Report(make())).splitlines()) == 1


def test_a_table_has_a_line_a_strategy_and_numbers_in_units():
    table = Report(full()).to_pandas()
    assert list(table.index) == [run.strategy for run in full().runs]
    assert table.loc["chunked/xla", "median_s"] == 0.000847
    assert table.loc["chunked/xla", "peak_bytes"] == 352 * 1024
    assert table.loc["batched/graph", "agreement"] == "different"
    assert table.loc["map_fn/xla", "kind"] == "InvalidArgumentError"
    assert table["median_s"].dtype == float
    assert not {"samples_s", "top", "timeline"} & set(table.columns)


def test_a_tables_columns_do_not_depend_on_what_was_measured():
    bare = Report(replace(full(), runs=(row("as-written"),))).to_pandas()
    assert list(bare.columns) == list(Report(full()).to_pandas().columns)


def test_endless_differences_stay_numbers_in_a_table():
    far = Agreement("different", float("inf"), 1.0)
    table = Report(with_row(full(), "batched/graph", agreement=far)).to_pandas()
    assert table.loc["batched/graph", "max_abs"] == float("inf")


def test_a_table_without_pandas_is_refused_in_words(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas, which is not installed"):
        Report(full()).to_pandas()
