"""Steps in two processes of one thread, beside PyTorch's DistributedDataParallel on gloo and beside one process of two threads.

    python -m benchmarks.processes [--case digits mlp] [--torch PYTHON] [--rounds 2] [--mpirun "MPIRUN ..."]

All have the same model and the same whole batch, of which each process has its part. The ways take turns in each round; the
least disturbed round of each counts, by the median of its steps. --torch: an interpreter with PyTorch. --mpirun: what starts
the processes, in place of `staticgrad launch -n 2`, as over a link; PyTorch's are left out then. The last column is the step
that `staticgrad scale` predicts of one process of one thread, and of latency and rate of all-reduces between the two: measured
beside another process that does the same, since two on one machine share its memory.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

SECONDS = 3.0
"""How long steps are timed in a process."""


def digits(nn: Any, f: Any) -> Any:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def wide(nn: Any, f: Any) -> Any:
    return nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


def gpt(nn: Any, f: Any) -> Any:
    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, width: int, heads: int):
            super().__init__()
            self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            b, t, c = x.shape
            parts = self.qkv(self.first(x)).reshape(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = f.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.mlp(self.second(x))

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.blocks = nn.Embedding(65, 128), nn.Sequential(Block(128, 4), Block(128, 4))
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 65)

        def forward(self, x: Any) -> Any:
            return self.head(self.norm(self.blocks(self.words(x)))).reshape(-1, 65)

    return Model()


def residual(nn: Any, f: Any) -> Any:
    def convolution(before: int, after: int, stride: int = 1) -> Any:
        return nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after))

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self, before: int, after: int, stride: int):
            super().__init__()
            self.first, self.second = convolution(before, after, stride), convolution(after, after)
            self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False) if before != after else nn.Identity()

        def forward(self, x: Any) -> Any:
            return f.relu(self.second(f.relu(self.first(x))) + self.shortcut(x))

    blocks = [Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2)]
    return nn.Sequential(convolution(3, 16), nn.ReLU(), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def factors(nn: Any, f: Any) -> Any:
    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(1_000_000, 16, sparse=True)
            self.deep = nn.Sequential(nn.Linear(26 * 16, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 2))

        def forward(self, x: Any) -> Any:
            rows = self.table(x)
            pairs = (rows.sum(1) ** 2 - (rows**2).sum(1)).sum(1, keepdim=True)
            return self.deep(rows.reshape(-1, 26 * 16)) + 0.5 * pairs

    return Model()


CASES = {
    "digits": (digits, lambda rng: (rng.normal(size=(64, 64)).astype(np.float32), rng.integers(0, 10, 64))),
    "mlp": (wide, lambda rng: (rng.normal(size=(256, 1024)).astype(np.float32), rng.integers(0, 10, 256))),
    "gpt": (gpt, lambda rng: (rng.integers(0, 65, (16, 64)), rng.integers(0, 65, 16 * 64))),
    "resnet": (residual, lambda rng: (rng.normal(size=(64, 3, 32, 32)).astype(np.float32), rng.integers(0, 10, 64))),
    "deepfm": (factors, lambda rng: (rng.integers(0, 1_000_000, (512, 26)), rng.integers(0, 2, 512))),
}
"""Of each case the model and the whole batch."""


def network() -> None:
    """In each of two processes: time all-reduces, and let the first print the latency and the bytes a second."""
    from mpi4py import MPI

    world, took = MPI.COMM_WORLD, {}
    for size, count in ((2, 2000), (1 << 20, 100)):
        values, found = np.ones(size, np.float32), np.empty(size, np.float32)
        times = []
        for _ in range(count):
            world.Barrier()
            begin = time.perf_counter()
            world.Allreduce(values, found)
            times.append(time.perf_counter() - begin)
        took[size] = statistics.median(times)
    if world.rank == 0:
        print(json.dumps({"latency": took[2], "rate": (1 << 22) / max(took[1 << 20] - took[2], 1e-9)}), flush=True)


def predicted(case: str, latency: str, rate: str) -> None:
    """Print the step of one process of two that `staticgrad scale` predicts."""
    import staticgrad
    from staticgrad.base import communicators
    from staticgrad.command_line.scale import Net, measured, predict

    communicators.supposed = 2
    _, run, inputs, _ = prepared(case, "staticgrad", 1)
    for _ in range(3):
        run(*inputs)
    times = measured(run, run.plan, inputs, 100)
    row = predict(run.plan, times, 2, Net(float(latency), float(rate)))
    staticgrad.distributed.destroy_process_group()
    print(json.dumps({"us": row.step * 1e6, "computing": row.computing * 1e6, "hidden": row.hidden}), flush=True)


def prepared(case: str, front: str, threads: int) -> tuple[Any, Any, tuple[Any, Any], int]:
    """The library, a step, its inputs in this process, and the number of processes."""
    lib = importlib.import_module(front)
    dist, nn = importlib.import_module(f"{front}.distributed"), importlib.import_module(f"{front}.nn")
    lib.set_num_threads(threads)
    dist.init_process_group("gloo")
    lib.manual_seed(0)
    make, batch = CASES[case]
    model = make(nn, importlib.import_module(f"{front}.nn.functional"))
    size, rank = dist.get_world_size(), dist.get_rank()
    if size > 1:
        model = importlib.import_module(f"{front}.nn.parallel").DistributedDataParallel(model)
    optimizer = importlib.import_module(f"{front}.optim").SGD(model.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = lib.compile(step) if front == "staticgrad" else step
    x, y = (
        lib.tensor(each[rank * len(each) // size : (rank + 1) * len(each) // size]) for each in batch(np.random.default_rng(0))
    )
    return lib, run, (x, y), size


def work(case: str, front: str) -> None:
    """In each process: time steps, and let the first print the median in microseconds, the loss after ten steps, and for a
    plan the share of the time of exchanges in which it did other work."""
    lib, run, (x, y), size = prepared(case, front, 2 // int(os.environ.get("WORLD_SIZE", "1")))
    dist = importlib.import_module(f"{front}.distributed")
    for _ in range(10):
        loss = run(x, y).detach()
    if size > 1:
        dist.all_reduce(loss)
    begin = time.perf_counter()
    run(x, y)
    count = max(10, int(SECONDS / 5 / (time.perf_counter() - begin)))  # about as many in all processes
    counts = lib.tensor([count])
    if size > 1:
        dist.broadcast(counts, 0)
    took = []
    for _ in range(5 * int(counts.item())):
        begin = time.perf_counter()
        run(x, y)
        took.append(time.perf_counter() - begin)
    hidden = hidden_share(run.plan) if front == "staticgrad" and size > 1 else None
    if dist.get_rank() == 0:
        print(json.dumps({"us": statistics.median(took) * 1e6, "loss": float(loss) / size, "hidden": hidden}), flush=True)
    dist.destroy_process_group()


def hidden_share(plan: Any) -> float | None:
    """Of the latest run."""
    from staticgrad.compiler.execute.profile import exchanges_of

    spans = [each for each in exchanges_of(plan) if each.name != "compare plans"]
    whole = sum(each.microseconds for each in spans)
    return 1 - sum(each.waited for each in spans) / whole if whole else None


def started(case: str, ways: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    """One process or two of each way."""
    found = {}
    for name, command in ways.items():
        for _ in range(3):  # gloo aborts now and then
            ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=os.getcwd())
            lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
            if lines:
                found[name] = json.loads(lines[-1])
                break
        else:
            raise SystemExit(f"{case}, {name}: exit code {ended.returncode}\n{ended.stderr[-3000:]}")
    return found


def prediction(case: str) -> float:
    """Microseconds of a step in two processes, predicted."""
    this, launch = os.path.abspath(__file__), [sys.executable, "-m", "staticgrad", "launch", "-n", "2"]
    net = json.loads(subprocess.run([*launch, this, "network"], capture_output=True, text=True, check=True).stdout)
    command = [sys.executable, this, "predicted", case, str(net["latency"]), str(net["rate"])]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    rows = [json.loads(each.communicate()[0]) for each in both]
    return statistics.mean([row["us"] for row in rows])


def ways_of(case: str, options: argparse.Namespace) -> dict[str, list[str]]:
    this, arguments = os.path.abspath(__file__), ["work", case]
    launch = [sys.executable, "-m", "staticgrad", "launch", "-n", "2"]
    two = [*shlex.split(options.mpirun), sys.executable] if options.mpirun else launch
    ways = {
        "two processes": [*two, this, *arguments, "staticgrad"],
        "one process, two threads": [sys.executable, this, *arguments, "staticgrad"],
    }
    if options.torch and not options.mpirun:
        many = [options.torch, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--log-dir", "/tmp", this]
        ways["PyTorch DDP, gloo"] = [*many, *arguments, "torch"]
    return ways


def main() -> None:
    inside = {"work": work, "network": network, "predicted": predicted}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if inside is not None:
        inside(*sys.argv[2:])  # type: ignore[operator]
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.processes", description=__doc__)
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--mpirun", default="")
    options = parser.parse_args()
    print("| case | " + " | ".join(ways_of("digits", options)) + " | hidden | predicted |")
    for case in options.case:
        rounds = [started(case, ways_of(case, options)) for _ in range(options.rounds)]
        medians = {name: min(each[name]["us"] for each in rounds) for name in rounds[0]}
        losses = {round(each[name]["loss"], 3) for each in rounds for name in each if not name.startswith("PyTorch")}
        hidden = [each["two processes"]["hidden"] for each in rounds]
        ours = medians["two processes"]
        cells = [f"{us / 1e3:.3f} ms" + ("" if us == ours else f" ({ours / us:.2f})") for us in medians.values()]
        share = "-" if None in hidden else f"{statistics.median(hidden):.0%}"
        cells += [share, "-"]
        if not options.mpirun:
            us = statistics.median([prediction(case) for _ in range(options.rounds)])
            cells[-1] = f"{us / 1e3:.3f} ms ({us / ours:.2f})"
        print(f"| {case} | {' | '.join(cells)} |" + ("" if len(losses) == 1 else f" losses {losses}"), flush=True)


if __name__ == "__main__":
    main()
