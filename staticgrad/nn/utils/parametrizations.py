"""Ready parametrizations: weight norm, spectral norm, orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import linalg
from ...base.types import finfo, normalize_axis, shape_text
from ...eager import Tensor, no_grad
from ...errors import ArgumentError, ShapeError
from ...ops.operators import F
from ..module import Module
from .parametrize import is_parametrized, register_parametrization

# the orthogonal parametrization ---------------------------------------------------------------------------------------

MAPS = ("matrix_exp", "cayley", "householder")


class NotInvertible(ArgumentError, NotImplementedError):
    """A parametrization can't find an original of a value: registered, it takes the value itself for one."""


def _is_orthogonal(q: Any) -> bool:
    """Up to rounding, as PyTorch decides it."""
    k = q.shape[-1]
    eps = 10 * q.shape[-2] * float(finfo(q.dtype).eps)
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


def norm_except(v: Any, dim: int) -> Any:
    """The Euclidean norms over all axes but `dim`, which are kept with extent 1; over all of them for -1."""
    axes = None if dim == -1 else tuple(i for i in range(len(v.shape)) if i != normalize_axis(dim, len(v.shape)))
    if dim == -1:
        return F.sqrt(F.sum(F.square(v)))
    return F.sqrt(F.sum(F.square(v), axes, True))


class WeightNorm(Module):
    """g v / ||v||. Source: Salimans and Kingma, "Weight normalization", NeurIPS 2016."""

    def __init__(self, dim: int | None = 0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, g: Any, v: Any) -> Any:
        return v * (g / norm_except(v, self.dim))

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """(g, v) that give a weight."""
        return norm_except(weight, self.dim), weight.clone()


def as_matrix(weight: Any, dim: int) -> Any:
    """(extent of dim, everything else)."""
    if dim:
        weight = F.transpose(weight, (dim, *(i for i in range(len(weight.shape)) if i != dim)))
    return F.reshape(weight, (weight.shape[0], -1))


def _unit(x: Any, eps: float) -> Any:
    return x / F.maximum(F.sqrt(F.sum(F.square(x))), eps)


class SingularVectors:
    """Estimates of a matrix's first singular vectors, u and v, which power iterations improve in place.

    v_first: an iteration computes v of u, and then u of v; otherwise u of v first.
    """

    def __init__(self, eps: float, v_first: bool):
        self.eps, self.v_first = eps, v_first

    def draw(self, matrix: Any) -> list[Any]:
        """Random u and v."""
        return [_unit(matrix.new_empty(n).normal_(0, 1), self.eps) for n in matrix.shape]

    def improve(self, u: Any, v: Any, matrix: Any, times: int) -> None:
        with no_grad():
            for _ in range(times):
                if self.v_first:
                    v.copy_(_unit(F.matmul(u, matrix), self.eps))
                u.copy_(_unit(F.matmul(matrix, v), self.eps))
                if not self.v_first:
                    v.copy_(_unit(F.matmul(u, matrix), self.eps))

    @staticmethod
    def divide(weight: Any, matrix: Any, u: Any, v: Any) -> Any:
        """The weight over its largest singular value, u^T W v. Later iterations don't change what its gradient reads."""
        return weight / F.sum(u.clone() * F.matmul(matrix, v.clone()))


class SpectralNorm(Module):
    """The weight, as a matrix with `dim` for its rows, divided by its largest singular value.

    The singular vectors u and v are buffers, and each use while training improves them by power iterations.
    Source: Miyato et al., "Spectral normalization for generative adversarial networks", ICLR 2018. Raises ArgumentError.
    """

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        check_iterations(n_power_iterations)
        self.n_power_iterations, self.eps = n_power_iterations, eps
        self.dim = normalize_axis(dim, len(weight.shape)) if len(weight.shape) else 0
        self.vectors = SingularVectors(eps, v_first=False)
        if len(weight.shape) > 1:
            matrix = as_matrix(weight.detach(), self.dim)
            u, v = self.vectors.draw(matrix)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            self.vectors.improve(u, v, matrix, 15)

    def forward(self, weight: Any) -> Any:
        if len(weight.shape) <= 1:
            return _unit(weight, self.eps)
        matrix, u, v = as_matrix(weight, self.dim), vars(self)["_u"], vars(self)["_v"]
        if self.training:
            self.vectors.improve(u, v, matrix.detach(), self.n_power_iterations)
        return self.vectors.divide(weight, matrix, u, v)

    def right_inverse(self, value: Any) -> Any:
        """The value itself, which is taken to have the norm 1."""
        return value


def check_iterations(n: int) -> None:
    """Raises ArgumentError for none."""
    if n <= 0:
        raise ArgumentError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n}")


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Let `name` be g v / ||v||, with norms over all axes but `dim` (all for None): `original0` is g, `original1` is v."""
    return register_parametrization(module, name, WeightNorm(dim), unsafe=True)


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide `name` by its largest singular value. dim: the axis of outputs, 1 for transposed convolutions, else 0.

    Raises ArgumentError for a name that is no tensor of the module.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor) and not is_parametrized(module, name):
        raise ArgumentError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(module, name, SpectralNorm(weight, n_power_iterations, dim, eps))


__all__ = ["Orthogonal", "SpectralNorm", "WeightNorm", "orthogonal", "spectral_norm", "weight_norm"]
