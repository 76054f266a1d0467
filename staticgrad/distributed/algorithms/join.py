"""Training with different numbers of inputs: a process that has none left takes part in the exchanges of the others.

Names and meanings are PyTorch's. What takes part is a `Joinable`, which tells the context of each iteration that it begins, and
whose `JoinHook` performs the exchanges of an iteration without an input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.communicators import EXHAUSTED, IDLE, OTHERS_EXHAUSTED, STOPS, DistError, Joinable, JoinConfig, JoinHook
from ...eager import tensor
from ...errors import ArgumentError
from ...ops.operators import state
from ..collectives import Work, all_reduce
from ..process_groups import get_rank, member

__all__ = ["Join", "JoinHook", "Joinable"]


class Join:
    """A context for training loops of different lengths.

    enable: False for a loop of one length, which then costs nothing. throw_on_early_termination: raise in all processes once
    one has no input left. Other arguments go to the hooks. A process without inputs takes part in the exchanges of a compiled
    step with values that change nothing. Where that does not do, as with a `ZeroRedundancyOptimizer`, whose process has to
    update parameters, DistError says so. Raises ArgumentError without joinables, for those of different groups, and in a
    compiled function that runs in segments.

    Examples:
        >>> from staticgrad.distributed.algorithms.join import Join
        >>> sg.distributed.init_process_group()
        >>> model = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
        >>> with Join([model]):
        ...     for x in [sg.ones(2, 1)] * (10 + sg.distributed.get_rank()):
        ...         model(x).sum().backward()
        >>> sg.distributed.destroy_process_group()
    """

    def __init__(
        self, joinables: Sequence[Joinable], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ):  # fmt: skip
        if not joinables:
            raise ArgumentError("The join context manager requires at least one joinable")
        groups = [joinable.join_process_group for joinable in joinables]
        if any(group != groups[0] for group in groups):
            raise ArgumentError("Using join context manager with multiple process groups")
        self._joinables = joinables
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._group = groups[0]
        self._config = JoinConfig(enable, throw_on_early_termination)

    def __enter__(self) -> None:
        for i, joinable in enumerate(self._joinables):
            joinable._join_config = self._config._replace(first=i == 0)

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        for joinable in self._joinables:
            joinable._join_config = JoinConfig()
        if kind is not None or not self._config.enable:
            return
        last, members = True, member(self._group, "Join")
        while True:
            going = np.zeros((), np.float32)  # each of the others adds 1 when it begins an iteration
            if members.accompany(going, STOPS if self._config.throw else IDLE):
                if not going:
                    break
                if self._config.throw:
                    all_reduce(tensor(1.0), group=self._group)
                    raise DistError(f"Rank {get_rank(self._group)} {EXHAUSTED}")
                for hook in self._hooks:
                    hook.main_hook()
            last = False
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Work | None:
        """Tell processes without inputs that this one begins an iteration; a joinable calls it before its own exchanges.

        Returns a `Work`, whose `result()` has the number of processes that go on, from the first joinable of a context, and
        None from others. Raises DistError where the context ends at the first process without inputs."""
        config = joinable._join_config
        if not (config.enable and config.first):
            return None
        if state.deferral is not None:
            raise ArgumentError(
                "Join: a compiled function that runs in segments exchanges between them, where a process without inputs can't "
                "take part",
                "call the step without sg.compile inside the context",
            )
        going = tensor(1.0)
        all_reduce(going, group=joinable.join_process_group)
        if config.throw and state.tracer is None:  # a plan's exchanges are compared, and the comparison tells
            ended = tensor(0.0)
            all_reduce(ended, group=joinable.join_process_group)
            if ended.item():
                raise DistError(OTHERS_EXHAUSTED)
        return Work(result=[going])
