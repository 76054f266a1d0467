"""The times of a plan's host calls: whole runs on numbers that NumPy's and SciPy's functions take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..runtime import loader

if TYPE_CHECKING:
    from ...base.types import TensorType
    from .plan import Plan

ENOUGH, MOST = 0.2, 50
"""Seconds after which no further run is timed, and the most runs."""


def host_times(plan: Plan, repeats: int) -> dict[int, float]:
    """Median microseconds of each host call, of all its calls in a run; nothing for one that such numbers never reach, or that
    refuses them. Variables may change: the caller restores them. The caller holds the plan's lock."""
    if not plan.host_calls:
        return {}
    found: dict[int, list[float]] = {}
    for feeds in _samples([node.type for node in plan.feeds]):
        begin = time.perf_counter()
        try:
            for _ in range(min(max(repeats, 1), MOST)):
                for i, us in _run(plan, feeds).items():
                    found.setdefault(i, []).append(us)
                if time.perf_counter() - begin > ENOUGH:
                    break
        except Exception:
            continue
        finally:
            plan.kept.clear()
            plan.status[:4] = 0
        break
    return {i: float(np.median(times)) for i, times in found.items()}


def _run(plan: Plan, feeds: list[np.ndarray]) -> dict[int, float]:
    """One run, and the microseconds of its host calls. Raises what they raise."""
    arrays = plan.stage([feed.copy() for feed in feeds])
    patches, _, objects, table, at, last, status, hold = plan.call
    found: dict[int, float] = {}
    while (stopped := loader.step(patches, 0, objects, table, at, last, status, hold)) >= 0:
        at = stopped
        if plan.paused(stopped):
            continue
        if plan.instructions[stopped].kind != "host":
            plan.fail(stopped)
        begin = time.perf_counter_ns()
        plan.call_host(plan.instructions[stopped], arrays)
        found[stopped] = found.get(stopped, 0.0) + (time.perf_counter_ns() - begin) / 1e3
        at += 1
    return found


def _samples(types: list[TensorType]) -> Iterator[list[np.ndarray]]:
    """Feeds: matrices with a large diagonal, which can be inverted and factored; then zeros."""
    rng = np.random.default_rng(0)
    yield [_regular(kind, rng) for kind in types]
    yield [np.zeros(kind.shape, kind.dtype) for kind in types]


def _regular(kind: TensorType, rng: np.random.Generator) -> np.ndarray:
    if kind.dtype.kind not in "fc":
        return np.zeros(kind.shape, kind.dtype)
    values = rng.uniform(0.25, 0.75, kind.shape)
    if values.ndim > 1 and values.shape[-1] == values.shape[-2]:
        values = (values + np.swapaxes(values, -1, -2)) / 2 + values.shape[-1] * np.eye(values.shape[-1])
    return np.ascontiguousarray(values.astype(kind.dtype))
