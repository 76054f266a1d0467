"""Write the files of this version that later ones have to read: `tests/golden/files/VERSION/`.

    python -m tools.version_files

`docs/stability.md` promises which kinds are read. `tests/interchange/serialization/test_version_files.py` reads all versions'.
Run it once for each release, and never change a folder that is there.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.distributed import checkpoint

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "golden" / "files"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)


def trained() -> tuple[Any, Any]:
    """A model and its optimizer after three steps, which are the same in all versions but for rounding."""
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
    with sg.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(sg.linspace(-0.5, 0.5, p.numel()).reshape(p.shape) + 0.1 * i)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.minimize(F.cross_entropy(model(sg.tensor(X)), sg.tensor([0, 1, 1, 0])))
    return model, optimizer


def write(folder: Path) -> None:
    """All kinds of files."""
    folder.mkdir(parents=True)
    model, optimizer = trained()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "name": "run", "sizes": (4, 3)}
    sg.save(state, folder / "checkpoint.safetensors")
    checkpoint.save({"model": model, "optimizer": optimizer, "step": 3}, checkpoint_id=folder / "checkpoint")

    with sg.Graph().as_default() as graph:
        x = sg.placeholder(sg.float32, (None, 3), name="x")
        y = sg.identity(sg.softmax(sg.tanh(x) @ sg.constant(X.T @ X / 4), 1), name="y")
    text = sg.to_json(graph).replace(f"{ROOT}/", "")  # the lines of this file, wherever it is
    (folder / "graph.json").write_text(text, encoding="utf-8")

    @sg.compile
    def answer(x: Any) -> Any:
        with sg.no_grad():
            return sg.softmax(model(x), 1)

    model.eval()
    expected = answer(sg.tensor(X))
    with TemporaryDirectory() as place:
        answer.export(Path(place) / "step")
        shutil.make_archive(str(folder / "step"), "zip", place)
    with sg.Session(graph) as session:
        of_graph = session.run(y, {x: X})
    stream = io.BytesIO()
    np.savez(stream, answer=expected.numpy(), graph=of_graph)
    (folder / "expected.npz").write_bytes(stream.getvalue())


KERNELS = """
import numpy as np
import staticgrad as sg

w = sg.tensor([0.5, -1.0, 2.0], requires_grad=True)

@sg.compile(wait=True)
def step(x):
    loss = ((sg.tanh(x * w) - 0.25) ** 2).mean()
    (g,) = sg.grad(loss, w)
    with sg.no_grad():
        w.sub_(0.5 * g)
    return loss

x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
print(*(f"{step(x).item():.5f}" for _ in range(4)))
"""
"""A program whose kernels are a fixture: later versions read them where they are theirs, and make their own beside them."""


def write_kernels(folder: Path) -> None:
    """`kernels.zip`: the cache that the program leaves."""
    with TemporaryDirectory() as place:
        environment = {**os.environ, "STATICGRAD_CACHE_DIR": place, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", KERNELS], env=environment, check=True)
        shutil.make_archive(str(folder / "kernels"), "zip", place)


def main() -> None:
    write(FOLDER / sg.__version__)
    write_kernels(FOLDER / sg.__version__)


if __name__ == "__main__":
    main()
