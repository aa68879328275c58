"""Why a report says what it says, as HTML: reasons, findings, memory, code, messages and method."""

from __future__ import annotations

import base64
from html import escape

from tfinsight.records import Comparison, Finding
from tfinsight.render import figures, numbers, wording
from tfinsight.render.html_parts import draw_table, with_code

_SEVERITY = {"warning": "Warning", "advice": "Advice", "info": "Good to know"}


def picture(record: Comparison) -> str:
    """Returns the picture of memory against time with its words, nothing with fewer than two rows."""
    png = figures.pareto_png(record)
    if png is None:
        return ""
    data = base64.b64encode(png).decode("ascii")
    alt = escape(figures.pareto_alt(record), quote=True)
    return f'<img alt="{alt}" width="770" src="data:image/png;base64,{data}">'


def unranked(record: Comparison) -> str:
    """Returns the rows that are not ranked, with the reasons."""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(ids)}</th><td class="tfi-words">{status}</td>'
        f'<td class="tfi-words">{escape(reason)}</td></tr>'
        for ids, status, reason in wording.unranked(record)
    )
    table = draw_table(("strategy", "status", "reason"), rows)
    if not table:
        return ""
    return f"<details><summary>Not ranked, with the reasons</summary>\n{table}\n</details>"


def findings(record: Comparison) -> str:
    """Returns the findings with evidence and code, most important first."""
    if not record.findings:
        return ""
    code = wording.snippets(record)
    return "<h3>Why</h3>\n" + "\n".join(_finding(f, code[f.code]) for f in record.findings)


def _finding(finding: Finding, code: str) -> str:
    evidence = "".join(
        f"<li>{with_code(item.label)}: {escape(numbers.evidence(item))}</li>"
        for item in finding.evidence
    )
    parts = [
        f'<div class="tfi-finding tfi-{finding.severity}">',
        f"<h4>{_SEVERITY[finding.severity]}: {with_code(finding.title)}</h4>",
        f"<p>{with_code(finding.advice)}</p>" if finding.advice else "",
        f"<pre><code>{escape(code)}</code></pre>" if code else "",
        f'<ul class="tfi-evidence">{evidence}</ul>' if evidence else "",
        _link(finding.link),
        "</div>",
    ]
    return "\n".join(part for part in parts if part)


def _link(address: str) -> str:
    # Only addresses of the web: a loaded report is data from somewhere.
    if not address.startswith("https://"):
        return ""
    return f'<p><a href="{escape(address, quote=True)}" rel="noopener">TensorFlow\'s documentation</a></p>'


def culprits(record: Comparison) -> str:
    """Returns what held the memory at the peak of each row."""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(run.strategy)}</th><td class="tfi-words">{escape(tensor.op)}</td>'
        f'<td class="tfi-words">{escape(tensor.dtype)} {escape(tensor.shape)}</td>'
        f"<td>{numbers.count(tensor.count)}</td><td>{numbers.size(tensor.size_bytes)}</td></tr>"
        for run in record.runs
        if run.memory is not None and run.status == "ok"
        for tensor in run.memory.top[:3]
    )
    heads = ("strategy", "op", "tensor", "how many", "bytes")
    return draw_table(heads, rows)


def codes(record: Comparison) -> str:
    """Returns the code to paste for each row."""
    return "\n".join(
        f"<h4>{escape(run.strategy)}</h4>\n<pre><code>{escape(run.code)}</code></pre>"
        for run in record.runs
        if run.status == "ok" and run.code
    )


def logs(record: Comparison) -> str:
    """Returns the messages that were kept out of the notebook."""
    items = "".join(
        f"<li>{escape(log.strategy or log.source)} ({numbers.count(log.count)}): {escape(log.message)}</li>"
        for log in record.logs
    )
    return f"<ul>{items}</ul>" if items else ""


def method(record: Comparison) -> str:
    """Returns how and where the figures were made."""
    shown = wording.coverage_sentence(record)  # stands beneath the grid
    lines = [line for line in wording.method_sentences(record) if line != shown]
    lines += wording.environment_lines(record.environment)
    return "\n".join(f"<p>{with_code(line)}</p>" for line in lines if line)
