"""One eager operation at several sizes, forward (with its record) and backward, beside PyTorch where it is installed.

    python -m benchmarks.eager_ops [--case softmax gelu] [--size 64 512] [--seconds 0.1] [--json out.json]

PyTorch runs with one thread and with all; the faster counts. The frameworks take turns in short bursts, so that a busy
machine slows all. Times are the least over the bursts, in microseconds; below 1, the ratio says that staticgrad is faster.
Kernels are made before the measurement (`sg.eager_kernels(wait=True)`).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg
import staticgrad.nn.functional
from staticgrad.eager.grad_mode import modes

from .timing import burst

SIZES = (8, 64, 512, 2048)
ROUNDS = 5
REST = 0.02
"""Seconds before each turn: OpenMP's threads spin for some milliseconds after the last operation, and would take a CPU from the
other framework's threads."""
CALLS = 20
"""Calls in a turn, at least: after so many, arrays of 16 MB are in the cache again that all CPUs share."""

Call = Callable[[Any, Any, list[Any]], Any]


class OpCase(NamedTuple):
    """`call(library, its nn.functional, tensors)`, on float32 arrays of `shapes(size)`; the size times `labels` int64 labels
    come last."""

    call: Call
    shapes: Callable[[int], list[tuple[int, ...]]]
    labels: int = 0


def square(count: int) -> Callable[[int], list[tuple[int, ...]]]:
    return lambda n: [(n, n)] * count


CASES = {
    "add": OpCase(lambda lib, F, x: x[0] + x[1], square(2)),
    "mul": OpCase(lambda lib, F, x: x[0] * x[1], square(2)),
    "relu": OpCase(lambda lib, F, x: lib.relu(x[0]), square(1)),
    "tanh": OpCase(lambda lib, F, x: lib.tanh(x[0]), square(1)),
    "exp": OpCase(lambda lib, F, x: lib.exp(x[0]), square(1)),
    "gelu": OpCase(lambda lib, F, x: F.gelu(x[0]), square(1)),
    "softmax": OpCase(lambda lib, F, x: lib.softmax(x[0], -1), square(1)),
    "log_softmax": OpCase(lambda lib, F, x: lib.log_softmax(x[0], -1), square(1)),
    "layer_norm": OpCase(lambda lib, F, x: F.layer_norm(x[0], x[1].shape, x[1], x[2]), lambda n: [(n, n), (n,), (n,)]),
    "sum of rows": OpCase(lambda lib, F, x: x[0].sum(1), square(1)),
    "sum of columns": OpCase(lambda lib, F, x: x[0].sum(0), square(1)),
    "mean": OpCase(lambda lib, F, x: x[0].mean(), square(1)),
    "cross_entropy": OpCase(lambda lib, F, x: F.cross_entropy(x[0], x[1]), square(1), labels=1),
    "matmul": OpCase(lambda lib, F, x: x[0] @ x[1], square(2)),
    "linear": OpCase(lambda lib, F, x: F.linear(x[0], x[1], x[2]), lambda n: [(n, n), (n, n), (n,)]),
    "attention": OpCase(
        lambda lib, F, x: F.scaled_dot_product_attention(*x), lambda n: [(1, 2, n, min(n, 64))] * 3
    ),
    "conv2d": OpCase(
        lambda lib, F, x: F.conv2d(x[0], x[1], x[2], padding=1), lambda n: [(1, 2, n, n), (4, 2, 3, 3), (4,)]
    ),
    "max_pool2d": OpCase(lambda lib, F, x: F.max_pool2d(x[0], 2), lambda n: [(1, 2, n, n)]),
    "sigmoid": OpCase(lambda lib, F, x: lib.sigmoid(x[0]), square(1)),
    "div": OpCase(lambda lib, F, x: x[0] / x[1], square(2)),
    "max of rows": OpCase(lambda lib, F, x: x[0].max(1).values, square(1)),
    "var": OpCase(lambda lib, F, x: x[0].var(), square(1)),
    "transpose": OpCase(lambda lib, F, x: x[0].mT.contiguous(), square(1)),
    "cat": OpCase(lambda lib, F, x: lib.cat(x, 1), square(2)),
    "where": OpCase(lambda lib, F, x: lib.where(x[0] > 0, x[0], x[1]), square(2)),
    "masked_fill": OpCase(lambda lib, F, x: x[0].masked_fill(x[0] > 0, 0), square(1)),
    "embedding": OpCase(lambda lib, F, x: F.embedding(x[1], x[0]), square(1), labels=1),
    "batch_norm": OpCase(
        lambda lib, F, x: F.batch_norm(x[0], None, None, x[1], x[2], training=True), lambda n: [(n, n), (n,), (n,)]
    ),
    "dropout": OpCase(lambda lib, F, x: F.dropout(x[0], 0.5), square(1)),
    "mse_loss": OpCase(lambda lib, F, x: F.mse_loss(x[0], x[1]), square(2)),
}  # fmt: skip


class Row(NamedTuple):
    case: str
    size: int
    direction: str
    ours: float
    torch: float | None
    ratio: float | None


def arrays_of(case: OpCase, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    found = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in case.shapes(size)]
    return found + [rng.integers(0, size, case.labels * size)] if case.labels else found


def jobs(lib: Any, case: OpCase, arrays: list[np.ndarray]) -> dict[str, Callable[[], Any]]:
    """The forward pass with its record, and the backward pass of one that is kept."""
    functional, grad = lib.nn.functional, lib.autograd.grad
    tensors = [lib.from_numpy(a) for a in arrays]
    leaves = [t for t in tensors if t.is_floating_point()]
    for t in leaves:
        t.requires_grad_()
    forward = lambda: case.call(lib, functional, tensors)  # noqa: E731
    out = forward()
    seed = lib.ones_like(out.detach())
    return {"forward": forward, "backward": lambda: grad(out, leaves, seed, retain_graph=True)}


def pass_noted_lines() -> None:
    """The first records of a program note their lines, which would count as the time of the first cases."""
    x = sg.ones(1, requires_grad=True)
    while modes.now.watched:
        x + x


def measure(names: list[str], sizes: list[int], seconds: float) -> Iterator[Row]:
    """seconds: of each framework and direction, in all rounds together."""
    torch: Any = None
    with suppress(ImportError):
        import torch
    pass_noted_lines()
    for name in names:
        for size in sizes:
            case, arrays = CASES[name], arrays_of(CASES[name], size)
            with sg.eager_kernels(wait=True):
                mine = jobs(sg, case, arrays)
                theirs = {} if torch is None else jobs(torch, case, [a.copy() for a in arrays])
                for direction, job in mine.items():
                    best: dict[int, float] = {}
                    for _ in range(ROUNDS):
                        time.sleep(REST)
                        best[0] = min(best.get(0, math.inf), burst(job, seconds / ROUNDS, CALLS))
                        for threads in {1, os.cpu_count() or 1} if theirs else ():
                            time.sleep(REST)
                            torch.set_num_threads(threads)
                            took = burst(theirs[direction], seconds / ROUNDS, CALLS)
                            best[threads] = min(best.get(threads, math.inf), took)
                    ours = best.pop(0)
                    peer = min(best.values()) if best else None
                    yield Row(name, size, direction, ours, peer, None if peer is None else ours / peer)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", choices=CASES, default=list(CASES), metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--size", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args(argv)
    rows: list[Row] = []
    print(f"{'microseconds':<16}{'size':>6}{'':>10}{'staticgrad':>12}{'torch':>12}{'ratio':>8}")
    for row in measure(options.case, options.size, options.seconds):
        rows.append(row)
        text = f"{row.torch:>12.2f}{row.ratio:>8.2f}" if row.torch is not None else ""
        print(f"{row.case:<16}{row.size:>6}{row.direction:>10}{row.ours:>12.2f}{text}", flush=True)
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f}, at most 1: {sum(r <= 1 for r in ratios)} of {len(ratios)}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump([row._asdict() for row in rows], file, indent=1)
    return rows


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
