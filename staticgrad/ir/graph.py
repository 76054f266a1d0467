"""Graph: a networkx DiGraph of nodes, in topological order."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Where
from ..types import TensorType
from .node import Literal, Node
from .op import OpDef
from .walks import reached

if TYPE_CHECKING:
    import networkx as nx


class Graph:
    """A set of nodes closed under `inputs`, in an order in which operands come before their users.

    `dag` is the graph as networkx sees it. It shares its dictionaries with networkx's DiGraph rather than calling
    `add_edge`: that costs a tenth, and networkx need not be imported to build a graph. An edge carries the operand
    positions (`mul(x, x)` is one edge with positions (0, 1)) and whether it is a control dependency.

    With `intern`, pure nodes are interned (same op, inputs, attributes: same node), so common subexpressions never exist.
    Graphs that a user builds don't intern: two tensors written on two lines can be fed apart. The compiler's copies do.
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
        self._attributes: dict[Node, dict[str, Any]] = {}
        self._successors: dict[Node, dict[Node, dict[str, Any]]] = {}
        self._predecessors: dict[Node, dict[Node, dict[str, Any]]] = {}
        self._names: dict[str, int] = {}
        self._by_name: dict[str, Node] = {}
        self._dag: nx.DiGraph[Node] | None = None

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
            if node in self._attributes:
                return node
            if self.intern and node.op.pure:
                if self._interned is None:
                    self._interned = {known.key: known for known in self.nodes if known.op.pure}
                twin = self._interned.setdefault(node.key, node)
                if twin is not node:
                    return twin
            self.nodes.append(node)
            self._connect(node)
            if node.name:
                self._by_name.setdefault(node.name, node)
        return node

    def _connect(self, node: Node) -> None:
        """Enter a node and its edges into the dictionaries of `dag`."""
        self._attributes[node] = {}
        self._successors[node] = {}
        into: dict[Node, dict[str, Any]] = {}
        self._predecessors[node] = into
        for position, operand in enumerate(node.inputs):
            edge = into.get(operand)
            if edge is not None:
                edge["positions"] += (position,)
            elif operand in self._attributes:
                into[operand] = self._successors[operand][node] = {"positions": (position,), "control": False}
        for before in node.after:
            if before in into:
                into[before]["control"] = True
            elif before in self._attributes:
                into[before] = self._successors[before][node] = {"positions": (), "control": True}

    def finish(self) -> None:
        """Give up the memory that only building takes: the table of twins, which is made again should a node follow."""
        self._interned = None

    def withdraw(self, nodes: Iterable[Node]) -> None:
        """Take out nodes that became part of a subgraph."""
        with self.lock:
            gone = {node for node in nodes if node in self._attributes}
            self.nodes[:] = [node for node in self.nodes if node not in gone]
            for node in gone:
                for operand in self._predecessors.pop(node):
                    if operand not in gone:
                        del self._successors[operand][node]
                for user in self._successors.pop(node):
                    if user not in gone:
                        del self._predecessors[user][node]
                del self._attributes[node]
            self._by_name = {name: node for name, node in self._by_name.items() if node not in gone}
            self.withdrawn |= gone

    def unique_name(self, base: str) -> str:
        """`base`, or `base_1`, `base_2` ... when it is taken, as in TensorFlow 1."""
        with self.lock:
            count = self._names.get(base, 0)
            self._names[base] = count + 1
            return base if count == 0 else self.unique_name(f"{base}_{count}")

    # reading ----------------------------------------------------------------------------------------------------

    def __contains__(self, node: object) -> bool:
        return node in self._attributes

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def by_name(self, name: str) -> Node | None:
        return self._by_name.get(name)

    @property
    def dag(self) -> nx.DiGraph[Node]:
        """This graph for networkx: any of its functions takes it. Edges lead from operands to users and have `positions`
        (a tuple of operand numbers) and `control` (whether the edge is a control dependency, too).

        It is this very graph, not a copy: don't edit it, and copy it where it has to outlast further building.
        """
        if self._dag is None:
            import networkx as nx

            dag: nx.DiGraph[Node] = nx.DiGraph()
            dag._node = self._attributes
            dag._adj, dag._pred = self._successors, self._predecessors  # the first is what networkx calls _succ, too
            self._dag = dag
        return self._dag

    def reaching(self, targets: Iterable[Node], stop: frozenset[Node] | set[Node] = frozenset()) -> list[Node]:
        """The targets and all that they need, in order; not looking beyond the nodes in `stop`."""
        wanted = reached(targets, lambda node: () if node in stop else node.parents)
        return [node for node in self.nodes if node in wanted]

    def users(self) -> dict[Node, list[Node]]:
        """For each node, the nodes that read it (once per operand position)."""
        return {
            node: [user for user, edge in after.items() for _ in edge["positions"]]
            for node, after in self._successors.items()
        }

    def __str__(self) -> str:
        from ..printing import to_text

        return to_text(self)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"


def literal(array: np.ndarray) -> dict[str, Literal]:
    """The attributes of a constant."""
    return {"value": Literal(np.asarray(array))}
