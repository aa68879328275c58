"""The controls of a live report, moved as a person does, and what the page then shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from browser.lab import LIGHT, Notebook, opened, wait_until

NAME = "controls.ipynb"
CELLS = (
    "%load_ext tfinsight\nimport tensorflow as tf",
    "x = tf.reshape(tf.range(20_000.0), [200, 100])",
    "%%mapcost --budget 3 -s loop/eager,map_fn/graph,vectorized_map/graph,batched/graph\n"
    "y = tf.map_fn(lambda v: tf.reduce_sum(v * v, axis=-1), x)",
    "from ipywidgets.widgets.widget import _instances\nlen(_instances)",
)
MAP, COUNT = 2, 3
MOST_MODELS = 60


@pytest.fixture(scope="module")
def notebook(lab, browser) -> Iterator[Notebook]:
    lab.write(NAME, *CELLS)
    with opened(lab, browser, NAME) as notebook:
        notebook.theme(LIGHT)
        notebook.run(0, 1)
        notebook.start(MAP)
        notebook.cell(MAP).locator(".tfi-live .tfi-verdict").wait_for()
        notebook.wait(MAP)
        with notebook.whole(MAP):
            yield notebook
        lab.stop_kernels()


def live(notebook):
    return notebook.cell(MAP).locator(".tfi-live")


def control(notebook, name, kind="select"):
    """Returns a control by what stands beside it."""
    label = live(notebook).locator(f"label:text-is('{name}')")
    return label.locator("xpath=..").locator(kind)


def press(notebook, name):
    live(notebook).get_by_role("button", name=name, exact=True).click()


def grid(notebook):
    return live(notebook).locator(".tfi-grid").first.inner_text()


def says(notebook):
    return live(notebook).locator(".tfi-says").inner_text()


def until(notebook, holds, what):
    wait_until(holds, what, notebook.page)


def speedup_of(notebook, strategy):
    """Returns a row's speed-up as it stands on the page."""
    mapping, execution = strategy.split("/")
    heads = live(notebook).locator(".tfi-grid thead th").all_inner_texts()
    column = [head.strip() for head in heads].index(execution) - 1
    row = (
        live(notebook)
        .locator(".tfi-grid tbody tr")
        .filter(has=notebook.page.locator(f"th:text-is('{mapping}')"))
    )
    text = row.locator("td").nth(column).inner_text()
    return float(re.search(r"([\d.,]+)x", text)[1].replace(",", ""))


def test_another_baseline_changes_the_speed_ups_on_the_page(notebook, pictures):
    before = speedup_of(notebook, "vectorized_map/graph")
    base = speedup_of(notebook, "map_fn/graph")
    control(notebook, "Baseline").select_option("map_fn/graph")
    until(
        notebook,
        lambda: "against map_fn/graph" in live(notebook).inner_text(),
        "the new baseline is named",
    )
    assert speedup_of(notebook, "vectorized_map/graph") == pytest.approx(before / base, rel=0.35)
    assert before / speedup_of(notebook, "vectorized_map/graph") > 1.5
    notebook.picture(pictures, "controls-baseline")
    control(notebook, "Baseline").select_option("as-written")
    until(notebook, lambda: speedup_of(notebook, "vectorized_map/graph") == before, "back again")


def test_another_metric_stands_first_in_the_grid(notebook, pictures):
    assert "KiB" not in grid(notebook).split("batched")[1].split("x")[0]
    control(notebook, "Shade by").select_option("peak memory")
    until(notebook, lambda: "more memory" in live(notebook).inner_text(), "the legend changed")
    notebook.picture(pictures, "controls-memory")
    control(notebook, "Shade by").select_option("time")
    until(notebook, lambda: "slower" in live(notebook).inner_text(), "back again")


def test_other_axes_give_another_picture(notebook):
    def source():
        return live(notebook).locator("img").first.get_attribute("src")

    before = source()
    control(notebook, "Axes").select_option("linear")
    until(notebook, lambda: source() != before, "another picture")
    control(notebook, "Axes").select_option("automatic")
    until(notebook, lambda: source() == before, "the first picture again")


def test_only_chosen_rows_are_shown(notebook, pictures):
    rows = control(notebook, "Rows shown")
    everything = rows.locator("option").all_inner_texts()
    rows.select_option(["map_fn/graph", "vectorized_map/graph"])
    until(notebook, lambda: "batched" not in grid(notebook), "other rows are gone")
    assert "\nmap_fn" in grid(notebook)
    assert "vectorized_map" in grid(notebook)
    notebook.picture(pictures, "controls-rows")
    rows.select_option(everything)
    until(notebook, lambda: "batched" in grid(notebook), "they are back")


def test_a_row_is_chosen_for_its_detail(notebook, pictures):
    live(notebook).get_by_role("tab", name="A row").click()
    control(notebook, "Detail of").select_option("loop/eager")
    until(
        notebook,
        lambda: "All that is known of loop/eager" in live(notebook).inner_text(),
        "the row's facts",
    )
    notebook.picture(pictures, "controls-detail")


def test_every_tab_shows_its_part(notebook, pictures):
    tabs = live(notebook).get_by_role("tab")
    for index in range(tabs.count()):
        tabs.nth(index).click()
        panel = live(notebook).locator(".widget-tab-contents, .jupyter-widget-tab-contents")
        shown = panel.locator(".tfi-report:visible").first
        shown.wait_for()
        assert len(shown.inner_text()) > 40, tabs.nth(index).inner_text()
        notebook.picture(pictures, f"controls-tab-{index}")


def test_the_keyboard_reaches_every_control_and_moves_it(notebook):
    wanted = {"Baseline", "Shade by", "Axes", "Rows shown", "Seconds", "File"}
    wanted |= {"Measure longer", "Save"}
    control(notebook, "Baseline").focus()
    reached = []
    for _ in range(2 * len(wanted)):
        reached.append(
            notebook.page.evaluate(
                "() => { const a = document.activeElement;"
                " return (a.labels?.length ? a.labels[0].innerText : a.innerText).trim(); }"
            )
        )
        notebook.page.keyboard.press("Tab")
    assert wanted <= set(reached)
    control(notebook, "Baseline").focus()
    notebook.page.keyboard.press("ArrowDown")
    chosen = control(notebook, "Baseline").input_value()
    until(notebook, lambda: f"against {chosen}" in live(notebook).inner_text(), "it is moved")
    control(notebook, "Baseline").select_option("as-written")


def test_measuring_longer_gives_the_same_report_more_calls(notebook, pictures):
    rows = control(notebook, "Rows shown")
    everything = rows.locator("option").all_inner_texts()
    control(notebook, "Seconds", "input").fill("2")
    control(notebook, "Seconds", "input").press("Tab")
    press(notebook, "Measure longer")
    until(notebook, lambda: says(notebook).startswith("Measured for 2"), "it is measured")
    assert all(row in says(notebook) for row in everything if row.startswith("map_fn"))
    assert live(notebook).locator(".tfi-verdict").count() == 1
    notebook.picture(pictures, "controls-longer")


def test_the_report_is_saved_as_data_and_as_a_page(notebook, lab):
    for name in ("mine.json", "mine.html"):
        file = control(notebook, "File", "input")
        file.fill(name)
        file.press("Tab")
        press(notebook, "Save")
        until(notebook, lambda name=name: f"Saved to {name}." in says(notebook), f"{name} saved")
    assert json.loads((lab.notebooks / "mine.json").read_text())["kind"] == "mapcost"
    assert "tfi-verdict" in (lab.notebooks / "mine.html").read_text()


def test_what_goes_wrong_is_said(notebook, pictures):
    file = control(notebook, "File", "input")
    file.fill("mine.txt")
    file.press("Tab")
    press(notebook, "Save")
    until(notebook, lambda: "expected a path that ends in .json" in says(notebook), "it is said")
    notebook.picture(pictures, "controls-wrong")


def test_there_are_few_models_and_no_complaints(notebook):
    notebook.run(COUNT)
    counted = notebook.cell(COUNT).locator(".jp-OutputArea-output").first.inner_text()
    assert int(counted) < MOST_MODELS
    assert notebook.errors == []
