"""A fresh real IPython shell with the extension loaded, and what it shows."""

from __future__ import annotations

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
