"""Bytes that the ops of an optimized graph read and write in one call, from static shapes."""

from __future__ import annotations

import math
import re
from typing import Any

import tensorflow as tf

# Their results share the memory of their inputs, or they only hold what is there already.
_VIEWS = """
    _Arg _Retval Placeholder Const Identity IdentityN NoOp StopGradient PreventGradient EnsureShape
    Reshape Squeeze ExpandDims Bitcast Shape ShapeN Size Rank VariableShape ReadVariableOp VarHandleOp
    AssignVariableOp Assert
"""
VIEWS = frozenset(_VIEWS.split())
# They read of their first input no more than they write.
PICKING = re.compile(r"(Resource)?Gather(V2|Nd)?$|(Strided)?Slice$")
# They read and write the variables whose handles they take.
UPDATES = re.compile(r"ResourceApply|Assign(Add|Sub)VariableOp$")
# How often these run what, is not in the graph.
CONTROL = re.compile(
    r"(Stateful|Stateless)?(PartitionedCall|While|If|Case)$|(Ref)?(Switch|Merge|Enter)$|\w*PyFunc$"
)


def moved_bytes(definition: Any) -> int | None:
    """Returns the bytes that the ops of an optimized graph read and write in one call.

    Each op reads its inputs and writes its outputs, whole; views move nothing.

    Args:
        definition: `GraphDef` of the optimized graph, functions inlined. Shapes of its arguments are in
            it, and TensorFlow's own inference gives all others.

    Returns:
        the bytes; `None` where a shape is unknown, a type has no fixed size, or there are loops,
        branches or calls.
    """
    if any(CONTROL.match(node.op) for node in definition.node):
        return None
    graph = tf.Graph()
    try:
        with graph.as_default():
            tf.import_graph_def(definition, name="")
    except (ValueError, tf.errors.OpError):  # an op that only the runtime knows
        return None
    sizes = [_moved(op) for op in graph.get_operations() if op.type not in VIEWS]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _moved(op: Any) -> int | None:
    written = [_size(tensor) for tensor in op.outputs]
    if PICKING.match(op.type):
        read = [*written, *(_size(tensor) for tensor in list(op.inputs)[1:])]
    elif UPDATES.match(op.type):
        handles = [_behind(t) for t in op.inputs if t.dtype == tf.resource]
        values = [_size(t) for t in op.inputs if t.dtype != tf.resource]
        read, written = [*handles, *values], handles
    else:
        read = [_size(tensor) for tensor in op.inputs]
    sizes = [*read, *written]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _size(tensor: Any) -> int | None:
    count, dtype = tensor.shape.num_elements(), tensor.dtype.base_dtype
    if count is None or dtype in (tf.string, tf.resource, tf.variant):
        return None
    return int(count) * int(dtype.size)


def _behind(handle: Any) -> int | None:
    """Returns the bytes of the variable that an argument is the handle of."""
    try:
        (shape,), (dtype,) = (
            handle.op.get_attr(name) for name in ("_handle_shapes", "_handle_dtypes")
        )
    except ValueError:
        return None
    dimensions = [dimension.size for dimension in shape.dim]
    if shape.unknown_rank or min(dimensions, default=0) < 0:
        return None
    return int(math.prod(dimensions)) * int(tf.dtypes.as_dtype(dtype).size)
