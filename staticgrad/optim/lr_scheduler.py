"""Learning-rate schedules: each `step()` writes `group["lr"]` and nothing else, so no compiled step is compiled again.

Formulas and names are PyTorch's (`torch.optim.lr_scheduler`). Those that scale the present rate can be chained.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..errors import ArgumentError
from .checks import is_one_number
from .optimizer import Optimizer


class LRScheduler:
    """Base: `get_lr` gives the rates of the groups for the epoch `last_epoch`, which starts at 0.

    last_epoch: -1 to begin; otherwise the epoch at which to go on, for groups that have an "initial_lr" and the rate of
    the next epoch, as they had when the optimizer was saved. Raises ArgumentError for an object that is no optimizer, or a
    missing "initial_lr".
    """

    begun = False
    """The first `step`, which `__init__` takes, was taken."""

    functions: ClassVar[tuple[str, ...]] = ()
    """Attributes that are functions of the user's, which no state dict holds."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        self.optimizer = _checked(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                if last_epoch != -1:
                    raise ArgumentError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        "last_epoch >= 0."
                    )
                group["initial_lr"] = group["lr"]
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._begin()

    def _begin(self) -> None:
        """The first step, to the rates of epoch 0 (or of the one after `last_epoch`)."""
        self.begun = False
        self._step_count = 0
        self.step()
        self.begun = True

    def get_lr(self) -> list[float]:
        """The new rates, one per group."""
        raise NotImplementedError

    def closed_form(self) -> list[float] | None:
        """The rates of `last_epoch` by themselves; None where there are only those that scale the present ones."""
        return None

    def momenta(self) -> list[float] | None:
        """The new momenta, one per group; None for a schedule that leaves them alone."""
        return None

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, and write its rates. Raises ArgumentError, before anything is changed."""
        before = self.last_epoch
        self.last_epoch = before + 1 if epoch is None else int(epoch)
        try:
            rates = self.closed_form() if epoch is not None else None
            rates = self.get_lr() if rates is None else rates
            found = self.momenta()
            groups = self.optimizer.param_groups
            written: list[dict[str, Any]] = [{"lr": lr} for lr in rates]
            for values, group, momentum in zip(written, groups, found or (), strict=False):
                values.update(_with_momentum(group, momentum))
            for group, values in zip(groups, written, strict=True):
                group.check(values)
        except BaseException:
            self.last_epoch = before
            raise
        for group, values in zip(groups, written, strict=True):
            group.update(values)
        self._step_count += 1
        self._last_lr = self._present()

    def get_last_lr(self) -> list[float]:
        """The rates as they are."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All of it but the optimizer and functions. The rates themselves are in the optimizer's groups."""
        left_out = {"optimizer", *self.functions}
        return {key: value for key, value in self.__dict__.items() if key not in left_out}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on as the schedule whose state this is."""
        self.__dict__.update(state_dict)

    def _present(self, factor: float = 1.0) -> list[float]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]


def _number(what: str, value: Any) -> Any:
    if not is_one_number(value):
        raise ArgumentError(f"{what} has to be a number, got {value!r}")
    if not math.isfinite(value):
        raise ArgumentError(f"{what} has to be finite, got {value!r}")
    return value


def _epochs(what: str, value: Any) -> Any:
    if not _number(what, value) > 0:
        raise ArgumentError(f"{what} is a number of epochs, above 0, got {value!r}")
    return value


def _checked(optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def _with_momentum(group: Mapping[str, Any], momentum: float) -> dict[str, Any]:
    """What a group's momentum is written as: the first of `betas` where there is no `momentum`."""
    return {"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum}


def _each(name: str, optimizer: Any, value: Any) -> list[Any]:
    """One number per group, from one for all or several. Raises ArgumentError."""
    groups = len(_checked(optimizer).param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ArgumentError(f"{name} must have the same length as optimizer.param_groups: {len(values)} and {groups}")
    return [_number(name, v) for v in values]


def _between(what: str, value: Any, low: float, high: float) -> Any:
    if not low <= _number(what, value) <= high:
        raise ArgumentError(f"{what} has to be between {low} and {high}, got {value!r}")
    return value


class _Functions(LRScheduler):
    """`lr_lambda`: one function of the epoch, or one per group. Raises ArgumentError for another number."""

    functions = ("lr_lambdas",)

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        groups = len(optimizer.param_groups) if isinstance(optimizer, Optimizer) else 0
        for fn in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(fn):
                raise ArgumentError(f"{type(self).__name__}: lr_lambda has to be a function of the epoch, got {fn!r}")
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups and isinstance(optimizer, Optimizer):
            raise ArgumentError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)


class LambdaLR(_Functions):
    """initial rate * lr_lambda(epoch); one function, or one per group. Raises ArgumentError for another number."""

    def get_lr(self) -> list[float]:
        return [base * fn(self.last_epoch) for base, fn in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_Functions):
    """The rate times lr_lambda(epoch); one function, or one per group. Raises ArgumentError for another number."""

    def get_lr(self) -> list[float]:
        if not self.begun:
            return self._present()
        return [lr * fn(self.last_epoch) for lr, fn in zip(self._present(), self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate times gamma every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = _epochs("StepLR: step_size", step_size), _number("StepLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = self.begun and self.last_epoch % self.step_size == 0
        return self._present(self.gamma if due else 1.0)

    def closed_form(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each of `milestones`, twice at one that is named twice."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones = Counter(milestones)
        self.gamma = _number("MultiStepLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = self.begun or self.last_epoch == 0
        return self._present(self.gamma ** self.milestones[self.last_epoch] if due else 1.0)

    def closed_form(self) -> list[float]:
        passed = sum(n for epoch, n in self.milestones.items() if epoch <= self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` for `total_iters` epochs. Raises ArgumentError for a factor outside [0, 1]."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= _number("ConstantLR: factor", factor) <= 1:
            raise ArgumentError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._present(self.factor)
        return self._present(1.0 / self.factor if self.last_epoch == self.total_iters else 1.0)

    def closed_form(self) -> list[float]:
        return [base * (self.factor if self.last_epoch < self.total_iters else 1.0) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The rate times a factor that goes from start_factor to end_factor in `total_iters` epochs.

    Raises ArgumentError for a start_factor outside (0, 1] and an end_factor outside [0, 1].
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ):  # fmt: skip
        if not 0 < _number("LinearLR: start_factor", start_factor) <= 1:
            raise ArgumentError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= _number("LinearLR: end_factor", end_factor) <= 1:
            raise ArgumentError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._present(self.start_factor)
        if not self.begun or self.last_epoch > self.total_iters:
            return self._present()
        rise = self.end_factor - self.start_factor
        return self._present(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def closed_form(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters)^power, down to 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, _number("PolynomialLR: power", power)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if not self.begun or self.last_epoch > self.total_iters:
            return self._present()
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._present((left / before) ** self.power)

    def closed_form(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1.0 - share) ** self.power for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = _number("ExponentialLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._present(self.gamma if self.begun else 1.0)

    def closed_form(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


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
        self.T_max = _epochs("CosineAnnealingLR: T_max", T_max)
        self.eta_min = _number("CosineAnnealingLR: eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch, span, low = self.last_epoch, self.T_max, self.eta_min
        if not self.begun:
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
        self.eta_min = _number("CosineAnnealingWarmRestarts: eta_min", eta_min)
        self.T_cur: float = last_epoch
        if last_epoch >= 0:
            self.T_cur, self.T_i = self._place(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

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


class _WithMomentum(LRScheduler):
    """A schedule of momentum, or of the first of `betas`, against that of the rate."""

    cycle_momentum: bool

    def _set_bounds(self, optimizer: Any, cycle_momentum: bool, base: Any, most: Any) -> None:
        """The bounds per group. Raises ArgumentError for an optimizer without momentum."""
        self.cycle_momentum = cycle_momentum
        if not cycle_momentum:
            return
        if not {"momentum", "betas"} & _checked(optimizer).defaults.keys():
            raise ArgumentError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.base_momentums = _each("base_momentum", optimizer, base)
        self.max_momentums = _each("max_momentum", optimizer, most)

    def _start_momentum(self, optimizer: Optimizer) -> None:
        """Groups start at the upper bound."""
        if self.cycle_momentum:
            for a, b, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups, strict=True):
                group.update({**_with_momentum(group, b), "max_momentum": b, "base_momentum": a})


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
        bases = _each("base_lr", optimizer, base_lr)
        self.max_lrs = _each("max_lr", optimizer, max_lr)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ArgumentError("mode is invalid and scale_fn is None", f"mode is {mode!r}")
        up = float(_epochs("CyclicLR: step_size_up", step_size_up))
        self.total_size = up + (up if step_size_down is None else float(_number("CyclicLR: step_size_down", step_size_down)))
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
        _checked(optimizer)
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
        most = _each("max_lr", optimizer, max_lr)
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


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` once `patience` epochs in a row brought no better metric: `step(metric)` after each epoch.

    mode: "min" or "max" of the metric. Better is by more than `threshold`, of the best ("rel") or by itself ("abs").
    cooldown: epochs after a change that are not counted; min_lr: bound, for all groups or each; eps: smaller changes are not
    made. Raises ArgumentError.
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: list[float] | float = 0, eps: float = 1e-8,
    ):  # fmt: skip
        if factor >= 1.0:
            raise ArgumentError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ArgumentError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = _checked(optimizer)
        self.min_lrs = _each("min_lr", optimizer, min_lr)
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.last_epoch = 0
        self.best = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = self._present()

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take in the metric of an epoch, a number or a tensor of one."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._present()

    @property
    def in_cooldown(self) -> bool:
        """Whether the rate was changed less than `cooldown` epochs ago."""
        return self.cooldown_counter > 0

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            self.min_lrs += [self.min_lrs[-1]] * (len(groups) - len(self.min_lrs))
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                group["lr"] = new

    def _better(self, value: float) -> bool:
        sign = 1.0 if self.mode == "min" else -1.0
        margin = sign * self.threshold
        bar = self.best * (1.0 - margin) if self.threshold_mode == "rel" else self.best - margin
        return sign * value < sign * bar


class _Several(LRScheduler):
    """Schedules of one optimizer. Raises ArgumentError for none, one of another optimizer, and ReduceLROnPlateau."""

    def _check_schedulers(self, optimizer: Any, schedulers: Any) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ArgumentError(f"{name} expects at least one scheduler, but got no scheduler.")
        for i, one in enumerate(schedulers):
            if isinstance(one, ReduceLROnPlateau):
                raise ArgumentError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified "
                    f"when calling `step`, but got one at index {i} in the given schedulers sequence."
                )
            if getattr(one, "optimizer", None) is not optimizer:
                raise ArgumentError(f"{name} expects all schedulers to belong to the same optimizer, unlike that at index {i}")
        self._schedulers = schedulers
        self.optimizer = optimizer

    def state_dict(self) -> dict[str, Any]:
        """The state, with those of the schedules under "_schedulers"."""
        return {**super().state_dict(), "_schedulers": [one.state_dict() for one in self._schedulers]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on as the schedules whose state this is."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for one, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            one.load_state_dict(state)


class SequentialLR(_Several):
    """One schedule after another: the next one from each milestone on, where it begins at its epoch 0.

    Raises ArgumentError unless there is one milestone less than schedules, and as all schedules of several do.
    """

    def __init__(self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1):
        self._check_schedulers(_checked(optimizer), schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        self._undo(self)
        self._schedulers[bisect_right(milestones, 0)]._begin()
        self._last_lr = self._present()

    def _undo(self, schedule: Any) -> None:
        """Take back the first step of each schedule, which its own construction took."""
        if hasattr(schedule, "_schedulers"):
            for one in schedule._schedulers:
                self._undo(one)
        else:
            schedule.last_epoch -= 1

    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        starts = place > 0 and self._milestones[place - 1] == self.last_epoch
        self._schedulers[place].step(0) if starts else self._schedulers[place].step()
        self._last_lr = self._present()


class ChainedScheduler(_Several):
    """All schedules at each step, one scaling what the other left. Raises ArgumentError as schedules of several do."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        own = getattr(schedulers[0], "optimizer", None) if schedulers and optimizer is None else optimizer
        self._check_schedulers(own, schedulers)
        self._last_lr = self._present()

    def step(self, epoch: float | None = None) -> None:
        """Take a step of each."""
        for one in self._schedulers:
            one.step()
        self._last_lr = self._present()


_LRScheduler = LRScheduler
"""The name of PyTorch 1.x."""
