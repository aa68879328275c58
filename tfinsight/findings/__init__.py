"""Findings: what the figures of a report mean, as claims with evidence, advice and code to paste.

A finding is a pure function of the record. To add one, write it in the file of its theme and put it
in `FINDINGS`.
"""

from __future__ import annotations

from collections.abc import Callable

from tfinsight.findings.compiling import (
    host_callback,
    never_pays_off,
    recompiles_per_value,
    xla_slower,
    xla_unsupported,
)
from tfinsight.findings.machine import captured_warnings, noisy_machine
from tfinsight.findings.mapping import (
    batched_differs,
    batched_equivalent,
    dispatch_bound,
    eager_vectorized_map_retraces,
    map_fn_runs_serially,
    pfor_fallback,
)
from tfinsight.findings.memory import chunk_fits, memory_grows_with_batch, tensorlist_gradient
from tfinsight.findings.results import different_result, nondeterministic, not_repeatable
from tfinsight.findings.tracing import (
    autograph_failed,
    baked_constant,
    python_side_effect,
    retracing,
)
from tfinsight.records import Finding, MapCost, Severity

_SEVERITIES: tuple[Severity, ...] = ("warning", "advice", "info")

# The claims, the more important first among those of one severity.
FINDINGS: tuple[Callable[[MapCost], Finding | None], ...] = (
    different_result,  # executions or mappings that disagree with the reference
    not_repeatable,  # what the plain run changed for good
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


def find(record: MapCost) -> tuple[Finding, ...]:
    """Returns all findings of a record: warnings, then advice, then information.

    The record's own `findings` and `verdict` are not looked at, so it may be unfinished. Of a map
    over no elements nothing is claimed.
    """
    if record.workload.element_count == 0:
        return ()
    found = [finding for claim in FINDINGS if (finding := claim(record)) is not None]
    return tuple(sorted(found, key=lambda finding: _SEVERITIES.index(finding.severity)))
