"""What every measurement records: rows with their times, memory and agreement, and the claims on them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

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
        optimize_s: the part that optimized and prepared the graph (Grappler included), from the
            trace of the first call; `None` where none was traced.
        compile_s: the part that XLA took to compile, from the trace of the first call; where none
            was traced, an estimate of optimizing and compiling: first call less tracing less one
            steady call, never below 0; `None` for eager execution.
        median_s: median of the rounds, seconds a call in steady state.
        low_s: lower end of its 95 % interval, `None` with too few rounds. It is of this run: between
            runs a machine drifts by more, which only the speed-ups below are free of.
        high_s: upper end of it.
        calls: steady calls timed.
        samples_s: seconds a call, one figure a round, in order of the rounds.
        rounds: number of the round of each sample: in a round every row runs under like conditions.
        spread: interquartile range of the rounds over their median.
        speedup: baseline's time over this one's, from pairs within rounds.
        speedup_low: lower end of its 95 % interval, `None` with too few pairs.
        speedup_high: upper end of it.
        ties_with_fastest: the interval of the ratio to the fastest row holds 1.
        changing_values: timed on changing values, since it compiles anew for each new value.
        cores_used: processor time over wall time in steady state; `None` where it was not taken.
    """

    first_call_s: float | None = None
    trace_s: float | None = None
    optimize_s: float | None = None
    compile_s: float | None = None
    median_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    calls: int = 0
    samples_s: tuple[float, ...] = ()
    rounds: tuple[int, ...] = ()
    spread: float | None = None
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    ties_with_fastest: bool = False
    changing_values: bool = False
    cores_used: float | None = None

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
        kept_per_call_bytes: bytes that stay live with each of several further calls, the least of
            them; `None` where it was not measured.
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
    kept_per_call_bytes: int | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the result of every measurement has.

    Attributes:
        environment: where the numbers were made.
        reference: id of the row that results are compared with.
        baseline: id of the row that speed-ups refer to.
        runs: the rows, in the grid's order.
        findings: most important first.
        logs: messages that were kept out of the notebook.
        verdict: what to use.
        stages: what measuring took.
        interrupted: name of the stage in which it was interrupted, or `None`.
        notes: what else a reader must know, a sentence each.
        not_repeatable: what the plain run changed that cannot be put back, a phrase each ("the
            iterator `batches` moved on"); empty where the cell can be repeated.
        changed_objects: Python objects that the code changes, by name.
    """

    environment: Environment
    reference: str
    baseline: str
    runs: tuple[Run, ...]
    findings: tuple[Finding, ...] = ()
    logs: tuple[LogLine, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    stages: tuple[Stage, ...] = ()
    interrupted: str | None = None
    notes: tuple[str, ...] = ()
    not_repeatable: tuple[str, ...] = ()
    changed_objects: tuple[str, ...] = ()
    schema: int = SCHEMA

    def run(self, strategy: str) -> Run | None:
        """Returns the row with this id, or `None`."""
        return next((run for run in self.runs if run.strategy == strategy), None)


class Progress(Protocol):
    """What compute calls while it works; view implements it."""

    def update(self, stage: str, detail: str, done: int, total: int) -> None:
        """Tells that `done` of `total` steps of `stage` are done and `detail` is being worked on."""
