"""Findings: what the figures of a report mean, as claims with evidence, advice and code to paste.

A finding is a pure function of the record. To add one, write it in the file of its theme and put it
in the table of the reports that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable

from tfinsight.findings.compiler import (
    backward_keeps,
    constant_folding,
    new_shape_costs,
    operator_fusion,
    xla_drops_assertions,
)
from tfinsight.findings.compiling import (
    host_callback,
    never_pays_off,
    recompiles_per_value,
    xla_slower,
    xla_unsupported,
)
from tfinsight.findings.eager import eager_overhead, host_synchronization, near_ceiling
from tfinsight.findings.machine import captured_warnings, noisy_machine
from tfinsight.findings.mapping import (
    batched_differs,
    batched_equivalent,
    dispatch_bound,
    eager_vectorized_map_retraces,
    map_fn_runs_serially,
    pfor_fallback,
)
from tfinsight.findings.memory import chunk_fits, leak, memory_grows_with_batch, tensorlist_gradient
from tfinsight.findings.results import different_result, nondeterministic, not_repeatable
from tfinsight.findings.tracing import (
    autograph_failed,
    baked_constant,
    python_side_effect,
    retracing,
)
from tfinsight.records import Comparison, Finding, GraphCompare, MapCost, Severity

_SEVERITIES: tuple[Severity, ...] = ("warning", "advice", "info")

# The claims, the more important first among those of one severity.
MAP_FINDINGS: tuple[Callable[[MapCost], Finding | None], ...] = (
    different_result,  # executions or mappings that disagree with the reference
    not_repeatable,  # what the plain run changed for good
    leak,  # memory that stays taken with each call
    autograph_failed,  # Python control flow that could not become a graph
    python_side_effect,  # prints and counters that run at tracing only
    recompiles_per_value,  # XLA compiles for each new value
    retracing,  # traced again on later calls
    batched_equivalent,  # one call on the whole batch does it
    batched_differs,  # one call on the whole batch is wrong
    dispatch_bound,  # starting ops takes the time, not computing
    map_fn_runs_serially,  # eager map_fn: one element after the other
    eager_vectorized_map_retraces,  # eager vectorized_map: traced on each call
    chunk_fits,  # a chunk size that trades little time for much memory
    tensorlist_gradient,  # what a loop keeps for the backward pass
    host_callback,  # Python inside the graph
    pfor_fallback,  # ops that vectorized_map runs in a loop
    baked_constant,  # a large array inside the graph
    xla_unsupported,  # ops that XLA refused
    xla_slower,  # compiled and slower
    never_pays_off,  # compiled, and not worth its first call
    memory_grows_with_batch,  # peak in proportion to the elements
    nondeterministic,  # random numbers: compared by shape alone
    noisy_machine,  # times that vary
    captured_warnings,  # what TensorFlow said and no claim above explains
)


GRAPH_FINDINGS: tuple[Callable[[GraphCompare], Finding | None], ...] = (
    different_result,
    not_repeatable,
    leak,
    autograph_failed,
    python_side_effect,
    xla_drops_assertions,  # checks that a compiled function leaves out
    recompiles_per_value,
    retracing,
    eager_overhead,  # starting ops from Python, or waiting for it, takes the time
    host_synchronization,  # values read by Python in each run
    host_callback,
    baked_constant,
    new_shape_costs,  # another shape is traced and compiled again
    backward_keeps,  # what the backward pass holds in memory
    operator_fusion,  # ops that became one kernel
    constant_folding,  # what was computed once
    xla_unsupported,
    xla_slower,
    never_pays_off,
    near_ceiling,  # nothing left to gain here
    nondeterministic,
    noisy_machine,
    captured_warnings,
)


def find(record: Comparison) -> tuple[Finding, ...]:
    """Returns all findings of a record: warnings, then advice, then information.

    The record's own `findings` are not looked at, and of its `verdict` only what is recommended, so
    it may be unfinished. Of a map over no elements nothing is claimed.
    """
    found: list[Finding | None] = []
    if isinstance(record, MapCost) and record.workload.element_count:
        found = [claim(record) for claim in MAP_FINDINGS]
    elif isinstance(record, GraphCompare):
        found = [claim(record) for claim in GRAPH_FINDINGS]
    claims = [finding for finding in found if finding is not None]
    return tuple(sorted(claims, key=lambda finding: _SEVERITIES.index(finding.severity)))
