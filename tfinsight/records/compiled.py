"""What compiling did, as evidence: the traced graph, Grappler's work, XLA's program, the backward pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class LineFacts:
    """One line of the cell, and what became of it.

    Attributes:
        number: line of the cell, from 1; the magic itself is not counted.
        text: as written.
        part: `once` (set-up, run once), `measured`, or `other` (empty, comments).
        ops: ops traced for it, those of functions that it calls included.
        gradient_ops: ops of the backward pass that come from it.
        folded: of its ops, those computed once while optimizing.
        fused_with: other lines that share a fused op or a fused kernel with it.
        time_share: its share of the time of all kernels in the row `graph`, 0 to 1.
        peak_share: its share of the bytes live at the peak of the row `graph`, 0 to 1.
        kept_bytes: bytes of its results that the backward pass needs.
        host_reads: values that it hands from TensorFlow to Python in one run.
    """

    number: int
    text: str
    part: Literal["once", "measured", "other"]
    ops: int = 0
    gradient_ops: int = 0
    folded: int = 0
    fused_with: tuple[int, ...] = ()
    time_share: float | None = None
    peak_share: float | None = None
    kept_bytes: int = 0
    host_reads: int = 0


@dataclass(frozen=True, slots=True)
class GraphTensor:
    """A tensor in a graph.

    Attributes:
        name: of the op that gives it.
        op: kind of that op.
        dtype: name of the dtype.
        shape: dimensions, `None` where one varies; `None` in all where the rank varies.
        size_bytes: bytes of its values, `None` where a dimension varies.
        line: line of the cell that it comes from, or `None`.
    """

    name: str
    op: str
    dtype: str
    shape: tuple[int | None, ...] | None
    size_bytes: int | None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """A function that AutoGraph turned into graph code, or could not.

    Attributes:
        function: its name.
        problem: why it could not be converted, empty where it was.
    """

    function: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Tracing:
    """The graph as Python traced it, before any optimization.

    Attributes:
        op_count: ops, the bodies of functions, loops and branches included.
        function_count: functions in the graph's library.
        kinds: kind of op to count, commonest first.
        placed: ops whose line of the cell is known.
        constants: constants in the graph, largest first, at most 20.
        constant_bytes: bytes of all of them.
        captured: tensors from outside that the graph refers to, at most 20.
        variables: variables that it reads or writes, at most 20.
        conversions: what AutoGraph did.
    """

    op_count: int
    function_count: int
    kinds: Mapping[str, int]
    placed: int
    constants: tuple[GraphTensor, ...] = ()
    constant_bytes: int = 0
    captured: tuple[GraphTensor, ...] = ()
    variables: tuple[GraphTensor, ...] = ()
    conversions: tuple[Conversion, ...] = ()


@dataclass(frozen=True, slots=True)
class FusedOp:
    """Several ops that became one.

    Attributes:
        name: of the op that is left.
        kind: such as `_FusedMatMul`.
        members: kinds of the ops in it, first to last.
        by: `Grappler` or `oneDNN`.
        lines: lines of the cell that they come from.
    """

    name: str
    kind: str
    members: tuple[str, ...]
    by: Literal["Grappler", "oneDNN"]
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An op that became another one.

    Attributes:
        name: of the op.
        before: its kind before.
        after: its kind after.
        line: line of the cell that it comes from, or `None`.
    """

    name: str
    before: str
    after: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class PassShare:
    """What one of Grappler's passes does alone to the graph as traced.

    Attributes:
        name: of the pass, as TensorFlow names it.
        nodes_before: nodes of the graph.
        nodes_after: nodes that it left.
        changed: nodes that it added, or gave another kind or other inputs.
        seconds: what it took.
    """

    name: str
    nodes_before: int
    nodes_after: int
    changed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Grappler:
    """What Grappler made of the traced graph.

    Attributes:
        nodes_before: nodes of the graph as traced, called functions inlined.
        nodes_after: nodes of the optimized graph, those of loops and branches that were taken apart
            left out.
        folded_count: ops whose value was computed once, while optimizing.
        folded: values that stand in their place, largest first, at most 20.
        removed_count: other ops that are gone.
        added_count: ops that are new.
        moved_count: ops that are the same kind and read other inputs.
        rewritten: ops that became another kind, at most 40.
        fused: ops that became one, those of oneDNN included.
        platform_kernels: kind of op that is specific to this processor to count.
        passes: the share of each pass, where asked for.
    """

    nodes_before: int
    nodes_after: int
    folded_count: int
    folded: tuple[GraphTensor, ...]
    removed_count: int
    added_count: int
    moved_count: int
    rewritten: tuple[Rewrite, ...] = ()
    fused: tuple[FusedOp, ...] = ()
    platform_kernels: Mapping[str, int] = field(default_factory=dict)
    passes: tuple[PassShare, ...] = ()


@dataclass(frozen=True, slots=True)
class Fusion:
    """One kernel that XLA made of several instructions.

    Attributes:
        name: as the profiler shows it.
        kind: XLA's kind of fusion, such as `kLoop`.
        members: instructions in it, parameters left out.
        lines: lines of the cell that they come from.
        seconds: time in one steady call; `None` where it has no event of its own.
        read_bytes: bytes of its operands.
        written_bytes: bytes of its result.
        saved_bytes: bytes of results inside it that are never written to memory.
    """

    name: str
    kind: str
    members: tuple[str, ...]
    lines: tuple[int, ...]
    seconds: float | None
    read_bytes: int
    written_bytes: int
    saved_bytes: int


@dataclass(frozen=True, slots=True)
class XlaProgram:
    """The program that XLA compiled.

    Attributes:
        name: of the module.
        instructions_before: instructions as if nothing were fused.
        instructions_after: instructions that run one by one, fused ones counted as one.
        parameters: inputs of the program.
        fusions: costliest first, at most 40.
        fusion_count: all of them.
        saved_bytes: bytes that all fusions never write.
        argument_bytes: buffers of the arguments.
        output_bytes: buffers of the results.
        temporary_bytes: buffers of what is neither.
        constant_bytes: buffers of constants.
    """

    name: str
    instructions_before: int
    instructions_after: int
    parameters: int
    fusions: tuple[Fusion, ...]
    fusion_count: int
    saved_bytes: int
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    constant_bytes: int


@dataclass(frozen=True, slots=True)
class Backward:
    """The backward pass of automatic differentiation.

    Attributes:
        forward_ops: ops that are not part of it.
        backward_ops: ops of it.
        kept: results of the forward pass that it needs, largest first, at most 20; arguments,
            variables and constants, which live anyway, are left out.
        kept_count: all of them.
        kept_bytes: bytes of all whose size is known.
    """

    forward_ops: int
    backward_ops: int
    kept: tuple[GraphTensor, ...]
    kept_count: int
    kept_bytes: int


@dataclass(frozen=True, slots=True)
class NewShape:
    """What a call with another shape costs.

    Attributes:
        strategy: id of the row.
        change: what was changed, in words ("the first dimension of `x`: 63 instead of 64").
        first_call_s: the first call with that shape; `None` where it failed.
        traces: new traces that it took.
        relaxed_traces: new traces with `reduce_retracing=True`, after it has seen two shapes.
        signature: an `input_signature` under which one trace serves all; empty where none does.
        problem: why the cell can't take another shape, empty where it can.
    """

    strategy: str
    change: str
    first_call_s: float | None = None
    traces: int | None = None
    relaxed_traces: int | None = None
    signature: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HostRead:
    """A place where a value crosses between TensorFlow and Python in each run.

    Attributes:
        line: line of the cell.
        kind: `.numpy()`, `float()`, `bool()`, `NumPy argument`, ...
        count: how often in one run.
    """

    line: int
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class Platform:
    """This machine, as far as it decides what the code runs on.

    Attributes:
        features: what the processor has that kernels make use of.
        devices: device to the ops of the graph that are placed on it.
        float64_ops: ops on float64, which accelerators are slow at.
        reduced_precision: in words, whether bfloat16 or float16 pays on this device.
        flops: floating-point operations of one call by TensorFlow's own registry, or `None`.
        uncounted: kinds of op that do arithmetic and that the registry has no count for.
        moved_bytes: bytes that the ops of the optimized graph read and write in one call.
        peak_flops_s: this machine's own rate on a large matrix product, operations a second.
        peak_bytes_s: this machine's own rate on a large copy, bytes read and written a second.
    """

    features: tuple[str, ...] = ()
    devices: Mapping[str, int] = field(default_factory=dict)
    float64_ops: int = 0
    reduced_precision: str = ""
    flops: int | None = None
    uncounted: tuple[str, ...] = ()
    moved_bytes: int | None = None
    peak_flops_s: float | None = None
    peak_bytes_s: float | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """All that compiling did to the cell; a part is `None` where it could not be had.

    Attributes:
        lines: the cell line by line.
        tracing: the graph as traced.
        grappler: what Grappler made of it.
        xla: the program of the row `xla`.
        backward: the backward pass.
        new_shapes: what other shapes cost.
        host_reads: where values cross between TensorFlow and Python.
        platform: the machine.
        unfolded_s: one call of the graph with its constants fed as inputs, so that nothing is
            folded; `None` where nothing is folded or it was not measured.
    """

    lines: tuple[LineFacts, ...] = ()
    tracing: Tracing | None = None
    grappler: Grappler | None = None
    xla: XlaProgram | None = None
    backward: Backward | None = None
    new_shapes: tuple[NewShape, ...] = ()
    host_reads: tuple[HostRead, ...] = ()
    platform: Platform | None = None
    unfolded_s: float | None = None
