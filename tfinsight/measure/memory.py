"""Memory of one call: exact peaks from the allocator, and who held it from a trace."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from tfinsight.measure.live_set import live_set
from tfinsight.records import Coverage, Execution, Memory
from tfinsight.trace_file import Window

# A tensor of fewer bytes than oneDNN's allocator counts, and one of just as many: 256 KiB.
_SMALL, _LARGE = 1_000, 65_536  # float32 values


class Peak(NamedTuple):
    """Peaks of several calls, above what was live when each began.

    Attributes:
        highest_bytes: the largest.
        lowest_bytes: the smallest.
        calls: how many calls they come from.
    """

    highest_bytes: int
    lowest_bytes: int
    calls: int


class _Events(NamedTuple):
    """Events in the trace of one call, about."""

    fixed: int
    per_op: float
    per_element: float
    per_element_and_op: float


# Counted in traces of chains of 2 to 16 elementwise ops and of a matrix product, 100 to 2,000
# elements, TensorFlow 2.21. A compiled loop has 0 to 12 an element, since XLA may fuse it whole.
_EVENTS: dict[tuple[str, Execution], _Events] = {
    ("loop", "eager"): _Events(30, 0, 2, 11),
    ("loop", "graph"): _Events(30, 0, 6, 2),
    ("loop", "xla"): _Events(30, 0, 3, 0),
    ("map_fn", "eager"): _Events(60, 0, 37, 11),
    ("map_fn", "graph"): _Events(60, 0, 22, 2),
    ("map_fn", "xla"): _Events(30, 0, 12, 0),
    ("vectorized_map", "eager"): _Events(60, 18, 0, 0),
    ("vectorized_map", "graph"): _Events(30, 3, 0, 0),
    ("vectorized_map", "xla"): _Events(30, 0, 0, 0),
    ("batched", "eager"): _Events(10, 11, 0, 0),
    ("batched", "graph"): _Events(30, 3, 0, 0),
    ("batched", "xla"): _Events(30, 0, 0, 0),
    ("chunked", "eager"): _Events(1_200, 300, 0, 0),
    ("chunked", "graph"): _Events(500, 50, 0, 0),
    ("chunked", "xla"): _Events(300, 0, 0, 0),
    ("dataset", "eager"): _Events(100, 0, 35, 1),
    ("dataset", "graph"): _Events(100, 0, 35, 1),
}


def coverage(device: str) -> Coverage:
    """Tells which allocations of `device` its statistics include, by allocating some.

    Args:
        device: such as `CPU:0`.

    Returns:
        `all`; `large-only`, where the allocator counts those of 256 KiB and more; or `none`.
    """
    try:
        if _is_counted(device, _SMALL):
            return "all"
        return "large-only" if _is_counted(device, _LARGE) else "none"
    except ValueError:  # the allocator keeps no statistics
        return "none"


def _is_counted(device: str, values: int) -> bool:
    before = _bytes(device, "current")
    with tf.device(device):
        tensor = tf.fill([values], 1.0)
    tf.test.experimental.sync_devices()
    grown = _bytes(device, "current") - before
    del tensor
    return grown >= 4 * values


def peak_of_call(call: Callable[[], Any], device: str, calls: int) -> Peak:
    """Measures the most bytes that `call` needs above what is live when it begins.

    The result is alive until the peak is read and is freed before the next call. The figures are the
    allocator's own, rounded up to its chunks: of one that is free already it may give a larger one
    whole.

    Args:
        call: runs the workload once.
        device: such as `CPU:0`.
        calls: how often to call it; parallel loops differ from call to call.

    Raises:
        ValueError: `device` has no statistics.
    """
    peaks = [_peak_of_one_call(call, device) for _ in range(calls)]
    return Peak(max(peaks), min(peaks), calls)


def _peak_of_one_call(call: Callable[[], Any], device: str) -> int:
    # What the previous call left in reference cycles; a full collection would take 0.2 s.
    gc.collect(1)
    tf.config.experimental.reset_memory_stats(device)
    before = _bytes(device, "current")
    result = call()
    tf.test.experimental.sync_devices()
    peak = _bytes(device, "peak")
    del result
    return peak - before


def kept_per_call(call: Callable[[], Any], device: str, calls: int) -> int:
    """Returns the bytes that stay live with each further call whose result is dropped.

    The least of several is taken: what a cache takes once, or a collection gives back late, is none.

    Args:
        call: runs the workload once.
        device: such as `CPU:0`.
        calls: how often to call it.
    """
    call()
    levels = []
    for _ in range(calls):
        gc.collect(1)
        levels.append(_bytes(device, "current"))
        call()
        tf.test.experimental.sync_devices()
    return max(0, min(b - a for a, b in itertools.pairwise(levels)))


def _bytes(device: str, figure: str) -> int:
    return int(tf.config.experimental.get_memory_info(device)[figure])


def memory_record(
    window: Window | None, peak: Peak | None, coverage: Coverage, traced_elements: int | None
) -> Memory:
    """Puts together what is known of one call's memory.

    Args:
        window: of the traced call, or `None` if none was traced.
        peak: from the allocator's statistics, or `None` if it has none.
        coverage: which allocations the figures include.
        traced_elements: elements of the traced call where that was fewer than all; its figures are
            then left out, and only who held the memory is kept.
    """
    live = None if window is None or coverage == "none" else live_set(window.allocations)
    whole = live if traced_elements is None else None
    return Memory(
        peak_bytes=peak.highest_bytes if peak else None,
        peak_lowest_bytes=peak.lowest_bytes if peak else None,
        peak_calls=peak.calls if peak else 0,
        peak_requested_bytes=whole.peak_requested_bytes if whole else None,
        total_requested_bytes=whole.total_requested_bytes if whole else None,
        allocation_count=whole.allocation_count if whole else None,
        coverage=coverage,
        top=live.top if live else (),
        timeline=live.timeline if live else (),
        traced_elements=traced_elements if window else None,
        attributed=live.attributed if live else None,
    )


def predicted_events(ops: int, n: int, mapping: str, execution: Execution) -> int:
    """Predicts, roughly and rather too high, how many events the trace of one call has.

    Args:
        ops: graph ops that one element costs.
        n: elements.
        mapping: of the strategy; an unknown one is taken to map element by element.
        execution: of the strategy.
    """
    fallback = _EVENTS["map_fn", execution]
    events = _EVENTS.get((mapping, execution), fallback)
    per_element = events.per_element + events.per_element_and_op * ops
    return int(events.fixed + events.per_op * ops + n * per_element)
