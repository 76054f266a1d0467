"""Functions of several ops that round once, as one op does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ..base.dtypes import ANY_DTYPE, HALF
from ..base.types import INEXACT, float32
from .dispatch import F
from .methods import Operators

Function = TypeVar("Function", bound=Callable[..., Any])


def rounded_once(function: Function) -> Function:
    """The function, which computes in float32 for floats of 16 bits and rounds its results once, as PyTorch's kernels do. It is
    called as it is where some operand is a float of more bits, or the dtype of the result is given."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        kinds = {a.dtype for a in (*args, *named.values()) if isinstance(a, Operators)}
        if kinds.isdisjoint(HALF):
            return function(*args, **named)
        floating = [kind for kind in kinds if kind.kind in INEXACT]
        if len(floating) > 1 or any(isinstance(a, ANY_DTYPE) for a in (*args, *named.values())):
            return function(*args, **named)
        narrow = floating[0]
        words = {name: _recast(narrow, float32, a) for name, a in named.items()}
        return _recast(float32, narrow, function(*[_recast(narrow, float32, a) for a in args], **words))

    return call  # type: ignore[return-value]


def _recast(of: Any, to: Any, x: Any) -> Any:
    """Tensors of one dtype in another; anything else as it is."""
    if isinstance(x, Operators):
        return F.astype(x, to) if x.dtype == of else x
    return tuple([_recast(of, to, part) for part in x]) if x.__class__ is tuple else x
