"""A process that fails, dies or hangs ends the others within 10 s, and the error of each says which one it was and where."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .test_two_processes import HERE, launch

pytest.importorskip("mpi4py")
PROGRAM = """\
import os, sys, time
from datetime import timedelta
import staticgrad as sg
import staticgrad.distributed as dist
dist.init_process_group(timeout=timedelta(seconds=2))
if dist.get_rank() == 1:
    {fault}
{other}
"""
WAITS, WORKS = "dist.all_reduce(sg.ones(1))", "time.sleep(60)"
SAYS_WHERE = "rank 0 ends at {file}:8: "
RAISED = r"rank 1 failed \(ValueError, {file}:7: no data\)"


@pytest.mark.parametrize(
    ("fault", "other", "told"),
    [
        (
            "raise ValueError('no data')",
            WAITS,
            ["ValueError: no data", f"DistError: .*{RAISED}", SAYS_WHERE + RAISED],
        ),
        ("raise ValueError('no data')", WORKS, ["ValueError: no data", SAYS_WHERE + RAISED]),
        ("os.kill(os.getpid(), 9)", WAITS, [r"DistError: .*rank 1 \(process \d+\) has died", r"rank 1 .*\n?signal 9"]),
        ("os.kill(os.getpid(), 9)", WORKS, [SAYS_WHERE + r"rank 1 \(process \d+\) has died"]),
        (
            "time.sleep(60)",
            WAITS,
            ["rank 1 did not come: it is at {file}:7", r"rank 1 ends at {file}:7: rank 0 failed"],
        ),
        ("sys.exit(3)", WAITS, ["rank 1 has ended", r"rank 0 failed \(DistError, {file}:8\)"]),
    ],
    ids=["raises", "raises_others_work", "dies", "dies_others_work", "hangs", "exits"],
)
def test_one_process_fails(tmp_path, fault, other, told):
    program = tmp_path / "train.py"
    program.write_text(PROGRAM.format(fault=fault, other=other))
    since = time.monotonic()
    ended = launch(str(program))
    assert ended.returncode != 0
    assert time.monotonic() - since < 2 + 10 + 5  # the timeout, the promise, and starting two processes on a busy machine
    for pattern in told:
        assert re.search(pattern.format(file=re.escape(str(program))), ended.stderr), ended.stderr


@pytest.mark.parametrize("shell", ["", 'trap "" INT; '], ids=["heeded", "ignored"])
def test_an_interrupt_ends_all(tmp_path, shell):
    """Shells start jobs in the background with the signal ignored, of which MPI's launcher takes no notice."""
    program = tmp_path / "train.py"
    fault = f"open({str(tmp_path / 'began')!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    program.write_text(PROGRAM.format(fault=fault, other="time.sleep(60)"))
    command = ["sh", "-c", shell + 'exec "$@"', "sh"]
    command += [sys.executable, "-m", "staticgrad", "launch", "-n", "2", "--restarts", "2", str(program)]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True) as started:
        while not (tmp_path / "began").exists() or not (tmp_path / "began").read_text():
            time.sleep(0.05)
        since = time.monotonic()
        os.killpg(started.pid, signal.SIGINT)
        _, told = started.communicate(timeout=30)
    assert time.monotonic() - since < 10
    assert started.returncode == 130, told
    assert "restart" not in told
    left = Path("/proc", (tmp_path / "began").read_text(), "stat")
    assert not left.exists() or left.read_text().split()[2] == "Z"  # nobody has asked for its exit code


TRAINING = """\
import os, sys
import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad import nn, optim
from staticgrad.distributed import checkpoint
from staticgrad.nn.parallel import DistributedDataParallel

dist.init_process_group()
rank, folder = dist.get_rank(), sys.argv[1]
sg.manual_seed(3)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
first = [p.detach().clone() for p in model.parameters()]
dist.verify({"first": first})
model = DistributedDataParallel(model)
optimizer = optim.Adam(model.parameters())
sg.manual_seed(100 + rank)  # another dropout in each process


@sg.compile
def step(x):
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
    return loss


state = {"model": model, "optimizer": optimizer, "step": 0, f"random.{rank}": sg.get_rng_state()}
if os.path.exists(os.path.join(folder, checkpoint.index.FILE)):
    checkpoint.load(state, checkpoint_id=folder)
    sg.set_rng_state(state[f"random.{rank}"])
for number in range(state["step"], 9):
    if number == 5 and rank == 1 and len(sys.argv) > 2 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), 9)
    print(f"step {number} rank {rank} {step(sg.randn(16, 4)).item()!r}", flush=True)
    if number % 2:
        state |= {"step": number + 1, f"random.{rank}": sg.get_rng_state()}
        checkpoint.save(state, checkpoint_id=folder)
"""


def _losses(text: str) -> dict[tuple[int, int], set[str]]:
    found: dict[tuple[int, int], set[str]] = {}
    for number, rank, loss in re.findall(r"step (\d+) rank (\d) (\S+)", text):
        found.setdefault((int(number), int(rank)), set()).add(loss)
    return found


def test_a_restart_continues_bit_for_bit(tmp_path):
    """Parameters are equal at first, dropout is another one in each process, and both are the same in each run."""
    program = tmp_path / "train.py"
    program.write_text(TRAINING)
    runs = [
        launch(str(program), str(tmp_path / "whole")),
        launch("--restarts", "1", str(program), str(tmp_path / "cut"), "die"),
    ]
    for run in runs:
        assert run.returncode == 0, run.stderr
    whole, cut = (_losses(run.stdout) for run in runs)
    assert "restart 1 of 1" in runs[1].stderr
    assert {*whole} == {(number, rank) for number in range(9) for rank in range(2)}
    assert cut == whole
    assert all(len(losses) == 1 for losses in whole.values())
    assert all(whole[number, 0] != whole[number, 1] for number in range(9))
    assert sorted(Path(tmp_path, "whole").glob("*.json")) != []
