"""axe-core, the engine that finds barriers in pages, put to reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

SERIOUS = ("serious", "critical")


def barriers(page: Page, selector: str) -> list[str]:
    """Returns the serious and critical barriers in the nodes that `selector` finds.

    Each is a line: how bad, which rule, where, and what axe measured there. Only what is drawn is
    looked at: see `open_all`.
    """
    from axe_playwright_python.sync_playwright import Axe

    # JupyterLab's body has no height and hides what flows over, and axe takes all of it for hidden.
    page.evaluate("document.body.style.overflow = 'visible'")
    found = Axe().run(page, context=selector, options=None).response
    seen = {rule["id"] for rule in found["passes"] + found["violations"]}
    assert "color-contrast" in seen, f"nothing of {selector} was in sight of axe"
    return [
        f"{violation['impact']} {violation['id']}: {_place(node)}"
        for violation in found["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


def open_all(page: Page, selector: str) -> None:
    """Opens all parts of the reports that a click opens."""
    _set_open(page, selector, True)


def close_all(page: Page, selector: str) -> None:
    """Closes them again."""
    _set_open(page, selector, False)


def _set_open(page: Page, selector: str, is_open: bool) -> None:
    page.evaluate(
        "([where, open]) => document.querySelectorAll(`:is(${where}) details`)"
        ".forEach(part => part.open = open)",
        [selector, is_open],
    )


def _place(node: dict[str, Any]) -> str:
    checks = [check["message"] for kind in ("all", "any", "none") for check in node[kind]]
    return f"{' '.join(map(str, node['target']))} | {node['html'][:160]} | {'; '.join(checks)}"
