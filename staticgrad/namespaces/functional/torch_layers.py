"""Functions of layers at PyTorch's top level, with the arguments that they have there.

Most are those of `nn.functional`; some take their arguments in another order, or numbers for reductions (0: "none", 1: "mean",
2: "sum"), as PyTorch's do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.types import ShapeLike
from ...errors import ArgumentError
from ...ops.operands import operand
from ...ops.operators import Array, F, Tensor, TensorLike
from .. import functional

adaptive_max_pool1d = functional.adaptive_max_pool1d_with_indices


def _renewing(name: str) -> Any:
    """The function that changes its input to what another one gives."""

    def function(input: Tensor, p: float, train: bool) -> Tensor:
        return input.copy_((globals().get(name) or getattr(functional, name))(input, p, train))

    function.__name__ = function.__qualname__ = f"{name}_"
    function.__doc__ = f"`{name}(input, p, train)` in the memory of `input`."
    return function


alpha_dropout_, dropout_ = _renewing("alpha_dropout"), _renewing("dropout")
feature_alpha_dropout_, feature_dropout_ = _renewing("feature_alpha_dropout"), _renewing("feature_dropout")

INTERPOLATION, PADDING = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def grid_sampler(
    input: TensorLike, grid: TensorLike, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """As `nn.functional.grid_sample`, with numbers for the modes."""
    return functional.grid_sample(input, grid, INTERPOLATION[interpolation_mode], PADDING[padding_mode], align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def affine_grid_generator(theta: TensorLike, size: Sequence[int], align_corners: bool) -> Tensor:
    """As `nn.functional.affine_grid`."""
    return functional.affine_grid(theta, size, align_corners)


# normalization, embeddings ----------------------------------------------------------------------------------------------


def batch_norm(
    input: TensorLike, weight: TensorLike | None, bias: TensorLike | None, running_mean: Array | None,
    running_var: Array | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Tensor:  # fmt: skip
    """As `nn.functional.batch_norm`, with weight and bias before the running statistics."""
    return functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: TensorLike, weight: TensorLike | None, bias: TensorLike | None, running_mean: Array | None,
    running_var: Array | None, use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = False,
) -> Tensor:  # fmt: skip
    """As `nn.functional.instance_norm`, with weight and bias before the running statistics."""
    return functional.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(
    input: TensorLike, normalized_shape: ShapeLike, weight: TensorLike | None = None, bias: TensorLike | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """As `nn.functional.layer_norm`."""
    return functional.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: TensorLike, num_groups: int, weight: TensorLike | None = None, bias: TensorLike | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """As `nn.functional.group_norm`."""
    return functional.group_norm(input, num_groups, weight, bias, eps)


def embedding(
    weight: TensorLike, indices: TensorLike, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """As `nn.functional.embedding`, with the table first; a negative padding_idx is none."""
    entry = None if padding_idx < 0 else padding_idx
    return functional.embedding(indices, weight, entry, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def alpha_dropout(input: TensorLike, p: float, train: bool) -> Tensor:
    """As `nn.functional.alpha_dropout`."""
    return functional.alpha_dropout(input, p, train)


def feature_alpha_dropout(input: TensorLike, p: float, train: bool) -> Tensor:
    """As `nn.functional.feature_alpha_dropout`."""
    return functional.feature_alpha_dropout(input, p, train)


def feature_dropout(input: TensorLike, p: float, train: bool) -> Tensor:
    """As `nn.functional.dropout2d`."""
    return functional.dropout2d(input, p, train)


def constant_pad_nd(input: TensorLike, pad: Sequence[int], value: float = 0) -> Tensor:
    """As `nn.functional.pad` with mode="constant"."""
    return functional.pad(input, pad, "constant", value)


# losses -----------------------------------------------------------------------------------------------------------------

REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: Any) -> str:
    """The word for a reduction. Raises ArgumentError."""
    if isinstance(number, str) and number in REDUCTIONS:
        return number
    if isinstance(number, int) and 0 <= number < len(REDUCTIONS):
        return REDUCTIONS[number]
    raise ArgumentError(f"reduction is 0 (none), 1 (mean) or 2 (sum) here, got {number!r}")


def binary_cross_entropy_with_logits(
    input: TensorLike, target: TensorLike, weight: TensorLike | None = None, pos_weight: TensorLike | None = None,
    reduction: int = 1,
) -> Tensor:  # fmt: skip
    """As `nn.functional.binary_cross_entropy_with_logits`."""
    return functional.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight, reduction=_reduction(reduction)
    )


def cosine_embedding_loss(
    input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """As `nn.functional.cosine_embedding_loss`."""
    return functional.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def ctc_loss(
    log_probs: TensorLike, targets: TensorLike, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """As `nn.functional.ctc_loss`."""
    return functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def hinge_embedding_loss(input: TensorLike, target: TensorLike, margin: float = 1.0, reduction: int = 1) -> Tensor:
    """As `nn.functional.hinge_embedding_loss`."""
    return functional.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def kl_div(input: TensorLike, target: TensorLike, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """As `nn.functional.kl_div`."""
    return functional.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def margin_ranking_loss(
    input1: TensorLike, input2: TensorLike, target: TensorLike, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """As `nn.functional.margin_ranking_loss`."""
    return functional.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def poisson_nll_loss(input: TensorLike, target: TensorLike, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """As `nn.functional.poisson_nll_loss`."""
    return functional.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: TensorLike, positive: TensorLike, negative: TensorLike, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 1,
) -> Tensor:  # fmt: skip
    """As `nn.functional.triplet_margin_loss`."""
    return functional.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


# recurrent cells --------------------------------------------------------------------------------------------------------


def _projected(
    input: TensorLike, hx: TensorLike, w_ih: TensorLike, w_hh: TensorLike, b_ih: TensorLike | None, b_hh: TensorLike | None
) -> tuple[Any, Any]:
    return functional.linear(input, w_ih, b_ih), functional.linear(hx, w_hh, b_hh)


def rnn_tanh_cell(
    input: TensorLike, hx: TensorLike, w_ih: TensorLike, w_hh: TensorLike, b_ih: TensorLike | None = None,
    b_hh: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """tanh(w_ih x + b_ih + w_hh h + b_hh). Shapes: input (n, inputs), hx (n, hidden), w_ih (hidden, inputs)."""
    a, b = _projected(input, hx, w_ih, w_hh, b_ih, b_hh)
    return F.tanh(a + b)


def rnn_relu_cell(
    input: TensorLike, hx: TensorLike, w_ih: TensorLike, w_hh: TensorLike, b_ih: TensorLike | None = None,
    b_hh: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """relu(w_ih x + b_ih + w_hh h + b_hh). Shapes: as of `rnn_tanh_cell`."""
    a, b = _projected(input, hx, w_ih, w_hh, b_ih, b_hh)
    return F.relu(a + b)


def lstm_cell(
    input: TensorLike, hx: Sequence[TensorLike], w_ih: TensorLike, w_hh: TensorLike, b_ih: TensorLike | None = None,
    b_hh: TensorLike | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The next (h, c) of an LSTM. Shapes: input (n, inputs), hx two of (n, hidden), w_ih (4 * hidden, inputs)."""
    h, c = map(operand, hx)
    a, b = _projected(input, h, w_ih, w_hh, b_ih, b_hh)
    i, f, g, o = F.chunk(a + b, 4, -1)
    c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
    return F.sigmoid(o) * F.tanh(c), c


def gru_cell(
    input: TensorLike, hx: TensorLike, w_ih: TensorLike, w_hh: TensorLike, b_ih: TensorLike | None = None,
    b_hh: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The next state of a GRU. Shapes: input (n, inputs), hx (n, hidden), w_ih (3 * hidden, inputs)."""
    h = operand(hx)
    a, b = _projected(input, h, w_ih, w_hh, b_ih, b_hh)
    (r1, z1, n1), (r2, z2, n2) = F.chunk(a, 3, -1), F.chunk(b, 3, -1)
    r, z = F.sigmoid(r1 + r2), F.sigmoid(z1 + z2)
    n = F.tanh(n1 + r * n2)
    return n + z * (h - n)


__all__ = [
    "adaptive_max_pool1d", "affine_grid_generator", "alpha_dropout", "alpha_dropout_", "batch_norm",
    "binary_cross_entropy_with_logits", "constant_pad_nd", "cosine_embedding_loss", "ctc_loss", "dropout_", "embedding",
    "feature_alpha_dropout", "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "grid_sampler",
    "grid_sampler_2d", "grid_sampler_3d", "group_norm", "gru_cell", "hinge_embedding_loss", "instance_norm", "kl_div",
    "layer_norm", "lstm_cell", "margin_ranking_loss", "poisson_nll_loss", "rnn_relu_cell", "rnn_tanh_cell",
    "triplet_margin_loss",
]  # fmt: skip
