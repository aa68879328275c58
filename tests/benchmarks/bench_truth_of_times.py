"""How true are the intervals and ties? Copies of one strategy against each other, and a long run.

Three functions of different speed are timed in 20 default runs, each as A, an exact copy of A, and
B, which does a little more. All rounds of all runs together are the long run. Printed is the share
of runs whose 95 % interval holds the long run's value and the share in which the copies tie.

Run as a script, or with `pytest -m benchmark tests/benchmarks/bench_truth_of_times.py`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from tfinsight.measure.timing import Contender, InterleavedTiming
from tfinsight.statistics import SteadyState, compare

RUNS = 20
RUN_S = 5.0
A, COPY, B = "A", "copy of A", "B"
Results = dict[str, SteadyState]


@dataclass(frozen=True)
class Truth:
    """Of one pair of rows: what the long run says and how often the runs agree with it."""

    case: str
    pair: str
    median_s: float
    speedup: float
    rounds: int
    speedup_covered: float
    median_covered: float
    tied: float
    width: float


def functions() -> dict[str, dict[str, Callable[[], object]]]:
    import tensorflow as tf

    matrix, vector, short = (tf.random.normal(shape) for shape in ([700, 700], [700], [64]))
    square = tf.random.normal([900, 900])
    longer = tf.concat([square, square[:45]], axis=0)

    def matvec(steps: int) -> Callable[[], object]:
        @tf.function
        def run() -> object:
            result = vector
            for _ in range(steps):
                result = tf.linalg.matvec(matrix, tf.nn.tanh(result))
            return result

        return run

    def chain(steps: int) -> Callable[[], object]:
        def run() -> object:
            result = short
            for _ in range(steps):
                result = result * 1.0001 + 0.1
            return result

        return run

    def matmul(left: object) -> Callable[[], object]:
        @tf.function
        def run() -> object:
            return tf.matmul(left, square)

        return run

    return {
        "graph matvec": {A: matvec(10), COPY: matvec(10), B: matvec(11)},
        "eager chain": {A: chain(20), COPY: chain(20), B: chain(21)},
        "graph matmul": {A: matmul(square), COPY: matmul(square), B: matmul(longer)},
    }


def contender(name: str, call: Callable[[], object]) -> Contender:
    call()
    started = time.perf_counter()
    call()
    return Contender(name, call, time.perf_counter() - started)


def measure() -> list[Results]:
    """Times all rows together in `RUNS` default runs."""
    rows = {f"{case} {row}": call for case, of in functions().items() for row, call in of.items()}
    runs = []
    for seed in range(RUNS):
        contenders = [contender(name, call) for name, call in rows.items()]
        timing = InterleavedTiming(
            contenders,
            baseline_id=contenders[0].id,
            eligible_ids=list(rows),
            deadline=time.perf_counter() + RUN_S,
            clock=time.perf_counter,
            synchronize=lambda: None,  # These functions end when they return, on the CPU.
            seed=seed,
        )
        timing.run()
        assert not timing.failures
        runs.append(timing.results())
    return runs


def ratios(results: Results, first: str, second: str) -> list[float]:
    one, other = results[first].by_round(), results[second].by_round()
    return [one[number] / other[number] for number in sorted(one.keys() & other.keys())]


def truth(case: str, row: str, runs: Sequence[Results]) -> Truth:
    base, name = f"{case} {A}", f"{case} {row}"
    pooled = [ratio for results in runs for ratio in ratios(results, base, name)]
    times = [seconds for results in runs for seconds in results[name].samples_s]
    speedup, median = statistics.median(pooled), statistics.median(times)
    compared = [compare(results, base, {base, name}) for results in runs]
    ends = [(c[name].speedup_low or 0.0, c[name].speedup_high or 0.0) for c in compared]
    tied = [c[base].ties_with_fastest and c[name].ties_with_fastest for c in compared]
    states = [results[name] for results in runs]
    return Truth(
        case,
        row,
        median,
        speedup,
        len(pooled),
        statistics.mean(low <= speedup <= high for low, high in ends),
        statistics.mean((s.low_s or 0.0) <= median <= (s.high_s or 0.0) for s in states),
        statistics.mean(tied),
        statistics.median((high - low) / speedup for low, high in ends),
    )


def truths(runs: Sequence[Results]) -> list[Truth]:
    return [truth(case, row, runs) for case in functions() for row in (COPY, B)]


def report(found: Sequence[Truth]) -> str:
    head = f"{'':13}{'A over':>10}{'a call':>10}{'long run':>10}{'rounds':>8}{'interval':>10}"
    lines = [head + f"{'speed-up held':>15}{'median held':>13}{'tie':>7}"]
    lines += [
        f"{t.case:13}{t.pair:>10}{t.median_s * 1e3:>7.3f} ms{t.speedup:>9.3f}x{t.rounds:>8}"
        f"{t.width:>10.1%}{t.speedup_covered:>15.0%}{t.median_covered:>13.0%}{t.tied:>7.0%}"
        for t in found
    ]
    return "\n".join(lines)


@pytest.mark.benchmark
def test_intervals_hold_the_long_run_and_copies_tie() -> None:
    found = truths(measure())
    print(report(found))
    copies = [t for t in found if t.pair == COPY]
    assert statistics.mean(t.speedup_covered for t in found) >= 0.9
    assert statistics.mean(t.tied for t in copies) >= 0.9


def main() -> None:
    started = time.perf_counter()
    runs = measure()
    print(report(truths(runs)))
    print(f"{RUNS} runs in {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
