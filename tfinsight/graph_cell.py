"""What a cell means for `%%graphcompare`: run it once plainly, then make a function of its work."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tfinsight import keras_entry
from tfinsight.cell import Cell, evaluate, waits
from tfinsight.code_workload import (
    CodeWords,
    CodeWorkload,
    Obstacle,
    is_comparable,
    is_input,
    is_numeric_array,
)
from tfinsight.errors import WorkloadError
from tfinsight.plain_run import COMMANDS, PlainRun, StatementRun, border, run_plainly
from tfinsight.state.reachable import moves_on
from tfinsight.statements import (
    assigned_names,
    comment_line,
    first_line,
    function_text,
    names_needed,
)
from tfinsight.tensorflow_private import is_tf_function

FUNCTION_NAME, PASTED_NAME = "cell", "step"
_LONGEST_STATEMENT = 60
# Each run has a file name of its own, by which the lines of its ops are found.
_runs = itertools.count(1)


def run_and_split(cell: Cell, namespace: dict[str, Any], also: Sequence[str]) -> CodeWorkload:
    """Runs the cell once for the user and returns what of it is measured.

    Args:
        cell: what to run.
        namespace: the notebook's names; the cell's assignments are in it afterwards.
        also: names of the user's own variants.

    Raises:
        WorkloadError: there is nothing to measure, or a variant can't be one.
        Exception: whatever the cell itself raises.
    """
    containers = {n: v for n, v in namespace.items() if isinstance(v, (list, dict))}
    contents = {name: _contents(value) for name, value in containers.items()}
    plain = run_plainly(cell.tree.body, lambda node: cell.run_statement(node, namespace), namespace)
    count = border(plain, comment_line(cell.source, "measure"))
    measured = plain.statements[count:]
    nodes = [run.node for run in measured]
    before = measured[0].names_before
    needed = [name for name in names_needed(nodes) if name in before]
    assigned = {name for node in nodes for name in assigned_names(node)}
    # What the cell puts into a container of the user's must reach that very container.
    changed = {n for n, value in containers.items() if _contents(value) != contents[n]}
    inputs = {n: before[n] for n in needed if n not in changed and is_input(before[n])}
    arrays = {n: before[n] for n in needed if is_numeric_array(before[n])}
    initial = {
        n: before[n] for n in needed if n in assigned and n not in inputs and n not in arrays
    }
    entry, models = keras_entry.entry_of(nodes, namespace)
    if entry is not None:  # Keras takes arrays as they are, and makes its own functions
        initial, arrays, inputs = {**initial, **inputs, **arrays}, {}, {}
    returned = _returned(measured, namespace)
    parameters = [*inputs, *arrays, *initial]
    function, offsets = _function(cell, nodes, parameters, returned, namespace)
    words = _words(cell, plain, count, returned)
    return CodeWorkload(
        function=function,
        inputs=inputs,
        arrays=arrays,
        initial=initial,
        roots={name: before[name] for name in needed},
        words=replace(
            words,
            as_function=_pasted(cell, nodes, parameters, returned),
            call=f"{PASTED_NAME}({', '.join(parameters)})",
            models=tuple(models),
        ),
        offsets={**offsets, cell.filename: _LINES_OF_MAGIC},
        plain_run_s=sum(run.seconds for run in measured),
        functions=plain.functions,
        traces=plain.traces,
        obstacles=_obstacles(cell, measured),
        entry=entry,
        models=tuple(models.values()),
        variants=_variants(also, namespace, len(inputs) + len(arrays)),
    )


# The magic's own line stands above the cell's text in what Python sees.
_LINES_OF_MAGIC = 1


def function_workload(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    name: str,
    also: Mapping[str, Callable[..., Any]],
) -> CodeWorkload:
    """Returns the workload of a function with its arguments; nothing is run.

    Raises:
        WorkloadError: it is no function, or can't take these arguments.
    """
    if not callable(function):
        raise WorkloadError(f"`{name}` must be a function, but it is a {type(function).__name__}")
    named = _named_arguments(function, arguments, keywords, name)
    inputs = {n: v for n, v in named.items() if is_input(v)}
    arrays = {n: v for n, v in named.items() if is_numeric_array(v)}
    initial = {n: v for n, v in named.items() if n not in inputs and n not in arrays}
    order = [*inputs, *arrays, *initial]
    positions = list(named)

    def measured(*values: Any) -> Any:
        given = dict(zip(order, values, strict=True))
        positional = [given[n] for n in positions if n not in keywords]
        return function(*positional, **{n: given[n] for n in keywords})

    in_order = not keywords and order == positions
    source, offsets = _source_of(function)
    return CodeWorkload(
        function=function if in_order else measured,
        inputs=inputs,
        arrays=arrays,
        initial=initial,
        roots={name: function, **named},
        words=CodeWords(
            name=name,
            source=source,
            measured=source,
            result=f"what {name} returns",
            call=f"{name}({', '.join(named)})",
        ),
        offsets=offsets,
        functions=(function,) if is_tf_function(function) else (),
        variants=also,
    )


def _function(
    cell: Cell,
    nodes: Sequence[ast.stmt],
    parameters: Sequence[str],
    returned: Sequence[str],
    namespace: dict[str, Any],
) -> tuple[Callable[..., Any], dict[str, int]]:
    if any(map(waits, nodes)):  # an obstacle, so that it is never called
        return lambda: None, {}
    made = function_text(cell.source, nodes, FUNCTION_NAME, parameters, returned)
    text = f"{made.text}# measured, run {next(_runs)}\n"
    try:
        function, filename = cell.function(text, FUNCTION_NAME, namespace)
    except SyntaxError as error:
        line = (error.lineno or 1) - made.offset - _LINES_OF_MAGIC
        raise WorkloadError(
            f"the cell can't be made a function: line {line}: {error.msg}"
        ) from None
    return function, {filename: made.offset + _LINES_OF_MAGIC}


def _pasted(
    cell: Cell, nodes: Sequence[ast.stmt], parameters: Sequence[str], returned: Sequence[str]
) -> str:
    """Returns the function as text to paste, its call assigned to what it returns."""
    return function_text(cell.source, nodes, PASTED_NAME, parameters, returned).text.strip()


def _returned(measured: Sequence[StatementRun], namespace: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names that are the result; none where the last expression's value is it."""
    last = measured[-1]
    ends_in_value = isinstance(last.node, ast.Expr)
    if ends_in_value and is_comparable(last.value):
        return ()
    names = [n for run in measured for n in assigned_names(run.node)]
    good = [n for n in dict.fromkeys(names) if is_comparable(namespace.get(n))]
    of_last = [n for n in good if n in assigned_names(last.node)]
    if not good and ends_in_value:
        return ()
    return tuple(of_last or good) or ("None",)


def _words(cell: Cell, plain: PlainRun, count: int, returned: Sequence[str]) -> CodeWords:
    nodes = [run.node for run in plain.statements]
    lines = [_lines_of(node) for node in nodes]
    first, last = lines[count][0], lines[-1][1]
    shown = "\n".join(cell.text.splitlines()[first - 1 : last])
    return CodeWords(
        name="the cell",
        source=cell.text,
        measured=shown,
        ran_once=(lines[0][0], lines[count - 1][1]) if count else None,
        measured_lines=(first, last),
        result=", ".join(n for n in returned if n != "None") or _text(cell, nodes[-1]),
    )


def _obstacles(cell: Cell, measured: Sequence[StatementRun]) -> tuple[Obstacle, ...]:
    found = []
    for run in measured:
        why = list(run.effects)
        if waits(run.node):
            why.append("waits with `await`, which neither a graph nor a second run can")
        for node in ast.walk(run.node):
            name = getattr(getattr(node, "func", None), "attr", "")
            if (
                isinstance(node, ast.Call)
                and name in COMMANDS
                and "get_ipython" in ast.unparse(node)
            ):
                why = ["runs a command of IPython's, which is no TensorFlow code"]
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                moving = moves_on(run.names_before.get(node.id))
                if moving is not None:
                    why.append(f"reads the {moving} `{node.id}`, which moves on with every run")
        line, _ = _lines_of(run.node)
        found += [Obstacle(line, _text(cell, run.node), w) for w in dict.fromkeys(why)]
    return tuple(found)


def _lines_of(node: ast.stmt) -> tuple[int, int]:
    """Returns the first and the last line of the cell that a statement stands on."""
    return first_line(node) - _LINES_OF_MAGIC, (node.end_lineno or node.lineno) - _LINES_OF_MAGIC


def _text(cell: Cell, node: ast.stmt) -> str:
    """Returns a statement as the user wrote it, as one line."""
    first, last = _lines_of(node)
    lines = cell.text.splitlines()[first - 1 : last]
    whole = ast.get_source_segment(cell.source, node) or ""
    text = " ".join((whole if "get_ipython" not in whole else "\n".join(lines)).split())
    return text if len(text) <= _LONGEST_STATEMENT else text[: _LONGEST_STATEMENT - 3] + "..."


def _variants(
    names: Sequence[str], namespace: Mapping[str, Any], count: int
) -> dict[str, Callable[..., Any]]:
    found = {}
    for name in names:
        variant = evaluate(name, namespace, "--also")
        if not callable(variant):
            raise WorkloadError(
                f"--also `{name}` must be a function of the measured lines' inputs, but it is a "
                f"{type(variant).__name__}"
            )
        try:
            inspect.signature(variant).bind(*[None] * count)
        except TypeError:
            raise WorkloadError(
                f"--also `{name}` must take the {count} inputs of the measured lines by position, but "
                f"its parameters are {inspect.signature(variant)}"
            ) from None
        except ValueError:
            pass  # built in, without a signature
        found[name] = variant
    return found


def _contents(container: list[Any] | dict[Any, Any]) -> tuple[int, ...]:
    return tuple(map(id, container.values() if isinstance(container, dict) else container))


def _named_arguments(
    function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any], name: str
) -> dict[str, Any]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return {**{f"argument {i}": v for i, v in enumerate(arguments, start=1)}, **keywords}
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise WorkloadError(
            f"`{name}` can't be called with these arguments: {error}; its parameters are {signature}"
        ) from None
    named: dict[str, Any] = {}
    for key, value in bound.arguments.items():
        kind = signature.parameters[key].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            named.update({f"{key}[{i}]": item for i, item in enumerate(value)})
        elif kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[key] = value
    return named


def _source_of(function: Any) -> tuple[str, dict[str, int]]:
    """Returns the source of a function and where it stands, nothing where it can't be had."""
    plain = getattr(function, "python_function", function)
    plain = inspect.unwrap(plain)
    try:
        lines, first = inspect.getsourcelines(plain)
        filename = inspect.getsourcefile(plain) or plain.__code__.co_filename
    except (OSError, TypeError, AttributeError):
        return "", {}
    return "".join(lines), {filename: first - 1}
