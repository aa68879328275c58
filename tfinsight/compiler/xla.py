"""The program that XLA compiled, from the optimized module that a trace holds.

A serialized `HloProto` has the instructions after optimization and the plan of the memory. On the CPU
of TensorFlow 2.21 each kernel is one instruction of the entry computation, or of the body of a loop or
a branch, and its event has the instruction's name. Many of these are fusions in form alone: a single
instruction that is wrapped to be compiled (`wrapped_add`), or handed to a library (`ynn_fusion` around
one `reduce`). Only what joins several instructions counts as a fusion here.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tfinsight.records import Fusion, XlaProgram
from tfinsight.tensorflow_private import resolve
from tfinsight.trace_file import OpEvent

MOST_FUSIONS = 40
# These give what is there already a name, and nothing runs for them.
NAMING = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
# These run other computations, whose instructions are counted in their place.
CONTROL = frozenset({"call", "while", "conditional", "async-start"})
AFTER_CONTROL = frozenset({"async-update", "async-done"})
# TensorFlow puts the options of the function into the name of its module.
_OPTIONS_IN_NAME = re.compile(r"__XlaMustCompile.*$")
_NUMBER_OF_BITS = re.compile(r"[A-Z]+(\d+)")


class Lines(Protocol):
    """What knows the lines of the cell that nodes of the graph come from."""

    def line(self, name: str) -> int | None:
        """Returns the line of one node."""

    def lines(self, names: Sequence[str]) -> tuple[int, ...]:
        """Returns the lines of several nodes."""


class _Module(NamedTuple):
    """Computations and instructions of a module by number."""

    computations: Mapping[int, Any]
    instructions: Mapping[int, Any]


class Buffers(NamedTuple):
    """Bytes of the buffers that a program is planned to need, by what they are for."""

    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
    constant_bytes: int


def main_program(modules: Sequence[bytes], function_name: str) -> bytes | None:
    """Returns the program of the measured function where several ran in its window.

    Args:
        modules: serialized `HloProto`s.
        function_name: of the Python function that was compiled, which TensorFlow puts into the name of
            the module; of equally good names, the module with most instructions is taken.
    """
    if len(modules) < 2:
        return modules[0] if modules else None
    name = re.compile(rf"inference_{re.sub(r'[^A-Za-z0-9_]', '_', function_name)}_\d+")

    def fitness(hlo: bytes) -> tuple[bool, int]:
        module = resolve("HloProto").FromString(hlo).hlo_module
        count = sum(len(computation.instructions) for computation in module.computations)
        return bool(name.search(module.name)), count

    return max(modules, key=fitness)


def xla_program(hlo: bytes, op_events: Iterable[OpEvent], lines: Lines) -> XlaProgram:
    """Describes a compiled program.

    Args:
        hlo: serialized `HloProto` of the optimized module, with its buffer assignment.
        op_events: kernels of one steady call.
        lines: of the cell, for the nodes that instructions come from.
    """
    proto = resolve("HloProto").FromString(hlo)
    module = _indexed(proto.hlo_module)
    entry = module.computations[proto.hlo_module.entry_computation_id]
    running = list(_running(entry, module))
    parts = {i.id: list(_parts(i, module)) for i in running if i.opcode == "fusion"}
    seconds: dict[str, float] = defaultdict(float)
    for event in op_events:
        seconds[event.kind] += event.end_s - event.start_s
    fusions = [
        _fusion(instruction, parts[instruction.id], module, seconds, lines)
        for instruction in running
        if len(parts.get(instruction.id, ())) > 1
    ]
    fusions.sort(key=lambda f: (-(f.seconds or 0.0), -f.saved_bytes, f.name))
    return XlaProgram(
        name=_OPTIONS_IN_NAME.sub("", proto.hlo_module.name),
        instructions_before=sum(len(parts.get(i.id, (i,))) for i in running),
        instructions_after=len(running),
        parameters=sum(i.opcode == "parameter" for i in entry.instructions),
        fusions=tuple(fusions[:MOST_FUSIONS]),
        fusion_count=len(fusions),
        saved_bytes=sum(fusion.saved_bytes for fusion in fusions),
        **buffers(proto.buffer_assignment)._asdict(),
    )


def buffers(assignment: Any) -> Buffers:
    """Sums up a `BufferAssignmentProto` as XLA's own `CompiledMemoryStats` does.

    One difference: an argument whose buffer also takes a result is an argument alone here, there both.
    Buffers of single threads, which live on their stacks, are left out by both.
    """
    sums = dict.fromkeys(Buffers._fields, 0)
    for allocation in assignment.buffer_allocations:
        if allocation.is_thread_local:
            continue
        if allocation.is_entry_computation_parameter:
            sums["argument_bytes"] += allocation.size
        elif allocation.maybe_live_out:
            sums["output_bytes"] += allocation.size
        elif allocation.is_constant:
            sums["constant_bytes"] += allocation.size
        else:
            sums["temporary_bytes"] += allocation.size
    return Buffers(**sums)


def shape_bytes(shape: Any) -> int:
    """Returns the bytes of the values of a `ShapeProto`, those of a tuple's elements in all."""
    if shape.tuple_shapes:
        return sum(shape_bytes(element) for element in shape.tuple_shapes)
    kind = resolve("PrimitiveType").Name(shape.element_type)
    if kind == "PRED":
        return int(math.prod(shape.dimensions))
    found = _NUMBER_OF_BITS.match(kind)
    if found is None:  # tokens and opaque values
        return 0
    # Numbers of less than a byte fill one each unless the layout says that they are packed.
    bits = shape.layout.element_size_in_bits or max(8, int(found[1]))
    return -(-int(math.prod(shape.dimensions)) * int(bits) // 8)


def _indexed(module: Any) -> _Module:
    computations = {computation.id: computation for computation in module.computations}
    return _Module(computations, {i.id: i for c in computations.values() for i in c.instructions})


def _running(entry: Any, module: _Module) -> Iterator[Any]:
    """Returns the instructions that run one by one, each once, loops' and branches' included."""
    seen, left = {entry.id}, [entry]
    while left:
        for instruction in left.pop().instructions:
            if instruction.opcode in CONTROL:
                called = [i for i in instruction.called_computation_ids if i not in seen]
                seen.update(called)
                left.extend(module.computations[i] for i in called)
            elif instruction.opcode not in NAMING | AFTER_CONTROL:
                yield instruction


def _parts(fusion: Any, module: _Module) -> Iterator[Any]:
    """Returns the instructions in a fusion that do something, those of fusions in it included."""
    for number in fusion.called_computation_ids:
        for instruction in module.computations[number].instructions:
            if instruction.opcode == "fusion":
                yield from _parts(instruction, module)
            elif instruction.opcode not in NAMING:
                yield instruction


def _fusion(
    fusion: Any, parts: Sequence[Any], module: _Module, seconds: Mapping[str, float], lines: Lines
) -> Fusion:
    operands = [module.instructions[number] for number in dict.fromkeys(fusion.operand_ids)]
    names = dict.fromkeys(part.metadata.op_name for part in parts if part.metadata.op_name)
    written = set(_results(fusion, module))
    return Fusion(
        name=fusion.name,
        kind=fusion.fusion_kind,
        members=tuple(part.opcode for part in parts),
        lines=lines.lines(tuple(names)),
        seconds=seconds.get(fusion.name),
        read_bytes=sum(shape_bytes(operand.shape) for operand in operands),
        written_bytes=shape_bytes(fusion.shape),
        saved_bytes=sum(
            shape_bytes(part.shape)
            for part in parts
            if part.id not in written and not _free(part, module)
        ),
    )


def _results(instruction: Any, module: _Module) -> Iterator[int]:
    """Returns the instructions whose results are those of `instruction`, by number."""
    if instruction.opcode == "fusion":
        for number in instruction.called_computation_ids:
            root = module.instructions[module.computations[number].root_id]
            yield from _results(root, module)
    elif instruction.opcode in ("tuple", "bitcast"):
        for number in instruction.operand_ids:
            yield from _results(module.instructions[number], module)
    else:
        yield instruction.id


def _free(instruction: Any, module: _Module) -> bool:
    """Tells whether nobody would write this to memory: a view, or values that need no reading."""
    if instruction.opcode == "broadcast":
        (operand,) = instruction.operand_ids
        return not module.instructions[operand].shape.dimensions
    return instruction.opcode in ("iota", "reshape")
