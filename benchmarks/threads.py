"""What threads bring: the compiled step of each case with all of them, in that with one.

    python -m benchmarks threads [--case digits 'unseen-*'] [--rounds 3] [--seconds 1] [--json threads.json]

A step with threads is to take at most 1.03 times as long as with `sg.set_num_threads(1)`. Both run in processes of their own
that take turns; a figure is the median over processes of the median over blocks. On a busy machine the CPUs that the second
thread would have are taken, and the ratio says little. Exits with 1 where a ratio is above the bound.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from . import launch, results
from .registry import CASES, Entry

BOUND = 1.03
ONE = "1 thread"


class Row(NamedTuple):
    case: str
    one: float
    all: float

    @property
    def ratio(self) -> float:
        return self.all / self.one


def rows(measured: list[dict[str, Any]]) -> tuple[list[Row], list[str]]:
    """A row for each case, and what failed."""
    steps: dict[str, dict[str, float]] = {}
    failed = []
    for entry in measured:
        errors = [run["error"] for run in entry["runs"] if "error" in run]
        if errors:
            failed.append(f"{entry['case']} {entry['variant']}: {errors[0]}")
        else:
            steps.setdefault(entry["case"], {})[entry["variant"]] = results.figures(entry).step
    return [Row(case, found[ONE], found[""]) for case, found in steps.items() if len(found) == 2], failed


def table(found: list[Row]) -> str:
    lines = [f"{'us a step':40s} {'one thread':>12s} {'all threads':>12s} {'all / one':>10s}"]
    for row in sorted(found, key=lambda row: -row.ratio):
        mark = f"  above {BOUND}" if row.ratio > BOUND else ""
        lines.append(f"{row.case:40s} {row.one:12,.1f} {row.all:12,.1f} {row.ratio:10.2f}{mark}")
    return "\n".join([*lines, f"{len(found)} cases, geometric mean {results.geometric_mean(row.ratio for row in found):.2f}"])


def main(options: argparse.Namespace, launcher: launch.Launcher, chosen: list[str], progress: Any) -> None:
    measured: list[dict[str, Any]] = []
    for name in chosen:
        entries = [Entry(name, "compiled", variant, "") for variant in ("", ONE)]
        measured += launch.measure_case(launcher, CASES[name], entries, options.rounds, options.seconds, progress)
        if options.json:
            Path(options.json).write_text(json.dumps(measured, indent=1))
    found, failed = rows(measured)
    print(table(found), *failed, sep="\n")
    sys.exit(bool(failed) or any(row.ratio > BOUND for row in found))
