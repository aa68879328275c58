"""The page that `report.save("x.html")` writes, opened from its file."""

from __future__ import annotations

import re

import pytest
import sample_graph_records
import sample_records

from browser.axe import barriers, open_all
from browser.files import opened_file
from tfinsight.render.verdict_words import verdict_sentence
from tfinsight.report import Report

RECORDS = pytest.mark.parametrize(
    "make", [sample_records.full, sample_graph_records.full], ids=["mapcost", "graphcompare"]
)
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def file(make, tmp_path):
    path = tmp_path / "report.html"
    Report(make()).save(path)
    return path


def named(make):
    return make.__module__.removeprefix("sample_")


@RECORDS
@SCHEMES
def test_the_page_is_whole_in_itself_and_has_no_barriers(browser, pictures, file, make, scheme):
    with opened_file(browser, file, color_scheme=scheme) as opened:
        page = opened.page
        page.screenshot(path=pictures / f"page-{named(make)}-{scheme}.png", full_page=True)
        open_all(page, "body")
        page.screenshot(path=pictures / f"page-{named(make)}-{scheme}-all.png", full_page=True)
        found = barriers(page, "body")
        assert not found, "\n" + "\n".join(found)
        assert opened.complaints == []
        assert opened.requests == []


@RECORDS
def test_schemes_differ_in_ground_and_ink(browser, file, make):
    colours = []
    for scheme in ("light", "dark"):
        with opened_file(browser, file, color_scheme=scheme) as opened:
            colours.append(
                opened.page.locator(".tfi-report").evaluate(
                    "node => [getComputedStyle(document.body).backgroundColor, getComputedStyle(node).color]"
                )
            )
    (light_ground, light_ink), (dark_ground, dark_ink) = colours
    assert light_ground != dark_ground
    assert light_ink != dark_ink


@RECORDS
@pytest.mark.parametrize("opened_parts", [False, True], ids=["closed", "open"])
def test_at_twice_the_size_the_page_does_not_scroll_sideways(
    browser, pictures, file, make, opened_parts
):
    window = {"width": 640, "height": 500}
    with opened_file(browser, file, viewport=window, device_scale_factor=2) as opened:
        if opened_parts:
            open_all(opened.page, "body")
        step = f"page-{named(make)}-twice{'-all' if opened_parts else ''}"
        opened.page.screenshot(path=pictures / f"{step}.png", full_page=True)
        assert opened.page.evaluate(TOO_WIDE) <= 0


@RECORDS
def test_the_page_prints(browser, pictures, file, make):
    with opened_file(browser, file) as opened:
        printed = opened.page.pdf(path=pictures / f"page-{named(make)}.pdf", format="A4")
        opened.page.emulate_media(media="print")
        verdict = opened.page.locator(".tfi-verdict")
        assert verdict.inner_text() == verdict_sentence(make()).replace("`", "")
        assert verdict.is_visible()
    assert len(printed) > 10_000
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 1
