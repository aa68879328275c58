"""A guard against batched forms that agree with the reference by luck."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight.measure.agreement import Outcome, compare
from tfinsight.measure.map_run import MapMeasurement
from tfinsight.measure.preflight import element
from tfinsight.records import Agreement
from tfinsight.strategies.mappings import stacked


def checked_on_random_elements(measurement: MapMeasurement, agreement: Agreement) -> Agreement:
    """Guards a batched form against batches on which a wrong form agrees by luck."""
    workload = measurement.workload
    batch = random_elements(workload.elements, workload.element_count)
    if batch is None:
        return replace(agreement, detail="agrees on this input; no random elements could be made")
    elements, count = batch
    batched = workload.batched or workload.function
    try:
        with measurement.user_time():
            one_by_one = [workload.function(element(elements, i)) for i in range(count)]
            expected = stacked(one_by_one, measurement.plan.output_signature)
            found = compare(Outcome(expected), Outcome(batched(elements)))
    except Exception as error:
        detail = f"agrees on this input; on random elements it fails: {type(error).__name__}"
        return replace(agreement, detail=detail)
    finally:
        measurement.restore()
    if found.verdict == "different":
        detail = f"agrees on this input by luck; on random elements {found.detail}"
        return replace(found, detail=detail)
    return replace(agreement, probed=True)


def random_elements(elements: Any, count: int) -> tuple[Any, int] | None:
    """Makes a few random elements of the same kinds, or `None` where that can't be done.

    Their number is at least 3 and none of the elements' own dimensions, so that a form that mixes
    up the two does not agree by luck. Integers stay within the range that the elements have.
    """
    leaves = tf.nest.flatten(elements)
    if not all(isinstance(leaf, tf.Tensor) and leaf.dtype != tf.string for leaf in leaves):
        return None
    if count == 0:
        return None
    dimensions = {int(size) for leaf in leaves for size in leaf.shape[1:]}
    rows = next(n for n in range(3, 4 + len(dimensions)) if n not in dimensions)
    generator = np.random.default_rng(0)
    made = [_random_like(leaf, rows, generator) for leaf in leaves]
    return tf.nest.pack_sequence_as(elements, made), rows


def _random_like(leaf: tf.Tensor, rows: int, generator: np.random.Generator) -> tf.Tensor:
    shape = [rows, *leaf.shape[1:]]
    if leaf.dtype.is_bool:
        return tf.constant(generator.integers(0, 2, shape).astype(bool))
    values = leaf.numpy()
    low, high = (values.min(), values.max()) if values.size else (0, 1)
    if leaf.dtype.is_integer:
        return tf.constant(generator.integers(low, high, shape, endpoint=True), leaf.dtype)
    # Values of the elements' own range: functions such as log or sqrt keep their meaning.
    if leaf.dtype.is_complex or not np.isfinite([float(low), float(high)]).all() or low == high:
        return tf.cast(tf.constant(generator.normal(size=shape)), leaf.dtype)
    drawn = generator.uniform(float(low), float(high), shape)
    return tf.cast(tf.constant(drawn), leaf.dtype)
