"""Before anything runs at full size: a probe of a few elements, and what each row would need.

Skips follow from counts of ops and bytes, so that they are the same from run to run; the probe's
clock only matters where elements are so heavy that their kernels alone break the budget.
"""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

from tfinsight.compiler.graph import graph_facts, live_bytes_bound, working_op_count
from tfinsight.errors import WorkloadError
from tfinsight.measure.agreement import Outcome, compare
from tfinsight.records import AS_WRITTEN, Failure, GraphFacts
from tfinsight.strategies import Strategy
from tfinsight.strategies.mappings import part
from tfinsight.workload import Workload, tensor_facts

PROBED_ELEMENTS = 3
# Of the budget: every row needs a first call, steady ones and one for its memory.
SHARE_OF_ONE_CALL = 0.25
UNROLLED_OPS = {"graph": 1_000, "xla": 300}
MEMORY_SHARE = 0.8
# XLA evaluates parts of a vectorized map's backward pass while it compiles, which took minutes for
# 32 MiB of elements and a moment for some KiB.
XLA_GRADIENT_BYTES = 64 * 1024


class Cost(NamedTuple):
    """Nominal seconds: of a call, of each element, and of each op of each element."""

    call: float
    element: float
    op: float


# Dispatch alone, as measured with TensorFlow 2.21 on a common x86 core: an order of magnitude.
NOMINAL: dict[tuple[str, str], Cost] = {
    ("loop", "eager"): Cost(1e-4, 1e-5, 4e-5),
    ("map_fn", "eager"): Cost(1e-3, 5e-4, 4e-5),
    ("map_fn", "graph"): Cost(1e-3, 1.5e-5, 1e-6),
    ("map_fn", "xla"): Cost(1e-3, 2e-7, 2e-8),
    ("dataset", "eager"): Cost(5e-3, 2e-5, 2e-6),
    ("dataset", "graph"): Cost(5e-3, 2e-5, 2e-6),
}
EAGER_RETRACE_S = 0.06  # a vectorized_map called eagerly is traced anew each time
OTHERS = Cost(1e-3, 0.0, 2e-8)


@dataclass(frozen=True)
class Probe:
    """What a few elements tell.

    Attributes:
        output_signature: structure of `tf.TypeSpec`s of one element's result, `None` if unknown.
        element_s: seconds of one eager call of the function, warm; `None` without elements.
        concrete: the function traced for one element, or `None` where it can't be.
        graph: facts of that graph.
        op_count: its ops that do something, or `None`.
        live_bytes: bound on the bytes live at one time for one element.
        output_bytes: bytes of one element's result.
        random: results differ by design, or did on repeating.
        trace_problem: why it could not be traced, or empty.
    """

    output_signature: Any = None
    element_s: float | None = None
    concrete: Any = None
    graph: GraphFacts | None = None
    op_count: int | None = None
    live_bytes: int = 0
    output_bytes: int = 0
    random: bool = False
    trace_problem: str = ""


@dataclass(frozen=True)
class Limits:
    """What a strategy may need: seconds for one call, bytes at its peak."""

    budget_s: float
    memory_bytes: int


def probe(workload: Workload, restore: Callable[[], None]) -> Probe:
    """Runs the function on up to three elements and traces it for one.

    Args:
        workload: what to probe.
        restore: puts back what a run may have changed.

    Raises:
        WorkloadError: the function fails on an element; named by the user's own line.
    """
    count = min(PROBED_ELEMENTS, workload.element_count)
    if count == 0:
        return Probe(output_signature=_given_signature(workload))
    elements = [element(workload.elements, index) for index in range(count)]
    try:
        results = [workload.function(item) for item in elements]
        restore()  # a function that counts its calls is not a random one
        started = time.perf_counter()
        again = [workload.function(item) for item in elements]
        element_s = (time.perf_counter() - started) / count
    except Exception as error:
        restore()
        raise WorkloadError(_failure_text(workload.wording.function, error)) from error
    restore()
    pairs = zip(results, again, strict=True)
    repeats = all(compare(Outcome(a), Outcome(b)).verdict != "different" for a, b in pairs)
    concrete, problem = _traced(workload, elements[0])
    restore()
    facts = graph_facts(concrete) if concrete is not None else None
    sizes = [facts_of.size_bytes or 0 for facts_of in tensor_facts(results[0])]
    return Probe(
        output_signature=_signature(workload, results),
        element_s=element_s,
        concrete=concrete,
        graph=facts,
        op_count=None if concrete is None else working_op_count(concrete),
        live_bytes=0 if concrete is None else live_bytes_bound(concrete)[0],
        output_bytes=sum(sizes),
        random=not repeats or bool(facts is not None and facts.random_ops),
        trace_problem=problem,
    )


def element(elements: Any, index: int) -> Any:
    """Returns one element of a structure, as `tf.map_fn` would hand it over."""
    return tf.nest.map_structure(lambda leaf: _row(leaf, index), elements)


def skip_reason(
    strategy: Strategy, workload: Workload, probed: Probe, limits: Limits, chunk_size: int
) -> Failure | None:
    """Returns why `strategy` should not be tried at full size, or `None`.

    `as-written` is never skipped, since the plain run is its sample.
    """
    if strategy.mapping == AS_WRITTEN:
        return None
    return (
        _no_elements(strategy, workload)
        or _unrolls_too_far(strategy, workload, probed)
        or _no_gradient(strategy, workload)
        or _too_few_for_chunks(strategy, workload, chunk_size)
        or _over_budget(strategy, workload, probed, limits, chunk_size)
        or _over_memory(strategy, workload, probed, limits, chunk_size)
    )


def available_memory_bytes() -> int:
    """Returns the bytes that this process may still take: the machine's, or its container's."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            free = int(line.split()[1]) * 1024
    limit, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if limit and used and limit[0].strip().isdigit():
        free = min(free, int(limit[0]) - int(used[0]))
    return max(free, 0)


def predicted_seconds(
    strategy: Strategy, workload: Workload, probed: Probe, chunk_size: int
) -> float:
    """Returns an estimate of one call's seconds, right to an order of magnitude."""
    ops = probed.op_count or 10
    count = workload.element_count
    cost = NOMINAL.get((strategy.mapping, strategy.execution), OTHERS)
    dispatch = cost.call + count * (cost.element + ops * cost.op)
    if strategy == Strategy("vectorized_map", "eager"):
        dispatch += EAGER_RETRACE_S
    if strategy == Strategy("chunked", "eager"):
        dispatch += EAGER_RETRACE_S * -(-count // chunk_size)
    if strategy.execution == "eager" and strategy.mapping in ("loop", "map_fn"):
        # What was seen on a few elements counts where Python does more than to start ops.
        return max(dispatch, count * (cost.element + (probed.element_s or 0.0)))
    # An element that takes far longer than dispatching its ops spends it in kernels, in any row.
    kernels = max(0.0, (probed.element_s or 0.0) - 10 * ops * 4e-5)
    return dispatch + count * kernels / (os.cpu_count() or 1)


def predicted_bytes(strategy: Strategy, workload: Workload, probed: Probe, chunk_size: int) -> int:
    """Returns an estimate of the peak above the inputs, from static shapes."""
    count = workload.element_count
    inputs = sum(f.size_bytes or 0 for f in tensor_facts(workload.elements))
    outputs = count * probed.output_bytes
    at_once = {"loop": 1, "map_fn": 10, "dataset": os.cpu_count() or 1, "chunked": chunk_size}
    live = min(count, at_once.get(strategy.mapping, count)) * probed.live_bytes
    copies = inputs if strategy.mapping in ("map_fn", "dataset") else 0
    stacked = outputs if strategy.mapping in ("loop", "map_fn", "chunked", "dataset") else 0
    return live + copies + outputs + stacked


def _no_elements(strategy: Strategy, workload: Workload) -> Failure | None:
    if workload.element_count or strategy.mapping in ("map_fn", "vectorized_map", "batched"):
        return None
    return Failure("preflight", "no elements", "there are no elements to run it on")


def _unrolls_too_far(strategy: Strategy, workload: Workload, probed: Probe) -> Failure | None:
    limit = UNROLLED_OPS.get(strategy.execution)
    if strategy.mapping != "loop" or limit is None:
        return None
    ops = workload.element_count * (probed.op_count or 1)
    if ops <= limit:
        return None
    return Failure(
        "preflight",
        "too many ops",
        f"the loop would be unrolled to {ops:,} ops; up to {limit:,} are tried",
    )


def _no_gradient(strategy: Strategy, workload: Workload) -> Failure | None:
    if not workload.under_tape:
        return None
    if strategy.mapping == "dataset":
        return Failure("preflight", "no gradient", "no gradient passes through tf.data")
    inputs = sum(f.size_bytes or 0 for f in tensor_facts(workload.elements))
    vectorizes = strategy.mapping in ("vectorized_map", "chunked")
    if vectorizes and strategy.execution == "xla" and inputs > XLA_GRADIENT_BYTES:
        return Failure(
            "preflight",
            "would take too long",
            "XLA may run the backward pass of a vectorized map while compiling, which can take "
            f"minutes; it is tried up to {XLA_GRADIENT_BYTES // 1024} KiB of elements",
        )
    return None


def _too_few_for_chunks(strategy: Strategy, workload: Workload, chunk: int) -> Failure | None:
    if strategy.mapping != "chunked" or workload.element_count >= 2 * chunk:
        return None
    return Failure("preflight", "too few elements", "there are too few elements to cut into chunks")


def _over_budget(
    strategy: Strategy, workload: Workload, probed: Probe, limits: Limits, chunk: int
) -> Failure | None:
    seconds = predicted_seconds(strategy, workload, probed, chunk)
    if seconds <= SHARE_OF_ONE_CALL * limits.budget_s:
        return None
    return Failure(
        "preflight",
        "would take too long",
        f"one call would take about {seconds:,.1f} s, too much of the budget of "
        f"{limits.budget_s:g} s",
        needed_s=seconds,
    )


def _over_memory(
    strategy: Strategy, workload: Workload, probed: Probe, limits: Limits, chunk: int
) -> Failure | None:
    needed = predicted_bytes(strategy, workload, probed, chunk)
    if needed <= limits.memory_bytes:
        return None
    return Failure(
        "preflight",
        "would not fit",
        f"it would need about {needed / 2**20:,.0f} MiB; the limit is "
        f"{limits.memory_bytes / 2**20:,.0f} MiB",
        needed_bytes=needed,
    )


def _traced(workload: Workload, first: Any) -> tuple[Any, str]:
    try:
        return tf.function(workload.function).get_concrete_function(first), ""
    except Exception as error:
        return None, _first_line(error)


def _row(leaf: Any, index: int) -> Any:
    if isinstance(leaf, tf.SparseTensor):
        row = tf.sparse.slice(
            leaf, [index] + [0] * (leaf.shape.rank - 1), [1, *leaf.dense_shape[1:]]
        )
        return tf.sparse.reshape(row, leaf.dense_shape[1:])
    if isinstance(leaf, tf.RaggedTensor):
        return leaf[index]
    return part(leaf, index, 1)[0]


def _given_signature(workload: Workload) -> Any:
    given = workload.arguments.get("fn_output_signature", workload.arguments.get("dtype"))
    return None if given is None else tf.nest.map_structure(_spec, given)


def _spec(given: Any) -> Any:
    return given if isinstance(given, tf.TypeSpec) else tf.TensorSpec(None, tf.as_dtype(given))


def _signature(workload: Workload, results: list[Any]) -> Any:
    """Combines what the user declared with the shapes that the probed results have."""
    columns = zip(*[tf.nest.flatten(result) for result in results], strict=True)
    seen = [_common_spec(list(column)) for column in columns]
    given = _given_signature(workload)
    if given is None:
        return tf.nest.pack_sequence_as(results[0], seen)
    declared = tf.nest.flatten(given)
    kept = [
        s if type(d) is tf.TensorSpec and len(declared) == len(seen) else d
        for d, s in zip(declared, seen, strict=False)
    ]
    return tf.nest.pack_sequence_as(given, kept)


def _common_spec(column: list[Any]) -> Any:
    if isinstance(column[0], tf.RaggedTensor):
        spec = tf.RaggedTensorSpec.from_value(column[0])
        shape = [None] * column[0].shape.rank
        return tf.RaggedTensorSpec(shape, column[0].dtype, spec.ragged_rank)
    if isinstance(column[0], tf.SparseTensor):
        return tf.SparseTensorSpec([None] * column[0].shape.rank, column[0].dtype)
    tensors = [tf.convert_to_tensor(item) for item in column]
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        shape = shape.most_specific_compatible_shape(tensor.shape)
    return tf.TensorSpec(shape, tensors[0].dtype)


def _failure_text(name: str, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    packages = (os.sep + "site-packages" + os.sep, os.sep + "tfinsight" + os.sep)
    own = [f for f in frames if not any(package in f.filename for package in packages)]
    where = f" (line {own[-1].lineno}: {own[-1].line})" if own and own[-1].line else ""
    return f"`{name}` fails on an element{where}: {type(error).__name__}: {_first_line(error)}"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
