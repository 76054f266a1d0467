"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

from typing import Any

from .base.types import DTypeLike
from .ops.operators.interface import Tensor

def fft(
    input: Any,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The discrete Fourier transform along `dim`, of n elements: cut, or with zeros after them. norm: 'backward' scales
    the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError
    for a wrong kind of numbers."""

def fft2(
    input: Any,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
) -> Tensor:
    """The discrete Fourier transform along the last two axes, or `dim`, of `s` elements. norm: 'backward' scales the
    inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a
    wrong kind of numbers."""

def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the transform of n points that lie d apart, (n,): 0, the positive ones, the negative ones."""

def fftn(
    input: Any,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The discrete Fourier transform along all axes, or `dim`, of `s` elements. norm: 'backward' scales the inverse by
    1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind
    of numbers."""

def fftshift(
    input: Any,
    dim: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The frequencies in ascending order: 0 goes to the middle, along all axes or `dim`."""

def hfft(
    input: Any,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The transform of signals that are the conjugates of themselves reversed, of which half is given, along `dim`, of n
    elements: cut, or with zeros after them. norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform,
    'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind of numbers."""

def hfft2(
    input: Any,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
) -> Tensor:
    """The transform of signals that are the conjugates of themselves reversed, of which half is given, along the last two
    axes, or `dim`, of `s` elements. norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho'
    both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind of numbers."""

def hfftn(
    input: Any,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The transform of signals that are the conjugates of themselves reversed, of which half is given, along all axes, or
    `dim`, of `s` elements. norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by
    1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind of numbers."""

def ifft(
    input: Any,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The inverse of the discrete Fourier transform along `dim`, of n elements: cut, or with zeros after them. norm:
    'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError,
    and DTypeError for a wrong kind of numbers."""

def ifft2(
    input: Any,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
) -> Tensor:
    """The inverse of the discrete Fourier transform along the last two axes, or `dim`, of `s` elements. norm: 'backward'
    scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and
    DTypeError for a wrong kind of numbers."""

def ifftn(
    input: Any,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The inverse of the discrete Fourier transform along all axes, or `dim`, of `s` elements. norm: 'backward' scales the
    inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a
    wrong kind of numbers."""

def ifftshift(
    input: Any,
    dim: Any = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The inverse of `fftshift`."""

def ihfft(
    input: Any,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The inverse of `hfft` along `dim`, of n elements: cut, or with zeros after them. norm: 'backward' scales the inverse
    by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong
    kind of numbers."""

def ihfft2(
    input: Any,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
) -> Tensor:
    """The inverse of `hfft` along the last two axes, or `dim`, of `s` elements. norm: 'backward' scales the inverse by
    1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind
    of numbers."""

def ihfftn(
    input: Any,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The inverse of `hfft` along all axes, or `dim`, of `s` elements. norm: 'backward' scales the inverse by 1/n,
    'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind of
    numbers."""

def irfft(
    input: Any,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The inverse of `rfft`: the real signals of half spectra along `dim`, of n elements: cut, or with zeros after them.
    norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises
    ArgumentError, and DTypeError for a wrong kind of numbers."""

def irfft2(
    input: Any,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
) -> Tensor:
    """The inverse of `rfft`: the real signals of half spectra along the last two axes, or `dim`, of `s` elements. norm:
    'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError,
    and DTypeError for a wrong kind of numbers."""

def irfftn(
    input: Any,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The inverse of `rfft`: the real signals of half spectra along all axes, or `dim`, of `s` elements. norm: 'backward'
    scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n). Raises ArgumentError, and
    DTypeError for a wrong kind of numbers."""

def rfft(
    input: Any,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: int = -1,
) -> Tensor:
    """The transform of real signals, without the half that is the conjugate of the other, along `dim`, of n elements: cut,
    or with zeros after them. norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by
    1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind of numbers."""

def rfft2(
    input: Any,
    s: Any = None,
    dim: Any = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = (-2, -1),
) -> Tensor:
    """The transform of real signals, without the half that is the conjugate of the other, along the last two axes, or
    `dim`, of `s` elements. norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by
    1/sqrt(n). Raises ArgumentError, and DTypeError for a wrong kind of numbers."""

def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DTypeLike | None = None,
    requires_grad: bool = False,
    device: Any = None,
    layout: Any = None,
    out: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """The frequencies of the half spectrum of n real points that lie d apart, (n // 2 + 1,)."""

def rfftn(
    input: Any,
    s: Any = None,
    dim: Any = None,
    norm: str | None = None,
    *,
    out: Tensor | tuple[Tensor, ...] | None = None,
    axis: Any = None,
) -> Tensor:
    """The transform of real signals, without the half that is the conjugate of the other, along all axes, or `dim`, of `s`
    elements. norm: 'backward' scales the inverse by 1/n, 'forward' the forward transform, 'ortho' both by 1/sqrt(n).
    Raises ArgumentError, and DTypeError for a wrong kind of numbers."""

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
    "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip
