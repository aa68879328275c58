"""Functions made of a cell's statements: their text, their lines, the names that they need."""

from __future__ import annotations

import ast

import pytest

from tfinsight.statements import assigned_names, comment_line, function_text, names_needed


def made(source, returned=(), first=0):
    statements = ast.parse(source).body[first:]
    parameters = names_needed(statements)
    return function_text(source, statements, "cell", parameters, returned)


def run(source, returned=(), **names):
    text = made(source, returned).text
    space: dict[str, object] = {}
    exec(text, space)
    return space["cell"](**names)


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("y = x + 1\ny", ["x"]),
        ("x = x + 1", ["x"]),
        ("x += 1", ["x"]),
        ("for i in xs:\n    s = i\ns", ["xs", "s"]),  # the loop may not run
        ("if a:\n    b = 1\nelse:\n    b = 2\nb", ["a"]),
        ("if a:\n    b = 1\nb", ["a", "b"]),
        ("with t as q:\n    r = q\nr", ["t"]),
        ("f = lambda v, w=k: v + w + z", ["k", "z"]),
        ("def f(v):\n    u = v\n    return u + g\nf(h)", ["g", "h"]),
        ("[v * w for v in xs]", ["w", "xs"]),
        ("try:\n    a = x\nexcept E:\n    a = y\na", ["x", "E", "y", "a"]),
        ("a.b = c", ["a", "c"]),
        ("a[i] = c", ["a", "i", "c"]),
        ("import os\nos.sep", []),
    ],
)
def test_names_that_are_read_before_they_are_assigned(source, needed):
    found = names_needed(ast.parse(source).body)
    assert sorted(found) == sorted(needed)


def test_assigned_names_are_those_of_blocks_too():
    source = "for i, (a, b) in z:\n    with t as q:\n        c = d = 1\n    [v for v in w]"
    assert set(assigned_names(ast.parse(source).body[0])) == {"i", "a", "b", "q", "c", "d"}


def test_the_value_of_the_last_expression_is_returned():
    assert run("a = x * 2\n(a +\n 1)", x=3) == 7
    assert run("a = x; a + 1;  # a comment", x=3) == 4
    assert run("a = x\na, a + 1", returned=["a"], x=3) == 3
    assert run("a = x\nb = a + 1", returned=["a", "b"], x=3) == (3, 4)


def test_strings_over_several_lines_are_not_indented():
    source = 's = """one\n  two\nthree"""\ns + x'
    assert run(source, x="!") == "one\n  two\nthree!"


def test_columns_are_of_bytes_and_names_may_be_of_any_alphabet():
    assert run("größe = 'ä' * x; größe + 'é'", x=2) == "ääé"


def test_lines_stay_those_of_the_cell_where_there_is_room():
    source = "# %%magic\nsetup = 1\nx = q\n\ny = x +\\\n  1\ny"
    text, offset = made(source, first=1)
    assert offset == 0
    lines = text.splitlines()
    assert lines[1] == "def cell(q):"
    assert lines[2] == "    x = q"
    assert lines[6] == "    return y"


def test_where_there_is_no_room_the_offset_tells():
    text, offset = made("q + 1")
    assert text.splitlines()[offset] == "    return q + 1"


@pytest.mark.parametrize(
    ("source", "line"),
    [("a = 1\n#  Measure\nb", 2), ("a = 1  # measure\nb", None), ("s = '''\n# measure\n'''", None)],
)
def test_the_comment_that_sets_the_border_stands_alone(source, line):
    assert comment_line(source, "measure") == line
