"""Asking for complete memory figures leaves the environment as it was, in real fresh processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tfinsight.allocator_switch import VARIABLE

REPORT = """
import json, os
def report(request):
    return [request.outcome, os.environ.get("TF_CPU_ALLOCATOR_USE_BFC"), after()]
def after():
    import tensorflow as tf
    from tfinsight.measure.memory import coverage
    return coverage("CPU:0")
"""
SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def run(code):
    assert shell.run_cell(code).success
def variable():
    return os.environ.get("TF_CPU_ALLOCATOR_USE_BFC")
"""


def run(code, **environment):
    variables = {k: v for k, v in os.environ.items() if k != VARIABLE} | environment
    done = subprocess.run(
        [sys.executable, "-c", REPORT + code],
        env=variables | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1]), done.stdout


def test_a_request_after_import_brings_complete_figures_and_is_taken_out_again():
    facts, _ = run(
        """
import tensorflow as tf
tf.config.list_physical_devices()
tf.random.set_seed(1)
from tfinsight.allocator_switch import request_full_coverage
request = request_full_coverage()
request.settle()
facts = report(request)
request.settle()
print(json.dumps([*facts, os.environ.get("TF_CPU_ALLOCATOR_USE_BFC")]))
"""
    )
    assert facts == ["requested", "1", "all", None]


@pytest.mark.parametrize("value", ["1", "0", "true"])
def test_a_setting_of_the_users_own_stays(value):
    facts, _ = run(
        """
from tfinsight.allocator_switch import request_full_coverage
request = request_full_coverage()
request.settle()
request.withdraw()
print(json.dumps([request.outcome, os.environ.get("TF_CPU_ALLOCATOR_USE_BFC")]))
""",
        **{VARIABLE: value},
    )
    assert facts == ["already set", value]


def test_a_value_that_the_user_puts_over_the_request_stays():
    facts, _ = run(
        """
from tfinsight.allocator_switch import request_full_coverage
request = request_full_coverage()
os.environ["TF_CPU_ALLOCATOR_USE_BFC"] = "false"
request.withdraw()
print(json.dumps(os.environ.get("TF_CPU_ALLOCATOR_USE_BFC")))
"""
    )
    assert facts == "false"


def test_the_request_alone_loads_no_tensorflow():
    facts, _ = run(
        """
import sys
from tfinsight.allocator_switch import request_full_coverage
request_full_coverage().settle()
print(json.dumps("tensorflow" in sys.modules))
"""
    )
    assert facts is False


def test_the_extension_gives_the_environment_back_when_the_devices_exist_or_it_is_unloaded():
    facts, printed = run(
        SHELL
        + """
seen = []
run("%load_ext tfinsight"); seen.append(variable())
run("%unload_ext tfinsight"); seen.append(variable())
run("%load_ext tfinsight")
run("import tensorflow as tf"); seen.append(variable())
run("x = tf.zeros([1])"); seen.append(variable())
run("%reload_ext tfinsight"); seen.append(variable())
print(json.dumps([*seen, after()]))
"""
    )
    assert facts == ["1", None, "1", None, None, "all"]
    assert "tfinsight:" not in printed, "figures are complete, there is nothing to complain about"


def test_too_late_is_said_and_leaves_no_trace():
    facts, printed = run(
        SHELL
        + """
run("import tensorflow as tf; x = tf.zeros([1])")
run("%load_ext tfinsight")
from tfinsight.allocator_switch import request_full_coverage
print(json.dumps(report(request_full_coverage())))
""",
        TF_ENABLE_ONEDNN_OPTS="1",
    )
    assert facts == ["too late", None, "large-only"]
    assert "tfinsight: memory figures are incomplete in this kernel" in printed
