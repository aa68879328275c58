"""Statements as text: which names they need and give, and a function made of them.

A function made of a cell's statements is text with a real `def` line, since AutoGraph needs source
text; its lines stay those of the cell wherever there is room for the `def` above them.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_INDENT = "    "
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STRINGS = {
    number
    for name in ("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END")
    if (number := getattr(tokenize, name, None)) is not None
}


class FunctionText(NamedTuple):
    """A function made of statements.

    Attributes:
        text: source text, from its first line.
        offset: a line of the text less `offset` is the line of the source it was made from.
    """

    text: str
    offset: int


def function_text(
    source: str,
    statements: Sequence[ast.stmt],
    name: str,
    parameters: Sequence[str],
    returned: Sequence[str],
) -> FunctionText:
    """Returns the text of a function with these statements as its body.

    Args:
        source: the text that the statements were parsed from.
        statements: of its top level, one after the other.
        name: of the function.
        parameters: its parameters.
        returned: names that it returns: one as it is, several as a tuple; if none are given, the
            value of the last statement, which must then be an expression.
    """
    lines = source.splitlines()
    first, last = first_line(statements[0]), statements[-1].end_lineno or statements[-1].lineno
    body = lines[first - 1 : last]
    # Columns are of UTF-8. What stands behind the last statement on its line goes first.
    end = len(body[-1].encode()[: statements[-1].end_col_offset].decode())
    body[-1] = body[-1][:end]
    if not returned:
        at = statements[-1].lineno - first
        column = len(body[at].encode()[: statements[-1].col_offset].decode())
        body[at] = f"{body[at][:column]}return {body[at][column:]}"
    start = len(body[0].encode()[: statements[0].col_offset].decode())
    if first == statements[0].lineno:  # no decorator above
        body[0] = body[0][start:]
    inside = _lines_inside_strings("\n".join(body))
    body = [
        line if number in inside else _INDENT + line for number, line in enumerate(body, start=1)
    ]
    if returned:
        result = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
        body.append(f"{_INDENT}return {result}")
    header = [f"def {name}({', '.join(parameters)}):"]
    above = [""] * max(0, first - 1 - len(header))
    return FunctionText(
        "\n".join([*above, *header, *body]) + "\n", len(above) + len(header) - (first - 1)
    )


def first_line(statement: ast.stmt) -> int:
    """Returns the line on which a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return int(min([statement.lineno, *(d.lineno for d in decorators)]))


def comment_line(source: str, word: str) -> int | None:
    """Returns the first line that is nothing but the comment `# word`, or `None`."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        alone = token.line[: token.start[1]].strip() == ""
        said = token.string.lstrip("#").strip().lower()
        if token.type == tokenize.COMMENT and alone and said == word:
            return int(token.start[0])
    return None


def assigned_names(statement: ast.AST) -> tuple[str, ...]:
    """Returns the names that a statement assigns where it stands, those inside blocks included."""
    found: dict[str, None] = {}
    for node in _own_nodes(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found[node.name] = None
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update({(a.asname or a.name).split(".")[0]: None for a in node.names})
    return tuple(found)


def names_needed(statements: Sequence[ast.stmt]) -> tuple[str, ...]:
    """Returns the names that statements read before they have surely assigned them themselves."""
    needed: dict[str, None] = {}
    _read(statements, set(), needed)
    return tuple(needed)


def _read(statements: Iterable[ast.stmt], known: set[str], needed: dict[str, None]) -> set[str]:
    """Adds to `needed` what is read before it is assigned; returns what is assigned afterwards."""
    for statement in statements:
        blocks = [
            getattr(statement, field)
            for field in ("body", "orelse", "finalbody")
            if getattr(statement, field, None)
        ]
        handlers = [h.body for h in getattr(statement, "handlers", [])]
        cases = [c.body for c in getattr(statement, "cases", [])]
        if isinstance(statement, _SCOPES) or not (blocks or handlers or cases):
            needed.update({n: None for n in _loads(statement) if n not in known})
            known |= set(assigned_names(statement))
            continue
        heads = [n for n in ast.iter_child_nodes(statement) if not isinstance(n, ast.stmt)]
        heads = [n for n in heads if not isinstance(n, (ast.ExceptHandler, ast.match_case))]
        heads += [h.type for h in getattr(statement, "handlers", []) if h.type is not None]
        heads += [c.pattern for c in getattr(statement, "cases", [])]
        heads += [c.guard for c in getattr(statement, "cases", []) if c.guard is not None]
        needed.update({n: None for head in heads for n in _loads(head) if n not in known})
        bound = {n for head in heads for n in assigned_names(head)}
        after = [_read(b, known | bound, needed) for b in (*blocks, *handlers, *cases)]
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            known |= bound | after[0]
        elif isinstance(statement, ast.If) and len(after) == 2:
            known |= after[0] & after[1]
    return known


def _loads(node: ast.AST) -> tuple[str, ...]:
    """Returns the names that a statement or expression reads, those that it only binds left out."""
    found: dict[str, None] = {}
    own = _bound_inside(node)
    for child in _own_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, (ast.Load, ast.Del)):
            if child.id not in own:
                found[child.id] = None
        elif isinstance(child, (*_SCOPES, *_COMPREHENSIONS)) and child is not node:
            found.update(dict.fromkeys(_loads(child)))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found[node.target.id] = None
    return tuple(found)


def _bound_inside(node: ast.AST) -> set[str]:
    """Returns the names that are a scope's own: parameters and what it assigns."""
    if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
        return set()
    names = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    shared = {
        name
        for n in ast.walk(node)
        if isinstance(n, (ast.Global, ast.Nonlocal))
        for name in n.names
    }
    for child in ast.iter_child_nodes(node):
        names |= set(assigned_names(child))
    return names - shared


def _own_nodes(node: ast.AST) -> Iterable[ast.AST]:
    """Yields a node and what is in it; of scopes inside only the node itself and what binds early."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*_SCOPES, *_COMPREHENSIONS)):
            yield child
        else:
            yield from _own_nodes(child)


def _lines_inside_strings(text: str) -> set[int]:
    """Returns the numbers of lines that begin inside a string, which indenting would change."""
    inside: set[int] = set()
    # The text is the body of a function and may hold `return`, which the tokenizer doesn't mind.
    for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
        if token.type in _STRINGS and token.end[0] > token.start[0]:
            inside |= set(range(token.start[0] + 1, token.end[0] + 1))
    return inside
