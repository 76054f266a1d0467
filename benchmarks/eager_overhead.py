"""What one eager operation costs: forward and record on 8x8 float32 arrays, beside PyTorch where it is installed.

    python -m benchmarks.eager_overhead [--rounds 41] [--json out.json]

The two frameworks take turns in short bursts, case by case, so that a busy machine slows both. Times are medians over
the rounds, in nanoseconds; the ratio is the median of the rounds' ratios: below 1, staticgrad is faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import timeit
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import staticgrad as sg

OPERATIONS = (
    "a + b", "a - b", "a * b", "a / b", "a * 2.0", "2.0 * a", "a + 1", "a / 3.0", "1 - a", "a ** 2", "-a", "a @ b",
    "a.abs()", "a.exp()", "a.log()", "a.sqrt()", "a.tanh()", "a.sigmoid()", "a.relu()", "a.clamp(0, 1)",
    "a > 0", "a.sum()", "a.sum(0)", "a.sum(1)", "a.mean()", "a.max()", "a.softmax(-1)", "a.log_softmax(-1)",
    "a.reshape(4, 16)", "a.T", "a.permute(1, 0)", "a.unsqueeze(0)", "a[0]", "a[1:3]", "a[2, 3]", "a[None]",
    "a.detach()", "where(c, a, b)", "maximum(a, b)", "cat(a, b)",
)  # fmt: skip
"""`a` requires grad, `b` and `c` (boolean) do not."""

CHAINS = {
    "50 x (a * b + b)": lambda a, b, t: _repeat(lambda x: x * b + b, a, 25),
    "50 x tanh(a + b)": lambda a, b, t: _repeat(lambda x: (x + b).tanh(), a, 25),
    "50 x a * 0.5 - a": lambda a, b, t: _repeat(lambda x: x * 0.5 - a, a, 25),
    "50 x relu(a @ b)": lambda a, b, t: _repeat(lambda x: (x @ b).relu(), a, 25),
    "20 x (a + row).T": lambda a, b, t: _repeat(lambda x: (x + b[0]).T, a, 10),
    "MLP 8-8-8, mse": lambda a, b, t: (((b @ a).relu() @ a - b) ** 2).mean() + a[0],
}
"""Forward and backward of small programs (each summed to a scalar first)."""


def _repeat(step: Callable[[Any], Any], x: Any, times: int) -> Any:
    for _ in range(times):
        x = step(x)
    return x


class Row(NamedTuple):
    case: str
    ours: float
    torch: float | None
    ratio: float | None


def _ours() -> dict[str, Any]:
    a, b, c = _arrays()
    a, b, c = sg.tensor(a, requires_grad=True), sg.tensor(b), sg.tensor(c)
    return {"a": a, "b": b, "c": c, "where": sg.where, "maximum": sg.maximum, "cat": lambda *xs: sg.concatenate(xs)}


def _torch() -> dict[str, Any] | None:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    a, b, c = map(torch.from_numpy, _arrays())
    return {"a": a.requires_grad_(), "b": b, "c": c, "where": torch.where, "maximum": torch.maximum,
            "cat": lambda *xs: torch.cat(xs)}  # fmt: skip


def _arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(0.5, 1.5, (8, 8)).astype(np.float32) for _ in range(2))
    return a, b / 4, a > 1


def _timers(names: dict[str, Any]) -> dict[str, Callable[[], float]]:
    """Nanoseconds of one execution, per case."""
    timers = {text: _statement(text, names) for text in OPERATIONS}
    for text, program in CHAINS.items():
        timers[text] = _chain(program, names)
    return timers


def _statement(text: str, names: dict[str, Any], number: int = 200) -> Callable[[], float]:
    timer = timeit.Timer(text, "import gc; gc.enable()", globals=names)
    return lambda: timer.timeit(number) / number * 1e9


def _chain(program: Callable[..., Any], names: dict[str, Any], number: int = 2) -> Callable[[], float]:
    a, b = names["a"], names["b"]

    def step() -> None:
        a.grad = None
        program(a, b, names).sum().backward()

    timer = timeit.Timer(step, "import gc; gc.enable()")
    return lambda: timer.timeit(number) / number * 1e9


def measure(rounds: int) -> Iterator[Row]:
    """One row per case, medians over `rounds`."""
    ours, peer = _timers(_ours()), _torch()
    theirs = _timers(peer) if peer is not None else {}
    for case, timer in ours.items():
        mine, other = [], []
        for _ in range(rounds):
            mine.append(timer())
            if case in theirs:
                other.append(theirs[case]())
        if other:
            ratio = statistics.median(a / b for a, b in zip(mine, other, strict=True))
            yield Row(case, statistics.median(mine), statistics.median(other), ratio)
        else:
            yield Row(case, statistics.median(mine), None, None)


def main(argv: list[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--json", help="write the rows to this file")
    options = parser.parse_args(argv)
    rows = []
    print(f"{'nanoseconds':<20}{'staticgrad':>12}{'torch':>12}{'ratio':>8}")
    for row in measure(options.rounds):
        rows.append(row)
        text = f"{row.torch:>12.0f}{row.ratio:>8.2f}" if row.torch is not None else ""
        print(f"{row.case:<20}{row.ours:>12.0f}{text}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump([row._asdict() for row in rows], file, indent=1)
    return rows


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
