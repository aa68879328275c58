"""Reports of graphcompare: every fact in text and HTML, the evidence in order, nothing cut or run."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sample_graph_records as samples
from sample_graph_records import LINES, SOURCE, empty, full, hollow, hostile, interrupted
from sample_records import HOSTILE
from test_html import Page, plain

from tfinsight.records import FusedOp, LineFacts, Platform, Verdict
from tfinsight.render import figures, numbers
from tfinsight.render.figures import pareto
from tfinsight.render.html import render_html, render_page
from tfinsight.render.text import WIDTH, render_text, verdict_sentence
from tfinsight.render.wording_graph import flows, line_words
from tfinsight.report import Report, load

SAMPLES = pytest.mark.parametrize("make", samples.SAMPLES, ids=lambda make: make.__name__)
ORDER = (
    "From Python to kernels",
    "The cell, line by line",
    "The backward pass",
    "Folded constants",
    "Rewritten ops",
    "Fused ops",
    "Constants and captured values",
    "AutoGraph",
    "Another shape",
    "Values that cross between TensorFlow and Python",
    "This machine",
    "Grappler's passes",
)
# What a reader must find in both forms, as written in both.
FACTS = {
    "verdict": "is 488x faster (463x to 512x) than your cell as written",
    "lines": "lines 4 to 10 of the cell, which call the Keras method fit",
    "ran once": "lines 1 to 3 ran once and are not measured",
    "gradient": "forward and backward together",
    "mixed": "once also in mixed precision (bfloat16)",
    "inputs": "x (float32 [64, 128]), batch['rows'] (ragged float32 [64, ?])",
    "result": "The result is loss, grads (float32 [], float32 [128, 128])",
    "captured": "NumPy arrays that stay as they are, as constants: table",
    "variables": "Variables that one run changes: w and b",
    "objects": "Python objects that it changes: history",
    "functions": "Functions under tf.function that it calls: center",
    "models": "Keras models that it runs: net.",
    "tracing": "54 ops, 50 of them from a line of the cell, in a graph with 2 functions",
    "kinds": "By kind: 14 Mul, 3 MatMul, 3 Sum.",
    "Grappler": "of 61 nodes, called functions inlined, 7 were folded and 23 removed otherwise, "
    "4 were added, 6 read other inputs; 31 are left.",
    "buffers": "has 4 inputs and plans buffers of 98.0 KiB for them, 65.0 KiB for results, 33.0 KiB "
    "for temporary results and 513 B for constants.",
    "module": "Its program a_inference_cell_64__.164",
    "worth": "nothing is folded, a call takes 1.25 ms; the row graph, with folding, takes 1.00 ms: "
    "folding makes it 1.25x as fast.",
    "saved": "XLA made 9 fused kernels, the costliest 2 below. Results inside a kernel are never "
    "written to memory: 192 KiB a call.",
    "backward": "The gradient adds 27 ops to 27 forward. It needs 3 results of the forward pass, "
    "64.5 KiB",
    "constants": "Constants of the graph hold 1.50 KiB",
    "conversion": "1 function converted, 1 not.",
    "unconverted": "the source of clip could not be read",
    "new shape": "the first dimension of x: 63 instead of 64",
    "signature": "input_signature=[tf.TensorSpec([None, 128], tf.float32)]",
    "no new shape": "shapes of w differ",
    "reads": "In one run 3 values cross.",
    "features": "The processor has AVX2, AVX512F, FMA.",
    "placement": "31 ops on CPU:0",
    "float64": "2 ops in float64",
    "reduced": "bfloat16 does not pay here: the processor has no AMX.",
    "flops": "One call does 6.40 MFLOP by TensorFlow's own registry.",
    "uncounted": "Kinds of op that it has no count for: Erf and Tanh.",
    "moved": "read and write 1.56 MiB a call",
    "note": "The first epoch was left out.",
    "skipped": "an epoch has 1 step",
    "refused": "InvalidArgumentError: Detected unsupported operations: PyFunc",
    "different": "values differ: largest difference 0.25",
    "finding": "Line 7 reads a value from TensorFlow in each run",
}
# Rows of tables, the cells as written, where HTML and text set them apart by spaces.
ROWS = {
    "folded": "Sqrt Const float32 [128] 512 B 6",
    "of any rank": "mystery Const float32 any rank – –",  # noqa: RUF001
    "rewritten": "mul_2 Mul Square 9",
    "fused": "Gelu _FusedMatMul MatMul + BiasAdd + GeluApproximate Grappler 5",
    "by oneDNN": "add_9 _MklFusedAdd AddV2 + Relu oneDNN –",  # noqa: RUF001
    "kept": "Gelu/Tanh Tanh float32 [64, 128] 32.0 KiB 5",
    "constant": "Const_3 Const float32 [128] 512 B 2",
    "captured": "x Placeholder float32 [?, 128] – –",  # noqa: RUF001
    "variable": "w ReadVariableOp float32 [128, 128] 64.0 KiB 5",
    "converted": "center converted",
    "read": "7 float() 1",
    "argument": "9 NumPy argument 2",
    "kernel": "_MklNativeFusedMatMul 1",
    "machine": "this machine, at best 128 GFLOP/s 100 % 16.0 GiB/s 100 %",
    "rate": "xla 8.00 GFLOP/s 6.25 % 1.91 GiB/s 11.9 %",
    "pass": "constant_folding 61 54 9 4.10 ms",
}


def words(text):
    return " ".join(text.replace("`", "").split())


def spaced(html):
    """Returns the words of HTML with its tags as spaces between them."""
    return words(" ".join(Page(html).words))


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_is_in_both_forms(fact):
    assert FACTS[fact] in words(render_text(full()))
    assert FACTS[fact] in words(plain(render_html(full())))


@pytest.mark.parametrize("fact", ROWS)
def test_every_row_of_evidence_is_in_both_forms(fact):
    assert ROWS[fact] in words(render_text(full()))
    assert ROWS[fact] in spaced(render_html(full()))


def test_a_kernel_too_wide_for_columns_is_told_in_text_and_tabled_in_html():
    assert (
        "multiply_tanh_fusion: kind kLoop, made of multiply + add + tanh + multiply, lines 5, 6, "
        "time 21.0 µs, read 96.0 KiB, written 32.0 KiB, saved 160 KiB" in words(render_text(full()))
    )
    assert "reduce_fusion: kind kInput, made of multiply + reduce, read" in words(
        render_text(full())
    )
    assert (
        "multiply_tanh_fusion kLoop multiply + add + tanh + multiply 5, 6 21.0 µs 96.0 KiB "
        "32.0 KiB 160 KiB" in spaced(render_html(full()))
    )


def test_the_evidence_keeps_its_order():
    text = render_text(full()).splitlines()
    assert [line for line in text if line in ORDER] == list(ORDER)
    titles = re.findall(r"<summary>(.*?)</summary>", render_html(full()))
    stages, cell, _, *others = ORDER
    assert [plain(title) for title in titles] == [
        *("Compiling", stages, *others, cell, "Backward pass", "First calls", "Memory", "Each row"),
        *(run.strategy for run in full().runs),
        *("Messages", "How to read this", "The same in every run"),
    ]


def test_only_what_matters_first_is_open():
    opened = re.findall(r"<details open><summary>(.*?)</summary>", render_html(full()))
    assert opened == ["Compiling", ORDER[0], ORDER[1]]


def test_xla_starts_from_the_traced_graph_and_not_from_grapplers():
    assert flows(full()) == (
        (
            "graph",
            "Python, 7 lines",
            "54 ops traced",
            "31 nodes after Grappler (7 folded, 2 fused)",
        ),
        (
            "xla",
            "Python, 7 lines",
            "54 ops traced",
            "XLA: 83 instructions",
            "14 kernels (9 fusions)",
        ),
    )
    text = words(render_text(full()))
    assert "row graph: Python, 7 lines -> 54 ops traced -> 31 nodes after Grappler" in text
    assert "row xla: Python, 7 lines -> 54 ops traced -> XLA: 83 instructions -> 14" in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LINES[0], ""),
        (LINES[1], "ran once"),
        (LINES[3], "no ops of its own"),
        (
            LINES[4],
            "12 ops; fused with lines 6, 8; 17 ops of the backward pass; 64.0 KiB kept for the "
            "backward pass",
        ),
        (
            LINES[5],
            "2 ops; 1 of them folded to constants; fused with line 5; 3 ops of the backward pass",
        ),
        (LINES[6], "3 ops; 1 value read by Python"),
        (LINES[9], "1 op"),
    ],
)
def test_what_became_of_a_line_is_said_in_words(line, said):
    assert line_words(line) == said


def annotated(record):
    """Returns the annotated cell's lines as `(classes, number, code, words, shares)`."""
    table = re.search(r'<table class="tfi-cell">.*?</table>', render_html(record), re.DOTALL)[0]
    rows = re.findall(
        r"<tr( class=\"tfi-once\")?><th scope=\"row\">(\d+)</th><td><pre>(.*?)</pre></td>(.*?)</tr>",
        table,
        re.DOTALL,
    )
    return [(dim, int(number), code, rest) for dim, number, code, rest in rows]


def test_the_annotated_cell_has_every_line_with_its_indentation():
    rows = annotated(full())
    assert [row[1] for row in rows] == list(range(1, 11))
    assert "\n".join(plain_code(row[2]) for row in rows) == SOURCE
    assert [row[1] for row in rows if row[0]] == [1, 2, 3]
    for line in SOURCE.splitlines():
        assert f"| {line}".rstrip() in render_text(full())


def plain_code(markup):
    return "".join(Page(markup).words)


def test_a_share_is_a_bar_and_a_number():
    rows = annotated(full())
    assert '61.2 %<span class="tfi-track"><span class="tfi-bar" style="width:61.2%">' in rows[4][3]
    assert rows[3][3].count("tfi-bar") == 0
    assert "61.2 % of the time; 50.0 % of the peak" in words(render_text(full()).replace("|", ""))


@pytest.mark.parametrize(
    ("share", "width"), [(-1.0, "0.0%"), (7.0, "100.0%"), (float("nan"), "0.0%")]
)
def test_a_bar_never_leaves_its_track(share, width):
    lines = (replace(LINES[4], time_share=share),)
    record = replace(full(), compiled=replace(full().compiled, lines=lines))
    assert f'style="width:{width}"' in render_html(record)


def test_lines_without_shares_have_no_columns_for_them():
    assert "share of" not in plain(render_html(interrupted()))
    assert 'style="width' not in render_html(interrupted())


CELL = re.compile(r"<t[hd][^>]*>(.*?)</t[hd]>")


def grid(record):
    table = re.search(r'<table class="tfi-rows">.*?</table>', render_html(record), re.DOTALL)[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return [[spaced(cell) for cell in CELL.findall(row)] for row in rows]


def test_the_grid_has_a_line_for_each_row():
    head, *rows = grid(full())
    assert head == [
        *("row", "time", "speed-up", "result", "peak memory", "first call", "pays off", "cores"),
    ]
    assert [row[0].lstrip("★= ") for row in rows] == [run.strategy for run in full().runs]
    assert rows[2] == [
        "= graph",
        "1.00 ms",
        "390x [371, 410]",
        "close",
        "161 KiB",
        "81.0 ms tracing 45.0 ms, optimizing 12.0 ms, XLA compiling 0 ns",
        "at once",
        "1.94",
    ]
    assert rows[3][5] == "601 ms tracing 44.0 ms, optimizing and XLA, about 20.0 ms"
    assert rows[3][6] == "after 1 call"
    assert rows[4][0] == "★ xla"
    assert rows[5] == ["steps-per-execution", "", "", "skipped", "", "", "", ""]


def test_the_text_has_the_same_rows_in_two_tables():
    lines = [words(line) for line in render_text(full()).splitlines()]
    assert "= graph 1.00 ms 390x [371, 410] 161 KiB 1.94 close" in lines
    assert "steps-per-execution skipped" in lines
    assert "graph 81.0 ms 45.0 ms 12.0 ms 0 ns at once" in lines
    assert "graph-no-grappler 601 ms 44.0 ms – ~20.0 ms after 1 call" in lines  # noqa: RUF001
    assert "~ optimizing and XLA together, estimated" in lines


@SAMPLES
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_but_code_is_wider_than_a_terminal(make, ascii_only):
    record = make()
    code = {line for finding in record.findings for line in finding.snippet.splitlines()}
    code |= {line.text for line in record.compiled.lines}
    wide = [
        line
        for line in render_text(record, ascii=ascii_only).splitlines()
        if len(line) > WIDTH and not any(known.strip() in line for known in code if known)
    ]
    assert wide == []


@SAMPLES
def test_the_verdict_comes_first(make):
    record = make()
    said = words(verdict_sentence(record))
    assert words(render_text(record)).startswith(said)
    assert words(plain(render_html(record))).startswith(said)


def test_markup_in_any_string_is_shown_as_text():
    html = render_page(hostile())
    assert HOSTILE not in html
    assert plain(html).count(HOSTILE) > 100
    clean, attacked = Page(render_html(full())), Page(render_html(hostile()))
    assert {tag for tag, _ in attacked.tags} == {tag for tag, _ in clean.tags}


def test_strings_of_a_report_cannot_steer_the_terminal():
    lines = (LineFacts(1, "\x1b[2Jx = 1\r\n\x9b", "measured"),)
    fused = (FusedOp("\x1b[31m", "k", ("a\x07",), "oneDNN"),)
    compiled = full().compiled
    compiled = replace(compiled, lines=lines, grappler=replace(compiled.grappler, fused=fused))
    text = render_text(replace(full(), compiled=compiled))
    assert "[2Jx = 1" in text
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is None


def test_every_table_of_the_evidence_has_a_caption_and_header_cells():
    html = render_html(full())
    tables = re.findall(r'<table class="tfi-(?:rows|cell|facts)">.*?</table>', html, re.DOTALL)
    assert len(tables) == html.count("<table") > 16
    for table in tables:
        assert table.count("<caption>") == 1
        assert plain(re.search(r"<caption><span>(.*?)</span></caption>", table)[1])
        body = table.split("<tbody>")[1]
        assert body.count("<tr") == body.count('<th scope="row">')


def test_every_class_of_the_markup_has_a_style():
    style, body = render_html(full()).split("</style>")
    used = {name for names in re.findall(r'class="([^"]*)"', body) for name in names.split()}
    assert {name for name in used if name != "tfi-info" and f".{name}" not in style} == set()


@SAMPLES
def test_a_saved_report_loads_and_draws_the_same(make, tmp_path):
    report = Report(make())
    report.save(tmp_path / "r.json")
    again = load(tmp_path / "r.json")
    assert again.record == report.record
    assert again.to_text() == report.to_text()
    assert again.to_html() == report.to_html()
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text("utf-8") == render_page(make())


@SAMPLES
def test_a_dictionary_gives_the_report_back(make):
    data = Report(make()).to_dict()
    assert data["kind"] == "graphcompare"
    assert Report.from_dict(data).record == make()


@pytest.mark.parametrize("kind", ["other", None, ["graphcompare"]])
def test_a_kind_that_is_not_known_is_refused(kind):
    with pytest.raises(ValueError, match="no report of tfinsight"):
        Report.from_dict({**Report(full()).to_dict(), "kind": kind})


def test_a_report_does_not_pass_for_the_other_kind():
    with pytest.raises(ValueError, match="unknown field 'cell' in MapCost"):
        Report.from_dict({**Report(full()).to_dict(), "kind": "mapcost"})


def test_what_is_not_known_is_left_out():
    for record in (empty(), hollow()):
        text, html = render_text(record), plain(render_html(record))
        for said in ("None", "nan", "Folded", "Fused", "Another shape", "backward"):
            assert said not in text
            assert said not in html
    assert "What compiling did" not in render_html(empty())
    assert "Measured: f(x)." in plain(render_html(empty()))


def test_an_interrupt_leaves_what_was_found_by_then():
    text = words(render_text(interrupted()))
    assert text.startswith("Interrupted (first calls); so far: no strategy was timed.")
    assert "graph 200 ms 100 ms" in text
    assert "row graph: Python, 7 lines -> 54 ops traced Tracing" in text
    assert "Folded constants" not in text
    assert figures.png(interrupted(), "pareto") is None


def test_rates_need_both_a_count_and_a_time():
    platform = Platform(flops=1_000_000)
    record = replace(full(), compiled=replace(full().compiled, platform=platform))
    assert "graph 1.00 GFLOP/s – – –" in words(render_text(record))  # noqa: RUF001
    bare = replace(full(), compiled=replace(full().compiled, platform=Platform()))
    assert "FLOP" not in render_text(bare)


def test_what_a_text_leaves_out_of_a_long_table_is_counted():
    fused = tuple(FusedOp(f"op_{i}", "k", ("a", "b"), "Grappler") for i in range(15))
    grappler = replace(full().compiled.grappler, fused=fused)
    record = replace(full(), compiled=replace(full().compiled, grappler=grappler))
    assert "... and 3 more" in render_text(record)
    assert "op_14" not in render_text(record)
    assert "op_14" in render_html(record)


def test_a_cell_whose_own_way_is_best_stays():
    record = replace(full(), verdict=Verdict(("as-written",), (), "as-written"))
    assert verdict_sentence(record).startswith("Your cell as written is already as fast as any")


def test_the_picture_shows_what_was_timed_and_its_words_name_the_best():
    shown = [point.strategy for point in pareto.points(full())]
    assert shown == [run.strategy for run in full().runs if run.timing is not None]
    image, *_ = Page(render_html(full())).all("img")
    assert image["alt"].endswith("of 8 strategies. Best trade-offs: xla, 800 µs, 98.0 KiB.")


def test_a_single_line_is_called_a_line():
    cell = replace(full().cell, measured_lines=(3, 3), ran_once=(1, 1))
    text = words(render_text(replace(full(), cell=cell)))
    assert "Measured: line 3 of the cell, which calls the Keras method fit" in text
    assert "line 1 ran once and is not measured." in text


@pytest.mark.parametrize(
    ("form", "raw", "text", "pattern"),
    [
        (numbers.operations, 6_400_000, "6.40 MFLOP", "operations"),
        (numbers.operations, 999_900, "1.00 MFLOP", "operations"),
        (numbers.operations, 12, "12 FLOP", "operations"),
        (numbers.operations_rate, 1.28e11, "128 GFLOP/s", "operations"),
        (numbers.size_rate, 16 * 2**30, "16.0 GiB/s", "size_rate"),
        (numbers.operations, float("inf"), "–", "none"),  # noqa: RUF001
        (numbers.operations_rate, None, "–", "none"),  # noqa: RUF001
        (numbers.size_rate, None, "–", "none"),  # noqa: RUF001
    ],
)
def test_rates_and_operations_read_well_and_are_found_again(form, raw, text, pattern):
    assert form(raw) == text
    assert re.fullmatch(numbers.PATTERNS[pattern], text)
