"""Where each op of a traced graph comes from: the frames of its traceback, and the gradients' ops."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tfinsight.compiler.graph import CALLS, scoped_graphs
from tfinsight.tensorflow_private import GradientCall

# tfinsight's own frames, but for those that watch what the user's code calls.
_OWN = str(Path(__file__).parents[1]) + os.sep
_WATCHING = os.sep + "tensorflow_private.py"
# What runs a gradient, among the frames of an op's traceback.
_BACKPROP = "tensorflow/python/eager/backprop.py"
_BACKPROP_METHODS = frozenset({"gradient", "jacobian", "batch_jacobian"})
GRADIENT = "gradient_tape"
# In a function that computes gradients, scopes name the op that they are the gradient of.
_GRADIENT_OF = re.compile(r"(^|/)gradients/(?P<op>.+?)_grad/")
# They carry results of a loop's or a branch's body to the backward pass.
_HANDING_OVER = frozenset({"TensorListPushBack", "OptionalFromValue"})


class Origin(NamedTuple):
    """Where an op comes from.

    Attributes:
        line: of the cell, or `None`.
        backward: a gradient tape made it.
    """

    line: int | None
    backward: bool


NOWHERE = Origin(None, False)


@dataclass(frozen=True)
class _Inside:
    """A function's place among those that call it.

    Attributes:
        prefix: names of the calls before it, as names inside begin.
        caller: where the call comes from.
        forward: prefix of the function that this one is the gradient of, or empty.
    """

    prefix: str = ""
    caller: Origin = NOWHERE
    forward: str = ""


def canonical(name: str) -> str:
    """Returns a name without the numbers that lowering loops and branches puts into it."""
    return re.sub(r"(/(?:cond|body|then|else|branch\d+))/_\d+(?=/)", r"\1", name)


def read_origins(
    graph: Any, offsets: Mapping[str, int], gradients: Sequence[GradientCall]
) -> dict[str, Origin]:
    """Returns the origin of each op in a graph and in the functions that it runs, by name.

    A name that a function has alone is found without those of the calls before it, too.

    Args:
        graph: the `FuncGraph`.
        offsets: file that holds lines of the cell to line of the file less line of the cell.
        gradients: the gradients that were computed while it was traced.
    """
    calls: dict[int, list[GradientCall]] = {}
    for call in gradients:
        calls.setdefault(id(call.graph), []).append(call)
    origins: dict[str, Origin] = {}
    short: dict[str, Origin] = {}
    _read(graph, _Inside(), offsets, calls, origins, short)
    return {**short, **origins}


def _read(
    graph: Any,
    inside: _Inside,
    offsets: Mapping[str, int],
    gradients: Mapping[int, Sequence[GradientCall]],
    origins: dict[str, Origin],
    short: dict[str, Origin],
) -> None:
    here = {op.name: _origin(op, inside, offsets, origins) for op in graph.get_operations()}
    forward_of = _place_gradients(graph, gradients.get(id(graph), ()), here)
    for op in graph.get_operations():
        origins[inside.prefix + op.name] = here[op.name]
        short.setdefault(op.name, here[op.name])
        forward = forward_of.get(op.name)
        # In the order that loops and conditions have their bodies in, the gradient has its own.
        of_forward = [scope for scope, _ in scoped_graphs(forward)] if forward is not None else []
        for index, (scope, body) in enumerate(scoped_graphs(op)):
            known = f"{inside.prefix}{of_forward[index]}" if index < len(of_forward) else ""
            called = _Inside(inside.prefix + scope, here[op.name], known)
            _read(body, called, offsets, gradients, origins, short)


def _origin(
    op: Any, inside: _Inside, offsets: Mapping[str, int], origins: Mapping[str, Origin]
) -> Origin:
    if inside.forward:
        found = _GRADIENT_OF.search(op.name)
        forward = origins.get(inside.forward + found["op"]) if found else None
        return Origin(forward.line if forward else inside.caller.line, True)
    line, backward = None, op.name.startswith(f"{GRADIENT}/")
    for frame in op.traceback or ():
        if frame.filename in offsets:
            line = frame.lineno - offsets[frame.filename]
        elif frame.filename.startswith(_OWN) and not frame.filename.endswith(_WATCHING):
            line = None  # what stands around measuring is no part of what is measured
        elif frame.name in _BACKPROP_METHODS and frame.filename.endswith(_BACKPROP):
            backward = True
    original = op._original_op  # noqa: SLF001 - the public way to it is gone
    if line is None and original is not None:
        return _origin(original, inside, offsets, origins)
    caller = inside.caller
    return Origin(caller.line if line is None else line, backward or caller.backward)


def _place_gradients(
    graph: Any, gradients: Sequence[GradientCall], here: dict[str, Origin]
) -> dict[str, Any]:
    """Puts gradient ops on the lines of the ops that they are gradients of.

    Returns:
        the loops, branches and calls of the backward pass, to those of the forward pass.
    """
    operations = graph.get_operations()
    forward_of: dict[str, Any] = {}
    readers: dict[tuple[str, str], Any] = {}
    for op in operations if gradients else ():
        for tensor in op.inputs:
            readers.setdefault((op.type, tensor.name), op)
    for call in gradients:
        by_input = (readers.get((call.kind, name)) for name in call.inputs)
        forward = call.forward or next((op for op in by_input if op is not None), None)
        line = None if forward is None else here[forward.name].line
        if forward is None or line is None:
            continue
        for op in operations[call.first : call.end]:
            here[op.name] = Origin(line, True)
            if op.type not in CALLS and forward.type == op.type:
                forward_of[op.name] = forward
    _place_calls(operations, here, forward_of)
    return forward_of


def _place_calls(
    operations: Sequence[Any], here: dict[str, Origin], forward_of: dict[str, Any]
) -> None:
    """Puts the backward passes of called functions, and what is handed to them, on their lines."""
    for op in operations:
        if not here[op.name].backward:
            continue
        if op.type in CALLS:
            calls = (t.op for t in op.inputs if t.op.type in CALLS)
            forward = next((call for call in calls if not here[call.name].backward), None)
            if forward is not None:
                here[op.name] = Origin(here[forward.name].line, True)
                forward_of[op.name] = forward
        elif op.type in _HANDING_OVER:
            here[op.name] = Origin(here[op.inputs[-1].op.name].line, True)
