"""The live side of a measurement: the mapped function, its elements and how the user calls it."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import tensorflow as tf

from tfinsight.errors import WorkloadError
from tfinsight.records import Execution, MapCall, TensorFacts

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Wording:
    """How the user wrote it; see `records.WorkloadFacts`."""

    function: str
    elements: str
    call_text: str | None = None
    place: str = ""
    enclosing: str | None = None
    assigned_name: str | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class Gradient:
    """What a gradient is taken with respect to.

    Attributes:
        variables: trainable variables that the function reads.
        elements: also the elements, since the user's tape recorded what they come from.
    """

    variables: tuple[tf.Variable, ...]
    elements: bool


@dataclass(frozen=True)
class Workload:
    """A function to be mapped over elements.

    Attributes:
        function: takes one element (a structure of tensors without the first dimension).
        elements: structure of tensors, ragged or sparse tensors, all with the same first dimension.
        given_elements: the same as the user gave them, perhaps NumPy arrays.
        element_count: that first dimension.
        call: `tf.map_fn`, `tf.vectorized_map`, or `None` where the user named function and elements.
        arguments: the call's other arguments.
        execution: how the user's own call is executed.
        under_tape: forward and backward are to be measured together.
        tape_watches_elements: the user's tape recorded what the elements come from.
        batched: function of the whole batch; `function` itself unless the user named another.
        batched_name: that other's name, or `None`.
        variants: the user's own functions of the elements by name.
        wording: how the user wrote it.
        call_number: which of the cell's maps it is.
        other_calls: the maps that are not measured.
        device: the device scope that the call stood in, or empty.
        distribution: the distribution strategy whose scope it stood in, or `None`.
        plain_run_s: seconds that the call took in the cell's plain run, or `None`.
        plain_result: what it returned there.
    """

    function: Function
    elements: Any
    given_elements: Any
    element_count: int
    wording: Wording
    call: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    execution: Execution = "eager"
    under_tape: bool = False
    tape_watches_elements: bool = False
    batched: Function | None = None
    batched_name: str | None = None
    variants: Mapping[str, Function] = field(default_factory=dict)
    call_number: int = 1
    other_calls: tuple[MapCall, ...] = ()
    plain_run_s: float | None = None
    plain_result: Any = None
    device: str = ""
    distribution: Any = None

    @contextlib.contextmanager
    def scopes(self) -> Iterator[None]:
        """Puts the device and distribution scopes of the user's own call in force."""
        with contextlib.ExitStack() as scopes:
            if self.distribution is not None:
                scopes.enter_context(self.distribution.scope())
            if self.device:
                scopes.enter_context(tf.device(self.device))
            yield

    def without_inputs(self) -> Workload:
        """Returns the workload without its tensors, for what outlives the measurement."""
        return replace(self, elements=None, given_elements=None, plain_result=None)

    def roots(self) -> dict[str, Any]:
        """Returns what a run refers to, by the user's names: what it can change is found from there."""
        wording = self.wording
        return {
            wording.function: self.function,
            wording.elements: self.given_elements,
            self.batched_name or "batched": self.batched,
            "the call's arguments": self.arguments,
            **self.variants,
        }


def converted_elements(elements: Any, name: str, broadcasts: bool = False) -> tuple[Any, int]:
    """Converts `elements` to tensors and returns them with the length of their first dimension.

    Args:
        elements: structure of anything that converts to a tensor.
        name: what the user calls it, for messages.
        broadcasts: first dimensions of 1 may stand beside others, as `tf.vectorized_map` allows.

    Raises:
        WorkloadError: no tensors, scalars, or first dimensions that don't fit together.
    """
    try:
        tensors = tf.nest.map_structure(_tensor, elements)
    except (TypeError, ValueError) as error:
        raise WorkloadError(
            f"`{name}` must be a tensor or a structure of tensors; TensorFlow can't convert it: "
            f"{_first_line(error)}"
        ) from None
    leaves = tf.nest.flatten(tensors)
    if not leaves:
        raise WorkloadError(f"`{name}` holds no tensor, so there is nothing to map over")
    for leaf in leaves:
        if leaf.shape.rank == 0:
            raise WorkloadError(
                f"`{name}` must have a first dimension to map over, but "
                + ("it is a scalar" if len(leaves) == 1 else "it holds scalars")
                + f" of type {leaf.dtype.name}. For a list of numbers, write tf.constant([...])"
            )
    lengths = sorted({int(_first_dimension(leaf)) for leaf in leaves})
    if len(lengths) > 1 and not (broadcasts and len(lengths) == 2 and lengths[0] == 1):
        raise WorkloadError(
            f"the tensors of `{name}` must have the same first dimension, but they have "
            + " and ".join(map(str, lengths))
        )
    if len(lengths) > 1:
        tensors = tf.nest.map_structure(lambda leaf: _repeated(leaf, lengths[-1]), tensors)
    return tensors, lengths[-1]


def check_function(function: Any, name: str, takes: str) -> None:
    """Checks that `function` can be called with one argument.

    Raises:
        WorkloadError: it isn't callable, or takes another number of arguments.
    """
    if not callable(function):
        raise WorkloadError(
            f"`{name}` must be a function of {takes}, but it is a {type(function).__name__}"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # built in, without a signature: the call itself will tell
    try:
        signature.bind(None)
    except TypeError:
        raise WorkloadError(
            f"`{name}` must be a function of one argument, {takes} (several tensors come as one "
            f"tuple or dictionary), but its parameters are {signature}"
        ) from None


def tensor_facts(structure: Any) -> tuple[TensorFacts, ...]:
    """Describes each tensor of a structure."""
    return tuple(_facts(path, leaf) for path, leaf in _leaves_with_paths(structure, ""))


def _tensor(leaf: Any) -> Any:
    if isinstance(leaf, tf.Variable):
        return leaf.read_value()
    return leaf if tf.is_tensor(leaf) else tf.convert_to_tensor(leaf)


def _repeated(leaf: Any, count: int) -> Any:
    """Returns a tensor of one element as `count` of it; others as they are."""
    if not isinstance(leaf, tf.Tensor) or leaf.shape[0] != 1:
        return leaf
    return tf.broadcast_to(leaf, [count, *leaf.shape[1:]])


def _first_dimension(leaf: Any) -> int:
    if isinstance(leaf, tf.RaggedTensor):
        return int(leaf.nrows())
    if isinstance(leaf, tf.SparseTensor):
        return int(leaf.dense_shape[0])
    return int(leaf.shape[0])


def _leaves_with_paths(structure: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(structure, Mapping):
        children = [(f"{path}[{key!r}]", value) for key, value in structure.items()]
    elif isinstance(structure, tuple) and hasattr(structure, "_fields"):
        children = [(f"{path}.{n}", getattr(structure, n)) for n in structure._fields]
    elif isinstance(structure, (list, tuple)):
        children = [(f"{path}[{index}]", value) for index, value in enumerate(structure)]
    else:
        return [(path, structure)]
    return [found for name, child in children for found in _leaves_with_paths(child, name)]


def _facts(path: str, leaf: Any) -> TensorFacts:
    kind: Literal["dense", "ragged", "sparse"]
    if isinstance(leaf, tf.RaggedTensor):
        kind, parts = "ragged", [leaf.flat_values, *leaf.nested_row_splits]
    elif isinstance(leaf, tf.SparseTensor):
        kind, parts = "sparse", [leaf.values, leaf.indices]
    else:
        leaf = tf.convert_to_tensor(leaf)
        kind, parts = "dense", [leaf]
    sizes = [None if p.dtype == tf.string else int(tf.size(p)) * p.dtype.size for p in parts]
    known = None if None in sizes else sum(size for size in sizes if size is not None)
    return TensorFacts(path, kind, leaf.dtype.name, tuple(leaf.shape.as_list()), known)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
