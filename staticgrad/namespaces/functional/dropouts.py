"""Dropout of elements, of whole channels, and with the statistics of SELU kept."""

from __future__ import annotations

import math
from typing import Any

from ...base.types import is_number
from ...errors import ArgumentError, ShapeError
from ...ops.operands import operand, size_text
from ...ops.operators import F, Tensor, TensorLike
from .activations import in_place

ALPHA = -1.7580993408473766
"""What SELU tends to at minus infinity."""


def check_probability(p: float) -> float:
    """Raises ArgumentError unless 0 <= p <= 1."""
    if not is_number(p) or not 0.0 <= p <= 1.0:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


@in_place
def dropout(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero each element with probability p and scale the rest by 1 / (1 - p); the input itself when not training.

    Any shape, floating. Raises ArgumentError unless 0 <= p <= 1.
    """
    return F.dropout(operand(input), p, training)


def _mask_shape(x: Any) -> Any:
    """One element per channel of (n, c, ...)."""
    return x[(..., *[slice(0, 1)] * (len(x.shape) - 2))] if len(x.shape) > 2 else x


def _channels(name: str, x: Any, axes: int, p: float, training: bool) -> Tensor:
    """Whole channels of (n, c, *axes) or (c, *axes) dropped."""
    n = len(x.shape)
    if n not in (axes + 1, axes + 2):
        raise ShapeError(f"{name}: expected {axes + 1}D or {axes + 2}D input, got {n}D", f"its shape is {size_text(x.shape)}")
    check_probability(p)
    if not training or p == 0:
        return x
    first = x[(..., *[slice(0, 1)] * axes)]
    return x * F.dropout(F.ones_like(first), p, True)


@in_place
def dropout1d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (n, c, l) or (c, l), and scale the rest by 1 / (1 - p). Raises ShapeError, ArgumentError."""
    return _channels("dropout1d", operand(input), 1, p, training)


@in_place
def dropout2d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels (axis 1) of (n, c, ...), and scale the rest by 1 / (1 - p).

    (c, h, w) is taken for (n, c, l), as in PyTorch. Raises ShapeError for one axis, ArgumentError.
    """
    x: Any = operand(input)
    check_probability(p)
    if not training or p == 0:
        return x
    if len(x.shape) < 2:
        raise ShapeError("Feature dropout requires at least 2 dimensions in the input", f"got {size_text(x.shape)}")
    return x * F.dropout(F.ones_like(_mask_shape(x)), p, True)


@in_place
def dropout3d(input: TensorLike, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero whole channels of (n, c, d, h, w) or (c, d, h, w), and scale the rest by 1 / (1 - p)."""
    x: Any = operand(input)
    axes = 3 if len(x.shape) in (4, 5) else max(len(x.shape) - 2, 1)
    return _channels("dropout3d", x, axes, p, training)


def _alpha_dropped(x: Any, like: Any, p: float, training: bool) -> Tensor:
    """Elements replaced by what SELU tends to, then scaled and shifted such that mean 0 and variance 1 are kept.

    Source: Klambauer et al., "Self-normalizing neural networks", NeurIPS 2017, section 2.
    """
    check_probability(p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    scale = 1 / math.sqrt((ALPHA * ALPHA * p + 1) * (1 - p))
    keep = F.rand_like(like) >= p
    kept = F.where(keep, x * scale, 0)
    return kept + F.where(keep, F.zeros_like(like), F.full_like(like, ALPHA * scale)) - ALPHA * scale * p


@in_place
def alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False) -> Tensor:
    """Replace elements by -1.758 with probability p, scaled and shifted such that mean 0 and variance 1 are kept."""
    x = operand(input)
    return _alpha_dropped(x, x, p, training)


@in_place
def feature_alpha_dropout(input: TensorLike, p: float = 0.5, training: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels (axis 1). Raises ShapeError for one axis."""
    x = operand(input)
    if training and p and len(x.shape) < 2:
        raise ShapeError("Feature dropout requires at least 2 dimensions in the input", f"got {size_text(x.shape)}")
    return _alpha_dropped(x, _mask_shape(x), p, training)
