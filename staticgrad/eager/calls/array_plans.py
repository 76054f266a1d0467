"""Plans that NumPy runs: a graph as the text of a Python function of arrays.

What eager mode makes a plan of - functions of several ops, backward passes, steps of optimizers - is a graph. Where kernels
are off, its plan is such a text: the `eval` of each op, one after another, in the order and with the bits that single
operations have. Only what a loop can compute once for all its iterations is moved out of it
(`compiler/passes/subgraphs.py`). There is no tensor, record or check of an operand in between, and a value that nobody
reads any more gives its memory to the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...base.dtypes import ANY_DTYPE
from ...base.interpreter import module
from ...base.types import TensorType, TupleType
from ...errors import ArgumentError
from ...ir import REGISTRY, Cell, Deferred, Graph, Native, Node, Reduction, Region, Window
from ...ops.indexing import interval_of
from ...ops.linear import product_of
from ...ops.operands import LoopOperands, trip_count
from ...ops.pointwise import WRITING
from ..grad_mode import modes

LARGE = 1 << 12
"""Elements from which memory is released as soon as nobody reads it."""
WRITERS = WRITING | {product_of}
"""Functions that write their result to `out`, as ufuncs do."""
OFTEN = 8
"""The least number of iterations for which a copy before the loop pays."""


class Memory(NamedTuple):
    """See `Plan.memory`: it keeps nothing from run to run."""

    arena: int = 0


class ArrayPlan:
    """`call(*arrays)` gives the list of the fetches, each in memory that nobody else holds, and assigns the effects. It returns
    None, and nothing has happened, for arrays of other shapes or dtypes, and where NumPy raises an error. source: the text.

    Raises ArgumentError for graphs with branches, loops of an unknown number of iterations, random numbers of a generator, or
    unknown extents.
    """

    memory: ClassVar[Memory] = Memory()
    waits: ClassVar[bool] = False

    def __init__(self, graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], effects: Sequence[Node] = ()):
        if any(isinstance(node.op.emit, Region) for node in graph.nodes):
            lower = module("staticgrad.compiler.passes.subgraphs").lower_subgraphs
            hoist = module("staticgrad.compiler.passes.subgraphs").hoist_elementwise
            graph, moved = lower(graph, [*feeds, *fetches], lambda body, results, types: (body, [*results]), hoist)
            feeds, fetches = [moved[node] for node in feeds], [moved[node] for node in fetches]
        writer = _Writer(graph, fetches, feeds, effects)
        self.feed_types = [node.type for node in feeds]
        self.source, self.names, self.cells, self.views = writer.text(), writer.names, writer.cells, writer.views
        exec(compile(self.source, "<plan of NumPy>", "exec"), self.names)
        self.compute = self.names["plan"]

    def wait(self) -> None:
        """It is ready."""

    def bind(self, arrays: dict[Cell, np.ndarray]) -> None:
        """Give variables their memory."""
        for cell, name in self.cells.items():
            self.names[name] = arrays[cell]
        for name, (source, view) in self.views.items():
            self.names[name] = view(self.names[source])

    def call(self, *arrays: np.ndarray) -> Any:
        """See the class."""
        try:
            return modes.now.quiet(self.compute, *arrays)
        except RuntimeError:  # inside the `eval` of an op, whose context is in use
            return None

    def run(self, arrays: Sequence[np.ndarray], store: Any) -> Any:
        """See `Plan.run`."""
        return self.call(*arrays)


class _Writer:
    """The text is straight-line: `d3 = c5(d1, d2)` for each node, with the memory of a dead operand where it fits,
    `d1 = c5(d1, d2, out=d1)`, or of a part of what it is to become a part of."""

    def __init__(self, graph: Graph, fetches: Sequence[Node], feeds: Sequence[Node], effects: Sequence[Node]):
        self.graph, self.fetches, self.feeds = graph, [*fetches], [*feeds]
        self.assigns: list[tuple[Node, Node]] = []
        """Variables, or views of them, and their new values."""
        for node in effects:
            if node.op is not REGISTRY["assign"]:
                raise ArgumentError(f"no plan of NumPy has the effect {node.op.name}")
            self.assigns.append((node.inputs[0], node.inputs[1]))
        self.wanted = [*self.fetches, *[value for _, value in self.assigns]]
        self.fed = {*self.feeds}
        self.order = graph.reaching([*self.wanted, *[place for place, _ in self.assigns]], self.fed)
        self.names: dict[str, Any] = {
            "ndarray": np.ndarray,
            "asarray": np.asarray,
            "float64": np.float64,
            "zeros": np.zeros,
            "empty": np.empty,
            "add": np.add,
            "copyto": np.copyto,
        }
        self.constants: dict[Any, str] = {}
        self.values: dict[Node, str] = {node: f"d{i}" for i, node in enumerate(feeds)}
        """The names of values."""
        self.cells: dict[Cell, str] = {}
        self.views: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {}
        """Views of variables, which are taken when those get their memory: what they are views of, and how."""
        self.lines: list[str] = []
        self.root: dict[Node, Node] = {}
        """Of each view the value of which it is one; of others themselves."""
        self.last: dict[Node, int] = {}
        """Of each root the position of the last node that reads its memory."""
        self.sums: dict[Node, tuple[Node, Node]] = {}
        """Sums of values that are 0 but for a part: the parts are added to one array. The second is such a value, and so is the
        first one, unless it is a sum of this kind."""
        self.parts: dict[Node, Node] = {}
        """These values, with the sum in which they are added."""
        self.filled: dict[Node, Node] = {}
        """Such sums whose parts are all of the array, and are no part twice, with the sum of all parts."""
        self.rows: dict[Node, str] = {}
        """Memory that a caller has for results."""
        self.inside: dict[Node, tuple[Node, str]] = {}
        """Values that are computed where they are a part of one of `filled`: of which, and the key of the part."""
        self.begun: dict[Node, str] = {}
        """The names of those of `filled` that have memory."""
        self.lent: set[Node] = set()
        """The roots that an op has read whose result may be a view of them, for some operands."""

    def constant(self, value: Any) -> str:
        key: Any = id(value)
        if value.__class__ is tuple or isinstance(value, ANY_DTYPE):
            key = value.__class__, repr(value)
        if key not in self.constants:
            name = self.constants[key] = f"c{len(self.constants)}"
            self.names[name] = value
        return self.constants[key]

    def compute(self) -> None:
        """Write the lines."""
        for position, node in enumerate(self.order):
            if node not in self.values:
                self.node(position, node)

    def body(self, count: int) -> tuple[Callable[..., list[np.ndarray]], list[int]]:
        """The function of a loop's body, whose results may be in the memory of its arguments: the next carries, so many, then
        the items of stacks. Further arguments are the memory for some of these; which ones."""
        self.live()
        given = []
        for i, node in enumerate(self.fetches[count:]):
            if self.fetches[count:].count(node) == 1 and (self.filled.get(node) is node or self.writes(node)):
                self.rows[node] = f"s{i}"
                given.append(i)
        self.compute()
        head = [*[f"d{i}" for i in range(len(self.feeds))], *self.rows.values()]
        results = [self.values[node] for node in self.fetches[:count]]
        results += [self.values[node] for i, node in enumerate(self.fetches[count:]) if i not in given]
        text = "\n    ".join([f"def body({', '.join(head)}):", *self.lines, f"return [{', '.join(results)}]"])
        exec(compile(text, "<plan of NumPy>", "exec"), self.names)
        return self.names["body"], given

    def text(self) -> str:
        checks = []
        for i, node in enumerate(self.feeds):
            shape, dtype = self.constant(node.type.shape), self.constant(node.type.dtype)
            checks.append(f"d{i}.__class__ is not ndarray or d{i}.shape != {shape} or d{i}.dtype is not {dtype}")
        self.live()
        self.compute()
        for _, value in self.assigns:
            if self.root[value].op.leaf or self.root[value] in self.fed:  # another assignment may write to it first
                self.lines.append(f"{self.values[value]}_ = {self.values[value]}.copy()")
                self.values[value] += "_"
        results = self.results()
        lines = [f"def plan({', '.join([f'd{i}' for i in range(len(self.feeds))])}):"]
        if checks:
            lines.append(f"    if {' or '.join(checks)}: return None")
        lines += ["    try:", *[f"        {line}" for line in self.lines or ["pass"]], "    except Exception: return None"]
        if self.assigns:
            writes = [f"        {self.values[place]}[...] = {self.values[value]}" for place, value in self.assigns]
            lines += ["    try:", *writes, "    except BaseException:  # of a signal's handler", *writes, "        raise"]
        return "\n".join([*lines, f"    return [{', '.join(results)}]", ""])

    def live(self) -> None:
        """Find out whose memory values are in, and how long it is read."""
        for node in self.order:
            kind = node.type
            if isinstance(node.op.emit, Region):
                self.root[node] = node
                continue
            if not isinstance(kind, TensorType) or None in kind.shape or kind.dtype.kind == "c":
                raise ArgumentError(f"no plan of NumPy has the type {kind}")
            self.root[node] = self.root[node.inputs[0]] if node.op.aliases and node not in self.fed else node
        for node in self.order:
            self.sum_of_parts(node)
        for node in {*self.sums}.difference([x for x, _ in self.sums.values()]):
            self.whole(node)
        positions = {node: position for position, node in enumerate(self.order)}
        for node in self.order:
            position = positions[self.parts.get(node, node)]
            for operand in () if node in self.fed else node.inputs:
                self.last[self.root[operand]] = max(position, self.last.get(self.root[operand], 0))
                if not self.makes(node) and not node.op.aliases:
                    self.lent.add(self.root[operand])
        for node in self.wanted:
            self.last[self.root[node]] = len(self.order)

    def sum_of_parts(self, node: Node) -> None:
        """Find out whether a value is one of `sums`."""
        if node.op.eval is not np.add or node in self.fed or any(x.type != node.type for x in node.inputs):
            return
        x, y = node.inputs
        alone = [x not in self.wanted and self.graph.uses(x) == 1 for x in (x, y)]
        if not all(alone):
            return
        if window_of(y) is None:
            x, y = y, x
        if y in self.fed or x in self.fed or window_of(y) is None or (x not in self.sums and window_of(x) is None):
            return
        self.sums[node] = x, y
        self.parts.update((part, node) for part in (x, y) if part not in self.sums)

    def whole(self, node: Node) -> None:
        """Find out whether the parts of one of `sums` fill it, and which are computed in their places."""
        chain, parts = [node], []
        while True:
            first, second = self.sums[chain[-1]]
            for value in (second,) if first in self.sums else (first, second):
                window = window_of(value)
                assert window is not None
                parts += [((window.axis, begin, end), value, i) for i, begin, end in window.parts]
            if first not in self.sums:
                break
            chain.append(first)
        places = sorted([place for place, _, _ in parts])
        (axis, begin, _), (*_, last) = places[0], places[-1]
        steps = all((axis, end) == place[:2] for (axis, _, end), place in pairwise(places))
        if not steps or begin or last != node.type.shape[axis]:
            return
        self.filled.update(dict.fromkeys(chain, node))
        for (axis, begin, end), value, i in parts:
            operand = value.inputs[i]
            alone = operand not in self.wanted and self.graph.uses(operand) == 1
            if alone and operand.type.ndim == node.type.ndim and self.writes(operand):
                self.inside[operand] = node, self.constant((*[slice(None)] * axis, slice(begin, end)))

    def begin(self, node: Node) -> str:
        """The name of one of `filled`, which has memory from then on."""
        if node not in self.begun:
            self.begun[node] = self.rows.get(node, f"p{len(self.begun)}")
            if node not in self.rows:
                kind = f"{self.constant(node.type.shape)}, {self.constant(node.type.dtype)}"
                self.lines.append(f"{self.begun[node]} = empty({kind})")
        return self.begun[node]

    def add_parts(self, node: Node) -> None:
        """Write one of `sums`. Zeros are added to it, as in a sum of whole values, for -0.0 + 0.0 is 0.0. Where its parts fill
        it they are added at once: a part may be a view, whose short rows NumPy copies in half the time that it adds them in."""
        first, second = self.sums[node]
        top = self.filled.get(node)
        if top is not None:
            name = self.begin(top)
        elif first in self.sums:
            name = self.values[first]
        else:
            name = f"d{len(self.values)}"
            self.lines.append(f"{name} = zeros({self.constant(node.type.shape)}, {self.constant(node.type.dtype)})")
        for value in (second,) if first in self.sums else (first, second):
            window = window_of(value)
            assert window is not None
            for operand, begin, end in window.parts:
                x = value.inputs[operand]
                if x in self.inside:
                    continue
                place = slice(begin, end) if x.type.ndim == node.type.ndim else begin
                part = f"{name}[{self.constant((*[slice(None)] * window.axis, place))}]"
                if top is not None:
                    self.lines.append(f"copyto({part}, {self.values[x]})")
                else:
                    self.lines.append(f"part = {part}")
                    self.lines.append(f"add(part, {self.values[x]}, out=part)")
        if top is node:
            self.lines.append(f"add({name}, {self.constant(np.zeros((), node.type.dtype))}, out={name})")
        self.values[node] = name

    def node(self, position: int, node: Node) -> None:
        """Compute a value."""
        if node in self.sums:
            self.add_parts(node)
            return
        if node in self.parts:
            self.values[node] = "None"
            return
        op, name = node.op, f"d{len(self.values)}"
        if op.leaf == "variable":
            self.values[node] = self.cells[node.attrs["cell"]] = f"v{len(self.cells)}"
            return
        if op.leaf in ("constant", "shape"):
            self.values[node] = self.constant(node.attrs["value"].array if op.leaf == "constant" else op.eval(**node.attrs))
            return
        if op.leaf == "argument":
            source = node.attrs["source"]
            self.lines.append(f"{name} = float64({self.constant(source.owner)}[{self.constant(source.key)}])")
            self.values[node] = name
            return
        effects = not op.pure or op.stateful or node.after
        if effects or op.leaf or isinstance(op.emit, Deferred):
            raise ArgumentError(f"no plan of NumPy has the operation {op.name}")
        operands = [self.values[x] for x in node.inputs]
        if self.root[node].op.leaf == "variable":
            view = op.prepared(node) if op.prepared is not None else partial(op.eval, **node.attrs)
            self.values[node] = name = f"w{len(self.views)}"
            self.views[name] = operands[0], view
            return
        if isinstance(op.emit, Region):
            call = [self.constant(loop_of(node)), *operands]
        else:
            call = call_of(node, operands, self.constant)
        elementwise = self.writes(node) and op.eval is not product_of
        if node in self.inside:
            top, key = self.inside[node]
            call.append(f"out={self.begin(top)}[{key}]")
        elif node in self.rows:
            call.append(f"out={self.rows[node]}")
        elif elementwise and (room := self.room(position, node)) is not None:
            name = self.values[room]
            call.append(f"out={name}")
        self.lines.append(f"{name} = {call[0]}({', '.join(call[1:])})")
        self.values[node] = name
        by_ufuncs = all(isinstance(reader.op.eval, np.ufunc) for reader in self.graph.succ[node])
        if (
            not isinstance(op.emit, Region) and not node.type.shape and (node in self.wanted or not by_ufuncs)
        ):  # NumPy gives scalars in place of 0-d arrays
            self.lines.append(f"{name} = asarray({name})")
        self.release(position, node)

    def writes(self, node: Node) -> bool:
        """Whether the result of an operation can be written to given memory, in which it is new."""
        op = node.op
        apart = node in self.sums or node in self.parts
        if apart or node in self.fed or op.leaf or op.prepared is not None or not node.type.shape:
            return False
        return isinstance(op.eval, np.ufunc) or op.eval in WRITERS

    def room(self, position: int, node: Node) -> Node | None:
        """The operand whose memory the result of an elementwise function can have: one of its type that is not read again.
        Where the operands are in several orders of memory, the first one decides about that of the result, as it does in
        NumPy."""
        for operand in node.inputs:
            kind = operand.type
            if (kind.shape, kind.dtype) == (node.type.shape, node.type.dtype) and kind.shape:
                own = self.makes(operand) and operand not in self.lent
                return operand if own and self.last[operand] == position else None
        return None

    def release(self, position: int, node: Node) -> None:
        """Let go of large values that were read for the last time."""
        for operand in dict.fromkeys(node.inputs):
            name = self.values[operand]
            root = self.root[operand]
            dead = self.last[root] == position and not (root.op.leaf or root in self.fed)
            large = isinstance(operand.op.emit, Region) or operand.type.size >= LARGE
            if dead and large and name != self.values[node]:
                self.lines.append(f"{name} = None")

    def results(self) -> list[str]:
        """The fetches, each in row-major order where it is a view, and in memory of its own."""
        found: list[str] = []
        taken = {self.root[value] for _, value in self.assigns}
        for node in self.fetches:
            root, name = self.root[node], self.values[node]
            if root in taken or root.op.leaf or root in self.fed or (root is not node and not self.makes(root)):
                found.append(f"{name}.copy()")
            elif root is not node:
                found.append(f"{name} if {name}.flags.c_contiguous else {name}.copy()")
            elif self.makes(node):
                found.append(name)
            else:
                others = [f" and {name} is not {self.values[x]}" for x in dict.fromkeys(node.inputs) if x.type == node.type]
                found.append(f"{name} if {name}.base is None{''.join(others)} else {name}.copy()")
            taken.add(root)
        return found

    def makes(self, node: Node) -> bool:
        """Whether a value is a new array for all operands."""
        new = isinstance(node.op.eval, np.ufunc) or node.op.eval in WRITERS or isinstance(node.op.emit, Reduction)
        return new and node not in self.fed


def call_of(node: Node, operands: Sequence[str], constant: Callable[[Any], str]) -> list[str]:
    """The call that computes a node, as text: the function, then its arguments. constant: gives the name of a value."""
    op = node.op
    if op.prepared is not None:
        return [constant(op.prepared(node)), *operands]
    return [constant(op.eval), *operands, *[f"{word}={constant(value)}" for word, value in node.attrs.items()]]


def window_of(node: Node) -> Window | None:
    """Of a value that is 0 but for parts along an axis, which are operands of its dtype: these."""
    emit = node.op.emit
    if not isinstance(emit, Native) or emit.fused is None:
        return None
    window = emit.fused(node)
    if window is None and node.op is REGISTRY["unslice"] and (found := interval_of(node)) is not None:
        axis, begin, end = found  # an element of the axis
        window = Window(axis, ((0, begin, end),))
    if not isinstance(window, Window) or any(node.inputs[i].type.dtype != node.type.dtype for i, _, _ in window.parts):
        return None
    return window


def loop_of(node: Node) -> Callable[..., tuple[np.ndarray, ...]]:
    """The function of the operands of a loop that gives its results. Raises ArgumentError for a branch, and for a loop whose
    number of iterations is a value."""
    if "body" not in node.attrs or (loop := LoopOperands(node.attrs, node.inputs)).dynamic:
        raise ArgumentError(f"no plan of NumPy has the operation {node.op.name}")
    first, last, count = len(loop.consts), len(loop.consts) + len(loop.inits), len(loop.inits)
    body, given = _Writer(loop.body.graph, loop.body.results, loop.body.params, ()).body(count)
    assert isinstance(node.type, TupleType)
    stacks = [(kind.shape, kind.dtype) for kind in node.type.parts[count:]]
    n = trip_count(node.attrs["length"], [x.type for x in loop.stacks])
    order = slice(n - 1, None, -1) if node.attrs["reverse"] and n else slice(0, n)
    others = [i for i in range(len(stacks)) if i not in given]

    def run(*operands: np.ndarray) -> tuple[np.ndarray, ...]:
        constants, carries, items = [*operands[:first]], [*operands[first:last]], operands[last:]
        if n >= OFTEN:  # products with matrices in another order of memory take longer
            constants = [np.ascontiguousarray(x) if x.ndim > 1 else x for x in constants]
        made = [np.empty(shape, dtype) for shape, dtype in stacks]
        left = [made[i][order] for i in others]
        rows = [*[x[order] for x in items], *[made[i][order] for i in given]]
        for t, row in enumerate(zip(*rows, strict=True) if rows else repeat((), n)):
            results = body(*constants, *carries, *row)
            carries = results[:count]
            for stack, value in zip(left, results[count:], strict=True):
                stack[t] = value
        return (*[np.array(x) for x in carries], *made)

    return run
