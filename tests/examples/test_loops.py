"""The examples with loops: they run as a user runs them, and their derivatives are right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(name: str, *options: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "examples" / name), *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_newton_while(tmp_path):
    output = run("newton_while.py", "--report", str(tmp_path / "report.html"))
    assert "Optimized graph with kernels" in (tmp_path / "report.html").read_text(encoding="utf-8")
    errors = [float(line.split()[-1]) for line in output.splitlines()[1:-1]]
    assert len(errors) == 4
    assert max(errors) < 1e-12
    assert "traced 1 time, host calls: 0" in output


def test_ode_adjoint():
    differences = [float(number) for number in re.findall(r"difference (\S+)", run("ode_adjoint.py"))]
    assert len(differences) == 3
    assert max(differences) < 1e-7


@pytest.mark.parametrize("name", ["newton_while.py", "ode_adjoint.py"])
def test_the_docstring_says_how_to_run_it(name):
    assert f"python examples/{name}" in (ROOT / "examples" / name).read_text(encoding="utf-8")
