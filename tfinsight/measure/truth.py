"""Which of two differing rows is nearer the truth: the error of both against a float64 run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight.measure.agreement import Outcome
from tfinsight.measure.preflight import element
from tfinsight.measure.run import MapMeasurement
from tfinsight.records import Agreement
from tfinsight.strategies.mappings import stacked

# The run in float64 is eager and one element after the other; longer ones aren't worth it.
LONGEST_S = 0.5


class Truth:
    """The result of a float64 run, made when it is first asked for."""

    def __init__(self, measurement: MapMeasurement) -> None:
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
        """Runs the function on elements in float64; `None` where it doesn't take them."""
        workload, probe = self._measurement.workload, self._measurement.probe
        seconds = workload.element_count * (probe.element_s or 0.0)
        if seconds > LONGEST_S or self._measurement.plan.gradient is not None:
            return None
        elements = tf.nest.map_structure(_widened, workload.elements)
        count = workload.element_count
        try:
            with self._measurement.user_time():
                results = [workload.function(element(elements, i)) for i in range(count)]
                result = stacked(results, None)
            leaves = tf.nest.flatten(result)
            wide = all(not leaf.dtype.is_floating or leaf.dtype == tf.float64 for leaf in leaves)
            return result if wide else None
        except Exception:  # the function holds values of another dtype, say
            return None
        finally:
            self._measurement.restore_all()


def _widened(leaf: Any) -> Any:
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
