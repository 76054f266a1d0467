"""Files of each version since the first release are read: `python -m tools.version_files` wrote them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.distributed import checkpoint
from tests.helpers import raised
from tools.version_files import FOLDER, KERNELS, ROOT

VERSIONS = sorted(path.name for path in FOLDER.iterdir())
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def new():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
    return model, optim.Adam(model.parameters(), lr=1.0)


def check(model, expected):
    model.eval()
    with sg.no_grad():
        np.testing.assert_allclose(sg.softmax(model(sg.tensor(X)), 1).numpy(), expected["answer"], rtol=1e-5)


@pytest.fixture
def expected(version):
    with np.load(FOLDER / version / "expected.npz") as found:
        return dict(found)


def test_there_are_files():
    assert VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_checkpoint_is_read(version: str, expected: dict[str, np.ndarray]):
    state = sg.load(FOLDER / version / "checkpoint.safetensors")
    assert (state["epoch"], state["name"], state["sizes"]) == (3, "run", (4, 3))
    model, optimizer = new()
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01
    check(model, expected)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_checkpoint_of_processes_is_read(version: str, expected: dict[str, np.ndarray]):
    model, optimizer = new()
    state = {"model": model, "optimizer": optimizer, "step": 0}
    checkpoint.load(state, checkpoint_id=FOLDER / version / "checkpoint")
    assert state["step"] == 3
    check(model, expected)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_graph_is_read_and_one_of_another_format_refused(version: str, expected: dict[str, np.ndarray], tmp_path: Path):
    text = (FOLDER / version / "graph.json").read_text(encoding="utf-8")
    with sg.Session(sg.from_json(text)) as session:
        found = session.run("y", {"x": X})
    np.testing.assert_allclose(found, expected["graph"], rtol=1e-5)
    with raised(sg.GraphError, "from_json: version 999 of the format is unknown"):
        sg.from_json(json.dumps(json.loads(text) | {"version": 999}))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_exported_step_runs(version: str, expected: dict[str, np.ndarray], tmp_path: Path):
    shutil.unpack_archive(FOLDER / version / "step.zip", tmp_path)
    np.save(tmp_path / "x.npy", X)
    program = "import numpy as np, step; np.save('y.npy', step.load()(np.load('x.npy')))"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), expected["answer"], rtol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cache_of_kernels_is_read_or_left_alone(version: str, tmp_path: Path):
    """Its program computes the same without a warning, and no file that was there changes."""
    cache = tmp_path / "kernels"
    shutil.unpack_archive(FOLDER / version / "kernels.zip", cache)
    for path in (cache, *cache.iterdir()):
        path.chmod(0o700 if path.is_dir() else 0o600)
    before = {path.name: path.read_bytes() for path in cache.iterdir()}
    environment = {**os.environ, "STATICGRAD_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", KERNELS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    np.testing.assert_allclose([float(text) for text in done.stdout.split()], [0.35109, 0.33326, 0.31614, 0.29992], atol=2e-5)
    assert {name: (cache / name).read_bytes() for name in before} == before
