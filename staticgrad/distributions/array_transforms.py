"""Transforms of vectors and matrices, and of parts of an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.number_limits import finfo
from ..errors import ArgumentError
from ..operators import F
from . import constraints
from .distribution import summed
from .transform import Transform


class SoftmaxTransform(Transform):
    """y = exp(x) along the last axis, divided by its sum; the inverse gives log(y). Not a bijection."""

    alike = True
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        return F.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return F.log(y)


class StickBreakingTransform(Transform):
    """k numbers to k + 1 on the simplex: each is the part of the rest of a stick that is broken off."""

    alike = True
    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex

    def _offset(self, k: int, dtype: np.dtype) -> np.ndarray:
        """x - log of the parts that are left: parts are equal where x is 0."""
        return np.log(np.arange(k, 0, -1)).astype(dtype)

    def _call(self, x: Any) -> Any:
        z = F.sigmoid(x - self._offset(x.shape[-1], x.dtype))
        rest = F.cumprod(1 - z, -1)
        one = F.ones_like(F.getitem(x, (..., slice(0, 1))))
        return F.concatenate([z, one], -1) * F.concatenate([one, rest], -1)

    def _inverse(self, y: Any) -> Any:
        parts = F.getitem(y, (..., slice(None, -1)))
        rest = F.clamp(1 - F.cumsum(parts, -1), min=float(finfo(y.dtype).tiny))
        return F.log(parts) - F.log(rest) + self._offset(parts.shape[-1], y.dtype)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x.shape[-1], x.dtype)
        return F.sum(-x - F.softplus(-x) + F.log(F.getitem(y, (..., slice(None, -1)))), -1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """The lower triangle of a matrix, with exp of its diagonal."""

    alike = True
    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return F.tril(x, -1) + F.diag_embed(F.exp(F.diagonal(x, 0, -2, -1)))

    def _inverse(self, y: Any) -> Any:
        return F.tril(y, -1) + F.diag_embed(F.log(F.diagonal(y, 0, -2, -1)))


class PositiveDefiniteTransform(Transform):
    """The product of a Cholesky factor, as `LowerCholeskyTransform` makes it, with its transpose."""

    alike = True
    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return F.matmul(factor, F.swapaxes(factor, -1, -2))

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(F.cholesky(y))


class CorrCholeskyTransform(Transform):
    """k (k - 1) / 2 numbers to the Cholesky factor of a correlation matrix of size k.

    tanh of the numbers are partial correlations, row by row; each row of the factor has length 1.
    Source: Lewandowski, Kurowicka, Joe, "Generating random correlation matrices based on vines and
    extended onion method" (2009).
    """

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _size(self, n: int) -> int:
        size = round((1 + math.sqrt(1 + 8 * n)) / 2)
        if size * (size - 1) // 2 != n:
            raise ArgumentError("Input is not a flattened lower-diagonal number")
        return size

    def _call(self, x: Any) -> Any:
        k = self._size(x.shape[-1])
        rows, columns = np.tril_indices(k, -1)
        eps = float(finfo(x.dtype).eps)
        partial = F.clip(F.tanh(x), -1 + eps, 1 - eps)
        places = np.zeros((k, k), np.int64)
        places[rows, columns] = np.arange(len(rows))
        square = F.reshape(F.take(partial, places.reshape(-1), -1), (*x.shape[:-1], k, k))
        below = F.tril(square, -1)
        rest = F.sqrt(F.cumprod(1 - F.square(below), -1))
        one = F.ones_like(F.getitem(rest, (..., slice(0, 1))))
        return F.tril((below + np.eye(k, dtype=x.dtype)) * F.concatenate([one, F.getitem(rest, (..., slice(None, -1)))], -1))

    def _inverse(self, y: Any) -> Any:
        k = y.shape[-1]
        rows, columns = np.tril_indices(k, -1)
        left = 1 - F.cumsum(F.square(y), -1)
        one = F.ones_like(F.getitem(left, (..., slice(0, 1))))
        before = F.concatenate([one, F.getitem(left, (..., slice(None, -1)))], -1)
        flat = (*y.shape[:-2], k * k)
        places = rows * k + columns
        below, scale = (F.take(F.reshape(v, flat), places, -1) for v in (y, before))
        return F.atanh(below / F.sqrt(scale))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        k = y.shape[-1]
        rows, columns = np.tril_indices(k, -1)
        left = 1 - F.cumsum(F.square(y), -1)
        one = F.ones_like(F.getitem(left, (..., slice(0, 1))))
        before = F.concatenate([one, F.getitem(left, (..., slice(None, -1)))], -1)
        scale = F.take(F.reshape(before, (*y.shape[:-2], k * k)), rows * k + columns, -1)
        slope = -2 * (x + F.softplus(-2 * x) - math.log(2))
        return F.sum(0.5 * F.log(scale) + slope, -1)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        k = self._size(shape[-1])
        return (*shape[:-1], k, k)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ArgumentError("Input is not a square matrix")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class CatTransform(Transform):
    """A transform for each part of an axis; parts have `lengths` elements, one unless they are given."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:
        """The set of values that it takes."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """The set of values that it gives."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _joined(self, functions: Sequence[Callable[..., Any]], *values: Any) -> Any:
        pieces = [F.split(v, self.lengths, self.dim) for v in values]
        return F.concatenate([f(*part) for f, *part in zip(functions, *pieces, strict=True)], self.dim)

    def _call(self, x: Any) -> Any:
        return self._joined(self.transforms, x)

    def _inverse(self, y: Any) -> Any:
        return self._joined([t._inv_call for t in self.transforms], y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Parts with fewer axes to an event are summed to the same number of them."""
        pieces = zip(self.transforms, *(F.split(v, self.lengths, self.dim) for v in (x, y)), strict=True)
        most = int(self.domain.event_dim)
        found = [summed(t.log_abs_det_jacobian(a, b), most - t.domain.event_dim) for t, a, b in pieces]
        dim = self.dim - len(x.shape) if self.dim >= 0 else self.dim
        if dim + most < 0:
            return F.concatenate(found, dim + most)
        total = found[0]
        for other in found[1:]:
            total = total + other
        return total


class StackTransform(Transform):
    """A transform for each position along an axis."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) if cache_size else t for t in tseq], dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:
        """The set of values that it takes."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """The set of values that it gives."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _stacked(self, functions: Sequence[Callable[..., Any]], *values: Any) -> Any:
        parts = [F.unbind(v, self.dim) for v in values]
        return F.stack([f(*part) for f, *part in zip(functions, *parts, strict=True)], self.dim)

    def _call(self, x: Any) -> Any:
        return self._stacked(self.transforms, x)

    def _inverse(self, y: Any) -> Any:
        return self._stacked([t._inv_call for t in self.transforms], y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._stacked([t.log_abs_det_jacobian for t in self.transforms], x, y)


__all__ = [
    "CatTransform", "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "SoftmaxTransform",
    "StackTransform", "StickBreakingTransform",
]  # fmt: skip
