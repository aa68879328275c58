"""This machine, as far as it decides what a function runs on and how fast it can be."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfinsight.compiler.flops import flops
from tfinsight.compiler.graph import BRANCHES, CALLS, LOOPS, PLUMBING, operations
from tfinsight.compiler.traffic import moved_bytes
from tfinsight.records import Platform

_CPU_FACTS = Path("/proc/cpuinfo")
# What TensorFlow's kernels, oneDNN and XLA choose their code by, as Linux names it: x86, then ARM.
FEATURES = (
    *(
        "sse4_1",
        "sse4_2",
        "avx",
        "avx2",
        "fma",
        "f16c",
        "avx_vnni",
        "avx512f",
        "avx512bw",
        "avx512vl",
    ),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "sve", "sve2", "i8mm", "bf16", "svebf16"),
)
# Of these, the ones that multiply bfloat16. A product of 1024 x 1024 takes a sixth of the time of float32
# with amx_bf16, by kernels of oneDNN; without oneDNN it takes as long. float16 gains little on either.
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16", "svebf16"})
_PRODUCT_SIDE = 1024
_COPY_BYTES = 64 * 2**20
_SECONDS_EACH = 0.08
# The first ones also take memory from the system and start threads.
_RUNS_AT_LEAST, _RUNS_AT_MOST = 3, 6


def platform_facts(concrete: Any, optimized_graph_def: Any | None) -> Platform:
    """Describes what a traced function runs on, without the machine's peak rates.

    Args:
        concrete: the concrete function.
        optimized_graph_def: `GraphDef` after Grappler, where it was collected; without it, devices are
            those that the traced graph asks for, and moved bytes are unknown.
    """
    features = processor_features()
    counted = flops(concrete.graph)
    precision = reduced_precision(features, compute_capabilities(), _onednn_is_on())
    if optimized_graph_def is None:
        placed = [(op.type, op.device) for op in operations(concrete.graph)]
    else:
        placed = [(node.op, node.device) for node in optimized_graph_def.node]
    return Platform(
        features=features,
        devices=devices(device for kind, device in placed if kind not in PLUMBING),
        float64_ops=sum(map(_works_in_float64, operations(concrete.graph))),
        reduced_precision=f"{precision}." if precision else "",
        flops=counted.count if counted.known else None,
        uncounted=tuple(sorted(counted.uncounted)),
        moved_bytes=None if optimized_graph_def is None else moved_bytes(optimized_graph_def),
    )


def processor_features(facts: Path = _CPU_FACTS) -> tuple[str, ...]:
    """Returns those of `FEATURES` that the processor has; none where the system does not tell.

    Args:
        facts: the file in which Linux tells.
    """
    try:
        lines = facts.read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return ()
    words = (line.partition(":") for line in lines)
    flags = next((set(v.split()) for k, _, v in words if k.strip() in ("flags", "Features")), set())
    return tuple(feature for feature in FEATURES if feature in flags)


def compute_capabilities() -> tuple[tuple[int, int], ...]:
    """Returns the compute capability of each GPU that TensorFlow uses and that has one."""
    details = map(tf.config.experimental.get_device_details, tf.config.get_visible_devices("GPU"))
    return tuple(d["compute_capability"] for d in details if "compute_capability" in d)


def reduced_precision(
    features: Sequence[str], gpus: Sequence[tuple[int, int]], onednn: bool = True
) -> str:
    """Returns in words whether bfloat16 and float16 pay; a GPU decides where there is one.

    Args:
        features: of the processor.
        gpus: compute capabilities: tensor cores take float16 from 7.0 and bfloat16 from 8.0.
        onednn: its kernels are in use.

    Returns:
        a sentence without its full stop; empty where the processor's features are unknown.
    """
    lowest = min(gpus, default=None)
    if lowest is not None:
        types = [name for name, since in (("float16", 7), ("bfloat16", 8)) if lowest[0] >= since]
        where = f"on a GPU of compute capability {lowest[0]}.{lowest[1]}"
        if not types:
            return f"neither float16 nor bfloat16 pays {where}, which has no tensor cores"
        return (
            f"{' and '.join(types)} pay{'' if len(types) > 1 else 's'} in matrix products {where}"
        )
    found = [feature for feature in features if feature in _BFLOAT16]
    if not found:
        return "bfloat16 does not pay: the processor has no instructions for it" if features else ""
    if not onednn:
        return "bfloat16 does not pay: oneDNN, which has the kernels for it, is switched off"
    return f"bfloat16 pays in matrix products: the processor has {' and '.join(found)}"


def devices(placed: Iterable[str]) -> dict[str, int]:
    """Counts ops by device.

    Args:
        placed: TensorFlow's name of each op's device; an empty one is the only device where there is
            but one, and otherwise `not placed`.
    """
    known = [device.name for device in tf.config.list_logical_devices()]
    unplaced = _short(known[0]) if len(known) == 1 else "not placed"
    return dict(Counter(_short(name) if name else unplaced for name in placed).most_common())


def machine_ceilings() -> tuple[float, float]:
    """Measures this machine's own rates on the device that TensorFlow prefers.

    The best of several runs counts, since other work on the machine can only slow one down.

    Returns:
        operations a second of a float32 product of two matrices of 1024 x 1024; bytes a second, read
        and written, of a copy of 64 MiB.
    """
    side = _PRODUCT_SIDE
    matrix = tf.ones([side, side])
    product_s = _best_seconds(lambda: tf.linalg.matmul(matrix, matrix))
    values = tf.ones([_COPY_BYTES // 4])
    copy_s = _best_seconds(lambda: tf.raw_ops.DeepCopy(x=values))
    return 2 * side**3 / product_s, 2 * _COPY_BYTES / copy_s


def _best_seconds(run: Callable[[], Any]) -> float:
    """Returns the shortest of several runs."""
    best, begin = float("inf"), time.perf_counter()
    for number in range(1, _RUNS_AT_MOST + 1):
        start = time.perf_counter()
        run()
        tf.test.experimental.sync_devices()
        best = min(best, time.perf_counter() - start)
        if number >= _RUNS_AT_LEAST and time.perf_counter() - begin > _SECONDS_EACH:
            break
    return best


def _onednn_is_on() -> bool:
    return os.environ.get("TF_ENABLE_ONEDNN_OPTS") != "0"


def _works_in_float64(op: Any) -> bool:
    if op.type in PLUMBING | LOOPS | BRANCHES | CALLS:
        return False
    return any(t.dtype.base_dtype in (tf.float64, tf.complex128) for t in (*op.inputs, *op.outputs))


def _short(device: str) -> str:
    spec = tf.DeviceSpec.from_string(device)
    return f"{spec.device_type or 'CPU'}:{spec.device_index or 0}"
