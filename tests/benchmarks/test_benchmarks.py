"""`python -m benchmarks`: it measures our own modes in fresh processes, and names what it does not know."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tqdm")
pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[2]

from benchmarks import __main__ as command  # noqa: E402
from benchmarks import launch, limits, overhead  # noqa: E402
from benchmarks.phases import Phases  # noqa: E402
from benchmarks.registry import BACKENDS, CASES, IMPLEMENTATIONS, Backend, Implementation, Job, Product  # noqa: E402
from benchmarks.timing import interleaved, time_steps  # noqa: E402


def test_processes_of_a_case(tmp_path: Path) -> None:
    case = CASES["elementwise-1e2"]
    launcher, runs = launch.Launcher(tmp_path, {}), []
    for is_cold in (True, False):
        process = launcher.start(case, launch.Entry(case.name, "compiled", "", ""), cold=is_cold)
        for _ in range(2):
            process.turn(0.01)
        runs.append(process.end())
    cold, warm = runs
    for run in (cold, warm):
        assert "error" not in run, run
        assert sum(run["phases"].values()) == pytest.approx(run["total"], rel=0.05)
        assert run["figures"] == cold["figures"]
        assert len(run["blocks"]) >= 6
        assert run["cpu"] > 0
        assert min(run["blocks"]) > 0
        assert 0 < run["memory"] < run["peak"]
    assert cold["phases"]["kernels"] > warm["phases"]["kernels"] > 0


def test_a_worker_needs_numpy_alone() -> None:
    """Interpreters of peers have neither this package nor what it needs."""
    code = "import sys, benchmarks.worker as w; print(*{name.split('.')[0] for name in sys.modules})"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()).isdisjoint({"staticgrad", "scipy", "numba", "sklearn", "tqdm", "torch", "jax"})


def test_a_failing_backend_is_a_result_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKENDS, "nowhere", Backend("nowhere", "", ("no_such_module",)))
    monkeypatch.setitem(IMPLEMENTATIONS, ("glm", "nowhere"), Implementation(lambda *_: Job(float), ("",)))
    launcher = launch.Launcher(tmp_path, {})
    assert not launcher.installed("nowhere")
    process = launcher.start(CASES["glm"], launch.Entry("glm", "nowhere", "", ""), cold=True)
    process.turn(0.01)
    run = process.end()
    assert run["error"] == "KeyError: 'nowhere'"


@pytest.mark.parametrize(
    ("stderr", "error"),
    [
        ("Traceback\n  File\nValueError: no\n\nSet VERBOSE=1 for more\n", "ValueError: no"),
        ("lib.CompileError: a\nlib.CppCompileError: b\n", "lib.CppCompileError: b"),
        ("Killed", "Killed"),
        ("", "ended with 9"),
    ],
)
def test_the_error_is_the_line_that_names_the_exception(stderr: str, error: str) -> None:
    assert launch.error_in(stderr, 9) == error


def test_command_needs_known_names(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--case", "digit"], "no case 'digit'; there are chain, "),
        (["--backend", "cobol"], "invalid choice: 'cobol'"),
        (["--python", "cobol=/usr/bin/cobol"], "BACKEND=PATH with a backend of compiled, session"),
    ):
        with pytest.raises(SystemExit) as ended:
            command.parse(arguments)
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


def test_cases_are_chosen_by_pattern() -> None:
    assert command.parse(["--case", "layer-norm-*", "glm"]).case == [["layer-norm-64x128", "layer-norm-4096x768"], ["glm"]]


def test_command(tmp_path: Path) -> None:
    arguments = ["--case", "glm", "--backend", "numpy", "--rounds", "2", "--seconds", "0.01"]
    arguments += ["--json", str(tmp_path / "r.json")]
    unlimited = "import sys; from benchmarks import __main__ as m; m.measured_limits = lambda *_: {}; m.main(sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", unlimited, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (entry,) = json.loads((tmp_path / "r.json").read_text())["entries"]
    assert [run["cold"] for run in entry["runs"]] == [True, False]
    assert "glm" in done.stdout


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONG", 1 << 10)
    monkeypatch.setattr(limits, "best", lambda function, seconds=0.0: float(function() is not None) + 1.0)
    assert set(limits.copies()) == {"copy, 1 thread", "copy, 2 threads"}
    products = [Product(2, 3, 4), Product(5, 6, 7)]
    assert limits.parsed(limits.text_of(products)) == products
    assert limits.products_alone(products) == 1e6
    runs = [{"blas": {"sgemm": rate}, "products": {"2x3x4": us}} for rate, us in ((1.0, 7.0), (2.0, 9.0))]
    assert limits.undisturbed(runs) == {"blas": {"sgemm": 2.0}, "products": {"2x3x4": 7.0}}


def test_overhead_adds_up() -> None:
    found = overhead.measure(CASES["digits"].arrays(), rounds=2, steps=5)
    assert found["wall"] == pytest.approx(found["native"] + found["overhead"])
    assert found["native"] > 0
    assert found["instructions one by one"] > 0


def test_jobs_take_turns() -> None:
    turns: list[str] = []
    jobs = {name: (lambda name=name: turns.append(name)) for name in "ab"}
    times = interleaved(jobs, list, rounds=3, steps=2)
    assert turns == (["a"] * 22 + ["b"] * 22) * 3
    assert times.keys() == jobs.keys()


def test_steps_are_timed_in_blocks() -> None:
    steps: list[int] = []
    blocks, cpu = time_steps(lambda: steps.append(1), 0.0)
    assert len(blocks) == 3
    assert len(steps) > 3
    assert cpu >= 0
    assert all(us > 0 for us in blocks)


def test_phases_nest() -> None:
    phases = Phases()
    phases.enter("outer")
    assert phases.within("inner", lambda x: x + 1)(1) == 2
    phases.enter("end")
    assert list(phases.seconds) == ["outer", "inner"]


def test_modules_are_counted_when_they_are_loaded(tmp_path: Path) -> None:
    """By the module that asks first, whoever loads it; one that is there costs nothing."""
    (tmp_path / "outer_module.py").write_text("import numpy\nimport inner_module\n")
    (tmp_path / "inner_module.py").write_text("import numpy\nheld = numpy.ones(1 << 22)\n")  # 32 MB
    code = (
        "from benchmarks.phases import Phases\n"
        "phases = Phases()\n"
        "phases.enter('before')\n"
        "phases.watch_imports()\n"
        "import numpy, json\n"
        "before = phases.loaded\n"
        "import outer_module\n"
        "once = phases.loaded - before\n"
        "import outer_module\n"
        "print(json.dumps([once, phases.loaded - before - once, list(phases.seconds)]))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    once, again, phases = json.loads(done.stdout)
    assert 31 < once < 40
    assert again == 0
    assert "load" in phases
