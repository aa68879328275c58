"""What a call with another shape costs, such as the last, smaller batch, and what spares it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import tensorflow as tf

from tfinsight.measure.graph_run import GraphMeasurement
from tfinsight.measure.reasons import reason
from tfinsight.measure.rows import Row
from tfinsight.records import NewShape

ROWS = ("graph", "xla")
SHORTEST = 4


class _Shortened(NamedTuple):
    """Inputs with a smaller first dimension.

    Attributes:
        inputs: less one, and less two, of it.
        change: what was changed, in words.
        signature: text of an `input_signature` that leaves that dimension open, or empty.
    """

    inputs: tuple[tuple[Any, ...], tuple[Any, ...]]
    change: str
    signature: str


def new_shapes(measurement: GraphMeasurement) -> None:
    """Calls the plain and the compiled graph with a first dimension that they have not seen."""
    names = (*measurement.workload.inputs, *measurement.workload.arrays)
    for strategy in ROWS:
        row = measurement.row(strategy)
        if row is None or row.call is None or not row.call.arguments:
            continue
        shortened = _shortened(row.call.arguments, names)
        # What the first call took, it will take again; with a relaxed function three times.
        if shortened is None or time.perf_counter() + 4 * _first_s(row) > measurement.deadline:
            continue
        measurement.mark(strategy)
        found = _called(measurement, row, shortened)
        known = measurement.compiled.new_shapes
        measurement.compiled = replace(measurement.compiled, new_shapes=(*known, found))
    measurement.restore_all()


def _first_s(row: Row) -> float:
    return row.first_call_s or 0.0


def _called(measurement: GraphMeasurement, row: Row, shortened: _Shortened) -> NewShape:
    assert row.call is not None
    function, strategy = row.call.function, row.strategy.id
    try:
        measurement.prepare(row)
        before = row.call.trace_count()
        with measurement.user_time():
            started = time.perf_counter()
            function(*shortened.inputs[0])
            tf.test.experimental.sync_devices()
            seconds = time.perf_counter() - started
    except Exception as error:
        return NewShape(strategy, shortened.change, problem=reason(error))
    found = NewShape(strategy, shortened.change, seconds, row.call.trace_count() - before)
    if row.strategy.execution == "xla":
        return found  # XLA compiles for each shape, whatever is traced
    relaxed = _relaxed_traces(measurement, row, shortened)
    return replace(
        found, relaxed_traces=relaxed, signature=shortened.signature if relaxed == 0 else ""
    )


def _relaxed_traces(measurement: GraphMeasurement, row: Row, shortened: _Shortened) -> int | None:
    """Returns the traces of a third shape where `reduce_retracing` has seen two."""
    assert row.call is not None
    relaxed = tf.function(row.call.function.python_function, reduce_retracing=True)  # type: ignore[attr-defined]
    try:
        with measurement.user_time():
            for inputs in (row.call.arguments, shortened.inputs[0]):
                measurement.prepare(row)
                relaxed(*inputs)
            traces = relaxed.experimental_get_tracing_count()
            measurement.prepare(row)
            relaxed(*shortened.inputs[1])
        return int(relaxed.experimental_get_tracing_count() - traces)
    except Exception:  # a shape that must be known while tracing
        return None


def _shortened(arguments: Sequence[Any], names: Sequence[str]) -> _Shortened | None:
    """Returns inputs with one and two less of the commonest first dimension, if it is that long."""
    lengths = [_length(leaf) for leaf in tf.nest.flatten(arguments)]
    known = [length for length in lengths if length is not None and length >= SHORTEST]
    if not known:
        return None
    length = max(known, key=lambda n: (known.count(n), -known.index(n)))
    cut = [
        tuple(
            tf.nest.map_structure(lambda leaf: _cut(leaf, length, less), argument)  # noqa: B023
            for argument in arguments
        )
        for less in (1, 2)
    ]
    named = [
        f"`{name}`"
        for name, argument in zip(names, arguments, strict=False)  # arrays may be captured
        if any(_length(leaf) == length for leaf in tf.nest.flatten(argument))
    ]
    change = f"first dimension of {' and '.join(named)}: {length - 1} instead of {length}"
    return _Shortened((cut[0], cut[1]), change, _signature(arguments, length))


def _signature(arguments: Sequence[Any], length: int) -> str:
    if not all(isinstance(argument, tf.Tensor) for argument in arguments):
        return ""
    specs = []
    for argument in arguments:
        shape = [None if i == 0 and n == length else n for i, n in enumerate(argument.shape)]
        specs.append(f"tf.TensorSpec({shape}, tf.{argument.dtype.name})")
    return f"[{', '.join(specs)}]"


def _cut(leaf: Any, length: int, less: int) -> Any:
    return leaf[: length - less] if _length(leaf) == length else leaf


def _length(leaf: Any) -> int | None:
    if not isinstance(leaf, tf.Tensor) or not leaf.shape.rank:
        return None
    return int(leaf.shape[0])
