"""How long drawing a report takes, how large it is, and how many models its live form has."""

from __future__ import annotations

import time

import pytest
import sample_graph_records
import sample_records
from ipywidgets.widgets.widget import _instances

from tfinsight.report import Report

MOST_S, MOST_BYTES, MOST_MODELS = 0.3, 400_000, 60
ROWS = 20


def many_rows():
    """A report with 20 rows, half of them timed in hundreds of rounds."""
    record = sample_records.full()
    more = [
        sample_records.row(f"mine{i}/graph", 0.001 * (i + 1), 300 + 40 * i) for i in range(ROWS)
    ]
    return sample_records.replace(record, runs=(*record.runs, *more)[:ROWS])


def seconds_of(draw):
    """The quickest of several: what else the machine does only adds to it."""
    draw()  # fonts and styles are read once
    taken = []
    for _ in range(9):
        began = time.perf_counter()
        draw()
        taken.append(time.perf_counter() - began)
    return min(taken)


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "make", [many_rows, sample_graph_records.full], ids=["mapcost", "graphcompare"]
)
def test_a_report_is_quick_small_and_light(make):
    report = Report(make())
    static_s, live_s = seconds_of(report.to_html), seconds_of(lambda: report.live().clear())
    size = len(report.to_html().encode())
    before = len(_instances)
    report.live()
    models = len(_instances) - before
    print(
        f"\n{report.record.kind}, {len(report.record.runs)} rows: static {static_s:.3f} s and "
        f"{size / 1e3:.0f} kB, live {live_s:.3f} s and {models} models"
    )
    assert max(static_s, live_s) < MOST_S
    assert size < MOST_BYTES
    assert models < MOST_MODELS
