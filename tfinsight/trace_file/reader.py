"""Reading the windows out of a trace; only events that are needed become objects.

What a trace of TensorFlow 2.21 looks like, found by reading traces of eager, graph and XLA calls:

- All of it is in the plane `/host:CPU`, a line a thread, on one clock. A window is an event of its
  own on the caller's line; what ran on any line within its time belongs to it.
- An op run eagerly is `EagerExecute` (with the op's name and whether it is a function), and inside it
  `KernelAndDeviceFunc::Run`, which is the kernel, its set-up included, unless it runs a function.
- An op run by the graph executor is `NODE:KIND`, and the display name is `KIND`. Control flow is taken
  apart before it runs and has no event; ops that are started and finished later have none either.
  An op that took no longer than a few microseconds the last times has no event, at any level.
- A kernel of XLA's carries the statistics `hlo_op`, `hlo_module` and `program_id`. Where it goes on in
  other threads, its event is only the start, and `end: NAME` with the same number tells the end.
- Optimized HLO is in the plane `/host:metadata`, for every program of the process, run or not.
- `MemoryAllocation` and `MemoryDeallocation` are written under the allocator's lock, so that their
  order in time is the order in which they happened.
"""

from __future__ import annotations

import bisect
import functools
import operator
import re
import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf

from tfinsight.trace_file import first_call
from tfinsight.trace_file.events import AllocationEvent, OpEvent, Window

WINDOW = "tfinsight window "
_PS = 1e-12
# What these do is done by the kernels that they start, in other threads too.
_STARTERS = re.compile(
    r"(Stateful|Stateless)?(PartitionedCall|While|If|Case)$|(Make|Anonymous)?Iterator|_(Send|Recv)$"
)
_XLA_STARTERS = re.compile(r"(while|call|conditional)(\.\d+)?$")
_END = "end: "
_NEEDED = re.compile(rf"{WINDOW}|{_END}|(Memory(Dea|A)llocation|EagerExecute|{first_call.NEEDED})$")
_STATS = frozenset(
    {"addr", "requested_bytes", "allocation_bytes", "tf_op", "data_type", "shape", "allocator_name"}
    | {"eager_op", "is_func", "hlo_op", "hlo_module", "program_id", "_p", "_c"}
)
_Line: TypeAlias = list[tuple[int, Any]]  # start in picoseconds, event


class _Kernel(NamedTuple):
    kind: str
    name: str
    start: int
    end: int
    program: str = ""
    number: int = 0


def read_windows(space: Any) -> list[tuple[int, Window]]:
    """Returns number and content of each window that was marked with an event `WINDOW` + number.

    Args:
        space: the `XSpace` of one process.
    """
    planes = {plane.name: plane for plane in space.planes}
    if "/host:CPU" not in planes:
        return []  # nothing ran
    return _Reader(planes["/host:CPU"], planes.get("/host:metadata")).windows()


class _Reader:
    def __init__(self, plane: Any, metadata: Any) -> None:
        self._names = {number: str(data.name) for number, data in plane.event_metadata.items()}
        self._texts = {number: str(data.name) for number, data in plane.stat_metadata.items()}
        self._stat_names = {n: name for n, name in self._texts.items() if name in _STATS}
        self._kinds = {
            number: data.display_name
            for number, data in plane.event_metadata.items()
            if data.display_name and data.name.endswith(f":{data.display_name}")
        }
        # XLA's kernels have any name, which occurs among the texts of the statistics, too.
        texts = set(self._texts.values())
        self._maybe_xla = {number for number, name in self._names.items() if name in texts}
        self._programs = _programs(metadata)
        named = {number for number, name in self._names.items() if _NEEDED.match(name)}
        needed = named | self._kinds.keys() | self._maybe_xla
        self._lines = [_line(line, needed) for line in plane.lines]

    def windows(self) -> list[tuple[int, Window]]:
        """Returns number and content of each window."""
        return [
            (int(self._name(event).removeprefix(WINDOW)), self._window(start, event))
            for line in self._lines
            for start, event in line
            if self._name(event).startswith(WINDOW)
        ]

    def _window(self, begin: int, mark: Any) -> Window:
        lines = [_between(line, begin, begin + mark.duration_ps) for line in self._lines]
        allocations = [event for line in lines for event in self._allocations(line, begin)]
        steps = [list(self._spans(line)) for line in lines]
        compiling = [done for line in steps for done in first_call.compilations(line)]
        finished = self._finished(lines)
        kernels = [kernel for line in lines for kernel in _without_starters(self._kernels(line))]
        ran = {kernel.program for kernel in kernels}
        op_events = (
            OpEvent(
                kernel.kind,
                (kernel.start - begin) * _PS,
                (finished.get((kernel.kind, kernel.number), kernel.end) - begin) * _PS,
                kernel.name,
            )
            for kernel in kernels
        )
        return Window(
            duration_s=mark.duration_ps * _PS,
            allocations=tuple(sorted(allocations, key=lambda event: event.at_s)),
            op_events=tuple(sorted(op_events, key=lambda event: event.start_s)),
            compile_count=sum(done.programs for done in compiling),
            compile_s=sum(done.end - done.begin for done in compiling) * _PS,
            hlo_modules=tuple(hlo for name, hlo in self._programs.items() if name in ran),
            optimize_s=sum(map(first_call.optimizing, steps)) * _PS,
        )

    def _allocations(self, line: _Line, begin: int) -> Iterator[AllocationEvent]:
        for start, event in line:
            name = self._name(event)
            if name not in ("MemoryAllocation", "MemoryDeallocation"):
                continue
            value = self._stats(event)
            yield AllocationEvent(
                at_s=(start - begin) * _PS,
                address=_number(value["addr"]),
                requested_bytes=_number(value["requested_bytes"]),
                allocated_bytes=_number(value["allocation_bytes"]),
                freed=name == "MemoryDeallocation",
                op=self._text(value.get("tf_op")),
                dtype=_dtype(_number(value["data_type"]) if "data_type" in value else 0),
                shape=self._text(value.get("shape")),
                allocator=self._text(value["allocator_name"]),
            )

    def _spans(self, line: _Line) -> Iterator[first_call.Span]:
        """Returns what tells how long the first call of a function took to prepare."""
        for start, event in line:
            name = self._name(event)
            if name == "EagerExecute":
                is_function = _number(self._stats(event)["is_func"])
                name = first_call.FUNCTION_CALL if is_function else first_call.OP_CALL
            elif event.metadata_id in self._kinds:
                name = first_call.KERNEL
            yield first_call.Span(name, start, start + event.duration_ps)

    def _kernels(self, line: _Line) -> Iterator[_Kernel]:
        """Returns all kernels of one thread in order of their start."""
        eager_op = ""
        for start, event in line:
            number, name = event.metadata_id, self._name(event)
            end = start + event.duration_ps
            if name == "EagerExecute":
                value = self._stats(event)
                is_function = _number(value["is_func"])
                eager_op = "" if is_function else self._text(value["eager_op"])
            elif name == "KernelAndDeviceFunc::Run" and eager_op:
                yield _Kernel(eager_op, eager_op, start, end)
            elif number in self._kinds:
                kind = self._kinds[number]
                yield _Kernel(kind, name.removesuffix(f":{kind}"), start, end)
            elif number in self._maybe_xla and "hlo_op" in (value := self._stats(event)):
                module, program = self._text(value["hlo_module"]), _number(value["program_id"])
                yield _Kernel(name, name, start, end, f"{module}({program})", _number(value["_p"]))

    def _finished(self, lines: list[_Line]) -> dict[tuple[str, int], int]:
        """Returns when kernels of XLA's were really finished, by name and number."""
        return {
            (self._name(event).removeprefix(_END), _number(self._stats(event)["_c"])): start
            for line in lines
            for start, event in line
            if self._name(event).startswith(_END)
        }

    def _name(self, event: Any) -> str:
        return self._names[event.metadata_id]

    def _stats(self, event: Any) -> dict[str, Any]:
        names = self._stat_names
        return {names[s.metadata_id]: s for s in event.stats if s.metadata_id in names}

    def _text(self, stat: Any) -> str:
        """Returns the text of a statistic; most stand in the plane's table."""
        return "" if stat is None else self._texts.get(stat.ref_value) or str(stat.str_value)


def _number(stat: Any) -> int:
    return int(stat.int64_value or stat.uint64_value)


def _line(line: Any, needed: Collection[int]) -> _Line:
    """Returns the needed events of one thread by start, the outer of two before the inner."""
    begin = line.timestamp_ns * 1000
    events = [event for event in line.events if event.metadata_id in needed]
    events.sort(key=lambda event: (event.offset_ps, -event.duration_ps))
    return [(begin + event.offset_ps, event) for event in events]


def _between(line: _Line, begin: int, end: int) -> _Line:
    start = operator.itemgetter(0)
    first = bisect.bisect_left(line, begin, key=start)
    return line[first : bisect.bisect_right(line, end, key=start)]


def _without_starters(kernels: Iterable[_Kernel]) -> Iterator[_Kernel]:
    """Leaves out kernels that only start others: by name, or since one ran inside, in one thread."""
    kernels = list(kernels)
    next_starts = [*(kernel.start for kernel in kernels), sys.maxsize][1:]
    for kernel, next_start in zip(kernels, next_starts, strict=True):
        compiled = bool(kernel.program)
        by_name = (_XLA_STARTERS if compiled else _STARTERS).match(kernel.kind)
        if not by_name and (compiled or next_start >= kernel.end):
            yield kernel


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
