"""What a report says in words about rows, method and machine, the same in all its forms."""

from __future__ import annotations

from tfinsight.records import Comparison, Environment, Run
from tfinsight.render import numbers


def row_result(record: Comparison, run: Run) -> str:
    """Returns in a word or two how a row's result stands to the reference's."""
    if run.status in ("failed", "skipped"):
        return run.status
    if run.strategy == record.reference:
        return "reference"
    words = {"equal": "same", "close": "close", "shape-only": "same shape"}
    verdict = "unchecked" if run.agreement is None else run.agreement.verdict
    return words.get(verdict, verdict)


def row_reason(run: Run) -> str:
    """Returns why a row is not ranked, empty where it is."""
    if run.failure is not None:
        kind = "" if run.status == "skipped" else f"{run.failure.kind}: "
        message = run.failure.message
        return message if message.startswith(kind) else kind + message
    if run.status == "different" and run.agreement is not None:
        return run.agreement.detail + _nearer_truth(run)
    return ""


def unranked(record: Comparison) -> list[tuple[str, str, str]]:
    """Returns ids, status and reason of the rows that are not ranked, equal reasons put together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run in record.runs:
        if run.status != "ok":
            groups.setdefault((run.status, row_reason(run)), []).append(run.strategy)
    return [(", ".join(ids), status, reason) for (status, reason), ids in groups.items()]


def coverage_sentence(record: Comparison) -> str:
    """Returns what the memory figures leave out, empty where they are complete."""
    return {
        "all": "",
        "large-only": "Memory figures leave out blocks under 256 KiB. For complete ones, load "
        "tfinsight in a fresh kernel, before TensorFlow first computes something.",
        "none": "There are no memory figures, since TensorFlow's allocator keeps no count here. Load "
        "tfinsight in a fresh kernel, before TensorFlow first computes something.",
    }[record.environment.coverage]


def method_sentences(record: Comparison) -> list[str]:
    """Returns how the figures were made and how sure they are."""
    stages = sum(stage.seconds for stage in record.stages)
    said = [
        "Times are medians of calls in steady state, all strategies in turn, round by round; "
        "speed-ups are medians of ratios within rounds, with 95 % intervals where there are enough.",
        "Peaks are the allocator's own, above what was live when the call began.",
        f"Measuring took {numbers.seconds(stages)}.",
    ]
    coverage = coverage_sentence(record)
    return [*([coverage] if coverage else []), *said]


def environment_lines(environment: Environment) -> list[str]:
    """Returns an environment, a line for each kind of fact."""
    versions = ", ".join(f"{name} {version}" for name, version in environment.versions.items())
    settings = ", ".join(f"{name}: {value}" for name, value in environment.settings.items())
    return [
        versions,
        f"{environment.platform}; {environment.processor}, {environment.cores} cores, "
        f"{numbers.size(environment.memory_bytes)}",
        f"devices {', '.join(environment.devices)}; measured on {environment.device}; "
        f"memory figures: {environment.coverage}",
        settings,
        environment.created,
    ]


def snippets(record: Comparison) -> dict[str, str]:
    """Returns the code of each finding by its name; code that stands above already is left out."""
    shown: dict[str, str] = {}
    for finding in record.findings:
        new = finding.snippet not in shown.values()
        shown[finding.code] = finding.snippet if new else ""
    return shown


def one_line(code: str) -> str:
    """Returns code as one line."""
    return " ".join(code.split())


def break_even(record: Comparison, run: Run) -> str:
    """Returns in words after how many calls a row's first call has paid for itself."""
    baseline = record.run(record.baseline)
    if baseline is None or run.timing is None or baseline.timing is None or run is baseline:
        return ""
    calls = run.timing.break_even_calls(baseline.timing)
    if calls is None:
        known = run.timing.median_s is not None and baseline.timing.median_s is not None
        return "never" if known else ""
    return "at once" if calls == 0 else f"after {numbers.many(calls, 'call')}"


def _nearer_truth(run: Run) -> str:
    agreement = run.agreement
    if agreement is None or agreement.max_error is None or agreement.reference_max_error is None:
        return ""
    nearer = "this row" if agreement.max_error < agreement.reference_max_error else "the reference"
    return (
        f"; against a float64 run it is off by {numbers.significant(agreement.max_error)}, the "
        f"reference by {numbers.significant(agreement.reference_max_error)}: {nearer} is nearer"
    )
