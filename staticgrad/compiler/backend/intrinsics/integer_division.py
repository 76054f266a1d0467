"""Floor division, remainders, and powers of integers, with NumPy's bits.

They branch and call, so a loop around them stays scalar. Integers are computed in int64; kernels cut them to their dtype.
Source: `npy_divmod` in NumPy's umath.
"""

from __future__ import annotations

import math

import numpy as np

from ..dialect import f32, f64, i64, inline

HALF, ONE = 0.5, 1.0


@inline
def rest_of(x, y):
    """The remainder with the sign of y, exact except for the addition of y."""
    rest = np.fmod(x, y)
    if y == 0:
        return rest
    if rest == 0:
        return math.copysign(rest, y)
    return rest + y if (y < 0) != (rest < 0) else rest


@inline
def quotient_of(x, y, one, half):
    """floor(x / y) by the exact remainder: x / y may have been rounded up. `one`, `half`: in the dtype of x."""
    if y == 0:
        return x / y
    rest = np.fmod(x, y)
    quotient = (x - rest) / y
    if rest != 0 and (y < 0) != (rest < 0):
        quotient = quotient - one
    if quotient == 0:
        return math.copysign(quotient, x / y)
    whole = np.floor(quotient)
    return whole + one if quotient - whole > half else whole


@inline
def floor_divide_f32(x, y):
    return quotient_of(f32(x), f32(y), f32(ONE), f32(HALF))


@inline
def floor_divide_f64(x, y):
    return quotient_of(f64(x), f64(y), f64(ONE), f64(HALF))


@inline
def remainder_f32(x, y):
    return rest_of(f32(x), f32(y))


@inline
def remainder_f64(x, y):
    return rest_of(f64(x), f64(y))


@inline
def floor_divide_int(x, y):
    """0 for y = 0; y = -1 has no overflow to trap on: the most negative number stays unchanged."""
    x, y = i64(x), i64(y)
    if y == 0:
        return i64(0)
    return -x if y == -1 else x // y


@inline
def remainder_int(x, y):
    x, y = i64(x), i64(y)
    if y == 0 or y == -1:
        return i64(0)
    return x % y


@inline
def pow_int(x, y):
    """By squaring, modulo 2**64; y >= 0 was checked."""
    base, exponent, result = i64(x), i64(y), i64(1)
    while exponent > 0:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result
