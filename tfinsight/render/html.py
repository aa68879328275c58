"""A report as static HTML: no script, no network, readable where styles are stripped."""

from __future__ import annotations

from html import escape

from tfinsight.records import Comparison, GraphCompare, MapCost
from tfinsight.render import html_graph, html_map, html_why, wording
from tfinsight.render.html_parts import folded_away, soft, style, with_code
from tfinsight.render.verdict_words import verdict_sentence
from tfinsight.render.wording_graph import measured_sentences
from tfinsight.render.wording_map import measured_sentence

_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem; background: #fff; }
@media (prefers-color-scheme: dark) {
  body { background: #111; --jp-ui-font-color1: #eee; --jp-ui-font-color2: #aaa; --jp-border-color2: #444;
    --jp-brand-color1: #6db3f2; --jp-layout-color1: #111; --jp-layout-color2: #222; }
}
"""


def render_html(record: MapCost | GraphCompare) -> str:
    """Returns the report as a fragment of HTML, its style included."""
    parts = _map_parts(record) if isinstance(record, MapCost) else _graph_parts(record)
    head = (
        f"<style>{style()}</style>",
        f'<p class="tfi-verdict">{with_code(verdict_sentence(record))}</p>',
    )
    body = "\n".join(part for part in (*head, *parts) if part)
    return f'<div class="tfi-report">\n{body}\n</div>'


def render_page(record: MapCost | GraphCompare) -> str:
    """Returns the report as a page of its own."""
    what = record.workload.function if isinstance(record, MapCost) else record.cell.name
    title = escape(f"tfinsight: {wording.one_line(what)}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{render_html(record)}\n</main>\n</body>\n</html>\n"
    )


def _map_parts(record: MapCost) -> tuple[str, ...]:
    return (
        soft(measured_sentence(record)),
        *(soft(note) for note in record.notes),
        html_map.grid(record),
        *_reasons(record),
        html_map.other_calls(record),
        folded_away("First calls against steady state", html_map.first_calls(record)),
        *_details(record),
    )


def _graph_parts(record: GraphCompare) -> tuple[str, ...]:
    return (
        *(soft(words) for words in measured_sentences(record)),
        *(soft(note) for note in record.notes),
        html_graph.grid(record),
        *_reasons(record),
        html_graph.compiled(record),
        *_details(record),
    )


def _reasons(record: Comparison) -> tuple[str, ...]:
    """Returns what stands between the grid and the details of every report."""
    return (
        soft(wording.coverage_sentence(record)),
        html_why.picture(record),
        html_why.unranked(record),
        html_why.findings(record),
    )


def _details(record: Comparison) -> tuple[str, ...]:
    """Returns what only some readers want, each part folded away."""
    return (
        folded_away("What held the memory at the peak", html_why.culprits(record)),
        folded_away("Code for each strategy", html_why.codes(record)),
        folded_away("Messages kept out of the notebook", html_why.logs(record)),
        folded_away("Method and environment", html_why.method(record)),
    )
