"""`python -m benchmarks`: it measures our own backends, and refuses to time what does not agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tqdm")
pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[2]

from benchmarks import cases, steps  # noqa: E402, F401  (cases: registers them)
from benchmarks.phases import Phases  # noqa: E402
from benchmarks.registry import BACKENDS, IMPLEMENTATIONS, Backend, Case, Job, backends_of  # noqa: E402
from benchmarks.report import Ratio, steps_ratios  # noqa: E402
from benchmarks.timing import interleaved  # noqa: E402


def test_command(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "--backend",
        "compiled",
        "session",
        "--json",
        str(tmp_path / "out.json"),
    ]
    short = ["--rounds", "2", "--steps", "5", "--repeats", "1", "--measure", "steps", "overhead", "start"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *short], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "session step / compiled step" in done.stdout

    found = json.loads((tmp_path / "out.json").read_text())
    digits = found["cases"]["digits"]
    assert digits["steps"]["compiled"]["loss"] == pytest.approx(digits["steps"]["session"]["loss"], rel=1e-4)
    assert digits["steps"]["compiled"]["median"] > digits["overhead"]["native"] / 2 > 0
    cold, warm = (digits["start"]["compiled"][state] for state in ("cold", "warm"))
    assert cold["phases"]["kernels"] > warm["phases"]["kernels"] > 0
    for run in (cold, warm):
        assert sum(run["phases"].values()) == pytest.approx(run["total"], rel=0.05)
        assert run["loss"] == cold["loss"]
    assert {r["target"] for r in found["ratios"] if r["what"].startswith("digits: session")} == {1.3}


def test_peers_are_registered_for_each_case() -> None:
    names = {backend.name for backend in BACKENDS}
    assert {name for _, name in IMPLEMENTATIONS} <= names
    assert {name for case, name in IMPLEMENTATIONS if case == "digits"} == names


def case_of(*losses: float) -> tuple[Case, list[Backend]]:
    case = Case("constant", "one loss per backend", lambda: {"x": np.zeros(1)}, steps=2)
    backends = [Backend(f"b{i}", "", "numpy") for i in range(len(losses))]
    for backend, loss in zip(backends, losses, strict=True):
        IMPLEMENTATIONS[case.name, backend.name] = lambda arrays, loss=loss: Job(lambda: loss)
    return case, backends


@pytest.mark.parametrize(
    ("losses", "agree"), [((1.0, 1.0005), True), ((1.0, 1.002), False), ((1.0, float("nan")), False)]
)
def test_losses_have_to_agree(losses: tuple[float, ...], agree: bool) -> None:
    case, backends = case_of(*losses)
    try:
        if agree:
            found = steps.measure(case, backends, list, rounds=2, steps=3)
            assert [r["loss"] for r in found.values()] == list(losses)
        else:
            with pytest.raises(steps.Disagreement, match="constant: losses after 2 steps differ: b0 1, b1"):
                steps.measure(case, backends, list, rounds=2, steps=3)
    finally:
        for backend in backends:
            del IMPLEMENTATIONS[case.name, backend.name]


def test_backends_that_are_not_installed_are_left_out() -> None:
    case, backends = case_of(1.0)
    del IMPLEMENTATIONS[case.name, backends[0].name]
    assert list(backends_of(case)) == []


def test_jobs_take_turns() -> None:
    turns: list[str] = []
    jobs = {name: Job(lambda: 0.0, lambda name=name: turns.append(name)) for name in "ab"}
    times = interleaved(jobs, list, rounds=3, steps=2)
    assert turns == ["a", "b"] * 3
    assert all(len(t.rounds) == 3 and t.low <= t.median <= t.high for t in times.values())


def test_the_fastest_of_a_peer_counts() -> None:
    case = Case("digits", "", dict)
    results = {
        name: {"median": us, "rounds": [us, us]}
        for name, us in {"compiled": 50.0, "torch": 400.0, "torch-2": 350.0}.items()
    }
    (ratio,) = steps_ratios(case, results)
    assert (ratio.value, ratio.target, ratio.met, ratio.undisturbed) == (7.0, 6.0, True, 7.0)


def test_ratio() -> None:
    assert Ratio("x", 2.0).met is None
    assert Ratio("x", 2.0, 3.0).met is False
    assert Ratio("x", 2.0, 3.0, at_most=True).met is True


def test_phases_nest() -> None:
    phases = Phases()
    phases.enter("outer")
    assert phases.within("inner", lambda x: x + 1)(1) == 2
    phases.enter("end")
    assert list(phases.seconds) == ["outer", "inner"]
