"""Processes that train together: how their groups are made, and who is who in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Self

from ..base import communicators
from ..base.communicators import Communicator, DistError
from ..base.interpreter import is_installed
from ..errors import ArgumentError, DeviceError

__all__ = [
    "Backend", "destroy_process_group", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_process_group_ranks", "get_rank", "get_world_size", "group", "GroupMember", "init_process_group", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available",
    "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "new_group", "ProcessGroup", "ReduceOp",
]  # fmt: skip

BACKENDS = ("mpi", "gloo")
"""Names of backends that are accepted. All exchanges go through MPI."""


class ReduceOp:
    """How values of several processes are combined, under PyTorch's names."""

    SUM, AVG, PRODUCT, MIN, MAX = "sum", "avg", "product", "min", "max"
    BAND, BOR, BXOR = "band", "bor", "bxor"
    RedOpType = str


class Backend(str):
    """The name of a backend, in small letters."""

    __slots__ = ()
    GLOO, MPI, NCCL, UNDEFINED = "gloo", "mpi", "nccl", "undefined"

    def __new__(cls, name: str) -> Self:
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Some of all processes, in an order. A process that is no member of a group may only ask who is."""

    def __init__(self, number: int):
        self._number = number

    def rank(self) -> int:
        """This process's number in the group; -1 for no member."""
        return communicators.group(self._number).rank

    def size(self) -> int:
        """The number of members."""
        return communicators.group(self._number).size

    @property
    def group_name(self) -> str:
        """Its number, as text."""
        return str(self._number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProcessGroup) and other._number == self._number

    def __hash__(self) -> int:
        return hash(("ProcessGroup", self._number))

    def __repr__(self) -> str:
        found = communicators.groups.get(self._number)
        return "<ProcessGroup, destroyed>" if found is None else f"<ProcessGroup of ranks {list(found.ranks)}>"


class group:
    """PyTorch's place of the group of all processes: `group.WORLD`, None before `init_process_group`."""

    WORLD: ProcessGroup | None = None


class GroupMember:
    """What `new_group` returns to processes that are no members, as PyTorch calls it."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


def is_available() -> bool:
    """Whether there can be several processes: mpi4py is installed."""
    return is_mpi_available()


def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return is_installed("mpi4py")


def is_gloo_available() -> bool:
    """True: the name is accepted, and means MPI here."""
    return True


def is_nccl_available() -> bool:
    """False: there are no GPUs."""
    return False


def is_ucc_available() -> bool:
    """False: MPI carries the arrays."""
    return False


def is_xccl_available() -> bool:
    """False: there are no GPUs."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` accepts the name of a backend, and it can be used."""
    return backend.lower() in BACKENDS and (backend.lower() == "gloo" or is_mpi_available())


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process's number on its host, as the launcher says. Raises DistError without a launcher and a fallback."""
    found = os.environ.get("LOCAL_RANK")
    if found is None and fallback_rank is None:
        raise DistError("LOCAL_RANK is not in the environment: a launcher sets it", "pass fallback_rank")
    return int(found) if found is not None else int(fallback_rank or 0)


def is_torchelastic_launched() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return 0 in communicators.groups


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1, rank: int = -1,
    store: Any = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
) -> None:  # fmt: skip
    """Make the group of all processes that the launcher started; without one it has this process alone.

    backend: "mpi", or "gloo" for programs that ask for that; both use MPI. timeout: a `timedelta`, how long a process waits for
    the others to come to an exchange before it raises DistError (30 minutes). world_size, rank: as PyTorch's, for a check. The
    other arguments are for PyTorch's transports and are ignored. Raises DeviceError for "nccl", ArgumentError for sizes that
    differ from the launcher's, MissingExtra without mpi4py, DistError where the group exists.
    """
    name = BACKENDS[0] if backend is None else str(backend).lower()
    if ":" in name:  # "cpu:gloo,cuda:nccl"
        name = dict(part.split(":", 1) for part in name.split(",")).get("cpu", "nccl")
    if name == "nccl":
        raise DeviceError("init_process_group: backend 'nccl' needs GPUs, which staticgrad does not use", "write backend='mpi'")
    if name not in BACKENDS:
        raise ArgumentError(f"init_process_group: there is no backend {backend!r}", "write backend='mpi'")
    if is_initialized():
        raise DistError("trying to initialize the default process group twice!")
    made = communicators.start(communicators.TIMEOUT if timeout is None else seconds("init_process_group", timeout))
    if world_size not in (-1, made.size) or rank not in (-1, made.rank):
        communicators.end(0)
        raise ArgumentError(
            f"init_process_group: rank {rank} of {world_size} is asked for, and this is rank {made.rank} of {made.size}",
            "start the processes with `staticgrad launch -n N train.py` or mpirun, and leave world_size and rank out",
        )
    group.WORLD = GroupMember.WORLD = ProcessGroup(0)


def seconds(what: str, timeout: Any) -> float:
    """Those of a `timedelta`. Raises ArgumentError."""
    if not isinstance(timeout, timedelta) or timeout <= timedelta(0):
        raise ArgumentError(f"{what}: timeout is a timedelta above 0, got {timeout!r}", "write timeout=timedelta(seconds=60)")
    return timeout.total_seconds()


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group; None: all. Raises DistError where there is none."""
    found = of(group)
    communicators.end(found.number)
    if not found.number:
        globals()["group"].WORLD = GroupMember.WORLD = None


def of(group: Any) -> Communicator:
    """The communicator of a group; None: of all processes. Raises DistError before `init_process_group`, ArgumentError for
    a value that is no group."""
    if group is None:
        return communicators.group(0)
    if not isinstance(group, ProcessGroup):
        if group == GroupMember.NON_GROUP_MEMBER:
            raise ArgumentError("this process is no member of the group", "let members call alone")
        raise ArgumentError(f"a process group is expected, got {type(group).__name__}", "see init_process_group and new_group")
    return communicators.group(group._number)


def member(group: Any, what: str) -> Communicator:
    """As `of`. Raises ArgumentError in a process that is no member."""
    found = of(group)
    if found.rank < 0:
        raise ArgumentError(f"{what}: this process is no member of the group {list(found.ranks)}", "let members call alone")
    return found


def place_of(found: Communicator, rank: int | None, in_group: int | None, what: str) -> int:
    """The number in a group of the process that a call names by its rank among all, or by `group_rank`. Raises
    ArgumentError."""
    if (rank is None) == (in_group is None):
        raise ArgumentError(f"{what}: give one process, by its rank or by its rank in the group")
    if in_group is not None:
        if not 0 <= in_group < found.size:
            raise ArgumentError(f"{what}: the group has {found.size} members, got group rank {in_group}")
        return in_group
    if rank not in found.ranks:
        raise ArgumentError(f"{what}: rank {rank} is not part of group {list(found.ranks)}")
    return found.ranks.index(rank)


def new_group(
    ranks: Sequence[int] | None = None, timeout: Any = None, backend: str | None = None, pg_options: Any = None,
    use_local_synchronization: bool = False, group_desc: str | None = None, device_id: Any = None,
) -> Any:  # fmt: skip
    """A group of some processes; None: of all. All processes call it, in the same order. Returns
    `GroupMember.NON_GROUP_MEMBER` to those that are no members. timeout: a `timedelta`, None for
    that of the group of all. Raises ArgumentError for ranks that don't exist or repeat."""
    world = of(None)
    wanted = list(world.ranks) if ranks is None else sorted(int(r) for r in ranks)
    if len({*wanted}) < len(wanted) or not {*wanted} <= {*world.ranks} or not wanted:
        raise ArgumentError(f"new_group: ranks are different numbers below {world.size}, got {wanted}")
    made = communicators.divide(wanted, None if timeout is None else seconds("new_group", timeout))
    return ProcessGroup(made.number) if made.rank >= 0 else GroupMember.NON_GROUP_MEMBER


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's number in a group; -1 for no member."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else of(group).rank


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of a group's members; -1 for a group of others."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else of(group).size


def get_backend(group: ProcessGroup | None = None) -> str:
    """The text "mpi"."""
    of(group)
    return BACKENDS[0]


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The members' ranks among all processes."""
    return list(of(group).ranks)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """The number in a group of a process. Raises ArgumentError for no member."""
    return place_of(of(group), global_rank, None, "get_group_rank")


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """The number among all processes of a group's member. Raises ArgumentError for no member."""
    found = of(group)
    return found.ranks[place_of(found, None, group_rank, "get_global_rank")]
