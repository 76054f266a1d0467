"""Activations, each a record of function and settings, from which the module is made; layers with the weights of classes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.types import DTypeLike
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..namespaces import functional
from ..namespaces.functional.checks import check_reduction
from ..ops.gathering import along_op, bounded
from ..ops.operands import operand, size_text
from ..ops.operators import F, apply, with_example
from ..ops.operators import Tensor as AnyTensor
from .containers import ModuleList, Sequential
from .layers import Linear
from .module import Module
from .parameter import Parameter, room_on

__all__ = [
    "AdaptiveLogSoftmaxWithLoss", "CELU", "ELU", "GELU", "GLU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh",
    "LeakyReLU", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "LogSigmoid", "LogSoftmax", "Mish", "PReLU", "ReLU",
    "ReLU6", "RReLU", "SELU", "Sigmoid", "SiLU", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign",
    "Tanh", "Tanhshrink", "Threshold",
]  # fmt: skip


class _Activation(Module):
    """An elementwise function with settings."""

    settings: inspect.Signature
    function: Callable[..., Any]

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()
        try:
            bound = self.settings.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        self.names = tuple(bound.arguments)
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    def forward(self, input: Any) -> Any:
        own = vars(self)
        return type(self).function(input, *(own[name] for name in self.names))

    def extra_repr(self) -> str:
        own = vars(self)
        shown = [f"{name}={own[name]!r}" if name != "lambd" else repr(own[name]) for name in self.names if name != "inplace"]
        return ", ".join([*shown, *(["inplace=True"] if own.get("inplace") else [])])


def _made(name: str, function: Callable[..., Any], doc: str, *required: str, **defaults: Any) -> type[_Activation]:
    """The module of an activation. With `inplace` its input takes over the result."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(n, kind) for n in required]
    parameters += [inspect.Parameter(n, kind, default=value) for n, value in defaults.items()]
    signature = inspect.Signature(parameters)
    members = {
        "__doc__": doc, "__module__": __name__, "settings": signature, "function": staticmethod(function),
        "__signature__": signature,
    }  # fmt: skip
    return type(name, (_Activation,), members)


ReLU = _made(
    "ReLU", functional.relu, with_example("max(x, 0).", "nn.ReLU()(sg.tensor([-1.0, 2.0])) -> tensor([0., 2.])"), inplace=False
)
LeakyReLU = _made(
    "LeakyReLU",
    functional.leaky_relu,
    with_example("`functional.leaky_relu`.", "nn.LeakyReLU()(sg.tensor([-1.0, 1.0])) -> tensor([-0.0100,  1.0000])"),
    negative_slope=0.01,
    inplace=False,
)
ELU = _made("ELU", functional.elu, "`functional.elu`.", alpha=1.0, inplace=False)
SELU = _made("SELU", functional.selu, "`functional.selu`.", inplace=False)
CELU = _made("CELU", functional.celu, "`functional.celu`.", alpha=1.0, inplace=False)
GELU = _made(
    "GELU",
    functional.gelu,
    with_example("`functional.gelu`.", "nn.GELU()(sg.tensor([-1.0, 1.0])) -> tensor([-0.1587,  0.8413])"),
    approximate="none",
)
SiLU = _made(
    "SiLU",
    functional.silu,
    with_example("x * sigmoid(x).", "nn.SiLU()(sg.tensor([-1.0, 1.0])) -> tensor([-0.2689,  0.7311])"),
    inplace=False,
)
Mish = _made("Mish", functional.mish, "x tanh(softplus(x)).", inplace=False)
Sigmoid = _made(
    "Sigmoid",
    functional.sigmoid,
    with_example("1 / (1 + exp(-x)).", "nn.Sigmoid()(sg.tensor([0.0, 2.0])) -> tensor([0.5000, 0.8808])"),
)
Tanh = _made(
    "Tanh", functional.tanh, with_example("Hyperbolic tangent.", "nn.Tanh()(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.7616])")
)
Softsign = _made("Softsign", functional.softsign, "x / (1 + |x|).")
Tanhshrink = _made("Tanhshrink", functional.tanhshrink, "x - tanh(x).")
LogSigmoid = _made("LogSigmoid", functional.logsigmoid, "log(sigmoid(x)).")
Hardsigmoid = _made("Hardsigmoid", functional.hardsigmoid, "x / 6 + 1/2, within [0, 1].", inplace=False)
Hardswish = _made("Hardswish", functional.hardswish, "x hardsigmoid(x).", inplace=False)
Hardshrink = _made("Hardshrink", functional.hardshrink, "x, or 0 within [-lambd, lambd].", lambd=0.5)
Softshrink = _made("Softshrink", functional.softshrink, "x moved towards 0 by lambd, or 0.", lambd=0.5)
Softplus = _made("Softplus", functional.softplus, "`functional.softplus`.", beta=1.0, threshold=20.0)
Threshold = _made(
    "Threshold", functional.threshold, "x above the threshold, else the value.", "threshold", "value", inplace=False
)
GLU = _made("GLU", functional.glu, "a sigmoid(b) for the halves a, b of x along dim.", dim=-1)
Softmax = _made(
    "Softmax",
    functional.softmax,
    with_example(
        "exp(x) / sum(exp(x)) over the axis dim; None as in PyTorch: 0 or 1.",
        "nn.Softmax(dim=-1)(sg.zeros(1, 2)) -> tensor([[0.5000, 0.5000]])",
    ),
    dim=None,
)
LogSoftmax = _made("LogSoftmax", functional.log_softmax, "The logarithm of Softmax.", dim=None)
Softmin = _made("Softmin", functional.softmin, "Softmax of -x.", dim=None)


class Softmax2d(Module):
    """Softmax over the channels of (n, c, h, w) or (c, h, w). Raises ShapeError."""

    def __init__(self) -> None:
        super().__init__()

    def forward(self, input: Any) -> AnyTensor:
        if len(input.shape) not in (3, 4):
            raise ShapeError(f"Softmax2d: expected input to be 3D or 4D, got {len(input.shape)}D instead")
        return functional.softmax(input, -3)


class Hardtanh(Module):
    """x within [min_val, max_val]. Raises ArgumentError unless min_val < max_val."""

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False, min_value: float | None = None,
        max_value: float | None = None,
    ):  # fmt: skip
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = bool(inplace)
        if not self.max_val > self.min_val:
            raise ArgumentError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Any) -> AnyTensor:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False):
        super().__init__(0.0, 6.0, inplace)

    def forward(self, input: Any) -> AnyTensor:
        return functional.relu6(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """x, or a x below 0 with a uniform in [lower, upper) while training, and their middle otherwise."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, bool(inplace)

    def forward(self, input: Any) -> AnyTensor:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or weight x below 0: one weight, or one per channel (axis 1)."""

    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(room_on(device, dtype)(num_parameters, init))

    def forward(self, input: Any) -> AnyTensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


# layers that hold the weights of classes -----------------------------------------------------------------------------

# A softmax in clusters, and a linear map with its cross entropy.


class _ASMoutput(NamedTuple):
    """output: the log-probability of each target; loss: minus their mean."""

    output: AnyTensor
    loss: AnyTensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """log(softmax) over many classes, the rare ones in clusters of their own with narrower projections.

    Classes below cutoffs[0] and one entry for each cluster are scores of `head`; cluster i has the classes from cutoffs[i]
    on, through in_features / div_value**(i + 1) features. Raises ArgumentError unless cutoffs ascend within [1, n_classes - 1].
    Source: Grave et al., "Efficient softmax approximation for GPUs", ICML 2017.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0, head_bias: bool = False,
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ArgumentError("cutoffs should be a sequence of length larger than 0")
        if ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] > n_classes - 1 or any(int(c) != c for c in ends):
            raise ArgumentError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1",
                f"got {ends} for {n_classes} classes",
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*ends, n_classes]
        self.div_value, self.head_bias = div_value, bool(head_bias)
        self.shortlist_size = ends[0]
        self.n_clusters = len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, self.head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            width = int(in_features // (div_value ** (i + 1)))
            self.tail.append(
                Sequential(Linear(in_features, width, False, device, dtype), Linear(width, last - first, False, device, dtype))
            )

    def reset_parameters(self) -> None:
        """Draw first values again."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: AnyTensor, target_: AnyTensor) -> _ASMoutput:
        """(log-probabilities of the targets, minus their mean). Shapes: (n, in_features) and integers (n,), or (in,) and ()."""
        x, target = operand(input_), operand(target_)
        n = len(target.shape)
        if n > 1 or len(x.shape) != n + 1:
            raise ShapeError(
                f"{n}D target tensor expects {n + 1}D input tensors, but found inputs with size {size_text(x.shape)}"
                if n <= 1
                else "0D or 1D target tensor expected, multi-target not supported"
            )
        if n and None not in (x.shape[0], target.shape[0]) and x.shape[0] != target.shape[0]:
            raise ShapeError("Input and target should have the same size in the batch dimension.")
        if not n:
            x, target = F.expand_dims(x, 0), F.expand_dims(target, 0)
        index = bounded(target, np.zeros(self.n_classes), 0, negative=False, loss="AdaptiveLogSoftmaxWithLoss")
        head = functional.log_softmax(self.head(x), 1)
        place, own = F.minimum(index, self.shortlist_size - 1), F.zeros_like(head[:, 0])
        for i, (first, last) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            here = F.logical_and(index >= first, index < last)
            place = F.where(here, self.shortlist_size + i, place)
            scores = functional.log_softmax(self.tail[i](x), 1)
            inside = F.where(here, index - first, 0)
            own = own + F.where(here, F.squeeze(apply(along_op, scores, F.expand_dims(inside, 1), axis=1), 1), 0)
        output = own + F.squeeze(apply(along_op, head, F.expand_dims(place, 1), axis=1), 1)
        return _ASMoutput(output if n else F.squeeze(output, 0), F.mean(-output))

    def log_prob(self, input: AnyTensor) -> AnyTensor:
        """The log-probabilities of all classes: (n, in_features) to (n, n_classes)."""
        head = functional.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i in range(self.n_clusters):
            scores = functional.log_softmax(self.tail[i](input), 1)
            parts.append(scores + head[:, self.shortlist_size + i : self.shortlist_size + i + 1])
        return F.concatenate(parts, 1)

    def predict(self, input: AnyTensor) -> AnyTensor:
        """The likeliest class of each sample where its cluster is named by the head, int64."""
        head = self.head(input)
        best = F.argmax(head, 1)
        return F.where(best < self.shortlist_size, best, F.argmax(self.log_prob(input), 1))


@dataclass
class LinearCrossEntropyOptions:
    """How PyTorch cuts a `linear_cross_entropy` into parts. Results don't depend on it; here it is not used."""

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(Module):
    """`functional.linear_cross_entropy` with a weight (num_classes * prod(out_features), in_features) in `linear`."""

    weight: Tensor | None

    def __init__(
        self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
        device: Any = None, dtype: DTypeLike | None = None, reduction: str = "mean", weight: Tensor | None = None,
        ignore_index: int | None = None, label_smoothing: float = 0.0, options: LinearCrossEntropyOptions | None = None,
    ):  # fmt: skip
        super().__init__()
        check_reduction(reduction)
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if not 0 <= label_smoothing <= 1:
            raise ArgumentError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features, self.reduction = num_classes, tuple(out_features), reduction
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, num_classes * math.prod(self.out_features), bias, device, dtype)

    def forward(self, input: AnyTensor, target: AnyTensor) -> AnyTensor:
        shape = (self.num_classes, *self.out_features)
        bias = None if self.linear.bias is None else F.reshape(self.linear.bias, shape)
        return functional.linear_cross_entropy(
            input, F.reshape(self.linear.weight, (*shape, self.linear.in_features)), target, linear_bias=bias,
            weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
