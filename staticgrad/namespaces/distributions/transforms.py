"""Invertible functions of tensors, under one name each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.types import finfo
from ...errors import ArgumentError
from ...ops.operators import F
from . import constraints
from . import constraints as c
from .constraints import Constraint
from .distribution import Distribution, summed
from .transform import ComposeTransform, IndependentTransform, ReshapeTransform, Transform, identity_transform

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "biject_to",
    "identity_transform", "transform_to",
]  # fmt: skip

# transforms of each element by itself ---------------------------------------------------------------------------------


class _Elementwise(Transform):
    """Growing, element by element, and equal to any other of its class."""

    alike = True
    bijective = True
    domain: Any = constraints.real
    codomain: Any = constraints.real

    sign = property(lambda self: 1)


class ExpTransform(_Elementwise):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return F.exp(x)

    def _inverse(self, y: Any) -> Any:
        return F.log(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(_Elementwise):
    """y = x ** exponent, of positive x."""

    domain = constraints.positive
    codomain = constraints.positive

    def __init__(self, exponent: Any, cache_size: int = 0):
        super().__init__(cache_size)
        self.exponent = exponent

    sign = property(lambda self: F.sign(self.exponent))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return F.pow(x, self.exponent)

    def _inverse(self, y: Any) -> Any:
        return F.pow(y, 1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return F.log(F.abs(self.exponent * y / x))

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(np.broadcast_shapes(shape, tuple(getattr(self.exponent, "shape", ()))))

    inverse_shape = forward_shape


class SigmoidTransform(_Elementwise):
    """y = 1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        limits = finfo(x.dtype)
        return F.clip(F.sigmoid(x), limits.tiny, 1 - limits.eps)

    def _inverse(self, y: Any) -> Any:
        limits = finfo(y.dtype)
        y = F.clip(y, limits.tiny, 1 - limits.eps)
        return F.log(y) - F.log1p(-y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_Elementwise):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return F.softplus(x)

    def _inverse(self, y: Any) -> Any:
        return F.log(-F.expm1(-y)) + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -F.softplus(-x)


class TanhTransform(_Elementwise):
    """y = tanh(x). Give it cache_size=1 where y comes near 1: there the inverse loses all digits."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return F.tanh(x)

    def _inverse(self, y: Any) -> Any:
        return F.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2 * (math.log(2) - x - F.softplus(-2 * x))


class AbsTransform(Transform):
    """y = |x|, of which the inverse gives the positive x."""

    alike = True
    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return F.abs(x)

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """y = loc + scale x; event_dim of the last axes are one event."""

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Any:
        """The set of values that it gives."""
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    sign = property(lambda self: F.sign(self.scale) if hasattr(self.scale, "shape") else (self.scale > 0) - (self.scale < 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    __hash__ = object.__hash__

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = F.log(F.abs(self.scale)) if hasattr(self.scale, "shape") else math.log(abs(self.scale))
        return summed(F.zeros_like(x) + scale, self.event_dim)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        parts = (tuple(getattr(v, "shape", ())) for v in (self.loc, self.scale))
        return tuple(np.broadcast_shapes(shape, *parts))

    inverse_shape = forward_shape


def _equal(a: Any, b: Any) -> bool:
    return a is b or (np.shape(a) == np.shape(b) and bool(np.all(np.asarray(a) == np.asarray(b))))


class CumulativeDistributionTransform(Transform):
    """y is the distribution function of a distribution at x."""

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    sign = property(lambda self: 1)

    @property
    def domain(self) -> Constraint:
        """The set of values that it takes."""
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


# transforms of vectors and matrices -----------------------------------------------------------------------------------

# Transforms of vectors and matrices, and of parts of an axis.


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


# torch.distributions.constraint_registry ------------------------------------------------------------------------------

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A function of constraints, by their classes: `registry(constraint)` is the transform whose codomain it is."""

    def __init__(self) -> None:
        self._factories: dict[type[Constraint], Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Enter a function that makes a transform of a constraint; a decorator without one."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        self._factories[constraint if isinstance(constraint, type) else type(constraint)] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """Raises NotImplementedError for a constraint without a transform."""
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


def _interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


biject_to = ConstraintRegistry()
"""Bijections to a constraint."""
transform_to = ConstraintRegistry()
"""Transforms onto a constraint, for optimizers: not all of them are bijections."""


def _above(constraint: Any) -> Transform:
    bound = constraint.lower_bound
    zero = isinstance(bound, (int, float)) and bound == 0
    return ExpTransform() if zero else ComposeTransform([ExpTransform(), AffineTransform(bound, 1)])


def _below(constraint: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(constraint.upper_bound, -1)])


def _enter_common(registry: ConstraintRegistry) -> None:
    def independent(constraint: Any) -> Transform:
        return IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> Transform:
        return CatTransform([registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> Transform:
        return StackTransform([registry(part) for part in constraint.cseq], constraint.dim)

    registry.register(c.Real, lambda constraint: identity_transform)
    for kind, factory in (
        (c.GreaterThan, _above), (c.GreaterThanEq, _above), (c.LessThan, _below), (c.Interval, _interval),
        (c.HalfOpenInterval, _interval), (c.Independent, independent), (c.Cat, cat), (c.Stack, stack),
    ):  # fmt: skip
        registry.register(kind, factory)
    registry.register(c.CorrCholesky, lambda constraint: CorrCholeskyTransform())
    registry.register(c.LowerCholesky, lambda constraint: LowerCholeskyTransform())
    for matrix in (c.PositiveDefinite, c.PositiveSemidefinite):
        registry.register(matrix, lambda constraint: PositiveDefiniteTransform())


for _registry in (biject_to, transform_to):
    _enter_common(_registry)
biject_to.register(c.Simplex, lambda constraint: StickBreakingTransform())
transform_to.register(c.Simplex, lambda constraint: SoftmaxTransform())
