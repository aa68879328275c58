"""Keeping the notebook's output free while measuring: what is printed or logged is collected.

Prints of the user's code appeared once already, in the plain run; TensorFlow's log lines and
AutoGraph's complaints become findings in the report.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any, Literal

from tfinsight.records import LogLine

Source = Literal["tensorflow", "native", "warning", "output"]

# Lines of TensorFlow's C++ log that tell a user nothing about the workload.
NOISE = tuple(
    re.compile(pattern)
    for pattern in (
        r"_tracer_level expects an|delay_ms expects an",
        r"profiler_session\.cc|Profiler session|xplane|collecting|traceme",
        r"device_compiler\.(cc|h)|Compiled cluster using XLA|service\.cc|StreamExecutor device",
        r"cpu_feature_guard|rebuild TensorFlow|oneDNN custom operations|onednn",
        r"computation_placer|cuda_|libcuda|CUDA|tensorrt|TensorRT|numa_node",
        r"pluggable_device|mlir_graph_optimization_pass|dump_mlir_util",
        r"End of sequence|OUT_OF_RANGE|Local rendezvous is aborting|local_rendezvous",
        r"WARNING: All log messages before absl::InitializeLog",
        # Of graphs that are read in to be looked at: oneDNN's ops have attributes of their own.
        r"NodeDef mentions attribute",
        r"assigned_device|disabling MLIR crash reproducer",
    )
)
# The beginning of a line of the C++ log, which says when and where and not what.
_NATIVE_PREFIX = re.compile(
    r"^(\d{4}-\d\d-\d\d [\d:.]+: )?([IWEF]\d* ?[\d:. ]* *\d* ?)?\S+\.(cc|h):\d+\] ?"
)
_INFORMATION = re.compile(r"^(I\d{4} |\d{4}-\d\d-\d\d [\d:.]+: I )")
_LONGEST = 2_000
_MOST_LINES = 200


class Captured:
    """What was printed and logged so far, each line with the row that was running."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Source, str, str], int] = {}
        self._strategy = ""
        self._native: int | None = None
        self._read_to = 0

    def mark(self, strategy: str) -> None:
        """Attributes everything from now on to the row `strategy`."""
        self._collect_native()
        self._strategy = strategy

    def lines(self) -> tuple[LogLine, ...]:
        """Returns the lines in order of first appearance, repeats counted."""
        self._collect_native()
        return tuple(
            LogLine(source, message, count, strategy)
            for (source, message, strategy), count in list(self._counts.items())[:_MOST_LINES]
        )

    def add(self, source: Source, text: str) -> None:
        """Adds a message, unless it is known noise."""
        message = text.strip()[:_LONGEST]
        if not message or any(pattern.search(message) for pattern in NOISE):
            return
        key = (source, message, self._strategy)
        self._counts[key] = self._counts.get(key, 0) + 1

    def read_from(self, descriptor: int | None) -> None:
        """Names the file that the process's own output goes to."""
        self._native, self._read_to = descriptor, 0

    def _collect_native(self) -> None:
        if self._native is None:
            return
        # Not by seeking: those who write share the file's position.
        data = os.pread(self._native, os.fstat(self._native).st_size, self._read_to)
        self._read_to += len(data)
        for line in data.decode("utf-8", "replace").splitlines():
            found = _NATIVE_PREFIX.match(line)
            if _INFORMATION.match(line) or any(pattern.search(line) for pattern in NOISE):
                continue
            self.add("native" if found else "output", line[found.end() :] if found else line)


@contextlib.contextmanager
def captured() -> Iterator[Captured]:
    """Collects what is printed, logged and warned until the block ends.

    Python's streams, the process's own output (TensorFlow's C++ log), Python warnings and the log
    of TensorFlow and absl are all redirected, and put back as they were.
    """
    found = Captured()
    undo = contextlib.ExitStack()
    try:
        undo.enter_context(_native_output(found))
        undo.enter_context(contextlib.redirect_stdout(_Stream(found)))
        undo.enter_context(contextlib.redirect_stderr(_Stream(found)))
        undo.enter_context(_warnings(found))
        for name in ("tensorflow", "absl"):
            undo.enter_context(_logger(logging.getLogger(name), found))
        yield found
    finally:
        found.lines()
        undo.close()


class _Stream(io.TextIOBase):
    """What the user's code prints to while it is measured."""

    def __init__(self, found: Captured) -> None:
        self._found = found
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._found.add("output", line)
        return len(text)

    def writable(self) -> bool:
        return True


class _Handler(logging.Handler):
    def __init__(self, found: Captured) -> None:
        super().__init__()
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self._found.add("tensorflow", record.getMessage())


@contextlib.contextmanager
def _logger(logger: logging.Logger, found: Captured) -> Iterator[None]:
    handlers, propagate = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [_Handler(found)], False
    try:
        yield
    finally:
        logger.handlers, logger.propagate = handlers, propagate


@contextlib.contextmanager
def _warnings(found: Captured) -> Iterator[None]:
    with warnings.catch_warnings():

        def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
            found.add("warning", f"{category.__name__}: {message}")

        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _native_output(found: Captured) -> Iterator[None]:
    """Sends file descriptors 1 and 2 to a file without a name until the block ends."""
    with contextlib.ExitStack() as undo:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        file = undo.enter_context(tempfile.TemporaryFile(buffering=0))
        for descriptor in (1, 2):
            try:
                kept = os.dup(descriptor)
            except OSError:  # closed in this process
                continue
            os.dup2(file.fileno(), descriptor)
            undo.callback(os.close, kept)
            undo.callback(os.dup2, kept, descriptor)
        found.read_from(file.fileno())
        undo.callback(found.read_from, None)
        yield
