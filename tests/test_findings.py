"""Each claim appears where its evidence is there and nowhere else."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

import pytest

from tfinsight.findings import MAP_FINDINGS, find
from tfinsight.records import (
    Agreement,
    Environment,
    Failure,
    Finding,
    GraphFacts,
    LiveTensor,
    LogLine,
    MapCost,
    MapOptions,
    Memory,
    OpProfile,
    OpTime,
    Recompilation,
    Run,
    ScalingPoint,
    TensorFacts,
    Timing,
    WorkloadFacts,
    from_dict,
    to_dict,
)

MIB = 2**20
EQUAL = Agreement("equal", max_abs=0.0, max_rel=0.0)
PYFUNC = (
    "Detected unsupported operations when trying to compile graph map_while_body_19_const_0[] on "
    "XLA_CPU_JIT: PyFunc (No registered 'PyFunc' OpKernel for XLA_CPU_JIT devices compatible with "
    "node {{node map/while/PyFunc}}){{node map/while/PyFunc}}\nThe op is created at: "
)


def workload(**changes: Any) -> WorkloadFacts:
    vector = TensorFacts("", "dense", "float32", (4000,), 16_000)
    facts = WorkloadFacts(
        function="lambda t: tf.exp(-t * t)",
        elements="angles",
        call="tf.map_fn",
        call_text="tf.map_fn(lambda t: tf.exp(-t * t), angles)",
        place="line 1 of the cell",
        enclosing=None,
        execution="eager",
        with_gradient=False,
        element_count=4000,
        inputs=(vector,),
        outputs=(vector,),
        arguments={},
        assigned_name="y",
        ops_per_element=3,
        batched=None,
        source="y = tf.map_fn(lambda t: tf.exp(-t * t), angles)",
        call_number=1,
        other_calls=(),
    )
    return replace(facts, **changes)


def row(
    strategy: str, median: float | None = None, *, first: float | None = None, **fields: Any
) -> Run:
    mapping, _, execution = strategy.partition("/")
    timing = None
    if median is not None:
        timing = Timing(
            first_call_s=median if first is None else first,
            median_s=median,
            low_s=0.97 * median,
            high_s=1.03 * median,
            calls=30,
            samples_s=(median,) * 5,
            spread=0.05,
        )
    values: dict[str, Any] = {
        "execution": execution or "eager",
        "status": "ok",
        "timing": timing,
        "agreement": EQUAL,
        **fields,
    }
    return Run(strategy, mapping, **values)


def record(*runs: Run, cores: int = 2, **fields: Any) -> MapCost:
    environment = Environment(
        versions={},
        platform="",
        processor="",
        cores=cores,
        memory_bytes=None,
        devices=("CPU:0",),
        device="CPU:0",
        coverage="all",
        settings={},
        created="2026-01-01T00:00:00",
    )
    values: dict[str, Any] = {
        "workload": workload(),
        "options": MapOptions(),
        "reference": "as-written",
        "baseline": "as-written",
        **fields,
    }
    return MapCost(environment=environment, runs=runs, **values)


def codes(of: MapCost) -> list[str]:
    return [finding.code for finding in find(of)]


def the(code: str, of: MapCost) -> Finding:
    (finding,) = [finding for finding in find(of) if finding.code == code]
    return finding


def shown(finding: Finding) -> str:
    return " | ".join(f"{fact.label}: {fact.value}" for fact in finding.evidence)


def scalar_exp(**fields: Any) -> MapCost:
    probed = replace(EQUAL, probed=True)
    return record(
        row("as-written", 1.0, graph=GraphFacts(3, {"Exp": 1, "Mul": 1, "Neg": 1})),
        row("map_fn/eager", 1.0),
        row("map_fn/graph", 0.05, first=0.3),
        row("vectorized_map/graph", 40e-6, first=0.1),
        row("batched/eager", 60e-6, agreement=probed),
        row("batched/graph", 30e-6, first=0.05, agreement=probed),
        **fields,
    )


def test_scalar_exp_is_bound_by_dispatch_and_works_on_the_whole_batch() -> None:
    found = scalar_exp()
    assert codes(found) == ["batched_equivalent", "dispatch_bound", "map_fn_runs_serially"]
    bound = the("dispatch_bound", found)
    assert bound.evidence[0].value == 12_000
    assert "def faster(angles):\n    return (lambda t: tf.exp(-t * t))(angles)" in bound.snippet
    assert "@tf.function" in the("map_fn_runs_serially", found).snippet
    assert the("batched_equivalent", found).strategies == ("batched/eager", "batched/graph")


def test_the_function_form_has_its_map_fn_row_to_speak_of() -> None:
    rows = tuple(run for run in scalar_exp().runs if run.strategy != "as-written")
    found = record(
        *rows,
        workload=workload(call=None, call_text=None),
        reference="map_fn/eager",
        baseline="map_fn/eager",
    )
    assert codes(found) == ["batched_equivalent", "dispatch_bound", "map_fn_runs_serially"]


def test_a_map_that_computes_for_long_is_not_bound_by_dispatch() -> None:
    busy = OpProfile(wall_s=1.0, kernel_s=0.9, op_count=10, top=(), elements=100)
    rows = (row("as-written", 1.0, ops=busy), row("batched/graph", 0.3))
    assert "dispatch_bound" not in codes(record(*rows))


def test_what_many_cores_explain_is_not_called_dispatch() -> None:
    rows = (row("as-written", 1.0), row("batched/graph", 0.02))
    assert "dispatch_bound" in codes(record(*rows, cores=2))
    assert "dispatch_bound" not in codes(record(*rows, cores=64))


def test_a_small_share_of_kernels_is_evidence_of_dispatch() -> None:
    idle = OpProfile(wall_s=1.0, kernel_s=0.2, op_count=9000, top=(), elements=4000)
    found = the(
        "dispatch_bound", record(row("as-written", 1.0), row("map_fn/graph", 0.9, ops=idle))
    )
    assert ("%", 0.2) in [(fact.unit, fact.value) for fact in found.evidence]
    assert found.snippet == ""


def test_parallel_iterations_without_effect_are_named() -> None:
    asked = workload(arguments={"parallel_iterations": "8"})
    found = record(row("as-written", 1.0), row("map_fn/graph", 0.95), workload=asked)
    serial = the("map_fn_runs_serially", found)
    assert "parallel_iterations given, but not used: 8" in shown(serial)
    assert "parallel_iterations=8" in serial.snippet
    assert "map_fn_runs_serially" not in codes(replace(found, workload=workload()))


def test_a_map_inside_a_tf_function_does_not_run_serially() -> None:
    inside = workload(execution="graph", enclosing="score", arguments={"parallel_iterations": "8"})
    rows = (row("as-written", 0.05, execution="graph"), row("map_fn/graph", 0.01))
    assert "map_fn_runs_serially" not in codes(record(*rows, workload=inside))


def different(strategy: str, detail: str = "shape (), not (200,)") -> Run:
    return row(strategy, status="different", agreement=Agreement("different", detail=detail))


def test_a_batched_form_that_differs_is_one_finding_and_not_two() -> None:
    rows = (row("as-written", 0.1), different("batched/eager"), different("batched/graph"))
    found = record(*rows)
    assert codes(found) == ["batched_differs"]
    assert the("batched_differs", found).severity == "info"
    assert "shape (), not (200,)" in shown(the("batched_differs", found))
    named = replace(found, workload=workload(batched="norms_of_all"))
    assert the("batched_differs", named).severity == "warning"
    assert "`norms_of_all`" in the("batched_differs", named).title


def test_an_execution_that_differs_is_not_blamed_on_the_batched_form() -> None:
    found = record(row("as-written", 0.1), row("batched/graph", 0.01), different("batched/xla"))
    assert codes(found)[:2] == ["different_result", "batched_equivalent"]
    assert "batched_differs" not in codes(found)


def test_agreement_by_luck_is_no_equivalence() -> None:
    luck = different("batched/graph", "agrees on this input but not on random elements")
    found = codes(record(row("as-written", 0.1), luck))
    assert "batched_differs" in found
    assert "batched_equivalent" not in found


def test_agreement_without_a_probe_is_claimed_for_this_input_alone() -> None:
    found = record(row("as-written", 0.1), row("batched/graph", 0.01))
    assert the("batched_equivalent", found).title.endswith("on this input")
    assert not the("batched_equivalent", scalar_exp()).title.endswith("on this input")


def test_different_rows_say_by_how_much_and_which_is_nearer_the_truth() -> None:
    off = Agreement("different", 0.5, 0.1, "values differ", max_error=0.01, reference_max_error=0.5)
    found = record(row("as-written", 0.1), row("map_fn/xla", status="different", agreement=off))
    finding = the("different_result", found)
    assert finding.severity == "warning"
    assert "nearer the float64 run: map_fn/xla" in shown(finding)


@pytest.mark.parametrize("by", ["ops", "agreement"])
def test_random_numbers_are_no_different_result(by: str) -> None:
    random = GraphFacts(5, {}, random_ops=("RandomStandardNormal",)) if by == "ops" else None
    shape_only = Agreement("shape-only", detail="random streams differ")
    found = record(
        row("as-written", 0.1, graph=random),
        row("batched/graph", 0.001, agreement=shape_only if by == "agreement" else EQUAL),
        different("vectorized_map/graph"),
        row("map_fn/graph", 0.01),
    )
    assert "nondeterministic" in codes(found)
    assert {"different_result", "batched_equivalent"}.isdisjoint(codes(found))
    # Nothing suggests a batched form, which may draw the same numbers for all elements.
    assert "batched" not in " ".join(the("dispatch_bound", found).strategies)


@pytest.mark.parametrize("warned", [True, False])
def test_fallbacks_are_named_whether_or_not_tensorflow_warned(warned: bool) -> None:
    line = LogLine(
        "tensorflow", "Using a while_loop for converting Svd cause there is no converter", 1
    )
    graph = GraphFacts(50, {}, fallback_ops=("AdjustHue",))
    found = record(
        row("as-written", 0.1),
        row("vectorized_map/graph", 0.05, graph=graph),
        logs=(line,) if warned else (),
    )
    finding = the("pfor_fallback", found)
    assert [fact.value for fact in finding.evidence] == ["AdjustHue"] + ["Svd"] * warned
    assert finding.strategies == ("vectorized_map/graph",)
    assert "captured_warnings" not in codes(found)


def test_eager_vectorized_map_is_traced_on_each_call() -> None:
    again = Recompilation(traces_per_call=1.0)
    rows = (
        row("as-written", 0.03, recompilation=again),
        row("vectorized_map/eager", 0.03, recompilation=again),
        row("vectorized_map/graph", 0.001, recompilation=Recompilation(0.0)),
    )
    own = record(*rows, workload=workload(call="tf.vectorized_map"))
    finding = the("eager_vectorized_map_retraces", own)
    assert finding.severity == "advice"
    assert finding.strategies == ("as-written", "vectorized_map/eager")
    assert "tf.vectorized_map(lambda t: tf.exp(-t * t), angles)" in finding.snippet
    assert "retracing" not in codes(own)
    other = record(*rows[1:], row("as-written", 0.03))
    assert the("eager_vectorized_map_retraces", other).severity == "info"


def test_other_rows_that_are_traced_again_are_retracing() -> None:
    again = Recompilation(traces_per_call=1.0)
    found = record(row("as-written", 0.1), row("map_fn/graph", 0.1, recompilation=again))
    assert the("retracing", found).strategies == ("map_fn/graph",)


def test_python_in_the_body_is_named_with_what_xla_refused() -> None:
    body = GraphFacts(3, {"PyFunc": 1}, host_callbacks=("PyFunc",))
    refused = Failure("compile", "InvalidArgumentError", PYFUNC)
    found = record(
        row("as-written", 0.1, graph=body),
        row("map_fn/graph", 0.08, graph=body),
        row("map_fn/xla", status="failed", failure=refused, agreement=None),
    )
    assert {"host_callback", "xla_unsupported"} <= set(codes(found))
    finding = the("xla_unsupported", found)
    assert [fact.value for fact in finding.evidence] == ["PyFunc"]
    assert finding.strategies == ("map_fn/xla",)


def test_several_refused_ops_and_reasons_without_an_op_are_told() -> None:
    two = PYFUNC.replace(")", "), Foo (No registered 'Foo' OpKernel for XLA_CPU_JIT devices)", 1)
    fixed = "XLA compilation requires a fixed tensor list size. Set the max number of elements."
    for message, facts in ((two, ["PyFunc", "Foo"]), (fixed, [fixed])):
        run = row("loop/xla", status="failed", failure=Failure("compile", "E", message))
        finding = the("xla_unsupported", record(row("as-written", 1.0), run))
        assert [fact.value for fact in finding.evidence] == facts


def test_a_failure_in_xla_that_is_not_its_refusal_is_not_called_one() -> None:
    run = row("map_fn/xla", status="failed", failure=Failure("run", "MemoryError", "no memory"))
    assert codes(record(row("as-written", 1.0), run)) == []


def test_xla_slower_needs_a_wide_margin_and_names_the_op() -> None:
    profile = OpProfile(0.03, 0.03, 1, (OpTime("sine_fusion", 0.02, 1),), 1)
    rows = (row("as-written", 0.1), row("batched/graph", 0.01), row("map_fn/xla", 0.5))
    found = record(*rows, row("batched/xla", 0.03, ops=profile))
    assert the("xla_slower", found).strategies == ("batched/xla",)
    assert "sine_fusion" in shown(the("xla_slower", found))
    assert "xla_slower" not in codes(record(*rows, row("batched/xla", 0.012)))


def test_compiling_for_each_value_is_a_warning() -> None:
    hidden = Recompilation(0.0, compiles_per_new_value=1)
    traced = Recompilation(1.0, compiles_per_new_value=1)
    found = record(
        row("as-written", 0.1),
        row("vectorized_map/xla", 0.1, recompilation=hidden),
        row("map_fn/xla", 0.1, recompilation=traced),
        row("batched/xla", 0.1, recompilation=Recompilation(0.0, 0)),
    )
    assert the("recompiles_per_value", found).strategies == ("vectorized_map/xla",)
    assert the("retracing", found).strategies == ("map_fn/xla",)
    assert find(found)[0].severity == "warning"


def test_a_form_that_is_slower_in_each_call_never_pays_off() -> None:
    rows = (
        row("as-written", 0.1),
        row("map_fn/graph", 0.3, first=1.0),
        row("map_fn/xla", 0.01, first=9.0),
        row("loop/eager", 0.9),
    )
    assert the("never_pays_off", record(*rows)).strategies == ("map_fn/graph",)


def test_break_even_counts_calls() -> None:
    baseline = row("as-written", 0.5, first=0.5).timing
    assert row("map_fn/xla", 0.25, first=2.5).timing.break_even_calls(baseline) == 8
    assert row("map_fn/xla", 0.75, first=2.5).timing.break_even_calls(baseline) is None
    assert row("map_fn/xla", 0.25, first=0.25).timing.break_even_calls(baseline) == 0


def test_a_large_constant_is_named_and_a_small_one_not() -> None:
    def with_constant(size: int) -> MapCost:
        graph = GraphFacts(
            9, {}, constant_bytes=size + 8, largest_constant="c", largest_constant_bytes=size
        )
        return record(row("as-written", 0.1, graph=graph))

    assert the("baked_constant", with_constant(4 * MIB)).evidence[0].value == 4 * MIB
    assert "baked_constant" not in codes(with_constant(4096))


def test_prints_fewer_than_elements_ran_at_tracing_only() -> None:
    def printing(count: int, strategy: str) -> MapCost:
        rows = (row("as-written", 0.1), row("map_fn/eager", 0.1), row("map_fn/graph", 0.1))
        return record(*rows, logs=(LogLine("output", "running", count, strategy),))

    assert "python_side_effect" in codes(printing(1, "map_fn/graph"))
    assert codes(printing(4000, "map_fn/graph")) == []
    assert codes(printing(1, "map_fn/eager")) == []


def test_what_autograph_could_not_convert_is_named_without_an_address() -> None:
    message = (
        "AutoGraph could not transform <function f at 0x7f12ab> and will run it as-is.\n"
        "Cause: could not get source code\nTo silence this warning, decorate the function"
    )
    found = record(
        row("as-written", 0.1), logs=(LogLine("tensorflow", message, 2, "map_fn/graph"),)
    )
    finding = the("autograph_failed", found)
    assert [fact.value for fact in finding.evidence] == [
        "<function f>",
        "could not get source code",
    ]
    assert codes(found) == ["autograph_failed"]


def test_what_cannot_be_put_back_is_told() -> None:
    found = record(row("as-written", 0.1), not_repeatable=("the iterator `batches` moved on",))
    assert "batches" in shown(the("not_repeatable", found))


def points(strategy: str, *sizes: tuple[int, int]) -> tuple[ScalingPoint, ...]:
    return tuple(ScalingPoint(strategy, n, None, 0.01, peak) for n, peak in sizes)


def test_memory_that_grows_beyond_the_result_is_told_with_its_holders() -> None:
    held = (LiveTensor("MatMul", 30 * MIB, 1),)
    memory = Memory(40 * MIB, 40 * MIB, 3, 40 * MIB, 40 * MIB, 9, "all", top=held)
    rows = (
        row("as-written", 0.1),
        row("vectorized_map/graph", 0.1, memory=memory),
        row("loop/eager", 0.1),
    )
    grows = points("vectorized_map/graph", (1000, 10 * MIB), (4000, 40 * MIB))
    level = points("loop/eager", (1000, 30 * MIB), (4000, 31 * MIB))
    finding = the("memory_grows_with_batch", record(*rows, scaling=grows + level))
    assert finding.strategies == ("vectorized_map/graph",)
    assert finding.evidence[0].value == pytest.approx(10 * MIB / 1000)
    assert "MatMul" in shown(finding)
    small = points("vectorized_map/graph", (1000, 1000), (4000, 4000))
    assert "memory_grows_with_batch" not in codes(record(*rows, scaling=small))


def chunks() -> MapCost:
    memory = Memory(64 * MIB, 64 * MIB, 3, None, None, None, "all")
    scaling = tuple(
        ScalingPoint("chunked/graph", 4000, size, seconds, peak * MIB)
        for size, seconds, peak in (
            (16, 0.050, 1),
            (64, 0.012, 4),
            (256, 0.011, 16),
            (1024, 0.010, 40),
        )
    )
    rows = (
        row("as-written", 0.5),
        row("vectorized_map/graph", 0.010, memory=memory),
        row("chunked/graph", 0.011, chunk_size=256),
    )
    return record(*rows, scaling=scaling)


def test_the_chunk_size_of_the_row_is_suggested_if_it_saves_enough_else_the_fastest() -> None:
    finding = the("chunk_fits", chunks())
    lean = tuple(replace(r, chunk_size=64) if r.chunk_size else r for r in chunks().runs)
    assert the("chunk_fits", replace(chunks(), runs=lean)).evidence[0].value == 64
    fat = tuple(replace(r, chunk_size=1024) if r.chunk_size else r for r in chunks().runs)
    assert the("chunk_fits", replace(chunks(), runs=fat)).evidence[0].value == 256
    assert finding.evidence[0].value == 256
    assert "map_in_chunks(lambda t: tf.exp(-t * t), angles, 256)" in finding.snippet


def test_a_memory_limit_decides_the_chunk_size() -> None:
    limited = replace(chunks(), options=MapOptions(memory_limit_bytes=8 * MIB))
    assert the("chunk_fits", limited).evidence[0].value == 64
    tight = replace(chunks(), options=MapOptions(memory_limit_bytes=MIB // 2))
    assert "chunk_fits" not in codes(tight)


def test_chunks_stand_in_for_a_row_that_would_not_fit() -> None:
    failure = Failure("preflight", "would not fit", "needs too much", needed_bytes=10**12)
    refused = row("vectorized_map/graph", status="skipped", failure=failure, agreement=None)
    runs = tuple(refused if r.strategy == refused.strategy else r for r in chunks().runs)
    assert the("chunk_fits", replace(chunks(), runs=runs)).evidence[0].value == 256


def test_what_the_loop_keeps_for_the_backward_pass_is_counted() -> None:
    top = (
        LiveTensor("TensorArrayUnstack/TensorListFromTensor", 64 * MIB, 1),
        LiveTensor("map/while/body/_1/map/while/MatMul", 62 * MIB, 4000),
    )
    memory = Memory(192 * MIB, 192 * MIB, 1, 192 * MIB, 192 * MIB, 9, "all", top=top)
    taped = workload(with_gradient=True)
    rows = (row("as-written", 0.5), row("map_fn/graph", 0.1, memory=memory))
    finding = the("tensorlist_gradient", record(*rows, workload=taped))
    assert finding.evidence[0].value == 62 * MIB
    assert "tf.recompute_grad(lambda t: tf.exp(-t * t))" in finding.snippet
    assert "tensorlist_gradient" not in codes(record(*rows))


def test_noise_is_told_where_most_rows_are_noisy() -> None:
    def noisy(spread: float) -> MapCost:
        rows = scalar_exp().runs
        return record(
            *(replace(r, timing=replace(r.timing, spread=spread)) for r in rows if r.timing)
        )

    assert "noisy_machine" in codes(noisy(0.5))
    assert "noisy_machine" not in codes(noisy(0.1))


def test_no_warning_is_lost_and_none_is_told_twice() -> None:
    failed = row("map_fn/xla", status="failed", failure=Failure("compile", "E", PYFUNC))
    found = record(
        row("as-written", 0.1),
        failed,
        logs=(
            LogLine(
                "native",
                "W0000 00:00:1796107704.49  4135 op_kernel.cc:1858] failed",
                1,
                "map_fn/xla",
            ),
            LogLine("native", "I0000 00:00:1796107704.48  4135 service.cc:153] XLA service", 1),
            LogLine("native", "2026-01-01 10:00:00.123: I tensorflow/core/x.cc:1] fine", 1),
            LogLine(
                "native", "W0000 00:00:1796107704.49  4135 cpu.cc:1] low on memory", 1, "as-written"
            ),
            LogLine(
                "native", "W0000 00:00:1796107799.99  4135 cpu.cc:1] low on memory", 2, "as-written"
            ),
            LogLine("warning", "RuntimeWarning: divide by zero", 3),
            LogLine("tensorflow", "Using a while_loop for converting Svd cause of this", 1),
            LogLine("output", "hello", 4000, "map_fn/eager"),
        ),
    )
    finding = the("captured_warnings", found)
    assert [fact.value for fact in finding.evidence] == [
        "cpu.cc:1] low on memory",
        "RuntimeWarning: divide by zero",
    ]
    assert "pfor_fallback" in codes(found)


def test_a_log_line_about_the_tools_own_rows_is_shown_where_nothing_explains_it() -> None:
    text = "Setting parallel_iterations > 1 has no effect when executing eagerly."
    inside = workload(execution="graph", arguments={"parallel_iterations": "8"})
    line = LogLine("tensorflow", text, 1, "map_fn/eager")
    rows = (row("as-written", 0.1, execution="graph"), row("map_fn/eager", 0.5))
    assert codes(record(*rows, workload=inside, logs=(line,))) == ["captured_warnings"]
    assert "captured_warnings" not in codes(
        scalar_exp(workload=workload(arguments={"parallel_iterations": "8"}), logs=(line,))
    )


@pytest.mark.parametrize("count", [0, 1])
def test_batches_of_no_or_one_element_have_nothing_to_gain(count: int) -> None:
    unchecked = Agreement("unchecked" if count == 0 else "equal", probed=False)
    rows = (
        row("as-written", 1e-3, agreement=unchecked),
        row("batched/graph", 1e-5, agreement=unchecked),
    )
    found = codes(record(*rows, workload=workload(element_count=count, ops_per_element=None)))
    assert "dispatch_bound" not in found
    assert ("batched_equivalent" in found) == (count == 1)


def test_a_record_without_measurements_has_no_findings() -> None:
    skipped = Failure("preflight", "no elements", "no elements")
    assert find(record()) == ()
    assert find(record(row("map_fn/graph", status="skipped", failure=skipped))) == ()


def everything() -> list[Finding]:
    again = Recompilation(1.0)
    body = GraphFacts(9, {}, ("Svd",), ("PyFunc",), (), 1, 4 * MIB, "Const", 4 * MIB)
    refused = Failure("compile", "E", PYFUNC)
    mixed = record(
        row("as-written", 1.0, graph=body),
        row("map_fn/graph", 0.05, first=0.1),
        row("vectorized_map/eager", 0.03, recompilation=again),
        row("vectorized_map/graph", 1e-4),
        different("vectorized_map/xla"),
        different("batched/graph"),
        row("map_fn/xla", status="failed", failure=refused),
        not_repeatable=("the file `log` grew",),
        logs=(LogLine("warning", "RuntimeWarning: overflow", 1),),
    )
    return [*find(mixed), *find(scalar_exp()), *find(chunks())]


def test_findings_are_ordered_by_severity() -> None:
    ranks = {"warning": 0, "advice": 1, "info": 2}
    found = [ranks[f.severity] for f in everything()]
    assert found[: found.index(2)] == sorted(found[: found.index(2)])
    assert found[0] == 0


def test_titles_claim_in_words_and_code_parses() -> None:
    for finding in everything():
        assert not re.search(r"\d", finding.title.replace("float64", "")), finding.title
        assert not finding.title.endswith(".")
        assert finding.advice.endswith(".")
        ast.parse(finding.snippet)
        assert finding.link == "" or finding.link.startswith("https://www.tensorflow.org/")


def test_findings_are_data() -> None:
    for finding in everything():
        assert from_dict(Finding, to_dict(finding)) == finding


def test_the_table_is_named_after_the_claims_and_reads_nothing_of_the_verdict() -> None:
    names = [claim.__name__ for claim in MAP_FINDINGS]
    assert len(set(names)) == len(names)
    assert {finding.code for finding in everything()} <= set(names)
    found = scalar_exp()
    assert find(replace(found, findings=find(found))) == find(found)
