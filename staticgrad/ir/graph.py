"""Graph: nodes in topological order over a networkx DiGraph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Where
from ..signals import module
from ..types import TensorType
from .node import Literal, Node
from .op import OpDef

if TYPE_CHECKING:
    import networkx as nx


class Graph:
    """A set of nodes closed under `inputs`, in an order in which operands come before their users.

    `dag` is the networkx view. Edges follow from `Node.inputs`: a DiGraph keeps one edge for `mul(x, x)`, so operand
    order and repetition live in the node. With `intern`, pure nodes are interned (same op, inputs, attributes: same
    node), so common subexpressions never exist. Graphs that a user builds don't intern: two tensors written on two
    lines can be fed apart. The compiler's copies do.
    """

    def __init__(self, *, intern: bool = False):
        self.nodes: list[Node] = []
        self.intern = intern
        self.lock = threading.RLock()
        self.outputs: dict[str, Node] = {}
        """Named results, for listings and drawings."""
        self.generator: Any = None
        """The leaf of the random generator, once something draws, and how many draws there are."""
        self.draws = 0
        self.step: Any = None
        """While the body of a loop is being built: how many draws of its generator earlier iterations have taken."""
        self.withdrawn: weakref.WeakSet[Node] = weakref.WeakSet()
        """Nodes that moved into a subgraph: nothing out here may read them."""
        self._interned: dict[Any, Node] | None = {}
        self._members: set[Node] = set()
        self._names: dict[str, int] = {}
        self._by_name: dict[str, Node] = {}
        self._dag: nx.DiGraph | None = None
        self._synced = 0

    # building ---------------------------------------------------------------------------------------------------

    def add(
        self,
        op: OpDef,
        inputs: tuple[Node, ...],
        attrs: Mapping[str, Any],
        type: TensorType,
        name: str = "",
        where: Where | None = None,
        after: tuple[Node, ...] = (),
    ) -> Node:
        """Append a node, or return its twin when this graph interns."""
        return self.append(Node(op, inputs, attrs, type, name, where, after))

    def append(self, node: Node) -> Node:
        """Append an existing node, or return its twin when this graph interns."""
        with self.lock:
            if node in self._members:
                return node
            if self.intern and node.op.pure:
                if self._interned is None:
                    self._interned = {known.key: known for known in self.nodes if known.op.pure}
                twin = self._interned.setdefault(node.key, node)
                if twin is not node:
                    return twin
            self.nodes.append(node)
            self._members.add(node)
            if node.name:
                self._by_name.setdefault(node.name, node)
        return node

    def finish(self) -> None:
        """Give up the memory that only building takes: the table of twins, which is made again should a node follow."""
        self._interned = None

    def withdraw(self, nodes: Iterable[Node]) -> None:
        """Take out nodes that became part of a subgraph."""
        with self.lock:
            gone = set(nodes)
            self.nodes[:] = [node for node in self.nodes if node not in gone]
            self._members -= gone
            self._by_name = {name: node for name, node in self._by_name.items() if node not in gone}
            self.withdrawn |= gone
            self._dag, self._synced = None, 0

    def unique_name(self, base: str) -> str:
        """`base`, or `base_1`, `base_2` ... when it is taken, as in TensorFlow 1."""
        with self.lock:
            count = self._names.get(base, 0)
            self._names[base] = count + 1
            return base if count == 0 else self.unique_name(f"{base}_{count}")

    # reading ----------------------------------------------------------------------------------------------------

    def __contains__(self, node: object) -> bool:
        return node in self._members

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def by_name(self, name: str) -> Node | None:
        return self._by_name.get(name)

    @property
    def dag(self) -> nx.DiGraph:
        """The networkx DiGraph of this graph; kept in step with `nodes`. Don't edit it."""
        nx = module("networkx")
        with self.lock:
            if self._dag is None:
                self._dag = nx.DiGraph()
            for node in self.nodes[self._synced :]:
                self._dag.add_node(node)
                self._dag.add_edges_from((parent, node) for parent in node.parents)
            self._synced = len(self.nodes)
        return self._dag

    def reaching(self, targets: Iterable[Node], stop: frozenset[Node] | set[Node] = frozenset()) -> list[Node]:
        """The targets and all that they need, in order; not looking behind the nodes in `stop`."""
        wanted: set[Node] = set()
        stack = list(targets)
        while stack:
            node = stack.pop()
            if node not in wanted:
                wanted.add(node)
                if node not in stop:
                    stack.extend(node.parents)
        return [node for node in self.nodes if node in wanted]

    def users(self) -> dict[Node, list[Node]]:
        """For each node, the nodes that read it (once per operand position)."""
        result: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for operand in node.inputs:
                result[operand].append(node)
        return result

    def __str__(self) -> str:
        from ..printing import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"


def literal(array: np.ndarray) -> dict[str, Literal]:
    """The attributes of a constant."""
    return {"value": Literal(np.asarray(array))}
