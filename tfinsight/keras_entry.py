"""Keras's entry points: which model a cell trains, and the switches that decide how Keras runs it."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ENTRIES = (
    "fit",
    "train_on_batch",
    "evaluate",
    "test_on_batch",
    "predict",
    "predict_on_batch",
)
# What Keras makes once from the switches and then keeps.
_MADE = ("train_function", "test_function", "predict_function")


@dataclass
class Switches:
    """How Keras runs a model, and what it has made of that so far.

    Attributes:
        run_eagerly: op by op from Python.
        jit_compile: compiled with XLA.
        steps_per_execution: batches in one call of the compiled function.
    """

    run_eagerly: bool
    jit_compile: bool
    steps_per_execution: int = 1
    _made: dict[tuple[int, str], Any] = field(default_factory=dict)

    @contextlib.contextmanager
    def on(self, models: Sequence[Any]) -> Iterator[None]:
        """Puts the switches on models until the block ends."""
        saved = [_state(model) for model in models]
        try:
            for model in models:
                model.run_eagerly, model.jit_compile = self.run_eagerly, self.jit_compile
                model.steps_per_execution = self.steps_per_execution
                for name in _MADE:
                    setattr(model, name, self._made.get((id(model), name)))
            yield
        finally:
            for model, before in zip(models, saved, strict=True):
                for name in _MADE:
                    self._made[id(model), name] = getattr(model, name)
                _put(model, before)

    def functions(self) -> tuple[Any, ...]:
        """Returns the functions under `tf.function` that Keras made for these switches."""
        return tuple(f for made in self._made.values() for f in _tf_functions(made))


def entry_of(
    statements: Sequence[ast.stmt], namespace: Mapping[str, Any]
) -> tuple[str | None, dict[str, Any]]:
    """Returns the Keras method that statements call, and the models that they call it on, by text."""
    found: dict[str, Any] = {}
    models: dict[int, tuple[str, Any]] = {}
    for node in (n for statement in statements for n in ast.walk(statement)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        model = _named(node.func.value, namespace)
        if node.func.attr in ENTRIES and is_model(model):
            found[node.func.attr] = model
            models[id(model)] = ast.unparse(node.func.value), model
    return next(iter(found), None), dict(models.values())


def is_model(value: Any) -> bool:
    """Tells whether a value is a Keras model; imports nothing."""
    return any(
        kind.__name__ == "Model" and kind.__module__.split(".")[0] == "keras"
        for kind in type(value).__mro__
    )


def switches_of(model: Any) -> Switches:
    """Returns how a model is set to run now."""
    eager = bool(model.run_eagerly)
    return Switches(eager, bool(model.jit_compile) and not eager, int(model.steps_per_execution))


def _named(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """Returns the value of a name or of an attribute of one, `None` for other expressions."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_named(node.value, namespace), node.attr, None)
    return None


def _state(model: Any) -> dict[str, Any]:
    # The fields behind the properties, since reading a property may set it.
    names = ("_run_eagerly", "_jit_compile", "steps_per_execution", *_MADE, "history")
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def _put(model: Any, saved: Mapping[str, Any]) -> None:
    for name, value in saved.items():
        setattr(model, name, value)


def _tf_functions(made: Any) -> Iterator[Any]:
    """Yields the functions under `tf.function` in the closure of what Keras made."""
    waiting, seen = [made], set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if hasattr(value, "get_concrete_function"):
            yield value
            continue
        for cell in getattr(value, "__closure__", None) or ():
            with contextlib.suppress(ValueError):
                if callable(cell.cell_contents):
                    waiting.append(cell.cell_contents)
