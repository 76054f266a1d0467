"""Transforms from unconstrained numbers to those that a constraint allows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints as c
from . import transforms as t
from .constraints import Constraint
from .transforms import Transform

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
        return t.SigmoidTransform()
    return t.ComposeTransform([t.SigmoidTransform(), t.AffineTransform(low, high - low)])


biject_to = ConstraintRegistry()
"""Bijections to a constraint."""
transform_to = ConstraintRegistry()
"""Transforms onto a constraint, for optimizers: not all of them are bijections."""


def _above(constraint: Any) -> Transform:
    bound = constraint.lower_bound
    zero = isinstance(bound, (int, float)) and bound == 0
    return t.ExpTransform() if zero else t.ComposeTransform([t.ExpTransform(), t.AffineTransform(bound, 1)])


def _below(constraint: Any) -> Transform:
    return t.ComposeTransform([t.ExpTransform(), t.AffineTransform(constraint.upper_bound, -1)])


def _enter_common(registry: ConstraintRegistry) -> None:
    def independent(constraint: Any) -> Transform:
        return t.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)

    def cat(constraint: Any) -> Transform:
        return t.CatTransform([registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> Transform:
        return t.StackTransform([registry(part) for part in constraint.cseq], constraint.dim)

    registry.register(c.Real, lambda constraint: t.identity_transform)
    for kind, factory in (
        (c.GreaterThan, _above), (c.GreaterThanEq, _above), (c.LessThan, _below), (c.Interval, _interval),
        (c.HalfOpenInterval, _interval), (c.Independent, independent), (c.Cat, cat), (c.Stack, stack),
    ):  # fmt: skip
        registry.register(kind, factory)
    registry.register(c.CorrCholesky, lambda constraint: t.CorrCholeskyTransform())
    registry.register(c.LowerCholesky, lambda constraint: t.LowerCholeskyTransform())
    for matrix in (c.PositiveDefinite, c.PositiveSemidefinite):
        registry.register(matrix, lambda constraint: t.PositiveDefiniteTransform())


for _registry in (biject_to, transform_to):
    _enter_common(_registry)
biject_to.register(c.Simplex, lambda constraint: t.StickBreakingTransform())
transform_to.register(c.Simplex, lambda constraint: t.SoftmaxTransform())

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
