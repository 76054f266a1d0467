"""Stages of Fourier transforms in vectors whose lanes belong to lines side by side, or to parts of one line.

A stage takes transforms of `count` numbers to those of a `radix`-th of them, from (x, y) to (u, v), real and imaginary parts:
numbers lie `wide` elements apart, and their transforms so in (u, v) that the next stage reads in order. `roots` holds the real
parts of the n roots of unity, then the imaginary parts of their conjugates. The inverse transform is the same with real and
imaginary parts swapped. A vector has `lanes` at most; `wide` is a multiple of them.

LLVM does not vectorize such loops by itself, since it can't tell that the results of one step lie apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from llvmlite import ir

from ..llvm import CONTRACT, Elements, Int, call_one_of, folded, routine, spread, steps

Pair = Sequence[Any]


class _Pairs:
    """Arithmetic of complex vectors by their parts."""

    def __init__(self, builder: ir.IRBuilder):
        self.builder = builder

    def plus(self, a: Pair, b: Pair) -> Pair:
        return self._added(a[0], b[0]), self._added(a[1], b[1])

    def minus(self, a: Pair, b: Pair) -> Pair:
        return self._reduced(a[0], b[0]), self._reduced(a[1], b[1])

    def plus_i(self, a: Pair, b: Pair) -> Pair:
        """a + i b"""
        return self._reduced(a[0], b[1]), self._added(a[1], b[0])

    def minus_i(self, a: Pair, b: Pair) -> Pair:
        """a - i b"""
        return self._added(a[0], b[1]), self._reduced(a[1], b[0])

    def scaled(self, a: Pair, number: float) -> Pair:
        factor = ir.Constant(a[0].type, [number] * a[0].type.count)
        return self.times(a[0], factor), self.times(a[1], factor)

    def times_conjugate(self, a: Pair, root: Pair) -> Pair:
        c, s = root
        return (
            self._added(self.times(a[0], c), self.times(a[1], s)),
            self._reduced(self.times(a[1], c), self.times(a[0], s)),
        )

    def _added(self, x: Any, y: Any) -> Any:
        return self.builder.fadd(x, y, flags=CONTRACT)

    def _reduced(self, x: Any, y: Any) -> Any:
        return self.builder.fsub(x, y, flags=CONTRACT)

    def times(self, x: Any, y: Any) -> Any:
        return self.builder.fmul(x, y, flags=CONTRACT)


def _of_two(on: _Pairs, x: Sequence[Pair]) -> list[Pair]:
    return [on.plus(x[0], x[1]), on.minus(x[0], x[1])]


def _of_four(on: _Pairs, x: Sequence[Pair]) -> list[Pair]:
    even, odd, middle, half = on.plus(x[0], x[2]), on.plus(x[1], x[3]), on.minus(x[0], x[2]), on.minus(x[1], x[3])
    return [on.plus(even, odd), on.minus_i(middle, half), on.minus(even, odd), on.plus_i(middle, half)]


def _of_odd(on: _Pairs, x: Sequence[Pair]) -> list[Pair]:
    """An element and the one as far from the end are multiplied by a root and its conjugate: by their sum and difference."""
    n, ends = len(x), range(1, len(x) // 2 + 1)
    both = [on.plus(x[i], x[n - i]) for i in ends]
    apart = [on.minus(x[i], x[n - i]) for i in ends]
    results = [reduce(on.plus, both, x[0])] * n
    for k in ends:
        angles = [i * k % n * math.tau / n for i in ends]
        even = reduce(on.plus, [on.scaled(pair, math.cos(a)) for pair, a in zip(both, angles, strict=True)], x[0])
        odd = reduce(on.plus, [on.scaled(pair, math.sin(a)) for pair, a in zip(apart, angles, strict=True)])
        results[k], results[n - k] = on.minus_i(even, odd), on.plus_i(even, odd)
    return results


TRANSFORMS: dict[int, Callable[[_Pairs, Sequence[Pair]], list[Pair]]] = {2: _of_two, 3: _of_odd, 4: _of_four, 5: _of_odd}
"""Of so many numbers."""


def _root(of: Elements, roots: Int, n: Int, place: Int, lanes: int) -> Pair:
    real, imaginary = (of.one(roots + (place + part) * of.size) for part in (0, n))
    return spread(roots.builder, real, lanes), spread(roots.builder, imaginary, lanes)


def _moves(
    of: Elements, lanes: int, x: Int, y: Int, u: Int, v: Int, wide: Int, sums: Int, radix: Int | int
) -> tuple[Callable[..., Pair], Callable[..., None]]:
    """Load element i of sum p, and store element k of its transform, both at lane j."""

    def load(i: Int | int, p: Int, j: Int) -> Pair:
        place = (p * wide + sums * wide * i + j) * of.size
        return of.load(x + place, lanes), of.load(y + place, lanes)

    def store(pair: Pair, k: Int | int, p: Int, j: Int) -> None:
        place = ((p * radix + k) * wide + j) * of.size
        of.store(pair[0], u + place)
        of.store(pair[1], v + place)

    return load, store


def _short_stage(
    of: Elements, lanes: int, radix: int, x: Int, y: Int, u: Int, v: Int, roots: Int, n: Int, count: Int, wide: Int
) -> None:
    """Of a radix in TRANSFORMS."""
    on, sums, turn = _Pairs(x.builder), count // radix, n // count
    load, store = _moves(of, lanes, x, y, u, v, wide, sums, radix)
    with steps(0, sums, 1) as p:
        factors = [_root(of, roots, n, p * turn * k, lanes) for k in range(1, radix)]
        with steps(0, wide, lanes) as j:
            first, *others = TRANSFORMS[radix](on, [load(i, p, j) for i in range(radix)])
            store(first, 0, p, j)
            for k, (pair, factor) in enumerate(zip(others, factors, strict=True), 1):
                store(on.times_conjugate(pair, factor), k, p, j)


def _odd_stage(
    of: Elements, lanes: int, x: Int, y: Int, u: Int, v: Int, roots: Int, n: Int, count: Int, wide: Int, radix: Int
) -> None:
    """Of any odd radix, as `_of_odd` has it."""
    on, sums, turn, half = _Pairs(x.builder), count // radix, n // count, radix // 2
    load, store = _moves(of, lanes, x, y, u, v, wide, sums, radix)
    with steps(0, sums, 1) as p:
        with steps(0, wide, lanes) as j:
            store(folded(radix, [of.zero(lanes)] * 2, lambda i, total: on.plus(total, load(i, p, j))), 0, p, j)
        with steps(1, half + 1, 1) as k:
            factors = [_root(of, roots, n, p * turn * of_k, lanes) for of_k in (k, radix - k)]
            with steps(0, wide, lanes) as j:

                def term(i: Int, totals: Sequence[Any]) -> Sequence[Any]:
                    one, i = (totals[:2], totals[2:]), i + 1
                    place = i * k
                    c, s = _root(of, roots, n, (place - place // radix * radix) * (n // radix), lanes)
                    left, right = load(i, p, j), load(radix - i, p, j)
                    even, odd = on.plus(left, right), on.minus(left, right)
                    return [
                        *on.plus(one[0], (on.times(even[0], c), on.times(even[1], c))),
                        *on.plus(one[1], (on.times(odd[0], s), on.times(odd[1], s))),
                    ]

                totals = folded(half, [*load(0, p, j), *[of.zero(lanes)] * 2], term)
                results = on.minus_i(totals[:2], totals[2:]), on.plus_i(totals[:2], totals[2:])
                for pair, factor, of_k in zip(results, factors, (k, radix - k), strict=True):
                    store(on.times_conjugate(pair, factor), of_k, p, j)


@routine
def stage(
    of: Elements, x: Int, y: Int, u: Int, v: Int, roots: Int, n: Int, count: Int, wide: Int, radix: Int, lanes: int
) -> None:
    """One of the stages, each of which is a function of its own in a kernel."""
    lanes, operands = min(lanes, of.lanes), (x, y, u, v, roots, n, count, wide)
    writes: dict[str, Callable[..., None]] = {
        f"stage_{known}_{of.size}_{lanes}": lambda _, *given, known=known: _short_stage(of, lanes, known, *given[:-1])
        for known in TRANSFORMS
    }
    writes[f"stage_{of.size}_{lanes}"] = lambda _, *given: _odd_stage(of, lanes, *given)
    call_one_of(x.builder, [radix.equals(known) for known in TRANSFORMS], [*writes], [*writes.values()], [*operands, radix])
