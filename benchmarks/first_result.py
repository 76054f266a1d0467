"""The time to a first result: from the start of the process to the first loss.

    python -m benchmarks.first_result [--case digits gpt] [--rounds 3]

Compiled functions and Sessions beside JAX's jitted step, in processes that take turns. Each round begins with empty caches; a
second process finds what the first one left. CPU seconds are those of the process, "CPU all" has our workers' too.
"""

import argparse
import json
import resource
import statistics
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from . import cases  # noqa: F401  (registers them)
from .launch import Launcher
from .registry import BACKENDS, CASES, IMPLEMENTATIONS

WANTED = ("digits", "lstm", "gpt", "lenet", "pinn")
MODES = ("jax", "compiled", "session")
COLUMNS = ("first loss", "warm", "CPU first", "CPU all", "CPU warm")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_result", description=__doc__)
    parser.add_argument("--case", nargs="+", choices=CASES, default=WANTED, metavar="CASE")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    print(f"{'seconds':24s}" + "".join(f"{column:>12s}" for column in COLUMNS) + "   first loss / JAX's")
    for case in options.case:
        found: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as folder:
                launcher = Launcher(Path(folder), {})
                for mode, rows in found.items():
                    cold, warm = (measure(launcher, case, mode) for _ in range(2))
                    rows.append(cold | {"warm": warm["first loss"], "CPU warm": warm["CPU first"]})
        show(case, found)


def measure(launcher: Launcher, case: str, mode: str) -> dict[str, float]:
    """One process. Raises RuntimeError when it fails."""
    file = launcher.arrays(CASES[case])
    arguments = [case, mode, str(file), repr(time.monotonic())]
    done = launcher.run([sys.executable, "-m", __spec__.name, "run", *arguments], launcher.caches(f"{case}-{mode}"))
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def show(case: str, found: dict[str, list[dict[str, float]]]) -> None:
    """One line for each mode: medians, and the median of the rounds' ratios."""
    for mode, rows in found.items():
        line = "".join(f"{statistics.median(row[column] for row in rows):12.2f}" for column in COLUMNS)
        ratios = [row["first loss"] / other["first loss"] for row, other in zip(rows, found["jax"], strict=True)]
        print(f"{case:12s}{mode:12s}{line}   {statistics.median(ratios):.2f}", flush=True)


def run(case: str, mode: str, file: str, began: str) -> None:
    """In a process of its own: print the seconds."""
    with np.load(file) as stored:
        data = dict(stored)
    for module in BACKENDS[mode].imports:
        import_module(module)
    implementation = IMPLEMENTATIONS[case, mode]
    job: Any = implementation.function(data, mode, implementation.variants[0])
    job.step()
    first, used, children = time.monotonic(), time.process_time(), 0.0
    if "staticgrad.compiler.backend.compile_pool" in sys.modules:
        sys.modules["staticgrad.compiler.backend.compile_pool"].pool().close()
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        children = spent.ru_utime + spent.ru_stime
    report = {
        "first loss": first - float(began), "CPU first": used, "CPU all": time.process_time() + children,
    }  # fmt: skip
    print(json.dumps(report))


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(*sys.argv[2:])
    else:
        main(sys.argv[1:])
