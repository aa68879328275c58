"""Who runs a mapped function: Python op by op, `tf.function`, or XLA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tfinsight.records import Execution
from tfinsight.strategies import Strategy
from tfinsight.strategies.mappings import BUILDERS, Plan, build_pipeline, with_gradient
from tfinsight.workload import Function, Workload

WRAPPERS: dict[Execution, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "eager": lambda function: function,
    "graph": lambda function: tf.function(function),
    "xla": lambda function: tf.function(function, jit_compile=True),
}


@dataclass(frozen=True)
class BoundCall:
    """A strategy with its input in place: calling it runs the workload once."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def __call__(self) -> Any:
        """Runs the workload once and returns its result."""
        return self.function(*self.arguments)

    def trace(self) -> Any:
        """Traces the function for this input and returns the concrete function."""
        return self.function.get_concrete_function(*self.arguments)  # type: ignore[attr-defined]

    def trace_count(self) -> int:
        """Returns how often the function has been traced; 0 for eager execution."""
        count = getattr(self.function, "experimental_get_tracing_count", None)
        return 0 if count is None else int(count())


class Executable:
    """One strategy of one workload.

    Attributes:
        strategy: which.
    """

    def __init__(self, strategy: Strategy, workload: Workload, plan: Plan) -> None:
        self.strategy = strategy
        workload = workload.without_inputs()  # a report may outlive the notebook's tensors
        self._workload = workload
        self._plan = plan
        self._wrap = WRAPPERS[strategy.execution]
        self._function = None if strategy.mapping == "dataset" else self._wrap(self._mapped())

    def bind(self, elements: Any) -> BoundCall:
        """Puts `elements` in place, all that is built once for them included."""
        if self._function is not None:
            return BoundCall(self._function, (elements,))
        pipeline = build_pipeline(self._workload, self._plan, elements)
        # A pipeline is no tensor: a tf.function captures it, so each pipeline has its own.
        return BoundCall(self._wrap(pipeline.iterate), ())

    def __call__(self, elements: Any) -> Any:
        """Runs the strategy on other elements of the same shape."""
        return self.bind(elements)()

    def _mapped(self) -> Function:
        variant = self._workload.variants.get(self.strategy.mapping)
        build = BUILDERS.get(self.strategy.mapping)
        mapped = variant if build is None or variant else build(self._workload, self._plan)
        assert mapped is not None, f"no builder for {self.strategy.id}"
        gradient = self._plan.gradient
        return mapped if gradient is None else with_gradient(mapped, gradient)
