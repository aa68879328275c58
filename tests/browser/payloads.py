"""Texts that run a script if a report takes them for markup, and what shows whether one did."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import sample_records

if TYPE_CHECKING:
    from playwright.sync_api import Locator

# `window.tfiRan` is made by those who open the page.
MARKUP = (
    """"'><img src=x onerror="window.tfiRan.push('image')">"""
    "<script>window.tfiRan.push('script')</script>"
)
SCRIPT_LINK = "javascript:window.tfiRan.push('link')"
QUOTED_LINK = """https://x.example/" onmouseover="window.tfiRan.push('mouse')"""
MADE_OF_TEXT = """node => {
    const inside = [...node.querySelectorAll("*")];
    return inside.filter(part =>
        part.matches("script, img[src='x'], a:not([href^='https://'])")
        || part.getAttributeNames().some(name => name.startsWith("on"))
    ).map(part => part.outerHTML.slice(0, 200));
}"""


def hostile(record: Any) -> Any:
    """Returns a record with markup in every string that is free text, and links that are none."""
    with mock.patch.object(sample_records, "HOSTILE", MARKUP):
        poisoned = sample_records.poisoned(record)
    links = (SCRIPT_LINK, QUOTED_LINK)
    linked = tuple(
        replace(finding, link=link) for finding, link in zip(poisoned.findings, links, strict=False)
    )
    return replace(poisoned, findings=linked + poisoned.findings[len(linked) :])


def made_of_text(report: Locator) -> list[str]:
    """Returns the nodes of a report that only a text taken for markup could have made."""
    found: list[str] = report.evaluate(MADE_OF_TEXT)
    return found
