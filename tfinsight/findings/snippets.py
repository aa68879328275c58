"""Code to paste: a workload written another way, in the user's own names.

What a snippet does is what the strategy of that id does when it is measured, written as a person
would write it for this one workload.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass

from tfinsight.findings.signatures import dtype_signature, output_signature
from tfinsight.records import AS_WRITTEN, Execution, WorkloadFacts

_DECORATORS: dict[Execution, str] = {
    "eager": "",
    "graph": "@tf.function\n",
    "xla": "@tf.function(jit_compile=True)\n",
}


@dataclass(frozen=True)
class _Names:
    """Names that a snippet makes up, none of them one that the user's text mentions."""

    taken: frozenset[str]

    def fresh(self, wanted: str) -> str:
        while wanted in self.taken:
            wanted += "_"
        return wanted


@dataclass(frozen=True)
class _Form:
    """How a mapping is written.

    Attributes:
        result: the expression whose value is the mapped result.
        before: statements in front of it, for the body of a function of the elements.
        helper: a function definition that it calls.
    """

    result: str
    before: tuple[str, ...] = ()
    helper: str = ""


@dataclass(frozen=True)
class _Task:
    """What a builder of a form gets.

    Attributes:
        workload: the workload.
        elements: the text that stands for the elements: a parameter's name or the user's own.
        names: made-up names.
        chunk_size: elements a chunk.
    """

    workload: WorkloadFacts
    elements: str
    names: _Names
    chunk_size: int | None


def strategy_code(
    workload: WorkloadFacts, mapping: str, execution: Execution, chunk_size: int | None = None
) -> str:
    """Returns code that computes the workload by this strategy and assigns the result.

    Args:
        workload: what is mapped, in the user's words.
        mapping: a mapping of the grid, `as-written`, or the name of a variant of the user's.
        execution: `eager`, `graph` or `xla`.
        chunk_size: elements a chunk; needed for `chunked` alone.

    Returns:
        Complete statements that need TensorFlow as `tf` and the user's names; empty where there is
        no such code: the source of function or elements is not known, or the form does not exist.
    """
    code = _strategy_code(workload, mapping, execution, chunk_size)
    return _where_it_belongs(workload) + code if code else ""


def _where_it_belongs(workload: WorkloadFacts) -> str:
    """Returns a comment where the call stands in a function, whose names the code needs."""
    _, _, function = workload.place.rpartition("`")[0].rpartition("`")
    return f"# in {function}, in the place of its call of {workload.call}\n" if function else ""


def _strategy_code(
    workload: WorkloadFacts, mapping: str, execution: Execution, chunk_size: int | None
) -> str:
    target = workload.assigned_name or _names(workload).fresh("result")
    if mapping == AS_WRITTEN:
        return f"{target} = {workload.call_text}\n" if workload.call_text else ""
    if not (_is_expression(workload.function) and _is_expression(workload.elements)):
        return ""
    if mapping == "dataset":
        return _dataset(workload, execution, target)
    task = _Task(workload, _parameter(workload), _names(workload), chunk_size)
    form = _form(task, mapping)
    if form is None:
        return ""
    if execution == "eager" and not form.before:
        inline = _Task(workload, workload.elements, task.names, chunk_size)
        form = _form(inline, mapping) or form
        return _joined(form.helper, _assignment(workload, target, form.result))
    name = task.names.fresh("faster")
    body = "".join(f"    {line}\n" for line in (*form.before, f"return {form.result}"))
    function = f"{_DECORATORS[execution]}def {name}({task.elements}):\n{body}"
    call = f"{name}({workload.elements})"
    return _joined(form.helper, function, _assignment(workload, target, call))


def _form(task: _Task, mapping: str) -> _Form | None:
    if mapping in _FORMS:
        return _FORMS[mapping](task)
    return _Form(f"{mapping}({task.elements})")  # a variant of the user's, by its name


def _loop(task: _Task) -> _Form | None:
    workload, names = task.workload, task.names
    call = _called(workload.function)
    element = names.fresh("element")
    single_input = [(t.path, t.kind) for t in workload.inputs] == [("", "dense")]
    stack = _stack(workload)
    if stack is None:
        return None
    if single_input and len(workload.outputs) == 1 and not workload.outputs[0].path:
        return _Form(f"{stack}([{call}({element}) for {element} in tf.unstack({task.elements})])")
    count, index, results = names.fresh("count"), names.fresh("index"), names.fresh("results")
    pick = f"tf.nest.map_structure(lambda t: t[{index}], {task.elements})"
    return _Form(
        f"tf.nest.map_structure(lambda *values: {stack}(values), *{results})",
        before=(
            f"{count} = tf.nest.flatten({task.elements})[0].shape[0]",
            f"{results} = []",
            f"for {index} in range({count}):",
            f"    {element} = {pick}",
            f"    {results}.append({call}({element}))",
        ),
    )


def _map_fn(task: _Task) -> _Form:
    workload = task.workload
    arguments = dict(workload.arguments)
    if workload.call != "tf.map_fn":
        signature = output_signature(workload)
        arguments = {"fn_output_signature": signature} if signature else {}
    return _Form(_map_call("tf.map_fn", task, arguments))


def _vectorized_map(task: _Task) -> _Form:
    workload = task.workload
    arguments = dict(workload.arguments) if workload.call == "tf.vectorized_map" else {}
    return _Form(_map_call("tf.vectorized_map", task, arguments))


def _map_call(call: str, task: _Task, arguments: dict[str, str]) -> str:
    given = [task.workload.function, task.elements]
    return f"{call}({', '.join(given + [f'{k}={v}' for k, v in arguments.items()])})"


def _batched(task: _Task) -> _Form:
    return _Form(f"{task.workload.batched or _called(task.workload.function)}({task.elements})")


# Chunks are sliced inside the map: a `map_fn` over chunks would first copy all its elements.
_CHUNKS = '''\
def {name}(function, elements, size):
    """Maps `function` over `elements`, `size` of them at a time."""
    count = tf.nest.flatten(elements)[0].shape[0]
    size = max(1, min(size, count))
    whole = count - count % size  # elements in full chunks

    def run_chunk(start):
        return tf.vectorized_map(function, tf.nest.map_structure(cut_from(start), elements))

    def cut_from(start):
        return lambda t: tf.slice(t, [start] + [0] * (len(t.shape) - 1), [size, *t.shape[1:]])

    results = tf.map_fn(
        run_chunk,
        tf.range(0, whole, size),
        fn_output_signature={signature},
        parallel_iterations=1,
    )
    results = tf.nest.map_structure(
        lambda t: tf.reshape(t, tf.concat([[whole], tf.shape(t)[2:]], axis=0)), results
    )
    if whole == count:
        return results
    rest = tf.vectorized_map(function, tf.nest.map_structure(lambda t: t[whole:], elements))
    return tf.nest.map_structure(lambda a, b: tf.concat([a, b], axis=0), results, rest)
'''


def _chunked(task: _Task) -> _Form | None:
    workload = task.workload
    dense = all(t.kind == "dense" for t in (*workload.inputs, *workload.outputs))
    signature = dtype_signature(workload)
    if task.chunk_size is None or not dense or not signature:
        return None
    name = task.names.fresh("map_in_chunks")
    return _Form(
        f"{name}({workload.function}, {task.elements}, {task.chunk_size})",
        helper=_CHUNKS.format(name=name, signature=signature),
    )


def _dataset(workload: WorkloadFacts, execution: Execution, target: str) -> str:
    names = _names(workload)
    dataset, elements, function = names.fresh("dataset"), workload.elements, workload.function
    if workload.inputs and re.match(r"\[\d", workload.inputs[0].path):
        # Dataset.map hands a tuple over as several arguments and would stack a list to one tensor.
        elements = elements if elements.startswith("(") else f"tuple({elements})"
        parts = names.fresh("parts")
        function = f"lambda *{parts}: {_called(function)}({parts})"
    batch = "ragged_batch" if any(t.kind == "ragged" for t in workload.outputs) else "batch"
    pipeline = (
        f"{dataset} = tf.data.Dataset.from_tensor_slices({elements})\n"
        f"{dataset} = {dataset}.map({function}, num_parallel_calls=tf.data.AUTOTUNE)\n"
        f"{dataset} = {dataset}.{batch}({dataset}.cardinality())\n"
    )
    if execution == "eager":
        return pipeline + _assignment(workload, target, f"next(iter({dataset}))")
    name = names.fresh("faster")
    body = f"def {name}():\n    return {dataset}.get_single_element()\n"
    call = _assignment(workload, target, f"{name}()")
    return _joined(pipeline, _DECORATORS[execution] + body, call)


_FORMS: dict[str, Callable[[_Task], _Form | None]] = {
    "loop": _loop,
    "map_fn": _map_fn,
    "vectorized_map": _vectorized_map,
    "batched": _batched,
    "chunked": _chunked,
}


def _stack(workload: WorkloadFacts) -> str | None:
    kinds = {t.kind for t in workload.outputs}
    if kinds == {"ragged"}:
        return "tf.ragged.stack"
    return "tf.stack" if kinds == {"dense"} else None


def _assignment(workload: WorkloadFacts, target: str, value: str) -> str:
    comment = "# Keep this under your tf.GradientTape.\n" if workload.with_gradient else ""
    return f"{comment}{target} = {value}\n"


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _names(workload: WorkloadFacts) -> _Names:
    texts = (workload.function, workload.elements, workload.batched or "")
    words = re.findall(r"[^\W\d]\w*", " ".join((*texts, *workload.arguments.values())))
    return _Names(frozenset(words))


def _parameter(workload: WorkloadFacts) -> str:
    text = workload.elements
    if text.isidentifier() and not keyword.iskeyword(text):
        return text
    return _names(workload).fresh("elems")


def _called(function: str) -> str:
    """Returns the text of a function so that a call can follow it."""
    kind = type(_expression(function))
    return function if kind in (ast.Name, ast.Attribute, ast.Call) else f"({function})"


def _is_expression(text: str) -> bool:
    try:
        return bool(text.strip()) and _expression(text) is not None
    except (SyntaxError, ValueError):
        return False


def _expression(text: str) -> ast.expr:
    # Line breaks inside brackets mean nothing, so a lambda of several lines parses as well.
    return ast.parse(f"(\n{text}\n)", mode="eval").body
