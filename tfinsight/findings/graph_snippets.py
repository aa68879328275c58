"""Code to paste that runs the measured code as a row of `%%graphcompare` runs it."""

from __future__ import annotations

from tfinsight.records import AS_WRITTEN, CellFacts, Run

_DECORATORS = {
    "graph": "@tf.function",
    "xla": "@tf.function(jit_compile=True)",
}
_SWITCHES = {
    "eager": "run_eagerly=True",
    "graph": "jit_compile=False",
    "xla": "jit_compile=True",
    "steps-per-execution": "jit_compile=False, steps_per_execution=8",
}
_NO_GRAPPLER = 'tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})\n\n'
_MIXED = "tf.config.optimizer.set_experimental_options({{{option!r}: True}})\n\n"
_MIXED_OPTIONS = {
    "graph-bfloat16": "auto_mixed_precision_onednn_bfloat16",
    "graph-float16": "auto_mixed_precision",
}


def row_code(cell: CellFacts, run: Run) -> str:
    """Returns the text to paste for a row, empty where there is none."""
    if run.strategy == AS_WRITTEN:
        return cell.measured
    if "/" in run.strategy:
        return _variant(cell, run)
    if cell.entry is not None:
        return _keras(cell, run)
    before = _NO_GRAPPLER if run.strategy == "graph-no-grappler" else ""
    if run.strategy in _MIXED_OPTIONS:
        before = _MIXED.format(option=_MIXED_OPTIONS[run.strategy])
    if run.execution == "eager":
        return cell.measured if cell.as_function else cell.call
    decorator = _DECORATORS[run.execution]
    if cell.as_function:
        return f"{before}{decorator}\n{cell.as_function}\n\n{cell.call}"
    compiled = decorator.removeprefix("@")
    made = compiled[:-1] if compiled.endswith(")") else f"{compiled}("
    comma = ", " if made[-1] != "(" else ""
    if comma:  # tf.function(jit_compile=True) takes the function first
        made, options = made.split("(", 1)
        return f"{before}fast = {made}({cell.name}, {options})\n\n{_fast(cell)}"
    return f"{before}fast = {made}{cell.name})\n\n{_fast(cell)}"


def _fast(cell: CellFacts) -> str:
    return cell.call.replace(cell.name, "fast", 1)


def _variant(cell: CellFacts, run: Run) -> str:
    name = run.strategy.rsplit("/", 1)[0]
    call = cell.call[cell.call.find("(") :] if "(" in cell.call else "()"
    if run.execution == "eager":
        return f"{name}{call}"
    options = ", jit_compile=True" if run.execution == "xla" else ""
    return f"fast = tf.function({name}{options})\n\nfast{call}"


def _keras(cell: CellFacts, run: Run) -> str:
    switch = _SWITCHES.get(run.strategy)
    if switch is None:
        return ""
    models = cell.models or ("model",)
    lines = [f"# {model}.compile(..., {switch})" for model in models]
    return "\n".join(
        [
            "# Where the model is compiled, add to the arguments that are there:",
            *lines,
            "",
            cell.measured,
        ]
    )
