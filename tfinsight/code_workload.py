"""The live side of comparing executions: a measured function, what it reads, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight.tensorflow_private import resolve

# What a leaf of a result may be, tensors apart.
_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic, type(None))


@dataclass(frozen=True)
class CodeWords:
    """How the user wrote it; see `records.CellFacts`."""

    name: str
    source: str = ""
    measured: str = ""
    ran_once: tuple[int, int] | None = None
    measured_lines: tuple[int, int] | None = None
    result: str = ""
    as_function: str = ""
    call: str = ""
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Obstacle:
    """A statement that can't be run again, or not as a graph.

    Attributes:
        line: of the cell.
        text: of the statement.
        why: the reason, a phrase ("writes the file `log.txt`").
    """

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        return f"line {self.line}, `{self.text}`: {self.why}"


@dataclass(frozen=True)
class CodeWorkload:
    """Code whose executions are compared.

    Attributes:
        function: takes `inputs`, `arrays` and `initial` by position, in this order.
        inputs: name to tensor or structure of tensors that the code reads.
        arrays: name to NumPy array that it reads.
        initial: name to the value of other names that it reads and then assigns anew.
        roots: name to everything else that it refers to.
        words: how the user wrote it.
        offsets: file that holds lines of its source to line of the file less line of the source; frames
            of traced ops and of errors are found by them.
        plain_run_s: seconds of the plain run of what is measured; `None` if there was none.
        functions: functions under `tf.function` that the plain run called.
        traces: how often each was traced in the plain run.
        obstacles: statements that can be run only once.
        entry: the Keras method that it calls, such as `fit`, or `None`.
        models: the Keras models that it is called on.
        variants: the user's own variants by name.
    """

    function: Callable[..., Any]
    inputs: Mapping[str, Any]
    arrays: Mapping[str, Any]
    initial: Mapping[str, Any]
    roots: Mapping[str, Any]
    words: CodeWords
    offsets: Mapping[str, int] = field(default_factory=dict)
    plain_run_s: float | None = None
    functions: tuple[Any, ...] = ()
    traces: tuple[int, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    entry: str | None = None
    models: tuple[Any, ...] = ()
    variants: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def arguments(self, captured_arrays: bool) -> tuple[Any, ...]:
        """Returns what a graph takes as inputs.

        Args:
            captured_arrays: NumPy arrays stay as they are and become constants.
        """
        arrays = () if captured_arrays else tuple(map(tf.convert_to_tensor, self.arrays.values()))
        return (*self.inputs.values(), *arrays)

    def graph_function(
        self, function: Callable[..., Any], captured_arrays: bool
    ) -> Callable[..., Any]:
        """Returns `function` with everything but the graph's inputs in place.

        A function that needs nothing put in place is returned as it is.
        """
        kept = tuple(self.arrays.values()) if captured_arrays else ()
        kept += tuple(self.initial.values())
        if not kept:
            return function
        count = len(self.inputs) + (0 if captured_arrays else len(self.arrays))

        def measured(*inputs: Any) -> Any:
            return function(*inputs[:count], *kept)

        return measured

    def call_plainly(self, function: Callable[..., Any] | None = None) -> Any:
        """Runs the function, or another in its place, as Python runs it."""
        given = (*self.inputs.values(), *self.arrays.values(), *self.initial.values())
        return (function or self.function)(*given)


def is_input(value: Any) -> bool:
    """Tells whether a value is a tensor, or a structure of nothing but tensors."""
    if isinstance(value, (list, dict, tuple)) and not value:
        return False
    leaves = [value] if _is_tensor(value) else _leaves(value)
    return bool(leaves) and all(_is_tensor(leaf) for leaf in leaves)


def is_numeric_array(value: Any) -> bool:
    """Tells whether a value is a NumPy array that a tensor can hold."""
    return isinstance(value, np.ndarray) and value.dtype.kind in "fiubc" and value.size > 0


def is_comparable(value: Any) -> bool:
    """Tells whether a value is a result: tensors or numbers, or a structure with at least one."""
    value = plain_result(value)
    leaves = _leaves(value)
    good = (tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices, *_NUMBERS)
    if not all(_is_tensor(leaf) or isinstance(leaf, good) for leaf in leaves):
        return False
    return any(leaf is not None for leaf in leaves)


def plain_result(value: Any) -> Any:
    """Returns a result as a structure of tensors and arrays: what every execution gives alike.

    Python's numbers become the tensors that a graph makes of them; of Keras's `History` the figures
    are taken.
    """
    if type(value).__name__ == "History" and hasattr(value, "history"):
        value = {key: list(figures) for key, figures in value.history.items()}
    elif value is not None and type(value).__name__ == "ListWrapper":
        value = list(value)
    return tf.nest.map_structure(_plain_leaf, value)


def _plain_leaf(leaf: Any) -> Any:
    if isinstance(leaf, (bool, int, float, complex)):
        return tf.convert_to_tensor(leaf)
    inner = getattr(leaf, "_value", None)
    if isinstance(leaf, tf.Variable):
        return leaf.read_value()
    return inner.read_value() if isinstance(inner, tf.Variable) else leaf


def _is_tensor(value: Any) -> bool:
    kinds = (tf.Tensor, tf.RaggedTensor, tf.SparseTensor, tf.IndexedSlices)
    return isinstance(value, kinds) and not isinstance(value, resolve("Function"))


def _leaves(value: Any) -> Sequence[Any]:
    if not isinstance(value, (list, tuple, dict)):
        return [value]
    try:
        return list(tf.nest.flatten(value))
    except (TypeError, ValueError):  # keys that can't be put in order
        return [object()]
