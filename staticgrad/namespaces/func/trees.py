"""Arguments and results of transformed functions, nested tuples, lists and dicts of tensors; gradients by the surroundings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...autodiff.reverse import gradients
from ...eager import Tensor, enable_grad
from ...eager import grad as tape_gradients
from ...eager.tape import edge
from ...errors import ArgumentError, TransformError
from ...ir import REGISTRY
from ...ops.operators import F, Lifted, Operators, Symbol, append, frontends, state
from ...ops.pytree import LEAF, Structure, flatten, ordered, text, unflatten
from ...tracing.traced import Traced


def leaves_of(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves in order, and the structure. None is a leaf."""
    return flatten(tree, ordered)


def kinds(structure: Structure) -> Any:
    """A structure in a form that is equal for containers of the same class and keys, copies of subclasses of dict included."""
    if structure is LEAF:
        return LEAF
    like = structure.like if isinstance(structure.like, type) else type(structure.like)
    return like, structure.keys, tuple([kinds(item) for item in structure.items])


def prefix(tree: Any, structure: Structure) -> list[Any] | None:
    """A leaf of `tree` for each leaf of the structure: `tree` is like it, but a leaf may stand for a whole part. None where
    it isn't."""
    container = ordered(tree)
    if container is None:
        return [tree] * _count(structure)
    if structure is LEAF:
        return None
    like = container.like if isinstance(container.like, type) else type(container.like)
    own = structure.like if isinstance(structure.like, type) else type(structure.like)
    if like is not own or container.keys != structure.keys or len(container.items) != len(structure.items):
        return None
    found: list[Any] = []
    for part, inner in zip(container.items, structure.items, strict=True):
        leaves = prefix(part, inner)
        if leaves is None:
            return None
        found += leaves
    return found


def _count(structure: Structure) -> int:
    return 1 if structure is LEAF else sum(map(_count, structure.items))


def is_tensor(x: Any) -> bool:
    return isinstance(x, Operators)


def name_of(fn: Any) -> str:
    """A function's name for error messages."""
    return str(getattr(fn, "__name__", repr(fn)))


def selected(args: Sequence[Any], argnums: int | Sequence[int], what: str) -> list[int]:
    """The positions of the arguments to differentiate, counted from 0. Raises ArgumentError and GradientError."""
    several = isinstance(argnums, (tuple, list))
    if several and not argnums:
        raise TransformError("argnums must be non-empty", f"{what} needs an argument to differentiate")
    found = []
    for n in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
        if isinstance(n, bool) or not isinstance(n, int):
            raise ArgumentError(f"argnum must be int or Tuple[int], got: {type(n).__name__}", f"{what}: argnums={argnums!r}")
        if not -len(args) <= n < len(args):
            raise TransformError(f"Got argnum={n}, but only {len(args)} positional inputs")
        found.append(n % len(args))
    if len(set(found)) != len(found):
        raise TransformError(f"argnums elements must be unique, got {argnums!r}")
    return found


__all__ = ["LEAF", "Structure", "is_tensor", "kinds", "leaves_of", "name_of", "prefix", "selected", "text", "unflatten"]


# gradients by the backward pass of the surroundings, where their tensors are under no transform ----------------------

# The tapes of eager mode and of a trace are faster than `autodiff/forward.py`, and a graph's reverse mode differentiates loops
# as loops. They serve `grad`, which needs the cotangents at once; `vjp` gives them out, to be called under `vmap` too.

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
