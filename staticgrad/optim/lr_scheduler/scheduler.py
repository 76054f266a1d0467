"""The base of all schedules, and checks of their arguments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from ...errors import ArgumentError
from ...operators import warn_former
from ...tracing.after_run import at_end_of_run
from ..groups import is_one_number
from ..optimizer import Optimizer


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
