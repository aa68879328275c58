"""What only a report of `mapcost` has as text: the other maps of the cell, and its first calls."""

from __future__ import annotations

from tfinsight.records import MapCost
from tfinsight.render import numbers, wording
from tfinsight.render.text_parts import WIDTH, cut, wrapped


def other_calls(record: MapCost) -> list[str]:
    """Returns the maps of the cell that were not measured, and how to pick them."""
    calls = record.workload.other_calls
    lines = []
    for call in calls:
        time = f", {numbers.seconds(call.seconds)}" if call.seconds is not None else ""
        words = f"--call {call.number}: {wording.one_line(call.text)}, {call.place}{time}"
        lines += wrapped(words, 4, 2)
    return ["Other maps in this cell, not measured", *lines] if lines else []


def first_calls(record: MapCost) -> list[str]:
    """Returns what the first call of traced code costs, and when that has paid for itself."""
    rows = [("first calls", "whole", "tracing", "pays off")]
    rows += [
        (
            wording.one_line(run.strategy),
            numbers.seconds(run.timing.first_call_s),
            numbers.seconds(run.timing.trace_s),
            wording.break_even(record, run),
        )
        for run in record.runs
        if run.timing is not None and run.execution != "eager"
    ]
    if len(rows) == 1:
        return []
    name, *widths = (max(len(row[i]) for row in rows) for i in range(3))
    name = min(name, WIDTH - sum(widths) - len("  after 9,999,999 calls") - 4)
    return [
        f"  {cut(row[0], name):<{name}}  {row[1]:>{widths[0]}}  {row[2]:>{widths[1]}}  {row[3]}".rstrip()
        for row in rows
    ]
