"""Random tensors: drawn anew in each run. They are not TensorFlow's numbers.

An operation with a seed, its own or the graph's, has a generator of its own, which each session begins anew and each run
that draws from it advances: the same seeds give the same sequence, whatever else is run. Others share one generator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import static
from ...errors import UnknownExtentError
from ...ir import OpDef
from ...operators import F
from ...ops.random import OwnGenerator, Place, next_place, normal_op, stream_seed, uniform_op
from .dtypes import as_dtype
from .graph import get_default_graph, get_seed
from .shapes import known_extents
from .tensor import known, operation, tensor


def _kind(dtype: Any) -> np.dtype:
    return as_dtype(dtype).numpy


NO_SIZES: frozenset[str] = frozenset()
"""Draws stay in the graph, whose order they follow: only the shape is put off."""


@operation("zeros", "Const")
def _of_shape(shape: Any, dtype: np.dtype) -> Any:
    return static.constant(np.zeros(known_extents(shape), dtype))


class Numbers:
    """The random numbers of one operation, whose seed may be None."""

    def __init__(self, seed: int | None):
        graph = get_default_graph()
        of_graph, own = get_seed(seed)
        self._next: Callable[[], Place] = lambda: next_place(graph)
        if of_graph is not None and own is not None:
            self._next = OwnGenerator(graph, stream_seed(of_graph, own)).next_place

    def draw(self, op: OpDef, shape: Any, dtype: Any) -> Any:
        """Numbers of a shape, which may be a tensor."""
        kind = np.dtype(dtype)
        place = self._next()
        try:
            return place.draw(op, shape=known_extents(known(shape)), dtype=kind)
        except UnknownExtentError:
            return place.draw(op, _of_shape(shape, kind).symbol, shape=None, dtype=kind)

    def like(self, op: OpDef, x: Any) -> Any:
        """Numbers of the shape and dtype of a tensor."""
        return self._next().draw(op, x, shape=None, dtype=x.dtype)


def uniform(shape: Any, seed: int | None = None) -> Any:
    """float32 numbers in [0, 1), of a shape."""
    return Numbers(seed).draw(uniform_op, shape, np.float32)


@operation("random_normal", "RandomStandardNormal", NO_SIZES)
def random_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Normal numbers of a mean and standard deviation."""
    draws = Numbers(seed).draw(normal_op, shape, _kind(dtype))
    return F.add(F.mul(draws, tensor(stddev, draws.dtype)), tensor(mean, draws.dtype))


@operation("random_uniform", "RandomUniform", NO_SIZES)
def random_uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Uniform numbers in [minval, maxval); of integer dtypes integers, whose upper end has to be given."""
    kind, numbers = _kind(dtype), Numbers(seed)
    if kind.kind != "f":
        if maxval is None:
            raise ValueError(f"Must specify maxval for integer dtype {as_dtype(dtype)!r}")
        width = float(maxval) - float(minval)
        return F.astype(F.add(F.floor(F.mul(numbers.draw(uniform_op, shape, np.float64), width)), float(minval)), kind)
    low, high = tensor(minval, kind), tensor(1 if maxval is None else maxval, kind)
    return F.add(F.mul(numbers.draw(uniform_op, shape, kind), F.sub(high, low)), low)


REDRAWS = 8
"""Draws of a truncated normal number: none of so many is inside two standard deviations once in 5e10."""


@operation("truncated_normal", "TruncatedNormal", NO_SIZES)
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: int | None = None) -> Any:
    """Normal numbers, drawn again where they are more than two standard deviations from the mean."""
    kind, numbers = _kind(dtype), Numbers(seed)
    draws = numbers.draw(normal_op, shape, kind)
    for _ in range(REDRAWS - 1):
        draws = F.where(F.le(F.abs(draws), 2.0), draws, numbers.draw(normal_op, shape, kind))
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
        noise = Numbers(seed).like(uniform_op, x)
    else:
        noise = Numbers(seed).draw(uniform_op, noise_shape, x.dtype)
    return F.mul(F.div(x, keep), F.floor(F.add(noise, keep)))
