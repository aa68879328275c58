"""Who may import whom in tfinsight, as a literal table, and a walk that finds what it forbids."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "tfinsight"

# Room -> the rooms that it may import from. A room is a module or a folder of the package.
ARROWS: Mapping[str, frozenset[str]] = {
    room: frozenset(allowed.split())
    for room, allowed in {
        "__init__": "api magics report",
        "records": "",
        # compute
        "tensorflow_private": "",
        "source_text": "",
        "options": "records",
        "errors": "",
        "workload": "errors records",
        "statements": "",
        "map_calls": "source_text tensorflow_private",
        "plain_run": "errors statements tensorflow_private",
        "keras_entry": "",
        "code_workload": "tensorflow_private",
        "state": "tensorflow_private",
        "captured_output": "records",
        "trace_file": "records tensorflow_private",
        "allocator_switch": "",
        "cell": "errors",
        "map_cell": "captured_output cell errors map_calls records source_text state "
        "tensorflow_private workload",
        "graph_cell": "cell code_workload errors keras_entry plain_run state statements "
        "tensorflow_private",
        "strategies": "code_workload errors keras_entry records workload",
        "compiler": "records tensorflow_private trace_file workload",
        "measure": "captured_output code_workload compiler errors keras_entry records state "
        "statistics strategies tensorflow_private trace_file workload",
        "findings": "records",
        "statistics": "",
        "rebase": "findings records statistics",
        # view
        "render": "records",
        "report": "rebase records render",
        # where they meet
        "api": "allocator_switch code_workload errors findings graph_cell map_cell measure options "
        "records render report source_text strategies workload",
        "magic_parsers": "options",
        "magics": "allocator_switch api cell errors graph_cell magic_parsers map_cell options render "
        "report strategies workload",
        "cli": "allocator_switch api render report",
    }.items()
}
VIEW = {"render", "report"}
FREE_OF_TENSORFLOW = {
    *VIEW,
    "errors",
    "records",
    "findings",
    "statistics",
    "rebase",
    "options",
    "source_text",
    "statements",
    "keras_entry",
    "magic_parsers",
    "allocator_switch",
    "__init__",
}
FREE_OF_VIEW = set(ARROWS) - VIEW - {"magics", "magic_parsers", "cli"}
PRIVATE = ("tensorflow.python", "tensorflow.core", "tensorflow.tsl")
VIEW_LIBRARIES = {"IPython", "ipywidgets", "matplotlib"}


def violations(sources: Mapping[str, str]) -> list[str]:
    """Returns what the table forbids, a sentence each.

    Args:
        sources: path inside the package, such as `measure/run.py`, to text.
    """
    return [
        problem
        for path, text in sources.items()
        for name in _imported(text)
        for problem in _problems(path, name)
    ]


def package_sources() -> dict[str, str]:
    """Returns the package's own sources."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): path.read_text() for path in paths}


def _problems(path: str, name: str) -> Iterator[str]:
    room = path.split("/")[0].removesuffix(".py")
    top, *rest = name.split(".")
    if room not in ARROWS:
        yield f"{path}: `{room}` has no line in the table"
        return
    if top == "tfinsight":
        target = rest[0] if rest else "__init__"
        if target not in {*ARROWS[room], room} and target != "__version__":
            yield f"{path} imports {name}: no arrow leads from {room} to {target}"
    elif room == "records" and top not in sys.stdlib_module_names:
        yield f"{path} imports {name}: records depend on the standard library alone"
    elif top in ("tensorflow", "keras") and room in FREE_OF_TENSORFLOW:
        yield f"{path} imports {name}: {room} never imports TensorFlow"
    elif top in VIEW_LIBRARIES and room in FREE_OF_VIEW:
        yield f"{path} imports {name}: {room} never draws"
    elif name.startswith("IPython.core") and room not in ("magics", "magic_parsers"):
        yield f"{path} imports {name}: only magics may"
    elif name.startswith(PRIVATE) and room != "tensorflow_private":
        yield f"{path} imports {name}: private TensorFlow belongs in tensorflow_private"


def _imported(text: str) -> Iterator[str]:
    tree = ast.parse(text)
    skipped = {id(n) for b in ast.walk(tree) if _is_type_checking(b) for n in ast.walk(b)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "tfinsight":
                yield from (f"tfinsight.{alias.name}" for alias in node.names)
            else:
                yield node.module


def _is_type_checking(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )
