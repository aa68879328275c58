"""A trace of TensorFlow's profiler, read once into plain events: allocations, kernels, compilations."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import tensorflow as tf

from tfinsight.records import OpProfile, OpTime
from tfinsight.tensorflow_private import resolve
from tfinsight.trace_file.events import AllocationEvent, OpEvent, Trace, Window
from tfinsight.trace_file.reader import WINDOW, read_windows

__all__ = [
    "AllocationEvent",
    "OpEvent",
    "ProfilerBusyError",
    "Recorder",
    "Trace",
    "Window",
    "op_profile",
    "record",
]

TOP_KINDS = 12


class ProfilerBusyError(RuntimeError):
    """A profiler session is running already, and TensorFlow allows one at a time."""

    def __init__(self) -> None:
        super().__init__(
            "A profiler session of your own is running, and TensorFlow allows one at a time."
        )


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
        with tf.profiler.experimental.Trace(f"{WINDOW}{len(self._names) - 1}"):
            yield
            if _runs_on():
                tf.test.experimental.sync_devices()

    def read(self, folder: Path) -> None:
        """Reads the trace that the profiler wrote into `folder`."""
        (path,) = folder.glob("plugins/profile/*/*.xplane.pb")
        space = resolve("XSpace").FromString(path.read_bytes())
        windows = read_windows(space)
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
        except tf.errors.AlreadyExistsError:  # a profiler server is at work
            tf.profiler.experimental.stop(save=False)  # our own that did not start
            raise ProfilerBusyError from None
        complete = False
        try:
            yield recorder
            complete = True
        finally:
            _stop(complete)
        recorder.read(Path(folder))


def _stop(save: bool) -> None:
    try:
        tf.profiler.experimental.stop(save)
    finally:
        if resolve("running_profiler") is not None:  # an interrupt came while it was saving
            tf.profiler.experimental.stop(save=False)


def _runs_on() -> bool:
    """Tells whether work may go on after a call has returned."""
    waits = tf.config.experimental.get_synchronous_execution()
    return not waits or bool(tf.config.list_logical_devices("GPU"))


def op_profile(window: Window, elements: int) -> OpProfile:
    """Sums up where the time of a window went.

    Bounds: the time of an eager op includes its set-up, some 10 microseconds. The graph executor
    makes no event of an op that it has found to take no longer than a few microseconds, so that
    count and time of small ops in long loops are too low there.

    Args:
        window: of one call.
        elements: elements of that call.
    """
    kinds: dict[str, tuple[float, int]] = {}
    busy_s = busy_until = 0.0
    for kind, start, end, _ in window.op_events:
        seconds, count = kinds.get(kind, (0.0, 0))
        kinds[kind] = seconds + end - start, count + 1
        busy_s += max(0.0, end - max(start, busy_until))
        busy_until = max(busy_until, end)
    times = [OpTime(kind, seconds, count) for kind, (seconds, count) in kinds.items()]
    times.sort(key=lambda time: (-time.seconds, time.op))
    count = len(window.op_events)
    return OpProfile(window.duration_s, busy_s, count, tuple(times[:TOP_KINDS]), elements)
