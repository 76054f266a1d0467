"""A schedule that follows a metric."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ArgumentError
from ...tracing.after_run import at_end_of_run
from ..optimizer import Optimizer
from .scheduler import LRScheduler, checked, per_group


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
        self.best = math.inf if mode == "min" else -math.inf
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
