"""Matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType, broadcast_shapes, shape_text
from ..errors import ShapeError
from ..ir import Call, Gemm, Layout, Native, Node, Routine, collapse, define
from .operands import ndim_of
from .operators import (
    F,
    Tensor,
    TensorLike,
    apply,
    autocasts,
    by_method,
    composite,
    frontends,
    numpy_twin,
    routed,
    tensor_method,
    torch_function,
)
from .rules import multilinear, multiplied, of_products, unbroadcast
from .shaping import expand_dims_op, squeeze_op


def _infer(x: TensorType, y: TensorType) -> TensorType:
    if x.ndim < 2 or y.ndim < 2:
        raise ShapeError(f"matmul: operands need two axes here, {shape_text(x.shape)} @ {shape_text(y.shape)}")
    inner, other = x.shape[-1], y.shape[-2]
    if inner != other and inner is not None and other is not None:
        raise ShapeError(
            f"matmul: inner sizes differ, {shape_text(x.shape)} @ {shape_text(y.shape)}",
            f"the right operand would need shape {shape_text((*y.shape[:-2], inner, y.shape[-1]))}",
        )
    return TensorType((*broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1]), x.dtype)


def _rows(x: Any) -> Any:
    """All leading axes joined: the shape of one large matrix."""
    lead = x.shape[:-1]
    return x.reshape(-1 if None in lead else math.prod(lead), x.shape[-1])


def _flattens(x: Any, y: Any) -> bool:
    """Many matrices times one: a single product of joined rows, whose number follows from the elements if there are any."""
    ends = x.shape[-1], y.shape[-1]
    return len(y.shape) == 2 and len(x.shape) > 2 and None not in ends and 0 not in ends


def _left(g: Any, node: Any, out: Any, x: Any, y: Any) -> Any:
    return unbroadcast(apply(matmul_op, g, y.mT), x)


def _right(g: Any, node: Any, out: Any, x: Any, y: Any) -> Any:
    if _flattens(x, y):
        x, g = _rows(x), _rows(g)
    return unbroadcast(apply(matmul_op, x.mT, g), y)


def product_of(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """NumPy's `matmul`. That is a product for each matrix of x, and for each of them BLAS copies a y that is not row-major: one
    product of all rows takes half the time."""
    if y.ndim == 2 < x.ndim and x.flags.c_contiguous and not y.flags.c_contiguous and x.size:
        if out is None:
            out = np.empty((*x.shape[:-1], y.shape[1]), x.dtype)
        if out.flags.c_contiguous:
            np.matmul(x.reshape(-1, x.shape[-1]), y, out=out.reshape(-1, y.shape[1]))
            return out
    return np.matmul(x, y, out=out, order="C")


def _plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    if node.type.dtype.kind == "f":
        return [Gemm()]
    x, y = (i.type.shape for i in node.inputs)
    *batch, m, n = node.type.shape
    axes, k = collapse(batch, *(_steps(shape, batch) for shape in (x, y))), x[-1]
    rows, kernel = math.prod(batch) * m, f"product_i{8 * node.type.dtype.itemsize}"
    sizes = m, n, k, len(axes[0]), *axes[0], *axes[1], *axes[2]
    return [Routine("integer_products", kernel, rows if n else 0, sizes, 2 * rows * n * max(k, 1), name=f"{m}x{k}x{n}")]


def _steps(shape: Sequence[int], batch: Sequence[int]) -> list[int]:
    """The distance of an operand's matrices along the axes of the batch, 0 where they are repeated."""
    own = (*(1,) * (len(batch) + 2 - len(shape)), *shape)
    return [0 if d == 1 else math.prod(own[axis + 1 :]) for axis, d in enumerate(own[:-2])]


matmul_op = define(
    name="matmul",
    backward="MmBackward0",
    batch=multiplied,
    jvp=multilinear,
    infer=_infer,
    eval=product_of,
    vjp=(_left, _right),
    emit=Native(_plan, scales=True),
    promote=of_products,
    symbol="@",
)


@tensor_method(cached=by_method)
@numpy_twin(np.matmul)
@autocasts
def matmul(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The matrix product with NumPy's rules: 1-D operands are rows or columns, leading axes are batches and broadcast.

    Shapes (..., n, k) @ (..., k, m) -> (..., n, m). Raises ShapeError when inner sizes differ or an operand is 0-d.

    Examples:
        >>> sg.matmul(sg.ones(2, 3), sg.ones(3, 4)).shape
        torch.Size([2, 4])
    """
    if out is not None:
        return frontends.into(out, "matmul", matmul, (input, other))
    a, b = ndim_of(input), ndim_of(other)
    if a >= 2 and b >= 2:
        return apply(matmul_op, input, other)
    if a == 0 or b == 0:
        raise ShapeError("matmul: operands can't be 0-d", "use * for a product with a number")
    x_shape, y_shape = (z.shape if hasattr(z, "shape") else np.shape(z) for z in (input, other))
    inner, rows = x_shape[-1], y_shape[-2 if b > 1 else 0]
    if inner != rows and inner is not None and rows is not None:
        raise ShapeError(f"matmul: inner sizes differ, {shape_text(x_shape)} @ {shape_text(y_shape)}")
    x2 = apply(expand_dims_op, input, axis=(0,)) if a == 1 else input
    y2 = apply(expand_dims_op, other, axis=(1,)) if b == 1 else other
    n = max(a, b, 2)
    return apply(squeeze_op, apply(matmul_op, x2, y2), axis=((n - 2,) if a == 1 else ()) + ((n - 1,) if b == 1 else ()))


@torch_function(np.dot, words={"other": "tensor"}, cached=routed)
@autocasts
def dot(input: TensorLike, tensor: TensorLike) -> Tensor:
    """`matmul` for at most two axes (PyTorch's and NumPy's `dot` agree there).

    Examples:
        >>> sg.dot(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
        tensor(11.)
    """
    if ndim_of(input) > 2 or ndim_of(tensor) > 2:
        raise ShapeError("dot: operands have at most two axes", "use matmul for batches")
    return matmul(input, tensor)


@torch_function(np.outer, words={"other": "vec2"})
@composite
def outer(input: TensorLike, vec2: TensorLike) -> Tensor:
    """input[i] * vec2[j] for 1-D operands.

    Examples:
        >>> sg.outer(sg.tensor([1.0, 2.0]), sg.tensor([3.0, 4.0]))
        tensor([[3., 4.],
                [6., 8.]])
    """
    if ndim_of(input) != 1 or ndim_of(vec2) != 1:
        raise ShapeError("outer: operands have one axis")
    return F.expand_dims(input, 1) * F.expand_dims(vec2, 0)
