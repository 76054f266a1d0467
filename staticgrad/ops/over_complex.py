"""Records over complex numbers, derived from those over real ones.

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

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import PART_OF
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
from .batching import linear, multilinear
from .leaves import constant_of
from .operators import F, Operators, Symbol, append, apply

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
