"""Why a report says what it says, as HTML: reasons, findings, memory, rows, messages and method."""

from __future__ import annotations

import base64
from html import escape

from tfinsight.records import Comparison, Finding, Run
from tfinsight.render import figures, numbers, wording
from tfinsight.render.html_parts import code_block, draw_table, folded_away, with_code
from tfinsight.render.row_facts import live_tensors, row_tables
from tfinsight.render.tables import Head, Table
from tfinsight.render.view import View

TENSORS_SHOWN = 3
PICTURE_WIDTH = 770
_SEVERITY = {"warning": "Warning", "advice": "Advice", "info": "Good to know"}


def picture(record: Comparison, kind: str, view: View) -> str:
    """Returns a picture with its words, nothing where there is nothing to draw."""
    shown = view.strategies
    png = figures.png(record, kind, logarithmic=view.logarithmic, strategies=shown)
    if png is None:
        return ""
    data = base64.b64encode(png).decode("ascii")
    alt = escape(figures.alt(record, kind, strategies=shown), quote=True)
    return f'<img alt="{alt}" width="{PICTURE_WIDTH}" src="data:image/png;base64,{data}">'


def unranked(record: Comparison) -> str:
    """Returns the rows that are not ranked, with the reasons."""
    table = Table(
        "Rows that are not ranked, with the reason",
        (Head("strategy"), Head("status"), Head("reason")),
        # Backticks in a message are its own, no marks of code.
        tuple((ids, status, reason) for ids, status, reason in wording.unranked(record)),
    )
    return draw_table(table)


def findings(record: Comparison) -> str:
    """Returns the findings as cards: claim, evidence, advice, code; most important first."""
    if not record.findings:
        return ""
    code = wording.snippets(record)
    return "<h3>Why</h3>\n" + "\n".join(_finding(f, code[f.code]) for f in record.findings)


def _finding(finding: Finding, code: str) -> str:
    evidence = "".join(
        f"<li>{with_code(item.label)}: <b>{escape(numbers.evidence(item))}</b></li>"
        for item in finding.evidence
    )
    parts = [
        f'<div class="tfi-finding tfi-{finding.severity}">',
        f"<h4>{_SEVERITY[finding.severity]}: {with_code(finding.title)}</h4>",
        f'<ul class="tfi-evidence">{evidence}</ul>' if evidence else "",
        f"<p>{with_code(finding.advice)}</p>" if finding.advice else "",
        code_block(code),
        _link(finding.link),
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def _link(address: str) -> str:
    # Only addresses of the web: a loaded report is data from somewhere.
    if not address.startswith("https://"):
        return ""
    return f'<p><a href="{escape(address, quote=True)}" rel="noopener">TensorFlow\'s documentation</a></p>'


def first_calls(record: Comparison) -> str:
    """Returns first calls against steady state, and when they have paid for themselves."""
    heads = ("first call", "tracing", "optimizing", "XLA compiling", "steady call")
    rows = tuple(
        (
            run.strategy,
            numbers.seconds(timing.first_call_s),
            numbers.seconds(timing.trace_s),
            numbers.seconds(timing.optimize_s),
            # Without a trace of the first call it is both, as what is left of the first call.
            ("about " if timing.compile_s is not None and timing.optimize_s is None else "")
            + numbers.seconds(timing.compile_s),
            numbers.seconds(timing.median_s),
            wording.break_even(record, run) or numbers.NONE,
        )
        for run in record.runs
        if (timing := run.timing) is not None
    )
    caption = (
        "First calls, what they consist of, and after how many calls each has paid for itself "
        f"against {record.baseline}. “About” is optimizing and compiling together, estimated."
    )
    columns = (Head("row"), *(Head(name, "figure") for name in heads), Head("pays off"))
    return draw_table(Table(caption, columns, rows).without_empty_columns())


def culprits(record: Comparison) -> str:
    """Returns what held the memory at the peak of each row."""
    rows = tuple(run for run in record.runs if run.memory is not None and run.status == "ok")
    return draw_table(live_tensors("What held the memory at the peak", rows, TENSORS_SHOWN))


def each_row(record: Comparison) -> str:
    """Returns all that is known of each row, folded away one by one."""
    return "\n".join(folded_away(run.strategy, one_row(record, run)) for run in record.runs)


def one_row(record: Comparison, run: Run) -> str:
    """Returns all that is known of one row, and the code to paste for it."""
    code = code_block(run.code) if run.status == "ok" else ""
    return "\n".join(piece for piece in (*map(draw_table, row_tables(record, run)), code) if piece)


def logs(record: Comparison) -> str:
    """Returns the messages that were kept out of the notebook."""
    items = "".join(
        f"<li>{escape(log.strategy or log.source)} ({numbers.count(log.count)}): {escape(log.message)}</li>"
        for log in record.logs
    )
    return f"<p>Kept out of the notebook:</p>\n<ul>{items}</ul>" if items else ""


def method(record: Comparison) -> str:
    """Returns how to read the report, and how and where its figures were made."""
    shown = wording.coverage_sentence(record)  # stands beneath the grid
    lines = [line for line in wording.method_sentences(record) if line != shown]
    lines += wording.environment_lines(record.environment)
    return "\n".join(f"<p>{with_code(line)}</p>" for line in lines if line)
