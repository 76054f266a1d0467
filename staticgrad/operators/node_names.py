"""PyTorch's names of derivatives, for functions that are made of several operations or share the record of another one.

In eager mode a call of such a function is one node of the tape to users, as it is in PyTorch: `loss.grad_fn` is
`MseLossBackward0`, and its `next_functions` are those of the call's operands. Functions that are not here are made of several
nodes in PyTorch, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..ir import node_name


class NodeName(NamedTuple):
    """name: the node's, or a function of the call's arguments and its result, "" for none; order: the places of the operands as
    PyTorch has them among the arguments, and then what else the call reads; kept: an op inside of the call that is a node of
    its own, and the name of that node."""

    name: str | Callable[[tuple[Any, ...], Mapping[str, Any], Any], str]
    order: tuple[int, ...] = ()
    kept: tuple[str, str] = ("", "")


OWN = """
    rsqrt reciprocal trunc frac logit sinc deg2rad rad2deg angle logaddexp logaddexp2 xlogy fmax fmin ldexp polar
    elu celu gelu silu mish softplus hardtanh hardsigmoid hardswish hardshrink softshrink leaky_relu glu threshold
    amax amin aminmax frexp var std var_mean std_mean nansum mode kthvalue bmm mv dot addmm addmv addr addbmm baddbmm
    t repeat stack unbind index_select masked_fill triu tril trace flip roll rot90 sort topk masked_select
    scatter scatter_reduce lerp addcmul addcdiv cdist pdist pixel_shuffle pixel_unshuffle channel_shuffle embedding
    embedding_bag nan_to_num mvlgamma renorm cummax cummin diagonal diag_embed select_scatter slice_scatter diagonal_scatter
    index_copy index_fill put dist block_diag mse_loss smooth_l1_loss huber_loss nll_loss binary_cross_entropy
    binary_cross_entropy_with_logits multi_margin_loss multilabel_margin_loss soft_margin_loss ctc_loss select
    avg_pool3d adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d max_unpool2d max_unpool3d conv_tbc
"""
"""Functions whose derivative has the function's name."""

OTHERS = {
    "relu6": "Hardtanh", "selu": "Elu", "logsigmoid": "LogSigmoid", "swapaxes": "Transpose", "swapdims": "Transpose",
    "tile": "Repeat", "vector_norm": "LinalgVectorNorm", "norm": "LinalgVectorNorm", "cross": "LinalgCross",
    "inverse": "LinalgInvEx", "inv": "LinalgInvEx", "cholesky": "LinalgCholeskyEx", "solve": "LinalgSolveEx",
    "svdvals": "LinalgSvd", "svd": "LinalgSvd", "eigh": "LinalgEigh", "eigvalsh": "LinalgEigh", "qr": "LinalgQr",
    "slogdet": "LinalgSlogdet", "lu_factor": "LinalgLuFactorEx",
    "prelu": "PreluKernel", "layer_norm": "NativeLayerNorm", "group_norm": "NativeGroupNorm",
    "batch_norm": "NativeBatchNorm", "chunk": "Split", "dropout": "Mul", "grid_sample": "GridSampler2D", "fold": "Col2Im",
    "scaled_dot_product_attention": "ScaledDotProductFlashAttentionForCpu", "zero": "Zero", "lstsq": "LinalgLstsq",
    "unsafe_chunk": "UnsafeSplit", "unsafe_split": "UnsafeSplit",
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), "Convolution"),
    "linear_cross_entropy": "NllLoss", "affine_grid": "AffineGridGenerator",
    "max_pool2d": "MaxPool2DWithIndices", "max_pool3d": "MaxPool3DWithIndices",
}  # fmt: skip
"""Functions whose derivative has another name."""


def _axes(x: Any) -> int:
    return len(getattr(x, "shape", ()))


Arguments = tuple[Any, ...]
Named = Mapping[str, Any]


def _linear(args: Arguments, named: Named, out: Any) -> str:
    biased = (args[2] if len(args) > 2 else named.get("bias")) is not None
    if _axes(out) == 2:
        return "AddmmBackward0" if biased else "MmBackward0"
    return "ViewBackward0" if biased else "UnsafeViewBackward0"


def _extreme(whole: str, pair: str) -> Callable[[Arguments, Named, Any], str]:
    """Of `max` and `min`: of all elements, along an axis, or of two tensors."""

    def name(args: Arguments, named: Named, out: Any) -> str:
        if isinstance(out, tuple):
            return f"{pair}Backward0"
        return "" if len(args) + len(named) == 1 else f"{whole}Backward0"

    return name


def _median(name: str) -> Callable[[Arguments, Named, Any], str]:
    """Of `median` and `nanmedian`: of all elements, or along an axis."""
    return lambda args, named, out: f"{name}Backward{int(isinstance(out, tuple))}"


def _padding(args: Arguments, named: Named, out: Any) -> str:
    mode = args[2] if len(args) > 2 else named.get("mode", "constant")
    widths = args[1] if len(args) > 1 else named["pad"]
    kind = {"reflect": "ReflectionPad", "replicate": "ReplicationPad"}.get(mode)
    return "ConstantPadNdBackward0" if mode == "constant" else f"{kind}{len(widths) // 2}DBackward0" if kind else ""


def _cross_entropy(args: Arguments, named: Named, out: Any) -> str:
    return "NllLoss2DBackward0" if args and _axes(args[0]) > 2 else "NllLossBackward0"


def _unfold(args: Arguments, named: Named, out: Any) -> str:
    return "UnfoldBackward0" if "step" in named or len(args) == 4 else "Im2ColBackward0"


def _adaptive(args: Arguments, named: Named, out: Any) -> str:
    return "MeanBackward1" if out.shape[-2:] == (1, 1) else "AdaptiveAvgPool2DBackward0"


def _interpolate(args: Arguments, named: Named, out: Any) -> str:
    mode, axes = args[3] if len(args) > 3 else named.get("mode", "nearest"), _axes(out) - 2
    if mode == "area":
        return _adaptive(args, named, out) if axes == 2 else f"AdaptiveAvgPool{axes}DBackward0"
    kind = {"nearest-exact": "NearestExact"}.get(mode, mode.capitalize())
    return f"Upsample{kind}{axes}DBackward0"


def _split(args: Arguments, named: Named, out: Any) -> str:
    sizes = args[1] if len(args) > 1 else named.get("split_size_or_sections")
    return "SplitWithSizesBackward0" if isinstance(sizes, (list, tuple)) else "SplitBackward0"


def _squeeze(args: Arguments, named: Named, out: Any) -> str:
    return "SqueezeBackward1" if len(args) + len(named) > 1 else "SqueezeBackward0"


NAMES: dict[str, NodeName] = {
    **{name: NodeName(node_name(name)) for name in OWN.split()},
    **{name: NodeName(node + "Backward0") for name, node in OTHERS.items()},
    "linear": NodeName(_linear, (1, 0, 2), ("permute", "TBackward0")),
    "max": NodeName(_extreme("Maximum", "Max")),
    "min": NodeName(_extreme("Minimum", "Min")),
    "median": NodeName(_median("Median")),
    "nanmedian": NodeName(_median("Nanmedian")),
    "pad": NodeName(_padding),
    "cross_entropy": NodeName(_cross_entropy),
    "unfold": NodeName(_unfold),
    "adaptive_avg_pool2d": NodeName(_adaptive),
    "adaptive_avg_pool1d": NodeName("SqueezeBackward1"),
    "interpolate": NodeName(_interpolate),
    "pairwise_distance": NodeName("NormBackward1"),
    "squeeze": NodeName(_squeeze),
    "split": NodeName(_split),
}
"""By the function's name."""


PARTED = frozenset({"SplitBackward0", "SplitWithSizesBackward0", "UnbindBackward0"})
"""Nodes of functions that return several views, which may not be changed in place while that is recorded."""

_RULES = """
    Tanh Sigmoid Elu Gelu Glu Softplus Hardtanh Hardswish Hardshrink Softshrink LeakyRelu LogSigmoid PreluKernel MseLoss
    SmoothL1Loss HuberLoss NllLoss NllLoss2D BinaryCrossEntropy SoftMarginLoss NativeLayerNorm NativeBatchNorm Convolution
    MaxPool2DWithIndices MaxPool3DWithIndices AvgPool2D AvgPool3D AdaptiveAvgPool2D AdaptiveAvgPool3D Cdist Pdist
    GridSampler2D ReflectionPad1D ReflectionPad2D ReflectionPad3D ReplicationPad1D ReplicationPad2D ReplicationPad3D Select
    Slice Diagonal Unfold
"""
DERIVATIVES = {
    **{f"{name}Backward0": f"{name}BackwardBackward0" for name in _RULES.split()},
    "ReluBackward0": "ThresholdBackwardBackward0",
    "ThresholdBackward0": "ThresholdBackwardBackward0",
    "CeluBackward0": "EluBackwardBackward0",
    "SoftmaxBackward0": "SoftmaxBackwardDataBackward0",
    "LogSoftmaxBackward0": "LogSoftmaxBackwardDataBackward0",
    "EmbeddingBackward0": "EmbeddingDenseBackwardBackward0",
}
"""Nodes whose derivative is one operation in PyTorch, and the name of the node of that operation."""


def node_of(function: str) -> NodeName | None:
    """The node of calls of the function that has this name in the code."""
    return NAMES.get(function.removeprefix("_linalg_").rstrip("_"))
