"""Which values an argument or a sample may have: `constraint.check(value)` is true for each event that is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.types import finfo
from ...ops.operators import F


def _all(condition: Any, axes: int) -> Any:
    return F.all(condition, tuple(range(-axes, 0))) if axes else condition


class Constraint:
    """Base. event_dim: how many of the last axes belong to one event. is_discrete: the values are isolated."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Any) -> Any:
        """Booleans of the shape of `value` without the axes of an event."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({shown})"


class Dependent(Constraint):
    """A constraint that depends on other arguments, and is not checked."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0):
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, Dependent):
    """A property that gives the constraint of an instance, for supports that depend on arguments."""

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: bool = False, event_dim: int = 0):
        property.__init__(self, fn)
        Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[..., Any]) -> dependent_property:
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether it can't be checked without the other arguments."""
    return isinstance(constraint, Dependent)


class Real(Constraint):
    """Anything but NaN."""

    def check(self, value: Any) -> Any:
        return F.eq(value, value)


class Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return F.logical_or(F.eq(value, 0), F.eq(value, 1))


class GreaterThan(Constraint):
    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return F.lt(self.lower_bound, value)


class GreaterThanEq(Constraint):
    def __init__(self, lower_bound: Any):
        self.lower_bound = lower_bound

    def check(self, value: Any) -> Any:
        return F.le(self.lower_bound, value)


class LessThan(Constraint):
    def __init__(self, upper_bound: Any):
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return F.lt(value, self.upper_bound)


class Interval(Constraint):
    """Both bounds belong to it."""

    def __init__(self, lower_bound: Any, upper_bound: Any):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Any) -> Any:
        return F.logical_and(F.le(self.lower_bound, value), F.le(value, self.upper_bound))


class HalfOpenInterval(Interval):
    """The lower bound belongs to it."""

    def check(self, value: Any) -> Any:
        return F.logical_and(F.le(self.lower_bound, value), F.lt(value, self.upper_bound))


def _whole(value: Any) -> Any:
    return F.eq(F.remainder(value, 1), 0) if value.dtype.kind == "f" else F.eq(value, value)


class IntegerInterval(Interval):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return F.logical_and(_whole(value), super().check(value))


class IntegerGreaterThan(GreaterThanEq):
    """Integers from the lower bound on."""

    is_discrete = True

    def check(self, value: Any) -> Any:
        return F.logical_and(_whole(value), super().check(value))


class Simplex(Constraint):
    """Numbers >= 0 along the last axis whose sum is 1."""

    event_dim = 1

    def check(self, value: Any) -> Any:
        return F.logical_and(_all(F.le(0, value), 1), F.lt(F.abs(F.sum(value, -1) - 1), 1e-6))


class OneHot(Constraint):
    """0 along the last axis, but for a 1."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Any) -> Any:
        return F.logical_and(_all(boolean.check(value), 1), F.eq(F.sum(value, -1), 1))


class Multinomial(Constraint):
    """Counts along the last axis whose sum is at most the upper bound."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int):
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return F.logical_and(_all(F.le(0, value), 1), F.le(F.sum(value, -1), self.upper_bound))


class Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Any) -> Any:
        return np.full(tuple(value.shape[:-2]), value.shape[-1] == value.shape[-2])


class Symmetric(Square):
    def check(self, value: Any) -> Any:
        return F.logical_and(super().check(value), _all(F.isclose(value, F.swapaxes(value, -1, -2), atol=1e-6), 2))


def _eigenvalues(value: Any) -> Any:
    from ... import linalg

    return linalg.eigvalsh(value)


class PositiveSemidefinite(Symmetric):
    def check(self, value: Any) -> Any:
        return F.logical_and(super().check(value), _all(F.le(0, _eigenvalues(value)), 1))


class PositiveDefinite(Symmetric):
    def check(self, value: Any) -> Any:
        return F.logical_and(super().check(value), _all(F.lt(0, _eigenvalues(value)), 1))


class LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return _all(F.eq(F.tril(value), value), 2)


class LowerCholesky(LowerTriangular):
    """Lower triangular with a positive diagonal."""

    def check(self, value: Any) -> Any:
        return F.logical_and(super().check(value), _all(F.lt(0, F.diagonal(value, 0, -2, -1)), 1))


class CorrCholesky(LowerCholesky):
    """Factors of correlation matrices: rows have length 1."""

    def check(self, value: Any) -> Any:
        tolerance = float(finfo(value.dtype).eps) * value.shape[-1] * 10
        unit = F.lt(F.abs(F.sqrt(F.sum(F.square(value), -1)) - 1), tolerance)
        return F.logical_and(super().check(value), _all(unit, 1))


class Independent(Constraint):
    """The last axes of a constraint as parts of one event."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        return _all(self.base_constraint.check(value), self.reinterpreted_batch_ndims)


class Cat(Constraint):
    """Constraints of parts of an axis: `lengths` elements each, one unless they are given."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None):
        self.cseq, self.dim = list(cseq), dim
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Any) -> Any:
        parts = F.split(value, self.lengths, self.dim)
        return F.concatenate([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class Stack(Constraint):
    """A constraint for each position along an axis."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0):
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        at = max(c.event_dim for c in self.cseq)
        return at + 1 if self.dim + at < 0 else at

    def check(self, value: Any) -> Any:
        parts = F.unbind(value, self.dim)
        return F.stack([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """Values that each component of a mixture allows."""

    def __init__(self, base_constraint: Constraint):
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        event = self.base_constraint.event_dim
        spread = F.expand_dims(value, -1 - event)
        return _all(self.base_constraint.check(spread), 1)


dependent = Dependent()
independent = Independent
boolean = Boolean()
one_hot = OneHot()
nonnegative_integer = IntegerGreaterThan(0)
positive_integer = IntegerGreaterThan(1)
integer_interval = IntegerInterval
real = Real()
real_vector = Independent(real, 1)
positive = GreaterThan(0.0)
nonnegative = GreaterThanEq(0.0)
greater_than = GreaterThan
greater_than_eq = GreaterThanEq
less_than = LessThan
multinomial = Multinomial
unit_interval = Interval(0.0, 1.0)
interval = Interval
half_open_interval = HalfOpenInterval
simplex = Simplex()
square = Square()
symmetric = Symmetric()
positive_semidefinite = PositiveSemidefinite()
positive_definite = PositiveDefinite()
lower_triangular = LowerTriangular()
lower_cholesky = LowerCholesky()
corr_cholesky = CorrCholesky()
cat = Cat
stack = Stack

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent",
    "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex", "square",
    "stack", "symmetric", "unit_interval",
]  # fmt: skip

_classes = {_name: _kind for _name, _kind in vars().items() if inspect.isclass(_kind) and issubclass(_kind, Constraint)}
globals().update({f"_{_name}": _kind for _name, _kind in _classes.items()})
_IndependentConstraint, _DependentProperty = Independent, dependent_property
"""PyTorch's names of the classes."""
