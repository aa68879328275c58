"""Code to paste that runs the measured code as a row of `%%graphcompare` runs it."""

from __future__ import annotations

from tfinsight.records import AS_WRITTEN, MIXED_OPTIONS, STEPS_PER_EXECUTION, CellFacts, Run

_OPTION = "tf.config.optimizer.set_experimental_options({{{option!r}: True}})\n\n"
# What tf.function takes beside the function.
_OPTIONS = {"graph": "", "xla": "jit_compile=True"}
_SWITCHES = {
    "eager": "run_eagerly=True",
    "graph": "jit_compile=False",
    "xla": "jit_compile=True",
    "steps-per-execution": f"jit_compile=False, steps_per_execution={STEPS_PER_EXECUTION}",
}


def row_code(cell: CellFacts, run: Run, device: str) -> str:
    """Returns the text to paste for a row, empty where there is none.

    Args:
        cell: what was measured.
        run: the row.
        device: that was measured, such as `CPU:0`; mixed precision is another option on each kind.
    """
    if run.strategy == AS_WRITTEN:
        return cell.measured
    if "/" in run.strategy:
        name = run.strategy.rsplit("/", 1)[0]
        arguments = cell.call[cell.call.find("(") :] if "(" in cell.call else "()"
        return _compiled(name, arguments, run)
    if cell.entry is not None:
        return _keras(cell, run)
    option = _optimizer_option(run, device)
    before = "" if option is None else _OPTION.format(option=option)
    if not cell.as_function:
        return before + _compiled(cell.name, cell.call.removeprefix(cell.name), run)
    if run.execution == "eager":
        return cell.measured
    options = _OPTIONS[run.execution]
    decorator = f"@tf.function({options})" if options else "@tf.function"
    return f"{before}{decorator}\n{cell.as_function}\n\n{cell.call}"


def _optimizer_option(run: Run, device: str) -> str | None:
    """Returns the option of the graph optimizer that a row needs, if any."""
    if run.strategy == "graph-no-grappler":
        return "disable_meta_optimizer"
    return MIXED_OPTIONS.get((run.strategy.removeprefix("graph-"), device.split(":")[0]))


def _compiled(name: str, arguments: str, run: Run) -> str:
    """Returns a call of a function of the user's, under `tf.function` where the row has it so."""
    if run.execution == "eager":
        return f"{name}{arguments}"
    options = "".join(f", {option}" for option in (_OPTIONS[run.execution],) if option)
    return f"fast = tf.function({name}{options})\n\nfast{arguments}"


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
