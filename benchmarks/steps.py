"""Time of a step: every backend of a case in one process, in turns, after a check that they compute the same."""

from __future__ import annotations

from typing import Any

from .registry import IMPLEMENTATIONS, Backend, Case, Job
from .timing import interleaved


class Disagreement(Exception):
    """Two backends don't compute the same, so their times mean nothing."""


def measure(case: Case, backends: list[Backend], progress: Any, *, rounds: int, steps: int) -> dict[str, Any]:
    """By backend: microseconds a step and the loss after `case.steps` steps. Raises Disagreement."""
    data = case.arrays()
    jobs = {b.name: IMPLEMENTATIONS[case.name, b.name](data) for b in backends}
    losses = {name: _loss_after(job, case.steps) for name, job in jobs.items()}
    first = next(iter(losses))
    for name, loss in losses.items():
        if not abs(loss - losses[first]) <= case.tolerance * abs(losses[first]):
            raise Disagreement(
                f"{case.name}: losses after {case.steps} steps differ: {first} {losses[first]:.8g}, {name} {loss:.8g}"
            )
    times = interleaved(jobs, progress, rounds=rounds, steps=steps)
    return {name: {**times[name]._asdict(), "loss": losses[name]} for name in jobs}


def _loss_after(job: Job, steps: int) -> float:
    job.enter()
    for _ in range(steps - 1):
        job.step()
    return job.step()
