"""Two processes that MPI starts: `checks.py` and `compiled_checks.py` say what they check."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
HERE = Path(__file__).parent
NAMES = [
    (file, node.name)
    for file in ("checks.py", "compiled_checks.py")
    for node in ast.parse((HERE / file).read_text()).body
    if isinstance(node, ast.FunctionDef) and node.decorator_list
]


def launch(*arguments: str, processes: int = 2) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "staticgrad", "launch", "-n", str(processes), *arguments]
    return subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    @cache
    def results(file):
        folder = tmp_path_factory.mktemp("ranks")
        ended = launch(str(HERE / file), str(folder))
        assert ended.returncode == 0, ended.stderr
        return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]

    return results


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_of_two_processes(found, file, name):
    assert [results[name] for results in found(file)] == ["", ""]


@pytest.mark.parametrize("call", ["dist.all_reduce(sg.ones(1))", "sg.compile(lambda x: D.all_reduce(x))(sg.ones(1))"])
def test_a_process_that_does_not_come(tmp_path, call):
    program = tmp_path / "train.py"
    program.write_text(
        "import time\n"
        "from datetime import timedelta\n"
        "import staticgrad as sg\n"
        "import staticgrad.distributed as dist\n"
        "import staticgrad.distributed.nn.functional as D\n"
        "dist.init_process_group(timeout=timedelta(seconds=0.5))\n"
        "if dist.get_rank() == 1:\n"
        "    time.sleep(100)\n" + call
    )
    ended = launch(str(program))
    assert ended.returncode != 0
    assert "not all of the ranks [0, 1] came to exchange 1 within 0.5 s" in ended.stderr
    assert "rank 0 failed (DistError" in ended.stderr


def test_plans_with_exchanges_are_kept(tmp_path, monkeypatch):
    """Later processes read them, and each rank has plans of its own, whose errors name the user's lines."""
    monkeypatch.setenv("STATICGRAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("STATICGRAD_PLANS", "1")
    program = tmp_path / "train.py"
    program.write_text(
        "import sys\n"
        "import staticgrad as sg\n"
        "import staticgrad.distributed as dist\n"
        "from staticgrad.distributed.nn import functional as D\n"
        "dist.init_process_group()\n"
        "@sg.compile\n"
        "def step(x):\n"
        "    return D.broadcast(D.all_reduce(x * 2), 1) + D.reduce(x, 0)\n"
        "r = dist.get_rank()\n"
        "for _ in range(4):\n"
        "    found = step(sg.tensor([1.0, 2.0]) * (r + 1))\n"
        "sys.stdout.write(f'{r} {found.tolist()} {type(step.plan).__name__}\\n')\n"
        "if 'differ' in sys.argv:\n"
        "    step(sg.ones(3)) if r else dist.barrier()\n"
        "assert r or 'begun by instruction' in str(step.plan.explain(detail=True))\n"
    )
    for kind in ("Plan", "StoredPlan"):
        ended = launch(str(program))
        assert ended.returncode == 0, ended.stderr
        assert sorted(ended.stdout.splitlines()) == [f"0 [9.0, 18.0] {kind}", f"1 [8.0, 16.0] {kind}"]
    ended = launch(str(program), "differ")
    assert "rank 1: all_reduce sum of float32 (3,), train.py" in ended.stderr.replace("compiled, ", "")


def test_restarts_go_on_from_what_the_program_saved(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import os, pathlib, sys\n"
        "import staticgrad as sg\n"
        "import staticgrad.distributed as dist\n"
        "dist.init_process_group()\n"
        "saved, x = pathlib.Path(sys.argv[1]), sg.zeros(1)\n"
        "if saved.exists():\n"
        "    x = sg.load(saved)\n"
        "while x.item() < 6:\n"
        "    if x.item() == 4 and os.environ['TORCHELASTIC_RESTART_COUNT'] == '0' and dist.get_rank() == 1:\n"
        "        raise ValueError('lost')\n"
        "    x += 1\n"
        "    dist.all_reduce(x, 'max')\n"
        "    if dist.get_rank() == 0:\n"
        "        print('step', int(x.item()), flush=True)\n"
        "        sg.save(x, saved)\n"
        "    dist.barrier()\n"
    )
    ended = launch("--restarts", "2", str(program), str(tmp_path / "x.safetensors"))
    assert ended.returncode == 0, ended.stderr
    assert re.findall("^step .*$", ended.stdout, re.MULTILINE) == [f"step {i}" for i in range(1, 7)]
    assert "ValueError: lost" in ended.stderr
    assert "staticgrad launch: exit code 1; restart 1 of 2" in ended.stderr
    assert "restart 2" not in ended.stderr


def test_an_error_in_one_process_ends_all(tmp_path):
    program = tmp_path / "train.py"
    program.write_text(
        "import staticgrad as sg\n"
        "import staticgrad.distributed as dist\n"
        "dist.init_process_group()\n"
        "if dist.get_rank() == 1:\n"
        "    raise ValueError('no data')\n"
        "dist.all_reduce(sg.ones(1))\n"
    )
    ended = launch(str(program))
    assert ended.returncode != 0
    assert "ValueError: no data" in ended.stderr
    assert f"rank 1 failed (ValueError, {program}:5): all ranks end" in ended.stderr


def test_fit_goes_on_in_all_processes(tmp_path):
    """Each has its own losses and random numbers; what they decide by is the mean over them."""
    program = tmp_path / "train.py"
    program.write_text(
        "import sys\n"
        "import numpy as np\n"
        "import staticgrad as sg\n"
        "import staticgrad.distributed as dist\n"
        "from staticgrad import functional as F, nn, optim\n"
        "from staticgrad.utils.data import DataLoader, DistributedSampler, TensorDataset\n"
        "dist.init_process_group()\n"
        "sg.manual_seed(1)\n"
        "model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1)))\n"
        "opt = optim.Adam(model.parameters(), lr=0.1)\n"
        "data = TensorDataset(sg.randn(24, 3), sg.randn(24, 1))\n"
        "loader = DataLoader(data, 4, sampler=DistributedSampler(data))\n"
        "sg.manual_seed(dist.get_rank())\n"
        "calls = 0\n"
        "def step(x, y):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    if calls == 5 and sys.argv[2] == 'stop':\n"
        "        sys.exit(0)\n"
        "    loss = F.mse_loss(model(x), y)\n"
        "    opt.minimize(loss)\n"
        "    return loss\n"
        "folder = {} if sys.argv[1] == '-' else {'checkpoint': sys.argv[1]}\n"
        "found = sg.fit(step, loader, epochs=3, every=2, evaluate=lambda: float(dist.get_rank()), progress=False,\n"
        "               state={'model': model, 'opt': opt}, **folder)\n"
        "weights = [p.detach().numpy().tobytes().hex() for p in model.parameters()]\n"
        "sys.stdout.write(f'{dist.get_rank()} {found.losses.tolist()} {found.evaluations} {weights}\\n')\n"
    )
    whole = launch(str(program), "-", "go")
    assert whole.returncode == 0, whole.stderr
    launch(str(program), str(tmp_path / "run"), "stop")
    again = launch(str(program), str(tmp_path / "run"), "go")
    assert again.returncode == 0, again.stderr
    assert sorted(again.stdout.splitlines()) == sorted(whole.stdout.splitlines())
    assert whole.stdout.count("'loss': 0.5") == 2 * 5
