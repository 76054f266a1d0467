"""Elementary functions for generated kernels, in float32 and float64: `exp_f32`, `exp_f64`, `log_f32`, ...

Numba's wheels carry no vector mathematics library, and a loop around `math.exp` stays scalar. These are straight lines
of arithmetic without a branch or a call, so LLVM vectorizes the loop that inlines them; `sin` and `cos` call a function
beside the loop for vectors with an element beyond 2**45. Their error is below 2 units in the last place (ULP) over every
finite input, subnormal numbers included; NaN, infinities and signed zeros behave as in C99. The figure in each docstring
is the largest error met: in float32 over every fifth number at least, in float64 and for `pow` over millions drawn from
all bit patterns and from where errors peak, against an 80-bit long double.

They are for compiled code: unjitted kernels call the NumPy functions of the op records. Arguments of another type are
converted to the function's own.

    primitives      Real: arithmetic that writes LLVM instructions; from a text over Real to a function Numba knows
    rare            functions that a vectorized loop calls for rare arguments that take long
    exponential     exp, exp2, expm1, sigmoid, sinh, cosh, tanh
    logarithm       log, log2, log1p
    trigonometric   sin, cos
    inverse_trigonometric  atan
    power           pow
    special         erf, maximum, minimum
"""

from __future__ import annotations

from . import exponential, inverse_trigonometric, logarithm, power, special, trigonometric
from .primitives import define

exp_f32, exp_f64 = define(exponential.exp)
exp2_f32, exp2_f64 = define(exponential.exp2)
expm1_f32, expm1_f64 = define(exponential.expm1)
sigmoid_f32, sigmoid_f64 = define(exponential.sigmoid)
sinh_f32, sinh_f64 = define(exponential.sinh)
cosh_f32, cosh_f64 = define(exponential.cosh)
tanh_f32, tanh_f64 = define(exponential.tanh)
log_f32, log_f64 = define(logarithm.log)
log2_f32, log2_f64 = define(logarithm.log2)
log1p_f32, log1p_f64 = define(logarithm.log1p)
sin_f32, sin_f64 = define(trigonometric.sin)
cos_f32, cos_f64 = define(trigonometric.cos)
atan_f32, atan_f64 = define(inverse_trigonometric.atan)
erf_f32, erf_f64 = define(special.erf)
pow_f32, pow_f64 = define(power.pow, arity=2)
maximum_f32, maximum_f64 = define(special.maximum, arity=2)
minimum_f32, minimum_f64 = define(special.minimum, arity=2)

FUNCTIONS: tuple[str, ...] = tuple(name for name in globals() if name.endswith(("_f32", "_f64")))
