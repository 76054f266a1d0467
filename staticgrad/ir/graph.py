"""The graph: frozen nodes in topological order, in the dictionaries of a networkx DiGraph; and the one loop that evaluates it.

A node has an op record, operands and attributes, and is compared by identity. Nodes never change; a graph only grows. So
`graph.dag` can be given to networkx's algorithms as it is. The body of a loop or branch is a `Subgraph`, an attribute of its
node.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..base.dtypes import DERIVED, DType
from ..base.interpreter import by_value, module, rlock
from ..base.types import TensorType
from ..errors import GraphError, IndexRangeError, StaticgradError, Where
from .lowering import Region, Result
from .op import OpDef, over

if TYPE_CHECKING:
    import networkx as nx

# nodes ----------------------------------------------------------------------------------------------------------------

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


class Literal:
    """A constant array as an attribute: hashable by its bytes when small, by identity when large."""

    __slots__ = ("_key", "array")

    SMALL = 256  # bytes

    def __init__(self, array: np.ndarray):
        if array.flags.writeable or array.base is not None:  # a read-only view changes with its base
            array = array.copy()
            array.flags.writeable = False
        self.array = array
        small = array.nbytes <= self.SMALL
        self._key: Hashable = (array.dtype, array.shape, array.tobytes()) if small else id(array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> Any:
        return Literal, (self.array,)

    def same(self, other: object) -> bool:
        """Whether the arrays have equal bytes, large ones too."""
        if self == other:
            return True
        if not isinstance(other, Literal) or (self.array.dtype, self.array.shape) != (other.array.dtype, other.array.shape):
            return False
        return self.array.tobytes() == other.array.tobytes()

    def __repr__(self) -> str:
        return str(self.array.item()) if self.array.size == 1 else f"<{self.array.dtype} {self.array.shape}>"


class _Fields:
    """The fields of a node while they can be set."""

    __slots__ = ("__weakref__", "_key", "after", "attrs", "inputs", "name", "op", "type", "uniform", "where")


def _own(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node: dtypes are NumPy's, which kernels and files know."""
    return {name: value.numpy if value.__class__ is DType else value for name, value in attrs.items()}


class Node(_Fields):
    """One operation of a graph.

    inputs: operands in order, repeats allowed; after: nodes that have to run first (control edges); attrs: hashable
    values; where: the user's line. Nodes never change and may be shared by graphs.
    """

    __slots__ = ()

    op: OpDef
    inputs: tuple[Node, ...]
    attrs: Mapping[str, Any]
    type: TensorType
    name: str
    where: Where | None
    after: tuple[Node, ...]
    uniform: bool | None
    """Whether it is one number computed from constants and extents; None until the compiler needs to know."""
    _key: Hashable | None

    def __new__(
        cls, op: OpDef, inputs: tuple[Node, ...], attrs: Mapping[str, Any], type: TensorType, name: str = "",
        where: Where | None = None, after: tuple[Node, ...] = (),
    ) -> Node:  # fmt: skip
        new: Any = _Fields()
        shared = attrs.__class__ is MappingProxyType  # another node's
        new.attrs = attrs if shared else MappingProxyType(_own(attrs)) if attrs else NO_ATTRS
        new.op, new.inputs, new.type, new.name, new.where, new.after = op, inputs, type, name, where, after
        new.uniform = new._key = None
        new.__class__ = cls  # frozen from here on; a call per field would take most of the time
        return new

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"nodes are frozen: can't set {name!r}; build another node instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"nodes are frozen: can't delete {name!r}")

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def parents(self) -> tuple[Node, ...]:
        """All predecessors: inputs and control inputs."""
        return self.inputs + self.after if self.after else self.inputs

    @property
    def key(self) -> Hashable:
        """The key of interning. The type is part of it: a cast-free op keeps its dtype through its inputs only."""
        key = self._key
        if key is None:
            kind: Hashable = self.type
            if kind.__class__ is TensorType:  # tuples are compared without a call
                kind = self.type.shape, self.type.dtype
            key = self.op, self.inputs, tuple(sorted(self.attrs.items())) if self.attrs else (), kind, self.after
            object.__setattr__(self, "_key", key)
        return key

    def __repr__(self) -> str:
        return f"<{self.name or self.op.name} {self.type}>"


class Cell:
    """A place that holds an array between runs; compared by identity.

    A Session keeps the arrays of the cells of its graph. The cell of an eager tensor refers to `tensor`, whose own
    buffer is the storage. `initial` is the node that a Session's initializer evaluates, or None. `stream` is the (seed, draw)
    with which a session begins the state of a random generator; each run that draws from it advances it.
    """

    __slots__ = ("__weakref__", "initial", "name", "stream", "tensor", "trainable", "type")

    def __init__(
        self, name: str, type: TensorType, *, tensor: Any = None, initial: Any = None, trainable: bool = True,
        stream: tuple[int, int] | None = None,
    ):  # fmt: skip
        self.name = name
        self.stream = stream
        self.type = type
        self.tensor = tensor
        self.initial = initial
        self.trainable = trainable

    def __reduce__(self) -> Any:
        """Without the node of its initial value, which its graph enters."""
        return _cell, (self.name, self.type, self.tensor, self.trainable, self.stream)

    def __lt__(self, other: Cell) -> bool:  # attributes are sorted by key; equal keys never compare values
        return id(self) < id(other)

    def __repr__(self) -> str:
        return self.name or "cell"


def _cell(name: str, kind: TensorType, tensor: Any, trainable: bool, stream: tuple[int, int] | None) -> Cell:
    return Cell(name, kind, tensor=tensor, trainable=trainable, stream=stream)


# graphs ---------------------------------------------------------------------------------------------------------------


def _frozen(*args: Any, **kwargs: Any) -> NoReturn:
    """The methods of `Graph.dag` and of its attributes that would change them."""
    raise GraphError("graph.dag is the graph itself, which only grows by operations", "change a copy: graph.dag.copy()")


class Attributes(dict[str, Any]):
    """The attributes of an edge or node of `Graph.dag`. Frozen, so all edges alike share one object; a copy is a plain dict."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _frozen

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return dict(self)


class _Edges(dict[Any, Attributes]):
    """Of an operand's number, or of (positions, control), the attributes of an edge, made once."""

    def __missing__(self, key: Any) -> Attributes:
        positions, control = ((key,), False) if isinstance(key, int) else key
        self[key] = made = Attributes(positions=positions, control=control)
        return made


_EDGES, _NODE = _Edges(), Attributes()
Adjacency = dict[Node, dict[Node, Attributes]]
"""Of each node its neighbors, with the attributes of the edges to them: `positions`, the numbers of the operands for which an
edge stands (`mul(x, x)` has one edge with the positions (0, 1)), and `control`, whether it is a control dependency, too."""


class Graph:
    """A set of nodes closed under `inputs`, in an order in which operands come before their users.

    The graph stores what a networkx DiGraph does: `succ` maps each node to its users, `pred` to its operands, both with the
    attributes of the edges between. Passes ask these, and `dag` is the DiGraph over the same dictionaries, so a node that is
    appended is in it at once. Only networkx itself is imported late, by the first use of `dag`.

    With `intern`, pure nodes are interned (same op, inputs, attributes: same node), so common subexpressions never exist.
    Graphs that a user builds don't intern: two tensors written on two lines can be fed apart. The compiler's copies do.
    """

    sized = False
    """Whether operations may be added whose results have extents that the run decides; see `OpDef.sized`."""
    lasts = False
    """Whether tensors of it can be pickled, with the graph."""

    def __init__(self, *, intern: bool = False):
        self.nodes: list[Node] = []
        self.intern = intern
        self.lock = rlock()
        self.outputs: dict[str, Node] = {}
        """Named results, for listings and drawings."""
        self.generator: Any = None
        """The leaf of the random generator, once an op draws random numbers, and the number of draws."""
        self.draws = 0
        self.step: Any = None
        """While the body of a loop is being built: the number of draws by earlier iterations."""
        self.around: tuple[Any, ...] = ()
        """The `step` of each body that is being built, the outermost first."""
        self.last_exchange: Node | None = None
        """The last node that exchanges values with other processes: the next one reads its result, to come after it."""
        self.succ: Adjacency = {}
        """Of each node its users, in the order of `nodes`. For reading, as `pred` is."""
        self.pred: Adjacency = {}
        """Of each node its operands and the nodes that it has to run after."""
        self._attributes: dict[Node, Attributes] = {}
        """Of each node those that networkx asks for: none."""
        self._interned: dict[Any, Node] | None = {}
        self._names: dict[str, int] = {}
        self._by_name: dict[str, Node] = {}
        self._dag: nx.DiGraph[Node] | None = None
        self._given_names: dict[Node, str] = {}
        """Generated names of unnamed nodes, assigned on demand; all nodes before `_unnamed` have one."""
        self._unnamed = 0

    # building ---------------------------------------------------------------------------------------------------

    def add(
        self, op: OpDef, inputs: tuple[Node, ...], attrs: Mapping[str, Any], type: TensorType, name: str = "",
        where: Where | None = None, after: tuple[Node, ...] = (),
    ) -> Node:  # fmt: skip
        """Append a node, or return its twin when this graph interns. Dtypes in `DERIVED` take the op's record over them."""
        for node in inputs:
            if node.type.dtype in DERIVED:
                op = over(op, node.type.dtype)
        if type.dtype in DERIVED:
            op = over(op, type.dtype)
        return self.append(Node(op, inputs, attrs, type, name, where, after))

    def append(self, node: Node) -> Node:
        """Append an existing node, or return its twin when this graph interns. Raises GraphError unless it has all operands."""
        with self.lock:
            if node in self.pred:
                return node
            if self.intern and node.op.pure:
                if self._interned is None:
                    self._interned = {known.key: known for known in self.nodes if known.op.pure}
                twin = self._interned.setdefault(node.key, node)
                if twin is not node:
                    return twin
            succ = self.succ
            before: dict[Node, Attributes] = {}
            position = 0
            try:
                for operand in node.inputs:
                    if operand in before:
                        edge = _EDGES[(*before[operand]["positions"], position), False]
                    else:
                        edge = _EDGES[position]
                    succ[operand][node] = before[operand] = edge
                    position += 1
                for earlier in node.after:
                    positions = before[earlier]["positions"] if earlier in before else ()
                    succ[earlier][node] = before[earlier] = _EDGES[positions, True]
            except KeyError:
                self._refuse(node, before)
            self.nodes.append(node)
            self._attributes[node], succ[node], self.pred[node] = _NODE, {}, before
            if node.name:
                self._by_name.setdefault(node.name, node)
        return node

    def _refuse(self, node: Node, before: Iterable[Node]) -> NoReturn:
        """Raise GraphError for a node whose operands are not all in the graph; `before` are those that have an edge already."""
        for operand in before:
            del self.succ[operand][node]
        self._interned = None
        missing = next(operand for operand in node.parents if operand not in self.pred)
        raise GraphError(f"{node!r} reads {missing!r}, which is not in its graph", "append operands first", where=node.where)

    def finish(self) -> None:
        """Release memory that only building needs: the table of twins, which is rebuilt if a node follows."""
        self._interned = None

    def withdraw(self, nodes: Iterable[Node]) -> None:
        """Remove nodes that became part of a subgraph."""
        with self.lock:
            self._remove(set(nodes))

    def prune(self, results: Iterable[Node]) -> None:
        """Remove the nodes that the results don't need."""
        with self.lock:
            self._remove(set(self.nodes).difference(self.reaching(results)))

    def _remove(self, gone: set[Node]) -> None:
        if not gone:
            return
        self.nodes[:] = [node for node in self.nodes if node not in gone]
        for node in gone & self.pred.keys():
            del self._attributes[node]
            for operand in self.pred.pop(node):
                del self.succ[operand][node]
            for user in self.succ.pop(node):
                del self.pred[user][node]
        self._by_name = {name: node for name, node in self._by_name.items() if node not in gone}
        self._interned, self._unnamed = None, 0

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
                if node not in self.pred:
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
        return node in self.pred

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

        It is frozen, as networkx's views are, and follows this graph: take `dag.copy()` to change it, to give nodes or edges
        further attributes, or to keep its present state.
        """
        with self.lock:
            if self._dag is None:
                nx = module("networkx")
                dag = nx.freeze(nx.DiGraph())
                dag._node, dag._adj, dag._pred = self._attributes, self.succ, self.pred  # `_succ` is set with `_adj`
                dag.__networkx_cache__ = None  # of forms for other backends, which would not follow this graph
                for name, method in list(vars(dag).items()):
                    if method is nx.classes.function.frozen:
                        setattr(dag, name, _frozen)
                self._dag = dag
        return self._dag

    def reaching(self, targets: Iterable[Node], stop: frozenset[Node] | set[Node] = frozenset()) -> list[Node]:
        """The targets and their ancestors, in order; the ancestors of the nodes in `stop` are not followed."""
        wanted: set[Node] = set(targets)
        pred = self.pred
        for node in reversed(self.nodes):
            if node in wanted and node not in stop:
                wanted.update(pred[node])
        return [node for node in self.nodes if node in wanted]

    def uses(self, node: Node) -> int:
        """The number of operand positions at which this node is read."""
        return sum([len(edge["positions"]) for edge in self.succ[node].values()])

    @classmethod
    def of(cls, nodes: Iterable[Node], *, intern: bool = False) -> Graph:
        """A graph of these nodes, each after its operands. No two of them are twins where it interns."""
        graph = cls()
        for node in nodes:
            graph.append(node)
        graph.intern, graph._interned = intern, None
        return graph

    # by pickle --------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """Nodes refer to each other by number: as objects they would be nested as deep as the graph. Raises GraphError for
        functions that can't be pickled."""
        with self.lock:
            number = {node: i for i, node in enumerate(self.nodes)}
            cells = {value for node in self.nodes for value in node.attrs.values() if value.__class__ is Cell}
            return {
                "nodes": [_row(node, number) for node in self.nodes],
                "initial": [(cell, number[cell.initial]) for cell in cells if cell.initial in number],
                "outputs": {name: number[node] for name, node in self.outputs.items()},
                "generator": None if self.generator is None else number[self.generator.node],
                "draws": self.draws,
                "last_exchange": None if self.last_exchange is None else number.get(self.last_exchange),
                "names": self._names,
                "given_names": {number[node]: name for node, name in self._given_names.items()},
                "unnamed": self._unnamed,
                "intern": self.intern,
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        waiting = self.__dict__.pop("_awaited", [])
        type(self).__init__(self)
        nodes = self.nodes
        for op, inputs, attrs, kind, name, where, after in state["nodes"]:
            self.append(Node(op, tuple([nodes[i] for i in inputs]), attrs, kind, name, where, tuple([nodes[i] for i in after])))
        self.intern, self.draws, self._names, self._unnamed = (state[key] for key in ("intern", "draws", "names", "unnamed"))
        for cell, i in state["initial"]:
            cell.initial = nodes[i]
        self.outputs = {name: nodes[i] for name, i in state["outputs"].items()}
        self.last_exchange = None if state["last_exchange"] is None else nodes[state["last_exchange"]]
        if state["generator"] is not None:
            self.generator = module("staticgrad.ops.operators").Symbol(self, nodes[state["generator"]])
        for i, given in state["given_names"].items():
            self.give_name(nodes[i], given)
        for take in waiting:
            take(self)

    def awaited(self, take: Callable[[Graph], None]) -> None:
        """Call `take` with this graph, once it has its nodes: tensors of a graph may arrive before it."""
        if "nodes" in self.__dict__:
            take(self)
        else:
            self.__dict__.setdefault("_awaited", []).append(take)

    def __str__(self) -> str:
        from .text import overview

        return overview(self)

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes>"


class OfGraph:
    """What stands for a node of a graph. A pickle has the graph and the node's name, for it may arrive before the nodes do."""

    __slots__ = ("__weakref__", "graph", "node")

    graph: Graph
    node: Node

    def __reduce__(self) -> Any:
        return _bare, (type(self),), (self.graph, self.graph.name_of(self.node))

    def __setstate__(self, state: tuple[Graph, str]) -> None:
        self.graph, name = state
        self.graph.awaited(partial(self._find, name))

    def _find(self, name: str, graph: Graph) -> None:
        node = graph.by_name(name)
        assert node is not None
        self.node = node


def _bare(kind: type[OfGraph]) -> OfGraph:
    return kind.__new__(kind)


def _row(node: Node, number: Mapping[Node, int]) -> tuple[Any, ...]:
    """A node for a pickle."""
    attrs = {
        name: Travelling(node.op.name, value, node.where) if callable(value) else value for name, value in node.attrs.items()
    }
    return (
        node.op, [number[i] for i in node.inputs], attrs, node.type, node.name, node.where, [number[i] for i in node.after]
    )  # fmt: skip


class Travelling:
    """A function that a node holds, on its way to another process."""

    def __init__(self, holder: str, function: Any, where: Where | None = None):
        self.holder, self.function, self.where = holder, function, where

    def __reduce__(self) -> Any:
        failed: Exception | None = None
        for library in filter(None, (pickle, by_value())):
            try:
                return pickle.loads, (library.dumps(self.function),)
            except Exception as error:  # whatever the function's own objects raise
                failed = error
        raise GraphError(
            f"{self.holder} holds {self.function!r}, which can't be pickled",
            "define it at the top level of a module, or let cloudpickle send it",
            where=self.where,
        ) from failed


def literal(array: np.ndarray) -> dict[str, Literal]:
    """The attributes of a constant."""
    return {"value": Literal(np.asarray(array))}


# bodies of loops and branches: graphs with parameters and results, as attributes of nodes -----------------------------

_watch = threading.local()
"""`look`, `seen`: see `watched`."""


@contextmanager
def watched(look: Callable[[], None], seen: Callable[[Node, dict[Node, Any]], None] | None = None) -> Iterator[None]:
    """In this thread, have bodies of loops and branches call `look` whenever they are evaluated, and `seen` with each node and
    the values so far; either raises to stop that."""
    before = getattr(_watch, "look", None), getattr(_watch, "seen", None)
    _watch.look, _watch.seen = look, seen
    try:
        yield
    finally:
        _watch.look, _watch.seen = before


class Subgraph:
    """A pure function: `params` are placeholders of `graph`, `results` nodes of it. Frozen; compared by identity.

    Results may repeat, and may be parameters. All other nodes that the results need are in the graph: a body
    reads outside values only through its parameters. `written`: the same function with every operation that the user wrote, in
    that order, if it is known; for numerics that repeat them one by one.
    """

    __slots__ = ("_order", "_types", "graph", "params", "results", "written")

    def __init__(self, graph: Graph, params: Sequence[Node], results: Sequence[Node], written: Subgraph | None = None):
        self.graph = graph
        self.params = tuple(params)
        self.results = tuple(results)
        self.written = written
        self._order = [n for n in graph.reaching(self.results) if n not in set(self.params)]
        self._types: dict[tuple[TensorType, ...], dict[Node, TensorType]] = {}

    def __reduce__(self) -> Any:
        number = {node: i for i, node in enumerate(self.graph.nodes)}
        params, results = ([number[node] for node in nodes] for nodes in (self.params, self.results))
        return _subgraph, (self.graph, params, results, self.written)

    def __lt__(self, other: Subgraph) -> bool:  # attributes are sorted by key; equal keys never compare values
        return id(self) < id(other)

    @property
    def nodes(self) -> list[Node]:
        """The computed nodes, in order; parameters are not among them."""
        return self._order

    def types(self, given: Sequence[TensorType]) -> dict[Node, TensorType]:
        """The type of every node for parameters of the given types. Raises the ops' errors with the user's line."""
        key = tuple(given)
        if key not in self._types:
            kinds = dict(zip(self.params, key, strict=True))
            for node in self._order:
                kinds[node] = node.type if node.op.leaf else _inferred(node, [kinds[i] for i in node.inputs])
            self._types[key] = kinds
        return self._types[key]

    def infer(self, given: Sequence[TensorType]) -> list[TensorType]:
        """The types of the results."""
        kinds = self.types(given)
        return [kinds[result] for result in self.results]

    def eval(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results in NumPy."""
        look = getattr(_watch, "look", None)
        if look is not None:
            look()
        seen = getattr(_watch, "seen", None)
        values: dict[Node, Any] = dict(zip(self.params, arrays, strict=True))
        evaluate(self._order, values, seen=seen)
        return [values[result] for result in self.results]

    def __repr__(self) -> str:
        return f"<{len(self._order)} nodes>"


def _inferred(node: Node, types: list[TensorType]) -> TensorType:
    try:
        return node.op.typed(types, node.attrs)
    except StaticgradError as error:
        raise type(error)(error.summary, *error.details, where=node.where) from None


def may_fail(node: Node) -> bool:
    """Whether a run of the node may raise an error for the values of its operands: an index out of range, say."""
    if isinstance(node.op.emit, Region):
        bodies = (value for value in node.attrs.values() if isinstance(value, Subgraph))
        return any(may_fail(inner) for body in bodies for inner in body.nodes)
    return not node.op.leaf and bool(node.op.fails)


def failing(node: Node) -> set[Node]:
    """The operations that may fail and that run for this node: itself, or those of the bodies for a result of a loop."""
    if not isinstance(node.op.emit, Result):
        return {node} if node.op.fails and not node.op.leaf else set()
    index, region = node.attrs["index"], node.inputs[0]
    bodies = [value for value in region.attrs.values() if isinstance(value, Subgraph)]
    ends = [(body.graph, body.results[index]) for body in bodies if index < len(body.results)]
    return {inner for graph, end in ends for inner in graph.reaching([end]) if may_fail(inner)}


def _subgraph(graph: Graph, params: Sequence[int], results: Sequence[int], written: Subgraph | None) -> Subgraph:
    """One that arrives by pickle."""
    return Subgraph(graph, [graph.nodes[i] for i in params], [graph.nodes[i] for i in results], written)


# the NumPy interpreter -----------------------------------------------------------------------------------------------

# The reference for every stage of the compiler, and the one loop that evaluates nodes in order.


def evaluate(
    nodes: Iterable[Node], values: dict[Node, Any], leaf: Callable[[Node], Any] | None = None,
    seen: Callable[[Node, dict[Node, Any]], None] | None = None, notes: Sequence[str] = (),
) -> dict[Node, Any]:  # fmt: skip
    """Evaluate nodes in this order into `values`; those that have a value keep it.

    leaf: the values of leaves that are no constants. seen: called with each node and the values so far. Raises the ops' errors
    with the user's line and `notes`.
    """
    for node in nodes:
        if node in values:
            continue
        op = node.op
        try:
            if leaf is None or not op.leaf or op.leaf == "constant":
                value = op.eval(*[values[i] for i in node.inputs], **node.attrs)
            else:
                value = leaf(node)
        except StaticgradError as error:
            raise type(error)(error.summary, *error.details, *notes, where=node.where) from None
        except IndexError as error:
            raise IndexRangeError(f"{op.name}: {error}", *notes, where=node.where) from error
        except ValueError as error:
            raise StaticgradError(f"{op.name}: {error}", *notes, where=node.where) from error
        values[node] = value if isinstance(value, tuple) else np.asarray(value)
        if seen is not None:
            seen(node, values)
    return values


def interpret(
    graph: Graph, targets: Sequence[Node], leaves: Mapping[Node, np.ndarray], leaf: Callable[[Node], Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[Node, Any]:  # fmt: skip
    """`evaluate` of the targets and their ancestors, without NumPy's warnings. `leaves` gives the values of leaves.

    Returns all values by node.
    """
    with np.errstate(all="ignore"):
        return evaluate(graph.reaching(targets, stop=set(leaves)), dict(leaves), leaf, notes=notes)
