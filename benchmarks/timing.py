"""Times of steps: blocks of them within a process, and jobs of one process that take turns."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

BLOCK = 0.02
"""Seconds that a block of steps takes, unless a single one takes longer."""


WARM = 0.03
"""Seconds of a job after which its data are in the caches as far as they fit."""


class Timing(NamedTuple):
    """Microseconds a step: of each block, and the CPU time of all threads over all blocks."""

    blocks: list[float]
    cpu: float


def time_steps(step: Callable[[], Any], seconds: float) -> Timing:
    """In blocks of equal length that take about `seconds` together, at least three."""
    count, took = 1, _block(step, 1)
    while took < BLOCK / 4:
        count *= 2
        took = _block(step, count)
    count = max(1, round(count * BLOCK / took))
    blocks = max(3, round(seconds / max(took, BLOCK)))
    before = time.process_time()
    times = [_block(step, count) / count * 1e6 for _ in range(blocks)]
    return Timing(times, (time.process_time() - before) / (blocks * count) * 1e6)


def _block(step: Callable[[], Any], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        step()
    return time.perf_counter() - begin


def burst(job: Callable[[], Any], seconds: float, calls: int = 1) -> float:
    """The least microseconds of one call: of several short loops for a short job. calls: how many there are at least, unless
    they take more than `WARM` seconds; the first ones bring back into the caches what another job has driven out."""
    began = time.perf_counter()
    job()
    once = time.perf_counter() - began
    number = max(1, min(200, int(2e-4 / max(once, 1e-7))))
    best, until = math.inf, time.perf_counter() + max(seconds, min(calls * once, WARM))
    while True:
        began = time.perf_counter()
        for _ in range(number):
            job()
        now = time.perf_counter()
        best = min(best, (now - began) / number)
        if now >= until:
            return best * 1e6


def interleaved(
    jobs: Mapping[str, Callable[[], Any]], progress: Callable[[Iterable[Any]], Iterable[Any]], *, rounds: int, steps: int
) -> dict[str, float]:
    """Microseconds: each job takes `steps` steps in each of the rounds; the median of the rounds' medians.

    What disturbs the machine for a while meets all of them.
    """
    medians: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in progress(range(rounds)):
        for name, step in jobs.items():
            for _ in range(20):
                step()
            medians[name].append(_median_step(step, steps))
    return {name: statistics.median(values) for name, values in medians.items()}


def _median_step(step: Callable[[], Any], steps: int) -> float:
    clock, times = time.perf_counter_ns, []
    for _ in range(steps):
        begin = clock()
        step()
        times.append(clock() - begin)
    return statistics.median(times) / 1e3


def load() -> float:
    """Processes that wanted the CPUs over the last minute, this one included."""
    return os.getloadavg()[0]
