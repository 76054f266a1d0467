"""Code of installed packages is watched as the user's own: the tables of `test_stale.py` and `test_surroundings.py`, layers and
an optimizer in a virtual environment, where a program reaches them through frames of staticgrad."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tracing import packaged, test_stale, test_surroundings

HERE = Path(__file__).parent
PROGRAM = """
import json, sys
from stale_rows import packaged, surroundings, table
from tests.tracing.test_installed import failures, lion, counted
assert "site-packages" in packaged.__file__ and packaged.Counting.forward.__code__.co_filename == packaged.__file__
rows, more = failures(packaged, table), failures(packaged, surroundings, ("step", "forward"))
json.dump({"rows": rows, "more rows": more, "lion": lion(packaged), "counted": counted(packaged)}, sys.stdout)
"""
MODES = {
    "default": {},
    "whole": {"on_break": "error"},
    "strict": {"numerics": "strict"},
    "segments": {"on_break": "split"},
}


def failures(package: Any, table: Any, ways: Sequence[str] = ()) -> dict[str, str]:
    """The rows whose history differs from eager mode's, by row and way. ways: all where none are named."""
    import staticgrad as sg
    from tests.helpers import assert_same

    found = {}
    for way in ways if ways else package.WAYS:
        reach = package.WAYS[way]
        for name, make in table.ROWS.items():
            expected, _ = table.history_of(make, reach)
            actual, _ = table.history_of(make, lambda fn, reach=reach: sg.compile(reach(fn)))
            try:
                for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
                    assert_same(a, b, f"call {i}", rtol=2e-6, signs=True)
            except AssertionError as error:
                found[f"{name} by {way}"] = str(error)
    return found


def lion(package: Any) -> dict[str, Any]:
    """Losses and weights of a training with the packaged optimizer, by mode."""
    import staticgrad as sg
    from staticgrad import nn

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 4)).astype("f"), rng.standard_normal((16, 1)).astype("f")
    weights = [rng.standard_normal(shape).astype("f") for shape in ((8, 4), (8,), (1, 8), (1,))]
    found = {}
    for mode, wrap in {"eager": lambda fn: fn, **{name: made_by(settings) for name, settings in MODES.items()}}.items():
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        for p, value in zip(net.parameters(), weights, strict=True):
            p.data.copy_(sg.tensor(value))
        opt = package.Lion(net.parameters(), lr=0.01, weight_decay=0.1)

        def step(x, y, net=net, opt=opt):
            opt.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            opt.step()
            return loss

        run = wrap(step)
        losses = []
        for i in range(12):
            if i == 8:
                opt.param_groups[0]["lr"] = 0.003
            losses.append(run(sg.tensor(x), sg.tensor(y)).item())
        counts = [opt.steps, *{opt.state[p]["count"] for p in net.parameters()}]
        found[mode] = [losses, [float(np.abs(p.detach().numpy()).sum()) for p in net.parameters()], counts]
    return found


def made_by(settings: dict[str, Any]) -> Any:
    import staticgrad as sg

    return lambda fn: sg.compile(fn, **settings)


def counted(package: Any) -> dict[str, Any]:
    """What a module gives that counts its calls, which is a state of plain Python, by mode."""
    import staticgrad as sg

    found = {}
    for mode, settings in MODES.items():
        net = package.Counting()
        run = sg.compile(lambda x, net=net: net(x), **settings)
        results = [run(sg.tensor([1.0])).item() for _ in range(4)]
        net.n = 10
        found[mode] = [*results, run(sg.tensor([1.0])).item(), net.n]
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `PROGRAM` prints in a virtual environment that has the packages installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.EnvBuilder(symlinks=os.name != "nt").create(folder)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = Path(
        subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True).strip()
    )
    paths = [str(HERE.parent.parent), *filter(os.path.isdir, sys.path)]
    (site / "others.pth").write_text("\n".join(paths), "utf-8")  # NumPy and the rest lie elsewhere
    (site / "stale_rows").mkdir()
    (site / "stale_rows" / "__init__.py").write_text("", "utf-8")
    for name, module in (("packaged", packaged), ("table", test_stale), ("surroundings", test_surroundings)):
        (site / "stale_rows" / f"{name}.py").write_text(Path(module.__file__).read_text("utf-8"), "utf-8")
    (folder / "program.py").write_text(PROGRAM, "utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {
        "STATICGRAD_EAGER": "wait:1000",
        "STATICGRAD_TIERS": "0",
    }
    done = subprocess.run([python, folder / "program.py"], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_table_gives_what_eager_mode_gives(report):
    assert report["rows"] == report["more rows"] == {}


@pytest.mark.parametrize("mode", MODES)
def test_a_packaged_module_counts(report, mode):
    assert report["counted"][mode] == [1.0, 2.0, 3.0, 4.0, 11.0, 11]


@pytest.mark.parametrize("mode", MODES)
def test_a_packaged_optimizer_trains(report, mode):
    for ours, expected in zip(report["lion"][mode], report["lion"]["eager"], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=2e-5)
    assert report["lion"][mode][2] == [12, 12]


@pytest.mark.oracle
def test_a_packaged_optimizer_trains_as_in_torch(report):
    torch = pytest.importorskip("torch")
    source = Path(packaged.__file__).read_text("utf-8").replace("import staticgrad as sg\nfrom staticgrad import nn, optim", "")
    scope: dict[str, Any] = {"sg": torch, "nn": torch.nn, "optim": torch.optim, "__name__": "packaged"}
    exec(compile(source.replace("from __future__ import annotations\n", ""), "packaged", "exec"), scope)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((16, 4)).astype("f"), rng.standard_normal((16, 1)).astype("f")
    weights = [rng.standard_normal(shape).astype("f") for shape in ((8, 4), (8,), (1, 8), (1,))]
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    for p, value in zip(net.parameters(), weights, strict=True):
        p.data.copy_(torch.tensor(value))
    opt = scope["Lion"](net.parameters(), lr=0.01, weight_decay=0.1)
    losses = []
    for i in range(12):
        if i == 8:
            opt.param_groups[0]["lr"] = 0.003
        opt.zero_grad()
        loss = ((net(torch.tensor(x)) - torch.tensor(y)) ** 2).mean()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    np.testing.assert_allclose(report["lion"]["eager"][0], losses, rtol=2e-5)
    weights = [float(p.detach().abs().sum()) for p in net.parameters()]
    np.testing.assert_allclose(report["lion"]["eager"][1], weights, rtol=2e-5)
