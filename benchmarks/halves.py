"""Floats of 16 bits beside float32: what their storage saves in steps that wait for memory.

    python -m benchmarks.halves [--sizes 1e5 1e6 1e7 1e8] [--seconds 0.5] [--threads 1] [--json halves.json] [--markdown]

A size is a number of elements: of each operand of `elementwise`, relu(a * x + y); of the table of `lookup`, of which one row in
eight is read and summed; of the weights of `lstm`, a step of one sample through layers of 1,024 units, at least one. Each is a
compiled function. The dtypes take turns in short bursts; times are the least over the bursts, in microseconds. A ratio is the
time of float32 divided by that of the dtype. All sizes take some 40 seconds on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg

from .timing import burst

DTYPES = ("float32", "bfloat16", "float16")
ROUNDS, WIDTH, UNITS = 5, 64, 1024
"""Bursts of each step; elements of a row of a table; of a layer's state."""


class Row(NamedTuple):
    """Microseconds of one step, by dtype."""

    step: str
    size: int
    times: dict[str, float]

    def ratio(self, dtype: str) -> float:
        return self.times["float32"] / self.times[dtype]


def drawn(size: int, dtype: str, *shape: int) -> Any:
    """Numbers around 0; a block of random ones, repeated."""
    block = np.random.default_rng(0).standard_normal(min(size, 1 << 20)).astype(np.float32) * np.float32(0.05)
    return sg.tensor(np.resize(block, shape or (size,))).to(getattr(sg, dtype))


def elementwise(size: int, dtype: str) -> Callable[[], Any]:
    step = sg.compile(lambda a, x, y: sg.relu(a * x + y))
    given = [drawn(size, dtype) for _ in range(3)]
    return lambda: step(*given)


def lookup(size: int, dtype: str) -> Callable[[], Any]:
    rows = max(size // WIDTH, 1)
    table = drawn(size, dtype, rows, WIDTH)
    index = sg.tensor(np.random.default_rng(1).integers(0, rows, (max(rows // 8, 1),)))
    step = sg.compile(lambda table, index: sg.nn.functional.embedding(index, table).sum(0))
    return lambda: step(table, index)


def lstm(size: int, dtype: str) -> Callable[[], Any]:
    layers = max(round(size / (8 * UNITS * UNITS)), 1)
    weights = [drawn(4 * UNITS * UNITS, dtype, 4 * UNITS, UNITS) for _ in range(2 * layers)]

    def forward(x: Any, *weights: Any) -> Any:
        for w, u in zip(weights[::2], weights[1::2], strict=True):
            i, f, g, o = (w @ x + u @ x).reshape(4, UNITS)
            x = sg.sigmoid(o) * sg.tanh(sg.sigmoid(i) * sg.tanh(g) + sg.sigmoid(f) * x)
        return x

    step, x = sg.compile(forward), drawn(UNITS, dtype)
    return lambda: step(x, *weights)


STEPS: dict[str, Callable[[int, str], Callable[[], Any]]] = {"elementwise": elementwise, "lookup": lookup, "lstm": lstm}


def measure(step: str, size: int, seconds: float) -> Row:
    """seconds: of each dtype, in all rounds together."""
    jobs = {dtype: STEPS[step](size, dtype) for dtype in DTYPES}
    for job in jobs.values():
        job()
    sg.wait_for_kernels()
    best = dict.fromkeys(jobs, math.inf)
    for _ in range(ROUNDS):
        for dtype, job in jobs.items():
            best[dtype] = min(best[dtype], burst(job, seconds / ROUNDS))
    return Row(step, size, best)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", nargs="+", choices=[*STEPS], default=[*STEPS])
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e5, 1e6, 1e7, 1e8])
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="a table for the documentation")
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args(argv)
    sg.set_num_threads(options.threads)
    line = "| {:<12} | {:>11} | {:>12} | {:>9} | {:>9} |" if options.markdown else "{:<12}{:>12}{:>14}{:>11}{:>11}"
    print(line.format("step", "elements", "float32, us", *DTYPES[1:]))
    if options.markdown:
        print("|---|---:|---:|---:|---:|")
    rows = []
    for step in options.steps:
        for size in map(int, options.sizes):
            rows.append(row := measure(step, size, options.seconds))
            ratios = [f"{row.ratio(dtype):.2f}" for dtype in DTYPES[1:]]
            print(line.format(step, f"{size:,}", f"{row.times['float32']:,.1f}", *ratios), flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([row._asdict() for row in rows], file, indent=1)
    return rows


if __name__ == "__main__":
    main()
