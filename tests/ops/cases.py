"""The op-case table: one row per op or public function.

Columns: name, function on tensors, NumPy reference, samples of operands (shapes with broadcasting, axes of extent 1, no
elements), and what deviates from the defaults: dtypes, tolerance against NumPy, how often it is differentiated.
`tests/ops/test_cases.py` runs every row in every backend.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import staticgrad as sg
import staticgrad.distributed  # these have ops of their own
import staticgrad.distributions
from staticgrad.ir import REGISTRY
from staticgrad.operators import F, apply
from staticgrad.ops.attention import attention, attention_softmax
from tests.helpers import Arg, boolean, integer, positive, real
from tests.ops import complex_cases, torch_cases, window_cases
from tests.ops.elementwise_cases import ELEMENTWISE, PAIRS, PLAIN, POSITIVE

Sample = tuple[Arg, ...]

f32, f64 = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(frozen=True)
class Case:
    """One row.

    fn, numpy: of as many operands as each sample has; the result is one tensor or a list. order: how often it is
    differentiated numerically (0: its gradient is 0 or None). ulps: largest difference from NumPy, in units of the
    dtype's epsilon; 0: equal. refused: the error where no extent is known; "": it can be built there. sized: the row's own
    code reads extents. compiled: largest
    difference of a plan from eager, in the same units. host: NumPy or SciPy computes it, in a plan too.
    """

    name: str
    fn: Callable[..., Any]
    numpy: Callable[..., Any]
    samples: tuple[Sample, ...]
    order: int = 2
    ulps: float = 4.0
    refused: str = ""
    sized: bool = False
    dtypes: tuple[np.dtype, ...] = (f32, f64)
    compiled: float = 64.0
    host: bool = False

    def rtol(self, dtype: np.dtype) -> float:
        return self.ulps * float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def op(name: str, *args: Any, **attrs: Any) -> Any:
    return apply(REGISTRY[name], *args, **attrs)


def softmax(x: np.ndarray, axis: Any = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis, keepdims=True)


def logsumexp(x: np.ndarray, axis: Any = None, keepdims: bool = False) -> np.ndarray:
    return np.log(np.sum(np.exp(x), axis, keepdims=keepdims))


def attention_gradient(q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray) -> np.ndarray:
    scores = np.where(np.tri(q.shape[-2], k.shape[-2], dtype=bool), q @ k.swapaxes(-1, -2) * 0.3, -np.inf)
    weights, of_weights = softmax(scores), g @ v.swapaxes(-1, -2)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True)) * 0.3
    parts = of_scores @ k, of_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ g
    return np.concatenate([part.reshape(-1) for part in parts])


# samples ----------------------------------------------------------------------------------------------------

AWAY = (  # divisors, and bases of powers
    (real(3, 4), positive(3, 4)),
    (real(3, 4), positive(4)),
    (real(2, 1, 4), positive(3, 1)),
    (real(), positive(3)),
    (real(0, 3), positive(3)),
)
POWERS = tuple((b, a) for a, b in AWAY)
BOOLS = ((boolean(3, 4), boolean(4)), (boolean(2, 1), boolean(1, 3)), (boolean(), boolean(2)))
CUBE = ((real(2, 3, 4),), (real(1, 3, 1),))


def elementwise() -> list[Case]:
    rows = [Case(row.name, getattr(F, row.name), row.numpy, row.samples, order=row.order, ulps=row.ulps) for row in ELEMENTWISE]
    rows += [
        Case("rsqrt", F.rsqrt, lambda x: 1 / np.sqrt(x), POSITIVE, ulps=2),
        Case("softplus", F.softplus, lambda x: np.log1p(np.exp(x)), PLAIN, ulps=16),
    ]
    rows += [
        Case("add", F.add, np.add, PAIRS, ulps=0),
        Case("sub", F.sub, np.subtract, PAIRS, ulps=0),
        Case("mul", F.mul, np.multiply, PAIRS, ulps=0),
        Case("div", F.div, np.true_divide, AWAY, ulps=0),
        Case("pow", F.pow, np.power, POWERS),
        Case("maximum", F.maximum, np.maximum, PAIRS, ulps=0),
        Case("minimum", F.minimum, np.minimum, PAIRS, ulps=0),
        Case("floor_divide", F.floor_divide, np.floor_divide, AWAY, order=0, ulps=0),
        Case(
            "logistic_loss",
            lambda x, t: op("logistic_loss", x, t),
            lambda x, t: np.log1p(np.exp(x)) - x * t,
            ((real(3, 4), real(3, 4)), (real(3, 4), real(4)), (real(0, 3), real(0, 3))),
            ulps=16,
        ),
        Case(
            "exponent",
            lambda i: op("exponent", i),
            lambda i: i.astype(np.int64),
            ((integer(2, 3, low=0, high=9),),),
            order=0,
            ulps=0,
        ),
        Case("remainder", F.remainder, np.remainder, AWAY, order=2, ulps=0),
    ]
    rows += [
        Case(f"scalar {text}", fn, fn, PLAIN, ulps=2)
        for text, fn in (
            ("x + 2", lambda x: x + 2),
            ("2 + x", lambda x: 2 + x),
            ("x - 0.5", lambda x: x - 0.5),
            ("1 - x", lambda x: 1 - x),
            ("x * 3", lambda x: x * 3),
            ("0.5 * x", lambda x: 0.5 * x),
            ("x / 4", lambda x: x / 4),
            ("x ** 1", lambda x: x**1),
            ("x ** 2", lambda x: x**2),
            ("x ** 3", lambda x: x**3),
            ("-x", lambda x: -x),
            ("+x", lambda x: +x),
            ("abs(x)", abs),
        )
    ]
    rows += [
        Case(f"scalar {text}", fn, fn, POSITIVE, ulps=4)
        for text, fn in (
            ("1 / x", lambda x: 1 / x),
            ("x ** 0.5", lambda x: x**0.5),
            ("x ** -1", lambda x: x**-1),
            ("x ** -1.5", lambda x: x**-1.5),
            ("2 ** x", lambda x: 2**x),
            ("x ** 0", lambda x: x**0),
        )
    ]
    rows += [
        Case(name, getattr(F, name), reference, PAIRS, order=0, ulps=0)
        for name, reference in (
            ("eq", np.equal),
            ("ne", np.not_equal),
            ("lt", np.less),
            ("le", np.less_equal),
            ("gt", np.greater),
            ("ge", np.greater_equal),
        )
    ]
    rows += [
        Case(name, getattr(F, name), getattr(np, name), BOOLS, order=0, ulps=0)
        for name in ("logical_and", "logical_or", "logical_xor")
    ]
    selection = (
        (boolean(3, 4), real(3, 4), real(3, 4)),
        (boolean(4), real(3, 1), real()),
        (boolean(0), real(1), real(0)),
    )
    rows += [
        Case("logical_not", F.logical_not, np.logical_not, ((boolean(3),), (boolean(),)), order=0, ulps=0),
        Case("where", F.where, np.where, selection, ulps=0),
        Case(
            "masked_fill",
            lambda m, x: F.masked_fill(x, m, 7.0),
            lambda m, x: np.where(m, x.dtype.type(7), x),
            ((boolean(3, 4), real(3, 4)), (boolean(4), real(3, 4))),
            ulps=0,
        ),
        Case("clip", lambda x: F.clip(x, -0.7, 0.9), lambda x: np.clip(x, -0.7, 0.9), PLAIN, ulps=1),
        Case("clip below", lambda x: F.clip(x, -0.5), lambda x: np.maximum(x, x.dtype.type(-0.5)), PLAIN, ulps=0),
        Case(
            "clip tensors",
            F.clip,
            lambda x, a, b: np.minimum(np.maximum(x, a), b),
            (
                (real(3, 4), real(4, low=-1, high=-0.5), real(3, 1, low=0.5, high=1)),
                (real(3, 4), real(4, low=0.5, high=1), real(3, 1, low=-1, high=-0.5)),  # crossed: the upper bound holds
            ),
            ulps=0,
        ),
        Case("astype f64", lambda x: F.astype(x, sg.float64), lambda x: x.astype(np.float64), PLAIN, ulps=0),
        Case(
            "astype f32",
            lambda x: F.astype(x, sg.float32) * 1,
            lambda x: x.astype(np.float32),
            PLAIN,
            ulps=0,
            dtypes=(f32,),
        ),
        Case("astype i32", lambda x: F.astype(x, sg.int32), lambda x: x.astype(np.int32), PLAIN, order=0, ulps=0),
        Case("astype bool", lambda x: F.astype(x, bool), lambda x: x.astype(bool), PLAIN, order=0, ulps=0),
        Case(
            "cast of bool",
            lambda m, x: F.astype(m, x.dtype) * x,
            lambda m, x: m.astype(x.dtype) * x,
            ((boolean(3), real(3)),),
            ulps=0,
        ),
        Case("stop_gradient", F.stop_gradient, np.copy, PLAIN, order=0, ulps=0),
    ]
    return rows


def reductions() -> list[Case]:
    rows = []
    for name, reference, ulps in (
        ("sum", np.sum, 32),
        ("mean", np.mean, 32),
        ("amax", np.max, 0),
        ("amin", np.min, 0),
        ("logsumexp", logsumexp, 32),
    ):
        fn = getattr(F, name)
        empty = ((real(0, 3),),) if name == "sum" else ()
        rows += [
            Case(name, fn, reference, (*CUBE, (real(),), *empty), ulps=ulps),
            Case(
                f"{name} axis 0",
                lambda x, f=fn: f(x, 0),
                lambda x, f=reference: f(x, 0),
                (*CUBE, (real(3, 0),)),
                ulps=ulps,
            ),
            Case(
                f"{name} axis -1 keepdims",
                lambda x, f=fn: f(x, -1, keepdims=True),
                lambda x, f=reference: f(x, -1, keepdims=True),
                (*CUBE, (real(0, 3),)),
                ulps=ulps,
            ),
            Case(
                f"{name} axes (0, 2)",
                lambda x, f=fn: f(x, (2, 0)),
                lambda x, f=reference: f(x, (0, 2)),
                CUBE,
                ulps=ulps,
            ),
        ]
    rows += [
        Case("argmax", F.argmax, np.argmax, CUBE, order=0, ulps=0),
        Case("argmax axis 1", lambda x: F.argmax(x, 1), lambda x: np.argmax(x, 1), CUBE, order=0, ulps=0),
        Case(
            "argmin keepdims",
            lambda x: F.argmin(x, -1, keepdims=True),
            lambda x: np.argmin(x, -1, keepdims=True),
            CUBE,
            order=0,
            ulps=0,
        ),
        Case("all", lambda m: F.all(m, 0), lambda m: np.all(m, 0), ((boolean(3, 4),), (boolean(0, 4),)), order=0, ulps=0),
        Case("any", F.any, np.any, ((boolean(3, 4),), (boolean(3, 0),)), order=0, ulps=0),
        Case("divisor", lambda i: op("divisor", i), lambda i: i, ((integer(3, low=1, high=5),),), order=0, ulps=0),
        Case("any of floats", lambda x: F.any(F.relu(x), -1), lambda x: np.any(x > 0, -1), CUBE, order=0, ulps=0),
        Case("sum of bool", lambda m: F.sum(m, 0), lambda m: np.sum(m, 0), ((boolean(3, 4),),), order=0, ulps=0),
        Case(
            "mean of int",
            lambda i: F.mean(i),
            lambda i: np.mean(i).astype(np.float32),
            ((integer(3, 4, low=-5, high=9),),),
            order=0,
        ),
        Case("softmax", F.softmax, softmax, (*CUBE, (real(0, 3),), (real(3, 0),)), ulps=16),
        Case("softmax axis 1", lambda x: F.softmax(x, 1), lambda x: softmax(x, 1), CUBE, ulps=16),
        Case("log_softmax", F.log_softmax, lambda x: np.log(softmax(x)), (*CUBE, (real(0, 3),)), ulps=32),
        Case("var", lambda x: F.var(x, -1, correction=0), lambda x: np.var(x, -1), ((real(2, 3, 4),),), ulps=64),
        Case("var ddof", lambda x: F.var(x, ddof=1), lambda x: np.var(x, ddof=1), ((real(2, 3, 4),),), ulps=64),
        Case(
            "var over too few",
            lambda x: F.astype(F.isfinite(F.var(x, 0, ddof=2)), x.dtype),
            lambda x: np.zeros(3, x.dtype),
            ((real(0, 3),), (real(1, 3),), (real(2, 3),)),
            order=0,
        ),
        Case("std", lambda x: F.std(x, 0, correction=0), lambda x: np.std(x, 0), ((real(4, 3),),), ulps=64),
        Case("norm", F.norm, lambda x: np.sqrt(np.sum(x * x)), CUBE, ulps=32),
        Case(
            "norm axis",
            lambda x: F.norm(x, 2, 1, keepdims=True),
            lambda x: np.sqrt(np.sum(x * x, 1, keepdims=True)),
            CUBE,
            ulps=32,
        ),
        Case("cumsum", lambda x: F.cumsum(x, 1), lambda x: np.cumsum(x, 1), (*CUBE, (real(2, 0),)), ulps=16),
        Case("cumsum flat", F.cumsum, np.cumsum, ((real(2, 3),),), ulps=16),
        Case(
            "sum_to",
            lambda x, y: op("sum_to", x * y, y),
            lambda x, y: (x * y).sum(0, keepdims=True).sum(0)[:, None] if y.ndim == 2 else (x * y).sum((0, 1)),
            ((real(2, 3, 4), real(4)),),
            ulps=32,
        ),
        Case(
            "broadcast_like",
            F.broadcast_like,
            lambda x, y: np.broadcast_to(x, y.shape),
            ((real(3, 1), real(2, 3, 4)), (real(), real(2)), (real(1), real(0))),
            ulps=0,
        ),
        Case(
            "index_along",
            lambda x: F.index_along(x, -2) + x,
            lambda x: np.arange(x.shape[1], dtype=x.dtype)[:, None] + x,
            CUBE,
            ulps=2,
        ),
        Case(
            "count",
            lambda x: op("count", x, axis=(0, 2), dtype=x.dtype) * x,
            lambda x: x.dtype.type(x.shape[0] * x.shape[2]) * x,
            CUBE,
            ulps=1,
        ),
        Case(
            "samples",
            lambda x: op("samples", x, axis=(0, 2), dtype=x.dtype) * x,
            lambda x: x.dtype.type(x.shape[0] * x.shape[2]) * x,
            ((real(2, 3, 4),), (real(0, 3, 4),)),
            ulps=1,
        ),
    ]
    return rows


def shaping() -> list[Case]:
    cubes = (*CUBE, (real(2, 3, 0),))
    return [
        Case(
            "reshape",
            lambda x: F.reshape(x, (4, -1)),
            lambda x: x.reshape(4, -1),
            ((real(2, 3, 4),), (real(4, 1),)),
            ulps=0,
        ),
        Case(
            "reshape like",
            lambda x, y: op("reshape_like", x, y),
            lambda x, y: x.reshape(y.shape),
            ((real(2, 3), real(3, 2)), (real(4), real(2, 1, 2))),
            ulps=0,
        ),
        Case("reshape permuted", lambda x: x.T.reshape(-1) * 2, lambda x: x.T.reshape(-1) * 2, ((real(2, 3),),), ulps=0),
        Case("flatten", F.flatten, np.ravel, CUBE, ulps=0),
        Case(
            "flatten from 1",
            lambda x: F.flatten(x, 1),
            lambda x: x.reshape(len(x), -1),
            CUBE,
            ulps=0,
            refused="flatten: extents of (?, ?, ?) are unknown",
        ),
        Case("expand_dims", lambda x: F.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1)), cubes, ulps=0),
        Case(
            "unsqueeze",
            lambda x: F.unsqueeze(x, 1),
            lambda x: np.expand_dims(x, 1),
            ((real(3),), (real(2, 2),)),
            ulps=0,
        ),
        Case("squeeze axis", lambda x: F.squeeze(x, 1), lambda x: np.squeeze(x, 1), ((real(3, 1, 2),),), ulps=0),
        Case(
            "squeeze",
            F.squeeze,
            np.squeeze,
            ((real(1, 3, 1),), (real(2, 1, 1),)),
            ulps=0,
            refused="squeeze: name the axes, extents of (?, ?, ?) are unknown",
        ),
        Case("permute", lambda x: F.permute(x, 2, 0, 1), lambda x: np.transpose(x, (2, 0, 1)), cubes, ulps=0),
        Case("T", lambda x: x.T, lambda x: x.T, (*cubes, (real(),), (real(3),)), ulps=0),
        Case("mT", lambda x: x.mT, lambda x: x.mT, cubes, ulps=0),
        Case("swapaxes", lambda x: F.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1), cubes, ulps=0),
        Case("transpose", lambda x: F.transpose(x, 0, 1), lambda x: np.swapaxes(x, 0, 1), cubes, ulps=0),
        Case(
            "broadcast_to",
            lambda x: F.broadcast_to(x, (2, 3, 4)),
            lambda x: np.broadcast_to(x, (2, 3, 4)),
            ((real(3, 1),), (real(4),), (real(),)),
            ulps=0,
        ),
        Case(
            "expand",
            lambda x: F.expand(x, 2, -1, 4),
            lambda x: np.broadcast_to(x, (2, 3, 4)),
            ((real(3, 1),), (real(1, 3, 4),)),
            ulps=0,
            refused="a shape is a tuple of integers >= 0, got (2, None, 4)",
        ),
        Case(
            "concatenate",
            lambda *xs: F.concatenate(xs, 1),
            lambda *xs: np.concatenate(xs, 1),
            ((real(2, 3), real(2, 1), real(2, 2)), (real(2, 0), real(2, 3))),
            ulps=0,
        ),
        Case(
            "concatenate with itself",
            lambda x: F.concatenate([x, x * x, x]),
            lambda x: np.concatenate([x, x * x, x]),
            ((real(2, 3),),),
            ulps=0,
        ),
        Case("stack", lambda *xs: F.stack(xs, -1), lambda *xs: np.stack(xs, -1), ((real(2, 3), real(2, 3)),), ulps=0),
        Case(
            "split",
            lambda x: F.tensor_split(x, 2, 1),
            lambda x: np.split(x, 2, 1),
            ((real(3, 4),), (real(0, 2),)),
            ulps=0,
            refused="split: the extent of axis 1 is unknown",
        ),
        Case(
            "split at",
            lambda x: F.tensor_split(x, [1, 3]),
            lambda x: np.split(x, [1, 3]),
            ((real(4, 2),),),
            ulps=0,
            refused="split: the extent of axis 0 is unknown",
        ),
        Case("flip", lambda x: F.flip(x, 1), lambda x: np.flip(x, 1), cubes, ulps=0),
        Case("zeros_like", lambda x: F.zeros_like(x) + x, lambda x: x, cubes, ulps=0),
        Case("ones_like", lambda x: F.ones_like(x) * x, lambda x: x, cubes, ulps=0),
    ]


def indexing() -> list[Case]:
    keys: list[tuple[str, Any]] = [
        ("0", 0),
        ("-1", -1),
        ("1, 2", (1, 2)),
        ("0, -1, 1", (0, -1, 1)),
        ("1:", slice(1, None)),
        (":, ::2", (slice(None), slice(None, None, 2))),
        ("::-1", slice(None, None, -1)),
        ("..., 1:3", (..., slice(1, 3))),
        ("None", None),
        ("None, 0, ..., None", (None, 0, ..., None)),
        (":, 1, ::-1", (slice(None), 1, slice(None, None, -1))),
        ("2:2", slice(2, 2)),
        ("[1, 0, 1]", [1, 0, 1]),
        (":, [2, 0, 2]", (slice(None), [2, 0, 2])),
        ("[0, 1], [2, 0]", ([0, 1], [2, 0])),
        ("[[0, 1], [1, 0]],", ([[0, 1], [1, 0]],)),
        ("1, [0, 2]", (1, [0, 2])),
        ("[0, 1], :, [3, 3]", ([0, 1], slice(None), [3, 3])),
        (":, -1:, [1, 1]", (slice(None), slice(-1, None), [1, 1])),
        ("mask", np.arange(6).reshape(2, 3) % 2 == 0),
    ]
    rows = [
        Case(
            f"x[{text}]",
            lambda x, k=key: x[k],
            lambda x, k=key: x[k],
            ((real(2, 3, 4),),),
            ulps=0,
        )
        for text, key in keys
    ]
    index = integer(2, 5, low=-3, high=3)
    rows += [
        Case("take", lambda x, i: F.take(x, i, 1), lambda x, i: np.take(x, i, 1), ((real(2, 3), index),), ulps=0),
        Case(
            "take nothing",
            lambda x, i: F.take(x, i, 0),
            lambda x, i: np.take(x, i, 0),
            ((real(2, 3), integer(0, low=0, high=1)),),
            ulps=0,
        ),
        Case(
            "take_along_axis",
            lambda x, i: F.take_along_axis(x, i, 1),
            lambda x, i: np.take_along_axis(x, i, 1),
            ((real(2, 3), index),),
            ulps=0,
        ),
        Case(
            "take_along_axis one",
            F.take_along_axis,
            lambda x, i: np.take_along_axis(x, i, -1),
            ((real(4, 3), integer(4, 1, low=-3, high=3)), (real(0, 3), integer(0, 1, low=0, high=3))),
            ulps=0,
        ),
        Case(
            "scatter_add",
            lambda g, y, i: op("scatter_add", g, y, i, axis=1) + y,
            lambda g, y, i: _scatter(g, y, i) + y,
            ((real(2, 4), real(2, 3), integer(4, low=0, high=3)),),
            ulps=4,
        ),
        Case(
            "scatter_add at two axes",
            lambda g, y, i, j: op("scatter_add", g, y, i, j, axis=0) + y,
            lambda g, y, i, j: _scatter_at(g, y, i, j) + y,
            ((real(2, 3), real(4, 5), integer(2, 1, low=0, high=4), integer(3, low=0, high=5)),),
            ulps=4,
        ),
        Case(
            "index_add",
            lambda x, v, i: F.index_add(x, 1, i, v),
            lambda x, v, i: _scatter(v, x, i) + x,
            (
                (real(2, 3), real(2, 5), integer(5, low=-3, high=3)),
                (real(2, 3), real(2, 0), integer(0, low=0, high=3)),
            ),
            ulps=4,
        ),
        Case(
            "index_add of repeated rows",
            lambda x, v, i: op("index_add", x, F.broadcast_to(v, (3, 4, 2)), i),
            lambda x, v, i: x + _scatter_at(np.broadcast_to(v, (3, 4, 2)), x, i),
            ((real(5, 2), real(3, 1, 2), integer(3, 4, low=0, high=5)),),
            ulps=16,
        ),
        Case(
            "index_copy",
            lambda x, v, i: F.index_copy(x, 1, i, v),
            _copied,
            (
                (
                    real(2, 3),
                    real(2, 1),
                    integer(1, low=-3, high=3),
                ),  # as in PyTorch, values that are overwritten have gradients
                (real(2, 3), real(2, 0), integer(0, low=0, high=3)),
            ),
            ulps=0,
        ),
        Case(
            "gather_sum",
            lambda x, i: op("gather_sum", x, i),
            lambda x, i: x[i].sum(i.ndim - 1),
            (
                (real(4, 3), integer(2, 5, low=0, high=4)),
                (real(4, 2, 3), integer(5, low=0, high=4)),
                (real(4, 3), integer(2, 0, low=0, high=4)),
                (real(4, 3), integer(0, 2, low=0, high=4)),
            ),
        ),
        Case(
            "first_of",
            lambda x, i: F.astype(op("first_of", i, x), x.dtype) * x[0],
            lambda x, i: np.array([i.tolist().index(k) for k in i.tolist()], x.dtype) * x[0],
            (
                (real(4, 1), integer(9, low=0, high=4)),
                (real(4, 1), integer(0, low=0, high=4)),
            ),
        ),
        Case(
            "pick",
            lambda x, i: op("pick", x, i, axis=1),
            lambda x, i: x[:, i],
            ((real(2, 3, 2), integer(4, low=0, high=3)),),
            ulps=0,
        ),
        Case(
            "put_add",
            lambda g, y, i: op("put_add", g, y, i, axis=1) + y,
            lambda g, y, i: _scatter(g, y, i) + y,
            ((real(2, 4), real(2, 3), integer(4, low=0, high=3)),),
        ),
        Case(
            "pick_along",
            lambda x, i: op("pick_along", x, i, axis=1),
            lambda x, i: np.take_along_axis(x, i, 1),
            ((real(2, 3, 2), integer(2, 4, 2, low=0, high=3)), (real(3, 2), integer(3, 4, low=0, high=2))),
            ulps=0,
        ),
        Case(
            "put_along",
            lambda g, y, i: op("put_along", g, y, i, axis=0) + y,
            lambda g, y, i: np.stack([np.sum(g * (i == row), 0) for row in range(len(y))]).astype(y.dtype) + y,
            ((real(4, 2), real(3, 2), integer(4, 2, low=0, high=3)), (real(4), real(3), integer(4, low=0, high=3))),
        ),
        *[
            Case(
                f"scatter_reduce {reduce}",
                lambda x, v, i, r=reduce: op("scatter_reduce", x, v, i, axis=0, reduce=r, include_self=False),
                lambda x, v, i, f=ufunc: _combined(x, v, i, f),
                ((real(4, 2), real(3, 2), integer(3, 2, low=0, high=3)), (real(4), real(0), integer(0, low=0, high=4))),
            )
            for reduce, ufunc in (("sum", np.add), ("prod", np.multiply), ("amax", np.maximum), ("amin", np.minimum))
        ],
        Case(
            "recurrence_at",
            lambda a, b, y, i: op("recurrence_at", a, b, y, i, axis=0, start=1, reverse=True) + 0 * y[0],
            _states_before,
            (
                (real(5), real(5), real(3), integer(5, low=0, high=3)),
                (real(4, 2), real(4, 2), real(3, 2), integer(4, 2, low=0, high=3)),
            ),
        ),
        Case(
            "unslice",
            lambda g, y: op("unslice", g, y, slices=((1, 3, 1), 0)) + y,
            _unslice,
            ((real(2), real(4, 3)),),
            ulps=1,
        ),
        Case(
            "slice_scatter",
            lambda x, v: op("slice_scatter", x, v, slices=((1, 3, 1), 0)),
            _part_written,
            ((real(4, 3), real(2)),),
            ulps=0,
        ),
        Case(
            "one_hot",
            lambda i: F.one_hot(i, 4),
            lambda i: np.eye(4, dtype=np.float32)[i],
            ((integer(2, 3, low=0, high=4),), (integer(0, low=0, high=4),)),
            order=0,
            ulps=0,
        ),
    ]
    return rows


def _copied(x, values, index):
    out = x.copy()
    for j, place in enumerate(index):
        out[:, place] = values[:, j]
    return out


def _combined(x, values, index, ufunc):
    out = x.copy()
    for row in range(len(x)):
        for column in np.ndindex(x.shape[1:]):
            hits = values[(slice(None), *column)][index[(slice(None), *column)] == row]
            out[(row, *column)] = ufunc.reduce(hits) if len(hits) else x[(row, *column)]
    return out


def _states_before(factors, terms, y, index):
    out, state = np.empty_like(factors), np.ones_like(y)
    for place in reversed(list(np.ndindex(factors.shape))):
        own = (index[place], *place[1:])
        out[place] = state[own]
        state[own] = factors[place] * state[own] + terms[place]
    return out + 0 * y[0]


def _scatter(g: np.ndarray, y: np.ndarray, i: np.ndarray) -> np.ndarray:
    out = np.zeros_like(y)
    np.add.at(out, (slice(None), i), g)
    return out


def _scatter_at(g: np.ndarray, y: np.ndarray, *indices: np.ndarray) -> np.ndarray:
    out = np.zeros_like(y)
    np.add.at(out, indices, g)
    return out


def _unslice(g: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = y.copy()
    out[1:3, 0] += g
    return out


def _part_written(x: np.ndarray, part: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[1:3, 0] = part
    return out


def linear() -> list[Case]:
    shapes = (
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 3)),
        ((1, 1), (1, 1)),
    )
    return [
        Case("matmul", F.matmul, np.matmul, tuple((real(*a), real(*b)) for a, b in shapes), ulps=16),
        Case("matmul transposed", lambda x, y: x.T @ y.T, lambda x, y: x.T @ y.T, ((real(3, 2), real(4, 3)),), ulps=16),
        Case("dot", F.dot, np.dot, ((real(3), real(3)), (real(2, 3), real(3, 2))), ulps=16),
        Case("outer", F.outer, np.outer, ((real(3), real(2)),), ulps=0),
        Case(
            "linear layer",
            lambda x, w, b: F.relu(x @ w + b),
            lambda x, w, b: np.maximum(x @ w + b, 0),
            ((real(5, 3), real(3, 4), real(4)),),
            ulps=16,
        ),
        Case(
            "attention_softmax",
            lambda x: attention_softmax(x, 0.3, False),
            lambda x: softmax(x * 0.3),
            ((real(2, 3, 4),), (real(2, 35),), (real(0, 3, 4),), (real(3, 0),)),
            ulps=16,
        ),
        Case(
            "attention_softmax causal",
            lambda x: attention_softmax(x, 2.0, True),
            lambda x: softmax(np.where(np.tri(*x.shape[-2:], dtype=bool), x * 2, -np.inf)),
            ((real(2, 4, 4),), (real(2, 3, 5),), (real(37, 20),)),
            ulps=16,
        ),
        Case(
            "attention",
            lambda q, k, v: attention(q, k, v, 0.3, False),
            lambda q, k, v: softmax(q @ k.swapaxes(-1, -2) * 0.3) @ v,
            ((real(2, 3, 4), real(2, 5, 4), real(2, 5, 2)), (real(0, 4), real(3, 4), real(3, 2))),
            ulps=64,
        ),
        Case(
            "attention_gradient",
            lambda q, k, v, g: op(
                "attention_gradient", q, k, v, g, scale=0.3, causal=True, masked=False, rate=0.0, of_mask=False
            ),
            attention_gradient,
            ((real(2, 3, 4), real(2, 3, 4), real(2, 3, 2), real(2, 3, 2)),),
            order=1,
            ulps=64,
            refused="attention_gradient needs known extents",
        ),
        Case(
            "attention_softmax of a negative scale",
            lambda x: attention_softmax(x, -2.0, True),
            lambda x: softmax(np.where(np.tri(*x.shape[-2:], dtype=bool), x * -2, -np.inf)),
            ((real(2, 4, 4),),),
            ulps=16,
        ),
    ]


def einsum() -> list[Case]:
    rows = (
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("ij,jk", ((2, 3), (3, 4))),
        ("bij,bjk->bki", ((2, 3, 4), (2, 4, 2))),
        ("bhqd,bkhd->bhqk", ((2, 3, 4, 2), (2, 5, 3, 2))),
        ("i,j->ji", ((2,), (3,))),
        ("ij,ij->ij", ((2, 3), (2, 3))),
        ("ij,ij->", ((2, 3), (2, 3))),
        ("ij,j->i", ((2, 3), (3,))),
        ("abc,acd,de->be", ((2, 3, 4), (2, 4, 2), (2, 5))),
        ("ab,cd,ac->bd", ((2, 3), (4, 2), (2, 4))),
        ("...ij,...jk->...ik", ((2, 1, 3, 4), (5, 4, 2))),
        ("...i->...", ((2, 3),)),
        ("ii", ((3, 3),)),
        ("ii->i", ((3, 3),)),
        ("iji,j->i", ((3, 2, 3), (2,))),
        ("ij->ji", ((2, 3),)),
        ("ba", ((2, 3),)),
        ("ijk->k", ((2, 3, 4),)),
        ("ij,jk->ik", ((2, 1), (3, 4))),
        ("ij,k->k", ((2, 3), (4,))),
        ("i,->i", ((3,), ())),
        ("ijk,k->ij", ((2, 3, 4), (4,))),  # a product of as many axes as the result, but of other extents
        ("jik,j->ki", ((2, 3, 4), (2,))),
        ("ij,ijk->k", ((2, 3), (2, 3, 4))),
        ("bij,bj->bi", ((2, 3, 4), (2, 4))),
        (",jil,j->il", ((), (2, 3, 4), (2,))),
    )
    cases = []
    for number, (equation, shapes) in enumerate(rows):
        cases.append(
            Case(
                f"einsum {number} {equation}",
                lambda *xs, e=equation: F.einsum(e, *xs),
                lambda *xs, e=equation: np.einsum(e, *xs),
                (tuple(real(*shape) for shape in shapes),),
                ulps=64,
            )
        )
    return cases


def control() -> list[Case]:
    """More of loops and branches in tests/control."""

    def total(c: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        ys = []
        for item in x:
            c = np.tanh(c * item)
            ys.append(c + item)
        return [c, np.stack(ys)]

    def halved(c: np.ndarray) -> np.ndarray:
        while (c * c).sum() > 0.5:
            c = np.sin(c) * 0.5
        return c

    def scanned(c: Any, x: Any) -> list[Any]:
        def body(h: Any, item: Any) -> Any:
            h = F.tanh(h * item)
            return h, h + item

        return list(F.scan(body, c, x))

    return [
        Case("scan", scanned, total, ((real(3), real(4, 3)), (real(2, 3), real(1, 2, 3))), ulps=32),
        Case(
            "while_loop",
            lambda c: F.while_loop(lambda v: F.sum(v * v) > 0.5, lambda v: F.sin(v) * 0.5, c),
            halved,
            ((real(3, low=0.5),), (real(3, low=0.0, high=0.1),)),
            ulps=32,
        ),
        Case(
            "cond",
            lambda c: F.cond(F.sum(c) > 0, lambda: F.tanh(c) * c, lambda: F.sin(c)),
            lambda c: np.tanh(c) * c if c.sum() > 0 else np.sin(c),
            ((real(3, low=0.5),), (real(3, low=-2.0, high=-0.5),)),
            ulps=32,
        ),
    ]


CASES = [
    *elementwise(), *reductions(), *shaping(), *indexing(), *linear(), *einsum(), *control(), *window_cases.rows(Case),
    *torch_cases.rows(Case), *complex_cases.rows(Case),
]  # fmt: skip

EXEMPT = {
    **dict.fromkeys(
        ("all_gather", "all_reduce", "all_to_all", "broadcast", "gather_rows", "reduce", "reduce_scatter"),
        "exchanges between processes: tests/distributed",
    ),
    "python_call": "a Python function of the dialect: tests/compat/test_tf1_core.py",
    "placeholder": "a leaf: it is fed in every symbolic test",
    "variable": "a leaf: tests/static and tests/tracing give it a value",
    "shape": "a leaf that the compiler puts in for operands of which only the shape is read",
    "decision": "of a trace: tests/tracing/test_decisions.py",
    "argument": "a leaf: tests/optim reads hyper-parameters through it",
    "generator": "a leaf: tests/eager/test_generator.py",
    "random_uniform": "no reference in NumPy: tests/eager/test_generator.py has known answers and statistics",
    "random_normal": "no reference in NumPy: tests/eager/test_generator.py has known answers and statistics",
    **dict.fromkeys(("seeded_uniform", "seeded_normal"), "no reference in NumPy: tests/compat/test_tf1_draws.py"),
    **dict.fromkeys(
        ("random_stream", "random_uniform_in_loop", "random_normal_in_loop", "random_stream_in_loop"),
        "no reference in NumPy: tests/control/test_draws.py",
    ),
    **dict.fromkeys(
        ("counted", "lexicographic", "nonzero", "positions", "repeated", "sliced"),
        "values decide the extents of the result: tests/ops/test_sized.py, to the second gradient",
    ),
    "update": "an assign: tests/static/test_variables.py",
    "deferred": "written in other ops when sizes are known: tests/ops/test_deferred.py, tests/compat/test_tf1.py",
    **dict.fromkeys(("custom_call", "custom_output"), "rules of the user's own: tests/namespaces/autograd/test_function.py"),
    "watch": "calls a function of Python: tests/compat/test_tf1_core.py",
    "as_written": "a note beside the result of a loop, for strict numerics: tests/control/test_strict.py",
    "read": "an effect: tests/static",
    "assign": "an effect: tests/static",
    "group": "an effect: tests/static",
    "fit": "a check of assigned values: tests/static",
    "von_mises_quantile": "not differentiable: tests/distributions, by the moments of samples",
    **dict.fromkeys(
        ("gamma_quantile", "gamma_shape_slope"), "differentiable once: tests/distributions, by differences of samples"
    ),
}
"""Ops without a row, and where they are tested."""
