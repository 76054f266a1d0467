"""What this machine can do: memory bandwidth, matrix products.

    python -m benchmarks.limits [MxKxN,MxKxN,...]...

Each argument lists the matrix products of one step, whose time together is measured. NumPy only: its copies and sums of
long arrays are bound by memory, its products are OpenBLAS. Prints a JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .registry import Product

LONG = 1 << 25
"""Elements of the arrays whose bandwidth is measured, 128 MB of float32: far out of every cache."""


def best(function: Callable[[], Any], seconds: float = 0.3) -> float:
    """Seconds of the fastest of repeated calls: a limit is what is reached undisturbed."""
    function()
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function()
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest


def bandwidth() -> dict[str, float]:
    """GB/s of a copy (one array read, one written) and of a triad (two read, one written), by 1 and by 2 threads."""
    a, b, c = (np.ones(LONG, np.float32) for _ in range(3))
    found = {}
    with ThreadPoolExecutor(2) as pool:
        for threads in (1, 2):
            cuts = [slice(i * LONG // threads, (i + 1) * LONG // threads) for i in range(threads)]

            def copy(cut: slice) -> None:
                np.copyto(c[cut], a[cut])

            def triad(cut: slice) -> None:
                np.add(a[cut], b[cut], out=c[cut])

            for name, arrays, work in (("copy", 2, copy), ("triad", 3, triad)):
                took = best(lambda work=work, cuts=cuts: list(pool.map(work, cuts)))
                found[f"{name}, {threads} thread{'s' * (threads > 1)}"] = arrays * 4 * LONG / took / 1e9
    return found


def fastest_by_threads(function: Callable[[], Any]) -> float:
    """Seconds with one thread of BLAS or with two, whichever takes less."""
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(best(function))
    return min(found)


def blas() -> dict[str, float]:
    """GFLOP/s of a large product."""
    n = 1536
    found = {}
    for name, dtype in (("sgemm", np.float32), ("dgemm", np.float64)):
        a, b, c = (np.ones((n, n), dtype) for _ in range(3))
        found[name] = 2 * n**3 / fastest_by_threads(lambda a=a, b=b, c=c: np.matmul(a, b, out=c)) / 1e9
    return found


def products_alone(products: Iterable[Product]) -> float:
    """Microseconds of the matrix products of a step, float32, one after the other."""
    operands = [
        (np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.empty((m, n), np.float32)) for m, k, n in products
    ]

    def step() -> None:
        for a, b, out in operands:
            np.matmul(a, b, out=out)

    return fastest_by_threads(step) * 1e6


def text_of(products: Iterable[Product]) -> str:
    return ",".join("x".join(map(str, product)) for product in products)


def parsed(text: str) -> list[Product]:
    return [Product(*map(int, product.split("x"))) for product in text.split(",")]


def undisturbed(runs: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """The best over processes: the highest rates, the shortest times."""
    pick = {"bandwidth": max, "blas": max, "products": min}
    return {kind: {name: pick[kind](run[kind][name] for run in runs) for name in runs[0][kind]} for kind in runs[0]}


if __name__ == "__main__":
    report = {"bandwidth": bandwidth(), "blas": blas(), "products": {t: products_alone(parsed(t)) for t in sys.argv[1:]}}
    print(json.dumps(report))
