"""How a function of one element covers a batch: one builder a mapping, in one literal table.

A builder takes the workload and a plan and returns a function of the elements. In graph and XLA
execution AutoGraph converts these functions, and through them the user's, as it would the user's own
code.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfinsight.records import AS_WRITTEN
from tfinsight.workload import Function, Gradient, Workload


@dataclass(frozen=True)
class Plan:
    """What must be known before a mapping can be built.

    Attributes:
        output_signature: structure of `tf.TypeSpec`s of one element's result, or `None` for that of
            the elements.
        chunk_size: elements a chunk.
        gradient: what to differentiate with respect to, or `None` for the forward pass alone.
    """

    output_signature: Any = None
    chunk_size: int = 1
    gradient: Gradient | None = None


class UnsupportedError(ValueError):
    """This mapping has no form for this workload; the message says why."""


def as_written(workload: Workload, plan: Plan) -> Function:
    """The user's own call, its arguments included."""
    call = tf.vectorized_map if workload.call == "tf.vectorized_map" else tf.map_fn
    return lambda elements: call(workload.function, elements, **workload.arguments)


def loop(workload: Workload, plan: Plan) -> Function:
    """A Python loop over the elements, results stacked."""
    function, count, signature = workload.function, workload.element_count, plan.output_signature

    def run_loop(elements: Any) -> Any:
        leaves = [_unstacked(leaf, count) for leaf in tf.nest.flatten(elements)]
        results = []
        for index in range(count):
            element = tf.nest.pack_sequence_as(elements, [leaf[index] for leaf in leaves])
            results.append(function(element))
        return stacked(results, signature)

    return run_loop


def map_fn(workload: Workload, plan: Plan) -> Function:
    """`tf.map_fn` with the arguments of the user's own call, if that was one."""
    arguments = dict(workload.arguments)
    if workload.call != "tf.map_fn":
        arguments = {"fn_output_signature": plan.output_signature}
    return lambda elements: tf.map_fn(workload.function, elements, **arguments)


def vectorized_map(workload: Workload, plan: Plan) -> Function:
    """`tf.vectorized_map` with the arguments of the user's own call, if that was one."""
    arguments = dict(workload.arguments) if workload.call == "tf.vectorized_map" else {}
    return lambda elements: tf.vectorized_map(workload.function, elements, **arguments)


def batched(workload: Workload, plan: Plan) -> Function:
    """One call on the whole batch: of the function itself, or of the user's batched form."""
    return workload.batched or workload.function


def chunked(workload: Workload, plan: Plan) -> Function:
    """`tf.vectorized_map` over chunks, one after another in a `tf.map_fn`; the rest at the end.

    Chunks are cut out one by one, since `tf.map_fn` over the elements themselves would copy them all.
    """
    size = plan.chunk_size
    whole_chunks = workload.element_count // size
    rest = workload.element_count - whole_chunks * size
    signature = tf.nest.map_structure(
        lambda spec: tf.TensorSpec(tf.TensorShape([size]).concatenate(spec.shape), spec.dtype),
        plan.output_signature,
    )

    def run_chunks(elements: Any) -> Any:
        def run_chunk(start: Any) -> Any:
            chunk = tf.nest.map_structure(lambda leaf: part(leaf, start, size), elements)
            return tf.vectorized_map(workload.function, chunk)

        starts = tf.range(0, whole_chunks * size, size)
        results = tf.map_fn(run_chunk, starts, fn_output_signature=signature, parallel_iterations=1)
        merged = tf.nest.map_structure(merge_chunks, results)
        if rest == 0:
            return merged
        tail = tf.nest.map_structure(lambda leaf: part(leaf, whole_chunks * size, rest), elements)
        last = tf.vectorized_map(workload.function, tail)
        return tf.nest.map_structure(lambda a, b: tf.concat([a, b], axis=0), merged, last)

    return run_chunks


@dataclass(frozen=True)
class Pipeline:
    """A `tf.data` pipeline whose one batch holds the flat leaves of the mapped result.

    Attributes:
        batches: the dataset.
        structure: what the leaves are packed into.
    """

    batches: Any
    structure: Any

    def iterate(self) -> Any:
        """Runs the pipeline once and returns the mapped result."""
        leaves = next(iter(self.batches))
        return tf.nest.pack_sequence_as(self.structure, list(leaves))


def build_pipeline(workload: Workload, plan: Plan, elements: Any) -> Pipeline:
    """Builds the pipeline `from_tensor_slices(elements).map(f, AUTOTUNE).batch(n)`.

    The leaves travel as one flat tuple, since `Dataset.map` hands tuples over as several arguments
    and stacks lists.
    """
    structure: list[Any] = []

    def map_leaves(*leaves: Any) -> tuple[Any, ...]:
        result = workload.function(tf.nest.pack_sequence_as(elements, list(leaves)))
        structure[:] = [tf.nest.map_structure(lambda _: 0, result)]
        return tuple(tf.nest.flatten(result))

    slices = tf.data.Dataset.from_tensor_slices(tuple(tf.nest.flatten(elements)))
    mapped = slices.map(map_leaves, num_parallel_calls=tf.data.AUTOTUNE)
    ragged = any(isinstance(s, tf.RaggedTensorSpec) for s in tf.nest.flatten(plan.output_signature))
    batch = mapped.ragged_batch if ragged else mapped.batch
    return Pipeline(batch(workload.element_count), structure[0])


BUILDERS: dict[str, Callable[[Workload, Plan], Function]] = {
    AS_WRITTEN: as_written,
    "loop": loop,
    "map_fn": map_fn,
    "vectorized_map": vectorized_map,
    "batched": batched,
    "chunked": chunked,
}


def with_gradient(mapped: Function, gradient: Gradient) -> Function:
    """Returns a function of the elements that gives the mapped result and its gradients.

    The gradients are those of the sum of all floating results, as `tf.GradientTape.gradient` takes
    it, with respect to the variables and, where the user's tape recorded them, the elements.
    """

    def forward_and_backward(elements: Any) -> Any:
        watched = floating_leaves(elements) if gradient.elements else []
        sources = [*gradient.variables, *watched]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            result = mapped(elements)
        gradients = tape.gradient(
            floating_leaves(result), sources, unconnected_gradients=tf.UnconnectedGradients.ZERO
        )
        return result, [tf.convert_to_tensor(g) for g in gradients]

    return forward_and_backward


def floating_leaves(structure: Any) -> list[Any]:
    """Returns the flat tensors of `structure` that can have a gradient."""
    leaves = tf.nest.flatten(structure, expand_composites=True)
    return [leaf for leaf in leaves if leaf.dtype.is_floating or leaf.dtype.is_complex]


def part(leaf: Any, start: Any, size: int) -> Any:
    """Returns `size` elements of a dense or ragged tensor from `start`, with a static shape.

    Raises:
        UnsupportedError: `leaf` is sparse.
    """
    if isinstance(leaf, tf.SparseTensor):
        raise UnsupportedError("sparse elements can't be cut into chunks")
    if isinstance(leaf, tf.RaggedTensor):
        return leaf[start : start + size]
    return tf.slice(leaf, [start] + [0] * (leaf.shape.rank - 1), [size, *leaf.shape[1:]])


def merge_chunks(chunks: Any) -> Any:
    """Reshapes `[chunks, size, ...]` to `[chunks * size, ...]`."""
    return tf.reshape(chunks, tf.concat([[-1], tf.shape(chunks)[2:]], axis=0))


def stacked(results: list[Any], signature: Any) -> Any:
    """Stacks results of one element each, as `tf.map_fn` with this output signature would."""
    specs = None if signature is None else tf.nest.flatten(signature)
    columns = zip(*[tf.nest.flatten(result) for result in results], strict=True)
    leaves = [
        _stacked_leaf(list(column), None if specs is None else specs[index])
        for index, column in enumerate(columns)
    ]
    return tf.nest.pack_sequence_as(results[0], leaves)


def _stacked_leaf(column: list[Any], spec: Any) -> Any:
    if isinstance(column[0], tf.SparseTensor):
        return tf.sparse.concat(0, [tf.sparse.expand_dims(item, 0) for item in column])
    if isinstance(column[0], tf.RaggedTensor) or isinstance(spec, tf.RaggedTensorSpec):
        splits = tf.int64 if spec is None else spec.row_splits_dtype  # stack makes its own choice
        return tf.ragged.stack(column).with_row_splits_dtype(splits)
    return tf.stack(column)


def _unstacked(leaf: Any, count: int) -> list[Any]:
    if isinstance(leaf, tf.RaggedTensor):
        return [leaf[index] for index in range(count)]
    if isinstance(leaf, tf.SparseTensor):
        rows = tf.sparse.split(leaf, count, axis=0)
        return [tf.sparse.reshape(row, tf.shape(row, tf.int64)[1:]) for row in rows]
    return list(tf.unstack(leaf, num=count))
