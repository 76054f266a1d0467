"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

from .operators.interface import Functions

abs = Functions.abs
absolute = Functions.abs
acos = Functions.acos
acosh = Functions.acosh
add = Functions.add
addbmm = Functions.addbmm
addcdiv = Functions.addcdiv
addcmul = Functions.addcmul
addmm = Functions.addmm
addmv = Functions.addmv
addr = Functions.addr
adjoint = Functions.adjoint
alias_copy = Functions.alias_copy
all = Functions.all
allclose = Functions.allclose
amax = Functions.amax
amin = Functions.amin
aminmax = Functions.aminmax
angle = Functions.angle
any = Functions.any
arccos = Functions.acos
arccosh = Functions.acosh
arcsin = Functions.asin
arcsinh = Functions.asinh
arctan = Functions.atan
arctan2 = Functions.atan2
arctanh = Functions.atanh
argmax = Functions.argmax
argmin = Functions.argmin
argsort = Functions.argsort
argwhere = Functions.argwhere
as_strided = Functions.as_strided
as_strided_copy = Functions.as_strided
as_strided_scatter = Functions.as_strided_scatter
asin = Functions.asin
asinh = Functions.asinh
astype = Functions.astype
atan = Functions.atan
atan2 = Functions.atan2
atanh = Functions.atanh
atleast_1d = Functions.atleast_1d
atleast_2d = Functions.atleast_2d
atleast_3d = Functions.atleast_3d
baddbmm = Functions.baddbmm
bernoulli = Functions.bernoulli
bincount = Functions.bincount
bitwise_and = Functions.bitwise_and
bitwise_left_shift = Functions.bitwise_left_shift
bitwise_not = Functions.bitwise_not
bitwise_or = Functions.bitwise_or
bitwise_right_shift = Functions.bitwise_right_shift
bitwise_xor = Functions.bitwise_xor
block_diag = Functions.block_diag
bmm = Functions.bmm
broadcast_like = Functions.broadcast_like
broadcast_shapes = Functions.broadcast_shapes
broadcast_tensors = Functions.broadcast_tensors
broadcast_to = Functions.broadcast_to
bucketize = Functions.bucketize
cartesian_prod = Functions.cartesian_prod
cat = Functions.cat
cdist = Functions.cdist
ceil = Functions.ceil
chain_matmul = Functions.chain_matmul
cholesky = Functions.cholesky
cholesky_inverse = Functions.cholesky_inverse
cholesky_solve = Functions.cholesky_solve
chunk = Functions.chunk
clamp = Functions.clamp
clamp_max = Functions.clamp_max
clamp_min = Functions.clamp_min
clip = Functions.clip
clone = Functions.clone
column_stack = Functions.column_stack
combinations = Functions.combinations
concat = Functions.cat
concatenate = Functions.concatenate
cond = Functions.cond
conj = Functions.conj
conj_physical = Functions.conj
copysign = Functions.copysign
corrcoef = Functions.corrcoef
cos = Functions.cos
cosh = Functions.cosh
count_nonzero = Functions.count_nonzero
cov = Functions.cov
cross = Functions.cross
cummax = Functions.cummax
cummin = Functions.cummin
cumprod = Functions.cumprod
cumsum = Functions.cumsum
cumulative_trapezoid = Functions.cumulative_trapezoid
deg2rad = Functions.deg2rad
det = Functions.det
diag = Functions.diag
diag_embed = Functions.diag_embed
diagflat = Functions.diagflat
diagonal = Functions.diagonal
diagonal_copy = Functions.diagonal
diagonal_scatter = Functions.diagonal_scatter
diff = Functions.diff
digamma = Functions.digamma
dist = Functions.dist
div = Functions.div
divide = Functions.div
dot = Functions.dot
dropout = Functions.dropout
dsplit = Functions.dsplit
dstack = Functions.dstack
einsum = Functions.einsum
empty_like = Functions.empty_like
eq = Functions.eq
equal = Functions.equal
erf = Functions.erf
erfc = Functions.erfc
erfinv = Functions.erfinv
exp = Functions.exp
exp2 = Functions.exp2
expand = Functions.expand
expand_as = Functions.expand_as
expand_copy = Functions.expand_copy
expand_dims = Functions.expand_dims
expm1 = Functions.expm1
fill = Functions.fill
fix = Functions.trunc
flatten = Functions.flatten
flip = Functions.flip
fliplr = Functions.fliplr
flipud = Functions.flipud
float_power = Functions.float_power
floor = Functions.floor
floor_divide = Functions.floor_divide
fmax = Functions.fmax
fmin = Functions.fmin
fmod = Functions.fmod
frac = Functions.frac
frexp = Functions.frexp
full_like = Functions.full_like
gather = Functions.gather
gcd = Functions.gcd
ge = Functions.ge
ger = Functions.outer
getitem = Functions.getitem
greater = Functions.gt
greater_equal = Functions.ge
gt = Functions.gt
heaviside = Functions.heaviside
histc = Functions.histc
histogram = Functions.histogram
hsplit = Functions.hsplit
hstack = Functions.hstack
hypot = Functions.hypot
i0 = Functions.i0
igamma = Functions.igamma
igammac = Functions.igammac
index_add = Functions.index_add
index_along = Functions.index_along
index_copy = Functions.index_copy
index_fill = Functions.index_fill
index_put = Functions.index_put
index_reduce = Functions.index_reduce
index_select = Functions.index_select
inner = Functions.inner
inverse = Functions.inverse
isclose = Functions.isclose
isfinite = Functions.isfinite
isin = Functions.isin
isinf = Functions.isinf
isnan = Functions.isnan
isneginf = Functions.isneginf
isposinf = Functions.isposinf
isreal = Functions.isreal
kron = Functions.kron
kthvalue = Functions.kthvalue
lcm = Functions.lcm
ldexp = Functions.ldexp
le = Functions.le
lerp = Functions.lerp
less = Functions.lt
less_equal = Functions.le
lgamma = Functions.lgamma
log = Functions.log
log10 = Functions.log10
log1p = Functions.log1p
log2 = Functions.log2
log_softmax = Functions.log_softmax
logaddexp = Functions.logaddexp
logaddexp2 = Functions.logaddexp2
logcumsumexp = Functions.logcumsumexp
logdet = Functions.logdet
logical_and = Functions.logical_and
logical_not = Functions.logical_not
logical_or = Functions.logical_or
logical_xor = Functions.logical_xor
logit = Functions.logit
logsumexp = Functions.logsumexp
lt = Functions.lt
lu = Functions.lu
lu_solve = Functions.lu_solve
lu_unpack = Functions.lu_unpack
masked_fill = Functions.masked_fill
masked_scatter = Functions.masked_scatter
masked_select = Functions.masked_select
matmul = Functions.matmul
matrix_exp = Functions.matrix_exp
matrix_power = Functions.matrix_power
max = Functions.max
maximum = Functions.maximum
mean = Functions.mean
median = Functions.median
meshgrid = Functions.meshgrid
min = Functions.min
minimum = Functions.minimum
mm = Functions.mm
mode = Functions.mode
moveaxis = Functions.movedim
movedim = Functions.movedim
msort = Functions.msort
mul = Functions.mul
multinomial = Functions.multinomial
multiply = Functions.mul
mv = Functions.mv
mvlgamma = Functions.mvlgamma
nan_to_num = Functions.nan_to_num
nanmean = Functions.nanmean
nanmedian = Functions.nanmedian
nanquantile = Functions.nanquantile
nansum = Functions.nansum
narrow = Functions.narrow
narrow_copy = Functions.narrow
ne = Functions.ne
neg = Functions.neg
negative = Functions.neg
nextafter = Functions.nextafter
nonzero = Functions.nonzero
nonzero_static = Functions.nonzero_static
norm = Functions.norm
normal = Functions.normal
not_equal = Functions.ne
one_hot = Functions.one_hot
ones_like = Functions.ones_like
outer = Functions.outer
permute = Functions.permute
permute_copy = Functions.permute_copy
pinverse = Functions.pinverse
poisson = Functions.poisson
polygamma = Functions.polygamma
positive = Functions.positive
pow = Functions.pow
prod = Functions.prod
put = Functions.put
qr = Functions.qr
quantile = Functions.quantile
rad2deg = Functions.rad2deg
rand_like = Functions.rand_like
randint_like = Functions.randint_like
randn_like = Functions.randn_like
ravel = Functions.ravel
real = Functions.real
reciprocal = Functions.reciprocal
relu = Functions.relu
remainder = Functions.remainder
renorm = Functions.renorm
repeat = Functions.repeat
repeat_interleave = Functions.repeat_interleave
reshape = Functions.reshape
reshape_as = Functions.reshape_as
resolve_conj = Functions.conj
resolve_neg = Functions.conj
roll = Functions.roll
rot90 = Functions.rot90
round = Functions.round
row_stack = Functions.vstack
rsqrt = Functions.rsqrt
rsub = Functions.rsub
scan = Functions.scan
scatter = Functions.scatter
scatter_add = Functions.scatter_add
scatter_reduce = Functions.scatter_reduce
searchsorted = Functions.searchsorted
select = Functions.select
select_scatter = Functions.select_scatter
sgn = Functions.sgn
sigmoid = Functions.sigmoid
sign = Functions.sign
signbit = Functions.signbit
sin = Functions.sin
sinc = Functions.sinc
sinh = Functions.sinh
slice_scatter = Functions.slice_scatter
slogdet = Functions.slogdet
softmax = Functions.softmax
softplus = Functions.softplus
sort = Functions.sort
split = Functions.split
split_with_sizes = Functions.split_with_sizes
split_with_sizes_copy = Functions.split_with_sizes
sqrt = Functions.sqrt
square = Functions.square
squeeze = Functions.squeeze
squeeze_copy = Functions.squeeze_copy
stack = Functions.stack
std = Functions.std
std_mean = Functions.std_mean
stop_gradient = Functions.stop_gradient
sub = Functions.sub
subtract = Functions.sub
sum = Functions.sum
sum_to_size = Functions.sum_to_size
svd = Functions.svd
swapaxes = Functions.swapaxes
swapdims = Functions.swapaxes
t = Functions.t
t_copy = Functions.t_copy
take = Functions.take
take_along_axis = Functions.take_along_axis
take_along_dim = Functions.take_along_dim
tan = Functions.tan
tanh = Functions.tanh
tensor_split = Functions.tensor_split
tensordot = Functions.tensordot
tile = Functions.tile
topk = Functions.topk
trace = Functions.trace
transpose = Functions.transpose
transpose_copy = Functions.transpose_copy
trapezoid = Functions.trapezoid
trapz = Functions.trapezoid
triangular_solve = Functions.triangular_solve
tril = Functions.tril
tril_indices = Functions.tril_indices
triu = Functions.triu
triu_indices = Functions.triu_indices
true_divide = Functions.div
trunc = Functions.trunc
unbind = Functions.unbind
unbind_copy = Functions.unbind
unflatten = Functions.unflatten
unfold = Functions.unfold
unfold_copy = Functions.unfold_copy
unique = Functions.unique
unique_consecutive = Functions.unique_consecutive
unravel_index = Functions.unravel_index
unsafe_chunk = Functions.chunk
unsafe_split = Functions.split
unsqueeze = Functions.unsqueeze
unsqueeze_copy = Functions.unsqueeze_copy
vander = Functions.vander
var = Functions.var
var_mean = Functions.var_mean
vdot = Functions.vdot
view_as = Functions.view_as
view_copy = Functions.view_copy
vsplit = Functions.vsplit
vstack = Functions.vstack
where = Functions.where
while_loop = Functions.while_loop
xlogy = Functions.xlogy
zeros_like = Functions.zeros_like

__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr", "adjoint",
    "alias_copy", "all", "allclose", "amax", "amin", "aminmax", "angle", "any", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "argwhere", "as_strided", "as_strided_copy",
    "as_strided_scatter", "asin", "asinh", "astype", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d",
    "baddbmm", "bernoulli", "bincount", "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "block_diag", "bmm", "broadcast_like", "broadcast_shapes", "broadcast_tensors",
    "broadcast_to", "bucketize", "cartesian_prod", "cat", "cdist", "ceil", "chain_matmul", "cholesky", "cholesky_inverse",
    "cholesky_solve", "chunk", "clamp", "clamp_max", "clamp_min", "clip", "clone", "column_stack", "combinations", "concat",
    "concatenate", "cond", "conj", "conj_physical", "copysign", "corrcoef", "cos", "cosh", "count_nonzero", "cov", "cross",
    "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "deg2rad", "det", "diag", "diag_embed", "diagflat",
    "diagonal", "diagonal_copy", "diagonal_scatter", "diff", "digamma", "dist", "div", "divide", "dot", "dropout", "dsplit",
    "dstack", "einsum", "empty_like", "eq", "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expand", "expand_as",
    "expand_copy", "expand_dims", "expm1", "fill", "fix", "flatten", "flip", "fliplr", "flipud", "float_power", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "frac", "frexp", "full_like", "gather", "gcd", "ge", "ger", "getitem", "greater",
    "greater_equal", "gt", "heaviside", "histc", "histogram", "hsplit", "hstack", "hypot", "i0", "igamma", "igammac",
    "index_add", "index_along", "index_copy", "index_fill", "index_put", "index_reduce", "index_select", "inner", "inverse",
    "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "kron", "kthvalue", "lcm", "ldexp",
    "le", "lerp", "less", "less_equal", "lgamma", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logaddexp2",
    "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_or", "logical_xor", "logit", "logsumexp", "lt", "lu",
    "lu_solve", "lu_unpack", "masked_fill", "masked_scatter", "masked_select", "matmul", "matrix_exp", "matrix_power", "max",
    "maximum", "mean", "median", "meshgrid", "min", "minimum", "mm", "mode", "moveaxis", "movedim", "msort", "mul",
    "multinomial", "multiply", "mv", "mvlgamma", "nan_to_num", "nanmean", "nanmedian", "nanquantile", "nansum", "narrow",
    "narrow_copy", "ne", "neg", "negative", "nextafter", "nonzero", "nonzero_static", "norm", "normal", "not_equal", "one_hot",
    "ones_like", "outer", "permute", "permute_copy", "pinverse", "poisson", "polygamma", "positive", "pow", "prod", "put",
    "qr", "quantile", "rad2deg", "rand_like", "randint_like", "randn_like", "ravel", "real", "reciprocal", "relu", "remainder",
    "renorm", "repeat", "repeat_interleave", "reshape", "reshape_as", "resolve_conj", "resolve_neg", "roll", "rot90", "round",
    "row_stack", "rsqrt", "rsub", "scan", "scatter", "scatter_add", "scatter_reduce", "searchsorted", "select",
    "select_scatter", "sgn", "sigmoid", "sign", "signbit", "sin", "sinc", "sinh", "slice_scatter", "slogdet", "softmax",
    "softplus", "sort", "split", "split_with_sizes", "split_with_sizes_copy", "sqrt", "square", "squeeze", "squeeze_copy",
    "stack", "std", "std_mean", "stop_gradient", "sub", "subtract", "sum", "sum_to_size", "svd", "swapaxes", "swapdims", "t",
    "t_copy", "take", "take_along_axis", "take_along_dim", "tan", "tanh", "tensor_split", "tensordot", "tile", "topk", "trace",
    "transpose", "transpose_copy", "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triu", "triu_indices",
    "true_divide", "trunc", "unbind", "unbind_copy", "unflatten", "unfold", "unfold_copy", "unique", "unique_consecutive",
    "unravel_index", "unsafe_chunk", "unsafe_split", "unsqueeze", "unsqueeze_copy", "vander", "var", "var_mean", "vdot",
    "view_as", "view_copy", "vsplit", "vstack", "where", "while_loop", "xlogy", "zeros_like",
]  # fmt: skip
