"""Records over complex numbers, derived from those over real ones.

A record computes with complex numbers in one of three ways (`ir.OverComplex`), and most records imply theirs: an op that
moves values, or combines them with real coefficients, is "linear", and a product is "holomorphic". Elementary functions say
so in their records. An op that implies nothing and says nothing refuses complex numbers.

Gradients follow PyTorch's convention: the gradient of a real loss with respect to z = x + iy is dL/dx + i dL/dy, so an op with
the complex derivative f'(z) multiplies a cotangent by the conjugate of f'(z). The rules of records multiply by f'(z) itself;
between two conjugations they give what is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from ..ir import (
    REGISTRY,
    Deferred,
    Effect,
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
from ..operators import Operators, apply
from .batching import linear, multilinear

Rule = Callable[..., Any]

LINEAR = OverComplex("linear")
HOLOMORPHIC = OverComplex("holomorphic")
OWN = OverComplex("own")
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
        emit=op.emit if isinstance(op.emit, Expand) else None,
        backward=op.backward or node_name(op.name),
        complex=OWN,
    )
    object.__setattr__(made, "plain", derivative)
    return made


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
