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

for _registry in (biject_to, transform_to):
    _independent = lambda constraint, _registry=_registry: t.IndependentTransform(  # noqa: E731
        _registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
    )
    _registry.register(c.Real, lambda constraint: t.identity_transform)
    _registry.register(c.Independent, _independent)
    for _above in (c.GreaterThan, c.GreaterThanEq):
        _registry.register(
            _above,
            lambda constraint: t.ExpTransform()
            if isinstance(constraint.lower_bound, (int, float)) and constraint.lower_bound == 0
            else t.ComposeTransform([t.ExpTransform(), t.AffineTransform(constraint.lower_bound, 1)]),
        )
    _registry.register(
        c.LessThan, lambda constraint: t.ComposeTransform([t.ExpTransform(), t.AffineTransform(constraint.upper_bound, -1)])
    )
    _registry.register(c.Interval, _interval)
    _registry.register(c.HalfOpenInterval, _interval)
    _registry.register(c.CorrCholesky, lambda constraint: t.CorrCholeskyTransform())
    _registry.register(c.Cat, lambda constraint, _registry=_registry: t.CatTransform(
        [_registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths
    ))  # fmt: skip
    _registry.register(c.Stack, lambda constraint, _registry=_registry: t.StackTransform(
        [_registry(part) for part in constraint.cseq], constraint.dim
    ))  # fmt: skip
    _registry.register(c.LowerCholesky, lambda constraint: t.LowerCholeskyTransform())
    _registry.register(c.PositiveDefinite, lambda constraint: t.PositiveDefiniteTransform())
    _registry.register(c.PositiveSemidefinite, lambda constraint: t.PositiveDefiniteTransform())
biject_to.register(c.Simplex, lambda constraint: t.StickBreakingTransform())
transform_to.register(c.Simplex, lambda constraint: t.SoftmaxTransform())

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
