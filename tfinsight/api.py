"""`mapcost` and `graphcompare`: from a function and its inputs to a report. The pipelines, written out.

The magics find the workload in a cell and then call `measure_map` or `measure_graph`, too: all forms
are the same thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from tfinsight.allocator_switch import request_full_coverage
from tfinsight.code_workload import CodeWorkload
from tfinsight.errors import WorkloadError
from tfinsight.findings import find
from tfinsight.findings.graph_snippets import row_code
from tfinsight.findings.snippets import strategy_code
from tfinsight.findings.verdict import verdict
from tfinsight.graph_cell import function_workload as code_workload
from tfinsight.map_cell import MapChoice, function_workload
from tfinsight.measure.chunks import choose_chunk_size
from tfinsight.measure.compiled import compiled_evidence
from tfinsight.measure.environment import environment, measured_device
from tfinsight.measure.first_calls import first_calls, preflight
from tfinsight.measure.graph_first_calls import graph_first_calls
from tfinsight.measure.graph_run import GraphMeasurement
from tfinsight.measure.map_run import MapMeasurement
from tfinsight.measure.memory import coverage
from tfinsight.measure.memory_pass import growth, memory_pass
from tfinsight.measure.new_shapes import new_shapes
from tfinsight.measure.new_values import new_values
from tfinsight.measure.rows import Row
from tfinsight.measure.session import Measurement
from tfinsight.measure.steady import steady_state, steady_state_again
from tfinsight.measure.yardsticks import yardsticks
from tfinsight.options import (
    graph_options,
    map_options,
    parse_budget,
    parse_mixed,
    parse_names,
    parse_path,
    parse_size,
)
from tfinsight.records import (
    Comparison,
    Environment,
    GraphCompare,
    GraphOptions,
    MapCost,
    MapOptions,
    Progress,
    WorkloadFacts,
)
from tfinsight.render.progress import NoProgress, TerminalProgress
from tfinsight.report import Report
from tfinsight.source_text import call_text
from tfinsight.workload import Wording, Workload

AnyMeasurement = TypeVar("AnyMeasurement", bound=Measurement)
AnyRecord = TypeVar("AnyRecord", bound=Comparison)

MAP_STAGES: tuple[tuple[str, Callable[[MapMeasurement], None]], ...] = (
    ("preflight", preflight),  # a probe of a few elements; what would not fit is left out
    ("chunk sizes", choose_chunk_size),  # how many elements a chunk
    ("first calls", first_calls),  # tracing, compiling, first run; agreement with the reference
    ("other values", new_values),  # does a new value compile anew?
    ("timing", steady_state),  # interleaved, with intervals
    ("memory", memory_pass),  # exact peaks, then one traced pass
    ("other sizes", growth),  # how the peak grows with the batch
)

GRAPH_STAGES: tuple[tuple[str, Callable[[GraphMeasurement], None]], ...] = (
    ("first calls", graph_first_calls),  # tracing, optimizing, compiling, first run; agreement
    ("other values", new_values),
    ("timing", steady_state),
    ("memory", memory_pass),
    ("evidence", compiled_evidence),  # what tracing, optimizing and compiling did, line by line
    ("yardsticks", yardsticks),  # what folding is worth, what this machine reaches at best
    ("other shapes", new_shapes),  # what a call with another shape costs
)


class MeasurementInterrupted(KeyboardInterrupt):
    """The user interrupted a measurement.

    Attributes:
        report: what was finished by then.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(f"interrupted during {report.record.interrupted}")
        self.report = report


class MeasurementError(RuntimeError):
    """tfinsight itself failed while measuring; the user's code is not to blame.

    Attributes:
        report: what was finished by then.
    """

    def __init__(self, report: Report, cause: BaseException) -> None:
        stage = report.record.interrupted
        super().__init__(
            f"tfinsight failed during {stage} ({type(cause).__name__}: {cause}); this is a defect of "
            "tfinsight, not of your code, which is left as it was"
        )
        self.report = report


def mapcost(
    fn: Callable[[Any], Any],
    elems: Any,
    *,
    strategies: str | Sequence[str] | None = None,
    baseline: str | None = None,
    batched: Callable[[Any], Any] | None = None,
    also: Sequence[Callable[[Any], Any]] = (),
    budget: float | None = None,
    memory_limit: int | str | None = None,
    quiet: bool = False,
    save: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Measures every sensible way of mapping `fn` over `elems`, and compares their results.

    Args:
        fn: function of one element: a tensor, or a structure of tensors, without first dimension.
        elems: tensor or structure of tensors with a common first dimension; dense, ragged, sparse.
        strategies: ids, mappings and executions to run, their union; all if none.
        baseline: id of the row that speed-ups refer to; the reference (`map_fn/eager`) if none.
        batched: a function of the whole batch, run in place of `fn` itself.
        also: further functions of the elements, measured and checked beside the others.
        budget: seconds for the whole measurement, 10 if none.
        memory_limit: bytes, or text such as `512MiB`, that a strategy may need at most.
        quiet: show no progress.
        save: path to save the report to, ending in `.json` or `.html`.
        progress: is told what is being measured; a line on the terminal if none.

    Returns:
        The report. Its text and HTML forms are drawn from `report.record`.

    Raises:
        ValueError: something given does not fit; the message says what was expected.
        MeasurementInterrupted: on an interrupt, with the report of what was finished.
    """
    words = call_text(sys._getframe(1))  # noqa: SLF001 - the caller's own words for the report
    named = _named_variants(also)
    options = map_options(
        {
            "strategies": None if strategies is None else parse_names(strategies),
            "baseline": baseline,
            "batched": None if batched is None else getattr(batched, "__name__", "batched"),
            "also": tuple(named),
            "budget": None if budget is None else parse_budget(budget),
            "memory_limit": _size(memory_limit),
        }
    )
    path = None if save is None else parse_path(save)
    wording = Wording(words.function or getattr(fn, "__name__", "fn"), words.elements or "elems")
    request = request_full_coverage()
    workload = function_workload(fn, elems, wording, MapChoice(), namespace={})
    request.settle()
    workload = replace(workload, batched=batched, batched_name=options.batched, variants=named)
    shown = progress or _progress(quiet, options.budget_s)
    return _reported(partial(measure_map, workload, options), shown, path)


def graphcompare(
    fn: Callable[..., Any],
    *args: Any,
    strategies: str | Sequence[str] | None = None,
    baseline: str | None = None,
    also: Sequence[Callable[..., Any]] = (),
    grad: bool = False,
    mixed: str | None = None,
    passes: bool = False,
    budget: float | None = None,
    memory_limit: int | str | None = None,
    quiet: bool = False,
    save: str | None = None,
    progress: Progress | None = None,
    **kwargs: Any,
) -> Report:
    """Runs `fn(*args, **kwargs)` eagerly, as a graph and compiled, and shows what each stage did.

    Args:
        fn: the function; it may be under `tf.function` already.
        *args: its arguments. Tensors and NumPy arrays become inputs of the graph.
        strategies: rows to run (`eager`, `graph`, `graph-no-grappler`, `xla`); all if none.
        baseline: id of the row that speed-ups refer to; the reference (`eager`) if none.
        also: further functions of the same tensors, measured and checked beside it.
        grad: measure forward and backward together.
        mixed: `bfloat16` or `float16`: try mixed precision, too.
        passes: measure what each pass of the graph optimizer does alone.
        budget: seconds for the whole measurement, 10 if none.
        memory_limit: bytes, or text such as `512MiB`, that a row may need at most.
        quiet: show no progress.
        save: path to save the report to, ending in `.json` or `.html`.
        progress: is told what is being measured; a line on the terminal if none.
        **kwargs: keyword arguments of `fn` with other names than the above.

    Returns:
        The report. Its text and HTML forms are drawn from `report.record`.

    Raises:
        ValueError: something given does not fit; the message says what was expected.
        MeasurementInterrupted: on an interrupt, with the report of what was finished.
    """
    named = _named_variants(also)
    options = graph_options(
        {
            "strategies": None if strategies is None else parse_names(strategies),
            "baseline": baseline,
            "also": tuple(named),
            "grad": grad,
            "mixed": None if mixed is None else parse_mixed(mixed),
            "passes": passes,
            "budget": None if budget is None else parse_budget(budget),
            "memory_limit": _size(memory_limit),
        }
    )
    path = None if save is None else parse_path(save)
    request = request_full_coverage()
    name = getattr(fn, "__name__", type(fn).__name__)
    workload = code_workload(fn, args, kwargs, name, named)
    request.settle()
    shown = progress or _progress(quiet, options.budget_s)
    return _reported(partial(measure_graph, workload, options), shown, path)


def measure_map(workload: Workload, options: MapOptions, progress: Progress) -> Report:
    """Measures one map; the notebook's state is afterwards what it was before.

    Raises:
        WorkloadError: an option does not fit the workload, or the function fails on an element.
        MeasurementInterrupted: on an interrupt.
        MeasurementError: tfinsight itself failed.
    """
    measurement = MapMeasurement(workload, options, progress)

    def report(stage: str | None) -> Report:
        record = measurement.record(_code, stage)
        judgement = judged(record, measurement.limits.memory_bytes)
        best = _best_map(measurement, judgement)
        return Report(judgement, best, partial(_measured_longer, measurement))

    return _measured(measurement, MAP_STAGES, report)


def measure_graph(workload: CodeWorkload, options: GraphOptions, progress: Progress) -> Report:
    """Measures the executions of code; the notebook's state is afterwards what it was before.

    Raises:
        WorkloadError: an option does not fit the workload.
        MeasurementInterrupted: on an interrupt.
        MeasurementError: tfinsight itself failed.
    """
    measurement = GraphMeasurement(workload, options, progress)

    def report(stage: str | None) -> Report:
        code = partial(row_code, device=measurement.device)
        record = measurement.record(code, stage)
        judgement = judged(record, measurement.limits.memory_bytes)
        best = _best_graph(measurement, judgement)
        return Report(judgement, best, partial(_measured_longer, measurement))

    return _measured(measurement, GRAPH_STAGES, report)


def _measured(
    measurement: AnyMeasurement,
    stages: Sequence[tuple[str, Callable[[AnyMeasurement], None]]],
    report: Callable[[str | None], Report],
) -> Report:
    """Runs the stages one after the other; whatever stops them, what is finished is reported."""
    try:
        with measurement.undisturbed():
            for name, run in stages:
                with measurement.stage(name):
                    run(measurement)
    except KeyboardInterrupt:
        raise MeasurementInterrupted(report(measurement.current_stage())) from None
    except WorkloadError:
        raise
    except Exception as error:
        raise MeasurementError(report(measurement.current_stage()), error) from error
    return report(None)


def _measured_longer(
    measurement: Measurement,
    record: AnyRecord,
    strategies: Sequence[str],
    seconds: float,
    progress: Progress,
) -> tuple[AnyRecord, bool]:
    """Times rows of a finished measurement for longer, the notebook left as it is.

    Returns:
        the record with the new times, and whether it was interrupted.
    """
    measurement.progress = progress
    interrupted = False
    try:
        with measurement.undisturbed(), measurement.stage("timing"):
            steady_state_again(measurement, strategies, seconds)
    except KeyboardInterrupt:
        interrupted = True
    runs = tuple(replace(measurement.latest(run.strategy), code=run.code) for run in record.runs)
    stage = measurement.stages[-1]
    record = replace(record, runs=runs, stages=(*record.stages, stage))
    return judged(record, measurement.limits.memory_bytes), interrupted


def current_environment() -> Environment:
    """Returns what belongs to every number: versions, machine, devices, settings."""
    device = measured_device()
    return environment(device, coverage(device))


def judged(record: AnyRecord, memory_limit_bytes: int | None) -> AnyRecord:
    """Returns `record` with its verdict and its findings."""
    record = replace(record, verdict=verdict(record, memory_limit_bytes))
    return replace(record, findings=find(record))


def _code(facts: WorkloadFacts, row: Row) -> str:
    return strategy_code(facts, row.strategy.mapping, row.strategy.execution, row.chunk_size)


def _best_map(measurement: MapMeasurement, record: MapCost) -> Callable[..., Any] | None:
    row = measurement.row(record.verdict.recommended or "")
    return None if row is None else row.executable


def _best_graph(measurement: GraphMeasurement, record: GraphCompare) -> Callable[..., Any] | None:
    """Returns the recommended row as a function of the inputs."""
    row = measurement.row(record.verdict.recommended or "")
    if row is None or row.call is None:
        return None
    if hasattr(row.call.function, "get_concrete_function"):
        return row.call.function
    workload = measurement.workload
    if workload.entry is not None:
        return row.call
    return workload.graph_function(workload.function, captured_arrays=False)


def _named_variants(functions: Sequence[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {getattr(f, "__name__", f"variant_{i}"): f for i, f in enumerate(functions)}


def _size(given: int | str | None) -> int | None:
    return parse_size(given) if isinstance(given, str) else given


def _progress(quiet: bool, budget_s: float) -> Progress:
    return NoProgress() if quiet else TerminalProgress(budget_s)


def _reported(
    measure: Callable[[Progress], Report], progress: Progress, path: str | None
) -> Report:
    """Measures, and saves the report where that was asked for."""
    try:
        report = measure(progress)
    finally:
        if isinstance(progress, TerminalProgress):
            progress.clear()
    if path is not None:
        report.save(path)
    return report
