"""Calls of public functions on small tensors, without the functions: the ops to which calls of one kind come down.

A function checks, counts and promotes its arguments before it applies an op or two. For small tensors that takes longer than
the ops. What it comes down to depends on the shapes and dtypes of its tensors and on its other arguments, not on values, if it
also takes symbols: those have no values. So the function is called on symbols once, and the nodes that it appends are the route
of later calls of that kind: the same ops, run one after another, with the records and the errors that they have elsewhere.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ..ir import NO_ATTRS, Graph, Node
from ..operators import Size, Symbol, frontends
from ..operators.node_names import NAMES, NodeName
from ..types import INEXACT, get_default_dtype
from .execution import recover, result
from .grad_mode import modes
from .op_calls import by_plan, least_of, placeholders, value
from .tape import Named, tick
from .tensor import PublicTensor, Tensor, wrap

Function = TypeVar("Function", bound=Callable[..., Any])
KINDS = frozenset({int, bool, str, type(None), type, type(...), *(np.dtype(code).__class__ for code in np.typecodes["All"])})
"""Classes of arguments that are part of a call's kind as they are."""
SEQUENCES = frozenset({tuple, list, Size})
ENDS = frozenset({int, type(None)})
"""Classes of the ends of slices."""
USES = 3
"""Calls of a kind before its route is made: many kinds come once or twice, as `x.narrow(0, i, n)` in a loop."""
KEPT = 128
"""Kinds of calls of a function that are remembered; then it begins anew."""
GLOBALS = {"modes": modes, "value": value, "recover": recover, "result": result, "tick": tick, "Named": Named}


def no_route(*tensors: Tensor) -> Any:
    """Of calls that have no route."""
    raise AssertionError("the function itself is called")


no_route.moves = False  # type: ignore[attr-defined]


def routed(function: Function) -> Function:
    """Let calls on eager tensors take routes. The function has no effects, draws nothing, and does the same for symbols as for
    tensors."""
    node = NAMES.get(function.__name__.rstrip("_"))
    routes: dict[tuple[Any, ...], Callable[..., Any]] = {}
    seen: dict[tuple[Any, ...], int] = {}

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if frontends.tracing:
            return function(*args, **named)
        tensors: list[Tensor] = []
        key: list[Any] = [get_default_dtype()]
        for a in args:
            if a.__class__ is PublicTensor:
                data = a._data
                key += (data.shape, data.dtype)
                tensors.append(a)
            elif a.__class__ is int:
                key += (int, a)
            elif not joins(a, key, tensors):
                return function(*args, **named)
        if named:
            for word, a in named.items():
                key.append(word)
                if not joins(a, key, tensors):
                    return function(*args, **named)
        route = routes.get(kind := tuple(key))
        if route is None:
            if modes.now.arrays or not tensors:
                return function(*args, **named)
            uses = seen[kind] = seen.get(kind, 0) + 1
            if uses <= USES:
                if len(seen) > KEPT:
                    seen.clear()
                return function(*args, **named)
            if len(routes) > KEPT:
                routes.clear()
            route = routes[kind] = route_of(function, node, args, named, tensors)
        if route is no_route:
            return function(*args, **named)
        return route(*tensors)

    def ready(*args: Any) -> Callable[..., Any] | None:
        """The route of a call, if there is one."""
        key: list[Any] = [get_default_dtype()]
        return routes.get(tuple(key)) if all(joins(a, key, []) for a in args) else None

    call.route = ready  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def viewed(function: Function) -> Function:
    """As `routed`, for a function whose result is a view: the route of a tensor and integers is found by shape and integers."""
    general = routed(function)
    views: dict[tuple[Any, ...], Callable[[Tensor], Any]] = {}

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if named or frontends.tracing or not args or args[0].__class__ is not PublicTensor:
            return general(*args, **named)
        x, *others = args
        for a in others:
            if a.__class__ is not int:
                return general(*args)
        key = (x._data.shape, *others)
        route = views.get(key)
        if route is not None:
            return route(x)
        out = general(*args)
        found = general.route(*args)  # type: ignore[attr-defined]
        if found is not None and found.moves:
            if len(views) > KEPT:
                views.clear()
            views[key] = found
        return out

    return call  # type: ignore[return-value]


def joins(a: Any, key: list[Any], tensors: list[Tensor]) -> bool:
    """Add an argument to the kind of a call, and the tensors in it to these; False for one that is no part of a kind."""
    kind = a.__class__
    if kind is PublicTensor:
        key += (a._data.shape, a._data.dtype)
        tensors.append(a)
    elif kind is float:
        key += (kind, a or str(a))  # 0.0 == -0.0
    elif kind in KINDS:
        key += (kind, a)
    elif kind is slice:
        key += (kind, a.start, a.stop, a.step)
        return {a.start.__class__, a.stop.__class__, a.step.__class__} <= ENDS
    elif kind in SEQUENCES:
        key += (kind, len(a))
        for x in a:
            if not joins(x, key, tensors):
                return False
    else:
        return False
    return True


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
    needed = set(graph.reaching(nodes))
    writer = Writer(function.__name__, [x.node for x in symbols])
    for n in graph.nodes:
        if n not in needed or n in writer.values:
            continue
        if n.op.leaf == "constant":
            writer.values[n] = writer.constant(_constant(n))
        elif n.op.leaf or not n.op.pure or n.op.draws or n.type.dtype.kind == "c" or n.after:
            return no_route
        else:
            writer.step(n)
    if node is not None:
        name = node.name if isinstance(node.name, str) else node.name(args, named, out)
        several = named or (len(args) > 1 and isinstance(args[1], Symbol))
        read = [x.node for x in (*args, *named.values()) if isinstance(x, Symbol)] if several else []
        if name:
            writer.name(nodes, (name, node.order, node.kept), read, isinstance(out, tuple))
    return writer.function(nodes, getattr(out, "_make", tuple) if isinstance(out, tuple) else None)


class Writer:
    """A route as the text of a function, which looks nothing up. feeds: what stands for its operands.

    It is `def route(t0, t1)` with lines such as these for each op, and with `record.named = ...` for the node that it is to
    users; `route.moves` says that all its values are views::

        data = value(op_2, attrs_2, t0._data, t1._data) if 64 >= mode.heavy else None
        if data is None:
            try:
                data = mode.quiet(eval_2, t0._data, t1._data, axis=axis_2)
            except Exception as error:
                data = recover(error, op_2, (t0, t1), attrs_2)
        v2 = result(op_2, (t0, t1), data, mode if t0._tracked or t1._tracked else None, attrs_2)
    """

    def __init__(self, name: str, feeds: Sequence[Node]):
        self.values = {node: f"t{i}" for i, node in enumerate(feeds)}
        """The name of each value."""
        self.head = ", ".join(self.values.values())
        self.feeds, self.lines = frozenset(feeds), ["mode = modes.now"]
        self.names: dict[str, Any] = dict(GLOBALS)
        self.file = os.path.join(os.path.dirname(__file__), f"<route of {name}>")  # no line of the user's

    def constant(self, value: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def step(self, node: Node) -> None:
        """Apply an op."""
        op, (first, *_) = node.op, node.inputs
        tensors = [self.values[n] for n in node.inputs]
        attrs = dict(node.attrs) or NO_ATTRS
        record, all_attrs, inputs = self.constant(op), self.constant(attrs), f"({', '.join(tensors)},)"
        arrays = ", ".join([f"{t}._data" for t in tensors])
        words = "".join([f", {word}={self.constant(value)}" for word, value in attrs.items()])
        evaluate = f"{self.constant(op.eval)}({arrays}{words})"
        if not op.aliases:
            evaluate = "mode.quiet(" + evaluate.replace("(", ", ", 1)
        call = ["try:", f"    data = {evaluate}", "except Exception as error:"]
        call += [f"    data = recover(error, {record}, {inputs}, {all_attrs})"]
        if by_plan(op, first.type.dtype, node.type.dtype) and first.type.size >= (op.eager_least or least_of(op)):
            size = first.type.size
            self.lines += [
                f"data = value({record}, {all_attrs}, {arrays}) if {size} >= mode.heavy else None",
                "if data is None:",
            ]
            call = [f"    {line}" for line in call]
        tracked = " or ".join([f"{t}._tracked" for t, n in zip(tensors, node.inputs, strict=True) if n.op.leaf != "constant"])
        mode = f"mode if {tracked} else None" if tracked and op.vjp is not None else "None"
        out = self.values[node] = f"v{len(self.values)}"
        self.lines += [*call, f"{out} = result({record}, {inputs}, data, {mode}, {all_attrs})"]

    def name(self, outs: Sequence[Node], named: tuple[Any, ...], read: Sequence[Node], several: bool) -> None:
        """Make the call one node, as `function_nodes.called` does."""
        text, order, kept = map(self.constant, named)
        made = [n for n in outs if n not in self.feeds and n.op.leaf != "constant"]
        if made:
            self.lines.insert(0, "start = tick()")
        makers = [
            f"id({t}._record) if {t}._record is not None else id({t}) if {t}._tracked else 0, "
            for t in [self.values[n] for n in read if n.type.dtype.kind in INEXACT]
        ]
        for i, n in enumerate(outs):
            if n in made:
                rest = f"{text}, start, {i}" if several else f"{text}, start, {i}, ({''.join(makers)}), {order}, {kept}"
                self.lines += [f"record = {self.values[n]}._record", "if record is not None:"]
                self.lines += [f"    record.named = Named({rest})"]

    def function(self, outs: Sequence[Node], make: Callable[[list[Any]], Any] | None) -> Callable[..., Any]:
        """The route. make: of several results, what makes their tuple."""
        found = [self.values[n] for n in outs]
        self.lines.append(f"return {found[0]}" if make is None else f"return {self.constant(make)}([{', '.join(found)}])")
        text = "\n    ".join([f"def route({self.head}):", *self.lines])
        exec(compile(text, self.file, "exec"), self.names)
        route: Any = self.names["route"]
        route.moves = all(n.op.aliases for n in self.values if n not in self.feeds)
        made: Callable[..., Any] = route
        return made


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
