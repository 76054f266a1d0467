"""`while_loop`: a Python loop on eager tensors, in a graph a node with subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, overload

import numpy as np

from ...errors import GraphError
from ...ir import REGISTRY, Graph
from ...operators import Array, F, Lifted, Symbol, Tensor, TensorLike, apply, public, state
from ...types import bool_
from ..adjoint import as_written
from ..pytree import flatten, paths, unflatten
from ..random import stream
from . import under_transforms
from .branch_effects import assign_results, current_values
from .carries import (
    InGraph,
    check_callable,
    check_carries,
    check_scalar,
    check_structure,
    eager_tensors,
    graph_for,
    iterations,
    own,
)
from .subgraph_tracing import COUNTER, Draws, Traced, outputs, symbol


@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: list[Tensor], max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> list[Tensor]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: tuple[Tensor, ...], max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> tuple[Tensor, ...]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: list[Any], max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> list[Any]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: tuple[Any, ...], max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> tuple[Any, ...]: ...  # fmt: skip
@overload
def while_loop(
    cond: Callable[..., TensorLike], body: Callable[..., Any], loop_vars: Array | float, max_steps: int | None = None,
    checkpoint_every: int | None = None,
) -> Tensor: ...  # fmt: skip
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
    at most so many iterations. checkpoint_every: the gradient keeps the variables of every so many iterations only. Both
    functions may draw random numbers, as in `scan`.

    In a graph it is one node, and differentiable to any order: its gradient keeps residuals on a stack that grows
    with the number of iterations. Eagerly, a Python loop.

    Examples:
        >>> @sg.compile
        ... def halve(x):
        ...     return sg.while_loop(lambda x, n: x > 1, lambda x, n: (x / 2, n + 1), (x, sg.tensor(0)))
        >>> halve(sg.tensor(40.0))
        (tensor(0.6250), tensor(6))
    """
    check_callable("while_loop: cond", cond)
    check_callable("while_loop: body", body)
    bare = not isinstance(loop_vars, (list, tuple))
    given = (loop_vars,) if bare else loop_vars
    if max_steps is not None and not isinstance(max_steps, Symbol):
        max_steps = iterations(max_steps, "while_loop: max_steps", 0)
    if checkpoint_every is not None:
        checkpoint_every = iterations(checkpoint_every, "while_loop: checkpoint_every", 1)
    level = under_transforms.innermost()
    if level is not None and level.loops:
        result = under_transforms.while_loop(
            level, while_loop, cond, body, given, max_steps=max_steps, checkpoint_every=checkpoint_every
        )
        return result[0] if bare else result
    leaves, spec = flatten(given)
    job = _While(cond, body, spec, max_steps)
    graph = graph_for(leaves)
    if graph is None:
        try:
            with stream(always=True) as numbers:
                result = job.eager(eager_tensors(leaves))
            return result[0] if bare else result
        except InGraph as found:
            numbers.undo()
            graph = found.graph
    carry = [symbol(graph, x) for x in leaves]
    with Draws(graph, always=True) as job.draws:
        if checkpoint_every is None:
            last = job.symbolic(graph, carry)
        else:
            last = job.checkpointed(graph, carry, checkpoint_every)
            last = as_written(last, job.symbolic(graph, carry))
    result = unflatten(spec, last)
    return result[0] if bare else result


class _While:
    """One call of `while_loop`: the functions on flat lists. With `limit` the last carry counts the iterations.

    draws: the random numbers of the functions, which a further carry counts, the last of all.
    """

    def __init__(self, cond: Callable[..., Any], body: Callable[..., Any], spec: Any, limit: Any, draws: Draws | None = None):
        self.cond, self.body, self.spec, self.limit, self.draws = cond, body, spec, limit, draws
        self.names = paths(spec, "loop_vars")

    def verdict(self, carry: Sequence[Any]) -> Any:
        return self.cond(*unflatten(self.spec, carry))

    def next(self, carry: Sequence[Any]) -> list[Any]:
        """The leaves that the body returns. Raises ArgumentError when their structure is another."""
        after = self.body(*unflatten(self.spec, carry))
        if len(self.spec.items) == 1 and (not isinstance(after, (list, tuple)) or len(after) != 1):
            after = (after,)
        if isinstance(after, (list, tuple)) and not hasattr(after, "_fields"):
            after = self.spec.like(after)  # a list for a tuple, and the other way round
        leaves, spec = flatten(after)
        check_structure("while_loop", self.spec, spec)
        return leaves

    def eager(self, carry: list[Any]) -> Any:
        steps = 0
        while self.limit is None or steps < self.limit:
            verdict = self.verdict(carry)
            if not _truth(under_transforms.some(verdict)):
                break
            after = eager_tensors(self.next(carry), carry)
            if isinstance(verdict, Lifted):  # samples that have ended keep their values
                after = [F.where(verdict, new, old) for new, old in zip(after, carry, strict=True)]
            check_carries("while_loop", self.names, carry, after)
            carry, steps = after, steps + 1
        return unflatten(self.spec, own(carry))

    def symbolic(self, graph: Graph, carry: list[Any], *, remat: bool = False, step: Any = None) -> list[Any]:
        """step: how many random numbers were drawn before, if that is a carry of the caller's; it comes back as the last."""
        first, limited = len(carry), self.limit is not None
        if limited:
            carry = [*carry, symbol(graph, np.zeros((), np.int64))]
        n = len(carry)
        kinds = [*(x.node.type for x in carry), COUNTER]
        if self.draws is not None:
            self.draws.count = 0
        test = Traced(graph, self._test, kinds, lambda p: (p[:n], p[n]), "while_loop")
        try:
            body = Traced(graph, self._step, kinds, lambda p: (p[:n], p[n]), "while_loop", [k.dtype for k in kinds])
            test.carry(list(body.assigned))
        finally:
            test.withdraw()
        body.withdraw()
        check_carries("while_loop", [*self.names, "steps"][:n], carry, body.symbols[:n])
        variables = list(body.assigned)
        values = current_values(graph, variables, body.before)
        if step is not None or (self.draws is not None and self.draws.count):
            carry = [*carry, symbol(graph, np.zeros((), np.int64)) if step is None else step]
        else:
            body.drop(n, n)
            del test.params[n]
        numbers = [] if self.draws is None else [self.draws.stream.node]
        captured = list(dict.fromkeys([*test.captured, *body.captured, *numbers]))
        node = apply(
            REGISTRY["loop"], *(Symbol(graph, c) for c in captured), *carry, *values,
            body=body.subgraph(captured), cond=test.subgraph(captured), consts=len(captured),
            carries=len(carry) + len(values), length=None, reverse=False, count=False, remat=remat,
        )  # fmt: skip
        results = outputs(node, len(carry) + len(values))
        if variables:
            results = assign_results(graph, variables, results[len(carry) :], results[: len(carry)], body.before)
        return results[:first] if step is None else [*results[:first], results[-1]]

    def _numbers(self, step: Any) -> Any:
        return nullcontext() if self.draws is None else self.draws.inside(step)

    def _test(self, carry: list[Any], step: Any) -> Any:
        given = carry if self.limit is None else carry[:-1]
        with self._numbers(step):
            going = _condition(self.verdict(given))
        return going if self.limit is None else F.logical_and(going, carry[-1] < self.limit)

    def _step(self, carry: list[Any], step: Any) -> list[Any]:
        given = carry if self.limit is None else carry[:-1]
        with self._numbers(step):
            after = self.next(given)
        if self.limit is not None:
            after = [*after, carry[-1] + 1]
        return [*after, step + self.draws.count if self.draws is not None and self.draws.count else step]

    def checkpointed(self, graph: Graph, carry: list[Any], every: int) -> list[Any]:
        """Blocks of at most `every` iterations, whose gradient runs them again from their first variables."""
        total = self.limit

        def block(state: list[Any], done: Any, drawn: Any) -> tuple[list[Any], Any, Any]:
            limit = every if total is None else F.minimum(np.int64(total) - done, np.int64(every))
            inner = _While(self.cond, self.body, self.spec, limit, self.draws)
            *after, drawn = inner.symbolic(graph, state, step=drawn)
            return after, done + every, drawn

        def more(state: list[Any], done: Any, drawn: Any) -> Any:
            before = graph.draws
            going = _condition(self.verdict(state))
            if graph.draws != before:
                raise GraphError(
                    "while_loop: with checkpoint_every the condition can't draw random numbers, for it runs twice at times",
                    "draw them in the body, and carry them to the condition",
                )
            return going if total is None else F.logical_and(going, done < total)

        zero = symbol(graph, np.zeros((), np.int64))
        leaves, spec = flatten([carry, zero, zero])
        return _While(more, block, spec, None).symbolic(graph, leaves, remat=True)[:-2]


def _truth(verdict: Any) -> bool:
    if isinstance(verdict, Symbol) and not state.levels:
        raise InGraph(verdict.graph)
    if isinstance(verdict, Symbol):
        raise under_transforms.no_loop("while_loop")
    return bool(check_scalar(verdict, "while_loop: the condition"))


def _condition(verdict: Any) -> Any:
    """One boolean; numbers are true where they are not 0."""
    check_scalar(verdict, "while_loop: the condition")
    if not hasattr(verdict, "dtype"):
        verdict = np.asarray(bool(verdict))
    return verdict if verdict.dtype == bool_ else F.ne(verdict, 0)
