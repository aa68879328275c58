"""Records to dictionaries and back, ready for JSON; what is read is checked and never run."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union

Record = TypeVar("Record")


def to_dict(record: Any) -> Any:
    """Returns `record` as dictionaries, lists, strings and numbers, ready for JSON.

    Floats that JSON lacks become the strings `"nan"`, `"inf"` and `"-inf"`.
    """
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return {f.name: to_dict(getattr(record, f.name)) for f in dataclasses.fields(record)}
    if isinstance(record, Mapping):
        return {str(key): to_dict(value) for key, value in record.items()}
    if isinstance(record, (list, tuple)):
        return [to_dict(value) for value in record]
    if isinstance(record, float) and not math.isfinite(record):
        return str(record)
    return record


def from_dict(kind: type[Record], data: Any, where: str = "report") -> Record:
    """Builds a record of `kind` from what `to_dict` returned.

    Unknown keys are refused, so that a damaged file is noticed and not half read.

    Raises:
        ValueError: `data` does not have the form of `kind`; the message names the place.
    """
    return typing.cast(Record, _decode(kind, data, where))


def _decode(kind: Any, data: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _decode_record(typing.cast(type, kind), data, where)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(arguments, data, where)
    if origin is Literal:
        return _checked(data in arguments, data, f"one of {', '.join(map(repr, arguments))}", where)
    if origin is tuple:
        return _decode_tuple(arguments, data, where)
    if origin is Mapping:
        _checked(isinstance(data, dict), data, "an object", where)
        return {str(k): _decode(arguments[1], v, f"{where}.{k}") for k, v in data.items()}
    if kind is float:
        return _decode_float(data, where)
    return _checked(type(data) is kind, data, kind.__name__, where)


def _decode_record(kind: type, data: Any, where: str) -> Any:
    _checked(isinstance(data, dict), data, f"an object with the fields of {kind.__name__}", where)
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise ValueError(f"{where}: unknown field {unknown[0]!r} in {kind.__name__}")
    values = {name: _decode(hints[name], data[name], f"{where}.{name}") for name in data}
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from None


def _decode_union(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in kinds:
        return None
    problem: ValueError | None = None
    # An int stays an int where both int and float are allowed.
    for kind in sorted(kinds, key=lambda k: k is float):
        if kind is type(None):
            continue
        try:
            return _decode(kind, data, where)
        except ValueError as error:
            problem = problem or error
    raise problem or ValueError(f"{where}: cannot read {data!r}")


def _decode_tuple(arguments: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    _checked(isinstance(data, list), data, "a list", where)
    if arguments[-1] is Ellipsis:
        return tuple(_decode(arguments[0], item, f"{where}[{i}]") for i, item in enumerate(data))
    _checked(len(data) == len(arguments), data, f"a list of {len(arguments)}", where)
    pairs = zip(arguments, data, strict=True)
    return tuple(_decode(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(pairs))


def _decode_float(data: Any, where: str) -> float:
    if data in ("nan", "inf", "-inf"):
        return float(data)
    good = isinstance(data, (int, float)) and not isinstance(data, bool)
    return float(_checked(good, data, "a number", where))


def _checked(good: bool, data: Any, expected: str, where: str) -> Any:
    if not good:
        raise ValueError(f"{where}: expected {expected}, got {type(data).__name__} {data!r:.60}")
    return data
