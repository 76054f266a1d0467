"""Elementary functions for generated kernels, in float32 and float64: `exp_f32`, `exp_f64`, `log_f32`, ...

Numba's wheels carry no vector mathematics library, and a loop around `math.exp` stays scalar. These are straight lines
of arithmetic without a branch or a call, so LLVM vectorises the loop that inlines them; `sin` and `cos` call a function
beside the loop for vectors with an element beyond 2**45. Their error is below 2 units in the last place (ULP) over every
finite input, subnormal numbers included; NaN, infinities and signed zeros behave as in C99. The figure in each docstring
is the largest error met: in float32 over every fifth number at least, in float64 and for `pow` over millions drawn from
all bit patterns and from where errors peak, against an 80-bit long double.

Called from Python each runs its NumPy twin, so an unjitted kernel needs no substitution; compiled by Numba it is the
native code. Arguments of another type are converted to the function's own.

    primitives      Real: arithmetic that writes LLVM instructions; from a text over Real to a function Numba knows
    rare            what a vectorised loop calls for arguments that are rare and take long
    exponential     exp, exp2, expm1, sigmoid, sinh, cosh, tanh
    logarithm       log, log2, log1p
    trigonometric   sin, cos
    inverse_trigonometric  atan
    power           pow
    special         erf, maximum, minimum
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from . import exponential, inverse_trigonometric, logarithm, power, special, trigonometric
from .primitives import define


def _sigmoid(x: np.floating) -> np.floating:
    e = np.exp(-abs(x))
    return (e if x < 0 else 1) / (1 + e)


exp_f32, exp_f64 = define(exponential.exp, np.exp)
exp2_f32, exp2_f64 = define(exponential.exp2, np.exp2)
expm1_f32, expm1_f64 = define(exponential.expm1, np.expm1)
sigmoid_f32, sigmoid_f64 = define(exponential.sigmoid, _sigmoid)
sinh_f32, sinh_f64 = define(exponential.sinh, np.sinh)
cosh_f32, cosh_f64 = define(exponential.cosh, np.cosh)
tanh_f32, tanh_f64 = define(exponential.tanh, np.tanh)
log_f32, log_f64 = define(logarithm.log, np.log)
log2_f32, log2_f64 = define(logarithm.log2, np.log2)
log1p_f32, log1p_f64 = define(logarithm.log1p, np.log1p)
sin_f32, sin_f64 = define(trigonometric.sin, np.sin)
cos_f32, cos_f64 = define(trigonometric.cos, np.cos)
atan_f32, atan_f64 = define(inverse_trigonometric.atan, np.arctan)
erf_f32, erf_f64 = define(special.erf, math.erf)
pow_f32, pow_f64 = define(power.pow, np.power, arity=2)
maximum_f32, maximum_f64 = define(special.maximum, np.maximum, arity=2)
minimum_f32, minimum_f64 = define(special.minimum, np.minimum, arity=2)

PYTHON: dict[str, Callable] = {name: f for name, f in globals().items() if name.endswith(("_f32", "_f64"))}
"""From each exported name to a plain Python function of the same meaning: the functions themselves."""
FUNCTIONS: tuple[str, ...] = tuple(PYTHON)
