"""Layers: each holds its settings and calls the function of the same meaning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import functional
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..normalization import check_eps
from ..operators import F, TensorLike
from ..operators import Tensor as AnyTensor
from ..types import DTypeLike, ShapeLike, as_dtype, get_default_dtype, is_number, normalize_axis, shape_text
from . import init
from .module import Module
from .parameter import Parameter


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

    def __init__(self, in_features: int, out_features: int, bias: bool = True, dtype: DTypeLike | None = None):
        super().__init__()
        self.in_features = _extent("Linear", "in_features", in_features)
        self.out_features = _extent("Linear", "out_features", out_features)
        kind = get_default_dtype() if dtype is None else as_dtype(dtype)
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


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.relu(x)


class Tanh(Module):
    """Hyperbolic tangent."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.tanh(x)


class Sigmoid(Module):
    """1 / (1 + exp(-x))."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.sigmoid(x)


class Softmax(Module):
    """exp(x) / sum(exp(x)) over the axis `dim`."""

    def __init__(self, dim: int = -1):
        super().__init__()
        self.dim = dim

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.softmax(x, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Dropout(Module):
    """While training, zero each element with probability p and scale the rest by 1 / (1 - p). Raises ArgumentError."""

    def __init__(self, p: float = 0.5):
        super().__init__()
        if not is_number(p) or not 0 <= p <= 1:
            raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p

    def forward(self, x: AnyTensor) -> AnyTensor:
        return functional.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


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


class LayerNorm(Module):
    """`functional.layer_norm` over the last axes, with weight (ones) and bias (zeros) of `normalized_shape`."""

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, normalized_shape: ShapeLike, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.normalized_shape = _extents("LayerNorm", "normalized_shape", normalized_shape)
        self.eps = float(check_eps("LayerNorm", eps))
        kind = get_default_dtype() if dtype is None else as_dtype(dtype)
        ones, zeros = np.ones(self.normalized_shape, kind), np.zeros(self.normalized_shape, kind)
        self.register_parameter("weight", Parameter(ones) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros) if elementwise_affine and bias else None)

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.weight is not None}"


class Embedding(Module):
    """Rows of weight (num_embeddings, embedding_dim) by index; they start standard normal, as in PyTorch.

    padding_idx: the row that starts as zeros and gets no gradient, counted from the end if negative.

    Examples:
        >>> table = nn.Embedding(10, 4)
        >>> table(sg.tensor([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    weight: Tensor

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, dtype: DTypeLike | None = None):
        super().__init__()
        self.num_embeddings = _extent("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = _extent("Embedding", "embedding_dim", embedding_dim)
        self.padding_idx = None if padding_idx is None else functional.padding_entry(padding_idx, self.num_embeddings)
        kind = get_default_dtype() if dtype is None else as_dtype(dtype)
        self.weight = Parameter(np.empty((self.num_embeddings, self.embedding_dim), kind))
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    def forward(self, index: TensorLike) -> AnyTensor:
        return functional.embedding(index, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class EmbeddingBag(Module):
    """`functional.embedding_bag` with a weight (num_embeddings, embedding_dim) that starts standard normal."""

    weight: Tensor

    def __init__(self, num_embeddings: int, embedding_dim: int, mode: str = "mean", dtype: DTypeLike | None = None):
        super().__init__()
        self.num_embeddings = _extent("EmbeddingBag", "num_embeddings", num_embeddings)
        self.embedding_dim = _extent("EmbeddingBag", "embedding_dim", embedding_dim)
        if mode not in ("sum", "mean", "max"):
            raise ArgumentError(f"EmbeddingBag: mode has to be one of sum, mean or max, got {mode!r}")
        self.mode = mode
        kind = get_default_dtype() if dtype is None else as_dtype(dtype)
        self.weight = Parameter(np.empty((self.num_embeddings, self.embedding_dim), kind))
        init.normal_(self.weight)

    def forward(
        self, index: TensorLike, offsets: TensorLike | None = None, per_sample_weights: TensorLike | None = None
    ) -> AnyTensor:
        return functional.embedding_bag(index, self.weight, offsets, self.mode, per_sample_weights)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class GELU(Module):
    """`functional.gelu`."""

    def __init__(self, approximate: str = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.gelu(x, self.approximate)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: TensorLike) -> AnyTensor:
        return functional.silu(x)
