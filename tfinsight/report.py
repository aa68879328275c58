"""The face that the user holds: one record, and the forms that it takes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tfinsight.records import SCHEMA, MapCost, from_dict, to_dict
from tfinsight.render.html import render_html, render_page
from tfinsight.render.text import render_text
from tfinsight.render.wording import verdict_sentence


class Report:
    """The result of `mapcost`, drawn from its record.

    Attributes:
        record: all figures and findings, frozen.
    """

    def __init__(self, record: MapCost, best: Callable[[Any], Any] | None = None) -> None:
        self.record = record
        self._best = best

    def best(self) -> Callable[[Any], Any]:
        """Returns the recommended strategy as a function of the elements.

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
        if not isinstance(data, dict) or data.get("kind") != "mapcost":
            raise ValueError("this is not a report of tfinsight (no `kind` that is known)")
        if data.get("schema") != SCHEMA:
            raise ValueError(
                f"this report has schema {data.get('schema')!r}; this tfinsight reads {SCHEMA}"
            )
        verdict = data.get("verdict")
        if isinstance(verdict, dict):
            data = {**data, "verdict": {k: v for k, v in verdict.items() if k != "sentence"}}
        return cls(from_dict(MapCost, data))

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
        return pd.DataFrame([_flat(run) for run in self.to_dict()["runs"]]).set_index("strategy")

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
    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{os.fspath(path)} is no JSON file: {error}") from None
    return Report.from_dict(data)


def _write_whole(target: Path, text: str) -> None:
    """Writes beside the target and puts the file in its place once it is whole."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder `{target.parent}` to save `{target.name}` to")
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _flat(run: dict[str, Any]) -> dict[str, Any]:
    """Returns a row's figures without what is nested or long."""
    flat = {
        name: run[name] for name in ("strategy", "mapping", "execution", "status", "chunk_size")
    }
    for part in ("timing", "memory", "agreement", "failure"):
        for name, value in (run[part] or {}).items():
            if not isinstance(value, list):
                flat["agreement" if name == "verdict" else name] = value
    return flat
