"""The example of the dialects: its programs learn alike, and two of them run the same kernels."""

from __future__ import annotations

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
KERNELS = {"def kernel(a)": "def kernel(a)  # model.py:1", "def kernel(b)": "def kernel(b)"}

pytest.importorskip("tqdm")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import dialects

    monkeypatch.delitem(sys.modules, "dialects")
    return dialects


def test_a_user_runs_it(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    out = tmp_path / "drawings"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(EXAMPLES)])}
    command = [sys.executable, str(EXAMPLES / "dialects.py"), "--steps", "30", "--out", str(out)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[-5:-2]}
    assert list(rows) == ["torch", "compiled", "tf1"]
    assert rows["torch"][2:4] == ["-", "-"]
    kernels, shared = rows["compiled"][2:4]
    assert rows["tf1"][2:4] == [kernels, shared]
    assert kernels == shared
    assert int(kernels) >= 4
    assert float(rows["torch"][5]) < float(rows["torch"][4]) < 3
    assert re.search(r"The losses agree to \d\.\de-\d\d of their size, and the plans have the same kernels.", done.stdout)
    for name in rows:
        assert "<svg" in (out / f"{name}.svg").read_text()


def test_nothing_is_drawn_unless_asked(example: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    run = example.train("torch", 3, 0, None)
    assert run.losses.shape == (3,)
    assert run.kernels is None
    assert not list(tmp_path.iterdir())


def test_kernels_that_differ_are_named(example: ModuleType) -> None:
    def run(name: str, kernels: dict[str, str] | None, *losses: float) -> object:
        return example.Run(name, np.array(losses), 10.0, 0.5, kernels)

    first, other = dict(KERNELS), {"def kernel(a)": "def kernel(a)", "def kernel(c)": "def kernel(c)"}
    runs = [run("torch", None, 2.0, 1.0), run("compiled", first, 2.0, 1.0), run("tf1", other, 2.0, 0.5)]
    assert [example.shared(each, runs) for each in runs] == [None, 1, 1]
    assert example.differing(runs) == ["only in compiled:\ndef kernel(b)", "only in tf1:\ndef kernel(c)"]
    assert example.differing(runs[:2]) == []
    assert example.apart(runs) == 0.5
    assert example.apart(runs[:2]) == 0
    assert np.isnan(example.apart([*runs, run("broken", None, np.nan, 1.0)]))
    assert example.table(runs).splitlines()[-1].split() == ["tf1", "10.0", "0.50", "2", "1", "2.00000", "0.50000", "5.0e-01"]
