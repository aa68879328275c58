"""What Grappler made of a traced graph: folded, fused, rewritten, moved, removed, added."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tfinsight.compiler.collected_graphs import GraphTriple
from tfinsight.compiler.fused import is_fused, name_before, replacements
from tfinsight.compiler.graph import CALLS, PLUMBING, RANDOM
from tfinsight.compiler.inlined import data_inputs, inlined, lowered
from tfinsight.compiler.lines import LineMap
from tfinsight.compiler.tracing import largest
from tfinsight.records import GraphTensor, Grappler, Rewrite

MOST_REWRITES = 40
_ONEDNN = re.compile(r"_Mkl|_OneDnn")
# They differ from run to run or depend on more than their inputs: never computed while optimizing.
_NEVER_FOLDED = re.compile(
    RANDOM.pattern + r"|^(_Arg|Placeholder|VarHandleOp|ReadVariableOp|Assign\w*|\w*Iterator\w*|"
    r"\w*PyFunc\w*|\w*Print\w*|\w*While|\w*If|\w*Case|TensorList\w*|NoOp)$"
)


class Optimized(NamedTuple):
    """What Grappler did to a graph.

    Attributes:
        facts: for the record.
        folded: names of all ops whose values were computed while optimizing.
    """

    facts: Grappler
    folded: frozenset[str]


def grappler_facts(triple: GraphTriple, lines: LineMap) -> Optimized:
    """Compares a function's graph before optimization, called functions inlined, with the one after.

    Args:
        triple: of the function.
        lines: of the cell.
    """
    after = lowered(triple.after)
    before = inlined(triple.before, after.__contains__)
    folded = _folded(before, after)
    fused = replacements(triple, before, lines)
    in_fused = {name for replacement in fused for name in replacement.names}
    renamed = dict(_renamed(before, after))
    accounted = folded | in_fused | renamed.keys() | after.keys()
    gone = [node.op for name, node in before.items() if name not in accounted]
    known = before.keys() | set(renamed.values())
    new = [node.op for n, node in after.items() if n not in known and not is_fused(node)]
    facts = Grappler(
        nodes_before=len(before),
        nodes_after=len(after),
        folded_count=len(folded),
        folded=largest([_value(after[n], before[n].op, lines) for n in folded if n in after]),
        removed_count=sum(kind not in PLUMBING | CALLS for kind in gone),
        added_count=sum(kind not in PLUMBING for kind in new),
        moved_count=sum(_is_moved(before[n], after[n], before) for n in before.keys() & after),
        rewritten=tuple(_rewritten(before, after, renamed, lines))[:MOST_REWRITES],
        fused=tuple(replacement.fused for replacement in fused),
        platform_kernels=dict(
            Counter(
                node.op
                for graph in triple.partitions
                for node in graph.node
                if _ONEDNN.match(node.op)
            ).most_common()
        ),
    )
    return Optimized(facts, frozenset(folded))


def folded_inputs(triple: GraphTriple) -> tuple[str, ...]:
    """Returns the names of the constants of the traced graph that folding starts from."""
    before = {node.name: node for node in triple.before.node}
    after = {node.name: node for node in triple.after.node}
    folded = _folded(before, after)
    read = {name for n in folded for name in data_inputs(before[n])}
    return tuple(n for n in before if n in read and before[n].op == "Const")


def _folded(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Returns the ops whose values were computed while optimizing.

    These are ops that are constants under the same name now, and what only such ops have read.
    """
    constant: dict[str, bool] = {}
    for name in before:
        _is_constant(name, before, constant)
    readers: dict[str, list[str]] = {}
    for name, node in before.items():
        for read in data_inputs(node):
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
        inputs = data_inputs(node)
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
        old = name_before(name)
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
        if now is None or now.op in (node.op, "Const") or node.op in PLUMBING or is_fused(now):
            continue
        yield Rewrite(name, node.op, now.op, lines.line(name))


def _is_moved(node: Any, now: Any, before: Mapping[str, Any]) -> bool:
    """Tells whether an op of the same kind reads other ops than it did."""
    if node.op != now.op or node.op in PLUMBING:
        return False
    old = {_behind(name, before) for name in data_inputs(node)}
    return any(n in before and _behind(n, before) not in old for n in data_inputs(now))


def _behind(name: str, before: Mapping[str, Any]) -> str:
    while (node := before.get(name)) is not None and node.op == "Identity":
        name = data_inputs(node)[0]
    return name
