"""The digits example: it runs as a user runs it, and its three modes train alike."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(*arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    """`python examples/digits.py` without peers; `path` comes before all else that Python imports from."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [path, str(ROOT)]))}
    command = [sys.executable, str(EXAMPLES / "digits.py"), "--no-peers", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def digits() -> ModuleType:
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES))
        return importlib.import_module("digits")


def rows(output: str) -> dict[str, list[float | None]]:
    """The table: numbers by mode."""
    lines = output[output.index("\nmode ") :].split("\n\n")[0].splitlines()[2:]
    return {line.split()[0]: [None if part == "-" else float(part) for part in line.split()[1:]] for line in lines}


def test_a_user_runs_it(tmp_path: Path, digits: ModuleType) -> None:
    pytest.importorskip("matplotlib")
    done = run("--epochs", "15", "--plot", str(tmp_path / "digits.png"), "--report", str(tmp_path / "digits.html"))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert re.search(r"compiled\s*: 100%", done.stderr), "a progress bar for each mode"

    table = rows(done.stdout)
    assert list(table) == ["eager", "session", "compiled"]
    for mode, (step, first, kernels, host_calls, memory, loss, accuracy, losses_apart, weights_apart) in table.items():
        assert 1 < step < 1e6, "microseconds"
        assert first > step / 1e3, "milliseconds: it includes building and compiling"
        assert 10 < memory < 10_000, "megabytes"
        assert loss < 0.2
        assert accuracy >= 0.95
        if mode == "eager":
            assert (kernels, host_calls, losses_apart, weights_apart) == (None,) * 4
        else:
            assert kernels >= 3
            assert host_calls == 0
            assert losses_apart < 1e-3
            assert weights_apart < 1e-3
    assert table["compiled"][0] < table["eager"][0]
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert "digits.html: eager, session and compiled agree in values, updates and gradients" in done.stdout
    assert "Define-then-run graph" in (tmp_path / "digits.html").read_text(encoding="utf-8")


def test_a_python_that_nobody_has_probed(tmp_path: Path, digits: ModuleType) -> None:
    unknown = "from staticgrad.tracing import frames\nframes.PROBED, frames._search = (), lambda *_: []\n"
    (tmp_path / "sitecustomize.py").write_text(unknown)  # what its frames are is neither known nor found
    done = run("--epochs", "3", path=str(tmp_path))
    assert done.returncode == 0, done.stderr
    table = rows(done.stdout)
    assert {mode: row[-2] < 1e-3 and row[-1] < 1e-3 for mode, row in table.items() if mode != "eager"} == {
        "session": True,
        "compiled": True,
    }


@pytest.mark.parametrize(("missing", "named"), [("tqdm", "tqdm"), ("sklearn", "scikit-learn")])
def test_a_missing_extra_is_named(tmp_path: Path, digits: ModuleType, missing: str, named: str) -> None:
    (tmp_path / f"{missing}.py").write_text("raise ImportError")
    done = run(path=str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == f'This example needs {named}: pip install -e ".[examples]" in the checkout\n'


def test_epochs_are_checked(digits: ModuleType) -> None:
    done = run("--epochs", "0")
    assert done.returncode == 2
    assert "--epochs must be at least 1" in done.stderr


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("float64", 1e-10)])
def test_loss_curves_agree(digits: ModuleType, dtype: str, tolerance: float) -> None:
    """Over 100 steps, relative; and the weights with them."""
    data, held_out = digits.load(0, dtype)
    steps = list(digits.batches(data, 5, 0))[:100]
    assert len(steps) == 100
    trainers = {mode: make(digits.initial_weights(0, dtype)) for mode, make in digits.MODES.items()}
    curves = {mode: np.array([float(t.step(x, y)) for x, y in steps]) for mode, t in trainers.items()}
    assert curves["eager"][-1] < 0.5 * curves["eager"][0], "it learns"
    for mode in ("session", "compiled"):
        np.testing.assert_allclose(curves[mode], curves["eager"], rtol=tolerance, atol=0, err_msg=mode)
        for weights, expected in zip(trainers[mode].weights(), trainers["eager"].weights(), strict=True):
            assert weights.dtype == dtype
            np.testing.assert_allclose(weights, expected, rtol=0, atol=tolerance, err_msg=mode)
        np.testing.assert_array_equal(trainers[mode].predict(held_out[0]), trainers["eager"].predict(held_out[0]))


def test_every_mode_starts_from_its_own_copy(digits: ModuleType) -> None:
    data, _ = digits.load(0)
    batch = next(digits.batches(data, 1, 0))
    initial = digits.initial_weights(0)
    before = {name: value.copy() for name, value in initial.items()}
    for make in digits.MODES.values():
        make(initial).step(*batch)
    for name, value in initial.items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_shuffles_follow_the_seed(digits: ModuleType) -> None:
    data, _ = digits.load(0)
    first, again, other = (list(digits.batches(data, 2, seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0][0], again[0][0])
    assert (first[0][1] != other[0][1]).any()
    assert (first[0][1] != first[len(first) // 2][1]).any(), "each epoch has its own order"
    assert all(x.shape == (64, 64) and y.shape == (64,) for x, y in first)
