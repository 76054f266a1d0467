"""Control flow: loops and branches over subgraphs, and the nodes that take their results out.

One record covers `scan`, `while_loop` and the loops of their gradients. Its body is a function of *constants* (the same
in every iteration), *carries* (handed from one iteration to the next) and *items* (one per iteration, from a stack); it
returns the next carries and items that are stacked. The trip count is known (`length`, or the leading extent of the
stacks), an input (`count`), or decided by `cond`, a subgraph of constants and carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ...base.types import StackType, TensorType, TupleType, UnrankedType, bool_, int64, shape_text
from ...errors import ArgumentError, DTypeError, ShapeError, TransformError
from ...ir import Graph, Region, Result, Subgraph, define
from .. import rules as at
from ..leaves import fits
from ..operands import LoopOperands, Parts, trip_count
from ..operators import F, Level, Lifted, Symbol, as_array, frontends, state
from ..pytree import flatten, text, unflatten
from ..rules import keep
from .vjp import branch_vjp, loop_vjp


def _flows(i: int) -> Any:
    """Gradients flow to every floating input; `vjp_all` computes them."""
    return _together


def _together(*args: Any) -> Any:
    raise AssertionError("the cotangents of a loop or branch are computed together")


def _result_infer(x: TensorType, index: int) -> TensorType:
    assert isinstance(x, TupleType)
    return x.parts[index]


result_op = define(
    name="result",
    attrs={"index": at.result_index},
    infer=_result_infer,
    eval=lambda x, index: x[index],
    vjp=(lambda g, node, out, x: Parts({node.attrs["index"]: g}),),
    emit=Result(),
    promote=keep,
    doc="One result of a loop or branch.",
)

# loops -----------------------------------------------------------------------------------------------------------


def _item(stack: TensorType, dynamic: bool) -> TensorType:
    if dynamic is not isinstance(stack, StackType):
        raise ShapeError(f"a loop over {'values' if dynamic else 'a tensor'} of a known number can't walk along {stack!r}")
    if isinstance(stack, StackType):
        return stack.item
    if not stack.shape:
        raise ShapeError("scan: xs need a leading axis to walk along, got a 0-d tensor")
    return stack.with_shape(stack.shape[1:])


def _check_loop(types: Sequence[TensorType], attrs: Any) -> None:
    """Raises ArgumentError unless the numbers of operands, parameters and results agree."""
    body, cond, consts, carries = (attrs[key] for key in ("body", "cond", "consts", "carries"))
    if attrs["count"] and (cond is not None or attrs["length"] is not None):
        raise ArgumentError("a loop has one of count, cond and length")
    if cond is not None and (attrs["length"] is not None or attrs["reverse"]):
        raise ArgumentError("a loop whose condition ends it has no length and runs forwards")
    operands = len(types) - attrs["count"]
    if operands != len(body.params) or consts + carries > operands or carries > len(body.results):
        raise ArgumentError(
            f"{operands} operands, {consts} of them constants and {carries} carried, don't fit a body of "
            f"{len(body.params)} parameters and {len(body.results)} results"
        )
    if cond is not None and (operands != consts + carries or len(cond.params) != operands or len(cond.results) != 1):
        raise ArgumentError("the condition has the parameters of the body, without items, and one result")
    if attrs["count"] and types[0] != TensorType((), int64):
        raise DTypeError(f"the number of iterations has to be {TensorType((), int64)}, got {types[0]}")
    if not attrs["count"] and cond is None and attrs["length"] is None and operands == consts + carries:
        raise ArgumentError("a loop without items needs a length")
    if any(isinstance(t, TupleType) for t in types) or any(
        isinstance(t, StackType) for t in types[attrs["count"] : attrs["count"] + consts + carries]
    ):
        raise ArgumentError("constants and carries are tensors")


def _loop_infer(*types: TensorType, **attrs: Any) -> TensorType:
    _check_loop(types, attrs)
    loop = LoopOperands(attrs, types)
    items = [_item(t, loop.dynamic) for t in loop.stacks]
    n = None if loop.dynamic else trip_count(attrs["length"], loop.stacks)
    found = loop.body.infer([*loop.consts, *loop.inits, *items])
    carries = [_carried(i, a, b) for i, (a, b) in enumerate(zip(loop.inits, found, strict=False))]
    made = found[len(carries) :]
    stacks = [StackType(t) if loop.dynamic else t.with_shape((n, *t.shape)) for t in made]
    if loop.cond is None:
        return TupleType([*carries, *stacks])
    (verdict,) = loop.cond.infer([*loop.consts, *loop.inits])
    if verdict != TensorType((), bool_):
        raise DTypeError(f"while_loop: the condition has to be one boolean, got {verdict}")
    return TupleType([*carries, *stacks, TensorType((), int64)])


def _carried(i: int, before: TensorType, after: TensorType) -> TensorType:
    if before.dtype != after.dtype or not fits(before.shape, after.shape):
        raise ShapeError(f"loop variable {i} enters the loop as {before}, and is {after} after one iteration")
    return before


def _loop_eval(*arrays: Any, **attrs: Any) -> Any:
    loop = LoopOperands(attrs, arrays)
    carries = [np.array(c) for c in loop.inits]
    made: list[list[np.ndarray]] = [[] for _ in loop.items]
    if loop.cond is None:
        n = trip_count(attrs["length"], [TensorType(s.shape, s.dtype) for s in loop.stacks])
        n = int(loop.count) if loop.count is not None else n
        steps = range(n - 1, -1, -1) if attrs["reverse"] else range(n)
    else:
        steps = iter(int, 1)  # type: ignore[assignment]
    done = 0
    for t in steps:
        if loop.cond is not None and not loop.cond.eval([*loop.consts, *carries])[0]:
            break
        out = loop.body.eval([*loop.consts, *carries, *(s[t] for s in loop.stacks)])
        carries = out[: len(carries)]
        for values, value in zip(made, out[len(carries) :], strict=True):
            values.append(value)
        done += 1
    stacked = [_stacked(values, loop, k, arrays) for k, values in enumerate(made)]
    if attrs["reverse"]:
        stacked = [s[::-1] for s in stacked]
    return (*carries, *stacked, *((np.asarray(done),) if loop.cond is not None else ()))


def _stacked(values: list[np.ndarray], loop: LoopOperands, k: int, arrays: Any) -> np.ndarray:
    if values:
        return np.stack(values)
    given = [*loop.consts, *loop.inits, *(s[:0].sum(0).astype(s.dtype) for s in loop.stacks)]
    kind = loop.body.infer([TensorType(a.shape, a.dtype) for a in map(np.asarray, given)])[len(loop.inits) + k]
    return np.zeros((0, *kind.shape), kind.dtype)


def _loop_parameters(attrs: Any, types: Sequence[TensorType]) -> dict[str, list[tuple[TensorType, int | None]]]:
    loop, first = LoopOperands(attrs, types), int(attrs["count"])
    fixed: list[tuple[TensorType, int | None]] = [(t, first + i) for i, t in enumerate(loop.consts)]
    changing: list[tuple[TensorType, int | None]] = [(t, None) for t in loop.inits]
    found = {"body": [*fixed, *changing, *((_item(t, loop.dynamic), None) for t in loop.stacks)]}
    return found if loop.cond is None else {**found, "cond": [*fixed, *changing]}


PARTS = {
    "body": at.body, "cond": at.body_or_none, "consts": at.integer(0), "carries": at.integer(0), "length": at.length,
    "reverse": at.flag, "count": at.flag, "remat": at.flag,
}  # fmt: skip
loop_op = define(
    name="loop",
    attrs=PARTS,
    infer=_loop_infer,
    eval=_loop_eval,
    vjp=_flows,
    vjp_all=loop_vjp,
    emit=Region("loop", _loop_parameters),
    promote=keep,
    doc="Runs `body` again and again. Inputs: [count,] constants, first carries, stacks. Results: last carries, "
    "stacks [, number of iterations]. `remat`: its gradient keeps the carries and computes the rest again.",
)

# branches ----------------------------------------------------------------------------------------------------------


def _branch_infer(pred: TensorType, *types: TensorType, then: Subgraph, orelse: Subgraph) -> TensorType:
    if pred != TensorType((), bool_):
        raise DTypeError(f"cond: pred has to be one boolean, got {pred}")
    found = []
    if not len(types) == len(then.params) == len(orelse.params) or len(then.results) != len(orelse.results):
        raise ArgumentError(
            f"{len(types)} operands don't fit branches of {len(then.params)} and {len(orelse.params)} parameters, "
            f"{len(then.results)} and {len(orelse.results)} results"
        )
    if any(isinstance(t, (StackType, TupleType)) for t in types):
        raise ArgumentError("operands are tensors")
    for i, (a, b) in enumerate(zip(then.infer(types), orelse.infer(types), strict=True)):
        if a.dtype != b.dtype or not fits(a.shape, b.shape):
            raise ShapeError(f"Incompatible return types of true_fn and false_fn: result {i} is {a} and {b}")
        found.append(a.with_shape(tuple(m if m == n else None for m, n in zip(a.shape, b.shape, strict=True))))
    return TupleType(found)


def _branch_parameters(attrs: Any, types: Sequence[TensorType]) -> dict[str, list[tuple[TensorType, int | None]]]:
    given: list[tuple[TensorType, int | None]] = [(t, 1 + i) for i, t in enumerate(types[1:])]
    return {"then": given, "orelse": given}


branch_op = define(
    name="branch",
    attrs={"then": at.body, "orelse": at.body},
    infer=_branch_infer,
    eval=lambda pred, *arrays, then, orelse: tuple((then if pred else orelse).eval(arrays)),
    vjp=_flows,
    vjp_all=branch_vjp,
    emit=Region("branch", _branch_parameters),
    promote=keep,
    doc="Runs `then` where the first input is true, else `orelse`; both are functions of the other inputs.",
)


# what `scan`, `while_loop` and `cond` share: the mode, invariants of a body, loops under transforms -------------------

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
