"""Operations that can't be written before the run: they need the value of an integer operand, or the rank of an operand.

A deferred node holds a function of symbols. Once the operands have concrete types, and those operands whose values the function
asks for have values, the function is called and what it builds takes the place of the node (`passes/specialize.py`). Its type
until then is the part that does not depend on them. Gradients of a deferred node are deferred nodes, too.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..base.tables import record
from ..base.types import INEXACT, TensorType, UnrankedType, type_of
from ..errors import ShapeError, StaticgradError, UnknownExtentError, Where
from ..ir import REGISTRY, Attribute, Deferred, Graph, Node, OpDef, Region, Subgraph, define
from ..ir.graph import interpret
from ..ir.walks import postorder
from . import rules as at
from .control.subgraph_tracing import twin
from .leaves import fits
from .operators import F, Symbol, append, apply, frontends, has_rank, lines_of, state

# values of tensors before the run, as far as they follow from constants, extents and given leaves ---------------------


class NeedsValues(UnknownExtentError):
    """A value depends on these leaves, which have none before the run."""

    def __init__(self, reader: Node, leaves: Sequence[Node]):
        names = ", ".join(repr(n.name or n.op.leaf or n.op.name) for n in leaves)
        super().__init__(
            f"{reader.name or reader.op.name}: its shape depends on the value of {names}",
            "shapes, axes and sizes may depend on constants, on shapes, and on what is fed",
            where=reader.where,
        )
        self.leaves = leaves


class Values:
    """The values of tensors of a graph, as far as they follow from constants, known extents and the given leaves. outside: of
    the graph of a body, the values of its parameters, as far as they are known."""

    def __init__(self, given: Mapping[Node, np.ndarray] | None = None, outside: Callable[[Node], Any] = lambda leaf: None):
        self.found: dict[Node, Any] = dict(given or {})
        self.outside = outside
        self.decisions: list[str] = []
        """How the operations were written that the values decide."""
        self.written: dict[Any, Any] = {}
        """Definitions that were written with these values, by themselves and their operands."""

    def __call__(self, node: Node, reader: Node) -> np.ndarray:
        """Raises NeedsValues, at the line of `reader`, where the value depends on other leaves."""
        order = list(postorder([node], _read, self.found))
        unknown = [n for n in order if _unknown(n) and not self._found(n)]
        if unknown:
            raise NeedsValues(reader, unknown)
        for each in order:
            if each in self.found:
                continue
            arrays = [_stand_in(i.type) if p in each.op.shape_only else self.found[i] for p, i in enumerate(each.inputs)]
            with np.errstate(all="ignore"):
                value = each.op.eval(*arrays, **each.attrs)
            self.found[each] = value if isinstance(value, tuple) else np.asarray(value)
        value = self.found[node]
        return value

    def _found(self, leaf: Node) -> bool:
        value = self.outside(leaf)
        if value is not None:
            self.found[leaf] = value
        return value is not None


def _read(node: Node) -> list[Node]:
    return [i for p, i in enumerate(node.inputs) if p not in node.op.shape_only]


def _unknown(node: Node) -> bool:
    if node.op.leaf not in ("", "constant", "shape") or node.op.effect:
        return True
    return any(not node.inputs[p].type.static for p in node.op.shape_only if p < len(node.inputs))


def _stand_in(kind: TensorType) -> np.ndarray:
    return np.broadcast_to(np.zeros((), kind.dtype), kind.shape)


KNOWN: weakref.WeakKeyDictionary[Graph, Values] = weakref.WeakKeyDictionary()
"""The values found in a graph."""


def value_of(x: Symbol) -> np.ndarray:
    """The value of a symbol that follows from constants and known extents, or is given to the definition that is being
    written. Raises NeedsValues for others."""
    return KNOWN.setdefault(x.graph, Values())(x.node, x.node)


def computed(x: Symbol) -> bool:
    """Whether the value of a tensor follows from more than constants, extents and integers that are fed."""
    try:
        value_of(x)
    except NeedsValues as error:
        return any(
            leaf.op.leaf != "placeholder" or leaf.type.dtype.kind not in "iub"
            for leaf in error.leaves
            if not leaf.op.shape_only
        )
    return False


def decided(graph: Graph, how: str) -> None:
    """Note how an operation is written in a graph, for the explanation of the plan."""
    KNOWN.setdefault(graph, Values()).decisions.append(how)


def value_operands(graph: Graph) -> set[Node]:
    """The placeholders of a graph whose values decide how its deferred nodes are written."""
    roots = _value_roots(graph.nodes)
    return {node for node in postorder(roots, _read) if node.op.leaf == "placeholder"} if roots else set()


def _value_roots(nodes: Sequence[Node]) -> list[Node]:
    """The operands whose values decide, of nodes and of the bodies in them."""
    roots: list[Node] = []
    for node in nodes:
        if isinstance(node.op.emit, Deferred):
            roots += [node.inputs[p] for p in node.attrs["values"]]
        elif isinstance(node.op.emit, Region):
            for key, given in node.op.emit.parameters(node.attrs, [i.type for i in node.inputs]).items():
                body = node.attrs[key]
                operands = {p: operand for p, (_, operand) in zip(body.params, given, strict=True)}
                inner = postorder(_value_roots(body.nodes), _read)
                roots += [node.inputs[operands[n]] for n in inner if operands.get(n) is not None]  # type: ignore[index]
    return roots


# deferred nodes -------------------------------------------------------------------------------------------------------


@record(eq=False)
class Definition:
    """How a deferred operation is written: `write(operands)` gives its results. It asks for values with `value_of`."""

    write: Callable[[list[Symbol]], Sequence[Any]]
    graph: Callable[[], Graph] = Graph
    """Makes the graph that it is written into."""


# writing --------------------------------------------------------------------------------------------------------------


class Written:
    """A definition written into a graph of its own: that graph, its parameters and the results. values: of the operands, by
    their numbers."""

    def __init__(self, definition: Definition, kinds: Sequence[tuple[Node, TensorType]], values: Mapping[int, np.ndarray],
                 where: Where | None):  # fmt: skip
        self.graph = graph = definition.graph()
        graph.sized = True
        self.parameters = [twin(graph, node, kind) for node, kind in kinds]
        KNOWN[graph] = Values({self.parameters[p]: value for p, value in values.items()})
        with _building(graph, where):
            try:
                found = definition.write([Symbol(graph, p) for p in self.parameters])
            except NeedsValues as error:
                positions = {i for i, p in enumerate(self.parameters) if p in error.leaves}
                raise Asked(positions) if positions else error from None
            symbols = [x if isinstance(x, Symbol) else append(graph, REGISTRY["identity"], (x,), {}) for x in found]
        self.results = [x.node for x in symbols]


class Asked(Exception):
    """A definition needs the values of the operands at these positions."""

    def __init__(self, positions: set[int]):
        super().__init__(positions)
        self.positions = positions


@contextmanager
def _building(graph: Graph, where: Where | None) -> Iterator[None]:
    """Nothing of the thread's own graph, order or loops reaches what is built in this context."""
    state.graphs.append(graph)
    state.control.append(())
    inside, state.inside = state.inside, 0
    try:
        with lines_of(where):
            yield
    finally:
        state.inside = inside
        state.control.pop()
        state.graphs.pop()


def written(graph: Graph, node: Node, inputs: Sequence[Node], values: Values) -> Node:
    """The node of `graph` that takes the place of a deferred one over `inputs`, whose types are concrete.

    Raises NeedsValues for a value that is not known, and the errors of the ops, at the user's line.
    """
    attrs = node.attrs
    known = {p: values(inputs[p], node) for p in attrs["values"]}
    key = attrs["define"], *inputs
    if key not in values.written:  # by the first of several results
        try:
            made = Written(attrs["define"], [(i, i.type) for i in inputs], known, node.where)
        except ValueError as error:
            if isinstance(error, StaticgradError):
                raise
            raise ShapeError(str(error), where=node.where) from error
        values.decisions += KNOWN[made.graph].decisions
        values.written[key] = made, dict(zip(made.parameters, inputs, strict=True))
    moved: dict[Node, Node]
    made, moved = values.written[key]
    last = made.results[attrs["index"]]
    for each in postorder([last], lambda n: n.inputs, moved):
        if each.op.equals is not None:  # as in the first pass of the compiler, which has seen no node of the definition
            moved[each] = moved[each.inputs[each.op.equals]]
            continue
        given = tuple(moved[i] for i in each.inputs)
        if has_deferred(each):
            moved[each] = placed(graph, each, given, values)
            continue
        kind = each.type if each.type.static else each.op.typed([i.type for i in given], each.attrs)
        moved[each] = graph.add(each.op, given, each.attrs, kind, each.name, each.where)
    result = moved[last]
    if not compatible(node.type, result.type):
        raise ShapeError(
            f"{node.name or node.op.name} was taken for {node.type} when the graph was built, and is {result.type} now",
            where=node.where,
        )
    return result


def has_deferred(node: Node) -> bool:
    """Whether a node is deferred, or has a body in which one is."""
    if isinstance(node.op.emit, Region):
        bodies = [body for body in node.attrs.values() if isinstance(body, Subgraph)]
        return any(has_deferred(inner) for body in bodies for inner in body.nodes)
    return isinstance(node.op.emit, Deferred)


def placed(graph: Graph, node: Node, inputs: Sequence[Node], values: Values) -> Node:
    """The node of `graph` that takes the place of one for which `has_deferred` holds; see `written`."""
    if isinstance(node.op.emit, Deferred):
        return written(graph, node, inputs, values)
    assert isinstance(node.op.emit, Region)
    attrs, types = dict(node.attrs), [i.type for i in inputs]
    for key, given in node.op.emit.parameters(attrs, types).items():
        attrs[key] = written_body(attrs[key], [kind for kind, _ in given], [operand for _, operand in given], inputs, values)
    return graph.add(node.op, tuple(inputs), attrs, node.op.typed(types, attrs), node.name, node.where)


def written_body(
    body: Subgraph, kinds: Sequence[TensorType], operands: Sequence[int | None], inputs: Sequence[Node], values: Values
) -> Subgraph:
    """A body over parameters of concrete types. operands: those of `inputs` that parameters always are."""
    graph = Graph(intern=body.graph.intern)
    params = [twin(graph, node, kind) for node, kind in zip(body.params, kinds, strict=True)]
    outer = {p: inputs[i] for p, i in zip(params, operands, strict=True) if i is not None}

    def outside(leaf: Node) -> Any:
        try:
            return None if leaf not in outer else values(outer[leaf], leaf)
        except NeedsValues:
            return None

    results = _placed_nodes(graph, body, dict(zip(body.params, params, strict=True)), Values(outside=outside))
    whole = None if body.written is None else written_body(body.written, kinds, operands, inputs, values)
    return Subgraph(graph, params, results, whole)


def written_nodes(graph: Graph, body: Subgraph, inputs: Sequence[Node], values: Values) -> list[Node]:
    """The results of a body as nodes of `graph` over `inputs`, whose types are concrete."""
    return _placed_nodes(graph, body, dict(zip(body.params, inputs, strict=True)), values)


def _placed_nodes(graph: Graph, body: Subgraph, moved: dict[Node, Node], values: Values) -> list[Node]:
    """The results of a body, whose parameters are `moved` to nodes of `graph`."""
    for node in body.nodes:
        given = tuple([moved[i] for i in node.inputs])
        if has_deferred(node):
            moved[node] = placed(graph, node, given, values)
        elif node.op.leaf:
            moved[node] = graph.append(node)
        else:
            kind = node.op.typed([i.type for i in given], node.attrs)
            moved[node] = graph.add(node.op, given, node.attrs, kind, node.name, node.where)
    return [moved[r] for r in body.results]


# the record -----------------------------------------------------------------------------------------------------------


def _infer(*operands: TensorType, define: Definition, values: tuple[int, ...], index: int, type: TensorType) -> TensorType:
    return type


def _eval(*arrays: np.ndarray, define: Definition, values: tuple[int, ...], index: int, type: TensorType) -> np.ndarray:
    leaves = Graph()
    kinds = [(leaves.add(REGISTRY["placeholder"], (), {"type": k}, k), k) for k in map(type_of, arrays)]
    made = Written(define, kinds, {p: arrays[p] for p in values}, None)
    result = made.results[index]
    return interpret(made.graph, [result], dict(zip(made.parameters, arrays, strict=True)))[result]


def _cotangent(position: int) -> Callable[..., Symbol | None]:
    def rule(g: Symbol, node: Node, out: Symbol, *operands: Symbol) -> Symbol | None:
        outer, index = node.attrs["define"], node.attrs["index"]
        if not _flows(node, position, operands):
            return None
        definition = Definition(lambda inner: [outer.write(inner)[index]], outer.graph)
        return _backward(definition, position, g, operands, node.attrs["values"])

    return rule


def deferred_rule(g: Symbol, node: Node, position: int, operands: Sequence[Symbol]) -> Symbol:
    """The cotangent of an operand of an op, whose rule needs a rank that is not known yet."""
    return _backward(Definition(lambda inner: [apply(node.op, *inner, **node.attrs)]), position, g, operands, ())


def _backward(definition: Definition, position: int, g: Symbol, operands: Sequence[Symbol], values: tuple[int, ...]) -> Symbol:
    """The cotangent of an operand of a definition with one result."""

    def write(given: list[Symbol]) -> list[Any]:
        g, *inner = given
        (y,) = definition.write(inner)
        (found,) = frontends.gradients([y], [inner[position]], [g])
        return [F.zeros_like(inner[position]) if found is None else found]

    values = tuple(p + 1 for p in values)
    return _deferred(g.graph, Definition(write, definition.graph), [g, *operands], values, [operands[position].node.type])[0]


def _flows(node: Node, position: int, operands: Sequence[Symbol]) -> bool:
    """Whether a gradient flows to an operand, as far as a guess that fits shows."""
    for guess in _guesses(operands[0].graph):
        nodes = [guess(x.node) for x in operands]
        given = [n for n in nodes if n is not None]
        if len(given) < len(nodes):
            continue
        try:
            known = {p: guess.values(given[p], node) for p in node.attrs["values"]}
            made = Written(node.attrs["define"], [(n, n.type) for n in given], known, None)
            y, x = Symbol(made.graph, made.results[node.attrs["index"]]), Symbol(made.graph, made.parameters[position])
            return frontends.gradients([y], [x])[0] is not None
        except UNFIT:
            continue
    return True


deferred = define(
    name="deferred",
    attrs={
        "define": Attribute("a definition", lambda value, types: isinstance(value, Definition)),
        "values": Attribute("numbers of operands", lambda value, types: all(at.whole(p, 0, len(types)) for p in value)),
        "index": at.integer(0),
        "type": at.tensor_type,
    },
    infer=_infer,
    eval=_eval,
    vjp=_cotangent,
    emit=Deferred(written),
    doc="Written when the types of its operands, and the values of some, are known: `attrs['define']` is how.",
)


def _deferred(
    graph: Graph, definition: Definition, operands: Sequence[Symbol], values: tuple[int, ...], kinds: Sequence[TensorType]
) -> list[Symbol]:
    return [
        append(graph, deferred, operands, {"define": definition, "values": values, "index": i, "type": kind})
        for i, kind in enumerate(kinds)
    ]


def defer(
    graph: Graph, definition: Definition, operands: Sequence[Symbol], kinds: Sequence[TensorType] | None = None
) -> list[Symbol]:
    """The results of a definition over `operands`, to be written in the run.

    kinds: the types of the results as far as they are known; otherwise they are found by guesses at what is unknown. Raises
    UnknownExtentError where the number of results depends on a value.
    """
    values, found = _asked(graph, definition, operands)
    return _deferred(graph, definition, operands, tuple(sorted(values)), found if kinds is None else kinds)


def values_read(graph: Graph, definition: Definition, operands: Sequence[Symbol]) -> list[Symbol]:
    """The operands whose values decide how a definition is written."""
    return [operands[i] for i in sorted(_asked(graph, definition, operands)[0])]


def _asked(graph: Graph, definition: Definition, operands: Sequence[Symbol]) -> tuple[set[int], list[TensorType]]:
    """The positions of the operands whose values decide, and the types of the results as guesses show them."""
    values: set[int] = set()
    while True:
        try:
            return values, _kinds(graph, definition, operands, sorted(values))
        except Asked as asked:
            values |= asked.positions


def narrowed(x: Symbol, kind: TensorType) -> Symbol:
    """x, of which more of the shape is known: a run whose value does not have it raises ShapeError."""
    return _deferred(x.graph, Definition(list), [x], (), [kind])[0]


def deferred_op(graph: Graph, op: OpDef, operands: Sequence[Any], attrs: dict[str, Any]) -> Symbol:
    """An op of the IR over operands of which one has no rank yet."""
    places = {i: p for p, i in enumerate(i for i, x in enumerate(operands) if isinstance(x, Node))}

    def write(given: list[Symbol]) -> list[Any]:
        return [apply(op, *(given[places[i]] if i in places else x for i, x in enumerate(operands)), **attrs)]

    return defer(graph, Definition(write), [Symbol(graph, x) for x in operands if isinstance(x, Node)])[0]


frontends.defer, frontends.defer_rule = deferred_op, deferred_rule


# the type before the run: what all guesses at unknown values have in common ---------------------------------------------


GUESSES = 12
"""The number of guesses. The first two take one extent for all that are unknown, and most take one rank for all; the others
draw each of them."""
EXTENTS = (12, 24)
"""Guesses at unknown extents: divisible by the numbers that programs divide by."""
SMALL = 2
"""All unknown extents in the last guess: smaller than most of what is known, as that may decide, too."""
VALUES = (1, 2, 0, 3, -1)
"""Guesses at unknown values of tensors."""
RANKS = (2, 1, 3, 4, 0)
"""Guesses at an unknown rank."""


UNFIT = (StaticgradError, ValueError, TypeError, IndexError)
"""Errors of a definition whose guess does not fit."""


class _Guess:
    """The nodes of a graph with a guess in the place of each unknown extent, value and rank."""

    def __init__(self, number: int):
        from random import Random  # late: it takes a millisecond, and few programs guess

        self.number = number
        self.random, self.of_values = Random(number), Random(number)
        self.rank = RANKS[number % len(RANKS)] if number < GUESSES - 2 else None
        """Of all tensors without one; None: each has one of its own."""
        self.graph = Graph(intern=True)
        self.moved: dict[Node, Node | None] = {}
        self.values = Values(outside=self._value)

    def _one(self, choices: Sequence[int]) -> int:
        if choices is EXTENTS and self.number == GUESSES - 1:
            return SMALL
        return choices[self.number] if self.number < 2 else self.random.choice(choices)

    def _value(self, leaf: Node) -> np.ndarray | None:
        """The value of a placeholder, drawn when it is first read: few values decide, and tensors of four axes are large."""
        kind = leaf.type
        if leaf.op.leaf != "placeholder" or kind.dtype.kind not in "iubf":
            return None
        choices = VALUES[self.number : self.number + 1] if self.number < 2 else VALUES
        least = 0 if kind.dtype.kind in "ub" else -1
        drawn = [max(value, least) for value in self.of_values.choices(choices, k=kind.size)]
        return np.array(drawn, kind.dtype).reshape(kind.shape)

    def __call__(self, node: Node) -> Node | None:
        """The node under the guess; None where the guess does not fit."""
        for each in postorder([node], lambda n: n.inputs, self.moved):
            self.moved[each] = self._placed(each)
        return self.moved[node]

    def _placed(self, node: Node) -> Node | None:
        inputs = [self.moved[i] for i in node.inputs]
        given = tuple(i for i in inputs if i is not None)
        if len(given) < len(inputs):
            return None
        try:
            if not inputs:
                return self._leaf(node)
            if has_deferred(node):
                return placed(self.graph, node, given, self.values)
            kind = node.op.typed([i.type for i in given], node.attrs)
        except (*UNFIT, Asked):
            return None
        if node.op.sized:
            kind = kind.with_shape(tuple([self._one(EXTENTS) if d is None else d for d in kind.shape]))
        return self.graph.add(node.op, given, node.attrs, kind, node.name, node.where)

    def _leaf(self, node: Node) -> Node:
        if node.op.leaf != "placeholder":
            return self.graph.append(node)
        if isinstance(node.type, UnrankedType):
            rank = self._one(RANKS) if self.rank is None else self.rank
            shape = tuple(self._one(EXTENTS) for _ in range(rank))
        else:
            shape = tuple(self._one(EXTENTS) if d is None else d for d in node.type.shape)
        kind = TensorType(shape, node.type.dtype)
        return self.graph.add(node.op, (), {**node.attrs, "type": kind}, kind, node.name, node.where)


KEPT: weakref.WeakKeyDictionary[Graph, list[_Guess]] = weakref.WeakKeyDictionary()
"""The guesses of each graph, which grow with it."""


def _guesses(graph: Graph) -> list[_Guess]:
    return KEPT.setdefault(graph, [_Guess(number) for number in range(GUESSES)])


def _kinds(graph: Graph, definition: Definition, operands: Sequence[Symbol], values: Sequence[int]) -> list[TensorType]:
    """The types of the results as far as all guesses agree. Raises Asked for operands whose values turn out to be needed."""
    found: list[list[TensorType]] = []
    ranks: set[tuple[int, ...]] = set()
    for guess in _guesses(graph):
        nodes = [guess(x.node) for x in operands]
        given = [n for n in nodes if n is not None]
        if len(given) < len(nodes):
            continue
        try:
            known = {p: guess.values(given[p], operands[p].node) for p in values}
            made = Written(definition, [(n, n.type) for n in given], known, None)
        except UNFIT:
            continue
        found.append([n.type for n in made.results])
        ranks.add(tuple(n.type.ndim for n in given))
    if len({len(kinds) for kinds in found}) > 1:
        raise UnknownExtentError("how many results there are depends on a value that is known only when the graph runs")
    if not found:
        return _dtypes(definition, operands, values)
    ranked = all(has_rank(x) for x in operands)
    if len(found) < AGREEING or (not ranked and len(ranks) < 2):
        return [_least(kind, ranked) for kind in found[0]]
    return [_merged(kinds) for kinds in zip(*found, strict=True)]


def _dtypes(definition: Definition, operands: Sequence[Symbol], values: Sequence[int]) -> list[TensorType]:
    """The results without a rank, where no guess fits all that the operands are computed from: by the operands alone."""
    for rank in RANKS:
        kinds = [_guessed(x.node.type, rank) for x in operands]
        known = {p: np.ones(kinds[p].shape, kinds[p].dtype) for p in values}
        try:
            made = Written(definition, [(x.node, kind) for x, kind in zip(operands, kinds, strict=True)], known, None)
        except (*UNFIT, Asked):
            continue
        return [UnrankedType(n.type.dtype) for n in made.results]
    return [UnrankedType(_dtype(operands))]


def _guessed(kind: TensorType, rank: int) -> TensorType:
    """A type with one extent for all that are unknown, and this rank where it has none."""
    shape = (EXTENTS[0],) * rank if isinstance(kind, UnrankedType) else [EXTENTS[0] if d is None else d for d in kind.shape]
    return TensorType(tuple(shape), kind.dtype)


AGREEING = 3
"""Guesses that have to agree about an extent."""


def partial_values(x: Symbol) -> list[int | None]:
    """The elements of an integer tensor with one axis of known extent; None for those that are unknown before the run."""
    found = []
    for guess in _guesses(x.graph):
        node = guess(x.node)
        if node is not None:
            found.append(guess.values(node, x.node).tolist())
    if len(found) < AGREEING:
        return [None] * x.shape[0]
    return [column[0] if len(set(column)) == 1 else None for column in zip(*found, strict=True)]


def _merged(kinds: Sequence[TensorType]) -> TensorType:
    """The type that all of these are of."""
    first = kinds[0]
    if any(isinstance(kind, UnrankedType) or kind.ndim != first.ndim for kind in kinds):
        return UnrankedType(first.dtype)
    shapes = zip(*(kind.shape for kind in kinds), strict=True)
    return first.with_shape(tuple(ds[0] if len(set(ds)) == 1 else None for ds in shapes))


def _least(kind: TensorType, ranked: bool) -> TensorType:
    """What is certain of a type that few guesses have shown."""
    if not ranked or isinstance(kind, UnrankedType):
        return UnrankedType(kind.dtype)
    return kind.with_shape((None,) * kind.ndim)


def _dtype(operands: Sequence[Symbol]) -> np.dtype:
    return next((x.dtype for x in operands if x.dtype.kind in INEXACT), operands[0].dtype)


def compatible(declared: TensorType, actual: TensorType) -> bool:
    """Whether a value of the actual type is one of the declared type."""
    if declared.dtype != actual.dtype:
        return False
    return isinstance(declared, UnrankedType) or fits(declared.shape, actual.shape)
