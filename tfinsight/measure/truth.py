"""Which of two differing rows is nearer the truth: the error of both against a float64 run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight.measure.agreement import Outcome
from tfinsight.measure.session import Measurement
from tfinsight.records import Agreement


class Truth:
    """The result of a float64 run, made when it is first asked for."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self._result: Any = None
        self._tried = False

    def judged(self, agreement: Agreement, outcome: Outcome) -> Agreement:
        """Returns `agreement` with the errors of both rows, where the two differ by value.

        Args:
            agreement: of `outcome` with the reference's.
            outcome: of a row whose result differs.
        """
        reference = self._measurement.outcome
        if agreement.verdict != "different" or agreement.max_abs is None or reference is None:
            return agreement
        if not self._tried:
            self._tried, self._result = True, self._run()
        if self._result is None:
            return agreement
        errors = [_largest_difference(self._result, o.result) for o in (outcome, reference)]
        return replace(agreement, max_error=errors[0], reference_max_error=errors[1])

    def _run(self) -> Any:
        try:
            with self._measurement.user_time():
                result = self._measurement.float64_result()
            leaves = [leaf for leaf in tf.nest.flatten(result) if tf.is_tensor(leaf)]
            wide = all(not leaf.dtype.is_floating or leaf.dtype == tf.float64 for leaf in leaves)
            return result if leaves and wide else None
        except Exception:  # the code holds values of another dtype, say
            return None
        finally:
            self._measurement.restore_all()


def widened(leaf: Any) -> Any:
    """Returns a floating-point tensor in float64, others as they are."""
    return tf.cast(leaf, tf.float64) if leaf.dtype.is_floating else leaf


def _largest_difference(truth: Any, result: Any) -> float | None:
    pairs = zip(tf.nest.flatten(truth), tf.nest.flatten(result), strict=True)
    worst = 0.0
    for true, other in pairs:
        if not isinstance(other, tf.Tensor) or other.shape != true.shape:
            return None
        if other.dtype.is_floating and other.shape.num_elements():
            difference = np.abs(true.numpy() - other.numpy().astype(np.float64))
            worst = max(worst, float(np.nanmax(difference)))
    return worst
