"""What a compiled step costs beside its native time: the call from Python, the fresh results, reading the loss.

    python -m benchmarks.overhead ARRAYS.npz ROUNDS

The digits step, in one process. Prints a JSON object: microseconds.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from . import cases  # noqa: F401  (registers them)
from .registry import IMPLEMENTATIONS, Arrays
from .timing import interleaved

CASE = "digits"


def measure(data: Arrays, *, rounds: int, steps: int = 300) -> dict[str, float]:
    """`native` (the driver on the plan's table), and what the layers around it add."""
    from staticgrad.compiler.runtime import loader

    job = IMPLEMENTATIONS[CASE, "compiled"].function(data, "compiled", "")
    job.step()
    step, plan = job.compiled, job.compiled.plan
    batch = data["x"][0], data["y"][0]
    other = IMPLEMENTATIONS[CASE, "compiled"].function(data, "compiled", "")
    other.step()
    bare = other.compiled.plan
    kept = bare.stage(batch)
    jobs = {
        "loss": lambda: float(step(*batch)),
        "call": lambda: step(*batch),
        "execute": lambda: plan.execute(batch),
        "native": lambda: loader.step(*bare.call),
        "nothing": lambda: None,
    }
    times = interleaved(jobs, list, rounds=rounds, steps=steps)
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
        "instructions one by one": plan.profile().total,
    }


if __name__ == "__main__":
    with np.load(sys.argv[1]) as stored:
        print(json.dumps(measure(dict(stored), rounds=int(sys.argv[2]))))
