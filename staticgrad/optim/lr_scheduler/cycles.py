"""Schedules that cycle the momentum too: CyclicLR and OneCycleLR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, checked, finite, number_of_epochs, per_group, with_momentum


class _WithMomentum(LRScheduler):
    """A schedule of momentum, or of the first of `betas`, against that of the rate."""

    cycle_momentum: bool

    def _set_bounds(self, optimizer: Any, cycle_momentum: bool, base: Any, most: Any) -> None:
        """The bounds per group. Raises ArgumentError for an optimizer without momentum."""
        self.cycle_momentum = cycle_momentum
        if not cycle_momentum:
            return
        if not {"momentum", "betas"} & checked(optimizer).defaults.keys():
            raise ArgumentError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.base_momentums = per_group("base_momentum", optimizer, base)
        self.max_momentums = per_group("max_momentum", optimizer, most)

    def _start_momentum(self, optimizer: Optimizer) -> None:
        """Groups start at the upper bound."""
        if self.cycle_momentum:
            for a, b, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups, strict=True):
                group.update({**with_momentum(group, b), "max_momentum": b, "base_momentum": a})


class CyclicLR(_WithMomentum):
    """The rate up from base_lr to max_lr in step_size_up steps and down again, over and over; momentum the other way round.

    mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (times gamma^step); or scale_fn, a function of
    the cycle's number or, with scale_mode "iterations", of the step's. Raises ArgumentError.
    Source: Smith, "Cyclical learning rates for training neural networks", WACV 2017.
    """

    functions = ("scale_fn_given",)

    def __init__(
        self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float], step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: float = 0.8, max_momentum: float = 0.9, last_epoch: int = -1,
    ):  # fmt: skip
        bases = per_group("base_lr", optimizer, base_lr)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentError("mode is invalid and scale_fn is None", f"mode is {mode!r}")
        up = float(number_of_epochs("CyclicLR: step_size_up", step_size_up))
        self.total_size = up + (up if step_size_down is None else float(finite("CyclicLR: step_size_down", step_size_down)))
        self.step_ratio = up / self.total_size
        self.mode, self.gamma, self.scale_fn_given = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self._set_bounds(optimizer, cycle_momentum, base_momentum, max_momentum)
        if last_epoch == -1:
            for lr, group in zip(bases, optimizer.param_groups, strict=True):
                group["lr"] = lr
            self._start_momentum(optimizer)
        self.cycle_base_lrs = bases
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, from its number or that of the step."""
        if self.scale_fn_given is not None:
            height: float = self.scale_fn_given(x)
        elif self.mode == "exp_range":
            height = self.gamma**x
        else:
            height = {"triangular": 1.0, "triangular2": 1 / 2.0 ** (x - 1)}[self.mode]
        return height

    def _height(self) -> float:
        """Of the present step, times the scale: 0 at the base."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        return height * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)

    def get_lr(self) -> list[float]:
        height = self._height()
        return [low + (high - low) * height for low, high in zip(self.cycle_base_lrs, self.max_lrs, strict=True)]

    def momenta(self) -> list[float] | None:
        if not self.cycle_momentum:
            return None
        height = self._height()
        return [b - (b - a) * height for a, b in zip(self.base_momentums, self.max_momentums, strict=True)]


class OneCycleLR(_WithMomentum):
    """One cycle of `total_steps` (or epochs * steps_per_epoch) steps: up from max_lr / div_factor to max_lr in the share
    pct_start of them, down to the initial rate / final_div_factor in the rest; momentum the other way round.

    three_phase: down to the initial rate symmetrically first, then to the end. Raises ArgumentError, also for a step beyond
    the last. Source: Smith and Topin, "Super-convergence", 2018.
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos", cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ):  # fmt: skip
        checked(optimizer)
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ArgumentError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        counts = {"total_steps": total_steps} if total_steps is not None else {
            "epochs": epochs, "steps_per_epoch": steps_per_epoch
        }  # fmt: skip
        for name, value in counts.items():
            if not isinstance(value, int) or value <= 0:
                raise ArgumentError(f"Expected positive integer {name}, but got {value}")
        self.total_steps = math.prod(value for value in counts.values() if value is not None)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ArgumentError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self.anneal = _anneal_named(anneal_strategy)
        end, first = self.total_steps - 1, float(pct_start * self.total_steps) - 1
        rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"] if three_phase else ["initial_lr", "max_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"][: len(rates)]
        ends = [0.0, first, float(2 * pct_start * self.total_steps) - 2, end] if three_phase else [0.0, first, end]
        self.phases = list(zip(ends, rates, momenta, strict=True))
        """(step, name of the rate, name of the momentum) where phases begin and end."""
        most = per_group("max_lr", optimizer, max_lr)
        self._set_bounds(optimizer, cycle_momentum, base_momentum, max_momentum)
        if last_epoch == -1:
            for lr, group in zip(most, optimizer.param_groups, strict=True):
                initial = lr / div_factor
                group.update({"initial_lr": initial, "max_lr": lr, "min_lr": initial / final_div_factor})
            self._start_momentum(optimizer)
        super().__init__(optimizer, last_epoch)

    def _now(self, column: int) -> list[float]:
        """The rates (1) or momenta (2) of the present step."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        pairs = list(zip(self.phases, self.phases[1:], strict=False))
        begin, end = next((pair for pair in pairs if step <= pair[1][0]), pairs[-1])
        share = (step - begin[0]) / (end[0] - begin[0])
        anneal = ANNEAL[self.anneal]
        first, last = str(begin[column]), str(end[column])
        return [anneal(group[first], group[last], share) for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        return self._now(1)

    def momenta(self) -> list[float] | None:
        return self._now(2) if self.cycle_momentum else None


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _straight(start: float, end: float, share: float) -> float:
    return (end - start) * min(share, 1.0) + start  # a step after the last one leaves the end as it is


ANNEAL = {"cos": _cosine, "linear": _straight}
"""From one value to another, by the share of the way."""


def _anneal_named(name: str) -> str:
    if name not in ANNEAL:
        raise ArgumentError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {name}")
    return name
