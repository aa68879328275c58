"""Which line of the cell an op comes from, under whatever name it turns up later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tfinsight.compiler.origins import GRADIENT, Origin, canonical, read_origins
from tfinsight.tensorflow_private import GradientCall

# Scopes that optimizing, executing or compiling put around or into a name.
_ADDED_SCOPE = re.compile(
    r"(gradient_tape|gradients|\w*Optimizer|ConstantFolding|.*PartitionedCall(_\d+)?|.*/?(body|cond)"
    r"|(then|else)|branch\d+|branch_\w+|_\d+|jit\w*(\(.*\))?|XLA\w*|cluster\w*|__inference.*|__forward.*|__backward.*)$"
)
_PASS = re.compile(r"\w*Optimizer$|ConstantFolding$")
_STAGE = re.compile(r"^[A-Z][A-Za-z]*_(Leaf_\d+_)?")
_ADDED_END = re.compile(r"(-(folded|reduction|constant)\S*|_recip|_grad|:\d+|;.*)$")


class LineMap:
    """Finds the lines of the cell that ops come from, by name.

    Args:
        origins: name of an op, in the traced graph or in a function that it calls (the names of the
            calls before it), to where it comes from; see `read_origins`.
    """

    def __init__(self, origins: Mapping[str, Origin]) -> None:
        self._origins = origins
        self._found: dict[str, int | None] = {}

    def line(self, name: str) -> int | None:
        """Returns the line that an op of this name comes from, `None` where it can't be told.

        The name may be that of the traced graph, of the optimized graph, of a gradient op, of the
        profiler, or a path of XLA's. Gradient ops come from the line of the op that they are the
        gradient of.
        """
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def lines(self, names: Iterable[str]) -> tuple[int, ...]:
        """Returns the lines of several ops, in order, each once."""
        return tuple(sorted({n for name in names if (n := self.line(name)) is not None}))

    def is_backward(self, name: str) -> bool:
        """Tells whether an op is part of a backward pass."""
        origin = self._origins.get(canonical(name))
        return origin.backward if origin is not None else GRADIENT in name.split("/")

    def _search(self, name: str) -> int | None:
        exact = self._origins.get(canonical(name))
        if exact is not None:
            return exact.line
        return self._of_parts(_parts(canonical(name)))

    def _of_parts(self, parts: Sequence[str]) -> int | None:
        """Returns the line of a path that is known, scopes from outside and what is added left out."""
        starts = [0]
        while starts[-1] + 1 < len(parts) and self._is_scope(parts[: starts[-1] + 1]):
            starts.append(starts[-1] + 1)
        # The whole of what is left first: an op in a loop has a line of its own beside the loop's.
        ends = [(start, len(parts)) for start in starts]
        ends += [(start, end) for start in starts for end in range(len(parts) - 1, start, -1)]
        for start, end in ends:
            origin = self._origins.get("/".join(parts[start:end]))
            if origin is not None and origin.line is not None:
                return origin.line
        return None

    def _is_scope(self, parts: Sequence[str]) -> bool:
        """Tells whether the last part was put there, or is a call or loop that the rest is in."""
        return bool(_ADDED_SCOPE.match(parts[-1])) or parts[-1] in self._origins


def line_map(
    graph: Any, offsets: Mapping[str, int], gradients: Sequence[GradientCall] = ()
) -> LineMap:
    """Reads the tracebacks of a traced graph, functions that it calls included.

    The line is that of the innermost frame in these files: a helper from elsewhere is attributed to
    the line that calls it, one that stands in the cell to the line inside it.

    Args:
        graph: the `FuncGraph`.
        offsets: file that holds lines of the cell to line of the file less line of the cell.
        gradients: the gradients that were computed while it was traced.
    """
    return LineMap(read_origins(graph, offsets, gradients))


def _parts(name: str) -> list[str]:
    """Returns a name's path, without what the passes of the optimizer put into it."""
    parts: list[str] = []
    after_pass = False
    for part in _ADDED_END.sub("", name).split("/"):
        if _PASS.match(part):
            after_pass = True
            continue
        parts.append(_ADDED_END.sub("", _STAGE.sub("", part) if after_pass else part))
        after_pass = False
    return parts
