"""Control flow: loops and branches over subgraphs, and the nodes that take their results out.

One record covers `scan`, `while_loop` and the loops of their gradients. Its body is a function of *constants* (the same
in every iteration), *carries* (handed from one iteration to the next) and *items* (one per iteration, from a stack); it
returns the next carries and items that are stacked. The trip count is known (`length`, or the leading extent of the
stacks), an input (`count`), or decided by `cond`, a subgraph of constants and carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.types import StackType, TensorType, TupleType, bool_, int64
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ir import Region, Result, Subgraph, define
from .. import attributes as at
from ..leaves import fits
from ..operands import LoopOperands, Parts, trip_count
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
