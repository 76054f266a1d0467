"""Install packages that import torch, run a program of each in PyTorch and under the torch front, and write the table.

    python -m tools.torch_packages FOLDER              # two environments in FOLDER, the programs, docs/torch_packages.md
    python -m tools.torch_packages FOLDER einops pyro-ppl    # these packages, and the other rows as they were

The programs are in `benchmarks/torch_packages.py`. PyTorch itself is installed in one of the environments alone: in the other,
packages are installed without it. It takes some GB and an hour, so it is no part of the tests.
"""

from __future__ import annotations

import argparse
import json
import math
import re
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
VERSIONS = {"kornia": "<0.9"}
"""Kornia 0.9 makes tensors of float16 and bfloat16 when it is imported, which there are not here."""
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


def losses(command: Iterable[Any], limit: float) -> tuple[list[float] | None, float, str]:
    """The losses and seconds of a program, or the last line of its error."""
    try:
        done = run(*command, cwd=ROOT, timeout=limit)
    except subprocess.TimeoutExpired:
        return None, limit, f"longer than {limit:.0f} s"
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines or not lines[-1].startswith("{"):
        found = [line for line in done.stderr.strip().splitlines() if re.match(r"[\w.]+(Error|Exception|Warning)?\b.*", line)]
        return None, 0.0, (found or ["no output"])[-1][:160]
    known = json.loads(lines[-1])
    return known["losses"], known["seconds"], ""


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
    install(ours, [f"{name}{VERSIONS.get(name, '')}" for name in (*packages, *(x for p in packages for x in MORE.get(p, ())))])
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
program of some steps with its imports and the compilation, in PyTorch, eagerly and compiled.

{works} of {all} give PyTorch's losses eagerly, {compiled} compiled, no line of them changed.

| package | version | eager | compiled | PyTorch, s | eager, s | compiled, s |
|---|---|---|---|---|---|---|
"""


def page(found: dict[str, dict[str, Any]], torch: str) -> str:
    """The table."""
    lines = []
    for name, row in sorted(found.items()):
        times = " | ".join(f"{row[key]:.1f}" if row[key] else "" for key in ("seconds", "eager seconds", "compiled seconds"))
        error = f"{row['eager']}; PyTorch: {row['torch']}" if row["torch"] else row["eager"]
        lines.append(f"| {name} | {row['version']} | {error} | {row['compiled']} | {times} |")
    works, compiled = (sum(row[f"{kind} works"] for row in found.values()) for kind in KINDS)
    return HEADER.format(torch=torch, works=works, compiled=compiled, all=len(found)) + "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, help="for the environments and the results")
    options.add_argument("packages", nargs="*", help="all by default")
    options.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="of a program (300)")
    given = options.parse_args()
    kept = given.folder / "results.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    found |= rows(given.folder, given.packages or names(), given.limit)
    kept.write_text(json.dumps(found, indent=1))
    theirs = given.folder / "torch" / "bin" / "python"
    version = run(theirs, "-c", "import torch; print(torch.__version__.partition('+')[0])").stdout.strip()
    PAGE.write_text(page({name: found[name] for name in names() if name in found}, version), encoding="utf-8")


if __name__ == "__main__":
    main()
