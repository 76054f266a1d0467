"""Layers that hold the weights of classes: a softmax in clusters, and a linear map with its cross entropy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import functional
from ..base.types import DTypeLike
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..functional.checks import check_reduction
from ..operators import F, apply
from ..operators import Tensor as AnyTensor
from ..ops.gathering import along_op, bounded
from ..ops.settings import operand, size_text
from .containers import ModuleList, Sequential
from .layers import Linear
from .module import Module


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
