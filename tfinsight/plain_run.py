"""The plain run of a cell, statement by statement: what each made, called and did for good."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import tensorflow as tf

from tfinsight.errors import WorkloadError
from tfinsight.statements import assigned_names
from tfinsight.tensorflow_private import called_functions, created_variables, resolve

# Methods and functions that set up what they are called on, whatever else they return.
# fmt: off
SETS_UP = frozenset({
    "compile", "build", "adapt", "load_weights", "set_weights", "restore",
    "seed", "set_seed", "set_random_seed", "enable_op_determinism",
    "set_global_policy", "set_dtype_policy", "set_floatx",
    "set_visible_devices", "set_memory_growth",
})
# fmt: on
# How IPython's own syntax (`%matplotlib inline`) reads in Python; at the beginning it is set-up.
COMMANDS = frozenset({"run_line_magic", "run_cell_magic", "system", "getoutput"})
_LOOKED_INTO = 100
# Events of Python's own auditing that tell of an effect outside this process, in words.
_EFFECTS: dict[str, str] = {
    "os.remove": "deletes a file",
    "os.rename": "renames a file",
    "os.rmdir": "deletes a folder",
    "os.mkdir": "makes a folder",
    "os.system": "runs a program",
    "subprocess.Popen": "runs a program",
    "os.posix_spawn": "runs a program",
    "os.fork": "starts a process",
    "socket.connect": "opens a connection",
}
# What Python and TensorFlow write on their own account while they load or convert code.
_OWN_WRITERS = ("importlib", "tensorflow.python.autograph", "matplotlib.font_manager", "tempfile")


@dataclass(frozen=True)
class StatementRun:
    """One top-level statement of the cell, run once for the user.

    Attributes:
        node: the statement.
        names_before: the notebook's names before it, with their values.
        seconds: wall time.
        makes_state: it made a variable, model, optimizer, dataset or the like, or set one up.
        effects: what it did that can't be put back, a phrase each.
        value: value of an expression, else `None`.
    """

    node: ast.stmt
    names_before: Mapping[str, Any]
    seconds: float
    makes_state: bool
    effects: tuple[str, ...]
    value: Any = None


@dataclass
class PlainRun:
    """The plain run of a cell.

    Attributes:
        statements: in order.
        functions: the functions under `tf.function` that it called.
        traces: how often each of them was traced in it.
    """

    statements: list[StatementRun] = field(default_factory=list)
    functions: tuple[Any, ...] = ()
    traces: tuple[int, ...] = ()


def run_plainly(
    statements: Sequence[ast.stmt],
    run: Callable[[ast.stmt], Any],
    namespace: Mapping[str, Any],
) -> PlainRun:
    """Runs statements one by one.

    Args:
        statements: of a cell's top level.
        run: runs one of them in `namespace`; returns the value of an expression.
        namespace: the notebook's names.

    Raises:
        Exception: whatever a statement raises; what ran before it has run.
    """
    plain = PlainRun()
    with called_functions() as functions, created_variables() as created:
        for node in statements:
            before = dict(namespace)
            with observed_effects() as effects:
                started = time.perf_counter()
                value = run(node)
                seconds = time.perf_counter() - started
            makes = _makes_state(node, before, namespace, created)
            plain.statements.append(
                StatementRun(node, before, seconds, makes, tuple(dict.fromkeys(effects)), value)
            )
    plain.functions = tuple(function for function, _ in functions)
    plain.traces = tuple(
        function.experimental_get_tracing_count() - before for function, before in functions
    )
    return plain


def border(plain: PlainRun, marked_line: int | None) -> int:
    """Returns the number of statements at the beginning that are set-up and run once only.

    Set-up is everything up to the last statement that made something with a state, and imports,
    definitions and settings at the beginning. A comment line `# measure` decides instead.

    Raises:
        WorkloadError: nothing is left to measure.
    """
    runs = plain.statements
    if marked_line is not None:
        count = sum(run.node.lineno < marked_line for run in runs)
    else:
        made = [number for number, run in enumerate(runs, start=1) if run.makes_state]
        count = max(made, default=0)
        while count < len(runs) and _defines(runs[count].node):
            count += 1
    if count >= len(runs):
        what = "the cell has no statement" if not runs else _what_is_set_up(runs[-1].node)
        raise WorkloadError(
            f"there is nothing to measure: {what}. Add a line that computes something, or put the "
            "comment line `# measure` above the lines that are to be measured"
        )
    return count


@contextlib.contextmanager
def observed_effects() -> Iterator[list[str]]:
    """Collects, in words, what this thread does to files, programs and connections in the block.

    Python tells of them itself (`sys.addaudithook`). What extension modules do behind its back,
    such as `tf.io.write_file`, is not seen.
    """
    seen: list[str] = []
    _install_hook()
    _listening[threading.get_ident()] = seen
    try:
        yield seen
    finally:
        del _listening[threading.get_ident()]


# Hooks can't be taken out again, so there is one for all; it does nothing while nobody listens.
_listening: dict[int, list[str]] = {}
_hooks: list[Any] = []


def _install_hook() -> None:
    if not _hooks:
        _hooks.append(_hook)
        sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listening or (seen := _listening.get(threading.get_ident())) is None:
        return
    effect = _written(*arguments) if event == "open" else _EFFECTS.get(event, "")
    if effect and not _by_library(sys._getframe(1)):  # noqa: SLF001 - the way to know who asks
        seen.append(effect)


def _written(path: Any, mode: Any, flags: Any) -> str:
    """Returns what opening a file for writing does, empty for reading and for devices."""
    writes = bool(flags & (os.O_WRONLY | os.O_RDWR)) if isinstance(flags, int) else False
    if mode is not None and not isinstance(mode, int):
        writes = writes or bool(set("wax+") & set(str(mode)))
    if not writes or isinstance(path, int) or os.fspath(path or "").startswith("/dev/"):
        return ""
    return f"writes the file `{os.path.basename(os.fspath(path))}`"


def _by_library(frame: FrameType | None) -> bool:
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith(_OWN_WRITERS) or "importlib" in name:
            return True
        frame = frame.f_back
    return False


def _defines(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
        return True
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return text or _called_name(node) in SETS_UP | COMMANDS


def _makes_state(
    node: ast.stmt, before: Mapping[str, Any], after: Mapping[str, Any], created: set[int]
) -> bool:
    if _called_name(node) in SETS_UP:
        return True
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return False
    if isinstance(node, (ast.With, ast.For, ast.While)):
        return False  # work, whatever files and iterators it names on the way
    known = {id(value) for value in before.values()}
    values = [after[name] for name in assigned_names(node) if name in after]
    return any(_is_new_state(v, known, created) for value in values for v in _parts(value))


def _is_new_state(value: Any, known: set[int], created: set[int]) -> bool:
    if id(value) in known:
        return False
    inner = getattr(value, "_value", None)  # what a variable of Keras is made of
    variable = value if isinstance(value, tf.Variable) else inner
    if isinstance(variable, tf.Variable):
        return id(variable) in created
    moves_on = isinstance(value, Iterator) and not isinstance(value, io.IOBase)
    return moves_on or isinstance(value, resolve("Trackable"))


def _parts(value: Any) -> Iterator[Any]:
    """Yields a value; of containers and of objects of the user's own classes what they hold."""
    yield value
    if isinstance(value, Mapping):
        items: list[Any] = list(value.values())
    elif isinstance(value, (list, tuple, set)):
        items = list(value)
    elif type(value).__module__ == "__main__":
        items = list(getattr(value, "__dict__", {}).values())
    else:
        items = []
    yield from items[:_LOOKED_INTO]


def _called_name(node: ast.stmt) -> str:
    """Returns the name of the function or method that an expression statement calls, or empty."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return ""
    function = node.value.func
    return str(getattr(function, "attr", None) or getattr(function, "id", ""))


def _what_is_set_up(node: ast.stmt) -> str:
    if _defines(node):
        return "the cell ends with a definition or a setting, which runs once"
    return f"the last statement (line {node.lineno}) makes something with a state, which runs once"
