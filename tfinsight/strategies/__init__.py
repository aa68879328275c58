"""The strategies: every way of covering a batch times every way of executing it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfinsight.errors import WorkloadError
from tfinsight.records import AS_WRITTEN, Execution


class Strategy(NamedTuple):
    """A row: `mapping/execution`, or `as-written`."""

    mapping: str
    execution: Execution

    @property
    def id(self) -> str:
        """The id that users see and type."""
        return AS_WRITTEN if self.mapping == AS_WRITTEN else f"{self.mapping}/{self.execution}"


# fmt: off
GRID: tuple[Strategy, ...] = (
    Strategy("loop", "eager"),           Strategy("loop", "graph"),           Strategy("loop", "xla"),
    Strategy("map_fn", "eager"),         Strategy("map_fn", "graph"),         Strategy("map_fn", "xla"),
    Strategy("vectorized_map", "eager"), Strategy("vectorized_map", "graph"), Strategy("vectorized_map", "xla"),
    Strategy("batched", "eager"),        Strategy("batched", "graph"),        Strategy("batched", "xla"),
    Strategy("chunked", "eager"),        Strategy("chunked", "graph"),        Strategy("chunked", "xla"),
    Strategy("dataset", "eager"),        Strategy("dataset", "graph"),      # XLA can't compile tf.data
)
# fmt: on
EXECUTIONS: tuple[Execution, ...] = ("eager", "graph", "xla")
ALIASES = {"compiled": "xla"}


def select(wanted: Sequence[str], variants: Sequence[Strategy]) -> tuple[Strategy, ...]:
    """Returns the rows that `wanted` names, in the grid's order, the user's variants last.

    Args:
        wanted: ids, mappings and executions; their union is returned; none means all.
        variants: the rows of the user's own variants.

    Raises:
        WorkloadError: a name that is none of them.
    """
    rows = (*GRID, *variants)
    names = [canonical(name) for name in wanted if name != AS_WRITTEN]
    for given, name in zip((n for n in wanted if n != AS_WRITTEN), names, strict=True):
        if not any(name in (row.id, row.mapping, row.execution) for row in rows):
            raise WorkloadError(f"unknown strategy `{given}`.{suggestion(name, rows)}")
    if not wanted:
        return rows
    return tuple(row for row in rows if {row.id, row.mapping, row.execution} & set(names))


def canonical(name: str) -> str:
    """Returns the id that `name` stands for, aliases of executions replaced."""
    return "/".join(ALIASES.get(part, part) for part in name.strip().split("/"))


def suggestion(name: str, rows: Iterable[Strategy]) -> str:
    """Returns a sentence that says what could have been meant, or what there is."""
    rows = tuple(rows)
    known = [
        *dict.fromkeys(row.id for row in rows),
        *dict.fromkeys(row.mapping for row in rows),
        *EXECUTIONS,
    ]
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f" Did you mean {' or '.join(f'`{c}`' for c in close)}?"
    mappings = ", ".join(dict.fromkeys(row.mapping for row in rows))
    return f" Mappings are {mappings}; executions are {', '.join(EXECUTIONS)}."


def variants(names: Iterable[str]) -> tuple[Strategy, ...]:
    """Returns the rows of the user's own variants: each of them in every execution."""
    return tuple(Strategy(name, execution) for name in names for execution in EXECUTIONS)


def check_names(wanted: Sequence[str], baseline: str | None, also: Sequence[str]) -> None:
    """Checks strategies and baseline by name, before anything runs.

    Raises:
        WorkloadError: an unknown name; the message says what there is.
    """
    rows = (*GRID, *variants(also))
    select(wanted, variants(also))
    if baseline is not None and canonical(baseline) not in {AS_WRITTEN, *(row.id for row in rows)}:
        raise WorkloadError(
            f"unknown baseline `{baseline}`; it must be the id of a row, such as `map_fn/graph`."
            + suggestion(canonical(baseline), rows)
        )
