"""Running products, linear recurrences and positions of running extrema: the range is over outer of [outer, extent, inner].

sizes = extent, inner. product: buffers = values, result. linear: buffers = factors, terms, result; each result is its factor
times the result before it, plus its term. most, least: buffers = values, positions; the last of equal elements counts, and a
NaN is before all numbers.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def product(values, result, sizes, start, stop):
    extent, inner = sizes[0], sizes[1]
    for o in range(start, stop):
        at = o * extent * inner
        for j in range(inner):
            result[at + j] = values[at + j]
        for i in range(at + inner, at + extent * inner, inner):
            for j in range(inner):
                result[i + j] = result[i - inner + j] * values[i + j]


@inline
def linear(factors, terms, result, sizes, start, stop):
    extent, inner = sizes[0], sizes[1]
    for o in range(start, stop):
        at = o * extent * inner
        for j in range(inner):
            result[at + j] = terms[at + j]
        for i in range(at + inner, at + extent * inner, inner):
            for j in range(inner):
                result[i + j] = factors[i + j] * result[i - inner + j] + terms[i + j]


@inline
def reached(value, best, sign):
    """Whether a value is no worse than the best one before it."""
    return value != value or (best == best and (value >= best if sign > 0 else value <= best))


@inline
def extremum(values, positions, sizes, start, stop, sign):
    extent, inner = sizes[0], sizes[1]
    for o in range(start, stop):
        at = o * extent * inner
        for j in range(inner):
            positions[at + j] = 0
        for k in range(1, extent):
            i = at + k * inner
            for j in range(inner):
                before = positions[i - inner + j]
                wins = reached(values[i + j], values[at + before * inner + j], sign)
                positions[i + j] = k if wins else before


@kernel
def product_T(buffers, sizes, start, stop):
    product(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop)


@kernel
def linear_T(buffers, sizes, start, stop):
    linear(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def most_T(buffers, sizes, start, stop):
    extremum(T_at(buffers, 0), i64_at(buffers, 1), sizes, start, stop, 1)


@kernel
def least_T(buffers, sizes, start, stop):
    extremum(T_at(buffers, 0), i64_at(buffers, 1), sizes, start, stop, -1)
