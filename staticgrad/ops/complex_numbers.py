"""Complex numbers: from their parts and back, conjugates, signs; and tensors of pairs as complex tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.dtypes import COMPLEX_OF, PART_OF
from ..base.types import TensorType, broadcast_shapes, complex_with, get_default_dtype, to_float, type_of
from ..errors import DTypeError, ShapeError
from ..ir import Layout, OpDef, Pointwise, define
from .complex_parts import sign
from .operands import dtype_of, operand, promoted
from .operators import F, Tensor, apply, composite, enter_as, in_format, torch_function
from .over_complex import OWN, by_parts
from .rules import aligned, leading, linear, unbroadcast

# records ----------------------------------------------------------------------------------------------------------------


def _part(x: TensorType) -> TensorType:
    if x.dtype not in PART_OF:
        raise DTypeError(f"expected complex numbers, got {x.dtype}")
    return x.with_dtype(PART_OF[x.dtype])


def _whole(x: TensorType) -> TensorType:
    if x.dtype not in COMPLEX_OF:
        raise DTypeError(f"expected float32 or float64, got {x.dtype}")
    return x.with_dtype(COMPLEX_OF[x.dtype])


def _both(re: TensorType, im: TensorType) -> TensorType:
    if re.dtype != im.dtype:
        raise DTypeError(f"Expected object of scalar type {re.dtype} but got scalar type {im.dtype} for second argument")
    return _whole(re).with_shape(broadcast_shapes(re.shape, im.shape))


def _joined(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    kind = _both(type_of(re), type_of(im))
    out = np.empty_like(np.equal(re, im), kind.dtype)  # in the order of the operands
    out.real, out.imag = re, im
    return out


def _part_of(x: Layout, place: int) -> Layout:
    """The parts of complex numbers, as a view of them."""
    return Layout(x.shape, tuple([2 * step for step in x.strides]), 2 * x.offset + place)


def _pairs_of(shape: tuple[int, ...], operands: Sequence[Layout]) -> Layout:
    """The pairs of parts, as a view of complex numbers."""
    part = _part_of(operands[0], 0)
    return Layout(shape, (*part.strides, 1), part.offset)


def _sgn(x: np.ndarray) -> np.ndarray:
    size, out = np.abs(x), np.zeros_like(x)
    for part, of in ((out.real, x.real), (out.imag, x.imag)):
        np.divide(of, size, out=part, where=(size != 0))
    return out


def _sgn_slope(g: Any, out: Any, x: Any) -> Any:
    """The part of g / |x| that turns the sign: of g along the sign nothing is left."""
    size = F.abs(x)
    flat = F.eq(size, 0)
    turned = g - out * F.real(g * F.conj(out))
    return F.where(flat, 0, turned / F.where(flat, 1, size))


def _pairs(x: TensorType) -> TensorType:
    part = _part(x)
    return part.with_shape((*part.shape, 2))


def _from_pairs(x: TensorType) -> TensorType:
    whole = _whole(x)
    if not x.shape or x.shape[-1] not in (2, None):
        raise ShapeError("view_as_complex: Tensor must have a last dimension of size 2", f"got shape {list(x.shape)}")
    return whole.with_shape(x.shape[:-1])


def _as_complex(x: np.ndarray) -> np.ndarray:
    """A view where the parts of a number lie side by side, else a copy."""
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ValueError("no pairs")  # `infer` has the text
    pairs = x if x.strides[-1] == x.itemsize else np.ascontiguousarray(x)
    return pairs.view(COMPLEX_OF[x.dtype])[..., 0]


def _as_real(x: np.ndarray) -> np.ndarray:
    return x[..., None].view(PART_OF[x.dtype])


conj_op: OpDef = define(

        name="conj", infer=lambda x: x, memory="operands", eval=np.conjugate, vjp=(lambda g, node, out, x: apply(conj_op, g),),
        emit=by_parts(lambda node, x: (x[0], -x[1])), complex=OWN, fails=False, batch=aligned, jvp=linear,
        backward="ConjBackward0", doc="The conjugate of complex numbers.",
    )  # fmt: skip
real_op: OpDef = define(

        name="real", infer=_part, eval=lambda x: x.real, vjp=(lambda g, node, out, x: F.astype(g, x.dtype),),
        emit=Pointwise("real"), memory=lambda shape, xs: _part_of(xs[0], 0),
        written=lambda x, value: apply(complex_op, value, apply(imag_op, x)),
        complex=OWN, fails=False, batch=aligned, jvp=linear, doc="The real parts of complex numbers.",
    )  # fmt: skip
imag_op: OpDef = define(

        name="imag", infer=_part, eval=lambda x: x.imag, vjp=(lambda g, node, out, x: apply(complex_op, F.zeros_like(g), g),),
        emit=Pointwise("imag"), memory=lambda shape, xs: _part_of(xs[0], 1),
        written=lambda x, value: apply(complex_op, apply(real_op, x), value),
        complex=OWN, fails=False, batch=aligned, jvp=linear, doc="The imaginary parts of complex numbers.",
    )  # fmt: skip
complex_op: OpDef = define(

        name="complex", stored=True, infer=_both, eval=_joined, vjp=(
            lambda g, node, out, re, im: unbroadcast(apply(real_op, g), re),
            lambda g, node, out, re, im: unbroadcast(apply(imag_op, g), im),
        ), emit=Pointwise("complex"),
        complex=OWN, fails=False, batch=aligned, jvp=linear, doc="Complex numbers of real and imaginary parts, broadcast.",
    )  # fmt: skip
sgn_op: OpDef = define(

        name="sgn", infer=lambda x: x, memory="operands", eval=_sgn, vjp=(lambda g, node, out, x: _sgn_slope(g, out, x),),
        emit=by_parts(lambda node, x: sign(x)), complex=OWN, fails=False, batch=aligned,
        jvp=lambda node, out, primals, tangents: _sgn_slope(tangents[0], out, primals[0]),
        doc="x / |x| of complex numbers, 0 for 0.",
    )  # fmt: skip
view_as_real_op: OpDef = define(

        name="view_as_real", infer=_pairs, eval=_as_real, memory=_pairs_of,
        vjp=(lambda g, node, out, x: apply(view_as_complex_op, g),),
        emit=by_parts(lambda node, x: F.stack(x, -1)),
        written=lambda x, value: apply(view_as_complex_op, value),
        complex=OWN, fails=False, batch=leading, jvp=linear,
        doc="Complex numbers as pairs of real ones, along a new last axis.",
    )  # fmt: skip
view_as_complex_op: OpDef = define(

        name="view_as_complex", stored=True, infer=_from_pairs, eval=_as_complex,
        vjp=(lambda g, node, out, x: apply(view_as_real_op, g),),
        emit=by_parts(lambda node, x: (x[..., 0], x[..., 1])),
        written=lambda x, value: apply(view_as_real_op, value),
        complex=OWN, fails=False, batch=leading, jvp=linear,
        doc="Pairs of real numbers along the last axis as complex ones.",
    )  # fmt: skip

# functions --------------------------------------------------------------------------------------------------------------


def _is_complex(x: Any) -> bool:
    return dtype_of(x) in PART_OF


def _needs_complex(name: str, x: Any) -> Any:
    if not _is_complex(x):
        raise DTypeError(f"{name} is not implemented for tensors with non-complex dtypes.", f"this one has dtype {dtype_of(x)}")
    return x


@torch_function(method=False)
def complex(real: Any, imag: Any) -> Tensor:
    """real + i imag, broadcast. Both are float32, or both float64; raises DTypeError otherwise."""
    return apply(complex_op, real, imag)


@torch_function(method=False)
def polar(abs: Any, angle: Any) -> Tensor:
    """abs (cos(angle) + i sin(angle)). Both are float32, or both float64; raises DTypeError otherwise."""
    return apply(complex_op, abs * F.cos(angle), abs * F.sin(angle))


@torch_function(method=False)
def real(input: Any) -> Tensor:
    """The real parts; of real numbers, `input` itself. A view of complex numbers."""
    return apply(real_op, input) if _is_complex(input) else input


@torch_function(method=False)
def imag(input: Any) -> Tensor:
    """The imaginary parts, a view. Raises DTypeError for real numbers."""
    return apply(imag_op, _needs_complex("imag", input))


@torch_function(method=False)
def view_as_real(input: Any) -> Tensor:
    """Complex numbers as pairs of real ones: shape (..., 2), a view. Raises DTypeError for real numbers."""
    return apply(view_as_real_op, _needs_complex("view_as_real", input))


@torch_function(method=False)
def view_as_complex(input: Any) -> Tensor:
    """Pairs of real numbers, shape (..., 2), as complex ones. Raises DTypeError, and ShapeError for another shape."""
    return apply(view_as_complex_op, input)


@torch_function(method=False)
def view_as_real_copy(input: Any) -> Tensor:
    """`view_as_real` in memory of its own."""
    return in_format(F.view_as_real(input), None)


@torch_function(method=False)
def view_as_complex_copy(input: Any) -> Tensor:
    """`view_as_complex` in memory of its own."""
    return in_format(F.view_as_complex(input), None)


@torch_function(np.conj)
def conj(input: Any) -> Tensor:
    """The conjugate; of real numbers, `input` itself."""
    return apply(conj_op, input) if _is_complex(input) else input


enter_as("conj_physical", F.conj, inplace=True)


@torch_function(names=("resolve_neg",))
def resolve_conj(input: Any) -> Tensor:
    """`input`: a conjugate is computed when it is written."""
    return input


@torch_function(np.angle)
@composite
def angle(input: Any) -> Tensor:
    """The angle in radians; of real numbers 0, or pi for negative ones, with a gradient of 0. NaN stays NaN."""
    if _is_complex(input):
        re, im = apply(real_op, input), apply(imag_op, input)
        zero = F.logical_and(F.eq(re, 0), F.eq(im, 0))
        return F.where(zero, F.stop_gradient(F.atan2(im, re)), F.atan2(im, F.where(zero, 1, re)))
    x = F.astype(operand(input), to_float(dtype_of(input)))
    return F.where(F.isnan(x), F.stop_gradient(x), F.where(x < 0, np.pi, F.sign(x) * 0))


@torch_function(inplace=True)
def sgn(input: Any) -> Tensor:
    """x / |x|, 0 for 0; of real numbers `sign`."""
    return apply(sgn_op, input) if _is_complex(input) else F.sign(input)


@torch_function(np.isreal)
def isreal(input: Any) -> Tensor:
    """Where the imaginary part is 0; everywhere for real numbers."""
    return F.eq(apply(imag_op, input), 0) if _is_complex(input) else F.ones_like(input, dtype=bool)


def complex_dtype(*operands: Any) -> np.dtype:
    """The complex dtype in which operands are computed together."""
    kind = promoted(*operands)
    return kind if kind in PART_OF else COMPLEX_OF.get(kind, complex_with(get_default_dtype()))
