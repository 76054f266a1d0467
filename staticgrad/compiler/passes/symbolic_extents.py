"""Extents as symbols: arithmetic with them gives expressions, and each comparison becomes a condition on record.

Decisions that were made with such extents hold for all others that meet the same conditions. An extent is no `int` for code
in C, which has to ask for its value: then the value itself becomes a condition. So no decision depends on an extent without
a condition that says so.

Sums and products are kept as polynomials, equal ones as one object. So most comparisons are of an extent with itself, which
Python answers without asking.

While a trace runs, extents are *exposed*: the user's code reads them where it would read numbers. Their text and their hash
don't depend on the value and would tell, so a text then asks for the value, and an extent that becomes a key raises Unfollowed.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from ...base.types import StackType, TensorType, TupleType
from ...errors import PACKAGE_DIR

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

    def __add__(self, other: Any) -> Any:
        if type(other) is not int:
            return self._computed("+", other, _sum)
        key = ("+", self._number, other)
        known = self._record.known
        return known[key] if key in known else self._computed("+", other, _sum)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Any:
        if type(other) is not int:
            return self._computed("*", other, _product)
        key = ("*", self._number, other)
        known = self._record.known
        return known[key] if key in known else self._computed("*", other, _product)

    __rmul__ = __mul__

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

    def __floordiv__(self, other: Any) -> Any:
        if type(other) is not int:
            return self._computed("//", other, _quotient)
        key = ("//", self._number, other)
        known = self._record.known
        return known[key] if key in known else self._computed("//", other, _quotient)

    def __rfloordiv__(self, other: Any) -> Any:
        return _quotient_of(self._record, other, self)

    def __mod__(self, other: Any) -> Any:
        if type(other) is not int:
            return self._computed("%", other, _remainder)
        key = ("%", self._number, other)
        known = self._record.known
        return known[key] if key in known else self._computed("%", other, _remainder)

    def __rmod__(self, other: Any) -> Any:
        return _remainder_of(self._record, other, self)

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


def _quotient(a: SymbolicExtent, b: Any) -> Any:
    return _quotient_of(a._record, a, b)


def _quotient_of(record: Conditions, a: Any, b: Any) -> Any:
    if b == 0:
        raise ZeroDivisionError("an extent divided by 0")
    exact = _exact(a, b)
    if exact is not None:
        return record.extent(exact)
    return record._atom("//", a, b, now(a) // now(b))


def _remainder(a: SymbolicExtent, b: Any) -> Any:
    return _remainder_of(a._record, a, b)


def _remainder_of(record: Conditions, a: Any, b: Any) -> Any:
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
