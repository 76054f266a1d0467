"""The dialect's graph: TensorFlow's names, scopes and collections over `static.Graph`."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .core import (
    ArgumentError,
    Feed,
    GraphError,
    Node,
    StaticgradError,
    Symbol,
    TensorType,
    UnrankedType,
    begin_default_graph,
    control_of,
    dispatch,
    element,
    flatten,
    node_named,
    placeholder_of,
    reached,
    state,
    static,
    unflatten,
    using,
)
from .dtypes import is_storage, numbers, texts

# Functions of Python that a run calls, between runs of plans.
#
# A plan holds no such function. A run whose fetches need one first runs the plan of the function's operands, calls it, and
# feeds its results to the next. All of these are one run to the program: random numbers, elements of data sets and
# assignments of an earlier part are fed to the later ones, so that none is drawn, taken or done twice.


@dataclass(eq=False)
class HostCall:
    """A call: `fn` takes the values of the tensors and returns those of the results, None where there are none."""

    tensors: Sequence[Node]
    fn: Callable[..., Sequence[np.ndarray] | None]
    after: Sequence[Node] = ()
    """Operations that run before it."""
    results: list[Node] = field(default_factory=list)
    with_session: bool = False
    """Whether `fn` takes the session, too."""


def _needed(graph: Any, targets: Sequence[Node], fed: set[Node]) -> list[Node]:
    """The targets and all that they need, in order; operands of calls too, of fed nodes none."""

    def read(node: Node) -> Sequence[Node]:
        call = graph.host_calls.get(node)
        before = node.parents if call is None else (*node.parents, *call.tensors, *call.after)
        return () if node in fed else before

    found = reached(targets, read)
    return [node for node in graph.nodes if node in found]


def _once(graph: Any, node: Node) -> bool:
    """Whether a second computation of a node in the same run would be another one."""
    return node.op.draws or node.op.effect == "assign" or node in graph.sources


def _call(session: static.Session, call: HostCall, feeds: dict[Any, Any], whole: Sequence[Node]) -> None:
    """Compute the operands of a call, call it, and feed what must not be computed again."""
    graph: Any = session.graph
    fed = {element(graph, key) for key in feeds}
    before = [*call.tensors, *call.after]
    pins = [n for n in _needed(graph, before, fed) if n not in fed and _once(graph, n)]
    if any(n in graph.sources for n in pins):  # parts of one element are taken together
        pins = list(dict.fromkeys([*pins, *(n for n in whole if n in graph.sources and n not in fed)]))
    values = session.run([*before, *pins], feeds) if before else []
    feeds.update(zip(pins, values[len(before) :], strict=True))
    given = [np.asarray(v) for v in values[: len(call.tensors)]]
    found = call.fn(given, session) if call.with_session else call.fn(given)
    for node, value in zip(call.results, found or (), strict=True):
        feeds[node] = Feed(node).accept(value)


def run(session: static.Session, fetches: Any, feed_dict: Any = None, last: list[Any] | None = None) -> Any:
    """`session.run`, with calls of Python before the last plan and summaries serialized after it. last: gets the fetches and
    the feeds of that plan."""
    graph: Any = session.graph
    calls: dict[Node, HostCall] = getattr(graph, "host_calls", {})
    serialized: dict[Node, Callable[..., Any]] = getattr(graph, "serialized", {})
    strings: set[Node] = getattr(graph, "texts", set())
    fixed: set[Node] = getattr(graph, "fixed", set())
    if fixed and feed_dict:
        for key in feed_dict:
            if (node := _node(graph, key)) in fixed:
                raise ArgumentError(
                    f"Tensor {graph.name_of(node)}:0 can't be fed: its value was read when the graph was built",
                    "make it a placeholder, or tf.placeholder_with_default, before it is used",
                )
    if not calls and not serialized and not strings:
        if last is not None:
            last += [fetches, feed_dict]
        return session.run(fetches, feed_dict)
    leaves: list[Any] = []
    structure = flatten(fetches, leaves)
    nodes = [element(graph, leaf) if isinstance(leaf, str) else getattr(leaf, "node", leaf) for leaf in leaves]
    wanted: list[Any] = [graph.operands[n] if n in serialized else leaf for n, leaf in zip(nodes, leaves, strict=True)]
    feeds = dict(feed_dict or {})
    if strings:
        feeds = {key: numbers(value) if _node(graph, key) in strings else value for key, value in feeds.items()}
    if calls:
        targets = [t for w, n in zip(wanted, nodes, strict=True) for t in (w if isinstance(w, list) else [n])]
        try:
            fed = {element(graph, key) for key in feeds}
        except StaticgradError:
            return session.run(fetches, feed_dict)  # it says what is wrong
        whole = _needed(graph, [t for t in targets if isinstance(t, Node)], fed)
        for call in dict.fromkeys(calls[n] for n in whole if n in calls and n not in fed):
            _call(session, call, feeds, whole)
    if last is not None:
        last += [wanted, feeds]
    found = session.run(wanted, feeds)
    return unflatten(
        structure,
        [
            serialized[n](value) if n in serialized else texts(value) if n in strings else value
            for value, n in zip(found, nodes, strict=True)
        ],
    )


def _node(graph: Any, key: Any) -> Node | None:
    """The node of a feed; None for one that the session refuses, or takes apart."""
    try:
        return element(graph, key)
    except StaticgradError:
        return None


def callable_of(session: static.Session, fetches: Any, feed_list: Sequence[Any] = ()) -> Callable[..., Any]:
    """`session.make_callable` for graphs that may need Python in the run."""
    graph: Any = session.graph
    if not any(getattr(graph, kind, None) for kind in ("host_calls", "serialized", "texts")):
        return session.make_callable(fetches, feed_list)
    return lambda *values: run(session, fetches, dict(zip(feed_list, values, strict=True)))


class Parts:
    """A run in several parts: `Session.partial_run`."""

    def __init__(self, session: static.Session, fetches: Any, feeds: Any):
        self._session = session
        leaves: list[Any] = []
        flatten(fetches, leaves)
        self._fetches = {element(session.graph, leaf) for leaf in leaves}
        self._open = {element(session.graph, key) for key in feeds}
        self._feeds: dict[Any, Any] = {}

    def run(self, fetches: Any, feed_dict: Any) -> Any:
        graph: Any = self._session.graph
        if not self._fetches:
            raise ArgumentError("Must run 'setup' before performing partial runs!")
        for key, value in dict(feed_dict or {}).items():
            node = element(graph, key)
            if node in self._feeds:
                raise ArgumentError(f"The feed {graph.name_of(node)}:0 has already been fed.")
            if node not in self._open:
                raise RuntimeError(f"The feed {graph.name_of(node)}:0 was not specified in partial_run_setup.")
            self._feeds[node] = value
        leaves: list[Any] = []
        flatten(fetches, leaves)
        wanted = [element(graph, leaf) for leaf in leaves]
        for node in wanted:
            if node not in self._fetches:
                raise RuntimeError(f"The fetch {graph.name_of(node)}:0 was not specified in partial_run_setup.")
        pins = [n for n in _needed(graph, wanted, set(self._feeds)) if n not in self._feeds and _once(graph, n)]
        found, values = run(self._session, [fetches, pins], self._feeds)
        self._feeds.update(zip(pins, values, strict=True))
        self._fetches -= set(wanted)
        return found


# the graph ------------------------------------------------------------------------------------------------------------


class GraphKeys:
    """Names of the standard collections."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    SUMMARIES = "summaries"
    SUMMARY_OP = "summary_op"
    LOSSES = "losses"
    REGULARIZATION_LOSSES = "regularization_losses"
    UPDATE_OPS = "update_ops"
    TRAIN_OP = "train_op"
    GLOBAL_STEP = "global_step"
    INIT_OP = "init_op"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    CONCATENATED_VARIABLES = "concatenated_variables"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    SAVERS = "savers"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    LOCAL_INIT_OP = "local_init_op"
    EVAL_STEP = "eval_step"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    METRIC_VARIABLES = "metric_variables"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    UNBOUND_INPUTS = "unbound_inputs"
    SAVEABLE_OBJECTS = "saveable_objects"


class Scopes(threading.local):
    """The scopes of a thread in a graph: each thread begins outside of all."""

    def __init__(self) -> None:
        self.names = ""
        """The prefix of names."""
        self.variables: Any = None
        """The current `variable_scopes.VariableScope`."""
        self.counts: dict[str, int] = {}
        """How often each variable scope was entered since the one around it was closed."""

    def __reduce__(self) -> Any:
        return Scopes, ()


OP_NAME, IN_SCOPE = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*"), re.compile(r"[A-Za-z0-9_.\\/>-]*")
"""Names of operations outside of scopes, and inside."""


class Graph(static.Graph):
    """A graph of TensorFlow 1: operations with names in scopes, and collections."""

    bodies_wait = True
    """Whether those assignments in a branch or loop run for which its results wait, and no others."""

    def __init__(self) -> None:
        super().__init__()
        self.finalized = False
        self.seed: int | None = None
        self.initializer_name = "Assign"
        self.feeds_by_value = True
        """Floating numbers are fed to integers, and numbers to booleans, where no value changes."""
        self.variable_store: dict[str, Any] = {}
        """Variables of `get_variable` by their full names."""
        self.scopes = Scopes()
        self._collections: dict[Any, list[Any]] = {}
        self._types: dict[Node, str] = {}
        """TensorFlow's names of op types, for operations that the dialect made."""
        self._handles: dict[Node, Any] = {}
        self.serialized: dict[Node, Callable[[Sequence[np.ndarray]], bytes]] = {}
        """By the node of an operation whose value are bytes: those bytes, from the values of its operands."""
        self.operands: dict[Node, list[Node]] = {}
        """Of those operations."""
        self.host_calls: dict[Node, HostCall] = {}
        """By the node of its operation, or of each of its results."""
        self.gradient_overrides: dict[str, str] = {}
        """TensorFlow's type of an operation that is made now -> the name of a registered gradient."""
        self.output_of: dict[Node, tuple[Node, int]] = {}
        """Results of operations with several, after the first: that one, and their number."""
        self.growth_told = False
        """Whether a session has warned that the graph grows between runs."""
        self.undeclared: dict[Node, Callable[[TensorType], Node]] = {}
        """Calls of Python in bodies whose results have no shape yet: what makes the node once they are given one."""
        self.effects: dict[Node, Node] = {}
        """By the node of an operation that is fetched: the one that runs it and has no value."""
        self.fixed: set[Node] = set()
        """Tensors whose values decided how other operations are written, so that feeding them would come too late."""
        self.texts: set[Node] = set()
        """Tensors of strings, whose elements are the numbers of texts."""
        self._unfed: set[Node] = set()
        self._unfetched: set[Node] = set()

    # names ------------------------------------------------------------------------------------------------------------

    @property
    def _scope(self) -> str:
        return self.scopes.names

    @contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Names made in this context begin with `name/`, made unique; a name that ends in "/" is taken as it is, and None or
        "" leaves all scopes. Gives the prefix."""
        scopes = self.scopes
        outer = scopes.names
        if not name:
            scopes.names = ""
        elif name.endswith("/"):
            scopes.names = name
        else:
            scopes.names = self.claim_name(self._valid(name)) + "/"
        try:
            yield scopes.names
        finally:
            scopes.names = outer

    def _valid(self, name: str) -> str:
        """A name in the current scope. Raises ValueError for one with characters that names don't have."""
        scope = self.scopes.names
        if not (IN_SCOPE if scope else OP_NAME).fullmatch(name):
            raise ValueError(f"'{name}' is not a valid scope name" if scope else f"'{name}' is not a valid root scope name")
        return scope + name

    def switch_to_thread_local(self) -> None:
        """Accepted: scopes are each thread's own."""

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """A name that no operation has, in the current scope."""
        if mark_as_used:
            return self.claim_name(self._scope + name)
        known = dict(self._names)
        found = self.claim_name(self._scope + name)
        self._names = known
        return found

    def claim_name(self, base: str) -> str:
        """A unique name; one that ends in "/" is taken as it is."""
        return base[:-1] if base.endswith("/") else super().claim_name(base)

    def name_key(self, name: str) -> str:
        """Names that differ in case alone are one, as they may become names of files."""
        return name.lower()

    def generated_base(self, node: Node) -> str:
        """Parts of operations have names of their own kind, which take none from operations."""
        return f"parts/{node.op.name}"

    def name_all(self) -> None:
        """Give a name to each node that has none."""
        self._name_all()

    def get_name_scope(self) -> str:
        """The current prefix without its last slash."""
        return self._scope.removesuffix("/")

    def scoped(self, name: str) -> str:
        """A unique name in the current scope; a name that ends in "/" is taken as it is."""
        return self.claim_name(self.full_name(name))

    def full_name(self, name: str) -> str:
        """A name in the current scope; one that ends in "/" is full already."""
        return name if name.endswith("/") else self._valid(name)

    def adopt(self, node: Node, name: str, type_: str) -> None:
        """Enter an operation that the dialect made under TensorFlow's names."""
        if not node.name:
            self.give_name(node, self.scoped(name))
        self._types[node] = type_

    def known(self, node: Node) -> bool:
        """Whether a node is an operation of the program, or part of one."""
        return node in self._types or node in self.output_of

    def adopt_outputs(self, nodes: Sequence[Node]) -> None:
        """Make nodes the results of one operation, that of the first."""
        for i, node in enumerate(nodes[1:], 1):
            self.output_of[node] = nodes[0], i

    def outputs_with(self, node: Node) -> list[Node]:
        """All results of the operation of a node."""
        first, _ = self.output_of.get(node, (node, 0))
        return [first, *(n for n, (other, _) in self.output_of.items() if other is first)]

    def type_of(self, node: Node) -> str:
        node, _ = self.output_of.get(node, (node, 0))
        return self._types.get(node) or "".join(part.capitalize() for part in node.op.name.split("_"))

    def leaf(self, kind: TensorType, name: str | None = None) -> Symbol:
        """A leaf of a type: one of strings where its dtype is that of numbers of texts."""
        if not is_storage(kind.dtype):
            return placeholder_of(kind, name)
        plain = np.dtype(np.int64)
        made = placeholder_of(UnrankedType(plain) if isinstance(kind, UnrankedType) else TensorType(kind.shape, plain), name)
        self.texts.add(made.node)
        return made

    def host_action(self, tensors: Sequence[Any], act: Callable[..., None], name: str, with_session: bool = False) -> Any:
        """An operation that computes tensors and hands their values to a Python function."""
        after = control_of(self)
        with using(self), static.control_dependencies(None):
            node = static.group(name=self._scope + name).node
        self.host_calls[node] = HostCall([t.node for t in tensors], act, after, with_session=with_session)
        return MAKERS["operation"](self, node)

    def host_call(
        self, tensors: Sequence[Any], fn: Callable[..., Sequence[np.ndarray]], kinds: Sequence[TensorType],
        name: str, type_: str, with_session: bool = False,
    ) -> list[Any]:  # fmt: skip
        """The results of a Python function of tensors, called in each run that needs one of them."""
        call = HostCall([t.node for t in tensors], fn, control_of(self), with_session=with_session)
        with using(self), static.control_dependencies(None):
            call.results += [self.leaf(kind, self._scope + name if not i else None).node for i, kind in enumerate(kinds)]
        for node in call.results:
            self.host_calls[node] = call
            self._types[node] = type_
        self.adopt_outputs(call.results)
        return [self.handle(node) for node in call.results]

    # tensors and operations -------------------------------------------------------------------------------------------

    def handle(self, node: Node) -> Any:
        """The tensor or variable of a node: one object per node, so that `is` and `in` tell tensors apart."""
        found = self._handles.get(node)
        if found is None:
            found = self._handles[node] = MAKERS["variable" if node in self.variable_of else "tensor"](self, node)
        return found

    def replace(self, handle: Any, node: Node) -> None:
        """Let a handle stand for another node from here on; the old one keeps its name."""
        self._types[node] = self._types.get(handle.node, "Identity")
        handle.node = node
        self._handles[node] = handle

    def get_tensor_by_name(self, name: str) -> Any:
        """The tensor `"op:0"`. Raises ValueError for a name without an output number, KeyError where there is none."""
        op, colon, index = name.rpartition(":")
        if not colon:
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        first = self._named(op)
        results = self.outputs_with(first)
        if not index.isdigit() or int(index) >= len(results):
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist.")
        return self.handle(results[int(index)])

    def by_name(self, name: str) -> Node | None:
        found = super().by_name(name)
        op, colon, index = name.rpartition(":")
        if found is None and colon and index.isdigit():
            first = super().by_name(op)
            results = [] if first is None else self.outputs_with(first)
            return results[int(index)] if int(index) < len(results) else None
        return found

    def get_operation_by_name(self, name: str) -> Any:
        """Raises KeyError where there is none."""
        return MAKERS["operation"](self, self._named(name))

    def _named(self, name: str) -> Node:
        try:
            return node_named(self, name)
        except GraphError as error:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph. {' '.join(error.details)}") from None

    def get_operations(self) -> list[Any]:
        """The operations that the program wrote, in order; not the parts that they are made of."""
        return [MAKERS["operation"](self, node) for node in self.nodes if node in self._types and node not in self.output_of]

    def as_graph_element(self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True) -> Any:
        """The tensor or operation of an object or a name. Raises KeyError, TypeError, ValueError."""
        if isinstance(obj, str):
            if allow_tensor and ":" in obj:
                return self.get_tensor_by_name(obj)
            if allow_operation:
                return self.get_operation_by_name(obj)
        elif hasattr(obj, "node") and isinstance(getattr(obj, "graph", None), Graph):
            if obj.graph is not self:
                raise ValueError(f"{obj!r} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a Tensor or Operation.")

    def finalize(self) -> None:
        """Make the graph read-only for the dialect's functions."""
        self.finalized = True

    def check_open(self) -> None:
        if self.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    # collections ------------------------------------------------------------------------------------------------------

    def add_to_collection(self, name: Any, value: Any) -> None:
        self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: Any, value: Any) -> None:
        for name in [names] if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The list itself: changes to it are changes of the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of the collection; with `scope`, a regular expression, of the items whose names begin with it."""
        found = list(self._collections.get(name, ()))
        return found if scope is None else [i for i in found if re.match(scope, getattr(i, "name", ""))]

    @property
    def collections(self) -> list[Any]:
        """The names of the collections."""
        return list(self._collections)

    def get_all_collection_keys(self) -> list[Any]:
        return [key for key, items in self._collections.items() if items]

    def clear_collection(self, name: Any) -> None:
        self._collections.pop(name, None)

    # gradients and feeds ----------------------------------------------------------------------------------------------

    @contextmanager
    def gradient_override_map(self, op_type_map: dict[str, str]) -> Iterator[None]:
        """Operations of these types that are made in this context have the gradients of these registered names."""
        if not isinstance(op_type_map, dict):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for key, value in op_type_map.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        outer, self.gradient_overrides = self.gradient_overrides, {**self.gradient_overrides, **op_type_map}
        try:
            yield
        finally:
            self.gradient_overrides = outer

    def is_feedable(self, tensor: Any) -> bool:
        return tensor.node not in self._unfed

    def prevent_feeding(self, tensor: Any) -> None:
        """Refuse to feed the tensor."""
        self._unfed.add(tensor.node)

    def is_fetchable(self, tensor_or_op: Any) -> bool:
        return tensor_or_op.node not in self._unfetched

    def prevent_fetching(self, op: Any) -> None:
        """Refuse to fetch the operation's results."""
        self._unfetched.add(op.node)

    def num_operations(self) -> int:
        """How many operations the program wrote."""
        return len(self.get_operations())

    @property
    def version(self) -> int:
        """The number of nodes: it grows with the graph."""
        return len(self.nodes)

    @property
    def building_function(self) -> bool:
        return False

    # accepted ---------------------------------------------------------------------------------------------------------

    @contextmanager
    def device(self, device_name_or_function: Any) -> Iterator[None]:
        """Accepted: everything runs on the CPU."""
        yield

    @contextmanager
    def control_dependencies(self, control_inputs: Any) -> Iterator[None]:
        with control_dependencies(control_inputs):
            yield

    @contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """Accepted: everything runs on the CPU."""
        yield


MAKERS: dict[str, Callable[..., Any]] = {}
"""The classes "tensor", "operation" and "variable", and the function "overridden", which are built on this module."""


def get_default_graph() -> Graph:
    """The graph of the innermost `as_default`, else the one that all threads share.

    Raises RuntimeError where that graph was built by another dialect.
    """
    graph = state.graphs[-1] if state.graphs else dispatch.GLOBAL_GRAPH
    if isinstance(graph, Graph):
        return graph
    if graph is dispatch.GLOBAL_GRAPH and not len(graph):
        dispatch.GLOBAL_GRAPH = made = Graph()
        return made
    raise RuntimeError(
        "the default graph was not built in TensorFlow's dialect: begin with tf.reset_default_graph(), or use "
        "`with tf.Graph().as_default():`"
    )


def reset_default_graph() -> None:
    """Start the shared default graph anew. Raises AssertionError inside `as_default`."""
    if state.graphs:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting and "
            "create a new graph."
        )
    begin_default_graph(Graph())


@contextmanager
def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Iterator[str]:
    """See `Graph.name_scope`; `default_name` where name is None."""
    chosen = default_name if name is None else name
    with get_default_graph().name_scope(chosen) as scope:
        yield scope


@contextmanager
def device(device_name_or_function: Any) -> Iterator[None]:
    """Accepted: everything runs on the CPU."""
    yield


@contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Operations made in this context run after `control_inputs`; None drops outer dependencies."""
    with static.control_dependencies(control_inputs):
        yield


def add_to_collection(name: Any, value: Any) -> None:
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    return get_default_graph().get_collection_ref(key)


def set_random_seed(seed: int | None) -> None:
    """The seed of the graph: each random operation that is made from now on draws the same numbers in each session.

    The numbers of an operation follow from this seed and its own; without one of its own it takes its place in the graph.
    """
    get_default_graph().seed = seed


DEFAULT_GRAPH_SEED = 87654321
"""The graph's seed where only the operation has one."""
SEEDS = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of the next random operation, the graph's and its own; (None, None) where neither is given."""
    graph = get_default_graph()
    if graph.seed is None and op_seed is None:
        return None, None
    of_graph = DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    own = len(graph.nodes) if op_seed is None else op_seed
    seeds = int(of_graph) % SEEDS, int(own) % SEEDS
    return (0, SEEDS) if seeds == (0, 0) else seeds  # TensorFlow's kernels take two zeros for no seed
