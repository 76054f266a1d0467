"""Layers: each holds its settings and calls the function of the same meaning. Those that move elements come last."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from ..base.types import DTypeLike, ShapeLike, is_number, normalize_axis, shape_text
from ..eager import Tensor
from ..errors import ArgumentError, ArgumentTypeError, ShapeError
from ..namespaces import functional
from ..namespaces.functional.embeddings import padding_entry
from ..namespaces.functional.normalization import check_eps, check_probability
from ..namespaces.functional.resampling import check_interpolation
from ..ops.operators import Array, F, TensorLike
from ..ops.operators import Tensor as AnyTensor
from . import init
from .module import Module
from .parameter import Parameter, room_on

__all__ = [
    "AlphaDropout", "Bilinear", "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d",
    "ConstantPad2d", "ConstantPad3d", "CosineSimilarity", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding",
    "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Identity", "LayerNorm", "Linear", "PairwiseDistance",
    "PixelShuffle", "PixelUnshuffle", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "Unflatten", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


def _extent(layer: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{layer}: {name} must be an integer >= 0, got {value!r}")
    if value < 0:
        raise ArgumentError(f"{layer}: {name} must be an integer >= 0, got {value!r}")
    return int(value)


def _extents(layer: str, name: str, value: Any) -> tuple[int, ...]:
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(_extent(layer, name, d) for d in values)


class Linear(Module):
    """x @ weight.T + bias. Shapes: weight (out_features, in_features), bias (out_features,); x (..., in_features).

    Both start uniform in (-1/sqrt(in_features), 1/sqrt(in_features)), weight first: PyTorch's default, which is
    kaiming_uniform_ with a = sqrt(5). dtype: floating, the default float unless given. Raises ArgumentError and
    DTypeError.

    Examples:
        >>> layer = nn.Linear(3, 2)
        >>> layer(sg.ones((5, 3))).shape
        torch.Size([5, 2])
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: DTypeLike | None = None
    ):
        super().__init__()
        self.in_features = _extent("Linear", "in_features", in_features)
        self.out_features = _extent("Linear", "out_features", out_features)
        room = room_on(device, dtype)
        self.weight = Parameter(room((self.out_features, self.in_features)))
        self.register_parameter("bias", Parameter(room(self.out_features)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """The name under which PyTorch's attention has its last layer."""


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        self.p, self.inplace = check_probability(p), bool(inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """While training, zero each element with probability p and scale the rest by 1 / (1 - p). Raises ArgumentError.

    Examples:
        >>> nn.Dropout(0.5).eval()(sg.ones(2))
        tensor([1., 1.])
    """

    def forward(self, input: AnyTensor) -> AnyTensor:
        return functional.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """`functional.dropout1d` while training: whole channels of (n, c, l) or (c, l)."""

    def forward(self, input: AnyTensor) -> AnyTensor:
        return functional.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """`functional.dropout2d` while training: whole channels of (n, c, h, w)."""

    def forward(self, input: AnyTensor) -> AnyTensor:
        return functional.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """`functional.dropout3d` while training: whole channels of (n, c, d, h, w) or (c, d, h, w)."""

    def forward(self, input: AnyTensor) -> AnyTensor:
        return functional.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """`functional.alpha_dropout` while training."""

    def forward(self, input: AnyTensor) -> AnyTensor:
        return functional.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """`functional.feature_alpha_dropout` while training."""

    def forward(self, input: AnyTensor) -> AnyTensor:
        return functional.feature_alpha_dropout(input, self.p, self.training, self.inplace)


class Identity(Module):
    """x itself; takes and ignores any arguments, as a stand-in for another layer.

    Examples:
        >>> nn.Identity()(sg.ones(2))
        tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, input: AnyTensor) -> AnyTensor:
        return input


class Flatten(Module):
    """Join the axes from `start_dim` to `end_dim`: (N, a, b) -> (N, a * b). Raises ShapeError for unknown extents among
    them.

    Examples:
        >>> nn.Flatten()(sg.zeros(2, 3, 4)).shape
        torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: AnyTensor) -> AnyTensor:
        if self.end_dim in (-1, len(input.shape) - 1):
            return functional.flatten(input, self.start_dim) if len(input.shape) > self.start_dim else input
        first, last = (normalize_axis(d, len(input.shape)) for d in (self.start_dim, self.end_dim))
        if first > last:
            raise ArgumentError("flatten() has invalid args: start_dim cannot come after end_dim")
        joined = input.shape[first : last + 1]
        if None in joined:
            raise ShapeError(f"flatten: an extent to join is unknown in {shape_text(input.shape)}")
        rest = [-1 if d is None else d for d in input.shape]
        return F.reshape(input, (*rest[:first], math.prod(joined), *rest[last + 1 :]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Axis `dim` as several, of extents `unflattened_size`, one of which may be -1. Raises ShapeError."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, input: AnyTensor) -> AnyTensor:
        axis = normalize_axis(self.dim, len(input.shape))
        rest = [-1 if d is None else d for d in input.shape]
        return F.reshape(input, (*rest[:axis], *self.unflattened_size, *rest[axis + 1 :]))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Bilinear(Module):
    """y_k = x1' A_k x2 + b_k. Shapes: weight A (out_features, in1_features, in2_features); x1, x2 (..., in1), (..., in2).

    Both start uniform in (-1/sqrt(in1_features), 1/sqrt(in1_features)). Raises ArgumentError.
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.in1_features = _extent("Bilinear", "in1_features", in1_features)
        self.in2_features = _extent("Bilinear", "in2_features", in2_features)
        self.out_features = _extent("Bilinear", "out_features", out_features)
        room = room_on(device, dtype)
        self.weight = Parameter(room((self.out_features, self.in1_features, self.in2_features)))
        self.register_parameter("bias", Parameter(room(self.out_features)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        bound = 1 / math.sqrt(self.in1_features) if self.in1_features else 0.0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, input1: TensorLike, input2: TensorLike) -> AnyTensor:
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LayerNorm(Module):
    """`functional.layer_norm` over the last axes, with weight (ones) and bias (zeros) of `normalized_shape`.

    Examples:
        >>> nn.LayerNorm(4)(sg.randn(2, 4)).shape
        torch.Size([2, 4])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, normalized_shape: ShapeLike, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.normalized_shape = _extents("LayerNorm", "normalized_shape", normalized_shape)
        self.eps = float(check_eps("LayerNorm", eps))
        room = room_on(device, dtype)
        self.register_parameter("weight", Parameter(room(self.normalized_shape, 1)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(room(self.normalized_shape, 0)) if elementwise_affine and bias else None)

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}, "
            f"bias={self.bias is not None}"
        )


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim) by index; they start standard normal, as in PyTorch.

    padding_idx: the row that starts as zeros and gets no gradient, counted from the end if negative. max_norm, norm_type,
    scale_grad_by_freq, sparse: as for `functional.embedding`. Raises ArgumentError.

    Examples:
        >>> table = nn.Embedding(10, 4)
        >>> table(sg.tensor([[1, 2, 3]])).shape
        torch.Size([1, 3, 4])
    """

    weight: Tensor

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Array | None = None,
        _freeze: bool = False, device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.num_embeddings = _extent("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = _extent("Embedding", "embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else padding_entry(padding_idx, self.num_embeddings)
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = bool(scale_grad_by_freq), bool(sparse)
        self.weight = _table(self.num_embeddings, self.embedding_dim, _weight, not _freeze, room_on(device, dtype))
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    @classmethod
    def from_pretrained(
        cls, embeddings: Array, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Self:  # fmt: skip
        """With the rows of a matrix, which are not trained unless `freeze` is False. Raises ShapeError for no matrix."""
        rows, columns = _matrix(embeddings)
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        text += "" if self.max_norm is None else f", max_norm={self.max_norm}"
        text += "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return text + (", sparse=True" if self.sparse else "")


def _table(rows: int, columns: int, given: Any, trained: bool, room: Callable[..., Any]) -> Any:
    """The weight of an embedding, to be filled where none is given. Raises ArgumentError for another shape."""
    if given is None:
        return Parameter(room((rows, columns)), trained)
    if tuple(given.shape) != (rows, columns):
        raise ArgumentError("Shape of weight does not match num_embeddings and embedding_dim")
    return Parameter(given, trained)


def _matrix(embeddings: Any) -> tuple[int, int]:
    if len(embeddings.shape) != 2:
        raise ShapeError("Embeddings parameter is expected to be 2-dimensional", f"got {shape_text(embeddings.shape)}")
    rows, columns = embeddings.shape
    return int(rows), int(columns)


class EmbeddingBag(Module):
    """`functional.embedding_bag` with a weight (num_embeddings, embedding_dim) that starts standard normal.

    padding_idx: the row that starts as zeros and counts in no bag. Raises ArgumentError.

    Examples:
        >>> nn.EmbeddingBag(10, 4)(sg.tensor([[1, 2], [3, 4]])).shape
        torch.Size([2, 4])
    """

    weight: Tensor

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Array | None = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.num_embeddings = _extent("EmbeddingBag", "num_embeddings", num_embeddings)
        self.embedding_dim = _extent("EmbeddingBag", "embedding_dim", embedding_dim)
        if mode not in ("sum", "mean", "max"):
            raise ArgumentError(f"EmbeddingBag: mode has to be one of sum, mean or max, got {mode!r}")
        self.mode, self.max_norm, self.norm_type = mode, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = bool(scale_grad_by_freq), bool(sparse)
        self.include_last_offset = bool(include_last_offset)
        self.padding_idx = None if padding_idx is None else padding_entry(padding_idx, self.num_embeddings)
        self.weight = _table(self.num_embeddings, self.embedding_dim, _weight, True, room_on(device, dtype))
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    @classmethod
    def from_pretrained(
        cls, embeddings: Array, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:  # fmt: skip
        """With the rows of a matrix, which are not trained unless `freeze` is False. Raises ShapeError for no matrix."""
        rows, columns = _matrix(embeddings)
        made = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset, padding_idx
        )
        made.weight.requires_grad_(not freeze)
        return made

    def forward(
        self, input: TensorLike, offsets: TensorLike | None = None, per_sample_weights: TensorLike | None = None
    ) -> AnyTensor:
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += "" if self.max_norm is None else f", max_norm={self.max_norm}"
        text += "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        text += f", mode={self.mode!r}"
        return text + ("" if self.padding_idx is None else f", padding_idx={self.padding_idx}")


# layers that move elements --------------------------------------------------------------------------------------------


class _Padding(Module):
    """`padding` elements at the ends of the last axes: one number for all, or (before, after) of each, the last axis first."""

    axes = 1
    mode = "constant"
    value: float | None = None

    def __init__(self, padding: Any):
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self.axes)
        if len(self.padding) != 2 * self.axes:
            raise ArgumentError(f"{type(self).__name__}: padding is one number or {2 * self.axes}, got {padding!r}")

    def forward(self, input: Any) -> Any:
        n = len(input.shape)
        if self.mode == "circular" and n not in (self.axes + 1, self.axes + 2):  # PyTorch pads any number of axes otherwise
            raise ShapeError(f"expected {self.axes + 1}D or {self.axes + 2}D input (got {n}D input)")
        return functional.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadding(_Padding):
    """`value` beyond the ends."""

    value: float

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


def _padding(name: str, axes: int, mode: str, base: type[_Padding] = _Padding, **members: Any) -> type[_Padding]:
    doc = f"`functional.pad` of the last {axes} axes, mode {mode!r}."
    return type(name, (base,), {"axes": axes, "mode": mode, "__doc__": doc, "__module__": __name__, **members})


def _zero_padding(base: type[Any]) -> type[Any]:
    def __init__(self: Any, padding: Any) -> None:
        base.__init__(self, padding, 0.0)

    members = {"__doc__": f"`{base.__name__}` with value 0.", "__module__": __name__, "__init__": __init__}
    return type(base.__name__.replace("Constant", "Zero"), (base,), {**members, "extra_repr": _Padding.extra_repr})


ConstantPad1d = _padding("ConstantPad1d", 1, "constant", _ConstantPadding)
ConstantPad2d = _padding("ConstantPad2d", 2, "constant", _ConstantPadding)
ConstantPad3d = _padding("ConstantPad3d", 3, "constant", _ConstantPadding)
ZeroPad1d = _zero_padding(ConstantPad1d)
ZeroPad2d = _zero_padding(ConstantPad2d)
ZeroPad3d = _zero_padding(ConstantPad3d)
ReflectionPad1d = _padding("ReflectionPad1d", 1, "reflect")
ReflectionPad2d = _padding("ReflectionPad2d", 2, "reflect")
ReflectionPad3d = _padding("ReflectionPad3d", 3, "reflect")
ReplicationPad1d = _padding("ReplicationPad1d", 1, "replicate")
ReplicationPad2d = _padding("ReplicationPad2d", 2, "replicate")
ReplicationPad3d = _padding("ReplicationPad3d", 3, "replicate")
CircularPad1d = _padding("CircularPad1d", 1, "circular")
CircularPad2d = _padding("CircularPad2d", 2, "circular")
CircularPad3d = _padding("CircularPad3d", 3, "circular")


class PixelShuffle(Module):
    """`functional.pixel_shuffle`."""

    def __init__(self, upscale_factor: int):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Any) -> AnyTensor:
        return functional.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """`functional.pixel_unshuffle`."""

    def __init__(self, downscale_factor: int):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Any) -> AnyTensor:
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """`functional.channel_shuffle`."""

    def __init__(self, groups: int):
        super().__init__()
        self.groups = _extent("ChannelShuffle", "groups", groups)

    def forward(self, input: Any) -> AnyTensor:
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"


class Upsample(Module):
    """`functional.interpolate`. Raises ArgumentError for settings that don't go together."""

    def __init__(
        self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ):  # fmt: skip
        super().__init__()
        check_interpolation(mode, align_corners)
        if (size is None) == (scale_factor is None):
            raise ArgumentError("either size or scale_factor should be defined, and not both")
        self.size = tuple(size) if isinstance(size, list) else size
        self.scale_factor = tuple(map(float, scale_factor)) if isinstance(scale_factor, (tuple, list)) else scale_factor
        if is_number(scale_factor):
            self.scale_factor = float(scale_factor)
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input: Any) -> AnyTensor:
        return functional.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        given = f"scale_factor={self.scale_factor!r}" if self.scale_factor is not None else f"size={self.size!r}"
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample of (n, c, h, w), mode "nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor)


class UpsamplingBilinear2d(Upsample):
    """Upsample of (n, c, h, w), mode "bilinear", with aligned corners."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)


class CosineSimilarity(Module):
    """`functional.cosine_similarity`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> AnyTensor:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """`functional.pairwise_distance`."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False):
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> AnyTensor:
        return functional.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
