"""Tools for modules: clipping, vectors of parameters, sequences of different lengths, parametrizations. Those that few programs
use are imported when they are first named."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...eager import Tensor, no_grad
from ...errors import ArgumentError, GradientError, ShapeError
from ...namespaces.lookup.modules import enter, refusing
from ...ops.operators import F, Operators

if TYPE_CHECKING:
    from .reparametrize import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
        remove_spectral_norm,
        remove_weight_norm,
        skip_init,
        spectral_norm,
        weight_norm,
    )


__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval",
    "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune",
    "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init", "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip

_LAZY = {
    **dict.fromkeys(
        (
            "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
            "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "remove_spectral_norm",
            "remove_weight_norm", "skip_init", "spectral_norm", "weight_norm",
        ),
        "reparametrize",
    ),
    **{name: name for name in ("parametrizations", "parametrize", "prune")},
}  # fmt: skip

enter("nn.utils.weight_norm")
enter("nn.utils.spectral_norm")
__getattr__ = refusing(__name__, __all__, lazy={name: f"{__name__}.{place}" for name, place in _LAZY.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# clipping -------------------------------------------------------------------------------------------------------------


def _listed(tensors: Any) -> list[Any]:
    return [tensors] if isinstance(tensors, Operators) else list(tensors)


def _norm(x: Any, order: float) -> Any:
    """The norm of all elements: order 2, any other power, inf (the largest) or 0 (how many are not 0)."""
    if math.isinf(order):
        size = F.abs(x)
        return F.max(size) if order > 0 else F.min(size)
    if order == 0:
        return F.sum(F.astype(F.ne(x, 0), x.dtype))
    if order == 2:
        return F.sqrt(F.sum(F.square(x)))
    return F.sum(F.abs(x) ** order) ** (1.0 / order)


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """The norm of several tensors as if they were one vector, a scalar; 0 of none. foreach changes nothing here.

    Raises GradientError for a norm that is not finite where `error_if_nonfinite`.
    """
    given, order = _listed(tensors), float(norm_type)
    if not given:
        return Tensor(np.zeros((), np.float32))
    norms = [_norm(g, order) for g in given]
    total = norms[0] if len(norms) == 1 else _norm(F.stack([F.astype(n, norms[0].dtype) for n in norms]), order)
    if error_if_nonfinite and not bool(F.isfinite(total)):
        raise GradientError(
            f"The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale gradients, in place, by max_norm / total_norm where that is below 1."""
    with no_grad():
        for g in _gradients(parameters):
            factor = F.astype(F.minimum(max_norm / (total_norm + 1e-6), 1.0), g.dtype)
            g.mul_(factor)


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """Scale the gradients of one or several parameters, in place, so that the norm of all of them together is at most
    max_norm. Returns that norm as it was. Raises GradientError as `get_total_norm` does, before anything is changed."""
    parameters = _listed(parameters)
    with no_grad():
        total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


clip_grad_norm = clip_grad_norm_
"""The name of PyTorch before 0.4."""


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Bound each element of the gradients to [-clip_value, clip_value], in place."""
    bound = float(clip_value)
    with no_grad():
        for g in _gradients(parameters):
            g.copy_(F.clip(g, -bound, bound))


def _gradients(parameters: Iterable[Any] | Any) -> list[Any]:
    return [g for p in _listed(parameters) if (g := p.grad) is not None]


# parameters as one vector, and back ----------------------------------------------------------------------------------


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All elements, parameter after parameter, as one vector; recorded."""
    parts = [F.reshape(p, (-1,)) for p in parameters]
    return F.concatenate(parts, 0)


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Write the elements of a vector into parameters, in their memory. Raises ArgumentError unless it is a tensor, and
    ShapeError, before anything is written, for a vector that is too short."""
    if not isinstance(vec, Operators):
        raise ArgumentError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    places = list(parameters)
    sizes = [math.prod(p.shape) for p in places]
    if sum(sizes) > vec.shape[0]:
        raise ShapeError(f"vector_to_parameters: {sum(sizes)} elements are needed, the vector has {vec.shape[0]}")
    begin = 0
    with no_grad():
        for place, size in zip(places, sizes, strict=True):
            place.copy_(F.reshape(vec[begin : begin + size], place.shape))
            begin += size
