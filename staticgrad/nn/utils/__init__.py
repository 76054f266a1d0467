"""Tools for modules: clipping, vectors of parameters, sequences of different lengths, parametrizations. Those that few programs
use are imported when they are first named."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...eager import no_grad
from ...errors import ArgumentError, ShapeError
from ...namespaces.lookup.modules import enter, refusing
from ...ops.operators import F, Operators
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm

if TYPE_CHECKING:
    from .fusion import (
        convert_conv2d_weight_memory_format,
        convert_conv3d_weight_memory_format,
        fuse_conv_bn_eval,
        fuse_conv_bn_weights,
        fuse_linear_bn_eval,
        fuse_linear_bn_weights,
        skip_init,
    )
    from .reparametrize import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm


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
            "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "skip_init",
        ),
        "fusion",
    ),
    **dict.fromkeys(("remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"), "reparametrize"),
    **{name: name for name in ("parametrizations", "parametrize", "prune")},
}  # fmt: skip

enter("nn.utils.weight_norm")
enter("nn.utils.spectral_norm")
__getattr__ = refusing(__name__, __all__, lazy={name: f"{__name__}.{place}" for name, place in _LAZY.items()})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


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
