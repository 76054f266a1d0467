"""`torch.distributions.utils`: what distributions of other packages are written with."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

import numpy as np

from ..base.number_limits import finfo
from ..base.types import get_default_dtype
from ..eager import enable_grad
from ..errors import ArgumentError
from ..operators import F, as_array, frontends, is_tensor

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values broadcast against each other; numbers become tensors of the dtype of the first tensor, or of the default one.
    Raises ArgumentError for other objects."""
    if not all(is_tensor(v) or isinstance(v, (Number, np.ndarray)) or hasattr(type(v), "__torch_function__") for v in values):
        raise ArgumentError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    kind = next((v.dtype for v in values if is_tensor(v)), get_default_dtype())
    return tuple(F.broadcast_tensors(*(v if is_tensor(v) else F.astype(as_array(v), kind) for v in values)))


def _sum_rightmost(value: Any, dim: int) -> Any:
    return value if dim == 0 else value.reshape(tuple(value.shape)[:-dim] + (-1,)).sum(-1)


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Any:
    from ..eager import randn

    return randn(*shape, dtype=dtype, device=device)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities: the sigmoid, or the softmax over the last axis."""
    return F.sigmoid(logits) if is_binary else F.softmax(logits, -1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities kept away from 0 and 1 by the dtype's epsilon."""
    eps = float(finfo(probs.dtype).eps)
    return F.clamp(probs, eps, 1 - eps)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Log-odds, or logarithms, of clamped probabilities."""
    kept = clamp_probs(probs)
    return F.log(kept) - F.log1p(-kept) if is_binary else F.log(kept)


class lazy_property:
    """A property that is computed when it is first read, with gradients, and kept in the instance."""

    def __init__(self, wrapped: Callable[[Any], Any]):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        if not frontends.tracing:  # a traced value lives as long as the trace
            setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Any, diag: int = 0) -> Any:
    """The elements of the lower triangles of matrices (..., n, n), row by row. Raises ArgumentError."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ArgumentError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = np.tril_indices(n, diag)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Any, diag: int = 0) -> Any:
    """Matrices of the elements of their lower triangles row by row; 0 above. Raises ArgumentError."""
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if not np.isclose(round(n), n):
        raise ArgumentError(f"The size of last dimension is {vec.shape[-1]} which is no size of a lower triangle")
    size = round(n)
    rows, columns = np.tril_indices(size, diag)
    places = np.zeros((size, size), np.int64)
    places[rows, columns] = np.arange(len(rows))
    inside = np.zeros((size, size), np.bool_)
    inside[rows, columns] = True
    return F.where(as_array(inside), vec[..., places.reshape(-1)].reshape((*vec.shape[:-1], size, size)), 0.0)


__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
    "tril_matrix_to_vec", "vec_to_tril_matrix",
]  # fmt: skip
