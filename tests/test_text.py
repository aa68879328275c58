"""The text form: the verdict first and right in every case, 80 columns, all rows in order."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import sample_records as samples
from sample_records import (
    failed_baseline,
    full,
    interrupted,
    no_elements,
    recommending,
    row,
    with_row,
)

from tfinsight.records import Agreement, Failure, LiveTensor, Verdict
from tfinsight.render.text import WIDTH, render_environment, render_text, verdict_sentence

SAMPLES = pytest.mark.parametrize("make", samples.SAMPLES, ids=lambda make: make.__name__)


def in_one_line(text):
    return " ".join(text.split())


@SAMPLES
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_line_but_code_is_wider_than_a_terminal(make, ascii_only):
    record = make()
    code = {line.strip() for finding in record.findings for line in finding.snippet.splitlines()}
    lines = render_text(record, ascii=ascii_only).splitlines()
    assert [line for line in lines if len(line) > WIDTH and line.strip() not in code] == []


@SAMPLES
def test_ascii_is_ascii(make):
    assert render_text(make(), ascii=True).isascii()


def test_what_ascii_lacks_is_written_otherwise():
    record = with_row(full(), "batched/eager", memory=None)
    assert "936 µs" in render_text(record)
    assert "936 us" in render_text(record, ascii=True)


@SAMPLES
def test_the_verdict_comes_first(make):
    record = make()
    first = render_text(record).split("\n\n")[0]
    assert in_one_line(first) == in_one_line(verdict_sentence(record))


def test_the_verdict_names_speed_up_interval_result_and_memory():
    assert verdict_sentence(recommending(full(), "vectorized_map/graph")) == (
        "`vectorized_map/graph` is 345x faster (328x to 363x) than your cell as written and gives "
        "the same result within rounding; it needs 1.12x the memory."
    )


def test_ties_are_called_ties():
    assert "It ties with `vectorized_map/xla`" in verdict_sentence(full())
    lines = render_text(full()).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("= ")] == ["vectorized_map/xla"]
    assert any(line.startswith("* chunked/xla ") for line in lines)


def test_as_written_may_be_best():
    said = verdict_sentence(recommending(full(), "as-written"))
    assert said.startswith("Your cell as written is already as fast as any other")


def test_a_tie_with_the_baseline_is_no_speed_up():
    tied = samples.timing(samples.BASELINE_S, speedup=1.01, speedup_low=0.98, speedup_high=1.04)
    record = with_row(full(), "map_fn/graph", timing=tied, memory=samples.memory(128))
    said = verdict_sentence(recommending(record, "map_fn/graph", "as-written", "map_fn/graph"))
    assert "is as fast as your cell as written" in said
    assert "needs 25.0 % of the memory" in said
    assert "faster" not in said


def test_few_calls_give_a_speed_up_without_an_interval():
    record = with_row(full(), "batched/eager", timing=samples.timing(0.001, interval=False))
    assert "is about 390x faster than" in verdict_sentence(recommending(record, "batched/eager"))


def test_with_no_elements_nothing_is_ranked_and_that_is_said():
    assert "no elements" in verdict_sentence(no_elements())


def test_an_interrupt_before_timing_is_said():
    said = verdict_sentence(interrupted())
    assert "Interrupted" in said
    assert "no strategy was timed" in said


def test_if_everything_failed_nothing_is_recommended():
    failure = Failure("run", "ValueError", "no")
    runs = tuple(row(r.strategy, status="failed", failure=failure) for r in full().runs)
    said = verdict_sentence(replace(full(), runs=runs, verdict=Verdict()))
    assert said == "No strategy gave a result that could be ranked."


def test_a_failed_baseline_leaves_no_speed_ups_and_is_named():
    said = verdict_sentence(failed_baseline())
    assert said.startswith("`chunked/xla` takes 847 µs a call and gives the same result")
    assert "no speed-ups, since the baseline `map_fn/xla` failed" in said
    assert "Detected unsupported operations" in said


def test_a_baseline_with_another_result_is_called_that():
    said = verdict_sentence(replace(failed_baseline(), baseline="batched/graph"))
    assert "the baseline `batched/graph` gives another result: values differ" in said


def test_a_baseline_skipped_without_words_is_skipped():
    silent = with_row(failed_baseline(), "map_fn/xla", failure=Failure("preflight", "x", ""))
    silent = with_row(silent, "map_fn/xla", status="skipped")
    assert verdict_sentence(silent).endswith("since the baseline `map_fn/xla` was skipped.")


def test_a_baseline_that_stays_for_memorys_sake_is_not_called_fastest():
    record = replace(full(), verdict=Verdict(("chunked/xla",), (), "as-written"))
    assert verdict_sentence(record) == (
        "Your cell as written is the fastest that can be recommended here. Faster, but not to be "
        "recommended here: `chunked/xla`."
    )


def test_random_streams_that_differ_are_no_same_result():
    shapes = Agreement("shape-only", detail="random streams differ")
    said = verdict_sentence(
        recommending(with_row(full(), "chunked/xla", agreement=shapes), "chunked/xla")
    )
    assert "random streams differ" in said
    assert "same result" not in said


def test_a_faster_row_over_the_memory_limit_is_named():
    record = replace(full(), verdict=Verdict(("chunked/xla",), ("batched/eager",), "batched/eager"))
    said = verdict_sentence(record)
    assert said.startswith("`batched/eager` is 386x faster")
    assert "not to be recommended here: `chunked/xla`" in said


def test_a_function_form_is_compared_with_the_baselines_name():
    record = full()
    workload = replace(record.workload, call=None, call_text=None, place="", source="")
    record = replace(
        record, workload=workload, runs=record.runs[1:], reference="map_fn/eager", baseline="map_fn/eager"
    )  # fmt: skip
    assert "faster (438x to 484x) than `map_fn/eager` and" in verdict_sentence(record)


def test_the_grid_holds_every_row_in_the_records_order():
    text = render_text(full())
    grid = text.split("\n\n")[2].splitlines()[2:-1]
    assert [line[2:].split()[0] for line in grid] == [run.strategy for run in full().runs]
    tied = " ".join(grid[9].split())
    assert tied == "= vectorized_map/xla 890 µs 438x [417, 460] 576 KiB close"


def test_rows_that_are_not_ranked_have_status_and_reason():
    text = in_one_line(render_text(full()))
    assert "loop/graph skipped: the loop would be unrolled to 1,536 ops; up to 1,000" in text
    assert "map_fn/xla failed: InvalidArgumentError: Detected unsupported operations" in text
    assert "No registered 'PyFunc' OpKernel" not in text, "only a message's first line"
    assert "batched/graph different: values differ: largest difference 3.25 at [0, 17]" in text


def test_findings_show_evidence_advice_and_whole_code():
    text = render_text(full())
    assert "! batched/graph does not give the reference's result" in text
    assert "graph is faster by: 38.3x; share that ops" in text
    for line in full().findings[1].snippet.splitlines():
        assert f"        {line}".rstrip() + "\n" in text


def test_code_wider_than_the_terminal_stays_whole():
    wide = f"y = faster({', '.join(f'argument_{i}' for i in range(20))})"
    record = replace(full(), findings=(replace(full().findings[1], snippet=wide),))
    assert f"        {wide}\n" in render_text(record)


def test_the_other_calls_say_how_to_pick_them():
    text = render_text(full())
    assert "--call 2: tf.vectorized_map(norm, x), line 5 of the cell, 4.20 ms" in text
    assert "--call 3: tf.map_fn( scale, x, ), line 9 of `rescale`" in text


def test_first_calls_say_when_they_pay_off():
    slow = samples.timing(samples.BASELINE_S / 2, first_s=samples.BASELINE_S * 4)
    lines = render_text(with_row(full(), "map_fn/graph", timing=slow)).splitlines()
    (line,) = [found for found in lines if found.startswith("  map_fn/graph ") and "calls" in found]
    assert "after 7 calls" in line


def test_details_name_what_held_the_memory_what_was_logged_and_where():
    text = render_text(full())
    assert "Live at the peak of loop/eager: MatMul 256 KiB, Pack 256 KiB." in text
    assert "Messages kept out of the notebook: 7" in text
    assert "tensorflow 2.21.0" in text
    assert "Measuring took 9.00 s." in text
    assert "The cell's own way ran once." in text


def test_incomplete_memory_figures_come_with_the_remedy():
    partial = replace(full(), environment=replace(full().environment, coverage="large-only"))
    said = in_one_line(render_text(partial))
    assert "leave out blocks under 256 KiB" in said
    assert "fresh kernel" in said
    assert "256 KiB. For complete" not in in_one_line(render_text(full()))


def test_the_text_fits_a_few_screens():
    assert len(render_text(full()).splitlines()) < 95


def test_strings_of_a_report_cannot_steer_the_terminal():
    loud = LiveTensor("\x1b[2Jop\x07\r", 2**20, 1)
    record = with_row(full(), "chunked/xla", memory=samples.memory(352, loud), agreement=None)
    record = replace(record, notes=("\x9b31mred",))
    text = render_text(record)
    assert "[2Jop" in text
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text) is None


def test_an_environment_is_shown_alone():
    text = render_environment(samples.ENVIRONMENT)
    assert text.startswith("python 3.11.7, tensorflow 2.21.0")
    assert "AMD EPYC, 2 cores, 24.0 GiB" in text
    assert max(map(len, text.splitlines())) <= WIDTH
