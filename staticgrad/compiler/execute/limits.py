"""The limits of the machine: how fast it multiplies, and how fast it moves bytes that fit into each level of memory.

They are the roof under which kernels are judged: a kernel of f operations on b bytes takes at least the longer of
f / rate and b / bandwidth. Source: Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures", Communications of the ACM 52 (2009). They are measured with NumPy, and kept in the kernel cache.
"""

from __future__ import annotations

import json
import platform
import time
from bisect import bisect_left
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...base.signals import module
from ..backend import disk_cache, object_code
from ..codegen.cost import Cost
from ..runtime.threads import get_num_threads

SIZES = (1 << 15, 1 << 18, 1 << 22, 1 << 25)
"""Bytes of the arrays whose copies are timed: two of them fit into a level-1, level-2 or level-3 cache, or into none."""
SMALL = 1 << 16
"""Bytes of copies from whose time that of the call is subtracted."""
SIDE = 384
"""Rows and columns of the product whose rate is measured."""
RELIABLE = 1.0
"""Microseconds from which the time of an instruction is more than the noise of the clock."""
SECONDS = 0.03
"""How long each measurement is repeated."""


def cpu_name() -> str:
    """The name of this machine's CPU, as its maker has it."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class Limits(NamedTuple):
    """Rates are per second. `flops`: of products in float32, `doubles`: in float64; `bandwidth`: (bytes touched, bytes per
    second) of copies, from small to large."""

    flops: float
    bandwidth: tuple[tuple[int, float], ...]
    doubles: float = 0.0

    def bytes_per_second(self, size: int) -> float:
        """The bandwidth of copies that touch so many bytes."""
        at = bisect_left([touched for touched, _ in self.bandwidth], size)
        return self.bandwidth[min(at, len(self.bandwidth) - 1)][1]

    def least_us(self, cost: Cost, double: bool = False) -> float:
        """Microseconds below which nothing of this cost can be. double: it computes in float64."""
        flops = self.doubles if double and self.doubles else self.flops
        return 1e6 * max(cost.flops / flops, cost.bytes / self.bytes_per_second(cost.bytes))

    def raised(self, cost: Cost, us: float) -> Limits:
        """The limits where something of this cost took so long: a limit that was exceeded had been measured under load. Times
        that are not reliable raise nothing."""
        least = self.least_us(cost)
        if not RELIABLE <= us < least:
            return self
        level = self.bytes_per_second(cost.bytes)
        flops, speed = max(self.flops, 1e6 * cost.flops / us), max(level, 1e6 * cost.bytes / us)
        raised = tuple((size, speed if found == level else found) for size, found in self.bandwidth)
        return self._replace(flops=flops, bandwidth=raised)

    def __str__(self) -> str:
        return (
            f"limits of this machine: {self.flops / 1e9:.0f} Gflop/s in float32, {self.doubles / 1e9:.0f} in float64; copies "
            f"{self.bandwidth[0][1] / 1e9:.0f} GB/s in the first cache, {self.bandwidth[-1][1] / 1e9:.0f} GB/s in memory"
        )


@cache
def limits() -> Limits:
    """The limits of this machine, by one thread or by as many as plans use. Measured once per machine, in half a second."""
    threads = get_num_threads()
    key = f"{object_code.tools('llvm')} {threads} {SIZES} {SIDE}"
    content, _ = disk_cache.kept(f"limits-{threads}.json", key, lambda: json.dumps(_measured(threads)).encode())
    flops, copies, doubles = json.loads(content)
    return Limits(flops, tuple((size, speed) for size, speed in copies), doubles)


def _measured(threads: int) -> Limits:
    with ThreadPoolExecutor(threads) as pool:
        found = tuple((2 * size, bandwidth(size, threads if size >= SIZES[-2] else 1, pool)) for size in SIZES)
    flops, doubles = (max(rate(1, dtype), rate(threads, dtype)) for dtype in ("float32", "float64"))
    return Limits(flops, found, doubles)


def rate(threads: int, dtype: str, side: int = SIDE) -> float:
    """Operations per second of a product of matrices, by default in the cache. OpenBLAS for arm64 computes with lanes that hold
    nothing, of which NumPy warns."""
    a = np.ones((side, side), dtype)
    out = np.empty_like(a)
    with module("threadpoolctl").threadpool_limits(threads, user_api="blas"), np.errstate(all="ignore"):
        return 2 * side**3 / best(lambda: np.matmul(a, a, out=out))


def bandwidth(size: int, threads: int, pool: ThreadPoolExecutor) -> float:
    """Bytes read and written per second by copies of so many bytes."""
    source, target, few = np.ones(size // 4, np.float32), np.ones(size // 4, np.float32), np.empty(1, np.float32)
    cuts = [slice(i * len(source) // threads, (i + 1) * len(source) // threads) for i in range(threads)]

    def copy(cut: slice) -> None:
        np.copyto(target[cut], source[cut])

    call = best(lambda: np.copyto(few, few)) if size <= SMALL else 0.0  # small copies mostly consist of the call
    took = best(lambda: np.copyto(target, source)) - call
    if threads > 1:
        took = min(took, best(lambda: list(pool.map(copy, cuts))))
    return 2 * size / max(took, 1e-9)


def best(work: Callable[[], Any], seconds: float = SECONDS) -> float:
    """Seconds of the fastest of repeated calls: a limit is what is reached undisturbed."""
    work()
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - begin)
    return fastest
