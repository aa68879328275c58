"""The record of `%%mapcost`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tfinsight.records.measured import Comparison, Execution, TensorFacts


@dataclass(frozen=True, slots=True)
class MapCall:
    """One place in the user's code that maps a function over elements.

    Attributes:
        number: what `--call` takes, from 1.
        text: the call as written.
        place: where it stands, in words ("line 2 of the cell", "line 3 of `spectra`").
        calls: how often the place was reached in one run of the cell.
        seconds: time spent there in one run; `None` where only the tracing of it was seen.
        element_count: elements of the costliest of these calls.
    """

    number: int
    text: str
    place: str
    calls: int
    seconds: float | None
    element_count: int | None


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """What is measured, in the user's words.

    Attributes:
        function: the mapped function as written: a name or the text of a lambda.
        elements: the elements as written.
        call: `tf.map_fn` or `tf.vectorized_map`; `None` where the user named function and elements.
        call_text: the whole call as written, or `None`.
        place: where the call stands, in words; empty for the function forms.
        enclosing: name of the `tf.function` around the call, or `None`.
        execution: how the cell itself runs the map.
        with_gradient: the map ran under a gradient tape: forward and backward are measured together.
        element_count: length of the first dimension.
        inputs: the elements.
        outputs: the result of mapping all of them.
        arguments: further arguments of the call that were carried over, as text.
        assigned_name: the name that the call's result is assigned to, or `None`.
        ops_per_element: graph ops that one element costs, or `None` where it could not be traced.
        batched: name of the hand-written batched function, or `None`.
        source: text of the cell; empty for the function forms.
        call_number: which of the cell's maps this is, from 1.
        other_calls: the maps of the cell that were not measured.
    """

    function: str
    elements: str
    call: str | None
    call_text: str | None
    place: str
    enclosing: str | None
    execution: Execution
    with_gradient: bool
    element_count: int
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    arguments: Mapping[str, str]
    assigned_name: str | None
    ops_per_element: int | None
    batched: str | None
    source: str
    call_number: int
    other_calls: tuple[MapCall, ...]


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One strategy at one size.

    Attributes:
        strategy: id of the row.
        element_count: elements.
        chunk_size: elements a chunk, or `None`.
        seconds: one steady call, or `None` where only memory was measured.
        peak_bytes: as in `Memory`.
    """

    strategy: str
    element_count: int
    chunk_size: int | None
    seconds: float | None
    peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class MapOptions:
    """The options of one run, the same in all three forms.

    Attributes:
        strategies: ids, mappings or executions to run, their union; empty means all.
        baseline: id of the row that speed-ups refer to; `None` means the reference.
        batched: name of a hand-written function of the whole batch.
        also: names of the user's own variants, functions of the elements.
        call: number of the call to measure; `None` means the costliest.
        budget_s: seconds for everything after the plain run.
        memory_limit_bytes: most memory that a strategy may need; `None` means 80 % of what is free.
    """

    strategies: tuple[str, ...] = ()
    baseline: str | None = None
    batched: str | None = None
    also: tuple[str, ...] = ()
    call: int | None = None
    budget_s: float = 10.0
    memory_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MapCost(Comparison):
    """The whole result of `%%mapcost`; see `Comparison` for what all results have.

    Attributes:
        workload: what was measured.
        options: how it was asked for.
        scaling: rows at other sizes.
    """

    workload: WorkloadFacts
    options: MapOptions
    scaling: tuple[ScalingPoint, ...] = ()
    kind: Literal["mapcost"] = "mapcost"
