"""A saved notebook with reports under strict nbval: other figures pass, another fact does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from tfinsight.cli import main

CELLS = {
    "load": "%load_ext tfinsight\nimport tensorflow as tf\nx = tf.reshape(tf.range(512.0), [32, 16])",
    "map": "%%mapcost -s map_fn,vectorized_map --budget 2\ny = tf.map_fn(lambda v: v * 2.0, x)",
    "graph": "%%graphcompare --budget 3\nz = tf.reduce_sum(x * x + 1.0)",
    "last": "%tfinsight last",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the rules and an executed notebook with two reports."""
    folder = tmp_path_factory.mktemp("nbval")
    assert main(["nbval-sanitize", "--out", str(folder / "tfinsight.cfg")]) == 0
    cells = [nbformat.v4.new_code_cell(source, id=name) for name, source in CELLS.items()]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbclient.NotebookClient(notebook, timeout=300, store_widget_state=False).execute()
    nbformat.write(notebook, folder / "saved.ipynb")
    return folder


def nbval(folder: Path, name: str) -> str:
    """Runs a notebook under strict nbval and returns what pytest says."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--nbval",
        "--nbval-current-env",
        "-p",
        "no:cacheprovider",
    ]
    command += ["--nbval-sanitize-with", str(folder / "tfinsight.cfg"), str(folder / name)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=500).stdout


def changed(folder: Path, name: str, pattern: str, replacement: str) -> None:
    """Saves the notebook with other text in its outputs."""
    notebook = nbformat.read(folder / "saved.ipynb", as_version=4)
    found = 0
    for cell in notebook.cells:
        for output in cell.outputs:
            for kind, text in output.get("data", {}).items():
                if kind.startswith("text/"):
                    output.data[kind], count = re.subn(pattern, replacement, text)
                    found += count
    assert found
    nbformat.write(notebook, folder / name)


def test_another_run_passes(folder):
    assert "4 passed" in nbval(folder, "saved.ipynb")


def test_other_figures_pass_and_other_facts_do_not(folder):
    changed(folder, "figures.ipynb", r"\d+(?:\.\d+)? (?:ms|µs|KiB)", "1.23 GiB")
    assert "4 passed" in nbval(folder, "figures.ipynb")


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"failed (batched|loop)|same (map_fn/graph|loop|map_fn)", r"different \g<0>"),
        (r"findings: ", "findings: host_callback, "),
    ],
    ids=["status", "finding"],
)
def test_a_fact_that_flipped_fails(folder, pattern, replacement):
    changed(folder, "flipped.ipynb", pattern, replacement)
    said = nbval(folder, "flipped.ipynb")
    assert "failed" in said.splitlines()[-1]
    assert "Cell execution" not in said  # it ran, and its output is not what was saved
    assert "mismatch" in said


def test_the_saved_notebook_reads_well_without_a_kernel(folder):
    notebook = nbformat.read(folder / "saved.ipynb", as_version=4)
    assert "widgets" not in notebook.metadata
    text = nbformat.writes(notebook)
    assert str(folder) not in text
    assert len(text) < 1_000_000
    for cell in notebook.cells[1:]:
        assert not [o for o in cell.outputs if o.output_type in ("stream", "error")]
    for cell in notebook.cells[1:3]:
        assert [sorted(o.data) for o in cell.outputs] == [
            ["application/vnd.jupyter.widget-view+json", "text/html", "text/plain"],
            ["text/html", "text/plain"],
        ]
