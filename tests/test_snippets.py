"""Snippets are complete: each one runs as it stands and gives what `tf.map_fn` gives."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tfinsight.findings.snippets import strategy_code
from tfinsight.records import Execution, WorkloadFacts
from tfinsight.workload import tensor_facts

COUNT = 7  # not divisible by the chunk size
CHUNK = 3
MAPPINGS = ("loop", "map_fn", "vectorized_map", "batched", "chunked", "dataset")


@dataclass(frozen=True)
class Case:
    function: str
    elements: str
    arguments: dict[str, str] = field(default_factory=dict)
    call: str | None = "tf.map_fn"
    without: tuple[str, ...] = ()
    assigned_name: str | None = "y"
    batched: str | None = None


CASES = {
    "lambda": Case("lambda t: tf.exp(-t * t)", "angles"),
    "named function": Case("smooth", "signals"),
    "lambda over lines": Case(
        "lambda s: (\n    s * 2.0\n    + 1.0)  # a comment\n    if True else\n  s", "signals"
    ),
    "expression": Case("lambda s: tf.abs(s)", "signals - 1"),
    "numpy elements": Case("tf.square", "array", assigned_name=None),
    "dictionary": Case("lambda p: p['a'] * p['b']", "pairs", {"fn_output_signature": "tf.float32"}),
    "tuple": Case(
        "lambda p: p[0] - p[1]", "(angles, angles)", {"fn_output_signature": "tf.float32"}
    ),
    "list": Case("lambda p: p[0] - p[1]", "both", {"fn_output_signature": "tf.float32"}),
    "other dtype": Case(
        "lambda r: tf.argmax(r, axis=-1, output_type=tf.int32)",
        "signals",
        {"fn_output_signature": "tf.int32", "parallel_iterations": "2"},
    ),
    "other dtype, no signature given": Case(
        "lambda r: tf.argmax(r, axis=-1, output_type=tf.int32)", "signals", call=None
    ),
    "structured result": Case(
        "lambda r: {'s': tf.reduce_sum(r, -1), 'p': (r > 0, r)}",
        "signals",
        call="tf.vectorized_map",
    ),
    "made-up names taken": Case("lambda elems: elems * element + faster", "signals[1:]"),
    "batched form named": Case(
        "lambda r: tf.tensordot(r, r, 1)",
        "signals",
        {"fn_output_signature": "tf.float32"},
        batched="dots",
    ),
    "ragged elements": Case(
        "lambda r: tf.reduce_sum(r)",
        "rows",
        {"fn_output_signature": "tf.float32"},
        without=("vectorized_map", "batched"),
    ),
    "ragged result": Case(
        "lambda r: r[r > 0]",
        "signals",
        {"fn_output_signature": "tf.RaggedTensorSpec([None], tf.float32)"},
        without=("vectorized_map", "batched"),
    ),
}


def names() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    signals = tf.constant(rng.normal(size=(COUNT, 4)), tf.float32)
    return {
        "tf": tf,
        "angles": tf.linspace(0.0, 1.0, COUNT),
        "signals": signals,
        "array": rng.normal(size=(COUNT, 2)),
        "pairs": {"a": signals, "b": signals + 1.0},
        "both": [signals, tf.ones_like(signals)],
        "rows": tf.ragged.constant([[1.0], [], [2.0, 3.0], [4.0], [], [5.0], [6.0, 7.0]]),
        "element": 3.0,
        "faster": 0.5,
        "smooth": lambda s: (s + tf.cumsum(s, -1)) / 2.0,
        "dots": lambda batch: tf.einsum("ni,ni->n", batch, batch),
        "mine": lambda batch: tf.exp(-batch * batch),
    }


def expected(case: Case, workload: WorkloadFacts, space: dict[str, Any]) -> Any:
    function = eval(f"(\n{case.function}\n)", dict(space))
    elements = eval(case.elements, dict(space))
    if case.call == "tf.map_fn":
        arguments = {name: eval(text, dict(space)) for name, text in case.arguments.items()}
        return tf.map_fn(function, elements, **arguments)
    return tf.vectorized_map(function, elements)


def workload_of(case: Case) -> tuple[WorkloadFacts, Any]:
    space = names()
    bare = WorkloadFacts(
        function=case.function,
        elements=case.elements,
        call=case.call,
        call_text=None,
        place="",
        enclosing=None,
        execution="eager",
        with_gradient=False,
        element_count=COUNT,
        inputs=tensor_facts(eval(case.elements, dict(space))),
        outputs=(),
        arguments=case.arguments,
        assigned_name=case.assigned_name,
        ops_per_element=None,
        batched=case.batched,
        source="",
        call_number=1,
        other_calls=(),
    )
    result = expected(case, bare, space)
    return replace(bare, outputs=tensor_facts(result)), result


def run(code: str, target: str = "y", space: dict[str, Any] | None = None) -> Any:
    space = names() if space is None else space
    # As in a notebook, AutoGraph finds the source.
    name = f"<snippet {len(linecache.cache)}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec"), space)
    return space[target]


def assert_same(result: Any, reference: Any) -> None:
    if isinstance(reference, tf.RaggedTensor):  # the dtype of row splits may differ
        assert result.to_list() == reference.to_list()
        return
    tf.nest.assert_same_structure(result, reference, expand_composites=True)
    for a, b in zip(
        tf.nest.flatten(result, expand_composites=True),
        tf.nest.flatten(reference, expand_composites=True),
        strict=True,
    ):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("execution", ["eager", "graph"])
@pytest.mark.parametrize("name", CASES)
def test_every_form_runs_and_gives_the_result_of_the_map(name: str, execution: Execution) -> None:
    case = CASES[name]
    workload, reference = workload_of(case)
    for mapping in MAPPINGS:
        code = strategy_code(workload, mapping, execution, CHUNK if mapping == "chunked" else None)
        if mapping in case.without:
            continue
        if mapping == "chunked" and "ragged" in name:
            assert code == ""
            continue
        assert ("@tf.function" in code) == (execution == "graph"), code
        assert_same(run(code, case.assigned_name or "result"), reference)


@pytest.mark.parametrize("name", ["lambda", "dictionary"])
@pytest.mark.parametrize("mapping", ["loop", "map_fn", "vectorized_map", "batched", "chunked"])
def test_compiled_forms_run(name: str, mapping: str) -> None:
    workload, reference = workload_of(CASES[name])
    code = strategy_code(workload, mapping, "xla", CHUNK if mapping == "chunked" else None)
    assert "jit_compile=True" in code
    assert_same(run(code), reference)


@pytest.mark.parametrize("size", [1, COUNT, 100])
@pytest.mark.parametrize("execution", ["eager", "graph"])
def test_chunks_of_any_size_cover_all_elements(size: int, execution: Execution) -> None:
    workload, reference = workload_of(CASES["dictionary"])
    assert_same(run(strategy_code(workload, "chunked", execution, size)), reference)


def test_the_plainest_case_reads_as_a_person_would_write_it() -> None:
    workload, _ = workload_of(CASES["lambda"])
    assert strategy_code(workload, "batched", "graph") == (
        "@tf.function\n"
        "def faster(angles):\n"
        "    return (lambda t: tf.exp(-t * t))(angles)\n"
        "\n"
        "y = faster(angles)\n"
    )
    assert strategy_code(workload, "map_fn", "eager") == (
        "y = tf.map_fn(lambda t: tf.exp(-t * t), angles)\n"
    )


def test_a_variant_is_called_by_its_name() -> None:
    workload, reference = workload_of(CASES["lambda"])
    assert strategy_code(workload, "mine", "eager") == "y = mine(angles)\n"
    assert_same(run(strategy_code(workload, "mine", "graph")), reference)


def test_the_row_as_written_is_the_users_own_call() -> None:
    workload, reference = workload_of(CASES["lambda"])
    call = "tf.map_fn(lambda t: tf.exp(-t * t), angles)"
    code = strategy_code(replace(workload, call_text=call), "as-written", "eager")
    assert code == f"y = {call}\n"
    assert_same(run(code), reference)
    assert strategy_code(workload, "as-written", "eager") == ""


def test_under_a_tape_the_code_says_so_and_gives_the_gradient() -> None:
    workload, _ = workload_of(CASES["lambda"])
    code = strategy_code(replace(workload, with_gradient=True), "map_fn", "graph")
    assert "# Keep this under your tf.GradientTape.\ny = " in code
    space = names()
    with tf.GradientTape() as tape:
        tape.watch(space["angles"])
        run(code, space=space)
    angles = space["angles"]
    gradient = tape.gradient(space["y"], angles)
    np.testing.assert_allclose(gradient, -2.0 * angles * tf.exp(-angles * angles), rtol=1e-5)


@pytest.mark.parametrize("unknown", [{"function": "<lambda>"}, {"function": ""}, {"elements": ""}])
def test_without_the_source_there_is_no_code(unknown: dict[str, str]) -> None:
    workload, _ = workload_of(CASES["lambda"])
    assert strategy_code(replace(workload, **unknown), "map_fn", "graph") == ""


def test_recomputing_in_the_backward_pass_is_a_function_like_any_other() -> None:
    workload, reference = workload_of(CASES["lambda"])
    recomputing = replace(workload, function=f"tf.recompute_grad({workload.function})")
    assert_same(run(strategy_code(recomputing, "map_fn", "graph")), reference)


def test_chunks_need_a_size() -> None:
    workload, _ = workload_of(CASES["lambda"])
    assert strategy_code(workload, "chunked", "graph") == ""
