"""What the first call of a function took to prepare, from the events around it.

TensorFlow 2.21 has no event of Grappler's, of the instantiation of a function, or of tf2xla, at any
level of the host tracer. They happen between events that it does have at level 1, one after the
other in one thread, with nothing else between them:

- `EagerExecute` of a function copies inputs (`EagerCopyToDevice`), then looks the function up, and at
  the first call instantiates it: places, partitions and optimizes it (Grappler). The check of the
  inputs (`ValidateInputTypeAndPlacement`) comes next.
- Between `KernelAndDeviceFunc::Run` and `FunctionRun` the executor is made at the first call:
  constants are folded once more, and the kernels of ops are created.
- XLA compiles a function when it is executed: after that check for one called eagerly, within the
  event of the op for one that a graph calls. tf2xla comes first, the backend has events, and then the
  executable starts (`ExecuteAsyncOnStream`).

Functions that an op instantiates while it runs (those of `tf.data`, or calls that were not inlined)
are part of that op's time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

FUNCTION_CALL = "EagerExecute of a function"
OP_CALL = "EagerExecute of an op"
KERNEL = "kernel"
_COPY = "EagerCopyToDevice"
_CHECK = "ValidateInputTypeAndPlacement"
_RUN = "KernelAndDeviceFunc::Run"
_EXECUTOR = "FunctionRun"
_ASYNC_KERNEL = "ExecutorState::ProcessAsync::Start"
_EXECUTABLE = re.compile(r"\w+Executable::ExecuteAsyncOnStream$")
# One of these around another on the same thread is one compilation.
_BACKEND = frozenset(
    {"CpuCompiler::RunBackend", "CpuCompiler::CompileCpuExecutable", "JitCompiler::Compile"}
)
NEEDED = "|".join(
    (_COPY, _CHECK, _RUN, _EXECUTOR, _ASYNC_KERNEL, *_BACKEND, _EXECUTABLE.pattern.rstrip("$"))
)
# A function that is known is looked up in 3 to 20 us; the smallest one, empty, takes 560 us to
# instantiate, and one that XLA will compile 210 us.
_LOOKUP_PS = 100_000_000


class Span(NamedTuple):
    """An event: its name, or one of the three kinds above; start and end in picoseconds."""

    name: str
    start: int
    end: int


class Compilation(NamedTuple):
    """One compilation by XLA.

    Attributes:
        begin: where tf2xla began, picoseconds.
        end: where the executable was ready.
        programs: how many the backend compiled in it.
    """

    begin: int
    end: int
    programs: int


def optimizing(spans: Iterable[Span]) -> int:
    """Returns the picoseconds that optimizing and instantiating functions took, 0 if none was new.

    Args:
        spans: of one thread, by start, the outer of two before the inner.
    """
    total = begin = run = 0
    function = new = False
    for name, start, end in spans:
        if name in (FUNCTION_CALL, OP_CALL):
            begin, function, new = start, name == FUNCTION_CALL, False
        elif name == _COPY:
            begin = end
        elif name == _CHECK:
            new = function and start - begin > _LOOKUP_PS
            total += start - begin if new else 0
        elif name == _RUN:
            run = start
        elif name == _EXECUTOR and new:
            total += start - run
            new = False
    return total


@dataclass
class _Scope:
    """What may compile: a call of a function, or an op of a graph."""

    begin: int
    end: int
    programs: int = 0


def compilations(spans: Iterable[Span]) -> Iterator[Compilation]:
    """Returns the compilations of one thread.

    Where the backend has no event around it (the compiler was called by itself), its own is the whole.

    Args:
        spans: of one thread, by start, the outer of two before the inner.
    """
    scopes: list[_Scope] = []
    backend_until = 0
    for name, start, end in spans:
        while scopes and scopes[-1].end <= start:
            yield from _closed(scopes.pop())
        if name in (FUNCTION_CALL, KERNEL, _ASYNC_KERNEL):
            scopes.append(_Scope(start, end))
        elif name == _CHECK and scopes:
            scopes[-1].begin = end
        elif name in _BACKEND and start >= backend_until:
            backend_until = end
            if scopes:
                scopes[-1].programs += 1
            else:
                yield Compilation(start, end, 1)
        elif scopes and scopes[-1].programs and _EXECUTABLE.match(name):
            yield Compilation(scopes[-1].begin, start, scopes[-1].programs)
            scopes[-1].programs = 0
    for scope in reversed(scopes):
        yield from _closed(scope)


def _closed(scope: _Scope) -> Iterator[Compilation]:
    """Returns the compilation of a scope that ended without running what it compiled."""
    if scope.programs:
        yield Compilation(scope.begin, scope.end, scope.programs)
