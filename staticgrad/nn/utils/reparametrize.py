"""Weight norm and spectral norm under their first names, with their parameters in the module itself; batch normalization folded
into the layer before it; layers without initial values.

`module.weight` is computed at each use, not once per `forward`, so it is never older than its parameters. With spectral norm it
is the parameter itself until the module is called, so functions that initialize `m.weight.data` write the parameter.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from ...eager import no_grad
from ...errors import ArgumentError
from ...ops.operators import F, warn_former
from ...ops.operators import Tensor as AnyTensor
from ..module import Module
from ..parameter import Parameter
from .parametrizations import SingularVectors, as_matrix, check_iterations, norm_except
from .parametrize import compute, compute_no_more

WEIGHT, SPECTRAL = "weight_norm", "spectral_norm"


def _applied(module: Module, kind: str, name: str) -> bool:
    return isinstance(getattr(type(module), name, None), property) and name in vars(module).get(f"_{kind}s", {})


def _begin(module: Module, kind: str, name: str, setting: Any) -> Any:
    """The parameter, which is the module's no more. Raises ArgumentError."""
    if _applied(module, kind, name):
        raise ArgumentError(f"Cannot register two {kind} hooks on the same parameter {name}")
    weight = getattr(module, name, None)
    if weight is None or module._role(name) is None:
        raise ArgumentError(f"`{kind}` cannot be applied as parameter `{name}` is None")
    delattr(module, name)
    module.__dict__.setdefault(f"_{kind}s", {})[name] = setting
    return weight


def _end(module: Module, kind: str, name: str, parts: tuple[str, ...]) -> None:
    if not _applied(module, kind, name):
        raise ArgumentError(f"{kind} of {name!r} not found in {module}")
    with no_grad():
        weight = getattr(module, name).detach()
    compute_no_more(module, name)
    del module.__dict__[f"_{kind}s"][name]
    for part in parts:
        delattr(module, name + part)
    module.register_parameter(name, Parameter(weight))


class WeightNorm:
    """The rule of a weight with weight norm."""

    def __init__(self, name: str, dim: int):
        self.name, self.dim = name, dim

    def get(self, module: Module) -> Any:
        v = getattr(module, f"{self.name}_v")
        return v * (getattr(module, f"{self.name}_g") / norm_except(v, self.dim))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Let a parameter be g v / ||v|| of two others, {name}_g and {name}_v, with norms over all axes but `dim` (all for None).

    Raises ArgumentError where it is so already, or is no parameter, and a FutureWarning: `parametrizations.weight_norm` has
    another state. Source: Salimans and Kingma, NeurIPS 2016.
    """
    warn_former("`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.")
    axis = -1 if dim is None else dim
    weight = _begin(module, WEIGHT, name, axis)
    with no_grad():
        module.register_parameter(f"{name}_g", Parameter(norm_except(weight, axis)))
        module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    compute(module, name, WeightNorm(name, axis))
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again. Raises ArgumentError for one without weight norm."""
    _end(module, WEIGHT, name, ("_g", "_v"))
    return module


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a parameter, now {name}_orig, by its largest singular value; {name}_u and {name}_v are its singular vectors.

    Each call of the module while training improves them by power iterations. Raises ArgumentError where it is so already,
    or is no parameter. Source: Miyato et al., ICLR 2018.
    """
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    check_iterations(n_power_iterations)
    weight = _begin(module, SPECTRAL, name, name)
    rule = SpectralNormRule(name, n_power_iterations, eps, dim)
    u, v = rule.vectors.draw(as_matrix(weight.detach(), dim))
    module.register_parameter(f"{name}_orig", weight)
    module.register_buffer(f"{name}_u", u)
    module.register_buffer(f"{name}_v", v)

    compute(module, name, rule)
    module.register_forward_pre_hook(rule)
    vars(module)[f"_{SPECTRAL}s"][name] = rule
    return module


class SpectralNormRule:
    """The rule of a weight with spectral norm, and the hook that improves its singular vectors."""

    called = False
    """Whether the module was called."""

    def __init__(self, name: str, n_power_iterations: int, eps: float, dim: int):
        self.name, self.n_power_iterations, self.dim = name, n_power_iterations, dim
        self.vectors = SingularVectors(eps, v_first=True)

    def _parts(self, module: Module) -> list[Any]:
        return [getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v")]

    def get(self, module: Module) -> Any:
        weight, u, v = self._parts(module)
        return self.vectors.divide(weight, as_matrix(weight, self.dim), u, v) if self.called else weight.detach()

    def __call__(self, module: Module, inputs: Any) -> None:
        if not self.called:
            self.called = True
        if module.training:
            weight, u, v = self._parts(module)
            self.vectors.improve(u, v, as_matrix(weight.detach(), self.dim), self.n_power_iterations)


def remove_spectral_norm(module: Module, name: str = "weight") -> Module:
    """Make the weight a parameter again. Raises ArgumentError for one without spectral norm."""
    rule = vars(module).get(f"_{SPECTRAL}s", {}).get(name)
    if rule is not None:
        rule.called = True
    _end(module, SPECTRAL, name, ("_u", "_v", "_orig"))
    for key, hook in tuple(module._forward_pre_hooks.items()):
        if hook is rule:
            del module._forward_pre_hooks[key]
    return module


# fused layers, and layers without initial values ----------------------------------------------------------------------

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
