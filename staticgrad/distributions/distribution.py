"""Distribution: shapes, arguments, and what all distributions offer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from ..eager import Tensor, no_grad, rand, randn
from ..errors import ArgumentError
from ..operators import F, Operators
from ..types import get_default_dtype

Check = Callable[[np.ndarray], np.ndarray]
CHECKS: dict[str, tuple[str, Check]] = {
    "real": ("finite numbers", lambda x: ~np.isnan(x)),
    "positive": ("GreaterThan(lower_bound=0.0)", lambda x: x > 0),
    "nonnegative": ("GreaterThanEq(lower_bound=0.0)", lambda x: x >= 0),
    "unit": ("Interval(lower_bound=0.0, upper_bound=1.0)", lambda x: (x >= 0) & (x <= 1)),
    "simplex": ("Simplex()", lambda x: (x >= 0).all(-1) & (np.abs(x.sum(-1) - 1) < 1e-6)),
}


class Distribution:
    """Base. batch_shape: of the arguments, broadcast. event_shape: of one sample of one batch member.

    validate_args: check arguments (unless they are symbols, which have no values yet). Raises ArgumentError.
    """

    arg_constraints: ClassVar[dict[str, str]] = {}
    """Arguments and what they have to be, by a name of `CHECKS`."""
    has_rsample = False
    has_enumerate_support = False
    event_dims = 0

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None):
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)
        if validate_args is False:
            return
        for name, kind in self.arg_constraints.items():
            value = vars(self).get(name)
            if isinstance(value, Tensor):
                label, holds = CHECKS[kind]
                if not holds(value._data).all():
                    raise ArgumentError(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                        f"{type(self).__name__} to satisfy the constraint {label}, but found invalid values"
                    )

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        return self._event_shape

    @property
    def mean(self) -> Any:
        raise NotImplementedError

    @property
    def variance(self) -> Any:
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

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density or probability at `value`."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def entropy(self) -> Any:
        raise NotImplementedError

    def perplexity(self) -> Any:
        """exp(entropy)."""
        return F.exp(self.entropy())

    def _shape(self, sample_shape: Any) -> tuple[int, ...]:
        lead = (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)
        return (*lead, *self._batch_shape, *self._event_shape)

    def __repr__(self) -> str:
        names = ", ".join(f"{name}: {tuple(vars(self)[name].shape)}" for name in self.arg_constraints if name in vars(self))
        return f"{type(self).__name__}({names})"


def tensors(*values: Any) -> list[Any]:
    """Arguments as tensors of one shape: numbers get the dtype of the tensors among them, or the default."""
    kinds = [v.dtype for v in values if isinstance(v, (Operators, np.ndarray)) and v.dtype.kind == "f"]
    dtype = np.result_type(*kinds) if kinds else get_default_dtype()
    made: list[Any] = [v if isinstance(v, Operators) else Tensor(np.asarray(v, dtype)) for v in values]
    made = [v if v.dtype.kind == "f" else F.astype(v, dtype) for v in made]
    shape = np.broadcast_shapes(*(tuple(v.shape) for v in made))
    return [v if tuple(v.shape) == shape else F.broadcast_to(v, shape) for v in made]


def uniform(shape: Any, dtype: Any) -> Any:
    """Uniform numbers inside (0, 1)."""
    tiny = float(np.finfo(dtype).tiny)
    return F.clip(rand(*shape, dtype=dtype), tiny, 1 - float(np.finfo(dtype).epsneg))


def normal(shape: Any, dtype: Any) -> Any:
    return randn(*shape, dtype=dtype)


def summed(x: Any, dims: int) -> Any:
    """Summed over the last axes."""
    return F.sum(x, tuple(range(-dims, 0))) if dims else x


LOG_2PI = math.log(2 * math.pi)
EULER = 0.57721566490153286060651209008240243
