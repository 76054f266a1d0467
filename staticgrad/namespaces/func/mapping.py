"""`vmap`: a function of one sample, on many samples at once; and trees of tensors, which all transforms take and give."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autodiff.batching import RANDOMNESS, Batched, Vmap
from ...autodiff.reverse import gradients
from ...base.types import shape_text
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


# vmap -----------------------------------------------------------------------------------------------------------------

Dims = Any
"""An axis, None, or a nest of them like the arguments or results."""


def vmap(
    func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *, chunk_size: int | None = None
) -> Callable[..., Any]:
    """A function that maps `func` over an axis of its arguments, by one operation for all samples where `func` has one.

    in_dims: the axis of each argument that is mapped, None for an argument that every call gets whole; an integer for all,
    or a tuple like the arguments, nested as they are. out_dims: where the axis stands in each result, in the same way; None
    for a result that is the same for all. randomness: "error" refuses random numbers, "different" draws them for each sample,
    "same" once for all. chunk_size: how many samples are computed at a time; None: all. Keyword arguments are not mapped.

    Calls nest, with `grad` and the other functions of this module too, and work in eager mode, under `sg.compile` and in a
    graph. Raises ArgumentError for axes that don't fit the arguments; inside, TransformError for a Python decision on a mapped
    value, for a random number in "error" mode, and for an in-place change of a tensor that is not mapped by one that is.

    Examples:
        >>> x, y = sg.tensor([[1.0, 2.0], [3.0, 4.0]]), sg.tensor([1.0, 10.0])
        >>> sg.vmap(sg.dot, in_dims=(0, None))(x, y)
        tensor([21., 43.])
    """
    if randomness not in RANDOMNESS:
        raise ArgumentError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and (isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size <= 0):
        raise ArgumentError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    if not callable(func):
        raise ArgumentError(f"vmap: expected a function, got {type(func).__name__}")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure, axes, size = _inputs(in_dims, args, func)
        if chunk_size is None or size is None or size <= chunk_size:
            return _run(func, leaves, structure, axes, size, out_dims, randomness, kwargs)
        return _chunked(func, leaves, structure, axes, size, out_dims, randomness, kwargs, chunk_size)

    return mapped


def _inputs(in_dims: Dims, args: tuple[Any, ...], func: Any) -> tuple[list[Any], Structure, list[Any], int | None]:
    """The leaves of the arguments, their structure, the axis of each, and the number of samples (None: unknown)."""
    name = name_of(func)
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if isinstance(in_dims, bool) or not isinstance(in_dims, (int, tuple)):
        raise ArgumentError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ArgumentError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    leaves, structure = leaves_of(args)
    axes = prefix(in_dims, structure)
    if axes is None:
        raise ArgumentError(
            f"{call}: in_dims is not compatible with the structure of inputs. in_dims has structure "
            f"{text(leaves_of(in_dims)[1])} but inputs has structure {text(structure)}."
        )
    found: list[Any] = []
    sizes: list[Any] = []
    for x, axis in zip(leaves, axes, strict=True):
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, int)):
            raise ArgumentError(
                f"{call}: Got in_dim={axis} for an input but in_dim must be either an integer dimension or None."
            )
        if axis is None:
            found.append(None)
            continue
        if not is_tensor(x) and not isinstance(x, np.ndarray):
            raise ArgumentError(
                f"{call}: Got in_dim={axis} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        rank = len(x.shape)
        if not -rank <= axis < rank:
            raise ArgumentError(
                f"{call}: Got in_dim={axis} for some input, but that input is a Tensor of dimensionality {rank} so expected "
                f"in_dim to satisfy -{rank} <= in_dim < {rank}."
            )
        found.append(axis % rank)
        sizes.append(x.shape[axis])
    known = list(dict.fromkeys(s for s in sizes if s is not None))
    if len(known) > 1:
        raise ArgumentError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    if not sizes:
        raise ArgumentError("vmap: Expected at least one Tensor to vmap over", f"{call}: no argument has an axis in in_dims")
    return leaves, structure, found, known[0] if known else None


def _run(
    func: Callable[..., Any], leaves: Sequence[Any], structure: Structure, axes: Sequence[int | None], size: int | None,
    out_dims: Dims, randomness: str, kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    first = [x if axis is None else front(x, axis) for x, axis in zip(leaves, axes, strict=True)]
    sample = next(x for x, axis in zip(first, axes, strict=True) if axis is not None)
    with Vmap(size, sample, randomness) as level:
        lifted = [x if axis is None else level.lift(x) for x, axis in zip(first, axes, strict=True)]
        results, made = leaves_of(func(*unflatten(structure, lifted), **kwargs))
        places = _out_axes(out_dims, made, func)
        found = [_result(level, x, axis, func) for x, axis in zip(results, places, strict=True)]
    return unflatten(made, found)


def _out_axes(out_dims: Dims, structure: Structure, func: Any) -> list[Any]:
    places = prefix(out_dims, structure)
    if places is None or any(p is not None and (isinstance(p, bool) or not isinstance(p, int)) for p in places):
        raise ArgumentError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"outputs. out_dims has structure {text(leaves_of(out_dims)[1])} but outputs has structure {text(structure)}."
        )
    return places


def _result(level: Vmap, x: Any, axis: int | None, func: Any) -> Any:
    name = name_of(func)
    if axis is None:
        if isinstance(x, Batched) and x.level is level:
            raise ArgumentError(
                f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None",
                "its value differs between the samples: give out_dims an axis for it",
            )
        return x
    if not is_tensor(x):
        raise ArgumentError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(x)}. Did you mean to set the `out_dims=` to "
            "None for this output?"
        )
    rank = len(x.shape) + 1
    if not -rank <= axis < rank:
        raise ArgumentError(
            f"vmap({name}, ...): out_dim={axis} is not an axis of a result of shape {shape_text(x.shape)} with the mapped axis"
        )
    return back(level.of(x), axis % rank)


def front(x: Any, axis: int) -> Any:
    """x with one axis moved to the front."""
    return x if axis == 0 else F.permute(x, (axis, *[a for a in range(len(x.shape)) if a != axis]))


def back(x: Any, axis: int) -> Any:
    """x with the first axis moved to `axis`."""
    order = list(range(1, len(x.shape)))
    order.insert(axis, 0)
    return x if axis == 0 else F.permute(x, tuple(order))


def _chunked(
    func: Callable[..., Any], leaves: Sequence[Any], structure: Structure, axes: Sequence[int | None], size: int,
    out_dims: Dims, randomness: str, kwargs: dict[str, Any], chunk: int,
) -> Any:  # fmt: skip
    whole = [x if axis is None else front(x, axis) for x, axis in zip(leaves, axes, strict=True)]
    at = [None if axis is None else 0 for axis in axes]
    parts: list[list[Any]] = []
    made: Structure = None
    for begin in range(0, size, chunk):
        end = min(begin + chunk, size)
        given = [x if axis is None else x[begin:end] for x, axis in zip(whole, axes, strict=True)]
        found, made = leaves_of(_run(func, given, structure, at, end - begin, out_dims, randomness, kwargs))
        parts.append(found)
    places = _out_axes(out_dims, made, func)
    joined = [
        run[0] if axis is None else F.concatenate(list(run), axis % len(run[0].shape))
        for axis, run in zip(places, zip(*parts, strict=True), strict=True)
    ]
    return unflatten(made, joined)
