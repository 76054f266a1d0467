"""Invertible functions of tensors, with the logarithm of the determinant of their derivative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import ArgumentError
from ...ops.operators import F
from . import constraints
from .distribution import summed


class Transform:
    """Base: `_call` computes y of x, `_inverse` x of y, `log_abs_det_jacobian` log|dy / dx| per event of the domain.

    cache_size: with 1, the x of the last y is kept, so that `t.inv(t(x))` is x itself; where y is rounded, as tanh's is near 1,
    the inverse would lose digits. Raises ArgumentError for other sizes.
    """

    bijective = False
    alike = False
    """Whether all of a class are equal."""
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ArgumentError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._last: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """How many axes of an element belong together."""
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
        """The same transform with another size of its cache."""
        if self._cache_size == cache_size:
            return self
        made = object.__new__(type(self))
        vars(made).update(vars(self), _cache_size=cache_size, _last=(None, None))
        return made

    def __eq__(self, other: object) -> bool:
        return self is other or (self.alike and type(self) is type(other))

    def __hash__(self) -> int:
        return hash(type(self)) if self.alike else id(self)

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
        """The shape of arguments whose results have this shape."""
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

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    sign = property(lambda self: self._inv.sign)

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

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
    def domain(self) -> Any:
        """That of the first part, with the axes that the events of later parts need."""
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        needed = int(self.parts[-1].codomain.event_dim)
        for part in reversed(self.parts):
            needed = max(needed + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return first if needed <= first.event_dim else constraints.independent(first, needed - first.event_dim)

    @property
    def codomain(self) -> Any:
        """The set of values that it gives."""
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
    def domain(self) -> Any:
        """The set of values that it takes."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:
        """The set of values that it gives."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    sign = property(lambda self: self.base_transform.sign)

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
    def domain(self) -> Any:
        """The set of values that it takes."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:
        """The set of values that it gives."""
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


identity_transform = ComposeTransform([])

__all__ = ["ComposeTransform", "IndependentTransform", "ReshapeTransform", "Transform", "identity_transform"]
