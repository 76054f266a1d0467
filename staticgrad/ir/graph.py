"""Graph: a networkx DiGraph of nodes, in topological order."""

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
from .op import OpDef, over_complex

if TYPE_CHECKING:
    import networkx as nx


class Graph:
    """A set of nodes closed under `inputs`, in an order in which operands come before their users.

    `dag` is this graph as a networkx DiGraph. It is built at the first access and grows with the graph: entering each edge
    at once would triple the time that building takes, and most intermediate graphs of the compiler never need it. An
    edge carries the operand positions (`mul(x, x)` is one edge with positions (0, 1)) and whether it is a control dependency.

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
        """The leaf of the random generator, once an op draws random numbers, and the number of draws."""
        self.draws = 0
        self.step: Any = None
        """While the body of a loop is being built: the number of draws by earlier iterations."""
        self.around: tuple[Any, ...] = ()
        """The `step` of each body that is being built, the outermost first."""
        self.withdrawn: weakref.WeakSet[Node] = weakref.WeakSet()
        """Nodes that moved into a subgraph: nodes of this graph may not read them."""
        self._interned: dict[Any, Node] | None = {}
        self._members: set[Node] = set()
        self._names: dict[str, int] = {}
        self._by_name: dict[str, Node] = {}
        self._dag: nx.DiGraph[Node] | None = None
        self._entered = 0
        """The number of `nodes` that are in `_dag`."""
        self._given_names: dict[Node, str] = {}
        """Generated names of unnamed nodes, assigned on demand; all nodes before `_unnamed` have one."""
        self._unnamed = 0

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
        """Append a node, or return its twin when this graph interns. Complex numbers take the op's record over them."""
        if type.dtype.kind == "c":
            op = over_complex(op)
        for node in inputs:
            if node.type.dtype.kind == "c":
                op = over_complex(op)
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
        """Release memory that only building needs: the table of twins, which is rebuilt if a node follows."""
        self._interned = None

    def withdraw(self, nodes: Iterable[Node]) -> None:
        """Remove nodes that became part of a subgraph."""
        with self.lock:
            gone = set(nodes)
            self.nodes[:] = [node for node in self.nodes if node not in gone]
            self._members -= gone
            self._by_name = {name: node for name, node in self._by_name.items() if node not in gone}
            self.withdrawn |= gone
            self._dag, self._entered, self._unnamed = None, 0, 0

    def unique_name(self, base: str) -> str:
        """`base`, or `base_1`, `base_2` ... when it is taken, as in TensorFlow 1."""
        return self.claim_name(base)

    def claim_name(self, base: str) -> str:
        """`unique_name` for this package: a dialect's may add to the name."""
        with self.lock:
            key = self.name_key(base)
            count = self._names.get(key, 0)
            self._names[key] = count + 1
            if count == 0:
                return base
            while (taken := f"{key}_{count}") in self._names:
                count += 1
            self._names[key], self._names[taken] = count + 1, 1
            return f"{base}_{count}"

    def name_key(self, name: str) -> str:
        """Names with the same key are the same name."""
        return name

    def generated_base(self, node: Node) -> str:
        """The name, not yet unique, of a node that nobody named."""
        return node.op.name

    def name_of(self, node: Node) -> str:
        """The name of a node, by which `by_name` finds it: its own, or that of its op made unique, in the order of the nodes.
        It never changes once it, or the name of a later node, was requested."""
        if node.name:
            return node.name
        with self.lock:
            if node not in self._given_names:
                if node not in self._members:
                    return node.op.name
                self._name_all()
            return self._given_names[node]

    def _name_all(self) -> None:
        for node in self.nodes[self._unnamed :]:
            if not node.name and node not in self._given_names:
                self.give_name(node, self.claim_name(self.generated_base(node)))
        self._unnamed = len(self.nodes)

    def give_name(self, node: Node, name: str) -> None:
        """Let a node without a name of its own be found by one that is unique."""
        self._given_names[node] = name
        self._by_name.setdefault(name, node)

    def given_name(self, node: Node) -> str:
        """The name that `name_of` generated for an unnamed node; "" if none was requested."""
        return self._given_names.get(node, "")

    # reading ----------------------------------------------------------------------------------------------------

    def __contains__(self, node: object) -> bool:
        return node in self._members

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def by_name(self, name: str) -> Node | None:
        """The node of this name, see `name_of`; None where there is none."""
        with self.lock:
            if name not in self._by_name:
                self._name_all()
            return self._by_name.get(name)

    @property
    def dag(self) -> nx.DiGraph[Node]:
        """This graph for networkx: any of its functions takes it. Edges lead from operands to users and have `positions`
        (a tuple of operand numbers) and `control` (whether the edge is a control dependency, too).

        Later nodes are entered into the same DiGraph: take `dag.copy()` to change it, or to keep its present state.
        """
        nx = module("networkx")
        with self.lock:
            if self._dag is None:
                self._dag = nx.DiGraph()
            for node in self.nodes[self._entered :]:
                self._dag.add_node(node)
                positions: dict[Node, tuple[int, ...]] = {}
                for position, operand in enumerate(node.inputs):
                    positions[operand] = (*positions.get(operand, ()), position)
                self._dag.add_edges_from(
                    (before, node, {"positions": positions.get(before, ()), "control": before in node.after})
                    for before in dict.fromkeys(node.parents)
                )
            self._entered = len(self.nodes)
        return self._dag

    def reaching(self, targets: Iterable[Node], stop: frozenset[Node] | set[Node] = frozenset()) -> list[Node]:
        """The targets and their ancestors, in order; the ancestors of the nodes in `stop` are not followed."""
        wanted: set[Node] = set(targets)
        for node in reversed(self.nodes):
            if node in wanted and node not in stop:
                wanted |= {*node.inputs, *node.after}
        return [node for node in self.nodes if node in wanted]

    def part(self, nodes: list[Node]) -> Graph:
        """A graph of some of these nodes, in their order. Their operands have to be among them."""
        part = Graph(intern=self.intern)
        part.nodes, part._members, part._interned = nodes, set(nodes), None
        for node in nodes:
            if node.name:
                part._by_name.setdefault(node.name, node)
        return part

    def users(self) -> dict[Node, list[Node]]:
        """For each node, the nodes that read it (once per operand position)."""
        result: dict[Node, list[Node]] = {node: [] for node in self.nodes}
        for node in self.nodes:
            for operand in node.inputs:
                result[operand].append(node)
        return result

    def __str__(self) -> str:
        from .text import overview

        return overview(self)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"


def literal(array: np.ndarray) -> dict[str, Literal]:
    """The attributes of a constant."""
    return {"value": Literal(np.asarray(array))}
