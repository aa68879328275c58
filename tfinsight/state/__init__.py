"""Leaving the notebook as it was: what a run may change is kept, and put back.

`take` keeps what the user's own code can change (variables, containers, arrays, random streams);
`preserved` keeps what measuring itself changes (seeds, settings, log levels, gradient tapes).
"""

from __future__ import annotations

from tfinsight.state.process import deferred_interrupts, preserved, reseed
from tfinsight.state.snapshot import Snapshot, take

__all__ = ["Snapshot", "deferred_interrupts", "preserved", "reseed", "take"]
