"""A notebook with both magics in JupyterLab: while it runs, when it is done, and opened again later."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from browser.axe import barriers, close_all, open_all
from browser.lab import DARK, LIGHT, Notebook, opened, wait_until

NAME = "both.ipynb"
CELLS = (
    "%load_ext tfinsight\nimport tensorflow as tf",
    "x = tf.reshape(tf.range(40_000.0), [400, 100])\n"
    "w = tf.Variable(tf.ones([100, 64]))\n"
    "def norm(v):\n    return tf.sqrt(tf.reduce_sum(v * v)) + 1.0",
    "%%mapcost --budget 4\ny = tf.map_fn(norm, x)",
    "%%graphcompare --budget 4\n"
    "with tf.GradientTape() as tape:\n"
    "    loss = tf.reduce_mean(tf.nn.gelu(tf.matmul(x, w)) ** 2)\n"
    "grads = tape.gradient(loss, w)",
)
MAP, GRAPH = 2, 3
MAGICS = pytest.mark.parametrize("index", [MAP, GRAPH], ids=["mapcost", "graphcompare"])
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
DEAD = ("model not found", "Error displaying widget", "Loading widget")

SHORT = {LIGHT: "light", DARK: "dark"}
WIDTHS = (1280, 800)


def check_report(notebook, index, part, pictures, step):
    """Checks a cell's report at all widths, with screenshots before and after all is opened."""
    found = set()
    cell = notebook.cell(index)
    for width in WIDTHS:
        with notebook.whole(index, width):
            notebook.picture(pictures, f"{step}-{width}")
            if right(cell.locator(f"{part} .tfi-verdict")) > right(
                cell.locator(".jp-OutputArea").first
            ):
                found.add(f"the report is wider than its notebook in a window of {width}")
    open_all(notebook.page, part)
    for width in WIDTHS:
        with notebook.whole(index, width):
            notebook.picture(pictures, f"{step}-{width}-all")
            found.update(barriers(notebook.page, f'[data-windowed-list-index="{index}"] {part}'))
    close_all(notebook.page, part)
    assert not found, "\n" + "\n".join(sorted(found))


def right(locator):
    """Returns where a node ends on the right, in pixels."""
    return locator.evaluate("node => node.getBoundingClientRect().right")


@dataclass
class Session:
    """The notebook after all its cells ran, and what its live boxes held while they did."""

    notebook: Notebook
    while_running: dict[int, str]


@pytest.fixture(scope="module")
def session(lab, browser, pictures) -> Iterator[Session]:
    lab.write(NAME, *CELLS)
    with opened(lab, browser, NAME) as notebook:
        notebook.run(0, 1)
        while_running = {}
        for index in (MAP, GRAPH):
            notebook.start(index)
            live = notebook.cell(index).locator(".tfi-live")
            live.locator(".widget-hprogress, .jupyter-widget-hprogress").first.wait_for()
            assert live.locator(".tfi-report").count() == 0
            wait_until(
                lambda live=live: ":" in live.inner_text(), "a stage is named", notebook.page
            )
            while_running[index] = live.inner_text()
            notebook.picture(pictures, f"running-{index}")
            live.locator(".tfi-verdict").wait_for()
            notebook.wait(index)
        yield Session(notebook, while_running)
        lab.stop_kernels()


@pytest.fixture(scope="module")
def later(session, lab, browser) -> Iterator[Notebook]:
    """The same notebook saved, its kernel shut down, and opened in a new page."""
    session.notebook.theme(LIGHT)
    session.notebook.save()
    lab.stop_kernels()
    session.notebook.close()
    with opened(lab, browser, NAME) as notebook:
        dead = notebook.cell(GRAPH).locator(".jp-OutputArea-output.jupyter-widgets")
        dead.wait_for(state="attached")  # widgets are looked for once the kernel has answered
        yield notebook


@MAGICS
def test_the_progress_names_the_stage_and_then_makes_room(session, index):
    assert ":" in session.while_running[index]
    live = session.notebook.cell(index).locator(".tfi-live")
    assert live.locator(".widget-hprogress, .jupyter-widget-hprogress").count() == 0
    assert live.locator(".tfi-verdict").is_visible()


@MAGICS
def test_the_static_twin_is_hidden_while_the_live_report_is_there(session, index):
    cell = session.notebook.cell(index)
    assert cell.locator(".tfi-verdict").count() == 2
    static = cell.locator(".tfi-static")
    assert static.evaluate("node => getComputedStyle(node).display") == "none"
    assert cell.locator(".tfi-live").evaluate("node => getComputedStyle(node).display") != "none"


@MAGICS
def test_nothing_but_the_two_reports_is_put_out(session, index):
    cell = session.notebook.cell(index)
    stderr = "application/vnd.jupyter.stderr"
    assert cell.locator(f'[data-mime-type="{stderr}"]').all_inner_texts() == []
    assert cell.locator(".jp-OutputArea-output").count() == 2
    assert session.notebook.errors == []


@THEMES
@MAGICS
def test_the_live_report_is_readable(session, pictures, index, theme):
    notebook = session.notebook
    notebook.theme(theme)
    check_report(notebook, index, ".tfi-live", pictures, f"live-{index}-{SHORT[theme]}")


@MAGICS
def test_opened_later_the_static_report_is_there(later, index):
    cell = later.cell(index)
    assert cell.locator(".tfi-static .tfi-verdict").is_visible()
    assert cell.locator(".tfi-live .tfi-report").count() == 0


def test_opened_later_no_dead_widget_is_seen(later, pictures):
    later.picture(pictures, "later")
    for words in DEAD:
        for place in later.page.get_by_text(words).all():
            assert not place.is_visible(), place.inner_text()


@THEMES
@MAGICS
def test_the_static_report_is_readable(later, pictures, index, theme):
    later.theme(theme)
    check_report(later, index, ".tfi-static", pictures, f"static-{index}-{SHORT[theme]}")
