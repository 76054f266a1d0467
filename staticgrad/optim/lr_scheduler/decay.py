"""Schedules that are functions of the epoch, multiply the rate by factors, end after some epochs, or are made of others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, ClassVar

from ...errors import ArgumentError
from ...ops.operators import warn_former
from ...tracing.after_run import at_end_of_run
from ..groups import is_one_number
from ..optimizer import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiplicativeLR", "MultiStepLR",
    "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

# the base of all schedules --------------------------------------------------------------------------------------------

# The base of all schedules, and checks of their arguments.


class LRScheduler:
    """Base: `get_lr` gives the rates of the groups for the epoch `last_epoch`, which starts at 0.

    last_epoch: -1 to begin; otherwise the epoch at which to go on, for groups that have an "initial_lr" and the rate of
    the next epoch, as they had when the optimizer was saved. Raises ArgumentError for an object that is no optimizer, or a
    missing "initial_lr".
    """

    _is_initial = False
    """During the first `step`, which `__init__` takes. This name and the next are PyTorch's, which state dicts have."""

    _get_lr_called_within_step = False
    """While `step` asks `get_lr`, which schedules of users look at."""

    between_runs: ClassVar[frozenset[str]] = frozenset({"get_lr", "get_last_lr", "state_dict", "load_state_dict"})
    """Methods that cut a trace: what they read and write changes at the end of each run."""

    functions: ClassVar[tuple[str, ...]] = ()
    """Attributes that are functions of the user's, which no state dict holds."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        self.optimizer = checked(optimizer)
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
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[float]:
        """The new rates, one per group."""
        raise NotImplementedError

    def closed_form(self) -> list[float] | None:
        """The rates of `last_epoch` by themselves; None where there are only those that scale the present ones."""
        return None

    def momenta(self) -> list[float] | None:
        """The new momenta, one per group; None for a schedule that leaves them alone."""
        return None

    @at_end_of_run
    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, and write its rates. Warns where the optimizer took no step before: the first
        rate would never be used. Raises ArgumentError, before anything is changed."""
        known = type(self.optimizer).step.__module__.startswith("staticgrad.")  # a user's own step says nothing of its calls
        early = self._step_count == 1 and known and not self.optimizer._opt_called
        if early and type(self).step is LRScheduler.step:  # schedules with steps of their own don't say so in PyTorch
            warn_former(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
                "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result "
                "in PyTorch skipping the first value of the learning rate schedule.",
                UserWarning,
            )
        if epoch is not None and type(self).step is LRScheduler.step:  # those that have it by design don't warn
            warn_former(
                "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please "
                "use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the "
                "closed form is used instead of the new chainable form, where available.",
                UserWarning,
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch: float | None = None) -> None:
        """Go to the next epoch, or to `epoch`, without a warning."""
        before = self.last_epoch
        self.last_epoch = before + 1 if epoch is None else int(epoch)
        try:
            rates = self.closed_form() if epoch is not None else None
            rates = self._rates() if rates is None else rates
            found = self.momenta()
            groups = self.optimizer.param_groups
            written: list[dict[str, Any]] = [{"lr": lr} for lr in rates]
            for values, group, momentum in zip(written, groups, found or (), strict=False):
                values.update(with_momentum(group, momentum))
            for group, values in zip(groups, written, strict=True):
                group.check(values)
        except BaseException:
            self.last_epoch = before
            raise
        for group, values in zip(groups, written, strict=True):
            group.update(values)
        self._step_count += 1
        self._last_lr = self._present()

    def _rates(self) -> list[float]:
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

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


def finite(what: str, value: Any) -> Any:
    if not is_one_number(value):
        raise ArgumentError(f"{what} has to be a number, got {value!r}")
    if not math.isfinite(value):
        raise ArgumentError(f"{what} has to be finite, got {value!r}")
    return value


def number_of_epochs(what: str, value: Any) -> Any:
    if not finite(what, value) > 0:
        raise ArgumentError(f"{what} is a number of epochs, above 0, got {value!r}")
    return value


def checked(optimizer: Any) -> Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
    return optimizer


def with_momentum(group: Mapping[str, Any], momentum: float) -> dict[str, Any]:
    """What a group's momentum is written as: the first of `betas` where there is no `momentum`."""
    return {"betas": (momentum, *group["betas"][1:])} if "betas" in group else {"momentum": momentum}


def per_group(name: str, optimizer: Any, value: Any) -> list[Any]:
    """One number per group, from one for all or several. Raises ArgumentError."""
    groups = len(checked(optimizer).param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(values) != groups:
        raise ArgumentError(f"{name} must have the same length as optimizer.param_groups: {len(values)} and {groups}")
    return [finite(name, v) for v in values]


_LRScheduler = LRScheduler
"""The name of PyTorch 1.x."""


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

    def state_dict(self) -> dict[str, Any]:
        """As of other schedules; of callable objects the attributes, of functions None."""
        return super().state_dict() | {"lr_lambdas": [state_of(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on as the schedule whose state this is, with the functions of this one."""
        rest = dict(state_dict)
        for fn, values in zip(self.lr_lambdas, rest.pop("lr_lambdas", ()), strict=False):
            if values is not None:
                vars(fn).update(values)
        super().load_state_dict(rest)


def state_of(fn: Any) -> dict[str, Any] | None:
    """The attributes of a callable object; None for a function."""
    return None if isinstance(fn, FunctionType) or not hasattr(fn, "__dict__") else dict(vars(fn))


class LambdaLR(_Functions):
    """initial rate * lr_lambda(epoch); one function, or one per group. Raises ArgumentError for another number."""

    def get_lr(self) -> list[float]:
        return [base * fn(self.last_epoch) for base, fn in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_Functions):
    """The rate times lr_lambda(epoch); one function, or one per group. Raises ArgumentError for another number."""

    def get_lr(self) -> list[float]:
        if self._is_initial:
            return self._present()
        return [lr * fn(self.last_epoch) for lr, fn in zip(self._present(), self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate times gamma every `step_size` epochs.

    Examples:
        >>> opt = optim.SGD([sg.zeros(1, requires_grad=True)], lr=1.0)
        >>> schedule = optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
        >>> for _ in range(2):
        ...     opt.step()
        ...     schedule.step()
        >>> opt.param_groups[0]["lr"]
        0.1
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = number_of_epochs("StepLR: step_size", step_size), finite("StepLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = not self._is_initial and self.last_epoch % self.step_size == 0
        return self._present(self.gamma if due else 1.0)

    def closed_form(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times gamma at each of `milestones`, twice at one that is named twice."""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones = Counter(milestones)
        self.gamma = finite("MultiStepLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = not self._is_initial or self.last_epoch == 0
        return self._present(self.gamma ** self.milestones[self.last_epoch] if due else 1.0)

    def closed_form(self) -> list[float]:
        passed = sum(n for epoch, n in self.milestones.items() if epoch <= self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times `factor` for `total_iters` epochs. Raises ArgumentError for a factor outside [0, 1]."""

    def __init__(self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= finite("ConstantLR: factor", factor) <= 1:
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
        if not 0 < finite("LinearLR: start_factor", start_factor) <= 1:
            raise ArgumentError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= finite("LinearLR: end_factor", end_factor) <= 1:
            raise ArgumentError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self.last_epoch == 0:
            return self._present(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        rise = self.end_factor - self.start_factor
        return self._present(1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise))

    def closed_form(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (self.start_factor + (self.end_factor - self.start_factor) * share) for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters)^power, down to 0."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = total_iters, finite("PolynomialLR: power", power)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._present()
        left, before = (1.0 - epoch / self.total_iters for epoch in (self.last_epoch, self.last_epoch - 1))
        return self._present((left / before) ** self.power)

    def closed_form(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * (1.0 - share) ** self.power for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = finite("ExponentialLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._present(1.0 if self._is_initial else self.gamma)

    def closed_form(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


# A schedule that follows a metric -------------------------------------------------------------------------------------


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
        self.optimizer = checked(optimizer)
        self.min_lrs = per_group("min_lr", optimizer, min_lr)
        self.factor, self.patience, self.cooldown, self.eps = factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.last_epoch = 0
        self.default_min_lr = 0
        self.best = self.mode_worse = math.inf if mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0
        self._last_lr = self._present()

    @at_end_of_run
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


# schedules made of others: one after another, or all at once ---------------------------------------------------------


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
        self._check_schedulers(checked(optimizer), schedulers)
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
        self._begin()

    def _begin(self) -> None:
        """The first step, of the schedule whose turn it is."""
        self._schedulers[bisect_right(self._milestones, 0)]._begin()
        self._last_lr = self._present()

    def _undo(self, schedule: Any) -> None:
        """Take back the first step of each schedule, which its own construction took."""
        if hasattr(schedule, "_schedulers"):
            for one in schedule._schedulers:
                self._undo(one)
        else:
            schedule.last_epoch -= 1

    @at_end_of_run
    def step(self, epoch: float | None = None) -> None:
        """Go to the next epoch."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        starts = place > 0 and self._milestones[place - 1] == self.last_epoch
        schedule = self._schedulers[place]
        if not starts:
            schedule.step()
        elif type(schedule).step is LRScheduler.step:
            schedule._update_lr(0)
        else:  # it keeps more than the epoch
            schedule.step(0)
        self._last_lr = self._present()


class ChainedScheduler(_Several):
    """All schedules at each step, each scaling the rate that the one before left. Raises ArgumentError as schedules of several
    do."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        own = getattr(schedulers[0], "optimizer", None) if schedulers and optimizer is None else optimizer
        self._check_schedulers(own, schedulers)
        self._last_lr = self._present()

    def _begin(self) -> None:
        """The first step of each."""
        for one in self._schedulers:
            one._begin()
        self._last_lr = self._present()

    @at_end_of_run
    def step(self, epoch: float | None = None) -> None:
        """Take a step of each."""
        for one in self._schedulers:
            one.step()
        self._last_lr = self._present()
