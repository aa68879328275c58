"""Markup in names, messages and source: seen as text, never run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sample_graph_records
import sample_records

from browser.axe import open_all
from browser.files import opened_file
from browser.lab import Notebook, opened
from browser.payloads import MARKUP, hostile, made_of_text
from tfinsight.report import Report

NAME = "hostile.ipynb"
CELLS = (
    "%load_ext tfinsight\nimport tensorflow as tf, tfinsight",
    'tfinsight.load("map.json")',
    'tfinsight.load("graph.json")',
    f"x = tf.reshape(tf.range(64.0), [16, 4])\nMARKUP = {MARKUP!r}",
    "%%mapcost --budget 2 -s map_fn,vectorized_map\n"
    "def shout(v):\n"
    "    if not tf.executing_eagerly():\n"
    f"        raise ValueError({MARKUP!r})\n"
    "    return v * 2.0\n"
    "shout.__name__ = shout.__qualname__ = MARKUP\n"
    "y = tf.map_fn(shout, x)",
    "%%graphcompare --budget 2 -s eager,graph --also refuse\n"
    "def refuse(*values):\n"
    f"    raise ValueError({MARKUP!r})\n"
    f"z = tf.reduce_sum(x * x) + tf.cast(tf.strings.length({MARKUP!r}), tf.float32)",
)
LOADED = {1: "mapcost", 2: "graphcompare"}
RUN = {4: "mapcost", 5: "graphcompare"}
RECORDS = pytest.mark.parametrize(
    "make", [sample_records.full, sample_graph_records.full], ids=["mapcost", "graphcompare"]
)


@pytest.fixture(scope="module")
def notebook(lab, browser) -> Iterator[Notebook]:
    Report(hostile(sample_records.full())).save(lab.notebooks / "map.json")
    Report(hostile(sample_graph_records.full())).save(lab.notebooks / "graph.json")
    lab.write(NAME, *CELLS)
    with opened(lab, browser, NAME) as notebook:
        notebook.run(*range(len(CELLS)))
        open_all(notebook.page, ".tfi-report")
        yield notebook
        lab.stop_kernels()


def test_what_looks_for_scripts_finds_them(browser, tmp_path):
    (tmp_path / "bad.html").write_text(f"<p>{MARKUP}</p>")
    with opened_file(browser, tmp_path / "bad.html") as bad:
        assert sorted(bad.page.evaluate("window.tfiRan")) == ["image", "script"]
        assert len(made_of_text(bad.page.locator("body"))) == 2


@RECORDS
def test_a_page_shows_markup_as_text(browser, pictures, tmp_path, make):
    Report(hostile(make())).save(tmp_path / "report.html")
    with opened_file(browser, tmp_path / "report.html") as opened_page:
        page = opened_page.page
        open_all(page, "body")
        page.screenshot(path=pictures / f"hostile-{make.__module__}.png", full_page=True)
        assert MARKUP in page.locator(".tfi-verdict").inner_text()
        assert made_of_text(page.locator("body")) == []
        assert page.evaluate("window.tfiRan") == []
        assert opened_page.requests == []
        assert opened_page.complaints == []


@pytest.mark.parametrize("index", LOADED, ids=LOADED.values())
def test_a_loaded_report_shows_markup_as_text(notebook, pictures, index):
    with notebook.whole(index):
        notebook.picture(pictures, f"hostile-loaded-{index}")
    report = notebook.cell(index).locator(".tfi-static")
    assert report.is_visible()
    assert MARKUP in report.locator(".tfi-verdict").text_content()
    assert made_of_text(report) == []


@pytest.mark.parametrize("index", RUN, ids=RUN.values())
def test_a_live_run_shows_markup_as_text(notebook, pictures, index):
    with notebook.whole(index):
        notebook.picture(pictures, f"hostile-run-{index}")
    live = notebook.cell(index).locator(".tfi-live")
    parts, seen = live.locator(".tfi-report"), ""
    for tab in live.get_by_role("tab").all():
        tab.click()
        notebook.page.wait_for_timeout(500)  # its part is drawn when it is opened
        seen += live.inner_text()
        assert [found for part in parts.all() for found in made_of_text(part)] == []
    assert "tfiRan.push('image')" in seen


def test_no_script_ran_in_the_notebook(notebook):
    assert notebook.ran() == []
    assert notebook.errors == []
