"""Einstein summation: a chain of products of two, each a batched matrix product or an elementwise one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from .operators import F, Tensor, TensorLike, numpy_twin, one_node, public
from .settings import operand

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MOST = 5
"""Operands whose orders are all tried."""
UNLIMITED = 1 << 62
"""Elements of a product on the way."""


@public
@numpy_twin(np.einsum)
@one_node
def einsum(equation: str, *operands: TensorLike) -> Tensor:
    """The sum over repeated subscripts, `einsum("bij,bjk->bik", x, y)`; "..." stands for axes that broadcast.

    A subscript that the result lacks is summed over; without "->" the result has those that occur once, in alphabetical
    order. Several operands are joined in the cheapest order of pairs. Raises ArgumentError for a malformed
    equation, ShapeError for extents that don't fit.

    Examples:
        >>> sg.einsum("ij,j->i", sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 10.0]))
        tensor([21., 43.])
    """
    if not isinstance(equation, str):
        raise ArgumentError(f"einsum(): the first argument is the equation, got {type(equation).__name__}")
    given = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    values = [operand(x) for x in given]
    terms, result = _parsed(equation, [len(x.shape) for x in values])
    _check_extents(terms, values)
    pairs = [_without_repeats(*pair) for pair in zip(terms, values, strict=True)]
    for i, j in _order(terms, result, values):
        second, first = pairs.pop(max(i, j)), pairs.pop(min(i, j))
        kept = set(result).union(*(term for term, _ in pairs))
        pairs.append(_product(first, second, kept))
    (term, x), *_ = pairs
    x = _summed(term, x, set(result))[1]
    term = "".join(s for s in term if s in result)
    if term != result:
        return F.permute(x, tuple(term.index(s) for s in result))
    return F.reshape(x, x.shape) if x is values[0] and None not in x.shape else x  # a view


def _parsed(equation: str, ndims: list[int]) -> tuple[list[str], str]:
    """The operands' subscripts and the result's, with letters in the place of "..."."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) > len(ndims):
        raise ArgumentError("einsum(): fewer operands were provided than specified in the equation")
    if len(parts) < len(ndims):
        raise ArgumentError("einsum(): more operands were provided than specified in the equation")
    used = set(text)
    free = [s for s in LETTERS if s not in used]
    spread = max((n - len(p.replace("...", "")) for p, n in zip(parts, ndims, strict=True) if "..." in p), default=0)
    if spread < 0 or spread > len(free):
        raise ArgumentError(f"einsum(): the ellipsis of {equation!r} does not fit the operands")
    wild = "".join(free[:spread])
    terms = []
    for i, (part, n) in enumerate(zip(parts, ndims, strict=True)):
        named = part.replace("...", "")
        if not set(named) <= set(LETTERS):
            raise ArgumentError(f"einsum(): invalid subscript given in {equation!r}, subscripts must be in [a-zA-Z]")
        if "..." not in part and len(named) != n:
            raise ArgumentError(
                f"einsum(): the number of subscripts in the equation ({len(named)}) does not match the number of "
                f"dimensions ({n}) for operand {i} and no ellipsis was given"
            )
        if "..." in part and len(named) > n:
            raise ArgumentError(
                f"einsum(): the number of subscripts in the equation ({len(named)}) is more than the number of "
                f"dimensions ({n}) for operand {i}"
            )
        terms.append(part.replace("...", wild[spread - (n - len(named)) :]) if "..." in part else named)
    joined = "".join(p.replace("...", "") for p in parts)
    if not arrow:
        return terms, wild + "".join(sorted(s for s in set(joined) if joined.count(s) == 1))
    result = right.replace("...", wild)
    for s in result:
        if s not in wild and s not in joined:
            raise ArgumentError(f"einsum(): output subscript {s} does not appear in the equation for any input operand")
        if result.count(s) > 1:
            raise ArgumentError(f"einsum(): output subscript {s} appears more than once in the output")
    return terms, result


def _check_extents(terms: list[str], values: list[Any]) -> None:
    seen: dict[str, int] = {}
    for i, (term, x) in enumerate(zip(terms, values, strict=True)):
        for s, d in zip(term, x.shape, strict=True):
            if d is None or d == 1:
                continue
            if seen.setdefault(s, d) != d:
                raise ShapeError(
                    f"einsum(): subscript {s} has size {d} for operand {i} which does not broadcast with previously seen "
                    f"size {seen[s]}"
                )


def _order(terms: list[str], result: str, values: list[Any]) -> list[tuple[int, int]]:
    """Which two of the operands that are left to join next; a product goes to the end of the list."""
    if len(values) < 3:
        return [(0, 1)] * (len(values) - 1)
    if any(None in x.shape for x in values):
        return [(0, 1)] + [(0, len(values) - 2 - k) for k in range(len(values) - 2)]
    search = "optimal" if len(values) <= MOST else "greedy"
    shapes = [np.broadcast_to(0.0, x.shape) for x in values]
    steps = np.einsum_path(f"{','.join(terms)}->{result}", *shapes, optimize=(search, UNLIMITED))[0][1:]
    return [pair for step in steps for pair in [(step[0], step[1]), *[(0, 1)] * (len(step) - 2)]]


def _without_repeats(term: str, x: Any) -> tuple[str, Any]:
    """The diagonal where an operand names a subscript twice."""
    for s in dict.fromkeys(term):
        while term.count(s) > 1:
            a = term.index(s)
            b = term.index(s, a + 1)
            same = F.eq(F.index_along(x, a), F.index_along(x, b))
            x = F.astype(F.sum(F.where(same, x, 0), b), x.dtype)
            term = term[:b] + term[b + 1 :]
    return term, x


def _summed(term: str, x: Any, kept: set[str]) -> tuple[str, Any]:
    """Sum over the subscripts that no other operand and no result has."""
    axes = tuple(i for i, s in enumerate(term) if s not in kept)
    return ("".join(s for s in term if s in kept), F.sum(x, axes)) if axes else (term, x)


def _product(first: tuple[str, Any], second: tuple[str, Any], kept: set[str]) -> tuple[str, Any]:
    """Two operands as one, over the subscripts that are still needed: a batched matrix product, or an elementwise one
    where nothing is summed, where nothing is left, or where axes of unknown extents can't be joined."""
    (a, x), (b, y) = _stretched(first, second), _stretched(second, first)
    a, x = _summed(a, x, kept | set(b))
    b, y = _summed(b, y, kept | set(a))
    inner = [s for s in a if s in b and s not in kept]
    shared = [s for s in a if s in b and s in kept]
    rows, columns = [s for s in a if s not in b], [s for s in b if s not in a]
    term = "".join([*shared, *rows, *columns])
    extents = {**dict(zip(b, y.shape, strict=True)), **dict(zip(a, x.shape, strict=True))}
    unknown = [s for s in extents if extents[s] is None]
    if not inner or not (rows or columns) or (unknown and (len(unknown) > 1 or max(map(len, (rows, inner, columns))) > 1)):
        left = _axes(a, x, [*shared, *rows, *inner, *([""] * len(columns))])
        right = _axes(b, y, [*shared, *([""] * len(rows)), *inner, *columns])
        first_inner = len(shared) + len(rows)
        out = left * right
        if inner:  # a product of matrices keeps the dtype of its operands, small integers too
            out = F.astype(F.sum(out, tuple(range(first_inner, first_inner + len(inner)))), out.dtype)
        return term, out
    batch = [extents[s] for s in shared]
    m, k, n = (math.prod(extents[s] for s in part) if len(part) != 1 else extents[part[0]] for part in (rows, inner, columns))
    left = _shaped(_axes(a, x, [*shared, *rows, *inner]), [*batch, m, k])
    right = _shaped(_axes(b, y, [*shared, *inner, *columns]), [*batch, k, n])
    return term, _shaped(F.matmul(left, right), [extents[s] for s in term])


def _shaped(x: Any, extents: list[Any]) -> Any:
    """x in a shape of which one extent may be unknown."""
    if tuple(x.shape) == tuple(extents):
        return x
    return F.reshape(x, tuple(-1 if d is None else d for d in extents))


def _stretched(own: tuple[str, Any], other: tuple[str, Any]) -> tuple[str, Any]:
    """Without the axes of extent 1 along which it is repeated for the other operand."""
    term, x = own
    extents = dict(zip(other[0], other[1].shape, strict=True))
    axes = tuple(i for i, s in enumerate(term) if x.shape[i] == 1 and extents.get(s, 1) != 1)
    return ("".join(s for i, s in enumerate(term) if i not in axes), F.squeeze(x, axes)) if axes else own


def _axes(term: str, x: Any, order: list[str]) -> Any:
    """x with its axes in this order, and an axis of extent 1 for each ""."""
    named = [s for s in order if s]
    x = F.permute(x, tuple(term.index(s) for s in named)) if named != list(term) else x
    absent = tuple(i for i, s in enumerate(order) if not s)
    return F.expand_dims(x, absent) if absent else x
