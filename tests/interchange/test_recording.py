"""`STATICGRAD_RECORD` and `staticgrad replay`: programs that are compiled again, and the errors that say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import staticgrad as sg
from staticgrad.__main__ import main
from staticgrad.interchange.graph_json import Recorded
from tests.helpers import raised

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import numpy as np
import staticgrad as sg
from staticgrad import functional as F, nn, optim

model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
opt = optim.Adam(model.parameters(), lr=0.01)


@sg.compile
def step(x, y):
    loss = F.cross_entropy(model(x), y)
    opt.minimize(loss)
    return loss, sg.scan(lambda c, row: (c + row, c), sg.zeros(3), x)[0]


step(sg.ones(5, 3), sg.tensor([0, 1, 1, 0, 1]))
sg.compile(lambda x: x * sg.rand(2))(sg.ones(2))
with sg.Graph().as_default():
    x, w = sg.placeholder("float64", [None]), sg.Variable(np.ones(2))
    with sg.Session() as session:
        session.run(sg.global_variables_initializer())
        session.run([(x * w).sum(), w.assign_add(x)], {x: [1.0, 2.0]})
"""
FAILING = """
import staticgrad as sg
from staticgrad.compiler import pipeline

pipeline.schedule = None
sg.compile(lambda x: x + 1)(sg.ones(2))
"""


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(program)
    settings = {"STATICGRAD_RECORD": str(folder / "recorded"), "STATICGRAD_PLANS": "0", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True
    )


def test_programs_are_recorded_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    done = run(PROGRAM, tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in "".join(file.read_text() for file in (tmp_path / "recorded").iterdir())
    assert main(["replay", str(tmp_path / "recorded")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(": agrees with NumPy (" in line for line in lines) >= 2
    assert sum(": runs; it draws random numbers" in line for line in lines) == 1
    assert all(line.endswith("compiled)") for line in lines)


def test_an_error_of_the_compiler_says_how_to_report_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    done = run(FAILING, tmp_path)
    assert done.returncode == 1
    assert "this looks like a defect of staticgrad. STATICGRAD_RECORD=folder python program.py" in done.stderr
    (file,) = (tmp_path / "recorded").iterdir()
    assert json.loads(file.read_text())["outcome"] == "TypeError: 'NoneType' object is not callable"
    assert main(["replay", str(file)]) == 0  # the defect was in that process only
    assert "recorded by" in capsys.readouterr().out
    assert main(["replay", str(tmp_path / "none")]) == 2


def test_what_is_no_recording_is_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text("{}")
    with raised(sg.GraphError, "a.json is no recorded program: KeyError('outcome')"):
        Recorded(tmp_path / "a.json")
