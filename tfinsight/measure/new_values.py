"""Second values: does a compiled function compile anew when only values change?

XLA can do so while TensorFlow's count of traces stays 1, and timing repeats of one value would never
show it.
"""

from __future__ import annotations

import contextlib
from typing import Any

import tensorflow as tf

from tfinsight import trace_file
from tfinsight.measure.session import Measurement
from tfinsight.strategies.executions import BoundCall

# So many different inputs are timed in turn where every new value compiles.
VARIANTS = 4


def new_values(measurement: Measurement) -> None:
    """Calls each XLA row on other values of the same shape and counts compilations."""
    rows = [r for r in measurement.rows.values() if r.runs and r.strategy.execution == "xla"]
    calls = {row.strategy.id: call for row in rows if (call := measurement.changed_call(row, 1))}
    if not calls:
        return
    try:
        with trace_file.record() as recorder:
            for done, (name, call) in enumerate(calls.items()):
                measurement.progress.update("other values", name, done, len(calls))
                measurement.mark(name)
                measurement.prepare(measurement.rows[name])
                with measurement.user_time(), recorder.window(name):
                    _call_quietly(call)
    except trace_file.ProfilerBusyError as error:
        measurement.notes.append(f"{error} So compilations on new values were not counted.")
        return
    finally:
        measurement.restore()
    for name in calls:
        row = measurement.rows[name]
        row.compiles_per_new_value = recorder.trace.windows[name].compile_count
        if row.compiles_per_new_value:
            changed = (measurement.changed_call(row, step) for step in range(1, VARIANTS))
            row.new_value_calls = tuple(call for call in changed if call is not None)


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


def _call_quietly(call: BoundCall) -> None:
    with contextlib.suppress(Exception):  # other values may be out of the function's domain
        call()
