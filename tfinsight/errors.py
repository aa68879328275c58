"""The error that says what the user should have given; magics show it as a `UsageError`."""

from __future__ import annotations


class WorkloadError(ValueError):
    """What the user named can't be measured; the message says what was expected."""
