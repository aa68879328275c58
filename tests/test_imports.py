"""The house stands: arrows of imports, and what a bare import loads."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from import_arrows import ARROWS, package_sources, violations


def test_every_import_follows_an_arrow():
    assert violations(package_sources()) == []


def test_every_room_of_the_table_exists():
    rooms = {path.split("/")[0].removesuffix(".py") for path in package_sources()}
    assert rooms == set(ARROWS)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("render/html.py", "import tensorflow as tf", "render never imports TensorFlow"),
        (
            "render/html.py",
            "from tfinsight.measure import run",
            "no arrow leads from render to measure",
        ),
        ("measure/run.py", "import matplotlib", "measure never draws"),
        ("measure/run.py", "from tfinsight import api", "no arrow leads from measure to api"),
        ("records.py", "import numpy", "standard library alone"),
        ("cell.py", "from tensorflow.python.eager import context", "belongs in tensorflow_private"),
        ("report.py", "from IPython.core import magic", "only magics may"),
        ("utils.py", "import os", "has no line in the table"),
    ],
)
def test_the_check_can_fail(path, text, expected):
    (problem,) = violations({path: text})
    assert expected in problem


def test_a_bare_import_loads_nothing_heavy():
    code = "import sys, json, tfinsight; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    )
    heavy = {"tensorflow", "keras", "numpy", "IPython", "matplotlib", "ipywidgets", "pandas"}
    assert heavy & set(loaded) == set()


def test_loading_the_extension_loads_no_tensorflow():
    code = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell as S; s = S.instance();"
        "s.run_line_magic('load_ext', 'tfinsight'); print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False", done.stdout
