"""Exchanges of Python objects, which travel by pickle: take them only from processes that you trust."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from .collectives import cut
from .process_groups import member, place_of


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the object of process i into `object_list[i]`, for all. Raises ArgumentError for a list of another length."""
    cut("distributed.all_gather_object")
    of = member(group, "all_gather_object")
    if len(object_list) != of.size:
        raise ArgumentError(f"all_gather_object: a list of {of.size} items is expected, one for each process")
    of.meet("all_gather_object")
    object_list[:] = [obj] * of.size if of.mpi is None else of.mpi.allgather(obj)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Give all processes the objects of `src` (0), in place."""
    cut("distributed.broadcast_object_list")
    of = member(group, "broadcast_object_list")
    root = place_of(of, of.ranks[0] if src is None and group_src is None else src, group_src, "broadcast_object_list")
    of.meet("broadcast_object_list", None, "from", root)
    if of.mpi is not None:
        object_list[:] = of.mpi.bcast(object_list if of.rank == root else None, root)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None, group: Any = None,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """Put the object of process i into `object_gather_list[i]` of the process `dst` (0)."""
    cut("distributed.gather_object")
    of = member(group, "gather_object")
    root = place_of(of, of.ranks[0] if dst is None and group_dst is None else dst, group_dst, "gather_object")
    if of.rank == root and (object_gather_list is None or len(object_gather_list) != of.size):
        raise ArgumentError(f"gather_object: the process dst gives a list of {of.size} items, one for each process")
    of.meet("gather_object", None, "to", root)
    found = [obj] if of.mpi is None else of.mpi.gather(obj, root)
    if of.rank == root and object_gather_list is not None:
        object_gather_list[:] = found


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: int | None = None,
    group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Put item i of the input list of the process `src` (0) into the first item of process i's output list."""
    cut("distributed.scatter_object_list")
    of = member(group, "scatter_object_list")
    root = place_of(of, of.ranks[0] if src is None and group_src is None else src, group_src, "scatter_object_list")
    if not scatter_object_output_list:
        raise ArgumentError(
            "scatter_object_list: Expected argument scatter_object_output_list to be a list of size at least 1."
        )
    if of.rank == root and len(scatter_object_input_list or ()) != of.size:
        raise ArgumentError(f"scatter_object_list: the process src gives a list of {of.size} items, one for each process")
    of.meet("scatter_object_list", None, "from", root)
    given = scatter_object_input_list if of.rank == root else None
    scatter_object_output_list[0] = (given or [None])[0] if of.mpi is None else of.mpi.scatter(given, root)


def send_object_list(
    object_list: list[Any], dst: int | None = None, group: Any = None, device: Any = None, group_dst: int | None = None
) -> None:
    """Send objects to the process `dst`."""
    cut("distributed.send_object_list")
    of = member(group, "send_object_list")
    at = place_of(of, dst, group_dst, "send_object_list")
    if at == of.rank:
        raise ArgumentError("send_object_list: a process can't send to itself")
    of.mpi.send(object_list, at)


def recv_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> int:
    """Receive objects from the process `src`, in place. Returns its rank."""
    cut("distributed.recv_object_list")
    of = member(group, "recv_object_list")
    at = place_of(of, src, group_src, "recv_object_list")
    if at == of.rank:
        raise ArgumentError("recv_object_list: a process can't receive from itself")
    object_list[:] = of.mpi.recv(source=at)
    return of.ranks[at]
