"""Fixtures shared by the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# Complete memory figures, as after `%load_ext tfinsight` in a fresh notebook.
os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")


@pytest.fixture
def shell() -> Iterator[object]:
    """A fresh IPython shell with the extension loaded."""
    from shells import Shell

    shell = Shell()
    yield shell
    shell.close()
