"""One process: a case on a backend, from the interpreter's first breath to timed steps.

    python -m benchmarks.worker CASE BACKEND VARIANT ARRAYS.npz BEGAN

BEGAN is the monotonic clock when the process was started. Prints a JSON object when it has a first result and steps run as fast
as they will, then for each line of the input, the seconds of a turn, another one: the times of steps.
"""

import time

AWAKE = time.monotonic()

import json  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Mapping  # noqa: E402
from contextlib import nullcontext  # noqa: E402
from importlib import import_module  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from . import cases  # noqa: E402, F401  (registers them)
from .memory import peak, resident  # noqa: E402
from .phases import Phases  # noqa: E402
from .registry import BACKENDS, CASES, IMPLEMENTATIONS, Arrays  # noqa: E402
from .timing import time_steps  # noqa: E402

SETTLE, STEPS = 0.7, 10
"""Seconds and number of steps before the first turn, at least: what is decided by use is decided then."""


def main(name: str, backend: str, variant: str, file: str, began: str) -> None:
    case = CASES[name]
    phases = Phases()
    phases.seconds["python"] = time.monotonic() - float(began)
    phases.enter("data")
    with np.load(file) as stored:
        data = {key: aligned(value) for key, value in stored.items()}
    phases.enter("import")
    for module in BACKENDS[backend].imports:
        import_module(module)
    if backend in ("compiled", "session"):
        phases.watch_compiler()
    if BACKENDS[backend].ours and variant == "1 thread":
        import_module("staticgrad").set_num_threads(1)
    phases.watch_imports()
    phases.enter("build")
    imported = resident()
    job = IMPLEMENTATIONS[name, backend].function(data, backend, variant)
    phases.enter("first step")
    result = job.step()
    phases.enter("end")
    total = phases.since - float(began) - phases.seconds.pop("data")
    until_first = dict(phases.seconds)
    for _ in range(case.steps - 1):
        result = job.step()
    high = peak()
    figures = figures_of(result, job.state(), data)
    with import_module("staticgrad").eager_kernels(wait=True) if BACKENDS[backend].ours else nullcontext():
        settle(job.step)
    report: dict[str, Any] = {
        "figures": figures,
        "total": total,
        "phases": until_first,
        "memory": high - imported - phases.loaded,
        "peak": high,
    }
    print(json.dumps(report), flush=True)
    for line in sys.stdin:
        print(json.dumps(time_steps(job.step, float(line))._asdict()), flush=True)


def settle(step: Callable[[], Any]) -> None:
    until, steps = time.monotonic() + SETTLE, 0
    while steps < STEPS or time.monotonic() < until:
        step()
        steps += 1


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 64 bytes: some frameworks copy others."""
    room = np.empty(array.nbytes + 64, np.uint8)
    skip = -room.ctypes.data % 64
    copy = room[skip : skip + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def figures_of(result: Any, state: Mapping[str, Any], data: Arrays) -> dict[str, float]:
    """What is compared between backends: numbers, norms of arrays, and how far parameters have moved."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    figures = {f"result {i}": float(part) if np.ndim(part) == 0 else norm(part) for i, part in enumerate(parts)}
    for name, value in state.items():
        figures[name] = norm(value - data[name] if name in data else value)
    return figures


def norm(array: Any) -> float:
    return float(np.linalg.norm(np.asarray(array, np.float64).ravel()))


if __name__ == "__main__":
    main(*sys.argv[1:])
