"""What a call with another shape costs, and what spares it."""

from __future__ import annotations

from tfinsight.measure.graph_run import GraphMeasurement


def new_shapes(measurement: GraphMeasurement) -> None:
    """Calls the compiled rows with a shape that they have not seen."""
