"""Schedules that cycle the momentum too: CyclicLR and OneCycleLR."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...errors import ArgumentError
from ...tracing.after_run import at_end_of_run
from ..optimizer import Optimizer
from .decay import LRScheduler, checked, finite, number_of_epochs, per_group, state_of, with_momentum


class _WithMomentum(LRScheduler):
    """A schedule of momentum, or of the first of `betas`, against that of the rate."""

    cycle_momentum: bool

    def _set_momenta(self, optimizer: Any, cycle_momentum: bool, base: Any, most: Any, start: bool) -> list[list[float]]:
        """The bounds per group, and groups that start at the upper one. Raises ArgumentError for an optimizer without
        momentum."""
        self.cycle_momentum = cycle_momentum
        if not cycle_momentum:
            return []
        if not {"momentum", "betas"} & checked(optimizer).defaults.keys():
            raise ArgumentError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        bounds = [per_group("base_momentum", optimizer, base), per_group("max_momentum", optimizer, most)]
        if start:
            for a, b, group in zip(*bounds, optimizer.param_groups, strict=True):
                group.update({**with_momentum(group, b), "max_momentum": b, "base_momentum": a})
        return bounds


class CyclicLR(_WithMomentum):
    """The rate up from base_lr to max_lr in step_size_up steps and down again, over and over; momentum the other way round.

    mode: "triangular", "triangular2" (each cycle half as high) or "exp_range" (times gamma^step); or scale_fn, a function of
    the cycle's number or, with scale_mode "iterations", of the step's. Raises ArgumentError.
    Source: Smith, "Cyclical learning rates for training neural networks", WACV 2017.
    """

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
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        bounds = self._set_momenta(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch == -1)
        if bounds:
            self.base_momentums, self.max_momentums = bounds
        if last_epoch == -1:
            for lr, group in zip(bases, optimizer.param_groups, strict=True):
                group["lr"] = lr
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, from its number or that of the step."""
        if self._scale_fn_custom is not None:
            height: float = self._scale_fn_custom(x)
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
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def momenta(self) -> list[float] | None:
        if not self.cycle_momentum:
            return None
        height = self._height()
        return [b - (b - a) * height for a, b in zip(self.base_momentums, self.max_momentums, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """As of other schedules; of a callable object `scale_fn` the attributes, of a function None."""
        return super().state_dict() | {"_scale_fn_custom": state_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on as the schedule whose state this is, with the function of this one."""
        rest = dict(state_dict)
        if (values := rest.pop("_scale_fn_custom", None)) is not None:
            vars(self._scale_fn_custom).update(values)
        super().load_state_dict(rest)


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
        self._anneal_func_type = _anneal_named(anneal_strategy)
        end, first = self.total_steps - 1, float(pct_start * self.total_steps) - 1
        rates = ["initial_lr", "max_lr", "initial_lr", "min_lr"] if three_phase else ["initial_lr", "max_lr", "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"][: len(rates)]
        ends = [0.0, first, float(2 * pct_start * self.total_steps) - 2, end] if three_phase else [0.0, first, end]
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": rates[i],
                "end_lr": rates[i + 1],
                "start_momentum": momenta[i],
                "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate(ends[1:])
        ]
        most = per_group("max_lr", optimizer, max_lr)
        self._set_momenta(optimizer, cycle_momentum, base_momentum, max_momentum, last_epoch == -1)
        if last_epoch == -1:
            for lr, group in zip(most, optimizer.param_groups, strict=True):
                initial = lr / div_factor
                group.update({"initial_lr": initial, "max_lr": lr, "min_lr": initial / final_div_factor})
        super().__init__(optimizer, last_epoch)

    def _now(self, what: str) -> list[float]:
        """The rates or momenta of the present step. what: "lr" or "momentum"."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ArgumentError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        phases = self._schedule_phases
        number = next((i for i, phase in enumerate(phases) if step <= phase["end_step"]), len(phases) - 1)
        phase, begin = phases[number], phases[number - 1]["end_step"] if number else 0.0
        share = (step - begin) / (phase["end_step"] - begin)
        anneal = ANNEAL[self._anneal_func_type]
        first, last = phase[f"start_{what}"], phase[f"end_{what}"]
        return [anneal(group[first], group[last], share) for group in self.optimizer.param_groups]

    def get_lr(self) -> list[float]:
        return self._now("lr")

    def momenta(self) -> list[float] | None:
        return self._now("momentum") if self.cycle_momentum else None


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


# cosine annealing, with and without restarts --------------------------------------------------------------------------


class CosineAnnealingLR(LRScheduler):
    """From the initial rate down to `eta_min` in `T_max` epochs along half a cosine, and up again.

    Unchained it is eta_min + (base - eta_min) (1 + cos(pi epoch / T_max)) / 2.
    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017, equation 5.

    Examples:
        >>> opt = optim.SGD([sg.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = optim.lr_scheduler.CosineAnnealingLR(opt, T_max=2)
        >>> for _ in range(3):
        ...     print(f"{opt.param_groups[0]['lr']:.2f}")
        ...     opt.step()
        ...     schedule.step()
        1.00
        0.50
        0.00
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max = number_of_epochs("CosineAnnealingLR: T_max", T_max)
        self.eta_min = finite("CosineAnnealingLR: eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, span, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._present()
        if (epoch - 1 - span) % (2 * span) == 0:  # leaving the bottom: there is no ratio to it
            rise = (1 - math.cos(math.pi / span)) / 2
            return [lr + (base - low) * rise for lr, base in zip(self._present(), self.base_lrs, strict=True)]
        ratio = (1 + math.cos(math.pi * epoch / span)) / (1 + math.cos(math.pi * (epoch - 1) / span))
        return [ratio * (lr - low) + low for lr in self._present()]

    def closed_form(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """From the initial rate down to eta_min along half a cosine in T_0 epochs, again in T_0 T_mult, and so on.

    `step(epoch)` takes a fraction of an epoch as well. Raises ArgumentError for a T_0 or T_mult that is no integer from 1.
    Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ArgumentError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = finite("CosineAnnealingWarmRestarts: eta_min", eta_min)
        self.T_cur: float = last_epoch
        if last_epoch >= 0:
            self.T_cur, self.T_i = self._place(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    @at_end_of_run
    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`. Raises ArgumentError for a negative one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        before = self.T_cur, self.T_i
        if epoch is None:
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        elif epoch < 0:
            raise ArgumentError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self.T_cur, self.T_i = self._place(epoch)
        try:
            super().step(None if epoch is None else math.floor(epoch))
        except BaseException:
            self.T_cur, self.T_i = before
            raise

    def _place(self, epoch: float) -> tuple[float, int]:
        """(epochs since the last restart, epochs until the next one)."""
        if epoch < self.T_0:
            return epoch, self.T_0
        if self.T_mult == 1:
            return epoch % self.T_0, self.T_i
        restarts = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        power = self.T_mult**restarts
        return epoch - self.T_0 * (power - 1) / (self.T_mult - 1), self.T_0 * power
