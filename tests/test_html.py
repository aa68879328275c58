"""The HTML form: whole without script, network or styles; every string escaped; a picture in words."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import sample_graph_records as graph_samples
import sample_records as samples
from sample_records import (
    HOSTILE,
    failed_baseline,
    full,
    hostile,
    interrupted,
    no_elements,
    recommending,
    with_row,
)

from tfinsight.render import figures
from tfinsight.render.html import render_html, render_page
from tfinsight.render.text import verdict_sentence

SAMPLES = pytest.mark.parametrize("make", samples.SAMPLES, ids=lambda make: make.__name__)
ALL_KINDS = pytest.mark.parametrize(
    "make",
    [*samples.SAMPLES, *graph_samples.SAMPLES],
    ids=lambda make: f"{make.__module__}.{make.__name__}",
)
VOID = {"br", "img", "meta"}


class Page(HTMLParser):
    """Reads HTML and notes its tags, whether they nest, and its words without styles.

    The text form inside, which shows where styles are stripped, is left out.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.in_text_form = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.in_text_form |= dict(attrs).get("class") == "tfi-text"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open}"
        self.open.pop()
        self.in_text_form &= "pre" in self.open

    def handle_data(self, data):
        if "style" not in self.open and not self.in_text_form:
            self.words.append(data)

    def all(self, *tags):
        return [attributes for tag, attributes in self.tags if tag in tags]


def plain(text):
    return " ".join("".join(Page(text).words).split())


@ALL_KINDS
@pytest.mark.parametrize("draw", [render_html, render_page])
def test_the_markup_nests_and_is_the_same_each_time(make, draw):
    html = draw(make())
    assert Page(html).open == []
    assert draw(make()) == html


@ALL_KINDS
def test_nothing_runs_and_nothing_is_loaded(make):
    html = render_page(make())
    page = Page(html)
    assert page.all("script", "iframe", "object", "embed", "link", "form", "base") == []
    for _, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name == "id"}
    assert all(image["src"].startswith("data:image/png;base64,") for image in page.all("img"))
    assert "url(" not in html
    assert "@import" not in html


def test_markup_in_a_string_is_shown_as_text():
    html = render_page(hostile())
    assert HOSTILE not in html
    assert plain(html).count(HOSTILE) > 50


def test_markup_in_every_string_of_a_record_reaches_no_tag():
    clean, attacked = Page(render_html(full())), Page(render_html(hostile()))
    kinds = {tag for tag, _ in clean.tags}
    assert {tag for tag, _ in attacked.tags} == kinds


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", 'https://x" onclick="y']
)
def test_links_lead_to_the_web_only(link):
    record = replace(full(), findings=(replace(full().findings[1], link=link),))
    for attributes in Page(render_html(record)).all("a"):
        assert set(attributes) == {"href", "rel"}
        assert attributes["href"].startswith("https://")


@SAMPLES
def test_the_verdict_comes_first(make):
    record = make()
    said = verdict_sentence(record).replace("`", "")
    assert plain(render_html(record)).startswith(" ".join(said.split()))


def test_tables_have_header_cells_and_a_caption():
    page = Page(render_html(full()))
    assert {head["scope"] for head in page.all("th")} == {"row", "col"}
    assert len(page.all("caption")) == len(page.all("table")) > 10


CELL = re.compile(r'<t[hd](?: (?:class|scope)="([^"]*)")?>(.*?)</t[hd]>')


def grid(record):
    """Returns the grid as rows of cells, `(classes, words)` each."""
    table = re.search(r'<table class="tfi-grid">.*?</table>', render_html(record), re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", table.group(), re.DOTALL)
    return [[(kind, plain(words)) for kind, words in CELL.findall(cells)] for cells in rows]


def test_the_grid_is_mapping_by_execution():
    head, *rows = [[words for _, words in cells] for cells in grid(full())]
    assert head == ["mapping", "eager", "graph", "xla"]
    mappings = [cells[0] for cells in rows]
    assert mappings == list(dict.fromkeys(run.mapping for run in full().runs))
    assert rows[1] == ["loop", "89.0 ms 4.38x [4.17, 4.60]767 KiB, same", "skipped", "skipped"]
    assert rows[2][3] == "failed"
    assert rows[5][3].startswith("★ 847 µs 461x")
    assert rows[3][3].startswith("= 890 µs")
    assert rows[4][2].endswith("320 KiB, different")
    assert rows[6][3] == ""


def test_only_columns_that_were_run_are_drawn():
    record = recommending(full(), "batched/eager")
    record = replace(record, runs=tuple(r for r in record.runs if r.execution != "xla"))
    assert [words for _, words in grid(record)[0]] == ["mapping", "eager", "graph"]


def test_heat_grows_with_time_and_has_a_number_beside_it():
    cells = [cell for cells in grid(full())[1:] for cell in cells[1:] if "tfi-heat" in cell[0]]
    heats = {
        words.lstrip("★= "): int(re.search(r"tfi-heat-(\d)", kind)[1]) for kind, words in cells
    }
    assert all(re.match(r"[\d.]+ (ms|µs)", words) for words in heats)
    assert next(heat for words, heat in heats.items() if words.startswith("391 ms")) == 4
    assert next(heat for words, heat in heats.items() if words.startswith("847 µs")) == 0
    assert {heat for words, heat in heats.items() if words.startswith("26.3 ms")} == {2}


def test_times_that_are_no_numbers_do_not_stop_the_drawing():
    broken = samples.timing(float("nan"))
    html = render_html(with_row(full(), "map_fn/graph", timing=broken))
    assert "–" in html  # noqa: RUF001
    assert "nan" not in plain(html)


def test_findings_reasons_and_other_calls_are_there():
    words = plain(render_html(full()))
    assert "Warning: batched/graph does not give the reference's result" in words
    assert "graph is faster by: 38.3x" in words
    assert "No registered 'PyFunc' OpKernel" in words
    assert "--call 2: tf.vectorized_map(norm, x)" in words
    assert "return tf.map_fn(lambda v: tf.linalg.matvec(A, v), x)" in words


def test_incomplete_memory_figures_are_said_once_beneath_the_grid():
    partial = replace(full(), environment=replace(full().environment, coverage="large-only"))
    words = plain(render_html(partial))
    assert words.count("leave out blocks under 256 KiB") == 1
    assert words.index("leave out blocks") < words.index("Rows that are not ranked")


@pytest.mark.parametrize("make", [interrupted, no_elements])
def test_without_times_there_is_no_picture_but_a_report(make):
    html = render_html(make())
    assert "<img" not in html
    assert "tfi-heat" not in re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)


def test_a_failed_baseline_leaves_times_without_speed_ups():
    words = [words for cells in grid(failed_baseline()) for _, words in cells]
    assert "10.2 ms514 KiB, same" in words


def test_a_page_is_whole():
    page = Page(render_page(full()))
    assert page.all("html") == [{"lang": "en"}]
    assert {"charset": "utf-8"} in page.all("meta")
    assert "tfinsight: lambda v: tf.linalg.matvec(A, v)" in "".join(page.words)
    assert "prefers-color-scheme: dark" in render_page(full())


def test_the_style_hides_the_static_twin_of_a_live_report():
    style = render_html(full()).split("</style>")[0]
    assert ".jp-OutputArea:has(.tfi-live) .tfi-static { display: none; }" in style
    dead = ".jp-OutputArea:has(.tfi-static) .jp-OutputArea-output.jupyter-widgets:not(:has(*))"
    assert f"{dead} {{ display: none; }}" in style


def test_every_class_of_the_markup_has_a_style():
    html = render_html(full())
    style, body = html.split("</style>")
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    free = {"tfi-info"}  # looks as a finding does anyway
    assert {name for name in used - free if f".{name}" not in style} == set()


def test_the_picture_is_a_png_with_its_words():
    page = Page(render_html(full()))
    images = page.all("img")
    data = [base64.b64decode(image["src"].partition(",")[2]) for image in images]
    assert data[0] == figures.png(full(), "pareto")
    assert data[1:] == [figures.png(full(), kind) for kind in ("break_even", "memory", "scaling")]
    assert "chunked/xla, 847 µs, 352 KiB; batched/eager, 1.01 ms, 320 KiB." in images[0]["alt"]
