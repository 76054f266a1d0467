"""Fresh processes: each case, backend, variant and setting of malloc, in turns, so that noise affects all equally."""

from __future__ import annotations

import compileall
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .registry import BACKENDS, MALLOC, Case, Entry, entries_of
from .timing import load

ROOT = Path(__file__).parent.parent
LIMIT = 600
"""Seconds after which a process is given up."""


class Launcher:
    """Starts the processes. folder: for arrays and caches, empty at first; pythons: interpreters by backend."""

    def __init__(self, folder: Path, pythons: Mapping[str, str], seconds: float):
        self.folder, self.pythons, self.seconds = folder, pythons, seconds
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        for part in ("staticgrad", "benchmarks"):  # as pip does with installed packages, the peers among them
            compileall.compile_dir(ROOT / part, quiet=2)

    def installed(self, backend: str) -> bool:
        """Whether the backend's modules are found by its interpreter."""
        packages = sorted({name.split(".")[0] for name in BACKENDS[backend].imports})
        code = f"import importlib.util as u, sys; sys.exit(not all(map(u.find_spec, {packages})))"
        return self.run([self.python(backend), "-c", code], {}).returncode == 0

    def python(self, backend: str) -> str:
        return self.pythons.get(backend, sys.executable)

    def versions(self, backends: Iterable[str]) -> dict[str, str]:
        """Of NumPy and the packages of the backends, as their interpreters have them."""
        found = {}
        code = "import sys, importlib; print(importlib.import_module(sys.argv[1]).__version__)"
        packages = {name.split(".")[0]: b for b in backends for name in BACKENDS[b].imports}
        for package, backend in ({"numpy": "numpy"} | packages).items():
            done = self.run([self.python(backend), "-c", code, package], {})
            found[package] = done.stdout.strip() if done.returncode == 0 else "unknown"
        return found

    def run(self, command: list[str], more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """A process with `more` in its environment. Raises TimeoutExpired."""
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            command,
            env=self.environment | {"PYTHONPATH": os.pathsep.join(paths)} | more,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT,
        )

    def module(self, name: str, *arguments: str) -> dict[str, Any]:
        """What a module of this package prints, run by this interpreter. Raises RuntimeError when it fails."""
        done = self.run([sys.executable, "-m", f"{__package__}.{name}", *arguments], self.caches("module"))
        if done.returncode:
            raise RuntimeError(f"benchmarks.{name}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def arrays(self, case: Case) -> Path:
        file = self.folder / f"{case.name}.npz"
        if not file.exists():
            np.savez(file, **case.arrays())
        return file

    def caches(self, name: str) -> dict[str, str]:
        """Where the backends keep what they compiled: a folder for each entry, empty before its first process."""
        cache = self.folder / "caches" / name
        cache.mkdir(parents=True, exist_ok=True)
        return {
            "STATICGRAD_CACHE_DIR": str(cache / "staticgrad"),
            "JAX_COMPILATION_CACHE_DIR": str(cache / "jax"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            "TORCHINDUCTOR_CACHE_DIR": str(cache / "inductor"),
            "PYTENSOR_FLAGS": f"base_compiledir={cache / 'pytensor'}",
            "NUMBA_CACHE_DIR": str(cache / "numba"),
        }

    def measure(self, case: Case, entry: Entry, cold: bool) -> dict[str, Any]:
        """One process: what the worker tells, or the `error` it ended with; and the machine's load before it."""
        cache = re.sub(r"\W+", "-", "-".join((entry.case, entry.backend, entry.variant)))
        command = [self.python(entry.backend), "-m", f"{__package__}.worker", case.name, entry.backend, entry.variant]
        before = load()
        arguments = [str(self.arrays(case)), repr(time.monotonic()), str(self.seconds)]
        try:
            done = self.run([*command, *arguments], self.caches(cache) | case.environment | MALLOC[entry.malloc])
        except subprocess.TimeoutExpired:
            return {"error": f"no result after {LIMIT} s", "load": before}
        if done.returncode:
            return {"error": error_in(done.stderr, done.returncode), "load": before, "stderr": done.stderr[-4000:]}
        return {**json.loads(done.stdout.splitlines()[-1]), "load": before, "cold": cold}


def error_in(stderr: str, status: int) -> str:
    """The line that names the exception a process ended with."""
    lines = stderr.strip().splitlines()
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return (named or lines or [f"ended with {status}"])[-1]


def measure_case(launcher: Launcher, case: Case, backends: Iterable[str], rounds: int, progress: Any) -> list[Any]:
    """Results of all entries of a case: `{case, backend, variant, malloc, runs}`. An entry that failed is left alone.

    Settings of malloc share a cache.
    """
    entries = list(entries_of(case, backends))
    runs: dict[Entry, list[dict[str, Any]]] = {entry: [] for entry in entries}
    with progress(total=rounds * len(entries), desc=case.name) as bar:
        for number in range(rounds):
            for entry, done in runs.items():
                bar.set_postfix_str(f"{entry.backend} {entry.variant} {entry.malloc}".strip())
                if not (done and "error" in done[-1]):
                    done.append(launcher.measure(case, entry, cold=number == 0 and not entry.malloc))
                bar.update()
    launcher.arrays(case).unlink()
    return [{**entry._asdict(), "runs": done} for entry, done in runs.items()]
