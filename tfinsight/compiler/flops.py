"""Floating-point operations of a traced graph, by TensorFlow's own registry of statistics.

The registry has a count for some fifty kinds of op (`tf.compat.v1.profiler` uses the same): products,
convolutions, sums and simple elementwise ops, each element counted once. What it has none for is named.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from tfinsight.compiler.graph import BRANCHES, CALLS, LOOPS, scoped_graphs
from tfinsight.tensorflow_private import resolve

# Kinds of op that hand values on, place them elsewhere or compare them, and compute none.
_NOT_ARITHMETIC = """
    Placeholder PlaceholderWithDefault Const Identity IdentityN NoOp Snapshot CopyHost DeepCopy
    StopGradient PreventGradient EnsureShape Assert CheckNumerics CheckNumericsV2 Print PrintV2
    StringFormat AsString VarHandleOp ReadVariableOp AssignVariableOp VariableShape Shape ShapeN Size Rank
    Reshape Squeeze ExpandDims Bitcast Cast Pack Unpack Concat ConcatV2 Split SplitV Slice StridedSlice
    StridedSliceGrad TensorStridedSliceUpdate Gather GatherV2 GatherNd ResourceGather ResourceGatherNd
    ScatterNd ScatterUpdate ResourceScatterUpdate TensorScatterUpdate Transpose ConjugateTranspose Tile
    BroadcastTo Fill ZerosLike OnesLike Empty EmptyTensorList Pad PadV2 MirrorPad Reverse ReverseV2
    ReverseSequence Roll Select SelectV2 Where BooleanMask DynamicPartition DynamicStitch
    ParallelDynamicStitch DepthToSpace SpaceToDepth BatchToSpaceND SpaceToBatchND Diag DiagPart MatrixDiag
    MatrixDiagV2 MatrixDiagV3 MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixSetDiag
    MatrixSetDiagV2 MatrixSetDiagV3 MatrixBandPart TopK TopKV2 NthElement Unique UniqueV2
    UniqueWithCounts OneHot ExtractImagePatches ExtractVolumePatches Real Imag Complex IsNan IsInf IsFinite
    ApproximateEqual Switch Merge Enter Exit NextIteration LoopCond OptionalFromValue
    OptionalGetValue IteratorGetNext TensorListReserve TensorListFromTensor TensorListGetItem
    TensorListSetItem TensorListStack TensorListPushBack TensorListPopBack TensorListGather
    TensorListScatter TensorListScatterV2 TensorListConcatV2 TensorListSplit TensorListResize
    RaggedTensorToTensor RaggedTensorFromVariant RaggedTensorToVariant RaggedGather SparseReshape
    SparseToDense SparseSlice SparseReorder
"""
NOT_ARITHMETIC = frozenset(_NOT_ARITHMETIC.split())


@dataclass
class Flops:
    """Floating-point operations.

    Attributes:
        count: those that the registry has a count for.
        known: all shapes were, that they depend on.
        uncounted: kinds of op that the registry has no count for; a loop or branch is one if it can't
            be told from the graph how often it runs.
    """

    count: int = 0
    known: bool = True
    uncounted: set[str] = field(default_factory=set)

    def add(self, part: Flops, times: int = 1) -> None:
        """Adds what runs a number of times."""
        self.count += times * part.count
        self.known = self.known and part.known
        self.uncounted |= part.uncounted


def flops(graph: Any) -> Flops:
    """Counts the operations of one run of a traced graph, bodies of called functions included.

    A loop whose greatest number of iterations is a constant (`map_fn`, `scan`, a loop over a constant
    range) counts that often; it is an upper bound where a condition ends it earlier. Of branches that
    differ, the one that does least counts, and the branch is named as uncounted.
    """
    resolve("flops_registry")
    with resolve("silent_deprecations")():
        return _of_graph(graph)


def is_floating(tensors: Iterable[Any]) -> bool:
    """Tells whether any of the tensors has real or complex numbers."""
    return any(tensor.dtype.is_floating or tensor.dtype.is_complex for tensor in tensors)


def _of_graph(graph: Any) -> Flops:
    total = Flops()
    for op in graph.get_operations():
        if op.type in LOOPS | BRANCHES | CALLS:
            total.add(_of_call(op))
        elif op.type not in NOT_ARITHMETIC and is_floating((*op.inputs, *op.outputs)):
            total.add(_of_op(op))
    return total


def _of_call(op: Any) -> Flops:
    parts = [_of_graph(body) for _, body in scoped_graphs(op)]
    total = Flops()
    if op.type in BRANCHES and len({part.count for part in parts}) > 1:
        total.uncounted.add(op.type)
        parts = [min(parts, key=lambda part: part.count)]
    elif op.type in BRANCHES:
        parts = parts[:1]
    times = _iterations(op) if op.type in LOOPS else 1
    if times is None and any(part.count or part.uncounted for part in parts):
        total.uncounted.add(op.type)
    for part in parts:
        total.add(part, times or 0)
    return total


def _of_op(op: Any) -> Flops:
    try:
        value = resolve("node_statistics")(op.graph, op.node_def, "flops").value
    except ValueError:
        if not all(t.shape.is_fully_defined() for t in (*op.inputs, *op.outputs)):
            return Flops(known=False)
        value = None  # there is a count, but not for this form of the op
    return Flops(uncounted={op.type}) if value is None else Flops(int(value))


def _iterations(loop: Any) -> int | None:
    """Returns the greatest number of iterations of a loop, its second input, if it is a constant."""
    if len(loop.inputs) < 2 or loop.inputs[1].dtype != tf.int32 or loop.inputs[1].shape.rank != 0:
        return None
    limit = tf.get_static_value(loop.inputs[1])
    return None if limit is None or limit < 0 else int(limit)
