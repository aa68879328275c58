"""A report as plain text of at most 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tfinsight.records import Environment, Finding, MapCost, Run
from tfinsight.render import numbers, wording

WIDTH = 80
LOGS_SHOWN = 3
CULPRITS_SHOWN = 4
_MARKS = {"warning": "!", "advice": ">", "info": "-"}
# What stands for characters that some terminals lack.
_ASCII = str.maketrans({"–": "-", "µ": "u", "±": "+-", "×": "x"})  # noqa: RUF001


def render_text(record: MapCost, ascii: bool = False) -> str:  # noqa: A002 - what it is
    """Returns the report as text, the verdict first.

    Args:
        record: what to draw.
        ascii: use ASCII characters only.
    """
    blocks = (
        _wrapped(wording.verdict_sentence(record)),
        _wrapped(wording.measured_sentence(record)),
        _grid(record),
        _unranked(record),
        _findings(record),
        _other_calls(record),
        _details(record),
    )
    text = "\n\n".join("\n".join(lines) for lines in map(list, blocks) if lines)
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
        run.strategy,
        numbers.seconds(timing.median_s) if ranked and timing else "",
        numbers.ratio(timing.speedup) if ranked and timing and timing.speedup else "",
        numbers.interval(timing.speedup_low, timing.speedup_high) if ranked and timing else "",
        numbers.size(memory.peak_bytes)
        if ranked and memory and memory.peak_bytes is not None
        else "",
        wording.row_result(record, run),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    name = cells[1] if len(cells[1]) <= widths[1] else cells[1][: widths[1] - 3] + "..."
    left = f"{cells[0]:<{widths[0]}} {name:<{widths[1]}}"
    middle = " ".join(
        f"{cell:>{width}}" for cell, width in zip(cells[2:6], widths[2:6], strict=True)
    )
    return f"{left} {middle} {cells[6]}".rstrip()


def _unranked(record: MapCost) -> list[str]:
    found = wording.unranked(record)
    lines = [
        line
        for ids, status, reason in found
        for line in _wrapped(f"{ids} {status}: {reason}", 4, 2)
    ]
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
    lines = [*_first_calls(record), *_culprits(record)]
    lines += [line for note in record.notes for line in _wrapped(note, 2)]
    lines += _logs(record)
    for sentence in wording.method_sentences(record):
        lines += _wrapped(sentence, 2)
    return ["Details", *lines, *render_environment(record.environment).splitlines()]


def _first_calls(record: MapCost) -> list[str]:
    rows = [run for run in record.runs if run.timing is not None and run.execution != "eager"]
    lines = []
    for run in rows:
        timing = run.timing
        assert timing is not None
        parts = [f"first call {numbers.seconds(timing.first_call_s)}"]
        parts += (
            [f"tracing {numbers.seconds(timing.trace_s)}"] if timing.trace_s is not None else []
        )
        paid = wording.break_even(record, run)
        parts += [f"pays off {paid}"] if paid else []
        lines += _wrapped(f"{run.strategy}: {', '.join(parts)}", 4, 2)
    return lines


def _culprits(record: MapCost) -> list[str]:
    """Returns what held the memory at the peak of the row that needs most, with that of the best."""
    rows = [run for run in record.runs if run.status == "ok" and run.memory and run.memory.top]
    fattest = max(
        rows, key=lambda run: run.memory.peak_bytes or 0 if run.memory else 0, default=None
    )
    wanted = {
        run.strategy: run for run in (fattest, record.run(record.verdict.recommended or "")) if run
    }
    lines = []
    for run in wanted.values():
        if run.memory is None or not run.memory.top:
            continue
        held = [
            f"{tensor.op} {numbers.size(tensor.size_bytes)}"
            for tensor in run.memory.top[:CULPRITS_SHOWN]
        ]
        lines += _wrapped(f"live at the peak of {run.strategy}: {', '.join(held)}", 4, 2)
    return lines


def _logs(record: MapCost) -> list[str]:
    if not record.logs:
        return []
    many = sum(line.count for line in record.logs)
    lines = _wrapped(f"Kept out of the notebook: {numbers.count(many)} messages, among them", 2)
    for log in record.logs[:LOGS_SHOWN]:
        first = log.message.splitlines()[0] if log.message else ""
        lines += _wrapped(textwrap.shorten(f"[{log.strategy or log.source}] {first}", 150), 4, 2)
    return lines
