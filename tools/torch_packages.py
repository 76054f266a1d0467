"""Install packages that import torch, run a program of each in PyTorch and under the torch front, and write the table.

    python -m tools.torch_packages FOLDER              # two environments in FOLDER, the programs, docs/torch_packages.md
    python -m tools.torch_packages FOLDER einops pyro-ppl    # these packages, and the other rows as they were
    python -m tools.torch_packages FOLDER --steps 3    # three rounds of steady steps, on an idle machine; the rest as it was

The programs are in `benchmarks/torch_packages.py`. PyTorch itself is installed in one of the environments alone: in the other,
packages are installed without it. It takes some GB and an hour, so it is no part of the tests.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "torch_packages.md"
PROGRAMS = ROOT / "benchmarks" / "torch_packages.py"
KINDS = {"eager": [], "compiled": ["--compile"]}
TOLERANCE = 1e-3
"""The largest difference of a loss, relative to PyTorch's, that rounding explains over the steps of a program."""
LEFT_OUT = "torch|triton|torchaudio|torchvision|nvidia-.*|cuda-.*"
"""Requirements that are not installed where the front stands for them."""
MORE = {
    "stable-baselines3": ["gymnasium"],
    "botorch": ["pyre-extensions"],
    "torch-geometric": ["aiohttp"],
    "pytorch-tabnet": ["pandas"],
}
"""Packages that a program needs beside its own."""
MISSING = """
import importlib.metadata as m, re, sys
from packaging.requirements import Requirement
def known(name):
    try: return bool(m.version(name))
    except m.PackageNotFoundError: return False
wanted = {}
for text in [*sys.argv[2:], *(r for d in m.distributions() for r in d.requires or ())]:
    r = Requirement(text)
    asked = (r.marker is None or r.marker.evaluate({"extra": ""})) and not re.fullmatch(sys.argv[1], r.name, re.I)
    if asked and not known(r.name):
        wanted.setdefault(re.sub("[-_.]+", "-", r.name).lower(), f"{r.name}{r.specifier}")
print("\\n".join(wanted.values()))
"""
"""A program that prints what installed packages and its arguments need and the environment lacks, without extras."""


def names() -> list[str]:
    """The packages, in the order of the programs."""
    return re.findall(r'^@package\("([^"]+)"\)', PROGRAMS.read_text(encoding="utf-8"), re.M)


def run(*command: Any, **named: Any) -> Any:
    """A finished process, with its output."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **named)


def environment(folder: Path, *first: str) -> Path:
    """The Python of a virtual environment, made and filled where it is missing."""
    python = folder / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", folder, check=True)
        run(python, "-m", "pip", "install", "-q", *first, check=True)
    return python


def install(python: Path, packages: Sequence[str]) -> None:
    """Install packages and all that they need, except PyTorch. Raises CalledProcessError."""
    while wanted := run(python, "-c", MISSING, LEFT_OUT, *packages, check=True).stdout.split():
        run(python, "-m", "pip", "install", "-q", "--no-deps", *wanted, check=True)
        packages = ()


def losses(command: Iterable[Any], limit: float, steady: bool = False) -> tuple[list[float] | None, float | None, str]:
    """The losses and seconds of a program, or the last line of its error. steady: the seconds of a step after many."""
    try:
        done = run(*command, cwd=ROOT, timeout=limit, env=os.environ | (STEADY if steady else {}))
    except subprocess.TimeoutExpired:
        return None, limit, f"longer than {limit:.0f} s"
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines or not lines[-1].startswith("{"):
        found = [line for line in done.stderr.strip().splitlines() if re.match(r"[\w.]+(Error|Exception|Warning)?\b.*", line)]
        return None, 0.0, (found or ["no output"])[-1][:160]
    known = json.loads(lines[-1])
    return known["losses"], known["step" if steady else "seconds"], ""


STEADY = {"STEPS": "80", "THREADS": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""The environment of a program whose steps are timed: they are steady, on one thread."""


def steps(folder: Path, packages: Sequence[str], rounds: int, limit: float) -> dict[str, dict[str, float]]:
    """The seconds of a steady step in PyTorch, eagerly and compiled: the median over rounds, in which processes take turns. The
    packages are installed."""
    ours, theirs = (folder / kind / "bin" / "python" for kind in ("front", "torch"))
    found: dict[str, dict[str, float]] = {}
    for name in packages:
        commands = {"torch": [theirs, PROGRAMS, name]}
        commands |= {kind: [ours, "-m", "staticgrad", "torch", *more, PROGRAMS, name] for kind, more in KINDS.items()}
        times: dict[str, list[float]] = {kind: [] for kind in commands}
        for _ in range(rounds):
            for kind, command in commands.items():
                _, seconds, error = losses(command, limit, steady=True)
                if seconds and not error:
                    times[kind].append(seconds)
        found[name] = {kind: statistics.median(taken) for kind, taken in times.items() if taken}
        print(name, {kind: f"{1e3 * t:.2f} ms" for kind, t in found[name].items()}, flush=True)
    return found


def difference(found: Sequence[float], expected: Sequence[float]) -> float:
    """The largest relative difference of a loss."""
    if len(found) != len(expected):
        return math.inf
    pairs = zip(found, expected, strict=True)
    return max((abs(a - b) / max(abs(b), 1e-3) if a == a or b == b else 0.0 for a, b in pairs), default=math.inf)


def rows(folder: Path, packages: Sequence[str], limit: float) -> dict[str, dict[str, Any]]:
    """Install the packages, run their programs, and compare."""
    ours = environment(folder / "front", "packaging", "setuptools", str(ROOT))
    theirs = environment(folder / "torch", "torch", "torchvision", "--index-url", "https://download.pytorch.org/whl/cpu")
    shared, beside = (
        Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", check=True).stdout.strip())
        for python in (ours, theirs)
    )
    (beside / "shared.pth").write_text(f"{shared}\n")  # after PyTorch's own requirements
    install(ours, [*packages, *(x for p in packages for x in MORE.get(p, ()))])
    found = {}
    for name in packages:
        version = run(ours, "-c", f"import importlib.metadata as m; print(m.version({name!r}))").stdout.strip()
        expected, seconds, error = losses([theirs, PROGRAMS, name], limit)
        row: dict[str, Any] = {"version": version, "torch": error, "seconds": seconds}
        for kind, options in KINDS.items():
            own, took, error = losses([ours, "-m", "staticgrad", "torch", *options, PROGRAMS, name], limit)
            apart = math.inf if own is None or expected is None else difference(own, expected)
            row[kind] = error if own is None else "runs" if expected is None else f"{apart:.0e}"
            row[f"{kind} works"] = apart <= TOLERANCE
            row[f"{kind} seconds"] = took
        found[name] = row
        print(name, row, flush=True)
    return found


HEADER = """\
# Packages under the torch front

<!-- Written by `python -m tools.torch_packages`. -->

Packages of other people that import torch, installed without PyTorch and unchanged, under `python -m staticgrad torch`. Each
trains something small, as its documentation shows it: `benchmarks/torch_packages.py`. The columns are the largest relative
difference of a loss from PyTorch {torch}'s, from the same initial values, eagerly and with `--compile`, and the seconds of a
program of some steps with its imports and the compilation, in PyTorch, eagerly and compiled.{steps}

{works} of {all} give PyTorch's losses eagerly, {compiled} compiled, no line of them changed. denoising-diffusion-pytorch
imports torchvision, whose compiled part needs PyTorch itself, and failed in both.

Rounding grows where losses are as sensitive as those of zuko's spline flow: over 80 steps they differ from PyTorch's by at most
0.27 eagerly and 0.51 compiled, and PyTorch's own by 0.25 and 0.42 from those of initial values that are one part in 10^7 apart.
In float64 eager losses agree within 1e-8.

| package | version | eager | compiled | PyTorch, s | eager, s | compiled, s |{more}
|---|---|---|---|---|---|---|{rule}
"""
MEASURED = """ Then
the milliseconds of a step in PyTorch, after 40 of them, and how many times faster it is here, eagerly and compiled: processes
of one thread that took turns, the median of the steps and of the rounds (`--steps`). Packages that have the loop themselves
have none, and others were not timed so."""


def page(found: dict[str, dict[str, Any]], torch: str) -> str:
    """The table."""
    lines, measured = [], any("steps" in row for row in found.values())
    more = {
        "steps": MEASURED if measured else "",
        "more": " step, ms | eager, times | compiled, times |" if measured else "",
        "rule": "---|---|---|" if measured else "",
    }
    for name, row in sorted(found.items()):
        times = " | ".join(f"{row[key]:.1f}" if row[key] else "" for key in ("seconds", "eager seconds", "compiled seconds"))
        error = f"{row['eager']}; PyTorch: {row['torch']}" if row["torch"] else row["eager"]
        line = f"| {name} | {row['version']} | {error} | {row['compiled']} | {times} |"
        if measured:
            step = row.get("steps", {})
            beside = [f"{step['torch'] / step[kind]:.1f}" if {"torch", kind} <= step.keys() else "" for kind in KINDS]
            line += " | ".join(["", f"{1e3 * step['torch']:.2f}" if "torch" in step else "", *beside])[2:] + " |"
        lines.append(line)
    works, compiled = (sum(row[f"{kind} works"] for row in found.values()) for kind in KINDS)
    return HEADER.format(torch=torch, works=works, compiled=compiled, all=len(found), **more) + "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, help="for the environments and the results")
    options.add_argument("packages", nargs="*", help="all by default")
    options.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="of a program (300)")
    options.add_argument("--steps", type=int, default=0, metavar="ROUNDS", help="only time steady steps, in so many rounds")
    given = options.parse_args()
    kept = given.folder / "results.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    if given.steps:
        for name, taken in steps(given.folder, given.packages or [*found], given.steps, given.limit).items():
            found[name]["steps"] = taken
    else:
        for name, row in rows(given.folder, given.packages or names(), given.limit).items():
            found[name] = found.get(name, {}) | row
    kept.write_text(json.dumps(found, indent=1))
    theirs = given.folder / "torch" / "bin" / "python"
    version = run(theirs, "-c", "import torch; print(torch.__version__.partition('+')[0])").stdout.strip()
    PAGE.write_text(page({name: found[name] for name in names() if name in found}, version), encoding="utf-8")


if __name__ == "__main__":
    main()
