"""`scan`: a Python loop on eager tensors, in a graph a node with a subgraph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.types import INEXACT, TensorType
from ...errors import ArgumentError, ShapeError
from ...ir import REGISTRY, Graph
from ..operands import trip_count
from ..operators import Carry, F, Output, Symbol, apply, public
from ..pytree import flatten, paths, text, unflatten
from ..random import stream
from ..shaping import as_written
from . import records
from .records import InGraph, check_callable, check_carries, check_structure, eager_tensors, graph_for, iterations, own
from .subgraph_tracing import COUNTER, Draws, Traced, assign_results, current_values, outputs, symbol


@public
def scan(
    fn: Callable[[Carry, Any], tuple[Carry, Output]], init: Carry, xs: Any = None, length: int | None = None,
    reverse: bool = False, checkpoint_every: int | None = None,
) -> tuple[Carry, Output]:  # fmt: skip
    """A loop that carries a state and collects results, like `jax.lax.scan`: returns (last carry, stacked ys).

    fn(carry, x) -> (carry, y). init: the first carry; xs: the tensors to iterate over along their leading axis, or None;
    both nested tuples, lists or dicts of tensors, like y. The carry keeps its structure, shapes and dtypes. length: the
    number of iterations where there are no xs. reverse: from the last x to the first; ys lie where their x was.
    checkpoint_every: the gradient keeps the carry of every so many iterations and computes the others again.

    fn may draw random numbers (`sg.rand`, dropout): fresh ones in each iteration, the same in every mode, and the gradient
    sees those of its iteration. In a graph it may assign to variables, too. There a scan is one node, whose time to
    compile does not depend on the number of iterations; eagerly, a Python loop. Raises ShapeError, DTypeError and
    ArgumentError for a body that changes what it carries, and for xs of different lengths.

    Examples:
        >>> total, sums = sg.scan(lambda carry, x: (carry + x, carry + x), sg.tensor(0.0), sg.tensor([1.0, 2.0, 3.0]))
        >>> total, sums
        (tensor(6.), tensor([1., 3., 6.]))
    """
    check_callable("scan: fn", fn)
    carry: Any
    (carry, spec), (items, item_spec) = flatten(init), flatten(xs)
    if checkpoint_every is not None:
        checkpoint_every = iterations(checkpoint_every, "scan: checkpoint_every", 1)
    if length is not None:
        length = iterations(length, "scan: length", 0)
    elif not items:
        raise ArgumentError("scan: with no xs the number of iterations has to be given", "pass length=n")
    level = records.innermost()
    if level is not None and level.loops:
        return records.scan(level, scan, fn, init, xs, length=length, reverse=reverse, checkpoint_every=checkpoint_every)
    job = _Scan(fn, spec, item_spec, reverse)
    graph = graph_for([*carry, *items])
    if graph is None:
        try:
            with stream(always=False) as numbers:
                return job.eager(eager_tensors(carry), eager_tensors(items), length)
        except InGraph as found:
            numbers.undo()
            graph = found.graph
    carry, items = [symbol(graph, x) for x in carry], [symbol(graph, x) for x in items]
    n = _length(items, length)
    if checkpoint_every is not None and n is None:
        raise ShapeError(
            "scan: checkpoint_every needs a known number of iterations, the leading extent of xs is unknown",
            "give the placeholder a known extent, or pass length=n",
        )
    with Draws(graph, always=False) as job.draws:
        if checkpoint_every is None:
            last, ys = job.symbolic(graph, carry, items, length)
        else:
            last, ys = job.checkpointed(graph, carry, items, n, checkpoint_every)
            plain, stacks = job.symbolic(graph, carry, items, length)
            last, ys = as_written(last, plain), as_written(ys, stacks)
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
        self.draws: Draws | None = None

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
        if n is None:
            raise records.no_loop("scan")
        made: list[list[Any]] = []
        for t in reversed(range(n)) if self.reverse else range(n):
            carry, ys = self._step(carry, [x[t] for x in items])
            made.append(ys)
        if not made:  # the types of its results, from an item of zeros
            ys = self._step(carry, [F.sum(x[:0].detach(), 0) if x.dtype.kind in INEXACT else x[:0].sum(0).astype(x.dtype)
                                    for x in items])[1]  # fmt: skip
            return unflatten(self.spec, own(carry)), unflatten(self.y_spec, [F.expand_dims(y.detach(), 0)[:0] for y in ys])
        if self.reverse:
            made.reverse()
        stacks = [F.stack(values) for values in zip(*made, strict=True)]
        return unflatten(self.spec, own(carry)), unflatten(self.y_spec, stacks)

    def _step(self, carry: list[Any], items: list[Any]) -> tuple[list[Any], list[Any]]:
        after, y = self.call(carry, items)
        leaves, spec = flatten(after)
        check_structure("scan", self.spec, spec)
        following = eager_tensors(leaves, carry)
        check_carries("scan", self.names, carry, following)
        ys, y_spec = flatten(y)
        if self.y_spec is None:
            self.y_spec = y_spec
        elif self.y_spec != y_spec:
            raise ArgumentError(
                "The two structures don't have the same nested structure.",
                f"scan: y was {text(self.y_spec)} in the iterations before, and is {text(y_spec)} now",
            )
        return following, eager_tensors(ys)

    # in a graph

    def symbolic(
        self, graph: Graph, carry: list[Any], items: list[Any], length: int | None, *, remat: bool = False, step: Any = None
    ) -> tuple[list[Any], list[Any]]:
        """step: how many random numbers were drawn before, if that is a carry of the caller's; it comes back as the last."""
        if self.draws is not None:
            self.draws.count = 0
        kinds = [*(x.node.type for x in carry), COUNTER, *(x.node.type.with_shape(x.node.type.shape[1:]) for x in items)]
        n = len(carry)
        likes = [*(x.dtype for x in carry), COUNTER.dtype]
        body = Traced(graph, self._traced, kinds, lambda p: (p[:n], p[n], p[n + 1 :]), "scan", likes)
        try:
            carry_spec, _, self.y_spec = body.structure.items
            check_structure("scan", self.spec, carry_spec)
            check_carries("scan", self.names, carry, body.symbols[:n])
        finally:
            body.withdraw()
        if step is not None or (self.draws is not None and self.draws.count):
            carry = [*carry, symbol(graph, np.zeros((), np.int64)) if step is None else step]
        else:
            body.drop(n, n)
        variables = list(body.assigned)
        values = current_values(graph, variables, body.before)
        body.move_last(len(variables), len(carry))
        captured = body.captured
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, c) for c in captured), *carry, *values, *items,
            body=body.subgraph(captured), cond=None, consts=len(captured), carries=len(carry) + len(values),
            length=length if not items or length is None else None, reverse=self.reverse, count=False, remat=remat,
        )  # fmt: skip
        results = outputs(node, len(body.results))
        if variables:
            first = len(carry)
            last = results[first : first + len(variables)]
            results = [*results[:first], *results[first + len(variables) :]]
            results = assign_results(graph, variables, last, results, body.before)
        return results[: n if step is None else n + 1], results[len(carry) :]

    def _traced(self, carry: Sequence[Any], step: Any, items: Sequence[Any]) -> tuple[Any, Any, Any]:
        """The next carry, how many random numbers have been drawn, and y."""
        if self.draws is None:
            after, y = self.call(carry, items)
            return after, step, y
        with self.draws.inside(step):
            after, y = self.call(carry, items)
        return after, step + self.draws.count if self.draws.count else step, y

    def checkpointed(self, graph: Graph, carry: list[Any], items: list[Any], n: int, every: int) -> Any:
        """A scan over blocks of iterations: its gradient keeps the carry of each block, and runs the block again."""
        whole = n // every * every
        parts = [(0, whole), (whole, n)] if not self.reverse else [(whole, n), (0, whole)]
        made: dict[int, list[Any]] = {}
        carry = [*carry, symbol(graph, np.zeros((), np.int64))]
        for begin, end in parts:
            if begin == end and (n or begin):
                continue
            size = every if (begin, end) == (0, whole) and end else end - begin
            carry, made[begin] = self._blocks(graph, carry, [x[begin:end] for x in items], end - begin, size)
        first, *rest = (made[begin] for begin in sorted(made))
        return carry[:-1], first if not rest else [F.concatenate(pair) for pair in zip(first, *rest, strict=True)]

    def _blocks(self, graph: Graph, carry: list[Any], items: list[Any], n: int, size: int) -> tuple[list[Any], list[Any]]:
        blocks = n // size if size else 0
        cut = [F.reshape(x, (blocks, size, *x.shape[1:])) for x in items]

        def block(state: list[Any], part: list[Any]) -> tuple[list[Any], list[Any]]:
            return self.symbolic(graph, state[:-1], part, size, step=state[-1])

        outer = _Scan(block, flatten(carry)[1], flatten(cut)[1], self.reverse)
        last, stacks = outer.symbolic(graph, carry, cut, blocks, remat=True)
        return last, [F.reshape(y, (n, *y.shape[2:])) for y in stacks]
