"""`python -m benchmarks warmup`: times of the first steps, what they come to, the table and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")

from benchmarks import __main__ as command
from benchmarks import warmup
from benchmarks.programs import PROGRAMS
from benchmarks.registry import CASES
from tests.helpers import sweep


def run(times: list[int], mode: str, cache: str = "", variant: str = "", busy: bool = False) -> dict[str, Any]:
    curve = warmup.Curve("digits", mode, variant, cache, busy)
    return {**curve._asdict(), "start": {"wall": 0.5, "cpu": 1.0}, "wall": times, "cpu": [2 * each for each in times]}


SLOW_START = [9000, 8000, *[4000] * 40, *[1000] * 958]


def test_what_a_curve_comes_to():
    found = warmup.figures([run(SLOW_START, "eager", "empty")], "wall", route=2000.0, peer=1500.0)
    assert found.steady == 1000
    assert found.worst == found.worst_window == 2
    assert found.step_20 == 4
    assert found.as_torch == found.settled == pytest.approx(0.177)  # the first 42 steps
    assert found.program == pytest.approx(0.5 + 0.177 + 0.838)
    assert warmup.figures([run(SLOW_START, "eager")], "cpu", 2000.0, 1500.0).as_torch is None  # it is never that fast
    short = warmup.figures([run([5, 5, 5], "eager")], "wall", None, None)
    assert short == (5, None, None, None, None, 0, None)
    assert warmup.figures([run([7], "eager")], "wall", 5.0, 5.0) == (7, None, None, None, None, 0, None)


def test_a_single_slow_step_does_not_delay_the_steady_state():
    times = [1000] * 1000
    times[500] = 15_000
    found = warmup.figures([run(times, "eager")], "wall", 1000.0, 1000.0)
    assert (found.worst, found.worst_window, found.settled) == (15, 2.4, 0)


def test_a_step_that_waits_for_a_compiler_does():
    found = warmup.figures([run([3_000_000, *[1000] * 500, 400_000, *[1000] * 499], "compiled")], "wall", None, 2000.0)
    assert found.as_torch == found.settled == pytest.approx(3.9)


def test_the_faster_number_of_threads_counts():
    runs = [run([200] * 30, "torch", variant="1 thread"), run([100] * 30, "torch", variant="2 threads")]
    ((curve, rows),) = warmup.curves(runs).items()
    assert curve.variant == ""
    assert rows == runs[1:]


def test_the_table():
    runs = [run([2000] * 1000, warmup.ROUTE), run(SLOW_START, "eager", "full"), run(SLOW_START, "eager", "full", busy=True)]
    lines = warmup.text(runs).splitlines()
    row = next(line for line in lines if line.startswith("eager, full cache"))
    assert row.split()[3:] == ["1000", "2.00", "2.00", "4.00", "-", "0.18", "1.51"]
    assert any(line.startswith("digits, beside a busy process") for line in lines)


def test_the_cases_are_those_of_the_registries():
    assert set(warmup.WANTED) <= CASES.keys() | PROGRAMS.keys()
    assert warmup.variants("c51", "session") == ()
    assert warmup.variants("digits", "session") == ("run",)


@pytest.mark.parametrize("busy", sweep([False, True], lambda _, busy: not busy), ids=["idle", "busy"])
def test_the_command(busy: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("tqdm")
    pytest.importorskip("matplotlib")
    results, picture = tmp_path / "warmup.json", tmp_path / "warmup.svg"
    modes = ["--mode", warmup.ROUTE, "compiled"] if busy else ["--mode", warmup.ROUTE, "eager"]
    few = ["--steps", "22", "--rounds", "1", *modes, *([] if busy else ["--idle"])]
    command.main(["warmup", "--case", "logistic_regression", *few, "--json", str(results)])
    told = capsys.readouterr().out
    runs = json.loads(results.read_text())["runs"]
    assert [(each["mode"], each["cache"]) for each in runs][:3] == [
        (warmup.ROUTE, ""), (modes[2], "empty"), (modes[2], "full"),
    ]  # fmt: skip
    assert len(runs) == (6 if busy else 3)
    assert all(len(each["wall"]) == len(each["cpu"]) == 22 and min(each["wall"]) > 0 for each in runs)
    command.main(["warmup", "--read", str(results), "--picture", str(picture)])
    assert capsys.readouterr().out == told
    assert picture.read_text().startswith("<?xml")


def test_bars(tmp_path):
    runs = [run([100_000, *[1000] * 999], mode, cache) for mode in ("eager", "compiled") for cache in ("empty", "full")]
    runs += [run([2000] * 1000, "torch"), run([3000] * 1000, warmup.ROUTE)]
    warmup.draw_bars(runs, "wall", "digits", str(tmp_path / "bars.svg"))
    text = (tmp_path / "bars.svg").read_text()
    assert all(f"<!-- {name} -->" in text for name in ("eager, empty cache", "compiled, full cache", "PyTorch"))
    assert warmup.ROUTE not in text
