"""`scan`, `while_loop` and `cond`: Python's loops and decisions on eager tensors, nodes with subgraphs in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError, ShapeError
from ..ir import REGISTRY, Graph
from ..operators import F, Symbol, apply, as_array, frontends, public, state
from ..types import TensorType, bool_, shape_text
from .bodies import Traced, outputs, symbol
from .leaves import fits
from .roles import trip_count
from .trees import flatten, paths, text, unflatten

# where it runs -----------------------------------------------------------------------------------------------------


def _graph_for(leaves: Sequence[Any]) -> Graph | None:
    """The graph that a loop or branch belongs to; None in eager mode."""
    if frontends.tracing and state.tracer is not None:
        return state.tracer.graph
    return next((leaf.graph for leaf in leaves if isinstance(leaf, Symbol)), None)


class _InGraph(BaseException):
    """The body of an eager loop computed a symbol: it belongs to that graph."""

    def __init__(self, graph: Graph):
        self.graph = graph


def _tensors(leaves: Sequence[Any], likes: Sequence[Any] = ()) -> list[Any]:
    """Leaves as eager tensors. Raises _InGraph for a symbol."""
    found = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Symbol):
            raise _InGraph(leaf.graph)
        if isinstance(leaf, frontends.tensor_class):
            found.append(leaf)
        elif i < len(likes) and not hasattr(leaf, "dtype"):
            found.append(frontends.tensor_class(np.asarray(leaf, likes[i].dtype)))
        else:
            found.append(frontends.tensor_class(as_array(leaf)))
    return found


# what a body has to keep ---------------------------------------------------------------------------------------------


def _check_structure(what: str, before: Any, after: Any) -> None:
    if before != after:
        raise ArgumentError(
            "The two structures don't have the same nested structure.",
            f"{what}: the loop variables enter as {text(before)}, and the body returns {text(after)}",
        )


def _check_carries(what: str, names: Sequence[str], before: Sequence[Any], after: Sequence[Any]) -> None:
    """Every carry keeps its shape and dtype. Raises ShapeError, DTypeError."""
    for name, a, b in zip(names, before, after, strict=True):
        if not fits(a.shape, b.shape):
            raise ShapeError(
                f"The shape for {name} is not an invariant for the loop. It enters the loop with shape "
                f"{shape_text(a.shape)}, but has shape {shape_text(b.shape)} after one iteration.",
                f"{what} carries values of one shape; to collect values, return them as y of a scan",
            )
        if a.dtype != b.dtype:
            raise DTypeError(
                f"The dtype for {name} is not an invariant for the loop. It enters the loop with dtype {a.dtype}, but has "
                f"dtype {b.dtype} after one iteration.",
                f"cast it in the body: {name.split('[')[0]}.astype(sg.{a.dtype}), or let it enter as {b.dtype}",
            )


# scan ----------------------------------------------------------------------------------------------------------------


@public
def scan(
    fn: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    checkpoint_every: int | None = None,
) -> tuple[Any, Any]:
    """A loop that carries a state and collects results, like `jax.lax.scan`: returns (last carry, stacked ys).

    fn(carry, x) -> (carry, y). init: the first carry; xs: what to walk along the leading axis of, None for nothing;
    both nested tuples, lists or dicts of tensors, like y. The carry keeps its structure, shapes and dtypes. length: the
    number of iterations where there are no xs. reverse: from the last x to the first; ys lie where their x was.
    checkpoint_every: the gradient keeps the carry of every so many iterations and computes the others again.

    In a graph it is one node, whose time to compile does not depend on the number of iterations; eagerly, a Python loop.
    Raises ShapeError, DTypeError and ArgumentError for a body that changes what it carries, and for xs of different lengths.
    """
    (carry, spec), (items, item_spec) = flatten(init), flatten(xs)
    if checkpoint_every is not None and (isinstance(checkpoint_every, bool) or checkpoint_every < 1):
        raise ArgumentError(f"scan: checkpoint_every is a number of iterations, at least 1, got {checkpoint_every!r}")
    if length is None and not items:
        raise ArgumentError("scan: with no xs the number of iterations has to be given", "pass length=n")
    job = _Scan(fn, spec, item_spec, reverse)
    graph = _graph_for([*carry, *items])
    if graph is None:
        try:
            return job.eager(_tensors(carry), _tensors(items), length)
        except _InGraph as found:
            graph = found.graph
    carry, items = [symbol(graph, x) for x in carry], [symbol(graph, x) for x in items]
    n = _length(items, length)
    if checkpoint_every is None:
        last, ys = job.symbolic(graph, carry, items, length)
    else:
        if n is None:
            raise ShapeError(
                "scan: checkpoint_every needs a known number of iterations, the leading extent of xs is unknown",
                "give the placeholder a known extent, or pass length=n",
            )
        last, ys = job.checkpointed(graph, carry, items, n, int(checkpoint_every))
    return unflatten(spec, last), unflatten(job.y_spec, ys)


def _length(items: Sequence[Any], length: Any) -> Any:
    for x in items:
        if not x.shape:
            raise ShapeError("scan: xs need a leading axis to walk along, got a 0-d tensor")
    return trip_count(length, [TensorType(x.shape, x.dtype) for x in items])


class _Scan:
    """One call of `scan`: the function on flat lists."""

    def __init__(self, fn: Callable[[Any, Any], Any], spec: Any, item_spec: Any, reverse: bool):
        self.fn, self.spec, self.item_spec, self.reverse = fn, spec, item_spec, bool(reverse)
        self.names = paths(spec, "carry")
        self.y_spec: Any = None

    def call(self, carry: Sequence[Any], items: Sequence[Any]) -> tuple[Any, Any]:
        """fn on one carry and one item. Raises ArgumentError unless it returns a pair."""
        result = self.fn(unflatten(self.spec, carry), unflatten(self.item_spec, items))
        if not isinstance(result, tuple) or len(result) != 2:
            raise ArgumentError(
                f"scan: the body has to return a pair (carry, y), got {type(result).__name__}",
                "return carry, None where there is nothing to collect",
            )
        return result

    # eager

    def eager(self, carry: list[Any], items: list[Any], length: int | None) -> tuple[Any, Any]:
        n = _length(items, length)
        made: list[list[Any]] = []
        for t in reversed(range(n)) if self.reverse else range(n):
            carry, ys = self._step(carry, [x[t] for x in items])
            made.append(ys)
        if not made:  # what it would make: of an item of zeros
            ys = self._step(carry, [F.sum(x[:0].detach(), 0) if x.dtype.kind == "f" else x[:0].sum(0).astype(x.dtype)
                                    for x in items])[1]  # fmt: skip
            return unflatten(self.spec, carry), unflatten(self.y_spec, [F.expand_dims(y.detach(), 0)[:0] for y in ys])
        if self.reverse:
            made.reverse()
        stacks = [F.stack(values) for values in zip(*made, strict=True)]
        return unflatten(self.spec, carry), unflatten(self.y_spec, stacks)

    def _step(self, carry: list[Any], items: list[Any]) -> tuple[list[Any], list[Any]]:
        after, y = self.call(carry, items)
        leaves, spec = flatten(after)
        _check_structure("scan", self.spec, spec)
        following = _tensors(leaves, carry)
        _check_carries("scan", self.names, carry, following)
        ys, y_spec = flatten(y)
        if self.y_spec is None:
            self.y_spec = y_spec
        return following, _tensors(ys)

    # in a graph

    def symbolic(
        self, graph: Graph, carry: list[Any], items: list[Any], length: int | None, *, remat: bool = False
    ) -> tuple[list[Any], list[Any]]:
        kinds = [x.node.type for x in carry] + [x.node.type.with_shape(x.shape[1:]) for x in items]
        n = len(carry)
        body = Traced(graph, self.call, kinds, lambda p: (p[:n], p[n:]), "scan", [x.dtype for x in carry])
        try:
            after, self.y_spec = self._returned(body)
            _check_carries("scan", self.names, carry, after)
        finally:
            body.withdraw()
        captured = body.captured
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, c) for c in captured), *carry, *items,
            body=body.subgraph(captured), cond=None, consts=len(captured), carries=n,
            length=length if not items or length is None else None, reverse=self.reverse, count=False, remat=remat,
        )  # fmt: skip
        results = outputs(node, len(body.results))
        return results[:n], results[n:]

    def _returned(self, body: Traced) -> tuple[list[Any], Any]:
        """The next carry of a traced body, and the structure of y."""
        carry_spec, y_spec = body.structure[1]
        _check_structure("scan", self.spec, carry_spec)
        return body.symbols[: len(self.names)], y_spec

    def checkpointed(self, graph: Graph, carry: list[Any], items: list[Any], n: int, every: int) -> Any:
        """A scan over blocks of iterations: its gradient keeps the carry of each block, and runs the block again."""
        whole = n // every * every
        parts = [(0, whole), (whole, n)] if not self.reverse else [(whole, n), (0, whole)]
        made: dict[int, list[Any]] = {}
        for begin, end in parts:
            if begin == end and (n or begin):
                continue
            size = every if (begin, end) == (0, whole) and end else end - begin
            carry, made[begin] = self._blocks(graph, carry, [x[begin:end] for x in items], end - begin, size)
        first, *rest = (made[begin] for begin in sorted(made))
        return carry, first if not rest else [F.concatenate(pair) for pair in zip(first, *rest, strict=True)]

    def _blocks(self, graph: Graph, carry: list[Any], items: list[Any], n: int, size: int) -> tuple[list[Any], list[Any]]:
        blocks = n // size if size else 0
        cut = [F.reshape(x, (blocks, size, *x.shape[1:])) for x in items]

        def block(state: list[Any], part: list[Any]) -> tuple[list[Any], list[Any]]:
            return self.symbolic(graph, state, part, size)

        outer = _Scan(block, flatten(carry)[1], flatten(cut)[1], self.reverse)
        last, stacks = outer.symbolic(graph, carry, cut, blocks, remat=True)
        return last, [F.reshape(y, (n, *y.shape[2:])) for y in stacks]


# while_loop ------------------------------------------------------------------------------------------------------------


@public
def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> Any:
    """Repeat `body` while `cond` holds; returns the last loop variables, in the structure of `loop_vars`.

    As in TensorFlow 1: loop_vars is a list or tuple, cond(*loop_vars) one boolean, body(*loop_vars) the next variables
    (a single one may come bare). Each is a tensor or a nested structure of them, and keeps its shapes and dtypes. max_steps:
    at most so many iterations. checkpoint_every: the gradient keeps the variables of every so many iterations only.

    In a graph it is one node, and differentiable to any order: its gradient keeps what it needs on a stack that grows
    with the number of iterations. Eagerly, a Python loop.
    """
    bare = not isinstance(loop_vars, (list, tuple))
    given = (loop_vars,) if bare else loop_vars
    leaves, spec = flatten(given)
    job = _While(cond, body, spec, max_steps)
    graph = _graph_for(leaves)
    if graph is None:
        try:
            result = job.eager(_tensors(leaves))
            return result[0] if bare else result
        except _InGraph as found:
            graph = found.graph
    carry = [symbol(graph, x) for x in leaves]
    last = job.symbolic(graph, carry) if checkpoint_every is None else job.checkpointed(graph, carry, checkpoint_every)
    result = unflatten(spec, last)
    return result[0] if bare else result


class _While:
    """One call of `while_loop`: the functions on flat lists. With `limit` the last carry counts the iterations."""

    def __init__(self, cond: Callable[..., Any], body: Callable[..., Any], spec: Any, limit: int | None):
        self.cond, self.body, self.spec, self.limit = cond, body, spec, limit
        self.names = paths(spec, "loop_vars")

    def verdict(self, carry: Sequence[Any]) -> Any:
        return self.cond(*unflatten(self.spec, carry))

    def next(self, carry: Sequence[Any]) -> list[Any]:
        """The leaves that the body returns. Raises ArgumentError when their structure is another."""
        after = self.body(*unflatten(self.spec, carry))
        if len(self.spec[1]) == 1 and (not isinstance(after, (list, tuple)) or len(after) != 1):
            after = (after,)
        if isinstance(after, (list, tuple)) and not hasattr(after, "_fields"):
            after = self.spec[0](after)  # a list for a tuple, and the other way round
        leaves, spec = flatten(after)
        _check_structure("while_loop", self.spec, spec)
        return leaves

    def eager(self, carry: list[Any]) -> Any:
        steps = 0
        while (self.limit is None or steps < self.limit) and _truth(self.verdict(carry)):
            after = _tensors(self.next(carry), carry)
            _check_carries("while_loop", self.names, carry, after)
            carry, steps = after, steps + 1
        return unflatten(self.spec, carry)

    def symbolic(self, graph: Graph, carry: list[Any], *, remat: bool = False) -> list[Any]:
        limited = self.limit is not None
        if limited:
            carry = [*carry, symbol(graph, np.zeros((), np.int64))]
        kinds = [x.node.type for x in carry]
        test = Traced(graph, self._test, kinds, lambda p: (p,), "while_loop")
        try:
            body = Traced(graph, self._step, kinds, lambda p: (p,), "while_loop", [x.dtype for x in carry])
        finally:
            test.withdraw()
        body.withdraw()
        _check_carries("while_loop", [*self.names, "steps"][: len(carry)], carry, body.symbols)
        captured = list(dict.fromkeys([*test.captured, *body.captured]))
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, c) for c in captured), *carry,
            body=body.subgraph(captured), cond=test.subgraph(captured), consts=len(captured), carries=len(carry),
            length=None, reverse=False, count=False, remat=remat,
        )  # fmt: skip
        return outputs(node, len(carry) - limited)

    def _test(self, carry: list[Any]) -> Any:
        if self.limit is None:
            return _condition(self.verdict(carry))
        return F.logical_and(_condition(self.verdict(carry[:-1])), carry[-1] < self.limit)

    def _step(self, carry: list[Any]) -> list[Any]:
        return self.next(carry) if self.limit is None else [*self.next(carry[:-1]), carry[-1] + 1]

    def checkpointed(self, graph: Graph, carry: list[Any], every: int) -> list[Any]:
        """Blocks of at most `every` iterations, whose gradient runs them again from their first variables."""
        total = self.limit

        def block(state: list[Any], done: Any) -> tuple[list[Any], Any]:
            limit = every if total is None else F.minimum(np.int64(total) - done, np.int64(every))
            inner = _While(self.cond, self.body, self.spec, limit)
            return inner.symbolic(graph, state), done + every

        def more(state: list[Any], done: Any) -> Any:
            going = _condition(self.verdict(state))
            return going if total is None else F.logical_and(going, done < total)

        start = [carry, symbol(graph, np.zeros((), np.int64))]
        leaves, spec = flatten(start)
        return _While(more, block, spec, None).symbolic(graph, leaves, remat=True)[:-1]


def _truth(verdict: Any) -> bool:
    if isinstance(verdict, Symbol):
        raise _InGraph(verdict.graph)
    return bool(_check_scalar(verdict, "while_loop: the condition"))


def _check_scalar(value: Any, what: str) -> Any:
    if getattr(value, "shape", ()) != ():
        raise ShapeError(f"{what} has to be a scalar, got shape {shape_text(value.shape)}", "reduce it: .any() or .all()")
    return value


def _condition(verdict: Any) -> Any:
    """One boolean; numbers are true where they are not 0."""
    _check_scalar(verdict, "while_loop: the condition")
    if not hasattr(verdict, "dtype"):
        verdict = np.asarray(bool(verdict))
    return verdict if verdict.dtype == bool_ else F.ne(verdict, 0)


# cond ------------------------------------------------------------------------------------------------------------------


@public
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """true_fn(*operands) where `pred` holds, else false_fn(*operands); only that one runs.

    pred: one boolean. The functions may use anything from outside (TensorFlow 1's style has no operands); they return the
    same structure, of the same shapes and dtypes, and have no side effects. In a graph it is one node; eagerly, and for a
    Python boolean, an ordinary decision. Raises ArgumentError, ShapeError, DTypeError when the branches disagree.
    """
    if not callable(true_fn) or not callable(false_fn):
        raise ArgumentError(f"{'true_fn' if not callable(true_fn) else 'false_fn'} must be callable.")
    graph = _graph_for([pred]) if hasattr(pred, "dtype") else None
    if graph is None:
        return (true_fn if _check_scalar(pred, "cond: pred") else false_fn)(*operands)
    pred = _check_scalar(symbol(graph, pred), "cond: pred")
    pred = pred if pred.dtype == bool_ else F.ne(pred, 0)
    branches: list[Traced] = []
    try:
        for fn in (true_fn, false_fn):
            branches.append(Traced(graph, lambda fn=fn: fn(*operands), [], lambda p: (), "cond", closed=True))
    finally:
        for branch in branches:
            branch.withdraw()
    _check_branches(*branches)
    captured = list(dict.fromkeys(c for branch in branches for c in branch.captured))
    then, orelse = (branch.subgraph(captured) for branch in branches)
    node = apply(REGISTRY["branch"], pred, *(Symbol(graph, c) for c in captured), then=then, orelse=orelse)
    return unflatten(branches[0].structure, outputs(node, len(then.results)))


def _check_branches(yes: Traced, no: Traced) -> None:
    if yes.structure != no.structure:
        raise ArgumentError(
            "Incompatible return structures of true_fn and false_fn: The two structures don't have the same nested structure.",
            f"true_fn returns {text(yes.structure)}, false_fn {text(no.structure)}",
        )
    for name, a, b in zip(paths(yes.structure, "result"), yes.symbols, no.symbols, strict=True):
        if a.dtype != b.dtype:
            raise DTypeError(
                f"Incompatible return types of true_fn and false_fn: {name} is {a.dtype} and {b.dtype}",
                "cast one of them with .astype",
            )
        if not fits(a.shape, b.shape):
            raise ShapeError(
                f"Incompatible return shapes of true_fn and false_fn: {name} is {shape_text(a.shape)} and "
                f"{shape_text(b.shape)}",
                "both branches have to give values of one shape",
            )

