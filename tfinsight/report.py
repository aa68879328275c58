"""The face that the user holds: one record, and the forms that it takes."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfinsight.rebase import rebased
from tfinsight.records import (
    SCHEMA,
    Agreement,
    Failure,
    GraphCompare,
    MapCost,
    Memory,
    Progress,
    Run,
    Timing,
    from_dict,
    to_dict,
)
from tfinsight.render import figures
from tfinsight.render.html import render_html, render_page
from tfinsight.render.progress import NoProgress
from tfinsight.render.text import render_text, verdict_sentence

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS: dict[str, type[MapCost] | type[GraphCompare]] = {
    "mapcost": MapCost,
    "graphcompare": GraphCompare,
}

# Times rows for longer: record, ids, seconds, progress to new record and whether it was interrupted.
Longer = Callable[[Any, Sequence[str], float, Progress], tuple[Any, bool]]

# What a table has no cell for.
NESTED = ("samples_s", "rounds", "top", "timeline")


class Report:
    """The result of `mapcost` or `graphcompare`, drawn from its record.

    Attributes:
        record: all figures and findings, frozen.
    """

    def __init__(
        self,
        record: MapCost | GraphCompare,
        best: Callable[..., Any] | None = None,
        longer: Longer | None = None,
    ) -> None:
        self.record = record
        self._best = best
        self._longer = longer

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

    @property
    def can_measure_longer(self) -> bool:
        """Whether the functions that were measured are still there: not in a report that was loaded."""
        return self._longer is not None

    def measure_longer(
        self,
        strategies: str | Sequence[str] = (),
        seconds: float = 10.0,
        progress: Progress | None = None,
    ) -> None:
        """Times rows for longer; the new samples come to those that are there, and `record` is new.

        The baseline and the fastest row are timed beside them: ratios come from shared rounds. The
        notebook is left as it is.

        Args:
            strategies: ids of the rows; all that were timed if none.
            seconds: how long to go on.
            progress: is told what is being measured.

        Raises:
            ValueError: no such row was timed.
            RuntimeError: the report was loaded and holds no functions.
            KeyboardInterrupt: on an interrupt; what was measured until then is in the record.
        """
        if self._longer is None:
            raise RuntimeError("this report was loaded and holds no functions to measure again")
        timed = [run.strategy for run in self.record.runs if run.timing and run.timing.median_s]
        wanted = [strategies] if isinstance(strategies, str) else list(strategies) or timed
        shown = progress or NoProgress()
        self.record, interrupted = self._longer(self.record, wanted, seconds, shown)
        if interrupted:
            raise KeyboardInterrupt

    def rebased(self, baseline: str) -> Report:
        """Returns the same report with speed-ups against another row.

        Raises:
            ValueError: there is no such row.
        """
        return Report(rebased(self.record, baseline), self._best, self._longer)

    def figure(
        self,
        kind: str,
        *,
        logarithmic: bool | None = None,
        strategies: Collection[str] | None = None,
    ) -> Figure:
        """Draws a picture of the report, for papers and slides; no pyplot is used, no style changed.

        Args:
            kind: `pareto` (memory against time), `grid` (the rows at a glance), `break_even` (time
                against calls), `memory` (live bytes within a call), `scaling` (peaks at other
                sizes) or `stages` (what first calls consist of).
            logarithmic: whether axes are logarithmic; `None` lets the span of the values decide.
            strategies: ids of the rows shown; `None` for all.

        Returns:
            a `matplotlib.figure.Figure`, 7 inches wide; `savefig` writes SVG, PDF or PNG.

        Raises:
            ValueError: an unknown kind or row, or there is nothing to draw; the message says what is
                missing.
        """
        return figures.figure(self.record, kind, logarithmic=logarithmic, strategies=strategies)

    def live(self) -> Any:
        """Returns the report as widgets: an `ipywidgets.VBox` with controls for what it shows."""
        from tfinsight.render.widgets import LiveReport

        box = LiveReport()
        box.show(self)
        return box

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

    def to_text(self, ascii: bool | None = None) -> str:  # noqa: A002 - what it is
        """Returns the report as text of at most 80 columns.

        Args:
            ascii: use ASCII characters only; `None` does so where standard output can't show others.
        """
        return render_text(self.record, not _shows_unicode() if ascii is None else ascii)

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


def _shows_unicode() -> bool:
    try:
        "–µ×“”→".encode(sys.stdout.encoding or "ascii")  # noqa: RUF001 - what reports use
    except (UnicodeEncodeError, LookupError, AttributeError):
        return False
    return True


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
