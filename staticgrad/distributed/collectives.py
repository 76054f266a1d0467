"""Exchanges of tensors, which write into the tensors that they are given, as PyTorch's do.

No gradient flows through them (`distributed.nn.functional` has those with gradients). In a trace an exchange is a node of the
graph, and the writes are in-place changes like any other. What only one side of an exchange could see in a graph, such as a
message between two processes, cuts the trace: it runs between two compiled segments.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.communicators import OPS, Communicator, DistError, plain
from ..base.types import shape_text
from ..eager.conversion import from_numpy
from ..eager.grad_mode import no_grad
from ..errors import ArgumentError, DTypeError, ShapeError
from ..interchange.serialization.files import Table
from ..ops import communication as ops
from ..ops.operators import F, frontends, state
from .process_groups import member, place_of, seconds

if TYPE_CHECKING:
    from ..ops.operators import Tensor

__all__ = [
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list", "gather", "gather_object", "irecv", "isend",
    "monitored_barrier", "P2POp", "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send", "send_object_list", "verify", "Work",
]  # fmt: skip


class Work:
    """An exchange under way. `wait()` returns once its tensors have their new values."""

    def __init__(self, request: Any = None, done: Any = None, result: Sequence[Any] = ()):
        self._request = request
        self._result = list(result)
        self._done = done
        """What to do when the request has ended; None once it is done."""

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the end. True."""
        if self._request is not None:
            self._request.Wait()
        return self._finish()

    def is_completed(self) -> bool:
        """Whether it has ended."""
        if self._request is not None and not self._request.Test():
            return False
        return self._finish()

    def is_success(self) -> bool:
        """As `is_completed`."""
        return self.is_completed()

    def result(self) -> list[Any]:
        """The tensors with their new values, of exchanges that tell them."""
        return self._result

    def _finish(self) -> bool:
        self._request, done, self._done = None, self._done, None
        if done is not None:
            done()
        return True


def _checked(what: str, op: Any) -> str:
    if op not in OPS:
        raise ArgumentError(f"{what}: op is one of ReduceOp.SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, got {op!r}")
    return str(op)


def _tensor(what: str, x: Any) -> Tensor:
    if not isinstance(x, frontends.tensor_class) and not hasattr(x, "node"):
        raise ArgumentError(f"{what}: a tensor is expected, got {type(x).__name__}")
    return x


def _write(x: Any, value: Any) -> None:
    with no_grad():
        x.copy_(value)


def _same(what: str, xs: Sequence[Any], like: Any, count: int) -> None:
    if len(xs) != count:
        raise ArgumentError(f"{what}: a list of {count} tensors is expected, one for each process, got {len(xs)}")
    for x in xs:
        _tensor(what, x)
        if tuple(x.shape) != tuple(like.shape):
            raise ShapeError(
                f"{what}: tensors have one shape, got {shape_text(tuple(x.shape))} and {shape_text(tuple(like.shape))}"
            )
        if x.dtype != like.dtype:
            raise DTypeError(f"{what}: tensors have one dtype, got {x.dtype} and {like.dtype}")


def cut(what: str) -> None:
    """Refuse to trace: the code runs between two compiled segments."""
    if frontends.tracing and state.tracer is not None:
        state.tracer.refuse(f"{what} is no operation of a graph", "compile with on_break='split'")


def forbid(what: str, remedy: str) -> None:
    """Raises ArgumentError in a trace."""
    if frontends.tracing and state.tracer is not None:
        raise ArgumentError(f"{what}: processes that run a compiled function compare all of its exchanges", remedy)


def _members(of: Communicator) -> dict[str, int]:
    return {"group_number": of.number, "size": of.size}


def _stacked(xs: Sequence[Any]) -> Any:
    return F.stack([x.detach() for x in xs])


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def all_reduce(tensor: Any, op: Any = "sum", group: Any = None, async_op: bool = False) -> Work | None:
    """Combine a tensor over all processes; each gets the result in place.

    All processes give the same shape and dtype. Returns None, with async_op a `Work`: the tensor has its value after its
    `wait()`. Raises ArgumentError for an unknown op and in a process that is no member.
    """
    of, op = member(group, "all_reduce"), _checked("all_reduce", op)
    _tensor("all_reduce", tensor)
    if async_op and of.mpi is not None and op != "avg" and not (frontends.tracing and state.tracer is not None):
        from mpi4py import MPI

        values = np.array(tensor.detach().numpy(), order="C")
        of.meet("all_reduce", values, op)
        request = of.mpi.Iallreduce(MPI.IN_PLACE, plain(values), getattr(MPI, OPS[op]))
        return Work(request, lambda: _write(tensor, _around(values)))
    _write(tensor, ops.communicate(ops.all_reduce_op, tensor.detach(), reduction=op, **_members(of)))
    return _done(async_op)


def _around(values: np.ndarray) -> Any:
    return from_numpy(values)


def reduce(
    tensor: Any, dst: int | None = None, op: Any = "sum", group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """As `all_reduce`, in place in the process `dst` alone; the others keep their values."""
    of, op = member(group, "reduce"), _checked("reduce", op)
    root = place_of(of, dst, group_dst, "reduce")
    _write(_tensor("reduce", tensor), ops.communicate(ops.reduce_op, tensor.detach(), reduction=op, root=root, **_members(of)))
    return _done(async_op)


def broadcast(
    tensor: Any, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Give all processes the values of `src`, in place. All give the same shape and dtype."""
    of = member(group, "broadcast")
    root = place_of(of, src, group_src, "broadcast")
    _write(_tensor("broadcast", tensor), ops.communicate(ops.broadcast_op, tensor.detach(), root=root, **_members(of)))
    return _done(async_op)


def all_gather(tensor_list: Sequence[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """Put the tensor of process i into `tensor_list[i]`, for all. Raises ShapeError, DTypeError unless all are alike."""
    of = member(group, "all_gather")
    _same("all_gather", tensor_list, _tensor("all_gather", tensor), of.size)
    found = ops.communicate(ops.all_gather_op, tensor.detach(), **_members(of))
    for i, x in enumerate(tensor_list):
        _write(x, found[i])
    return _done(async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Work | None:
    """As `all_gather`, into one tensor: of shape (processes, *shape), or the parts joined along the first axis. Raises
    ShapeError."""
    of = member(group, "all_gather_into_tensor")
    _sizes("all_gather_into_tensor", output_tensor, input_tensor, of.size)
    found = ops.communicate(ops.all_gather_op, input_tensor.detach(), **_members(of))
    _write(output_tensor, found.reshape(tuple(output_tensor.shape)))
    return _done(async_op)


def _sizes(what: str, whole: Any, part: Any, size: int) -> None:
    _tensor(what, whole), _tensor(what, part)
    if whole.numel() != size * part.numel():
        raise ShapeError(
            f"{what}: the whole has {size} parts, one for each process, got shapes {shape_text(tuple(whole.shape))} and "
            f"{shape_text(tuple(part.shape))}"
        )
    if whole.dtype != part.dtype:
        raise DTypeError(f"{what}: tensors have one dtype, got {whole.dtype} and {part.dtype}")


def reduce_scatter(
    output: Any, input_list: Sequence[Any], op: Any = "sum", group: Any = None, async_op: bool = False
) -> Work | None:
    """Combine `input_list[i]` over all processes, for process i, into `output`."""
    of, op = member(group, "reduce_scatter"), _checked("reduce_scatter", op)
    _same("reduce_scatter", input_list, _tensor("reduce_scatter", output), of.size)
    _write(output, ops.communicate(ops.reduce_scatter_op, _stacked(input_list), reduction=op, **_members(of)))
    return _done(async_op)


def reduce_scatter_tensor(output: Any, input: Any, op: Any = "sum", group: Any = None, async_op: bool = False) -> Work | None:
    """As `reduce_scatter`, from one tensor that has the parts along its first axis."""
    of, op = member(group, "reduce_scatter_tensor"), _checked("reduce_scatter_tensor", op)
    _sizes("reduce_scatter_tensor", input, output, of.size)
    parts = input.detach().reshape((of.size, *output.shape))
    _write(output, ops.communicate(ops.reduce_scatter_op, parts, reduction=op, **_members(of)))
    return _done(async_op)


def all_to_all(
    output_tensor_list: Sequence[Any], input_tensor_list: Sequence[Any], group: Any = None, async_op: bool = False
) -> Work | None:
    """Send `input_tensor_list[i]` to process i, and receive from it into `output_tensor_list[i]`. All have one shape."""
    of = member(group, "all_to_all")
    like = _tensor("all_to_all", output_tensor_list[0]) if output_tensor_list else None
    _same("all_to_all", output_tensor_list, like, of.size)
    _same("all_to_all", input_tensor_list, like, of.size)
    found = ops.communicate(ops.all_to_all_op, _stacked(input_tensor_list), **_members(of))
    for i, x in enumerate(output_tensor_list):
        _write(x, found[i])
    return _done(async_op)


def all_to_all_single(
    output: Any, input: Any, output_split_sizes: Sequence[int] | None = None, input_split_sizes: Sequence[int] | None = None,
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """As `all_to_all`, on one tensor whose first axis has as many equal parts as there are processes. Raises ArgumentError for
    parts of other sizes."""
    of = member(group, "all_to_all_single")
    extent = input.shape[0] if input.ndim else 0
    for sizes in (output_split_sizes, input_split_sizes):
        if sizes and (len({*sizes}) > 1 or len(sizes) != of.size):
            raise ArgumentError("all_to_all_single: parts of different sizes are not supported", "pad them to one size")
    if extent % of.size or tuple(output.shape) != tuple(input.shape):
        raise ShapeError(
            f"all_to_all_single: the first axis has {of.size} equal parts, got shapes {shape_text(tuple(input.shape))} and "
            f"{shape_text(tuple(output.shape))}"
        )
    parts = input.detach().reshape((of.size, extent // of.size, *input.shape[1:]))
    _write(output, ops.communicate(ops.all_to_all_op, parts, **_members(of)).reshape(tuple(output.shape)))
    return _done(async_op)


# one process has what the others have not: no nodes of graphs, whose processes have equal programs --------------------------


def gather(
    tensor: Any, gather_list: Sequence[Any] | None = None, dst: int | None = None, group: Any = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Put the tensor of process i into `gather_list[i]` of the process `dst` (0), the only one that gives a list."""
    cut("distributed.gather")
    of = member(group, "gather")
    root = place_of(of, of.ranks[0] if dst is None and group_dst is None else dst, group_dst, "gather")
    values = np.array(_tensor("gather", tensor).detach().numpy(), order="C")
    if of.rank == root:
        _same("gather", gather_list or [], tensor, of.size)
    elif gather_list:
        raise ArgumentError("gather: gather_list is for the process dst alone")
    out = np.empty((of.size, *values.shape), values.dtype) if of.rank == root else None
    of.gather(values, out, root)
    if out is not None and gather_list is not None:
        for x, part in zip(gather_list, out, strict=True):
            _write(x, _around(part))
    return _done(async_op)


def scatter(
    tensor: Any, scatter_list: Sequence[Any] | None = None, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give process i the tensor `scatter_list[i]` of the process `src` (0), the only one that gives a list, in place."""
    cut("distributed.scatter")
    of = member(group, "scatter")
    root = place_of(of, of.ranks[0] if src is None and group_src is None else src, group_src, "scatter")
    values = None
    if of.rank == root:
        _same("scatter", scatter_list or [], tensor, of.size)
        values = np.array([x.detach().numpy() for x in scatter_list or ()], order="C")
    elif scatter_list:
        raise ArgumentError("scatter: scatter_list is for the process src alone")
    out = np.empty(tuple(tensor.shape), tensor.dtype)
    of.scatter(values, out, root)
    _write(tensor, _around(out))
    return _done(async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes are here."""
    cut("distributed.barrier")
    of = member(group, "barrier")
    of.meet("barrier")
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """As `barrier`. timeout: a `timedelta`. Raises DistError in a process for which others did not come in that time."""
    cut("distributed.monitored_barrier")
    longest = None if timeout is None else seconds("monitored_barrier", timeout)
    member(group, "monitored_barrier").meet("monitored_barrier", timeout=longest)


def _peer(what: str, group: Any, rank: int | None, in_group: int | None) -> tuple[Communicator, int]:
    cut(f"distributed.{what}")
    of = member(group, what)
    at = place_of(of, rank, in_group, what)
    if at == of.rank:
        raise ArgumentError(f"{what}: a process can't send to itself or receive from itself")
    return of, at


def isend(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> Work:
    """Begin to send a tensor to the process `dst`."""
    of, at = _peer("isend", group, dst, group_dst)
    values = np.array(_tensor("isend", tensor).detach().numpy(), order="C")
    return Work(of.mpi.Isend(plain(values), at, tag), lambda: values.shape)  # keeps the values until they are sent


def send(tensor: Any, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to the process `dst`, which calls `recv`."""
    isend(tensor, dst, group, tag, group_dst).wait()


def irecv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> Work:
    """Begin to receive a tensor, in place, from the process `src`; None: from any one."""
    from_any = src is None and group_src is None
    if from_any:
        cut("distributed.irecv")
        of, at = member(group, "irecv"), -1
    else:
        of, at = _peer("irecv", group, src, group_src)
    if of.mpi is None:
        raise ArgumentError("irecv: there is one process, which can't receive from itself")
    from mpi4py import MPI

    out = np.empty(tuple(_tensor("irecv", tensor).shape), tensor.dtype)
    request = of.mpi.Irecv(plain(out), MPI.ANY_SOURCE if from_any else at, tag)
    return Work(request, lambda: _write(tensor, _around(out)))


def recv(tensor: Any, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive a tensor, in place, from the process `src`; None: from any one. Returns the sender's rank."""
    if src is not None or group_src is not None:
        of, at = _peer("recv", group, src, group_src)
        irecv(tensor, src, group, tag, group_src).wait()
        return of.ranks[at]
    cut("distributed.recv")
    of = member(group, "recv")
    if of.mpi is None:
        raise ArgumentError("recv: there is one process, which can't receive from itself")
    from mpi4py import MPI

    status = MPI.Status()
    out = np.empty(tuple(_tensor("recv", tensor).shape), tensor.dtype)
    of.mpi.Recv(plain(out), MPI.ANY_SOURCE, tag, status)
    _write(tensor, _around(out))
    return of.ranks[status.Get_source()]


class P2POp:
    """A message that `batch_isend_irecv` begins. op: `isend` or `irecv`; peer: the other process."""

    def __init__(
        self, op: Any, tensor: Any, peer: int | None = None, group: Any = None, tag: int = 0, group_peer: int | None = None
    ):  # fmt: skip
        if op not in (isend, irecv):
            raise ArgumentError("P2POp: op is isend or irecv")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list: Sequence[P2POp]) -> list[Work]:
    """Begin several messages. Raises ArgumentError for other objects."""
    if not p2p_op_list or not all(isinstance(one, P2POp) for one in p2p_op_list):
        raise ArgumentError("batch_isend_irecv: a list of P2POp is expected")
    return [one.op(one.tensor, one.peer, one.group, one.tag, one.group_peer) for one in p2p_op_list]


# exchanges of Python objects, which travel by pickle: take them only from processes that you trust -------------------


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


# whether processes that train together still hold the same state -----------------------------------------------------


def verify(*states: Any, group: Any = None) -> None:
    """Compare checksums of parameters, buffers and optimizers' state over all processes, which hold the same after each step.

    states: modules, optimizers and whatever else has a `state_dict()`, or containers of tensors and numbers. Raises DistError,
    in all processes, with the name of the first value that differs and the ranks that hold each version of it, and
    SerializationError for an argument that is no state.
    """
    cut("distributed.verify")
    of = member(group, "verify")
    own = [line for state in states for line in _sums(state)]
    of.meet("verify")
    for told in zip_longest(*([own] if of.mpi is None else of.mpi.allgather(own))):
        if {*told} != {told[0]}:
            name = next(line for line in told if line is not None)[0]
            versions = {line: [rank for rank, other in zip(of.ranks, told, strict=True) if other == line] for line in told}
            lines = [f"  ranks {ranks}: {'none' if line is None else line[1]}" for line, ranks in versions.items()]
            raise DistError(
                f"{name} is not the same in all processes\n" + "\n".join(lines),
                "broadcast the state of one process, and look for what one of them does alone",
            )


def _sums(state: Any) -> list[tuple[str, str]]:
    """Of each array of a state, where it is in it, and its type with a checksum; last of what is not in arrays."""
    table = Table()
    table.item(state.state_dict() if hasattr(state, "state_dict") else state)
    kind = type(state).__name__
    found = [
        (
            f"{name or 'the value'} of {kind}",
            f"{x.dtype} {shape_text(x.shape)}, checksum {zlib.crc32(x.tobytes()):08x}",
        )
        for name, x in zip(table.names, table.arrays, strict=True)
    ]
    return [*found, (f"what is no tensor of {kind}", f"checksum {zlib.crc32(json.dumps(table.objects).encode()):08x}")]
