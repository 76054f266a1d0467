"""Extents as symbols: arithmetic with them gives expressions, and each comparison becomes a condition on record.

A pass that asks `rows == 1` has decided something for all shapes with the same answer. `rows` is a `SymbolicExtent` here, and
the question with its answer becomes a condition; what the passes decided holds for all extents that meet the conditions. An
extent is no `int` for code in C, which has to ask for its value: then the value itself becomes a condition. So no decision
depends on an extent without a condition that says so.

Sums and products are kept as polynomials, equal ones as one object. So most comparisons are of an extent with itself, which
Python answers without asking.

While a trace runs, extents are *exposed*: the user's code reads them where it would read numbers. A text that is made of one
asks for its value, and an extent that becomes a key raises Unfollowed, because text and hash would depend on the number.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...base.types import OpenType, StackType, TensorType, TupleType
from ...errors import PACKAGE_DIR
from ...ir import REGISTRY, Attribute, Cell, Graph, Literal, Node, OpDef, OverComplex, Subgraph, may_fail
from ...ir.graph import evaluate
from ...ops.control.subgraph_tracing import twin
from ...ops.deferred import NeedsValues, has_deferred, value_operands
from ...ops.leaves import Source
from ...ops.operators import Symbol, lines_of
from ...ops.rewrites.selected_rows import Rows, selected, whole
from .specialize import FunctionalGraph

Terms = dict[tuple[int, ...], int]
"""A polynomial: by the numbers of the atoms that are multiplied, the coefficient."""

BEGIN, END = "⟦extent ", "⟧"
"""Around the number of an extent in text, which is filled in later."""
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_PLACE = re.compile(f"{BEGIN}(\\d+){END}")


class Unfollowed(BaseException):
    """Code needs a number where a trace has an extent, and no condition can say so. The trace begins again with numbers."""


class Conditions:
    """The expressions over some symbols, and what decisions relied on."""

    exposed = False
    """Whether the user's code sees the extents."""
    unfollowed = ""
    """Why extents can't stand for numbers."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """Of the symbols."""
        self.atoms: list[tuple[str, Any, Any]] = []
        """("symbol", its number, None), or a term that is no polynomial: ("//" or "%", extent, extent)."""
        self.values: list[int] = []
        """Of the atoms, while decisions are made."""
        self.extents: list[SymbolicExtent] = []
        self.interned: dict[tuple[Any, ...], SymbolicExtent] = {}
        self.known: dict[tuple[Any, ...], Any] = {}
        """Results of operators, by the numbers of extents: (kind, extent, number) or (kind, extent, extent, None)."""
        self.conditions: list[tuple[str, SymbolicExtent, Any, bool]] = []

    def symbol(self, name: str, value: int) -> SymbolicExtent:
        """A new symbol, which has this value for now."""
        self.names.append(name)
        return self._atom("symbol", len(self.names) - 1, None, value)

    def _atom(self, kind: str, a: Any, b: Any, value: int) -> Any:
        self.atoms.append((kind, a, b))
        self.values.append(value)
        return self.extent({(len(self.atoms) - 1,): 1})

    def extent(self, terms: Terms) -> Any:
        """The extent of this polynomial; a number where it is one."""
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        key = tuple(sorted(terms.items()))
        found = self.interned.get(key)
        if found is None:
            found = self.interned[key] = SymbolicExtent(self, key, _evaluated(key, self.values), len(self.extents))
            self.extents.append(found)
        return found

    def ask(self, kind: str, a: SymbolicExtent, b: Any, answer: bool) -> bool:
        """Put a comparison on record."""
        self.conditions.append((kind, a, b, answer))
        self.known[_key(kind, a, b)] = answer
        return answer

    @property
    def pinned(self) -> bool:
        """Whether the conditions leave no other value to a symbol."""
        return any(kind == "==" and answer and len(a._terms) == 1 for kind, a, _, answer in self.conditions)

    def fill(self, symbols: Sequence[int]) -> list[int] | str:
        """The values of all extents for these values of the symbols; or the condition that does not hold, in words."""
        values = self.evaluated(symbols)
        if isinstance(values, str):
            return values
        for condition in self.conditions:
            kind, first, other, answer = condition
            x = values[first._number]
            y = values[other._number] if type(other) is SymbolicExtent else other
            if (x == y if kind == "==" else x < y) is not answer:
                return f"{self.text(first)} {kind} {self.text(other)} is {'true' if not answer else 'false'} now"
        return values

    def evaluated(self, symbols: Sequence[Any]) -> list[Any] | str:
        """The values of all extents, whether the conditions hold or not; or the divisor that is 0, in words. symbols: numbers,
        or symbols of another record."""
        atoms: list[Any] = []
        for kind, a, b in self.atoms:
            if kind == "symbol":
                atoms.append(symbols[a])
                continue
            x, y = self._value(a, atoms), self._value(b, atoms)
            if not y:
                return f"{self.text(b)} is 0"
            atoms.append(x // y if kind == "//" else x % y)
        return [_evaluated(extent._terms, atoms) for extent in self.extents]

    def _value(self, extent: Any, atoms: Sequence[Any]) -> Any:
        return _evaluated(extent._terms, atoms) if type(extent) is SymbolicExtent else extent

    def text(self, extent: Any) -> str:
        """An expression for readers."""
        if type(extent) is not SymbolicExtent:
            return str(extent)
        parts = []
        for atoms, factor in extent._terms:
            factors = [self._atom_text(atom) for atom in atoms]
            parts.append(" * ".join([*([] if factor == 1 and factors else [str(factor)]), *factors]))
        return " + ".join(parts)

    def _atom_text(self, number: int) -> str:
        kind, a, b = self.atoms[number]
        return self.names[a] if kind == "symbol" else f"(({self.text(a)}) {kind} ({self.text(b)}))"


def _evaluated(terms: tuple[tuple[tuple[int, ...], int], ...], atoms: Sequence[Any]) -> Any:
    total: Any = 0
    for numbers, factor in terms:
        part: Any = factor
        for number in numbers:
            part *= atoms[number]
        total += part
    return total


def _key(kind: str, a: SymbolicExtent, b: Any) -> tuple[Any, ...]:
    return (kind, a._number, b._number, None) if type(b) is SymbolicExtent else (kind, a._number, b)


def _remembered(kind: str, compute: Callable[[SymbolicExtent, Any], Any]) -> Callable[[SymbolicExtent, Any], Any]:
    """An operator of extents. The record knows its results by the operands, so that most are looked up."""

    def operate(self: SymbolicExtent, other: Any) -> Any:
        if type(other) is not int:
            return self._computed(kind, other, compute)
        key = (kind, self._number, other)
        known = self._record.known
        return known[key] if key in known else self._computed(kind, other, compute)

    return operate


class SymbolicExtent:
    """An extent whose value may be another one next time. See the module."""

    __slots__ = ("_number", "_record", "_terms", "_value")

    def __init__(self, record: Conditions, terms: tuple[tuple[tuple[int, ...], int], ...], value: int, number: int):
        self._record, self._terms, self._value, self._number = record, terms, value, number

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise self.unfollowed("NumPy computes with an extent")  # it would make an array of objects

    def __hash__(self) -> int:
        if self._record.exposed and not sys._getframe(1).f_code.co_filename.startswith(PACKAGE_DIR):
            raise self.unfollowed("an extent is a key")
        return id(self) >> 4

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    def unfollowed(self, why: str) -> Unfollowed:
        """The exception for code that takes an extent for something else than a number. The trace is void from here on, whether
        the user's code catches it or not."""
        self._record.unfollowed = why
        return Unfollowed(why)

    # its value, which becomes a condition

    def __index__(self) -> int:
        record = self._record
        if ("==", self._number, self._value) not in record.known:
            record.ask("==", self, self._value, True)
        return self._value

    __int__ = __trunc__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __bool__(self) -> bool:
        return self != 0

    def __repr__(self) -> str:
        return repr(self.__index__()) if self._record.exposed else f"{BEGIN}{self._number}{END}"

    def __format__(self, spec: str) -> str:
        return format(self.__index__(), spec) if spec else repr(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return int, (self.__index__(),)

    def __copy__(self) -> SymbolicExtent:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicExtent:
        return self

    def __getattr__(self, name: str) -> Any:
        if name == "__array_interface__" and self._record.exposed:
            raise self.unfollowed("NumPy makes an array of an extent")
        if not hasattr(0, name):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        return getattr(self.__index__(), name)

    # comparisons

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not int:
            return self._compared("==", other)
        key = ("==", self._number, other)
        known = self._record.known
        return known[key] if key in known else self._compared("==", other)

    def __ne__(self, other: object) -> bool:
        if self is other:
            return False
        if type(other) is not int:
            return not self._compared("==", other)
        key = ("==", self._number, other)
        known = self._record.known
        return not (known[key] if key in known else self._compared("==", other))

    def __lt__(self, other: Any) -> bool:
        if type(other) is not int:
            return self._compared("<", other)
        key = ("<", self._number, other)
        known = self._record.known
        return known[key] if key in known else self._compared("<", other)

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __gt__(self, other: Any) -> bool:
        return self != other and not self < other

    def __le__(self, other: Any) -> bool:
        return bool(self == other or self < other)

    def _compared(self, kind: str, other: Any) -> bool:
        record = self._record
        if type(other) is SymbolicExtent:
            key = _key(kind, self, other)
            if key in record.known:
                return record.known[key]
            difference = self - other
            if type(difference) is not SymbolicExtent:  # the same for all values
                answer: bool = difference == 0 if kind == "==" else difference < 0
                record.known[key] = answer
                return answer
            mine, its = self._value, other._value
            return record.ask(kind, self, other, bool(mine == its if kind == "==" else mine < its))
        if isinstance(other, int):
            other = int(other)
            return record.ask(kind, self, other, self._value == other if kind == "==" else self._value < other)
        if kind == "==":
            answer = other is not None and bool(self.__index__() == other)
        else:
            answer = self.__index__() < other
        return answer

    # arithmetic

    def _computed(self, kind: str, other: Any, compute: Callable[[SymbolicExtent, Any], Any]) -> Any:
        if type(other) is SymbolicExtent:
            known = self._record.known.get(_key(kind, self, other))
            if known is not None:
                return known
        else:
            if isinstance(other, float):
                return OPERATORS[kind](self.__index__(), other)
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        result = self._record.known[_key(kind, self, other)] = compute(self, other)
        return result

    __add__ = __radd__ = _remembered("+", lambda a, b: _sum(a, b))
    __mul__ = __rmul__ = _remembered("*", lambda a, b: _product(a, b))
    __floordiv__ = _remembered("//", lambda a, b: _quotient(a._record, a, b))
    __mod__ = _remembered("%", lambda a, b: _remainder(a._record, a, b))

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient(self._record, other, self)

    def __rmod__(self, other: Any) -> Any:
        return _remainder(self._record, other, self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        return self.__index__() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.__index__()

    def __pow__(self, other: Any) -> Any:
        return self.__index__() ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.__index__()

    def __rshift__(self, other: Any) -> Any:
        return self // (1 << other)

    def bit_length(self) -> int:
        return self.__index__().bit_length()


def _asks(name: str) -> Callable[..., Any]:
    """An operator of numbers that asks for the value."""

    def compute(self: SymbolicExtent, *others: Any) -> Any:
        return getattr(self.__index__(), name)(*[o.__index__() if type(o) is SymbolicExtent else o for o in others])

    return compute


for _name in dir(int):  # Python looks the names of operators up in the class
    if _name.startswith("__") and _name not in (*dir(object), *vars(SymbolicExtent)):
        setattr(SymbolicExtent, _name, _asks(_name))


def _terms(x: Any) -> Sequence[tuple[tuple[int, ...], int]]:
    return x._terms if type(x) is SymbolicExtent else (((), x),) if x else ()


def _sum(a: SymbolicExtent, b: Any) -> Any:
    terms = dict(a._terms)
    for atoms, factor in _terms(b):
        terms[atoms] = terms.get(atoms, 0) + factor
    return a._record.extent({atoms: factor for atoms, factor in terms.items() if factor})


def _product(a: SymbolicExtent, b: Any) -> Any:
    terms: Terms = {}
    for atoms, factor in a._terms:
        for others, other in _terms(b):
            key = tuple(sorted(atoms + others))
            terms[key] = terms.get(key, 0) + factor * other
    return a._record.extent({atoms: factor for atoms, factor in terms.items() if factor})


def _exact(a: Any, b: Any) -> Terms | None:
    """The polynomial that a is b times, for b of a single term; None where there is none."""
    [(divisor, factor), *more] = _terms(b)
    if more:
        return None
    result: Terms = {}
    for atoms, n in _terms(a):
        left = list(atoms)
        for atom in divisor:
            if atom not in left:
                return None
            left.remove(atom)
        if n % factor:
            return None
        result[tuple(left)] = n // factor
    return result


def _quotient(record: Conditions, a: Any, b: Any) -> Any:
    if b == 0:
        raise ZeroDivisionError("an extent divided by 0")
    exact = _exact(a, b)
    if exact is not None:
        return record.extent(exact)
    return record._atom("//", a, b, now(a) // now(b))


def _remainder(record: Conditions, a: Any, b: Any) -> Any:
    if b == 0:
        raise ZeroDivisionError("an extent divided by 0")
    if _exact(a, b) is not None:
        return 0
    return record._atom("%", a, b, now(a) % now(b))


def now(x: Any) -> int:
    """The value of an extent while decisions are made."""
    return x._value if type(x) is SymbolicExtent else x


class Filler:
    """Puts values in the place of extents. What has none is returned as it is; equal shapes become one."""

    def __init__(self, values: list[int]):
        self.values = values
        self.shapes: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.types: dict[TensorType, TensorType] = {}

    def grow(self, conditions: Conditions) -> None:
        """Take the values of extents that were added since, as they are while decisions are made."""
        self.values += [extent._value for extent in conditions.extents[len(self.values) :]]

    def number(self, x: Any) -> Any:
        return self.values[x._number] if type(x) is SymbolicExtent else x

    def numbers(self, values: Sequence[Any]) -> list[Any]:
        return [self.values[x._number] if type(x) is SymbolicExtent else x for x in values]

    def shape(self, shape: tuple[Any, ...]) -> tuple[Any, ...]:
        found = self.shapes.get(shape)
        if found is None:
            found = self.shapes[shape] = tuple([self.values[d._number] if type(d) is SymbolicExtent else d for d in shape])
        return found

    def type(self, kind: TensorType) -> TensorType:
        if kind.__class__ is TupleType:
            return TupleType([self.type(part) for part in kind.parts]) if has_extents(kind) else kind
        if kind.__class__ is StackType:
            return StackType(self.type(kind.item)) if has_extents(kind) else kind
        for d in kind.shape:
            if type(d) is SymbolicExtent:
                found = self.types.get(kind)
                if found is None:
                    found = self.types[kind] = TensorType(self.shape(kind.shape), kind.dtype)
                return found
        return kind

    def attribute(self, x: Any) -> Any:
        if isinstance(x, tuple):
            if type(x) is not tuple or not has_extents(x):
                return x
            return tuple([self.attribute(d) for d in x]) if any(type(d) is tuple for d in x) else self.shape(x)
        if isinstance(x, TensorType):
            return self.type(x)
        return self.number(x)

    def text(self, text: str) -> str:
        return _PLACE.sub(lambda found: str(self.values[int(found[1])]), text) if BEGIN in text else text


def has_extents(x: Any) -> bool:
    """Whether an attribute or a type depends on symbols."""
    kind = type(x)
    if kind is TensorType:
        x, kind = x.shape, tuple
    if kind is tuple:
        for d in x:  # noqa: SIM110 - a generator would take a call for each of them
            if type(d) is SymbolicExtent or (type(d) in MAY_HAVE and has_extents(d)):
                return True
        return False
    if kind is TupleType:
        return any(map(has_extents, x.parts))
    if kind is StackType:
        return has_extents(x.item)
    return kind is SymbolicExtent


def symbolic_attrs(attrs: Mapping[str, Any]) -> bool:
    """Whether an attribute depends on symbols."""
    for value in attrs.values() if attrs else ():  # noqa: SIM110
        if type(value) in MAY_HAVE and has_extents(value):
            return True
    return False


MAY_HAVE = frozenset({tuple, TensorType, TupleType, StackType, SymbolicExtent})
"""Kinds of attributes that may depend on symbols."""


# a traced program over symbolic extents, and the same program over numbers --------------------------------------------

# The graph of a trace has extents wherever the traced code took a number from a shape, in types and in attributes.
# Filled in, it is the graph that a trace with these numbers would have made, as long as the conditions of the trace
# hold.

PLAIN = (NoneType, bool, int, float, str, np.dtype, np.generic, Literal, Cell, Source, TensorType)
"""Kinds of attributes that are known to have no extents inside but those that `has_extents` finds."""

FREE = frozenset({NoneType, bool, int, float, str, Literal, Cell, Source})
"""Kinds that are known without a look."""


class Survey:
    """Which nodes and attributes depend on symbols. Raises Unfollowed for an attribute of a kind that may hide an extent."""

    def __init__(self) -> None:
        self.changing: set[Node] = set()
        """Nodes whose attributes or types do, those of bodies included."""
        self.attributes: set[Node] = set()
        """Those whose attributes do."""

    def nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.attrs and self.any(node.attrs.values()):
                self.attributes.add(node)
                self.changing.add(node)
            elif has_extents(node.type):
                self.changing.add(node)

    def any(self, values: Iterable[Any]) -> bool:
        """Whether one of some attributes depends on symbols. All of them are looked at."""
        found = False
        for value in values:
            if type(value) not in FREE and self.depends(value):
                found = True
        return found

    def depends(self, value: Any) -> bool:
        if isinstance(value, Subgraph):
            self.nodes(value.graph.nodes)
            inside = not self.changing.isdisjoint(value.graph.nodes)
            return (value.written is not None and self.depends(value.written)) or inside
        if isinstance(value, tuple):
            return self.any(value)
        if not isinstance(value, PLAIN):
            raise Unfollowed(f"an attribute is a {type(value).__name__}")
        return has_extents(value)


class Bodies:
    """Copies of nodes and of bodies of loops and branches, with numbers in the place of extents. What several have in common
    stays common."""

    def __init__(self, survey: Survey, filler: Filler):
        self.survey, self.filler = survey, filler
        self.nodes: dict[Node, Node] = {}
        self.bodies: dict[Subgraph, Subgraph] = {}

    def node(self, node: Node) -> Node:
        """The copy of a node, over the copies of its operands."""
        attrs, kind = node.attrs, node.type
        if node in self.survey.changing:
            kind = self.filler.type(kind)
            if node in self.survey.attributes:
                attrs = {name: self.attribute(value) for name, value in attrs.items()}
        new = Node(node.op, tuple([self.nodes[i] for i in node.inputs]), attrs, kind, node.name, node.where)
        object.__setattr__(new, "uniform", node.uniform)
        return new

    def attribute(self, value: Any) -> Any:
        return self._body(value) if isinstance(value, Subgraph) else self.filler.attribute(value)

    def _body(self, body: Subgraph) -> Subgraph:
        if body not in self.bodies:
            for node in body.graph.nodes:
                if node not in self.nodes:
                    self.nodes[node] = self.node(node)
            written = None if body.written is None else self._body(body.written)
            take = self.nodes.__getitem__
            graph = Graph.of(map(take, body.graph.nodes), intern=body.graph.intern)
            self.bodies[body] = Subgraph(graph, [*map(take, body.params)], [*map(take, body.results)], written)
        return self.bodies[body]


class SymbolicProgram:
    """`prepared`: over symbols, whose values are those of `symbols`, (number of a feed, axis). Raises Unfollowed where it can't
    be filled in."""

    def __init__(self, prepared: FunctionalGraph, conditions: Conditions, symbols: Sequence[tuple[int, int]]):
        self.prepared, self.conditions, self.symbols = prepared, conditions, symbols
        self.types = [feed.type for feed in prepared.feeds]
        self.survey = Survey()
        self.survey.nodes([*prepared.graph.nodes, *prepared.feeds])

    def filler(self, types: Sequence[TensorType]) -> Filler | str:
        """The extents for feeds of these types; or the condition that does not hold, in words."""
        for number, axis in self.symbols:
            if len(types[number].shape) <= axis:
                return "arguments have other axes"
        found = self.conditions.fill([types[number].shape[axis] for number, axis in self.symbols])
        if isinstance(found, str):
            return found
        filler = Filler(found)
        for mine, theirs in zip(self.types, types, strict=True):
            if filler.type(mine) != theirs:
                return f"an argument is {theirs} instead of {filler.type(mine)}"
        return filler

    def filled(self, filler: Filler, cells: Mapping[Cell, Cell]) -> FunctionalGraph:
        """The program over numbers. cells: the storage that takes the place of the variables'."""
        found = self.prepared
        graph = Graph(intern=found.graph.intern)
        copies = Bodies(self.survey, filler)
        moved = copies.nodes
        for node in found.graph.nodes:
            if node.op.leaf == "variable":
                cell = cells[node.attrs["cell"]]
                new = Node(node.op, (), {"cell": cell}, cell.type, node.name, node.where)
            else:
                new = copies.node(node)
            moved[node] = graph.append(new)
        feeds = [moved[feed] if feed in moved else copies.node(feed) for feed in found.feeds]
        take = moved.__getitem__
        return FunctionalGraph(
            graph, feeds, [*map(take, found.fetches)], [(cells[cell], take(value)) for cell, value in found.assigns],
            found.draws, [*map(take, found.needs)],
        )  # fmt: skip

    def restated(self, types: Sequence[TensorType]) -> RestatedProgram:
        """The program over symbols of another record, whose values are those of `types`. Raises Unfollowed where a divisor is
        0."""
        record = Conditions()
        named = zip(self.conditions.names, self.symbols, strict=True)
        symbols = [record.symbol(name, types[number].shape[axis]) for name, (number, axis) in named]
        values = self.conditions.evaluated(symbols)
        if isinstance(values, str):
            raise Unfollowed(values)
        cells = {cell: cell for cell, _ in self.prepared.assigns}
        cells |= {n.attrs["cell"]: n.attrs["cell"] for n in self.prepared.graph.nodes if n.op.leaf == "variable"}
        return RestatedProgram(self.filled(Filler(values), cells), record, self.symbols)


class RestatedProgram(NamedTuple):
    """A program over symbols for which decisions are yet to be made."""

    prepared: FunctionalGraph
    conditions: Conditions
    symbols: Sequence[tuple[int, int]]


# extents that the run decides: how many elements a mask selects, how many different ones there are -------------------

# The part of a program in which such extents occur becomes one call. Each run hands it the values that it reads, and it runs a
# program that is compiled for the extents at hand, as for any new shape of a feed. What the part gives to the rest of the
# program has known extents, or is a result of the run. So everything around it - kernels, writes of variables, checks - is
# planned as always.

Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]
"""The results of a part for the values that it is fed."""
Make = Callable[[Graph, Sequence[Node], Sequence[Node], Sequence[Node]], Run]
"""(graph, results, feeds, operations that may fail) -> what runs them."""

FIXED = ("constant", "shape")
"""Kinds of leaves that are part of a body."""


class Part:
    """See the module. `params` stand for the values that it reads, `heads` are the operations whose extents they decide."""

    def __init__(self, graph: Graph, params: Sequence[Node], results: Sequence[Node], make: Make):
        self.graph, self.params, self.results = graph, params, results
        self._fixed = [n for n in graph.nodes if n.op.leaf in FIXED]
        known = {*params, *self._fixed}
        self.heads = [n for n in graph.nodes if n.op.sized and known.issuperset(n.inputs)]
        if not self.heads and not value_operands(graph):
            node = next(n for n in graph.nodes if decides(n))
            raise NeedsValues(node, node.inputs)
        failing = [n for n in graph.nodes if may_fail(n)]
        self._run = make(graph, results, [*params, *self.heads], failing)

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        values: dict[Node, Any] = dict(zip(self.params, arrays, strict=True))
        evaluate([*self._fixed, *self.heads], values)
        return tuple(self._run([np.ascontiguousarray(values[n]).reshape(values[n].shape) for n in [*self.params, *self.heads]]))

    def __repr__(self) -> str:
        return f"<{', '.join(dict.fromkeys(n.op.name for n in self.graph.nodes if not n.op.leaf))}>"


def _infer(*types: TensorType, part: Part, kind: TupleType) -> TupleType:
    return kind


part_op = OpDef(
    name="sized_part",
    infer=_infer,
    eval=lambda *arrays, part, kind: part(*arrays),
    attrs={
        "part": Attribute("a part of a program", lambda value, types: isinstance(value, Part)),
        "kind": Attribute("the types of its results", lambda value, types: isinstance(value, TupleType)),
    },
    doc="A part of a program with extents that the run decides. Operands: the values that it reads.",
    complex=OverComplex("own"),
    stored=True,
)


def decides(node: Node) -> bool:
    """Whether values decide about the extents of a node, or about how it is written."""
    return node.op.sized or has_deferred(node)


def divide(graph: Graph, results: Sequence[Node], count: int, make: Make) -> tuple[Graph, dict[Node, Node]]:
    """The graph with one call in the place of all nodes with open extents and those between them. count: how many of the
    results are read; the others are there because they may fail."""
    order = graph.reaching(results)
    if not any(decides(node) for node in order):
        return graph, {node: node for node in order}
    graph, first = _with_whole_rows(order, graph.intern, set(results[:count]))
    found = [first[r] for r in results]
    graph, second = _divided(graph, found, set(found[:count]), make)
    return graph, {old: second[new] for old, new in first.items() if new in second}


def _with_whole_rows(order: Sequence[Node], intern: bool, read: set[Node]) -> tuple[Graph, dict[Node, Node]]:
    """The graph in which values of known extents are computed of all rows, where `ops/rewrites/selected_rows.py` says how."""
    new, moved, rows = Graph(intern=intern), dict[Node, Node](), dict[Node, Rows]()
    instead: dict[Node, Node] = {}
    for node in order:
        moved[node] = _copied(new, node, moved)
        operands = [rows[i] if i in rows else Symbol(new, moved[i]) if i.type.static else None for i in node.inputs]
        found: Rows | Symbol | None = None
        with lines_of(node.where):
            if node.op.sized:
                found = selected(node, operands[0])
            elif not rows.keys().isdisjoint(node.inputs) and None not in operands:
                found = whole(node, operands)
        if isinstance(found, Symbol):
            moved[node] = found.node
        elif found is not None:
            rows[node] = found
            if node not in read and node.op.fails:  # what may fail are the rows that are computed
                instead[node] = found.full.node
    return new, {**moved, **instead}


def _divided(graph: Graph, results: Sequence[Node], wanted: set[Node], make: Make) -> tuple[Graph, dict[Node, Node]]:
    """See `divide`. wanted: the results that are read."""
    order = graph.reaching(results)
    inside = _inside(order)
    if not inside:
        return graph, {node: node for node in order}
    members = [n for n in order if n in inside]
    outputs = [n for n in members if n in wanted or any(user not in inside for user in graph.succ[n])]
    reads = dict.fromkeys(i for n in members for i in n.inputs if i not in inside)
    body, moved = Graph(intern=graph.intern), dict[Node, Node]()
    for node in reads:
        moved[node] = body.append(node) if node.op.leaf in FIXED else twin(body, node)
    for node in members:
        moved[node] = _copied(body, node, moved)
    operands = [n for n in reads if n.op.leaf not in FIXED]
    part = Part(body, [moved[n] for n in operands], [moved[n] for n in outputs], make)
    kind = TupleType([n.type if n.type.static else OpenType(n.type) for n in outputs])
    where = next((n.where for n in members if n.op.sized), None)
    return _replaced(graph, order, inside, operands, outputs, {"part": part, "kind": kind}, where)


def _copied(graph: Graph, node: Node, moved: Mapping[Node, Node]) -> Node:
    """The same node over the nodes of another graph."""
    if not node.inputs:
        return graph.append(node)
    return graph.add(node.op, tuple([moved[i] for i in node.inputs]), node.attrs, node.type, node.name, node.where)


def _replaced(
    graph: Graph, order: Sequence[Node], inside: set[Node], operands: Sequence[Node], outputs: Sequence[Node],
    attrs: dict[str, Any], where: Any,
) -> tuple[Graph, dict[Node, Node]]:  # fmt: skip
    """The graph with the call: after all that it reads, before all that reads it."""
    behind = set(inside)
    for node in order:
        if any(i in behind for i in node.inputs):
            behind.add(node)
    new, moved = Graph(intern=graph.intern), dict[Node, Node]()
    for node in order:
        if node not in behind:
            moved[node] = _copied(new, node, moved)
    whole = new.add(part_op, tuple([moved[n] for n in operands]), attrs, attrs["kind"], "", where)
    for i, node in enumerate(outputs):
        part = attrs["kind"].parts[i]
        moved[node] = new.add(REGISTRY["result"], (whole,), {"index": i}, part, node.name, node.where)
    for node in order:
        if node in behind and node not in inside:
            moved[node] = _copied(new, node, moved)
    for node in inside:
        moved.setdefault(node, whole)
    return new, moved


def _inside(order: Sequence[Node]) -> set[Node]:
    """The nodes with open extents, those that read them, and those between them. Results that are no arrays stay on one side
    with what makes them and what reads them."""
    open_nodes = {node for node in order if decides(node)}
    inside = set(open_nodes)
    for node in order if open_nodes else ():
        if not open_nodes.isdisjoint(node.inputs):
            inside.add(node)
            if not node.type.static:
                open_nodes.add(node)
    while inside:
        before = len(inside)
        after, needed = set[Node](), set[Node]()
        for node in order:
            if any(i in inside or i in after for i in node.inputs):
                after.add(node)
        for node in reversed(order):
            if node in inside or node in needed:
                needed.update(node.inputs)
        inside |= after & needed
        for node in order:
            for operand in node.inputs:
                if isinstance(operand.type, (TupleType, StackType)) and (node in inside) is not (operand in inside):
                    inside |= {node, operand}
        if len(inside) == before:
            break
    return inside
