"""The user's own words: the text of a call and of its arguments, found from a running frame."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from types import FrameType


@dataclass(frozen=True)
class CallText:
    """A map call as written.

    Attributes:
        call: the whole call, or empty where the source can't be had.
        function: text of the argument that is the mapped function.
        elements: text of the argument that is the elements.
        arguments: text of the other arguments by name.
        assigned_name: the one name that the call's value is assigned to, or `None`.
    """

    call: str = ""
    function: str = ""
    elements: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    assigned_name: str | None = None


# Parameters of tf.map_fn and tf.vectorized_map in order, for arguments given by position.
_PARAMETERS = {
    "vectorized_map": ("fn", "elems", "fallback_to_while_loop", "warn"),
    "": (
        "fn",
        "elems",
        "dtype",
        "parallel_iterations",
        "back_prop",
        "swap_memory",
        "infer_shape",
        "name",
        "fn_output_signature",
    ),
}


def call_text(frame: FrameType) -> CallText:
    """Returns the call that `frame` is executing, as written.

    Python 3.11 and later know the exact position; before that the call is taken that spans the
    frame's line and has a function and elements as arguments.
    """
    source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return CallText()
    call = _call_node(tree, frame)
    return CallText() if call is None else _described(call, tree, source)


def _call_node(tree: ast.Module, frame: FrameType) -> ast.Call | None:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if hasattr(frame.f_code, "co_positions"):
        wanted = list(frame.f_code.co_positions())[frame.f_lasti // 2]
        for call in calls:
            if (call.lineno, call.end_lineno, call.col_offset, call.end_col_offset) == wanted:
                return call
    line = frame.f_lineno
    spanning = [c for c in calls if c.lineno <= line <= (c.end_lineno or c.lineno)]
    maps = [c for c in spanning if len(c.args) + len(c.keywords) >= 2]
    named = [c for c in maps if ast.unparse(c.func).split(".")[-1] in ("map_fn", "vectorized_map")]
    return next(iter(named or maps), None)


def _described(call: ast.Call, tree: ast.Module, source: str) -> CallText:
    name = ast.unparse(call.func).split(".")[-1]
    parameters = _PARAMETERS.get(name, _PARAMETERS[""])
    given = {p: _segment(source, a) for p, a in zip(parameters, call.args, strict=False)}
    given |= {k.arg: _segment(source, k.value) for k in call.keywords if k.arg is not None}
    return CallText(
        call=_segment(source, call),
        function=given.pop("fn", ""),
        elements=given.pop("elems", ""),
        arguments=tuple(given.items()),
        assigned_name=_assigned_name(call, tree),
    )


def _segment(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)


def _assigned_name(call: ast.Call, tree: ast.Module) -> str | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.value is call and len(node.targets) == 1:
            target = node.targets[0]
            return target.id if isinstance(target, ast.Name) else None
    return None
