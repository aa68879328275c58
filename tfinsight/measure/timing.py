"""Times contenders in steady state, interleaved, until the verdict is settled or time is up.

Rounds come in laps of 12. In a round each contender that takes part runs one block, in an order
drawn anew for each round: what slows the machine down for a while then hits all alike and cancels
in the ratios within rounds. A block is as many calls as keep the clock's own cost under 0.1 %.

Cheap contenders take part in all rounds of a lap, dear ones in 6 or 3 of them, spread evenly. After
each lap only those go on whose place in the ranking is not settled yet. Where the time left is too
short for a whole lap, every contender gets one sample before any gets a second, and the cheap ones
get enough for an interval before the dear ones get more.
"""

from __future__ import annotations

import functools
import gc
import itertools
import math
import random
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tfinsight.statistics import SteadyState, contested, steady_state

LAPS = 4
ROUNDS_IN_LAP = 12
# Samples a lap -> rounds of the lap. The rounds of the dear are among those of the cheaper, so that
# any two contenders meet.
ROUNDS: Mapping[int, Sequence[int]] = {
    0: (),
    1: (5,),
    2: (1, 9),
    3: (1, 5, 9),
    6: (1, 3, 5, 7, 9, 11),
    12: range(12),
}
# Seconds that a block costs at most -> samples a lap.
SAMPLES_IN_LAP = ((0.030, 12), (0.100, 6), (math.inf, 3))
# A 95 % interval of a median needs so many; blocks up to so long get them before any gets more.
FOR_AN_INTERVAL, CHEAP_S = 6, 0.030
BLOCK_S = 0.004
OVERHEAD_SHARE = 0.001
# After other contenders ran, a first call finds cold caches. On matrix products of 0.4, 0.8, 2, 5 and
# 13 ms it took 1.6, 1.4, 1.15, 1.03 and 1.0 times as long as the calls after it (2 cores): from
# 10 ms on, a discarded call would double the cost of a block and gain nothing.
DISCARD_BELOW_S = 0.010


@dataclass(frozen=True, slots=True)
class Contender:
    """One row to be timed.

    Attributes:
        id: of the row.
        call: runs one steady call; its result is dropped.
        estimate_s: seconds of an earlier single call.
        prepare: restores state before each block, not timed; or `None`.
    """

    id: str
    call: Callable[[], object]
    estimate_s: float
    prepare: Callable[[], None] | None = None


@dataclass(slots=True)
class _Track:
    """A contender and what was measured of it.

    `block_calls` is 0 until calibrated; `call_s` is the latest knowledge of one call.
    """

    contender: Contender
    call_s: float
    block_calls: int = 0
    discards: bool = False
    prepare_s: float = 0.0
    calls: int = 0
    wall_s: float = 0.0
    processor_s: float = 0.0
    samples: dict[int, float] = field(default_factory=dict)

    @property
    def block_s(self) -> float:
        """Seconds that a block is going to cost, preparing and the discarded call included."""
        return self.prepare_s + self.call_s * (max(1, self.block_calls) + self.discards)


def plan_lap(block_s: Mapping[str, float], left_s: float) -> dict[str, int]:
    """Returns how many samples each contender gets in the next lap.

    Samples are dealt out in levels, within a level to the cheapest first, so that a lap for which
    time is short still gives as many contenders as possible one sample. Then the cheap ones, among
    which the fastest is, get enough for an interval; then all get two, three and so on.

    Args:
        block_s: id to the seconds that a block costs.
        left_s: seconds left.
    """
    planned = dict.fromkeys(block_s, 0)
    levels = sorted(ROUNDS)[1:]
    steps = [(1, math.inf), (FOR_AN_INTERVAL, CHEAP_S), *((level, math.inf) for level in levels)]
    for level, limit_s in steps:
        for name in sorted(block_s, key=block_s.__getitem__):
            wanted = next(samples for limit, samples in SAMPLES_IN_LAP if block_s[name] <= limit)
            cost = block_s[name] * (level - planned[name])
            due = planned[name] < level <= wanted and block_s[name] <= limit_s
            if due and cost <= left_s:
                planned[name] = level
                left_s -= cost
    return planned


class InterleavedTiming:
    """Interleaved timing of contenders; what is measured so far can be read at any time.

    An interrupt leaves `run` at once; `results` then gives what was measured until then. A contender
    that raises an `Exception` is taken out and the others go on.

    Args:
        contenders: the rows, each with an id of its own.
        baseline_id: row that speed-ups refer to.
        eligible_ids: rows that are ranked; the others are timed for one lap.
        deadline: clock value; a block that is expected to end later does not begin.
        clock: seconds, rising.
        synchronize: waits for the devices; called before each reading of the clock that counts.
            Blocks last 1,000 times what it costs, so pass one that does nothing where no device
            needs waiting for.
        seed: of the order within rounds; the global random state is never touched.
        on_round: is told after each round how many are done and how many are planned so far.
        processor_clock: seconds of processor time of the whole process, rising; or `None`.
        first_round: number of the first round, above those of an earlier timing of the same rows.
        exhaustive: goes on until the deadline, whether or not the verdict is settled.
    """

    def __init__(
        self,
        contenders: Iterable[Contender],
        *,
        baseline_id: str,
        eligible_ids: Collection[str],
        deadline: float,
        clock: Callable[[], float],
        synchronize: Callable[[], None],
        seed: int = 0,
        on_round: Callable[[int, int], None] | None = None,
        processor_clock: Callable[[], float] | None = None,
        first_round: int = 0,
        exhaustive: bool = False,
    ) -> None:
        self._tracks = {c.id: _Track(c, c.estimate_s) for c in contenders}
        self._baseline_id = baseline_id
        self._eligible_ids = frozenset(eligible_ids)
        self._deadline = deadline
        self._clock = clock
        self._synchronize = synchronize
        self._random = random.Random(seed)
        self._on_round = on_round
        self._processor_clock = processor_clock or (lambda: 0.0)
        self._first_round = first_round
        self._exhaustive = exhaustive
        self._target_s = BLOCK_S
        self._user_s = 0.0
        self._failures: list[tuple[str, Exception]] = []

    @property
    def user_seconds(self) -> float:
        """Seconds spent in the contenders' own calls, discarded and calibrating ones included."""
        return self._user_s

    @property
    def failures(self) -> tuple[tuple[str, Exception], ...]:
        """The contenders that were taken out, each with what it raised."""
        return tuple(self._failures)

    def results(self) -> dict[str, SteadyState]:
        """Returns what is measured so far, without contenders that failed."""
        return {
            name: steady_state(name, track.samples, track.calls, track.contender.estimate_s)
            for name, track in self._tracks.items()
        }

    def cores_used(self) -> dict[str, float]:
        """Returns processor time over wall time of each contender's calls, as far as measured."""
        return {
            name: track.processor_s / track.wall_s
            for name, track in self._tracks.items()
            if track.wall_s and track.processor_s
        }

    def run(self) -> None:
        """Measures until the verdict is settled, all laps are done or the deadline is near."""
        self._target_s = max(BLOCK_S, self._overhead_s() / OVERHEAD_SHARE)
        for name in list(self._tracks):
            self._guarded(name, self._calibrate)
        going_on: Collection[str] = list(self._tracks)
        for lap in itertools.count() if self._exhaustive else range(LAPS):
            block_s = {name: t.block_s for name, t in self._tracks.items() if name in going_on}
            planned = plan_lap(block_s, self._deadline - self._clock())
            if not any(planned.values()):
                break
            self._lap(self._first_round + lap * ROUNDS_IN_LAP, planned)
            if not self._exhaustive:
                going_on = contested(self.results(), self._baseline_id, self._eligible_ids)

    def _lap(self, first: int, planned: Mapping[str, int]) -> None:
        for offset in range(ROUNDS_IN_LAP):
            names = [name for name, count in planned.items() if offset in ROUNDS[count]]
            self._random.shuffle(names)
            for name in names:
                self._guarded(name, functools.partial(self._block, number=first + offset))
            if self._on_round is not None:
                done = first - self._first_round + offset + 1
                self._on_round(done, first - self._first_round + ROUNDS_IN_LAP)

    def _guarded(self, name: str, step: Callable[[_Track], None]) -> None:
        """Runs a step of a contender if time allows it; one that raises is taken out."""
        track = self._tracks.get(name)
        if track is None or self._clock() + track.block_s > self._deadline:
            return
        try:
            step(track)
        except Exception as error:
            del self._tracks[name]
            self._failures.append((name, error))

    def _block(self, track: _Track, number: int) -> None:
        seconds = self._timed(track, track.block_calls, track.discards)
        if not track.discards and seconds < track.block_calls * DISCARD_BELOW_S / 2:
            # The estimate was far too high: this is a fast one after all.
            track.call_s = seconds / track.block_calls
            self._calibrate(track)
            seconds = self._timed(track, track.block_calls, track.discards)
        track.samples[number] = seconds / track.block_calls
        track.calls += track.block_calls
        track.call_s = statistics.median(track.samples.values())
        track.block_calls = self._calls_in_block(track.call_s)

    def _calibrate(self, track: _Track) -> None:
        """Finds how many calls make a block; calls from 10 ms on are timed one by one.

        The number grows tenfold at most, so that a wrong estimate costs no more than a block.
        """
        track.block_calls, track.discards = 1, track.call_s < DISCARD_BELOW_S
        while track.discards:
            seconds = self._timed(track, track.block_calls)
            track.call_s = max(seconds / track.block_calls, 1e-9)
            wanted = self._calls_in_block(track.call_s)
            if seconds >= self._target_s / 2:
                track.block_calls = wanted
                track.discards = track.call_s < DISCARD_BELOW_S
                break
            track.block_calls = min(wanted, 10 * track.block_calls)

    def _calls_in_block(self, call_s: float) -> int:
        return max(1, math.ceil(self._target_s / call_s))

    def _timed(self, track: _Track, calls: int, discards: bool = False) -> float:
        """Returns the seconds of `calls` calls, timed as one, after one that is not timed."""
        call, prepare = track.contender.call, track.contender.prepare
        began = self._clock()
        if prepare is not None:
            prepare()
        collecting = gc.isenabled()
        entered = self._clock()
        track.prepare_s = entered - began
        try:
            gc.disable()
            if discards:
                call()
            self._synchronize()
            processor_began = self._processor_clock()
            started = self._clock()
            for _ in range(calls):
                call()
            self._synchronize()
            seconds = self._clock() - started
            track.wall_s += seconds
            track.processor_s += self._processor_clock() - processor_began
            return seconds
        finally:
            if collecting:
                gc.enable()
            self._user_s += self._clock() - entered

    def _overhead_s(self) -> float:
        """Returns what synchronizing idle devices and reading the clock costs."""
        readings = []
        for _ in range(21):
            started = self._clock()
            self._synchronize()
            readings.append(self._clock() - started)
        return statistics.median(readings)
