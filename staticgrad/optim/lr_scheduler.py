"""Learning-rate schedules: each `step()` writes `group["lr"]` and nothing else, so no compiled step is compiled again.

Formulas and names are PyTorch's (`torch.optim.lr_scheduler`). Those that scale the present rate can be chained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

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

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                if last_epoch != -1:
                    raise ArgumentError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        "last_epoch >= 0."
                    )
                group["initial_lr"] = group["lr"]
        self.optimizer = optimizer
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()
        self.begun = True

    def get_lr(self) -> list[float]:
        """The new rates, one per group."""
        raise NotImplementedError

    def step(self) -> None:
        """Go to the next epoch and write its rates."""
        self.last_epoch += 1
        try:
            rates = self.get_lr()
        except BaseException:
            self.last_epoch -= 1
            raise
        try:
            for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
                group.check({"lr": lr})
        except ArgumentError:
            self.last_epoch -= 1
            raise
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr

    def get_last_lr(self) -> list[float]:
        """The rates as they are."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All of it but the optimizer and functions. The rates themselves are in the optimizer's groups."""
        return {key: value for key, value in self.__dict__.items() if key not in ("optimizer", "lr_lambdas")}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
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


class LambdaLR(LRScheduler):
    """initial rate * lr_lambda(epoch); one function, or one per group. Raises ArgumentError for another number."""

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ):
        groups = len(optimizer.param_groups) if isinstance(optimizer, Optimizer) else 0
        for fn in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(fn):
                raise ArgumentError(f"LambdaLR: lr_lambda has to be a function of the epoch, got {fn!r}")
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups and isinstance(optimizer, Optimizer):
            raise ArgumentError(f"Expected {groups} lr_lambdas, but got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * fn(self.last_epoch) for base, fn in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class StepLR(LRScheduler):
    """The rate times gamma every `step_size` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = _epochs("StepLR: step_size", step_size), _number("StepLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        due = self.begun and self.last_epoch % self.step_size == 0
        return self._present(self.gamma if due else 1.0)


class ExponentialLR(LRScheduler):
    """The rate times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = _number("ExponentialLR: gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return self._present(self.gamma if self.begun else 1.0)


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
