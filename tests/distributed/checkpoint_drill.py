"""Kill one of two processes at many moments of saving, and read the last checkpoint each time: run it as
`python -m tests.distributed.checkpoint_drill 200`.

Half of the moments are those at which a file is opened, renamed or removed, half are any. All kills hit one folder, so each run
goes on from what the one before it left.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import staticgrad as sg
import staticgrad.distributed as dist
from staticgrad.distributed import checkpoint

ROOT = Path(__file__).resolve().parents[2]
SAVES = 40
"""Of a run, at most."""
EVENTS = "open", "os.rename", "os.remove"


def state(step: int, rank: int, size: int) -> dict:
    """All values say which step they are of."""
    rows = checkpoint.Shard(sg.full((64 // size, 100), float(step)), (rank * (64 // size), 0), (64, 100))
    return {"step": step, "rows": rows, "bias": sg.full((5000,), float(step)), "scale": sg.full((3,), float(step))}


def worker(folder: str, victim: int, event: int, after: float) -> None:
    """Save again and again, and die. event: the number of the file event at which; after: or how many seconds later."""
    dist.init_process_group()
    rank, size, first, seen = dist.get_rank(), dist.get_world_size(), 0, 0
    if Path(folder, checkpoint.index.FILE).exists():
        found = state(0, rank, size)
        checkpoint.load(found, checkpoint_id=folder)
        first = found["step"]

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def count(name: str, arguments: object) -> None:
        nonlocal seen
        if name in EVENTS and folder in str(arguments):
            seen += 1
            if seen == event:
                die()

    for step in range(first + 1, first + SAVES):
        if step == first + 2 and rank == victim:
            if event:
                sys.addaudithook(count)
            else:
                threading.Timer(after, die).start()
        if step % 2:
            checkpoint.save(state(step, rank, size), checkpoint_id=folder)
        else:
            checkpoint.async_save(state(step, rank, size), checkpoint_id=folder).result()
        if rank == 0:
            Path(folder, "saved").write_text(str(step))


def drill(moments: int, seed: int = 0) -> int:
    """Kill at so many moments. Returns the number of steps that were saved. Raises AssertionError for a checkpoint that is not
    whole, or is older than the last one that `save` returned for."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        for moment in range(moments):
            event = rng.randrange(1, 30) if moment % 2 else 0
            numbers = [rng.randrange(2), event, rng.uniform(0, 0.15)]
            launch = [sys.executable, "-m", "staticgrad", "launch", "-n", "2", str(Path(__file__)), "--folder", folder]
            started = subprocess.run(
                [*launch, *map(str, numbers)], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
                timeout=60, check=False,
            )  # fmt: skip
            assert started.returncode != 0, (numbers, started.stderr)
            errors = re.findall(r"^[\w.]*Error.*", started.stderr, re.MULTILINE)
            assert all("DistError" in error and "has died" in error for error in errors), started.stderr
            found = state(0, 0, 1)
            checkpoint.load(found, checkpoint_id=folder)
            saved = int(Path(folder, "saved").read_text() or 0)
            assert found["step"] >= saved, (numbers, found["step"], saved)
            for value in (found["rows"].tensor, found["bias"], found["scale"]):
                assert (value.numpy() == np.float32(found["step"])).all(), numbers
            print(f"{moment + 1}: {numbers}, step {found['step']}, {len(os.listdir(folder))} files", flush=True)
            assert len(os.listdir(folder)) < 10
        return found["step"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("moments", nargs="*", help="how many; after --folder: whom to kill, at which event, after how long")
    parser.add_argument("--folder")
    given = parser.parse_args()
    if given.folder:
        worker(given.folder, int(given.moments[0]), int(given.moments[1]), float(given.moments[2]))
    else:
        since = time.monotonic()
        steps = drill(int(given.moments[0]) if given.moments else 200)
        print(f"all checkpoints are whole, {steps} steps, {time.monotonic() - since:.0f} s")


if __name__ == "__main__":
    main()
