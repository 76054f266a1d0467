"""Layers: each holds its settings and calls the function of the same meaning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .. import functional
from ..functional.embeddings import padding_entry
from ..devices import check_device
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..normalization import check_eps
from ..operators import Array, F, TensorLike
from ..operators import Tensor as AnyTensor
from ..types import DTypeLike, ShapeLike, as_dtype, get_default_dtype, is_number, normalize_axis, shape_text
from . import init
from .module import Module
from .parameter import Parameter


def made_kind(device: Any, dtype: DTypeLike | None) -> np.dtype:
    """The dtype of a layer's parameters, which are on the CPU. Raises DeviceError, DTypeError."""
    check_device(device)
    return get_default_dtype() if dtype is None else as_dtype(dtype)


def _extent(layer: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
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
        (5, 2)
    """

    weight: Tensor
    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: DTypeLike | None = None
    ):
        super().__init__()
        self.in_features = _extent("Linear", "in_features", in_features)
        self.out_features = _extent("Linear", "out_features", out_features)
        kind = made_kind(device, dtype)
        self.weight = Parameter(np.empty((self.out_features, self.in_features), kind))
        self.register_parameter("bias", Parameter(np.empty(self.out_features, kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Dropout(Module):
    """While training, zero each element with probability p and scale the rest by 1 / (1 - p). Raises ArgumentError."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        super().__init__()
        if not is_number(p) or not 0 <= p <= 1:
            raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, bool(inplace)

    def forward(self, x: AnyTensor) -> AnyTensor:
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class _ChannelDropout(Dropout):
    """While training, zero whole channels with probability p and scale the rest by 1 / (1 - p). Raises ShapeError."""

    axes = 1

    def forward(self, x: AnyTensor) -> AnyTensor:
        n = len(x.shape)
        if n not in (self.axes + 1, self.axes + 2):
            raise ShapeError(f"{type(self).__name__}: expected {self.axes + 1}D or {self.axes + 2}D input, got {n}D")
        if not self.training or self.p == 0:
            return x
        first = x[(..., *[slice(0, 1)] * self.axes)]
        return x * functional.dropout(F.ones_like(first), self.p, True)


class Dropout1d(_ChannelDropout):
    """Whole channels of (n, c, l) or (c, l)."""


class Dropout2d(_ChannelDropout):
    """Whole channels of (n, c, h, w) or (c, h, w)."""

    axes = 2


class Dropout3d(_ChannelDropout):
    """Whole channels of (n, c, d, h, w) or (c, d, h, w)."""

    axes = 3


class Identity(Module):
    """x itself; takes and ignores any arguments, as a stand-in for another layer."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def forward(self, x: AnyTensor) -> AnyTensor:
        return x


class Flatten(Module):
    """Join the axes from `start_dim` to `end_dim`: (N, a, b) -> (N, a * b). Raises ShapeError for unknown extents among
    them."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x: AnyTensor) -> AnyTensor:
        if self.end_dim in (-1, len(x.shape) - 1):
            return functional.flatten(x, self.start_dim) if len(x.shape) > self.start_dim else x
        first, last = (normalize_axis(d, len(x.shape)) for d in (self.start_dim, self.end_dim))
        if first > last:
            raise ArgumentError("flatten() has invalid args: start_dim cannot come after end_dim")
        joined = x.shape[first : last + 1]
        if None in joined:
            raise ShapeError(f"flatten: an extent to join is unknown in {shape_text(x.shape)}")
        rest = [-1 if d is None else d for d in x.shape]
        return F.reshape(x, (*rest[:first], math.prod(joined), *rest[last + 1 :]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Axis `dim` as several, of extents `unflattened_size`, one of which may be -1. Raises ShapeError."""

    def __init__(self, dim: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.dim = dim
        self.unflattened_size = tuple(unflattened_size)

    def forward(self, x: AnyTensor) -> AnyTensor:
        axis = normalize_axis(self.dim, len(x.shape))
        rest = [-1 if d is None else d for d in x.shape]
        return F.reshape(x, (*rest[:axis], *self.unflattened_size, *rest[axis + 1 :]))

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
        kind = made_kind(device, dtype)
        self.weight = Parameter(np.empty((self.out_features, self.in1_features, self.in2_features), kind))
        self.register_parameter("bias", Parameter(np.empty(self.out_features, kind)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw first values again."""
        bound = 1 / math.sqrt(self.in1_features) if self.in1_features else 0.0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def forward(self, x1: TensorLike, x2: TensorLike) -> AnyTensor:
        y = F.einsum("...i,kij,...j->...k", x1, self.weight, x2)
        return y if self.bias is None else y + self.bias

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LayerNorm(Module):
    """`functional.layer_norm` over the last axes, with weight (ones) and bias (zeros) of `normalized_shape`."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, normalized_shape: ShapeLike, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.normalized_shape = _extents("LayerNorm", "normalized_shape", normalized_shape)
        self.eps = float(check_eps("LayerNorm", eps))
        kind = made_kind(device, dtype)
        ones, zeros = np.ones(self.normalized_shape, kind), np.zeros(self.normalized_shape, kind)
        self.register_parameter("weight", Parameter(ones) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros) if elementwise_affine and bias else None)

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim) by index; they start standard normal, as in PyTorch.

    padding_idx: the row that starts as zeros and gets no gradient, counted from the end if negative. sparse is accepted:
    compiled steps never make the whole gradient where an optimizer can take its rows. Raises ArgumentError, for max_norm and
    scale_grad_by_freq, too, which are not supported.

    Examples:
        >>> table = nn.Embedding(10, 4)
        >>> table(sg.tensor([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    weight: Tensor

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Array | None = None,
        _freeze: bool = False, device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        if max_norm is not None or scale_grad_by_freq:
            name = "scale_grad_by_freq" if scale_grad_by_freq else "max_norm"
            raise ArgumentError(f"Embedding: {name} is not supported", "scale the weight, or its gradient, in the step")
        self.num_embeddings = _extent("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = _extent("Embedding", "embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else padding_entry(padding_idx, self.num_embeddings)
        self.sparse = bool(sparse)
        kind = made_kind(device, dtype)
        if _weight is None:
            self.weight = Parameter(np.empty((self.num_embeddings, self.embedding_dim), kind), not _freeze)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (self.num_embeddings, self.embedding_dim):
                raise ArgumentError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight, not _freeze)

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
        if len(embeddings.shape) != 2:
            raise ShapeError("Embeddings parameter is expected to be 2-dimensional", f"got {shape_text(embeddings.shape)}")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)

    def forward(self, index: TensorLike) -> AnyTensor:
        return functional.embedding(index, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}" + (", sparse=True" if self.sparse else "")


class EmbeddingBag(Module):
    """`functional.embedding_bag` with a weight (num_embeddings, embedding_dim) that starts standard normal."""

    weight: Tensor

    def __init__(
        self, num_embeddings: int, embedding_dim: int, mode: str = "mean", device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.num_embeddings = _extent("EmbeddingBag", "num_embeddings", num_embeddings)
        self.embedding_dim = _extent("EmbeddingBag", "embedding_dim", embedding_dim)
        if mode not in ("sum", "mean", "max"):
            raise ArgumentError(f"EmbeddingBag: mode has to be one of sum, mean or max, got {mode!r}")
        self.mode = mode
        kind = made_kind(device, dtype)
        self.weight = Parameter(np.empty((self.num_embeddings, self.embedding_dim), kind))
        init.normal_(self.weight)

    def forward(
        self, index: TensorLike, offsets: TensorLike | None = None, per_sample_weights: TensorLike | None = None
    ) -> AnyTensor:
        return functional.embedding_bag(index, self.weight, offsets, self.mode, per_sample_weights)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"
