"""Does a strategy give the reference's result? Structure, dtype, shape, values, changed variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
DRAWN_WHILE_TRACING = Agreement(
    "different",
    detail="random numbers of Python or NumPy are drawn once, while tracing, and stay the same in "
    "every call",
)


# A gradient that is 0 but for rounding (of a bias before a normalization, say) is blown up by
# optimizers that divide by its size. An update under this share of the largest is taken for such.
ROUNDING_SHARE = 1e-2
# So many units in the last place of a variable can be lost by adding an update to it.
LOST_UNITS = 4


class Change(NamedTuple):
    """A variable's value before and after a call."""

    name: str
    before: Any
    after: Any
    trainable: bool = True


@dataclass(frozen=True)
class Outcome:
    """What one call left behind: its result, and the values of the variables that it may change.

    Attributes:
        result: structure of tensors.
        variables: the variables that it may change.
    """

    result: Any
    variables: tuple[Change, ...] = ()


def compare(
    reference: Outcome,
    other: Outcome,
    random: bool = False,
    tolerances: Mapping[str, Tolerance] | None = None,
) -> Agreement:
    """Compares `other` with `reference`.

    Args:
        reference: outcome of the reference run.
        other: outcome of the strategy.
        random: results differ by design, so only structure, dtype and shape are compared.
        tolerances: others than those of `TOLERANCES`, by dtype.
    """
    allowed = {**TOLERANCES, **(tolerances or {})}
    problem, pairs = _paired(reference.result, other.result)
    if problem:
        return Agreement("different", detail=problem)
    if random:
        return Agreement("shape-only", detail="random streams differ; shapes and dtypes agree")
    agreement = _values(pairs, allowed)
    if agreement.verdict == "different":
        return agreement
    return _updates(reference, other, allowed) or agreement


def _updates(
    reference: Outcome, other: Outcome, tolerances: Mapping[str, Tolerance]
) -> Agreement | None:
    """Returns how variables differ after the call, `None` where they agree.

    The update of a variable is compared, since its value alone would hide a wrong small step. An
    update that is tiny beside those of other variables may be nothing but rounding; it is measured
    by theirs.
    """
    count = len(reference.variables)
    changed = zip(reference.variables, other.variables, strict=False)
    pairs = [(change, last.after) for change, last in changed if _is_number(change.before)]
    largest = {
        kind: max((_size_of_update(c) for c, _ in pairs if c.trainable is kind), default=0.0)
        for kind in (True, False)
    }
    for change, after in pairs:
        dtype = str(np.asarray(change.before).dtype)
        tolerance = tolerances.get(dtype, EXACT)
        before, mine, theirs = (_widened(v) for v in (change.before, change.after, after))
        slack = np.zeros(np.shape(before))
        if dtype in tolerances:
            slack = LOST_UNITS * _unit(dtype) * np.maximum(np.abs(before), np.abs(mine))
            if _size_of_update(change) < ROUNDING_SHARE * largest[change.trainable]:
                slack = slack + ROUNDING_SHARE * largest[change.trainable]
        name = f"the update of variable `{change.name}`"
        found = _compare_arrays(name, mine - before, theirs - before, tolerance, slack)
        if found.verdict == "different":
            return found
    for change in other.variables[count:]:  # the reference leaves these as they are
        dtype = str(np.asarray(change.before).dtype)
        found = _compare_arrays(
            f"variable `{change.name}`",
            np.asarray(change.before),
            np.asarray(change.after),
            tolerances.get(dtype, EXACT),
        )
        if found.verdict == "different":
            return found
    return None


def _is_number(value: Any) -> bool:
    dtype = np.asarray(value).dtype
    return dtype.kind in "fiucb" or "float" in str(dtype)


def _size_of_update(change: Change) -> float:
    if str(np.asarray(change.before).dtype) not in TOLERANCES:
        return 0.0
    difference = np.abs(_widened(change.after) - _widened(change.before))
    return float(np.max(difference, initial=0.0))


def _unit(dtype: str) -> float:
    """Returns the distance of 1.0 to the next number of a floating-point dtype."""
    digits = {"float16": 10, "bfloat16": 7, "float32": 23, "complex64": 23}
    return float(2.0 ** -digits.get(dtype, 52))


def _widened(value: Any) -> Any:
    return np.asarray(value).astype(_wide(value))


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


def _values(
    pairs: Sequence[tuple[str, Any, Any]], tolerances: Mapping[str, Tolerance]
) -> Agreement:
    worst = Agreement("equal", max_abs=0.0, max_rel=0.0)
    for name, reference, other in pairs:
        tolerance = tolerances.get(str(reference.dtype), EXACT)
        found = _compare_arrays(name, reference, other, tolerance)
        if found.verdict == "different":
            return found
        if (found.max_abs or 0.0) > (worst.max_abs or 0.0):
            worst = found
    return worst


def _compare_arrays(
    name: str, reference: Any, other: Any, tolerance: Tolerance, slack: Any = 0.0
) -> Agreement:
    if reference.dtype.kind in "OSUiub":
        return _compare_exactly(name, reference, other)
    a, b = reference.astype(_wide(reference)), other.astype(_wide(other))
    with np.errstate(all="ignore"):
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if same.all():
            return Agreement("equal", max_abs=0.0, max_rel=0.0)
        difference = np.where(same, 0.0, np.abs(a - b))
        finite = np.abs(a[np.isfinite(a)])
        scale = float(finite.max()) if finite.size else 0.0
        allowed = tolerance.relative * np.abs(a) + tolerance.absolute * scale + slack
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
