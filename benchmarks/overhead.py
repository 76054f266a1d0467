"""What a compiled step costs beside its native time: the call from Python, the fresh results, reading the loss."""

from __future__ import annotations

from typing import Any

from .registry import IMPLEMENTATIONS, Case, Job
from .timing import interleaved


def measure(case: Case, progress: Any, *, rounds: int, steps: int) -> dict[str, float]:
    """Microseconds: `native` (the driver on the plan's table), and what the layers around it add."""
    from staticgrad.compiler import driver

    data = case.arrays()
    job = IMPLEMENTATIONS[case.name, "compiled"](data)
    job.step()
    step, plan = job.compiled, job.compiled.plan
    batch = data["x"][0], data["y"][0]
    other = IMPLEMENTATIONS[case.name, "compiled"](data)
    other.step()
    bare = other.compiled.plan
    kept = bare.stage(batch)
    jobs = {
        "loss": Job(lambda: float(step(*batch))),
        "call": Job(lambda: step(*batch)),
        "execute": Job(lambda: plan.execute(batch)),
        "native": Job(lambda: driver.step(*bare.call)),
        "nothing": Job(lambda: None),
    }
    times = {name: t.median for name, t in interleaved(jobs, progress, rounds=rounds, steps=steps).items()}
    del kept
    empty = times.pop("nothing")
    times = {name: us - empty for name, us in times.items()}
    return {
        "wall": times["loss"],
        "native": times["native"],
        "overhead": times["loss"] - times["native"],
        "of it: plan.execute, with the results": times["execute"] - times["native"],
        "of it: checks": times["call"] - times["execute"],
        "of it: float(loss)": times["loss"] - times["call"],
        "rows one by one": plan.profile().total,
    }
