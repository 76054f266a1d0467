"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

from .operators.interface import Functions, Special

airy_ai = Special.airy_ai
bessel_j0 = Special.bessel_j0
bessel_j1 = Special.bessel_j1
bessel_y0 = Special.bessel_y0
bessel_y1 = Special.bessel_y1
chebyshev_polynomial_t = Special.chebyshev_polynomial_t
chebyshev_polynomial_u = Special.chebyshev_polynomial_u
chebyshev_polynomial_v = Special.chebyshev_polynomial_v
chebyshev_polynomial_w = Special.chebyshev_polynomial_w
digamma = Functions.digamma
entr = Special.entr
erf = Functions.erf
erfc = Functions.erfc
erfcx = Special.erfcx
erfinv = Functions.erfinv
exp2 = Functions.exp2
expit = Functions.sigmoid
expm1 = Functions.expm1
gammainc = Functions.igamma
gammaincc = Functions.igammac
gammaln = Functions.lgamma
hermite_polynomial_h = Special.hermite_polynomial_h
hermite_polynomial_he = Special.hermite_polynomial_he
i0 = Functions.i0
i0e = Special.i0e
i1 = Special.i1
i1e = Special.i1e
laguerre_polynomial_l = Special.laguerre_polynomial_l
legendre_polynomial_p = Special.legendre_polynomial_p
log1p = Functions.log1p
log_ndtr = Special.log_ndtr
log_softmax = Functions.log_softmax
logit = Functions.logit
logsumexp = Functions.logsumexp
modified_bessel_i0 = Special.modified_bessel_i0
modified_bessel_i1 = Special.modified_bessel_i1
modified_bessel_k0 = Special.modified_bessel_k0
modified_bessel_k1 = Special.modified_bessel_k1
multigammaln = Functions.mvlgamma
ndtr = Special.ndtr
ndtri = Special.ndtri
polygamma = Functions.polygamma
psi = Functions.digamma
round = Functions.round
scaled_modified_bessel_k0 = Special.scaled_modified_bessel_k0
scaled_modified_bessel_k1 = Special.scaled_modified_bessel_k1
shifted_chebyshev_polynomial_t = Special.shifted_chebyshev_polynomial_t
shifted_chebyshev_polynomial_u = Special.shifted_chebyshev_polynomial_u
shifted_chebyshev_polynomial_v = Special.shifted_chebyshev_polynomial_v
shifted_chebyshev_polynomial_w = Special.shifted_chebyshev_polynomial_w
sinc = Functions.sinc
softmax = Functions.softmax
spherical_bessel_j0 = Special.spherical_bessel_j0
xlog1py = Special.xlog1py
xlogy = Functions.xlogy
zeta = Special.zeta

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
