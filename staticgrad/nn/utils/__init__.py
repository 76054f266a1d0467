"""Tools for modules: clipping, vectors of parameters, sequences of different lengths, parametrizations. Those that few programs
use are imported when they are first named."""

from typing import TYPE_CHECKING

from ...namespaces.modules import enter, refusing
from . import rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters

if TYPE_CHECKING:
    from . import parametrizations, parametrize, prune
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
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

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
