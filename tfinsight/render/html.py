"""A report as static HTML: no script, no network, readable where styles are stripped."""

from __future__ import annotations

from html import escape

from tfinsight.records import GraphCompare, MapCost
from tfinsight.render import html_graph, html_map, html_why, same, wording
from tfinsight.render.html_parts import folded_away, soft, style, with_code
from tfinsight.render.parts import draw, parts_of
from tfinsight.render.text import render_text
from tfinsight.render.verdict_words import verdict_sentence
from tfinsight.render.view import DEFAULT, View
from tfinsight.render.wording_graph import measured_sentences
from tfinsight.render.wording_map import measured_sentence

_PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 2rem; background: #fff; }
@media (max-width: 50rem) { body { margin: 0.6rem; } }
@media (prefers-color-scheme: dark) {
  body { background: #111; --jp-ui-font-color1: #eee; --jp-border-color2: #444; --jp-layout-color1: #111;
    --jp-layout-color2: #222; --jp-brand-color1: #6db3f2; --jp-content-link-color: #6db3f2; }
}
"""


def render_html(record: MapCost | GraphCompare) -> str:
    """Returns the report as a fragment of HTML, its style included.

    The text form stands first and is hidden by the style; where styles are stripped it is what shows.
    """
    pieces = (
        head(record),
        grid(record, DEFAULT),
        soft(wording.coverage_sentence(record)),
        html_why.picture(record, "pareto", DEFAULT),
        reasons(record),
        *(folded_away(part.title, draw(part, record), part.opened) for part in parts_of(record)),
    )
    body = "\n".join(piece for piece in pieces if piece)
    # An inline style outlives a style sheet that is stripped, and the sheet overrules it.
    return (
        f"<style>{style()}</style>\n"
        f'<pre class="tfi-text">{escape(render_text(record, same_facts=False))}</pre>\n'
        f'<div class="tfi-report" style="display:none">\n{body}\n</div>\n'
        f"{same.as_html(record)}"
    )


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


def head(record: MapCost | GraphCompare) -> str:
    """Returns the verdict, what was measured, and what a reader must know before the figures."""
    measured = (
        [measured_sentence(record)] if isinstance(record, MapCost) else measured_sentences(record)
    )
    said = (soft(words) for words in (*measured, *record.notes))
    verdict = f'<p class="tfi-verdict">{with_code(verdict_sentence(record))}</p>'
    return "\n".join(piece for piece in (verdict, *said) if piece)


def grid(record: MapCost | GraphCompare, view: View) -> str:
    """Returns the rows as a heat map."""
    if isinstance(record, MapCost):
        return html_map.grid(record, view)
    return html_graph.grid(record, view)


def reasons(record: MapCost | GraphCompare) -> str:
    """Returns the rows that are not ranked, the findings, and the cell's other maps."""
    others = html_map.other_calls(record) if isinstance(record, MapCost) else ""
    pieces = (html_why.unranked(record), html_why.findings(record), others)
    return "\n".join(piece for piece in pieces if piece)
