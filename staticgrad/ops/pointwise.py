"""Elementwise ops: arithmetic, elementary functions, comparisons, logic, casts."""

from __future__ import annotations

import builtins
import functools
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base.dtypes import DTYPES, HALF, PART_OF, SHORT, as_dtype
from ..base.interpreter import module
from ..base.types import (
    FLOATING,
    INEXACT,
    DTypeLike,
    TensorType,
    bool_,
    category,
    float32,
    int64,
    is_scalar,
    part_dtype,
    promote,
    scalar_dtype,
    to_float,
)
from ..errors import DivisionError, DTypeError
from ..ir import Call, Expand, Layout, Native, Node, OpDef, OverComplex, Pointwise, Range, Routine, define
from . import complex_parts as parts
from . import rules as at
from .gathering import index_check
from .operands import brought, dtype_of
from .operators import (
    NOBODY,
    ORDINARY,
    PRESERVING,
    F,
    Operators,
    Symbol,
    Tensor,
    TensorLike,
    apply,
    by_method,
    composite,
    copied,
    enter_as,
    frontends,
    in_format,
    numpy_twin,
    public,
    routed,
    taken,
    tensor_method,
    torch_function,
)
from .over_complex import HOLOMORPHIC, holomorphic
from .rules import (
    aligned,
    arithmetic,
    binary,
    boolean,
    by_number,
    compared,
    counted,
    elementwise_op,
    floating,
    keep,
    leading,
    linear,
    numeric,
    scaling,
    unbroadcast,
)

ROOT, TRANSCENDENTAL = 6, 20  # costs of one element, in additions
TINY = {dtype: float(np.finfo(dtype.name).tiny) for dtype in DTYPES if dtype.kind in FLOATING}
"""The smallest normal numbers."""
LN2, LN10 = math.log(2), math.log(10)
MOST = int(np.iinfo(np.int64).max)


def _unless_float(numpy: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A function that changes floats only: integers are copied, with their dtype."""
    return lambda x: numpy(x) if x.dtype.kind in FLOATING else x.copy()


# arithmetic -----------------------------------------------------------------------------------------------------

add = elementwise_op("add", np.add, (
    lambda g, node, out, x, y: unbroadcast(g, x),
    lambda g, node, out, x, y: unbroadcast(g, y),
), promote=arithmetic, symbol="+", doc="x + y, broadcast. Booleans: logical or.", linear=(1, 1), names=())  # fmt: skip

sub = elementwise_op("sub", np.subtract, (
    lambda g, node, out, x, y: unbroadcast(g, x),
    lambda g, node, out, x, y: unbroadcast(-g, y),
), promote=numeric, symbol="-", doc="x - y, broadcast. Raises DTypeError for booleans.", linear=(1, -1), names=())  # fmt: skip

mul = elementwise_op("mul", np.multiply, (
    lambda g, node, out, x, y: unbroadcast(g * y, x),
    lambda g, node, out, x, y: unbroadcast(g * x, y),
), promote=scaling(arithmetic), symbol="*", cached=by_method, doc="x * y, broadcast. Booleans: logical and.", bilinear=True,
   names=("mul", "multiply"))  # fmt: skip

div = elementwise_op("div", np.true_divide, (
    lambda g, node, out, x, y: unbroadcast(g / y, x),
    lambda g, node, out, x, y: unbroadcast(-g * (out / y), y),
), cost=4, symbol="/", promote=scaling(floating),
   doc="x / y, broadcast; integers give the default float.", names=(), complex=holomorphic(parts.quotient))  # fmt: skip


def _pow_dx(g: Any, node: Any, out: Any, x: Any, y: Any) -> Any:
    """d x^y / dx = y x^(y-1), and 0 for y = 0 where 1 / x is infinite, 0 or NaN, or log(x) is.

    There the base is replaced as well: derivatives of the formula would be 0 * inf.
    """
    if y.__class__ is np.ndarray and not y.ndim and y != 0:
        return unbroadcast(g * (y * F.pow(x, y - 1)), x)
    flat = F.logical_and(y == 0, F.logical_not(F.logical_and(x >= TINY[out.dtype], x < math.inf)))
    slope = y * F.pow(F.where(flat, 1, x), y - 1)
    return unbroadcast(F.where(flat, 0, g * slope), x)


def _pow_dy(g: Any, node: Any, out: Any, x: Any, y: Any) -> Any:
    """d x^y / dy = x^y log x, and 0 where x = 0 and y >= 0."""
    flat = F.logical_and(x == 0, y >= 0)
    return unbroadcast(F.where(flat, 0, g * (out * F.log(F.where(flat, 1, x)))), y)


def _complex_pow_dx(g: Any, node: Any, out: Any, x: Any, y: Any) -> Any:
    return unbroadcast(F.where(y == 0, 0, g * (y * F.pow(x, y - 1))), x)


def _complex_pow_dy(g: Any, node: Any, out: Any, x: Any, y: Any) -> Any:
    flat = F.logical_and(x == 0, F.real(y) >= 0)
    return unbroadcast(F.where(flat, 0, g * (out * F.log(F.where(flat, 1, x)))), y)


def _pow_parts(node: Any, x: Any, y: Any) -> Any:
    """A whole number as exponent is a chain of products."""
    exponent = node.inputs[1].attrs["value"].array if node.inputs[1].op.leaf == "constant" else None
    if exponent is not None and exponent.size == 1:
        number = builtins.complex(exponent.flat[0])
        if number.imag == 0 and number.real.is_integer() and abs(number.real) <= parts.POWERS:
            shaped = [F.broadcast_to(part, node.type.shape) for part in x]
            return parts.whole_power((shaped[0], shaped[1]), int(number.real))
    return parts.power(x, y)


power = elementwise_op("pow", np.power, (_pow_dx, _pow_dy), cost=2 * TRANSCENDENTAL, error=(0.52, 1.36),
                       promote=numeric, symbol="**", doc="x ** y, broadcast.", names=(), backward=by_number("Pow"),
                       complex=OverComplex(
                           "holomorphic", vjp=(_complex_pow_dx, _complex_pow_dy), parts=_pow_parts
                       ))  # fmt: skip


def _negative_power(node: Node | None, exponent: int) -> DTypeError:
    return DTypeError(f"integers can't be raised to negative powers, got {exponent}", "cast the base to float first")


def _exponent_eval(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind == "i" and y.size and (smallest := int(y.min())) < 0:
        raise _negative_power(None, smallest)
    return y.astype(np.int64)


exponent_op = define(
    name="exponent",
    batch=aligned,
    infer=lambda y: y.with_dtype(int64),
    memory="operands",
    eval=_exponent_eval,
    vjp=None,
    emit=Native(lambda node, layouts: [index_check(node, 0, MOST)], check=_negative_power),
    promote=keep,
    doc="Exponents of integers: int64, checked not to be negative.",
)


def _sign_eval(x: np.ndarray) -> np.ndarray:
    return np.subtract(x > 0, x < 0, dtype=np.int8).astype(x.dtype)


neg = elementwise_op("neg", np.negative, lambda g, node, out, x: -g, promote=numeric, cached=by_method, doc="-x.",
                     example="sg.neg(sg.tensor([1.0, -2.0])) -> tensor([-1.,  2.])",
                     linear=(-1,), names=("neg", "negative"))  # fmt: skip
absolute = elementwise_op("abs", np.abs, lambda g, node, out, x: g * F.sign(x), promote=numeric,
                          cached=by_method, doc="|x|; its derivative at 0 is 0.",
                          example="sg.abs(sg.tensor([-1.0, 2.0])) -> tensor([1., 2.])", names=("abs", "absolute"),
                          complex=OverComplex(
    "linear",
    infer=lambda x: x.with_dtype(part_dtype(x.dtype)),
    vjp=lambda g, node, out, x: g * F.sgn(x),
    jvp=lambda node, out, primals, tangents: F.real(F.conj(F.sgn(primals[0])) * tangents[0]),
    parts=lambda node, x: parts.modulus(x),
))  # fmt: skip
sign = elementwise_op("sign", _sign_eval, lambda g, node, out, x: F.zeros_like(x), promote=numeric,
                      doc="-1, 0 or 1; 0 for NaN, as in PyTorch.", names=())  # fmt: skip
sqrt = elementwise_op("sqrt", np.sqrt, lambda g, node, out, x: g / (2 * out), cost=ROOT, cached=by_method, doc="Square root.",
                      example="sg.sqrt(sg.tensor([4.0, 9.0])) -> tensor([2., 3.])",
                      complex=holomorphic(parts.sqrt))  # fmt: skip
square = elementwise_op("square", np.square, lambda g, node, out, x: g * (2 * x), promote=counted,
                        cached=by_method, doc="x * x; booleans count as integers.",
                        example="sg.square(sg.tensor([2.0, -3.0])) -> tensor([4., 9.])",
                        backward="PowBackward0", complex=holomorphic(parts.square))  # fmt: skip
elementary = functools.partial(elementwise_op, cost=TRANSCENDENTAL, complex=HOLOMORPHIC)
exp = elementary(
    "exp",
    np.exp,
    lambda g, node, out, x: g * out,
    error=(1.01, 1.0),
    cached=by_method,
    doc="e**x.",
    example="sg.exp(sg.tensor([0.0, 1.0])) -> tensor([1.0000, 2.7183])",
    complex=holomorphic(parts.exp),
)
log = elementary(
    "log",
    np.log,
    lambda g, node, out, x: g / x,
    error=(0.85, 0.85),
    cached=by_method,
    doc="Natural logarithm.",
    example="sg.log(sg.tensor([1.0, 2.0])) -> tensor([0.0000, 0.6931])",
    complex=holomorphic(parts.log),
)
log1p = elementary("log1p", np.log1p, lambda g, node, out, x: g / (1 + x),
                   error=(1.48, 1.42), cached=by_method, doc="log(1 + x), accurate for small x.",
                   example="sg.log1p(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.6931])",
                   names=("log1p", "special.log1p"), complex=holomorphic(parts.log1p))  # fmt: skip
expm1 = elementary("expm1", np.expm1, lambda g, node, out, x: g * F.exp(x),
                   error=(1.4, 1.56), cached=by_method, doc="exp(x) - 1, accurate for small x.",
                   example="sg.expm1(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 1.7183])",
                   names=("expm1", "special.expm1"), complex=holomorphic(parts.expm1))  # fmt: skip
sin = elementary(
    "sin",
    np.sin,
    lambda g, node, out, x: g * F.cos(x),
    error=(0.57, 0.85),
    cached=by_method,
    doc="Sine.",
    example="sg.sin(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.8415])",
    complex=holomorphic(parts.sin),
)
cos = elementary(
    "cos",
    np.cos,
    lambda g, node, out, x: -g * F.sin(x),
    error=(0.57, 0.85),
    cached=by_method,
    doc="Cosine.",
    example="sg.cos(sg.tensor([0.0, 1.0])) -> tensor([1.0000, 0.5403])",
    complex=holomorphic(parts.cos),
)
exp2 = elementary("exp2", np.exp2, lambda g, node, out, x: g * (out * LN2),
                  error=(1.03, 1.07), doc="2**x.",
                  example="sg.exp2(sg.tensor([0.0, 3.0])) -> tensor([1., 8.])", names=("exp2", "special.exp2"),
                  complex=holomorphic(parts.exp2))  # fmt: skip
log2 = elementary(
    "log2",
    np.log2,
    lambda g, node, out, x: g / (x * LN2),
    error=(1.72, 1.72),
    doc="Logarithm to base 2.",
    example="sg.log2(sg.tensor([1.0, 8.0])) -> tensor([0., 3.])",
    complex=holomorphic(parts.log2),
)
atan = elementary("atan", np.arctan, lambda g, node, out, x: g / (x * x + 1),
                  error=(1.41, 1.4), doc="Inverse tangent, in radians.",
                  example="sg.atan(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.7854])", names=("atan", "arctan"),
                  complex=holomorphic(parts.atan))  # fmt: skip
elementary(
    "tan",
    np.tan,
    lambda g, node, out, x: g * (1 + out * out),
    error=(0.57, 1.4),
    doc="Tangent.",
    example="sg.tan(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 1.5574])",
    complex=holomorphic(parts.tan),
)
elementary("asin", np.arcsin, lambda g, node, out, x: g * F.rsqrt(1 - x * x),
           error=(0.64, 0.65), doc="Inverse sine.",
           example="sg.asin(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 1.5708])", names=("asin", "arcsin"),
           complex=holomorphic(parts.asin))  # fmt: skip
elementary("acos", np.arccos, lambda g, node, out, x: -g * F.rsqrt(1 - x * x),
           error=(0.63, 0.64), doc="Inverse cosine.",
           example="sg.acos(sg.tensor([0.0, 1.0])) -> tensor([1.5708, 0.0000])", names=("acos", "arccos"),
           complex=holomorphic(parts.acos))  # fmt: skip
elementary(
    "log10",
    np.log10,
    lambda g, node, out, x: g / (x * LN10),
    error=(0.95, 0.92),
    doc="Logarithm to base 10.",
    example="sg.log10(sg.tensor([1.0, 50.0])) -> tensor([0.0000, 1.6990])",
    complex=holomorphic(parts.log10),
)
sinh = elementary(
    "sinh",
    np.sinh,
    lambda g, node, out, x: g * F.cosh(x),
    error=(1.54, 1.74),
    doc="Hyperbolic sine.",
    example="sg.sinh(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 1.1752])",
    complex=holomorphic(parts.sinh),
)
cosh = elementary(
    "cosh",
    np.cosh,
    lambda g, node, out, x: g * F.sinh(x),
    error=(1.31, 1.3),
    doc="Hyperbolic cosine.",
    example="sg.cosh(sg.tensor([0.0, 1.0])) -> tensor([1.0000, 1.5431])",
    complex=holomorphic(parts.cosh),
)
tanh = elementary(
    "tanh",
    np.tanh,
    lambda g, node, out, x: g * (1 - out * out),
    error=(1.93, 1.5),
    cached=by_method,
    doc="Hyperbolic tangent.",
    example="sg.tanh(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.7616])",
    complex=holomorphic(parts.tanh),
)


ZERO = {dtype: np.zeros((), dtype) for dtype in DTYPES}
ONE = {dtype: np.ones((), dtype) for dtype in DTYPES}


def _sigmoid_eval(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """1 / (1 + e^-x). Where e^-x overflows the result is below the smallest normal number, and 0."""
    e = np.asarray(np.negative(x, out))
    np.exp(e, e)
    np.add(e, ONE[x.dtype], e)
    return np.reciprocal(e, e)


BLOCK, MANY = 1 << 15, 1 << 12
"""Numbers that stay in the second cache, with what is computed of them; and from which on polynomials pay."""
NEAR = [
    np.array(c, np.float32)
    for c in (0.12837917, -0.37612626, 0.11283597, -0.026854325, 0.005189303, -0.0008018765, 7.8821686e-05)
]
"""P in erf(x) = x + x P(x * x), |x| < 1, by interpolation in Chebyshev's points."""
FAR = [
    np.array(c, np.float32)
    for c in (
        0.00031435851, -1.1302128, -0.6318563, -0.11005644, 0.02641051, -0.0047568614, 0.00059643853, -4.604029e-05,
        1.6375557e-06,
    )
]  # fmt: skip
"""P in erf(x) = 1 - exp(P(x)), 1 <= x <= LAST, likewise of log(erfc(x))."""
LAST = np.float32(3.94)
"""Where erf rounds to 1."""


def _erf_eval(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """SciPy's; of many float32 numbers polynomials, which take a third of the time. Error: 1.49 ULP."""
    if x.dtype != float32 or x.size < MANY or not x.flags.c_contiguous or not (out is None or out.flags.c_contiguous):
        return module("scipy.special").erf(x, out=out)
    if out is None:
        out = np.empty_like(x)
    flat, results, (squares, values) = x.reshape(-1), out.reshape(-1), np.empty((2, min(x.size, BLOCK)), x.dtype)
    for i in range(0, x.size, BLOCK):
        part, result = flat[i : i + BLOCK], results[i : i + BLOCK]
        square, value = squares[: part.size], values[: part.size]
        np.multiply(part, part, square)
        _horner(square, NEAR, value)
        np.multiply(value, part, value)
        places = np.flatnonzero(square >= ONE[x.dtype])
        far = part[places]
        np.add(value, part, result)
        size = np.minimum(np.abs(far), LAST)
        tail = np.empty_like(size)
        _horner(size, FAR, tail)
        np.subtract(ONE[x.dtype], np.exp(tail, tail), tail)
        result[places] = np.copysign(tail, far, tail)
    return out


def _horner(x: np.ndarray, coefficients: Sequence[np.ndarray], out: np.ndarray) -> None:
    """A polynomial, the constant coefficient first."""
    np.multiply(x, coefficients[-1], out)
    for c in coefficients[-2:0:-1]:
        np.multiply(np.add(out, c, out), x, out)
    np.add(out, coefficients[0], out)


def _relu_eval(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    return np.maximum(x, ZERO[x.dtype], out=out)


WRITING = frozenset({_sigmoid_eval, _relu_eval, _erf_eval})
"""Functions of elements that, as NumPy's ufuncs do, write their result to `out`, which may be the operand."""


sigmoid = elementary("sigmoid", _sigmoid_eval, lambda g, node, out, x: g * (out * (1 - out)),
                     error=(1.69, 1.73), cached=by_method, doc="1 / (1 + exp(-x)).",
                     example="sg.sigmoid(sg.tensor([0.0, 2.0])) -> tensor([0.5000, 0.8808])",
                     names=("sigmoid", "special.expit"),
                     complex=OverComplex(
                         "holomorphic", eval=lambda x: 1 / (1 + np.exp(-x)), parts=lambda node, x: parts.sigmoid(x)
                     ))  # fmt: skip
relu = elementwise_op("relu", _relu_eval,
                      lambda g, node, out, x: F.where(out <= 0, 0, saved_with(g, x)), promote=numeric,
                      cached=by_method, doc="max(x, 0); its derivative at 0 is 0 and at NaN 1, NaN stays NaN.",
                      example="sg.relu(sg.tensor([-1.0, 2.0])) -> tensor([0., 2.])")  # fmt: skip
erf = elementary("erf", _erf_eval, lambda g, node, out, x: g * (2 / math.sqrt(math.pi) * F.exp(-x * x)),
                 error=(1.87, 1.46), cached=by_method, doc="The error function.",
                 example="sg.erf(sg.tensor([0.0, 1.0])) -> tensor([0.0000, 0.8427])", names=("erf", "special.erf"),
                 complex=None)  # fmt: skip


def _rounding(name: str, numpy: Callable[..., Any], doc: str, names: tuple[str, ...]) -> OpDef:
    return elementwise_op(
        name, _unless_float(numpy), lambda g, node, out, x: F.zeros_like(x), promote=numeric, names=names, twins=(numpy,),
        doc=f"{doc} Integers stay what they are; raises DTypeError for booleans.",
    )  # fmt: skip


_rounding("floor", np.floor, "Largest integer <= x.", ("floor",))
_rounding("ceil", np.ceil, "Smallest integer >= x.", ("ceil",))
round_op = _rounding("round", np.rint, "Nearest integer, halves to even.", ())

identity = define(
    name="identity",
    stored=True,
    backward="CloneBackward0",
    jvp=linear,
    range=lambda types, attrs, x: x,
    infer=lambda x, row_major=False: x,
    attrs={"row_major": replace(at.flag, optional=True)},
    eval=copied,
    vjp=(lambda g, node, out, x: g,),
    emit=Pointwise("identity"),
    doc="The value itself, as a node of its own: in eager mode a copy in the operand's order of axes, or in row-major order.",
)


def saved_with(g: Any, x: Any) -> Any:
    """A cotangent g that was chosen by the value of x: recorded as a function of x, with derivative 0.

    So are the backward functions of PyTorch that save their input: their gradients can be differentiated again by x.
    """
    return apply(saved_with_op, g, x) if isinstance(g, Operators) else g


saved_with_op = define(
    name="saved_with",
    stored=True,
    batch=leading,
    jvp=linear,
    infer=lambda g, x: g,
    memory="operands",
    eval=lambda g, x: copied(g),
    vjp=(lambda h, node, out, g, x: h, lambda h, node, out, g, x: F.zeros_like(x)),
    emit=Expand(lambda node, g, x: g),
    promote=keep,
    shape_only=(1,),
    doc="The first operand, recorded as a function of the second, whose value is not read.",
)
saving_op = define(
    name="saving",
    stored=True,
    batch=aligned,
    jvp=linear,
    infer=lambda x: x,
    memory="operands",
    eval=copied,
    vjp=(lambda g, node, out, x: saved_with(g, x),),
    emit=Expand(lambda node, x: x),
    promote=keep,
    doc="The value itself, whose gradient is recorded as a function of it.",
)
stop_gradient_op = define(
    name="stop_gradient",
    stored=True,
    complex=OverComplex("linear", parts=lambda node, x: x),
    range=lambda types, attrs, x: x,
    infer=lambda x: x,
    eval=lambda x: x,
    vjp=None,
    emit=Pointwise("identity"),
    memory="shared",
    doc="The value, through which no gradient flows.",
)

# comparison and logic --------------------------------------------------------------------------------------------


def _share(less: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Cotangents of maximum/minimum: none to the operand that lost, half to each at a tie, all to both where one is NaN."""

    def toward(g: Any, mine: Any, other: Any) -> Any:
        loses = getattr(F, less)(mine, other)
        return unbroadcast(F.where(loses, 0, F.where(mine == other, g * 0.5, g)), mine)

    return lambda g, node, out, x, y: toward(g, x, y), lambda g, node, out, x, y: toward(g, y, x)


maximum = elementwise_op("maximum", np.maximum, _share("lt"), promote=arithmetic, inplace=False,
                         cached=by_method, doc="The larger of each pair; NaN if either is. A tie shares its gradient.",
                         example="sg.maximum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0])) -> tensor([3., 5.])")  # fmt: skip
minimum = elementwise_op("minimum", np.minimum, _share("gt"), promote=arithmetic, inplace=False,
                         cached=by_method, doc="The smaller of each pair; NaN if either is. A tie shares its gradient.",
                         example="sg.minimum(sg.tensor([1.0, 5.0]), sg.tensor([3.0, 2.0])) -> tensor([1., 2.])")  # fmt: skip

_COMPARED = {
    "==": OverComplex("linear", parts=lambda node, x, y: F.logical_and(F.eq(x[0], y[0]), F.eq(x[1], y[1]))),
    "!=": OverComplex("linear", parts=lambda node, x, y: F.logical_or(F.ne(x[0], y[0]), F.ne(x[1], y[1]))),
}
for _names, _ufunc, _sign in (
    (("eq",), np.equal, "=="), (("ne", "not_equal"), np.not_equal, "!="), (("lt", "less"), np.less, "<"),
    (("le", "less_equal"), np.less_equal, "<="), (("gt", "greater"), np.greater, ">"),
    (("ge", "greater_equal"), np.greater_equal, ">="),
):  # fmt: skip
    elementwise_op(_names[0], _ufunc, promote=arithmetic, infer=compared, symbol=_sign, names=_names,
                   complex=_COMPARED.get(_sign), doc=f"x {_sign} y elementwise, bool.",
                   cached=by_method)  # fmt: skip

for _logical in (np.logical_and, np.logical_or, np.logical_xor):
    _name = _logical.__name__
    elementwise_op(_name, _logical, promote=boolean, infer=compared, doc=f"numpy.{_name}, bool.", cached=routed)

for _bitwise, _operator in (
    (np.bitwise_and, operator.and_), (np.bitwise_or, operator.or_), (np.bitwise_xor, operator.xor),
):  # fmt: skip
    # the tensor first: its operators check the other operand
    numpy_twin(_bitwise)(lambda x, y, _op=_operator: _op(x, y) if isinstance(x, Operators) else _op(y, x))
numpy_twin(np.invert)(operator.invert)

logical_not = elementwise_op(
    "logical_not",
    np.logical_not,
    promote=boolean,
    doc="not x, bool.",
    example="sg.logical_not(sg.tensor([True, False])) -> tensor([False,  True])",
)
isnan = elementwise_op(
    "isnan",
    np.isnan,
    infer=compared,
    inplace=False,
    doc="Where x is NaN, bool.",
    example='sg.isnan(sg.tensor([1.0, float("nan")])) -> tensor([False,  True])',
    complex=OverComplex("linear", parts=lambda node, x: F.logical_or(F.isnan(x[0]), F.isnan(x[1]))),
)
isfinite = elementwise_op("isfinite", np.isfinite, infer=compared, inplace=False,
                          doc="Where x is neither NaN nor infinite, bool.",
                          example='sg.isfinite(sg.tensor([1.0, float("inf")])) -> tensor([ True, False])',
                          complex=OverComplex(
                              "linear", parts=lambda node, x: F.logical_and(F.isfinite(x[0]), F.isfinite(x[1]))
                          ))  # fmt: skip


def _zero_divisor(node: Node | None, divisor: int) -> DivisionError:
    return DivisionError(
        "ZeroDivisionError: integer division or modulo by zero",
        "give other divisors there, sg.where(y == 0, 1, y), or divide floats",
    )


def _divisor_eval(y: np.ndarray) -> np.ndarray:
    if not y.all():
        raise _zero_divisor(None, 0)
    return y


def _divisor_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call]:
    n, kernel = node.type.size, f"nonzero_{SHORT[node.type.dtype]}"
    return [Routine("positions", kernel, n, (0, 0, 0), n, name="nonzero", chunked=False)]


divisor_op = define(
    name="divisor",
    batch=aligned,
    infer=lambda y: y,
    eval=_divisor_eval,
    vjp=None,
    emit=Native(_divisor_plan, check=_zero_divisor),
    promote=keep,
    doc="Divisors of integers, checked not to be 0.",
)


def _checked(op: OpDef) -> Callable[..., Tensor]:
    """The public function of a division, which checks integer divisors first."""
    plain = binary(op)

    @functools.wraps(plain)
    def function(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
        if (input.__class__ not in ORDINARY or other.__class__ not in ORDINARY) and (
            answer := taken(function, (input, other), {})
        ) is not NOBODY:
            return answer
        kinds = dtype_of(input).kind, dtype_of(other).kind
        if not (set(INEXACT) & set(kinds)) and kinds != ("b", "b"):  # booleans have no division
            if kinds[1] == "b":
                other = astype(other, dtype_of(input))
            if is_scalar(other) or isinstance(other, np.ndarray):
                _divisor_eval(np.asarray(other))
            else:
                other = apply(divisor_op, other)
        return plain(input, other, out=out)

    function.__doc__ = f"{plain.__doc__} Raises DivisionError where integers are divided by 0."
    enter_as(op.name, function, inplace=True)
    numpy_twin(op.eval)(function)
    return function


floor_divide = elementwise_op("floor_divide", np.floor_divide, (
    lambda g, node, out, x, y: F.zeros_like(x), lambda g, node, out, x, y: F.zeros_like(y),
), cost=TRANSCENDENTAL, promote=scaling(numeric), symbol="//", names=(),
   doc="floor(x / y), with NumPy's rules for signs and zero.")  # fmt: skip
remainder = elementwise_op("remainder", np.remainder, (
    lambda g, node, out, x, y: unbroadcast(g, x),
    lambda g, node, out, x, y: unbroadcast(-g * F.floor_divide(x, y), y),
), cost=TRANSCENDENTAL, promote=numeric, symbol="%", names=(), backward=by_number("Remainder"),
   doc="x - y * floor(x / y): the sign of y.")  # fmt: skip
for _op in (floor_divide, remainder):
    _checked(_op)

# casts -----------------------------------------------------------------------------------------------------------


def _cast_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    return g if g.dtype == x.dtype else apply(cast, g, dtype=x.dtype)


with np.errstate(invalid="ignore"):
    LIKE_X86 = int(np.float32(np.nan).astype(np.int32)) == -(2**31)
"""Whether NumPy casts what an integer dtype does not hold as x86 does. On arm64 it depends on the place in the array, too."""


def _cast_eval(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """What an integer dtype does not hold becomes the least integer of 32 bits, or for int64 of 64, cut to the dtype's bits."""
    if not LIKE_X86 and x.dtype.kind in FLOATING and dtype.kind in "iu":
        wide = np.iinfo(np.int64 if dtype.itemsize == 8 else np.int32)
        x = np.where((x > wide.min) & (x < -float(wide.min)), x, wide.min).astype(wide.dtype)
    if dtype.itemsize == 2 and dtype in HALF:  # as PyTorch, by way of float32
        x = x.astype(float32)
    return x.astype(dtype) if x.flags.c_contiguous or 0 not in x.strides else copied(x).astype(dtype)


def _complex_cast_eval(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Of complex numbers, the real parts, unless the dtype is complex or bool."""
    return _cast_eval(x.real if x.dtype.kind == "c" and dtype.kind in "iufV" else x, dtype)


def _stored_cast_eval(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Numbers of 16 bits go by way of float32."""
    return _complex_cast_eval(x.astype(float32) if x.dtype in HALF else x, dtype)


def _cast_parts(node: Any, x: Any) -> Any:
    dtype = node.attrs["dtype"]
    if dtype not in PART_OF:
        return F.logical_or(F.ne(x[0], 0), F.ne(x[1], 0)) if dtype == bool_ else astype(x[0], dtype)
    if x.__class__ is tuple:
        return astype(x[0], PART_OF[dtype]), astype(x[1], PART_OF[dtype])
    re = astype(x, PART_OF[dtype])
    return re, F.zeros_like(re)


def _cast_range(types: Any, attrs: Any, x: Range) -> Range:
    """As before, where the dtype has room for it."""
    if x is None or attrs["dtype"].kind not in "iu":
        return None
    room = np.iinfo(attrs["dtype"])
    return x if room.min <= x[0] and x[1] <= room.max else None


cast = define(
    name="cast",
    backward="ToCopyBackward0",
    jvp=linear,
    range=_cast_range,
    attrs={"dtype": at.dtype},
    infer=lambda x, dtype: x.with_dtype(dtype),
    eval=_cast_eval,
    vjp=(_cast_vjp,),
    emit=Pointwise("cast"),
    promote=keep,
    complex=OverComplex("linear", eval=_stored_cast_eval, parts=_cast_parts),
    stored=_stored_cast_eval,
)

# public functions that check their arguments first ---------------------------------------------------------------


@tensor_method(inplace=True, cached=routed)
@numpy_twin(np.power)
def pow(input: TensorLike, exponent: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent, broadcast. Plain exponents 1, 2, 0.5, -1 take the op made for them.

    Raises DTypeError for negative powers of integers and for booleans.

    Examples:
        >>> sg.pow(sg.tensor([2.0, 3.0]), 2)
        tensor([4., 9.])
    """
    if out is not None:
        return frontends.into(out, "pow", pow, (input, exponent))
    if is_scalar(exponent) and not is_scalar(input):
        keeps = category(scalar_dtype(exponent)) <= category(dtype_of(input))  # 2.0 makes a float of an integer
        if exponent == 2 and keeps:
            return F.square(input)
        if exponent == 1 and keeps and getattr(input, "dtype", bool_) != bool_:
            return apply(saving_op, input)
        if exponent == 0.5:
            return F.sqrt(input)
        if exponent == -1 and getattr(input, "dtype", bool_).kind in INEXACT:
            return F.div(1, input)
    if dtype_of(input).kind in "biu" and dtype_of(exponent).kind == "i":
        if is_scalar(exponent):
            if exponent < 0:  # type: ignore[operator]  # a plain number
                error = _negative_power(None, exponent)  # type: ignore[arg-type]
                raise DTypeError(f"pow: {error.summary}", *error.details)
        else:
            pair = [brought(x) for x in (input, exponent)]
            kind = promote([TensorType((), x.dtype) if isinstance(x, TensorType) else x for x in pair])
            exponent = F.astype(apply(exponent_op, exponent), kind)
    return apply(power, input, exponent)


@numpy_twin(np.float_power)
def _float_power(x: Any, exponent: Any) -> Any:
    """As `pow`, of floats: an integer base becomes the default float."""
    return pow(astype(x, to_float(dtype_of(x))), exponent)


@public
@numpy_twin(np.copy)
def clone(input: TensorLike, *, memory_format: object = None) -> Tensor:
    """A copy of input in memory of its own, in input's order of axes. memory_format: `contiguous_format` or `channels_last`,
    for another order of its elements."""
    if input.__class__ not in ORDINARY:
        given = {} if memory_format is None else {"memory_format": memory_format}
        if (answer := taken(clone, (input,), given)) is not NOBODY:
            return answer
    return apply(identity, input) if memory_format in PRESERVING else in_format(input, memory_format)


@tensor_method()
def astype(x: TensorLike, dtype: DTypeLike) -> Tensor:
    """x in another dtype (float to integer truncates). The gradient is cast back."""
    dtype = as_dtype(dtype)
    given = getattr(x, "dtype", None)
    if given == dtype:
        return x  # type: ignore[return-value]  # an array of that dtype comes back itself
    if given in PART_OF and dtype.kind in "iufV":
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=2)
    return apply(cast, x, dtype=dtype)


@public
def stop_gradient(x: TensorLike) -> Tensor:
    """x, through which no gradient flows (TensorFlow's name; `detach` in PyTorch).

    Examples:
        >>> w = sg.tensor(3.0, requires_grad=True)
        >>> sg.grad(w * sg.stop_gradient(w), w)
        (tensor(3.),)
    """
    if isinstance(x, (Symbol, frontends.tensor_class)):
        return apply(stop_gradient_op, x)
    return x  # type: ignore[return-value]  # an array or number, which has no gradient


@tensor_method(inplace=True, cached=routed)
@numpy_twin(np.reciprocal)
def reciprocal(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """1 / input.

    Examples:
        >>> sg.reciprocal(sg.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500])
    """
    if out is not None:
        return frontends.into(out, "reciprocal", reciprocal, (input,))
    return F.div(1, input)


@torch_function(inplace=True)
@composite
def rsqrt(input: TensorLike) -> Tensor:
    """1 / sqrt(input).

    Examples:
        >>> sg.rsqrt(sg.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500])
    """
    return F.div(1, F.sqrt(input))
