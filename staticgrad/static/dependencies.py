"""Order and effects: operations without a value, control dependencies, and the default session."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.types import TensorType, bool_
from ..errors import GraphError, user_line
from ..ir import REGISTRY, Graph, Node, OfGraph
from ..ops.operators import Symbol, Tensor, TensorLike, append, as_array, control_of, frontends, state
from .graphs import element, get_default_graph

if TYPE_CHECKING:
    from .session import Session


class Operation(OfGraph):
    """Something to run for its effect: `Session.run` returns None for it. Made by `group` and by initializers."""

    __slots__ = ()

    def __init__(self, graph: Graph, node: Node):
        self.graph = graph
        self.node = node

    @property
    def name(self) -> str:
        """The name in its graph."""
        return self.graph.name_of(self.node)

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Session | None = None) -> None:
        """Run it in `session`, the default one when left out; see `Session.run`."""
        frontends.evaluate(self, feed_dict, session)

    def __repr__(self) -> str:
        return f"<sg.Operation {self.name!r}>"


@contextmanager
def control_dependencies(inputs: Iterable[Tensor | Operation] | None) -> Iterator[None]:
    """Tensors made in this context are computed after `inputs` (tensors, operations): a variable that is used in it has
    the value that the assigns among the inputs, and among their dependencies, give it.

    Nested contexts add up; None drops all of them. A tensor made outside keeps its order: to have its value *and* the
    order, write `sg.identity(tensor)` inside. Raises GraphError for inputs that are not of a graph.

    Examples:
        >>> w = sg.Variable(1.0)
        >>> with sg.control_dependencies([sg.assign(w, w + 1)]):
        ...     after = w * 10
        >>> with sg.Session() as sess:
        ...     sess.run(sg.global_variables_initializer())
        ...     sess.run(after)
        np.float32(20.0)
    """
    if inputs is None:
        entered: tuple[Node, ...] = ()
    else:
        if not isinstance(inputs, Iterable):
            raise GraphError(f"control_dependencies: expected a list of tensors and operations, got {type(inputs).__name__}")
        things = list(inputs)
        outer = state.control[-1] if state.control else ()
        entered = tuple(dict.fromkeys([*outer, *(element(_graph_of(things), thing) for thing in things)]))
    state.control.append(entered)
    try:
        yield
    finally:
        state.control.pop()


def group(*inputs: Tensor | Operation, name: str | None = None) -> Operation:
    """One operation that runs all `inputs`: tensors, operations, or lists of them.

    Raises GraphError for inputs of different graphs, or for inputs that are not of a graph.

    Examples:
        >>> a, b = sg.Variable(0.0), sg.Variable(0.0)
        >>> both = sg.group(sg.assign(a, 1.0), sg.assign(b, 2.0))
        >>> with sg.Session() as sess:
        ...     sess.run(sg.global_variables_initializer())
        ...     sess.run(both), sess.run((a, b))
        (None, (np.float32(1.0), np.float32(2.0)))
    """
    things = list(_flat(inputs))
    graph = _graph_of(things)
    after = tuple(dict.fromkeys([*(element(graph, thing) for thing in things), *control_of(graph)]))
    label = graph.claim_name(name if name is not None else "group")
    node = graph.add(REGISTRY["group"], (), {}, TensorType((), bool_), label, user_line(), after)
    return Operation(graph, node)


def no_op(name: str | None = None) -> Operation:
    """Does nothing; useful under `control_dependencies`."""
    return group(name=name if name is not None else "no_op")


def identity(x: TensorLike, name: str | None = None) -> Symbol:
    """The value of `x` (a tensor, an array, a number) as a tensor of its own: to name it, or to order it."""
    graph = x.graph if isinstance(x, Symbol) else get_default_graph()
    if not isinstance(x, (Symbol, frontends.tensor_class)):
        x = as_array(x)
    return append(graph, REGISTRY["identity"], (x,), {}, name=name if name is not None else "")


def _graph_of(things: list[Any]) -> Graph:
    """The graph of the first thing that has one, else the default."""
    for thing in things:
        graph = getattr(thing, "graph", None)
        if isinstance(graph, Graph):
            return graph
    return get_default_graph()


def _flat(things: Iterable[Any]) -> Iterator[Any]:
    for thing in things:
        if isinstance(thing, (list, tuple)):
            yield from _flat(thing)
        elif thing is None:
            raise GraphError("group: None can't be run", "expected the result of an optimizer or an assign")
        else:
            yield thing


# the default session of a thread, which `tensor.eval()` and `operation.run()` use ------------------------------------


class Defaults(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Session] = []


defaults = Defaults()


def get_default_session() -> Session | None:
    """The session of the innermost `with` of this thread."""
    return defaults.sessions[-1] if defaults.sessions else None


def session_or_default(session: Session | None, what: str) -> Session:
    """The session given, else the default one. Raises GraphError when there is none."""
    chosen = session if session is not None else get_default_session()
    if chosen is None:
        raise GraphError(
            f"Cannot evaluate tensor using `{what}()`: No default session is registered.",
            f"use `with sess.as_default()` or pass an explicit session to `{what}(session=sess)`",
        )
    return chosen


def evaluate(fetch: Any, feed_dict: Mapping[Any, Any] | None = None, session: Session | None = None) -> Any:
    """`session.run(fetch, feed_dict)`, in the default session when none is given."""
    return session_or_default(session, "eval").run(fetch, feed_dict)


frontends.evaluate = evaluate
