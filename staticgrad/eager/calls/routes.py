"""Calls of public functions on small tensors, without the functions: the ops to which calls of one kind come down.

A function checks, counts and promotes its arguments before it applies an op or two. For small tensors that takes longer than
the ops. What it comes down to depends on the shapes and dtypes of its tensors and on its other arguments, not on values, if it
also takes symbols: those have no values. So the function is called on symbols once, and the nodes that it appends are the route
of later calls of that kind: the same ops, run one after another, with the records and the errors that they have elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from ...ir import Graph, Node, Region
from ...operators import Symbol, frontends, no_route
from ...operators.node_names import NodeName
from ..grad_mode import modes
from ..tensor import PublicTensor, Tensor, wrap
from .call_cache import shared
from .op_calls import placeholders
from .route_writer import Writer
from .signature import SEQUENCES

USES = 3
"""Calls of a kind before its route is made: many kinds come once or twice, as `x.narrow(0, i, n)` in a loop."""


def _missed(
    function: Callable[..., Any], node: NodeName | None, signature: Hashable, args: tuple[Any, ...], named: dict[str, Any],
    tensors: list[Tensor],
) -> Callable[..., Any]:  # fmt: skip
    """See `Frontends.route`: `no_route` until there is one."""
    if modes.now.arrays or not tensors:
        return no_route
    uses = shared[USES, signature] = (shared[USES, signature] or 0) + 1
    if uses <= USES:
        return no_route
    found = shared[signature] = route_of(function, node, args, named, tensors)
    return found


def route_of(
    function: Callable[..., Any], node: NodeName | None, args: tuple[Any, ...], named: dict[str, Any], tensors: list[Tensor]
) -> Callable[..., Any]:
    """The route of calls of this kind, as a function of their tensors; `no_route` where the function needs values, warns, or
    does more than to apply ops."""
    graph = Graph()
    symbols = placeholders(graph, [(t._data.shape, t._data.dtype) for t in tensors])
    given = iter(symbols)
    args, named = tuple([_opened(a, given) for a in args]), {word: _opened(a, given) for word, a in named.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            out = function(*args, **named)
    except Exception:  # whatever a function raises for symbols, with values it runs, or raises it again
        return no_route
    outs = list(out) if isinstance(out, tuple) else [out]
    if not all(isinstance(x, Symbol) and x.graph is graph for x in outs):
        return no_route
    nodes = [x.node for x in outs]
    if any(n.op.leaf == "constant" for n in nodes):  # each call returns its own
        return no_route
    needed, feeds = set(graph.reaching(nodes)), [x.node for x in symbols]
    writer, steps = Writer(function.__name__, feeds, nodes), []
    for n in graph.nodes:
        if n not in needed or n in writer.feeds:
            continue
        if n.op.leaf == "constant":
            writer.given(n, _constant(n))
        elif n.op.leaf or not n.op.pure or n.op.draws or n.type.dtype.kind == "c" or n.after or isinstance(n.op.emit, Region):
            return no_route
        else:
            steps.append(n)
    if node is not None:
        name = node.name if isinstance(node.name, str) else node.name(args, named, out)
        several = named or (len(args) > 1 and isinstance(args[1], Symbol))
        read = [x.node for x in (*args, *named.values()) if isinstance(x, Symbol)] if several else []
        if name:
            writer.name((name, node.order, node.kept), None if isinstance(out, tuple) else read)
    return writer.function(steps, out.__class__ if isinstance(out, tuple) else None)


def _opened(a: Any, given: Iterator[Symbol]) -> Any:
    """An argument with symbols in the place of tensors."""
    if a.__class__ is PublicTensor:
        return next(given)
    if a.__class__ is list:
        return [_opened(x, given) for x in a]
    return tuple([_opened(x, given) for x in a]) if a.__class__ in SEQUENCES else a


def _constant(node: Node) -> Tensor:
    data = node.attrs["value"].array.view()
    data.flags.writeable = False  # it is shared
    return wrap(data)


frontends.route = _missed
