"""Run the tests in each Python of this machine.

    python -m tools.pythons                      # the suite in each, one after the other
    python -m tools.pythons --fast               # a part of it that takes about a minute: what differs between Pythons
    python -m tools.pythons --cpu --only 3.11    # another: what differs between CPUs
    python -m tools.pythons --only 3.14 -- tests/tracing -n 0
    python -m tools.pythons --only 3.11 --oldest -- tests/static    # with the oldest versions of dependencies
    python -m tools.pythons --wheel              # the wheel alone in empty environments: README's ten lines, and the doctor

Interpreters are found on the path, under pyenv's root, and where STATICGRAD_PYTHONS names them (a list as PATH). Each gets
an environment of its own in `--envs` (by default a temporary folder), with the package and the dependencies of its tests, and a
cache of kernels of its own.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = tuple(re.findall(r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text()))
"""Those that `pyproject.toml` says are tested."""
FAST = (
    "tests/tracing/test_observer.py",
    "tests/tracing/test_stale.py",
    "tests/tracing/test_handlers.py",
    "tests/tracing/segments/test_ownership.py",
    "tests/compiler/execute/test_fastcall.py",
    "tests/base/test_garbage.py",
)
"""Tests of what this package takes from an interpreter: instructions, operands, reference counts, headers of objects."""
CPU = (
    "tests/compiler/backend",
    "tests/compiler/runtime",
    "tests/compiler/test_convolution.py",
    "tests/compiler/test_sums.py",
)
"""Tests of what this package takes from a CPU: machine code, vectors, elementary functions, memory that threads share."""

NEEDED = ("-e", str(ROOT), "pytest>=8", "pytest-xdist>=3.7")
"""What these tests need."""


def candidates() -> Iterator[Path]:
    """Files that may be interpreters, the preferred ones first."""
    for entry in os.environ.get("STATICGRAD_PYTHONS", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    for version in VERSIONS:
        if found := shutil.which(f"python{version}"):
            yield Path(found)
    yield Path(sys.executable)
    roots = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    yield from sorted(Path(roots).glob("versions/*/bin/python3"))


def version_of(python: Path) -> str:
    """The version of an interpreter as "3.14", empty for a file that is none; "3.14t" where it is free-threaded."""
    program = "import sys; print('%d.%d' % sys.version_info[:2] + 't' * ('free-threading' in sys.version))"
    try:
        done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    text = done.stdout.strip()
    return text if done.returncode == 0 and re.fullmatch(r"\d+\.\d+t?", text) else ""


def pythons() -> dict[str, Path]:
    """One interpreter for each version that is tested, as far as this machine has them."""
    found: dict[str, Path] = {}
    for python in candidates():
        version = version_of(python)
        if version in VERSIONS:
            found.setdefault(version, python)
    return {version: found[version] for version in VERSIONS if version in found}


def environment(version: str, python: Path, folder: Path, needed: Sequence[str]) -> Path:
    """The interpreter of an environment with the package and what else is needed."""
    made = folder / version
    inside = made / "bin" / "python"
    if not inside.exists():
        subprocess.run([python, "-m", "venv", made], check=True)
    install = [str(inside), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-compile", *needed]
    subprocess.run(install, check=True)
    return inside


def oldest() -> list[str]:
    """The dependencies of the package in the oldest versions that `pyproject.toml` accepts."""
    bounds = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return [f"{bound.replace('>=', '==')}.*" for bound in bounds]


def wheel(version: str, python: Path, file: Path, folder: Path) -> str:
    """The last line that the doctor prints, after README's ten lines, where the wheel is all that was installed."""
    inside = environment(version, python, folder, [str(file)])
    snippet = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    variables = {**os.environ, "STATICGRAD_CACHE_DIR": str(folder / f"kernels-{version}"), "PYTHONPATH": ""}
    last = ""
    for command in (["-c", snippet], ["-m", "staticgrad", "doctor"]):
        done = subprocess.run([inside, *command], cwd=folder, env=variables, capture_output=True, text=True)
        if done.returncode:
            return f"failed: {done.stderr.strip()}{done.stdout.strip()}"
        last = done.stdout.strip().splitlines()[-1].strip()
    return last


def run(version: str, python: Path, tests: Sequence[str], folder: Path, needed: Sequence[str]) -> str:
    """The last line of the tests' report in one Python; with a leading "failed" where they failed."""
    inside = environment(version, python, folder, needed)
    variables = {**os.environ, "STATICGRAD_CACHE_DIR": str(folder / f"kernels-{version}"), "PYTHONPATH": ""}
    command = [str(inside), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    lines = done.stdout.strip().splitlines() or ["no output"]
    if done.returncode:
        print("\n".join(lines[-60:]))
    return f"{'failed: ' if done.returncode else ''}{lines[-1]}"


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.pythons", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="the part that differs between Pythons")
    parser.add_argument("--cpu", action="store_true", help="the part that differs between CPUs")
    parser.add_argument("--oldest", action="store_true", help="with the oldest versions of dependencies")
    parser.add_argument("--wheel", action="store_true", help="no tests: what a user has who installs the wheel")
    parser.add_argument("--only", action="append", help="a version, as 3.14; may be repeated")
    parser.add_argument("--skip", action="append", default=[], help="a version that is left out; may be repeated")
    parser.add_argument("--envs", type=Path, help="where environments are kept for the next time")
    parser.add_argument("tests", nargs="*", help="arguments of pytest in place of the whole suite")
    options = parser.parse_args(given)
    known = pythons()
    wanted = [version for version in options.only or known if version not in options.skip]
    if not wanted:
        print(f"no other Python here of {', '.join(VERSIONS)}")
    missing = [version for version in wanted if version not in known]
    if missing:
        print(f"no Python {', '.join(missing)} on this machine, only {', '.join(known)}", file=sys.stderr)
        return 1
    part = FAST * options.fast + CPU * options.cpu
    tests = options.tests or (["-n", "0", *part] if part else ())  # a process that crashes ends, where its parent waits
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if options.envs is None else options.envs
        needed = NEEDED if part else ["-e", f"{ROOT}[test]"]
        needed = [*needed, *oldest()] if options.oldest else needed
        beside = os.cpu_count() or 1 if part else 1  # a part has one process
        if options.wheel:
            build = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
            subprocess.run(build, check=True)
        with ThreadPoolExecutor(beside) as pool:
            if options.wheel:
                (file,) = folder.glob("staticgrad-*.whl")
                reports = pool.map(lambda version: wheel(version, known[version], file, folder), wanted)
            else:
                reports = pool.map(lambda version: run(version, known[version], tests, folder, needed), wanted)
        for version, last in zip(wanted, reports, strict=True):
            print(f"{version}: {last} ({known[version]})", flush=True)
            failed |= last.startswith("failed")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
