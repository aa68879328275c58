"""The tutorial notebooks as web pages, as `jupyter nbconvert` makes them, without a kernel."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter

from browser.conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
# In place of what nbconvert's page loads from elsewhere for diagrams: a test stays on this machine.
DIAGRAMS = "export default {initialize() {}, run() {}};"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_exported_notebook_shows_its_reports_and_no_error(browser, pictures, path, tmp_path):
    html, _ = HTMLExporter().from_filename(str(path))
    page_file = tmp_path / f"{path.stem}.html"
    page_file.write_text(html, "utf-8")
    complaints = []
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    try:
        page.route(
            lambda address: not address.startswith(("file:", "data:")),
            lambda route: route.fulfill(
                body=DIAGRAMS if "mermaid" in route.request.url else "",
                content_type="text/javascript",
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: complaints.append(said.text) if said.type == "error" else None,
        )
        page.goto(page_file.as_uri())
        page.screenshot(path=pictures / f"export-{path.stem}.png", full_page=True)
        assert page.locator(".tfi-verdict").count() == reports(path) > 0
        assert page.locator(".tfi-verdict").first.is_visible()
        assert not page.locator(".tfi-text").first.is_visible()
        assert "LiveReport" not in page.inner_text("body")
        assert complaints == []
    finally:
        page.close()


def reports(path: Path) -> int:
    """Returns how many reports a notebook shows."""
    cells = nbformat.read(path, as_version=4).cells
    outputs = (output for cell in cells for output in cell.get("outputs", ()))
    return sum("tfi-static" in output.get("data", {}).get("text/html", "") for output in outputs)
