"""Ops that exchange values between the processes of a group.

All processes of a group have to perform the same exchanges in the same order. In a graph that order is a matter of data: each
exchange reads the result of the one before it, so no pass and no schedule can swap them (`communicate`).

Derivatives: the sum of the losses of all processes is what is differentiated. So the cotangent of a value that all processes
get is the sum of all their cotangents, and gathering and scattering are each other's transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.communicators import OPS, Communicator, group, text_of
from ..base.types import Shape, TensorType, shape_text
from ..errors import ArgumentError, DTypeError, GraphError, ShapeError
from ..ir import NO_ATTRS, Attribute, Exchange, Layout, Native, Node, OpDef, define
from . import rules as at
from .operators import F, Symbol, apply, state
from .operators.lifted import Lifted
from .rules import keep

NUMBER = at.integer(0)
SIZE = at.integer(1)
OP = Attribute(f"one of {', '.join(OPS)}", lambda value, types: value in OPS)
LINEAR = ("sum", "avg")
"""Ops that have a derivative."""


def gathered_rows(x: Any, members: Communicator, table: int) -> Any:
    """The values that processes have for some rows of a table, or the numbers of the rows: (processes, rows, ...)."""
    return communicate(gather_rows_op, x, group_number=members.number, size=members.size, table=table)


def communicate(record: OpDef, x: Any, **attrs: Any) -> Any:
    """Perform or append an exchange. x: what this process sends; complex numbers go as pairs. Raises GraphError in the body of
    a loop or branch of a graph, which each process runs as often as its own values say, DTypeError for the order or product of
    complex numbers."""
    if state.inside:
        raise GraphError(
            f"{record.name} in the body of a loop or branch of a graph: processes could take different ways, and wait forever",
            "exchange before or after it, or write the loop in Python",
        )
    if np.dtype(x.dtype).kind == "c":
        if attrs.get("reduction", "sum") not in LINEAR:
            raise DTypeError(f"{record.name} does not support {attrs['reduction']} on complex tensors", "reduce real numbers")
        return F.view_as_complex(communicate(record, F.view_as_real(x), **attrs))
    if isinstance(x, Lifted):  # the transform exchanges what stands for it, through this function
        return apply(record, x, **attrs)
    graph = x.graph if isinstance(x, Symbol) else None if state.tracer is None else state.tracer.graph
    last = None if graph is None else graph.last_exchange
    before = [] if graph is None or last is None or last not in graph.pred else [Symbol(graph, last)]
    decisions = None if state.tracer is None else state.tracer.decisions
    if decisions is not None and decisions.last is not None:
        before.append(decisions.last)  # a plan whose road is another one has exchanged nothing
    out = apply(record, x, *before, **attrs)
    if isinstance(out, Symbol):
        out.graph.last_exchange = out.node
    return out


def _same(x: TensorType, size: int) -> TensorType:
    return x


def _gathered(x: TensorType, size: int) -> TensorType:
    return x.with_shape((size, *x.shape))


def _exchanged(x: TensorType, size: int) -> TensorType:
    if not x.ndim or x.shape[0] not in (size, None):
        raise ShapeError(f"the first axis has the parts of the {size} processes, got shape {shape_text(x.shape)}")
    return x


def _scattered(x: TensorType, size: int) -> TensorType:
    return x.with_shape(_exchanged(x, size).shape[1:])


def _no_derivative(op: str) -> ArgumentError:
    return ArgumentError(
        f"the gradient of a {op} over processes is not defined", "reduce with sum or avg, or detach the operand"
    )


def _first(rule: Callable[..., Any]) -> Callable[[int], Callable[..., Any] | None]:
    """The rules of operands, of which the first alone is a value."""
    return lambda i: (lambda g, node, out, x, *before: rule(g, node.attrs)) if i == 0 else None


def _pushed(node: Any, out: Any, primals: Any, tangents: Sequence[Any]) -> Any:
    """The tangent: the same exchange of tangents, since it is linear."""
    if "reduction" in node.attrs:
        _linear(node.attrs)
    return communicate(node.op, tangents[0], **node.attrs)


def _together(takes: bool = False, gives: bool = False) -> Callable[..., Any]:
    """A batching rule: all samples travel in one exchange. takes, gives: whether the first axis of a sample, and of its result,
    is that of the processes, which stays in front."""

    def rule(samples: Any, node: Any, x: Any, *before: Any) -> Any:
        out = communicate(node.op, F.swapaxes(x, 0, 1) if takes else x, **node.attrs)
        return F.swapaxes(out, 0, 1) if gives else out

    return rule


def _members(attrs: Any) -> dict[str, int]:
    return {"group_number": attrs["group_number"], "size": attrs["size"]}


def _linear(attrs: Any) -> str:
    if attrs["reduction"] not in LINEAR:
        raise _no_derivative(attrs["reduction"])
    return attrs["reduction"]


def _only(g: Any, root: int, number: int) -> Any:
    """g in the process `root` of a group, and 0 in the others, where it stays an operand: all processes differentiate alike."""
    return F.where(np.asarray(group(number).rank == root), g, F.zeros_like(g))


def _native(function: str) -> Native:
    """Native code: MPI's C function. The host computes what no such function does, and values that MPI has no type for."""

    def plan(node: Node, layouts: Sequence[Layout]) -> list[Exchange] | None:
        sent, reduction = node.inputs[0].type, node.attrs.get("reduction", "")
        carried = sent.dtype.char in CARRIED and sent.size and reduction != "avg"
        if not carried or not group(node.attrs["group_number"]).native:
            return None
        root = node.attrs.get("root")
        how = [*([reduction] if reduction else []), *([] if root is None else ["to" if reduction else "from", root])]
        how += [f"of table {node.attrs['table']}"] if "table" in node.attrs else []
        told = text_of(node.op.name, *how, of=(sent.dtype, sent.shape))
        return [
            Exchange(
                node.attrs["group_number"], function, told, reduction, 0 if root is None else root, str(sent.dtype), sent.shape,
                node.attrs.get("table", -1),
            )
        ]  # fmt: skip

    return Native(plan)


CARRIED = "?bBhHiIlLqQfd"
"""Types of values, by NumPy's characters, that all of MPI's functions take."""
MEMBERS = {"group_number": NUMBER, "size": SIZE}
ROOT = at.integer(0)


def _exchange(
    name: str, function: str, doc: str, *, method: str = "", attrs: Mapping[str, Attribute] = NO_ATTRS,
    result: Callable[[TensorType, int], TensorType] = _same, vjp: Callable[..., Any] | None = None, batch: Any = None,
) -> OpDef:  # fmt: skip
    """The record of an exchange: MPI's `function` in plans, in eager mode the method of `Communicator` of this name or
    `method`.

    attrs: beside the group's. result: the type of the result; where that is the operand's, a copy of it is exchanged in place.
    vjp: the cotangent of the operand, of (g, attrs). batch: see `_together`; None for an exchange without derivatives.
    """
    exchange, linear = method if method else name, batch is not None

    def infer(x: TensorType, *before: TensorType, group_number: int, size: int, **how: Any) -> TensorType:
        return result(x, size)

    def evaluate(x: np.ndarray, *before: np.ndarray, group_number: int, size: int, **how: Any) -> np.ndarray:
        sent = np.array(x, order="C")
        out = sent if result is _same else np.empty(result(TensorType(x.shape, x.dtype), size).shape, x.dtype)
        arrays = (sent,) if out is sent else (sent, out)
        getattr(group(group_number), exchange)(*arrays, *[how[key] for key in ("reduction", "root") if key in how])
        return out

    return define(
        name=name, attrs={**attrs, **MEMBERS}, infer=infer, eval=evaluate, emit=_native(function), doc=doc, batch=batch,
        vjp=None if vjp is None else _first(vjp), jvp=_pushed if linear else None, promote=keep, stateful=True, fails=True,
        exchanges=True,
    )  # fmt: skip


all_reduce_op: OpDef = _exchange(
    "all_reduce", "Iallreduce", attrs={"reduction": OP}, batch=_together(),
    vjp=lambda g, attrs: communicate(all_reduce_op, g, reduction=_linear(attrs), **_members(attrs)),
    doc="The values of all processes of a group, combined element by element. Other operands are earlier exchanges.",
)  # fmt: skip
reduce_op = _exchange(
    "reduce", "Ireduce", attrs={"reduction": OP, "root": ROOT}, batch=_together(),
    vjp=lambda g, attrs: _reduce_cotangent(g, attrs),
    doc="As `all_reduce`, in the process `root`; in the others the operand.",
)  # fmt: skip
broadcast_op = _exchange(
    "broadcast", "Ibcast", attrs={"root": ROOT}, batch=_together(),
    vjp=lambda g, attrs: _broadcast_cotangent(g, attrs),
    doc="The values of the process `root` of a group.",
)  # fmt: skip
all_gather_op = _exchange(
    "all_gather", "Iallgather", result=_gathered, batch=_together(gives=True),
    vjp=lambda g, attrs: communicate(reduce_scatter_op, g, reduction="sum", **_members(attrs)),
    doc="The values of all processes of a group, along a new first axis.",
)  # fmt: skip
gather_rows_op = _exchange(
    "gather_rows", "Iallgather", method="all_gather", attrs={"table": NUMBER}, result=_gathered,
    doc="As `all_gather`, of what a process has of the rows of a table: where processes have other numbers, their plans agree.",
)  # fmt: skip
reduce_scatter_op: OpDef = _exchange(
    "reduce_scatter", "Ireduce_scatter_block", attrs={"reduction": OP}, result=_scattered, batch=_together(takes=True),
    vjp=lambda g, attrs: _reduce_scatter_cotangent(g, attrs),
    doc="The parts along the first axis that belong to this process, combined over all processes of a group.",
)  # fmt: skip
all_to_all_op: OpDef = _exchange(
    "all_to_all", "Ialltoall", result=_exchanged, batch=_together(takes=True, gives=True),
    vjp=lambda g, attrs: communicate(all_to_all_op, g, **_members(attrs)),
    doc="Part i along the first axis goes to process i; the result has the parts that came, in the processes' order.",
)  # fmt: skip


def _broadcast_cotangent(g: Any, attrs: Any) -> Any:
    root, number = attrs["root"], attrs["group_number"]
    return _only(communicate(reduce_op, g, reduction="sum", root=root, **_members(attrs)), root, number)


def _reduce_cotangent(g: Any, attrs: Any) -> Any:
    """Of a sum at `root`: the cotangent there, for all. The other processes' results are their operands."""
    op, root, number = _linear(attrs), attrs["root"], attrs["group_number"]
    found = communicate(broadcast_op, g, root=root, **_members(attrs))
    found = found / attrs["size"] if op == "avg" else found
    return found if group(number).rank == root else found + g


def _reduce_scatter_cotangent(g: Any, attrs: Any) -> Any:
    found = communicate(all_gather_op, g, **_members(attrs))
    return found / attrs["size"] if _linear(attrs) == "avg" else found


# what processes that train one model exchange -------------------------------------------------------------------------

# Gradients, which they add, and parameters, which may have an owner each. All of it is written in the exchanges above, so it
# serves tensors of every mode. ZeRO divides the state of an optimizer: the owner of a parameter keeps its slots, updates it,
# and gives it to the others.
#
# Source: Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020).


FIRST_BUCKET = 1 << 20
"""Bytes of the first bucket: it travels early."""
BUCKET = 25
"""Megabytes of the others."""
ALONE = 1 << 16
"""Bytes from which a parameter is a message of its own: to join it with others would cost more than a message."""
SHARDS = (None, "optimizer", "gradients")


def check_shard(where: str, shard: Any) -> str | None:
    """Raises ArgumentError for another value than those of `SHARDS`."""
    if shard not in SHARDS:
        raise ArgumentError(f'{where}: shard is None, "optimizer" or "gradients", got {shard!r}')
    return shard


def buckets(sizes: Sequence[int], kinds: Sequence[Any], cap: float | None = None) -> list[list[int]]:
    """Numbers of parameters, in reverse order, in buckets of one kind. sizes: in bytes; cap: megabytes of a bucket. Large
    ones are buckets of their own, which MPI reads and writes where they are."""
    limit = int((BUCKET if cap is None else cap) * (1 << 20))
    found: list[list[int]] = []
    open_buckets: dict[Any, tuple[list[int], int]] = {}
    for i in reversed(range(len(sizes))):
        bucket, held = open_buckets.get(kinds[i], (None, 0))
        full = held + sizes[i] > (min(limit, FIRST_BUCKET) if found and bucket is found[0] else limit)
        if bucket is None or full or max(held, sizes[i]) >= FIRST_BUCKET:
            bucket, held = [], 0
            found.append(bucket)
        bucket.append(i)
        open_buckets[kinds[i]] = bucket, held + sizes[i]
    return found


def joined(values: Sequence[Any]) -> Any:
    """The values as one vector."""
    parts = [x.reshape(-1) for x in values]
    return F.concatenate(parts, 0) if len(parts) > 1 else parts[0]


def parted(whole: Any, shapes: Sequence[Shape]) -> list[Any]:
    """The values of such shapes that were joined."""
    found, at = [], 0
    for shape in shapes:
        count = int(np.prod(shape))
        found.append(whole[at : at + count].reshape(shape))
        at += count
    return found


def _attrs(members: Communicator) -> dict[str, int]:
    return {"group_number": members.number, "size": members.size}


def added(whole: Any, owner: int | None, members: Communicator) -> Any:
    """The sum over all processes; for its owner alone, where there is one."""
    if owner is None:
        return communicate(all_reduce_op, whole, reduction="sum", **_attrs(members))
    return communicate(reduce_op, whole, reduction="sum", root=owner, **_attrs(members))


def from_owners(values: Sequence[Any], owners: Sequence[int], members: Communicator) -> list[Any]:
    """The values of those processes that own them. Of what belongs to others only shapes and dtypes are read. Small values of
    one owner travel together."""
    groups: list[tuple[int, list[int]]] = []
    together: dict[Any, list[int]] = {}
    for i, (x, owner) in enumerate(zip(values, owners, strict=True)):
        kind = owner, x.dtype
        if int(np.prod(x.shape)) * x.dtype.itemsize >= ALONE or kind not in together:
            groups.append((owner, [i]))
            if int(np.prod(x.shape)) * x.dtype.itemsize < ALONE:
                together[kind] = groups[-1][1]
        else:
            together[kind].append(i)
    found: list[Any] = [None] * len(values)
    for owner, places in groups:
        given = [values[i] if owner == members.rank else F.zeros_like(values[i]) for i in places]
        whole = communicate(broadcast_op, joined(given), root=owner, **_attrs(members))
        for i, part in zip(places, parted(whole, [tuple(values[i].shape) for i in places]), strict=True):
            found[i] = part
    return found
