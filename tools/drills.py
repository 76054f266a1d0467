"""The drills: what takes too long for each change, as commands that run one after another, each with its last line.

    python -m tools.drills                        # the nightly list, about six hours of two cores
    python -m tools.drills --scale 0.05           # a twentieth of each
    python -m tools.drills --only soak versions --list

A drill that fails prints its whole output. The exit code is 1 then. `.github/workflows/nightly.yml` runs the list each night.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Drill(NamedTuple):
    """command: arguments of the interpreter, where {} is `amount`, scaled. about: for readers of the list."""

    command: str
    amount: int
    about: str


DRILLS = {
    "programs": Drill(
        "-m tests.fuzz_programs --count {} --jobs 2", 50_000, "random programs: eager, Session, compiled, interpreter"
    ),
    "state": Drill(
        "-m tests.fuzz_state --count {} --jobs 2", 20_000, "random steps with views, writes, containers, NumPy arrays"
    ),
    "memory": Drill("-m tests.fuzz_memory --count {} --jobs 2", 10_000, "random results that share memory"),
    "pairs": Drill("-m tests.fuzz_pairs --count {} --jobs 2", 3_000, "loops and branches beside their near twins"),
    "files": Drill("-m tests.fuzz_saving --count {}", 10_000, "mutated files: refused or right"),
    "soak": Drill(
        "-m tests.soak --minutes {}", 120, "training, checkpoints, shapes, exceptions, threads: memory flat within 1 %"
    ),
    "kills": Drill(
        "-m tests.faults.writes --kills {}", 200, "kill -9 while checkpoints are written, a full disk, Ctrl-C at each step"
    ),
    "shortage": Drill("-m tests.faults.memory {}", 1_000, "calls that need more memory than there is"),
    "interrupts": Drill("-m tests.faults.interrupts calls {}", 2_000, "Ctrl-C where any function is entered"),
    "signals": Drill("-m tests.faults.interrupts signals {}", 100, "Ctrl-C while kernels are compiled"),
    "cache": Drill("-m tests.faults.cache_files {}", 10_000, "damaged files of the kernel cache"),
    "versions": Drill("-m tests.faults.versions {}", 50, "two versions, four processes, one kernel cache"),
}


def commands(names: Sequence[str], scale: float) -> dict[str, list[str]]:
    return {name: DRILLS[name].command.format(max(1, round(DRILLS[name].amount * scale))).split() for name in names}


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.drills", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=DRILLS, default=list(DRILLS), metavar="DRILL", help=", ".join(DRILLS))
    parser.add_argument("--scale", type=float, default=1.0, help="how much of each")
    parser.add_argument("--list", action="store_true", help="print the commands and run nothing")
    options = parser.parse_args(given)
    failed = []
    for name, command in commands(options.only, options.scale).items():
        if options.list:
            print(f"python {' '.join(command)}  # {DRILLS[name].about}")
            continue
        began = time.monotonic()
        done = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = done.stdout.strip().splitlines() or ["no output"]
        if done.returncode:
            failed.append(name)
            print(done.stdout)
        state = "failed" if done.returncode else "passed"
        print(f"{name}: {state} in {time.monotonic() - began:.0f} s: {lines[-1]}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
