"""Interleaved timing on a clock that only the contenders move."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Iterable, Sequence

import pytest

from tfinsight.measure.timing import Contender, InterleavedTiming, plan_lap
from tfinsight.statistics import compare


class Machine:
    """A clock and contenders that move it; notes each call as it begins."""

    def __init__(self, reading_s: float = 0.0, synchronizing_s: float = 0.0) -> None:
        self.now = 0.0
        self.reading_s, self.synchronizing_s = reading_s, synchronizing_s
        self.calls: list[str] = []
        self.slowness: Callable[[float], float] = lambda now: 1.0

    def clock(self) -> float:
        self.now += self.reading_s
        return self.now

    def synchronize(self) -> None:
        self.calls.append("sync")
        self.now += self.synchronizing_s

    def contender(
        self,
        name: str,
        seconds: float,
        *,
        estimate_s: float | None = None,
        first: float = 1.0,
        noise: float = 0.0,
        prepare: Callable[[], None] | None = None,
    ) -> Contender:
        """Returns one whose call takes `first` times as long after another's call."""
        source = random.Random(name)

        def call() -> None:
            others = [c for c in self.calls[-2:] if c != "sync"]
            factor = 1.0 if others and others[-1] == name else first
            self.calls.append(name)
            factor *= math.exp(source.gauss(0.0, noise))
            self.now += seconds * factor * self.slowness(self.now)

        return Contender(name, call, seconds if estimate_s is None else estimate_s, prepare)

    def timing(
        self,
        contenders: Iterable[Contender],
        *,
        deadline: float = math.inf,
        eligible: Sequence[str] | None = None,
        seed: int = 0,
        on_round: Callable[[int, int], None] | None = None,
    ) -> InterleavedTiming:
        rows = list(contenders)
        return InterleavedTiming(
            rows,
            baseline_id=rows[0].id,
            eligible_ids=[row.id for row in rows] if eligible is None else eligible,
            deadline=deadline,
            clock=self.clock,
            synchronize=self.synchronize,
            seed=seed,
            on_round=on_round,
        )

    def blocks(self) -> list[tuple[str, int]]:
        """Returns the calls as runs of the same name: between synchronizing, name and length."""
        found: list[tuple[str, int]] = []
        for name in [*self.calls, "sync"]:
            if name == "sync":
                found.append((name, 0))
            elif found and found[-1][0] == name:
                found[-1] = (name, found[-1][1] + 1)
            else:
                found.append((name, 1))
        return [block for block in found if block[0] != "sync"]


def test_medians_are_exact_and_first_calls_of_blocks_do_not_count() -> None:
    machine = Machine()
    rows = [machine.contender("a", 1e-3, first=3.0), machine.contender("b", 2e-3, first=3.0)]
    timing = machine.timing(rows)
    timing.run()
    results = timing.results()
    assert results["a"].median_s == pytest.approx(1e-3)
    assert results["b"].samples_s == pytest.approx([2e-3] * 12)
    assert results["a"].spread == pytest.approx(0.0)


def test_block_lasts_its_target_and_counts_its_calls() -> None:
    machine = Machine()
    rows = [machine.contender("a", 0.9e-3), machine.contender("b", 2.1e-3)]
    timing = machine.timing(rows)
    timing.run()
    # Four milliseconds: 5 calls and 2, in 12 rounds.
    assert {name: r.calls for name, r in timing.results().items()} == {"a": 60, "b": 24}
    discarded, timed = {("a", 1), ("b", 1)}, {("a", 5), ("b", 2)}
    assert set(machine.blocks()[-48:]) == discarded | timed


def test_clock_and_synchronizing_cost_less_than_a_thousandth_of_a_block() -> None:
    machine = Machine(reading_s=1e-6, synchronizing_s=19e-6)
    timing = machine.timing([machine.contender("a", 30e-6)])
    timing.run()
    result = timing.results()["a"]
    assert result.calls / len(result.rounds) * result.median_s >= 0.020
    assert result.median_s == pytest.approx(30e-6, rel=1.01e-3)


@pytest.mark.parametrize("estimate_s", [1e-7, 5e-3, 3.0])
def test_a_wrong_estimate_changes_neither_block_nor_median(estimate_s: float) -> None:
    machine = Machine()
    row = machine.contender("a", 1e-3, first=1.5, estimate_s=estimate_s)
    timing = machine.timing([row, machine.contender("b", 3e-3)])
    timing.run()
    result = timing.results()["a"]
    assert result.samples_s == pytest.approx([1e-3] * len(result.rounds))
    assert result.calls == 4 * len(result.rounds)
    assert machine.now < 0.5


def test_slow_calls_are_timed_one_by_one_and_none_is_discarded() -> None:
    machine = Machine()
    timing = machine.timing([machine.contender("slow", 0.2), machine.contender("fast", 1e-3)])
    timing.run()
    assert machine.calls.count("slow") == timing.results()["slow"].calls == 3


def test_order_changes_from_round_to_round_and_all_take_part() -> None:
    machine = Machine()
    names = [f"row{i}" for i in range(6)]
    state = random.getstate()
    machine.timing([machine.contender(name, 20e-3) for name in names], seed=1).run()
    assert random.getstate() == state
    order = [name for name in machine.calls if name != "sync"]
    rounds = [tuple(order[i : i + 6]) for i in range(0, 72, 6)]
    assert len(order) == 72
    assert all(sorted(taking_part) == names for taking_part in rounds)
    assert len(set(rounds)) > 6


def test_the_same_seed_gives_the_same_order() -> None:
    def order(seed: int) -> list[str]:
        machine = Machine()
        rows = [machine.contender(name, 20e-3) for name in "abcdef"]
        machine.timing(rows, seed=seed).run()
        return machine.calls

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_dear_rows_join_rounds_spread_evenly_that_all_share() -> None:
    machine = Machine()
    costs = {"very slow": 0.5, "slow": 0.06, "fast": 1e-3, "other": 0.2}
    timing = machine.timing([machine.contender(name, cost) for name, cost in costs.items()])
    timing.run()
    rounds = {name: result.rounds for name, result in timing.results().items()}
    assert rounds["very slow"] == rounds["other"] == (1, 5, 9)
    assert rounds["slow"] == (1, 3, 5, 7, 9, 11)
    assert rounds["fast"] == tuple(range(12))


def test_ends_after_one_lap_where_the_order_is_clear() -> None:
    machine = Machine()
    rows = [machine.contender(str(i), 1e-3 * 2**i, noise=0.1) for i in range(3)]
    timing = machine.timing(rows)
    timing.run()
    assert {len(result.rounds) for result in timing.results().values()} == {12}


def test_rows_that_tie_go_on_to_the_cap_while_settled_ones_rest() -> None:
    machine = Machine()
    costs = {"a": 1e-3, "twin": 1e-3, "far": 5e-3}
    rows = [machine.contender(name, cost, noise=0.3) for name, cost in costs.items()]
    timing = machine.timing(rows)
    timing.run()
    results = timing.results()
    assert {name: len(r.rounds) for name, r in results.items()} == {"a": 48, "twin": 48, "far": 12}
    ties = {name for name, c in compare(results, "a", results).items() if c.ties_with_fastest}
    assert ties == {"a", "twin"}


def test_wrong_rows_are_timed_for_one_lap_alone() -> None:
    machine = Machine()
    rows = [machine.contender(name, 1e-3, noise=0.3) for name in ("a", "twin", "wrong")]
    timing = machine.timing(rows, eligible=["a", "twin"])
    timing.run()
    assert [len(r.rounds) for r in timing.results().values()] == [48, 48, 12]


def test_a_usual_grid_settles_in_about_the_time_of_its_slow_calls() -> None:
    machine = Machine()
    slow = [0.5, 0.3, 0.2, 0.11, 0.06]
    fast = [0.1, 0.103, 0.15, 0.3, 0.3, 0.7, 1.0, 1.5, 2.5, 5.0, 8.0, 12.0]
    costs = [*slow, *(milliseconds / 1e3 for milliseconds in fast)]
    rows = [machine.contender(f"{i}", cost, noise=0.05) for i, cost in enumerate(costs)]
    timing = machine.timing(rows, deadline=10.0)
    timing.run()
    assert machine.now < 5.7
    assert all(len(result.rounds) >= 3 for result in timing.results().values())


def test_stops_before_the_deadline() -> None:
    machine = Machine()
    rows = [machine.contender(name, 2e-3, noise=0.3) for name in "abc"]
    timing = machine.timing(rows, deadline=0.2)
    timing.run()
    assert 0.15 < machine.now <= 0.21
    assert 3 <= len(timing.results()["a"].rounds) < 48


def test_cheap_rows_get_intervals_and_dear_ones_a_few_samples_where_a_lap_does_not_fit() -> None:
    machine = Machine()
    rows = [machine.contender("slow", 0.3), machine.contender("slower", 0.4)]
    rows += [machine.contender(f"fast{i}", 15e-3) for i in range(6)]
    timing = machine.timing(rows, deadline=3 * (0.3 + 0.4 + 6 * 15e-3) + 0.01)
    timing.run()
    results = timing.results()
    assert all(results[f"fast{i}"].low_s is not None for i in range(6))
    assert all(len(results[name].rounds) in (2, 3) for name in ("slow", "slower"))


def test_a_row_for_which_there_is_no_time_keeps_its_estimate_flagged() -> None:
    machine = Machine()
    timing = machine.timing(
        [machine.contender("fast", 1e-3), machine.contender("slow", 5.0)], deadline=1.0
    )
    timing.run()
    slow = timing.results()["slow"]
    assert (slow.estimated, slow.median_s, slow.calls) == (True, 5.0, 0)
    assert machine.calls.count("slow") == 0
    assert not timing.results()["fast"].estimated


def test_past_the_deadline_nothing_runs() -> None:
    machine = Machine()
    timing = machine.timing([machine.contender("a", 1e-3)], deadline=-1.0)
    timing.run()
    assert "a" not in machine.calls
    assert timing.results()["a"].estimated


def test_plan_gives_all_one_sample_before_any_gets_two() -> None:
    assert plan_lap({"a": 1.0, "b": 2.0, "c": 0.02}, 100.0) == {"a": 3, "b": 3, "c": 12}
    assert plan_lap({"a": 1.0, "b": 2.0, "c": 0.02}, 4.1) == {"a": 1, "b": 1, "c": 12}
    assert plan_lap({"a": 1.0, "b": 2.0, "c": 0.02}, 3.1) == {"a": 1, "b": 1, "c": 3}
    assert plan_lap({"a": 1.0, "b": 2.0, "c": 0.02}, 0.5) == {"a": 0, "b": 0, "c": 12}
    assert plan_lap({"a": 1.0}, -1.0) == {"a": 0}


def test_drift_that_hits_all_rows_the_same_cancels_in_the_speedups() -> None:
    machine = Machine()
    machine.slowness = lambda now: 1.0 + 8.0 * now
    costs = {"base": 4e-3, "fast": 1e-3}
    timing = machine.timing([machine.contender(name, cost) for name, cost in costs.items()])
    timing.run()
    results = timing.results()
    assert max(results["base"].samples_s) > 1.8 * min(results["base"].samples_s)
    speedup = compare(results, "base", results)["fast"].speedup
    assert speedup == pytest.approx(4.0, rel=0.05)


def test_state_is_prepared_before_each_block_and_is_not_timed() -> None:
    machine = Machine()
    prepared = []

    def prepare() -> None:
        prepared.append(len(machine.calls))
        machine.now += 7e-3

    timing = machine.timing([machine.contender("a", 20e-3, prepare=prepare)])
    timing.run()
    assert timing.results()["a"].median_s == pytest.approx(20e-3)
    assert len(prepared) == len(timing.results()["a"].rounds) == 12
    assert timing.user_seconds == pytest.approx(12 * 20e-3)


def test_user_seconds_hold_discarded_and_calibrating_calls() -> None:
    machine = Machine(synchronizing_s=0.0)
    timing = machine.timing([machine.contender("a", 1e-3), machine.contender("b", 5e-3)])
    timing.run()
    assert timing.user_seconds == pytest.approx(machine.now)


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_not_collected_inside_blocks_and_the_setting_comes_back(enabled: bool) -> None:
    seen = set()
    machine = Machine()
    row = machine.contender("a", 20e-3, prepare=lambda: seen.add(("outside", gc.isenabled())))

    def call() -> None:
        seen.add(("inside", gc.isenabled()))
        row.call()

    try:
        if not enabled:
            gc.disable()
        machine.timing([Contender("a", call, 20e-3, row.prepare)]).run()
        assert gc.isenabled() is enabled
    finally:
        gc.enable()
    assert seen == {("outside", enabled), ("inside", False)}


def test_interrupt_leaves_at_once_and_what_was_measured_can_be_read() -> None:
    machine = Machine()
    calm = machine.contender("calm", 20e-3)
    rounds = []

    def interrupted() -> None:
        if len(rounds) == 7:
            raise KeyboardInterrupt
        machine.now += 30e-3

    rows = [calm, Contender("stops", interrupted, 30e-3)]
    timing = machine.timing(rows, on_round=lambda done, total: rounds.append(done))
    with pytest.raises(KeyboardInterrupt):
        timing.run()
    assert gc.isenabled()
    results = timing.results()
    assert results["stops"].samples_s == pytest.approx([30e-3] * 7)
    assert len(results["calm"].rounds) in (7, 8)
    assert timing.user_seconds > 7 * 50e-3 * 0.999
    assert timing.failures == ()


@pytest.mark.parametrize("fails_in", ["call", "prepare"])
def test_a_contender_that_raises_is_taken_out_and_the_others_go_on(fails_in: str) -> None:
    machine = Machine()
    error, calls = ValueError("no more"), []

    def fail() -> None:
        calls.append(1)
        machine.now += 20e-3
        if len(calls) == 4:
            raise error

    failing = Contender(
        "bad",
        fail if fails_in == "call" else lambda: None,
        20e-3,
        fail if fails_in == "prepare" else None,
    )
    timing = machine.timing([machine.contender("good", 20e-3), failing])
    timing.run()
    assert timing.failures == (("bad", error),)
    assert len(calls) == 4
    assert list(timing.results()) == ["good"]
    assert len(timing.results()["good"].rounds) == 12
    assert gc.isenabled()


def test_a_failing_baseline_leaves_ranking_to_the_others() -> None:
    machine = Machine()

    def fail() -> None:
        raise ValueError

    rows = [Contender("base", fail, 1e-3), machine.contender("a", 1e-3)]
    timing = machine.timing(rows)
    timing.run()
    found = compare(timing.results(), "base", {"base", "a"})
    assert found["a"].speedup is None
    assert found["a"].ties_with_fastest


def test_progress_is_told_after_each_round() -> None:
    machine = Machine()
    told: list[tuple[int, int]] = []
    rows = [machine.contender(name, 1e-3, noise=0.3) for name in "ab"]
    machine.timing(rows, on_round=lambda done, total: told.append((done, total))).run()
    assert [done for done, _ in told] == list(range(1, 49))
    assert told[0] == (1, 12)
    assert told[-1] == (48, 48)
    assert all(done <= total for done, total in told)


def test_devices_are_synchronized_before_the_clock_is_read() -> None:
    machine = Machine()
    rows = [machine.contender("a", 20e-3), machine.contender("b", 30e-3)]
    machine.timing(rows).run()
    calls = machine.calls[21:]  # past what synchronizing itself costs
    around = [calls[i - 1 : i + 2] for i, name in enumerate(calls) if name != "sync"]
    assert all(before == after == "sync" for before, _, after in around)


def test_without_contenders_nothing_happens() -> None:
    timing = InterleavedTiming(
        [],
        baseline_id="",
        eligible_ids=(),
        deadline=1.0,
        clock=lambda: 0.0,
        synchronize=lambda: None,
    )
    timing.run()
    assert timing.results() == {}
