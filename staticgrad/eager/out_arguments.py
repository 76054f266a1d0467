"""`out=`: the results of a function are written to tensors that exist already, as PyTorch does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ArgumentTypeError, GradientError
from ..operators import NONE, Lifted, Operators, Symbol, frontends
from .grad_mode import modes
from .inplace import check_dtype, of_a_graph, replace, tracer
from .layout_changes import check_resized, resize

ACCUMULATED = frozenset({"sum", "nansum", "prod", "cumsum", "cumprod"})
"""Functions that compute in the dtype of `out`."""


def into(
    out: Any,
    name: str,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    named: Mapping[str, Any] = NONE,
    warns: bool = True,
) -> Any:
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
