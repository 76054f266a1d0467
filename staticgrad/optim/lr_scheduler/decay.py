"""Schedules that are functions of the epoch, multiply the rate by factors, or end after some epochs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ...errors import ArgumentError
from ..optimizer import Optimizer
from .scheduler import LRScheduler, finite, number_of_epochs


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
        due = self.begun and self.last_epoch % self.step_size == 0
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
        due = self.begun or self.last_epoch == 0
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
        self.total_iters, self.power = total_iters, finite("PolynomialLR: power", power)
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
        self.gamma = finite("ExponentialLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._present(self.gamma if self.begun else 1.0)

    def closed_form(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]
