"""Fourier transforms: three records, and PyTorch's functions of them. Lengths without large prime factors have a kernel
(`compiler/kernels/fourier.py`); SciPy computes others.

Transforms are linear, so their gradients are transforms: the adjoint of a forward transform is the inverse one with the scale
of the forward one, and that of a transform between real signals and half spectra sums over the half that is left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.dtypes import COMPLEX_OF, PART_OF, SHORT
from ..base.interpreter import module
from ..base.types import TensorType, normalize_axis, part_dtype, shape_text, to_float
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import Attribute, Call, Layout, Native, Node, OpDef, Routine, Scratch, define
from . import rules as at
from .complex_numbers import complex_dtype
from .indexing import cut
from .operands import dtype_of, extent, integer, ndim_of, operand
from .operators import F, Operators, Tensor, apply, as_array, spelled, state, torch_function
from .over_complex import OWN
from .padding import pad
from .rules import linear

FFT: dict[str, Callable[..., Any]] = {}
"""The functions of `staticgrad.fft`."""
ADJOINT = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm under which the opposite transform has the same scale."""

norm_name = Attribute("backward, ortho or forward", lambda value, types: value in ADJOINT)

# records ----------------------------------------------------------------------------------------------------------------


def _scipy(name: str, x: np.ndarray, *args: Any, **named: Any) -> np.ndarray:
    return getattr(module("scipy.fft"), name)(x, *args, **named)


FORWARD, INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")
"""By which power of the root of n a transform divides."""
LANES, FEW, LONGEST, LARGEST = 16, 4, 1 << 13, 31
"""Lines that a kernel transforms together, and fewer of which it takes one by one; the longest of which many stay in the cache;
the largest prime factor of a length with a kernel."""


def radices(n: int) -> list[int] | None:
    """The stages of a transform of n numbers; None where a factor is too large for one."""
    found: list[int] = []
    for radix in (4, 2, 3, 5, *range(7, LARGEST + 1, 2)):
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return found if n == 1 else None


def _lines(node: Node, axis: int, n: int, kind: int, inverse: bool, again: bool = False) -> Routine | None:
    """The transforms of n numbers along an axis, by a kernel; None where there is none."""
    dtype = part_dtype(node.type.dtype)
    shape = node.inputs[0].type.shape
    inner = math.prod(shape[axis + 1 :])
    lines = math.prod(shape[:axis]) * inner
    m = n // 2 if kind and n % 2 == 0 else n
    stages = radices(m)
    if stages is None:
        return None
    lanes = LANES if lines >= FEW and n <= LONGEST else 1
    divisor = (INVERSE if inverse else FORWARD).index(node.attrs["norm"])
    sizes = n, inner, m, kind, int(inverse), divisor, len(stages), *stages
    work = lines * m * (4 + 2 * sum(stages))
    scratch = *[Scratch(m * lanes, dtype)] * 4, Scratch(2 * n, dtype)
    name = f"{'again' if again else 'lines'}_{SHORT[dtype]}_{lanes}"
    operands = () if again else None
    return Routine("fourier", name, lines, sizes, work, scratch, name=node.op.name, operands=operands)


def _c2c_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    """One axis after the other, all but the first in the memory of the result."""
    shape, calls = node.type.shape, list[Call]()
    for axis in node.attrs["axes"]:
        call = _lines(node, axis, shape[axis], 0, node.attrs["inverse"], again=bool(calls))
        if call is None:
            return None
        calls.append(call)
    return calls


def _c2c_infer(x: TensorType, axes: tuple[int, ...], inverse: bool, norm: str) -> TensorType:
    if x.dtype not in PART_OF:
        raise DTypeError(f"expected complex numbers, got {x.dtype}")
    return x


def _c2c_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    a = node.attrs
    return apply(c2c_op, g, axes=a["axes"], inverse=not a["inverse"], norm=ADJOINT[a["norm"]])


c2c_op: OpDef = define(
    name="fft_c2c",
    attrs={"axes": at.axes_of(0), "inverse": at.flag, "norm": norm_name},
    infer=_c2c_infer,
    eval=lambda x, axes, inverse, norm: _scipy("ifftn" if inverse else "fftn", x, axes=axes, norm=norm),
    emit=Native(_c2c_plan),
    vjp=(_c2c_vjp,),
    jvp=linear,
    complex=OWN,
    backward="FftC2CBackward0",
    fails=False,
    doc="The discrete Fourier transform of complex signals along `axes`.",
)


def _half(n: Any) -> Any:
    return None if n is None else n // 2 + 1


def _r2c_infer(x: TensorType, axis: int, norm: str) -> TensorType:
    if x.dtype not in COMPLEX_OF:
        raise DTypeError(f"expected float32 or float64, got {x.dtype}")
    shape = (*x.shape[:axis], _half(x.shape[axis]), *x.shape[axis + 1 :])
    return TensorType(shape, COMPLEX_OF[x.dtype])


def _halved(x: Any, axis: int, n: int, factor: float) -> Any:
    """A half spectrum times a factor where a number stands for its conjugate, too."""
    times = np.full(n // 2 + 1, factor, part_dtype(x.dtype))
    times[0] = 1
    if n % 2 == 0:
        times[-1] = 1
    return x * times.reshape(-1, *[1] * (ndim_of(x) - axis - 1))


def _r2c_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The real part of the adjoint of the whole transform, whose cotangent is 0 in the half that was left out: the transform of
    half the spectrum that has this half."""
    axis, n = node.attrs["axis"], extent("rfft", x, node.attrs["axis"])
    return apply(c2r_op, _halved(g, axis, n, 0.5), axis=axis, n=n, norm=ADJOINT[node.attrs["norm"]])


def _r2c_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    axis = node.attrs["axis"]
    call = _lines(node, axis, node.inputs[0].type.shape[axis], 1, False)
    return None if call is None else [call]


r2c_op: OpDef = define(
    name="fft_r2c",
    attrs={"axis": at.axis_of(0), "norm": norm_name},
    infer=_r2c_infer,
    eval=lambda x, axis, norm: _scipy("rfft", x, axis=axis, norm=norm),
    emit=Native(_r2c_plan),
    vjp=(_r2c_vjp,),
    jvp=linear,
    complex=OWN,
    backward="FftR2CBackward0",
    fails=False,
    doc="The first half of the transform of real signals along `axis`; the other half is its conjugate.",
)


def _c2r_infer(x: TensorType, axis: int, n: int, norm: str) -> TensorType:
    if x.dtype not in PART_OF:
        raise DTypeError(f"expected complex numbers, got {x.dtype}")
    return TensorType((*x.shape[:axis], n, *x.shape[axis + 1 :]), PART_OF[x.dtype])


def _c2r_vjp(g: Any, node: Any, out: Any, x: Any) -> Any:
    """The transform of the cotangent, twice where a number of the half spectrum stands for its conjugate, too."""
    axis, n = node.attrs["axis"], node.attrs["n"]
    return _halved(apply(r2c_op, g, axis=axis, norm=ADJOINT[node.attrs["norm"]]), axis, n, 2)


def _c2r_plan(node: Node, layouts: Sequence[Layout]) -> Sequence[Call] | None:
    axis, n = node.attrs["axis"], node.attrs["n"]
    call = _lines(node, axis, n, 2, True) if node.inputs[0].type.shape[axis] == n // 2 + 1 else None
    return None if call is None else [call]


c2r_op: OpDef = define(
    name="fft_c2r",
    attrs={"axis": at.axis_of(0), "n": at.integer(1), "norm": norm_name},
    infer=_c2r_infer,
    eval=lambda x, axis, n, norm: _scipy("irfft", x, n, axis=axis, norm=norm),
    emit=Native(_c2r_plan),
    vjp=(_c2r_vjp,),
    jvp=linear,
    complex=OWN,
    backward="FftC2RBackward0",
    fails=False,
    doc="The real signals of n elements along `axis` with these halves of their transforms: the inverse of `fft_r2c`.",
)

# arguments --------------------------------------------------------------------------------------------------------------


def fitted(x: Any, axis: int, n: int) -> Any:
    """x with n elements along an axis: the first ones, or all with zeros after them."""
    have = extent("fft", x, axis)
    if have == n:
        return x
    if have > n:
        return cut(x, axis, 0, n)
    shape = tuple(n - have if a == axis else extent("fft", x, a) for a in range(ndim_of(x)))
    return F.concatenate([x, np.zeros(shape, x.dtype)], axis)


def _norm(name: str, norm: str | None) -> str:
    norm = "backward" if norm is None else norm
    if norm not in ADJOINT:
        raise ArgumentError(f'{name}: Invalid normalization mode: "{norm}"', "use 'backward', 'ortho' or 'forward'")
    return norm


def _points(name: str, n: Any) -> int:
    count = integer(name, "n", n)
    if count < 1:
        raise ArgumentError(f"{name}: Invalid number of data points ({count}) specified")
    return count


def _complex(x: Any) -> Any:
    """An operand in the complex dtype of its precision."""
    return F.astype(x if isinstance(x, Operators) else as_array(x), complex_dtype(x))


def _real(name: str, x: Any) -> Any:
    if dtype_of(x) in PART_OF:
        raise DTypeError(f"{name} expects a real input tensor, but got {dtype_of(x)}", "use x.real, or the complex transform")
    return F.astype(operand(x), to_float(dtype_of(x)))


def _axes(name: str, x: Any, s: Any, dim: Any, some: bool = False) -> tuple[list[int], list[int | None]]:
    """The axes that are transformed, and their extents; None for those of x. some: at least one."""
    n = ndim_of(x)
    if dim is None:
        axes = list(range(n)) if s is None else list(range(n - len(s), n))
        if s is not None and len(s) > n:
            raise ArgumentError(f"{name}: Got shape with {len(s)} values but input tensor only has {n} dimensions.")
    else:
        axes = [normalize_axis(a, n) for a in ((dim,) if isinstance(dim, int) else dim)]
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{name}: FFT dims must be unique")
    sizes: list[int | None] = [None] * len(axes) if s is None else [None if d == -1 else _points(name, d) for d in s]
    if len(sizes) != len(axes):
        raise ArgumentError(f"{name}: When given, dim and shape arguments must have the same length")
    if not axes and some:
        raise ArgumentError(f"{name} must transform at least one axis")
    return axes, sizes


def _resized(x: Any, axes: Sequence[int], sizes: Sequence[int | None]) -> Any:
    for axis, size in zip(axes, sizes, strict=True):
        x = x if size is None else fitted(x, axis, size)
    return x


def _transformed(x: Any, axes: Sequence[int], inverse: bool, norm: str) -> Tensor:
    result: Tensor = x
    return apply(c2c_op, x, axes=tuple(sorted(axes)), inverse=inverse, norm=norm) if axes else result


# transforms along several axes ------------------------------------------------------------------------------------------


def _c2c(name: str, x: Any, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    axes, sizes = _axes(name, x, s, dim)
    return _transformed(_resized(_complex(x), axes, sizes), axes, inverse, _norm(name, norm))


def _r2c(name: str, x: Any, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    """Of real signals: the last axis gives half a spectrum. inverse: `ihfft`, the conjugate of the half of the forward one."""
    x, scale = _real(name, x), _norm(name, norm)
    axes, sizes = _axes(name, x, s, dim, True)
    x = _resized(x, axes, sizes)
    if inverse:
        half = F.conj(apply(r2c_op, x, axis=axes[-1], norm=ADJOINT[scale]))
    else:
        half = apply(r2c_op, x, axis=axes[-1], norm=scale)
    return _transformed(half, axes[:-1], inverse, scale)


def _c2r(name: str, x: Any, s: Any, dim: Any, norm: Any, inverse: bool) -> Tensor:
    """To real signals; the last axis holds half a spectrum. forward: `hfft`, the inverse one of the conjugate."""
    x, scale = _complex(x), _norm(name, norm)
    axes, sizes = _axes(name, x, s, dim, True)
    have = 2 * (extent(name, x, axes[-1]) - 1) if sizes[-1] is None else sizes[-1]
    n = _points(name, have)
    x = _transformed(_resized(x, axes, [*sizes[:-1], n // 2 + 1]), axes[:-1], inverse, scale)
    x, scale = (x, scale) if inverse else (F.conj(x), ADJOINT[scale])
    return apply(c2r_op, x, axis=axes[-1], n=n, norm=scale)


AXES = {"axes": "dim"}
"""NumPy's name of several axes."""


def _family(stem: str, transform: Callable[..., Tensor], inverse: bool, doc: str) -> None:
    """`stem` along one axis, `stem2` along the last two, `stemn` along several."""
    one, two, several = stem, f"{stem}2", f"{stem}n"

    def along(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        return transform(one, input, None if n is None else (_points(one, n),), (dim,), norm, inverse)

    def plane(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
        return transform(two, input, s, dim, norm, inverse)

    def space(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
        return transform(several, input, s, dim, norm, inverse)

    sizes = "norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n)."
    for name, function, where, words in (
        (one, along, "along `dim`, of n elements: cut, or with zeros after them", {}),
        (two, plane, "along the last two axes, or `dim`, of `s` elements", AXES),
        (several, space, "along all axes, or `dim`, of `s` elements", AXES),
    ):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"{doc} {where}. {sizes} Raises ArgumentError, and DTypeError for a wrong kind of numbers."
        FFT[name] = spelled(function, words)


_family("fft", _c2c, False, "The discrete Fourier transform")
_family("ifft", _c2c, True, "The inverse of the discrete Fourier transform")
_family("rfft", _r2c, False, "The transform of real signals, without the half that is the conjugate of the other,")
_family("irfft", _c2r, True, "The inverse of `rfft`: the real signals of half spectra")
_family("hfft", _c2r, False, "The transform of signals that are the conjugates of themselves reversed, of which half is given,")
_family("ihfft", _r2c, True, "The inverse of `hfft`")


def transform(name: str, x: Any, orthonormal: bool, n: int | None = None) -> Any:
    """One of these transforms along the last axis."""
    return FFT[name](x, n, -1, "ortho" if orthonormal else "backward")


# frequencies ------------------------------------------------------------------------------------------------------------


def _shift(name: str, sign: int, doc: str) -> None:
    def function(input: Any, dim: Any = None) -> Tensor:
        n = ndim_of(input)
        axes = list(range(n)) if dim is None else [normalize_axis(a, n) for a in ((dim,) if isinstance(dim, int) else dim)]
        halves = [extent(name, input, a) // 2 if sign > 0 else -(extent(name, input, a) // 2) for a in axes]
        return F.roll(input, halves, axes) if axes else input

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    FFT[name] = spelled(function, AXES)


_shift("fftshift", 1, "The frequencies in ascending order: 0 goes to the middle, along all axes or `dim`.")
_shift("ifftshift", -1, "The inverse of `fftshift`.")


# short-time Fourier transforms: windows of a signal, one transform each, and the signal from them --------------------

LEAST = 1e-11
"""The least sum of squared windows that a signal is divided by."""


def _lengths(name: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    n = integer(name, "n_fft", n_fft)
    hop = n // 4 if hop_length is None else integer(name, "hop_length", hop_length)
    width = n if win_length is None else integer(name, "win_length", win_length)
    if hop <= 0:
        raise ArgumentError(f"{name}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n:
        raise ArgumentError(f"{name}: expected 0 < win_length <= n_fft, but got win_length={width}")
    return n, hop, width


def _window(name: str, window: Any, width: int, n: int, dtype: np.dtype) -> Any:
    """The window in the middle of n elements; None for one of n ones."""
    if window is None:
        if width == n:
            return None
        window = np.ones(width, part_dtype(dtype))
    elif tuple(window.shape) != (width,):
        raise ShapeError(
            f"{name}: expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{shape_text(window.shape)}"
        )
    before = (n - width) // 2
    return pad(window, (before, n - width - before)) if width < n else window


@torch_function()
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The transforms of windows of `n_fft` elements every `hop_length` (n_fft // 4), frequencies before windows.

    input: (length,) or (batch, length); the result (..., n, windows), where n is n_fft // 2 + 1 if it is onesided. window:
    factors of `win_length` elements. center: the signal gets n_fft // 2 elements more at its ends. Raises ArgumentError,
    ShapeError.
    """
    n, hop, width = _lengths("stft", n_fft, hop_length, win_length)
    if align_to_window is not None:
        raise ArgumentError("stft: align_to_window is not supported", "pad the signal with functional.pad")
    if ndim_of(input) not in (1, 2):
        raise ShapeError(f"stft: expected a 1D or 2D tensor, got shape {shape_text(input.shape)}")
    is_complex = dtype_of(input) in PART_OF or (window is not None and dtype_of(window) in PART_OF)
    if return_complex is None and not is_complex:
        raise ArgumentError("stft requires the return_complex parameter be given for real inputs", "give return_complex=True")
    onesided = not is_complex if onesided is None else bool(onesided)
    if onesided and is_complex:
        raise ArgumentError("stft: Cannot have onesided output if window or input is complex")
    x = input
    if center:
        x = pad(F.reshape(x, (1, -1, extent("stft", x, -1))), (n // 2, n // 2), pad_mode)
        x = F.reshape(x, (*input.shape[:-1], extent("stft", x, -1)))
    length = extent("stft", x, -1)
    if not 0 < n <= length:
        raise ArgumentError(f"stft: expected 0 < n_fft <= {length}, but got n_fft={n}")
    frames = F.unfold(x, -1, n, hop)
    factors = _window("stft", window, width, n, dtype_of(x))
    frames = frames if factors is None else frames * factors
    out = F.swapaxes(transform("rfft" if onesided else "fft", frames, normalized), -1, -2)
    return F.view_as_real(out) if return_complex is False else out


def _added(frames: Any, hop: int, length: int) -> Any:
    """Frames (batch, number, n) added where they overlap: (batch, length)."""
    batch, number, n = (extent("istft", frames, axis) for axis in range(3))
    places = (np.arange(number)[:, None] * hop + np.arange(n)).reshape(-1)
    return F.index_add(np.zeros((batch, length), dtype_of(frames)), 1, places, F.reshape(frames, (batch, number * n)))


@torch_function()
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal of `stft`'s result, by least squares: real unless `return_complex`. length: of the signal, which zeros fill.

    Raises DTypeError for real numbers, ShapeError, and ArgumentError where windows leave a gap.
    """
    n, hop, width = _lengths("istft", n_fft, hop_length, win_length)
    if dtype_of(input) not in PART_OF:
        raise DTypeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if ndim_of(input) not in (2, 3):
        raise ShapeError(f"istft: expected a tensor with 2 or 3 dimensions, got shape {shape_text(input.shape)}")
    have = extent("istft", input, -2)
    onesided = have != n if onesided is None else bool(onesided)
    if have != (n // 2 + 1 if onesided else n):
        raise ShapeError(f"istft: the frequency dimension is {have} of n_fft={n}, which does not fit onesided={onesided}")
    if return_complex and onesided:
        raise ArgumentError("istft: cannot have onesided input and complex output")
    x = F.swapaxes(input if ndim_of(input) == 3 else F.expand_dims(input, 0), 1, 2)
    total = n + hop * (extent("istft", x, 1) - 1)
    if return_complex:
        frames = transform("ifft", x, normalized)
    else:
        frames = transform("irfft", cut(x, 2, 0, n // 2 + 1), normalized, n)
    factors = _window("istft", window, width, n, dtype_of(frames))
    factors = np.ones(n, part_dtype(dtype_of(frames))) if factors is None else factors
    signal = _added(frames * factors, hop, total)
    squares = F.broadcast_to(F.square(factors), (1, extent("istft", x, 1), n))
    envelope = _added(squares, hop, total)
    start = n // 2 if center else 0
    stop = start + integer("istft", "length", length) if length is not None else total - start
    signal, envelope = cut(signal, 1, start, min(stop, total)), cut(envelope, 1, start, min(stop, total))
    _check_gaps(envelope)
    signal = signal / envelope
    if stop > total:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail.",
            UserWarning,
            stacklevel=3,
        )
        signal = fitted(signal, 1, stop - start)
    return signal if ndim_of(input) == 3 else F.squeeze(signal, 0)


def _check_gaps(envelope: Any) -> None:
    """Raises ArgumentError where nothing of the signal is known; of a tensor that has no value yet, nothing is."""
    if state.tracer is not None or state.deferral is not None:
        return
    values = envelope if isinstance(envelope, np.ndarray) else getattr(envelope, "_data", None)
    if values is not None and values.size and np.abs(values).min() <= LEAST:
        raise ArgumentError("istft: window overlap add min: 0", "choose a window and a hop_length whose windows overlap")
