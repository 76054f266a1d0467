"""Fresh processes, one for each case, backend, variant and setting of malloc, which take turns, so that noise affects all
equally."""

from __future__ import annotations

import compileall
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .registry import BACKENDS, MALLOC, Case, Entry
from .timing import load

ROOT = Path(__file__).parent.parent
LIMIT = 600
"""Seconds after which a process is given up."""
TURNS = 5
"""Turns of each process: what disturbs the machine for a while meets all of them."""
REST = 0.15
"""Seconds before each turn: threads of a BLAS, which the process before it may have, spin for 0.1 s before they sleep."""
INSTRUCTIONS = {
    "avx2": {
        "STATICGRAD_CPU": "x86-64-v3",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "XLA_FLAGS": "--xla_cpu_max_isa=AVX2",
    },
}
"""What keeps each library to fewer instructions than the CPU has, so that it measures as a lesser CPU of the same clock."""


class Launcher:
    """Starts the processes. folder: for arrays and caches, empty at first; pythons: interpreters by backend; instructions: a
    key of INSTRUCTIONS, "" for all that the CPU has."""

    def __init__(self, folder: Path, pythons: Mapping[str, str], instructions: str = ""):
        self.folder, self.pythons = folder, pythons
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.environment |= INSTRUCTIONS.get(instructions, {})
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

    def environment_with(self, more: Mapping[str, str]) -> dict[str, str]:
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        return self.environment | {"PYTHONPATH": os.pathsep.join(paths)} | more

    def run(self, command: list[str], more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """A process with `more` in its environment. Raises TimeoutExpired."""
        return subprocess.run(
            command,
            env=self.environment_with(more),
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

    def start(self, case: Case, entry: Entry, cold: bool) -> Running:
        """A process that has its first result, or has failed. cold: whether it finds an empty cache."""
        cache = re.sub(r"\W+", "-", "-".join((entry.case, entry.backend, entry.variant)))
        more = self.caches(cache) | case.environment | MALLOC[entry.malloc]
        command = [self.python(entry.backend), "-m", f"{__package__}.worker", case.name, entry.backend, entry.variant]
        return Running([*command, str(self.arrays(case)), repr(time.monotonic())], self.environment_with(more), cold)


class Running:
    """A worker. `result`: what it tells, with `blocks` of timed steps once it had turns; or the `error` it ended with. Both
    with the machine's load before it."""

    def __init__(self, command: list[str], environment: Mapping[str, str], cold: bool):
        self.result: dict[str, Any] = {"load": load()}
        self.cold = cold
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  (a pipe would fill up; `end` closes it)
        self.process = subprocess.Popen(
            command, env=environment, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
        )
        if (report := self._answer()) is not None:
            self.result |= {**report, "cold": cold, "blocks": [], "cpu": []}

    @property
    def failed(self) -> bool:
        return "error" in self.result

    def turn(self, seconds: float) -> None:
        """Time steps for so long."""
        if self.failed:
            return
        with suppress(BrokenPipeError):
            assert self.process.stdin is not None
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
        if (timing := self._answer()) is not None:
            self.result["blocks"] += timing["blocks"]
            self.result["cpu"].append(timing["cpu"])

    def end(self) -> dict[str, Any]:
        """The result, once the process has ended."""
        with suppress(BrokenPipeError):
            self.process.communicate()
        self.errors.close()
        if not self.failed:
            self.result["cpu"] = statistics.median(self.result["cpu"])
        return self.result

    def _answer(self) -> dict[str, Any] | None:
        """The next object that the process prints, or None where it ends: its error is in the result then."""
        assert self.process.stdout is not None
        began, late = time.monotonic(), threading.Timer(LIMIT, self.process.kill)
        late.start()
        try:
            for line in self.process.stdout:
                if line.startswith("{"):  # frameworks print, too
                    return json.loads(line)
            status = self.process.wait()
        finally:
            late.cancel()
        self.errors.seek(0)
        stderr = self.errors.read()
        error = f"no result after {LIMIT} s" if time.monotonic() - began >= LIMIT else error_in(stderr, status)
        self.result |= {"error": error, "stderr": stderr[-4000:]}
        return None


def error_in(stderr: str, status: int) -> str:
    """The line that names the exception a process ended with."""
    lines = stderr.strip().splitlines()
    named = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return (named or lines or [f"ended with {status}"])[-1]


def measure_case(
    launcher: Launcher, case: Case, entries: Sequence[Entry], rounds: int, seconds: float, progress: Any
) -> list[Any]:
    """Results of these entries of a case: `{case, backend, variant, malloc, runs}`, with `rounds` processes each. An entry that
    failed is left alone. seconds: of timed steps in each process.

    The processes of a round live together: they start one after another, and then take turns. Settings of malloc share a cache.
    """
    runs: dict[Entry, list[dict[str, Any]]] = {entry: [] for entry in entries}
    with progress(total=rounds * len(entries), desc=case.name) as bar:
        for number in range(rounds):
            running: dict[Entry, Running] = {}
            try:
                for entry, done in runs.items():
                    bar.set_postfix_str(f"{entry.backend} {entry.variant} {entry.malloc}".strip())
                    if not (done and "error" in done[-1]):
                        running[entry] = launcher.start(case, entry, cold=number == 0 and not entry.malloc)
                    bar.update()
                for _ in range(TURNS):
                    for process in running.values():
                        time.sleep(REST)
                        process.turn(seconds / TURNS)
            finally:
                for entry, process in running.items():
                    runs[entry].append(process.end())
    launcher.arrays(case).unlink()
    return [{**entry._asdict(), "runs": done} for entry, done in runs.items()]
