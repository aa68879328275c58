"""tfinsight: how should this TensorFlow code be run?

In a notebook, `%load_ext tfinsight` brings `%%mapcost` and `%%graphcompare`. The same as functions:

    report = tfinsight.mapcost(fn, elems)
    report = tfinsight.graphcompare(fn, *args)

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfinsight.api import MeasurementError, MeasurementInterrupted, graphcompare, mapcost
    from tfinsight.report import Report, load

__version__ = "0.1.0"
__all__ = [
    "MeasurementError",
    "MeasurementInterrupted",
    "Report",
    "graphcompare",
    "load",
    "load_ipython_extension",
    "mapcost",
    "unload_ipython_extension",
]

_HOMES = {
    "graphcompare": "tfinsight.api",
    "mapcost": "tfinsight.api",
    "MeasurementError": "tfinsight.api",
    "MeasurementInterrupted": "tfinsight.api",
    "Report": "tfinsight.report",
    "load": "tfinsight.report",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tfinsight' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Registers the magics; called by `%load_ext tfinsight`."""
    from tfinsight.magics import register

    register(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Takes the magics away again; called by `%unload_ext tfinsight`."""
    from tfinsight.magics import unregister

    unregister(ipython)
