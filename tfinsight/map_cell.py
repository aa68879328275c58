"""What a cell means for `%%mapcost`: run it once plainly, then find the map in it.

Three ways, in this order: the user names function and elements; the cell calls a map; neither, which
is an error that shows both forms in the user's own names.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight import captured_output, state
from tfinsight.cell import Cell, evaluate
from tfinsight.errors import WorkloadError
from tfinsight.map_calls import MapWatcher, SeenCall
from tfinsight.records import Execution, MapCall
from tfinsight.source_text import CallText
from tfinsight.tensorflow_private import is_tf_function
from tfinsight.workload import (
    Wording,
    Workload,
    check_function,
    converted_elements,
)


@dataclass(frozen=True)
class MapChoice:
    """How the user chose what is measured.

    Attributes:
        fn: expression of the mapped function, or `None`.
        over: expression of the elements, or `None`.
        call: number of the call, or `None` for the costliest.
        batched: expression of a hand-written batched function, or `None`.
        also: expressions of the user's own variants.
    """

    fn: str | None = None
    over: str | None = None
    call: int | None = None
    batched: str | None = None
    also: tuple[str, ...] = ()

    def check(self) -> None:
        """Checks what can be checked before the cell runs.

        Raises:
            WorkloadError: only one of `fn` and `over`, or a number of a call that can't be.
        """
        if (self.fn is None) != (self.over is None):
            given, lacking = ("--fn", "--over") if self.over is None else ("--over", "--fn")
            raise WorkloadError(f"{given} needs {lacking} beside it: --fn FUNCTION --over ELEMENTS")
        if self.call is not None and self.call < 1:
            raise WorkloadError(f"--call must be the number of a map, from 1, not {self.call}")
        if self.call is not None and self.fn is not None:
            raise WorkloadError("--call picks one of the cell's maps; it can't stand beside --fn")


def run_and_understand(cell: Cell, namespace: dict[str, Any], choice: MapChoice) -> Workload:
    """Runs the cell once for the user and returns the map that it holds.

    Args:
        cell: what to run.
        namespace: the notebook's names; the cell's assignments are in it afterwards.
        choice: what the user chose.

    Raises:
        WorkloadError: no map is found, or what is named can't be mapped.
        Exception: whatever the cell itself raises.
    """
    choice.check()
    before = dict(namespace)
    watcher = MapWatcher()
    with watcher.active():
        cell.run(namespace)
    if choice.fn is not None:
        return named_workload(namespace, choice, cell.text)
    calls = _concrete_calls(cell, before, watcher)
    if not calls:
        raise WorkloadError(_nothing_found(cell, namespace, watcher))
    return _workload_of_call(cell, calls, watcher, choice, namespace)


def named_workload(namespace: dict[str, Any], choice: MapChoice, source: str = "") -> Workload:
    """Returns the workload that `--fn` and `--over` name.

    Raises:
        WorkloadError: a name that doesn't exist or does not fit.
    """
    assert choice.fn is not None
    assert choice.over is not None
    function = evaluate(choice.fn, namespace, "--fn")
    given = evaluate(choice.over, namespace, "--over")
    return function_workload(
        function, given, Wording(choice.fn, choice.over, source=source), choice, namespace
    )


def function_workload(
    function: Any,
    given: Any,
    wording: Wording,
    choice: MapChoice,
    namespace: Mapping[str, Any],
) -> Workload:
    """Returns the workload of a function and elements at hand, both checked."""
    check_function(function, wording.function, "an element")
    elements, count = converted_elements(given, wording.elements)
    return Workload(
        function=function,
        elements=elements,
        given_elements=given,
        element_count=count,
        wording=wording,
        **_user_functions(choice, namespace),
    )


def _user_functions(choice: MapChoice, namespace: Mapping[str, Any]) -> dict[str, Any]:
    functions: dict[str, Any] = {"variants": {}}
    if choice.batched is not None:
        batched = evaluate(choice.batched, namespace, "--batched")
        check_function(batched, choice.batched, "the whole batch")
        functions |= {"batched": batched, "batched_name": choice.batched}
    for name in choice.also:
        variant = evaluate(name, namespace, "--also")
        check_function(variant, name, "the elements")
        functions["variants"][name] = variant
    return functions


def _concrete_calls(cell: Cell, before: dict[str, Any], watcher: MapWatcher) -> list[SeenCall]:
    """Returns the maps with values for their elements, from a hidden rerun where needed."""
    seen = list(watcher.sites.values())
    if seen and not any(call.symbolic for call in seen):
        return seen
    if not seen and not _may_hide_a_map(cell, before):
        return []
    eager = [call for call in seen if not call.symbolic]
    rerun = _rerun_eagerly(cell, before)
    sites = {call.site for call in eager}
    return eager + [c for c in rerun if c.site not in sites and not c.symbolic]


def _may_hide_a_map(cell: Cell, before: Mapping[str, Any]) -> bool:
    """Tells whether the cell calls anything that may hold an already traced function."""
    calls = [node for node in ast.walk(cell.tree) if isinstance(node, ast.Call)]
    roots = {_root(call.func) for call in calls}
    values = [before.get(name) for name in roots if name]
    return any(
        callable(value) or hasattr(value, "call") or is_tf_function(value)
        for value in values
        if value is not None and getattr(value, "__name__", "") not in ("tensorflow", "numpy")
    )


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def _rerun_eagerly(cell: Cell, before: dict[str, Any]) -> list[SeenCall]:
    """Runs the cell once more, unseen and with functions run eagerly, from the state after it."""
    watcher = MapWatcher()
    snapshot = state.take({name: before[name] for name in cell.names_read() if name in before})
    if snapshot.not_repeatable:
        what = " and ".join(snapshot.not_repeatable)
        raise WorkloadError(
            f"the cell can't be run a second time to see the map's elements, since it reads {what}. "
            "Name function and elements: %%mapcost --fn FUNCTION --over ELEMENTS"
        )
    with contextlib.ExitStack() as undo:
        undo.enter_context(state.preserved())
        undo.callback(snapshot.restore)
        undo.enter_context(captured_output.captured())
        undo.callback(tf.config.run_functions_eagerly, tf.config.functions_run_eagerly())
        tf.config.run_functions_eagerly(True)
        undo.enter_context(watcher.active())
        with contextlib.suppress(Exception):  # the plain run worked: what was seen still counts
            cell.run_hidden(before)
    return list(watcher.sites.values())


def _workload_of_call(
    cell: Cell,
    calls: list[SeenCall],
    watcher: MapWatcher,
    choice: MapChoice,
    namespace: dict[str, Any],
) -> Workload:
    chosen = _chosen(calls, watcher, choice)
    text = chosen.text
    place = _place(chosen, cell)
    described = [
        _map_call(number, call, cell, watcher) for number, call in enumerate(calls, start=1)
    ]
    elements, count = converted_elements(
        chosen.elements, text.elements or "elements", broadcasts=chosen.kind == "tf.vectorized_map"
    )
    execution: Execution = "eager"
    if chosen.enclosing is not None and not tf.config.functions_run_eagerly():
        execution = "xla" if chosen.enclosing_xla else "graph"
    return Workload(
        function=chosen.function,
        elements=elements,
        given_elements=chosen.elements,
        element_count=count,
        wording=_wording(chosen, text, place, cell),
        call=chosen.kind,
        plain_run_s=_plain_seconds(chosen, watcher),
        plain_result=chosen.result if chosen.site in watcher.sites else None,
        device=chosen.device,
        distribution=chosen.distribution,
        arguments=chosen.arguments,
        execution=execution,
        under_tape=chosen.under_tape,
        tape_watches_elements=chosen.watches_elements,
        call_number=calls.index(chosen) + 1,
        other_calls=tuple(
            d for call, d in zip(calls, described, strict=True) if call is not chosen
        ),
        **_user_functions(choice, namespace),
    )


def _chosen(calls: list[SeenCall], watcher: MapWatcher, choice: MapChoice) -> SeenCall:
    if choice.call is None:
        return max(calls, key=lambda call: watcher.seconds.get(call.site, call.seconds))
    if choice.call > len(calls):
        plural = "one map" if len(calls) == 1 else f"{len(calls)} maps"
        raise WorkloadError(f"--call {choice.call}: the cell has {plural}, counted from 1")
    return calls[choice.call - 1]


def _map_call(number: int, call: SeenCall, cell: Cell, watcher: MapWatcher) -> MapCall:
    leaves = tf.nest.flatten(call.elements)
    count = next((int(n) for n in (_length(leaf) for leaf in leaves) if n is not None), None)
    return MapCall(
        number=number,
        text=call.text.call or call.kind,
        place=_place(call, cell),
        calls=watcher.counts.get(call.site, 1),
        seconds=_plain_seconds(call, watcher),
        element_count=count,
    )


def _plain_seconds(call: SeenCall, watcher: MapWatcher) -> float | None:
    """Returns what the call took in the cell's own run; tracing alone is no run."""
    seen = watcher.sites.get(call.site)
    return None if seen is None or seen.symbolic else watcher.seconds[call.site]


def _length(leaf: Any) -> int | None:
    shape = getattr(leaf, "shape", None)
    return int(shape[0]) if shape is not None and len(shape) and shape[0] is not None else None


def _wording(chosen: SeenCall, text: CallText, place: str, cell: Cell) -> Wording:
    name = getattr(chosen.function, "__name__", type(chosen.function).__name__)
    in_cell = chosen.site[0] == cell.filename and chosen.site[2] == "<module>"
    return Wording(
        function=text.function or name,
        elements=text.elements or "elements",
        call_text=text.call or None,
        place=place,
        enclosing=chosen.enclosing,
        assigned_name=text.assigned_name if in_cell else None,
        arguments=dict(text.arguments),
        source=cell.text,
    )


def _place(call: SeenCall, cell: Cell) -> str:
    filename, line, function = call.site
    if filename == cell.filename and function == "<module>":
        return f"line {line} of the cell"
    where = f"line {line} of the cell, in " if filename == cell.filename else ""
    return f"{where}`{function}`"


def _nothing_found(cell: Cell, namespace: Mapping[str, Any], watcher: MapWatcher) -> str:
    function, elements = _own_names(cell, namespace)
    hidden = (
        " A map inside Dataset.map or an already compiled layer can't be seen."
        if watcher.sites or "Dataset" in cell.text or ".map(" in cell.text
        else ""
    )
    return (
        "no call of tf.map_fn or tf.vectorized_map was seen in this cell (it has run, and its names "
        f"are there).{hidden} Either call one in the cell: tf.map_fn({function}, {elements}); "
        f"or name both: %%mapcost --fn {function} --over {elements}"
    )


def _own_names(cell: Cell, namespace: Mapping[str, Any]) -> tuple[str, str]:
    """Returns a function and a tensor of the user's for an example, the cell's own first."""
    names = [*cell.names_read(), *[n for n in namespace if not n.startswith("_")]]
    own = [(name, namespace[name]) for name in dict.fromkeys(names) if name in namespace]
    functions = [n for n, v in own if callable(v) and getattr(v, "__module__", "") == "__main__"]
    arrays = (tf.Tensor, tf.Variable, tf.RaggedTensor, np.ndarray)
    tensors = [n for n, v in own if isinstance(v, arrays) and len(v.shape) > 0]
    return (functions or ["your_function"])[0], (tensors or ["your_elements"])[0]
