"""Linear and bilinear maps."""

from __future__ import annotations

from ..base.types import shape_text
from ..eager.calls.composites import composite
from ..errors import ShapeError
from ..operators import F, Tensor, TensorLike, spelled
from ..ops.settings import operand
from .checks import fitting, warn_of_widened


@spelled
@composite
def linear(input: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """input @ weight.T + bias, in PyTorch's layout.

    Shapes: input (..., in), weight (out, in), bias (out,) -> (..., out); weight (in,), bias () -> (...). Raises ShapeError.

    Examples:
        >>> F.linear(sg.ones(4, 3), sg.ones(2, 3), sg.zeros(2)).shape
        torch.Size([4, 2])
    """
    x, weight = operand(input), operand(weight)
    warn_of_widened(weight, x)
    rows, columns = x.shape, weight.shape
    if len(columns) == 1 and rows:
        product = F.matmul(x, weight)
        return product if bias is None else product + operand(bias)
    if len(columns) != 2 or not rows:
        raise ShapeError(f"linear: need x (..., in) and weight (out, in), got {shape_text(rows)} and {shape_text(columns)}")
    if not fitting(rows[-1:], columns[1:]):
        given = "x".join("?" if d is None else str(d) for d in (rows if len(rows) > 1 else (1, *rows)))
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({given} and {columns[1]}x{columns[0]})",
            f"linear: x {shape_text(rows)} needs a last extent of {columns[1]}, for weight (out, in) {shape_text(columns)}",
        )
    if bias is None:
        return F.matmul(x, weight.T)
    bias = operand(bias)
    if not fitting(bias.shape, columns[:1]):
        raise ShapeError(f"linear: bias {shape_text(bias.shape)} must be (out,) for weight (out, in) {shape_text(columns)}")
    return F.add(F.matmul(x, weight.T), bias)


@spelled
@composite
def bilinear(input1: TensorLike, input2: TensorLike, weight: TensorLike, bias: TensorLike | None = None) -> Tensor:
    """y_k = input1' weight_k input2 + bias_k.

    Shapes: inputs (..., in1) and (..., in2), weight (out, in1, in2), bias (out,) -> (..., out). Raises ShapeError.
    """
    a, b, weight = operand(input1), operand(input2), operand(weight)
    if len(weight.shape) != 3 or not a.shape or not b.shape or not fitting(a.shape[:-1], b.shape[:-1]):
        raise ShapeError(
            f"bilinear(): need inputs (..., in1), (..., in2) and weight (out, in1, in2), got {shape_text(a.shape)}, "
            f"{shape_text(b.shape)} and {shape_text(weight.shape)}"
        )
    if not fitting((a.shape[-1], b.shape[-1]), weight.shape[1:]):
        raise ShapeError(
            f"bilinear(): inputs {shape_text(a.shape)} and {shape_text(b.shape)} don't fit the weight "
            f"{shape_text(weight.shape)}"
        )
    y = F.einsum("...i,kij,...j->...k", a, weight, b)
    return y if bias is None else y + operand(bias)
