"""`Session(shard=)`: the state of a graph's optimizers is divided among the processes, as `ops/communication.py` says.

A run is rewritten once it is pure: gradients are averaged before an update reads them, what belongs to another process alone
drops out, and the new value of a trained variable comes from its owner. All decisions follow from the graph, which all
processes have, so each of them makes the same exchanges in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from ..base.communicators import Communicator, group, owners
from ..base.types import Shape
from ..compiler.passes.functionalize import FunctionalGraph
from ..compiler.passes.specialize import shape_leaf
from ..ir import Cell, Node
from ..ir import Graph as PureGraph
from ..operators import Symbol
from ..ops.communication import added, all_reduce_op, buckets, check_shard, communicate, from_owners, joined, parted, reduce_op

if TYPE_CHECKING:
    from .graphs import Graph


class Update(NamedTuple):
    """A gradient in a pure graph, its shape, and the process that owns what it updates; None for several."""

    gradient: Node
    shape: Shape
    owner: int | None


class Sharding:
    """Of a session: which process owns a variable. Raises DistError before `init_process_group`, ArgumentError for another
    `shard`."""

    def __init__(self, graph: Graph, shard: str):
        self.graph, self.shard = graph, check_shard("Session", shard)
        self.members: Communicator = group(0)
        self.variables: dict[Cell, int] = {}
        """The owner of each variable that is trained. It stays when the graph gets more of them."""

    def owner(self) -> dict[Cell, int]:
        """The owner of each variable that is trained, and of each slot: the process that keeps it."""
        trained = self.graph.trained
        fresh = [v.cell for v in self.graph.variables if (v.trainable or v.node in trained) and v.cell not in self.variables]
        sizes = [cell.type.size for cell in fresh]
        self.variables.update(zip(fresh, owners(sizes, self.members.size), strict=True))
        slots = {cell: self.variables[node.attrs["cell"]] for node, each in trained.items() for cell in each.slots}
        return {**slots, **self.variables}

    def gradients(self, nodes: Sequence[Node]) -> list[Update]:
        """The gradients that these nodes need."""
        needed, owner = set(self.graph.reaching(nodes)), self.owner()
        return [
            Update(gradient, variable.type.shape, owner[variable.attrs["cell"]])
            for variable, each in self.graph.trained.items()
            for gradient in each.gradients
            if gradient in needed
        ]

    def divided(self, prepared: FunctionalGraph, updates: Sequence[Update]) -> FunctionalGraph:
        """The run of this process. Its last fetches are these gradients."""
        count = len(prepared.fetches) - len(updates)
        found: dict[Node, Update] = {}
        for node, update in zip(prepared.fetches[count:], updates, strict=True):
            same = node not in found or found[node].owner == update.owner
            found[node] = Update(node, update.shape, update.owner if same else None)
        waiting = [found[node] for node in prepared.graph.nodes if node in found and not _averaged(node)]
        pure = replace(prepared, fetches=prepared.fetches[:count])
        return _Rewrite(pure, waiting, self).result()


def _averaged(node: Node) -> bool:
    """Whether a gradient is a sum over the processes that at most constants have changed since."""
    while node.op is not all_reduce_op:
        operands = [each for each in node.inputs if each.op.leaf != "constant"]
        if len(operands) != 1:
            return False
        (node,) = operands
    return True


class _Rewrite:
    """One run of one process."""

    def __init__(self, pure: FunctionalGraph, updates: Sequence[Update], of: Sharding):
        self.pure, self.members, self.reduce = pure, of.members, of.shard == "gradients"
        self.owner = owner = of.owner()
        self.trained = {cell: value for cell, value in pure.assigns if cell in of.variables}
        """The trained variables that the run assigns, with their new values."""
        graph = pure.graph
        updated = [value for cell, value in pure.assigns if cell in owner]
        self.inside = set(graph.reaching(updated))
        """What updates are computed from: it reads the averages of gradients, all else those of this process."""
        self.new = PureGraph(intern=graph.intern)
        self.copies: dict[Node, Node] = {}
        self.averages: dict[Node, Node] = {}
        self.bucket_of: dict[Node, list[Update]] = {}
        each = [*reversed(updates)]  # buckets begin with the last one
        kinds = [(u.gradient.type.dtype, u.owner if self.reduce else None) for u in each]
        for bucket in buckets([prod(u.shape) * kind.itemsize for u, (kind, _) in zip(each, kinds, strict=True)], kinds):
            chosen = [each[i] for i in bucket]
            self.bucket_of.update((u.gradient, chosen) for u in chosen)
        self.roots = self._roots() if self.reduce else {}

    def _roots(self) -> dict[Node, int]:
        """The sums over processes that are read for what one process owns alone, with its rank."""
        graph, found = self.pure.graph, dict[Node, set[int | None]]()
        ends: dict[Node, set[int | None]] = {node: {None} for node in self.pure.fetches}
        for cell, value in self.pure.assigns:
            ends.setdefault(value, set()).add(self.owner.get(cell))
        for node in reversed(graph.nodes):
            found[node] = set(ends.get(node, ()))
            for user in graph.succ[node]:
                if user.op.exchanges:
                    found[node] |= {None} if user.inputs[0] is node else set()
                else:
                    found[node] |= found[user]
        return {
            node: next(iter(owner))  # type: ignore[misc]
            for node, owner in found.items()
            if node.op is all_reduce_op and node.attrs["reduction"] in ("sum", "avg") and len(owner) == 1 and owner != {None}
        }

    def result(self) -> FunctionalGraph:
        """The rewritten run."""
        pure, new = self.pure, self.new
        read_inside = {value for value in self.trained.values() if value.inputs and pure.graph.succ[value]}
        for node in pure.graph.nodes:
            self._place(node)
            if node in self.bucket_of and all(u.gradient in self.copies for u in self.bucket_of[node]):
                self._exchange(self.bucket_of[node])
            if node in read_inside:  # as the variable's new value, in this run
                cell = next(cell for cell, value in self.trained.items() if value is node)
                self.copies[node] = self._from_owners([cell])[cell]
        for bucket in list(self.bucket_of.values()):
            self._exchange(bucket)
        later = {cell: value for cell, value in self.trained.items() if value not in read_inside}
        values_of = self._from_owners(list(later))
        fetched = {value: values_of[cell] for cell, value in later.items() if value.inputs}
        mine = [(cell, value) for cell, value in pure.assigns if self._keeps(cell)]
        assigns = [(cell, values_of.get(cell) or self._inside(value)) for cell, value in mine]
        fetches = [fetched.get(node) or self.copies[node] for node in pure.fetches]
        feeds = [self.copies[node] for node in pure.feeds]
        exchanges = [node for node in new.nodes if node.op.exchanges]
        new.prune([*feeds, *fetches, *(value for _, value in assigns), *exchanges])
        needs = [node for node in pure.needs if node in new]
        return FunctionalGraph(new, feeds, fetches, assigns, pure.draws, needs)

    def _keeps(self, cell: Cell) -> bool:
        """Whether this process has the variable: all have those that are trained."""
        return cell in self.trained or self.owner.get(cell, self.members.rank) == self.members.rank

    def _from_owners(self, cells: Sequence[Cell]) -> dict[Cell, Node]:
        """The new values of variables, in all processes."""
        mine = [self.owner[cell] == self.members.rank for cell in cells]
        nodes = [
            self._inside(self.trained[cell]) if own else shape_leaf(self.new, cell.type)
            for cell, own in zip(cells, mine, strict=True)
        ]
        found = from_owners([self._symbol(node) for node in nodes], [self.owner[cell] for cell in cells], self.members)
        return {cell: each.node for cell, each in zip(cells, found, strict=True)}

    def _symbol(self, node: Node) -> Symbol:
        return Symbol(self.new, node)

    def _inside(self, node: Node) -> Node:
        """The value that an update reads."""
        if node in self.bucket_of:
            self._exchange(self.bucket_of[node])
        return self.averages.get(node) or self.copies[node]

    def _place(self, node: Node) -> None:
        """Append a node to the new graph."""
        inputs = tuple([self._inside(i) if node in self.inside else self.copies[i] for i in node.inputs])
        if not node.op.exchanges:
            placed = self.new.add(node.op, inputs, node.attrs, node.type, node.name, node.where) if inputs else node
            self.copies[node] = self.new.append(placed)
            return
        attrs, op = dict(node.attrs), node.op
        if node in self.roots:
            attrs, op = {**attrs, "root": self.roots[node]}, reduce_op
        self.copies[node] = communicate(op, self._symbol(inputs[0]), **attrs).node

    def _exchange(self, bucket: Iterable[Update]) -> None:
        """Average the gradients of a bucket that are there and have not been exchanged. They are divided before: products of
        matrices do it as they write them."""
        ready = [u for u in bucket if u.gradient in self.copies and u.gradient in self.bucket_of]
        for u in ready:
            del self.bucket_of[u.gradient]
        if ready:
            owner, shapes = ready[0].owner if self.reduce else None, [u.shape for u in ready]
            values = [self._symbol(self.copies[u.gradient]) / self.members.size for u in ready]
            for u, part in zip(ready, parted(added(joined(values), owner, self.members), shapes), strict=True):
                self.averages[u.gradient] = part.node
