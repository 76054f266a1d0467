"""What this machine can do: bytes that a copy moves, by the size of what it touches, and the speed of matrix products.

Both are measured with NumPy, by one thread and by all threads of the plans, and kept in the kernel cache: a second once per
machine. A limit is what is reached undisturbed, so the fastest of repeated calls counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from ...signals import module
from ..backend import disk_cache, object_code
from ..codegen.cost import Cost
from ..runtime.threads import get_num_threads

SIZES = tuple(1 << n for n in (18, 20, 22, 24, 27))
"""Bytes that a measured copy reads and writes."""
EXTENT = 768
"""Of the matrices whose product is measured."""


@dataclass(frozen=True)
class Limits:
    """bandwidth: GB/s of copies, by the bytes that they touch; gflops: Gflop/s of products, by dtype; threads: how many there
    were."""

    bandwidth: tuple[tuple[int, float], ...]
    gflops: dict[str, float]
    threads: int

    def bandwidth_at(self, size: int) -> float:
        """GB/s of a copy that touches so many bytes, between measurements by their logarithm."""
        sizes, rates = zip(*self.bandwidth, strict=True)
        return float(np.interp(np.log(max(size, 1)), np.log(sizes), rates))

    def least_microseconds(self, cost: Cost, dtype: str) -> float:
        """The time below which no instruction of this cost can be: that of its bytes or that of its flops."""
        speed = self.gflops.get(dtype, max(self.gflops.values()))
        return max(cost.bytes / self.bandwidth_at(cost.bytes) / 1e3, cost.flops / speed / 1e3)

    def as_dict(self) -> dict[str, Any]:
        """The limits as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        products = ", ".join(f"{speed:.0f} Gflop/s in {dtype}" for dtype, speed in self.gflops.items())
        return (
            f"limits of this machine, {self.threads} threads: copies {self.bandwidth[0][1]:.0f} GB/s in cache, "
            f"{self.bandwidth[-1][1]:.0f} GB/s in memory; products {products}"
        )


@cache
def limits() -> Limits:
    """The limits, from the kernel cache if they have been measured with this CPU and number of threads."""
    threads = get_num_threads()
    content, _ = disk_cache.kept(f"limits-{threads}.json", f"{object_code.cpu()} {threads} {SIZES} {EXTENT}", _measured)
    found = json.loads(content)
    return Limits(tuple((size, rate) for size, rate in found["bandwidth"]), found["gflops"], found["threads"])


def _measured() -> bytes:
    threads = get_num_threads()
    return json.dumps({"bandwidth": bandwidth(threads), "gflops": products(), "threads": threads}).encode()


def best(function: Callable[[], Any], seconds: float = 0.3) -> float:
    """Seconds of the fastest of repeated calls: a limit is what is reached undisturbed."""
    function()
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function()
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest


def bandwidth(threads: int, sizes: tuple[int, ...] = SIZES, seconds: float = 0.03) -> list[tuple[int, float]]:
    """(bytes touched, GB/s) of copies by one thread or by several, whichever is faster."""
    found = []
    with ThreadPoolExecutor(threads) as pool:
        for size in sizes:
            a, b = np.ones(size // 8, np.float32), np.ones(size // 8, np.float32)
            took = best(lambda a=a, b=b: np.copyto(b, a), seconds)  # type: ignore[misc]
            if threads > 1:
                parts = list(zip(np.array_split(b, threads), np.array_split(a, threads), strict=True))
                took = min(took, best(lambda parts=parts: list(pool.map(lambda p: np.copyto(*p), parts)), seconds))  # type: ignore[misc]
            found.append((size, size / took / 1e9))
    rates = np.maximum.accumulate([rate for _, rate in found[::-1]])[::-1]  # what a short call takes for itself is no limit
    return list(zip(sizes, rates.tolist(), strict=True))


def fastest_by_threads(function: Callable[[], Any], seconds: float = 0.3) -> float:
    """Seconds with one thread of BLAS or with all, whichever takes less."""
    limited = module("threadpoolctl").threadpool_limits
    found = []
    for threads in sorted({1, get_num_threads()}):
        with limited(threads, user_api="blas"):
            found.append(best(function, seconds))
    return min(found)


def products(extent: int = EXTENT, seconds: float = 0.05) -> dict[str, float]:
    """Gflop/s of a product of square matrices."""
    found = {}
    for dtype in ("float32", "float64"):
        a, b, c = (np.ones((extent, extent), dtype) for _ in range(3))
        took = fastest_by_threads(lambda a=a, b=b, c=c: np.matmul(a, b, out=c), seconds)  # type: ignore[misc]
        found[dtype] = 2 * extent**3 / took / 1e9
    return found
