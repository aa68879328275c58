"""What a section of a report holds, before it is drawn: sentences and tables of text, no markup."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tfinsight.render import numbers

Form = Literal["words", "figure", "code"]
# What a cell holds where there is nothing to say.
EMPTY = ("", numbers.NONE)


class Head(NamedTuple):
    """A column's head.

    Attributes:
        name: what stands above the column.
        form: `figure` is set to the right, `code` in the code font.
    """

    name: str
    form: Form = "words"


class Table(NamedTuple):
    """A table whose cells are text; the first cell of a row names it.

    Attributes:
        caption: what the table shows.
        heads: a head for each column.
        rows: a cell for each head.
    """

    caption: str
    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]

    def without_empty_columns(self) -> Table:
        """Returns the table without columns of which no row has anything."""
        kept = [i for i in range(len(self.heads)) if any(row[i] not in EMPTY for row in self.rows)]
        return Table(
            self.caption,
            tuple(self.heads[i] for i in kept),
            tuple(tuple(row[i] for i in kept) for row in self.rows),
        )


class Section(NamedTuple):
    """A part of the evidence.

    Attributes:
        title: what it is about.
        said: what it means, in plain words, a sentence or two each.
        flows: ways from Python to kernels, as steps, each with a name first.
        tables: the facts; a table without rows is not drawn.
    """

    title: str
    said: tuple[str, ...] = ()
    flows: tuple[tuple[str, ...], ...] = ()
    tables: tuple[Table, ...] = ()

    def is_empty(self) -> bool:
        """Returns whether there is nothing to draw."""
        return not (any(self.said) or self.flows or any(table.rows for table in self.tables))
