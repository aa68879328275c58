"""What a report says that is the same in every run of the same cell.

Everything else varies with the clock. nbval compares these facts when it runs a notebook again; the
rules of `SANITIZE` mask the rest of a report.
"""

from __future__ import annotations

from html import escape

from tfinsight.records import GraphCompare, MapCost
from tfinsight.render import numbers, wording
from tfinsight.render.text_parts import wrapped
from tfinsight.render.wording_graph import tensor_words

TITLE = "The same in every run"
# Findings that rest on the code, its results and its graphs.
STRUCTURAL = frozenset(
    (
        "autograph_failed",
        "baked_constant",
        "batched_differs",
        "batched_equivalent",
        "constant_folding",
        "different_result",
        "eager_vectorized_map_retraces",
        "host_callback",
        "host_synchronization",
        "leak",
        "nondeterministic",
        "not_repeatable",
        "pfor_fallback",
        "python_side_effect",
        "recompiles_per_value",
        "retracing",
        "xla_drops_assertions",
        "xla_unsupported",
    )
)
# Findings that rest on times, on sizes near a limit, or on what this processor's kernels do.
MEASURED = frozenset(
    (
        "backward_keeps",
        "captured_warnings",
        "chunk_fits",
        "dispatch_bound",
        "eager_overhead",
        "map_fn_runs_serially",
        "memory_grows_with_batch",
        "near_ceiling",
        "never_pays_off",
        "new_shape_costs",
        "noisy_machine",
        "operator_fusion",
        "tensorlist_gradient",
        "xla_slower",
    )
)
# Whether results agree to the last digit differs from processor to processor.
_AGREEING = {"same": "same", "close": "same"}

# For nbval: regular expressions and what takes the place of what they match, in the order of use.
SANITIZE: tuple[tuple[str, str], ...] = (
    # In HTML the facts are a section of their own, in text the last paragraph.
    (
        r'(?s)\A<div class="tfi-static">.*?(?=<section class="tfi-same">)',
        "A report of tfinsight. ",
    ),
    (rf"(?s)\A.*\n\n(?={TITLE}\n  )", "A report of tfinsight. "),
)


def sanitize_file() -> str:
    """Returns the rules as a file for nbval's option `--nbval-sanitize-with`."""
    head = "# What varies in reports of tfinsight, for: pytest --nbval --nbval-sanitize-with FILE\n"
    return head + "".join(
        f"\n[tfinsight{i}]\nregex: {pattern}\nreplace: {replacement}\n"
        for i, (pattern, replacement) in enumerate(SANITIZE, 1)
    )


def facts(record: MapCost | GraphCompare) -> tuple[str, ...]:
    """Returns what is the same in every run, a line for each kind of fact."""
    results: dict[str, list[str]] = {}
    for run in record.runs:
        word = wording.row_result(record, run)
        results.setdefault(_AGREEING.get(word, word), []).append(wording.one_line(run.strategy))
    rows = "; ".join(f"{word} {', '.join(ids)}" for word, ids in results.items())
    found = sorted({f.code for f in record.findings} & STRUCTURAL)
    return (
        _measured(record),
        f"rows: {rows or 'none'}",
        f"findings: {', '.join(found) or 'none of those that rest on the code alone'}",
    )


def as_text(record: MapCost | GraphCompare) -> list[str]:
    """Returns the facts as lines of text."""
    return [TITLE, *(line for fact in facts(record) for line in wrapped(fact, 2, 2))]


def as_html(record: MapCost | GraphCompare) -> str:
    """Returns the facts as HTML, folded away."""
    items = "".join(f"<li>{escape(fact)}</li>" for fact in facts(record))
    return (
        f'<section class="tfi-same"><details><summary>{TITLE}</summary>\n'
        f"<ul>{items}</ul>\n</details></section>"
    )


def _measured(record: MapCost | GraphCompare) -> str:
    if isinstance(record, GraphCompare):
        tracing = record.compiled.tracing
        traced = f", {numbers.many(tracing.op_count, 'op')} traced" if tracing else ""
        return f"measured: {wording.one_line(record.cell.name)}{traced}"
    workload = record.workload
    tensors = ", ".join(tensor_words(tensor) for tensor in workload.inputs)
    return (
        f"measured: {wording.one_line(workload.function)} over "
        f"{wording.one_line(workload.elements)}, {tensors}"
    )
