"""Every touch of a private part of TensorFlow, each with its reason; no other module has one.

`NAMES` lists what is used. `missing()` tells what the installed TensorFlow no longer has, and each
use of a missing name raises `TensorFlowMovedError`, which names it and the reason it is needed.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple


class TensorFlowMovedError(RuntimeError):
    """A private part of TensorFlow that tfinsight needs is not where it was in version 2.21."""


class PrivateName(NamedTuple):
    """A private module or attribute and what it is needed for."""

    module: str
    attribute: str
    reason: str


# fmt: off
NAMES: dict[str, PrivateName] = {
    "map_fn": PrivateName(
        "tensorflow.python.ops.map_fn", "map_fn",
        "seeing calls of tf.map_fn under any alias, with tf.map_fn itself untouched"),
    "pfor": PrivateName(
        "tensorflow.python.ops.parallel_for.control_flow_ops", "pfor",
        "seeing calls of tf.vectorized_map under any alias"),
    "Function": PrivateName(
        "tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function",
        "recognizing a tf.function and the one that a map call runs in"),
    "TapeSetIsEmpty": PrivateName(
        "tensorflow.python.pywrap_tfe", "TFE_Py_TapeSetIsEmpty",
        "knowing whether the user's map ran under a gradient tape"),
    "TapeSetShouldRecordBackprop": PrivateName(
        "tensorflow.python.pywrap_tfe", "TFE_Py_TapeSetShouldRecordBackprop",
        "knowing whether that tape watched the elements"),
    "GradientTape": PrivateName(
        "tensorflow.python.eager.backprop", "GradientTape",
        "keeping the user's tapes from recording what is measured"),
    "ForwardAccumulator": PrivateName(
        "tensorflow.python.eager.forwardprop", "ForwardAccumulator",
        "keeping the user's accumulators from following what is measured"),
    "context": PrivateName(
        "tensorflow.python.eager.context", "context",
        "measuring under another seed without clearing the kernels that hold the user's streams"),
    "BaseResourceVariable": PrivateName(
        "tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable",
        "finding the variables that a run may change"),
    "UnreadVariable": PrivateName(
        "tensorflow.python.ops.resource_variable_ops", "_UnreadVariable",
        "telling a variable from what its assignment returns"),
    "XSpace": PrivateName(
        "tensorflow.tsl.profiler.protobuf.xplane_pb2", "XSpace",
        "reading the trace that tf.profiler writes"),
    "HloProto": PrivateName(
        "tensorflow.compiler.xla.service.hlo_pb2", "HloProto",
        "reading the programs that XLA compiled, which a trace holds"),
    "PrimitiveType": PrivateName(
        "tensorflow.compiler.xla.xla_data_pb2", "PrimitiveType",
        "knowing how many bytes the values of such a program take"),
    "flops_registry": PrivateName(
        "tensorflow.python.profiler.internal.flops_registry", "ops",
        "counting floating-point operations; most counts are registered when it is imported"),
    "node_statistics": PrivateName(
        "tensorflow.python.framework.ops", "get_stats_for_node_def",
        "counting floating-point operations by TensorFlow's own registry"),
    "silent_deprecations": PrivateName(
        "tensorflow.python.util.deprecation", "silence",
        "keeping that registry from telling the user that it is old"),
    "running_profiler": PrivateName(
        "tensorflow.python.profiler.profiler_v2", "_profiler",
        "knowing whether a profiler session of the user's is running, without disturbing it"),
    "EagerTensor": PrivateName(
        "tensorflow.python.framework.ops", "_EagerTensorBase",
        "counting where values are handed from TensorFlow to Python"),
    "autograph_convert": PrivateName(
        "tensorflow.python.autograph.impl.api", "_convert_actual",
        "knowing which functions AutoGraph converts and which it can't"),
    "Trackable": PrivateName(
        "tensorflow.python.trackable.base", "Trackable",
        "telling objects with a state (variables, layers, optimizers, datasets) from values"),
    "gradient_function": PrivateName(
        "tensorflow.python.eager.backprop", "_gradient_function",
        "knowing of which op an op of the backward pass is the gradient"),
    "register_gradient_function": PrivateName(
        "tensorflow.python.pywrap_tfe", "TFE_Py_RegisterGradientFunction",
        "watching gradients while a function is traced"),
    "optimize_graph": PrivateName(
        "tensorflow.python.grappler.tf_optimizer", "OptimizeGraph",
        "running one pass of the graph optimizer alone"),
    "ConfigProto": PrivateName(
        "tensorflow.core.protobuf.config_pb2", "ConfigProto",
        "telling the graph optimizer which pass to run"),
    "MetaGraphDef": PrivateName(
        "tensorflow.core.protobuf.meta_graph_pb2", "MetaGraphDef",
        "handing a graph to the graph optimizer"),
    "context_safe": PrivateName(
        "tensorflow.python.eager.context", "context_safe",
        "knowing whether the devices exist; allocator_switch asks it only if it is loaded already"),
}
# fmt: on


def resolve(key: str) -> Any:
    """Returns the private object listed under `key` in `NAMES`.

    Raises:
        TensorFlowMovedError: the installed TensorFlow does not have it.
    """
    name = NAMES[key]
    try:
        return getattr(importlib.import_module(name.module), name.attribute)
    except (ImportError, AttributeError):
        import tensorflow as tf

        raise TensorFlowMovedError(
            f"TensorFlow {tf.__version__} has no {name.module}.{name.attribute}, which tfinsight "
            f"needs for {name.reason}. It was written for TensorFlow 2.21."
        ) from None


def missing() -> tuple[str, ...]:
    """Returns what the installed TensorFlow no longer has, a sentence each; empty if all is well."""
    problems = []
    for key in NAMES:
        try:
            resolve(key)
        except TensorFlowMovedError as error:
            problems.append(str(error))
    return tuple(problems)


@contextlib.contextmanager
def replaced(key: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Puts `replacement` in the place of the private object `key` until the block ends."""
    original = resolve(key)
    module = importlib.import_module(NAMES[key].module)
    setattr(module, NAMES[key].attribute, replacement)
    try:
        yield
    finally:
        setattr(module, NAMES[key].attribute, original)


class EnclosingFunction(NamedTuple):
    """A `tf.function` that is running or being traced."""

    name: str
    jit_compile: bool


def is_tf_function(value: object) -> bool:
    """Tells whether `value` is what `tf.function` returns."""
    return isinstance(value, resolve("Function"))


def is_xla_function(value: object) -> bool:
    """Tells whether `value` is a `tf.function` that is compiled with XLA."""
    return is_tf_function(value) and bool(getattr(value, "_jit_compile", False))


def enclosing_function(frame: FrameType | None) -> EnclosingFunction | None:
    """Returns the outermost `tf.function` that `frame` runs in, or `None`.

    The Python stack is the only place where this shows, both while tracing and while functions run
    eagerly. The outermost one decides how everything inside it is executed.
    """
    function_class = resolve("Function")
    found, jit_compile = None, False
    while frame is not None:
        owner = frame.f_locals.get("self") if frame.f_code.co_name == "__call__" else None
        if isinstance(owner, function_class):
            found = owner
            jit_compile = jit_compile or is_xla_function(owner)
        frame = frame.f_back
    return None if found is None else EnclosingFunction(found.name, jit_compile)


def tape_is_recording() -> bool:
    """Tells whether any gradient tape of this thread is recording."""
    return not resolve("TapeSetIsEmpty")()


def tape_would_record(tensors: Sequence[Any]) -> bool:
    """Tells whether a recording tape watches one of `tensors`, or what they were computed from."""
    return bool(tensors) and bool(resolve("TapeSetShouldRecordBackprop")(list(tensors)))


@contextlib.contextmanager
def paused_tapes() -> Iterator[None]:
    """Keeps all recording tapes and accumulators from recording until the block ends.

    `stop_recording` would not do: it stops recording altogether, the tapes of what is measured too.
    """
    kinds = ((resolve("GradientTape"), "tape"), (resolve("ForwardAccumulator"), "accumulator"))
    recording = [
        (value, word)
        for value in gc.get_objects()
        for kind, word in kinds
        if type(value) is kind and getattr(value, "_recording", False)
    ]
    for value, word in recording:
        getattr(value, f"_pop_{word}")()
    try:
        yield
    finally:
        for value, word in reversed(recording):
            getattr(value, f"_push_{word}")()


@contextlib.contextmanager
def other_seed(seed: int) -> Iterator[None]:
    """Puts another global seed in force until the block ends; the user's streams stay where they are."""
    context = resolve("context")()
    context.ensure_initialized()
    seed_before = context._seed
    stream_before = getattr(context, "_rng", None)  # there is none before the first global seed
    restart_op_seeds(seed)
    try:
        yield
    finally:
        context._seed, context._rng = seed_before, stream_before


def restart_op_seeds(seed: int) -> None:
    """Starts the stream that ops without a seed of their own take theirs from."""
    context = resolve("context")()
    context._seed, context._rng = seed, random.Random(seed)


def device_scope() -> str:
    """Returns the name of the device scope that eager ops are placed by, or an empty string."""
    return str(resolve("context")().device_name or "")


def optimizer_options() -> dict[str, Any]:
    """Returns the options of TensorFlow's graph optimizer that are set; others have their defaults."""
    return dict(resolve("context")()._optimizer_experimental_options)


def set_optimizer_options(options: Mapping[str, Any]) -> None:
    """Sets the options of the graph optimizer to these alone.

    `tf.config.optimizer.set_experimental_options` can add to them, but never takes one back.
    """
    context = resolve("context")()
    if context._optimizer_experimental_options == dict(options):
        return
    context._optimizer_experimental_options = dict(options)
    context._thread_local_data.function_call_options = None


def concrete_functions(function: Any) -> tuple[Any, ...]:
    """Returns the concrete functions of a `tf.function`, without tracing a new one."""
    return tuple(function._list_all_concrete_functions())


@contextlib.contextmanager
def called_functions() -> Iterator[list[tuple[Any, int]]]:
    """Collects the `tf.function`s that are called until the block ends, outermost calls only.

    Each comes with the number of times that it had been traced before.
    """
    function_class = resolve("Function")
    original = function_class.__call__
    called: list[tuple[Any, int]] = []
    inside = 0

    def watched(function: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal inside
        if not inside and not any(function is known for known, _ in called):
            called.append((function, function.experimental_get_tracing_count()))
        inside += 1
        try:
            return original(function, *args, **kwargs)
        finally:
            inside -= 1

    function_class.__call__ = watched
    try:
        yield called
    finally:
        function_class.__call__ = original


@contextlib.contextmanager
def created_variables() -> Iterator[set[int]]:
    """Collects the ids of the variables that are made until the block ends.

    They are not kept alive, so look only for variables that are: another may have the id of one gone.
    """
    variable_class = resolve("BaseResourceVariable")
    original = variable_class.__init__
    ids: set[int] = set()

    def watched(variable: Any, *args: Any, **kwargs: Any) -> None:
        ids.add(id(variable))
        original(variable, *args, **kwargs)

    variable_class.__init__ = watched
    try:
        yield ids
    finally:
        variable_class.__init__ = original


# How a value is handed from TensorFlow to Python, and what a reader calls it.
_HOST_READS = {
    "numpy": ".numpy()",
    "__array__": "conversion to a NumPy array",
    "__float__": "float()",
    "__int__": "int()",
    "__bool__": "a condition of Python's",
    "__index__": "an index of Python's",
    "__format__": "a formatted string",
    "__str__": "a printed string",
    "__repr__": "a printed string",
}


@contextlib.contextmanager
def watched_host_reads(seen: Callable[[str, FrameType], None]) -> Iterator[None]:
    """Tells `seen` of each value that Python reads from a tensor, with the frame that reads it."""
    tensor_class = resolve("EagerTensor")
    originals = {name: tensor_class.__dict__[name] for name in _HOST_READS}
    inside = False

    def watching(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(tensor: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            if inside:  # one way of reading is made of others
                return original(tensor, *args, **kwargs)
            inside = True
            try:
                seen(_HOST_READS[name], sys._getframe(1))
                return original(tensor, *args, **kwargs)
            finally:
                inside = False

        return watched

    for name, original in originals.items():
        setattr(tensor_class, name, watching(name, original))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(tensor_class, name, original)


@contextlib.contextmanager
def autograph_conversions() -> Iterator[list[tuple[str, str]]]:
    """Collects the functions that AutoGraph converts until the block ends, each with its problem."""
    original = resolve("autograph_convert")
    found: list[tuple[str, str]] = []

    def watched(entity: Any, context: Any) -> Any:
        name = getattr(entity, "__qualname__", str(entity))
        try:
            converted = original(entity, context)
        except Exception as error:
            found.append((name, f"{type(error).__name__}: {error}"))
            raise
        found.append((name, ""))
        return converted

    with replaced("autograph_convert", watched):
        yield found


class GradientCall(NamedTuple):
    """The gradient of one op, as a tape asked for it while tracing.

    Attributes:
        graph: in which it was traced.
        kind: of the op.
        forward: the op, or `None` where the tape has kept none of its results.
        inputs: names of what the op reads, as far as the tape has kept it.
        first: number of the first op of the gradient in the graph.
        end: number after the last.
    """

    graph: Any
    kind: str
    forward: Any
    inputs: tuple[str, ...]
    first: int
    end: int


@contextlib.contextmanager
def gradient_calls() -> Iterator[list[GradientCall]]:
    """Collects the gradients that tapes compute symbolically until the block ends."""
    import tensorflow as tf

    original = resolve("gradient_function")
    register = resolve("register_gradient_function")
    calls: list[GradientCall] = []

    def watched(
        kind: str, attributes: Any, count: int, inputs: Any, outputs: Any, *rest: Any
    ) -> Any:
        if tf.executing_eagerly():
            return original(kind, attributes, count, inputs, outputs, *rest)
        graph = tf.compat.v1.get_default_graph()
        first = graph.version
        result = original(kind, attributes, count, inputs, outputs, *rest)
        made = [output.op for output in outputs or () if hasattr(output, "graph")]
        read = tuple(t.name for t in inputs or () if hasattr(t, "graph"))
        calls.append(
            GradientCall(graph, kind, made[0] if made else None, read, first, graph.version)
        )
        return result

    register(watched)
    try:
        yield calls
    finally:
        register(original)


def function_graph(graph: Any, name: str) -> Any:
    """Returns the graph of a function in the library of `graph`, with shapes as traced."""
    return graph._get_function(name).graph
