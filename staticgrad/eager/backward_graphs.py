"""The backward pass of a tape as graphs, built from the form of the tape by the rules of its ops.

The values that the tape holds are placeholders. A graph may end before the leaves: a record whose cotangents no plan computes
is left to the engine, as a call of the user's function. The next graph goes on from the cotangents that the engine has then.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from ..autodiff.pull import Edge, Pull, between, by_rules
from ..errors import StaticgradError
from ..ir import Graph, Node, Region, View
from ..ir.walks import reached
from ..ops.control.subgraph_tracing import copied
from ..ops.control.vjp import joined
from ..ops.leaves import constant, constant_of
from ..ops.operands import Parts
from ..ops.operators import F, Symbol, append
from ..ops.reductions import repeated
from ..ops.shaping import broadcast_like_op
from .calls.composite_records import PART, Steps
from .calls.op_calls import placeholders
from .sparse_gradients import SparseGradient, sparse_gradient_of
from .tape_form import Form, FormOperand, FormRecord, Passes, Place, Source


class Cotangent(NamedTuple):
    """A cotangent, and where it belongs."""

    place: Place
    value: Any


class Rows(NamedTuple):
    """The gradient of a leaf that is 0 except for a few rows. parts: what it is made of, numbers of fetches or views of what is
    fed."""

    leaf: int
    how: SparseGradient
    parts: list[int | Steps]


class Backward(NamedTuple):
    """feeds, fetches: nodes of the graph, perhaps no fetches; passes: what is done with them."""

    graph: Graph
    feeds: list[Node]
    fetches: list[Node]
    passes: Passes


MOST = 32
"""Parts of a backward pass, after which the engine does the rest."""


def backward_graphs(form: Form) -> list[Backward]:
    """The parts of the pass, one after another; nothing where there is nothing to compute."""
    parts: list[Backward] = []
    begin: Begin = [((root, None), ("seed", i, 0)) for i, root in enumerate(form.roots)]
    while begin and len(parts) < MOST:
        built = _Builder(form)
        built.differentiate(begin)
        if not parts or built.planned:
            part = built.result()
            if part is None:
                break
            parts.append(part)
        else:  # more records for the engine, at once
            parts[-1].passes.left.extend(built.left)
        begin = built.following()
    while parts and not parts[-1].passes.planned:
        parts.pop()
    return parts


Begin = list[tuple[Place, Source]]
"""The cotangents from which a part goes on."""


class _Left(Exception):
    """No plan computes the cotangents of a record's operands."""


class _Builder(Pull[int]):
    """The walk over the rows of a form. Its values are the numbers of records, and `~number` of leaves."""

    def __init__(self, form: Form):
        super().__init__(range(len(form.rows)))
        self.form, self.graph = form, Graph()
        self.fed: dict[Source, Symbol] = {}
        self.values: dict[int, Symbol] = {}
        self.ends: list[int] = []
        """The records that get a cotangent from the graph which is not passed on in it."""
        self.left: list[int] = []
        """Those of them that no plan passes."""
        self.later: set[int] = set()
        """Those, and all that they were made of."""
        self.planned: set[int] = set()
        self.ages = {number: -i for i, number in enumerate(form.order)}
        self.needed: dict[int, Sequence[Edge]] | None = None
        """The edges on paths to targets; None for all edges."""
        if form.targets is not None:
            self.needed = dict.fromkeys(form.targets, ())
            self.needed.update(between(reversed(form.order), self._operands, form.targets))

    def differentiate(self, begin: Begin) -> None:
        for (number, part), source in begin:
            if self.needed is None or number in self.needed:
                row = self.form.rows[number]
                kinds = row.results or (row.call.kinds if row.call is not None else ())
                g = self._fed(source, *((row.shape, row.dtype) if part is None else kinds[part]))
                self.add(number, g if part is None else Parts({part: g}))
        self.walk()

    def following(self) -> Begin:
        """The cotangents that the engine has when it has visited what is left."""
        made = [place for number in self.left for _, place in self.edges(number) if place >= 0]
        kept = [(number, part) for number in self.ends if number not in self.left for _, part in self._end(number)]
        places = dict.fromkeys([*kept, *[(number, None) for number in made]])
        return [((number, part), ("pending", number, -1 if part is None else part)) for number, part in places]

    def age(self, number: int) -> int:
        return self.ages[number]

    def _operands(self, number: int) -> list[Edge]:
        return [(i, x) for i, x in enumerate(self.form.rows[number].operands) if isinstance(x, int)]

    def edges(self, number: int) -> Sequence[Edge]:
        return self._operands(number) if self.needed is None else self.needed.get(number, ())

    def total(self, value: Any, known: Any, g: Any) -> Any:
        return joined(known, g)

    def add(self, place: int, g: Any) -> None:
        if place < 0:
            self.found[place] = joined(self.found.get(place), g)
        else:
            super().add(place, g)

    def visit(self, number: int, g: Any) -> None:
        if number in self.later:
            self.note(number, g)
            self.ends.append(number)
            return
        try:
            super().visit(number, g)
        except _Left:
            self.ends.append(number)
            self.left.append(number)
            self.later.update(reached([number], lambda n: [x for _, x in self._operands(n) if x >= 0 and x not in self.later]))
        else:
            self.planned.add(number)

    def rules(self, number: int, g: Any, edges: Sequence[Edge]) -> list[Any]:
        row, positions = self.form.rows[number], [edge[0] for edge in edges]
        if row.results:
            raise _Left
        if row.call is not None:
            return self._call(number, row, positions, g)
        if row.op is PART:
            return [Parts({row.part: g})]
        operands = [self._operand(number, i) for i in range(len(row.operands))]
        try:
            node = append(self.graph, row.op, operands, dict(row.attrs)).node
            if node.inputs != tuple([x.node for x in operands]) or (node.type.shape, node.type.dtype) != (row.shape, row.dtype):
                raise _Left
            out, first = self._value(number), len(self.graph.nodes)
            found = [*by_rules(row.op, positions, g, node, out, operands)]
        except (StaticgradError, TypeError, ValueError):  # a rule for arrays alone
            raise _Left from None
        if not all(x is None or (isinstance(x, Symbol) and x.graph is self.graph) for x in found):
            raise _Left
        for node in self.graph.nodes[first:]:
            if not (node.op.leaf or node.op.emit) or isinstance(node.op.emit, Region):
                raise _Left
        return found

    def _call(self, number: int, row: FormRecord, edges: list[int], g: Any) -> list[Any]:
        """The cotangents of a call of several ops, by the graph of its own backward plan. One with a loop stays a plan of its
        own: nearly all of its time is in the loop, and threads share the rows of a batch."""
        call, (fetches, feeds) = row.call, row.call.backward.value
        if any(isinstance(node.op.emit, Region) for node in reached(fetches, lambda node: node.inputs)):
            raise _Left
        given = [self._seed(g, i, call.kinds[i]) for i in call.smooth]
        for i in call.reads:
            given.append(self._operand(number, i) if i >= 0 else self._result_of_call(number, row, i))
        for i, node in enumerate(feeds[len(given) :]):
            given.append(self._fed(("kept", number, i), node.type.shape, node.type.dtype))
        moved = {node: symbol.node for node, symbol in zip(feeds, given, strict=True)}
        wanted = {i: node for i, node in zip(call.positions, fetches, strict=True) if i in edges}
        found = dict(zip(wanted, copied(self.graph, [*wanted.values()], moved), strict=True))
        return [Symbol(self.graph, found[i]) if i in found else None for i in edges]

    def _seed(self, g: Any, number: int, kind: tuple[tuple[int, ...], np.dtype]) -> Symbol:
        """The cotangent of a result of a call."""
        if not isinstance(g, Parts):
            return cast("Symbol", g)
        if number not in g:
            zero = append(self.graph, constant, (), constant_of(np.zeros((), kind[1])))
            g[number] = F.broadcast_to(zero, kind[0])
        return cast("Symbol", g[number])

    def _result_of_call(self, number: int, row: FormRecord, position: int) -> Symbol:
        if not row.call.results:
            return self._value(number)
        i = position + row.call.results
        return self._fed(("value", number, i), *row.call.kinds[i])

    # values -----------------------------------------------------------------------------------------------------------

    def _fed(self, source: Source, shape: tuple[int, ...], dtype: np.dtype) -> Symbol:
        if source not in self.fed:
            (self.fed[source],) = placeholders(self.graph, [(shape, dtype)])
        return self.fed[source]

    def _operand(self, number: int, position: int) -> Symbol:
        operand = self.form.rows[number].operands[position]
        if isinstance(operand, FormOperand):
            return self._fed(("operand", number, position), operand.shape, operand.dtype)
        if operand < 0:
            leaf = self.form.leaves[~operand]
            return self._fed(("leaf", ~operand, 0), leaf.shape, leaf.dtype)
        if self.form.opaque(operand):
            row = self.form.rows[operand]
            return self._fed(("operand", number, position), row.shape, row.dtype)
        return self._value(operand)

    def _value(self, number: int) -> Symbol:
        """The result of a record: a view is taken again, so that arrays in row-major order are fed."""
        if number not in self.values:
            chain = [number]
            while (source := self._viewed(chain[-1])) is not None and source not in self.values:
                chain.append(source)
            for each in reversed(chain):
                row = self.form.rows[each]
                if isinstance(row.op.emit, View) and len(row.operands) == 1:
                    self.values[each] = append(self.graph, row.op, [self._operand(each, 0)], dict(row.attrs))
                else:
                    self.values[each] = self._fed(("result", each, 0), row.shape, row.dtype)
        return self.values[number]

    def _viewed(self, number: int) -> int | None:
        """The record of which a record's result is a view."""
        row = self.form.rows[number]
        if not isinstance(row.op.emit, View) or len(row.operands) != 1:
            return None
        (operand,) = row.operands
        return operand if isinstance(operand, int) and operand >= 0 and not self.form.opaque(operand) else None

    # the result -------------------------------------------------------------------------------------------------------

    def result(self) -> Backward | None:
        form = self.form
        ends = [Cotangent((number, part), g) for number in self.ends for g, part in self._end(number)]
        if form.targets is None:
            ends += [Cotangent((place, None), self.found[place]) for place in self.found if place < 0]
        else:
            wanted = [place for place in dict.fromkeys(form.targets) if place in self.found and place not in self.ends]
            ends += [Cotangent((place, None), self.found[place]) for place in wanted]
        sources = {symbol.node: source for source, symbol in self.fed.items()}
        kept: list[Place] = []
        fetches: list[Node] = []
        moved: list[tuple[Place, Moved]] = []
        sparse: list[tuple[int, SparseGradient]] = []
        for place, g in ends:
            how = sparse_gradient_of(g.node) if place[0] < 0 else None
            if how is not None:
                sparse.append((~place[0], how))
            elif (view := moved_from(g.node, sources)) is not None:
                moved.append((place, view))
            else:
                kept.append(place)
                fetches.append(g.node)
        if not ends:
            return None
        parts = {part: moved_from(part, sources) for _, how in sparse for part in how.parts}
        fetches += [part for part, view in parts.items() if view is None]
        views = [view for _, view in moved] + [view for view in parts.values() if view is not None]
        read = {*self.graph.reaching(fetches), *[view.node for view in views]}
        feeds = [node for node in sources if node in read]
        steps = [(place, view.steps(feeds)) for place, view in moved]
        found = {part: fetches.index(part, len(kept)) if view is None else view.steps(feeds) for part, view in parts.items()}
        rows = [Rows(leaf, how, [found[part] for part in how.parts]) for leaf, how in sparse]
        valued = {*reached([*fetches, *[view.node for view in views]], _values_read)}
        shapes = {sources[n] for n in feeds if n not in valued}
        passes = Passes([sources[n] for n in feeds], bool(fetches), kept, steps, rows, self.planned, shapes, self.left)
        return Backward(self.graph, feeds, fetches, passes)

    def _end(self, number: int) -> list[tuple[Any, int | None]]:
        """What the engine gets at a record: a cotangent, or those of some results of a call."""
        g = self.found[number]
        return [(part, i) for i, part in g.items()] if isinstance(g, Parts) else [(g, None)]


def _values_read(node: Node) -> list[Node]:
    """The operands of which a node reads more than the shape."""
    return [x for i, x in enumerate(node.inputs) if i not in node.op.shape_only]


class Moved(NamedTuple):
    """Views that are taken of a node, which is fed."""

    node: Node
    chain: tuple[tuple[Any, dict[str, Any]], ...]

    def steps(self, feeds: list[Node]) -> Steps:
        return Steps(feeds.index(self.node), self.chain)


def moved_from(node: Node, sources: Container[Node]) -> Moved | None:
    """A value that is a view of one of `sources`, or one of them; None for others."""
    chain: list[tuple[Any, dict[str, Any]]] = []
    while (step := _step(node)) is not None:
        chain.append(step)
        node = node.inputs[0]
    return Moved(node, tuple(chain[::-1])) if node in sources else None


def _step(node: Node) -> tuple[Any, dict[str, Any]] | None:
    """The function of the first operand's array of which a node is a view, with its attributes; None for other nodes."""
    if isinstance(node.op.emit, View) and len(node.inputs) == 1:
        return node.op.eval, dict(node.attrs)
    return (repeated, {"shape": node.type.shape}) if node.op is broadcast_like_op else None
