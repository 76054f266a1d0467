"""`sg.special`: PyTorch's special functions. Those that SciPy computes run on the host."""

from __future__ import annotations

from .operators import F
from .ops.host_functions import SPECIAL

# names ----------------------------------------------------------------------------------------------------------------

airy_ai = SPECIAL["airy_ai"]
bessel_j0 = SPECIAL["bessel_j0"]
bessel_j1 = SPECIAL["bessel_j1"]
bessel_y0 = SPECIAL["bessel_y0"]
bessel_y1 = SPECIAL["bessel_y1"]
chebyshev_polynomial_t = SPECIAL["chebyshev_polynomial_t"]
chebyshev_polynomial_u = SPECIAL["chebyshev_polynomial_u"]
chebyshev_polynomial_v = SPECIAL["chebyshev_polynomial_v"]
chebyshev_polynomial_w = SPECIAL["chebyshev_polynomial_w"]
entr = SPECIAL["entr"]
erfcx = SPECIAL["erfcx"]
hermite_polynomial_h = SPECIAL["hermite_polynomial_h"]
hermite_polynomial_he = SPECIAL["hermite_polynomial_he"]
i0e = SPECIAL["i0e"]
i1 = SPECIAL["i1"]
i1e = SPECIAL["i1e"]
laguerre_polynomial_l = SPECIAL["laguerre_polynomial_l"]
legendre_polynomial_p = SPECIAL["legendre_polynomial_p"]
log_ndtr = SPECIAL["log_ndtr"]
modified_bessel_i0 = SPECIAL["modified_bessel_i0"]
modified_bessel_i1 = SPECIAL["modified_bessel_i1"]
modified_bessel_k0 = SPECIAL["modified_bessel_k0"]
modified_bessel_k1 = SPECIAL["modified_bessel_k1"]
ndtr = SPECIAL["ndtr"]
ndtri = SPECIAL["ndtri"]
scaled_modified_bessel_k0 = SPECIAL["scaled_modified_bessel_k0"]
scaled_modified_bessel_k1 = SPECIAL["scaled_modified_bessel_k1"]
shifted_chebyshev_polynomial_t = SPECIAL["shifted_chebyshev_polynomial_t"]
shifted_chebyshev_polynomial_u = SPECIAL["shifted_chebyshev_polynomial_u"]
shifted_chebyshev_polynomial_v = SPECIAL["shifted_chebyshev_polynomial_v"]
shifted_chebyshev_polynomial_w = SPECIAL["shifted_chebyshev_polynomial_w"]
spherical_bessel_j0 = SPECIAL["spherical_bessel_j0"]
xlog1py = SPECIAL["xlog1py"]
zeta = SPECIAL["zeta"]
digamma = F.digamma
erf = F.erf
erfc = F.erfc
erfinv = F.erfinv
exp2 = F.exp2
expm1 = F.expm1
i0 = F.i0
log1p = F.log1p
log_softmax = F.log_softmax
logit = F.logit
logsumexp = F.logsumexp
polygamma = F.polygamma
round = F.round
sinc = F.sinc
softmax = F.softmax
xlogy = F.xlogy
expit = F.sigmoid
gammaln = F.lgamma
gammainc = F.igamma
gammaincc = F.igammac
psi = F.digamma
multigammaln = F.mvlgamma

__all__ = [
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "chebyshev_polynomial_t", "chebyshev_polynomial_u",
    "chebyshev_polynomial_v", "chebyshev_polynomial_w", "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2",
    "expit", "expm1", "gammainc", "gammaincc", "gammaln", "hermite_polynomial_h", "hermite_polynomial_he", "i0", "i0e", "i1",
    "i1e", "laguerre_polynomial_l", "legendre_polynomial_p", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1", "multigammaln", "ndtr", "ndtri",
    "polygamma", "psi", "round", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "sinc", "softmax",
    "spherical_bessel_j0", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
