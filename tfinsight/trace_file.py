"""A trace of TensorFlow's profiler, read once into plain events: allocations, kernels, compilations.

What a trace of TensorFlow 2.21 looks like, found by reading traces of eager, graph and XLA calls:

- All of it is in the plane `/host:CPU`, a line a thread, on one clock. A window is an event of its
  own on the caller's line; what ran on any line within its time belongs to it.
- An op run eagerly is `EagerExecute` (with the op's name and whether it is a function), and inside it
  `KernelAndDeviceFunc::Run`, which is the kernel, its set-up included, unless it runs a function.
- An op run by the graph executor is `NODE:KIND`, and the display name is `KIND`. Control flow is taken
  apart before it runs and has no event; ops that are started and finished later have none either.
- A kernel of XLA's carries the statistics `hlo_op`, `hlo_module` and `program_id`. Where it goes on in
  other threads, its event is only the start, and `end: NAME` with the same number tells the end.
- Optimized HLO is in the plane `/host:metadata`, for every program of the process, run or not.
- `MemoryAllocation` and `MemoryDeallocation` are written under the allocator's lock, so that their
  order in time is the order in which they happened.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import operator
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf

from tfinsight.records import OpProfile, OpTime
from tfinsight.tensorflow_private import resolve

TOP_KINDS = 12
_WINDOW = "tfinsight window "
_PS = 1e-12
# One of these around another on the same thread is one compilation.
_COMPILING = frozenset(
    {"CpuCompiler::RunBackend", "CpuCompiler::CompileCpuExecutable", "JitCompiler::Compile"}
)
# What these do is done by the kernels that they start, in other threads too.
_STARTERS = re.compile(
    r"(Stateful|Stateless)?(PartitionedCall|While|If|Case)$|(Make|Anonymous)?Iterator|_(Send|Recv)$"
)
_XLA_STARTERS = re.compile(r"(while|call|conditional)(\.\d+)?$")
_Line: TypeAlias = list[tuple[int, Any]]  # start in picoseconds, event
_start = operator.itemgetter(0)


class ProfilerBusyError(RuntimeError):
    """A profiler session is running already, and TensorFlow allows one at a time."""

    def __init__(self) -> None:
        super().__init__(
            "A profiler session of your own is running, and TensorFlow allows one at a time."
        )


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
    """

    kind: str
    start_s: float
    end_s: float


class _Kernel(NamedTuple):
    kind: str
    start: int
    end: int
    program: str = ""
    number: int = 0


@dataclass(frozen=True)
class Window:
    """What happened in one window of a trace.

    Attributes:
        duration_s: seconds from its begin to its end.
        allocations: in order of time.
        op_events: kernels that ran, those that only start others left out; in order of their start.
        compile_count: compilations by XLA.
        compile_s: seconds of them spent in making machine code.
        hlo_modules: serialized `HloProto`s of the compiled programs that ran.
    """

    duration_s: float
    allocations: tuple[AllocationEvent, ...]
    op_events: tuple[OpEvent, ...]
    compile_count: int
    compile_s: float
    hlo_modules: tuple[bytes, ...]


@dataclass(frozen=True)
class Trace:
    """What was recorded.

    Attributes:
        windows: name to window; windows that never began are absent.
    """

    windows: Mapping[str, Window]


@dataclass
class Recorder:
    """A recording.

    Attributes:
        trace: what was recorded; empty until the recording has ended without an error.
    """

    trace: Trace = field(default_factory=lambda: Trace({}))
    _names: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def window(self, name: str) -> Iterator[None]:
        """Marks what the block does as the window `name`, the devices' unfinished work included."""
        self._names.append(name)
        with tf.profiler.experimental.Trace(f"{_WINDOW}{len(self._names) - 1}"):
            yield
            tf.test.experimental.sync_devices()

    def read(self, folder: Path) -> None:
        """Reads the trace that the profiler wrote into `folder`."""
        (path,) = folder.glob("plugins/profile/*/*.xplane.pb")
        space = resolve("XSpace").FromString(path.read_bytes())
        windows = _Reader(space).windows()
        self.trace = Trace({self._names[number]: window for number, window in windows})


@contextlib.contextmanager
def record(level: int = 1) -> Iterator[Recorder]:
    """Records what TensorFlow does in the block; `.trace` of what it yields has it afterwards.

    Args:
        level: of the profiler's host tracer; 1 has all that is read here.

    Raises:
        ProfilerBusyError: a profiler session is running already.
    """
    if resolve("running_profiler") is not None:
        raise ProfilerBusyError
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=level)
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="tfinsight-") as folder:
        try:
            tf.profiler.experimental.start(folder, options)
        except (
            tf.errors.AlreadyExistsError
        ):  # of a profiler server; TensorFlow keeps our own, unused
            tf.profiler.experimental.stop(save=False)
            raise ProfilerBusyError from None
        complete = False
        try:
            yield recorder
            complete = True
        finally:
            tf.profiler.experimental.stop(save=complete)
        recorder.read(Path(folder))


def op_profile(window: Window, elements: int) -> OpProfile:
    """Sums up where the time of a window went.

    The time of an eager op includes its set-up, some 10 microseconds, so that the share of kernels
    in eager execution is an upper bound.

    Args:
        window: of one call.
        elements: elements of that call.
    """
    kinds: dict[str, tuple[float, int]] = {}
    busy_s = busy_until = 0.0
    for kind, start, end in window.op_events:
        seconds, count = kinds.get(kind, (0.0, 0))
        kinds[kind] = seconds + end - start, count + 1
        busy_s += max(0.0, end - max(start, busy_until))
        busy_until = max(busy_until, end)
    times = [OpTime(kind, seconds, count) for kind, (seconds, count) in kinds.items()]
    times.sort(key=lambda time: (-time.seconds, time.op))
    count = len(window.op_events)
    return OpProfile(window.duration_s, busy_s, count, tuple(times[:TOP_KINDS]), elements)


class _Reader:
    """Reads the windows out of a trace; only events that are needed become objects."""

    def __init__(self, space: Any) -> None:
        planes = {plane.name: plane for plane in space.planes}
        plane = planes["/host:CPU"]
        self._names = {number: data.name for number, data in plane.event_metadata.items()}
        self._texts = {number: data.name for number, data in plane.stat_metadata.items()}
        self._stats = {name: number for number, name in self._texts.items()}
        self._lines = [_line(line) for line in plane.lines]
        self._kinds = {
            number: data.display_name
            for number, data in plane.event_metadata.items()
            if data.display_name and data.name.endswith(f":{data.display_name}")
        }
        # XLA's kernels have any name; it occurs among the texts of the statistics, too.
        known = self._stats if "hlo_op" in self._stats else {}
        self._maybe_xla = {number for number, name in self._names.items() if name in known}
        self._programs = _programs(planes.get("/host:metadata"))

    def windows(self) -> list[tuple[int, Window]]:
        """Returns number and content of each window."""
        marks = {number for number, name in self._names.items() if name.startswith(_WINDOW)}
        return [
            (int(self._names[event.metadata_id][len(_WINDOW) :]), self._window(start, event))
            for line in self._lines
            for start, event in line
            if event.metadata_id in marks
        ]

    def _window(self, begin: int, mark: Any) -> Window:
        end = begin + mark.duration_ps
        lines = [
            line[
                bisect.bisect_left(line, begin, key=_start) : bisect.bisect_right(
                    line, end, key=_start
                )
            ]
            for line in self._lines
        ]
        allocations = [event for line in lines for event in self._allocations(line, begin)]
        allocations.sort(key=lambda event: event.at_s)
        compiling = [seconds for line in lines for seconds in self._compilations(line)]
        programs: dict[str, bytes] = {}
        return Window(
            duration_s=mark.duration_ps * _PS,
            allocations=tuple(allocations),
            op_events=tuple(self._op_events(lines, begin, programs)),
            compile_count=len(compiling),
            compile_s=sum(compiling),
            hlo_modules=tuple(programs.values()),
        )

    def _allocations(self, line: _Line, begin: int) -> Iterator[AllocationEvent]:
        for start, event in line:
            name = self._names[event.metadata_id]
            if name in ("MemoryAllocation", "MemoryDeallocation"):
                value = self._values(event)
                yield AllocationEvent(
                    at_s=(start - begin) * _PS,
                    address=value["addr"],
                    requested_bytes=value["requested_bytes"],
                    allocated_bytes=value["allocation_bytes"],
                    freed=name == "MemoryDeallocation",
                    op=value.get("tf_op", ""),
                    dtype=_dtype(value.get("data_type", 0)),
                    shape=value.get("shape", ""),
                    allocator=value["allocator_name"],
                )

    def _compilations(self, line: _Line) -> Iterator[float]:
        """Returns the seconds of each compilation, those inside another left out."""
        until = 0
        for start, event in line:
            if self._names[event.metadata_id] in _COMPILING and start >= until:
                until = start + event.duration_ps
                yield event.duration_ps * _PS

    def _op_events(
        self, lines: list[_Line], begin: int, programs: dict[str, bytes]
    ) -> list[OpEvent]:
        """Returns the kernels in order of their start; adds the programs they belong to."""
        events = []
        finished = self._finished(lines)
        for line in lines:
            kernels = list(self._kernels(line))
            following = [*(kernel.start for kernel in kernels), sys.maxsize][1:]
            for kernel, next_start in zip(kernels, following, strict=True):
                starter = next_start < kernel.end  # what it started ran in the same thread
                if kernel.program:
                    starter = bool(_XLA_STARTERS.match(kernel.kind))
                    programs |= {k: v for k, v in self._programs.items() if k == kernel.program}
                if not starter and not _STARTERS.match(kernel.kind):
                    end = finished.get((kernel.kind, kernel.number), kernel.end)
                    events.append(
                        OpEvent(kernel.kind, (kernel.start - begin) * _PS, (end - begin) * _PS)
                    )
        return sorted(events, key=lambda event: event.start_s)

    def _kernels(self, line: _Line) -> Iterator[_Kernel]:
        """Returns all kernels of one thread in order of their start."""
        eager_op = ""
        for start, event in line:
            number, name = event.metadata_id, self._names[event.metadata_id]
            end = start + event.duration_ps
            if name == "EagerExecute":
                value = self._values(event)
                eager_op = "" if value["is_func"] else value["eager_op"]
            elif name == "KernelAndDeviceFunc::Run" and eager_op:
                yield _Kernel(eager_op, start, end)
            elif number in self._kinds:
                yield _Kernel(self._kinds[number], start, end)
            elif number in self._maybe_xla and (value := self._values(event)).get("hlo_op"):
                program = f"{value['hlo_module']}({value['program_id']})"
                yield _Kernel(value["hlo_op"], start, end, program, value.get("_p", 0))

    def _finished(self, lines: list[_Line]) -> dict[tuple[str, int], int]:
        """Returns when kernels of XLA's were really finished, by name and number."""
        ends = {
            number: name[5:] for number, name in self._names.items() if name.startswith("end: ")
        }
        return {
            (ends[event.metadata_id], self._values(event).get("_c", 0)): start + event.duration_ps
            for line in lines
            for start, event in line
            if event.metadata_id in ends
        }

    def _values(self, event: Any) -> dict[str, Any]:
        """Returns the statistics of an event by name."""
        texts = self._texts
        values = {}
        for stat in event.stats:
            kind = stat.WhichOneof("value")
            value = getattr(stat, kind)
            values[texts[stat.metadata_id]] = texts[value] if kind == "ref_value" else value
        return values


def _line(line: Any) -> _Line:
    """Returns the events of one thread in order of their start, the outer of two before the inner."""
    begin = line.timestamp_ns * 1000
    events = sorted(line.events, key=lambda event: (event.offset_ps, -event.duration_ps))
    return [(begin + event.offset_ps, event) for event in events]


def _programs(plane: Any) -> dict[str, bytes]:
    """Returns the serialized HLO of the process's programs by module and number."""
    if plane is None:
        return {}
    return {
        data.name: stat.bytes_value
        for data in plane.event_metadata.values()
        for stat in data.stats
        if plane.stat_metadata[stat.metadata_id].name == "Hlo Proto"
    }


@functools.cache
def _dtype(number: int) -> str:
    return str(tf.dtypes.as_dtype(number).name) if number else ""
