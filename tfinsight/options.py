"""The options of the magics and of the functions: a table for each, the same for all its forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tfinsight.records import MIXED_DTYPES, GraphOptions, MapOptions


class Option(NamedTuple):
    """One option.

    Attributes:
        flags: as typed after a magic; the last one's letters are the name in Python.
        help: what it does.
        metavar: what its value is called, `None` for a switch.
        convert: text to value; raises `ValueError` with what was expected.
        forms: `magic` (both magics) and `function`, where it can be given.
        choices: all values that it can have, where they are few; offered for completion.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    convert: Callable[[str], Any] = str
    forms: tuple[str, ...] = ("magic", "function")
    choices: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name in Python."""
        return self.flags[-1].lstrip("-").replace("-", "_")


DEFAULT_BUDGET_S = MapOptions().budget_s
_SIZE = re.compile(r"\s*([\d.]+)\s*([KMGT]?)(i?B)?\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Reads a number of bytes such as `512MiB`, `2GB` or `1000000`.

    Raises:
        ValueError: not a size above 0.
    """
    found = _SIZE.fullmatch(text)
    try:
        number = float(found[1]) if found else 0.0
    except ValueError:
        number = 0.0
    if found is None or number <= 0:
        raise ValueError(f"expected a size such as 512MiB or 2GB, not `{text}`")
    base = 1000 if found[3] and found[3].lower() == "b" else 1024
    return int(number * base ** " KMGT".index(found[2].upper() or " "))


def parse_budget(text: str | float) -> float:
    """Reads a number of seconds.

    Raises:
        ValueError: not a number above 0.
    """
    try:
        seconds = float(text)
    except (TypeError, ValueError):
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"expected a number of seconds above 0, not `{text}`")
    return seconds


def parse_names(text: str | Iterable[str]) -> tuple[str, ...]:
    """Splits names at commas and spaces; takes a sequence of names as it is."""
    if not isinstance(text, str):
        return tuple(text)
    return tuple(name for name in re.split(r"[,\s]+", text) if name)


def parse_call(text: str) -> int:
    """Reads the number of a map.

    Raises:
        ValueError: not a whole number from 1.
    """
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"expected the number of a map, from 1, not `{text}`")
    return int(text)


def parse_path(text: str) -> str:
    """Checks the ending of a path to save to.

    Raises:
        ValueError: neither `.json` nor `.html`.
    """
    if not str(text).endswith((".json", ".html")):
        raise ValueError(f"expected a path that ends in .json or .html, not `{text}`")
    return str(text)


def parse_mixed(text: str) -> str:
    """Reads a dtype of mixed precision.

    Raises:
        ValueError: neither `bfloat16` nor `float16`.
    """
    if text not in MIXED_DTYPES:
        raise ValueError(f"expected {' or '.join(MIXED_DTYPES)}, not `{text}`")
    return text


_SHARED: tuple[Option, ...] = (
    Option(
        ("--budget",),
        "seconds for everything after the cell's own run; default: 10",
        "SECONDS",
        parse_budget,
    ),
    Option(
        ("--memory-limit",),
        "leave out what would need more, such as 512MiB; default: 80 %% of what is free",
        "SIZE",
        parse_size,
    ),
    Option(("-o", "--output"), "assign the report to this name", "NAME", forms=("magic",)),
    Option(("-q", "--quiet"), "show no report and no progress"),
    Option(("--save",), "save the report to a .json or .html file", "PATH", parse_path),
)
MAP_OPTIONS: tuple[Option, ...] = (
    Option(("-f", "--fn"), "the function of one element", "FUNCTION", forms=("magic",)),
    Option(("-x", "--over"), "the elements to map it over", "ELEMENTS", forms=("magic",)),
    Option(
        ("--call",),
        "measure the cell's N-th map instead of the costliest",
        "N",
        parse_call,
        forms=("magic",),
    ),
    Option(
        ("-s", "--strategies"),
        "strategies (map_fn/graph), mappings (loop, map_fn, vectorized_map, batched, chunked, "
        "dataset) or executions (eager, graph, xla) to run, separated by commas; default: all",
        "NAMES",
        parse_names,
    ),
    Option(("--baseline",), "the row that speed-ups refer to; default: the reference", "STRATEGY"),
    Option(("--batched",), "your own function of the whole batch", "FUNCTION"),
    Option(
        ("--also",),
        "your own functions of the elements, measured and checked beside the others",
        "NAMES",
        parse_names,
    ),
    *_SHARED,
)

GRAPH_OPTIONS: tuple[Option, ...] = (
    Option(
        ("-s", "--strategies"),
        "rows to run (eager, graph, graph-no-grappler, xla), separated by commas; default: all",
        "NAMES",
        parse_names,
    ),
    Option(("--baseline",), "the row that speed-ups refer to; default: the reference", "STRATEGY"),
    Option(
        ("--also",),
        "your own functions of the same inputs, measured and checked beside the others",
        "NAMES",
        parse_names,
    ),
    Option(("--grad",), "measure forward and backward of code that takes no gradient itself"),
    Option(
        ("--mixed",),
        "try mixed precision, too: bfloat16 or float16",
        "DTYPE",
        parse_mixed,
        choices=MIXED_DTYPES,
    ),
    Option(("--passes",), "measure what each pass of the graph optimizer does alone"),
    *_SHARED,
)


def map_options(given: dict[str, Any]) -> MapOptions:
    """Builds the options' record from values by name; `None` stands for the default."""
    values = {name: value for name, value in given.items() if value is not None}
    return MapOptions(
        strategies=values.get("strategies", ()),
        baseline=values.get("baseline"),
        batched=values.get("batched"),
        also=values.get("also", ()),
        call=values.get("call"),
        budget_s=values.get("budget", DEFAULT_BUDGET_S),
        memory_limit_bytes=values.get("memory_limit"),
    )


def graph_options(given: dict[str, Any]) -> GraphOptions:
    """Builds the options' record from values by name; `None` stands for the default."""
    values = {name: value for name, value in given.items() if value is not None}
    return GraphOptions(
        strategies=values.get("strategies", ()),
        baseline=values.get("baseline"),
        also=values.get("also", ()),
        grad=bool(values.get("grad", False)),
        mixed=values.get("mixed"),
        passes=bool(values.get("passes", False)),
        budget_s=values.get("budget", DEFAULT_BUDGET_S),
        memory_limit_bytes=values.get("memory_limit"),
    )
