"""staticgrad: a static-graph compiler for training on the CPU, contrasted with define-by-run.

`import staticgrad as sg` loads NumPy and the eager front end. Everything else is loaded when it is first named; numba,
networkx, scipy and matplotlib when something needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import autograd
from .eager import PublicGenerator as Generator
from .eager import PublicTensor as Tensor
from .eager import (
    arange,
    detect_anomaly,
    enable_grad,
    eye,
    full,
    grad,
    graph_of,
    is_grad_enabled,
    linspace,
    manual_seed,
    no_grad,
    ones,
    rand,
    randint,
    randn,
    randperm,
    set_grad_enabled,
    tensor,
    zeros,
)
from .errors import (
    AnomalyError,
    ArgumentError,
    CompileError,
    DivisionError,
    DTypeError,
    FeedError,
    GradientError,
    GraphError,
    IndexRangeError,
    OutOfMemoryError,
    ShapeError,
    StaticgradError,
    TraceError,
    UninitializedError,
    VerifyError,
)
from .functions import (
    abs,
    add,
    all,
    any,
    argmax,
    argmin,
    as_tensor,
    astype,
    broadcast_like,
    broadcast_to,
    ceil,
    clamp,
    clip,
    clone,
    concatenate,
    cond,
    cos,
    cumsum,
    div,
    dot,
    dropout,
    einsum,
    eq,
    erf,
    exp,
    expand,
    expand_dims,
    expm1,
    flatten,
    flip,
    floor,
    floor_divide,
    from_numpy,
    ge,
    getitem,
    gt,
    index_add,
    index_along,
    is_tensor,
    isfinite,
    isnan,
    le,
    log,
    log1p,
    log_softmax,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    logsumexp,
    lt,
    masked_fill,
    matmul,
    max,
    maximum,
    mean,
    min,
    minimum,
    mul,
    ne,
    neg,
    norm,
    one_hot,
    ones_like,
    outer,
    permute,
    pow,
    reciprocal,
    relu,
    remainder,
    reshape,
    round,
    rsqrt,
    scan,
    sigmoid,
    sign,
    sin,
    softmax,
    softplus,
    split,
    sqrt,
    square,
    squeeze,
    stack,
    std,
    stop_gradient,
    sub,
    sum,
    swapaxes,
    take,
    take_along_axis,
    tanh,
    transpose,
    unsqueeze,
    var,
    where,
    while_loop,
    zeros_like,
)
from .types import bool_, float32, float64, get_default_dtype, int8, int16, int32, int64, set_default_dtype, uint8

if TYPE_CHECKING:
    from . import distributions, functional, nn, optim, utils
    from .compiler.passes.user_passes import graph_pass, rewrite
    from .compiler.runtime.threads import get_num_threads, set_num_threads
    from .interchange.graph_json import from_json, to_json
    from .ir.text import to_dot, to_graphml, to_networkx, to_text
    from .static import (
        Graph,
        GraphKeys,
        Operation,
        Session,
        Variable,
        assign,
        assign_add,
        assign_sub,
        constant,
        control_dependencies,
        get_collection,
        get_default_graph,
        get_default_session,
        global_variables,
        global_variables_initializer,
        gradients,
        group,
        identity,
        no_op,
        placeholder,
        reset_default_graph,
        trainable_variables,
        variables_initializer,
    )
    from .tracing import compile
    from .viz.compare import compare
    from .viz.draw import draw

__version__ = "0.1.0"

_MODULES = {
    ".viz.compare": ("compare",),
    ".compiler.runtime.threads": ("get_num_threads", "set_num_threads"),
    ".viz.draw": ("draw",),
    ".ir.text": ("to_dot", "to_graphml", "to_networkx", "to_text"),
    ".interchange.graph_json": ("from_json", "to_json"),
    ".static": (
        "Graph", "GraphKeys", "Operation", "Session", "Variable", "assign", "assign_add", "assign_sub", "constant",
        "control_dependencies", "get_collection", "get_default_graph", "get_default_session", "global_variables",
        "global_variables_initializer", "gradients", "group", "identity", "no_op", "placeholder", "reset_default_graph",
        "trainable_variables", "variables_initializer",
    ),
    ".compiler.passes.user_passes": ("graph_pass", "rewrite"),
    ".tracing": ("compile",),
}  # fmt: skip
_LAZY = {name: module for module, names in _MODULES.items() for name in names}
"""Public name -> the module that defines it, imported when the name is first used."""

_LAZY_MODULES = frozenset({"distributions", "functional", "nn", "optim", "utils"})


if not TYPE_CHECKING:  # type checkers know the names from the imports above, and report all others

    def __getattr__(name: str) -> Any:
        if name in _LAZY_MODULES:
            return importlib.import_module(f".{name}", __name__)
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_LAZY[name], __name__), name)
        globals()[name] = value  # later uses find it without coming here
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "AnomalyError", "ArgumentError", "CompileError", "DTypeError", "DivisionError", "FeedError", "Generator",
    "GradientError", "Graph", "GraphError", "GraphKeys", "IndexRangeError", "Operation", "OutOfMemoryError", "Session",
    "ShapeError", "StaticgradError", "Tensor", "TraceError", "UninitializedError", "Variable", "VerifyError", "__version__",
    "abs", "add", "all", "any", "arange", "argmax", "argmin", "as_tensor", "assign", "assign_add", "assign_sub", "astype",
    "autograd", "bool_", "broadcast_like", "broadcast_to", "ceil", "clamp", "clip", "clone", "compare", "compile",
    "concatenate", "cond", "constant", "control_dependencies", "cos", "cumsum", "detect_anomaly", "distributions", "div",
    "dot", "draw", "dropout", "einsum", "enable_grad", "eq", "erf", "exp", "expand", "expand_dims", "expm1", "eye",
    "flatten", "flip", "float32", "float64", "floor", "floor_divide", "from_json", "from_numpy", "full", "functional", "ge",
    "get_collection", "get_default_dtype", "get_default_graph", "get_default_session", "get_num_threads", "getitem",
    "global_variables", "global_variables_initializer", "grad", "gradients", "graph_of", "graph_pass", "group", "gt",
    "identity", "index_add", "index_along", "int16", "int32", "int64", "int8", "is_grad_enabled", "is_tensor", "isfinite",
    "isnan", "le", "linspace", "log", "log1p", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logsumexp", "lt", "manual_seed", "masked_fill", "matmul", "max", "maximum", "mean", "min", "minimum", "mul", "ne",
    "neg", "nn", "no_grad", "no_op", "norm", "one_hot", "ones", "ones_like", "optim", "outer", "permute", "placeholder",
    "pow", "rand", "randint", "randn", "randperm", "reciprocal", "relu", "remainder", "reset_default_graph", "reshape",
    "rewrite", "round", "rsqrt", "scan", "set_default_dtype", "set_grad_enabled", "set_num_threads", "sigmoid", "sign",
    "sin", "softmax", "softplus", "split", "sqrt", "square", "squeeze", "stack", "std", "stop_gradient", "sub", "sum",
    "swapaxes", "take", "take_along_axis", "tanh", "tensor", "to_dot", "to_graphml", "to_json", "to_networkx", "to_text",
    "trainable_variables", "transpose", "uint8", "unsqueeze", "utils", "var", "variables_initializer", "where",
    "while_loop", "zeros", "zeros_like",
]  # fmt: skip
