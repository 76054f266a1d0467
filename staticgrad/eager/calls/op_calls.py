"""Calls of single ops: the value of one, and the cotangents of its operands, by plans made from the op's record."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from ...autodiff.pull import by_rules
from ...base.dtypes import FLOATS
from ...base.types import TensorType, float32, int64
from ...ir import REGISTRY, Expand, Graph, Native, Node, OpDef, Pointwise, Reduction
from ...ops.gathering import rows_named
from ...ops.operators import F, Symbol, append
from ...ops.sparse_rows import note
from ..grad_mode import Mode, modes
from ..tape import Record
from ..tensor import PublicTensor
from .kernels import ALONE, MOVED, Computation, Maker, copied, declined, program_of, requests, uses_of
from .signature import attributes

NEVER = 1 << 62
THREADED = 1 << 18
"""Elements of a matrix from which a kernel computes its product with a vector: NumPy's BLAS shares it among threads of its own,
which compete with those of the kernels before and after it. Smaller ones stay in the cache, where BLAS is faster."""


def least_of(op: OpDef) -> int:
    """The number of elements of the first operand from which a kernel computes the op, as measured: a call of a kernel takes
    half a microsecond, more than one of a NumPy ufunc, and less than one of any other function of NumPy's. It is noted in the
    record."""
    emit = op.emit
    if op.copies:
        least = MOVED
    elif op.plain is not op and op.complex is not None and op.complex.rule == "own":
        least = NEVER  # NumPy computes with complex numbers
    elif op.memory == "shared":
        least = NEVER
    elif isinstance(emit, Pointwise) and isinstance(op.eval, np.ufunc):
        least = 32768 if emit.linear or emit.bilinear else 2048
    elif isinstance(emit, (Pointwise, Reduction)):
        least = 1
    else:
        least = NEVER if not (isinstance(emit, (Expand, Native)) and op.pure) else 1
    object.__setattr__(op, "eager_least", least)
    return least


def value(op: OpDef, attrs: Mapping[str, Any], *arrays: np.ndarray) -> Any:
    """op(*arrays) by its kernel; None where NumPy has to compute it.

    An op's own entry has the attributes of its last call, and its plan. That declines arrays of other shapes and dtypes, so a
    call with these attributes needs no key.
    """
    first = arrays[0]
    if first.size < (op.eager_least or least_of(op)):
        return None
    if len(arrays) == 1 and first.dtype not in FLOATS and not op.draws:
        return None
    mode = modes.now
    former = mode.calls[op]
    if former is not None and former[0] == attrs:
        found = former[1](*arrays)
        if found is not None:
            return found[0]
    if op.copies:
        return copied(first) if attrs and not first.flags.c_contiguous else None
    if op.sparse:
        return _sparse(op, arrays, attrs)
    if op.product and _by_blas(first.shape, arrays[1].shape):
        return None
    for a in arrays:  # the memory of the result follows that of the operands, the first one above all
        if not a.flags.c_contiguous and (a is first or a.size > first.size or first.size < MOVED or callable(op.memory)):
            return None if first.size < MOVED else _with_axes_moved(op, attrs, arrays)
    key: tuple[Any, ...]
    if attrs:
        key = (op, *attributes(op, attrs), *[a.shape for a in arrays], *[a.dtype for a in arrays])
    elif len(arrays) == 1:
        key = op, first.shape, first.dtype
    else:
        key = (op, *[a.shape for a in arrays], *[a.dtype for a in arrays])
    try:
        call = mode.calls[key] or requests.begin(key, uses_of(max([a.size for a in arrays]), ALONE))
    except TypeError:  # attributes that can't be hashed
        return None
    if call.waits:
        call = requests.call(key, call, VALUE, op, dict(attrs), arrays)
    if call.plan is None:
        return None
    found = call.run(*arrays) or call.in_any_layout(*arrays)
    if found is None:
        return None
    if not op.numeric:
        mode.calls[op] = attrs, call.run
    return found[0]


def value_of_sparse(op: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> np.ndarray:
    """The value of an op that is 0 but for a few rows, which are noted: by its kernel, or by NumPy. Of `op.shape_only` operands
    the shape is read."""
    found = _sparse(op, operands, attrs)
    return op.eval(*operands, **attrs) if found is None else found


def _sparse(op: OpDef, operands: Sequence[Any], attrs: Mapping[str, Any]) -> np.ndarray | None:
    """The same; None where NumPy has to compute it."""
    arrays = [a for p, a in enumerate(operands) if p not in op.shape_only]
    if arrays[0].size < modes.now.heavy or any(a.__class__ is not np.ndarray for a in arrays):
        return None
    key = (op, *attributes(op, attrs), *[tuple(a.shape) for a in operands], *[a.dtype for a in arrays])
    call = modes.now.calls[key] or requests.begin(key, 4 * uses_of(max([a.size for a in arrays]), ALONE))
    if call.waits:
        call = requests.call(key, call, VALUE, op, dict(attrs), operands)
    found = call.run(*arrays) or call.in_any_layout(*arrays)
    if found is None:
        return None
    out: np.ndarray = found[0]
    rows = rows_named(operands, attrs)
    if rows is not None:
        note(out, rows.copy())
    return out


def _with_axes_moved(op: OpDef, attrs: Mapping[str, Any], arrays: Sequence[np.ndarray]) -> Any:
    """op(*arrays) for operands that are row-major once their axes are moved, as transposed ones: its kernel computes with the
    axes moved, and they are moved back in the result. That of an elementwise op so lies in the order of the operands, any other
    is copied. None for other operands, and for ops that may depend on the order of the axes."""
    first = arrays[0]
    order = sorted(range(first.ndim), key=lambda axis: -first.strides[axis])
    moved = [a if a.ndim == 0 else a.transpose(order) for a in arrays if a.ndim == 0 or a.shape == first.shape]
    if len(moved) < len(arrays) or not all(a.flags.c_contiguous for a in moved):
        return None
    axes = attrs.get("axis", ())
    if axes.__class__ is tuple and axes and attrs.keys() <= {"axis", "keepdims"} and len(arrays) == 1:
        if not (isinstance(op.emit, Reduction) or (isinstance(op.emit, Expand) and len(axes) == 1)):
            return None
    elif attrs or not isinstance(op.emit, Pointwise):
        return None
    out = value(op, {**attrs, "axis": tuple(sorted([order.index(a) for a in axes]))} if axes else attrs, *moved)
    if out is None:
        return None
    left = order if out.ndim == first.ndim else [a for a in order if a not in axes]
    back = sorted(range(len(left)), key=left.__getitem__)
    if back == [*range(len(left))]:
        return out
    return out.transpose(back) if op.memory == "operands" else copied(out.transpose(back))


class Bound:
    """An op with attributes, and the kernel of the last call: the next one with such shapes and dtypes looks nothing up.

    run(*arrays): in the thread of that call, which has this mode, the list of its value, or None for others, for which `value`
    looks for the kernel.
    """

    __slots__ = ("attrs", "mode", "op", "run")

    def __init__(self, op: OpDef, attrs: Mapping[str, Any]):
        self.op, self.attrs = op, attrs
        self.mode: Mode | None = None
        self.run: Callable[..., Any] = declined

    def value(self, *arrays: np.ndarray) -> Any:
        """As `run`, by a kernel that is looked for."""
        found = value(self.op, self.attrs, *arrays)
        if found is None:
            return None
        mode = modes.now
        former = mode.calls[self.op]
        if former is not None and former[0] == self.attrs:
            self.mode, self.run = mode, former[1]
        return [found]


Kinds = Sequence[tuple[tuple[int, ...], np.dtype]]


def placeholders(graph: Graph, kinds: Kinds, shapes: Container[int] = ()) -> list[Symbol]:
    """Feeds of these shapes and dtypes. shapes: the numbers of those that are known shapes instead."""
    types = [TensorType(tuple(shape), np.dtype(dtype)) for shape, dtype in kinds]
    leaves = [REGISTRY["shape" if i in shapes else "placeholder"] for i in range(len(types))]
    return [Symbol(graph, graph.add(leaf, (), {"type": kind}, kind)) for leaf, kind in zip(leaves, types, strict=True)]


def family_of(kinds: Kinds) -> tuple[Any, ...]:
    """What programs have in common that differ in extents alone."""
    return tuple([(len(shape), dtype) for shape, dtype in kinds])


def _value_program(op: OpDef, attrs: dict[str, Any], arrays: Sequence[Any]) -> tuple[Computation, None] | None:
    kinds = [(a.shape, a.dtype) for a in arrays]
    graph = Graph()
    operands = placeholders(graph, kinds, op.shape_only if op.sparse else ())
    if attrs.get("dtype") != float32 if op.draws else not any(dtype in FLOATS for _, dtype in kinds):
        return None  # a seed gives the same numbers in every call: those of float64 differ in the last place
    out = append(graph, op, operands, attrs)
    if (
        not by_plan(out.node)
        or (out.node.op.product and _by_blas(*[n.type.shape for n in out.node.inputs]))
        or any(o.dtype != dtype for o, (_, dtype) in zip(_inputs(out), kinds, strict=True))
    ):
        return None
    return program_of(graph, [out.node], [x.node for x in operands if x.node.op.leaf != "shape"], (op, family_of(kinds))), None


def _value_family(key: Any, op: OpDef, attrs: dict[str, Any], arrays: Sequence[Any]) -> Any:
    return op, family_of([(a.shape, a.dtype) for a in arrays])


VALUE = Maker(_value_program, _value_family, keyed=True)


def _by_blas(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether NumPy computes a product of these shapes: of a vector and a matrix that is not large."""
    return (1 in a[-2:] or 1 in b[-2:]) and max(math.prod(a), math.prod(b)) < THREADED


def by_plan(node: Node) -> bool:
    """Whether plans compute such a node: with a result of numbers or truth values, or of positions in numbers that a routine
    finds, or kernels do along another axis than the last one, of which NumPy makes a transposed copy first."""
    op, out = node.op, node.type.dtype
    if out.kind in "fbV":
        return True
    if out != int64 or node.inputs[0].type.dtype not in FLOATS:
        return False
    axis = node.attrs.get("axis")
    across = axis.__class__ is tuple and node.inputs[0].type.ndim - 1 not in axis
    return isinstance(op.emit, Native) or (isinstance(op.emit, Expand) and across)


def _inputs(out: Symbol) -> Sequence[Node]:
    return out.node.inputs


# cotangents ---------------------------------------------------------------------------------------------------------


class Reads:
    """The values that a plan of cotangents reads: -1 for the op's result, the positions of operands; and the positions of the
    operands of which it computes the cotangents."""

    __slots__ = ("positions", "values")

    def __init__(self, values: tuple[int, ...] = (), positions: tuple[int, ...] = ()):
        self.values, self.positions = values, positions


def compact(a: np.ndarray) -> tuple[np.ndarray, tuple[bool, ...] | None]:
    """An array without the repetitions of a broadcast, and along which axes they were; None for none."""
    if a.flags.c_contiguous:
        return a, None
    repeated = tuple([step == 0 and extent > 1 for step, extent in zip(a.strides, a.shape, strict=True)])
    if True not in repeated:
        return a, None
    return a[tuple([slice(0, 1) if r else slice(None) for r in repeated])], repeated


def cotangents(
    record: Record, g: np.ndarray, positions: tuple[int, ...], saved: Any
) -> tuple[tuple[int, ...], Sequence[np.ndarray]] | None:
    """The operands of a record whose cotangents a kernel computes, by position and in the order of `positions`, and these
    cotangents; None for none.

    saved: gives the value of an operand, or of the result for -1, as the rules would get it.
    """
    op, inputs = record.op, record.inputs
    if g.size < (op.eager_least or least_of(op)):
        return None
    g, repeated = compact(g)
    try:
        key = (
            op, positions, repeated, g.shape, g.dtype, *attributes(op, record.attrs),
            *[t._data.shape if t.__class__ is PublicTensor else t.shape for t in inputs], *[t.dtype for t in inputs],
        )  # fmt: skip
        call = modes.now.calls[key]
    except TypeError:  # attributes that can't be hashed
        return None
    if call is None:
        call = requests.begin(key, 4 * uses_of(max([g.size, *[math.prod(t.shape) for t in inputs]]), ALONE))
    if call.waits:
        call = requests.call(key, call, COTANGENTS, record, positions, repeated, g)
    if call.plan is None:
        return None
    needs: Reads = call.use
    arrays = [g]
    for i in needs.values:
        array = saved(i)
        if array.__class__ is not np.ndarray:
            return None
        arrays.append(array)
    found = call.run(*arrays) or call.in_any_layout(*arrays)
    return None if found is None else (needs.positions, found)


def _vjp_program(record: Record, positions: tuple[int, ...], repeated: Any, g: np.ndarray) -> tuple[Computation, Reads] | None:
    op, kinds = record.op, [(tuple(t.shape), t.dtype) for t in record.inputs]
    graph = Graph()
    (given,) = placeholders(graph, [(g.shape, g.dtype)])
    operands = placeholders(graph, kinds)
    node = append(graph, op, operands, dict(record.attrs)).node
    if node.op.product and _by_blas(*[n.type.shape for n in node.inputs]):
        return None
    if node.type.dtype not in FLOATS or node.inputs != tuple([x.node for x in operands]):
        return None
    (out,) = placeholders(graph, [(node.type.shape, node.type.dtype)])
    seed = given if repeated is None else F.broadcast_to(given, node.type.shape)
    found = {}
    for i, cotangent in zip(positions, by_rules(op, positions, seed, node, out, operands), strict=True):
        if isinstance(cotangent, Symbol) and cotangent.graph is graph and _computed(graph, cotangent.node):
            found[i] = cotangent.node
    if not found:
        return None
    fetches = list(found.values())
    order = graph.reaching(fetches)
    if node in order or any(n.op.sparse for n in order):
        return None
    read = [(i, x.node) for i, x in enumerate([out, *operands], -1) if x.node in set(order)]
    family = ("vjp", op, positions, repeated, family_of(kinds))
    program = program_of(graph, fetches, [given.node, *[n for _, n in read]], family)
    return program, Reads(tuple([i for i, _ in read]), tuple(found))


def _vjp_family(key: Any, record: Record, positions: tuple[int, ...], repeated: Any, g: np.ndarray) -> Any:
    kinds = [(tuple(t.shape), t.dtype) for t in record.inputs]
    return "vjp", record.op, positions, repeated, family_of(kinds)


COTANGENTS = Maker(_vjp_program, _vjp_family, keyed=True)


def _computed(graph: Graph, node: Node) -> bool:
    """Whether a cotangent is more than a placeholder or views of one."""
    return any(isinstance(n.op.emit, (Pointwise, Reduction, Native, Expand)) for n in graph.reaching([node]))
