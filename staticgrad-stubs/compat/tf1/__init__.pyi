"""Made by `python -m tools.stubs` from the table in `names.py`: change that, not this file."""

from . import app as app
from . import bitwise as bitwise
from . import contrib as contrib
from . import data as data
from . import debugging as debugging
from . import distributions as distributions
from . import errors as errors
from . import flags as flags
from . import gfile as gfile
from . import image as image
from . import initializers as initializers
from . import keras as keras
from . import layers as layers
from . import linalg as linalg
from . import logging as logging
from . import lookup as lookup
from . import losses as losses
from . import manip as manip
from . import math as math
from . import metrics as metrics
from . import nest as nest
from . import nn as nn
from . import random as random
from . import sparse as sparse
from . import strings as strings
from . import summary as summary
from . import test as test
from . import train as train
from .arrays import concat as concat
from .arrays import constant as constant
from .arrays import convert_to_tensor as convert_to_tensor
from .arrays import expand_dims as expand_dims
from .arrays import eye as eye
from .arrays import fill as fill
from .arrays import gather as gather
from .arrays import identity as identity
from .arrays import linspace as lin_space
from .arrays import linspace as linspace
from .arrays import newaxis as newaxis
from .arrays import one_hot as one_hot
from .arrays import ones as ones
from .arrays import ones_like as ones_like
from .arrays import pad as pad
from .arrays import placeholder as placeholder
from .arrays import placeholder_with_default as placeholder_with_default
from .arrays import range_ as range
from .arrays import rank as rank
from .arrays import reshape as reshape
from .arrays import reverse as reverse
from .arrays import reverse as reverse_v2
from .arrays import sequence_mask as sequence_mask
from .arrays import shape as shape
from .arrays import size as size
from .arrays import slice_ as slice
from .arrays import split as split
from .arrays import squeeze as squeeze
from .arrays import stack as stack
from .arrays import stop_gradient as stop_gradient
from .arrays import strided_slice as strided_slice
from .arrays import tile as tile
from .arrays import transpose as transpose
from .arrays import unstack as unstack
from .arrays import where as where
from .arrays import zeros as zeros
from .arrays import zeros_like as zeros_like
from .control import case as case
from .control import cond as cond
from .control import foldl as foldl
from .control import foldr as foldr
from .control import group as group
from .control import map_fn as map_fn
from .control import no_op as no_op
from .control import scan as scan
from .control import tuple_ as tuple
from .control import vectorized_map as vectorized_map
from .control import while_loop as while_loop
from .debugging import assert_equal as assert_equal
from .debugging import assert_greater as assert_greater
from .debugging import assert_greater_equal as assert_greater_equal
from .debugging import assert_integer as assert_integer
from .debugging import assert_less as assert_less
from .debugging import assert_less_equal as assert_less_equal
from .debugging import assert_near as assert_near
from .debugging import assert_negative as assert_negative
from .debugging import assert_non_negative as assert_non_negative
from .debugging import assert_non_positive as assert_non_positive
from .debugging import assert_none_equal as assert_none_equal
from .debugging import assert_positive as assert_positive
from .debugging import assert_proper_iterable as assert_proper_iterable
from .debugging import assert_rank as assert_rank
from .debugging import assert_rank_at_least as assert_rank_at_least
from .debugging import assert_rank_in as assert_rank_in
from .debugging import assert_same_float_dtype as assert_same_float_dtype
from .debugging import assert_scalar as assert_scalar
from .debugging import assert_type as assert_type
from .debugging import is_non_decreasing as is_non_decreasing
from .debugging import is_numeric_tensor as is_numeric_tensor
from .debugging import is_strictly_increasing as is_strictly_increasing
from .debugging import is_symbolic_tensor as is_symbolic_tensor
from .draws import multinomial as multinomial
from .draws import random_gamma as random_gamma
from .draws import random_normal as random_normal
from .draws import random_poisson as random_poisson
from .draws import random_shuffle as random_shuffle
from .draws import random_uniform as random_uniform
from .draws import truncated_normal as truncated_normal
from .dtypes import DType as DType
from .dtypes import Dimension as Dimension
from .dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from .dtypes import TensorShape as TensorShape
from .dtypes import as_dtype as as_dtype
from .dtypes import bfloat16 as bfloat16
from .dtypes import bool_ as bool
from .dtypes import double as double
from .dtypes import float16 as float16
from .dtypes import float32 as float32
from .dtypes import float64 as float64
from .dtypes import half as half
from .dtypes import int16 as int16
from .dtypes import int32 as int32
from .dtypes import int64 as int64
from .dtypes import int8 as int8
from .dtypes import string as string
from .dtypes import uint16 as uint16
from .dtypes import uint32 as uint32
from .dtypes import uint64 as uint64
from .dtypes import uint8 as uint8
from .elements import batch_gather as batch_gather
from .elements import batch_to_space as batch_to_space
from .elements import broadcast_dynamic_shape as broadcast_dynamic_shape
from .elements import broadcast_static_shape as broadcast_static_shape
from .elements import diag as diag
from .elements import diag_part as diag_part
from .elements import get_static_value as get_static_value
from .elements import parallel_stack as parallel_stack
from .elements import repeat as repeat
from .elements import required_space_to_batch_paddings as required_space_to_batch_paddings
from .elements import setdiff1d as setdiff1d
from .elements import shape_n as shape_n
from .elements import space_to_batch as space_to_batch
from .elements import tensor_scatter_add as tensor_scatter_add
from .elements import tensor_scatter_nd_add as tensor_scatter_nd_add
from .elements import tensor_scatter_nd_max as tensor_scatter_nd_max
from .elements import tensor_scatter_nd_min as tensor_scatter_nd_min
from .elements import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from .elements import tensor_scatter_nd_update as tensor_scatter_nd_update
from .elements import tensor_scatter_sub as tensor_scatter_sub
from .elements import tensor_scatter_update as tensor_scatter_update
from .elements import unique_with_counts as unique_with_counts
from .elements import unravel_index as unravel_index
from .errors import OpError as OpError
from .gathering import argsort as argsort
from .gathering import boolean_mask as boolean_mask
from .gathering import broadcast_to as broadcast_to
from .gathering import confusion_matrix as confusion_matrix
from .gathering import dynamic_partition as dynamic_partition
from .gathering import dynamic_stitch as dynamic_stitch
from .gathering import gather_nd as gather_nd
from .gathering import invert_permutation as invert_permutation
from .gathering import matrix_band_part as matrix_band_part
from .gathering import meshgrid as meshgrid
from .gathering import reverse_sequence as reverse_sequence
from .gathering import roll as roll
from .gathering import scatter_nd as scatter_nd
from .gathering import searchsorted as searchsorted
from .gathering import sort as sort
from .gathering import unique as unique
from .gathering import where_v2 as where_v2
from .gradients import AggregationMethod as AggregationMethod
from .gradients import IndexedSlices as IndexedSlices
from .gradients import NoGradient as NoGradient
from .gradients import NotDifferentiable as NotDifferentiable
from .gradients import RegisterGradient as RegisterGradient
from .gradients import UnconnectedGradients as UnconnectedGradients
from .gradients import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from .gradients import custom_gradient as custom_gradient
from .gradients import grad_pass_through as grad_pass_through
from .gradients import gradients as gradients
from .gradients import hessians as hessians
from .gradients import no_gradient as no_gradient
from .gradients import recompute_grad as recompute_grad
from .graph import Graph as Graph
from .graph import GraphKeys as GraphKeys
from .graph import add_to_collection as add_to_collection
from .graph import add_to_collections as add_to_collections
from .graph import control_dependencies as control_dependencies
from .graph import device as device
from .graph import get_collection as get_collection
from .graph import get_collection_ref as get_collection_ref
from .graph import get_default_graph as get_default_graph
from .graph import get_seed as get_seed
from .graph import name_scope as name_scope
from .graph import reset_default_graph as reset_default_graph
from .graph import set_random_seed as set_random_seed
from .handles import Operation as Operation
from .handles import Tensor as Tensor
from .image import random_crop as random_crop
from .initializers import constant_initializer as constant_initializer
from .initializers import glorot_normal_initializer as glorot_normal_initializer
from .initializers import glorot_uniform_initializer as glorot_uniform_initializer
from .initializers import ones_initializer as ones_initializer
from .initializers import orthogonal_initializer as orthogonal_initializer
from .initializers import random_normal_initializer as random_normal_initializer
from .initializers import random_uniform_initializer as random_uniform_initializer
from .initializers import truncated_normal_initializer as truncated_normal_initializer
from .initializers import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from .initializers import variance_scaling_initializer as variance_scaling_initializer
from .initializers import zeros_initializer as zeros_initializer
from .linalg import cholesky as cholesky
from .linalg import cholesky_solve as cholesky_solve
from .linalg import cross as cross
from .linalg import det as matrix_determinant
from .linalg import diag as matrix_diag
from .linalg import diag_part as matrix_diag_part
from .linalg import eigh as self_adjoint_eig
from .linalg import eigvalsh as self_adjoint_eigvals
from .linalg import inv as matrix_inverse
from .linalg import lstsq as matrix_solve_ls
from .linalg import matrix_transpose as matrix_transpose
from .linalg import qr as qr
from .linalg import set_diag as matrix_set_diag
from .linalg import solve as matrix_solve
from .linalg import sqrtm as matrix_square_root
from .linalg import svd as svd
from .linalg import trace as trace
from .linalg import triangular_solve as matrix_triangular_solve
from .lookup import initialize_all_tables as initialize_all_tables
from .lookup import tables_initializer as tables_initializer
from .math import accumulate_n as accumulate_n
from .math import add_n as add_n
from .math import arg_max as arg_max
from .math import arg_min as arg_min
from .math import argmax as argmax
from .math import argmin as argmin
from .math import cast as cast
from .math import clip_by_average_norm as clip_by_average_norm
from .math import clip_by_global_norm as clip_by_global_norm
from .math import clip_by_norm as clip_by_norm
from .math import clip_by_value as clip_by_value
from .math import count_nonzero as count_nonzero
from .math import cumprod as cumprod
from .math import cumsum as cumsum
from .math import div as div
from .math import div_no_nan as div_no_nan
from .math import divide as divide
from .math import divide_no_nan as divide_no_nan
from .math import einsum as einsum
from .math import global_norm as global_norm
from .math import lbeta as lbeta
from .math import matmul as matmul
from .math import norm as norm
from .math import realdiv as realdiv
from .math import saturate_cast as saturate_cast
from .math import scalar_mul as scalar_mul
from .math import sparse_matmul as sparse_matmul
from .math import tensordot as tensordot
from .math import truediv as truediv
from .meta_graph import GraphDef as GraphDef
from .meta_graph import MetaGraphDef as MetaGraphDef
from .meta_graph import NodeDef as NodeDef
from .meta_graph import import_graph_def as import_graph_def
from .nn.spatial import batch_to_space_nd as batch_to_space_nd
from .nn.spatial import conv as conv
from .nn.spatial import conv2d_backprop_filter_v2 as conv2d_backprop_filter_v2
from .nn.spatial import conv2d_backprop_input_v2 as conv2d_backprop_input_v2
from .nn.spatial import depth_to_space as depth_to_space
from .nn.spatial import extract_image_patches as extract_image_patches
from .nn.spatial import extract_volume_patches as extract_volume_patches
from .nn.spatial import space_to_batch_nd as space_to_batch_nd
from .nn.spatial import space_to_depth as space_to_depth
from .platform import get_logger as get_logger
from .py_functions import Assert as Assert
from .py_functions import Print as Print
from .py_functions import add_check_numerics_ops as add_check_numerics_ops
from .py_functions import check_numerics as check_numerics
from .py_functions import numpy_function as numpy_function
from .py_functions import print_ as print
from .py_functions import py_func as py_func
from .py_functions import verify_tensor_all_finite as verify_tensor_all_finite
from .session import ConfigProto as ConfigProto
from .session import GPUOptions as GPUOptions
from .session import GraphOptions as GraphOptions
from .session import InteractiveSession as InteractiveSession
from .session import OptimizerOptions as OptimizerOptions
from .session import RunMetadata as RunMetadata
from .session import RunOptions as RunOptions
from .session import Session as Session
from .session import get_default_session as get_default_session
from .sparse import SparseTensor as SparseTensor
from .sparse import SparseTensorValue as SparseTensorValue
from .sparse import add as sparse_add
from .sparse import concat as sparse_concat
from .sparse import convert as convert_to_tensor_or_sparse_tensor
from .sparse import fill_empty_rows as sparse_fill_empty_rows
from .sparse import maximum as sparse_maximum
from .sparse import merge as sparse_merge
from .sparse import minimum as sparse_minimum
from .sparse import placeholder as sparse_placeholder
from .sparse import reduce_max as sparse_reduce_max
from .sparse import reduce_max_sparse as sparse_reduce_max_sparse
from .sparse import reduce_sum as sparse_reduce_sum
from .sparse import reduce_sum_sparse as sparse_reduce_sum_sparse
from .sparse import reorder as sparse_reorder
from .sparse import reset_shape as sparse_reset_shape
from .sparse import reshape as sparse_reshape
from .sparse import retain as sparse_retain
from .sparse import slice_ as sparse_slice
from .sparse import softmax as sparse_softmax
from .sparse import sparse_dense_matmul as sparse_tensor_dense_matmul
from .sparse import sparse_segment_mean as sparse_segment_mean
from .sparse import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from .sparse import sparse_segment_sum as sparse_segment_sum
from .sparse import sparse_to_dense as sparse_to_dense
from .sparse import split as sparse_split
from .sparse import to_dense as sparse_tensor_to_dense
from .sparse import to_indicator as sparse_to_indicator
from .sparse import transpose as sparse_transpose
from .special import approx_top_k as approx_top_k
from .special import betainc as betainc
from .special import bincount as bincount
from .special import histogram_fixed_width as histogram_fixed_width
from .special import histogram_fixed_width_bins as histogram_fixed_width_bins
from .special import polygamma as polygamma
from .special import truncatediv as truncatediv
from .special import zeta as zeta
from .state import COMPILER_VERSION as COMPILER_VERSION
from .state import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from .state import CXX_VERSION as CXX_VERSION
from .state import CriticalSection as CriticalSection
from .state import DeviceSpec as DeviceSpec
from .state import GIT_VERSION as GIT_VERSION
from .state import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from .state import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from .state import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from .state import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from .state import VERSION as VERSION
from .state import VERSION as __version__
from .state import VariableAggregation as VariableAggregation
from .state import VariableSynchronization as VariableSynchronization
from .state import assert_variables_initialized as assert_variables_initialized
from .state import colocate_with as colocate_with
from .state import container as container
from .state import control_flow_v2_enabled as control_flow_v2_enabled
from .state import dimension_at_index as dimension_at_index
from .state import dimension_value as dimension_value
from .state import disable_control_flow_v2 as disable_control_flow_v2
from .state import disable_eager_execution as disable_eager_execution
from .state import disable_resource_variables as disable_resource_variables
from .state import disable_tensor_equality as disable_tensor_equality
from .state import disable_v2_behavior as disable_v2_behavior
from .state import disable_v2_tensorshape as disable_v2_tensorshape
from .state import enable_control_flow_v2 as enable_control_flow_v2
from .state import enable_eager_execution as enable_eager_execution
from .state import enable_resource_variables as enable_resource_variables
from .state import enable_tensor_equality as enable_tensor_equality
from .state import enable_v2_behavior as enable_v2_behavior
from .state import ensure_shape as ensure_shape
from .state import executing_eagerly as executing_eagerly
from .state import executing_eagerly_outside_functions as executing_eagerly_outside_functions
from .state import guarantee_const as guarantee_const
from .state import identity_n as identity_n
from .state import init_scope as init_scope
from .state import initialize_local_variables as initialize_local_variables
from .state import is_tensor as is_tensor
from .state import is_variable_initialized as is_variable_initialized
from .state import no_regularizer as no_regularizer
from .state import op_scope as op_scope
from .state import report_uninitialized_variables as report_uninitialized_variables
from .state import resource_variables_enabled as resource_variables_enabled
from .state import switch_case as switch_case
from .state import timestamp as timestamp
from .state import variable_creator_scope as variable_creator_scope
from .strings import as_string as as_string
from .strings import decode_raw as decode_raw
from .strings import join as string_join
from .strings import reduce_join as reduce_join
from .strings import regex_replace as regex_replace
from .strings import string_split as string_split
from .strings import string_to_hash_bucket as string_to_hash_bucket
from .strings import strip as string_strip
from .strings import substr as substr
from .strings import to_hash_bucket_fast as string_to_hash_bucket_fast
from .strings import to_hash_bucket_strong as string_to_hash_bucket_strong
from .strings import to_number as string_to_number
from .tensor_array import TensorArray as TensorArray
from .train.threads import FIFOQueue as FIFOQueue
from .train.threads import PaddingFIFOQueue as PaddingFIFOQueue
from .train.threads import PriorityQueue as PriorityQueue
from .train.threads import QueueBase as QueueBase
from .train.threads import RandomShuffleQueue as RandomShuffleQueue
from .variable_scopes import AUTO_REUSE as AUTO_REUSE
from .variable_scopes import VariableScope as VariableScope
from .variable_scopes import create_partitioned_variables as create_partitioned_variables
from .variable_scopes import fixed_size_partitioner as fixed_size_partitioner
from .variable_scopes import get_local_variable as get_local_variable
from .variable_scopes import get_variable as get_variable
from .variable_scopes import get_variable_scope as get_variable_scope
from .variable_scopes import make_template as make_template
from .variable_scopes import min_max_variable_partitioner as min_max_variable_partitioner
from .variable_scopes import variable_axis_size_partitioner as variable_axis_size_partitioner
from .variable_scopes import variable_op_scope as variable_op_scope
from .variable_scopes import variable_scope as variable_scope
from .variables import Variable as Variable
from .variables import all_variables as all_variables
from .variables import assign as assign
from .variables import assign_add as assign_add
from .variables import assign_sub as assign_sub
from .variables import count_up_to as count_up_to
from .variables import global_variables as global_variables
from .variables import global_variables_initializer as global_variables_initializer
from .variables import initialize_all_variables as initialize_all_variables
from .variables import initialize_variables as initialize_variables
from .variables import local_variables as local_variables
from .variables import local_variables_initializer as local_variables_initializer
from .variables import model_variables as model_variables
from .variables import moving_average_variables as moving_average_variables
from .variables import scatter_add as scatter_add
from .variables import scatter_div as scatter_div
from .variables import scatter_max as scatter_max
from .variables import scatter_min as scatter_min
from .variables import scatter_mul as scatter_mul
from .variables import scatter_nd_add as scatter_nd_add
from .variables import scatter_nd_sub as scatter_nd_sub
from .variables import scatter_nd_update as scatter_nd_update
from .variables import scatter_sub as scatter_sub
from .variables import scatter_update as scatter_update
from .variables import trainable_variables as trainable_variables
from .variables import variables_initializer as variables_initializer
from typing import Any
def abs(x: Any, name: Any = ...) -> Any: ...
def acos(x: Any, name: Any = ...) -> Any: ...
def acosh(x: Any, name: Any = ...) -> Any: ...
def add(x: Any, y: Any, name: Any = ...) -> Any: ...
def asin(x: Any, name: Any = ...) -> Any: ...
def asinh(x: Any, name: Any = ...) -> Any: ...
def atan(x: Any, name: Any = ...) -> Any: ...
def atan2(y: Any, x: Any, name: Any = ...) -> Any: ...
def atanh(x: Any, name: Any = ...) -> Any: ...
def bessel_i0(x: Any, name: Any = ...) -> Any: ...
def ceil(x: Any, name: Any = ...) -> Any: ...
def cos(x: Any, name: Any = ...) -> Any: ...
def cosh(x: Any, name: Any = ...) -> Any: ...
def digamma(x: Any, name: Any = ...) -> Any: ...
def equal(x: Any, y: Any, name: Any = ...) -> Any: ...
def erf(x: Any, name: Any = ...) -> Any: ...
def erfc(x: Any, name: Any = ...) -> Any: ...
def erfinv(x: Any, name: Any = ...) -> Any: ...
def exp(x: Any, name: Any = ...) -> Any: ...
def expm1(x: Any, name: Any = ...) -> Any: ...
def floor(x: Any, name: Any = ...) -> Any: ...
def floor_div(x: Any, y: Any, name: Any = ...) -> Any: ...
def floordiv(x: Any, y: Any, name: Any = ...) -> Any: ...
def floormod(x: Any, y: Any, name: Any = ...) -> Any: ...
def greater(x: Any, y: Any, name: Any = ...) -> Any: ...
def greater_equal(x: Any, y: Any, name: Any = ...) -> Any: ...
def igamma(a: Any, x: Any, name: Any = ...) -> Any: ...
def igammac(a: Any, x: Any, name: Any = ...) -> Any: ...
def is_finite(x: Any, name: Any = ...) -> Any: ...
def is_inf(x: Any, name: Any = ...) -> Any: ...
def is_nan(x: Any, name: Any = ...) -> Any: ...
def less(x: Any, y: Any, name: Any = ...) -> Any: ...
def less_equal(x: Any, y: Any, name: Any = ...) -> Any: ...
def lgamma(x: Any, name: Any = ...) -> Any: ...
def log(x: Any, name: Any = ...) -> Any: ...
def log1p(x: Any, name: Any = ...) -> Any: ...
def log_sigmoid(x: Any, name: Any = ...) -> Any: ...
def logical_and(x: Any, y: Any, name: Any = ...) -> Any: ...
def logical_not(x: Any, name: Any = ...) -> Any: ...
def logical_or(x: Any, y: Any, name: Any = ...) -> Any: ...
def logical_xor(x: Any, y: Any, name: Any = ...) -> Any: ...
def maximum(x: Any, y: Any, name: Any = ...) -> Any: ...
def minimum(x: Any, y: Any, name: Any = ...) -> Any: ...
def mod(x: Any, y: Any, name: Any = ...) -> Any: ...
def mul(x: Any, y: Any, name: Any = ...) -> Any: ...
def multiply(x: Any, y: Any, name: Any = ...) -> Any: ...
def multiply_no_nan(x: Any, y: Any, name: Any = ...) -> Any: ...
def neg(x: Any, name: Any = ...) -> Any: ...
def negative(x: Any, name: Any = ...) -> Any: ...
def nextafter(x1: Any, x2: Any, name: Any = ...) -> Any: ...
def not_equal(x: Any, y: Any, name: Any = ...) -> Any: ...
def pow(x: Any, y: Any, name: Any = ...) -> Any: ...
def reciprocal(x: Any, name: Any = ...) -> Any: ...
def reciprocal_no_nan(x: Any, name: Any = ...) -> Any: ...
def reduce_all(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_any(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_euclidean_norm(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_logsumexp(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_max(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_mean(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_min(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_prod(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_std(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_sum(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def reduce_variance(input_tensor: Any, axis: Any = ..., keepdims: Any = ..., name: Any = ..., reduction_indices: Any = ..., keep_dims: Any = ...) -> Any: ...
def rint(x: Any, name: Any = ...) -> Any: ...
def round(x: Any, name: Any = ...) -> Any: ...
def rsqrt(x: Any, name: Any = ...) -> Any: ...
def segment_max(data: Any, segment_ids: Any, name: Any = ...) -> Any: ...
def segment_mean(data: Any, segment_ids: Any, name: Any = ...) -> Any: ...
def segment_min(data: Any, segment_ids: Any, name: Any = ...) -> Any: ...
def segment_prod(data: Any, segment_ids: Any, name: Any = ...) -> Any: ...
def segment_sum(data: Any, segment_ids: Any, name: Any = ...) -> Any: ...
def sigmoid(x: Any, name: Any = ...) -> Any: ...
def sign(x: Any, name: Any = ...) -> Any: ...
def sin(x: Any, name: Any = ...) -> Any: ...
def sinh(x: Any, name: Any = ...) -> Any: ...
def softplus(features: Any, name: Any = ...) -> Any: ...
def sqrt(x: Any, name: Any = ...) -> Any: ...
def square(x: Any, name: Any = ...) -> Any: ...
def squared_difference(x: Any, y: Any, name: Any = ...) -> Any: ...
def sub(x: Any, y: Any, name: Any = ...) -> Any: ...
def subtract(x: Any, y: Any, name: Any = ...) -> Any: ...
def tan(x: Any, name: Any = ...) -> Any: ...
def tanh(x: Any, name: Any = ...) -> Any: ...
def to_double(x: Any, name: Any = ...) -> Any: ...
def to_float(x: Any, name: Any = ...) -> Any: ...
def to_int32(x: Any, name: Any = ...) -> Any: ...
def to_int64(x: Any, name: Any = ...) -> Any: ...
def truncatemod(x: Any, y: Any, name: Any = ...) -> Any: ...
def unsorted_segment_max(data: Any, segment_ids: Any, num_segments: Any, name: Any = ...) -> Any: ...
def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: Any = ...) -> Any: ...
def unsorted_segment_min(data: Any, segment_ids: Any, num_segments: Any, name: Any = ...) -> Any: ...
def unsorted_segment_prod(data: Any, segment_ids: Any, num_segments: Any, name: Any = ...) -> Any: ...
def unsorted_segment_sqrt_n(data: Any, segment_ids: Any, num_segments: Any, name: Any = ...) -> Any: ...
def unsorted_segment_sum(data: Any, segment_ids: Any, num_segments: Any, name: Any = ...) -> Any: ...
def xdivy(x: Any, y: Any, name: Any = ...) -> Any: ...
def xlogy(x: Any, y: Any, name: Any = ...) -> Any: ...
def __getattr__(name: str) -> Any: ...
__all__ = [
    "AUTO_REUSE", "AggregationMethod", "Assert", "COMPILER_VERSION", "CXX11_ABI_FLAG", "CXX_VERSION", "ConfigProto",
    "CriticalSection", "DType", "DeviceSpec", "Dimension", "FIFOQueue", "GIT_VERSION", "GPUOptions", "GRAPH_DEF_VERSION",
    "GRAPH_DEF_VERSION_MIN_CONSUMER", "GRAPH_DEF_VERSION_MIN_PRODUCER", "Graph", "GraphDef", "GraphKeys", "GraphOptions",
    "IndexedSlices", "InteractiveSession", "MONOLITHIC_BUILD", "MetaGraphDef", "NoGradient", "NodeDef", "NotDifferentiable",
    "OpError", "Operation", "OptimizerOptions", "PaddingFIFOQueue", "Print", "PriorityQueue", "QUANTIZED_DTYPES",
    "QueueBase", "RandomShuffleQueue", "RegisterGradient", "RunMetadata", "RunOptions", "Session", "SparseTensor",
    "SparseTensorValue", "Tensor", "TensorArray", "TensorShape", "UnconnectedGradients", "VERSION", "Variable",
    "VariableAggregation", "VariableScope", "VariableSynchronization", "__version__", "abs", "accumulate_n", "acos",
    "acosh", "add", "add_check_numerics_ops", "add_n", "add_to_collection", "add_to_collections", "all_variables", "app",
    "approx_top_k", "arg_max", "arg_min", "argmax", "argmin", "argsort", "as_dtype", "as_string", "asin", "asinh",
    "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal",
    "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive",
    "assert_proper_iterable", "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_type", "assert_variables_initialized", "assign", "assign_add", "assign_sub", "atan", "atan2",
    "atanh", "batch_gather", "batch_to_space", "batch_to_space_nd", "bessel_i0", "betainc", "bfloat16", "bincount",
    "bitwise", "bool", "boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case", "cast",
    "ceil", "check_numerics", "cholesky", "cholesky_solve", "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm",
    "clip_by_value", "colocate_with", "concat", "cond", "confusion_matrix", "constant", "constant_initializer", "container",
    "contrib", "control_dependencies", "control_flow_v2_enabled", "conv", "conv2d_backprop_filter_v2",
    "conv2d_backprop_input_v2", "convert_to_tensor", "convert_to_tensor_or_indexed_slices",
    "convert_to_tensor_or_sparse_tensor", "cos", "cosh", "count_nonzero", "count_up_to", "create_partitioned_variables",
    "cross", "cumprod", "cumsum", "custom_gradient", "data", "debugging", "decode_raw", "depth_to_space", "device", "diag",
    "diag_part", "digamma", "dimension_at_index", "dimension_value", "disable_control_flow_v2", "disable_eager_execution",
    "disable_resource_variables", "disable_tensor_equality", "disable_v2_behavior", "disable_v2_tensorshape",
    "distributions", "div", "div_no_nan", "divide", "divide_no_nan", "double", "dynamic_partition", "dynamic_stitch",
    "einsum", "enable_control_flow_v2", "enable_eager_execution", "enable_resource_variables", "enable_tensor_equality",
    "enable_v2_behavior", "ensure_shape", "equal", "erf", "erfc", "erfinv", "errors", "executing_eagerly",
    "executing_eagerly_outside_functions", "exp", "expand_dims", "expm1", "extract_image_patches", "extract_volume_patches",
    "eye", "fill", "fixed_size_partitioner", "flags", "float16", "float32", "float64", "floor", "floor_div", "floordiv",
    "floormod", "foldl", "foldr", "gather", "gather_nd", "get_collection", "get_collection_ref", "get_default_graph",
    "get_default_session", "get_local_variable", "get_logger", "get_seed", "get_static_value", "get_variable",
    "get_variable_scope", "gfile", "global_norm", "global_variables", "global_variables_initializer",
    "glorot_normal_initializer", "glorot_uniform_initializer", "grad_pass_through", "gradients", "greater", "greater_equal",
    "group", "guarantee_const", "half", "hessians", "histogram_fixed_width", "histogram_fixed_width_bins", "identity",
    "identity_n", "igamma", "igammac", "image", "import_graph_def", "init_scope", "initialize_all_tables",
    "initialize_all_variables", "initialize_local_variables", "initialize_variables", "initializers", "int16", "int32",
    "int64", "int8", "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing", "is_numeric_tensor",
    "is_strictly_increasing", "is_symbolic_tensor", "is_tensor", "is_variable_initialized", "keras", "layers", "lbeta",
    "less", "less_equal", "lgamma", "lin_space", "linalg", "linspace", "local_variables", "local_variables_initializer",
    "log", "log1p", "log_sigmoid", "logging", "logical_and", "logical_not", "logical_or", "logical_xor", "lookup", "losses",
    "make_template", "manip", "map_fn", "math", "matmul", "matrix_band_part", "matrix_determinant", "matrix_diag",
    "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls", "matrix_square_root",
    "matrix_transpose", "matrix_triangular_solve", "maximum", "meshgrid", "metrics", "min_max_variable_partitioner",
    "minimum", "mod", "model_variables", "moving_average_variables", "mul", "multinomial", "multiply", "multiply_no_nan",
    "name_scope", "neg", "negative", "nest", "newaxis", "nextafter", "nn", "no_gradient", "no_op", "no_regularizer", "norm",
    "not_equal", "numpy_function", "one_hot", "ones", "ones_initializer", "ones_like", "op_scope", "orthogonal_initializer",
    "pad", "parallel_stack", "placeholder", "placeholder_with_default", "polygamma", "pow", "print", "py_func", "qr",
    "random", "random_crop", "random_gamma", "random_normal", "random_normal_initializer", "random_poisson",
    "random_shuffle", "random_uniform", "random_uniform_initializer", "range", "rank", "realdiv", "reciprocal",
    "reciprocal_no_nan", "recompute_grad", "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_join",
    "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum",
    "reduce_variance", "regex_replace", "repeat", "report_uninitialized_variables", "required_space_to_batch_paddings",
    "reset_default_graph", "reshape", "resource_variables_enabled", "reverse", "reverse_sequence", "reverse_v2", "rint",
    "roll", "round", "rsqrt", "saturate_cast", "scalar_mul", "scan", "scatter_add", "scatter_div", "scatter_max",
    "scatter_min", "scatter_mul", "scatter_nd", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub",
    "scatter_update", "searchsorted", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "self_adjoint_eig", "self_adjoint_eigvals", "sequence_mask", "set_random_seed", "setdiff1d", "shape", "shape_n",
    "sigmoid", "sign", "sin", "sinh", "size", "slice", "softplus", "sort", "space_to_batch", "space_to_batch_nd",
    "space_to_depth", "sparse", "sparse_add", "sparse_concat", "sparse_fill_empty_rows", "sparse_matmul", "sparse_maximum",
    "sparse_merge", "sparse_minimum", "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_max_sparse",
    "sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder", "sparse_reset_shape", "sparse_reshape",
    "sparse_retain", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum", "sparse_slice", "sparse_softmax",
    "sparse_split", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense", "sparse_to_indicator",
    "sparse_transpose", "split", "sqrt", "square", "squared_difference", "squeeze", "stack", "stop_gradient",
    "strided_slice", "string", "string_join", "string_split", "string_strip", "string_to_hash_bucket",
    "string_to_hash_bucket_fast", "string_to_hash_bucket_strong", "string_to_number", "strings", "sub", "substr",
    "subtract", "summary", "svd", "switch_case", "tables_initializer", "tan", "tanh", "tensor_scatter_add",
    "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update", "tensordot", "test", "tile", "timestamp",
    "to_double", "to_float", "to_int32", "to_int64", "trace", "train", "trainable_variables", "transpose", "truediv",
    "truncated_normal", "truncated_normal_initializer", "truncatediv", "truncatemod", "tuple", "uint16", "uint32", "uint64",
    "uint8", "uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unravel_index", "unsorted_segment_max",
    "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n",
    "unsorted_segment_sum", "unstack", "variable_axis_size_partitioner", "variable_creator_scope", "variable_op_scope",
    "variable_scope", "variables_initializer", "variance_scaling_initializer", "vectorized_map", "verify_tensor_all_finite",
    "where", "where_v2", "while_loop", "xdivy", "xlogy", "zeros", "zeros_initializer", "zeros_like", "zeta",
]
