"""A report as plain text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tfinsight.records import Environment, Finding, MapCost, Run
from tfinsight.render import numbers, wording
from tfinsight.render.wording import verdict_sentence

__all__ = ["render_environment", "render_text", "verdict_sentence"]

WIDTH = 80
LOGS_SHOWN = 3
LOG_LENGTH = 140
REASON_LENGTH = 300
CULPRITS_SHOWN = 4
_MARKS = {"warning": "!", "advice": ">", "info": "-"}
# What stands for characters that some terminals lack.
_ASCII = str.maketrans({"–": "-", "µ": "u", "±": "+-", "×": "x"})  # noqa: RUF001
# A report may come from a file: its strings must not steer the terminal.
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "?")


def render_text(record: MapCost, ascii: bool = False) -> str:  # noqa: A002 - what it is
    """Returns the report as text of at most 80 columns, the verdict first.

    Only code to paste may be wider: it is never broken.

    Args:
        record: what to draw.
        ascii: use ASCII characters only.
    """
    blocks = (
        _wrapped(verdict_sentence(record)),
        _wrapped(wording.measured_sentence(record)),
        _grid(record),
        _unranked(record),
        _findings(record),
        _other_calls(record),
        _details(record),
    )
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines)
    text = text.expandtabs(4).translate(_CONTROLS)
    if ascii:
        text = text.translate(_ASCII).encode("ascii", "replace").decode()
    return text


def render_environment(environment: Environment) -> str:
    """Returns versions, machine, devices and settings as text."""
    return "\n".join(
        line for fact in wording.environment_lines(environment) for line in _wrapped(fact, 2)
    )


def _wrapped(words: str, hang: int = 0, indent: int = 0) -> list[str]:
    return [
        line
        for part in words.splitlines()
        for line in textwrap.wrap(
            part,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_long_words=True,
            break_on_hyphens=False,
        )
    ]


def _grid(record: MapCost) -> list[str]:
    rows = [_cells(record, run) for run in record.runs]
    head = ("", "strategy", "time", "speed-up", "95 %", "peak", "result")
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


def _cells(record: MapCost, run: Run) -> tuple[str, ...]:
    timing, memory = run.timing, run.memory
    ranked = run.status in ("ok", "different") and timing is not None
    mark = "*" if run.strategy == record.verdict.recommended else ""
    if not mark and len(record.verdict.fastest) > 1 and run.strategy in record.verdict.fastest:
        mark = "="
    return (
        mark,
        wording.one_line(run.strategy),
        numbers.seconds(timing.median_s) if ranked and timing else "",
        numbers.ratio(timing.speedup) if ranked and timing and timing.speedup else "",
        numbers.interval(timing.speedup_low, timing.speedup_high) if ranked and timing else "",
        numbers.size(memory.peak_bytes)
        if ranked and memory and memory.peak_bytes is not None
        else "",
        wording.row_result(record, run),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    left = f"{cells[0]:<{widths[0]}} {_cut(cells[1], widths[1]):<{widths[1]}}"
    middle = " ".join(
        f"{cell:>{width}}" for cell, width in zip(cells[2:6], widths[2:6], strict=True)
    )
    return f"{left} {middle} {cells[6]}".rstrip()


def _unranked(record: MapCost) -> list[str]:
    lines = []
    for ids, status, reason in wording.unranked(record):
        first = textwrap.shorten((reason.splitlines() or [""])[0], REASON_LENGTH)
        lines += _wrapped(f"{ids} {status}: {first}" if first else f"{ids} {status}", 4, 2)
    return ["Not ranked", *lines] if lines else []


def _findings(record: MapCost) -> list[str]:
    code = wording.snippets(record)
    lines = [line for f in record.findings for line in _finding(f, code[f.code])]
    return ["Why", *lines] if lines else []


def _finding(finding: Finding, code: str) -> Iterator[str]:
    about = f" ({', '.join(finding.strategies)})" if 0 < len(finding.strategies) <= 3 else ""
    yield from _wrapped(f"{_MARKS[finding.severity]} {finding.title}{about}", 2)
    evidence = "; ".join(f"{item.label}: {numbers.evidence(item)}" for item in finding.evidence)
    yield from _wrapped(evidence, 0, 4)
    yield from _wrapped(finding.advice, 0, 4)
    yield from (f"        {line}".rstrip() for line in code.splitlines())


def _other_calls(record: MapCost) -> list[str]:
    calls = record.workload.other_calls
    lines = []
    for call in calls:
        time = f", {numbers.seconds(call.seconds)}" if call.seconds is not None else ""
        words = f"--call {call.number}: {wording.one_line(call.text)}, {call.place}{time}"
        lines += _wrapped(words, 4, 2)
    return ["Other maps in this cell, not measured", *lines] if lines else []


def _details(record: MapCost) -> list[str]:
    """Returns what only some readers want, a short line or two for each."""
    said = [*_culprits(record), *record.notes, *_logs(record), *wording.method_sentences(record)]
    said += wording.environment_lines(record.environment)
    lines = [line for sentence in said for line in _wrapped(sentence, 2, 2)]
    return ["Details", *_first_calls(record), *lines]


def _first_calls(record: MapCost) -> list[str]:
    """Returns what the first call of traced code costs, and when that has paid for itself."""
    rows = [("first calls", "whole", "tracing", "pays off")]
    rows += [
        (
            wording.one_line(run.strategy),
            numbers.seconds(run.timing.first_call_s),
            numbers.seconds(run.timing.trace_s),
            wording.break_even(record, run),
        )
        for run in record.runs
        if run.timing is not None and run.execution != "eager"
    ]
    if len(rows) == 1:
        return []
    name, *widths = (max(len(row[i]) for row in rows) for i in range(3))
    name = min(name, WIDTH - sum(widths) - len("  after 9,999,999 calls") - 4)
    return [
        f"  {_cut(row[0], name):<{name}}  {row[1]:>{widths[0]}}  {row[2]:>{widths[1]}}  {row[3]}".rstrip()
        for row in rows
    ]


def _culprits(record: MapCost) -> list[str]:
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


def _logs(record: MapCost) -> list[str]:
    if not record.logs:
        return []
    many = numbers.count(sum(line.count for line in record.logs))
    said = [f"Messages kept out of the notebook: {many}, among them"]
    for log in record.logs[:LOGS_SHOWN]:
        first = (log.message.splitlines() or [""])[0]
        said.append(textwrap.shorten(f"[{log.strategy or log.source}] {first}", LOG_LENGTH))
    return said


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
