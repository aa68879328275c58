"""Claims about `%%graphcompare` reports: each from figures, and not without them; and code to paste."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from sample_graph_records import full

from tfinsight.findings import find
from tfinsight.findings.graph_snippets import row_code
from tfinsight.findings.verdict import verdict
from tfinsight.records import (
    Compiled,
    GraphFacts,
    HostRead,
    Memory,
    Timing,
)


def codes(record):
    return {finding.code for finding in find(record)}


def with_run(record, strategy, **changes):
    runs = tuple(replace(r, **changes) if r.strategy == strategy else r for r in record.runs)
    return replace(record, runs=runs)


@pytest.fixture
def record():
    return full()


def test_what_compiling_did_is_claimed_from_its_evidence(record):
    found = codes(record)
    assert {"operator_fusion", "constant_folding"} <= found
    nothing = replace(record, compiled=Compiled())
    assert not {"operator_fusion", "constant_folding", "new_shape_costs"} & codes(nothing)


def test_reads_by_python_are_counted_by_line(record):
    reads = (HostRead(3, ".numpy()", 12),)
    with_reads = replace(record, compiled=replace(record.compiled, host_reads=reads))
    (finding,) = [f for f in find(with_reads) if f.code == "host_synchronization"]
    assert ("line 3: .numpy()", 12) in {(e.label, e.value) for e in finding.evidence}
    without = replace(record, compiled=replace(record.compiled, host_reads=()))
    assert "host_synchronization" not in codes(without)


def test_memory_that_stays_is_a_leak_from_a_kibibyte_on(record):
    memory = Memory(1, 1, 1, 1, 1, 1, "all", kept_per_call_bytes=4096)
    assert "leak" in codes(with_run(record, "as-written", memory=memory))
    small = replace(memory, kept_per_call_bytes=256)
    assert "leak" not in codes(with_run(record, "as-written", memory=small))


def test_assertions_keep_xla_from_being_recommended(record):
    fast = Timing(first_call_s=0.1, median_s=1e-9, low_s=1e-9, high_s=1e-9, calls=9)
    memory = Memory(1, 1, 1, 1, 1, 1, "all")
    agreement = record.run("graph").agreement
    quick = with_run(
        record, "xla", status="ok", timing=fast, memory=memory, failure=None, agreement=agreement
    )
    assert verdict(quick, None).recommended == "xla"
    checked = with_run(quick, "graph", graph=GraphFacts(3, {"Assert": 2}))
    assert verdict(checked, None).recommended != "xla"
    assert "xla_drops_assertions" in codes(checked)


def test_repeated_traces_of_the_users_own_function(record):
    cell = replace(record.cell, functions=("f",), traces=(4,))
    (finding,) = [f for f in find(replace(record, cell=cell)) if f.code == "retracing"]
    assert ("traces of `f` in the cell's own run", 4) in {
        (e.label, e.value) for e in finding.evidence
    }


@pytest.mark.parametrize("strategy", ["as-written", "eager", "graph", "graph-no-grappler", "xla"])
def test_code_to_paste_is_python(record, strategy):
    cell = replace(
        record.cell,
        entry=None,
        measured="y = x * 2\ny",
        as_function="def step(x):\n    y = x * 2\n    return y",
        call="step(x)",
    )
    execution = {"xla": "xla", "eager": "eager", "as-written": "eager"}.get(strategy, "graph")
    code = row_code(cell, replace(record.run(strategy), execution=execution), "CPU:0")
    ast.parse(code)
    assert ("jit_compile=True" in code) == (strategy == "xla")
    assert ("disable_meta_optimizer" in code) == (strategy == "graph-no-grappler")


def test_code_for_a_function_of_the_users_own(record):
    cell = replace(record.cell, entry=None, name="step", as_function="", call="step(x, n)")
    assert row_code(cell, record.run("graph"), "CPU:0") == "fast = tf.function(step)\n\nfast(x, n)"
    compiled = "fast = tf.function(step, jit_compile=True)\n\nfast(x, n)"
    assert row_code(cell, record.run("xla"), "CPU:0") == compiled
    assert row_code(cell, record.run("eager"), "CPU:0") == "step(x, n)"


def test_code_for_keras_names_the_model_and_the_switch(record):
    cell = replace(record.cell, entry="fit", measured="net.fit(X)", models=("net",))
    assert "# net.compile(..., jit_compile=True)" in row_code(cell, record.run("xla"), "CPU:0")


@pytest.mark.parametrize(
    ("strategy", "device", "option"),
    [
        ("graph-bfloat16", "CPU:0", "auto_mixed_precision_onednn_bfloat16"),
        ("graph-float16", "CPU:0", "auto_mixed_precision_cpu"),
        ("graph-float16", "GPU:0", "auto_mixed_precision"),
    ],
)
def test_code_for_mixed_precision_sets_the_option_of_its_device(record, strategy, device, option):
    cell = replace(
        record.cell, entry=None, as_function="def step(x):\n    return x", call="step(x)"
    )
    run = replace(record.run("graph"), strategy=strategy, execution="graph")
    assert f"({{'{option}': True}})" in row_code(cell, run, device)
