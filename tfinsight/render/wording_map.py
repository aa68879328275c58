"""What a report of `mapcost` says in words that no other report says."""

from __future__ import annotations

from tfinsight.records import MapCost
from tfinsight.render import numbers
from tfinsight.render.wording import one_line


def measured_sentence(record: MapCost) -> str:
    """Returns what was measured, in one sentence."""
    workload = record.workload
    call = f"{workload.call} of " if workload.call else ""
    many = (
        "1 element"
        if workload.element_count == 1
        else f"{numbers.count(workload.element_count)} elements"
    )
    words = f"Measured: {call}`{one_line(workload.function)}` over `{one_line(workload.elements)}` ({many}"
    words += "".join(f"; {tensor}" for tensor in _tensors(record)) + ")"
    if workload.place:
        words += f", {workload.place}"
    if workload.enclosing:
        words += f", in the tf.function `{workload.enclosing}`"
    if workload.with_gradient:
        words += ", forward and backward together"
    return words + "."


def _tensors(record: MapCost) -> list[str]:
    shown = [f"{t.dtype} {numbers.shape(t.shape)}" for t in record.workload.inputs]
    return shown[:3] + (["..."] if len(shown) > 3 else [])
