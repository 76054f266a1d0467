"""What a mode costs beside its steps: the import, the first result, memory, and the disk of its cache.

    python -m benchmarks costs [--case digits gpt] [--rounds 3] [--python jax=PATH] [--output docs/costs.md]

Each process starts with an empty cache, and a second one finds what it left. Figures are medians over rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import first_result
from .launch import Launcher
from .registry import CASES, IMPLEMENTATIONS, Entry
from .report import _aligned, _cells
from .timing import load

WANTED = ("digits", "lstm", "gpt", "lenet", "pinn")
MODES = ("compiled", "session", "eager", "jax", "torch", "torch.compile")
COLUMNS = (
    "case", "mode", "import, s", "first result, empty cache, s", "CPU, empty cache, s", "full cache, s", "CPU, full cache, s",
    "memory, MB", "above imports, MB", "disk, MB",
)  # fmt: skip
BUSY = 1.5
"""The load of the machine from which on the page has no seconds of the clock on the wall."""
WALL = ("import, s", "first result, empty cache, s", "full cache, s")
HEAD = """# What it costs

A compiled step is fast once it runs. This page has what comes before that, and what it takes: seconds until a program has
imported its library and has its first result, memory, and the disk that a kernel cache fills.

Written by `python -m benchmarks costs`; do not edit.

*First result* counts from the start of the process to the first loss, import included, with an empty cache of kernels and
with one that an earlier process filled. *Memory* is the largest resident memory until the first {steps} steps are done; *above
imports* leaves out what the imported modules take. *Disk* is the cache that the first process left. JAX's cache of compiled
programs is switched on, as is Inductor's. *CPU* is that of all threads and worker processes, which other load on the machine
hardly changes.
"""
TAIL = """
## What to do about it

- `import staticgrad` loads NumPy, and neither Numba, LLVM, networkx nor SciPy: they come when something needs them.
- The first process on a machine compiles kernels, in worker processes beside it. `staticgrad cache warm` compiles the common
  ones ahead of time, and [Performance](speed.md#export-and-ship-a-compiled-step) shows how to ship a step with its kernels.
- `STATICGRAD_CACHE_LIMIT=500MB` bounds the cache (2 GB otherwise); `staticgrad cache info` shows what is in it.
- A model that runs for a few steps only is done sooner in eager mode: `STATICGRAD_EAGER=numpy` compiles nothing at all.
"""


def size_of(folder: Path) -> float:
    """Megabytes of the files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def measured(launcher: Launcher, case: str, mode: str, rounds: int) -> dict[str, float]:
    """Medians of one mode. Raises RuntimeError when a process fails."""
    variant = IMPLEMENTATIONS[case, mode].variants[0]
    found: list[dict[str, float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            fresh = Launcher(Path(folder), launcher.pythons)
            entry = Entry(case, mode, variant, "")
            _ended(fresh, entry, True)
            disk, filled = size_of(Path(folder) / "caches"), _ended(fresh, entry, False)
            cold, warm = (first_result.measure(fresh, case, mode) for _ in range(2))
            found.append(
                {
                    "import": filled["phases"].get("import", 0.0), "cold": cold["first loss"], "cold CPU": cold["CPU all"],
                    "warm": warm["first loss"], "warm CPU": warm["CPU all"], "peak": filled["peak"],
                    "memory": filled["memory"], "disk": disk,
                }
            )  # fmt: skip
    return {name: statistics.median(row[name] for row in found) for name in found[0]}


def _ended(launcher: Launcher, entry: Entry, cold: bool) -> dict[str, Any]:
    running = launcher.start(CASES[entry.case], entry, cold)
    running.turn(0.01)
    result = running.end()
    if "error" in result:
        raise RuntimeError(f"{entry}: {result['error']}")
    return result


def rows(launcher: Launcher, cases: list[str], modes: list[str], rounds: int) -> Iterator[list[str]]:
    installed = [mode for mode in modes if launcher.installed(mode)]
    for case in cases:
        for mode in installed:
            if (case, mode) in IMPLEMENTATIONS:
                row = measured(launcher, case, mode, rounds)
                kept = "" if mode == "torch" else f"{row['disk']:.1f}"
                times = [f"{row[name]:.2f}" for name in ("import", "cold", "cold CPU", "warm", "warm CPU")]
                yield [case, mode, *times, f"{row['peak']:.0f}", f"{row['memory']:.0f}", kept]


def page_table(body: list[list[str]], busy: float) -> list[list[str]]:
    """Head and rows. busy: the load at the start, which seconds of the wall clock depend on."""
    shown = [i for i, name in enumerate(COLUMNS) if busy <= BUSY or name not in WALL]
    return [[row[i] for i in shown] for row in (list(COLUMNS), *body)]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks costs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs="+", choices=CASES, default=WANTED, metavar="CASE")
    parser.add_argument("--mode", nargs="+", choices=MODES, default=MODES, metavar="MODE", help=", ".join(MODES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--python", nargs="+", default=[], metavar="BACKEND=PATH", help="interpreters of backends")
    parser.add_argument("--output", metavar="FILE", help="write the page to this file instead of a table to the terminal")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        launcher = Launcher(Path(folder), dict(text.split("=", 1) for text in options.python))
        before = load()
        body = list(rows(launcher, list(options.case), list(options.mode), options.rounds))
        versions = launcher.versions([mode for mode in options.mode if launcher.installed(mode)])
    rounds = "One round" if options.rounds == 1 else f"Medians of {options.rounds} rounds"
    where = f"{os.cpu_count()} CPUs ({platform.machine()}), Python {platform.python_version()}; "
    where += ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    where += f". {rounds}; load of the machine at the start {before:.1f}."
    table = page_table(body, before)
    where += " It was busy, so that only CPU seconds are shown." if before > BUSY else ""
    if options.output:
        steps = max(CASES[case].steps for case in options.case)
        lines = [_cells(table[0]), _cells(["---"] * len(table[0])), *map(_cells, table[1:])]
        Path(options.output).write_text("\n".join([HEAD.format(steps=steps), where, "", *lines, TAIL]), encoding="utf-8")
    else:
        print(where, *_aligned(table), sep="\n")
