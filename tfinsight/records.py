"""The records that the two arms of tfinsight share: plain facts, no behaviour that needs TensorFlow.

Compute fills them in, view draws them, files store them. They are frozen, hold raw numbers with the
unit in the name (`_s` seconds, `_bytes` bytes) and depend on the standard library alone.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, Union

SCHEMA = 1
AS_WRITTEN = "as-written"
TIMELINE_POINTS = 2_000

Status = Literal["ok", "different", "failed", "skipped"]
AgreementVerdict = Literal["equal", "close", "different", "shape-only", "unchecked"]
Coverage = Literal["all", "large-only", "none"]
Severity = Literal["advice", "warning", "info"]
Execution = Literal["eager", "graph", "xla"]


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """One tensor of a structure.

    Attributes:
        path: where it sits in its structure, as Python writes it (`""`, `"['a']"`, `"[0]"`).
        kind: `dense`, `ragged` or `sparse`.
        dtype: name of the dtype, such as `float32`.
        shape: dimensions, `None` where a dimension varies.
        size_bytes: bytes of its values; `None` for strings, whose bytes lie elsewhere.
    """

    path: str
    kind: Literal["dense", "ragged", "sparse"]
    dtype: str
    shape: tuple[int | None, ...]
    size_bytes: int | None


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
class Environment:
    """Where the numbers were made.

    Attributes:
        versions: package or program to its version.
        platform: operating system and machine.
        processor: model of the CPU.
        cores: CPU cores that this process may use.
        memory_bytes: memory of the machine, or of the container where that is less.
        devices: TensorFlow's devices, such as `CPU:0`.
        device: the device that was measured.
        coverage: which allocations memory figures include (`large-only`: 256 KiB and more).
        settings: TensorFlow's settings that matter here, as text.
        created: date and time, ISO 8601.
    """

    versions: Mapping[str, str]
    platform: str
    processor: str
    cores: int
    memory_bytes: int | None
    devices: tuple[str, ...]
    device: str
    coverage: Coverage
    settings: Mapping[str, str]
    created: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Time of one strategy; first call and steady state never mixed.

    Attributes:
        first_call_s: the whole first call: tracing, optimizing, compiling, running.
        trace_s: the part of it that traced Python to a graph; `None` for eager execution.
        compile_s: an estimate of optimizing and compiling: first call less tracing less one steady
            call, never below 0; `None` for eager execution.
        median_s: median of the rounds, seconds a call in steady state.
        low_s: lower end of its 95 % interval, `None` with too few rounds. It is of this run: between
            runs a machine drifts by more, which only the speed-ups below are free of.
        high_s: upper end of it.
        calls: steady calls timed.
        samples_s: seconds a call, one figure a round, in order of the rounds.
        spread: interquartile range of the rounds over their median.
        speedup: baseline's time over this one's, from pairs within rounds.
        speedup_low: lower end of its 95 % interval, `None` with too few pairs.
        speedup_high: upper end of it.
        ties_with_fastest: the interval of the ratio to the fastest row holds 1.
        changing_values: timed on changing values, since it compiles anew for each new value.
    """

    first_call_s: float | None = None
    trace_s: float | None = None
    compile_s: float | None = None
    median_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    calls: int = 0
    samples_s: tuple[float, ...] = ()
    spread: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    ties_with_fastest: bool = False
    changing_values: bool = False

    def break_even_calls(self, other: Timing) -> int | None:
        """Returns after how many later calls this row has taken no longer than `other`, in all.

        The total after `n` steady calls is `first_call_s + n * median_s`.

        Returns:
            The smallest such `n`, from 0; `None` if there is none or a time is missing.
        """
        if self.first_call_s is None or other.first_call_s is None:
            return None
        if self.median_s is None or other.median_s is None:
            return None
        extra, saved = self.first_call_s - other.first_call_s, other.median_s - self.median_s
        if extra <= 0:
            return 0
        return math.ceil(extra / saved) if saved > 0 else None


@dataclass(frozen=True, slots=True)
class LiveTensor:
    """What one op held at the moment of the peak.

    Attributes:
        op: name of the op as the profiler gives it.
        size_bytes: bytes requested by all its live allocations.
        count: how many live allocations.
        dtype: dtype of the largest, or empty.
        shape: shape of the largest as text, or empty.
    """

    op: str
    size_bytes: int
    count: int
    dtype: str = ""
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of one call of a strategy.

    Attributes:
        peak_bytes: most bytes live above what was live when the call began, by the allocator's own
            statistics (rounded up to its chunks); the largest of `peak_calls` calls.
        peak_lowest_bytes: the smallest peak of these calls.
        peak_calls: how many calls the two figures come from.
        peak_requested_bytes: the same peak by requested sizes, from the trace; `None` if not traced.
        total_requested_bytes: all bytes requested during the call, from the trace.
        allocation_count: allocations during the call, from the trace.
        coverage: which allocations the figures include.
        top: what held the memory at the traced peak, largest first.
        timeline: `(seconds since the call began, live requested bytes)`, at most 2,000 points.
        traced_elements: elements of the traced call where that was fewer than all, else `None`.
            The three figures from the trace are then `None`, never scaled up.
        attributed: share of the bytes at the traced peak whose op is known, 0 to 1.
    """

    peak_bytes: int | None
    peak_lowest_bytes: int | None
    peak_calls: int
    peak_requested_bytes: int | None
    total_requested_bytes: int | None
    allocation_count: int | None
    coverage: Coverage
    top: tuple[LiveTensor, ...] = ()
    timeline: tuple[tuple[float, int], ...] = ()
    traced_elements: int | None = None
    attributed: float | None = None


@dataclass(frozen=True, slots=True)
class OpTime:
    """Time of all ops of one kind in one traced call.

    Attributes:
        op: kind of op (`MatMul`) or name of a compiled kernel.
        seconds: sum over the calls.
        count: how often it ran.
    """

    op: str
    seconds: float
    count: int


@dataclass(frozen=True, slots=True)
class OpProfile:
    """Where a traced call spent its time.

    Attributes:
        wall_s: duration of the traced call.
        kernel_s: time in which at least one kernel ran; the rest of `wall_s` is dispatch.
        op_count: kernels run.
        top: costliest kinds of op, costliest first.
        elements: elements of the traced call.
    """

    wall_s: float
    kernel_s: float
    op_count: int
    top: tuple[OpTime, ...]
    elements: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the result compares with the reference's.

    Attributes:
        verdict: `equal`, `close` (within the dtype's tolerance), `different`, `shape-only` (random
            streams differ) or `unchecked`.
        max_abs: largest absolute difference, `None` where nothing was compared by value.
        max_rel: largest difference over the reference's magnitude.
        detail: in words, where and how the results differ or why they were not compared.
        probed: for a batched form: also agreed on random elements.
        max_error: largest difference from a float64 run, where one was made.
        reference_max_error: the reference's own difference from that run.
    """

    verdict: AgreementVerdict
    max_abs: float | None = None
    max_rel: float | None = None
    detail: str = ""
    probed: bool = False
    max_error: float | None = None
    reference_max_error: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a strategy has no (full) result.

    Attributes:
        stage: `preflight`, `trace`, `compile`, `run`, `timing`, `memory`.
        kind: class of the error, or `would not fit`, `too many ops`, `no elements`, `interrupted`, ...
        message: the reason in one or a few lines.
        needed_s: predicted seconds, where that is the reason.
        needed_bytes: predicted bytes, where that is the reason.
    """

    stage: str
    kind: str
    message: str
    needed_s: float | None = None
    needed_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """The traced graph of one strategy, functions inside it included.

    Attributes:
        op_count: ops.
        op_kinds: kind of op to count, commonest first.
        fallback_ops: kinds of op that `vectorized_map` runs in a loop for want of a vectorized form.
        host_callbacks: ops that call back into Python.
        random_ops: stateful random ops.
        loops: `While` ops.
        constant_bytes: bytes of all constants in the graph.
        largest_constant: name of the largest.
        largest_constant_bytes: its bytes.
    """

    op_count: int
    op_kinds: Mapping[str, int]
    fallback_ops: tuple[str, ...] = ()
    host_callbacks: tuple[str, ...] = ()
    random_ops: tuple[str, ...] = ()
    loops: int = 0
    constant_bytes: int = 0
    largest_constant: str = ""
    largest_constant_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Recompilation:
    """What a call costs again after the first.

    Attributes:
        traces_per_call: new traces on each later call with the same arguments.
        compiles_per_new_value: XLA compilations on a call with other values of the same shape.
    """

    traces_per_call: float
    compiles_per_new_value: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy's row.

    Attributes:
        strategy: id, `mapping/execution`, `as-written`, or `name/execution` for `--also NAME`.
        mapping: the mapping, `as-written`, or the name of the user's variant.
        execution: `eager`, `graph` or `xla`.
        status: `ok`, `different` (from the reference; never ranked), `failed` or `skipped`.
        code: text to paste that runs the workload this way; empty where there is none.
        chunk_size: elements a chunk, for `chunked`.
    """

    strategy: str
    mapping: str
    execution: Execution
    status: Status
    timing: Timing | None = None
    memory: Memory | None = None
    agreement: Agreement | None = None
    failure: Failure | None = None
    graph: GraphFacts | None = None
    ops: OpProfile | None = None
    recompilation: Recompilation | None = None
    chunk_size: int | None = None
    code: str = ""


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
class Evidence:
    """One figure or fact behind a finding.

    Attributes:
        label: what it is.
        value: raw number in `unit`, or text.
        unit: `s`, `B`, `x` (ratio), `%` (value 0.25 is 25 %), `count`, or empty for text.
    """

    label: str
    value: float | int | str
    unit: Literal["s", "B", "x", "%", "count", ""] = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim with its evidence.

    Attributes:
        code: name of the claim, such as `map_fn_runs_serially`.
        severity: `warning` (may be wrong or harmful), `advice` (worth doing), `info`.
        title: the claim in plain words, without figures.
        evidence: the figures.
        advice: what to do, in plain words.
        snippet: code to paste with the user's own names; empty where there is none.
        link: address of TensorFlow's documentation, or empty.
        strategies: ids of the rows that it is about.
    """

    code: str
    severity: Severity
    title: str
    evidence: tuple[Evidence, ...] = ()
    advice: str = ""
    snippet: str = ""
    link: str = ""
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogLine:
    """A message that appeared during measuring and was kept out of the notebook.

    Attributes:
        source: `tensorflow` (Python log), `native` (C++ log), `warning` (Python warning), `output`
            (printed by the user's code).
        message: its text.
        count: how often.
        strategy: the row that was running, or empty.
    """

    source: Literal["tensorflow", "native", "warning", "output"]
    message: str
    count: int
    strategy: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to use.

    Attributes:
        fastest: ids of the fastest row and of those that tie with it; empty if nothing was ranked.
        leanest: ids of the rows with the least peak.
        recommended: the fastest row within the memory limit, of tied rows the leaner; or `None`.
    """

    fastest: tuple[str, ...] = ()
    leanest: tuple[str, ...] = ()
    recommended: str | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage of measuring took.

    Attributes:
        name: of the stage.
        seconds: wall time.
        user_seconds: the part spent in the user's own function, tracing and compiling included.
    """

    name: str
    seconds: float
    user_seconds: float


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


@dataclass(frozen=True, slots=True)
class MapCost:
    """The whole result of `%%mapcost`.

    Attributes:
        workload: what was measured.
        environment: where.
        options: how it was asked for.
        reference: id of the row that results are compared with.
        baseline: id of the row that speed-ups refer to.
        runs: the rows, in the grid's order.
        scaling: rows at other sizes.
        findings: most important first.
        logs: messages that were kept out of the notebook.
        verdict: what to use.
        stages: what measuring took.
        interrupted: name of the stage in which it was interrupted, or `None`.
        notes: what else a reader must know, a sentence each.
        not_repeatable: what the plain run changed that cannot be put back, a phrase each ("the
            iterator `batches` moved on"); empty where the cell can be repeated.
        changed_objects: Python objects that the function changes, by name.
    """

    workload: WorkloadFacts
    environment: Environment
    options: MapOptions
    reference: str
    baseline: str
    runs: tuple[Run, ...]
    scaling: tuple[ScalingPoint, ...] = ()
    findings: tuple[Finding, ...] = ()
    logs: tuple[LogLine, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    stages: tuple[Stage, ...] = ()
    interrupted: str | None = None
    notes: tuple[str, ...] = ()
    not_repeatable: tuple[str, ...] = ()
    changed_objects: tuple[str, ...] = ()
    kind: Literal["mapcost"] = "mapcost"
    schema: int = SCHEMA

    def run(self, strategy: str) -> Run | None:
        """Returns the row with this id, or `None`."""
        return next((run for run in self.runs if run.strategy == strategy), None)


class Progress(Protocol):
    """What compute calls while it works; view implements it."""

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Tells that `done` of `total` steps of `stage` are done and `detail` is being worked on."""


Record = TypeVar("Record")


def to_dict(record: Any) -> Any:
    """Returns `record` as dictionaries, lists, strings and numbers, ready for JSON.

    Floats that JSON lacks become the strings `"nan"`, `"inf"` and `"-inf"`.
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {f.name: to_dict(getattr(record, f.name)) for f in dataclasses.fields(record)}
    if isinstance(record, Mapping):
        return {str(key): to_dict(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [to_dict(value) for value in record]
    if isinstance(record, float) and not math.isfinite(record):
        return str(record)
    return record


def from_dict(kind: type[Record], data: Any, where: str = "report") -> Record:
    """Builds a record of `kind` from what `to_dict` returned.

    Unknown keys are refused, so that a damaged file is noticed and not half read.

    Raises:
        ValueError: `data` does not have the form of `kind`; the message names the place.
    """
    return typing.cast(Record, _decode(kind, data, where))


def _decode(kind: Any, data: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _decode_record(typing.cast(type, kind), data, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, data, where)
    if origin is Literal:
        return _checked(data in arguments, data, f"one of {', '.join(map(repr, arguments))}", where)
    if origin is tuple:
        return _decode_tuple(arguments, data, where)
    if origin is Mapping:
        _checked(isinstance(data, dict), data, "an object", where)
        return {str(k): _decode(arguments[1], v, f"{where}.{k}") for k, v in data.items()}
    if kind is float:
        return _decode_float(data, where)
    return _checked(type(data) is kind, data, kind.__name__, where)


def _decode_record(kind: type, data: Any, where: str) -> Any:
    _checked(isinstance(data, dict), data, f"an object with the fields of {kind.__name__}", where)
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]!r} in {kind.__name__}")
    values = {name: _decode(hints[name], data[name], f"{where}.{name}") for name in data}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from None


def _decode_union(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    problem: ValueError | None = None
    # An int stays an int where both int and float are allowed.
    for kind in sorted(kinds, key=lambda k: k is float):
        if kind is type(None):
            continue
        try:
            return _decode(kind, data, where)
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError(f"{where}: cannot read {data!r}")


def _decode_tuple(arguments: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    _checked(isinstance(data, list), data, "a list", where)
    if arguments[-1] is Ellipsis:
        return tuple(_decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    _checked(len(data) == len(arguments), data, f"a list of {len(arguments)}", where)
    pairs = zip(arguments, data, strict=True)
    return tuple(_decode(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(pairs))


def _decode_float(data: Any, where: str) -> float:
    if data in ("nan", "inf", "-inf"):
        return float(data)
    good = isinstance(data, (int, float)) and not isinstance(data, bool)
    return float(_checked(good, data, "a number", where))


def _checked(good: bool, data: Any, expected: str, where: str) -> Any:
    if not good:
        raise ValueError(f"{where}: expected {expected}, got {type(data).__name__} {data!r:.60}")
    return data
