"""Schedules made of others: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import ArgumentError
from ...tracing.after_run import at_end_of_run
from ..optimizer import Optimizer
from .decay import ReduceLROnPlateau
from .scheduler import LRScheduler, checked


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
        self._schedulers[place].step(0) if starts else self._schedulers[place].step()
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
