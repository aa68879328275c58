"""A fresh real IPython shell with the extension loaded, and what it shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell


@dataclass
class Ran:
    """What one cell left behind.

    Attributes:
        error: what it ended with, or `None`.
        shown: what it displayed, as dictionaries of MIME types.
        printed: what it wrote to standard output and error.
    """

    error: BaseException | None
    shown: list[dict[str, Any]] = field(default_factory=list)
    printed: str = ""


def run_case(shell: Shell, case: dict[str, Any], magic: str, check: Callable[[Any], None]) -> Ran:
    """Runs a case's set-up and its cell under a magic, and checks what holds of any case.

    Args:
        shell: a fresh one.
        case: see `map_cells`.
        magic: the magic's line.
        check: is given the report's record of a case that ends without an error.
    """
    expect = case["expect"]
    shell.ok(case["setup"])
    ran = shell.run(f"{magic}\n{case['cell']}")
    if "raises" in expect:
        assert type(ran.error).__name__ == expect["raises"]
        assert "tfinsight" not in ran.printed or expect["raises"] == "UsageError"
    else:
        assert ran.error is None, ran.printed
        check(shell.record)
    for wanted in expect.get("names", ()):
        assert wanted in shell.names
    for expression, value in expect.get("values", {}).items():
        assert eval(expression, shell.names) == value
    return ran


class Shell:
    """A shell of its own; `close` gives the process back to the next one."""

    def __init__(self) -> None:
        InteractiveShell.clear_instance()
        self.ip = InteractiveShell.instance()
        self.ip.run_line_magic("load_ext", "tfinsight")

    def run(self, code: str) -> Ran:
        """Runs a cell as a notebook would."""
        from IPython.utils.capture import capture_output

        publisher, self.ip.display_pub = self.ip.display_pub, CapturingDisplayPublisher()
        try:
            with capture_output(display=False) as captured:
                result = self.ip.run_cell(code, store_history=True)
            shown = [output["data"] for output in self.ip.display_pub.outputs]
        finally:
            self.ip.display_pub = publisher
        error = result.error_before_exec or result.error_in_exec
        return Ran(error, shown, captured.stdout + captured.stderr)

    def ok(self, code: str) -> Ran:
        """Runs a cell that must not fail."""
        ran = self.run(code)
        assert ran.error is None, ran.printed
        return ran

    @property
    def record(self) -> Any:
        """The record of the last report."""
        return self.report.record

    @property
    def report(self) -> Any:
        """The last report."""
        return self.ip.magics_manager.registry["TfinsightMagics"].last

    @property
    def names(self) -> dict[str, Any]:
        """The notebook's names."""
        return self.ip.user_ns

    def close(self) -> None:
        """Takes the extension out and the shell down."""
        self.ip.run_line_magic("unload_ext", "tfinsight")
        InteractiveShell.clear_instance()
