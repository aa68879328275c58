"""What a trace is read into: plain events in windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class AllocationEvent(NamedTuple):
    """Memory that was taken or given back.

    Attributes:
        at_s: seconds since the window began.
        address: of the first byte; what pairs the two.
        requested_bytes: as asked for.
        allocated_bytes: the chunk that the allocator gave.
        freed: given back.
        op: the op that asked, as the profiler names it, or empty.
        dtype: of the tensor, or empty.
        shape: of the tensor as text, or empty.
        allocator: name of the allocator.
    """

    at_s: float
    address: int
    requested_bytes: int
    allocated_bytes: int
    freed: bool
    op: str
    dtype: str
    shape: str
    allocator: str


class OpEvent(NamedTuple):
    """A kernel that ran.

    Attributes:
        kind: kind of op (`MatMul`), or XLA's name of a compiled kernel.
        start_s: seconds since the window began.
        end_s: likewise.
        name: of the graph's node; an eager op has its kind alone, and so has a compiled kernel.
    """

    kind: str
    start_s: float
    end_s: float
    name: str = ""


@dataclass(frozen=True)
class Window:
    """What happened in one window of a trace.

    Attributes:
        duration_s: seconds from its begin to its end.
        allocations: in order of time.
        op_events: kernels that ran, those that only start others left out; in order of their start.
        compile_count: compilations by XLA.
        compile_s: seconds of them, from the graph to machine code (tf2xla, optimization, LLVM).
        hlo_modules: serialized `HloProto`s of the compiled programs that ran.
        optimize_s: seconds in which functions were optimized (Grappler) and instantiated, at their
            first call; none of it is in `compile_s`.
    """

    duration_s: float
    allocations: tuple[AllocationEvent, ...]
    op_events: tuple[OpEvent, ...]
    compile_count: int
    compile_s: float
    hlo_modules: tuple[bytes, ...]
    optimize_s: float = 0.0


@dataclass(frozen=True)
class Trace:
    """What was recorded.

    Attributes:
        windows: name to window; windows that never began are absent.
    """

    windows: Mapping[str, Window]
