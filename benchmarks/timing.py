"""Measuring side by side: jobs take turns in one process, round by round, and medians over the rounds are compared.

What disturbs the machine for a while (other processes, clock rates) meets all of them.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from .registry import Job


class Timing(NamedTuple):
    """Microseconds: the median step of each round, and over the rounds the median and quartiles."""

    median: float
    low: float
    high: float
    rounds: list[float]


def timing(rounds: list[float]) -> Timing:
    low, _, high = statistics.quantiles(rounds, n=4) if len(rounds) > 1 else (rounds[0],) * 3
    return Timing(statistics.median(rounds), low, high, rounds)


def interleaved(
    jobs: Mapping[str, Job], progress: Callable[[Iterable[Any]], Iterable[Any]], *, rounds: int, steps: int
) -> dict[str, Timing]:
    """Each job takes `steps` steps in each of the rounds, after a few that don't count."""
    medians: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in progress(range(rounds)):
        for name, job in jobs.items():
            job.enter()
            for _ in range(20):
                job.step()
            medians[name].append(_median_step(job.step, steps))
    return {name: timing(values) for name, values in medians.items()}


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
