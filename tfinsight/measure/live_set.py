"""The live set: replaying allocations by address, to see what held the memory at its peak."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tfinsight.records import TIMELINE_POINTS, LiveTensor
from tfinsight.trace_file import AllocationEvent

TOP_TENSORS = 20
# Scalars and arrays that Python hands over, mostly.
UNKNOWN_OP = "no known op"


@dataclass(frozen=True)
class LiveSet:
    """What a replay shows.

    Attributes:
        peak_requested_bytes: most bytes live at one time, by requested sizes.
        total_requested_bytes: all bytes requested.
        allocation_count: allocations.
        top: what held the memory at the peak, an op each, largest first.
        timeline: `(seconds since the call began, live requested bytes)`.
        attributed: share of the bytes at the peak whose op is known; `None` if the peak is 0.
    """

    peak_requested_bytes: int
    total_requested_bytes: int
    allocation_count: int
    top: tuple[LiveTensor, ...]
    timeline: tuple[tuple[float, int], ...]
    attributed: float | None


def live_set(allocations: Sequence[AllocationEvent]) -> LiveSet:
    """Replays allocations by address.

    Memory that was taken before the window is not in the set, so that giving it back changes
    nothing. Where a GPU takes part, its memory alone counts.
    """
    allocations = _of_device(allocations)
    timeline = [(0.0, 0)]
    peak_at = peak = live = 0
    held: dict[int, AllocationEvent] = {}
    for index, event in enumerate(allocations):
        live += _replay(held, event)
        timeline.append((event.at_s, live))
        if live > peak:
            peak, peak_at = live, index + 1
    taken = [event.requested_bytes for event in allocations if not event.freed]
    at_peak = _held_after(allocations[:peak_at])
    known = sum(event.requested_bytes for event in at_peak if event.op)
    return LiveSet(
        peak_requested_bytes=peak,
        total_requested_bytes=sum(taken),
        allocation_count=len(taken),
        top=_by_op(at_peak)[:TOP_TENSORS],
        timeline=thinned(timeline, TIMELINE_POINTS),
        attributed=known / peak if peak else None,
    )


def thinned(timeline: Sequence[tuple[float, int]], most: int) -> tuple[tuple[float, int], ...]:
    """Returns at most `most` points: of neighbours the highest, and always the last."""
    if len(timeline) <= most:
        return tuple(timeline)
    *points, last = timeline
    groups = most - 1
    borders = [len(points) * number // groups for number in range(groups + 1)]
    highest = (
        max(points[begin:end], key=lambda point: point[1])
        for begin, end in itertools.pairwise(borders)
    )
    return (*highest, last)


def _of_device(allocations: Sequence[AllocationEvent]) -> Sequence[AllocationEvent]:
    on_gpu = [event for event in allocations if event.allocator.startswith("GPU")]
    return on_gpu or allocations


def _replay(held: dict[int, AllocationEvent], event: AllocationEvent) -> int:
    """Changes what is held by one event; returns by how many bytes it grew."""
    before = held.pop(event.address, None)
    freed = 0 if before is None else before.requested_bytes
    if event.freed:
        return -freed
    held[event.address] = event
    return event.requested_bytes - freed


def _held_after(allocations: Iterable[AllocationEvent]) -> list[AllocationEvent]:
    held: dict[int, AllocationEvent] = {}
    for event in allocations:
        _replay(held, event)
    return list(held.values())


def _by_op(allocations: Iterable[AllocationEvent]) -> tuple[LiveTensor, ...]:
    groups: dict[str, list[AllocationEvent]] = defaultdict(list)
    for event in allocations:
        groups[event.op].append(event)
    tensors = [_live_tensor(op, events) for op, events in groups.items()]
    return tuple(sorted(tensors, key=lambda tensor: (-tensor.size_bytes, tensor.op)))


def _live_tensor(op: str, events: Sequence[AllocationEvent]) -> LiveTensor:
    largest = max(events, key=lambda event: event.requested_bytes)
    size = sum(event.requested_bytes for event in events)
    return LiveTensor(op or UNKNOWN_OP, size, len(events), largest.dtype, largest.shape)
