"""Many small trainings: on a cluster of Dask, in joblib's processes, and in one process, each step for all of them.

    python examples/sweep_dask.py [--trainings 64] [--workers 2] [--steps 400]

Each training is a 64-32-10 network on scikit-learn's digits, whose step is a compiled function. The first two train one network
for each pair of a learning rate and a seed, as many at a time as there are workers. The third trains networks of all seeds at
once with `vmap`, for one learning rate after the other: one compiled step computes all of them.

A worker compiles what it runs once and keeps the kernels in the cache folder, which all of them share.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import staticgrad as sg
from staticgrad import nn, optim
from staticgrad.nn import functional as F

BATCH, WIDTH = 64, 32
RATES = (0.001, 0.003, 0.01, 0.03)
Task = tuple[float, int]
"""A learning rate and a seed."""


def load() -> tuple[np.ndarray, np.ndarray]:
    """Pixels from 0 to 1, and labels."""
    from sklearn.datasets import load_digits

    found: Any = load_digits()
    return (found.data / 16).astype(np.float32), found.target.astype(np.int64)


def network(seed: int) -> nn.Sequential:
    sg.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))


def batch(data: tuple[np.ndarray, np.ndarray], step: int) -> tuple[Any, Any]:
    """The same batches for all trainings."""
    chosen = np.random.default_rng(step).integers(0, len(data[0]), BATCH)
    return sg.from_numpy(data[0][chosen]), sg.from_numpy(data[1][chosen])


def train(task: Task, steps: int) -> float:
    """One training. Returns the mean loss of the last ten steps."""
    rate, seed = task
    data, model = load(), network(seed)
    optimizer = optim.Adam(model.parameters(), lr=rate)

    @sg.compile
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    losses = [step(*batch(data, i)) for i in range(steps)]
    return float(np.mean([loss.item() for loss in losses[-10:]]))


def train_together(rate: float, seeds: Sequence[int], steps: int) -> list[float]:
    """The trainings of all seeds, in one process: parameters have the seeds along their first axis."""
    data, models = load(), [network(seed) for seed in seeds]
    parameters, _ = sg.func.stack_module_state(models)
    optimizer = optim.Adam(parameters.values(), lr=rate)
    plain = models[0]

    def loss_of(values: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(sg.func.functional_call(plain, values, (x,)), y)

    @sg.compile
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        losses = sg.vmap(loss_of, in_dims=(0, None, None))(parameters, x, y)
        losses.sum().backward()
        optimizer.step()
        return losses.detach()

    losses = [step(*batch(data, i)).numpy() for i in range(steps)]
    return [float(loss) for loss in np.mean(losses[-10:], 0)]


def by_dask(tasks: Sequence[Task], workers: int, steps: int) -> list[float]:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        found: list[float] = client.gather(client.map(train, tasks, steps=steps, pure=False))
    return found


def by_joblib(tasks: Sequence[Task], workers: int, steps: int) -> list[float]:
    import joblib

    return list(joblib.Parallel(workers)(joblib.delayed(train)(task, steps) for task in tasks))


def by_vmap(tasks: Sequence[Task], workers: int, steps: int) -> list[float]:
    seeds = sorted({seed for _, seed in tasks})
    found = {rate: train_together(rate, seeds, steps) for rate in dict.fromkeys(rate for rate, _ in tasks)}
    return [found[rate][seeds.index(seed)] for rate, seed in tasks]


WAYS: dict[str, Callable[[Sequence[Task], int, int], list[float]]] = {
    "dask": by_dask, "joblib": by_joblib, "vmap": by_vmap,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainings", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of each worker
    tasks = [(RATES[i % len(RATES)], i // len(RATES)) for i in range(given.trainings)]
    print(f"{given.trainings} trainings of {given.steps} steps, {given.workers} workers")
    for way in given.ways:
        since = time.perf_counter()
        losses = WAYS[way](tasks, given.workers, given.steps)
        best = int(np.argmin(losses))
        took = time.perf_counter() - since
        print(f"{way:7} {took:7.2f} s   best: learning rate {tasks[best][0]:g}, seed {tasks[best][1]}, loss {losses[best]:.4f}")


if __name__ == "__main__":
    main()
