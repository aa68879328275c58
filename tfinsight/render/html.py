"""A report as static HTML: no script, no network, readable where styles are stripped."""

from __future__ import annotations

import base64
import math
from html import escape
from importlib import resources

from tfinsight.records import Finding, MapCost, Run
from tfinsight.render import figures, numbers, wording

HEAT_STEPS = 5
_SEVERITY = {"warning": "Warning", "advice": "Advice", "info": "Good to know"}
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
        f'<p class="tfi-soft">{_code(wording.measured_sentence(record))}</p>',
        _grid(record),
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


def _grid(record: MapCost) -> str:
    times = {r.strategy: r.timing.median_s for r in record.runs if r.timing and r.timing.median_s}
    heats = _heats(times)
    rows = "\n".join(_row(record, run, heats.get(run.strategy)) for run in record.runs)
    heads = ("strategy", "time a call", "speed-up", "95 % interval", "peak memory", "result")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<table>\n<caption>{_legend(record)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>"
    )


def _legend(record: MapCost) -> str:
    words = f"Every strategy, speed-ups against {escape(record.baseline)}."
    if record.verdict.recommended:
        words += " ★ recommended."
    if len(record.verdict.fastest) > 1:
        words += " = ties with the fastest."
    return words + " The darker, the slower."


def _row(record: MapCost, run: Run, heat: int | None) -> str:
    timing, memory = run.timing, run.memory
    shown = run.status in ("ok", "different") and timing is not None
    recommended = run.strategy == record.verdict.recommended
    classes = "tfi-recommended" if recommended else "" if run.status == "ok" else "tfi-unranked"
    tie = len(record.verdict.fastest) > 1 and run.strategy in record.verdict.fastest
    mark = " ★" if recommended else " =" if tie else ""
    cells = ["", "", "", ""]
    if shown and timing is not None:
        peak = None if memory is None else memory.peak_bytes
        speedup = numbers.ratio(timing.speedup) if timing.speedup else ""
        spread = numbers.interval(timing.speedup_low, timing.speedup_high)
        cells = [numbers.seconds(timing.median_s), speedup, spread, numbers.size(peak)]
    heated = "" if heat is None or not shown else f' class="tfi-heat-{heat}"'
    return (
        f'<tr class="{classes}"><th scope="row">{escape(run.strategy)}{mark}</th>'
        f"<td{heated}>{cells[0]}</td>"
        + "".join(f"<td>{cell}</td>" for cell in cells[1:])
        + f'<td class="tfi-words">{escape(wording.row_result(record, run))}</td></tr>'
    )


def _heats(times: dict[str, float]) -> dict[str, int]:
    """Returns for each row how slow it is, in equal steps of the logarithm of its time."""
    if not times or min(times.values()) <= 0:
        return {}
    low, high = math.log(min(times.values())), math.log(max(times.values()))
    width = (high - low) or 1.0
    return {
        name: min(HEAT_STEPS - 1, int(HEAT_STEPS * (math.log(time) - low) / width))
        for name, time in times.items()
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
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in ("strategy", "status", "reason"))
    return (
        "<details><summary>Not ranked, with the reasons</summary>\n"
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n</details>"
    )


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
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
        if rows
        else ""
    )


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
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
        if rows
        else ""
    )


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
    lines = [*record.notes, *wording.method_sentences(record)]
    lines += wording.environment_lines(record.environment)
    return "\n".join(f"<p>{_code(line)}</p>" for line in lines if line)
