"""Records over other numbers, derived from those over float32 and float64: complex numbers, 16 bits, unsigned integers.

A record computes with complex numbers in one of three ways (`ir.OverComplex`), and most records imply theirs: an op that
moves values, or combines them with real coefficients, is "linear", and a product is "holomorphic". Elementary functions say
so in their records. An op that implies nothing and says nothing refuses complex numbers.

Gradients follow PyTorch's convention: the gradient of a real loss with respect to z = x + iy is dL/dx + i dL/dy, so an op with
the complex derivative f'(z) multiplies a cotangent by the conjugate of f'(z). The rules of records multiply by f'(z) itself;
between two conjugations they give what is needed.

In a plan an op is written in ops over real numbers, on the parts of its operands (`OverComplex.parts`). So fusion, rewrite
rules and kernels meet complex numbers in three ops alone: `real` and `imag` read the parts of a number in memory, and `complex`
writes both.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import HALF, PART_OF
from ..base.types import TensorType, float32
from ..errors import DTypeError
from ..ir import (
    REGISTRY,
    Deferred,
    Effect,
    Emit,
    Expand,
    Extent,
    Index,
    Leaf,
    OpDef,
    OverComplex,
    Pointwise,
    Region,
    Result,
    View,
    derivation,
    node_name,
)
from .leaves import constant_of
from .operators import F, Operators, Symbol, append, apply
from .rules import linear, multilinear

Rule = Callable[..., Any]

Pair = tuple[Any, Any]
"""(real parts, imaginary parts)."""

LINEAR = OverComplex("linear")
HOLOMORPHIC = OverComplex("holomorphic")
OWN = OverComplex("own")


def holomorphic(parts: Rule) -> OverComplex:
    """Of an op with a complex derivative. parts: a function of the pairs of its operands; see `OverComplex.parts`."""
    return OverComplex("holomorphic", parts=lambda node, *operands: parts(*operands))


STRUCTURAL = (View, Leaf, Effect, Region, Result, Deferred, Extent, Index)
"""Ways to lower an op that don't look at the values."""


def implied(op: OpDef) -> OverComplex | None:
    """How a record that does not say so computes with complex numbers; None: not at all."""
    if op.complex is not None:
        return op.complex
    if isinstance(op.emit, STRUCTURAL) or (op.vjp is None and op.shape_only):
        return OWN
    if op.jvp is linear or (isinstance(op.emit, Pointwise) and op.emit.linear):
        return LINEAR
    if op.jvp is multilinear or (isinstance(op.emit, Pointwise) and op.emit.bilinear):
        return HOLOMORPHIC
    return None


def derived(op: OpDef) -> OpDef:
    """The record over complex numbers. Raises DTypeError for an op that has none."""
    how = implied(op)
    if how is None:
        raise DTypeError(
            f'"{op.name}" not implemented for complex numbers', "compute with x.real and x.imag, or with abs(x) and x.angle()"
        )
    if how.rule == "own" or (how.rule == "linear" and isinstance(op.emit, Expand)):
        return op
    derivative = op if how.vjp is None or how.rule != "holomorphic" else dataclasses.replace(op, vjp=_tuple(how.vjp))
    made = dataclasses.replace(
        op,
        infer=how.infer or op.infer,
        eval=how.eval or op.eval,
        vjp=_conjugated_rules(derivative) if how.rule == "holomorphic" else op.vjp if how.vjp is None else _tuple(how.vjp),
        vjp_all=op.vjp_all if op.vjp_all is None or how.rule == "linear" else _conjugated_all(op.vjp_all),
        jvp=how.jvp or op.jvp,
        emit=_emitted(op, how),
        backward=op.backward or node_name(op.name),
        complex=OWN,
    )
    object.__setattr__(made, "plain", derivative)
    return made


def _emitted(op: OpDef, how: OverComplex) -> Emit:
    """How plans compute the op over complex numbers; None: by the host."""
    if how.emit is not None:
        return how.emit
    if isinstance(op.emit, Expand) and how.parts is None:
        return op.emit
    parts, element = how.parts, op.emit if isinstance(op.emit, Pointwise) else None
    if parts is None and op.emit is not None:
        if op.jvp is linear or (element is not None and element.linear):
            parts = each_part(op)
        elif op.jvp is multilinear or (element is not None and element.bilinear):
            parts = products_of_parts(op)
    return None if parts is None else by_parts(parts)


def by_parts(parts: Rule) -> Expand:
    """The expansion of an op by a rule for the parts of its operands; see `OverComplex.parts`."""

    def written(node: Any, *operands: Any) -> Any:
        found = parts(node, *map(parts_of, operands))
        return apply(REGISTRY["complex"], *found) if found.__class__ is tuple else found

    return Expand(written)


def parts_of(x: Any) -> Any:
    """The parts of a complex tensor of a graph; of a value that was put together of parts, these. Any other tensor itself."""
    if x.dtype.kind != "c":
        return x
    views, source = list[Any](), x.node
    while isinstance(source.op.emit, View) and len(source.inputs) == 1:
        views.append(source)
        source = source.inputs[0]
    parts: list[Any]
    if source.op.leaf == "shape":
        part = source.type.with_dtype(PART_OF[source.type.dtype])
        parts = [Symbol(x.graph, x.graph.add(source.op, (), {**source.attrs, "type": part}, part))] * 2
    elif source.op is REGISTRY["complex"]:
        parts = [F.broadcast_to(Symbol(x.graph, part), source.type.shape) for part in source.inputs]
    elif source.op.leaf == "constant":
        array = source.attrs["value"].array
        parts = [append(x.graph, source.op, (), constant_of(part)) for part in (array.real.copy(), array.imag.copy())]
    else:
        return apply(REGISTRY["real"], x), apply(REGISTRY["imag"], x)
    for view in reversed(views):
        parts = [apply(view.op, part, **view.attrs) for part in parts]
    return parts[0], parts[1]


def each_part(op: OpDef) -> Rule:
    """Of an op that is linear, with real coefficients. The complex operand may be one whose shape alone counts."""

    def parts(node: Any, *operands: Any) -> Any:
        def of(i: int) -> Any:
            return apply(op, *[x[i] if x.__class__ is tuple else x for x in operands], **node.attrs)

        return (of(0), of(1)) if node.type.dtype.kind == "c" else of(0)

    return parts


def products_of_parts(op: OpDef) -> Rule:
    """Of an op that is linear in each of two operands."""

    def parts(node: Any, x: Any, y: Any, *rest: Any) -> Pair:
        def of(a: Any, b: Any) -> Any:
            return apply(op, a, b, *[z[0] if z.__class__ is tuple else z for z in rest], **node.attrs)

        if x.__class__ is not tuple:
            return of(x, y[0]), of(x, y[1])
        if y.__class__ is not tuple:
            return of(x[0], y), of(x[1], y)
        (a, b), (c, d) = x, y
        return of(a, c) - of(b, d), of(a, d) + of(b, c)

    return parts


def _tuple(vjp: Any) -> Any:
    return (vjp,) if callable(vjp) else vjp


def _conjugated_rules(op: OpDef) -> Any:
    if op.vjp is None:
        return None
    if op.vjp.__class__ is tuple:
        return tuple([None if rule is None else _conjugated(rule) for rule in op.vjp])
    return lambda i: None if (rule := op.vjp(i)) is None else _conjugated(rule)


def conjugate(x: Any) -> Any:
    """The conjugate of a cotangent: an array or a tensor."""
    if x.dtype.kind != "c":
        return x
    return apply(REGISTRY["conj"], x) if isinstance(x, Operators) else np.conjugate(x)


def _conjugated(rule: Rule) -> Rule:
    def cotangent(g: Any, *rest: Any) -> Any:
        found = rule(conjugate(g), *rest)
        return None if found is None else conjugate(found)

    return cotangent


def _conjugated_all(rule: Rule) -> Rule:
    def cotangents(g: Any, node: Any, wanted: Sequence[bool], *inputs: Any) -> Any:
        for found in rule(conjugate(g), node, wanted, *inputs):
            yield None if found is None else conjugate(found)

    return cotangents


derivation["c"] = derived


# dtypes that kernels load and store, and compute with in another one: float16, bfloat16, wide unsigned integers -------

# An op over float16 or bfloat16 is the op over float32 between two casts, and rounds once, as PyTorch's CPU ops do: a
# product accumulates in float32, and the cotangents of an op are rounded once, too. In a plan the three are operations
# of their own. So kernels, fusion and rewrite rules meet loads that widen and stores that round, and no record says
# anything about it.
#
# Ops over uint16, uint32 and uint64 are computed by the host, but for products of matrices. What only moves values
# (`OpDef.stored`), and views, leaves, loops and branches, serve all these dtypes as they are.


def _as_it_is(op: OpDef) -> OpDef | None:
    """The record that serves all stored dtypes; None where there is none."""
    if isinstance(op.emit, STRUCTURAL) or op.stored is True:
        return op
    return None if op.stored is False else dataclasses.replace(op, eval=op.stored)


def over_half(op: OpDef) -> OpDef:
    """The record over float16 and bfloat16: `op` over float32, rounded."""
    found = _as_it_is(op)
    if found is not None:
        return found

    def infer(*types: TensorType, **attrs: Any) -> TensorType:
        result = op.infer(*[t.with_dtype(float32) if t.dtype in HALF else t for t in types], **_wide_attrs(attrs))
        kind = _rounded(result.dtype, types, attrs)
        return result if kind is result.dtype else result.with_dtype(kind)

    def evaluate(*arrays: Any, **attrs: Any) -> Any:
        found = op.eval(*[a.astype(float32) if a.dtype in HALF else a for a in arrays], **_wide_attrs(attrs))
        return found.astype(_rounded(found.dtype, arrays, attrs), copy=False)

    def written(node: Any, *operands: Any) -> Any:
        return _narrow(apply(op, *map(_wide, operands), **_wide_attrs(node.attrs)), node.type.dtype)

    return dataclasses.replace(
        op, infer=infer, eval=evaluate, vjp=_rounded_rules(op), vjp_all=_rounded_all(op.vjp_all), vjp_add=None, jvp=None,
        promote=None, emit=Expand(written), prepared=None, sparse=False,
    )  # fmt: skip


def over_unsigned(op: OpDef) -> OpDef:
    """The record over uint16, uint32 and uint64: NumPy computes it, but for products, whose kernel has the same bits for signed
    integers."""
    found = _as_it_is(op)
    if found is not None:
        return found
    return op if isinstance(op.emit, Expand) else dataclasses.replace(op, emit=op.emit if op.product else None)


def _rounded(result: np.dtype, operands: Iterable[Any], attrs: Mapping[str, Any]) -> np.dtype:
    """The dtype to which a result is rounded: the one asked for, or that of the operands of 16 bits. An operand in float32
    beside these is a number."""
    if result != float32:
        return result
    asked = attrs.get("dtype")
    return next((x.dtype for x in operands if x.dtype in HALF), result) if asked is None else asked


def _wide_attrs(attrs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**attrs, "dtype": float32} if attrs.get("dtype") in HALF else attrs


def _wide(x: Any) -> Any:
    """An array or a tensor, in float32 where it is of 16 bits. A saved value that may not be read stays one."""
    if x.dtype not in HALF:
        return x
    if isinstance(x, (Operators, np.ndarray, np.generic)):
        return _narrow(x, float32)
    x = copy.copy(x)
    x.dtype = float32
    return x


def _narrow(x: Any, dtype: Any) -> Any:
    if x is None or x.dtype == dtype:
        return x
    return apply(REGISTRY["cast"], x, dtype=dtype) if isinstance(x, Operators) else x.astype(dtype)


def _rounded_rules(op: OpDef) -> Any:
    if op.vjp is None:
        return None
    if op.vjp.__class__ is tuple:
        return tuple([None if rule is None else _rounded_rule(rule, i) for i, rule in enumerate(op.vjp)])
    return lambda i: None if (rule := op.vjp(i)) is None else _rounded_rule(rule, i)


def _rounded_rule(rule: Rule, position: int) -> Rule:
    def cotangent(g: Any, node: Any, out: Any, *inputs: Any) -> Any:
        return _narrow(rule(_wide(g), node, _wide(out), *map(_wide, inputs)), inputs[position].dtype)

    return cotangent


def _rounded_all(rule: Rule | None) -> Rule | None:
    if rule is None:
        return None

    def cotangents(g: Any, node: Any, wanted: Sequence[bool], *inputs: Any) -> Any:
        for found, x in zip(rule(_wide(g), node, wanted, *map(_wide, inputs)), inputs, strict=True):
            yield _narrow(found, x.dtype)

    return cotangents


derivation["half"] = over_half
derivation["u"] = over_unsigned
