"""A report as plain text of at most 80 columns."""

from __future__ import annotations

from tfinsight.records import Environment, GraphCompare, MapCost
from tfinsight.render import same, text_graph, text_map, wording
from tfinsight.render.text_parts import WIDTH, wrapped
from tfinsight.render.text_why import details, findings, grid, unranked
from tfinsight.render.verdict_words import verdict_sentence
from tfinsight.render.wording_graph import measured_sentences
from tfinsight.render.wording_map import measured_sentence

__all__ = ["WIDTH", "render_environment", "render_text", "verdict_sentence"]

# What stands for characters that some terminals lack.
_ASCII = str.maketrans({"–": "-", "µ": "u", "±": "+-", "×": "x", "→": "->", "“": '"', "”": '"'})  # noqa: RUF001
# A report may come from a file: its strings must not steer the terminal.
_CONTROLS = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "?")


def render_text(
    record: MapCost | GraphCompare,
    ascii: bool = False,  # noqa: A002 - what it is
    same_facts: bool = True,
) -> str:
    """Returns the report as text of at most 80 columns, the verdict first.

    Only code may be wider: it is never broken.

    Args:
        record: what to draw.
        ascii: use ASCII characters only.
        same_facts: end with the facts that are the same in every run.
    """
    blocks = _map_blocks(record) if isinstance(record, MapCost) else _graph_blocks(record)
    blocks = (wrapped(verdict_sentence(record)), *blocks)
    blocks += (same.as_text(record),) if same_facts else ()
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines)
    text = text.expandtabs(4).translate(_CONTROLS)
    if ascii:
        text = text.translate(_ASCII).encode("ascii", "replace").decode()
    return text


def render_environment(environment: Environment) -> str:
    """Returns versions, machine, devices and settings as text."""
    return "\n".join(
        line for fact in wording.environment_lines(environment) for line in wrapped(fact, 2)
    )


def _map_blocks(record: MapCost) -> tuple[list[str], ...]:
    return (
        wrapped(measured_sentence(record)),
        grid(record),
        unranked(record),
        findings(record),
        text_map.other_calls(record),
        details(record, text_map.first_calls(record)),
    )


def _graph_blocks(record: GraphCompare) -> tuple[list[str], ...]:
    return (
        [line for words in measured_sentences(record) for line in wrapped(words)],
        grid(record, cores=True),
        text_graph.first_calls(record),
        unranked(record),
        findings(record),
        *text_graph.compiled(record),
        details(record),
    )
