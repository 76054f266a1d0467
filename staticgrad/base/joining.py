"""What takes part in a loop in which processes have different numbers of inputs, and what it does there."""

from __future__ import annotations

from typing import Any, NamedTuple


class JoinHook:
    """What a process does that has no input left."""

    def main_hook(self) -> None:
        """Perform the exchanges of one iteration of the others."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Once all processes have no input left. is_last_joiner: whether this one was among the last."""


class JoinConfig(NamedTuple):
    """What the context tells those that take part. first: whether this one tells the others that a process goes on."""

    enable: bool = False
    throw: bool = False
    first: bool = False


class Joinable:
    """A base class of what can take part, such as `DistributedDataParallel`."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = JoinConfig()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does. kwargs: those of `Join`."""
        raise NotImplementedError

    @property
    def join_device(self) -> Any:
        """Where it exchanges: the CPU."""
        raise NotImplementedError

    @property
    def join_process_group(self) -> Any:
        """The group of its exchanges."""
        raise NotImplementedError
