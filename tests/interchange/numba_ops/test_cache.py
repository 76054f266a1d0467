"""Plans with ops of functions under `@njit` are kept in the kernel cache, and a changed function is another one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys
import numba, numpy as np, staticgrad as sg

if "other" in sys.argv:  # Numba numbers functions in the order in which it compiles them
    for i in range(12):
        numba.njit(lambda x: x + i)(1.0)
factor = 3.0 if "changed" in sys.argv else 2.0

@numba.njit
def helper(x):
    return factor * x

@sg.njit_op
@numba.njit
def act(x):
    return helper(x) if x > 0 else -x

@sg.njit_op(signature="(n)->()", vjp=lambda g, x: 2 * g * x)
@numba.njit
def energy(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total

@sg.compile(wait=True)
def step(x):
    loss = energy(act(x))
    return loss, sg.grad(loss, x)[0]

loss, gradient = step(sg.tensor([1.0, -2.0], requires_grad=True))
print(type(step.plan).__name__, loss.item(), gradient.tolist(), step.plan.host_calls)
"""


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "STATICGRAD_CACHE_DIR": str(folder), "STATICGRAD_PLANS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_plans_are_kept(tmp_path):
    assert run(tmp_path) == "Plan 8.0 [8.0, -4.0] 0"
    assert run(tmp_path, "other") == "StoredPlan 8.0 [8.0, -4.0] 0"
    assert run(tmp_path, "changed") == "Plan 13.0 [18.0, -4.0] 0"
