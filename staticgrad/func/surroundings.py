"""Gradients by the backward pass of the surroundings, where their tensors are under no transform.

The tapes of eager mode and of a trace are faster than `autodiff/recording.py`, and a graph's reverse mode differentiates
loops as loops. They serve `grad`, which needs the cotangents at once; `vjp` gives them out, to be called under `vmap` too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autodiff.reverse import gradients
from ..eager import Tensor, enable_grad
from ..eager import grad as tape_gradients
from ..eager.tape import edge
from ..ir import REGISTRY
from ..operators import F, Lifted, Symbol, append, frontends, state
from ..tracing.traced import Traced
from .trees import leaves_of, unflatten

Detach = Callable[[Any], Any]


class Surroundings:
    """One kind of tensors. enter(x): a tensor of the same value, the argument of the function; leave(x, given): a result, which
    keeps its tape where that leads to other tensors than `given`; pull: gradients of a scalar."""

    def enter(self, x: Any) -> Any:
        raise NotImplementedError

    def outer(self, x: Any, given: Sequence[Any]) -> bool:
        """Whether a gradient flows to tensors that the caller knows."""
        raise NotImplementedError

    def leave(self, tree: Any, given: Sequence[Any]) -> Any:
        def cut(x: Any) -> Any:
            tracked = isinstance(x, (Tensor, Traced)) and x.requires_grad
            return x.detach() if tracked and not self.outer(x, given) else x

        leaves, structure = leaves_of(tree)
        return unflatten(structure, map(cut, leaves))

    def pull(self, out: Any, given: Sequence[Any]) -> list[Any]:
        if not out.requires_grad:
            return [None] * len(given)
        with enable_grad():
            return list(tape_gradients(out, list(given), create_graph=self.outer(out, given), allow_unused=True))


class Eager(Surroundings):
    def enter(self, x: Any) -> Any:
        return F.reshape(x, x.shape) if x.requires_grad else x.detach().requires_grad_(True)

    def outer(self, x: Any, given: Sequence[Any]) -> bool:
        if any(not g.is_leaf for g in given):
            return True
        own = {id(g) for g in given}
        stack, seen = [x._record], {x._record}
        while stack:
            record = stack.pop()
            if record is None:
                continue
            for tensor in record.inputs:
                maker, leaf = edge(tensor, record.clock)
                if leaf is not None and id(leaf) not in own:
                    return True
                if maker is not None and maker not in seen:
                    seen.add(maker)
                    stack.append(maker)
        return x._record is None and id(x) not in own


class InTrace(Surroundings):
    def enter(self, x: Any) -> Any:
        own = state.tracer.own(x)
        return own if own.requires_grad else own.requires_grad_(True)

    def outer(self, x: Any, given: Sequence[Any]) -> bool:
        tracer = state.tracer
        if any(g.node not in tracer.leaves for g in given):
            return True
        order = tracer.graph.reaching([x.node], stop={g.node for g in given})
        own = {g.node for g in given}
        return any(node in tracer.leaves and node not in own for node in order)


class InGraph(Surroundings):
    def enter(self, x: Any) -> Any:
        return append(x.graph, REGISTRY["identity"], (x,), {})

    def outer(self, x: Any, given: Sequence[Any]) -> bool:
        return True

    def pull(self, out: Any, given: Sequence[Any]) -> list[Any]:
        return list(gradients([out], list(given)))


def surroundings_of(tensors: Sequence[Any]) -> Surroundings | None:
    """The kind that all tensors are of; None where a function has to be run on tensors of its own kind."""
    if state.levels or not tensors:
        return None
    if frontends.tracing and state.tracer is not None:
        return InTrace()
    symbols = [isinstance(x, Symbol) for x in tensors]
    if all(symbols):
        return None if any(isinstance(x, Lifted) for x in tensors) else InGraph()
    return None if any(symbols) or state.graphs else Eager()
