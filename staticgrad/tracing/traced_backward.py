"""Backward passes inside a trace: `backward` and `grad` of traced tensors append their gradients to the graph of the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from sys import getrefcount
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..autodiff import requests
from ..autodiff.requests import adds_in_place, check_returns_nothing, check_used, hooked, request
from ..autodiff.reverse import NO_NODES, gradients
from ..compiler.passes.symbolic_extents import Filler
from ..eager.grad_mode import set_grad_enabled
from ..eager.sparse_gradients import DeferredGradient, SparseGradient, deferred
from ..eager.tape import of_leaf
from ..eager.tensor import Tensor, wrap
from ..errors import Where
from ..ir import Cell, Node, Region
from ..ops.operators import F, Symbol, as_array, flows
from ..ops.shaping import broadcast_like_op
from .traced import Leaf, LostValue, Traced, memory_node

if TYPE_CHECKING:
    from .tracer import Tracer


class TracedMode:
    """See `autodiff.requests.Mode`. Eager tensors enter the trace as variables."""

    scalar_roots = True

    def __init__(self, tracer: Tracer):
        self.tracer = tracer

    def tensor(self, x: Any) -> Traced | None:
        return self.tracer.value(x) if isinstance(x, Tensor) else x if isinstance(x, Traced) else None

    def differentiable(self, x: Any) -> Traced | None:
        tensor = self.tensor(x)
        return tensor if tensor is not None and tensor.requires_grad else None

    def ones(self, root: Traced) -> None:
        return None

    def seed(self, value: Any, root: Traced) -> Any:
        if isinstance(value, (Tensor, Symbol)):
            return self.tracer.operand(value)
        array = as_array(value)
        seed = self.tracer.operand(array)
        return np.asarray(seed, root.dtype) if isinstance(seed, np.ndarray) else self.cast(seed, root.dtype)

    def cast(self, x: Any, dtype: np.dtype) -> Traced:
        return cast("Traced", F.astype(self.tracer.operand(x), dtype))


def backward(tracer: Tracer, tensors: Any, seeds: Any, retain_graph: bool | None, create_graph: bool, inputs: Any) -> None:
    """`backward` of one or several roots. Raises GradientError; no gradient is changed when it does."""
    checked = request(TracedMode(tracer), "backward", tensors, seeds, inputs, retain_graph, create_graph)
    order = tracer.graph.reaching([root.node for root in checked.roots])
    same = _firsts(tracer, order)
    if checked.targets is None:
        wanted = [(tracer.leaves[node], node) for node in order if node in tracer.leaves and same.get(node, node) is node]
        for given, leaf in tracer.arguments:
            if isinstance(given, Tensor) and given._record is not None and any(key is leaf for key, _ in wanted):
                tracer.refuse(
                    f"backward() reaches {leaf.describe()}, an argument with a tape of its own ({given._record.name()}), which "
                    "a trace doesn't have",
                    f"compute it inside the function, pass {leaf.name}.detach(), or name the leaves: backward(inputs=...)",
                )
    else:
        wanted = _versions(tracer, checked.targets, order, same)
    known = _values(wanted, same)
    wanted += [(tracer.retained[n], same.get(n, n)) for n in order if n in tracer.retained and n not in known]
    found = _gradients(tracer, checked.roots, checked.seeds, order, [node for _, node in wanted], create_graph, same)
    if not checked.retain:
        _free(tracer, checked.roots, order, None if checked.targets is None else known)
    for key, g in _sums(wanted, found, create_graph):
        _accumulate(tracer, key, g, create_graph)
        with set_grad_enabled(create_graph):
            for hook in _accumulated(tracer, key):
                check_returns_nothing(hook(key))


def grad(
    tracer: Tracer, outputs: Any, inputs: Any, seeds: Any, retain_graph: bool | None, create_graph: bool, allow_unused: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """`sg.grad` while tracing. Raises GradientError."""
    inputs = [None] if inputs is None else inputs
    checked = request(TracedMode(tracer), "grad", outputs, seeds, inputs, retain_graph, create_graph)
    assert checked.targets is not None
    order = tracer.graph.reaching([root.node for root in checked.roots])
    same = _firsts(tracer, order)
    wanted = _versions(tracer, checked.targets, order, same)
    parts = _gradients(tracer, checked.roots, checked.seeds, order, [node for _, node in wanted], create_graph, same)
    _note_passed_on(tracer, parts, checked.seeds)
    if not checked.retain:
        _free(tracer, checked.roots, order, _values(wanted, same))
    sums = {id(key): g for key, g in _sums(wanted, parts, create_graph)}
    found = [sums.get(id(_key(tracer, target))) for target in checked.targets]
    check_used(checked.targets, found, allow_unused)
    return tuple(found)


def _sums(wanted: Sequence[tuple[Any, Node]], parts: Sequence[Traced | None], create: bool) -> list[tuple[Any, Traced]]:
    """The gradient of each key that has one: beside loops the sum over the values of a leaf, later ones first."""
    sums: dict[int, Any] = {}
    with set_grad_enabled(create):
        for (key, _), g in reversed([*zip(wanted, parts, strict=True)]):
            if g is not None:
                sums[id(key)] = sums[id(key)] + g if id(key) in sums else g
    keys = {id(key): key for key, _ in wanted}
    return [(key, sums[number]) for number, key in keys.items() if number in sums]


def _key(tracer: Tracer, target: Traced) -> Any:
    """The object whose gradient is meant: for all versions of a leaf, the leaf."""
    return tracer.leaves.get(target.node, target)


def _firsts(tracer: Tracer, order: Sequence[Node]) -> dict[Node, Node]:
    """For each value that a leaf has had, and those that share a record on eager mode's tape, the first: as eager mode does, a
    backward pass adds the cotangents of all in one sum. Beside loops there is a sum for each value, for strict numerics, which
    repeat their derivation."""
    if any(isinstance(node.op.emit, Region) for node in order):
        return {}
    taped_as, leaves = tracer.memory.taped_as, tracer.leaves
    firsts, found = dict[int, Node](), dict[Node, Node]()
    for node in order:
        if node in leaves:
            found[node] = firsts.setdefault(id(leaves[node]), node)
        elif node in taped_as:
            record = node
            while record in taped_as:
                record = taped_as[record]
            found[node] = record
    return found


def _values(wanted: Sequence[tuple[Any, Node]], same: Mapping[Node, Node]) -> set[Node]:
    """The nodes of the wanted gradients, with all values of leaves."""
    nodes = {node for _, node in wanted}
    return nodes | {node for node, first in same.items() if first in nodes}


def _versions(
    tracer: Tracer, targets: Sequence[Traced], order: Sequence[Node], same: Mapping[Node, Node]
) -> list[tuple[Any, Node]]:
    """(key, node) of each target, and for a leaf the nodes that it had before in-place changes: operations that read these
    contribute to its gradient, too."""
    inputs = [(_key(tracer, target), target.node) for target in targets]
    leaves = tracer.leaves
    keys = {id(key) for key, node in inputs if node in leaves}
    former = [(leaves[n], n) for n in order if n in leaves and id(leaves[n]) in keys and same.get(n, n) is n]
    summed = {id(key) for key, _ in former} if same else set()
    own = [(key, same.get(node, node)) for key, node in inputs if id(key) not in summed]
    return [*{(id(key), node): (key, node) for key, node in (*own, *former)}.values()]


def _gradients(
    tracer: Tracer, roots: list[Traced], seeds: list[Any], order: list[Node], wanted: list[Node], create: bool,
    same: Mapping[Node, Node],
) -> list[Traced | None]:  # fmt: skip
    """The gradient at each of `wanted`, hooks included; None where there is none."""
    if not roots:
        return [None for _ in wanted]
    hooked: dict[Node, list[Node]] = {}
    for node in order:
        if node in tracer.hooks or (_leaf_hooks(tracer, node) and same.get(node, node) is node):
            hooked.setdefault(same.get(node, node), []).append(node)
    hooks = {node: hook_of_node(tracer, *nodes) for node, nodes in hooked.items()}
    with differentiating(tracer, create):
        found = cotangents(tracer, roots, seeds, order, [*wanted, *hooks], hooks, same)
        return [None if g is None else tracer.own(g) for g in found[: len(wanted)]]


@contextmanager
def differentiating(tracer: Tracer, create: bool) -> Iterator[None]:
    """While rules compute in a trace. create: what they compute is to be differentiated again."""
    before, tracer.differentiating = tracer.differentiating, True
    try:
        with set_grad_enabled(create):
            yield
    finally:
        tracer.differentiating = before


def cotangents(
    tracer: Tracer, roots: Sequence[Symbol], seeds: Sequence[Any], order: Sequence[Node], targets: Sequence[Node],
    hooks: Mapping[Node, Callable[[Symbol], Symbol]], same: Mapping[Node, Node] = NO_NODES,
) -> list[Symbol | None]:  # fmt: skip
    """The cotangents of nodes of the trace, as rules compute them of what eager mode would have saved. order: the nodes that
    the roots depend on; see `autodiff.reverse.gradients`."""
    graph = tracer.graph
    stops = [Symbol(graph, node) for node in untracked(tracer, order)]
    xs = [Symbol(graph, node) for node in targets]
    return gradients(roots, xs, seeds, stops, hooks, lambda node: saved_of_trace(tracer, node), same)


def untracked(tracer: Tracer, order: Sequence[Node]) -> list[Node]:
    """The nodes that no gradient flows past, since they were computed without recording."""
    return [node for node in order if node not in tracer.tracked and node.op.vjp is not None]


def _note_passed_on(tracer: Tracer, found: Sequence[Traced | None], seeds: Sequence[Any]) -> None:
    """Note which gradients eager mode has in the memory of a seed, of each other, or of fewer elements: their rules pass on
    what they get, or repeat it. Each is an `own` value here."""
    memory = {g.node: _passed(g.node.inputs[0]) for g in found if g is not None}
    held = [*memory.values(), *[memory_node(seed.node) for seed in seeds if isinstance(seed, Traced)]]
    for node, source in memory.items():
        if held.count(source) > 1 or source.type.size < node.type.size:
            tracer.memory.passed_on |= {node, source}


def _passed(node: Node) -> Node:
    """The node whose memory a cotangent has in eager mode."""
    while node.op.aliases or node.op is broadcast_like_op:
        node = node.inputs[0]
    return node


def _accumulate(tracer: Tracer, key: Any, g: Traced, create: bool) -> None:
    """Add to `.grad`."""
    known = tracer.get_grad(key)
    if known is None:
        tracer.grads[id(key)] = key, g
    elif adds_in_place(known.requires_grad, create):
        tracer.memory.overwrite(tracer.value(known) if isinstance(known, Tensor) else known, known + g)
    else:
        tracer.grads[id(key)] = key, known + g


# saved values ---------------------------------------------------------------------------------------------------------


def saved_of_trace(tracer: Tracer, node: Node) -> tuple[Symbol, list[Symbol]]:
    """The result and the operands of an operation as its rules see them: without those that eager mode lost."""
    return _saved_value(tracer, node, node), [
        _saved_value(tracer, node, i, node.inputs.index(i) == place) for place, i in enumerate(node.inputs)
    ]


def _saved_value(tracer: Tracer, node: Node, value: Node, first: bool = True) -> Symbol:
    """A value that `node` read or made, unless a backward pass freed it or an in-place change took its memory. first: whether
    it is no earlier operand, too."""
    if node in tracer.freed:
        return LostValue(tracer.graph, value, requests.freed)
    if tracer.memory.lost(value):
        return LostValue(tracer.graph, value, tracer.memory.refuse_picked)
    if first and tracer.memory.writers.get(node) is value:
        return Symbol(tracer.graph, tracer.own(Symbol(tracer.graph, value)).node)  # eager mode has saved a copy
    if tracer.memory.overwritten and not (value is node and node.op.aliases):
        counts = tracer.memory.counts(value)
        if counts in tracer.memory.overwritten:
            return _lost(tracer, node, value, tracer.memory.overwritten[counts])
    if tracer.memory.rebound and value is not node:
        root = value
        while root.op.aliases:
            root = root.inputs[0]
        if root in tracer.memory.rebound:
            return _lost(tracer, node, value, tracer.memory.rebound[root])
    if tracer.memory.followed and memory_node(value) in tracer.memory.followed:
        return _present_value(tracer, node, value)
    return Symbol(tracer.graph, value)


def _lost(tracer: Tracer, node: Node, value: Node, where: Where | None) -> LostValue:
    """A value that `node` read or made, which a change took at the line `where`."""
    return LostValue(tracer.graph, value, lambda: requests.modified(_description(node, value), node.where, where))


def _present_value(tracer: Tracer, node: Node, value: Node) -> Symbol:
    """A value that `node` read or made, as changes of its memory that are not counted for it have left it."""
    memory = memory_node(value)
    now, counted = memory, tracer.memory.counts(value) is memory
    while now in tracer.memory.followed:
        now = tracer.memory.followed[now]
        if now in tracer.memory.rebound and value is memory and value is not node:
            return _lost(tracer, node, value, tracer.memory.rebound[now])
        if counted and now in tracer.memory.overwritten:
            return _lost(tracer, node, value, tracer.memory.overwritten[now])
    views = []
    while value is not memory:
        views.append(value)
        value = value.inputs[0]
    found = Traced(tracer, now)
    for view in reversed(views):
        found = tracer.apply_plainly(view.op, (found, *[Symbol(tracer.graph, i) for i in view.inputs[1:]]), view.attrs)
    return found


def _description(node: Node, value: Node) -> str:
    """A value that `node` read or made, for an error text."""
    name = node.op.grad_name(node)
    return requests.output_text(name) if value is node else requests.operand_text(value, name)


def _free(tracer: Tracer, roots: list[Traced], order: list[Node], wanted: set[Node] | None) -> None:
    """Mark the operations that a backward pass visited as freed. wanted: its targets; None: all leaves."""
    leading = set(order)
    if wanted is not None:
        leading = set()
        for node in order:
            if node in wanted or flows(node, leading.__contains__):
                leading.add(node)
    visited = {root.node for root in roots}
    for node in reversed(order):
        if node in visited and node in leading and node in tracer.tracked and node not in tracer.leaves:
            tracer.freed.add(node)
            visited.update(i for p, i in enumerate(node.inputs) if node.op.vjp_for(p) is not None)


# hooks ----------------------------------------------------------------------------------------------------------------


def _leaf_hooks(tracer: Tracer, node: Node) -> list[Any]:
    """Hooks of the eager tensor that a node stands for."""
    given = _given(tracer, tracer.leaves.get(node))
    return of_leaf(given._hooks) if isinstance(given, Tensor) and given._hooks else []


def _accumulated(tracer: Tracer, key: Any) -> list[Any]:
    """Hooks of a leaf for when its gradient was added to."""
    given = _given(tracer, key)
    own = tracer.accumulated.get(id(key), {})
    return [*(of_leaf(given._accumulated) if isinstance(given, Tensor) and given._accumulated else ()), *own.values()]


def _given(tracer: Tracer, key: Any) -> Any:
    """The eager tensor of a leaf: the leaf itself, or the argument that it stands for."""
    return next((given for given, leaf in tracer.arguments if leaf is key), None) if isinstance(key, Leaf) else key


def hook_of_node(tracer: Tracer, *nodes: Node) -> Callable[[Symbol], Symbol]:
    """All hooks of a node, or of the values of one leaf, as one function."""

    def run(g: Symbol) -> Symbol:
        differentiating, tracer.differentiating = tracer.differentiating, False
        mode = TracedMode(tracer)
        own = [hook for node in nodes for hook in tracer.hooks.get(node, {}).values()]
        for hook in (*own, *_leaf_hooks(tracer, nodes[0])):
            g = hooked(mode, hook, Traced(tracer, g.node))
        tracer.differentiating = differentiating
        return g

    return run


# the gradients that a compiled step leaves in `.grad` -----------------------------------------------------------------


class GradientBinding:
    """The tensor that a step leaves in `holder.grad`; `cell` is where the plan writes it.

    Eager steps make a new tensor each time, so a tensor that the user still holds must not be written again. The only access
    to it is `.grad`, whose reads `Structure.reads` counts: usually no reference count has to be taken.
    """

    __slots__ = ("alone", "cell", "cells", "holder")

    def __init__(self, holder: Tensor, cell: Cell):
        self.holder = holder
        self.cell = cell
        self.cells = [cell]
        self.alone: tuple[int, int] | None = None
        """Reference counts of the tensor and of its array when only this binding holds them."""

    @property
    def tensor(self) -> Tensor:
        """What the step leaves in `.grad`."""
        return self.cell.tensor

    def release(self) -> None:
        """Let go of the tensor, which is now another binding's: that one counts who holds it."""
        self.cell.tensor = None

    def again(self, filler: Filler, cells: Mapping[Cell, Cell]) -> GradientBinding:
        """The same for a plan over other storage."""
        return GradientBinding(self.holder, cells[self.cell])

    def held(self) -> bool:
        """Whether somebody else holds the tensor or its array. The first call, when nobody can, sets the baseline."""
        tensor = self.cell.tensor
        counts = getrefcount(tensor) - (self.holder._gradient is tensor), getrefcount(tensor._data)
        if self.alone is None:
            self.alone = counts
        return counts[0] > self.alone[0] or counts[1] > self.alone[1]

    def renew(self) -> Tensor:
        """Give the step a new tensor; those who hold the old one keep it."""
        old = self.cell.tensor._data
        self.cell.tensor = wrap(np.empty(old.shape, old.dtype))
        return self.cell.tensor


def fits(g: Tensor, cell: Cell) -> bool:
    """Whether a gradient has the type of a cell, and memory that a plan may write."""
    data, kind = g._data, cell.type
    return (
        g._record is None
        and data.shape == kind.shape
        and data.dtype == kind.dtype
        and data.flags.c_contiguous
        and data.flags.writeable
    )


# Gradients of compiled steps that are 0 except for a few rows (`eager/sparse_gradients.py`): a step writes their parts.


class DeferredGradientBinding:
    """As `GradientBinding`: the tensor that a step leaves in `holder.grad`, of which the plan writes only the
    parts."""

    __slots__ = ("cells", "holder", "how", "tensor")

    def __init__(self, holder: Tensor, how: SparseGradient, cells: list[Cell]):
        self.holder, self.how, self.cells = holder, how, cells
        self.tensor = self._deferred()

    def again(self, filler: Filler, cells: Mapping[Cell, Cell]) -> DeferredGradientBinding:
        """The same for a plan over other storage."""
        return DeferredGradientBinding(self.holder, self.how.filled(filler), [cells[cell] for cell in self.cells])

    def release(self) -> None:
        """Let go of the tensors, which are now another binding's."""
        self.tensor = None
        for cell in self.cells:
            cell.tensor = None

    def _deferred(self) -> Any:
        return deferred(self.how, [cell.tensor for cell in self.cells])

    def held(self) -> bool:
        """Whether the array was made, or somebody else has the tensor and may ask for it. Three references are ours: this
        binding, the specialization's list of gradients, and the argument of `getrefcount`."""
        if self.tensor.__class__ is not DeferredGradient:
            return True
        return getrefcount(self.tensor) - (self.holder._gradient is self.tensor) > 3

    def renew(self) -> Tensor:
        """Give the step new parts; the tensor that is held keeps its own."""
        for cell in self.cells:
            old = cell.tensor._data
            cell.tensor = wrap(np.empty(old.shape, old.dtype))
        fresh: Tensor = self._deferred()
        self.tensor = fresh
        return fresh
