"""Values folded in at positions along the axis in the middle of [outer, extent, inner]: one value per position.

sizes = extent, picked, inner, number of blocks of 64 columns, steps of the index along outer, picked and inner. The range is
over outer * blocks, so that one thread writes a place.

sum_at, prod_at, amax_at, amin_at, last_at: buffers = values, indices, result, which holds what values are combined with; one
more size is 0 where the values replace that. recurrence_at: two more sizes, the state of a place before its first value, and
whether the last value comes first; buffers = factors, terms, indices, result, a state for each place. The result is the state
before each value.
"""

from staticgrad.compiler.backend.dialect import *

# kernels


@inline
def plus(a, b):
    return a + b


@inline
def times(a, b):
    return a * b


@inline
def greater(a, b):
    return a if a >= b or a != a else b  # a NaN stays


@inline
def lesser(a, b):
    return a if a <= b or a != a else b


@inline
def later(a, b):
    return b


@inline
def number(value, begin):
    return begin


@inline
def itself(value, begin):
    return value


@inline
def folded(values, indices, result, sizes, start, stop, fold, first_of, begin):
    extent, picked, inner, blocks = sizes[0], sizes[1], sizes[2], sizes[3]
    far, near, step, keeps = sizes[4], sizes[5], sizes[6], sizes[7]
    for block in range(start, stop):
        o, first = block // blocks, block % blocks * 64
        end = min(first + 64, inner)
        if keeps == 0:
            for i in range(picked):
                at, place = (o * picked + i) * inner, o * far + i * near
                for j in range(first, end):
                    result[(o * extent + indices[place + j * step]) * inner + j] = first_of(values[at + j], begin)
        for i in range(picked):
            at, place = (o * picked + i) * inner, o * far + i * near
            if inner == 1:
                to = o * extent + indices[place]
                result[to] = fold(result[to], values[at])
            elif step == 0:
                to = (o * extent + indices[place]) * inner
                for j in range(first, end):
                    result[to + j] = fold(result[to + j], values[at + j])
            else:
                for j in range(first, end):
                    to = (o * extent + indices[place + j * step]) * inner + j
                    result[to] = fold(result[to], values[at + j])


@inline
def recurrence(factors, terms, indices, result, state, sizes, start, stop, begin):
    extent, picked, inner, blocks = sizes[0], sizes[1], sizes[2], sizes[3]
    far, near, step, reverse = sizes[4], sizes[5], sizes[6], sizes[8]
    for block in range(start, stop):
        o, first = block // blocks, block % blocks * 64
        end = min(first + 64, inner)
        for i in range(o * extent, (o + 1) * extent):
            for j in range(first, end):
                state[i * inner + j] = begin
        for k in range(picked):
            i = picked - 1 - k if reverse == 1 else k
            at, place = (o * picked + i) * inner, o * far + i * near
            for j in range(first, end):
                to = (o * extent + indices[place + j * step]) * inner + j
                result[at + j] = state[to]
                state[to] = factors[at + j] * state[to] + terms[at + j]


@kernel
def sum_at_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    folded(values, indices, result, sizes, start, stop, plus, number, T(0))


@kernel
def prod_at_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    folded(values, indices, result, sizes, start, stop, times, number, T(1))


@kernel
def amax_at_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    folded(values, indices, result, sizes, start, stop, greater, itself, T(0))


@kernel
def amin_at_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    folded(values, indices, result, sizes, start, stop, lesser, itself, T(0))


@kernel
def last_at_T(buffers, sizes, start, stop):
    values, indices, result = T_at(buffers, 0), i64_at(buffers, 1), T_at(buffers, 2)
    folded(values, indices, result, sizes, start, stop, later, number, T(0))


@kernel
def recurrence_at_T(buffers, sizes, start, stop):
    factors, terms, indices = T_at(buffers, 0), T_at(buffers, 1), i64_at(buffers, 2)
    recurrence(factors, terms, indices, T_at(buffers, 3), T_at(buffers, 4), sizes, start, stop, T(sizes[7]))
