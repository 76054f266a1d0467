"""Made by `python -m tools.stubs` from the op records and the classes of tensors: change those, not this file."""

import builtins

from . import accelerator as accelerator
from . import amp as amp
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import cuda as cuda
from . import debug as debug
from . import distributed as distributed
from . import distributions as distributions
from . import fft as fft
from . import func as func
from . import functional as functional
from . import jit as jit
from . import linalg as linalg
from . import nn as nn
from . import numba_ops as numba_ops
from . import optim as optim
from . import profiler as profiler
from . import random as random
from . import safetensors as safetensors
from . import serialization as serialization
from . import special as special
from . import testing as testing
from . import utils as utils
from . import version as version
from .amp import GradScaler as GradScaler
from .amp import autocast as autocast
from .base.devices import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from .base.devices import device as device
from .base.devices import get_deterministic_debug_mode as get_deterministic_debug_mode
from .base.devices import get_float32_matmul_precision as get_float32_matmul_precision
from .base.devices import get_num_interop_threads as get_num_interop_threads
from .base.devices import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from .base.devices import is_warn_always_enabled as is_warn_always_enabled
from .base.devices import set_deterministic_debug_mode as set_deterministic_debug_mode
from .base.devices import set_float32_matmul_precision as set_float32_matmul_precision
from .base.devices import set_flush_denormal as set_flush_denormal
from .base.devices import set_num_interop_threads as set_num_interop_threads
from .base.devices import set_warn_always as set_warn_always
from .base.devices import use_deterministic_algorithms as use_deterministic_algorithms
from .base.dtypes import bfloat16 as bfloat16
from .base.dtypes import bool_ as bool
from .base.dtypes import bool_ as bool_
from .base.dtypes import complex128 as cdouble
from .base.dtypes import complex64 as cfloat
from .base.dtypes import complex128 as complex128
from .base.dtypes import complex64 as complex64
from .base.dtypes import float64 as double
from .base.dtypes import dtype as dtype
from .base.dtypes import float16 as float16
from .base.dtypes import float32 as float32
from .base.dtypes import float64 as float64
from .base.dtypes import float32 as float
from .base.dtypes import float16 as half
from .base.dtypes import int16 as int16
from .base.dtypes import int32 as int32
from .base.dtypes import int64 as int64
from .base.dtypes import int8 as int8
from .base.dtypes import int32 as int
from .base.dtypes import int64 as long
from .base.dtypes import int16 as short
from .base.dtypes import uint16 as uint16
from .base.dtypes import uint32 as uint32
from .base.dtypes import uint64 as uint64
from .base.dtypes import uint8 as uint8
from .base.types import finfo as finfo
from .base.types import iinfo as iinfo
from .base.types import set_default_dtype as set_default_dtype
from .compiler.passes.rewrite import graph_pass as graph_pass
from .compiler.passes.rewrite import rewrite as rewrite
from .compiler.runtime.loader import get_num_threads as get_num_threads
from .compiler.runtime.loader import set_num_threads as set_num_threads
from .eager import BFloat16Tensor as BFloat16Tensor
from .eager import BoolTensor as BoolTensor
from .eager import ByteTensor as ByteTensor
from .eager import CharTensor as CharTensor
from .eager import DoubleTensor as DoubleTensor
from .eager import FloatTensor as FloatTensor
from .eager import HalfTensor as HalfTensor
from .eager import IntTensor as IntTensor
from .eager import LongTensor as LongTensor
from .eager import ShortTensor as ShortTensor
from .eager import PublicTensor as Tensor
from .eager import arange as arange
from .eager import asarray as asarray
from .eager import generator as default_generator
from .eager import detect_anomaly as detect_anomaly
from .eager import eager_kernels as eager_kernels
from .eager import empty as empty
from .eager import empty_permuted as empty_permuted
from .eager import empty_strided as empty_strided
from .eager import enable_grad as enable_grad
from .eager import eye as eye
from .eager import full as full
from .eager import generator as generator
from .eager import grad as grad
from .eager import is_grad_enabled as is_grad_enabled
from .eager import linspace as linspace
from .eager import logspace as logspace
from .eager import manual_seed as manual_seed
from .eager import no_grad as no_grad
from .eager import ones as ones
from .eager import rand as rand
from .eager import randint as randint
from .eager import randn as randn
from .eager import randperm as randperm
from .eager import scalar_tensor as scalar_tensor
from .eager import set_grad_enabled as set_grad_enabled
from .eager import zeros as zeros
from .eager.calls.kernels import wait_for_kernels as wait_for_kernels
from .eager.conversion import as_tensor as as_tensor
from .eager.conversion import from_dlpack as from_dlpack
from .eager.conversion import from_file as from_file
from .eager.conversion import from_numpy as from_numpy
from .eager.conversion import frombuffer as frombuffer
from .eager.conversion import is_tensor as is_tensor
from .eager.conversion import to_dlpack as to_dlpack
from .eager.creation import range_ as range
from .eager.creation import tensor as tensor
from .eager.grad_mode import inference_mode as inference_mode
from .eager.grad_mode import is_anomaly_enabled as is_anomaly_enabled
from .eager.grad_mode import is_inference_mode_enabled as is_inference_mode_enabled
from .eager.grad_mode import set_detect_anomaly as set_anomaly_enabled
from .eager.printing import set_printoptions as set_printoptions
from .eager.questions import can_cast as can_cast
from .eager.questions import compiled_with_cxx11_abi as compiled_with_cxx11_abi
from .eager.questions import detach as detach
from .eager.questions import get_default_device as get_default_device
from .eager.questions import get_default_dtype as get_default_dtype
from .eager.questions import get_device as get_device
from .eager.questions import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .eager.questions import is_autocast_cpu_enabled as is_autocast_cpu_enabled
from .eager.questions import is_autocast_enabled as is_autocast_enabled
from .eager.questions import is_complex as is_complex
from .eager.questions import is_conj as is_conj
from .eager.questions import is_distributed as is_distributed
from .eager.questions import is_floating_point as is_floating_point
from .eager.questions import is_inference as is_inference
from .eager.questions import is_neg as is_neg
from .eager.questions import is_nonzero as is_nonzero
from .eager.questions import is_same_size as is_same_size
from .eager.questions import is_signed as is_signed
from .eager.questions import is_storage as is_storage
from .eager.questions import numel as numel
from .eager.questions import promote_types as promote_types
from .eager.questions import result_type as result_type
from .eager.questions import set_default_device as set_default_device
from .eager.questions import set_default_tensor_type as set_default_tensor_type
from .eager.questions import typename as typename
from .eager.tape_graph import graph_of as graph_of
from .errors import AnomalyError as AnomalyError
from .errors import ArgumentError as ArgumentError
from .errors import ArgumentTypeError as ArgumentTypeError
from .errors import AxisError as AxisError
from .errors import CompileError as CompileError
from .errors import DTypeError as DTypeError
from .errors import DataDependentError as DataDependentError
from .errors import DeviceError as DeviceError
from .errors import DivisionError as DivisionError
from .errors import FeedError as FeedError
from .errors import GradientError as GradientError
from .errors import GraphError as GraphError
from .errors import IndexRangeError as IndexRangeError
from .errors import LinAlgError as LinAlgError
from .errors import MissingFeedError as MissingFeedError
from .errors import NoDataError as NoDataError
from .errors import OutOfMemoryError as OutOfMemoryError
from .errors import ShapeError as ShapeError
from .errors import StaticgradError as StaticgradError
from .errors import TraceError as TraceError
from .errors import TransformError as TransformError
from .errors import UninitializedError as UninitializedError
from .errors import UnknownExtentError as UnknownExtentError
from .errors import UnsupportedError as UnsupportedError
from .errors import VerifyError as VerifyError
from .interchange import onnx as onnx
from .interchange import sklearn as sklearn
from .interchange.graph_json import from_json as from_json
from .interchange.graph_json import to_json as to_json
from .interchange.numba_ops import njit_op as njit_op
from .interchange.scipy_optimize import scipy_objective as scipy_objective
from .interchange.serialization import load as load
from .interchange.serialization import save as save
from .interchange.torch_export import from_torch as from_torch
from .namespaces.func import vmap as vmap
from .namespaces.functional import adaptive_avg_pool1d as adaptive_avg_pool1d
from .namespaces.functional import avg_pool1d as avg_pool1d
from .namespaces.functional import bilinear as bilinear
from .namespaces.functional import celu as celu
from .namespaces.functional import celu_ as celu_
from .namespaces.functional import channel_shuffle as channel_shuffle
from .namespaces.functional import conv1d as conv1d
from .namespaces.functional import conv2d as conv2d
from .namespaces.functional import conv3d as conv3d
from .namespaces.functional import conv_tbc as conv_tbc
from .namespaces.functional import conv_transpose1d as conv_transpose1d
from .namespaces.functional import conv_transpose2d as conv_transpose2d
from .namespaces.functional import conv_transpose3d as conv_transpose3d
from .namespaces.functional import cosine_similarity as cosine_similarity
from .namespaces.functional import hardshrink as hardshrink
from .namespaces.functional import max_pool1d as max_pool1d
from .namespaces.functional import max_pool1d_with_indices as max_pool1d_with_indices
from .namespaces.functional import max_pool2d as max_pool2d
from .namespaces.functional import max_pool3d as max_pool3d
from .namespaces.functional import pairwise_distance as pairwise_distance
from .namespaces.functional import pdist as pdist
from .namespaces.functional import pixel_shuffle as pixel_shuffle
from .namespaces.functional import pixel_unshuffle as pixel_unshuffle
from .namespaces.functional import prelu as prelu
from .namespaces.functional import rms_norm as rms_norm
from .namespaces.functional import rrelu as rrelu
from .namespaces.functional import rrelu_ as rrelu_
from .namespaces.functional import selu as selu
from .namespaces.functional import selu_ as selu_
from .namespaces.functional import threshold as threshold
from .namespaces.functional import threshold_ as threshold_
from .namespaces.functional.torch_layers import *
from .namespaces.lookup.fronts import as_torch as as_torch
from .namespaces.random import get_rng_state as get_rng_state
from .namespaces.random import initial_seed as initial_seed
from .namespaces.random import seed as seed
from .namespaces.random import set_rng_state as set_rng_state
from .namespaces.utils.training import fit as fit
from .ops.operators.dispatch import Size as Size
from .ops.random import Generator as Generator
from .static import Graph as Graph
from .static import GraphKeys as GraphKeys
from .static import Operation as Operation
from .static import Session as Session
from .static import Variable as Variable
from .static import assign as assign
from .static import assign_add as assign_add
from .static import assign_sub as assign_sub
from .static import constant as constant
from .static import control_dependencies as control_dependencies
from .static import get_collection as get_collection
from .static import get_default_graph as get_default_graph
from .static import get_default_session as get_default_session
from .static import global_variables as global_variables
from .static import global_variables_initializer as global_variables_initializer
from .static import gradients as gradients
from .static import group as group
from .static import identity as identity
from .static import no_op as no_op
from .static import placeholder as placeholder
from .static import reset_default_graph as reset_default_graph
from .static import trainable_variables as trainable_variables
from .static import variables_initializer as variables_initializer
from .torch_names import *
from .tracing import compile as compile
from .tracing import print as print
from .viz.compare import compare as compare
from .viz.draw import draw as draw
from .viz.subjects import explain as explain
from .viz.subjects import plan_diff as plan_diff
from .viz.subjects import profile as profile
from .viz.subjects import to_dot as to_dot
from .viz.subjects import to_graphml as to_graphml
from .viz.subjects import to_networkx as to_networkx
from .viz.subjects import to_text as to_text

__version__: builtins.str
channels_last: builtins.str
channels_last_3d: builtins.str
contiguous_format: builtins.str
e: builtins.float
has_lapack: builtins.bool
has_mkl: builtins.bool
has_openmp: builtins.bool
has_spectral: builtins.bool
inf: builtins.float
layout = builtins.str
legacy_contiguous_format: builtins.str
memory_format = builtins.str
nan: builtins.float
newaxis: None
pi: builtins.float
preserve_format: builtins.str
sparse_coo: builtins.str
strided: builtins.str

__all__ = [
    "AnomalyError", "ArgumentError", "ArgumentTypeError", "AxisError", "BFloat16Tensor", "BoolTensor", "ByteTensor",
    "CharTensor", "CompileError", "DTypeError", "DataDependentError", "DeviceError", "DivisionError", "DoubleTensor",
    "FeedError", "FloatTensor", "Generator", "GradScaler", "GradientError", "Graph", "GraphError", "GraphKeys", "HalfTensor",
    "IndexRangeError", "IntTensor", "LinAlgError", "LongTensor", "MissingFeedError", "NoDataError", "Operation",
    "OutOfMemoryError", "Session", "ShapeError", "ShortTensor", "Size", "StaticgradError", "Tensor", "TraceError",
    "TransformError", "UninitializedError", "UnknownExtentError", "UnsupportedError", "Variable", "VerifyError", "__version__",
    "abs", "abs_", "absolute", "absolute_", "accelerator", "acos", "acos_", "acosh", "acosh_", "adaptive_avg_pool1d",
    "adaptive_max_pool1d", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addmv_", "addr", "adjoint",
    "affine_grid_generator", "alias_copy", "all", "allclose", "alpha_dropout", "alpha_dropout_", "amax", "amin", "aminmax",
    "amp", "angle", "any", "arange", "arccos", "arccos_", "arccosh", "arccosh_", "arcsin", "arcsin_", "arcsinh", "arcsinh_",
    "arctan", "arctan2", "arctan_", "arctanh", "arctanh_", "are_deterministic_algorithms_enabled", "argmax", "argmin",
    "argsort", "argwhere", "as_strided", "as_strided_copy", "as_strided_scatter", "as_tensor", "as_torch", "asarray", "asin",
    "asin_", "asinh", "asinh_", "assign", "assign_add", "assign_sub", "astype", "atan", "atan2", "atan_", "atanh", "atanh_",
    "atleast_1d", "atleast_2d", "atleast_3d", "autocast", "autograd", "avg_pool1d", "backends", "baddbmm", "bartlett_window",
    "batch_norm", "bernoulli", "bfloat16", "bilinear", "binary_cross_entropy_with_logits", "bincount", "binomial",
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "blackman_window",
    "block_diag", "bmm", "bool", "bool_", "broadcast_like", "broadcast_shapes", "broadcast_tensors", "broadcast_to",
    "bucketize", "can_cast", "cartesian_prod", "cat", "cdist", "cdouble", "ceil", "ceil_", "celu", "celu_", "cfloat",
    "chain_matmul", "channel_shuffle", "channels_last", "channels_last_3d", "cholesky", "cholesky_inverse", "cholesky_solve",
    "chunk", "clamp", "clamp_", "clamp_max", "clamp_max_", "clamp_min", "clamp_min_", "clip", "clip_", "clone", "column_stack",
    "combinations", "compare", "compile", "compiled_with_cxx11_abi", "compiler", "complex", "complex128", "complex64",
    "concat", "concatenate", "cond", "conj", "conj_physical", "conj_physical_", "constant", "constant_pad_nd",
    "contiguous_format", "control_dependencies", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "copysign", "corrcoef", "cos", "cos_", "cosh", "cosh_", "cosine_embedding_loss",
    "cosine_similarity", "count_nonzero", "cov", "cross", "ctc_loss", "cuda", "cummax", "cummin", "cumprod", "cumsum",
    "cumulative_trapezoid", "debug", "default_generator", "deg2rad", "deg2rad_", "det", "detach", "detach_", "detach_copy",
    "detect_anomaly", "device", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_copy", "diagonal_scatter", "diff",
    "digamma", "dist", "distributed", "distributions", "div", "divide", "dot", "double", "draw", "dropout", "dropout_",
    "dsplit", "dstack", "dtype", "e", "eager_kernels", "einsum", "embedding", "empty", "empty_like", "empty_permuted",
    "empty_strided", "enable_grad", "eq", "equal", "erf", "erf_", "erfc", "erfc_", "erfinv", "exp", "exp2", "exp2_", "exp_",
    "expand", "expand_as", "expand_copy", "expand_dims", "explain", "expm1", "expm1_", "eye", "feature_alpha_dropout",
    "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "fft", "fill", "fill_", "finfo", "fit", "fix", "fix_",
    "flatten", "flip", "fliplr", "flipud", "float", "float16", "float32", "float64", "float_power", "floor", "floor_",
    "floor_divide", "fmax", "fmin", "fmod", "frac", "frac_", "frexp", "from_dlpack", "from_file", "from_json", "from_numpy",
    "from_torch", "frombuffer", "full", "full_like", "func", "functional", "gather", "gcd", "gcd_", "ge", "geqrf", "ger",
    "get_collection", "get_default_device", "get_default_dtype", "get_default_graph", "get_default_session",
    "get_deterministic_debug_mode", "get_device", "get_float32_matmul_precision", "get_num_interop_threads", "get_num_threads",
    "get_rng_state", "getitem", "global_variables", "global_variables_initializer", "grad", "gradient", "gradients",
    "graph_of", "graph_pass", "greater", "greater_equal", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group",
    "group_norm", "gru_cell", "gt", "half", "hamming_window", "hann_window", "hardshrink", "has_lapack", "has_mkl",
    "has_openmp", "has_spectral", "heaviside", "hinge_embedding_loss", "histc", "histogram", "histogramdd", "hsplit", "hstack",
    "hypot", "i0", "i0_", "identity", "igamma", "igammac", "iinfo", "imag", "index_add", "index_along", "index_copy",
    "index_fill", "index_put", "index_put_", "index_reduce", "index_select", "inf", "inference_mode", "initial_seed", "inner",
    "instance_norm", "int", "int16", "int32", "int64", "int8", "inverse", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "is_complex", "is_conj", "is_deterministic_algorithms_warn_only_enabled",
    "is_distributed", "is_floating_point", "is_grad_enabled", "is_inference", "is_inference_mode_enabled", "is_neg",
    "is_nonzero", "is_same_size", "is_signed", "is_storage", "is_tensor", "is_warn_always_enabled", "isclose", "isfinite",
    "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "istft", "jit", "kaiser_window", "kl_div", "kron", "kthvalue",
    "layer_norm", "lcm", "lcm_", "ldexp", "ldexp_", "le", "legacy_contiguous_format", "lerp", "less", "less_equal", "lgamma",
    "linalg", "linspace", "load", "lobpcg", "log", "log10", "log10_", "log1p", "log1p_", "log2", "log2_", "log_",
    "log_softmax", "logaddexp", "logaddexp2", "logcumsumexp", "logdet", "logical_and", "logical_not", "logical_not_",
    "logical_or", "logical_xor", "logit", "logit_", "logspace", "logsumexp", "long", "lstm_cell", "lt", "lu", "lu_solve",
    "lu_unpack", "manual_seed", "margin_ranking_loss", "masked_fill", "masked_scatter", "masked_select", "matmul",
    "matrix_exp", "matrix_power", "max", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "maximum",
    "mean", "median", "meshgrid", "min", "minimum", "mm", "mode", "moveaxis", "movedim", "msort", "mul", "multinomial",
    "multiply", "mv", "mvlgamma", "nan", "nan_to_num", "nan_to_num_", "nanmean", "nanmedian", "nanquantile", "nansum",
    "narrow", "narrow_copy", "ne", "neg", "neg_", "negative", "negative_", "nextafter", "njit_op", "nn", "no_grad", "no_op",
    "nonzero", "nonzero_static", "norm", "normal", "not_equal", "numel", "one_hot", "ones", "ones_like", "onnx", "optim",
    "orgqr", "ormqr", "outer", "pairwise_distance", "pca_lowrank", "pdist", "permute", "permute_copy", "pi", "pinverse",
    "pixel_shuffle", "pixel_unshuffle", "placeholder", "plan_diff", "poisson", "poisson_nll_loss", "polar", "polygamma",
    "positive", "pow", "prelu", "preserve_format", "print", "prod", "profile", "profiler", "promote_types", "put", "qr",
    "quantile", "rad2deg", "rad2deg_", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random",
    "randperm", "range", "ravel", "real", "reciprocal", "reciprocal_", "relu", "relu_", "remainder", "renorm", "repeat",
    "repeat_interleave", "reset_default_graph", "reshape", "reshape_as", "resolve_conj", "resolve_neg", "result_type",
    "rewrite", "rms_norm", "rnn_relu_cell", "rnn_tanh_cell", "roll", "rot90", "round", "round_", "row_stack", "rrelu",
    "rrelu_", "rsqrt", "rsqrt_", "rsub", "save", "scalar_tensor", "scan", "scatter", "scatter_add", "scatter_reduce",
    "scipy_objective", "searchsorted", "seed", "select", "select_copy", "select_scatter", "selu", "selu_",
    "set_anomaly_enabled", "set_default_device", "set_default_dtype", "set_default_tensor_type",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_flush_denormal", "set_grad_enabled",
    "set_num_interop_threads", "set_num_threads", "set_printoptions", "set_rng_state", "set_warn_always", "sgn", "short",
    "sigmoid", "sigmoid_", "sign", "signbit", "sin", "sin_", "sinc", "sinc_", "sinh", "sinh_", "sklearn", "slice_copy",
    "slice_scatter", "slogdet", "softmax", "softplus", "sort", "sparse_coo_tensor", "special", "split", "split_copy",
    "split_with_sizes", "split_with_sizes_copy", "spmm", "sqrt", "sqrt_", "square", "square_", "squeeze", "squeeze_copy",
    "stack", "std", "std_mean", "stft", "stop_gradient", "strided", "sub", "subtract", "sum", "sum_to_size", "svd",
    "svd_lowrank", "swapaxes", "swapdims", "t", "t_copy", "take", "take_along_axis", "take_along_dim", "tan", "tan_", "tanh",
    "tanh_", "tensor", "tensor_split", "tensordot", "testing", "threshold", "threshold_", "tile", "to_dlpack", "to_dot",
    "to_graphml", "to_json", "to_networkx", "to_text", "topk", "trace", "trainable_variables", "transpose", "transpose_copy",
    "trapezoid", "trapz", "triangular_solve", "tril", "tril_indices", "triplet_margin_loss", "triu", "triu_indices",
    "true_divide", "trunc", "trunc_", "typename", "uint16", "uint32", "uint64", "uint8", "unbind", "unbind_copy", "unflatten",
    "unfold", "unfold_copy", "unique", "unique_consecutive", "unravel_index", "unsafe_chunk", "unsafe_split",
    "unsafe_split_with_sizes", "unsqueeze", "unsqueeze_copy", "use_deterministic_algorithms", "utils", "vander", "var",
    "var_mean", "variables_initializer", "vdot", "version", "view_as", "view_as_complex", "view_as_complex_copy",
    "view_as_real", "view_as_real_copy", "view_copy", "vmap", "vsplit", "vstack", "wait_for_kernels", "where", "while_loop",
    "xlogy", "xlogy_", "zero_", "zeros", "zeros_like",
]  # fmt: skip
