"""Symbolic reverse mode: it appends the backward graph of `ys` with respect to `xs` to their graph. It names no op."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base.types import INEXACT
from ..ir import Node, Region
from ..ops.control.vjp import joined
from ..ops.leaves import constant, constant_of
from ..ops.operators import F, Symbol, append, apply, frontends, has_rank, lines_of, state
from ..ops.shaping import adjoint_op
from . import requests
from .pull import Edge, Pull, between, by_rules
from .requests import check_seed

NO_HOOKS: Mapping[Node, Callable[[Symbol], Symbol]] = MappingProxyType({})
NO_NODES: Mapping[Node, Node] = MappingProxyType({})


def gradients(
    ys: Sequence[Symbol], xs: Sequence[Symbol], grad_ys: Sequence[Any] | None = None, stop_gradients: Sequence[Symbol] = (),
    hooks: Mapping[Node, Callable[[Symbol], Symbol]] = NO_HOOKS,
    saved: Callable[[Node], tuple[Symbol, list[Symbol]]] | None = None, same: Mapping[Node, Node] = NO_NODES,
) -> list[Symbol | None]:  # fmt: skip
    """d(sum of grad_ys * ys) / dx for each x; None where no y depends on x.

    Nothing flows past `stop_gradients`. hooks: by node, called with the complete cotangent of its value; the result takes its
    place. saved: (result, operands) of a node as its rules see them. same: for values of one leaf or record, the first of them,
    whose cotangent is that of all. Raises GradientError for a y or x that is not floating.
    """
    graph = ys[0].graph

    def values(node: Node) -> tuple[Symbol, list[Symbol]]:
        return Symbol(graph, node), [Symbol(graph, i) for i in node.inputs]

    saved = values if saved is None else saved
    for i, y in enumerate(ys):
        if y.dtype.kind not in INEXACT:
            raise requests.no_history(i, y.dtype)
    for i, x in enumerate(xs):
        if x.dtype.kind not in INEXACT:
            raise requests.not_differentiable(i, x)
    wanted = {x.node for x in xs}
    wanted |= {node for node, first in same.items() if first in wanted}
    stops = {s.node for s in stop_gradients}
    seeds = _seeds(ys, grad_ys)
    ends = [y.node for y in ys]
    order = graph.reaching(ends, stop=stops)
    if same:  # a first one has its place in the order though no y depends on it
        order = graph.reaching([*ends, *{same[node] for node in order if node in same}], stop=stops)
    needed = between(order, partial(_flows, stops), wanted)
    pull = _Gradients(order, wanted, needed, hooks, saved, same)
    for node, seed in seeds.items():
        pull.add(node, seed)
    pull.walk()
    found = [pull.found.get(x.node) for x in xs]
    if hooks or state.inside or not any(isinstance(node.op.emit, Region) for node in needed):
        return found
    visited = set(order)
    crossed = [s for s in stop_gradients if s.node in visited and any(i in needed or i in wanted for i in s.node.inputs)]
    return _marked(found, list(map(Symbol, [graph] * len(seeds), seeds)), list(seeds.values()), xs, crossed)


def _marked(
    found: Sequence[Any], ys: Sequence[Symbol], seeds: Sequence[Any], xs: Sequence[Symbol], stops: Sequence[Symbol]
) -> list[Any]:
    """The cotangents, each with a record of its derivation; see `ops/shaping.py`."""
    reached = [x for x, g in zip(xs, found, strict=True) if g is not None]
    index = iter(range(len(reached)))
    return [
        None if g is None else apply(
            adjoint_op, g, *ys, *seeds, *reached, *stops, ys=len(ys), xs=len(reached), index=next(index)
        )
        for g in found
    ]  # fmt: skip


def _seeds(ys: Sequence[Symbol], grad_ys: Sequence[Any] | None) -> dict[Node, Any]:
    cotangents: dict[Node, Any] = {}
    for i, y in enumerate(ys):
        seed = None if grad_ys is None else grad_ys[i]
        with lines_of(y.node.where):
            if seed is None:
                seed = F.broadcast_like(np.ones((), y.dtype), y) if not has_rank(y) or y.shape else _constant(y, 1)
            else:
                if isinstance(seed, (np.ndarray, np.generic)) or not hasattr(seed, "dtype"):
                    seed = np.asarray(seed, y.dtype)
                    check_seed(i, y, seed)
                    seed = _constant(y, seed)
                else:
                    check_seed(i, y, seed)
                    seed = F.astype(seed, y.dtype)
                if not isinstance(seed, Symbol):
                    seed = F.broadcast_like(seed, y) if not has_rank(y) or y.shape else _constant(y, 1) * seed
            cotangents[y.node] = joined(cotangents.get(y.node), seed)
    return cotangents


def _constant(y: Symbol, value: Any) -> Symbol:
    return append(y.graph, constant, (), constant_of(np.asarray(value, y.dtype)))


def _flows(stops: Collection[Node], node: Node) -> Sequence[Edge]:
    """The operands on which a node depends differentiably."""
    if node in stops or node.op.vjp is None or node.type.dtype.kind not in INEXACT:
        return ()
    return [(position, operand) for position, operand in enumerate(node.inputs) if node.op.vjp_for(position) is not None]


class _Gradients(Pull[Node]):
    """The walk over the nodes of a graph, to which it appends the cotangents. See `gradients`."""

    def __init__(
        self, order: Sequence[Node], targets: Collection[Node], needed: Mapping[Node, Sequence[Edge]],
        hooks: Mapping[Node, Callable[[Symbol], Symbol]], saved: Callable[[Node], tuple[Symbol, list[Symbol]]],
        same: Mapping[Node, Node],
    ):  # fmt: skip
        super().__init__(targets)
        self.ages = {node: i for i, node in enumerate(order)}
        self.needed, self.hooks, self.saved, self.same = needed, hooks, saved, same

    def age(self, node: Node) -> int:
        return self.ages.setdefault(node, -len(self.ages))

    def edges(self, node: Node) -> Sequence[Edge]:
        return self.needed.get(node, ())

    def hooked(self, node: Node, g: Symbol) -> Symbol:
        return self.hooks[node](g) if node in self.hooks else g

    def rules(self, node: Node, g: Symbol, edges: Sequence[Edge]) -> Iterator[Symbol | None]:
        return by_rules(node.op, [edge[0] for edge in edges], g, node, *self.saved(node), frontends.defer_rule)

    def total(self, value: Any, known: Any, g: Any) -> Any:
        return joined(known, g)

    def pass_on(self, edge: Edge, g: Symbol) -> None:
        self.add(self.same.get(edge[1], edge[1]), g)

    def back(self, node: Node, g: Symbol, edges: Sequence[Edge]) -> None:
        with lines_of(node.where):
            super().back(node, g, edges)


frontends.gradients = gradients
