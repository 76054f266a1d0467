"""The public functions of tensors, under the names that their definitions in `ops/` and `eager/` enter.

`staticgrad-stubs/` tells type checkers and editors the same; `python -m tools.stubs` writes it. All of them take eager tensors,
symbols, arrays and numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...eager import Tensor as EagerTensor
from ...ops.operators import F, Tensor

assert EagerTensor is not None, "importing the eager front end enters the functions that draw"


def _changing(name: str) -> Callable[..., Tensor]:
    """The function of an in-place method."""

    def function(input: Tensor, *args: Any, **named: Any) -> Tensor:
        return getattr(input, name)(*args, **named)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`input.{name}(...)`: the tensor itself, changed."
    return function


CHANGING = (
    "abs_", "absolute_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_",
    "arctanh_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
    "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_", "fill_",
    "fix_", "floor_", "frac_", "gcd_", "i0_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_",
    "logical_not_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "relu_", "round_",
    "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_", "zero_",
)  # fmt: skip
"""Methods that change a tensor, which PyTorch has at its top level, too."""
__all__ = sorted([*dir(F), *CHANGING])


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = _changing(name) if name in CHANGING else getattr(F, name)
    return value
