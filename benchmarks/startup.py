"""From process start to the first result, with an empty kernel cache and with a full one; and time to import."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .registry import Backend, Case

ROOT = Path(__file__).parent.parent
IMPORTS = {
    "numpy": "import numpy",
    "staticgrad": "import staticgrad",
    "staticgrad, all of it": "import staticgrad.nn, staticgrad.optim, staticgrad.static, staticgrad.compiler.pipeline",
    "jax": "import jax.numpy",
    "torch": "import torch",
}


def measure(case: Case, backends: list[Backend], progress: Any, *, repeats: int) -> dict[str, dict[str, Any]]:
    """By backend, variants left out: `cold` and `warm`, each the run with the median total of `repeats`."""
    starting = [b for b in backends if not b.variant]
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arrays.npz"
        np.savez(file, **case.arrays())
        for i, backend in progress([(i, b) for i in range(repeats) for b in starting]):
            for state in ("cold", "warm"):
                run = _first_result(case, backend, file, Path(folder) / f"{backend.name}-{i}")
                runs.setdefault((backend.name, state), []).append(run)
    return {b.name: {state: _middle(runs[b.name, state]) for state in ("cold", "warm")} for b in starting}


def _first_result(case: Case, backend: Backend, file: Path, cache: Path) -> dict[str, Any]:
    """What the worker tells, and the CPU seconds that it took, which other processes disturb less."""
    environment = _environment() | {
        "STATICGRAD_CACHE_DIR": str(cache / "staticgrad"),
        "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    command = [sys.executable, "-m", f"{__package__}.worker", case.name, backend.name, str(file)]
    cache.mkdir(exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, repr(time.monotonic())], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{backend.name}: {done.stderr.strip()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(done.stdout), "cpu": cpu}


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run with the median total, and all totals."""
    ranked = sorted(runs, key=lambda run: run["total"])
    return ranked[(len(ranked) - 1) // 2] | {"totals": [run["total"] for run in runs]}


def imports(progress: Any, *, repeats: int) -> dict[str, float]:
    """Seconds of an import in a fresh process, median; the interpreter's own start is not in it."""
    code = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    wanted = {name: text for name, text in IMPORTS.items() if find_spec(name.split(",")[0]) is not None}
    return {
        name: statistics.median(
            float(subprocess.check_output([sys.executable, "-c", code.format(text)], env=_environment(), cwd=ROOT))
            for _ in range(repeats)
        )
        for name, text in progress(wanted.items())
    }


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
