"""What Grappler made of a traced graph: folded, fused, rewritten, moved, removed, added."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfinsight.compiler.collected_graphs import GraphTriple
from tfinsight.compiler.graph import CALLS, PLUMBING, RANDOM
from tfinsight.compiler.lines import LineMap
from tfinsight.compiler.tracing import largest
from tfinsight.records import FusedOp, GraphTensor, Grappler, Rewrite

MOST_REWRITES = 40
# Nodes of loops and branches that were taken apart before optimization.
_TAKEN_APART = re.compile(
    r"(^|/)(body|cond|then|else|branch\w*|enter|exit|merge|next_iteration|LoopCond|loop_body_control"
    r"|\w*_switch|\w*_merge)/_\d+(/|$)|^Func/"
)
_ONEDNN = re.compile(r"_Mkl|_OneDnn")
# They differ from run to run or depend on more than their inputs: never computed while optimizing.
_NEVER_FOLDED = re.compile(
    RANDOM.pattern + r"|^(_Arg|Placeholder|VarHandleOp|ReadVariableOp|Assign\w*|\w*Iterator\w*|"
    r"\w*PyFunc\w*|\w*Print\w*|\w*While|\w*If|\w*Case|TensorList\w*|NoOp)$"
)
_FUSED_KIND = re.compile(r"^_(MklNative|Mkl|OneDnn)?(Quantized)?Fused(?P<base>[A-Z]\w*?)(Ex|V\d)?$")


def grappler_facts(triple: GraphTriple, lines: LineMap) -> Grappler:
    """Compares a function's graph before optimization, called functions inlined, with the one after.

    Args:
        triple: of the function.
        lines: of the cell.
    """
    before = {node.name: node for node in _inlined(triple.before)}
    after = {node.name: node for node in triple.after.node}
    folded = _folded(before, after)
    fused = _fused(triple, before, lines)
    in_fused = {name for _, names in fused for name in names}
    renamed = dict(_renamed(before, after))
    left = {n: node for n, node in after.items() if not _TAKEN_APART.search(n)}
    accounted = folded | in_fused | renamed.keys() | after.keys()
    gone = [node.op for name, node in before.items() if name not in accounted]
    known = before.keys() | set(renamed.values())
    new = [node.op for name, node in left.items() if name not in known]
    return Grappler(
        nodes_before=len(before),
        nodes_after=len(left),
        folded_count=len(folded),
        folded=largest([_value(after[n], before[n].op, lines) for n in folded if n in after]),
        removed_count=sum(kind not in PLUMBING | CALLS for kind in gone),
        added_count=sum(kind not in PLUMBING for kind in new),
        moved_count=sum(_is_moved(before[n], after[n], before) for n in before.keys() & after),
        rewritten=tuple(_rewritten(before, after, renamed, lines))[:MOST_REWRITES],
        fused=tuple(op for op, _ in fused),
        platform_kernels=dict(
            Counter(
                node.op
                for graph in triple.partitions
                for node in graph.node
                if _ONEDNN.match(node.op)
            ).most_common()
        ),
    )


def folded_names(triple: GraphTriple) -> set[str]:
    """Returns the names of the ops whose values were computed while optimizing."""
    before = {node.name: node for node in _inlined(triple.before)}
    return _folded(before, {node.name: node for node in triple.after.node})


def folded_inputs(triple: GraphTriple) -> tuple[str, ...]:
    """Returns the names of the constants of the traced graph that folding starts from."""
    before = {node.name: node for node in triple.before.node}
    after = {node.name: node for node in triple.after.node}
    folded = _folded(before, after)
    read = {name for n in folded for name in _data_inputs(before[n])}
    return tuple(n for n in before if n in read and before[n].op == "Const")


def _inlined(definition: Any) -> Iterator[Any]:
    """Yields the nodes of a graph; calls are replaced by the nodes of the function."""
    functions = {function.signature.name: function for function in definition.library.function}
    yield from _inlined_nodes(definition.node, functions, "", {})


def _inlined_nodes(
    nodes: Iterable[Any], functions: Mapping[str, Any], prefix: str, arguments: Mapping[str, str]
) -> Iterator[Any]:
    for node in nodes:
        copy = type(node)()
        copy.CopyFrom(node)
        copy.name = prefix + node.name
        if prefix:
            copy.input[:] = [_outer(name, prefix, arguments) for name in node.input]
        function = functions.get(node.attr["f"].func.name) if node.op in CALLS else None
        if function is None:
            yield copy
            continue
        given = [argument.name for argument in function.signature.input_arg]
        passed = dict(zip(given, copy.input, strict=False))
        yield from _inlined_nodes(function.node_def, functions, f"{copy.name}/", passed)


def _outer(name: str, prefix: str, arguments: Mapping[str, str]) -> str:
    control, base = name[:1] == "^", name.lstrip("^").split(":")[0]
    found = arguments.get(base, prefix + base)
    return f"^{found}" if control else found


def _data_inputs(node: Any) -> list[str]:
    return [name.split(":")[0] for name in node.input if name[:1] != "^"]


def _folded(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Returns the ops whose values were computed while optimizing.

    These are ops that are constants under the same name now, and what only such ops have read.
    """
    constant: dict[str, bool] = {}
    for name in before:
        _is_constant(name, before, constant)
    readers: dict[str, list[str]] = {}
    for name, node in before.items():
        for read in _data_inputs(node):
            readers.setdefault(read, []).append(name)
    folded = {
        name
        for name, node in before.items()
        if node.op not in PLUMBING and name in after and after[name].op == "Const"
    }
    # From the values that are left back to what they were computed from.
    waiting = [n for n in before if n not in after and constant[n] and before[n].op not in PLUMBING]
    grew = True
    while grew:
        grew = False
        for name in waiting:
            if name not in folded and any(
                reader in folded or (reader in after and not constant[reader])
                for reader in _behind_identities(name, before, readers)
            ):
                folded.add(name)
                grew = True
    return folded


def _behind_identities(
    name: str, before: Mapping[str, Any], readers: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for reader in readers.get(name, ()):
        yield reader
        if before[reader].op == "Identity":
            yield from _behind_identities(reader, before, readers)


def _is_constant(name: str, before: Mapping[str, Any], known: dict[str, bool]) -> bool:
    """Tells whether an op depends on constants alone; fills in `known` for all that it reads."""
    waiting = [name]
    while waiting:
        current = waiting[-1]
        node = before.get(current)
        if current in known or node is None:
            known.setdefault(current, False)
            waiting.pop()
            continue
        inputs = _data_inputs(node)
        if node.op == "Const" or _NEVER_FOLDED.search(node.op) or node.op in CALLS:
            known[current] = node.op == "Const"
        elif missing := [n for n in inputs if n not in known]:
            waiting += missing
            continue
        else:
            known[current] = bool(inputs) and all(known[n] for n in inputs)
        waiting.pop()
    return known[name]


def _value(node: Any, kind: str, lines: LineMap) -> GraphTensor:
    tensor = node.attr["value"].tensor
    dtype = tf.dtypes.as_dtype(tensor.dtype)
    shape = tuple(int(dimension.size) for dimension in tensor.tensor_shape.dim)
    size = math.prod(shape) * dtype.size if dtype.size else None
    return GraphTensor(node.name, kind, dtype.name, shape, size, lines.line(node.name))


def _renamed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields ops that a pass replaced under a name of its own making, with that name."""
    for name in after:
        scope, _, end = name.rpartition("/")
        outer, _, optimizer = scope.rpartition("/")
        if not optimizer.endswith("Optimizer") or "_" not in end:
            continue
        old = end.split("_", 1)[1]
        old = f"{outer}/{old}" if outer else old
        if old in before and old not in after:
            yield old, name


def _rewritten(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    renamed: Mapping[str, str],
    lines: LineMap,
) -> Iterator[Rewrite]:
    for name, node in before.items():
        now = after.get(renamed.get(name, name))
        if now is None or now.op in (node.op, "Const") or node.op in PLUMBING or _is_fused(now):
            continue
        yield Rewrite(name, node.op, now.op, lines.line(name))


def _is_moved(node: Any, now: Any, before: Mapping[str, Any]) -> bool:
    """Tells whether an op of the same kind reads other ops than it did."""
    if node.op != now.op or node.op in PLUMBING:
        return False
    old = {_behind(name, before) for name in _data_inputs(node)}
    return any(n in before and _behind(n, before) not in old for n in _data_inputs(now))


def _behind(name: str, before: Mapping[str, Any]) -> str:
    while (node := before.get(name)) is not None and node.op == "Identity":
        name = _data_inputs(node)[0]
    return name


def _is_fused(node: Any) -> bool:
    return _FUSED_KIND.match(node.op) is not None


def _fused(
    triple: GraphTriple, before: Mapping[str, Any], lines: LineMap
) -> list[tuple[FusedOp, set[str]]]:
    """Returns the fused ops, each with the names of the ops that it replaces."""
    found: dict[str, tuple[FusedOp, set[str]]] = {}
    graphs = [("Grappler", triple.after), *(("oneDNN", graph) for graph in triple.partitions)]
    for by, graph in graphs:
        for node in graph.node:
            if not _is_fused(node) or node.name in found:
                continue
            kinds = _members(node)
            names = _replaced(node, kinds, before, {n.name for n in graph.node})
            op = FusedOp(node.name, node.op, kinds, by, lines.lines(names))  # type: ignore[arg-type]
            found[node.name] = op, names
    return list(found.values())


def _members(node: Any) -> tuple[str, ...]:
    matched = _FUSED_KIND.match(node.op)
    assert matched is not None
    fused = [name.decode() for name in node.attr["fused_ops"].list.s]
    activation = node.attr["activation_mode"].s.decode()
    if activation and activation != "Identity":
        fused.append(activation)
    base = {"BatchNorm": "FusedBatchNormV3"}.get(matched["base"], matched["base"])
    return (base, *fused)


def _replaced(
    node: Any, kinds: Sequence[str], before: Mapping[str, Any], left: set[str]
) -> set[str]:
    """Returns the ops that a fused one stands for: the one of its name, and what is gone before it."""
    names, waiting = {node.name}, [node.name]
    while waiting and len(names) < len(kinds):
        for name in (
            _data_inputs(before[waiting.pop()]) if waiting[-1] in before else (waiting.pop(),)
        ):
            gone = name in before and name not in left and before[name].op not in PLUMBING
            if gone and name not in names and len(names) < len(kinds):
                names.add(name)
                waiting.append(name)
    return names
