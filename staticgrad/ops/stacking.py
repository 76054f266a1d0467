"""PyTorch's functions that join tensors: made of `concatenate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from ..errors import ArgumentError, ArgumentTypeError
from ..operators import (
    F,
    Operators,
    Tensor,
    TensorLike,
    as_array,
    enter_as,
    numpy_twin,
    respelled,
    routed,
    spelled,
    torch_function,
)
from .operands import dtype_of, extent, operand, several


@torch_function(method=False, names=("concat",), cached=routed)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors one after another along `dim`; dtypes are promoted. Empty 1-D ones are left out, as in PyTorch.

    Examples:
        >>> sg.cat([sg.zeros(2), sg.ones(1)])
        tensor([0., 0., 1.])
    """
    if isinstance(tensors, Operators):
        raise ArgumentTypeError(
            "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor", "write sg.cat([a, b])"
        )
    given: list[Any] = [t if isinstance(t, Operators) else as_array(t) for t in tensors]
    most = max((len(t.shape) for t in given), default=0)
    wanted = [t for t in given if tuple(t.shape) != (0,) or most <= 1]
    if len(wanted) < len(given) and wanted:
        wanted[0] = F.astype(wanted[0], _joint_dtype(given))
    return F.concatenate(wanted, dim)


def _joint_dtype(given: Sequence[Any]) -> np.dtype:
    kind = dtype_of(given[0])
    for t in given[1:]:
        kind = np.promote_types(kind, dtype_of(t))
    return kind


def _stacked(name: str, least: int, axis: Any, twin: Any) -> None:
    def function(*tensors: Any) -> Tensor:
        parts = [_at_least(t, least) for t in several(name, tensors)]
        if not parts:
            raise ArgumentError(f"{name} expects a non-empty TensorList")
        at = axis if isinstance(axis, int) else (0 if len(parts[0].shape) == 1 else 1)
        return F.concatenate(parts, at)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Tensors one after another, each with the axes that it lacks; as NumPy's function of this name."
    enter_as(name, spelled(function), method=False)
    numpy_twin(twin)(getattr(F, name))


def _at_least(x: Any, least: int) -> Any:
    x = operand(x)
    n = len(x.shape)
    if n >= least:
        return x
    if least == 1:
        return F.reshape(x, (1,))
    if least == 2:
        return F.expand_dims(x, tuple(range(2 - n)))
    return F.expand_dims(x, (0, 1, 2) if n == 0 else (0, 2) if n == 1 else (2,))


_stacked("hstack", 1, None, np.hstack)
_stacked("vstack", 2, 0, np.vstack)
_stacked("dstack", 3, 2, np.dstack)
enter_as("row_stack", F.vstack, method=False)


@torch_function(np.column_stack, method=False)
def column_stack(*tensors: Any) -> Tensor:
    """Vectors as columns, and matrices, side by side."""
    parts = [operand(t) for t in several("column_stack", tensors)]
    return F.concatenate([F.reshape(p, (-1, 1)) if len(p.shape) <= 1 else p for p in parts], 1)


for _least in (1, 2, 3):

    @overload
    def _atleast(tensor: TensorLike, /) -> Tensor: ...
    @overload
    def _atleast(*tensors: Any) -> tuple[Tensor, ...]: ...
    def _atleast(*tensors: Any, _least: int = _least) -> Any:
        """Tensors with at least so many axes; a tuple where several are given."""
        if len(tensors) == 1 and isinstance(tensors[0], (Operators, np.ndarray)):
            return _at_least(tensors[0], _least)
        return tuple(_at_least(t, _least) for t in several(f"atleast_{_least}d", tensors))

    respelled(_atleast, f"atleast_{_least}d")
    enter_as(f"atleast_{_least}d", _atleast, method=False)


@torch_function(method=False)
def block_diag(*tensors: Any) -> Tensor:
    """The matrices along the diagonal of one that is 0 elsewhere."""
    blocks = [_at_least(t, 2) for t in (tensors or (np.zeros((1, 0), np.float32),))]
    kind = _joint_dtype(blocks)
    width = sum(extent("block_diag", b, 1) for b in blocks)
    rows, left = [], 0
    for b in blocks:
        h, w = extent("block_diag", b, 0), b.shape[1]
        zeros = [np.zeros((h, left), kind), np.zeros((h, width - left - w), kind)]
        rows.append(F.concatenate([zeros[0], F.astype(b, kind), zeros[1]], 1))
        left += w
    return F.concatenate(rows, 0)
