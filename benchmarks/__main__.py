"""staticgrad beside its peers, on this machine.

    python -m benchmarks [--case digits 'elementwise-*'] [--backend compiled jax] [--json results.json]
    python -m benchmarks --unseen 1 [--json results.json]
    python -m benchmarks report results.json [more.json ...] [--output docs/performance.md]
    python -m benchmarks threads [--case digits 'elementwise-*'] [--json threads.json]
    python -m benchmarks warmup [--case digits] [--json warmup.json] [--picture docs/images/warmup.svg]
    python -m benchmarks costs [--case digits] [--output docs/costs.md]

Runs each case on each backend that is installed, in fresh processes that take turns, after a check that they compute the
same; prints tables with ratios, beside what is promised, and writes everything to a JSON file. `report` renders such
files of one machine, as Markdown when it has an output. `--unseen` runs a group of workloads that the library was not tuned
with (`cases/unseen/`). `threads` compares our compiled step with one thread and with all (`threads.py`). `warmup` shows the
time of each of the first steps (`warmup.py`), `costs` what comes before them.
Peers run at their best settings: see `cases/`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from . import cases, costs, launch, limits, report, threads, warmup  # noqa: F401  (cases: registers them)
from . import results as figures
from .registry import BACKENDS, CASES, IMPLEMENTATIONS, entries_of


def names_of(pattern: str) -> list[str]:
    """The cases of a name or a pattern. For argparse: raises its error for none."""
    found = [name for name in CASES if fnmatchcase(name, pattern)]
    if not found:
        raise argparse.ArgumentTypeError(f"no case {pattern!r}; there are {', '.join(CASES)}")
    return found


def interpreter_of(text: str) -> tuple[str, str]:
    backend, _, path = text.partition("=")
    if backend not in BACKENDS or not path:
        raise argparse.ArgumentTypeError(f"BACKEND=PATH with a backend of {', '.join(BACKENDS)}; got {text!r}")
    return backend, path


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs="+", type=names_of, metavar="CASE", help="names or patterns: " + ", ".join(CASES))
    parser.add_argument("--unseen", type=int, default=0, metavar="GROUP", help="a group of workloads, not the own suite")
    parser.add_argument(
        "--backend", nargs="+", choices=BACKENDS, default=list(BACKENDS), metavar="BACKEND", help=", ".join(BACKENDS)
    )
    parser.add_argument(
        "--python", nargs="+", type=interpreter_of, default=[], metavar="BACKEND=PATH", help="interpreters of backends"
    )
    parser.add_argument("--rounds", type=int, default=2, help="processes of each entry; the first has an empty cache")
    parser.add_argument("--seconds", type=float, default=0.5, help="of timed steps in each process")
    parser.add_argument(
        "--instructions", choices=launch.INSTRUCTIONS, default="", help="measure as a CPU with these instructions and no more"
    )
    parser.add_argument("--json", metavar="FILE", help="write all results to this file")
    return parser.parse_args(arguments)


def parse_report(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description="Render the results of a run.")
    parser.add_argument(
        "results",
        nargs="+",
        help="JSON files of runs on one machine, with the same settings; several instruction sets stand side by side",
    )
    parser.add_argument("--output", metavar="FILE", help="write Markdown to this file instead of text to the terminal")
    return parser.parse_args(arguments)


def chosen_of(options: argparse.Namespace) -> list[str]:
    patterns = options.case or [[name for name, case in CASES.items() if case.unseen == options.unseen]]
    return list(dict.fromkeys(name for found in patterns for name in found))


def cpu_model() -> str:
    """As Linux calls it, with the widest vectors that it has."""
    try:
        lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
    except OSError:
        return platform.processor()
    facts = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    widest = next((name for name in ("avx512f", "avx2") if name in facts.get("flags", "").split()), "")
    return f"{facts.get('model name', platform.processor())} {widest.removesuffix('f')}".strip()


def measured_limits(launcher: launch.Launcher, chosen: Iterable[str], rounds: int) -> dict[str, Any]:
    """As the least disturbed of the processes had them."""
    texts = [limits.text_of(CASES[name].products) for name in chosen if CASES[name].products]
    return limits.undisturbed([launcher.module("limits", *texts) for _ in range(rounds)])


def measure(options: argparse.Namespace, progress: Any) -> dict[str, Any]:
    chosen = chosen_of(options)
    with tempfile.TemporaryDirectory() as folder:
        launcher = launch.Launcher(Path(folder), dict(options.python), options.instructions)
        installed = [name for name in options.backend if launcher.installed(name)]
        skipped = [f"{name} is skipped: it is not installed." for name in options.backend if name not in installed]
        print(*skipped, sep="\n", file=sys.stderr)
        machine = {"cpus": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
        machine |= {"model": cpu_model(), "instructions": options.instructions}
        results: dict[str, Any] = {
            "machine": machine | {"versions": launcher.versions(installed)},
            "settings": {"rounds": options.rounds, "seconds": options.seconds},
            "skipped": skipped,
            "limits": measured_limits(launcher, chosen, options.rounds),
            "entries": [],
        }
        if "digits" in chosen and "compiled" in installed:
            file = launcher.arrays(CASES["digits"])
            results["overhead"] = launcher.module("overhead", str(file), str(3 * options.rounds))
        for name in chosen:
            results["entries"] += launch.measure_case(
                launcher, CASES[name], list(entries_of(CASES[name], installed)), options.rounds, options.seconds, progress
            )
            if options.json:
                Path(options.json).write_text(json.dumps(results, indent=1))
    return results


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["report"]:
        rendering = parse_report(arguments[1:])
        try:
            results, *others = figures.by_instructions([json.loads(Path(file).read_text()) for file in rendering.results])
        except ValueError as error:
            sys.exit(str(error))
        if rendering.output:
            Path(rendering.output).write_text(report.markdown(results, *others))
        else:
            print(report.text(results, *others))
        return
    if arguments[:1] == ["warmup"]:
        warmup.main(arguments[1:])
        return
    if arguments[:1] == ["costs"]:
        costs.main(arguments[1:])
        return
    comparing = arguments[:1] == ["threads"]
    options = parse(arguments[comparing:])
    try:
        from tqdm import tqdm
    except ImportError:
        sys.exit('The benchmarks need more packages: pip install -e ".[bench]" in the checkout')
    progress = partial(tqdm, leave=False)
    if comparing:
        chosen = [
            name
            for name in (chosen_of(options) if options.case or options.unseen else CASES)
            if (name, "compiled") in IMPLEMENTATIONS
        ]
        with tempfile.TemporaryDirectory() as folder:
            launcher = launch.Launcher(Path(folder), dict(options.python), options.instructions)
            threads.main(options, launcher, chosen, progress)
        return
    print(report.text(measure(options, progress)))


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main(sys.argv[1:])
