"""Numbers become text in one place, and every form is in the table that finds them again."""

from __future__ import annotations

import ast
import itertools
import math
import re
from pathlib import Path

import pytest

import tfinsight.render
from tfinsight.records import Evidence
from tfinsight.render import numbers

RAW = [
    *(digits * 10.0**power for digits in (1.0, 1.2345, 9.996, -2.5) for power in range(-12, 13)),
    *(0.0, 0.5, 1023.0, 1023.9 * 1024, 1024.0**2, 59.99, 119.99, 120.0, 3_600.0),
    *(math.nan, math.inf, -math.inf, None),
]
FORMS = {
    "seconds": numbers.seconds,
    "size": numbers.size,
    "ratio": numbers.ratio,
    "percent": numbers.percent,
    "count": numbers.count,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_text_matches_its_pattern_or_says_that_there_is_none(form):
    for raw in RAW:
        text = FORMS[form](raw)
        expected = numbers.PATTERNS["none" if text == numbers.NONE else form]
        assert re.fullmatch(expected, text), (raw, text)


def test_intervals_match_their_pattern():
    for low, high in itertools.pairwise(RAW):
        text = numbers.interval(low, high)
        assert text == "" or re.fullmatch(numbers.PATTERNS["interval"], text), text


@pytest.mark.parametrize(
    ("form", "raw", "text"),
    [
        (numbers.seconds, 0.00123, "1.23 ms"),
        (numbers.seconds, 999.9e-6, "1.00 ms"),
        (numbers.seconds, 4.2e-7, "420 ns"),
        (numbers.seconds, 90, "90.0 s"),
        (numbers.seconds, 150, "2.50 min"),
        (numbers.seconds, None, "–"),  # noqa: RUF001
        (numbers.size, 16 * 2**20, "16.0 MiB"),
        (numbers.size, 1023.9 * 1024, "1.00 MiB"),
        (numbers.size, 640, "640 B"),
        (numbers.size, 0, "0 B"),
        (numbers.ratio, 12.5, "12.5x"),
        (numbers.ratio, 1234.5, "1,234x"),
        (numbers.ratio, 0.0642, "0.0642x"),
        (numbers.percent, 0.25, "25.0 %"),
        (numbers.count, 1536, "1,536"),
        (numbers.count, 2.5, "2.50"),
    ],
)
def test_what_people_read(form, raw, text):
    assert form(raw) == text


def test_an_interval_has_both_ends_or_is_empty():
    assert numbers.interval(11.9, 13.1) == "[11.9, 13.1]"
    assert numbers.interval(None, 13.1) == numbers.interval(11.9, math.inf) == ""


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.39, "s", "390 ms"),
        (2048, "B", "2.00 KiB"),
        (38.31, "x", "38.3x"),
        (0.0916, "%", "9.16 %"),
        (1536, "count", "1,536"),
        (3.25, "", "3.25"),
        (2.5e-7, "", "2.50e-07"),
        ("agrees as well", "", "agrees as well"),
    ],
)
def test_evidence_is_written_in_its_unit(value, unit, text):
    assert numbers.evidence(Evidence("label", value, unit)) == text


def test_no_other_module_of_render_gives_a_number_a_form():
    for path in Path(tfinsight.render.__file__).parent.glob("*.py"):
        if path.name != "numbers.py":
            found = formats(path.read_text("utf-8"))
            assert not found, (path.name, found)


def test_the_search_for_forms_can_find_one():
    assert formats("x = f'{seconds * 1000:.2f} ms'; y = round(z, 3)") == [".2f", "round"]


def formats(text):
    """Returns what makes text of numbers: format specifications with digits, and rounding."""
    nodes = list(ast.walk(ast.parse(text)))
    specs = [
        part.value
        for node in nodes
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None
        for part in ast.walk(node.format_spec)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    rounding = [
        node.func.id
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 2
        if node.func.id in ("round", "format")
    ]
    return [spec for spec in specs if re.search(r"[.,]|[eEfFgG%]$", spec)] + rounding
