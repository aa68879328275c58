"""Seeing the calls of `tf.map_fn` and `tf.vectorized_map` while the user's code runs.

The function that `tf.map_fn` hands its work to is replaced inside TensorFlow's own module, so calls
under any alias are seen and `tf.map_fn` itself stays what it was.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np
import tensorflow as tf

from tfinsight import tensorflow_private
from tfinsight.source_text import CallText, call_text

# Frames of these modules stand between a caller and the function that does the work.
_MACHINERY = ("/ops/map_fn.py", "/parallel_for/control_flow_ops.py", "/python/util/", "/autograph/")


@dataclass(frozen=True)
class SeenCall:
    """One call of a map.

    Attributes:
        kind: `tf.map_fn` or `tf.vectorized_map`.
        function: the mapped function.
        elements: the elements as they were at the call; NumPy arrays copied.
        arguments: the other arguments that were given, by name.
        seconds: duration of the call.
        result: what it returned.
        symbolic: the elements have no values, since a `tf.function` was being traced.
        site: file, line and function of the user's code that made the call.
        text: the call as written.
        enclosing: name of the `tf.function` around the call, or `None`.
        enclosing_xla: that function is compiled with XLA.
        under_tape: a gradient tape was recording.
        watches_elements: and would record what is computed from the elements.
        device: the device scope in force, or empty.
        distribution: the distribution strategy in scope, or `None`.
    """

    kind: str
    function: Callable[[Any], Any]
    elements: Any
    arguments: Mapping[str, Any]
    seconds: float
    result: Any
    symbolic: bool
    site: tuple[str, int, str]
    text: CallText
    enclosing: str | None
    enclosing_xla: bool
    under_tape: bool
    watches_elements: bool
    device: str
    distribution: Any


@dataclass
class MapWatcher:
    """Collects the outermost map calls made while it is active (`with watcher.active(): ...`).

    Attributes:
        sites: calls by the place that made them, in order of first appearance; of a place's calls
            the costliest is kept.
        counts: how many calls each place made.
        seconds: time that each place took in all.
    """

    sites: dict[tuple[str, int, str], SeenCall] = field(default_factory=dict)
    counts: dict[tuple[str, int, str], int] = field(default_factory=dict)
    seconds: dict[tuple[str, int, str], float] = field(default_factory=dict)
    _depth: int = 0

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Watches until the block ends, however it ends."""
        with contextlib.ExitStack() as patches:
            for key, kind in (("map_fn", "tf.map_fn"), ("pfor", "tf.vectorized_map")):
                original = tensorflow_private.resolve(key)
                watched = self._watched(original, kind)
                patches.enter_context(tensorflow_private.replaced(key, watched))
            yield

    def _watched(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)  # noqa: SLF001 - whose call it is
            if self._depth or not _is_public_call(frame, kind):
                return original(*args, **kwargs)
            seen = functools.partial(self._record, kind, args, kwargs, frame)
            self._depth += 1
            started = time.perf_counter()
            try:
                result = original(*args, **kwargs)
            finally:
                self._depth -= 1
            seen(result, time.perf_counter() - started)
            return result

        return watched

    def _record(
        self, kind: str, args: Any, kwargs: Any, frame: FrameType, result: Any, seconds: float
    ) -> None:
        user_frame = _user_frame(frame)
        if user_frame is None:
            return
        code = user_frame.f_code
        site = (code.co_filename, user_frame.f_lineno, code.co_name)
        self.counts[site] = self.counts.get(site, 0) + 1
        self.seconds[site] = self.seconds.get(site, 0.0) + seconds
        before = self.sites.get(site)
        if before is not None and before.seconds >= seconds:
            return
        function, elements, arguments = _unpack(kind, args, kwargs)
        enclosing = tensorflow_private.enclosing_function(frame)
        eager_leaves = _float_tensors(elements) if tf.executing_eagerly() else []
        self.sites[site] = SeenCall(
            kind=kind,
            function=function,
            elements=tf.nest.map_structure(_held, elements),
            arguments=arguments,
            seconds=seconds,
            result=result,
            symbolic=not tf.executing_eagerly(),
            site=site,
            text=call_text(user_frame),
            enclosing=None if enclosing is None else enclosing.name,
            enclosing_xla=enclosing is not None and enclosing.jit_compile,
            under_tape=tensorflow_private.tape_is_recording(),
            watches_elements=tensorflow_private.tape_would_record(eager_leaves),
            device=tensorflow_private.device_scope(),
            distribution=_distribution_scope(),
        )


def _distribution_scope() -> Any:
    if tf.distribute.has_strategy() and tf.distribute.in_cross_replica_context():
        return tf.distribute.get_strategy()
    return None


def _unpack(kind: str, args: Any, kwargs: Any) -> tuple[Callable[[Any], Any], Any, dict[str, Any]]:
    if kind == "tf.map_fn":  # the public function passes everything by name
        given = {name: value for name, value in kwargs.items() if name not in ("fn", "elems")}
        plain = {"fn_output_signature": None, "parallel_iterations": None, "back_prop": True}
        plain |= {"swap_memory": False, "infer_shape": True, "name": None, "dtype": None}
        arguments = {k: v for k, v in given.items() if k not in plain or v is not plain[k]}
        return kwargs["fn"], kwargs["elems"], arguments
    loop_function = args[0]
    cells = dict(
        zip(loop_function.__code__.co_freevars, loop_function.__closure__ or (), strict=True)
    )
    arguments = {k: v for k, v in kwargs.items() if v is not True}
    return cells["fn"].cell_contents, cells["elems"].cell_contents, arguments


def _is_public_call(frame: FrameType, kind: str) -> bool:
    """Tells a user's call from one that TensorFlow makes for its own purposes."""
    public = "map_fn_v2" if kind == "tf.map_fn" else "vectorized_map"
    if frame.f_code.co_name != public:
        return False
    caller: FrameType | None = frame
    while caller is not None and any(part in caller.f_code.co_filename for part in _MACHINERY):
        caller = caller.f_back
    return caller is not None and not _inside_tensorflow(caller)


def _user_frame(frame: FrameType | None) -> FrameType | None:
    while frame is not None and (_inside_tensorflow(frame) or _inside_keras(frame)):
        frame = frame.f_back
    return frame


def _inside_tensorflow(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).split(".")[0] == "tensorflow"


def _inside_keras(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).split(".")[0] == "keras"


def _held(leaf: Any) -> Any:
    """Returns `leaf` in a form that later statements of the cell can't change."""
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    if isinstance(leaf, tf.Variable):
        return leaf.read_value()
    return leaf


def _float_tensors(elements: Any) -> list[tf.Tensor]:
    leaves = tf.nest.flatten(elements, expand_composites=True)
    return [x for x in leaves if tf.is_tensor(x) and (x.dtype.is_floating or x.dtype.is_complex)]
