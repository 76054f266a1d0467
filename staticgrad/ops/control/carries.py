"""Parts that `scan`, `while_loop` and `cond` share: the choice of mode, invariants of a body, and loops under transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ...base.types import UnrankedType, shape_text
from ...errors import ArgumentError, DTypeError, ShapeError, TransformError
from ...ir import Graph
from ..leaves import fits
from ..operators import F, Level, Lifted, Symbol, as_array, frontends, state
from ..pytree import flatten, text, unflatten

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


# loops and branches in functions that run under `vmap` or `jvp` ------------------------------------------------------

# A loop or branch of what stands for their tensors.
#
# The innermost transform is suspended while the loop is built, and resumed in its body: a loop under `vmap` carries all
# samples, and one under `jvp` carries tangents beside values. So it remains one node in a graph. A transform that can't do that
# (`Level.loops`) runs loops in Python.


def innermost() -> Level | None:
    """The transform that the loop or branch runs under."""
    return state.levels[-1] if state.levels else None


def no_loop(what: str) -> TransformError:
    """The error for a loop that would have to run in Python, but ends by a value that a graph computes."""
    name = state.levels[-1].name
    return TransformError(
        f"{what} under {name}: its number of iterations is known only when the graph runs",
        "take the gradient outermost, by func.grad or sg.gradients, which differentiate loops as loops; or give a length",
    )


def some(condition: Any) -> Any:
    """Whether a condition holds for some of all that it stands for, through all transforms."""
    while isinstance(condition, Lifted):
        condition = condition.level.any(condition)
    return condition


def _tensors(leaves: Sequence[Any], likes: Sequence[Any] = ()) -> list[Any]:
    """Leaves as tensors or arrays; numbers take the dtypes of `likes`."""
    return [
        x if hasattr(x, "dtype") else np.asarray(x, likes[i].dtype) if i < len(likes) else as_array(x)
        for i, x in enumerate(leaves)
    ]


def scan(level: Level, function: Callable[..., Any], fn: Callable[..., Any], init: Any, xs: Any, **options: Any) -> Any:
    """`scan` under a transform; function: `scan` itself."""
    (carry, spec), (items, item_spec) = flatten(init), flatten(xs)
    carry = _tensors(carry)
    forms: list[Any] = []

    def body(state: Any, item: Any) -> Any:
        with level.resumed():
            result = fn(unflatten(spec, map(level.whole, state)), unflatten(item_spec, map(level.whole, item)))
            if not isinstance(result, tuple) or len(result) != 2:
                return result  # `scan` says what is wrong
            after, after_spec = flatten(result[0])
            check_structure("scan", spec, after_spec)
            ys, y_spec = flatten(result[1])
            forms.append(y_spec)
            return [level.parts(x) for x in _tensors(after, carry)], [level.parts(y) for y in _tensors(ys)]

    with level.suspended():
        parts = [level.parts(x) for x in carry], [level.items(x) for x in _tensors(items)]
        last, stacks = function(body, parts[0], parts[1] if items else None, **options)
        stacks = [level.stacked(y) for y in stacks]
        last = [level.whole(x) for x in last]
    return unflatten(spec, last), unflatten(forms[-1], stacks)


def while_loop(
    level: Level, function: Callable[..., Any], cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any,
    **options: Any,
) -> Any:  # fmt: skip
    """`while_loop` under a transform, with a list or tuple of loop variables: it runs until no sample goes on, and leaves those
    that have ended as they are."""
    leaves, spec = flatten(loop_vars)
    leaves = _tensors(leaves)

    def going(*carry: Any) -> Any:
        with level.resumed():
            return level.any(cond(*unflatten(spec, map(level.whole, carry))))

    def step(*carry: Any) -> Any:
        with level.resumed():
            former = list(map(level.whole, carry))
            after = body(*unflatten(spec, former))
            if len(spec.items) == 1 and (not isinstance(after, (list, tuple)) or len(after) != 1):
                after = (after,)
            if isinstance(after, (list, tuple)) and not hasattr(after, "_fields"):
                after = spec.like(after)
            following, after_spec = flatten(after)
            check_structure("while_loop", spec, after_spec)
            following = _tensors(following, leaves)
            verdict = cond(*unflatten(spec, former)) if level.maps else True
            if verdict is not True:
                following = [F.where(verdict, new, old) for new, old in zip(following, former, strict=True)]
            return [level.parts(x) for x in following]

    with level.suspended():
        last = function(going, step, [level.parts(x) for x in leaves], **options)
    return unflatten(spec, map(level.whole, last))


def cond(level: Level, function: Callable[..., Any], pred: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`cond` under a transform: where samples differ, both branches run, and each sample takes its own result. So they do
    where a transform that runs loops in Python has no value to decide by."""
    forms: list[Any] = []
    if not level.loops or level.any(pred) is not pred:
        (a, form), (b, other) = flatten(yes()), flatten(no())
        check_structure("cond", form, other)
        return unflatten(form, [F.where(pred, x, y) for x, y in zip(_tensors(a), _tensors(b, _tensors(a)), strict=True)])

    def part(branch: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            with level.resumed():
                leaves, form = flatten(branch())
                forms.append(form)
                return [level.parts(x) for x in _tensors(leaves)]

        return run

    with level.suspended():
        found = function(pred, part(yes), part(no))
    return unflatten(forms[0], map(level.whole, found))
