"""Losses as modules; the functions are in `staticgrad.functional`."""

from __future__ import annotations

from .. import functional
from ..operators import Tensor as AnyTensor
from ..operators import TensorLike
from .module import Module


class _Loss(Module):
    """`reduction`: "mean", "sum" or "none". Raises ArgumentError for another."""

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        functional.check_reduction(reduction)
        self.reduction = reduction


class MSELoss(_Loss):
    """See `functional.mse_loss`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """See `functional.l1_loss`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.l1_loss(input, target, self.reduction)


class NLLLoss(_Loss):
    """See `functional.nll_loss`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.nll_loss(input, target, self.reduction)


class CrossEntropyLoss(_Loss):
    """See `functional.cross_entropy`."""

    def __init__(self, reduction: str = "mean", label_smoothing: float = 0.0):
        super().__init__(reduction)
        self.label_smoothing = label_smoothing

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.cross_entropy(input, target, self.reduction, self.label_smoothing)


class BCEWithLogitsLoss(_Loss):
    """See `functional.binary_cross_entropy_with_logits`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.binary_cross_entropy_with_logits(input, target, self.reduction)
