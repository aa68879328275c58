"""How long drawing a report takes, how large it is, and how many models its live form has."""

from __future__ import annotations

import io
import time

import pytest
import sample_graph_records
import sample_records
from ipywidgets.widgets.widget import _instances
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tfinsight.report import Report

# A report with four pictures, for 0.3 s where a bare picture of matplotlib's takes 0.05 s: a limit in
# seconds would test how busy the machine is.
MOST_BARE_PICTURES = 6
MOST_BYTES, MOST_MODELS = 400_000, 60
ROWS = 20


def many_rows():
    """A report with 20 rows, half of them timed in hundreds of rounds."""
    record = sample_records.full()
    more = [
        sample_records.row(f"mine{i}/graph", 0.001 * (i + 1), 300 + 40 * i) for i in range(ROWS)
    ]
    return sample_records.replace(record, runs=(*record.runs, *more)[:ROWS])


def bare_picture():
    """A line with axes and a legend, as PNG: what no picture of a report can be quicker than."""
    figure = Figure(figsize=(7.0, 4.0), dpi=100)
    axes = figure.add_subplot()
    axes.loglog([1, 10, 100], [3, 2, 1], label="a line")
    axes.legend()
    FigureCanvasAgg(figure).print_png(io.BytesIO())


def seconds_of(*draws):
    """The quickest of several in turn: what else the machine does only adds to it."""
    taken = {draw: [] for draw in draws}
    for draw in draws:
        draw()  # fonts and styles are read once
    for _ in range(9):
        for draw in draws:
            began = time.perf_counter()
            draw()
            taken[draw].append(time.perf_counter() - began)
    return [min(times) for times in taken.values()]


@pytest.mark.benchmark
@pytest.mark.parametrize(
    "make", [many_rows, sample_graph_records.full], ids=["mapcost", "graphcompare"]
)
def test_a_report_is_quick_small_and_light(make):
    report = Report(make())
    bare_s, static_s, live_s = seconds_of(
        bare_picture, report.to_html, lambda: report.live().clear()
    )
    size = len(report.to_html().encode())
    before = len(_instances)
    report.live()
    models = len(_instances) - before
    print(
        f"\n{report.record.kind}, {len(report.record.runs)} rows: static {static_s:.3f} s and "
        f"{size / 1e3:.0f} kB, live {live_s:.3f} s and {models} models; "
        f"a bare picture {bare_s:.3f} s"
    )
    assert max(static_s, live_s) < MOST_BARE_PICTURES * bare_s
    assert size < MOST_BYTES
    assert models < MOST_MODELS
