"""Exchanges that return new tensors, through which gradients flow, in all modes.

What is differentiated is the sum of the losses of all processes, so each of them calls `backward()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import ShapeError
from ...ops import communication as ops
from ...ops.communication import communicate
from ...ops.operators import F
from ..process_groups import member, place_of

__all__ = ["all_gather", "all_reduce", "all_to_all", "broadcast", "reduce", "reduce_scatter"]


def all_reduce(tensor: Any, op: Any = "sum", group: Any = None) -> Any:
    """The tensor combined over all processes. Sums and averages have gradients."""
    of = member(group, "all_reduce")
    return communicate(ops.all_reduce_op, tensor, reduction=op, group_number=of.number, size=of.size)


def reduce(tensor: Any, dst: int, op: Any = "sum", group: Any = None) -> Any:
    """As `all_reduce` in the process `dst`; the tensor itself in others."""
    of = member(group, "reduce")
    root = place_of(of, dst, None, "reduce")
    return communicate(ops.reduce_op, tensor, reduction=op, root=root, group_number=of.number, size=of.size)


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of the process `src`."""
    of = member(group, "broadcast")
    root = place_of(of, src, None, "broadcast")
    return communicate(ops.broadcast_op, tensor, root=root, group_number=of.number, size=of.size)


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, which have one shape."""
    of = member(group, "all_gather")
    found = communicate(ops.all_gather_op, tensor, group_number=of.number, size=of.size)
    return tuple(found[i] for i in range(of.size))


def reduce_scatter(output: Any, input_list: Sequence[Any], op: Any = "sum", group: Any = None) -> Any:
    """Item i of the lists of all processes, combined, for process i. output: gives the shape, as in PyTorch."""
    of = member(group, "reduce_scatter")
    return communicate(ops.reduce_scatter_op, F.stack(list(input_list)), reduction=op, group_number=of.number, size=of.size)


def all_to_all(output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None) -> tuple[Any, ...]:
    """Item i of each list goes to process i; returns what came. output_tensor_list: as many, as in PyTorch.
    Raises ShapeError."""
    of = member(group, "all_to_all")
    if len(output_tensor_list) != of.size or len(input_tensor_list) != of.size:
        raise ShapeError(f"all_to_all: lists of {of.size} tensors are expected, one for each process")
    found = communicate(ops.all_to_all_op, F.stack(list(input_tensor_list)), group_number=of.number, size=of.size)
    return tuple(found[i] for i in range(of.size))
