"""Ready parametrizations: weight norm, spectral norm, orthogonal matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.types import normalize_axis
from ...eager import Tensor, generator, no_grad
from ...errors import ArgumentError
from ...operators import F
from ..module import Module
from .orthogonality import Orthogonal, orthogonal
from .parametrize import is_parametrized, register_parametrization


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


class SpectralNorm(Module):
    """The weight, as a matrix with `dim` for its rows, divided by its largest singular value.

    The singular vectors u and v are buffers, and each use while training improves them by power iterations.
    Source: Miyato et al., "Spectral normalization for generative adversarial networks", ICLR 2018. Raises ArgumentError.
    """

    inputs_first = False
    """An iteration begins with v, not u."""

    def __init__(self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12):
        super().__init__()
        if n_power_iterations <= 0:
            raise ArgumentError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.n_power_iterations, self.eps = n_power_iterations, eps
        self.dim = normalize_axis(dim, len(weight.shape)) if len(weight.shape) else 0
        if len(weight.shape) > 1:
            matrix = self.matrix(weight.detach())
            rng = np.random.default_rng(list(map(int, generator.take())))
            u, v = (_unit(Tensor(rng.normal(size=n).astype(weight.dtype)), eps) for n in matrix.shape)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)
            with no_grad():
                self.iterate(matrix, 15)

    def matrix(self, weight: Any) -> Any:
        """(extent of dim, everything else)."""
        if self.dim:
            order = (self.dim, *(i for i in range(len(weight.shape)) if i != self.dim))
            weight = F.transpose(weight, order)
        return F.reshape(weight, (weight.shape[0], -1))

    def iterate(self, matrix: Any, times: int) -> None:
        """Power iterations on the singular vectors, in place."""
        u, v = vars(self)["_u"], vars(self)["_v"]
        for _ in range(times):
            if self.inputs_first:
                v.copy_(_unit(F.matmul(u, matrix), self.eps))
            u.copy_(_unit(F.matmul(matrix, v), self.eps))
            if not self.inputs_first:
                v.copy_(_unit(F.matmul(u, matrix), self.eps))

    def forward(self, weight: Any) -> Any:
        if len(weight.shape) <= 1:
            return weight / F.maximum(F.norm(weight), self.eps)
        matrix = self.matrix(weight)
        if self.training:
            with no_grad():
                self.iterate(matrix.detach(), self.n_power_iterations)
        u, v = vars(self)["_u"].clone(), vars(self)["_v"].clone()
        return weight / F.sum(u * F.matmul(matrix, v))

    def right_inverse(self, value: Any) -> Any:
        """The value itself, which is taken to have the norm 1."""
        return value


def _unit(x: Any, eps: float) -> Any:
    return x / F.maximum(F.sqrt(F.sum(F.square(x))), eps)


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
