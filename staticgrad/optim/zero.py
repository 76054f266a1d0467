"""`ZeroRedundancyOptimizer`: each process keeps the state of some parameters, updates these, and gives them to the others; see
`ops/communication.py`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from ..base.communicators import Joinable, JoinHook, owners
from ..base.devices import CPU
from ..eager.grad_mode import no_grad
from ..errors import ArgumentError
from ..ops.communication import from_owners
from .optimizer import Optimizer

__all__ = ["ZeroRedundancyOptimizer"]


@cache
def _sharded(kind: Any, of: Any) -> Any:
    return type(kind.__name__, (kind, of), {"__doc__": kind.__doc__, "__module__": kind.__module__})


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer whose state is divided among the processes of a group, as in PyTorch.

    Each parameter belongs to one process, which keeps its slots and updates it; then the others get the new values. So the
    slots take the memory of one process divided by their number, and a step does that part of the updates. Gradients are those
    of `DistributedDataParallel`; with its `shard="gradients"` each process gets those of its own parameters alone.

    optimizer_class: `optim.Adam`, say, whose hyper-parameters follow. `consolidate_state_dict(to=0)`, which all processes call,
    gives one of them the state of all, which its `state_dict()` has; `load_state_dict` takes such a state in all processes.
    `distributed.checkpoint` saves and loads the parts of all processes, of whatever number. In a `Join` context after
    `DistributedDataParallel`, a process without inputs goes on updating its parameters.
    Raises DistError before `init_process_group`. Other arguments are for GPUs and have no effect.
    """

    def __new__(
        cls, params: Any = None, optimizer_class: type[Optimizer] | None = None, *args: Any, **options: Any
    ) -> ZeroRedundancyOptimizer:
        """An instance of both classes."""
        kind: Any = cls
        of: Any = optimizer_class
        if of is not None and not issubclass(kind, of):
            kind = _sharded(kind, of)
        return object.__new__(kind)

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
        parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any,
    ):  # fmt: skip
        from ..distributed.process_groups import member

        if overlap_with_ddp:
            raise ArgumentError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not supported", "compile the step: its plan overlaps both"
            )
        found = member(process_group, "ZeroRedundancyOptimizer")
        self._group = (process_group, found.rank, found.size)
        self._all_of_state: dict[str, Any] | None = None
        Joinable.__init__(self)
        super().__init__(params, **defaults)

    def _owned(self) -> list[tuple[Any, int]]:
        parameters = self.parameters()
        return list(zip(parameters, owners([p.numel() for p in parameters], self._group[2]), strict=True))

    def _gradients(self) -> dict[int, list[tuple[Any, Any]]]:
        """Those of the parameters of this process."""
        mine = {id(p) for p, owner in self._owned() if owner == self._group[1]}
        return {i: [(p, g) for p, g in pairs if id(p) in mine] for i, pairs in super()._gradients().items()}

    def _check_whole(self) -> None:
        """Each process updates what it owns."""

    def step(self, closure: Any = None) -> Any:
        """Update the parameters of this process, and take over the others."""
        from ..distributed.process_groups import member

        if self._join_config.enable:
            from ..distributed.algorithms import Join

            Join.notify_join_context(self)
        loss = super().step(closure)
        group, rank, size = self._group
        if size == 1:
            return loss
        parameters, owners = zip(*self._owned(), strict=True)
        with no_grad():
            values = from_owners([p.detach() for p in parameters], owners, member(group, "ZeroRedundancyOptimizer"))
            for p, owner, value in zip(parameters, owners, values, strict=True):
                if owner != rank:
                    p.copy_(value)
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Give the process `to` of the group the state of all; all processes call this."""
        from ..distributed.collectives import gather_object

        group, rank, size = self._group
        mine = super().state_dict()
        found: list[Any] | None = [None] * size if rank == to else None
        gather_object(mine["state"], found, group=group, group_dst=to)
        if found is not None:
            merged = {place: slots for states in found for place, slots in states.items()}
            self._all_of_state = {**mine, "state": dict(sorted(merged.items()))}

    def sharded_state_dict(self) -> dict[str, Any]:
        """The state of this process's parameters, as `distributed.checkpoint` takes it: an empty one of those without slots."""
        found = super().state_dict()
        mine = [i for i, (_, owner) in enumerate(self._owned()) if owner == self._group[1]]
        return {**found, "state": {i: found["state"].get(i, {}) for i in mine}}

    def state_dict(self) -> dict[str, Any]:
        """The state of all processes, as `consolidate_state_dict` has gathered it. Raises ArgumentError without."""
        found = self._all_of_state
        if found is None:
            raise ArgumentError(
                "Optimizer state has not been consolidated on this rank. Please call "
                f"`consolidate_state_dict(to={self._group[1]})` on all ranks beforehand if you meant to save the global state."
            )
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over hyper-parameters, and the slots of the parameters of this process."""
        mine = {i for i, (_, owner) in enumerate(self._owned()) if owner == self._group[1]}
        state = {place: slots for place, slots in state_dict["state"].items() if place in mine}
        super().load_state_dict({**state_dict, "state": state})

    # processes with different numbers of inputs -------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a process without inputs does: it takes the steps of the others."""
        return _StepHook(self)

    @property
    def join_device(self) -> Any:
        """The CPU."""
        return CPU

    @property
    def join_process_group(self) -> Any:
        """That of the parameters."""
        return self._group[0]


class _StepHook(JoinHook):
    """A step with the gradients that the hook of `DistributedDataParallel` has left."""

    def __init__(self, of: ZeroRedundancyOptimizer):
        self._of = of

    def main_hook(self) -> None:
        self._of.step()
