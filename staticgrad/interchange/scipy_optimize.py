"""Losses as objectives of `scipy.optimize`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..eager import Tensor, grad, no_grad
from ..errors import ArgumentError
from ..ops.operators import Tensor as AnyTensor
from ..tracing import compile


class Objective:
    """`objective(x)` writes x into the parameters and returns the loss and its gradient, as float64 numbers."""

    def __init__(self, fn: Callable[..., Any], params: Iterable[AnyTensor], compiled: bool):
        given = list(params)
        self.params = [p for p in given if isinstance(p, Tensor) and p.requires_grad]
        if not given or len(self.params) < len(given):
            raise ArgumentError("scipy_objective: params are tensors that require grad", "pass model.parameters()")
        self.fn = fn
        self.run: Any = compile(self._evaluated) if compiled else self._evaluated
        self.ends = np.cumsum([p.numel() for p in self.params])

    @property
    def x(self) -> np.ndarray:
        """The parameters now, as one vector."""
        return np.concatenate([p.detach().numpy().reshape(-1) for p in self.params]).astype(np.float64)

    def _evaluated(self, parts: list[Any], args: tuple[Any, ...]) -> Any:
        with no_grad():
            for p, part in zip(self.params, parts, strict=True):
                p.copy_(part.reshape(p.shape))
        loss = self.fn(*args)
        found = grad(loss, self.params, allow_unused=True)
        return loss.detach(), [p.detach() * 0 if g is None else g for p, g in zip(self.params, found, strict=True)]

    def __call__(self, x: np.ndarray, *args: Any) -> tuple[float, np.ndarray]:
        """The loss at x and its gradient. Raises ArgumentError for a vector of another length."""
        if np.shape(x) != (self.ends[-1],):
            raise ArgumentError(f"scipy_objective: x has shape {np.shape(x)}, the parameters have {self.ends[-1]} elements")
        parts = np.split(np.asarray(x), self.ends[:-1])
        given = [Tensor(part.astype(p.dtype)) for p, part in zip(self.params, parts, strict=True)]
        loss, slopes = self.run(given, args)
        return float(loss.item()), np.concatenate([g.numpy().reshape(-1) for g in slopes]).astype(np.float64)


def scipy_objective(
    fn: Callable[..., Any], params: Iterable[AnyTensor], *, compiled: bool = True
) -> tuple[Objective, np.ndarray]:
    """What `scipy.optimize.minimize(*sg.scipy_objective(fn, params), jac=True)` takes: the objective and its first x.

    fn: a function that returns the loss of the parameters' present values; the `args` of `minimize` are passed to it. params:
    leaf tensors that require grad. The loss and its gradient are one compiled plan, unless `compiled` is False. Afterwards the
    parameters have the values of the last evaluation: `objective(result.x)` gives them the best.

    Raises ArgumentError for params that are no tensors that require grad.

    Examples:
        >>> from scipy.optimize import minimize
        >>> w = sg.zeros(2, dtype=sg.float64, requires_grad=True)
        >>> result = minimize(*sg.scipy_objective(lambda: ((w - sg.tensor([1.0, 2.0])) ** 2).sum(), [w]), jac=True)
        >>> np.round(result.x, 4)
        array([1., 2.])
    """
    objective = Objective(fn, params, compiled)
    return objective, objective.x
