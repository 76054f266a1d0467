"""The orthogonal parametrization."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import linalg
from ...base.types import shape_text
from ...eager import Tensor, no_grad
from ...errors import ArgumentError, ShapeError
from ...operators import F
from ..module import Module
from .parametrize import is_parametrized, register_parametrization

MAPS = ("matrix_exp", "cayley", "householder")


class NotInvertible(ArgumentError, NotImplementedError):
    """A parametrization can't find an original of a value: registered, it takes the value itself for one."""


def _is_orthogonal(q: Any) -> bool:
    """Up to rounding, as PyTorch decides it."""
    k = q.shape[-1]
    eps = 10 * q.shape[-2] * float(np.finfo(q.dtype).eps)
    return bool(F.allclose(F.matmul(q.mT, q), np.eye(k, dtype=q.dtype), atol=eps))


def _made_orthogonal(x: Any) -> Any:
    """The Q of its QR decomposition whose R has a positive diagonal."""
    a, tau = F.geqrf(x)
    q = linalg.householder_product(a, tau)
    return q * F.expand_dims(F.sign(F.diagonal(a, 0, -2, -1)), -2)


class Orthogonal(Module):
    """Orthonormal columns (rows, where there are fewer) as a function of an unconstrained matrix X.

    "matrix_exp": exp(A) with A = X - X^T of X's lower triangle; "cayley": (1 + A/2) (1 - A/2)^-1; "householder": a product of
    reflections. use_trivialization: that times `base`, the matrix at the start. Raises ArgumentError, ShapeError.
    Source: Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", NeurIPS 2019.
    """

    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool = True):
        super().__init__()
        self.shape, self.orthogonal_map, self.use_trivialization = tuple(weight.shape), orthogonal_map, use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:
        wide = X.shape[-2] < X.shape[-1]
        x = X.mT if wide else X
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            a = F.tril(x, -1)
            tau = 2.0 / (1.0 + F.sum(F.square(a), -2))
            signs = F.astype(F.astype(F.stop_gradient(F.diagonal(x, 0, -2, -1)), np.int32), x.dtype)
            q = linalg.householder_product(a, tau) * F.expand_dims(signs, -2)
        else:
            x = F.tril(x)
            if n != k:
                x = F.concatenate([x, F.zeros_like(F.getitem(x, (..., slice(0, 1)))) + np.zeros(n - k, x.dtype)], -1)
            a = x - x.mT
            if self.orthogonal_map == "matrix_exp":
                q = linalg.matrix_exp(a)
            else:
                eye = np.eye(n, dtype=x.dtype)
                q = linalg.solve(eye - 0.5 * a, eye + 0.5 * a)
            q = F.getitem(q, (..., slice(0, k)))
        if self.use_trivialization:
            q = F.matmul(self.base, q)
        return q.mT if wide else q

    @no_grad()
    def right_inverse(self, value: Any) -> Any:
        """The X that gives `value`, or its nearest orthogonal factor where it is not orthogonal."""
        if tuple(value.shape) != self.shape:
            raise ShapeError(
                f"Expected a matrix or batch of matrices of shape {shape_text(self.shape)}. "
                f"Got a tensor of shape {shape_text(value.shape)}."
            )
        wide = value.shape[-2] < value.shape[-1]
        q = value.mT if wide else value
        n, k = q.shape[-2:]
        if not self.use_trivialization:
            if self.orthogonal_map != "householder":
                raise NotInvertible(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            a, tau = F.geqrf(q)
            signs = F.sign(F.diagonal(a, 0, -2, -1)) * F.where(F.eq(tau, 0), -1.0, 1.0)
            a = F.where(np.eye(n, k, dtype=bool), F.expand_dims(signs, -2), a)
            return a.mT if wide else a
        if n != k:
            more = F.randn_like(F.zeros_like(F.getitem(q, (..., slice(0, 1)))) + np.zeros(n - k, q.dtype))
            self.base = _made_orthogonal(F.concatenate([q, more], -1))
        else:
            self.base = q.clone() if _is_orthogonal(q) else _made_orthogonal(q)
        return F.zeros_like(value) - np.eye(*value.shape[-2:], dtype=value.dtype)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Let `name` have orthonormal columns, or rows where it has fewer of them; see `Orthogonal`.

    orthogonal_map: "matrix_exp" for square matrices and "householder" for others, unless given. Raises ArgumentError,
    ShapeError.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) and not is_parametrized(module, name):
        raise ArgumentError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    assert weight is not None
    if len(weight.shape) < 2:
        raise ShapeError(f"Expected a matrix or batch of matrices. Got a tensor of {len(weight.shape)} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in MAPS:
        raise ArgumentError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
