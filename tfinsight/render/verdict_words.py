"""The verdict in plain words: the first thing that a reader sees, of whatever was compared."""

from __future__ import annotations

from tfinsight.records import AS_WRITTEN, Comparison, MapCost, Run, Timing
from tfinsight.render import numbers
from tfinsight.render.wording import row_reason

# Ratios of memory within this of 1 are the same for a reader.
SAME_MEMORY = 0.05
_RESULTS = {
    "equal": "gives the same result",
    "close": "gives the same result within rounding",
    "shape-only": "gives results of the same shape (random streams differ)",
    "unchecked": "gives a result that was not compared",
}


def verdict_sentence(record: Comparison) -> str:
    """Returns the verdict in plain words; the first thing that a reader sees."""
    said = _nothing_to_recommend(record) or _recommendation(record)
    if record.interrupted:
        said = f"Interrupted ({record.interrupted}); so far: {said}"
    return said


def _nothing_to_recommend(record: Comparison) -> str:
    if record.verdict.recommended is not None:
        return ""
    if isinstance(record, MapCost) and record.workload.element_count == 0:
        return "There are no elements, so nothing is ranked."
    if record.not_repeatable:
        what = " and ".join(record.not_repeatable)
        return f"This cell can't be run again with the same result ({what}), so nothing is ranked."
    if record.verdict.fastest:
        return "No strategy that gives the right result may be recommended within the memory limit."
    if record.interrupted:
        return "no strategy was timed."
    return "No strategy gave a result that could be ranked."


def _recommendation(record: Comparison) -> str:
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


def _has_ratios(record: Comparison) -> bool:
    return any(run.timing is not None and run.timing.speedup is not None for run in record.runs)


def _why_no_ratios(record: Comparison, baseline: Run | None) -> str:
    if baseline is None:
        return f"the baseline `{record.baseline}` is not among the rows"
    said = f"the baseline `{record.baseline}` {_was(baseline)}"
    reason = row_reason(baseline).splitlines() if baseline.status != "ok" else []
    return said + (f": {reason[0].rstrip('.')}" if reason else "")


def _was(run: Run) -> str:
    words = {"failed": "failed", "skipped": "was skipped", "different": "gives another result"}
    return words.get(run.status, "was not timed")


def _baseline_stays(record: Comparison, best: Run) -> str:
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


def _name_of_baseline(record: Comparison) -> str:
    return "your cell as written" if record.baseline == AS_WRITTEN else f"`{record.baseline}`"


def _speed_words(record: Comparison, best: Run) -> str:
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
    if abs(factor - 1) <= SAME_MEMORY:
        return "the same memory"
    if factor < 1:
        return f"{numbers.percent(factor)} of the memory"
    return f"{numbers.ratio(factor)} the memory"


def _ties(record: Comparison, best: Run) -> str:
    fastest = record.verdict.fastest
    if fastest and best.strategy not in fastest:
        return f". Faster, but not to be recommended here: {numbers.names(fastest)}"
    others = [strategy for strategy in fastest if strategy != best.strategy]
    return f". It ties with {numbers.names(others)}" if others else ""
