"""Why a report says what it says, as text: its rows, reasons, findings, memory, messages, method."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tfinsight.records import Comparison, Finding, Run
from tfinsight.render import numbers, wording
from tfinsight.render.text_parts import WIDTH, cut, wrapped

LOGS_SHOWN = 3
LOG_LENGTH = 140
REASON_LENGTH = 300
CULPRITS_SHOWN = 4
_MARKS = {"warning": "!", "advice": ">", "info": "-"}


def grid(record: Comparison, cores: bool = False) -> list[str]:
    """Returns a line for each row, with the cores that it used where `cores` says so."""
    if not record.runs:
        return []
    rows = [_cells(record, run, cores) for run in record.runs]
    more = ("cores",) if cores else ()
    head = ("", "strategy", "time", "speed-up", "95 %", "peak", *more, "result")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    widths[1] = min(widths[1], WIDTH - sum(widths) + widths[1] - len(head) + 1)
    lines = [_line(row, widths) for row in (head, *rows)]
    lines.insert(1, "-" * min(WIDTH, max(map(len, lines))))
    legend = []
    if record.verdict.recommended:
        legend.append("* recommended")
    if len(record.verdict.fastest) > 1:
        legend.append("= ties with the fastest")
    return lines + ([", ".join(legend)] if legend else [])


def _cells(record: Comparison, run: Run, cores: bool) -> tuple[str, ...]:
    timing, memory = run.timing, run.memory
    ranked = run.status in ("ok", "different") and timing is not None
    mark = "*" if run.strategy == record.verdict.recommended else ""
    if not mark and len(record.verdict.fastest) > 1 and run.strategy in record.verdict.fastest:
        mark = "="
    used = numbers.count(timing.cores_used) if ranked and timing else ""
    return (
        mark,
        wording.one_line(run.strategy),
        numbers.seconds(timing.median_s) if ranked and timing else "",
        numbers.ratio(timing.speedup) if ranked and timing and timing.speedup else "",
        numbers.interval(timing.speedup_low, timing.speedup_high) if ranked and timing else "",
        numbers.size(memory.peak_bytes)
        if ranked and memory and memory.peak_bytes is not None
        else "",
        *((used,) if cores else ()),
        wording.row_result(record, run),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    left = f"{cells[0]:<{widths[0]}} {cut(cells[1], widths[1]):<{widths[1]}}"
    middle = " ".join(
        f"{cell:>{width}}" for cell, width in zip(cells[2:-1], widths[2:-1], strict=True)
    )
    return f"{left} {middle} {cells[-1]}".rstrip()


def unranked(record: Comparison) -> list[str]:
    """Returns the rows that are not ranked, with the reasons."""
    lines = []
    for ids, status, reason in wording.unranked(record):
        first = textwrap.shorten((reason.splitlines() or [""])[0], REASON_LENGTH)
        lines += wrapped(f"{ids} {status}: {first}" if first else f"{ids} {status}", 4, 2)
    return ["Not ranked", *lines] if lines else []


def findings(record: Comparison) -> list[str]:
    """Returns the findings with evidence and code, most important first."""
    code = wording.snippets(record)
    lines = [line for f in record.findings for line in _finding(f, code[f.code])]
    return ["Why", *lines] if lines else []


def _finding(finding: Finding, code: str) -> Iterator[str]:
    about = f" ({', '.join(finding.strategies)})" if 0 < len(finding.strategies) <= 3 else ""
    yield from wrapped(f"{_MARKS[finding.severity]} {finding.title}{about}", 2)
    evidence = "; ".join(f"{item.label}: {numbers.evidence(item)}" for item in finding.evidence)
    yield from wrapped(evidence, 0, 4)
    yield from wrapped(finding.advice, 0, 4)
    yield from (f"        {line}".rstrip() for line in code.splitlines())


def _culprits(record: Comparison) -> list[str]:
    """Returns what held the memory at the peak of the row that needs most, with that of the best."""
    peaks = {
        run.strategy: run.memory.peak_bytes or 0
        for run in record.runs
        if run.status == "ok" and run.memory is not None and run.memory.top
    }
    fattest = max(peaks, key=lambda strategy: peaks[strategy], default=None)
    said = []
    for run in record.runs:
        chosen = run.strategy in (fattest, record.verdict.recommended)
        if chosen and run.memory is not None and run.memory.top:
            held = ", ".join(
                f"{tensor.op} {numbers.size(tensor.size_bytes)}"
                for tensor in run.memory.top[:CULPRITS_SHOWN]
            )
            said.append(f"Live at the peak of {run.strategy}: {held}.")
    return said


def _logs(record: Comparison) -> list[str]:
    if not record.logs:
        return []
    many = numbers.count(sum(line.count for line in record.logs))
    said = [f"Messages kept out of the notebook: {many}, among them"]
    for log in record.logs[:LOGS_SHOWN]:
        first = (log.message.splitlines() or [""])[0]
        said.append(textwrap.shorten(f"[{log.strategy or log.source}] {first}", LOG_LENGTH))
    return said


def details(record: Comparison, first_calls: Sequence[str] = ()) -> list[str]:
    """Returns what only some readers want, a short line or two for each."""
    said = [*_culprits(record), *record.notes, *_logs(record), *wording.method_sentences(record)]
    said += wording.environment_lines(record.environment)
    lines = [line for sentence in said for line in wrapped(sentence, 2, 2)]
    return ["Details", *first_calls, *lines]
