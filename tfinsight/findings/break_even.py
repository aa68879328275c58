"""When a costly first call has paid for itself."""

from __future__ import annotations

import math

from tfinsight.records import Run


def break_even_calls(run: Run, baseline: Run) -> int | None:
    """Returns the number of later calls after which `run` has taken no longer than `baseline`.

    The total after `n` steady calls is `first_call_s + n * median_s`.

    Args:
        run: the row whose first call may cost more.
        baseline: the row to compare with.

    Returns:
        The smallest such `n`, from 0; `None` if there is none or a time is missing.
    """
    own, other = run.timing, baseline.timing
    if own is None or other is None:
        return None
    if None in (own.first_call_s, own.median_s, other.first_call_s, other.median_s):
        return None
    extra = (own.first_call_s or 0.0) - (other.first_call_s or 0.0)
    saved = (other.median_s or 0.0) - (own.median_s or 0.0)
    if extra <= 0:
        return 0
    return math.ceil(extra / saved) if saved > 0 else None
