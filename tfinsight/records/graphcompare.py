"""The record of `%%graphcompare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tfinsight.records.compiled import Compiled
from tfinsight.records.measured import Comparison, TensorFacts

# Dtypes of mixed precision that can be tried.
MIXED_DTYPES = ("bfloat16", "float16")
# The option of the graph optimizer that rewrites to each, by kind of device.
MIXED_OPTIONS = {
    ("bfloat16", "CPU"): "auto_mixed_precision_onednn_bfloat16",
    ("float16", "CPU"): "auto_mixed_precision_cpu",
    ("float16", "GPU"): "auto_mixed_precision",
}
# Batches in one call, in the row of Keras's that has several.
STEPS_PER_EXECUTION = 8


@dataclass(frozen=True, slots=True)
class CellFacts:
    """What is measured, in the user's words.

    Attributes:
        name: what to call it: `the cell`, or the text of the expression or function.
        source: text of the whole cell; empty for the function forms.
        measured: text of the statements that were measured.
        ran_once: lines that ran once, as `(first, last)`; `None` where all was measured.
        measured_lines: lines that were measured, as `(first, last)`; `None` for function forms.
        inputs: tensors that the measured lines read; the path begins with the name.
        outputs: what they result in.
        result: text of the expression or names that are the result.
        captured: names of NumPy arrays that stay as they are, since tracing refuses them as inputs.
        variables: variables that one run changes, at most 20.
        with_gradient: a gradient is taken, by the cell itself or by `--grad`.
        entry: the Keras method that the cell calls, such as `fit`; `None` for other cells.
        functions: functions under `tf.function` that the cell calls.
        traces: how often each of them was traced in the cell's own run.
        as_function: the measured statements as text of a function; empty where there is none.
        call: how that function, or the user's own, is called.
        models: how the cell names the Keras models that it runs.
    """

    name: str
    source: str
    measured: str
    ran_once: tuple[int, int] | None
    measured_lines: tuple[int, int] | None
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    result: str
    captured: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    with_gradient: bool = False
    entry: str | None = None
    functions: tuple[str, ...] = ()
    traces: tuple[int, ...] = ()
    as_function: str = ""
    call: str = ""
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """The options of one run, the same in all three forms.

    Attributes:
        strategies: rows to run; empty means all.
        baseline: id of the row that speed-ups refer to; `None` means the reference.
        also: names of the user's own variants of the measured function.
        grad: measure forward and backward of a cell that takes no gradient itself.
        mixed: dtype of mixed precision to try, `bfloat16` or `float16`, or `None`.
        passes: measure each of Grappler's passes alone.
        budget_s: seconds for everything after the plain run.
        memory_limit_bytes: most memory that a row may need; `None` means 80 % of what is free.
    """

    strategies: tuple[str, ...] = ()
    baseline: str | None = None
    also: tuple[str, ...] = ()
    grad: bool = False
    mixed: str | None = None
    passes: bool = False
    budget_s: float = 10.0
    memory_limit_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCompare(Comparison):
    """The whole result of `%%graphcompare`; see `Comparison` for what all results have.

    Attributes:
        cell: what was measured.
        options: how it was asked for.
        compiled: what compiling did.
    """

    cell: CellFacts
    options: GraphOptions
    compiled: Compiled = field(default_factory=Compiled)
    kind: Literal["graphcompare"] = "graphcompare"
