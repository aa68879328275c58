"""Findings about whether results can be trusted and compared."""

from __future__ import annotations

from tfinsight.findings.mapping import different_batched
from tfinsight.findings.rows import draws_random_numbers, ids, ops_in_graphs
from tfinsight.records import AS_WRITTEN, Comparison, Evidence, Finding, MapCost, Run

RANDOM_GUIDE = "https://www.tensorflow.org/guide/random_numbers"
FUNCTION_GUIDE = "https://www.tensorflow.org/guide/function"

_OWN_NUMBERS = (
    "Check that each element still gets numbers of its own where the function is called on the "
    "whole batch. "
)
# An error this many times smaller than another's is nearer the truth and not nearer by chance.
NEARER = 2.0


def different_result(record: Comparison) -> Finding | None:
    """Rows whose result is not the reference's, other than a batched form that can't be right."""
    if draws_random_numbers(record):
        return None
    batched = different_batched(record) if isinstance(record, MapCost) else ()
    rows = [run for run in record.runs if run.status == "different" and run not in batched]
    if not rows:
        return None
    return Finding(
        code="different_result",
        severity="warning",
        title="Some ways of running this give a different result",
        evidence=tuple(fact for run in rows for fact in _difference(run, record.reference)),
        advice="They are not ranked, however fast they are. Use one only if you can tell why it "
        "differs and that its result is good enough for you.",
        link=FUNCTION_GUIDE,
        strategies=ids(rows),
    )


def _difference(run: Run, reference: str) -> tuple[Evidence, ...]:
    agreement = run.agreement
    if agreement is None:
        return (Evidence(run.strategy, "the result differs"),)
    facts = [Evidence(run.strategy, agreement.detail or "the result differs")]
    if agreement.max_abs is not None:
        facts.append(Evidence(f"{run.strategy}: largest difference", agreement.max_abs))
    if agreement.max_rel is not None:
        facts.append(Evidence(f"{run.strategy}: relative to the values", agreement.max_rel, "%"))
    own, other = agreement.max_error, agreement.reference_max_error
    if own is not None and other is not None:
        facts.append(Evidence(f"{run.strategy}: error against a float64 run", own))
        facts.append(Evidence(f"{reference}: error against a float64 run", other))
        facts.append(Evidence("nearer the float64 run", _nearer(own, other, run, reference)))
    return tuple(facts)


def _nearer(own: float, other: float, run: Run, reference: str) -> str:
    if own * NEARER <= other:
        return run.strategy
    return reference if other * NEARER <= own else "neither clearly"


def nondeterministic(record: Comparison) -> Finding | None:
    """Results differ from run to run by design, so rows are compared by shape alone."""
    if not draws_random_numbers(record):
        return None
    ops = ops_in_graphs(record, lambda graph: graph.random_ops)
    rows = [r for r in record.runs if r.agreement and r.agreement.verdict == "shape-only"]
    return Finding(
        code="nondeterministic",
        severity="info",
        title="The function draws random numbers, so results differ from run to run"
        if ops
        else "Results differ from run to run",
        evidence=tuple(Evidence("random op", op) for op in ops),
        advice="Results were compared by shape and type only. "
        + (_OWN_NUMBERS if isinstance(record, MapCost) else "")
        + "For numbers that do not depend on how the code is run, use tf.random.stateless_normal "
        "and its like with seeds of your own.",
        link=RANDOM_GUIDE,
        strategies=ids(rows),
    )


def not_repeatable(record: Comparison) -> Finding | None:
    """The plain run changed something that can't be put back."""
    if not record.not_repeatable:
        return None
    return Finding(
        code="not_repeatable",
        severity="warning",
        title="Running the cell changes something that cannot be put back",
        evidence=tuple(Evidence("changed for good", what) for what in record.not_repeatable),
        advice="It ran once, and that run is the row as written; nothing else was run. To compare "
        "ways of running it, move what can't be repeated to an earlier cell.",
        strategies=(AS_WRITTEN,),
    )
