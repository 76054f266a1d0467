"""`while_loop`: a Python loop on eager tensors, in a graph a node with subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import REGISTRY, Graph
from ..operators import F, Symbol, apply, public
from ..types import bool_
from .bodies import Traced, outputs, symbol
from .carrying import InGraph, check_carries, check_scalar, check_structure, eager_tensors, graph_for
from .trees import flatten, paths, unflatten


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
    graph = graph_for(leaves)
    if graph is None:
        try:
            result = job.eager(eager_tensors(leaves))
            return result[0] if bare else result
        except InGraph as found:
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
        check_structure("while_loop", self.spec, spec)
        return leaves

    def eager(self, carry: list[Any]) -> Any:
        steps = 0
        while (self.limit is None or steps < self.limit) and _truth(self.verdict(carry)):
            after = eager_tensors(self.next(carry), carry)
            check_carries("while_loop", self.names, carry, after)
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
        check_carries("while_loop", [*self.names, "steps"][: len(carry)], carry, body.symbols)
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
        raise InGraph(verdict.graph)
    return bool(check_scalar(verdict, "while_loop: the condition"))


def _condition(verdict: Any) -> Any:
    """One boolean; numbers are true where they are not 0."""
    check_scalar(verdict, "while_loop: the condition")
    if not hasattr(verdict, "dtype"):
        verdict = np.asarray(bool(verdict))
    return verdict if verdict.dtype == bool_ else F.ne(verdict, 0)
