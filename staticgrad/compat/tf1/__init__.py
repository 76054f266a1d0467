"""TensorFlow 1's dialect: `import staticgrad.compat.tf1 as tf`.

Each name is a function of this library, or a few lines on one, with TensorFlow's arguments, defaults and meaning. A graph
of this dialect is a `staticgrad.Graph`: sessions compile it as any other.
"""

from __future__ import annotations

import sys
from typing import Any

from . import (
    app,
    behavior,
    custom_gradients,
    data,
    debugging,
    distributions,
    errors,
    estimator,
    flags,
    gathering,
    gfile,
    image,
    indexed_slices,
    initializers,
    layers,
    linalg,
    logging,
    losses,
    math,
    meta_graph,
    metrics,
    namespaces,
    nest,
    nn,
    paths,
    py_functions,
    queues,
    refused,
    scatter,
    state,
    summary,
    test,
    train,
    variable_scopes,
)
from . import gradients as _gradients
from .arrays import concat as concat
from .arrays import (
    constant,
    convert_to_tensor,
    expand_dims,
    eye,
    fill,
    gather,
    identity,
    linspace,
    one_hot,
    ones,
    ones_like,
    pad,
    placeholder,
    placeholder_with_default,
    rank,
    reshape,
    reverse,
    sequence_mask,
    shape,
    size,
    split,
    squeeze,
    stack,
    stop_gradient,
    strided_slice,
    tile,
    transpose,
    unstack,
    where,
    zeros,
    zeros_like,
)
from .arrays import range_ as range
from .arrays import slice_ as slice
from .control import case, cond, foldl, foldr, group, map_fn, no_op, scan, while_loop
from .control import tuple_ as tuple
from .dtypes import DType, as_dtype, double, float32, float64, int8, int16, int32, int64, uint8
from .dtypes import bool_ as bool
from .dtypes import string as string
from .graph import (
    Graph,
    GraphKeys,
    add_to_collection,
    add_to_collections,
    control_dependencies,
    device,
    get_collection,
    get_collection_ref,
    get_default_graph,
    name_scope,
    reset_default_graph,
    set_random_seed,
)
from .handles import Operation, Tensor
from .initializers import (
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal_initializer,
    variance_scaling_initializer,
    zeros_initializer,
)
from .random import random_normal, random_uniform, truncated_normal
from .session import (
    ConfigProto,
    GPUOptions,
    GraphOptions,
    InteractiveSession,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
    Session,
    get_default_session,
)
from .shapes import Dimension, TensorShape
from .tensor_array import TensorArray
from .variables import (
    Variable,
    all_variables,
    assign,
    assign_add,
    assign_sub,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    initialize_variables,
    local_variables,
    local_variables_initializer,
    model_variables,
    trainable_variables,
    variables_initializer,
)

newaxis = None
sigmoid, tanh = nn.sigmoid, nn.tanh

_MATH = (
    *math.UNARY, *math.BINARY, *math.REDUCED, "accumulate_n", "add_n", "argmax", "argmin", "cast",
    "clip_by_global_norm",
    "clip_by_norm",
    "clip_by_value", "count_nonzero", "cumsum", "div", "div_no_nan", "sparse_matmul", "divide",
    "einsum", "global_norm", "matmul", "mod",
    "clip_by_average_norm", "cumprod", "lbeta", "norm", "reduce_mean", "reduce_prod", "saturate_cast", "scalar_mul",
    "divide_no_nan", "realdiv", "tensordot", "to_double", "to_float", "to_int32", "to_int64", "truediv", *math.ALIASES,
)  # fmt: skip
_IMAGE = ("random_crop",)
_NN = ("batch_to_space_nd", "depth_to_space", "extract_image_patches", "space_to_batch_nd", "space_to_depth")
_PUBLIC: dict[Any, Any] = {
    state: state.PUBLIC, meta_graph: meta_graph.PUBLIC, queues: queues.PUBLIC, debugging: debugging.PUBLIC,
    py_functions: py_functions.PUBLIC, custom_gradients: custom_gradients.PUBLIC, indexed_slices: indexed_slices.PUBLIC,
    behavior: behavior.PUBLIC, gathering: gathering.PUBLIC, image: _IMAGE, math: _MATH, nn: _NN, scatter: scatter.PUBLIC,
    variable_scopes: variable_scopes.PUBLIC,
}  # fmt: skip
"""Names of modules that are names of the dialect, too."""
for _module, _names in _PUBLIC.items():
    globals().update({_name: getattr(_module, _name) for _name in _names})
globals().update(linalg.TOP | namespaces.TOP)
globals().update(print=py_functions.print_, get_logger=logging.get_logger)
OpError = errors.OpError
__version__ = state.VERSION
globals().update({_name: getattr(_gradients, _name) for _name in _gradients.PUBLIC})
for _name in gathering.PUBLIC:
    setattr(math, _name, getattr(gathering, _name))
setattr(math, "top_k", gathering.top_k)  # noqa: B010  (an assignment would not be typed)
setattr(math, "in_top_k", gathering.in_top_k)  # noqa: B010


paths.enter(sys.modules[__name__])


for _module in (
    data, distributions, estimator.inputs, image, initializers, layers, linalg, losses, math, metrics, nn,
    namespaces.TOP["contrib"], test, train,
):  # fmt: skip
    refused.refuse_in(f"tf.{_module.__name__.removeprefix(__name__ + '.')}", _module)


def __getattr__(name: str) -> Any:
    if name in summary.RECORDS:
        return getattr(summary, name)
    raise refused.missing("tf", globals(), name)


__all__ = [
    "ConfigProto",
    "DType",
    "Dimension",
    "GPUOptions",
    "Graph",
    "GraphKeys",
    "GraphOptions",
    "InteractiveSession",
    "Operation",
    "OptimizerOptions",
    "RunMetadata",
    "RunOptions",
    "Session",
    "Tensor",
    "TensorArray",
    "TensorShape",
    "Variable",
    "add_to_collection",
    "add_to_collections",
    "all_variables",
    "app",
    "as_dtype",
    "assign",
    "assign_add",
    "assign_sub",
    "behavior",
    "bool",
    "case",
    "concat",
    "cond",
    "constant",
    "constant_initializer",
    "control_dependencies",
    "convert_to_tensor",
    "data",
    "device",
    "distributions",
    "double",
    "errors",
    "estimator",
    "expand_dims",
    "eye",
    "fill",
    "flags",
    "float32",
    "float64",
    "foldl",
    "foldr",
    "gather",
    "gathering",
    "get_collection",
    "get_collection_ref",
    "get_default_graph",
    "get_default_session",
    "global_variables",
    "global_variables_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "group",
    "identity",
    "image",
    "initialize_all_variables",
    "initialize_variables",
    "initializers",
    "int16",
    "int32",
    "int64",
    "int8",
    "layers",
    "linalg",
    "linspace",
    "local_variables",
    "local_variables_initializer",
    "logging",
    "losses",
    "map_fn",
    "math",
    "metrics",
    "model_variables",
    "name_scope",
    "nest",
    "newaxis",
    "nn",
    "no_op",
    "one_hot",
    "ones",
    "ones_initializer",
    "ones_like",
    "pad",
    "placeholder",
    "placeholder_with_default",
    "random_normal",
    "random_normal_initializer",
    "random_uniform",
    "random_uniform_initializer",
    "range",
    "rank",
    "reset_default_graph",
    "reshape",
    "reverse",
    "scan",
    "scatter",
    "sequence_mask",
    "set_random_seed",
    "shape",
    "size",
    "slice",
    "split",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "summary",
    "tile",
    "test",
    "gfile",
    "debugging",
    "train",
    "trainable_variables",
    "transpose",
    "truncated_normal",
    "truncated_normal_initializer",
    "tuple",
    "uint8",
    "unstack",
    "variables_initializer",
    "variance_scaling_initializer",
    "where",
    "while_loop",
    "zeros",
    "zeros_initializer",
    "zeros_like",
    *_MATH,
    *linalg.TOP,
    *namespaces.TOP,
    *[_name for _names in _PUBLIC.values() for _name in _names],
]
