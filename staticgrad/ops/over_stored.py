"""Records over dtypes that kernels load and store, and compute with in another one: float16, bfloat16, wide unsigned integers.

An op over float16 or bfloat16 is the op over float32 between two casts, and rounds once, as PyTorch's CPU ops do: a product
accumulates in float32, and the cotangents of an op are rounded once, too. In a plan the three are operations of their own. So
kernels, fusion and rewrite rules meet loads that widen and stores that round, and no record says anything about it.

Ops over uint16, uint32 and uint64 are computed by the host, but for products of matrices. What only moves values
(`OpDef.stored`), and views, leaves, loops and branches, serve all these dtypes as they are.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import HALF
from ..base.types import TensorType, float32
from ..ir import REGISTRY, Expand, OpDef, derivation
from .operators import Operators, apply
from .over_complex import STRUCTURAL

Rule = Callable[..., Any]


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
