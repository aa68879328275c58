"""The rows of `%%graphcompare`: who executes the measured code, as one literal table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tfinsight.errors import WorkloadError
from tfinsight.records import AS_WRITTEN, MIXED_OPTIONS, STEPS_PER_EXECUTION, Execution
from tfinsight.strategies import EXECUTIONS, canonical


@dataclass(frozen=True)
class GraphRow:
    """A row.

    Attributes:
        id: that users see and type.
        execution: who runs it.
        variant: name of the user's own variant; empty for the measured code itself.
        grappler: TensorFlow's graph optimizer is on.
        mixed: dtype of mixed precision, or empty.
        steps: batches in one call, for Keras.
    """

    id: str
    execution: Execution
    variant: str = ""
    grappler: bool = True
    mixed: str = ""
    steps: int = 1

    @property
    def mapping(self) -> str:
        """Nothing is mapped."""
        return ""

    def optimizer_options(self, given: dict[str, Any], device: str) -> dict[str, Any]:
        """Returns the options of the graph optimizer under which the row runs."""
        options = dict(given)
        if not self.grappler:
            options["disable_meta_optimizer"] = True
        if self.mixed:
            kind = device.split(":")[0]
            option = MIXED_OPTIONS.get((self.mixed, kind))
            if option is None:
                raise WorkloadError(f"--mixed {self.mixed}: TensorFlow has no rewriting for {kind}")
            options[option] = True
        return options


EAGER = GraphRow("eager", "eager")
GRAPH = GraphRow("graph", "graph")
ROWS: tuple[GraphRow, ...] = (
    EAGER,
    GRAPH,
    GraphRow("graph-no-grappler", "graph", grappler=False),
    GraphRow("xla", "xla"),
)
STEPS = GraphRow("steps-per-execution", "graph", steps=STEPS_PER_EXECUTION)
# Keras methods that go over many batches.
MANY_BATCHES = ("fit", "evaluate", "predict")


def graph_rows(
    also: Sequence[str], mixed: str | None, entry: str | None = None
) -> tuple[GraphRow, ...]:
    """Returns all rows but `as-written`, in the report's order.

    Args:
        also: names of the user's own variants.
        mixed: dtype of mixed precision, or `None`.
        entry: the Keras method that the code calls, or `None`.
    """
    rows = list(ROWS)
    if entry in MANY_BATCHES:
        rows.append(STEPS)
    if mixed is not None:
        rows.append(GraphRow(f"graph-{mixed}", "graph", mixed=mixed))
    for name in also:
        rows += [GraphRow(f"{name}/{e}", e, variant=name) for e in EXECUTIONS]
    return tuple(rows)


def select(wanted: Sequence[str], rows: Sequence[GraphRow]) -> tuple[GraphRow, ...]:
    """Returns those of `rows` that `wanted` names, by id, variant or execution; none means all.

    Raises:
        WorkloadError: a name that is none of them.
    """
    names = [canonical(name) for name in wanted if canonical(name) != AS_WRITTEN]
    for name in names:
        if not any(_is_named(row, name) for row in rows):
            raise WorkloadError(f"unknown strategy `{name}`.{_suggestion(name, rows)}")
    if not wanted:
        return tuple(rows)
    return tuple(row for row in rows if any(_is_named(row, name) for name in names))


def check_names(
    wanted: Sequence[str], baseline: str | None, also: Sequence[str], mixed: str | None
) -> None:
    """Checks rows and baseline by name, before anything runs.

    Raises:
        WorkloadError: an unknown name; the message says what there is.
    """
    rows = graph_rows(also, mixed, "fit")
    select(wanted, rows)
    if baseline is not None and canonical(baseline) not in {AS_WRITTEN, *(r.id for r in rows)}:
        raise WorkloadError(
            f"unknown baseline `{baseline}`; it must be the id of a row, such as `graph`."
            + _suggestion(canonical(baseline), rows)
        )


def _is_named(row: GraphRow, name: str) -> bool:
    return name == row.id or (bool(row.variant) and name in (row.variant, row.execution))


def _suggestion(name: str, rows: Iterable[GraphRow]) -> str:
    known = [AS_WRITTEN, *(row.id for row in rows)]
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f" Did you mean {' or '.join(f'`{c}`' for c in close)}?"
    return f" Rows are {', '.join(known)}."
