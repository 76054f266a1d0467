"""Cosine annealing, with and without restarts."""

from __future__ import annotations

import math

from ...errors import ArgumentError
from ...tracing.after_run import at_end_of_run
from ..optimizer import Optimizer
from .scheduler import LRScheduler, finite, number_of_epochs


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
