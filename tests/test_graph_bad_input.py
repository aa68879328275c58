"""Slips with `%%graphcompare`: a clear error, nothing lost."""

from __future__ import annotations

import pytest

import tfinsight

SETUP = "import tensorflow as tf\nx = tf.ones([4])\ndef step(v):\n    return v * 2.0"


@pytest.mark.parametrize(
    ("magic", "words"),
    [
        ("%%graphcompare -s grph\nx * 2", "Did you mean `graph`"),
        ("%%graphcompare --baseline nothing\nx * 2", "must be the id of a row"),
        ("%%graphcompare --mixed float8\nx * 2", "expected bfloat16 or float16, not `float8`"),
        ("%%graphcompare --also nowhere\nx * 2", "names `nowhere`, which does not exist"),
        ("%%graphcompare --also x\nx * 2", "must be a function of the measured lines' inputs"),
        ("%%graphcompare --budget soon\nx * 2", "expected a number of seconds"),
        ("%%graphcompare step\nx * 2", "unexpected `step`"),
        ("%graphcompare", "expected an expression"),
        ("%graphcompare -s graph", "expected an expression"),
        ("%%graphcompare\nimport math", "there is nothing to measure"),
        ("%%graphcompare\nw = tf.Variable(1.0)", "makes something with a state"),
    ],
)
def test_a_slip_is_explained(shell, magic, words):
    shell.ok(SETUP)
    ran = shell.run(magic)
    assert type(ran.error).__name__ == "UsageError"
    assert words in str(ran.error)


def test_a_slip_in_an_option_costs_no_run_of_the_cell(shell):
    shell.ok(SETUP + "\nruns = []")
    shell.run("%%graphcompare -s grph\nruns.append(1)\nx * 2")
    assert shell.names["runs"] == []


def test_an_error_of_the_cell_is_shown_once_and_as_without_the_magic(shell):
    shell.ok(SETUP)
    ran = shell.run("%%graphcompare\nfirst = x + 1.0\ntf.ones([2]) + tf.ones([3])\nlast = 1")
    assert type(ran.error).__name__ == "InvalidArgumentError"
    assert "tfinsight" not in ran.printed
    assert "first" in shell.names
    assert "last" not in shell.names


def test_help_is_made_from_the_parser(shell):
    ran = shell.ok("%graphcompare --help")
    assert "--mixed" in ran.printed
    assert "# measure" in ran.printed


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: tfinsight.graphcompare(3, 1.0), "must be a function"),
        (lambda f: tfinsight.graphcompare(f), "can't be called with these arguments"),
        (lambda f: tfinsight.graphcompare(f, 1.0, mixed="float8"), "expected bfloat16 or float16"),
        (lambda f: tfinsight.graphcompare(f, 1.0, strategies="grph"), "unknown strategy"),
        (lambda f: tfinsight.graphcompare(f, 1.0, save="x.txt"), "ends in .json or .html"),
    ],
)
def test_the_function_raises_value_errors(call, words):
    with pytest.raises(ValueError, match=words):
        call(lambda v: v)
