"""Distribution: shapes, arguments, and what all distributions offer."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from ...base.types import FLOATING, finfo, get_default_dtype
from ...eager import Tensor, no_grad, rand, randn
from ...eager.pending import Pending, at_once
from ...errors import ArgumentError
from ...ops.operators import F, Operators, Size, as_array, frontends, state
from . import constraints
from .constraints import Constraint


class Distribution:
    """Base. batch_shape: of the arguments, broadcast. event_shape: of one sample of one batch member.

    validate_args: check arguments and the values of `log_prob` and `cdf` unless they have no values yet, in graphs and
    compiled functions. It is True unless `set_default_validate_args` said otherwise. Raises ArgumentError.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    """Arguments, and the values that they may have."""
    has_rsample = False
    has_enumerate_support = False
    _validate_args = True

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if not self._validate_args:
            return
        for name, constraint in self.arg_constraints.items():
            value = vars(self).get(name)
            if not constraints.is_dependent(constraint):
                self._check(constraint, name, value)

    def _check(self, constraint: Constraint, name: str, value: Any) -> None:
        """Raises ArgumentError for an argument that has another value than it may have."""
        if _has_value(value) and not _holds(constraint, value):
            raise ArgumentError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{type(self).__name__} to satisfy the constraint {constraint!r}, but found invalid values:",
                repr(value),
            )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check values unless they are told. Raises ArgumentError for anything but True and False."""
        if value not in (True, False):
            raise ArgumentError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = bool(value)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its arguments broadcast to another batch shape. Raises ShapeError."""
        shape = (batch_shape,) if isinstance(batch_shape, int) else tuple(batch_shape)
        return self._widened(tuple(old if n == -1 else n for n, old in _aligned(shape, self._batch_shape)))

    def _widened(self, batch_shape: tuple[int, ...]) -> Any:
        """Tensors begin with the axes of the batch, except unbroadcasted ones, and so do distributions that this one is made
        of."""
        made = object.__new__(type(self))
        n = len(self._batch_shape)
        for name, value in vars(self).items():
            if name.startswith("_unbroadcasted"):
                pass
            elif isinstance(value, Operators):
                value = F.broadcast_to(value, (*batch_shape, *value.shape[n:]))
            elif isinstance(value, Distribution):
                value = value._widened((*batch_shape, *value._batch_shape[n:]))
            vars(made)[name] = value
        made._batch_shape = batch_shape
        return made

    @property
    def batch_shape(self) -> Size:
        """The extents of independent distributions side by side."""
        return Size(self._batch_shape)

    @property
    def event_shape(self) -> Size:
        """The extents of one sample of one of them."""
        return Size(self._event_shape)

    @property
    def support(self) -> Any:
        """The constraint of samples."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return F.sqrt(self.variance)

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Samples of shape sample_shape + batch_shape + event_shape, differentiable with respect to the arguments."""
        raise NotImplementedError(f"{type(self).__name__} has no differentiable samples: use sample() and log_prob()")

    def sample(self, sample_shape: Any = ()) -> Any:
        """The same, not differentiable."""
        with no_grad():
            return F.stop_gradient(self.rsample(sample_shape))

    def sample_n(self, n: int) -> Any:
        """n samples."""
        return self.sample((n,))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or probability at `value`. Raises ArgumentError for a value outside of the support."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The entropy of each of them, in nats."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution along a new first axis; without `expand`, of extent 1 along the batch."""
        raise NotImplementedError(f"{type(self).__name__} has no finite support")

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return F.exp(self.entropy())

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """An object for `expand` to fill. Raises NotImplementedError in a subclass with another `__init__`, which has to
        define `expand` itself."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _extended_shape(self, sample_shape: Any = ()) -> tuple[int, ...]:
        lead = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return (*lead, *self._batch_shape, *self._event_shape)

    def _checked(self, value: Any) -> Any:
        """`value` as a tensor or an array. Raises ArgumentError for one that does not fit, or is outside of the support."""
        value = value if isinstance(value, Operators) else as_array(value)
        if not self._validate_args:
            return value
        shape, event, whole = tuple(value.shape), self._event_shape, (*self._batch_shape, *self._event_shape)
        if len(shape) < len(event) or any(a != b for a, b in zip(shape[len(shape) - len(event) :], event, strict=True)):
            raise ArgumentError(f"The right-most size of value must match event_shape: {shape} vs {event}.")
        for a, b in zip(reversed(shape), reversed(whole), strict=False):
            if a != b and 1 not in (a, b) and None not in (a, b):
                raise ArgumentError(f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {whole}.")
        if not _has_value(value) or (frontends.tracing and state.tracer is not None):
            return value
        try:
            support = self.support
        except NotImplementedError:
            return value
        if not constraints.is_dependent(support) and not _holds(support, value):
            raise ArgumentError(
                f"Expected value argument ({type(value).__name__} of shape {shape}) to be within the support ({support!r}) of "
                f"the distribution {self!r}, but found invalid values:",
                repr(value),
            )
        return value

    def _validate_sample(self, value: Any) -> None:
        """For distributions of the user: raises ArgumentError for a value outside of the support."""
        self._checked(value)

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in vars(self)]
        parts = (f"{name}: {_shown(vars(self)[name])}" for name in names)
        return f"{type(self).__name__}({', '.join(parts)})"


class ExponentialFamily(Distribution):
    """Base of distributions whose density is exp(natural parameters * statistics - log normalizer)."""


def _shown(value: Any) -> Any:
    return value.item() if _has_value(value) and value.size == 1 else tuple(value.shape)


def _aligned(shape: tuple[int, ...], old: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(shape, (1,) * (len(shape) - len(old)) + old, strict=False))


def _has_value(value: Any) -> bool:
    """Whether it is an array, or a tensor with one that this code may look at."""
    if isinstance(value, Tensor):
        return not (frontends.tracing and state.tracer is not None) and value.__class__ is not Pending
    return isinstance(value, (np.ndarray, np.generic))


def _holds(constraint: Constraint, value: Any) -> bool:
    """Whether each event is allowed. Bounds that are tensors of a graph are not looked at."""
    if any(isinstance(bound, Operators) and not _has_value(bound) for bound in vars(constraint).values()):
        return True
    with no_grad(), at_once():
        found = constraint.check(value if isinstance(value, Tensor) else Tensor(as_array(value)))
    return bool(np.all(found._data if isinstance(found, Tensor) else found))


def tensors(*values: Any) -> list[Any]:
    """Arguments as tensors of one shape: numbers get the dtype of the tensors among them, or the default."""
    kinds = [v.dtype for v in values if isinstance(v, (Operators, np.ndarray)) and v.dtype.kind in FLOATING]
    dtype = np.result_type(*kinds) if kinds else get_default_dtype()
    made: list[Any] = [v if isinstance(v, Operators) else Tensor(np.asarray(v, dtype)) for v in values]
    made = [v if v.dtype.kind in FLOATING else F.astype(v, dtype) for v in made]
    shape = np.broadcast_shapes(*(tuple(v.shape) for v in made))
    return [v if tuple(v.shape) == shape else F.broadcast_to(v, shape) for v in made]


def uniform(shape: Any, dtype: Any) -> Any:
    """Uniform numbers inside (0, 1)."""
    tiny = float(finfo(dtype).tiny)
    return F.clip(rand(*shape, dtype=dtype), tiny, 1 - float(finfo(dtype).eps / 2))


def normal(shape: Any, dtype: Any) -> Any:
    return randn(*shape, dtype=dtype)


def summed(x: Any, dims: int) -> Any:
    """Summed over the last axes."""
    return F.sum(x, tuple(range(-dims, 0))) if dims > 0 else x


def constant(like: Any, value: float) -> Any:
    """`value` in the shape and dtype of a tensor, without a gradient."""
    return F.full_like(like, value)


LOG_2PI = math.log(2 * math.pi)
EULER = 0.57721566490153286060651209008240243
