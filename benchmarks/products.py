"""Matrix products of many shapes beside PyTorch and NumPy's OpenBLAS, with equal numbers of threads.

    python -m benchmarks.products [--shapes 60] [--low 16 --high 4096] [--all] [--seed 0] [--threads 2]
        [--seconds 0.2] [--json out.json]

Shapes are drawn log-uniformly, m, n and k apart, after some named ones. Each has one of the combinations of dtype, transposes,
threads and epilogue (a bias that is added), which come in turn; with --all it has every one. Ours is a compiled function whose
results are used again; the others write into an array that is there. They take turns in short bursts, so that a busy machine
slows all. Times are the least over the bursts, in microseconds; below 1, the ratio says that staticgrad is slower than the
faster of the two.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import staticgrad as sg

from .timing import burst

NAMED = ((512, 1024, 2048), (1024, 1024, 1024), (2048, 2048, 2048))
TURNED = ("", "a", "b", "ab")
ROUNDS = 6
REST = 0.15
"""Seconds before each turn with several threads: those of OpenBLAS spin for 0.1 s after a product, and would take a CPU from
the next library's."""


class Product(NamedTuple):
    """(m, k) @ (k, n). turned: the operands that are stored transposed; bias: whether a row is added."""

    m: int
    n: int
    k: int
    dtype: str
    turned: str
    threads: int
    bias: bool


class Row(NamedTuple):
    product: Product
    ours: float
    torch: float | None
    numpy: float
    ratio: float
    """The time of the faster peer, divided by ours."""


def products(shapes: int, low: int, high: int, every: bool, seed: int = 0, threads: int | None = None) -> Iterator[Product]:
    """The named shapes and `shapes` random ones, each with one combination or with every one. threads: their number; by
    default, one and as many as there are CPUs take turns."""
    rng = np.random.default_rng(seed)
    drawn = np.exp(rng.uniform(math.log(low), math.log(high + 1), (shapes, 3))).astype(int).tolist()
    counts = sorted({1, os.cpu_count() or 1}) if threads is None else [threads]
    kinds = list(itertools.product(("float32", "float64"), TURNED, counts, (False, True)))
    order = [kinds[i] for i in rng.permutation(len(kinds))]
    for i, shape in enumerate([*NAMED, *drawn]):
        for kind in kinds if every else [order[i % len(order)]]:
            yield Product(*shape, *kind)


def jobs(product: Product) -> dict[str, Callable[[], Any]]:
    """The product in each library. Ours has a plan for this number of threads, whose kernels are there."""
    m, n, k, dtype, turned, threads, bias = product
    rng = np.random.default_rng(1)
    a, b = (
        rng.standard_normal(shape).astype(dtype)
        for shape in ((k, m) if "a" in turned else (m, k), (n, k) if "b" in turned else (k, n))
    )
    c = rng.standard_normal(n).astype(dtype)

    def of(a: Any, b: Any, c: Any) -> Any:
        found = (a.T if "a" in turned else a) @ (b.T if "b" in turned else b)
        return found + c if bias else found

    before = sg.get_num_threads()
    sg.set_num_threads(threads)
    try:
        step = sg.compile(of)
        first = step(a, b, c)
    finally:
        sg.set_num_threads(before)
    x, y = a.T if "a" in turned else a, b.T if "b" in turned else b
    exact = x[:8].astype(np.float64) @ y + (c if bias else 0)
    np.testing.assert_allclose(first[:8], exact, rtol=0, atol=1e-3 if dtype == "float32" else 1e-9)
    out = np.empty((m, n), dtype)

    def numpy() -> None:
        np.matmul(x, y, out=out)
        if bias:
            np.add(out, c, out=out)

    found: dict[str, Callable[[], Any]] = {"ours": lambda: step(a, b, c), "numpy": numpy}
    with suppress(ImportError):
        import torch

        left, right, row = torch.from_numpy(a), torch.from_numpy(b), torch.from_numpy(c)
        left, right, into = (
            left.T if "a" in turned else left,
            right.T if "b" in turned else right,
            torch.empty(m, n, dtype=row.dtype),
        )
        found["torch"] = (
            (lambda: torch.addmm(row, left, right, out=into)) if bias else (lambda: torch.mm(left, right, out=into))
        )
    return found


def measure(product: Product, seconds: float) -> Row:
    """seconds: of each library, in all rounds together."""
    found = jobs(product)
    sg.wait_for_kernels()
    best = dict.fromkeys(found, math.inf)
    if "torch" in found:
        import torch

        torch.set_num_threads(product.threads)
    with threadpool_limits(product.threads, user_api="blas"):
        for _ in range(ROUNDS):
            for name, job in found.items():
                if product.threads > 1:
                    time.sleep(REST)
                best[name] = min(best[name], burst(job, seconds / ROUNDS))
    ours = best.pop("ours")
    return Row(product, ours, best.get("torch"), best["numpy"], min(best.values()) / ours)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=int, default=60, help="random shapes")
    parser.add_argument("--low", type=int, default=16)
    parser.add_argument("--high", type=int, default=4096)
    parser.add_argument("--most", type=float, default=4e10, help="leave out products of more multiplications")
    parser.add_argument("--all", action="store_true", help="every combination of dtype, transposes, threads and bias")
    parser.add_argument("--seed", type=int, default=0, help="of the random shapes")
    parser.add_argument("--threads", type=int, help="by default, one and as many as there are CPUs take turns")
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args(argv)
    print(f"{'m':>6}{'n':>6}{'k':>6}  {'':<26}{'staticgrad':>12}{'torch':>12}{'numpy':>12}{'ratio':>8}")
    rows: list[Row] = []
    for product in products(options.shapes, options.low, options.high, options.all, options.seed, options.threads):
        m, n, k, dtype, turned, threads, bias = product
        if m * n * k > options.most:
            continue
        rows.append(row := measure(product, options.seconds))
        kind = f"{dtype} {turned + '.T' if turned else '':<5}{threads} thread{'s' * (threads > 1)}{' + c' * bias}"
        torch = f"{row.torch:>12.1f}" if row.torch is not None else f"{'':>12}"
        print(f"{m:>6}{n:>6}{k:>6}  {kind:<26}{row.ours:>12.1f}{torch}{row.numpy:>12.1f}{row.ratio:>8.2f}", flush=True)
    ratios = [row.ratio for row in rows]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(
        f"geometric mean {mean:.2f}, least {min(ratios):.2f}, at least 0.95: {sum(r >= 0.95 for r in ratios)} of {len(ratios)}"
    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump([{**row.product._asdict(), **row._asdict(), "product": None} for row in rows], file, indent=1)
    return rows


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
