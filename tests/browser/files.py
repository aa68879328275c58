"""A report's page opened from its file, and all that it does in a browser."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


class FilePage:
    """A page that is open.

    Attributes:
        page: the browser's page.
        complaints: what its console said is wrong, errors of scripts among it.
        requests: addresses that it asked for, beside its own file and what it holds itself.
    """

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        own = file.as_uri()
        page.on("console", lambda said: self.complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url == own or asked.url.startswith("data:")
                else self.requests.append(asked.url)
            ),
        )
        page.add_init_script("window.tfiRan = [];")
        page.goto(own)
        page.wait_for_load_state("networkidle")


@contextlib.contextmanager
def opened_file(browser: Browser, file: Path, **options: Any) -> Iterator[FilePage]:
    """A file opened in a context of its own, which `options` describe, until the block ends."""
    context = browser.new_context(**options)
    try:
        yield FilePage(context.new_page(), file)
    finally:
        context.close()
