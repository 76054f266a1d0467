"""Functions of layers at PyTorch's top level, with the arguments that they have there, and functions that end in "_".

Most are those of `nn.functional`; some take their arguments in another order, or numbers for reductions (0: "none", 1: "mean",
2: "sum"), as PyTorch's do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import functional
from .errors import ArgumentError
from .operators import Array, F, Tensor, TensorLike
from .ops.settings import operand
from .types import ShapeLike

adaptive_avg_pool1d = functional.adaptive_avg_pool1d
adaptive_max_pool1d = functional.adaptive_max_pool1d_with_indices
avg_pool1d = functional.avg_pool1d
bilinear = functional.bilinear
celu, celu_ = functional.celu, functional.celu_
channel_shuffle = functional.channel_shuffle
conv1d, conv2d, conv3d = functional.conv1d, functional.conv2d, functional.conv3d
conv_tbc = functional.conv_tbc
conv_transpose1d, conv_transpose2d = functional.conv_transpose1d, functional.conv_transpose2d
conv_transpose3d = functional.conv_transpose3d
cosine_similarity = functional.cosine_similarity
hardshrink = functional.hardshrink
max_pool1d, max_pool2d, max_pool3d = functional.max_pool1d, functional.max_pool2d, functional.max_pool3d
max_pool1d_with_indices = functional.max_pool1d_with_indices
pairwise_distance = functional.pairwise_distance
pdist = functional.pdist
pixel_shuffle, pixel_unshuffle = functional.pixel_shuffle, functional.pixel_unshuffle
prelu = functional.prelu
rms_norm = functional.rms_norm
rrelu, rrelu_ = functional.rrelu, functional.rrelu_
selu, selu_ = functional.selu, functional.selu_
threshold, threshold_ = functional.threshold, functional.threshold_


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
    return functional.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity
    )


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


def poisson_nll_loss(
    input: TensorLike, target: TensorLike, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
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


# in place ---------------------------------------------------------------------------------------------------------------


def _in_place(name: str) -> Callable[..., Tensor]:
    """The method of a name, as a function."""

    def function(input: Tensor, *args: Any, **named: Any) -> Tensor:
        changed: Tensor = getattr(input, name)(*args, **named)
        return changed

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`input.{name}(...)`."
    return function


abs_ = _in_place("abs_")
acos_ = _in_place("acos_")
acosh_ = _in_place("acosh_")
addmv_ = _in_place("addmv_")
arccos_ = _in_place("arccos_")
arccosh_ = _in_place("arccosh_")
arcsin_ = _in_place("arcsin_")
arcsinh_ = _in_place("arcsinh_")
arctanh_ = _in_place("arctanh_")
asin_ = _in_place("asin_")
asinh_ = _in_place("asinh_")
atanh_ = _in_place("atanh_")
ceil_ = _in_place("ceil_")
clamp_ = _in_place("clamp_")
clamp_max_ = _in_place("clamp_max_")
clamp_min_ = _in_place("clamp_min_")
clip_ = _in_place("clip_")
cos_ = _in_place("cos_")
deg2rad_ = _in_place("deg2rad_")
detach_ = _in_place("detach_")
erf_ = _in_place("erf_")
erfc_ = _in_place("erfc_")
exp_ = _in_place("exp_")
expm1_ = _in_place("expm1_")
fill_ = _in_place("fill_")
fix_ = _in_place("fix_")
floor_ = _in_place("floor_")
frac_ = _in_place("frac_")
gcd_ = _in_place("gcd_")
i0_ = _in_place("i0_")
index_put_ = _in_place("index_put_")
lcm_ = _in_place("lcm_")
ldexp_ = _in_place("ldexp_")
log10_ = _in_place("log10_")
log1p_ = _in_place("log1p_")
log_ = _in_place("log_")
logit_ = _in_place("logit_")
nan_to_num_ = _in_place("nan_to_num_")
neg_ = _in_place("neg_")
negative_ = _in_place("negative_")
rad2deg_ = _in_place("rad2deg_")
reciprocal_ = _in_place("reciprocal_")
relu_ = _in_place("relu_")
round_ = _in_place("round_")
rsqrt_ = _in_place("rsqrt_")
sigmoid_ = _in_place("sigmoid_")
sin_ = _in_place("sin_")
sinc_ = _in_place("sinc_")
sqrt_ = _in_place("sqrt_")
square_ = _in_place("square_")
tan_ = _in_place("tan_")
tanh_ = _in_place("tanh_")
trunc_ = _in_place("trunc_")
xlogy_ = _in_place("xlogy_")
zero_ = _in_place("zero_")

__all__ = [
    "abs_", "acos_", "acosh_", "adaptive_avg_pool1d", "adaptive_max_pool1d", "addmv_", "alpha_dropout", "arccos_",
    "arccosh_", "arcsin_", "arcsinh_", "arctanh_", "asin_", "asinh_", "atanh_", "avg_pool1d", "batch_norm", "bilinear",
    "binary_cross_entropy_with_logits", "ceil_", "celu", "celu_", "channel_shuffle", "clamp_", "clamp_max_", "clamp_min_",
    "clip_", "constant_pad_nd", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cos_", "cosine_embedding_loss", "cosine_similarity", "ctc_loss", "deg2rad_", "detach_",
    "embedding", "erf_", "erfc_", "exp_", "expm1_", "feature_alpha_dropout", "feature_dropout", "fill_", "fix_", "floor_",
    "frac_", "gcd_", "group_norm", "gru_cell", "hardshrink", "hinge_embedding_loss", "i0_", "index_put_", "instance_norm",
    "kl_div", "layer_norm", "lcm_", "ldexp_", "log10_", "log1p_", "log_", "logit_", "lstm_cell", "margin_ranking_loss",
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "nan_to_num_", "neg_", "negative_",
    "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "rad2deg_",
    "reciprocal_", "relu_", "rms_norm", "rnn_relu_cell", "rnn_tanh_cell", "round_", "rrelu", "rrelu_", "rsqrt_", "selu",
    "selu_", "sigmoid_", "sin_", "sinc_", "sqrt_", "square_", "tan_", "tanh_", "threshold", "threshold_",
    "triplet_margin_loss", "trunc_", "xlogy_", "zero_",
]  # fmt: skip
