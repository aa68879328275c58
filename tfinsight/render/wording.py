"""What a report says in words, the same in all its forms."""

from __future__ import annotations

from tfinsight.records import AS_WRITTEN, Environment, MapCost, Run, Timing
from tfinsight.render import numbers

# Ratios of memory within this of 1 are the same for a reader.
SAME_MEMORY = 0.05
_RESULTS = {
    "equal": "gives the same result",
    "close": "gives the same result within rounding",
    "shape-only": "gives results of the same shape (random streams differ)",
    "unchecked": "gives a result that was not compared",
}


def verdict_sentence(record: MapCost) -> str:
    """Returns the verdict in plain words; the first thing that a reader sees."""
    said = _nothing_to_recommend(record) or _recommendation(record)
    if record.interrupted:
        said = f"Interrupted ({record.interrupted}); so far: {said}"
    return said


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


def row_result(record: MapCost, run: Run) -> str:
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


def unranked(record: MapCost) -> list[tuple[str, str, str]]:
    """Returns ids, status and reason of the rows that are not ranked, equal reasons put together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run in record.runs:
        if run.status != "ok":
            groups.setdefault((run.status, row_reason(run)), []).append(run.strategy)
    return [(", ".join(ids), status, reason) for (status, reason), ids in groups.items()]


def coverage_sentence(record: MapCost) -> str:
    """Returns what the memory figures leave out, empty where they are complete."""
    return {
        "all": "",
        "large-only": "Memory figures leave out blocks under 256 KiB. For complete ones, load "
        "tfinsight in a fresh kernel, before TensorFlow first computes something.",
        "none": "There are no memory figures, since TensorFlow's allocator keeps no count here. Load "
        "tfinsight in a fresh kernel, before TensorFlow first computes something.",
    }[record.environment.coverage]


def method_sentences(record: MapCost) -> list[str]:
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


def snippets(record: MapCost) -> dict[str, str]:
    """Returns the code of each finding by its name; code that stands above already is left out."""
    shown: dict[str, str] = {}
    for finding in record.findings:
        new = finding.snippet not in shown.values()
        shown[finding.code] = finding.snippet if new else ""
    return shown


def one_line(code: str) -> str:
    """Returns code as one line."""
    return " ".join(code.split())


def break_even(record: MapCost, run: Run) -> str:
    """Returns in words after how many calls a row's first call has paid for itself."""
    baseline = record.run(record.baseline)
    if baseline is None or run.timing is None or baseline.timing is None or run is baseline:
        return ""
    calls = run.timing.break_even_calls(baseline.timing)
    if calls is None:
        known = run.timing.median_s is not None and baseline.timing.median_s is not None
        return "never" if known else ""
    return "at once" if calls == 0 else f"after {numbers.count(calls)} calls"


def _nothing_to_recommend(record: MapCost) -> str:
    if record.verdict.recommended is not None:
        return ""
    if record.workload.element_count == 0:
        return "There are no elements, so nothing is ranked."
    if record.not_repeatable:
        what = " and ".join(record.not_repeatable)
        return f"This cell can't be run again with the same result ({what}), so nothing is ranked."
    if record.verdict.fastest:
        return "No strategy that gives the right result may be recommended within the memory limit."
    if record.interrupted:
        return "no strategy was timed."
    return "No strategy gave a result that could be ranked."


def _recommendation(record: MapCost) -> str:
    best = record.run(record.verdict.recommended or "")
    baseline = record.run(record.baseline)
    if best is None:
        return f"`{record.verdict.recommended}` is recommended, but is not among the rows."
    if baseline is None or not _has_ratios(record):
        reason = _why_no_ratios(record, baseline)
        time = numbers.seconds(best.timing.median_s if best.timing else None)
        result = _RESULTS["unchecked" if best.agreement is None else best.agreement.verdict]
        return (
            f"`{best.strategy}` takes {time} a call and {result}{_ties(record, best)}. There are no "
            f"speed-ups, since {reason}."
        )
    if _is_baseline(best, baseline):
        return _baseline_stays(record, best)
    memory = _memory_words(best, baseline)
    result = _RESULTS["unchecked" if best.agreement is None else best.agreement.verdict]
    said = f"`{best.strategy}` {_speed_words(record, best)} and {result}"
    said += f"; it needs {memory}" if memory else ""
    return said + _ties(record, best) + "."


def _is_baseline(best: Run, baseline: Run) -> bool:
    """The row of the baseline, or the strategy that the baseline is."""
    return best.strategy == baseline.strategy or (
        AS_WRITTEN in (best.strategy, baseline.strategy)
        and best.timing is not None
        and best.timing == baseline.timing
    )


def _has_ratios(record: MapCost) -> bool:
    return any(run.timing is not None and run.timing.speedup is not None for run in record.runs)


def _why_no_ratios(record: MapCost, baseline: Run | None) -> str:
    if baseline is None:
        return f"the baseline `{record.baseline}` is not among the rows"
    said = f"the baseline `{record.baseline}` {_was(baseline)}"
    reason = row_reason(baseline).splitlines() if baseline.status != "ok" else []
    return said + (f": {reason[0].rstrip('.')}" if reason else "")


def _was(run: Run) -> str:
    words = {"failed": "failed", "skipped": "was skipped", "different": "gives another result"}
    return words.get(run.status, "was not timed")


def _baseline_stays(record: MapCost, best: Run) -> str:
    subject = _name_of_baseline(record)
    others = [i for i in record.verdict.fastest if i != best.strategy and i != record.baseline]
    others = [i for i in others if (run := record.run(i)) is None or run.timing != best.timing]
    subject = f"{subject[0].upper()}{subject[1:]}"
    if (
        best.strategy not in record.verdict.fastest
        and record.baseline not in record.verdict.fastest
    ):
        return f"{subject} is the fastest that can be recommended here{_ties(record, best)}."
    words = f"{subject} is already as fast as any other way that was measured"
    return words + (f" (it ties with {numbers.names(others)})." if others else ".")


def _name_of_baseline(record: MapCost) -> str:
    return "your cell as written" if record.baseline == AS_WRITTEN else f"`{record.baseline}`"


def _speed_words(record: MapCost, best: Run) -> str:
    timing = best.timing or Timing()
    baseline = _name_of_baseline(record)
    speedup, low, high = timing.speedup, timing.speedup_low, timing.speedup_high
    if not speedup or high == 0 or low == 0:
        return "is fastest"
    if low is not None and high is not None and low <= 1.0 <= high:
        return f"is as fast as {baseline}"
    slower = speedup < 1.0
    shown = numbers.ratio(1 / speedup if slower else speedup)
    if low is None or high is None:
        shown = f"about {shown}"
        spread = ""
    else:
        ends = (1 / high, 1 / low) if slower else (low, high)
        spread = f" ({numbers.ratio(ends[0])} to {numbers.ratio(ends[1])})"
    return f"is {shown} {'slower' if slower else 'faster'}{spread} than {baseline}"


def _memory_words(best: Run, baseline: Run) -> str:
    mine = best.memory.peak_bytes if best.memory else None
    theirs = baseline.memory.peak_bytes if baseline.memory else None
    if mine is None or not theirs:
        return ""
    factor = mine / theirs
    return (
        "the same memory"
        if abs(factor - 1) <= SAME_MEMORY
        else f"{numbers.ratio(factor)} the memory"
    )


def _ties(record: MapCost, best: Run) -> str:
    fastest = record.verdict.fastest
    if best.strategy not in fastest:
        return f". Faster, but not to be recommended here: {numbers.names(fastest)}"
    others = [strategy for strategy in fastest if strategy != best.strategy]
    return f". It ties with {numbers.names(others)}" if others else ""


def _nearer_truth(run: Run) -> str:
    agreement = run.agreement
    if agreement is None or agreement.max_error is None or agreement.reference_max_error is None:
        return ""
    nearer = "this row" if agreement.max_error < agreement.reference_max_error else "the reference"
    return (
        f"; against a float64 run it is off by {numbers.significant(agreement.max_error)}, the "
        f"reference by {numbers.significant(agreement.reference_max_error)}: {nearer} is nearer"
    )


def _tensors(record: MapCost) -> list[str]:
    shown = [f"{t.dtype} {numbers.shape(t.shape)}" for t in record.workload.inputs]
    return shown[:3] + (["..."] if len(shown) > 3 else [])
