"""Losses as modules; the functions are in `staticgrad.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..eager import Tensor
from ..errors import ArgumentError, ArgumentTypeError
from ..namespaces import functional
from ..namespaces.functional.checks import legacy_reduction
from ..ops.operators import Tensor as AnyTensor
from ..ops.operators import TensorLike
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "CTCLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MarginRankingLoss", "MSELoss", "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Module):
    """`reduction`: "mean", "sum" or "none"; size_average and reduce are PyTorch's older words for it. Raises ArgumentError."""

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"):
        super().__init__()
        self.reduction = legacy_reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    """weight: factors, kept as a buffer."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean",
    ):  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """See `functional.mse_loss`.

    Examples:
        >>> nn.MSELoss()(sg.tensor([1.0, 2.0]), sg.tensor([0.0, 4.0]))
        tensor(2.5000)
    """

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """See `functional.l1_loss`.

    Examples:
        >>> nn.L1Loss()(sg.tensor([1.0, 2.0]), sg.tensor([0.0, 4.0]))
        tensor(1.5000)
    """

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """See `functional.smooth_l1_loss`."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", beta: float = 1.0
    ):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """See `functional.huber_loss`."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction=reduction)
        if not isinstance(delta, (float, int)):
            raise ArgumentTypeError(f"delta must be a float or int, got: {type(delta)}")
        self.delta = delta

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.huber_loss(input, target, self.reduction, self.delta)


class KLDivLoss(_Loss):
    """See `functional.kl_div`."""

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean", log_target: bool = False
    ):
        batchmean = reduction == "batchmean"
        super().__init__(size_average, reduce, "mean" if batchmean else reduction)
        if batchmean and size_average is None and reduce is None:
            self.reduction = reduction
        self.log_target = log_target

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class NLLLoss(_WeightedLoss):
    """See `functional.nll_loss`.

    Examples:
        >>> nn.NLLLoss()(sg.log(sg.tensor([[0.25, 0.75]])), sg.tensor([1]))
        tensor(0.2877)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean",
    ):  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """`NLLLoss` under a former name."""


class CrossEntropyLoss(_WeightedLoss):
    """See `functional.cross_entropy`.

    Examples:
        >>> nn.CrossEntropyLoss()(sg.zeros(2, 4), sg.tensor([0, 3]))
        tensor(1.3863)
    """

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
        reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
    ):  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.cross_entropy(
            input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class BCELoss(_WeightedLoss):
    """See `functional.binary_cross_entropy`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """See `functional.binary_cross_entropy_with_logits`.

    Examples:
        >>> nn.BCEWithLogitsLoss()(sg.tensor([0.0]), sg.tensor([1.0]))
        tensor(0.6931)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
        reduction: str = "mean", pos_weight: Tensor | None = None,
    ):  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class PoissonNLLLoss(_Loss):
    """See `functional.poisson_nll_loss`."""

    def __init__(
        self, log_input: bool = True, full: bool = False, size_average: bool | None = None, eps: float = 1e-8,
        reduce: bool | None = None, reduction: str = "mean",
    ):  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """See `functional.gaussian_nll_loss`."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: TensorLike, target: TensorLike, var: TensorLike) -> AnyTensor:
        return functional.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class SoftMarginLoss(_Loss):
    """See `functional.soft_margin_loss`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """See `functional.hinge_embedding_loss`."""

    def __init__(
        self, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.hinge_embedding_loss(input, target, self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """See `functional.margin_ranking_loss`."""

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: TensorLike, input2: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.margin_ranking_loss(input1, input2, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Loss):
    """See `functional.cosine_embedding_loss`."""

    def __init__(
        self, margin: float = 0.0, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ):
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: TensorLike, input2: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.cosine_embedding_loss(input1, input2, target, self.margin, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """See `functional.multi_margin_loss`."""

    def __init__(
        self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: bool | None = None,
        reduce: bool | None = None, reduction: str = "mean",
    ):  # fmt: skip
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ArgumentError("only p == 1 and p == 2 supported", f"MultiMarginLoss: got p={p}")
        self.p, self.margin = p, margin

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """See `functional.multilabel_margin_loss`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """See `functional.multilabel_soft_margin_loss`."""

    def forward(self, input: TensorLike, target: TensorLike) -> AnyTensor:
        return functional.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """See `functional.triplet_margin_loss`."""

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, size_average: bool | None = None,
        reduce: bool | None = None, reduction: str = "mean",
    ):  # fmt: skip
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ArgumentError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: TensorLike, positive: TensorLike, negative: TensorLike) -> AnyTensor:
        return functional.triplet_margin_loss(
            anchor, positive, negative, self.margin, self.p, self.eps, self.swap, reduction=self.reduction
        )


class TripletMarginWithDistanceLoss(_Loss):
    """See `functional.triplet_margin_with_distance_loss`."""

    def __init__(
        self, *, distance_function: Callable[[AnyTensor, AnyTensor], AnyTensor] | None = None, margin: float = 1.0,
        swap: bool = False, reduction: str = "mean",
    ):  # fmt: skip
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ArgumentError(f"TripletMarginWithDistanceLoss: expected margin to be greater than 0, got {margin} instead")
        self.distance_function = functional.pairwise_distance if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: TensorLike, positive: TensorLike, negative: TensorLike) -> AnyTensor:
        return functional.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class CTCLoss(_Loss):
    """See `functional.ctc_loss`."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False):
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: TensorLike, targets: TensorLike, input_lengths: Any, target_lengths: Any) -> AnyTensor:
        return functional.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )
