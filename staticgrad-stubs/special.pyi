"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

from typing import Any

from .ops.operators.annotations import TensorLike
from .ops.operators.interface import Tensor
from .torch_names import digamma as digamma
from .torch_names import digamma as psi
from .torch_names import erf as erf
from .torch_names import erfc as erfc
from .torch_names import erfinv as erfinv
from .torch_names import exp2 as exp2
from .torch_names import expm1 as expm1
from .torch_names import i0 as i0
from .torch_names import igamma as gammainc
from .torch_names import igammac as gammaincc
from .torch_names import lgamma as gammaln
from .torch_names import log1p as log1p
from .torch_names import log_softmax as log_softmax
from .torch_names import logit as logit
from .torch_names import logsumexp as logsumexp
from .torch_names import mvlgamma as multigammaln
from .torch_names import polygamma as polygamma
from .torch_names import round as round
from .torch_names import sigmoid as expit
from .torch_names import sinc as sinc
from .torch_names import softmax as softmax
from .torch_names import xlogy as xlogy

def airy_ai(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Airy's function Ai."""

def bessel_j0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind, of order 0."""

def bessel_j1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the first kind, of order 1."""

def bessel_y0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind, of order 0."""

def bessel_y1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Bessel function of the second kind, of order 1."""

def chebyshev_polynomial_t(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: chebyshev_polynomial_t."""

def chebyshev_polynomial_u(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: chebyshev_polynomial_u."""

def chebyshev_polynomial_v(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: chebyshev_polynomial_v."""

def chebyshev_polynomial_w(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: chebyshev_polynomial_w."""

def entr(input: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """-x log(x), 0 at 0, minus infinity below."""

def erfcx(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """exp(x**2) erfc(x)."""

def hermite_polynomial_h(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: hermite_polynomial_h."""

def hermite_polynomial_he(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: hermite_polynomial_he."""

def i0e(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """i0(x) exp(-|x|)."""

def i1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of order 1."""

def i1e(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """i1(x) exp(-|x|)."""

def laguerre_polynomial_l(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: laguerre_polynomial_l."""

def legendre_polynomial_p(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: legendre_polynomial_p."""

def log_ndtr(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """log(ndtr(x))."""

def modified_bessel_i0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 0."""

def modified_bessel_i1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the first kind, of order 1."""

def modified_bessel_k0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind, of order 0."""

def modified_bessel_k1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Modified Bessel function of the second kind, of order 1."""

def ndtr(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The standard normal distribution function."""

def ndtri(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `ndtr`."""

def scaled_modified_bessel_k0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """k0(x) exp(x)."""

def scaled_modified_bessel_k1(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """k1(x) exp(x)."""

def shifted_chebyshev_polynomial_t(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: shifted_chebyshev_polynomial_t."""

def shifted_chebyshev_polynomial_u(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: shifted_chebyshev_polynomial_u."""

def shifted_chebyshev_polynomial_v(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: shifted_chebyshev_polynomial_v."""

def shifted_chebyshev_polynomial_w(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """The polynomial of degree n at x: shifted_chebyshev_polynomial_w."""

def spherical_bessel_j0(input: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """sin(x) / x."""

def xlog1py(input: Any, other: Any, *, out: Tensor | tuple[Tensor, ...] | None = None) -> Tensor:
    """input * log1p(other), 0 where `input` is 0 unless `other` is NaN."""

def zeta(input: TensorLike, other: TensorLike, *, out: Tensor | None = None) -> Tensor:
    """Hurwitz's zeta function."""

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit",
    "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1", "i1e",
    "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri",
    "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax",
    "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
