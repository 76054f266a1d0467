"""The rewrite rules by which the compiler simplifies graphs: data, one record per rule.

A rule holds for all values, NaN and infinity included, unless it states an assumption.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from ...base.communicators import group
from ...base.types import broadcast_shapes
from ...errors import StaticgradError
from ...ir import REGISTRY, Native, Node, Pointwise, Region, View
from ..leaves import constant, constant_of
from ..operators import F, Symbol, append, apply
from ..operators import apply as apply_op
from ..over_complex import parts_of
from ..softmax import safe_top
from . import RewriteRule
from .layer_rules import ATTENTION, POOLING, ROWS, SCANS, WHOLE
from .loop_rules import part_of_a_concatenation, parts_of_a_whole, slice_of_elements
from .selected_rows import ARITHMETIC, shifted_operands

# rewrite rules for exchanges between processes -----------------------------------------------------------------------

NAMES = ("all_gather", "all_reduce", "all_to_all", "broadcast", "gather_rows", "reduce", "reduce_scatter")


def _alone(node: Node, x: Any, *before: Any) -> Any:
    if node.attrs["size"] != 1:
        return None
    return F.reshape(x, node.type.shape) if x.shape != node.type.shape else x


def _average(node: Node, x: Any, *before: Any) -> Any:
    if node.attrs["reduction"] != "avg":
        return None
    total = append(x.graph, node.op, (x, *before), {**node.attrs, "reduction": "sum"})
    size = node.attrs["size"]
    if node.op.name == "reduce" and node.attrs["root"] != group(node.attrs["group_number"]).rank:
        return total
    return total / size if node.type.dtype.kind in "fc" else total // size


def _after(node: Node, x: Any, *before: Any) -> Any:
    """The exchange before may have become a sum that is divided, or a value of this process."""
    if all(last.node.op.stateful for last in before):
        return None
    found = [last.node if last.node.op.stateful else next(iter(last.node.inputs), last.node) for last in before]
    kept = [Symbol(x.graph, last) for last in found if last.op.stateful]
    return append(x.graph, node.op, (x, *kept), dict(node.attrs))


EXCHANGES = (
    RewriteRule("one process", "all_reduce(x) = x among one process", NAMES, _alone),
    RewriteRule("order of exchanges", "an exchange begins after the one before it", NAMES, _after),
    RewriteRule(
        "average", "all_reduce(x, avg) = all_reduce(x, sum) / processes", ("all_reduce", "reduce", "reduce_scatter"), _average
    ),
)


# rewrite rules for systems, inverses and determinants of matrices ----------------------------------------------------

# Are written in the factors L and U: a system, that of its gradient with the transposed matrix, and a determinant share them.


def _lu(x: Any) -> tuple[Any, bool]:
    """(factors, turned): L, U and the exchanged rows in one array, of x, or of a matrix of which x is the transposed one."""
    axes, turned = tuple(range(x.ndim)), False
    if x.node.op is REGISTRY["permute"] and x.node.attrs["axes"] == (*axes[:-2], axes[-1], axes[-2]):
        x, turned = Symbol(x.graph, x.node.inputs[0]), True
    return apply(REGISTRY["linalg_lu_factor"], x), turned


def applied(a: Any, b: Any, name: str) -> Any:
    """X with A X = B. A function of this name has an error where A is singular."""
    factors, turned = _lu(a)
    return apply(REGISTRY["linalg_apply_lu"], apply(REGISTRY["linalg_regular"], factors, a, of=name), b, turned=turned)


def _solve(node: Node, a: Any, b: Any) -> Any:
    return applied(a, b, "solve")


def _inv(node: Node, x: Any) -> Any:
    rows, columns = (F.index_along(x, x.ndim - k) for k in (2, 1))
    return applied(x, F.reshape(F.astype(F.eq(rows, columns), x.dtype), x.shape[-2:]), "inv")


def _diagonal(x: Any) -> tuple[Any, Any]:
    """The diagonal of U, and the sign of the exchanges of rows."""
    n, flat = x.shape[-1], _lu(x)[0]
    pivots = F.real(flat[..., n * n :])
    exchanges = F.sum(F.astype(F.ne(pivots, F.index_along(pivots, pivots.ndim - 1) + 1), np.int64), -1)
    return flat[..., : n * n : n + 1], 1 - F.astype(exchanges % 2, flat.dtype) * 2


def _det(node: Node, x: Any) -> Any:
    diagonal, sign = _diagonal(x)
    return F.prod(diagonal, -1) * sign


def _slogdet(node: Node, x: Any) -> Any:
    diagonal, sign = _diagonal(x)
    size = F.sum(F.log(F.abs(diagonal)), -1)
    return F.stack([F.prod(F.sgn(diagonal), -1) * sign, F.astype(size, sign.dtype)], -1)


FACTORS = (
    RewriteRule("system by factors", "A X = B: X = U^-1 L^-1 P' B", ("linalg_solve",), _solve),
    RewriteRule("inverse by factors", "A^-1 = U^-1 L^-1 P'", ("linalg_inv",), _inv),
    RewriteRule("determinant by factors", "det(A) = det(P) prod(diag(U))", ("linalg_det",), _det),
    RewriteRule("logarithm by factors", "log|det(A)| = sum(log|diag(U)|)", ("linalg_slogdet",), _slogdet),
)


# rewrite rules for products of a matrix and a vector -----------------------------------------------------------------

# Kernels compute them among other work, BLAS in calls of its own.
#
# A product with one column is a sum over the elements of each row, and its transpose is a sum over rows. Fused with their
# neighbors, a loss and its gradient read their matrix once. The rules apply where an extent is 1 because a weight is a vector.
# They don't apply where a batch happens to hold one example, which uses the kernels of any other batch.


def _turned(x: Any) -> Any:
    """The matrix that x is the transpose of, else None."""
    return Symbol(x.graph, x.node.inputs[0]) if x.node.op is REGISTRY["permute"] else None


def _weight(x: Any) -> bool:
    """Extents of variables and constants are never those of a batch."""
    inner = _turned(x)
    source = x if inner is None else inner
    return source.node.op.leaf in ("variable", "constant")


def outer_product(node: Node, a: Any, b: Any) -> Any:
    """(m, 1) @ (1, n) is a product by broadcasting."""
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != 1:
        return None
    if _turned(a) is not None and not _weight(a):
        return None
    return F.mul(a, b)


def times_column(node: Node, a: Any, b: Any) -> Any:
    """(m, k) @ (k, 1), summed along the rows of a, or down the columns of its transpose."""
    if len(a.shape) != 2 or len(b.shape) != 2 or b.shape[1] != 1 or node.type.dtype.kind != "f":
        return None
    if _turned(b) is not None and not _weight(b):
        return None
    other = _turned(a)
    if other is None:
        total = F.sum(F.mul(a, F.reshape(b, (b.shape[0],))), 1)
    else:
        total = F.sum(F.mul(other, b), 0)
    return F.reshape(total, node.type.shape)


def row_times(node: Node, a: Any, b: Any) -> Any:
    """(1, k) @ (k, n) for a transposed column: summed down the columns of b, or along rows of what it is the transpose
    of."""
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[0] != 1 or node.type.dtype.kind != "f":
        return None
    column = _turned(a)
    if column is None and not _weight(a):
        return None
    other = _turned(b)
    vector = F.reshape(a, (a.shape[1],)) if column is None else F.reshape(column, (a.shape[1],))
    if other is None:
        total = F.sum(F.mul(b, F.expand_dims(vector, 1)), 0)
    else:
        total = F.sum(F.mul(other, vector), 1)
    return F.reshape(total, node.type.shape)


# rewrite rules for the parts of complex numbers -----------------------------------------------------------------------


def _one_part(node: Node, x: Any) -> Any:
    """A part of a value that was put together of parts, or of a view of it."""
    source = x.node
    while isinstance(source.op.emit, View) and len(source.inputs) == 1:
        source = source.inputs[0]
    if source.op is not REGISTRY["complex"] and source.op.leaf != "constant":
        return None
    return parts_of(x)[node.op is REGISTRY["imag"]]


def _whole_again(node: Node, re: Any, im: Any) -> Any:
    if re.node.op is not REGISTRY["real"] or im.node.op is not REGISTRY["imag"] or re.node.inputs != im.node.inputs:
        return None
    return Symbol(re.graph, re.node.inputs[0])


COMPLEX = (
    RewriteRule("part of a whole", "Re(x + iy) = x, Im(x + iy) = y", ("real", "imag"), _one_part),
    RewriteRule("whole of parts", "Re(z) + i Im(z) = z", ("complex",), _whole_again),
)


# rules of arithmetic, and the table of all rules ---------------------------------------------------------------------


def value_of(node: Node) -> Any:
    """The number that every element of a constant (or of its broadcast) has, else None."""
    while node.op is REGISTRY["broadcast_to"] or node.op is REGISTRY["reshape"]:
        node = node.inputs[0]
    if node.op is not constant:
        return None
    array = node.attrs["value"].array
    return array.flat[0].item() if array.size == 1 else None


def _is(node: Node, value: float) -> bool:
    found = value_of(node)
    return found is not None and found == value and not (value == 0 and math.copysign(1, found) < 0)


def _shaped(x: Any, node: Node) -> Any:
    """x where it can stand for `node`: broadcast to its shape."""
    return x if x.shape == node.type.shape else F.broadcast_to(x, node.type.shape)


def _scalar(like: Any, value: Any) -> Symbol:
    return append(like.graph, constant, (), constant_of(np.asarray(value, like.dtype)))


def _fold(node: Node, *inputs: Any) -> Any:
    """Not repeats of a constant: how many there are is no reason for another kernel. Nor calls of Python: a run makes them.
    What fails does so in a run, after all that comes before it."""
    if not node.op.pure:
        return None
    for i in inputs:
        if i.node.op is not constant:
            return None
    if not inputs or node.op is REGISTRY["broadcast_to"] or isinstance(node.op.emit, Region) or node.type.size > 64:
        return None
    try:
        with np.errstate(all="ignore"):
            value = node.op.eval(*(i.node.attrs["value"].array for i in inputs), **node.attrs)
    except StaticgradError:
        return None
    return append(inputs[0].graph, constant, (), constant_of(np.asarray(value, node.type.dtype)))


def _neutral(right_only: bool, neutral: float) -> Callable[..., Any]:
    def rule(node: Node, x: Any, y: Any) -> Any:
        if _is(y.node, neutral):
            return _shaped(x, node)
        if not right_only and _is(x.node, neutral):
            return _shaped(y, node)
        return None

    return rule


def _minus_zero(node: Node, x: Any, y: Any) -> Any:
    """x + 0 is x but for x = -0, which keeps its sign."""
    return _neutral(node.op is REGISTRY["sub"], 0.0)(node, x, y)


def _inside_broadcast(node: Node, *inputs: Any) -> Any:
    """Operands of pointwise ops broadcast by themselves."""
    broadcast = REGISTRY["broadcast_to"]
    for i in node.inputs:
        if i.op is broadcast:
            break
    else:
        return None
    if not isinstance(node.op.emit, Pointwise) or node.op.shape_only:
        return None
    sources = [_source(i) for i in inputs]
    smaller = broadcast_shapes(*[s.shape for s in sources])
    result = apply_op(node.op, *sources, **node.attrs)
    return result if smaller == node.type.shape else F.broadcast_to(result, node.type.shape)


def _source(x: Any) -> Any:
    while x.node.op is REGISTRY["broadcast_to"]:
        x = Symbol(x.graph, x.node.inputs[0])
    return x


def _same_shape(node: Node, x: Any) -> Any:
    return x if x.shape == node.type.shape else None


def _nested(node: Node, x: Any) -> Any:
    """The outer of two reshapes, broadcasts or casts that widen says it all."""
    if x.node.op is not node.op:
        return None
    return apply_op(node.op, Symbol(x.graph, x.node.inputs[0]), **node.attrs)


def _reshape_of_one(node: Node, x: Any) -> Any:
    """A single value repeated: its broadcast can take any shape."""
    if x.node.op is not REGISTRY["broadcast_to"] or x.node.inputs[0].type.size != 1:
        return None
    return F.broadcast_to(F.reshape(Symbol(x.graph, x.node.inputs[0]), ()), node.type.shape)


def _permute_twice(node: Node, x: Any) -> Any:
    axes = node.attrs["axes"]
    if axes == tuple(range(len(axes))):
        return x
    if x.node.op is node.op:
        inner = x.node.attrs["axes"]
        return F.permute(Symbol(x.graph, x.node.inputs[0]), tuple(inner[a] for a in axes))
    return None


def _transposed_product(node: Node, x: Any) -> Any:
    """(A B)' = B' A': the transposes become flags of the product."""
    axes = node.attrs["axes"]
    n = len(axes)
    if x.node.op is not REGISTRY["matmul"] or axes != (*range(n - 2), n - 1, n - 2):
        return None
    a, b = (F.swapaxes(Symbol(x.graph, i), -1, -2) for i in x.node.inputs)
    return apply_op(REGISTRY["matmul"], b, a)


def _scaled_operand(node: Node, a: Any, b: Any) -> Any:
    """(c A) B = c (A B) where A lies in memory: a product scales in passing, a pass over A does nothing else. It assumes that
    A B does not overflow where c A B does not."""
    for i, x in enumerate((a, b)):
        turned = x.node.op is REGISTRY["permute"]
        scaled = x.node.inputs[0] if turned else x.node
        if scaled.op is not REGISTRY["mul"] or node.type.dtype.kind != "f":
            continue
        for source, factor in (scaled.inputs, scaled.inputs[::-1]):
            value = value_of(factor)
            if value is None or source.type.shape != scaled.type.shape or not _in_memory(source):
                continue
            operand = Symbol(x.graph, source)
            whole = F.permute(operand, x.node.attrs["axes"]) if turned else operand
            return F.mul(apply_op(node.op, *((whole, b) if i == 0 else (a, whole))), _scalar(operand, value))
    return None


def _in_memory(node: Node) -> bool:
    """Not computed by a kernel, which could scale it too."""
    while isinstance(node.op.emit, View):
        node = node.inputs[0]
    return node.op.leaf in ("placeholder", "variable") or isinstance(node.op.emit, Native)


def _transposed_sum(node: Node, x: Any) -> Any:
    """(A + B)' = A' + B' where that leaves products, which add up in one memory."""
    if node.attrs["axes"] != (1, 0) or not (x.node.op is REGISTRY["add"] and _of_products(x.node)):
        return None
    return F.add(*(F.permute(Symbol(x.graph, i), (1, 0)) for i in x.node.inputs))


def _of_products(node: Node) -> bool:
    """A matrix that is a product, or a sum or transpose of such."""
    seen, waiting = set(), [node]
    while waiting:
        now = waiting.pop()
        if now in seen or now in _sums_of_products:
            continue
        seen.add(now)
        if now.op is REGISTRY["matmul"]:
            if now.type.ndim != 2:
                return False
            continue
        if now.op not in (REGISTRY["add"], REGISTRY["permute"]) or any(i.type.size != now.type.size for i in now.inputs):
            return False
        waiting += now.inputs
    _sums_of_products.update(seen)
    return True


_sums_of_products: WeakSet[Node] = WeakSet()
"""Nodes of which this is known: a long sum is asked about at each of its terms."""


def _sum_of_broadcast(node: Node, x: Any) -> Any:
    """sum over the axes along which one value was repeated = the value times their number (not 0: inf * 0 is NaN)."""
    if x.node.op is not REGISTRY["broadcast_to"] or node.type.dtype.kind != "f" or 0 in x.shape:
        return None
    source = Symbol(x.graph, x.node.inputs[0])
    lead = len(x.shape) - len(source.shape)
    axis = node.attrs["axis"]
    repeated = tuple(a for a in axis if a < lead or (source.shape[a - lead] == 1 and x.shape[a] != 1))
    if len(repeated) != len(axis):
        return None
    count = apply_op(REGISTRY["count"], x, axis=axis, dtype=node.type.dtype)
    kept = tuple(d for i, d in enumerate((*(1,) * lead, *source.shape)) if i not in axis)
    return F.broadcast_to(F.mul(F.reshape(source, kept), count), node.type.shape)


def _alias(node: Node, x: Any) -> Any:
    return x


def _cast(node: Node, x: Any) -> Any:
    return x if x.dtype == node.type.dtype else None


def _double_negative(node: Node, x: Any) -> Any:
    return Symbol(x.graph, x.node.inputs[0]) if x.node.op is node.op else None


def _minus_one(node: Node, x: Any, y: Any) -> Any:
    for number, other in ((x, y), (y, x)):
        if _is(number.node, -1.0) and other.shape == node.type.shape and node.type.dtype.kind == "f":
            return F.neg(other)
    return None


def _times_negative(node: Node, x: Any, y: Any) -> Any:
    """x + (-y) = x - y"""
    if y.node.op is REGISTRY["neg"]:
        return F.sub(x, Symbol(y.graph, y.node.inputs[0]))
    if x.node.op is REGISTRY["neg"]:
        return F.sub(y, Symbol(x.graph, x.node.inputs[0]))
    return None


def _log_of_softmax(node: Node, x: Any) -> Any:
    if x.node.op is not REGISTRY["softmax"]:
        return None
    return F.log_softmax(Symbol(x.graph, x.node.inputs[0]), x.node.attrs["axis"])


def _exp_of_log_softmax(node: Node, x: Any) -> Any:
    if x.node.op is not REGISTRY["log_softmax"]:
        return None
    return F.softmax(Symbol(x.graph, x.node.inputs[0]), x.node.attrs["axis"])


def _exp_minus_logsumexp(node: Node, x: Any) -> Any:
    """In terms of logsumexp's maximum and sum; infinite values keep their result."""
    if x.node.op is not REGISTRY["sub"]:
        return None
    a, b = x.node.inputs
    shape = b.type.shape
    while b.op.name in ("reshape", "expand_dims", "broadcast_to", "broadcast_like", "squeeze"):
        b = b.inputs[0]
    if b.op is not REGISTRY["logsumexp"] or b.inputs[0] is not a:
        return None
    axis = b.attrs["axis"]
    kept = tuple(1 if i in axis else d for i, d in enumerate(a.type.shape))
    if any(a.type.shape[i] == 0 for i in axis) or shape not in (a.type.shape, kept):
        return None
    source = Symbol(x.graph, a)
    e = F.exp(source - safe_top(source, axis))
    return e * (1 / F.sum(e, axis, keepdims=True))


def _log_of_sigmoid(node: Node, x: Any) -> Any:
    if x.node.op is not REGISTRY["sigmoid"]:
        return None
    return F.neg(F.softplus(F.neg(Symbol(x.graph, x.node.inputs[0]))))


def _log_of_one_plus(node: Node, x: Any) -> Any:
    if x.node.op is not REGISTRY["add"]:
        return None
    a, b = x.node.inputs
    for one, other in ((a, b), (b, a)):
        if _is(one, 1.0) and other.type.shape == x.shape:
            return F.log1p(Symbol(x.graph, other))
    return None


def _log_of_sum_of_exp(node: Node, x: Any) -> Any:
    inner = x.node.inputs[0] if x.node.op is REGISTRY["sum"] else None
    if inner is None or inner.op is not REGISTRY["exp"]:
        return None
    return F.logsumexp(Symbol(x.graph, inner.inputs[0]), x.node.attrs["axis"], x.node.attrs["keepdims"])


STABILIZING = (
    RewriteRule("log of softmax", "log(softmax(x)) = log_softmax(x), finite where it underflows", ("log",), _log_of_softmax),
    RewriteRule("exp of log-softmax", "exp(log_softmax(x)) = softmax(x), made of known terms", ("exp",), _exp_of_log_softmax),
    RewriteRule("softmax", "exp(x - logsumexp(x)) = exp(x - top) / sum(exp(x - top))", ("exp",), _exp_minus_logsumexp),
    RewriteRule("log of sigmoid", "log(sigmoid(x)) = -softplus(-x), finite where it underflows", ("log",), _log_of_sigmoid),
    RewriteRule("log of a sum of exp", "log(sum(exp(x))) = logsumexp(x), which can't overflow", ("log",), _log_of_sum_of_exp),
    RewriteRule("log1p", "log(1 + x) = log1p(x), accurate for small x", ("log",), _log_of_one_plus),
    *WHOLE,
    *ATTENTION,
    *FACTORS,
    *SCANS,
    *EXCHANGES,
)
"""Applied while the ops are whole, before `expand`."""

ALGEBRA = (
    RewriteRule("fold", "an op of small constants is a constant", (), _fold),
    RewriteRule("implicit broadcast", "f(broadcast(x), y) = f(x, y)", (), _inside_broadcast),
    RewriteRule("same shape", "reshape or broadcast to the shape it has", ("reshape", "broadcast_to"), _same_shape),
    RewriteRule("nested", "the outer reshape or broadcast decides", ("reshape", "broadcast_to"), _nested),
    RewriteRule("reshape of one", "one repeated value has any shape", ("reshape",), _reshape_of_one),
    RewriteRule("permute", "two permutations are one, the identity none", ("permute",), _permute_twice),
    RewriteRule("transposed product", "(A B)' = B' A'", ("permute",), _transposed_product),
    RewriteRule("transposed sum", "(A B + C D)' = (A B)' + (C D)'", ("permute",), _transposed_sum),
    RewriteRule("scaled operand", "(c A) B = c (A B), for A in memory", ("matmul",), _scaled_operand),
    RewriteRule("outer product", "a column times a row is a product by broadcasting", ("matmul",), outer_product),
    RewriteRule("times a column", "A b = sum over columns of A * b'", ("matmul",), times_column),
    RewriteRule("row times", "a' B = sum over rows of a * B", ("matmul",), row_times),
    RewriteRule("sum of repeats", "sum of n equal values = n times the value", ("sum",), _sum_of_broadcast),
    RewriteRule("alias", "a node that only marks the forward graph", ("identity", "stop_gradient"), _alias),
    RewriteRule("cast", "cast to the dtype it has", ("cast",), _cast),
    RewriteRule("times one", "x * 1 = x", ("mul",), _neutral(False, 1.0)),
    RewriteRule("over one", "x / 1 = x", ("div",), _neutral(True, 1.0)),
    RewriteRule("plus zero", "x + 0 = x - 0 = x", ("add", "sub"), _minus_zero),
    RewriteRule("double negative", "-(-x) = x", ("neg",), _double_negative),
    RewriteRule("minus one", "x * -1 = -x", ("mul",), _minus_one),
    RewriteRule("slice of elements", "a slice of f(x, y) is f of slices, for a cheap f", ("slice",), slice_of_elements),
    RewriteRule("one part", "a slice of a concatenation is its operand", ("slice",), part_of_a_concatenation),
    RewriteRule("shifted operand", "f(slice(padded x)) = f(slice of x beside zeros)", ARITHMETIC, shifted_operands),
    RewriteRule("parts", "slices put back into zeros and added up are parts in a row", ("add",), parts_of_a_whole),
    RewriteRule("subtraction", "x + (-y) = x - y", ("add",), _times_negative),
    *ROWS,
    *POOLING,
    *COMPLEX,
)
