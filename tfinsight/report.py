"""The face that the user holds: one record, and the forms that it takes."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfinsight.records import (
    SCHEMA,
    Agreement,
    Failure,
    GraphCompare,
    MapCost,
    Memory,
    Run,
    Timing,
    from_dict,
    to_dict,
)
from tfinsight.render.html import render_html, render_page
from tfinsight.render.text import render_text, verdict_sentence

KINDS: dict[str, type[MapCost] | type[GraphCompare]] = {
    "mapcost": MapCost,
    "graphcompare": GraphCompare,
}

# What a table has no cell for.
NESTED = ("samples_s", "top", "timeline")


class Report:
    """The result of `mapcost` or `graphcompare`, drawn from its record.

    Attributes:
        record: all figures and findings, frozen.
    """

    def __init__(
        self, record: MapCost | GraphCompare, best: Callable[..., Any] | None = None
    ) -> None:
        self.record = record
        self._best = best

    def best(self) -> Callable[..., Any]:
        """Returns the recommended strategy as a function: of the elements, or of the cell's inputs.

        Raises:
            RuntimeError: nothing is recommended, or the report was loaded from a file.
        """
        if self.record.verdict.recommended is None:
            raise RuntimeError(f"no strategy is recommended. {verdict_sentence(self.record)}")
        if self._best is None:
            raise RuntimeError(
                "this report was loaded and holds no functions. The code of the recommended strategy "
                f"is report.record.run({self.record.verdict.recommended!r}).code"
            )
        return self._best

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as dictionaries, lists, strings and numbers, with the verdict in words."""
        data: dict[str, Any] = to_dict(self.record)
        data["verdict"]["sentence"] = verdict_sentence(self.record)
        return data

    @classmethod
    def from_dict(cls, data: Any) -> Report:
        """Builds a report from what `to_dict` returned; nothing of it is run.

        Raises:
            ValueError: `data` is no report, or of a later version of tfinsight.
        """
        kind = KINDS.get(str(data.get("kind"))) if isinstance(data, dict) else None
        if kind is None:
            raise ValueError("this is no report of tfinsight: it has no `kind` that is known")
        schema = data.get("schema")
        if schema != SCHEMA:
            newer = isinstance(schema, int) and schema > SCHEMA
            raise ValueError(
                f"this report has schema {schema!r} and this tfinsight reads {SCHEMA}"
                + ("; a newer tfinsight is needed" if newer else "")
            )
        verdict = data.get("verdict")
        if isinstance(verdict, dict):
            data = {**data, "verdict": {k: v for k, v in verdict.items() if k != "sentence"}}
        record: MapCost | GraphCompare = from_dict(kind, data)
        recommended = record.verdict.recommended
        if recommended is not None and record.run(recommended) is None:
            raise ValueError(f"report.verdict.recommended: there is no row {recommended!r}")
        return cls(record)

    def to_text(self) -> str:
        """Returns the report as text of at most 80 columns."""
        return render_text(self.record)

    def to_html(self) -> str:
        """Returns the report as a fragment of static HTML."""
        return render_html(self.record)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report to a `.json` file, which `load` reads, or to an `.html` page.

        Raises:
            ValueError: another ending.
            OSError: the file can't be written; what was there before is then still there.
        """
        target = Path(path)
        if target.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        elif target.suffix == ".html":
            text = render_page(self.record)
        else:
            raise ValueError(f"expected a path that ends in .json or .html, not `{target}`")
        _write_whole(target, text)

    def to_pandas(self) -> Any:
        """Returns a `pandas.DataFrame` with a line for each strategy, units in the names.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_pandas() needs pandas, which is not installed here") from None
        return pd.DataFrame([_flat(run) for run in self.record.runs]).set_index("strategy")

    def __repr__(self) -> str:
        return f"<tfinsight report: {verdict_sentence(self.record)}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        html = f'<div class="tfi-static">{self.to_html()}</div>'
        return {"text/plain": self.to_text(), "text/html": html}


def load(path: str | os.PathLike[str]) -> Report:
    """Reads a report that was saved as `.json`; nothing of it is run.

    Raises:
        ValueError: the file is no report; the message says where it is damaged.
        OSError: the file can't be read.
    """
    name = os.fspath(path)
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is no JSON file, or is damaged: {error}") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply for a report") from None
    try:
        return Report.from_dict(data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _write_whole(target: Path, text: str) -> None:
    """Writes beside the target and puts the file in its place once it is whole."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder `{target.parent}` to save `{target.name}` to")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        # A lone surrogate (a file name that is no UTF-8) is written as JSON writes it.
        with open(beside, "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _flat(run: Run) -> dict[str, Any]:
    """Returns a row's figures without what is nested or long."""
    flat = {
        name: getattr(run, name)
        for name in ("strategy", "mapping", "execution", "status", "chunk_size")
    }
    parts: tuple[tuple[Any, Any], ...] = (
        (Timing, run.timing),
        (Memory, run.memory),
        (Agreement, run.agreement),
        (Failure, run.failure),
    )
    for kind, part in parts:  # a part that is missing has its columns all the same
        for field in dataclasses.fields(kind):
            value = getattr(part, field.name, None)
            if field.name not in NESTED:
                flat["agreement" if field.name == "verdict" else field.name] = value
    return flat
