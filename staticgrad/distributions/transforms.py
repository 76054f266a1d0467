"""Invertible functions of tensors, with the logarithm of the determinant of their derivative."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..operators import F
from . import constraints
from .constraints import Constraint
from .distribution import Distribution, summed


class Transform:
    """Base: `_call` computes y of x, `_inverse` x of y, `log_abs_det_jacobian` log|dy / dx| per event of the domain.

    cache_size: with 1, the x of the last y is kept, so that `t.inv(t(x))` is x itself; where y is rounded, as tanh's is near 1,
    the inverse would lose digits. Raises ArgumentError for other sizes.
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ArgumentError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    @property
    def inv(self) -> Any:
        """The inverse transform."""
        return _Inverse(self)

    @property
    def sign(self) -> Any:
        """1 where it grows, -1 where it falls."""
        raise NotImplementedError(f"{type(self).__name__} is not monotone, or does not say so")

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        made = object.__new__(type(self))
        vars(made).update(vars(self), _cache_size=cache_size, _last=(None, None))
        return made

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        known_x, known_y = self._last
        if x is known_x:
            return known_y
        y = self._call(x)
        self._last = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        known_x, known_y = self._last
        if y is known_y:
            return known_x
        x = self._inverse(y)
        self._last = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log|dy / dx| of an x and its y, of the shape of x without the axes of an event."""
        raise NotImplementedError

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of y for a shape of x."""
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    def __init__(self, transform: Transform):
        super().__init__(transform._cache_size)
        self._inv = transform

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self._inv.codomain

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return self._inv.domain

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        inner: Transform = self._inv.with_cache(cache_size).inv
        return inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Inverse) and self._inv == other._inv

    def __hash__(self) -> int:
        return hash((_Inverse, self._inv))

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Transforms one after the other."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0):
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """That of the first part, with the axes that the events of later parts need."""
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        needed = int(self.parts[-1].codomain.event_dim)
        for part in reversed(self.parts):
            needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return first if needed <= first.event_dim else constraints.independent(first, needed - first.event_dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        given = int(self.parts[0].domain.event_dim)
        for part in self.parts:
            given = max(given + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return last if given <= last.event_dim else constraints.independent(last, given - last.event_dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        return ComposeTransform([part.inv for part in reversed(self.parts)])

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        total: Any = F.zeros_like(x) if not self.parts else 0
        event_dim = int(self.domain.event_dim)
        for i, part in enumerate(self.parts):
            following = y if i + 1 == len(self.parts) else part(x)
            total = total + summed(part.log_abs_det_jacobian(x, following), event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = following
        return total

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n".join(f"    {part!r}" for part in self.parts)
        return f"ComposeTransform(\n{inner}\n)"


class IndependentTransform(Transform):
    """A transform whose last axes are parts of one event: the logarithm is summed over them."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size) if cache_size else base_transform
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform._inv_call(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """The last axes in another shape. Raises ArgumentError for another number of elements."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ArgumentError("in_shape, out_shape have different numbers of elements")

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return F.reshape(x, (*x.shape[: len(x.shape) - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return F.reshape(y, (*y.shape[: len(y.shape) - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return F.sum(F.zeros_like(x), tuple(range(-len(self.in_shape), 0))) if self.in_shape else F.zeros_like(x)

    def _reshaped(self, shape: tuple[int, ...], given: tuple[int, ...], made: tuple[int, ...]) -> tuple[int, ...]:
        cut = len(shape) - len(given)
        if cut < 0 or tuple(shape[cut:]) != given:
            raise ArgumentError(f"Shape mismatch: expected {given} at the end of {tuple(shape)}")
        return (*shape[:cut], *made)

    def forward_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._reshaped(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._reshaped(shape, self.out_shape, self.in_shape)


class _Elementwise(Transform):
    """Growing, element by element, and equal to any other of its class."""

    bijective = True
    domain: Any = constraints.real
    codomain: Any = constraints.real

    @property
    def sign(self) -> Any:
        return 1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


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

    @property
    def sign(self) -> Any:
        return F.sign(self.exponent)

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
        finfo = np.finfo(x.dtype)
        return F.clip(F.sigmoid(x), float(finfo.tiny), 1 - float(finfo.eps))

    def _inverse(self, y: Any) -> Any:
        finfo = np.finfo(y.dtype)
        y = F.clip(y, float(finfo.tiny), 1 - float(finfo.eps))
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

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    def __hash__(self) -> int:
        return hash(AbsTransform)

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
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        return F.sign(self.scale) if hasattr(self.scale, "shape") else (self.scale > 0) - (self.scale < 0)

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


class SoftmaxTransform(Transform):
    """y = exp(x) along the last axis, divided by its sum; the inverse gives log(y). Not a bijection."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    def __hash__(self) -> int:
        return hash(SoftmaxTransform)

    def _call(self, x: Any) -> Any:
        return F.softmax(x, -1)

    def _inverse(self, y: Any) -> Any:
        return F.log(y)


class StickBreakingTransform(Transform):
    """k numbers to k + 1 on the simplex: each is the part of the rest of a stick that is broken off."""

    bijective = True
    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    def __hash__(self) -> int:
        return hash(StickBreakingTransform)

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
        rest = F.clamp(1 - F.cumsum(parts, -1), min=float(np.finfo(y.dtype).tiny))
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

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    def __hash__(self) -> int:
        return hash(LowerCholeskyTransform)

    def _call(self, x: Any) -> Any:
        return F.tril(x, -1) + F.diag_embed(F.exp(F.diagonal(x, 0, -2, -1)))

    def _inverse(self, y: Any) -> Any:
        return F.tril(y, -1) + F.diag_embed(F.log(F.diagonal(y, 0, -2, -1)))


class PositiveDefiniteTransform(Transform):
    """The product of a Cholesky factor, as `LowerCholeskyTransform` makes it, with its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    def __hash__(self) -> int:
        return hash(PositiveDefiniteTransform)

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return F.matmul(factor, F.swapaxes(factor, -1, -2))

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(F.cholesky(y))


class CorrCholeskyTransform(Transform):
    """k (k - 1) / 2 numbers to the Cholesky factor of a correlation matrix of size k.

    tanh of the numbers are partial correlations, row by row; each row of the factor has length 1.
    Source: Lewandowski, Kurowicka, Joe, "Generating random correlation matrices based on vines and extended onion method" (2009).
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
        eps = float(np.finfo(x.dtype).eps)
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
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
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
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
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


class CumulativeDistributionTransform(Transform):
    """y is the distribution function of a distribution at x."""

    bijective = True
    codomain = constraints.unit_interval

    def __init__(self, distribution: Distribution, cache_size: int = 0):
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def sign(self) -> Any:
        return 1

    @property
    def domain(self) -> Constraint:  # type: ignore[override]
        support: Constraint = self.distribution.support
        return support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


identity_transform = ComposeTransform([])

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip
