"""staticgrad beside its peers, on this machine.

    python -m benchmarks [--case digits] [--backend compiled jax] [--measure steps overhead] [--json out.json]

Measures the step of each case on every backend that is installed (in one process, in turns, after a check that they
compute the same), the overhead of a call, the start of a process with an empty and with a full kernel cache, and
imports. Then come the ratios, beside what is promised. Peers run at their best settings: see `cases/`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from functools import partial
from importlib import metadata
from typing import Any

from . import cases, overhead, report, startup, steps  # noqa: F401  (cases: registers them)
from .registry import BACKENDS, CASES, Case, backends_of
from .timing import load

try:
    from tqdm import tqdm
except ImportError:
    sys.exit('The benchmarks need more packages: pip install "staticgrad[bench]"')

MEASURES = ("steps", "overhead", "start", "import")


def machine() -> dict[str, Any]:
    versions = {}
    for package in ("staticgrad", "numpy", "scipy", "numba", "torch", "jax"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {"cpus": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version(), **versions}


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [b.name for b in BACKENDS]
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--backend", nargs="+", choices=names, metavar="BACKEND", help=", ".join(names))
    parser.add_argument(
        "--measure", nargs="+", choices=MEASURES, default=MEASURES, metavar="M", help=", ".join(MEASURES)
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds in which the backends take turns")
    parser.add_argument("--steps", type=int, default=300, help="steps of each turn")
    parser.add_argument("--repeats", type=int, default=3, help="processes started for each start and import")
    parser.add_argument("--json", metavar="FILE", help="write all results to this file")
    return parser.parse_args(arguments)


def measured(case: Case, options: argparse.Namespace, ratios: list[report.Ratio]) -> dict[str, Any]:
    """All chosen measurements of a case, printed as they come; their ratios are added to `ratios`."""
    found: dict[str, Any] = {}
    backends = list(backends_of(case, options.backend))

    def bar(what: str) -> Any:
        return partial(tqdm, desc=f"{case.name}: {what}", leave=False)

    if "steps" in options.measure:
        found["load_before"] = load()
        found["steps"] = steps.measure(case, backends, bar("steps"), rounds=options.rounds, steps=options.steps)
        found["load_after"] = load()
        print(report.steps_table(case, found), end="\n\n")
        ratios += report.steps_ratios(case, found["steps"])
    if "overhead" in options.measure and any(b.name == "compiled" for b in backends):
        found["overhead"] = overhead.measure(case, bar("overhead"), rounds=options.rounds, steps=options.steps)
        print(report.figures("Call of a compiled step, us", found["overhead"], "9.2f"), end="\n\n")
    if "start" in options.measure:
        found["start"] = startup.measure(case, backends, bar("starts"), repeats=options.repeats)
        print(report.start_table(case, found["start"]), end="\n\n")
        ratios += report.start_ratios(case, found["start"])
    return found


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    ratios: list[report.Ratio] = []
    results: dict[str, Any] = {"machine": machine(), "cases": {}}
    for name in options.case:
        results["cases"][name] = measured(CASES[name], options, ratios)
    if "import" in options.measure:
        results["imports"] = startup.imports(partial(tqdm, desc="imports", leave=False), repeats=options.repeats)
        print(report.figures("Import, seconds", results["imports"], "9.3f"), end="\n\n")
    print(report.RATIOS, *ratios, sep="\n")
    if options.json:
        results["ratios"] = [{**ratio._asdict(), "met": ratio.met} for ratio in ratios]
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
