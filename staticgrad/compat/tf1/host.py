"""Functions of Python that a run calls, between runs of plans.

A plan holds no such function. A run whose fetches need one first runs the plan of the function's operands, calls it, and feeds
its results to the next. All of these are one run to the program: random numbers, elements of data sets and assignments of an
earlier part are fed to the later ones, so that none is drawn, taken or done twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .core import ArgumentError, Feed, Node, StaticgradError, element, flatten, reached, static, unflatten
from .dtypes import numbers, texts


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
