"""Slips get one clear `UsageError` in the user's own names, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

import tfinsight

SETUP = """
import tensorflow as tf
import numpy as np
signals = tf.ones([6, 4])
gain = tf.constant(2.0)
pair = (tf.ones([5, 2]), tf.ones([1, 2]))
def smooth(r):
    return r * 0.5
def two(a, b):
    return a + b
table = {"a": tf.ones([3])}
"""
CELL = "y = tf.map_fn(smooth, signals)"

BEFORE_THE_CELL = [
    ("%%mapcost --frobnicate", "--frobnicate"),
    ("%%mapcost --strategies mapfn/graph", "Did you mean `map_fn/graph`"),
    ("%%mapcost -s warp", "Mappings are loop"),
    ("%%mapcost --budget -3", "seconds above 0, not `-3`"),
    ("%%mapcost --budget soon", "seconds above 0, not `soon`"),
    ("%%mapcost --baseline fastest", "unknown baseline `fastest`"),
    ("%%mapcost --memory-limit much", "a size such as 512MiB"),
    ("%%mapcost --call 0", "from 1"),
    ("%%mapcost --save report.txt", ".json or .html"),
    ("%%mapcost --fn smooth", "--over"),
    ("%%mapcost --over signals", "--fn"),
    ("%%mapcost smooth signals", "--fn FUNCTION --over ELEMENTS"),
    ("%%mapcost --fn 'smooth", "quotation"),
]
AFTER_THE_CELL = [
    ("%%mapcost --fn smooth --over gain", "`gain` must have a first dimension"),
    ("%%mapcost --fn smooth --over pair", "the same first dimension, but they have 1 and 5"),
    ("%%mapcost --fn smooth --over signal", "Did you mean `signals`"),
    ("%%mapcost --fn smoth --over signals", "Did you mean `smooth`"),
    ("%%mapcost --fn two --over signals", "a function of one argument"),
    ("%%mapcost --fn gain --over signals", "`gain` must be a function"),
    ("%%mapcost --fn smooth --over smooth", "`smooth` must be a tensor"),
    ("%%mapcost --batched nothing", "--batched names `nothing`, which does not exist"),
    ("%%mapcost --also two", "`two` must be a function of one argument"),
    ("%%mapcost --call 2", "the cell has one map"),
    ("%%mapcost --fn 'lambda r: r @ r' --over signals", "fails on an element"),
]


def check_usage_error(ran, expected):
    assert type(ran.error).__name__ == "UsageError", ran.printed
    assert expected in str(ran.error)
    assert "Traceback" not in ran.printed
    assert ran.printed.count("UsageError") == 1


@pytest.mark.parametrize(("line", "expected"), BEFORE_THE_CELL)
def test_what_can_be_checked_first_costs_no_run_of_the_cell(shell, line, expected):
    shell.ok(SETUP)
    check_usage_error(shell.run(f"{line}\n{CELL}"), expected)
    assert "y" not in shell.names


@pytest.mark.parametrize(("line", "expected"), AFTER_THE_CELL)
def test_what_the_cell_may_define_is_checked_after_it(shell, line, expected):
    shell.ok(SETUP)
    check_usage_error(shell.run(f"{line}\n{CELL}"), expected)
    assert shell.names["y"].shape == (6, 4)
    assert "two" in shell.names


@pytest.mark.parametrize("line", ["%mapcost smooth", "%mapcost", "%tfinsight", "%tfinsight best"])
def test_line_forms_say_what_they_expect(shell, line):
    shell.ok(SETUP)
    check_usage_error(shell.run(line), "expected")


def test_a_cell_without_a_map_names_both_forms_in_the_users_words(shell):
    shell.ok(SETUP)
    ran = shell.run("%%mapcost\ntotal = tf.reduce_sum(signals) + smooth(gain)")
    check_usage_error(ran, "tf.map_fn(smooth, signals)")
    assert "%%mapcost --fn smooth --over signals" in str(ran.error)
    assert "total" in shell.names


def test_a_syntax_error_is_the_users_own(shell):
    ran = shell.run("%%mapcost\ny = tf.map_fn(")
    assert isinstance(ran.error, SyntaxError)


def test_a_failed_baseline_leaves_ratios_empty_and_says_so(shell):
    shell.ok(SETUP)
    shell.ok(
        "%%mapcost --baseline map_fn/xla -s map_fn --budget 3\n"
        "y = tf.map_fn(lambda r: tf.numpy_function(np.sort, [r], tf.float32), signals)"
    )
    assert shell.record.run("map_fn/xla").status == "failed"
    assert all(run.timing is None or run.timing.speedup is None for run in shell.record.runs)
    text = shell.report.to_text()
    assert "map_fn/xla" in text.splitlines()[0] + text.splitlines()[1]
    assert "baseline" in "\n".join(text.splitlines()[:3])


TWO = np.ones([2, 1], np.float32)


@pytest.mark.parametrize(
    ("arguments", "options", "expected"),
    [
        ((lambda r: r, 3.0), {}, "first dimension"),
        ((lambda r: r, TWO), {"budget": -1}, "above 0"),
        ((lambda r: r, TWO), {"strategies": "warp"}, "unknown strategy"),
        ((lambda r: r, TWO), {"baseline": "as-written"}, "no row `as-written`"),
        ((lambda a, b: a, TWO), {}, "one argument"),
        ((3, TWO), {}, "must be a function"),
    ],
)
def test_the_function_raises_value_errors(arguments, options, expected):
    with pytest.raises(ValueError, match=expected):
        tfinsight.mapcost(*arguments, **options)
