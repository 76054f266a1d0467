"""Handwritten digits, learned by several processes in three ways: each has its part of every batch.

    python examples/distributed_digits.py [--steps 500]
    staticgrad launch -n 2 examples/distributed_digits.py

A 64-128-10 network learns scikit-learn's digits with Adam, in batches of 128 that the processes share:

    eager      DistributedDataParallel averages the gradients during the backward pass
    session    a graph whose gradients are averaged by an operation of the graph
    compiled   the eager step under `@sg.compile`: the exchanges are part of the native step

A table has a row for each process and way: the time of a step, the first and last loss over all processes, and a checksum of
the parameters, which is the same in all processes. The losses are those of one process with the whole batch.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgrad as sg
import staticgrad.distributed as dist
import staticgrad.functional as F
from staticgrad import nn, optim
from staticgrad.distributed.nn import functional as exchanges
from staticgrad.nn.parallel import DistributedDataParallel

BATCH, RATE = 128, 1e-3
MODES = ["eager", "session", "compiled"]
Step = Callable[[np.ndarray, np.ndarray], float]


def load() -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    return (found.data / 16).astype(np.float32), found.target.astype(np.int64)


def network() -> nn.Sequential:
    sg.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def with_tensors(compiled: bool) -> tuple[Step, Callable[[], list[np.ndarray]]]:
    """A step in PyTorch's dialect, and what reads the parameters."""
    model = DistributedDataParallel(network())
    optimizer = optim.Adam(model.parameters(), lr=RATE)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    chosen = sg.compile(step) if compiled else step
    return (
        lambda x, y: chosen(sg.from_numpy(x), sg.from_numpy(y)).item(),
        lambda: [p.detach().numpy() for p in model.parameters()],
    )


def with_session() -> tuple[Step, Callable[[], list[np.ndarray]]]:
    """A step in TensorFlow 1's dialect."""
    start = [p.detach().numpy() for p in network().parameters()]
    with sg.Graph().as_default() as graph:
        x, y = sg.placeholder("float32", (None, 64)), sg.placeholder("int64", (None,))
        w1, b1, w2, b2 = weights = [sg.Variable(value) for value in start]
        loss = F.cross_entropy(F.linear(F.relu(F.linear(x, w1, b1)), w2, b2), y)
        gradients = [exchanges.all_reduce(g, "avg") for g in sg.gradients(loss, weights)]
        train = optim.Adam(weights, lr=RATE).apply_gradients(zip(gradients, weights, strict=True))
        begin = sg.global_variables_initializer()
    session = sg.Session(graph)
    session.run(begin)
    return lambda a, b: float(session.run([loss, train], {x: a, y: b})[0]), lambda: list(session.run(weights))


def run(way: str, steps: int) -> tuple[Any, ...]:
    """A row of this process, and the losses over all processes."""
    rank, size = dist.get_rank(), dist.get_world_size()
    step, parameters = with_session() if way == "session" else with_tensors(way == "compiled")
    pixels, labels = load()
    losses, took = [], []
    for number in range(steps):
        batch = np.random.default_rng(number).integers(0, len(pixels), BATCH)
        chosen = batch[rank * BATCH // size : (rank + 1) * BATCH // size]
        since = time.perf_counter()
        losses.append(step(pixels[chosen], labels[chosen]))
        took.append(time.perf_counter() - since)
    everywhere = sg.tensor(losses, dtype=sg.float64)
    dist.all_reduce(everywhere, "avg")
    checksum = zlib.crc32(b"".join(np.ascontiguousarray(p).tobytes() for p in parameters()))
    return rank, way, float(np.median(took[steps // 2 :])), everywhere[0].item(), everywhere[-1].item(), f"{checksum:08x}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument(
        "--modes", nargs="+", choices=("eager", "session", "compiled"), default=["eager", "session", "compiled"]
    )
    given = parser.parse_args()
    dist.init_process_group()
    rows: list[Any] = []
    for way in given.modes:
        found: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(found, run(way, given.steps))
        rows += found
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} processes, {given.steps} steps of {BATCH} samples")
        print("rank  way       step/us  first loss  last loss  parameters")
        for rank, way, seconds, first, last, checksum in rows:
            print(f"{rank:4}  {way:8} {seconds * 1e6:8.0f}  {first:10.6f}  {last:9.6f}  {checksum}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
