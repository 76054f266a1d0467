"""Random tensors: drawn anew in each run, the same numbers for the same seed. They are not TensorFlow's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import static
from ...errors import UnknownExtentError
from ...ir import OpDef
from ...operators import F
from ...ops.random import next_place, normal_op, uniform_op
from .dtypes import as_dtype
from .graph import get_default_graph
from .shapes import known_extents
from .tensor import known, operation, tensor


def _kind(dtype: Any) -> np.dtype:
    return as_dtype(dtype).numpy


NO_SIZES: frozenset[str] = frozenset()
"""Draws stay in the graph, whose order they follow: only the shape is put off."""


@operation("zeros", "Const")
def _of_shape(shape: Any, dtype: np.dtype) -> Any:
    return static.constant(np.zeros(known_extents(shape), dtype))


def _drawn(op: OpDef, shape: Any, dtype: np.dtype) -> Any:
    """Random numbers of a shape, which may be a tensor."""
    place = next_place(get_default_graph())
    try:
        return place.draw(op, shape=known_extents(known(shape)), dtype=dtype)
    except UnknownExtentError:
        return place.draw(op, _of_shape(shape, dtype).symbol, shape=None, dtype=dtype)


@operation("random_normal", "RandomStandardNormal", NO_SIZES)
def random_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Normal numbers of a mean and standard deviation. seed is accepted: `set_random_seed` seeds a session."""
    draws = _drawn(normal_op, shape, _kind(dtype))
    return F.add(F.mul(draws, tensor(stddev, draws.dtype)), tensor(mean, draws.dtype))


@operation("random_uniform", "RandomUniform", NO_SIZES)
def random_uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Uniform numbers in [minval, maxval); of integer dtypes integers, whose upper end has to be given."""
    kind = _kind(dtype)
    if kind.kind != "f":
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {as_dtype(dtype)!r}")
        width = float(maxval) - float(minval)
        return F.astype(F.add(F.floor(F.mul(_drawn(uniform_op, shape, np.dtype(np.float64)), width)), float(minval)), kind)
    low, high = tensor(minval, kind), tensor(1 if maxval is None else maxval, kind)
    return F.add(F.mul(_drawn(uniform_op, shape, kind), F.sub(high, low)), low)


REDRAWS = 8
"""Draws of a truncated normal number: none of so many is inside two standard deviations once in 5e10."""


@operation("truncated_normal", "TruncatedNormal", NO_SIZES)
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Normal numbers, drawn again where they are more than two standard deviations from the mean."""
    kind = _kind(dtype)
    draws = _drawn(normal_op, shape, kind)
    for _ in range(REDRAWS - 1):
        draws = F.where(F.le(F.abs(draws), 2.0), draws, _drawn(normal_op, shape, kind))
    return F.add(F.mul(F.clip(draws, -2.0, 2.0), tensor(stddev, kind)), tensor(mean, kind))


@operation("dropout", "Dropout", NO_SIZES)
def dropout(x: Any, keep_prob: Any = None, noise_shape: Any = None, seed: int | None = None, rate: Any = None) -> Any:
    """Each element zero with probability 1 - keep_prob (or `rate`), the others scaled by 1 / keep_prob.

    The probability may be a tensor, such as a placeholder.
    """
    x = tensor(x)
    if (keep_prob is None) == (rate is None):
        raise ValueError("dropout: give keep_prob or rate, not both")
    keep = tensor(keep_prob, x.dtype) if rate is None else F.sub(1.0, tensor(rate, x.dtype))
    if noise_shape is None:
        noise = next_place(x.graph).draw(uniform_op, x, shape=None, dtype=x.dtype)
    else:
        noise = _drawn(uniform_op, noise_shape, x.dtype)
    return F.mul(F.div(x, keep), F.floor(F.add(noise, keep)))
