"""What compiling did, gathered from the graphs, the traces and the results of the rows."""

from __future__ import annotations

from tfinsight.measure.graph_run import GraphMeasurement


def compiled_evidence(measurement: GraphMeasurement) -> None:
    """Fills in `measurement.compiled`."""
