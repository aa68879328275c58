"""A browser and a JupyterLab for all tests of this folder.

They live as long as the folder's tests run and no longer: while Playwright is up, nothing else in
this thread can use an event loop.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.lab import Lab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REQUIRED = os.environ.get("TFINSIGHT_BROWSER") == "required"
NEEDED = ("playwright", "jupyterlab", "axe_playwright_python")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
REPOSITORY = Path(__file__).parents[2]


def _missing() -> str:
    """Returns what these tests need and is not installed, nothing where all is."""
    packages = [name for name in NEEDED if find_spec(name) is None]
    if packages:
        return f'{", ".join(packages)}: pip install -e ".[browser]"'
    return (
        "" if shutil.which("chromium") else "the command `chromium`, Debian's package of that name"
    )


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The system's Chromium; without it the tests are skipped, or fail where they are required."""
    missing = _missing()
    if missing:
        (pytest.fail if REQUIRED else pytest.skip)(f"not installed: {missing}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab that has nothing of the user's."""
    server = Lab(tmp_path_factory.mktemp("lab"))
    yield server
    server.stop()


@pytest.fixture(scope="package")
def pictures() -> Path:
    """The folder for screenshots."""
    given = os.environ.get("TFINSIGHT_ARTEFACTS")
    folder = Path(given) if given else REPOSITORY / "build" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
