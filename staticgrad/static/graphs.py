"""Graphs that users build, the default graph, finding a tensor in a graph, and gradients as further tensors of it."""

from __future__ import annotations

import difflib
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from .. import ir
from ..autodiff import requests
from ..autodiff.requests import roots_of, seeds_of
from ..autodiff.reverse import gradients as append_gradients
from ..base.types import INEXACT
from ..eager.generator import marks
from ..eager.tape import Record
from ..eager.tensor import Tensor
from ..errors import ArgumentError, GraphError
from ..ir import Node
from ..ops.operators import F, MaybeNone, Symbol, TensorLike, Tensors, dispatch, state

if TYPE_CHECKING:
    from .variables import Variable


class Captured(NamedTuple):
    """An eager tensor that a graph took in. `tensor()` is that tensor, None when it is gone."""

    tensor: Callable[[], Tensor | None]
    node: Node
    version: int
    """Its last change at that time; -1 for a variable, which has its own value ever since."""


class Kept:
    """`Captured.tensor` of a tensor that the graph keeps alive."""

    def __init__(self, tensor: Tensor):
        self.of = tensor

    def __call__(self) -> Tensor:
        return self.of


class Training:
    """What optimizers keep for a variable, and the gradients that they got."""

    def __init__(self) -> None:
        self.slots: dict[ir.Cell, None] = {}
        self.gradients: dict[Node, None] = {}


class SourceRun:
    """One run, for the placeholders that feed themselves. look: nothing runs, the caller only asks for the values' types.
    shared: for sources that give several placeholders parts of one value."""

    __slots__ = ("look", "shared")

    def __init__(self, look: bool):
        self.look = look
        self.shared: dict[Any, Any] = {}


class Graph(ir.Graph):
    """A graph that is defined first and run later by a `Session`; build it under `with graph.as_default():`.

    Two tensors of the same expression stay two, and each can be fed on its own. The compiler computes them once.

    Examples:
        >>> graph = sg.Graph()
        >>> with graph.as_default():
        ...     x = sg.placeholder(sg.float32, [])
        ...     y = x * 2
        >>> sg.Session(graph=graph).run(y, {x: 3})
        np.float32(6.0)
    """

    sized = True
    lasts = True

    def __init__(self) -> None:
        super().__init__()
        self.initializer_name = "init"
        """The name of a variable's initializer, below that of the variable."""
        self.variable_of: dict[Node, Variable] = {}
        self.captured: dict[int, Captured] = {}
        """Eager tensors taken in, by id."""
        self.sources: dict[Node, Callable[[SourceRun], np.ndarray]] = {}
        """Placeholders that feed themselves: the initial values of captured tensors, the elements of data sets."""
        self.replayed: weakref.WeakKeyDictionary[Record, Node] = weakref.WeakKeyDictionary()
        """Operations of the eager tape that were written into this graph."""
        self.updates: list[tuple[Node, Symbol]] = []
        """Changes of state that belong to the computation of a node: the running statistics of batch_norm."""
        self.trained: dict[Node, Training] = {}
        """By variable, for those that optimizers update."""
        self._symbols: dict[Node, Symbol] = {}

    def __getstate__(self) -> dict[str, Any]:
        """As `ir.Graph`: variables, the tensors that they stand for, and what optimizers have entered. Raises GraphError for a
        graph with elements of data sets."""
        if type(self) is not Graph:
            raise GraphError(
                f"a graph of {type(self).__module__} can't be pickled",
                "send a function that builds the graph, and the values of its variables: session.run(variables)",
            )
        with self.lock:
            state, number = super().__getstate__(), {node: i for i, node in enumerate(self.nodes)}
            for node, source in self.sources.items():
                if not isinstance(source, partial):
                    raise GraphError(f"{self.name_of(node)} feeds itself with data of this process", "feed a placeholder")
            return state | {
                "initializer_name": self.initializer_name,
                "variables": self.variables,
                "kept": [(c.tensor(), number[c.node]) for c in self.captured.values() if isinstance(c.tensor, Kept)],
                "sources": [(number[node], source) for node, source in self.sources.items()],
                "updates": [(number[node], update) for node, update in self.updates],
                "trained": [
                    (number[node], [*training.slots], [number[g] for g in training.gradients])
                    for node, training in self.trained.items()
                ],
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        nodes = self.nodes
        self.initializer_name = state["initializer_name"]
        self.variable_of = {variable.node: variable for variable in state["variables"]}
        self.captured = {id(tensor): Captured(Kept(tensor), nodes[i], -1) for tensor, i in state["kept"]}
        self.sources = {nodes[i]: source for i, source in state["sources"]}
        self.updates = [(nodes[i], update) for i, update in state["updates"]]
        for i, slots, gradients in state["trained"]:
            self.trained[nodes[i]] = training = Training()
            training.slots, training.gradients = dict.fromkeys(slots), dict.fromkeys([nodes[g] for g in gradients])

    def trains(self, variable: Node, slots: Iterable[Node], gradient: Any = None) -> None:
        """Enter that an optimizer updates a variable."""
        found = self.trained.setdefault(variable, Training())
        found.slots.update(dict.fromkeys([slot.attrs["cell"] for slot in slots]))
        if isinstance(gradient, Symbol):
            found.gradients[gradient.node] = None

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """In this context and thread, new tensors go to this graph."""
        with using(self):
            yield self

    @property
    def variables(self) -> list[Variable]:
        """All variables in the order of their creation, captured eager tensors included."""
        return list(self.variable_of.values())

    def updates_needed_by(self, results: Iterable[Any]) -> list[Symbol]:
        """The changes of state that belong to the computation of `results`."""
        ancestors = set(self.reaching([r.node for r in results]))
        return [update for node, update in self.updates if node in ancestors]

    def standing_for(self, tensor: Tensor) -> Node | None:
        """The node of an eager tensor that was used in this graph."""
        if tensor._record is not None:
            return self.replayed.get(tensor._record)
        known = self.captured.get(id(tensor))
        return known.node if known is not None and known.tensor() is tensor else None

    def get_tensor(self, name: str) -> Symbol:
        """The tensor of this name: `"x"`, or `"x:0"` as in TensorFlow 1.

        Raises GraphError when there is none, or when the name is that of an operation without a value.
        """
        node = named(self, name)
        if node.op.effect == "group":
            raise GraphError(f"The name {name!r} refers to an Operation, not a Tensor", "fetch it by its name instead")
        variable = self.variable_of.get(node)
        return self._symbols.setdefault(node, Symbol(self, node)) if variable is None else variable


@contextmanager
def using(graph: ir.Graph) -> Iterator[None]:
    """Make any graph of the IR the default of this thread."""
    state.graphs.append(graph)
    try:
        yield
    finally:
        state.graphs.pop()


def get_default_graph() -> Graph:
    """The graph of the innermost `as_default` of this thread, else the one that all threads share.

    Examples:
        >>> x = sg.placeholder(sg.float32, [])
        >>> x.graph is sg.get_default_graph()
        True
    """
    graph = dispatch.default_graph()
    if not isinstance(graph, Graph):
        raise GraphError(f"{graph!r} was not made by sg.Graph(): nothing can be added to it")
    return graph


def reset_default_graph() -> None:
    """Replace the shared default graph by an empty one; sessions and tensors of the old one keep it.

    Raises GraphError inside `as_default`.
    """
    if state.graphs:
        raise GraphError(
            "Do not use reset_default_graph() to clear nested graphs.",
            "leave the `with graph.as_default():` first, or begin another sg.Graph()",
        )
    begin_default_graph(Graph())


def begin_default_graph(graph: ir.Graph) -> None:
    """Have an empty graph for the default one. No random tensor is marked for it."""
    dispatch.GLOBAL_GRAPH = graph
    marks.forget()


def named(graph: ir.Graph, name: str) -> Node:
    """The node of this name, with or without ":0". Raises GraphError."""
    node = graph.by_name(name.removesuffix(":0"))
    if node is None:
        names = [graph.name_of(n) for n in graph.nodes]
        close = " or ".join(map(repr, difflib.get_close_matches(name, names, n=3)))
        raise GraphError(
            f"The name {name!r} refers to a Tensor which does not exist in the graph.",
            f"did you mean {close}?" if close else "give a tensor a name: sg.identity(y, name='y')",
        )
    return node


def element(graph: ir.Graph, thing: Any) -> Node:
    """The node of `graph` for a symbol, operation, node, name or captured eager tensor. Raises GraphError."""
    if isinstance(thing, str):
        return named(graph, thing)
    if isinstance(thing, Tensor):
        found = graph.standing_for(thing) if isinstance(graph, Graph) else None
        if found is not None:
            return found
        raise GraphError(
            f"Tensor {thing.name or 'of shape ' + str(tuple(thing.shape))} is not an element of this graph.",
            "an eager tensor has its value already, and enters a graph when it is used together with its tensors",
        )
    node = thing if isinstance(thing, Node) else getattr(thing, "node", None)
    if not isinstance(node, Node):
        advice = ["fetch its parts, x.indices() and x.values(), or x.to_dense()"] if getattr(thing, "is_sparse", False) else []
        raise GraphError(f"Can not convert a {type(thing).__name__} into a Tensor or Operation.", *advice)
    if node not in graph:
        raise GraphError(
            f"Tensor {node.name or node.op.name!r} is not an element of this graph.",
            "make the session with its graph: sg.Session(graph=tensor.graph)",
        )
    return node


dispatch.GLOBAL_GRAPH = Graph()


# gradients of a graph -------------------------------------------------------------------------------------------------


class GraphMode:
    """See `autodiff.requests.Mode`. Every floating tensor of a graph can be differentiated."""

    scalar_roots = False

    def tensor(self, x: Any) -> Symbol | None:
        return Symbol(x.graph, element(x.graph, x)) if isinstance(x, Symbol) else None

    def differentiable(self, x: Any) -> Symbol | None:
        tensor = self.tensor(x)
        return tensor if tensor is not None and tensor.dtype.kind in INEXACT else None

    def ones(self, root: Symbol) -> None:
        return None

    def seed(self, value: Any, root: Symbol) -> Any:
        return value if isinstance(value, (Symbol, Tensor)) else np.asarray(value, root.dtype)

    def cast(self, x: Any, dtype: np.dtype) -> Symbol:
        return cast("Symbol", F.astype(x, dtype))


def gradients(
    ys: Tensors, xs: Tensors, grad_ys: TensorLike | Iterable[TensorLike] | None = None, stop_gradients: Tensors = ()
) -> list[Symbol | MaybeNone]:
    """d(sum of grad_ys * ys) / dx for each x, as tensors of the shape and dtype of x; None where no y depends on x.

    ys, xs: tensors, one or a list; xs may be variables, inner tensors, and eager tensors that the graph captured;
    grad_ys: weights of the ys (tensors or arrays of their shapes, None for ones); stop_gradients: tensors taken for
    constants. The result can be differentiated again. Raises GradientError for a y or x that is not floating, and for
    another number of weights than ys, ShapeError for a weight of another shape, DTypeError for an integer tensor as a weight,
    GraphError for tensors of different graphs.

    Examples:
        >>> x = sg.placeholder(sg.float32, [])
        >>> (slope,) = sg.gradients(x**3, [x])
        >>> (curvature,) = sg.gradients(slope, [x])
        >>> with sg.Session() as sess:
        ...     sess.run([slope, curvature], {x: 2.0})
        [np.float32(12.0), np.float32(12.0)]
    """
    mode = GraphMode()
    roots = roots_of(mode, ys)
    if not roots:
        raise requests.no_roots()
    graph = roots[0].graph
    seeds = seeds_of(mode, roots, grad_ys)
    sources = [_tensor(graph, x) for x in _listed(xs, "xs")]
    stops = [_tensor(graph, s) for s in _listed(stop_gradients, "stop_gradients")]
    found = iter(
        append_gradients(
            [Symbol(graph, element(graph, root)) for root in roots],
            [s for s in sources if s is not None],
            seeds,
            [s for s in stops if s is not None],
        )
    )
    return [None if source is None else next(found) for source in sources]


def _listed(value: Any, what: str) -> list[Any]:
    if isinstance(value, (Symbol, Tensor)):
        return [value]
    if isinstance(value, Iterable) and not isinstance(value, str):
        return list(value)
    raise ArgumentError(f"gradients: {what} has to be a tensor or a list of tensors, got {type(value).__name__}")


def _tensor(graph: ir.Graph, thing: Any) -> Symbol | None:
    """A tensor of the graph; None for an eager tensor that the graph did not capture, on which nothing can depend."""
    if isinstance(thing, Tensor) and isinstance(graph, Graph) and graph.standing_for(thing) is None:
        return None
    return Symbol(graph, element(graph, thing))
