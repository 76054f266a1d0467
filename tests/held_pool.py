"""A pool whose workers never get to their jobs: NumPy runs all plans, and nothing is compiled."""

from __future__ import annotations

import pytest

from staticgrad.compiler.backend import compile_pool, machine_code
from staticgrad.compiler.backend.compile_pool import Job, Pool
from staticgrad.eager.grad_mode import modes
from staticgrad.eager.kernels import OFF


class Held(Pool):
    """Workers that never get to their jobs, until `release`."""

    def __init__(self) -> None:
        super().__init__(0)
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        job.pool = self
        self.jobs.append(job)

    def release(self) -> None:
        for job in self.jobs:
            job.over = True

    def wait(self, jobs: object = None) -> None:
        self.release()


def hold(monkeypatch: pytest.MonkeyPatch) -> Held:
    """Put such a pool in the place of the process's for one test, which has no kernels of earlier tests either."""
    pool = Held()
    monkeypatch.setenv(machine_code.TIERS, "1")
    monkeypatch.setattr(modes.now, "kernels", OFF)  # eager operations would wait for theirs
    monkeypatch.setattr(compile_pool, "_pool", pool)
    monkeypatch.setattr(machine_code.Wanted, "at_hand", lambda self: False)
    for table in ("_codes", "_jobs"):
        monkeypatch.setattr(machine_code, table, {})
    return pool
