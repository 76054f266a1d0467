"""Decisions that are made once for many shapes: a template holds a program's, with the conditions on extents that they rely on.

Batches of 32 and of 7 rows need the same fusion and the same kernels. So the passes up to the schedule run over extents that
are symbols (`passes/symbolic_extents.py`). Another trace of the same operations, whose extents meet the conditions, takes the
graph, the groups and the texts of kernels from the template, with its own numbers filled in. Order, memory and the calls of
routines are made anew from those numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import NoneType
from typing import Any

from ..base.types import TensorType
from ..ir import Cell, Deferred, Graph, Layout, Literal, Node, Region, Subgraph
from .codegen.operands import KernelSource
from .fusion.epilogue import Sum
from .fusion.fuse import Decision, Group
from .fusion.node_facts import IterationDomain, Layouts
from .passes.specialize import FunctionalGraph, shape_leaf
from .passes.symbolic_extents import (
    BEGIN,
    Bodies,
    Conditions,
    Filler,
    RestatedProgram,
    Survey,
    SymbolicExtent,
    has_extents,
    symbolic_attrs,
)

Writer = Callable[[Group, Layouts, dict[Node, Node], dict[Node, int]], KernelSource]
"""(group, layouts, places of values, numbers of nodes) -> the text of a kernel and its arguments."""
Types = Mapping[Node, TensorType]
Inspect = Callable[[str, Graph, Sequence[Node]], None] | None


IN_CODE = re.compile(f"^[^#\\n]*{BEGIN}", re.MULTILINE)
"""An extent in a line of code, not in its comment."""
UNFOLLOWED = frozenset({Deferred, Region, NoneType})
"""Kinds of ops whose shapes are not followed: loops and branches, and what Python computes."""


class Unsuitable(Exception):
    """Why a template can't be made, or does not serve."""


class Another(Unsuitable):
    """The template is of another program."""


@dataclass
class Decided:
    """A program before its schedule."""

    graph: Graph
    feeds: list[Node]
    fetches: list[Node]
    assigns: list[tuple[Cell, Node]]
    layouts: Layouts
    groups: list[Group]
    sums: list[Sum]
    decisions: list[Decision] | Decisions
    rewrites: list[tuple[str, str]]
    notes: list[str]
    passed: list[str]
    """What the user's passes did."""


class Decisions(Sequence[Decision]):
    """Decisions whose texts get their numbers when they are read."""

    def __init__(self, decisions: Sequence[Decision], filler: Filler, moved: Mapping[Node, Node]):
        self.decisions, self.filler, self.moved = decisions, filler, moved

    def __len__(self) -> int:
        return len(self.decisions)

    def __getitem__(self, at: Any) -> Any:
        found = self.decisions[at]
        return [self._filled(d) for d in found] if isinstance(at, slice) else self._filled(found)

    def __iter__(self) -> Iterator[Decision]:
        return map(self._filled, self.decisions)

    def __add__(self, more: list[Any]) -> list[Any] | Decisions:
        return [*self, *more] if more else self

    def _filled(self, d: Decision) -> Decision:
        reason = self.filler.text(d.reason)
        return Decision(self.moved.get(d.producer, d.producer), self.moved.get(d.consumer, d.consumer), d.fused, reason)


# symbols ------------------------------------------------------------------------------------------------------------


def leading(prepared: FunctionalGraph, known: Types) -> list[tuple[int, int]]:
    """(number of a feed, axis) of the extents that are expected to change: the open ones of placeholders, or, where no
    placeholder has one, the leading ones."""
    feeds = list(enumerate(prepared.feeds))
    open_axes = [(i, axis) for i, feed in feeds for axis, d in enumerate(feed.type.shape) if d is None]
    return open_axes if open_axes else [(i, 0) for i, feed in feeds if known[feed].shape]


def changed(before: Sequence[tuple[Any, ...]], shapes: Sequence[tuple[Any, ...]]) -> list[tuple[int, int]]:
    """The same where an earlier trace had other shapes, of as many axes: those that changed."""
    pairs = enumerate(zip(before, shapes, strict=True))
    return [(i, axis) for i, (a, b) in pairs for axis, (p, q) in enumerate(zip(a, b, strict=True)) if p != q]


class _Symbolic:
    """A program over symbols, made of one over numbers, and checked like it (`passes/specialize.py`). recorded: the same
    program from a trace over symbols, which knows where its shapes came from; without it that is guessed."""

    def __init__(
        self, prepared: FunctionalGraph, known: Types, axes: Sequence[tuple[int, int]],
        recorded: RestatedProgram | None = None,
    ):  # fmt: skip
        self.conditions = Conditions() if recorded is None else recorded.conditions
        self.symbols: list[tuple[int, int]] = [] if recorded is None else [*recorded.symbols]
        """Where each symbol's value is found: (number of a feed, axis)."""
        self.recorded = None if recorded is None else recorded.prepared.graph.nodes
        self.follows = recorded is not None or all(prepared.feeds[i].type.shape[axis] is None for i, axis in axes)
        """Whether all attributes are known to be right: an extent that was unknown when the graph was built is in none."""
        self.by_value: dict[int, SymbolicExtent] = {}
        self.survey = Survey()
        self.attrs: dict[int, dict[str, Any]] = {}
        """By the number of a node, attributes with symbols."""
        self.types: list[TensorType] = []
        """Of the feeds."""
        if recorded is not None:
            if [n.op for n in recorded.prepared.graph.nodes] != [n.op for n in prepared.graph.nodes]:
                raise Unsuitable("extents are equal that need not be")
            self.types = [feed.type for feed in recorded.prepared.feeds]
        for i, feed in enumerate(prepared.feeds if recorded is None else ()):
            shape: list[Any] = list(known[feed].shape)
            for number, axis in axes:
                if number == i and shape[axis] > 1:
                    shape[axis] = self._symbol(i, axis, feed, shape[axis])
            self.types.append(TensorType(tuple(shape), known[feed].dtype))
        if not self.symbols:
            raise Unsuitable("no extent of the arguments may change")
        self.moved: dict[Node, Node] = {}
        self.dynamic: set[Node] = set()
        """Nodes of the new graph whose shapes depend on symbols."""
        self.graph = Graph(intern=prepared.graph.intern)
        given = dict(zip(prepared.feeds, self.types, strict=True))
        for number, node in enumerate(prepared.graph.nodes):
            self.moved[node] = new = self._node(number, node, given)
            if has_extents(new.type):
                self.dynamic.add(new)
        move = self.moved.__getitem__
        feeds = [self.moved.get(f, f) for f in prepared.feeds]
        self.known = dict(zip(feeds, self.types, strict=True))
        self.prepared = FunctionalGraph(
            self.graph, feeds, [*map(move, prepared.fetches)], [(cell, move(value)) for cell, value in prepared.assigns],
            prepared.draws, [*map(move, prepared.needs)],
        )  # fmt: skip

    def _symbol(self, number: int, axis: int, feed: Node, value: int) -> SymbolicExtent:
        if value not in self.by_value:
            self.by_value[value] = self.conditions.symbol(f"{feed.name or f'input {number}'}.shape[{axis}]", value)
            self.symbols.append((number, axis))
        return self.by_value[value]

    def _node(self, number: int, node: Node, given: Types) -> Node:
        recorded = None if self.recorded is None else self.recorded[number]
        if not self.follows and node.op.emit.__class__ in UNFOLLOWED:
            raise Unsuitable(f"shapes are not followed into {node.op.name}")
        if node in given:
            kind = given[node]
            attrs = {**node.attrs, "type": kind} if "type" in node.attrs else node.attrs
            return self.graph.add(node.op, (), attrs, kind, node.name, node.where)
        inputs = tuple([self.moved[i] for i in node.inputs])
        attrs = node.attrs
        if recorded is not None and self.survey.any(recorded.attrs.values()):
            attrs = self.attrs[number] = dict(recorded.attrs)
            if not inputs:
                return self.graph.add(node.op, (), attrs, recorded.type, node.name, node.where)
        if not node.inputs:
            return self.graph.append(node)
        if recorded is None and "shape" in attrs and inputs[0] in self.dynamic:
            found = {**attrs, "shape": self._shape(attrs["shape"], inputs)}
            if symbolic_attrs(found):
                attrs = self.attrs[number] = found
        if recorded is None and "slices" in attrs and inputs[0] in self.dynamic:
            found = {**attrs, "slices": _slices(attrs["slices"], inputs[0].type.shape)}
            if symbolic_attrs(found):
                attrs = self.attrs[number] = found
        only = node.op.shape_only
        if only:
            inputs = tuple([shape_leaf(self.graph, i.type) if p in only else i for p, i in enumerate(inputs)])
        kind = node.op.typed([i.type for i in inputs], attrs)
        return self.graph.append(node) if inputs == node.inputs and attrs is node.attrs else self.graph.add(
            node.op, inputs, attrs, kind, node.name, node.where
        )  # fmt: skip

    def _shape(self, value: Any, inputs: Sequence[Node]) -> Any:
        """A guess at what a shape was computed from, which every trace that follows has to confirm."""
        if not isinstance(value, tuple):
            return value
        shape = inputs[0].type.shape
        size: Any = 1
        for d in shape:
            size = size * d
        now = 1
        for d in value:
            now *= d
        if type(size) is SymbolicExtent and size._value == now:  # in another form
            for axis, d in enumerate(value):
                rest = now // d if d else 0
                if rest and type(extent := _divided(size, rest)) is SymbolicExtent:
                    return (*value[:axis], extent, *value[axis + 1 :])
            return value
        aligned = shape[len(shape) - len(value) :] if len(shape) >= len(value) else (1,) * (len(value) - len(shape)) + shape
        found: list[Any] = [
            old if type(old) is SymbolicExtent and old._value == d else d for d, old in zip(value, aligned, strict=True)
        ]
        if found and type(found[0]) is not SymbolicExtent:
            found[0] = self.by_value.get(found[0], found[0])
        return tuple(found)


def _slices(value: Any, shape: Sequence[Any]) -> Any:
    """A guess at slices of an axis that holds several tensors one after another, as `_shape`."""
    found = list(value)
    for axis, (part, extent) in enumerate(zip(value, shape, strict=False)):
        if isinstance(part, tuple):
            found[axis] = (_share(part[0], extent), _share(part[1], extent), part[2])
    return tuple(found)


def _share(bound: Any, extent: Any) -> Any:
    """A bound that is a whole share of an extent, as this share."""
    if not bound or type(extent) is not SymbolicExtent:
        return bound
    share = Fraction(bound, extent._value)
    found = _divided(extent * share.numerator, share.denominator)
    return bound if found is None else found


def _divided(size: SymbolicExtent, rest: int) -> Any:
    """size / rest where that is so for all values, else None."""
    return None if any(factor % rest for _, factor in size._terms) else size // rest


# templates ----------------------------------------------------------------------------------------------------------


class Template:
    """See the module. `decide` runs the passes; `write` writes a kernel.

    Raises Unsuitable where a program's extents can't be symbols.
    """

    def __init__(
        self, prepared: FunctionalGraph, known: Types, axes: Sequence[tuple[int, int]],
        decide: Callable[[FunctionalGraph, dict[Node, TensorType], Inspect], Decided], write: Writer,
        recorded: RestatedProgram | None = None,
    ):  # fmt: skip
        self.made_of, self.write, self.axes = prepared, write, [*axes]
        self.shapes = [known[feed].shape for feed in prepared.feeds]
        symbolic = _Symbolic(prepared, known, axes, recorded)
        self.conditions, self.symbols, self.attrs = symbolic.conditions, symbolic.symbols, symbolic.attrs
        self.types, self.traced = symbolic.types, symbolic.survey
        self.number: dict[Node, int] = {}
        self.survey = Survey()
        self.place: dict[Node, Node] | None = None
        """The places of values, for the kernels."""
        self.sources: list[KernelSource | None] = []
        self.complete = False
        named: dict[Any, None] = {}
        _named_extents(symbolic.graph, named)
        self.twins = self._twins(named)
        """Whether two extents that may differ are equal in this call: nodes that only this value makes alike would become one.
        Such a template serves no other shape, and says so."""
        if self.twins:
            return
        self.decided = decide(symbolic.prepared, symbolic.known, lambda stage, graph, results: _named_extents(graph, named))
        self.twins = self._twins(named)
        for i, node in enumerate(self.decided.graph.nodes):
            if not symbolic.follows and node.op.emit.__class__ in UNFOLLOWED:
                raise Unsuitable(f"shapes are not followed into {node.op.name}")
            self.number[node] = i
        self.survey.nodes(self.decided.graph.nodes)
        self.sources = [None] * len(self.decided.groups)

    def _twins(self, named: Iterable[Any]) -> bool:
        """Whether two of these extents are equal; all answers become conditions."""
        found = False
        for extent in named:
            for other in named if type(extent) is SymbolicExtent else ():
                if other is not extent:
                    found |= extent == other
        return found

    def made(self) -> Template:
        """See `LateTemplate`."""
        return self

    def first(self) -> tuple[Decided, Writer]:
        """The decisions with the numbers that they were made with, and what writes their kernels."""
        filler = Filler([extent._value for extent in self.conditions.extents])
        return self.filled(filler, {})

    @property
    def pinned(self) -> bool:
        """Whether the conditions leave no other value to a symbol: it would serve no other shape."""
        return self.conditions.pinned

    # matching -------------------------------------------------------------------------------------------------------

    def same(self, prepared: FunctionalGraph) -> tuple[dict[int, Any], list[tuple[Any, Any]]]:
        """Whether the programs differ only in extents: by id of an attribute of a leaf here the one there, and which
        attributes have to be equal once they are filled in. Raises Another."""
        made = self.made_of
        theirs, nodes = prepared.graph.nodes, made.graph.nodes
        if len(nodes) != len(theirs) or made.draws != prepared.draws or len(made.feeds) != len(prepared.feeds):
            raise Another("other operations were traced")
        swapped: dict[int, Any] = {}
        equal: list[tuple[Any, Any]] = []
        pair: dict[Node, Node] = dict(zip(made.feeds, prepared.feeds, strict=True))
        fed = set(made.feeds)
        for number, (a, b) in enumerate(zip(nodes, theirs, strict=True)):
            if a.op is not b.op or a.where != b.where:
                raise Another("other operations were traced")
            if a in fed:
                if pair[a] is not b or len(a.type.shape) != len(b.type.shape) or a.type.dtype != b.type.dtype:
                    raise Another("other operations were traced")
                continue
            pair[a] = b
            if a.type.dtype != b.type.dtype:
                raise Another("other dtypes were inferred")
            if tuple([pair[i] for i in a.inputs]) != b.inputs:
                raise Another("other operations were traced")
            if not a.inputs and number not in self.attrs:
                if a.type is not b.type and a.type != b.type:
                    raise Another(f"{a.name or a.op.name} is {b.type} instead of {a.type}")
                if a.op.leaf in ("variable", "argument"):
                    for name, value in a.attrs.items():
                        swapped[id(value)] = b.attrs[name]
                    continue
            if number in self.attrs:
                equal.append((self.attrs[number], b.attrs))
            elif not same_attributes(a.attrs, b.attrs):
                raise Another(f"attributes of {a.op.name} are others")
        move = pair.__getitem__
        if [*map(move, made.fetches)] != prepared.fetches:
            raise Another("other results are wanted")
        for (cell, value), (other, wanted) in zip(made.assigns, prepared.assigns, strict=True):
            if pair[value] is not wanted or swapped.setdefault(id(cell), other) is not other:
                raise Another(f"{cell} is assigned another value")
        return swapped, equal

    def values(self, types: Sequence[TensorType], equal: Sequence[tuple[Any, Any]]) -> Filler:
        """The extents for feeds of these types. Raises Unsuitable where a condition does not hold."""
        symbols = []
        for number, axis in self.symbols:
            shape = types[number].shape
            if len(shape) <= axis:
                raise Unsuitable("arguments have other axes")
            symbols.append(shape[axis])
        values = self.conditions.fill(symbols)
        if isinstance(values, str):
            raise Unsuitable(values)
        filler = Filler(values)
        for mine, theirs in zip(self.types, types, strict=True):
            if filler.type(mine) != theirs:
                raise Unsuitable(f"an argument is {theirs} instead of {filler.type(mine)}")
        if self.twins:
            raise Unsuitable("extents are equal that need not be")
        bodies = Bodies(self.traced, filler)
        for attrs, theirs_attrs in equal:
            for name, value in attrs.items():
                found = bodies.attribute(value)
                if not same_attributes({name: found}, {name: theirs_attrs[name]}):
                    raise Unsuitable(f"a {name} is {theirs_attrs[name]} instead of {found}")
        return filler

    # filling in -----------------------------------------------------------------------------------------------------

    def filled(self, filler: Filler, swapped: Mapping[int, Any]) -> tuple[Decided, Writer]:
        """The decisions with these numbers, and what writes their kernels. swapped: see `same`."""
        found = self.decided
        bodies = Bodies(self.survey, filler)
        moved = bodies.nodes
        put = object.__setattr__
        changing = self.survey.attributes
        for node in found.graph.nodes:
            attrs, inputs = node.attrs, node.inputs
            if node in changing:
                attrs = {name: bodies.attribute(value) for name, value in attrs.items()}
            elif swapped and not inputs and node.op.leaf in ("variable", "argument"):
                attrs = {name: swapped.get(id(value), value) for name, value in attrs.items()}
            kind = attrs["cell"].type if node.op.leaf == "variable" else filler.type(node.type)
            new = Node(node.op, tuple([moved[i] for i in inputs]), attrs, kind, node.name, node.where)
            put(new, "uniform", node.uniform)
            moved[node] = new
        move = moved.__getitem__
        assigns = [(swapped.get(id(cell), cell), moved[value]) for cell, value in found.assigns]
        for cell, value in assigns:
            if cell.type != value.type:
                raise Unsuitable(f"{cell} is {cell.type} instead of {value.type}")
        groups = [_group(group, filler, moved) for group in found.groups]
        decided = Decided(
            Graph.of(map(move, found.graph.nodes), intern=found.graph.intern),
            [moved.get(f, f) for f in found.feeds],
            [*map(move, found.fetches)],
            assigns,
            _layouts(found.layouts, filler, moved),
            groups,
            [_sum(s, moved) for s in found.sums],
            Decisions(found.decisions, filler, moved),
            found.rewrites,
            [filler.text(note) for note in found.notes],
            found.passed,
        )
        return decided, self._writer(filler, moved, groups)

    def _writer(self, filler: Filler, moved: Mapping[Node, Node], groups: Sequence[Group]) -> Writer:
        number = {id(group): i for i, group in enumerate(groups)}
        same: bool | None = None

        def write(group: Group, layouts: Layouts, place: dict[Node, Node], listing: dict[Node, int]) -> KernelSource:
            nonlocal same
            if id(group) not in number:  # of a body, which is lowered anew
                return self.write(group, layouts, place, listing)
            if same is None:
                if self.place is None:
                    back = {new: old for old, new in moved.items()}
                    self.place = {back[value]: back[base] for value, base in place.items()}
                same = {moved[value]: moved[base] for value, base in self.place.items()} == place
            i = number[id(group)]
            if not same or (self.complete and self.sources[i] is None):
                return self.write(group, layouts, place, listing)
            source = self.sources[i]
            if source is None:
                source = self.sources[i] = self._written(self.decided.groups[i])
                filler.grow(self.conditions)
            return _source(source, filler, moved)

        return write

    def _written(self, group: Group) -> KernelSource:
        assert self.place is not None
        source = self.write(group, self.decided.layouts, self.place, self.number)
        if IN_CODE.search(source.body):
            raise Unsuitable("the text of a kernel names an extent")
        return source


def same_attributes(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Whether attributes are equal: bodies of loops and branches that do the same, and constants of equal bytes, which each
    trace makes anew."""
    if mine == theirs:
        return True
    return mine.keys() == theirs.keys() and all(_same_attribute(value, theirs[name]) for name, value in mine.items())


def _same_attribute(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, Subgraph):
        return _same_body(mine, theirs)
    return mine.same(theirs) if isinstance(mine, Literal) else bool(mine == theirs)


def _same_body(mine: Subgraph, theirs: Any) -> bool:
    if mine is theirs:
        return True
    if not isinstance(theirs, Subgraph) or len(mine.graph.nodes) != len(theirs.graph.nodes):
        return False
    pair: dict[Node, Node] = {}
    for a, b in zip(mine.graph.nodes, theirs.graph.nodes, strict=True):
        if a.op is not b.op or a.where != b.where or a.type != b.type or not same_attributes(a.attrs, b.attrs):
            return False
        if tuple([pair[i] for i in a.inputs]) != b.inputs:
            return False
        pair[a] = b
    places = [*zip((*mine.params, *mine.results), (*theirs.params, *theirs.results), strict=False)]
    counts = len(mine.params) == len(theirs.params), len(mine.results) == len(theirs.results)
    return all(counts) and all(pair.get(a) is b for a, b in places)


def _named_extents(graph: Graph, found: dict[Any, None]) -> None:
    """Extents that a node has of itself, not from its operands: where two of them are equal, nodes may be twins."""
    for node in graph.nodes:
        attrs = node.attrs
        shape = attrs["shape"] if "shape" in attrs else node.type.shape if node.op.leaf == "shape" else ()  # noqa: SIM401
        if type(shape) is tuple:
            for d in shape:
                found[d] = None


def _group(group: Group, filler: Filler, moved: Mapping[Node, Node]) -> Group:
    domain = group.domain
    return Group(
        [moved[n] for n in group.members],
        IterationDomain(
            filler.number(domain.rows), filler.number(domain.columns), {moved[n]: kind for n, kind in domain.rank.items()},
            {moved[n] for n in domain.post},
        ),
        [moved[n] for n in group.outputs],
    )  # fmt: skip


def _sum(found: Sum, moved: Mapping[Node, Node]) -> Sum:
    return Sum(
        moved[found.out],
        tuple([(moved[product], factor) for product, factor in found.products]),
        None if found.addend is None else moved[found.addend],
        tuple([moved[n] for n in found.members]),
    )


def _layouts(found: Layouts, filler: Filler, moved: Mapping[Node, Node]) -> Layouts:
    known: dict[int, Layout] = {}

    def layout(at: Layout) -> Layout:
        if (key := id(at)) in known:
            return known[key]
        new = at
        if has_extents(at.shape) or has_extents(at.strides) or has_extents((at.offset,)):
            new = Layout(filler.shape(at.shape), filler.shape(at.strides), filler.number(at.offset))
        known[key] = new
        return new

    result = Layouts(Graph())
    result.base = {moved[n]: moved[base] for n, base in found.base.items()}
    result.at = {moved[n]: known[key] if (key := id(at)) in known else layout(at) for n, at in found.at.items()}
    for n, new in moved.items():
        if n.op.leaf == "variable" and new.type.shape != n.type.shape:  # only assigned
            result.at[new] = Layout.contiguous(new.type.shape)
    result.origin = {moved[n]: moved[source] for n, source in found.origin.items()}
    result.copies = {moved[n]: (moved[base], layout(at)) for n, (base, at) in found.copies.items()}
    result.part = {moved[n]: moved[whole] for n, whole in found.part.items()}
    return result


def _source(source: KernelSource, filler: Filler, moved: Mapping[Node, Node]) -> KernelSource:
    number = filler.number
    buffers = [
        replace(ref, node=None if ref.node is None else moved[ref.node], offset=number(ref.offset), length=number(ref.length))
        for ref in source.buffers
    ]
    return replace(
        source, body=filler.text(source.body), buffers=buffers, sizes=filler.numbers(source.sizes),
        rows=number(source.rows), work=number(source.work),
    )  # fmt: skip
