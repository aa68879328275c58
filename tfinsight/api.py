"""`mapcost`: from a function and its elements to a report. The pipeline, written out.

The magics find the workload in a cell and then call `measure_map`, too: all forms are the same thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tfinsight.allocator_switch import request_full_coverage
from tfinsight.cell import MapChoice, function_workload
from tfinsight.errors import WorkloadError
from tfinsight.findings import find
from tfinsight.findings.snippets import strategy_code
from tfinsight.findings.verdict import verdict
from tfinsight.measure.chunks import choose_chunk_size
from tfinsight.measure.environment import environment, measured_device
from tfinsight.measure.first_calls import first_calls, preflight
from tfinsight.measure.map_run import MapMeasurement
from tfinsight.measure.memory import coverage
from tfinsight.measure.memory_pass import growth, memory_pass
from tfinsight.measure.new_values import new_values
from tfinsight.measure.rows import Row
from tfinsight.measure.steady import steady_state
from tfinsight.options import map_options, parse_budget, parse_names, parse_path, parse_size
from tfinsight.records import Environment, MapCost, MapOptions, Progress, WorkloadFacts
from tfinsight.report import Report
from tfinsight.source_text import call_text
from tfinsight.workload import Wording, Workload

if TYPE_CHECKING:
    from tfinsight.render.widgets import NoProgress, TerminalProgress

MAP_STAGES: tuple[tuple[str, Callable[[MapMeasurement], None]], ...] = (
    ("preflight", preflight),  # a probe of a few elements; what would not fit is left out
    ("chunk sizes", choose_chunk_size),  # how many elements a chunk
    ("first calls", first_calls),  # tracing, compiling, first run; agreement with the reference
    ("other values", new_values),  # does a new value compile anew?
    ("timing", steady_state),  # interleaved, with intervals
    ("memory", memory_pass),  # exact peaks, then one traced pass
    ("other sizes", growth),  # how the peak grows with the batch
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
    named = {
        getattr(variant, "__name__", f"variant_{i}"): variant for i, variant in enumerate(also)
    }
    options = map_options(
        {
            "strategies": None if strategies is None else parse_names(strategies),
            "baseline": baseline,
            "batched": None if batched is None else getattr(batched, "__name__", "batched"),
            "also": tuple(named),
            "budget": None if budget is None else parse_budget(budget),
            "memory_limit": parse_size(memory_limit)
            if isinstance(memory_limit, str)
            else memory_limit,
        }
    )
    path = None if save is None else parse_path(save)
    wording = Wording(words.function or getattr(fn, "__name__", "fn"), words.elements or "elems")
    request = request_full_coverage()
    workload = function_workload(fn, elems, wording, MapChoice(), namespace={})
    request.settle()
    workload = replace(workload, batched=batched, batched_name=options.batched, variants=named)
    shown = _default_progress(quiet)
    try:
        report = measure_map(workload, options, progress or shown)
    finally:
        shown.clear()
    if path is not None:
        report.save(path)
    return report


def measure_map(workload: Workload, options: MapOptions, progress: Progress) -> Report:
    """Measures one workload; the notebook's state is afterwards what it was before.

    Raises:
        WorkloadError: an option does not fit the workload, or the function fails on an element.
        MeasurementInterrupted: on an interrupt.
        MeasurementError: tfinsight itself failed.
    """
    measurement = MapMeasurement(workload, options, progress)
    try:
        with measurement.undisturbed():
            for name, run in MAP_STAGES:
                with measurement.stage(name):
                    run(measurement)
    except KeyboardInterrupt:
        stage = measurement.current_stage()
        raise MeasurementInterrupted(_report(measurement, stage)) from None
    except WorkloadError:
        raise
    except Exception as error:
        stage = measurement.current_stage()
        raise MeasurementError(_report(measurement, stage), error) from error
    return _report(measurement, None)


def current_environment() -> Environment:
    """Returns what belongs to every number: versions, machine, devices, settings."""
    device = measured_device()
    return environment(device, coverage(device))


def _report(measurement: MapMeasurement, interrupted: str | None) -> Report:
    record = judged(measurement.record(_code, interrupted), measurement.limits.memory_bytes)
    row = measurement.row(record.verdict.recommended or "")
    return Report(record, best=None if row is None else row.executable)


def judged(record: MapCost, memory_limit_bytes: int | None) -> MapCost:
    """Returns `record` with its verdict and its findings."""
    record = replace(record, verdict=verdict(record, memory_limit_bytes))
    return replace(record, findings=find(record))


def _code(facts: WorkloadFacts, row: Row) -> str:
    return strategy_code(facts, row.strategy.mapping, row.strategy.execution, row.chunk_size)


def _default_progress(quiet: bool) -> NoProgress | TerminalProgress:
    from tfinsight.render.widgets import NoProgress, TerminalProgress

    return NoProgress() if quiet else TerminalProgress()
