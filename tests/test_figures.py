"""The pictures: what they draw is what the record holds, and nothing else is touched."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import sample_graph_records
import sample_records
from matplotlib import rcParams, style
from matplotlib.figure import Figure
from matplotlib.image import imread
from sample_records import KIB, full, memory, row, timing

from tfinsight.records import Run, ScalingPoint, Verdict
from tfinsight.render import figures
from tfinsight.render.figures import break_even, pareto, scaling, stages
from tfinsight.render.figures.canvas import foremost
from tfinsight.report import Report

MAP, GRAPH = full(), sample_graph_records.full()
DRAWN = [
    *((MAP, kind) for kind in figures.available(MAP)),
    *((GRAPH, kind) for kind in figures.available(GRAPH)),
]
EVERY = pytest.mark.parametrize(
    ("record", "kind"), DRAWN, ids=[f"{record.kind}-{kind}" for record, kind in DRAWN]
)
HERE = str(Path(__file__).parent)


def words(figure: Figure) -> str:
    """Returns all text that stands in a figure."""
    from matplotlib.text import Text

    return "\n".join(text.get_text() for text in figure.findobj(Text))


def line(figure: Figure, name: str):
    """Returns the points of the line with this name in the legend."""
    (found,) = [drawn for drawn in figure.axes[0].lines if drawn.get_label() == name]
    return list(found.get_xdata()), list(found.get_ydata())


def pixels(data: bytes):
    return imread(io.BytesIO(data))


def test_a_full_record_has_every_picture():
    assert set(figures.available(MAP)) | set(figures.available(GRAPH)) == set(figures.FIGURES)


@EVERY
def test_a_picture_is_opaque_not_blank_and_always_the_same(record, kind):
    data = figures.png(record, kind)
    assert (pixels(data)[..., 3] == 1).all()
    assert 0.01 < (pixels(data)[..., :3].min(axis=2) < 0.9).mean() < 0.6
    assert figures.png(record, kind) == data


@EVERY
def test_nothing_in_a_picture_is_cut_off(record, kind):
    shown = pixels(figures.png(record, kind))[..., :3]
    edges = (shown[:2], shown[-2:], shown[:, :2], shown[:, -2:])
    assert all((edge == 1).all() for edge in edges)


@EVERY
def test_a_figure_belongs_to_the_user_and_can_be_saved_in_any_format(record, kind, tmp_path):
    figure = Report(record).figure(kind)
    assert isinstance(figure, Figure)
    figure.axes[0].set_title("mine")
    for ending, magic in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        figure.savefig(tmp_path / f"picture.{ending}")
        assert (tmp_path / f"picture.{ending}").read_bytes().startswith(magic)


@EVERY
def test_the_users_style_is_neither_used_nor_changed(record, kind):
    plain = figures.png(record, kind)
    with style.context(["dark_background", {"font.size": 30, "axes.formatter.use_locale": True}]):
        rcParams["text.usetex"] = True  # would need LaTeX
        before = dict(rcParams)
        assert figures.png(record, kind) == plain
        assert dict(rcParams) == before


@EVERY
def test_a_picture_is_told_in_words_with_figures(record, kind):
    said = figures.alt(record, kind)
    assert said.endswith(".")
    assert any(character.isdigit() for character in said)


@pytest.mark.parametrize("make", [*sample_records.SAMPLES, *sample_graph_records.SAMPLES])
@pytest.mark.parametrize("kind", figures.FIGURES)
@pytest.mark.parametrize("logarithmic", [None, False, True])
def test_every_record_is_drawn_or_refused_with_what_is_missing(make, kind, logarithmic):
    record = make()
    if kind in figures.available(record):
        assert figures.png(record, kind, logarithmic=logarithmic).startswith(b"\x89PNG")
        return
    assert figures.png(record, kind) is None
    with pytest.raises(ValueError, match=f"nothing to draw as `{kind}`: .{{8}}"):
        Report(record).figure(kind)


def test_an_unknown_picture_or_row_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="no picture `pie`; there are pareto, grid, break_even"):
        Report(MAP).figure("pie")
    with pytest.raises(ValueError, match=r"not `map_fn/grph`; rows are as-written, loop/eager"):
        Report(MAP).figure("grid", strategies=["map_fn/grph", "map_fn/graph"])
    with pytest.raises(ValueError, match="expected a list of rows, not `map_fn/graph`"):
        Report(MAP).figure("grid", strategies="map_fn/graph")


def test_only_chosen_rows_are_drawn():
    chosen = ["as-written", "batched/xla", "chunked/xla"]
    figure = Report(MAP).figure("break_even", strategies=chosen)
    labels = [drawn.get_label() for drawn in figure.axes[0].lines]
    assert sorted(name for name in labels if "/" in name or "as-" in name) == chosen


def test_axes_are_as_asked_for():
    scales = {
        asked: Report(MAP).figure("pareto", logarithmic=asked).axes[0].get_xscale()
        for asked in (None, False, True)
    }
    assert scales == {None: "log", False: "linear", True: "log"}


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, 0.0])
@pytest.mark.parametrize("kind", figures.FIGURES)
def test_figures_that_no_measurement_gives_are_left_out(value, kind):
    damaged = timing(0.5, trace_s=value, compile_s=value, optimize_s=value)
    damaged = replace(damaged, median_s=value, first_call_s=value, low_s=value, high_s=value)
    record = sample_records.with_row(MAP, "map_fn/graph", timing=damaged)
    assert figures.png(record, kind)


@pytest.mark.parametrize("kind", figures.FIGURES)
def test_dollars_in_a_name_are_no_mathematics(kind):
    name = r"$\frac{$"
    runs = tuple(
        replace(run, strategy=f"{name}/{run.execution}", mapping=name)
        if run.mapping == "map_fn"
        else run
        for run in MAP.runs
    )
    points = tuple(replace(point, strategy=f"{name}/graph") for point in MAP.scaling)
    assert figures.png(replace(MAP, runs=runs, scaling=points), kind)


def test_drawing_leaves_the_users_own_pictures_alone():
    code = (
        "import sys, sample_records; from tfinsight.render.html import render_html;"
        "render_html(sample_records.full());"
        "print('matplotlib.pyplot' in sys.modules, 'matplotlib.figure' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=HERE
    )
    assert done.stdout.split() == ["False", "True"]


def test_the_recommended_row_comes_first_where_not_all_fit():
    names = [run.strategy for run in foremost(MAP, MAP.runs, 3)]
    assert names == ["as-written", "chunked/xla", "vectorized_map/xla"]


# Memory against time


def points(*rows: Run):
    return pareto.points(replace(MAP, runs=rows))


def test_the_front_holds_what_nothing_right_beats_in_both():
    found = points(
        row("loop/eager", 0.4, 500),
        row("map_fn/graph", 0.1, 100),
        row("batched/graph", 0.2, 50),
        row("batched/xla", 0.01, 10, status="different"),
        row("chunked/graph", 0.2, 60),
    )
    assert [p.strategy for p in pareto.pareto_front(found)] == ["map_fn/graph", "batched/graph"]


def test_every_row_with_both_figures_is_a_marker():
    axes = figures.figure(MAP, "pareto").axes[0]
    drawn = {tuple(xy) for group in axes.collections for xy in group.get_offsets().tolist()}
    assert drawn == {(p.seconds, float(p.peak_bytes)) for p in pareto.points(MAP)}


@pytest.mark.parametrize("kib", [0, 1, 10**9])
def test_pictures_hold_any_size(kib):
    rows = (row("map_fn/graph", 1e-9, kib), row("batched/graph", 1e6, 7))
    assert figures.png(replace(MAP, runs=rows, verdict=Verdict()), "pareto")


def test_memory_against_time_needs_two_rows_with_both_figures():
    one = replace(MAP, runs=(row("as-written", 0.1, 10), row("map_fn/graph", 0.01)))
    assert figures.png(one, "pareto") is None
    two = replace(MAP, runs=(*one.runs, row("batched/graph", 0.001, 20)))
    assert figures.png(two, "pareto") is not None


# Time against calls


def of_two(first_s: float, median_s: float):
    """A baseline that takes a second, every time, beside another row."""
    base = row("eager", timing=replace(timing(1.0), first_call_s=1.0))
    other = row("graph", timing=replace(timing(median_s), first_call_s=first_s))
    return replace(
        GRAPH, runs=(base, other), baseline="eager", reference="eager", verdict=Verdict()
    )


def test_a_first_call_of_ten_seconds_has_paid_off_when_totals_meet():
    record = of_two(first_s=10.0, median_s=0.5)
    # 10 + (n - 1) / 2 <= n from n = 19 on.
    assert break_even.crossings(record) == {"graph": 19}
    calls, totals = line(figures.figure(record, "break_even"), "graph")
    assert totals[0] == 10.0
    assert totals[-1] == 10.0 + (calls[-1] - 1) * 0.5
    assert calls[-1] > 19


def test_what_never_pays_off_crosses_nothing():
    assert break_even.crossings(of_two(first_s=10.0, median_s=1.5)) == {}


# Memory


def test_the_timeline_is_the_records_and_its_peak_is_marked():
    held = replace(memory(64), timeline=((0.0, 0), (0.002, 64 * KIB), (0.004, 0)))
    record = replace(MAP, runs=(row("map_fn/graph", 0.01, memory=held),))
    figure = figures.figure(record, "memory")
    step, peak = figure.axes[0].lines
    assert list(step.get_xdata()) == [0.0, 50.0, 100.0]
    assert list(step.get_ydata()) == [0, 64 * KIB, 0]
    assert (list(peak.get_xdata()), list(peak.get_ydata())) == ([50.0], [64 * KIB])


def test_peaks_at_other_sizes_are_in_order_and_end_with_the_whole():
    points = (
        ScalingPoint("map_fn/graph", 256, None, 0.005, 257 * KIB),
        ScalingPoint("map_fn/graph", 128, None, 0.003, 130 * KIB),
        ScalingPoint("chunked/xla", 512, 32, 0.003, 90 * KIB),
        ScalingPoint("chunked/xla", 512, 64, 0.003, 180 * KIB),
    )
    record = replace(MAP, scaling=points)
    (grown,) = scaling.by_elements(record)
    assert grown == ("map_fn/graph", (128, 256, 512), (130 * KIB, 257 * KIB, 514 * KIB))
    (chunks,) = scaling.by_chunk(record)
    assert chunks == ("chunked/xla", (32, 64), (90 * KIB, 180 * KIB))
    assert len(figures.figure(record, "scaling").axes) == 2


# First calls


def test_the_parts_of_a_first_call_add_up_to_it():
    first = replace(timing(0.1), first_call_s=1.0, trace_s=0.2, optimize_s=0.1, compile_s=0.3)
    assert stages.parts(first) == pytest.approx((0.2, 0.1, 0.3, 0.4))
    record = replace(MAP, runs=(row("map_fn/xla", timing=first),))
    bars = figures.figure(record, "stages").axes[0].patches
    assert [bar.get_width() for bar in bars] == pytest.approx([0.2, 0.1, 0.3, 0.4])
    assert [bar.get_x() for bar in bars] == pytest.approx([0.0, 0.2, 0.3, 0.6])


def test_the_stages_of_other_code_are_told_with_counts():
    said = words(figures.figure(GRAPH, "stages"))
    assert "graph: Python, 7 lines → 54 ops traced → 31 nodes after Grappler" in said


# The rows at a glance


def test_the_grid_has_a_cell_for_each_row_with_its_figures():
    figure = figures.figure(MAP, "grid")
    said = words(figure)
    assert len(figure.axes[0].patches) == len(MAP.runs)
    assert "★ 847 µs\n461x" in said
    assert said.count("different result") == 1


def test_bars_are_as_long_as_the_times():
    figure = figures.figure(GRAPH, "grid")
    wide = [bar.get_width() for bar in figure.axes[0].patches]
    drawn = [run.timing and run.status in ("ok", "different") for run in GRAPH.runs]
    assert wide == [
        run.timing.median_s if shown else 0.0 for run, shown in zip(GRAPH.runs, drawn, strict=True)
    ]
