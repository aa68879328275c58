"""How numbers become text: the only place, so that all forms of a report read alike.

`PATTERNS` lists every form that is made here, for whoever must find or mask numbers in a report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfinsight.records import Evidence

NONE = "–"  # noqa: RUF001 - a dash for what there is no number of
DIGITS = 3
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_OPERATIONS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?"

# One regular expression for each form.
PATTERNS: dict[str, str] = {
    "seconds": rf"{_NUMBER} (?:min|s|ms|µs|us|ns)\b",
    "size": rf"{_NUMBER} (?:TiB|GiB|MiB|KiB|B)\b",
    "interval": rf"\[{_NUMBER}, {_NUMBER}\]",
    "ratio": rf"{_NUMBER}x",
    "operations": rf"{_NUMBER} [kMGTP]?FLOP(?:/s)?\b",
    "size_rate": rf"{_NUMBER} (?:TiB|GiB|MiB|KiB|B)/s",
    "percent": rf"{_NUMBER} %",
    "count": rf"{_NUMBER}",
    "none": NONE,
}


def seconds(value: float | None) -> str:
    """Returns a duration with three digits in a fitting unit (`1.23 ms`)."""
    if value is None or not math.isfinite(value):
        return NONE
    if value >= 120:
        return f"{significant(value / 60)} min"
    for factor, unit in _SECONDS:
        # As it will be rounded: 999.9 µs is 1 ms.
        if float(f"{value:.{DIGITS - 1}e}") >= factor:
            return f"{significant(value / factor)} {unit}"
    return f"{significant(value / 1e-9)} ns"


def size(value: float | None) -> str:
    """Returns a number of bytes with three digits in a fitting unit (`16.0 MiB`)."""
    if value is None or not math.isfinite(value):
        return NONE
    for factor, unit in _SIZES:
        # As it will be rounded: 1,023.9 KiB is 1 MiB.
        if float(f"{abs(value) / factor:.{DIGITS - 1}e}") >= 1:
            return f"{significant(value / factor)} {unit}"
    return f"{round(value)} B"


def size_rate(value: float | None) -> str:
    """Returns bytes a second (`12.0 GiB/s`)."""
    return NONE if size(value) == NONE else f"{size(value)}/s"


def operations(value: float | None) -> str:
    """Returns a number of floating-point operations (`2.10 MFLOP`)."""
    if value is None or not math.isfinite(value):
        return NONE
    for factor, prefix in _OPERATIONS:
        # As it will be rounded: 999.9 kFLOP is 1 MFLOP.
        if float(f"{abs(value):.{DIGITS - 1}e}") >= factor:
            return f"{significant(value / factor)} {prefix}FLOP"
    return f"{count(value)} FLOP"


def operations_rate(value: float | None) -> str:
    """Returns floating-point operations a second (`12.3 GFLOP/s`)."""
    return NONE if operations(value) == NONE else f"{operations(value)}/s"


def css_percent(share: float) -> str:
    """Returns a share as a width for a style sheet (`25.0%`), from 0 to 100 in any case."""
    return f"{100 * min(1.0, max(0.0, share)) if math.isfinite(share) else 0.0:.1f}%"


def ratio(value: float | None) -> str:
    """Returns a factor (`12.5x`)."""
    return NONE if value is None or not math.isfinite(value) else f"{significant(value)}x"


def interval(low: float | None, high: float | None) -> str:
    """Returns an interval of factors (`[11.9, 13.1]`), nothing where there is none."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{significant(low)}, {significant(high)}]"


def seconds_interval(low: float | None, high: float | None) -> str:
    """Returns an interval of durations (`[1.10 ms, 1.31 ms]`), nothing where there is none."""
    if seconds(low) == NONE or seconds(high) == NONE:
        return ""
    return f"[{seconds(low)}, {seconds(high)}]"


def percent(value: float | None) -> str:
    """Returns a share as percents (0.25 is `25 %`)."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{significant(100 * value)} %"


def count(value: float | None) -> str:
    """Returns a whole number with thousands set apart, another with three digits."""
    if value is None or not math.isfinite(value):
        return NONE
    return f"{int(value):,}" if float(value).is_integer() else significant(value)


def significant(value: float) -> str:
    """Returns a number with three digits, never in powers of ten within what people read."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e7 or abs(value) < 1e-4:
        return f"{value:.{DIGITS - 1}e}"
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(abs(float(f"{value:.{DIGITS - 1}e}")))))
    return f"{value:,.{decimals}f}"


def evidence(item: Evidence) -> str:
    """Returns the value of a finding's evidence in its unit."""
    if isinstance(item.value, str):
        return item.value
    forms = {"s": seconds, "B": size, "x": ratio, "%": percent, "count": count, "": count}
    return forms[item.unit](item.value)


def names(items: Sequence[str], last: str = "and") -> str:
    """Returns names as a list in words (`a`, `b` and `c`), each set off as code."""
    quoted = [f"`{item}`" for item in items]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} {last} {quoted[-1]}"


def line(number: int | None) -> str:
    """Returns the number of a line, a dash where it is not known."""
    return NONE if number is None else str(number)


def lines(numbers_of_lines: Sequence[int]) -> str:
    """Returns numbers of lines (`2, 3, 7`), a dash where there are none."""
    return ", ".join(str(number) for number in numbers_of_lines) or NONE


def span(first: int, last: int) -> str:
    """Returns a range of lines in words (`line 3`, `lines 1 to 4`)."""
    return f"line {first}" if first == last else f"lines {first} to {last}"


def many(number: float, one: str, more: str = "") -> str:
    """Returns a count with its noun (`1 op`, `1,536 ops`)."""
    return f"{count(number)} {one if number == 1 else more or one + 's'}"


def shape(dimensions: Sequence[int | None]) -> str:
    """Returns a shape (`[512, ?, 3]`)."""
    return "[" + ", ".join("?" if d is None else str(d) for d in dimensions) + "]"
