"""A report as static HTML: no script, no network, readable where styles are stripped."""

from __future__ import annotations

import base64
import math
from html import escape
from importlib import resources

from tfinsight.records import Execution, Finding, MapCost, Run
from tfinsight.render import figures, numbers, wording

HEAT_STEPS = 5
EXECUTIONS: tuple[Execution, ...] = ("eager", "graph", "xla")
_SEVERITY = {"warning": "Warning", "advice": "Advice", "info": "Good to know"}
# Columns of words; all others hold numbers.
_WORDS = ("status", "reason", "op", "tensor", "pays off")
_WORDS_CLASS = ' class="tfi-words"'
_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem; background: #fff; }
@media (prefers-color-scheme: dark) {
  body { background: #111; --jp-ui-font-color1: #eee; --jp-ui-font-color2: #aaa; --jp-border-color2: #444;
    --jp-brand-color1: #6db3f2; --jp-layout-color1: #111; --jp-layout-color2: #222; }
}
"""


def render_html(record: MapCost) -> str:
    """Returns the report as a fragment of HTML, its style included."""
    parts = (
        f"<style>{_style()}</style>",
        f'<p class="tfi-verdict">{_code(wording.verdict_sentence(record))}</p>',
        _soft(wording.measured_sentence(record)),
        *(_soft(note) for note in record.notes),
        _grid(record),
        _soft(wording.coverage_sentence(record)),
        _picture(record),
        _unranked(record),
        _findings(record),
        _other_calls(record),
        _details(record),
    )
    body = "\n".join(part for part in parts if part)
    return f'<div class="tfi-report">\n{body}\n</div>'


def render_page(record: MapCost) -> str:
    """Returns the report as a page of its own."""
    title = escape(f"tfinsight: {wording.one_line(record.workload.function)}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{render_html(record)}\n</main>\n</body>\n</html>\n"
    )


def _style() -> str:
    return resources.files("tfinsight.render").joinpath("static/report.css").read_text("utf-8")


def _code(text: str) -> str:
    """Escapes text, with what stands between backticks as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:  # an odd number of backticks: nothing to pair
        return escape(text)
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _soft(words: str) -> str:
    return f'<p class="tfi-soft">{_code(words)}</p>' if words else ""


def _grid(record: MapCost) -> str:
    """Returns mapping by execution as a table that is also a heat map."""
    cells: dict[str, dict[str, Run]] = {}
    for run in record.runs:
        cells.setdefault(run.mapping, {})[run.execution] = run
    columns = [name for name in EXECUTIONS if any(name in row for row in cells.values())]
    heats = _heats(record)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(mapping)}</th>'
        + "".join(
            _cell(record, row[name], heats) if name in row else "<td></td>" for name in columns
        )
        + "</tr>"
        for mapping, row in cells.items()
    )
    return _table(("mapping", *columns), rows, _legend(record), "tfi-grid")


def _table(heads: tuple[str, ...], rows: str, caption: str = "", kind: str = "") -> str:
    """Returns a table with header cells, nothing where there are no rows."""
    if not rows:
        return ""
    head = "".join(
        f'<th scope="col"{_WORDS_CLASS if name in _WORDS else ""}>{name}</th>' for name in heads
    )
    return (
        (f'<table class="{kind}">\n' if kind else "<table>\n")
        + (f"<caption>{caption}</caption>\n" if caption else "")
        + f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _legend(record: MapCost) -> str:
    words = (
        f"Time of a call, speed-up against {escape(record.baseline)} with its 95 % interval, "
        "peak memory, and how the result stands to the reference's."
    )
    if record.verdict.recommended:
        words += " ★ recommended."
    if len(record.verdict.fastest) > 1:
        words += " = ties with the fastest."
    return words + " The stronger the shade, the slower."


def _cell(record: MapCost, run: Run, heats: dict[str, int]) -> str:
    result = escape(wording.row_result(record, run))
    timing, memory = run.timing, run.memory
    if run.status not in ("ok", "different") or timing is None:
        return f'<td class="tfi-unranked">{result}</td>'
    classes = [f"tfi-heat-{heats[run.strategy]}"] if run.strategy in heats else []
    classes += ["tfi-recommended"] if run.strategy == record.verdict.recommended else []
    classes += ["tfi-unranked"] if run.status == "different" else []
    speedup = "" if timing.speedup is None else f" {numbers.ratio(timing.speedup)}"
    spread = numbers.interval(timing.speedup_low, timing.speedup_high)
    peak = None if memory is None else memory.peak_bytes
    facts = [] if peak is None else [numbers.size(peak)]
    facts += [result, *([f"chunks of {numbers.count(run.chunk_size)}"] if run.chunk_size else [])]
    return (
        (f'<td class="{" ".join(classes)}">' if classes else "<td>")
        + f"<b>{_mark(record, run)}{numbers.seconds(timing.median_s)}</b>{speedup}"
        + (f" <small>{spread}</small>" if spread else "")
        + f"<br><small>{', '.join(facts)}</small></td>"
    )


def _mark(record: MapCost, run: Run) -> str:
    if run.strategy == record.verdict.recommended:
        return "★ "
    tied = len(record.verdict.fastest) > 1 and run.strategy in record.verdict.fastest
    return "= " if tied else ""


def _heats(record: MapCost) -> dict[str, int]:
    """Returns for each row how slow it is, in equal steps of the logarithm of its time."""
    times = {run.strategy: run.timing.median_s for run in record.runs if run.timing}
    logs = {
        name: math.log(time)
        for name, time in times.items()
        if time is not None and 0 < time < math.inf
    }
    if not logs:
        return {}
    low = min(logs.values())
    width = (max(logs.values()) - low) or 1.0
    return {
        name: min(HEAT_STEPS - 1, int(HEAT_STEPS * (log - low) / width))
        for name, log in logs.items()
    }


def _picture(record: MapCost) -> str:
    png = figures.pareto_png(record)
    if png is None:
        return ""
    data = base64.b64encode(png).decode("ascii")
    alt = escape(figures.pareto_alt(record), quote=True)
    return f'<img alt="{alt}" width="770" src="data:image/png;base64,{data}">'


def _unranked(record: MapCost) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(ids)}</th><td class="tfi-words">{status}</td>'
        f'<td class="tfi-words">{escape(reason)}</td></tr>'
        for ids, status, reason in wording.unranked(record)
    )
    table = _table(("strategy", "status", "reason"), rows)
    if not table:
        return ""
    return f"<details><summary>Not ranked, with the reasons</summary>\n{table}\n</details>"


def _findings(record: MapCost) -> str:
    if not record.findings:
        return ""
    code = wording.snippets(record)
    return "<h3>Why</h3>\n" + "\n".join(_finding(f, code[f.code]) for f in record.findings)


def _finding(finding: Finding, code: str) -> str:
    evidence = "".join(
        f"<li>{escape(item.label)}: {escape(numbers.evidence(item))}</li>"
        for item in finding.evidence
    )
    parts = [
        f'<div class="tfi-finding tfi-{finding.severity}">',
        f"<h4>{_SEVERITY[finding.severity]}: {_code(finding.title)}</h4>",
        f"<p>{_code(finding.advice)}</p>" if finding.advice else "",
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


def _other_calls(record: MapCost) -> str:
    items = "".join(
        f"<li><code>--call {call.number}</code>: <code>{escape(wording.one_line(call.text))}</code>, "
        f"{_code(call.place)}"
        + (f", {numbers.seconds(call.seconds)}" if call.seconds is not None else "")
        + "</li>"
        for call in record.workload.other_calls
    )
    return f"<h3>Other maps in this cell, not measured</h3>\n<ul>{items}</ul>" if items else ""


def _details(record: MapCost) -> str:
    sections = (
        ("First calls against steady state", _first_calls(record)),
        ("What held the memory at the peak", _culprits(record)),
        ("Code for each strategy", _codes(record)),
        ("Messages kept out of the notebook", _logs(record)),
        ("Method and environment", _method(record)),
    )
    return "\n".join(
        f"<details><summary>{title}</summary>\n{body}\n</details>"
        for title, body in sections
        if body
    )


def _first_calls(record: MapCost) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(run.strategy)}</th><td>{numbers.seconds(run.timing.first_call_s)}</td>'
        f"<td>{numbers.seconds(run.timing.trace_s)}</td><td>{numbers.seconds(run.timing.compile_s)}</td>"
        f'<td>{numbers.seconds(run.timing.median_s)}</td><td class="tfi-words">'
        f"{wording.break_even(record, run)}</td></tr>"
        for run in record.runs
        if run.timing is not None
    )
    heads = (
        "strategy",
        "first call",
        "of it tracing",
        "of it compiling, about",
        "steady",
        "pays off",
    )
    return _table(heads, rows)


def _culprits(record: MapCost) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{escape(run.strategy)}</th><td class="tfi-words">{escape(tensor.op)}</td>'
        f'<td class="tfi-words">{escape(tensor.dtype)} {escape(tensor.shape)}</td>'
        f"<td>{numbers.count(tensor.count)}</td><td>{numbers.size(tensor.size_bytes)}</td></tr>"
        for run in record.runs
        if run.memory is not None and run.status == "ok"
        for tensor in run.memory.top[:3]
    )
    heads = ("strategy", "op", "tensor", "how many", "bytes")
    return _table(heads, rows)


def _codes(record: MapCost) -> str:
    return "\n".join(
        f"<h4>{escape(run.strategy)}</h4>\n<pre><code>{escape(run.code)}</code></pre>"
        for run in record.runs
        if run.status == "ok" and run.code
    )


def _logs(record: MapCost) -> str:
    items = "".join(
        f"<li>{escape(log.strategy or log.source)} ({numbers.count(log.count)}): {escape(log.message)}</li>"
        for log in record.logs
    )
    return f"<ul>{items}</ul>" if items else ""


def _method(record: MapCost) -> str:
    shown = wording.coverage_sentence(record)  # stands beneath the grid
    lines = [line for line in wording.method_sentences(record) if line != shown]
    lines += wording.environment_lines(record.environment)
    return "\n".join(f"<p>{_code(line)}</p>" for line in lines if line)
