"""PyTorch's names of functions beside those of `functions.py`, each bound by name so that tools can follow it.

They are made in `ops/`, next to their records, and in `eager/generator.py`.
"""

from __future__ import annotations

from .eager import Tensor
from .operators import F

assert Tensor is not None, "importing the eager front end enters the functions that draw"

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
bernoulli = F.bernoulli
bincount = F.bincount
bitwise_and = F.bitwise_and
bitwise_left_shift = F.bitwise_left_shift
bitwise_not = F.bitwise_not
bitwise_or = F.bitwise_or
bitwise_right_shift = F.bitwise_right_shift
bitwise_xor = F.bitwise_xor
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
greater = F.greater
greater_equal = F.greater_equal
heaviside = F.heaviside
histc = F.histc
histogram = F.histogram
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
unsqueeze_copy = F.unsqueeze_copy
vander = F.vander
var_mean = F.var_mean
vdot = F.vdot
view_as = F.view_as
view_copy = F.view_copy
vsplit = F.vsplit
vstack = F.vstack
xlogy = F.xlogy

__all__ = [
    "absolute", "acos", "acosh", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "adjoint", "alias_copy",
    "allclose", "amax", "amin", "aminmax", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan2", "arctanh",
    "argsort", "argwhere", "as_strided", "as_strided_copy", "as_strided_scatter", "asin", "asinh", "atan2", "atanh",
    "atleast_1d", "atleast_2d", "atleast_3d", "baddbmm", "bernoulli", "bincount", "bitwise_and", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "block_diag", "bmm", "broadcast_shapes",
    "broadcast_tensors", "bucketize", "cartesian_prod", "cat", "cdist", "chain_matmul", "cholesky", "cholesky_inverse",
    "cholesky_solve", "chunk", "clamp_max", "clamp_min", "column_stack", "combinations", "concat", "conj", "conj_physical",
    "copysign", "corrcoef", "count_nonzero", "cov", "cross", "cummax", "cummin", "cumprod", "cumulative_trapezoid",
    "deg2rad", "det", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter", "diff", "digamma",
    "dist", "divide", "dsplit", "dstack", "empty_like", "equal", "erfc", "erfinv", "expand_as", "expand_copy", "fill",
    "fix", "fliplr", "flipud", "float_power", "fmax", "fmin", "fmod", "frac", "frexp", "full_like", "gather", "gcd", "ger",
    "greater", "greater_equal", "heaviside", "histc", "histogram", "hsplit", "hstack", "hypot", "i0", "igamma", "igammac",
    "index_copy", "index_fill", "index_put", "index_reduce", "index_select", "inner", "inverse", "isclose", "isin", "isinf",
    "isneginf", "isposinf", "isreal", "kron", "kthvalue", "lcm", "ldexp", "lerp", "less", "less_equal", "lgamma", "log10",
    "logaddexp", "logaddexp2", "logcumsumexp", "logdet", "logit", "lu", "lu_solve", "lu_unpack", "masked_scatter",
    "masked_select", "matrix_exp", "matrix_power", "median", "meshgrid", "mm", "mode", "moveaxis", "movedim", "msort",
    "multinomial", "multiply", "mv", "mvlgamma", "nan_to_num", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow",
    "narrow_copy", "negative", "nextafter", "nonzero", "nonzero_static", "normal", "not_equal", "permute_copy", "pinverse",
    "poisson", "polygamma", "positive", "prod", "put", "qr", "quantile", "rad2deg", "rand_like", "randint_like",
    "randn_like", "ravel", "real", "renorm", "repeat", "repeat_interleave", "reshape_as", "resolve_conj", "resolve_neg",
    "roll", "rot90", "row_stack", "rsub", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "select",
    "select_scatter", "sgn", "signbit", "sinc", "slice_scatter", "slogdet", "sort", "split_with_sizes",
    "split_with_sizes_copy", "squeeze_copy", "std_mean", "subtract", "sum_to_size", "svd", "swapdims", "t", "t_copy",
    "take_along_dim", "tan", "tensor_split", "tensordot", "tile", "topk", "trace", "transpose_copy", "trapezoid", "trapz",
    "triangular_solve", "tril", "tril_indices", "triu", "triu_indices", "true_divide", "trunc", "unbind", "unbind_copy",
    "unflatten", "unfold", "unfold_copy", "unique", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split",
    "unsqueeze_copy", "vander", "var_mean", "vdot", "view_as", "view_copy", "vsplit", "vstack", "xlogy",
]  # fmt: skip
