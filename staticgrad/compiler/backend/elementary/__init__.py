"""Elementary functions for generated kernels, in float32 and float64: `exp_f32`, `exp_f64`, `log_f32`, ...

A loop around a call of C's `exp` stays scalar. These are straight lines
of arithmetic without a branch or a call, so LLVM vectorizes the loop that inlines them; `sin`, `cos` and `tan` call a function
beside the loop for vectors with an element beyond 2**45. Their error is below 2 units in the last place (ULP) over every
finite input, subnormal numbers included; NaN, infinities and signed zeros behave as in C99. The figure in each docstring
is the largest error met: in float32 over every fifth number at least, in float64 and for `pow` over millions drawn from
all bit patterns and from where errors peak, against an 80-bit long double.

They are for compiled code: unjitted kernels call the NumPy functions of the op records. Arguments of another type are
converted to the function's own.

    primitives      Real: arithmetic that writes LLVM instructions; from a text over Real to a function of kernels;
                    fma, copysign; functions that a vectorized loop calls for rare arguments that take long
    exponential     exp, exp_to_one, exp2, expm1, sigmoid, sinh, cosh, tanh; log, log2, log10, log1p; pow; erf, maximum, minimum
    trigonometric   sin, cos, tan, atan, asin, acos
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import exponential, trigonometric  # noqa: F401
from .primitives import WRITTEN, define

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable: ...


_defined = {function.name: function for write in WRITTEN for function in define(write)}
globals().update(_defined)
FUNCTIONS = tuple(_defined)
