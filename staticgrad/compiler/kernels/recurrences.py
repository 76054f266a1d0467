"""Running products, linear recurrences and positions of running extrema: the range is over outer of [outer, extent, inner].

sizes = extent, inner. product: buffers = values, result; two more sizes, whether elements are left out of their own products,
and whether products begin at the end. linear: buffers = factors, terms, result; each result is its factor times the result
before it, plus its term. most, least: buffers = values, positions; the last of equal elements counts, and a NaN is before all
numbers.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def row_product(values, result, at, step, extent, exclusive, one):
    """Of neighbors in memory: the product stays in a register."""
    total = one
    for _ in range(extent):
        before = total
        total = total * values[at]
        result[at] = before if exclusive == 1 else total
        at += step


@inline
def product(values, result, sizes, start, stop, one):
    extent, inner, exclusive, reverse = sizes[0], sizes[1], sizes[2], sizes[3]
    step = -inner if reverse == 1 else inner
    for o in range(start, stop):
        at = o * extent * inner + ((extent - 1) * inner if reverse == 1 else 0)
        if inner == 1:
            row_product(values, result, at, step, extent, exclusive, one)
        else:
            for j in range(inner):
                result[at + j] = one if exclusive == 1 else values[at + j]
            for _ in range(1, extent):
                at += step
                factor = at - step if exclusive == 1 else at
                for j in range(inner):
                    result[at + j] = result[at - step + j] * values[factor + j]


@inline
def linear(factors, terms, result, sizes, start, stop):
    extent, inner = sizes[0], sizes[1]
    for o in range(start, stop):
        at = o * extent * inner
        if inner == 1:
            total = terms[at]
            result[at] = total
            for i in range(at + 1, at + extent):
                total = factors[i] * total + terms[i]
                result[i] = total
        else:
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
    product(T_at(buffers, 0), T_at(buffers, 1), sizes, start, stop, T(1))


@kernel
def linear_T(buffers, sizes, start, stop):
    linear(T_at(buffers, 0), T_at(buffers, 1), T_at(buffers, 2), sizes, start, stop)


@kernel
def most_T(buffers, sizes, start, stop):
    extremum(T_at(buffers, 0), i64_at(buffers, 1), sizes, start, stop, 1)


@kernel
def least_T(buffers, sizes, start, stop):
    extremum(T_at(buffers, 0), i64_at(buffers, 1), sizes, start, stop, -1)
