"""Calls of public functions on small tensors, without the functions: the ops to which calls of one kind come down.

A function checks, counts and promotes its arguments before it applies an op or two. For small tensors that takes longer than
the ops. What it comes down to depends on the shapes and dtypes of its tensors and on its other arguments, not on values, if it
also takes symbols: those have no values. So the function is called on symbols once, and the nodes that it appends are the route
of later calls of that kind: the same ops, run one after another, with the records and the errors that they have elsewhere.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any
from weakref import ref

import numpy as np

from ...base.types import INEXACT
from ...ir import NO_ATTRS, Graph, Node, Region
from ...ops.operators import Symbol, frontends, no_route
from ...ops.operators.node_names import NodeName
from ..execution import link, recover
from ..grad_mode import INFERRED, INFERRING, mark_inference, modes
from ..tape import ALONE, Named, Record, tick
from ..tensor import PublicTensor, Tensor, ndarray, watch, wrap
from .array_plans import call_of
from .call_cache import counted, shared
from .op_calls import Bound, by_plan, least_of, placeholders
from .signature import SEQUENCES

# the text of a route --------------------------------------------------------------------------------------------------

# The text of a route: the ops of a call, one after another, for operands whose shapes and dtypes are known.

GLOBALS = {
    "modes": modes, "recover": recover, "tick": tick, "Named": Named, "link": link, "watch": watch, "wrap": wrap,
    "INFERRED": INFERRED, "INFERRING": INFERRING, "mark_inference": mark_inference, "PublicTensor": PublicTensor,
    "Record": Record,
    "ndarray": ndarray, "asarray": np.asarray, "ALONE": ALONE, "new": object.__new__, "new_tuple": tuple.__new__,
    "ref": ref,
}  # fmt: skip


class Writer:
    """A route as the text of a function, which looks nothing up. feeds: what stands for its operands; outs: its results.

    It is `def route(t0, t1)` with lines such as these for each op. They are those of `execution.result` without what is known:
    whether a gradient can flow, and whether the value can be a view. `route.moves` says that all its values are views::

        if 64 >= mode.heavy and (found := (kernel_2.mode is mode and kernel_2.run(d0, d1)) or kernel_2.value(d0, d1)):
            d2 = found[0]
        else:
            try:
                d2 = mode.quiet(eval_2, d0, d1, axis=axis_2)
            except Exception as error:
                d2 = recover(error, op_2, (t0, t1), attrs_2)
            if d2.__class__ is not ndarray: d2 = asarray(d2)
        t2 = new(PublicTensor)
        t2._data = d2
        t2._base = t2._views = None
        if grad and (t0._tracked or t1._tracked):
            t2._tracked = True
            t2._record = record = new(Record)
            ...
        else:
            t2._tracked = False
            t2._record = None
            if INFERRING: mark_inference(t2)

    Values through which no gradient flows are arrays alone, unless somebody keeps them.
    """

    def __init__(self, name: str, feeds: Sequence[Node], outs: Sequence[Node]):
        self.numbers = {node: i for i, node in enumerate(feeds)}
        """Value i is the tensor `ti` and the array `di`."""
        self.head = ", ".join([f"t{i}" for i in range(len(feeds))])
        self.feeds, self.outs = frozenset(feeds), [*outs]
        self.lines = ["mode = modes.now", "grad = mode.grad", *[f"d{i} = t{i}._data" for i in range(len(feeds))]]
        self.names: dict[str, Any] = dict(GLOBALS)
        self.file = os.path.join(os.path.dirname(__file__), f"<route of {name}>")  # no line of the user's
        self.smooth = {node for node in feeds if node.type.dtype.kind in INEXACT}
        """Values that may require grad."""
        self.tensors = set(feeds)
        """Values that are tensors, too."""
        self.named: tuple[Any, ...] | None = None
        """What `record.named` is: name, order, kept, and the nodes that the function reads, or None for several results."""
        self.starts = False
        """Whether the time is noted at which the call begins."""

    def constant(self, value: Any) -> str:
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def given(self, node: Node, value: Any) -> None:
        """Enter a tensor that is the same in all calls."""
        number = self.numbers[node] = len(self.numbers)
        self.names[f"t{number}"], self.names[f"d{number}"] = value, value._data
        self.tensors.add(node)

    def prepare(self, steps: Sequence[Node]) -> None:
        """Find out which values have to be tensors: results, operands of records, and the bases of views that are."""
        for n in steps:
            if self.flows(n):
                self.smooth.add(n)
        kept = {*self.outs}
        for n in reversed(steps):
            if n in self.smooth:
                kept.update((n, *n.inputs))
            elif n in kept and not isinstance(n.op.eval, np.ufunc):
                kept.add(n.inputs[0])
        self.tensors |= {n for n in steps if n in kept}
        self.starts = sum(n in self.smooth for n in steps) > 1

    def flows(self, node: Node) -> bool:
        """Whether a gradient can flow through a value."""
        rules = node.op.vjp is not None and node.type.dtype.kind in INEXACT
        return rules and any(node.op.vjp_for(i) is not None for i, x in enumerate(node.inputs) if x in self.smooth)

    def step(self, node: Node) -> None:
        """Apply an op."""
        op, inputs = node.op, [self.numbers[n] for n in node.inputs]
        attrs = dict(node.attrs) or NO_ATTRS
        n = self.numbers[node] = len(self.numbers)
        record, all_attrs = self.constant(op), self.constant(attrs)
        operands = "".join(
            [f"t{i}, " if x in self.tensors else f"wrap(d{i}), " for i, x in zip(inputs, node.inputs, strict=True)]
        )
        arrays = [f"d{i}" for i in inputs]
        evaluate = call_of(node, arrays, self.constant)
        if not op.aliases and op.prepared is None:  # it may be arithmetic, which could warn
            evaluate.insert(0, "mode.quiet")
        call = ["try:", f"    d{n} = {evaluate[0]}({', '.join(evaluate[1:])})", "except Exception as error:"]
        call += [f"    d{n} = recover(error, {record}, ({operands}), {all_attrs})"]
        call += [f"if d{n}.__class__ is not ndarray: d{n} = asarray(d{n})"]
        size, least = node.inputs[0].type.size, op.eager_least or least_of(op)
        if by_plan(node) and size >= least:
            bound = self.constant(Bound(op, attrs))
            given = ", ".join(arrays)
            found = f"({bound}.mode is mode and {bound}.run({given})) or {bound}.value({given})"
            self.lines.append(f"if {size} >= mode.heavy and (found := {found}):")
            self.lines += [f"    d{n} = found[0]", "else:", *[f"    {line}" for line in call]]
        else:
            self.lines += call
        if node in self.tensors:
            self.tensor(node, n, f"({operands})", record, all_attrs)

    def tensor(self, node: Node, n: int, operands: str, record: str, attrs: str) -> None:
        """Make the tensor around a value, with its record."""
        lines = self.new_tensor(node, n, operands, record, attrs)
        if self.passed_on(node):
            i = self.numbers[node.inputs[0]]
            lines = [f"if d{n} is d{i}: t{n} = t{i}", "else:", *[f"    {line}" for line in lines]]
        self.lines += lines

    def passed_on(self, node: Node) -> bool:
        """Whether an operand can take the place of a value that is the operand itself, such as indices that were checked: no
        caller gets the value, and no gradient flows through it."""
        source = node.inputs[0] if node.inputs else None
        return (
            node.op.prepared is not None
            and node not in self.outs
            and source in self.tensors
            and not {node, source} & self.smooth
        )

    def new_tensor(self, node: Node, n: int, operands: str, record: str, attrs: str) -> list[str]:
        """Lines that make a tensor of its own around a value."""
        op, t = node.op, f"t{n}"
        lines = [f"{t} = new(PublicTensor)", f"{t}._data = d{n}", f"{t}._base = {t}._views = None"]
        bare = [f"{t}._tracked = False", f"{t}._record = None", f"if INFERRING: mark_inference({t})"]
        if op.checks and node.inputs[0] in self.tensors:
            checked = f"t{self.numbers[node.inputs[0]]}"
            bare.append(f"elif INFERRED and {checked}._inference: {t}._inference = {checked}._inference")
        if node in self.smooth:
            flow = [i for i, x in enumerate(node.inputs) if x in self.smooth and op.vjp_for(i) is not None]
            tracked = " or ".join(dict.fromkeys([f"t{self.numbers[node.inputs[i]]}._tracked" for i in flow]))
            lines += [
                f"if grad and ({tracked}):", f"    {t}._tracked = True", f"    {t}._record = record = new(Record)",
                f"    record.op = {record}", f"    record.inputs = {operands}", f"    record.attrs = {attrs}",
                f"    record.out = d{n}", "    record.clock = tick()",
                "    record.memory = record.hooks = record.position = None", f"    record.named = {self.name_of(node)}",
                *([f"    makers[{self.outs.index(node)}] = ref(record)"] if self.is_sibling(node) else []),
                "    if mode.watched: watch(record, mode)", "else:", *[f"    {line}" for line in bare],
            ]  # fmt: skip
        else:
            lines += bare
        source = node.inputs[0]
        if source in self.tensors and self.may_share(node):  # as in `result`
            i = self.numbers[source]
            lines += [
                f"base = d{n}.base",
                f"if d{n} is d{i} if base is None else base is d{i} or base is d{i}.base: link({t}, t{i}, grad)",
            ]
        return lines

    def may_share(self, node: Node) -> bool:
        """Whether a value can be in the memory of the first operand: a view, or the operand itself where nothing is to do."""
        same = node.type == node.inputs[0].type
        return node.op.aliases or (same and not isinstance(node.op.eval, np.ufunc))

    def name_of(self, node: Node) -> str:
        """What a record's `named` is: a call is one node, see `function_nodes.called`."""
        if self.named is None or node not in self.outs:
            return "None"
        text, order, kept, read = self.named
        i, several = self.outs.index(node), read is None
        given = [f"t{self.numbers[x]}" for x in read or () if x.type.dtype.kind in INEXACT]
        if not self.starts and not given and not several:  # the same in all calls
            return self.constant(Named(text, ALONE, i, (), order, kept))
        start = "start" if self.starts else "ALONE"
        makers = "".join([f"id({t}._record) if {t}._record is not None else id({t}) if {t}._tracked else 0, " for t in given])
        rest = ", ".join([f"({makers})", self.constant(() if several else order), self.constant(kept)])
        return f"new_tuple(Named, ({self.constant(text)}, {start}, {i}, {rest}, {'makers' if several else '()'}))"

    def is_sibling(self, node: Node) -> bool:
        """Whether a value is one of several results of the call, whose records know each other."""
        return self.named is not None and self.named[3] is None and node in self.outs

    def name(self, named: tuple[Any, Any, Any], read: Sequence[Node] | None) -> None:
        """Make the call one node. named: its name, order, kept; read: the tensors among its arguments, None for a call with
        several results."""
        text, order, kept = named
        self.named = text, order, kept if read is not None else ("", ""), read

    def function(self, steps: Sequence[Node], make: type | None) -> Callable[..., Any]:
        """The route. make: the class of a tuple of results."""
        self.prepare(steps)
        for node in steps:
            self.step(node)
        if self.starts and self.named is not None:
            self.lines.insert(0, "start = tick()")
        if any(map(self.is_sibling, self.outs)):
            self.lines.insert(0, f"makers = [None] * {sum(x.type.dtype.kind in INEXACT for x in self.outs)}")
        found = [f"t{self.numbers[n]}" for n in self.outs]
        together = f"({', '.join(found)},)"
        out = found[0] if make is None else together if make is tuple else f"new_tuple({self.constant(make)}, {together})"
        text = "\n    ".join([f"def route({self.head}):", *self.lines, f"return {out}"])
        exec(compile(text, self.file, "exec"), self.names)
        route: Any = self.names["route"]
        route.moves = all(n.op.aliases for n in steps)
        return counted(route)


USES = 3
"""Calls of a kind before its route is made: many kinds come once or twice, as `x.narrow(0, i, n)` in a loop. One that recurs in
another step of training will come in all of them."""


def _missed(
    function: Callable[..., Any], node: NodeName | None, signature: Hashable, args: tuple[Any, ...], named: dict[str, Any],
    tensors: list[Tensor],
) -> Callable[..., Any]:  # fmt: skip
    """See `Frontends.route`: `no_route` until there is one."""
    if modes.now.arrays or not tensors:
        return no_route
    passes = modes.now.passes
    uses, first = shared[USES, signature] or (0, passes)
    if uses < USES and passes == first:
        shared[USES, signature] = uses + 1, first
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
