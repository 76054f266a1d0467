"""PyTorch's names of functions beside those of `functions.py`, each bound by name so that tools can follow it.

They are made in `ops/`, next to their records, and in `eager/generator.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .eager import Tensor as EagerTensor
from .eager import windows
from .operators import F, Tensor

assert EagerTensor is not None, "importing the eager front end enters the functions that draw"
assert windows is not None

absolute = F.absolute
acos = F.acos
acosh = F.acosh
addbmm = F.addbmm
addcdiv = F.addcdiv
addcmul = F.addcmul
addmm = F.addmm
addmv = F.addmv
addr = F.addr
adjoint = F.adjoint
alias_copy = F.alias_copy
allclose = F.allclose
amax = F.amax
amin = F.amin
aminmax = F.aminmax
angle = F.angle
arccos = F.arccos
arccosh = F.arccosh
arcsin = F.arcsin
arcsinh = F.arcsinh
arctan = F.arctan
arctan2 = F.arctan2
arctanh = F.arctanh
argsort = F.argsort
argwhere = F.argwhere
as_strided = F.as_strided
as_strided_copy = F.as_strided_copy
as_strided_scatter = F.as_strided_scatter
asin = F.asin
asinh = F.asinh
atan2 = F.atan2
atanh = F.atanh
atleast_1d = F.atleast_1d
atleast_2d = F.atleast_2d
atleast_3d = F.atleast_3d
baddbmm = F.baddbmm
bartlett_window = F.bartlett_window
bernoulli = F.bernoulli
bincount = F.bincount
binomial = F.binomial
bitwise_and = F.bitwise_and
bitwise_left_shift = F.bitwise_left_shift
bitwise_not = F.bitwise_not
bitwise_or = F.bitwise_or
bitwise_right_shift = F.bitwise_right_shift
bitwise_xor = F.bitwise_xor
blackman_window = F.blackman_window
block_diag = F.block_diag
bmm = F.bmm
broadcast_shapes = F.broadcast_shapes
broadcast_tensors = F.broadcast_tensors
bucketize = F.bucketize
cartesian_prod = F.cartesian_prod
cat = F.cat
cdist = F.cdist
chain_matmul = F.chain_matmul
cholesky = F.cholesky
cholesky_inverse = F.cholesky_inverse
cholesky_solve = F.cholesky_solve
chunk = F.chunk
clamp_max = F.clamp_max
clamp_min = F.clamp_min
column_stack = F.column_stack
combinations = F.combinations
concat = F.concat
conj = F.conj
conj_physical = F.conj_physical
copysign = F.copysign
corrcoef = F.corrcoef
count_nonzero = F.count_nonzero
cov = F.cov
cross = F.cross
cummax = F.cummax
cummin = F.cummin
cumprod = F.cumprod
cumulative_trapezoid = F.cumulative_trapezoid
deg2rad = F.deg2rad
det = F.det
diag = F.diag
diag_embed = F.diag_embed
diagflat = F.diagflat
diagonal = F.diagonal
diagonal_copy = F.diagonal_copy
diagonal_scatter = F.diagonal_scatter
diff = F.diff
digamma = F.digamma
dist = F.dist
divide = F.divide
dsplit = F.dsplit
dstack = F.dstack
empty_like = F.empty_like
equal = F.equal
erfc = F.erfc
erfinv = F.erfinv
expand_as = F.expand_as
expand_copy = F.expand_copy
fill = F.fill
fix = F.fix
fliplr = F.fliplr
flipud = F.flipud
float_power = F.float_power
fmax = F.fmax
fmin = F.fmin
fmod = F.fmod
frac = F.frac
frexp = F.frexp
full_like = F.full_like
gather = F.gather
gcd = F.gcd
ger = F.ger
gradient = F.gradient
greater = F.greater
greater_equal = F.greater_equal
hamming_window = F.hamming_window
hann_window = F.hann_window
heaviside = F.heaviside
histc = F.histc
histogram = F.histogram
histogramdd = F.histogramdd
hsplit = F.hsplit
hstack = F.hstack
hypot = F.hypot
i0 = F.i0
igamma = F.igamma
igammac = F.igammac
index_copy = F.index_copy
index_fill = F.index_fill
index_put = F.index_put
index_reduce = F.index_reduce
index_select = F.index_select
inner = F.inner
inverse = F.inverse
isclose = F.isclose
isin = F.isin
isinf = F.isinf
isneginf = F.isneginf
isposinf = F.isposinf
isreal = F.isreal
kaiser_window = F.kaiser_window
kron = F.kron
kthvalue = F.kthvalue
lcm = F.lcm
ldexp = F.ldexp
lerp = F.lerp
less = F.less
less_equal = F.less_equal
lgamma = F.lgamma
log10 = F.log10
logaddexp = F.logaddexp
logaddexp2 = F.logaddexp2
logcumsumexp = F.logcumsumexp
logdet = F.logdet
logit = F.logit
lu = F.lu
lu_solve = F.lu_solve
lu_unpack = F.lu_unpack
masked_scatter = F.masked_scatter
masked_select = F.masked_select
matrix_exp = F.matrix_exp
matrix_power = F.matrix_power
median = F.median
meshgrid = F.meshgrid
mm = F.mm
mode = F.mode
moveaxis = F.moveaxis
movedim = F.movedim
msort = F.msort
multinomial = F.multinomial
multiply = F.multiply
mv = F.mv
mvlgamma = F.mvlgamma
nan_to_num = F.nan_to_num
nanmean = F.nanmean
nanmedian = F.nanmedian
nanquantile = F.nanquantile
nansum = F.nansum
narrow = F.narrow
narrow_copy = F.narrow_copy
negative = F.negative
nextafter = F.nextafter
nonzero = F.nonzero
nonzero_static = F.nonzero_static
normal = F.normal
not_equal = F.not_equal
permute_copy = F.permute_copy
pinverse = F.pinverse
poisson = F.poisson
polygamma = F.polygamma
positive = F.positive
prod = F.prod
put = F.put
qr = F.qr
quantile = F.quantile
rad2deg = F.rad2deg
rand_like = F.rand_like
randint_like = F.randint_like
randn_like = F.randn_like
ravel = F.ravel
real = F.real
renorm = F.renorm
repeat = F.repeat
repeat_interleave = F.repeat_interleave
reshape_as = F.reshape_as
resolve_conj = F.resolve_conj
resolve_neg = F.resolve_neg
roll = F.roll
rot90 = F.rot90
row_stack = F.row_stack
rsub = F.rsub
scatter = F.scatter
scatter_add = F.scatter_add
scatter_reduce = F.scatter_reduce
searchsorted = F.searchsorted
select = F.select
select_scatter = F.select_scatter
sgn = F.sgn
signbit = F.signbit
sinc = F.sinc
slice_scatter = F.slice_scatter
slogdet = F.slogdet
sort = F.sort
split_copy = F.split_copy
split_with_sizes = F.split_with_sizes
split_with_sizes_copy = F.split_with_sizes_copy
squeeze_copy = F.squeeze_copy
std_mean = F.std_mean
subtract = F.subtract
sum_to_size = F.sum_to_size
svd = F.svd
swapdims = F.swapdims
t = F.t
t_copy = F.t_copy
take_along_dim = F.take_along_dim
tan = F.tan
tensor_split = F.tensor_split
tensordot = F.tensordot
tile = F.tile
topk = F.topk
trace = F.trace
transpose_copy = F.transpose_copy
trapezoid = F.trapezoid
trapz = F.trapz
triangular_solve = F.triangular_solve
tril = F.tril
tril_indices = F.tril_indices
triu = F.triu
triu_indices = F.triu_indices
true_divide = F.true_divide
trunc = F.trunc
unbind = F.unbind
unbind_copy = F.unbind_copy
unflatten = F.unflatten
unfold = F.unfold
unfold_copy = F.unfold_copy
unique = F.unique
unique_consecutive = F.unique_consecutive
unravel_index = F.unravel_index
unsafe_chunk = F.unsafe_chunk
unsafe_split = F.unsafe_split
unsafe_split_with_sizes = F.unsafe_split_with_sizes
unsqueeze_copy = F.unsqueeze_copy
vander = F.vander
var_mean = F.var_mean
vdot = F.vdot
view_as = F.view_as
view_copy = F.view_copy
vsplit = F.vsplit
vstack = F.vstack
xlogy = F.xlogy

def _changing(name: str) -> Callable[..., Tensor]:
    """The function of an in-place method."""

    def function(input: Tensor, *args: Any, **named: Any) -> Tensor:
        changed: Tensor = getattr(input, name)(*args, **named)
        return changed

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`input.{name}(...)`: the tensor itself, changed."
    return function


abs_ = _changing("abs_")
absolute_ = _changing("absolute_")
acos_ = _changing("acos_")
acosh_ = _changing("acosh_")
addmv_ = _changing("addmv_")
arccos_ = _changing("arccos_")
arccosh_ = _changing("arccosh_")
arcsin_ = _changing("arcsin_")
arcsinh_ = _changing("arcsinh_")
arctan_ = _changing("arctan_")
arctanh_ = _changing("arctanh_")
asin_ = _changing("asin_")
asinh_ = _changing("asinh_")
atan_ = _changing("atan_")
atanh_ = _changing("atanh_")
ceil_ = _changing("ceil_")
clamp_ = _changing("clamp_")
clamp_max_ = _changing("clamp_max_")
clamp_min_ = _changing("clamp_min_")
clip_ = _changing("clip_")
conj_physical_ = _changing("conj_physical_")
cos_ = _changing("cos_")
cosh_ = _changing("cosh_")
deg2rad_ = _changing("deg2rad_")
detach_ = _changing("detach_")
erf_ = _changing("erf_")
erfc_ = _changing("erfc_")
exp2_ = _changing("exp2_")
exp_ = _changing("exp_")
expm1_ = _changing("expm1_")
fill_ = _changing("fill_")
fix_ = _changing("fix_")
floor_ = _changing("floor_")
frac_ = _changing("frac_")
gcd_ = _changing("gcd_")
i0_ = _changing("i0_")
index_put_ = _changing("index_put_")
lcm_ = _changing("lcm_")
ldexp_ = _changing("ldexp_")
log10_ = _changing("log10_")
log1p_ = _changing("log1p_")
log2_ = _changing("log2_")
log_ = _changing("log_")
logical_not_ = _changing("logical_not_")
logit_ = _changing("logit_")
nan_to_num_ = _changing("nan_to_num_")
neg_ = _changing("neg_")
negative_ = _changing("negative_")
rad2deg_ = _changing("rad2deg_")
reciprocal_ = _changing("reciprocal_")
relu_ = _changing("relu_")
round_ = _changing("round_")
rsqrt_ = _changing("rsqrt_")
sigmoid_ = _changing("sigmoid_")
sin_ = _changing("sin_")
sinc_ = _changing("sinc_")
sinh_ = _changing("sinh_")
sqrt_ = _changing("sqrt_")
square_ = _changing("square_")
tan_ = _changing("tan_")
tanh_ = _changing("tanh_")
trunc_ = _changing("trunc_")
xlogy_ = _changing("xlogy_")
zero_ = _changing("zero_")

__all__ = [
    "abs_", "absolute", "absolute_", "acos", "acos_", "acosh", "acosh_", "addbmm", "addcdiv", "addcmul", "addmm", "addmv",
    "addmv_", "addr", "adjoint", "alias_copy", "allclose", "amax", "amin", "aminmax", "angle", "arccos", "arccos_", "arccosh",
    "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_", "arctan", "arctan2", "arctan_", "arctanh", "arctanh_", "argsort",
    "argwhere", "as_strided", "as_strided_copy", "as_strided_scatter", "asin", "asin_", "asinh", "asinh_", "atan2", "atan_",
    "atanh", "atanh_", "atleast_1d", "atleast_2d", "atleast_3d", "baddbmm", "bartlett_window", "bernoulli", "bincount",
    "binomial", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "blackman_window", "block_diag", "bmm", "broadcast_shapes", "broadcast_tensors", "bucketize", "cartesian_prod", "cat",
    "cdist", "ceil_", "chain_matmul", "cholesky", "cholesky_inverse", "cholesky_solve", "chunk", "clamp_", "clamp_max",
    "clamp_max_", "clamp_min", "clamp_min_", "clip_", "column_stack", "combinations", "concat", "conj", "conj_physical",
    "conj_physical_", "copysign", "corrcoef", "cos_", "cosh_", "count_nonzero", "cov", "cross", "cummax", "cummin", "cumprod",
    "cumulative_trapezoid", "deg2rad", "deg2rad_", "det", "detach_", "diag", "diag_embed", "diagflat", "diagonal",
    "diagonal_copy", "diagonal_scatter", "diff", "digamma", "dist", "divide", "dsplit", "dstack", "empty_like", "equal",
    "erf_", "erfc", "erfc_", "erfinv", "exp2_", "exp_", "expand_as", "expand_copy", "expm1_", "fill", "fill_", "fix", "fix_",
    "fliplr", "flipud", "float_power", "floor_", "fmax", "fmin", "fmod", "frac", "frac_", "frexp", "full_like", "gather",
    "gcd", "gcd_", "ger", "gradient", "greater", "greater_equal", "hamming_window", "hann_window", "heaviside", "histc",
    "histogram", "histogramdd", "hsplit", "hstack", "hypot", "i0", "i0_", "igamma", "igammac", "index_copy", "index_fill",
    "index_put", "index_put_", "index_reduce", "index_select", "inner", "inverse", "isclose", "isin", "isinf", "isneginf",
    "isposinf", "isreal", "kaiser_window", "kron", "kthvalue", "lcm", "lcm_", "ldexp", "ldexp_", "lerp", "less", "less_equal",
    "lgamma", "log10", "log10_", "log1p_", "log2_", "log_", "logaddexp", "logaddexp2", "logcumsumexp", "logdet",
    "logical_not_", "logit", "logit_", "lu", "lu_solve", "lu_unpack", "masked_scatter", "masked_select", "matrix_exp",
    "matrix_power", "median", "meshgrid", "mm", "mode", "moveaxis", "movedim", "msort", "multinomial", "multiply", "mv",
    "mvlgamma", "nan_to_num", "nan_to_num_", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow", "narrow_copy", "neg_",
    "negative", "negative_", "nextafter", "nonzero", "nonzero_static", "normal", "not_equal", "permute_copy", "pinverse",
    "poisson", "polygamma", "positive", "prod", "put", "qr", "quantile", "rad2deg", "rad2deg_", "rand_like", "randint_like",
    "randn_like", "ravel", "real", "reciprocal_", "relu_", "renorm", "repeat", "repeat_interleave", "reshape_as",
    "resolve_conj", "resolve_neg", "roll", "rot90", "round_", "row_stack", "rsqrt_", "rsub", "scatter", "scatter_add",
    "scatter_reduce", "searchsorted", "select", "select_scatter", "sgn", "sigmoid_", "signbit", "sin_", "sinc", "sinc_",
    "sinh_", "slice_scatter", "slogdet", "sort", "split_copy", "split_with_sizes", "split_with_sizes_copy", "sqrt_",
    "square_", "squeeze_copy", "std_mean", "subtract", "sum_to_size", "svd", "swapdims", "t", "t_copy", "take_along_dim",
    "tan", "tan_", "tanh_", "tensor_split", "tensordot", "tile", "topk", "trace", "transpose_copy", "trapezoid", "trapz",
    "triangular_solve", "tril", "tril_indices", "triu", "triu_indices", "true_divide", "trunc", "trunc_", "unbind",
    "unbind_copy", "unflatten", "unfold", "unfold_copy", "unique", "unique_consecutive", "unravel_index", "unsafe_chunk",
    "unsafe_split", "unsafe_split_with_sizes", "unsqueeze_copy", "vander", "var_mean", "vdot", "view_as", "view_copy",
    "vsplit", "vstack", "xlogy", "xlogy_", "zero_",
]  # fmt: skip
