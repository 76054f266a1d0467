"""What this machine can do: memory bandwidth, matrix products.

    python -m benchmarks.limits [MxKxN,MxKxN,...]...

Each argument lists the matrix products of one step, whose time together is measured, besides the limits of `plan.profile()`.
NumPy only: its copies of long arrays are bound by memory, its products are OpenBLAS. Prints a JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from staticgrad.compiler.execute.profile import bandwidth, best, rate

from .registry import Product

LONG = 1 << 27
"""Bytes of the arrays whose copies are timed: far out of every cache."""
SIDE = 1536
"""Rows and columns of the products whose rate is measured."""
BETTER = {"bandwidth": max, "blas": max, "products": min}
"""Which of two figures of a kind other load affected less."""
SECONDS = 0.3
"""How long the products of a step are repeated."""


def copies() -> dict[str, float]:
    """GB/s of a copy (one array read, one written), by 1 and by 2 threads."""
    with ThreadPoolExecutor(2) as pool:
        return {f"copy, {n} thread{'s' * (n > 1)}": bandwidth(LONG, n, pool) / 1e9 for n in (1, 2)}


def blas() -> dict[str, float]:
    """GFLOP/s of a large product, by one thread or by two."""
    kinds = {"sgemm": "float32", "dgemm": "float64"}
    return {name: max(rate(n, dtype, SIDE) for n in (1, 2)) / 1e9 for name, dtype in kinds.items()}


def products_alone(products: Iterable[Product]) -> float:
    """Microseconds of the matrix products of a step, float32, one after the other."""
    operands = [
        (np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.empty((m, n), np.float32)) for m, k, n in products
    ]

    def step() -> None:
        for a, b, out in operands:
            np.matmul(a, b, out=out)

    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(best(step, SECONDS))
    return min(found) * 1e6


def text_of(products: Iterable[Product]) -> str:
    return ",".join("x".join(map(str, product)) for product in products)


def parsed(text: str) -> list[Product]:
    return [Product(*map(int, product.split("x"))) for product in text.split(",")]


def undisturbed(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """The best over processes: the highest rates, the shortest times."""
    return {kind: {name: BETTER[kind](run[kind][name] for run in runs) for name in runs[0][kind]} for kind in runs[0]}


if __name__ == "__main__":
    report = {"bandwidth": copies(), "blas": blas(), "products": {t: products_alone(parsed(t)) for t in sys.argv[1:]}}
    print(json.dumps(report))
