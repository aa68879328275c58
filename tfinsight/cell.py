"""A cell's text, run as the notebook would run it, and expressions of the user's in its names."""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
import difflib
import inspect
import sys
import types
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from tfinsight.errors import WorkloadError


@dataclass(frozen=True)
class Cell:
    """A cell's text, parsed and compiled so that `inspect.getsource` works on its functions.

    Attributes:
        text: as written.
        filename: under which the source can be found.
        tree: the parsed statements.
        compile_tree: compiles statements of it, with a mode as the built-in `compile` takes it.
        register: makes further source text findable by `inspect`; returns its file name.
        source: the text that Python sees, which begins with a line for the magic itself.
        shows_last: whether the value of a last expression is displayed.
    """

    text: str
    filename: str
    tree: ast.Module
    compile_tree: Callable[[ast.Module | ast.Expression | ast.Interactive, str, str], Any]
    register: Callable[[str], str]
    source: str = ""
    shows_last: bool = True

    def run(self, namespace: dict[str, Any]) -> None:
        """Runs the cell as the notebook would, a last expression's value displayed."""
        statements = list(self.tree.body)
        last = None
        if self.shows_last and statements and isinstance(statements[-1], ast.Expr):
            last = ast.Interactive([statements.pop()])
        body = ast.Module(statements, type_ignores=[])
        self._execute(body, "exec", namespace)
        if last is not None:
            self._execute(last, "single", namespace)

    def run_statement(self, node: ast.stmt, namespace: dict[str, Any]) -> Any:
        """Runs one statement; returns the value of an expression, which is displayed if it is last."""
        if not isinstance(node, ast.Expr):
            self._execute(ast.Module([node], []), "exec", namespace)
            return None
        value = self._execute(ast.Expression(node.value), "eval", namespace)
        if self.shows_last and node is self.tree.body[-1]:
            sys.displayhook(value)
        return value

    def function(self, text: str, name: str, namespace: dict[str, Any]) -> tuple[Any, str]:
        """Returns the function `name` that `text` defines, with its file name; binds no name."""
        filename = self.register(text)
        names: dict[str, Any] = {}
        tree = ast.parse(text, filename)
        exec(distinct(self.compile_tree(tree, filename, "exec"), filename), namespace, names)
        return names[name], filename

    def run_hidden(self, namespace: dict[str, Any]) -> None:
        """Runs the cell again without displaying anything."""
        self._execute(self.tree, "exec", namespace)

    def _execute(
        self,
        tree: ast.Module | ast.Expression | ast.Interactive,
        mode: str,
        namespace: dict[str, Any],
    ) -> Any:
        """Runs statements; where they wait with `await` at the top level, until that is over."""
        code = distinct(self.compile_tree(tree, self.filename, mode), self.filename)
        result = eval(code, namespace)
        return _awaited(result) if code.co_flags & inspect.CO_COROUTINE else result

    def names_read(self) -> tuple[str, ...]:
        """Returns the names that the cell reads, in order of appearance."""
        nodes = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name)]
        return tuple(dict.fromkeys(n.id for n in nodes if isinstance(n.ctx, ast.Load)))


def waits(node: ast.AST) -> bool:
    """Tells whether a statement waits with `await` where it stands, not in a function inside."""
    if isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith)):
        return True
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    return any(waits(child) for child in ast.iter_child_nodes(node) if not isinstance(child, inner))


def distinct(code: types.CodeType, mark: str) -> types.CodeType:
    """Returns code that is equal to no other, that of the functions in it included.

    Code of the same text is equal, whatever its file, and AutoGraph keeps what it made of equal code:
    the frames of a second run would be those of the first.
    """
    parts = (distinct(c, mark) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=(*parts, mark))


def _awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Runs a coroutine to its end; a magic can't give way to the loop that a notebook runs in.

    It gets a loop of its own, in a thread of its own where this one runs a loop already. Tasks and
    locks that belong to the notebook's loop can't be waited for in it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def evaluate(expression: str, namespace: Mapping[str, Any], option: str) -> Any:
    """Returns the value of a name or expression of the user's.

    Raises:
        WorkloadError: it can't be evaluated; names that are alike are suggested.
    """
    try:
        return eval(expression, dict(namespace))
    except NameError as error:
        name = getattr(error, "name", None) or expression
        close = difflib.get_close_matches(name, [n for n in namespace if n[:1] != "_"], n=3)
        hint = f" Did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else ""
        raise WorkloadError(f"{option} names `{name}`, which does not exist.{hint}") from None
    except SyntaxError:
        raise WorkloadError(
            f"{option} must be a name or an expression, not `{expression}`"
        ) from None
    except Exception as error:
        raise WorkloadError(
            f"{option} `{expression}` can't be evaluated: {type(error).__name__}: {error}"
        ) from None
