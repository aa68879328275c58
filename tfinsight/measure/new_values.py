"""Second values: does a compiled function compile anew when only values change?

XLA can do so while TensorFlow's count of traces stays 1, and timing repeats of one value would never
show it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from tfinsight import trace_file
from tfinsight.measure.run import MapMeasurement
from tfinsight.strategies.executions import BoundCall

# So many different inputs are timed in turn where every new value compiles.
VARIANTS = 4


def new_values(measurement: MapMeasurement) -> None:
    """Calls each XLA row on other values of the same shape and counts compilations."""
    rows = [r for r in measurement.rows.values() if r.runs and r.strategy.execution == "xla"]
    other = changed_values(measurement.workload.elements, 1)
    if not rows or other is None:
        return
    calls = {row.strategy.id: _on(row.call, other) for row in rows}
    try:
        with trace_file.record() as recorder:
            for done, (name, call) in enumerate(calls.items()):
                measurement.progress.update("other values", name, done, len(calls))
                measurement.mark(name)
                measurement.restore()
                with measurement.user_time(), recorder.window(name):
                    _call_quietly(call)
    except trace_file.ProfilerBusyError as error:
        measurement.notes.append(f"{error} So compilations on new values were not counted.")
        return
    finally:
        measurement.restore()
    for row in rows:
        window = recorder.trace.windows[row.strategy.id]
        row.compiles_per_new_value = window.compile_count
        if window.compile_count:
            changed = (changed_values(measurement.workload.elements, i) for i in range(1, VARIANTS))
            row.new_value_calls = tuple(_on(row.call, values) for values in changed)


def changed_values(elements: Any, step: int) -> Any:
    """Returns elements of the same shapes with other values: rotated, floats scaled a little.

    Returns:
        the changed structure, or `None` where the elements can't be changed (ragged or sparse).
    """
    leaves = tf.nest.flatten(elements)
    if not all(isinstance(leaf, tf.Tensor) for leaf in leaves):
        return None
    return tf.nest.map_structure(lambda leaf: _changed(leaf, step), elements)


def _changed(leaf: tf.Tensor, step: int) -> tf.Tensor:
    count = leaf.shape[0]
    order = [(index + step) % count for index in range(count)] if count else []
    rotated = tf.gather(leaf, order) if count else leaf
    if leaf.dtype.is_floating:
        return rotated * tf.cast(1.0 + step / 1024.0, leaf.dtype)
    return rotated


def _on(call: BoundCall | None, elements: Any) -> BoundCall:
    assert call is not None
    return BoundCall(call.function, (elements,))


def _call_quietly(call: BoundCall) -> None:
    with contextlib.suppress(Exception):  # other values may be out of the function's domain
        call()
