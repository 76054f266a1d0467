"""A program on both libraries in one process: agreement, cuts, and times that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .registry import PROGRAMS, Program, Training, library

STEPS = 10


class Outcome(NamedTuple):
    """differs: the largest relative difference of the losses of compiled steps from eager ones, after the change of
    hyperparameters too; peer: of eager steps from PyTorch's, where no random numbers are drawn. ours, theirs: seconds a step,
    the fastest block; theirs for the better number of threads."""

    name: str
    differs: float
    peer: float
    cuts: int
    traces: int
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times faster than PyTorch's eager step."""
        return self.theirs / self.ours


def losses(program: Program, name: str, compiled: bool = False, steps: int = STEPS) -> tuple[np.ndarray, Training]:
    """What the first steps return, with the change of hyperparameters after half of them."""
    lib = library(name, compiled)
    lib.torch.manual_seed(0)
    training = program.make(lib)
    rows = []
    for i in range(steps):
        if i == steps // 2:
            training.change()
        result = training.step(*training.batch(i))
        parts = result if isinstance(result, tuple) else (result,)
        rows.append([part if isinstance(part, float) else part.item() for part in parts])
    return np.array(rows), training


def difference(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.max(np.abs(a - b) / (1 + np.abs(b))))


def measured(name: str, seconds: float = 0.6, time_it: bool = True) -> Outcome:
    import torch

    program = PROGRAMS[name]
    torch.set_num_threads(1)
    theirs, reference = losses(program, "torch")
    eager, _ = losses(program, "staticgrad")
    compiled, training = losses(program, "staticgrad", compiled=True)
    peer = float("nan") if program.random else difference(eager, theirs)
    step: Any = training.step
    ours = best = float("nan")
    if time_it:
        for i in range(13):
            step(*training.batch(i))
        ours, best = _alternating(training, reference, torch.set_num_threads, seconds)
    segments = step.segmented
    cuts = 0 if segments is None else sum(segment.where is not None for segment in segments.roads.segments)
    return Outcome(name, difference(compiled, eager), peer, cuts, step.traces, ours, best)


def _alternating(ours: Training, theirs: Training, threads: Callable[[int], None], seconds: float) -> tuple[float, float]:
    """Seconds a step of the fastest block of each, the peer's with one thread and with two."""
    best = {0: float("inf"), 1: float("inf"), 2: float("inf")}
    batches = {0: [ours.batch(i) for i in range(4)], 1: [theirs.batch(i) for i in range(4)]}
    batches[2] = batches[1]
    steps = {0: ours.step, 1: theirs.step, 2: theirs.step}
    for who, step in steps.items():
        for batch in 2 * batches[who]:  # tensors that have been passed before may have gradients
            step(*batch)
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds:
        for who, step in steps.items():
            if who:
                threads(who)
            step(*batches[who][0])
            count, start = 0, time.perf_counter()
            while time.perf_counter() < start + 0.02 or count < 4:
                step(*batches[who][count % 4])
                count += 1
            best[who] = min(best[who], (time.perf_counter() - start) / count)
    return best[0], min(best[1], best[2])
