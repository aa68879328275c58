"""What only a report of `graphcompare` has as text: first calls, the cell line by line, the evidence."""

from __future__ import annotations

from tfinsight.records import GraphCompare, LineFacts, Run
from tfinsight.render import numbers, wording
from tfinsight.render.evidence_run import backward, compiling
from tfinsight.render.tables import Section, Table
from tfinsight.render.text_parts import WIDTH, columns, cut, wrapped
from tfinsight.render.wording_graph import line_words

# The HTML form has all of them.
ROWS_SHOWN = 12
NAME_WIDTH = 24
# What stands to the left of the words under a line of the cell.
BESIDE = "          | "
# Marks a figure that optimizing and XLA share, as far as is known.
_ABOUT = "~"


def first_calls(record: GraphCompare) -> list[str]:
    """Returns what first calls cost and spent it on, and when they have paid for themselves."""
    runs = [run for run in record.runs if run.timing is not None]
    if not runs:
        return []
    heads = ("first call", "whole", "tracing", "optimizing", "XLA", "pays off")
    rows = [heads, *(_first_call(record, run) for run in runs)]
    lines = columns(rows, (False, True, True, True, True, False), 0) or []
    if any(row[4].startswith(_ABOUT) for row in rows):
        lines += wrapped(f"{_ABOUT} optimizing and XLA together, estimated")
    return lines


def compiled(record: GraphCompare) -> tuple[list[str], ...]:
    """Returns what compiling did, a block for each part."""
    first, *others = [_section(section) for section in compiling(record)] or [[]]
    after = [_section(section) for section in backward(record)]
    return first, _annotated(record.compiled.lines), *after, *others


def _first_call(record: GraphCompare, run: Run) -> tuple[str, ...]:
    timing = run.timing
    assert timing is not None
    about = _ABOUT if timing.optimize_s is None and timing.compile_s is not None else ""
    return (
        cut(wording.one_line(run.strategy), NAME_WIDTH),
        numbers.seconds(timing.first_call_s),
        numbers.seconds(timing.trace_s),
        numbers.seconds(timing.optimize_s),
        about + numbers.seconds(timing.compile_s),
        wording.break_even(record, run),
    )


def _annotated(lines: tuple[LineFacts, ...]) -> list[str]:
    """Returns the cell with what became of each line beneath it; code is never broken."""
    if not lines:
        return []
    said = ["The cell, line by line"]
    for line in lines:
        once = "once" if line.part == "once" else ""
        code = " ".join(line.text.splitlines())
        said.append(f"{numbers.line(line.number):>4} {once:4} | {code}".rstrip())
        words = "; ".join(part for part in (_told(line), *_shares(line)) if part)
        said += [BESIDE + text for text in wrapped(words, 0, 4, WIDTH - len(BESIDE))]
    return said


def _told(line: LineFacts) -> str:
    """Returns what became of a line, nothing where its mark says all."""
    words = line_words(line)
    return "" if words == "ran once" else f"-> {words}" if words else ""


def _shares(line: LineFacts) -> list[str]:
    shares = ((line.time_share, "of the time"), (line.peak_share, "of the peak"))
    return [f"{numbers.percent(share)} {what}" for share, what in shares if share is not None]


def _section(section: Section) -> list[str]:
    lines = [section.title]
    for flow in section.flows:
        row, *steps = flow
        lines += wrapped(f"row {row}: {' -> '.join(steps)}", 4, 2)
    for words in section.said:
        lines += wrapped(words, 0, 2)
    for table in section.tables:
        lines += _table(table)
    return lines


def _table(table: Table) -> list[str]:
    """Returns a table as columns, or a line for each row where columns would be too wide."""
    if not table.rows:
        return []
    rows = [tuple(wording.one_line(cell) for cell in row) for row in table.rows[:ROWS_SHOWN]]
    heads = tuple(head.name for head in table.heads)
    right = [head.form == "figure" for head in table.heads]
    lines = columns([heads, *rows], right, 4)
    if lines is None:
        lines = [line for row in rows for line in _as_sentence(heads, row)]
    more = len(table.rows) - len(rows)
    rest = [f"    ... and {numbers.count(more)} more"] if more else []
    return [*wrapped(f"{table.caption}:", 2, 2), *lines, *rest]


def _as_sentence(heads: tuple[str, ...], cells: tuple[str, ...]) -> list[str]:
    pairs = zip(heads[1:], cells[1:], strict=True)
    told = [f"{head} {cell}" for head, cell in pairs if cell != numbers.NONE]
    return wrapped(f"{cells[0]}: {', '.join(told)}", 4, 4)
