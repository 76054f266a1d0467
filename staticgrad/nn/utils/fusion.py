"""Batch normalization folded into the layer before it, for evaluation; and layers without initial values."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from ...errors import ArgumentError
from ...ops.operators import F
from ...ops.operators import Tensor as AnyTensor
from ..module import Module
from ..parameter import Parameter

Layer = TypeVar("Layer", bound=Module)


def _folded(
    weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any, shape: list[int]
) -> tuple[Parameter, Parameter]:
    """The weight and bias of a layer and of the normalization of its results. shape: that of channels beside the weight."""
    of_bias = bias is None or bias.requires_grad
    factor = F.rsqrt(variance.detach() + eps)
    factor = factor if scale is None else factor * scale.detach()
    moved = (0 if bias is None else bias.detach()) - mean.detach()
    moved = moved * factor if shift is None else moved * factor + shift.detach()
    folded = weight.detach() * F.reshape(factor, tuple(shape))
    return (
        Parameter(F.astype(folded, weight.dtype), weight.requires_grad),
        Parameter(F.astype(moved, weight.dtype if bias is None else bias.dtype), of_bias),
    )


def fuse_conv_bn_weights(
    conv_w: AnyTensor, conv_b: AnyTensor | None, bn_rm: AnyTensor, bn_rv: AnyTensor, bn_eps: float, bn_w: AnyTensor | None,
    bn_b: AnyTensor | None, transpose: bool = False,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of a convolution whose results are normalized with running means and variances.

    transpose: of a transposed convolution, whose weight has its outputs along the second axis.
    """
    lead = [1, -1] if transpose else [-1, 1]
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [*lead, *[1] * (len(conv_w.shape) - 2)])


def fuse_linear_bn_weights(
    linear_w: AnyTensor, linear_b: AnyTensor | None, bn_rm: AnyTensor, bn_rv: AnyTensor, bn_eps: float, bn_w: AnyTensor | None,
    bn_b: AnyTensor | None,
) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of a linear layer whose results are normalized with running means and variances."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _check_evaluated(*modules: Any) -> None:
    if any(m.training for m in modules):
        raise ArgumentError("Fusion only for eval!", "call eval() of both modules first")
    if modules[-1].running_mean is None or modules[-1].running_var is None:
        raise ArgumentError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Layer, bn: Any, transpose: bool = False) -> Layer:
    """A copy of a convolution that computes bn(conv(x)). Raises ArgumentError unless both are in evaluation mode."""
    _check_evaluated(conv, bn)
    fused: Any = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Layer, bn: Any) -> Layer:
    """A copy of a linear layer that computes bn(linear(x)), for inputs (n, in_features).

    Raises ArgumentError unless both are in evaluation mode and their features fit.
    """
    _check_evaluated(linear, bn)
    fused: Any = copy.deepcopy(linear)
    if bn.num_features not in (fused.out_features, 1):
        raise ArgumentError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, "
            f"got linear.out_features={fused.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def skip_init(module_cls: type[Layer], *args: Any, **kwargs: Any) -> Layer:
    """A layer whose values are not meant to be used before others replace them. Here they are the initial ones, as they take
    little time to draw. Raises ArgumentError for anything but a class of modules."""
    if not issubclass(module_cls, Module):
        raise ArgumentError(f"Expected a Module; got {module_cls}")
    return module_cls(*args, **kwargs)


def convert_conv2d_weight_memory_format(module: Layer, memory_format: Any) -> Layer:
    """The module itself: a compiled step chooses the memory layout of weights."""
    return module


convert_conv3d_weight_memory_format = convert_conv2d_weight_memory_format
