"""Does a strategy give the reference's result? Structure, dtype, shape, values, changed variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfinsight.records import Agreement


class Tolerance(NamedTuple):
    """Allowed difference: `relative * |reference| + absolute * max |reference|`."""

    relative: float
    absolute: float


# Several hundred roundings of each dtype: other orders of summing stay within, other results don't.
# The absolute part covers results near zero that came from cancelling large numbers.
TOLERANCES: dict[str, Tolerance] = {
    "float16": Tolerance(2e-2, 5e-3),
    "bfloat16": Tolerance(5e-2, 2e-2),
    "float32": Tolerance(2e-4, 2e-5),
    "float64": Tolerance(1e-9, 1e-10),
    "complex64": Tolerance(2e-4, 2e-5),
    "complex128": Tolerance(1e-9, 1e-10),
}
EXACT = Tolerance(0.0, 0.0)


@dataclass(frozen=True)
class Outcome:
    """What one call left behind: its result, and the values of the variables that it may change.

    Attributes:
        result: structure of tensors.
        variables: value of each variable after the call, with its value before.
    """

    result: Any
    variables: tuple[tuple[str, Any, Any], ...] = ()


def compare(reference: Outcome, other: Outcome, random: bool = False) -> Agreement:
    """Compares `other` with `reference`.

    Args:
        reference: outcome of the reference run.
        other: outcome of the strategy.
        random: results differ by design, so only structure, dtype and shape are compared.
    """
    problem, pairs = _paired(reference.result, other.result)
    if problem:
        return Agreement("different", detail=problem)
    if random:
        return Agreement("shape-only", detail="random streams differ; shapes and dtypes agree")
    agreement = _values(pairs)
    if agreement.verdict == "different":
        return agreement
    for name, before, after, other_after in _changed_pairs(reference, other):
        # A variable's update is compared, since its value alone would hide a wrong small step.
        update = _values(
            [(f"the update of variable `{name}`", after - before, other_after - before)]
        )
        if update.verdict == "different":
            return update
    return agreement


def _changed_pairs(reference: Outcome, other: Outcome) -> list[tuple[str, Any, Any, Any]]:
    pairs = zip(reference.variables, other.variables, strict=True)
    numbers = [(name, before, after, last) for (name, before, after), (_, _, last) in pairs]
    return [
        (name, *(np.asarray(value).astype(_wide(value)) for value in values))  # type: ignore[misc]
        for name, *values in numbers
        if np.asarray(values[0]).dtype.kind in "fiucb"
        or "float" in str(np.asarray(values[0]).dtype)
    ]


def _wide(value: Any) -> Any:
    kind = np.asarray(value).dtype.kind
    return np.complex128 if kind == "c" else np.float64


def _paired(reference: Any, other: Any) -> tuple[str, list[tuple[str, Any, Any]]]:
    """Flattens both results to pairs of named arrays, or says how their structures differ."""
    try:
        tf.nest.assert_same_structure(reference, other)
    except (TypeError, ValueError):
        return (
            f"the structure differs: {_shape_of(other)} instead of {_shape_of(reference)}",
            [],
        )
    pairs: list[tuple[str, Any, Any]] = []
    mine, theirs = tf.nest.flatten(reference), tf.nest.flatten(other)
    for index, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        name = "the result" if len(mine) == 1 else f"output {index}"
        problem, parts = _paired_leaf(name, a, b)
        if problem:
            return problem, []
        pairs += parts
    return "", pairs


def _paired_leaf(name: str, a: Any, b: Any) -> tuple[str, list[tuple[str, Any, Any]]]:
    parts_a, parts_b = _parts(a), _parts(b)
    if len(parts_a) != len(parts_b):
        return f"{name} is {_kind(b)} instead of {_kind(a)}", []
    pairs = []
    for x, y in zip(parts_a, parts_b, strict=True):
        if x.dtype != y.dtype:
            return f"{name} has dtype {y.dtype} instead of {x.dtype}", []
        if x.shape != y.shape:
            return f"{name} has shape {list(y.shape)} instead of {list(x.shape)}", []
        pairs.append((name, x, y))
    return "", pairs


def _parts(leaf: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(leaf, tf.RaggedTensor):
        return [leaf.flat_values.numpy(), *(s.numpy() for s in leaf.nested_row_splits)]
    if isinstance(leaf, tf.SparseTensor):
        return [leaf.values.numpy(), leaf.indices.numpy(), leaf.dense_shape.numpy()]
    if isinstance(leaf, tf.IndexedSlices):
        leaf = tf.convert_to_tensor(leaf)
    return [leaf.numpy() if tf.is_tensor(leaf) else np.asarray(leaf)]


def _kind(leaf: Any) -> str:
    kinds = {tf.RaggedTensor: "a ragged tensor", tf.SparseTensor: "a sparse tensor"}
    return next((text for cls, text in kinds.items() if isinstance(leaf, cls)), "a dense tensor")


def _shape_of(structure: Any) -> str:
    return str(tf.nest.map_structure(lambda leaf: list(getattr(leaf, "shape", ())), structure))


def _values(pairs: Sequence[tuple[str, Any, Any]]) -> Agreement:
    worst = Agreement("equal", max_abs=0.0, max_rel=0.0)
    for name, reference, other in pairs:
        found = _compare_arrays(name, reference, other)
        if found.verdict == "different":
            return found
        if (found.max_abs or 0.0) > (worst.max_abs or 0.0):
            worst = found
    return worst


def _compare_arrays(name: str, reference: Any, other: Any) -> Agreement:
    if reference.dtype.kind in "OSUiub":
        return _compare_exactly(name, reference, other)
    tolerance = TOLERANCES.get(str(reference.dtype), EXACT)
    a, b = reference.astype(_wide(reference)), other.astype(_wide(other))
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if same.all():
            return Agreement("equal", max_abs=0.0, max_rel=0.0)
        difference = np.where(same, 0.0, np.abs(a - b))
        finite = np.abs(a[np.isfinite(a)])
        scale = float(finite.max()) if finite.size else 0.0
        allowed = tolerance.relative * np.abs(a) + tolerance.absolute * scale
        good = same | (difference <= allowed)
        max_abs = float(np.max(difference))
        max_rel = max_abs / scale if scale else float("inf")
    if good.all():
        return Agreement("close", max_abs=max_abs, max_rel=max_rel)
    return Agreement("different", max_abs, max_rel, _where(name, reference, other, ~good))


def _compare_exactly(name: str, reference: Any, other: Any) -> Agreement:
    wrong = np.asarray(reference != other)
    if not wrong.any():
        return Agreement("equal", max_abs=0.0, max_rel=0.0)
    return Agreement("different", detail=_where(name, reference, other, wrong))


def _where(name: str, reference: Any, other: Any, wrong: Any) -> str:
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape) if wrong.ndim else ()
    place = f" at {[int(i) for i in at]}" if at else ""
    return (
        f"{name} differs in {int(wrong.sum()):,} of {wrong.size:,} values, first{place}: "
        f"{other[at]!s} instead of {reference[at]!s}"
    )
