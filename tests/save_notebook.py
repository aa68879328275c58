"""Runs a notebook and saves it with its outputs, as they are to be read without a kernel."""

from __future__ import annotations

import sys
from pathlib import Path

import nbclient
import nbformat

CELL_TIMEOUT_S = 300


def save(path: Path) -> None:
    """Runs a notebook from top to bottom, in its folder; an error of a cell leaves the file as it was."""
    notebook = nbformat.read(path, as_version=4)
    # The state of widgets belongs to a running kernel; a file with it shows nothing elsewhere.
    client = nbclient.NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        store_widget_state=False,
        record_timing=False,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            output.get("metadata", {}).clear()
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        save(Path(name))
