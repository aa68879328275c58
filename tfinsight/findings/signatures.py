"""The text of a `fn_output_signature`, from what is known of the result."""

from __future__ import annotations

import re
from collections.abc import Callable

from tfinsight.records import TensorFacts, WorkloadFacts

_STEP = re.compile(r"\[(\d+|'[^']*'|\"[^\"]*\")\]")


def output_signature(workload: WorkloadFacts) -> str:
    """Returns the signature of one element's result, empty where `tf.map_fn` needs none.

    `tf.map_fn` takes the elements' own structure and dtypes where it is given no signature.
    """
    inputs = [(t.path, t.kind, t.dtype) for t in workload.inputs]
    outputs = [(t.path, t.kind, t.dtype) for t in workload.outputs]
    return "" if inputs == outputs and _all_dense(workload) else _structure(workload, _spec)


def dtype_signature(workload: WorkloadFacts) -> str:
    """Returns the signature of the result by dtypes alone, whatever the shapes.

    Empty where there is none to write: a structure of other than tuples and dictionaries.
    """
    return _structure(workload, lambda tensor: f"tf.{tensor.dtype}")


def _all_dense(workload: WorkloadFacts) -> bool:
    return all(t.kind == "dense" for t in (*workload.inputs, *workload.outputs))


def _spec(tensor: TensorFacts) -> str:
    if tensor.kind == "dense":
        return f"tf.{tensor.dtype}"
    name = "RaggedTensorSpec" if tensor.kind == "ragged" else "SparseTensorSpec"
    return f"tf.{name}({list(tensor.shape[1:])}, tf.{tensor.dtype})"


def _structure(workload: WorkloadFacts, leaf: Callable[[TensorFacts], str]) -> str:
    if any(_STEP.sub("", tensor.path) for tensor in workload.outputs):
        return ""  # a named tuple or the like, whose class only the user can name
    return _nested([(_STEP.findall(t.path), leaf(t)) for t in workload.outputs])


def _nested(leaves: list[tuple[list[str], str]]) -> str:
    """Returns nested tuples and dictionaries from leaves and the steps that lead to them."""
    if len(leaves) == 1 and not leaves[0][0]:
        return leaves[0][1]
    groups: dict[str, list[tuple[list[str], str]]] = {}
    for steps, text in leaves:
        groups.setdefault(steps[0], []).append((steps[1:], text))
    parts = {step: _nested(group) for step, group in groups.items()}
    if all(step.isdigit() for step in parts):
        return f"({', '.join(parts.values())}{',' if len(parts) == 1 else ''})"
    return f"{{{', '.join(f'{step}: {text}' for step, text in parts.items())}}}"
