"""`out=`: the results of a function are written to tensors that exist already, as PyTorch does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, DTypeError, GradientError
from ..ops.operators import NONE, Lifted, Operators, Symbol, frontends
from .grad_mode import modes
from .inplace import check_dtype, check_overlap, of_a_graph, replace, tracer
from .layout_changes import check_resized, resize

ACCUMULATED = frozenset({"sum", "nansum", "prod", "cumsum", "cumprod"})
"""Functions that compute in the dtype of `out`."""
WORDS = {
    "float32": "float", "float64": "double", "int64": "long int", "int32": "int", "int16": "short int", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip
"""PyTorch's words for dtypes in errors of `out`."""

EXACT = frozenset({
    "abs", "addbmm", "addmm", "addmv", "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "baddbmm",
    "bitwise_not", "bmm", "bucketize", "chain_matmul", "clamp", "clamp_max", "clamp_min", "clip", "complex",
    "conj_physical", "cross", "cummax", "cummin", "diag", "dot", "floor", "frac", "gather", "heaviside", "histc",
    "index_add", "index_copy", "index_select", "inner", "inv", "inverse", "isin", "isposinf", "kthvalue", "log_softmax",
    "logcumsumexp", "masked_select", "matmul", "matrix_power", "max", "median", "min", "mm", "mode", "msort", "mv",
    "nan_to_num", "nanmedian", "nanquantile", "neg", "nonzero", "norm", "polar", "qr", "quantile", "renorm", "round",
    "scatter", "scatter_add", "searchsorted", "sgn", "sign", "signbit", "softmax", "sort", "svd", "take",
    "take_along_dim", "tensordot", "topk", "tril", "triu", "vdot", "where",
})  # fmt: skip
"""Functions whose results are not cast: PyTorch takes an `out` of their dtype alone."""


def into(
    out: Any, name: str, function: Callable[..., Any], args: tuple[Any, ...], named: Mapping[str, Any] = NONE,
    warns: bool = True,
) -> Any:  # fmt: skip
    """Write the results of `function(*args, **named)` to `out`, a tensor or a tuple of them, and return that.

    A tensor of another shape is resized; where it had elements PyTorch's functions warn, and its factories don't (`warns`).
    Raises GradientError where a gradient would be recorded, and DTypeError for a dtype that the result can't be cast to, before
    any of them is changed.
    """
    several = isinstance(out, (tuple, list))
    targets = list(out) if several else [out]
    for x in targets:
        if not isinstance(x, Operators):
            raise ArgumentTypeError(f"{name}(): argument 'out' must be Tensor, not {type(x).__name__}")
        if isinstance(x, Symbol) and not isinstance(x, Lifted) and tracer() is None:
            raise of_a_graph(name, x)
    if name in ACCUMULATED and named.get("dtype") is None and isinstance(out, Operators):
        named = {**named, "dtype": out.dtype}
    for x in targets:
        for a in args:
            if a is not x:
                check_overlap(x, a, name)
    found = function(*args, **named)
    results = list(found) if isinstance(found, tuple) else [found]
    if not all(isinstance(x, (Operators, np.ndarray, np.generic)) for x in results):
        raise ArgumentTypeError(f"{name}() got an unexpected keyword argument 'out'", "its result is no tensor")
    if len(results) != len(targets):
        raise ArgumentTypeError(f"{name}(): expected {len(results)} tensors in 'out', got {len(targets)}")
    if modes.now.grad and any(x.requires_grad for x in (*targets, *results)):
        raise GradientError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad.",
            f"write y = {name}(...), or do it under no_grad()",
        )
    for x, value in zip(targets, results, strict=True):
        if name in EXACT and x.dtype != value.dtype:
            raise DTypeError(
                f"Expected out tensor to have dtype {WORDS[value.dtype.name]}, but got {WORDS[x.dtype.name]} instead",
                f"{name}: cast the result, y.copy_({name}(...))",
            )
        check_dtype(x, value, name)
        if x.shape != value.shape:
            check_resized(x, value.shape, name)
    for x, value in zip(targets, results, strict=True):
        if x.shape != value.shape:
            if warns and x.numel():
                _warn_resized(x.shape, value.shape)
            resize(x, value.shape, name)
        if getattr(value, "_drawn", False):
            x._drawn = True
        replace(x, value, name)
    return type(found)(*targets) if hasattr(found, "_fields") else tuple(targets) if several else out


def _warn_resized(former: Any, shape: Any) -> None:
    warnings.warn(
        f"An output with one or more elements was resized since it had shape {list(former)}, which does not match the required "
        f"output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
        "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
        "with t.resize_(0).",
        UserWarning,
        stacklevel=4,
    )


frontends.into = into
