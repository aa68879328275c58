"""What XLA made of real functions, and what first calls took to prepare, held against paper."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tfinsight import trace_file
from tfinsight.compiler.xla import buffers, main_program, shape_bytes, xla_program
from tfinsight.tensorflow_private import resolve
from tfinsight.trace_file.first_call import (
    FUNCTION_CALL,
    KERNEL,
    OP_CALL,
    Span,
    compilations,
    optimizing,
)

MIB = 2**20


class KnownLines:
    """Lines of nodes, given."""

    def __init__(self, **known):
        self.known = known

    def line(self, name):
        return self.known.get(name)

    def lines(self, names):
        return tuple(sorted({self.known[name] for name in names if name in self.known}))


NO_LINES = KnownLines()


def steady_window(function, *args):
    """Returns the window of the second call."""
    function(*args)
    with trace_file.record() as recorder, recorder.window("steady"):
        function(*args)
    return recorder.trace.windows["steady"]


def program(function, *args, lines=NO_LINES):
    window = steady_window(function, *args)
    (hlo,) = window.hlo_modules
    return xla_program(hlo, window.op_events, lines)


@pytest.fixture(scope="module")
def wave_window():
    @tf.function(jit_compile=True)
    def wave(x):
        a = 2 * x
        b = tf.exp(-a * a)
        c = tf.sin(b) + tf.cos(a)
        return tf.reduce_sum(c, 1)

    return steady_window(wave, tf.ones([1024, 1024]))


@pytest.fixture(scope="module")
def wave(wave_window):
    (hlo,) = wave_window.hlo_modules
    lines = KnownLines(mul=2, Neg=3, mul_1=3, Exp=3, Sin=4, Cos=4, add=4, Sum=5)
    return xla_program(hlo, wave_window.op_events, lines)


def test_an_elementwise_chain_becomes_one_loop_and_a_sum(wave):
    """On paper: 2x, -a, -a*a, exp, sin, cos and + in one kernel, the sum in another."""
    (fusion,) = wave.fusions
    assert wave.fusion_count == 1, "one wrapped sum is no fusion"
    assert fusion.kind == "kLoop"
    assert fusion.members == (
        *("broadcast", "multiply", "negate", "multiply"),
        *("exponential", "sine", "cosine", "add"),
    )
    assert fusion.lines == (2, 3, 4)
    assert (wave.instructions_before, wave.instructions_after) == (8 + 1, 2)
    assert wave.parameters == 1
    assert "wave" in wave.name


def test_the_chain_saves_all_results_but_its_last(wave):
    (fusion,) = wave.fusions
    assert (fusion.read_bytes, fusion.written_bytes) == (4 * MIB, 4 * MIB)
    # Six results of 4 MiB: 2x, -a, -a*a, exp, sin, cos; the 2, broadcast, is none.
    assert fusion.saved_bytes == wave.saved_bytes == 6 * 4 * MIB


def test_the_chain_needs_one_temporary_between_its_two_kernels(wave):
    assert wave.argument_bytes == 4 * MIB
    assert wave.output_bytes == 4 * 1024
    assert wave.temporary_bytes == 4 * MIB
    assert wave.constant_bytes == 0


def test_a_fusion_has_the_time_of_its_kernel(wave, wave_window):
    (fusion,) = wave.fusions
    (event,) = (e for e in wave_window.op_events if e.kind == fusion.name)
    assert fusion.seconds == pytest.approx(event.end_s - event.start_s)
    assert event.name == event.kind


def test_a_kernel_without_an_event_has_no_time(wave_window):
    (hlo,) = wave_window.hlo_modules
    (fusion,) = xla_program(hlo, (), NO_LINES).fusions
    assert fusion.seconds is None
    assert fusion.lines == ()


def test_a_loop_counts_its_body_once_and_the_time_of_all_rounds():
    @tf.function(jit_compile=True)
    def loop(x):
        return tf.map_fn(lambda row: tf.nn.relu(tf.linalg.matvec(x, row) + 1.0), x)

    window = steady_window(loop, tf.ones([64, 64]))
    (hlo,) = window.hlo_modules
    facts = xla_program(hlo, window.op_events, NO_LINES)
    added = next(fusion for fusion in facts.fusions if fusion.members == ("broadcast", "add"))
    assert sum(event.kind == added.name for event in window.op_events) == 64
    assert (added.read_bytes, added.written_bytes, added.saved_bytes) == (256, 256, 0)
    assert facts.instructions_after < 64
    assert facts.argument_bytes == facts.output_bytes == 4 * 64 * 64


def test_a_view_at_the_end_is_not_what_a_fusion_saves():
    """The result of a product of three is written; that it has another shape makes none more."""

    @tf.function(jit_compile=True)
    def reshaped(x):
        return tf.reshape(tf.exp(x) * 3.0, [-1])

    facts = program(reshaped, tf.ones([100, 50]))
    (fusion,) = facts.fusions
    assert fusion.saved_bytes == 4 * 100 * 50  # of the exponential alone
    assert fusion.written_bytes == 4 * 100 * 50


def test_an_argument_that_takes_the_result_is_an_argument():
    allocation = {
        "argument": {"size": 8, "is_entry_computation_parameter": True},
        "both": {"size": 16, "is_entry_computation_parameter": True, "maybe_live_out": True},
        "output": {"size": 32, "maybe_live_out": True},
        "constant": {"size": 64, "is_constant": True},
        "temporary": {"size": 128},
        "stack": {"size": 256, "is_thread_local": True},
    }
    proto = resolve("HloProto")()
    for values in allocation.values():
        proto.buffer_assignment.buffer_allocations.add(**values)
    assert buffers(proto.buffer_assignment) == (8 + 16, 32, 128, 64)


@pytest.mark.parametrize(
    ("kind", "dimensions", "expected"),
    [
        ("F32", [2, 3], 24),
        ("PRED", [5], 5),
        ("BF16", [4], 8),
        ("C64", [2], 16),
        ("C128", [], 16),
        ("F8E4M3FN", [7], 7),
        ("S4", [3], 3),
        ("TOKEN", [], 0),
    ],
)
def test_bytes_of_a_shape(kind, dimensions, expected):
    proto = resolve("HloProto")()
    shape = proto.hlo_module.computations.add().instructions.add().shape
    shape.element_type = resolve("PrimitiveType").Value(kind)
    shape.dimensions.extend(dimensions)
    assert shape_bytes(shape) == expected


def test_of_several_programs_the_one_with_the_function_s_name_is_taken():
    def module(name, instructions):
        proto = resolve("HloProto")()
        proto.hlo_module.name = name
        computation = proto.hlo_module.computations.add()
        for _ in range(instructions):
            computation.instructions.add()
        return proto.SerializeToString()

    step, large_step = module("a_inference_step_17__X.2", 1), module("a_inference_step_9__X.2", 5)
    other = module("a_inference_my_step_3__X.2", 50)
    assert main_program([other, step, large_step], "step") == large_step
    assert main_program([other, step], "my_step") == other
    assert main_program([step, other], "absent") == other
    assert main_program([step], "absent") == step
    assert main_program([], "step") is None


def test_a_lambda_s_program_is_found():
    functions = [tf.function(lambda x, n=n: tf.exp(x) * n, jit_compile=True) for n in (2.0, 3.0)]

    @tf.function
    def both(x):
        return functions[0](x) + functions[1](x)

    modules = steady_window(both, tf.ones([100])).hlo_modules
    assert len(modules) == 2
    assert main_program(modules, "<lambda>") in modules


def first_and_second(function, *args):
    with trace_file.record() as recorder:
        for name in ("first", "second"):
            with recorder.window(name):
                function(*args)
    return recorder.trace.windows["first"], recorder.trace.windows["second"]


def chain(x):
    for _ in range(10):
        x = tf.nn.relu(x @ x + 1.0)
    return x


def test_the_first_call_of_a_graph_optimizes_and_the_second_does_not():
    first, second = first_and_second(tf.function(chain), tf.ones([10, 10]))
    assert 0.0005 < first.optimize_s < first.duration_s
    assert second.optimize_s == 0
    assert (first.compile_s, second.compile_s) == (0, 0)


def test_compiling_is_more_than_making_machine_code():
    """tf2xla and XLA's own passes come before its backend; both parts are in the time."""
    first, second = first_and_second(tf.function(chain, jit_compile=True), tf.ones([10, 10]))
    assert (first.compile_count, second.compile_count) == (1, 0)
    assert second.compile_s == second.optimize_s == 0
    assert first.compile_s + first.optimize_s < first.duration_s
    assert first.op_events, "the program ran in the first window, too"
    assert first.compile_s < min(event.start_s for event in first.op_events)


def test_a_compiled_function_that_a_graph_calls_compiles_apart_from_what_the_graph_does():
    inner = tf.function(chain, jit_compile=True)
    outer = tf.function(lambda x: chain(inner(x) * 2.0))
    first, second = first_and_second(outer, tf.ones([10, 10]))
    assert first.compile_count == 1
    assert first.compile_s > 0
    assert first.optimize_s > 0
    assert first.compile_s + first.optimize_s < first.duration_s
    assert (second.compile_count, second.compile_s, second.optimize_s) == (0, 0, 0)


def test_eager_ops_neither_optimize_nor_compile():
    first, _ = first_and_second(chain, tf.ones([10, 10]))
    assert (first.optimize_s, first.compile_s) == (0, 0)
    assert {event.name for event in first.op_events} == {event.kind for event in first.op_events}


def test_kernels_of_a_graph_have_the_names_of_its_nodes():
    @tf.function
    def named(x):
        return tf.cumsum(tf.cumsum(x, name="first"), reverse=True, name="second")

    window = steady_window(named, tf.ones([1_000_000]))
    assert [(e.name, e.kind) for e in window.op_events] == [
        ("first", "Cumsum"),
        ("second", "Cumsum"),
    ]


MS = 10**9  # picoseconds


def test_optimizing_lies_between_the_copy_of_inputs_and_their_check():
    call = [
        Span(FUNCTION_CALL, 0, 50 * MS),
        Span("EagerCopyToDevice", 0, 1 * MS),
        Span("ValidateInputTypeAndPlacement", 11 * MS, 11 * MS),
        Span("KernelAndDeviceFunc::Run", 12 * MS, 50 * MS),
        Span("FunctionRun", 15 * MS, 49 * MS),
    ]
    assert optimizing(call) == (11 - 1) * MS + (15 - 12) * MS
    assert optimizing([Span(OP_CALL, 0, 50 * MS), *call[1:]]) == 0, "an op's kernel is made, too"
    known = [call[0], Span("EagerCopyToDevice", 0, 11 * MS), *call[2:]]
    assert optimizing(known) == 0, "a large input took long to copy"


def test_compiling_lies_between_what_calls_it_and_what_it_starts():
    backend = [
        Span("CpuCompiler::RunBackend", 20 * MS, 30 * MS),
        Span("JitCompiler::Compile", 22 * MS, 29 * MS),
    ]
    run = Span("CpuExecutable::ExecuteAsyncOnStream", 32 * MS, 40 * MS)
    eager = [
        Span(FUNCTION_CALL, 0, 50 * MS),
        Span("ValidateInputTypeAndPlacement", 1 * MS, 2 * MS),
        *backend,
        run,
    ]
    assert list(compilations(eager)) == [(2 * MS, 32 * MS, 1)]
    in_a_graph = [Span(KERNEL, 5 * MS, 45 * MS), *backend, run]
    assert list(compilations(in_a_graph)) == [(5 * MS, 32 * MS, 1)]
    not_run = [Span(KERNEL, 5 * MS, 31 * MS), *backend]
    assert list(compilations(not_run)) == [(5 * MS, 31 * MS, 1)]
    assert list(compilations(backend)) == [(20 * MS, 30 * MS, 1)]
    assert list(compilations([eager[0], eager[1], run])) == []
