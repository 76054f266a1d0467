"""Philox 4x32-10 and the draws made of it, for kernels. `ops/random.py` is the same in NumPy, and gives the formulas.

Words are kept in uint64, whose products hold the full 64 bits; a loop over elements vectorizes.
"""

from __future__ import annotations

import math

import numpy as np

from ..dialect import f32, f64, i64, inline
from ..elementary import cos_f64, log1p_f64

u64 = np.uint64
M0, M1 = u64(0xD2511F53), u64(0xCD9E8D57)
W0, W1 = u64(0x9E3779B9), u64(0xBB67AE85)
LOW, HALF = u64(0xFFFFFFFF), u64(32)


@inline
def philox(seed, draw, element):
    """The four 32-bit words of a block."""
    c0, c1 = u64(element) & LOW, u64(element) >> HALF
    c2, c3 = u64(draw) & LOW, u64(draw) >> HALF
    k0, k1 = u64(seed) & LOW, u64(seed) >> HALF
    for _ in range(10):
        p0, p1 = M0 * c0, M1 * c2
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & LOW, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + W0) & LOW, (k1 + W1) & LOW
    return c0, c1, c2, c3


@inline
def unit_f64(a, b):
    return f64(((a >> u64(5)) << u64(26)) | (b >> u64(6))) * f64(2.0**-53)


@inline
def uniform_seed(seed, draw, element):
    """The generator of a loop or branch: a seed from a key that no seed is, and no draws yet."""
    a, b, _, _ = philox(u64(seed) | u64(1 << 63), draw, u64(0))
    return i64((a << u64(31)) | (b >> u64(1))) if element == 0 else i64(0)


@inline
def uniform_f32(seed, draw, element):
    a, _, _, _ = philox(seed, draw, element)
    return f32(a >> u64(8)) * f32(2.0**-24)


@inline
def uniform_f64(seed, draw, element):
    a, b, _, _ = philox(seed, draw, element)
    return unit_f64(a, b)


@inline
def normal_f64(seed, draw, element):
    a, b, c, d = philox(seed, draw, element)
    u, v = unit_f64(a, b), unit_f64(c, d)
    return math.sqrt(f64(-2) * log1p_f64(-u)) * cos_f64(f64(2 * math.pi) * v)


@inline
def normal_f32(seed, draw, element):
    return f32(normal_f64(seed, draw, element))
