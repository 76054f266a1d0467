"""Parts that `scan`, `while_loop` and `cond` share: the choice of mode, and the invariants of a body."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from ...base.types import UnrankedType, shape_text
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ir import Graph
from ...operators import F, Lifted, Symbol, as_array, frontends, state
from ..leaves import fits
from ..pytree import text

# where it runs -----------------------------------------------------------------------------------------------------


def graph_for(leaves: Sequence[Any]) -> Graph | None:
    """The graph that a loop or branch belongs to; None in eager mode, and where a transform runs it in Python."""
    if state.levels and not state.levels[-1].loops:
        return None
    if frontends.tracing and state.tracer is not None:
        graph: Graph = state.tracer.graph
        return graph
    return next((leaf.graph for leaf in leaves if isinstance(leaf, Symbol)), None)


class InGraph(BaseException):
    """The body of an eager loop computed a symbol: it belongs to that graph."""

    def __init__(self, graph: Graph):
        self.graph = graph


def eager_tensors(leaves: Sequence[Any], likes: Sequence[Any] = ()) -> list[Any]:
    """Leaves as eager tensors. Raises InGraph for a symbol."""
    found: list[Any] = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Lifted) or (isinstance(leaf, Symbol) and state.levels):
            found.append(leaf)
            continue
        if isinstance(leaf, Symbol):
            raise InGraph(leaf.graph)
        if isinstance(leaf, frontends.tensor_class):
            found.append(leaf)
        elif i < len(likes) and not hasattr(leaf, "dtype"):
            found.append(frontends.tensor_class(np.asarray(leaf, likes[i].dtype)))
        else:
            found.append(frontends.tensor_class(as_array(leaf)))
    return found


def own(results: Sequence[Any]) -> list[Any]:
    """Results in memory of their own, as they are in a graph, also where a function returns a value from outside."""
    return [F.clone(x) for x in results]


# invariants of a body ------------------------------------------------------------------------------------------------


def check_structure(what: str, before: Any, after: Any) -> None:
    if before != after:
        raise ArgumentError(
            "The two structures don't have the same nested structure.",
            f"{what}: the loop variables enter as {text(before)}, and the body returns {text(after)}",
        )


def check_carries(what: str, names: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> None:
    """Every carry keeps its shape and dtype; before: tensors, or types, of any rank perhaps. Raises ShapeError, DTypeError."""
    for name, a, b in zip(names, before, after, strict=True):
        if not isinstance(a, UnrankedType) and not fits(a.shape, b.shape):
            raise ShapeError(
                f"The shape for {name} is not an invariant for the loop. It enters the loop with shape "
                f"{shape_text(a.shape)}, but has shape {shape_text(b.shape)} after one iteration.",
                *(["give shape_invariants, with None for each extent that changes"] if what == "while_loop" else []),
                f"{what} carries values of one shape; to collect values, return them as y of a scan",
            )
        if a.dtype != b.dtype:
            raise DTypeError(
                f"The dtype for {name} is not an invariant for the loop. It enters the loop with dtype {a.dtype}, but has "
                f"dtype {b.dtype} after one iteration.",
                f"cast it in the body: {name.split('[')[0]}.astype(sg.{a.dtype.name}), or let it enter as {b.dtype}",
            )


def check_callable(what: str, fn: Any) -> None:
    if not callable(fn):
        raise ArgumentError(f"{what} must be callable.", f"got {type(fn).__name__}: pass a function, or a lambda")


def iterations(value: Any, what: str, least: int) -> int:
    """A number of iterations. Raises ArgumentError unless it is an integer of at least `least`."""
    try:
        number = least - 1 if isinstance(value, (bool, np.bool_, Symbol)) else index(value)
    except TypeError:
        number = least - 1
    if number < least:
        got = type(value).__name__ if isinstance(value, Symbol) else repr(value)
        raise ArgumentError(f"{what} is a number of iterations, at least {least}, got {got}")
    return min(number, np.iinfo(np.int64).max)


def check_scalar(value: Any, what: str) -> Any:
    if not hasattr(value, "dtype") and not isinstance(value, (bool, int, float)):
        raise ArgumentError(f"{what} has to be a boolean, got {type(value).__name__}", "compare: x > 0")
    if getattr(value, "shape", ()) != ():
        raise ShapeError(f"{what} has to be a scalar, got shape {shape_text(value.shape)}", "reduce it: .any() or .all()")
    return value
