"""Numbers of Python whose values may be others in another call of a function.

A function is called with an `Expression` in the place of each such number, and with symbols in the place of tensors. Python's
arithmetic makes expressions of expressions, and one that is an operand of an op becomes a node of the graph. What else the
function asks for is a condition: the outcome of a comparison, or the value of an expression. So the graph serves all numbers
for which the conditions hold, and one generated function computes its arrays from them, in Python's arithmetic, as the
function itself would.

Where the numbers come from says `Numbers`: calls of composite functions and attributes of operations (`OpenNumbers`), the
arguments of a compiled function (`tracing/numbers.py`), or what it keeps between calls (`tracing/numbers.py`).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...base.types import TensorType, scalar_dtype
from ...errors import GraphError
from ...ir import REGISTRY, Graph, Node
from .dispatch import F, state
from .methods import Operators
from .symbols import Symbol

BINARY = {
    "+": ("add", operator.add), "-": ("sub", operator.sub), "*": ("mul", operator.mul), "/": ("truediv", operator.truediv),
    "//": ("floordiv", operator.floordiv), "%": ("mod", operator.mod), "**": ("pow", operator.pow),
}  # fmt: skip
COMPARED = {
    "<": ("lt", operator.lt), "<=": ("le", operator.le), ">": ("gt", operator.gt), ">=": ("ge", operator.ge),
    "==": ("eq", operator.eq), "!=": ("ne", operator.ne),
}  # fmt: skip
VALUES: dict[str, Callable[..., Any]] = {
    "int": int, "float": float, "complex": complex, "index": operator.index, "str": str, "repr": repr, "format": format,
    "hash": hash, "round": round, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil, "divmod": divmod,
    "rdivmod": lambda a, b: divmod(b, a),
}  # fmt: skip
"""What Python asks an object for that needs a number's value."""
OPERATORS = {symbol: function for symbol, (_, function) in (*BINARY.items(), *COMPARED.items())}
FUNCTIONS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
"""The ops of tensors by operator."""
FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)
NUMBERS = (int, float, np.float64, np.float32, np.int64, np.int32)
"""Classes of numbers; scalars of NumPy are weakly typed, as Python's."""
DEEPEST = 100
"""The most operations, one inside the other, of an expression: Python reads 200 parentheses."""


class UnknownNumber:
    """Stands for a number of Python. Its operators call `operate`; whatever else Python does with a number takes `needed`.

    kind: `int` or `float`.
    """

    __slots__ = ("kind",)
    __array_ufunc__ = None  # NumPy leaves operators to it
    kind: type
    scalars: ClassVar[tuple[type, ...]] = ()
    """Classes of NumPy's scalars, which decide the class of a result, with which it makes expressions."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of the value: functions that take numbers take it. What takes its value through C gets it by `__float__`."""
        return self.kind

    def __getattr__(self, name: str) -> Any:
        if name == "kind" or not hasattr(self.kind, name):
            raise AttributeError(f"a number has no attribute {name!r}", name=name, obj=self)
        return getattr(self.needed(), name)

    def tensor(self) -> Any:
        """The number as a tensor of 64 bits."""
        raise NotImplementedError

    def cast(self, dtype: np.dtype) -> Any:
        """The number as a tensor of a dtype, as an operand."""
        return F.astype(self.tensor(), dtype)

    def needed(self) -> Any:
        """The value, where Python needs it."""
        raise NotImplementedError

    def sample(self) -> Any:
        """A number of this kind."""
        return self.kind(1)

    def combined(self, symbol: str, other: Any, swapped: bool) -> Any:
        """The result of an operator with another number."""
        raise NotImplementedError

    def operate(self, symbol: str, other: Any, swapped: bool = False) -> Any:
        """The result of an operator; swapped: this number is the second operand."""
        if isinstance(other, Operators):
            found = getattr(F, FUNCTIONS[symbol]) if symbol in FUNCTIONS else None
            if found is None:
                return NotImplemented
            return found(other, self) if swapped else found(self, other)
        if isinstance(other, (np.generic, np.ndarray)) and type(other) not in self.scalars:
            mine = self.needed()
            return OPERATORS[symbol](*((other, mine) if swapped else (mine, other)))
        if type(other) is bool:
            other = int(other)
        if type(other) not in NUMBERS and not issubclass(type(other), UnknownNumber):
            return NotImplemented
        return self.combined(symbol, other, swapped)

    def __pos__(self) -> Any:
        return self

    def __neg__(self) -> Any:
        return self.operate("*", -1)


def _operator(symbol: str, swapped: bool) -> Callable[[Any, Any], Any]:
    return lambda self, other: self.operate(symbol, other, swapped)


def _asked(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: function(self.needed(), *args)


for _symbol, (_name, _) in (*BINARY.items(), *COMPARED.items()):
    setattr(UnknownNumber, f"__{_name}__", _operator(_symbol, False))
    if _symbol in BINARY:
        setattr(UnknownNumber, f"__r{_name}__", _operator(_symbol, True))
for _name, _function in VALUES.items():
    setattr(UnknownNumber, f"__{_name}__", _asked(_function))


class Expression(UnknownNumber):
    """An expression over numbers that are known when a call begins. source: where these come from; value: in the present call;
    text: of the expression; depth: of its operations."""

    __slots__ = ("depth", "source", "text", "value")
    scalars = NUMBERS[2:]

    def __init__(self, source: Numbers, text: str, value: Any, depth: int = 0):
        self.source, self.text, self.value, self.depth = source, text, value, depth
        self.kind = float if isinstance(value, (float, np.floating)) else int

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    def tensor(self) -> Any:
        return self.source.placed(self, FLOAT if self.kind is float else INT)

    def cast(self, dtype: np.dtype) -> Any:
        return self.source.placed(self, dtype)

    def combined(self, symbol: str, other: Any, swapped: bool) -> Any:
        source, depth, theirs = self.source, self.depth, other
        if type(other) is Expression:
            theirs, text, depth = other.value, other.text, max(depth, other.depth)
            source = other.source if other.source.wider else source
        elif issubclass(type(other), UnknownNumber):
            return other.combined(symbol, self, not swapped)
        else:
            text = literal(other)
        a, b = ((theirs, text), (self.value, self.text))[:: 1 if swapped else -1]
        value = OPERATORS[symbol](a[0], b[0])
        if depth >= DEEPEST:
            for number in (self, other):
                if type(number) is Expression:
                    number.needed()
            return value
        found = Expression(source, f"({a[1]} {symbol} {b[1]})", value, depth + 1)
        if symbol == "**" and type(a[0]) is type(b[0]) is int:  # an exponent may be negative
            source.conditions[f"type({found.text})"] = type(value)
        return found if type(value) in NUMBERS else found.needed()

    def needed(self) -> Any:
        return self.source.needed(self)

    def within(self, low: int, high: int) -> bool:
        """Whether it lies between bounds, which is a condition then."""
        return bool(self.operate(">=", low) and self.operate("<=", high))

    def __bool__(self) -> bool:
        return bool(self.operate("!=", 0))

    def __abs__(self) -> Any:
        return Expression(self.source, f"abs({self.text})", abs(self.value), self.depth + 1)

    def __reduce__(self) -> Any:
        return _itself, (self.needed(),)


def _itself(value: Any) -> Any:
    return value


def literal(value: Any) -> str:
    """The text of a number in an expression, where a sign in front would bind less than a power."""
    if type(value) is complex:
        return repr(value)
    if type(value) in (int, float):
        text = repr(value) if type(value) is int or math.isfinite(value) else f"float('{value}')"
        return f"({text})" if text[0] == "-" else text
    return f"{type(value).__name__}('{value.item()!r}')"


def closed(value: Any) -> Any:
    """An attribute of an op with the values of the numbers in it, which are needed then."""
    if issubclass(type(value), UnknownNumber):
        return value.needed()
    if type(value) in (tuple, list):
        return type(value)(map(closed, value))
    return {k: closed(v) for k, v in value.items()} if type(value) is dict else value


class Numbers:
    """The numbers of one call of a function. values: in this call.

    conditions: expressions, and the values that they had, on which what the function computed depends; nodes: the placeholders,
    by expression, its class in Python, and their dtype.
    """

    name = "s"
    """Of the list of numbers in texts."""
    wider = False
    """Whether expressions of these numbers may have others of the function's in them."""
    space: ClassVar[dict[str, Any]] = {
        "abs": abs, "array": np.array, "empty": np.empty, "float": float, **{kind.__name__: kind for kind in NUMBERS[2:]},
    }  # fmt: skip
    """The names in texts."""

    def __init__(self, values: Sequence[Any]):
        self.values = [*values]
        self.conditions: dict[str, Any] = {}
        self.nodes: dict[tuple[str, type, np.dtype], Node] = {}

    def number(self, i: int) -> Any:
        """What stands for a number."""
        return Expression(self, f"{self.name}[{i}]", self.values[i])

    def needed(self, number: Expression) -> Any:
        """The value of an expression, which is a condition then."""
        self.conditions[number.text] = number.value
        return number.value

    def placed(self, number: Expression, dtype: np.dtype) -> Any:
        """A tensor of an expression."""
        raise NotImplementedError

    def node(self, number: Expression, graph: Graph, dtype: np.dtype | None) -> Node | None:
        """The node that stands for an expression in a graph; None where it is a constant, as what Python needs."""
        return None

    def placeholder(self, number: Expression, graph: Graph, dtype: np.dtype) -> Node:
        """The placeholder of an expression, or of a list of them."""
        key = number.text, type(number.value), dtype
        if key not in self.nodes:
            kind = TensorType(np.shape(number.value), dtype)
            self.nodes[key] = graph.add(REGISTRY["placeholder"], (), {"type": kind}, kind)
        return self.nodes[key]

    def feeds(
        self, lines: Sequence[str] = (), more: Sequence[str] = (), **names: Any
    ) -> Callable[[Sequence[Any]], list[np.ndarray] | None]:
        """A function of numbers: the arrays to feed; None where a condition does not hold, or an expression has no value of the
        class that it had. lines: with which it begins; more: expressions of further arrays; names: in both."""
        space = {**self.space, **names}
        text = [f"def feeds({self.name}):", " try:", *lines]
        for i, (condition, value) in enumerate(self.conditions.items()):
            space[f"c{i}"] = value
            same = f"{condition} is c{i}" if type(value) in (bool, np.bool_, type) else f"same(c{i}, {condition})"
            text.append(f"  if not {same}: return None")
        locals: dict[str, str] = {}
        arrays = []
        for expression, kind, dtype in self.nodes:
            if expression not in locals:
                name = locals[expression] = f"v{len(locals)}"
                space[f"k_{name}"] = kind
                text += [f"  {name} = {expression}", f"  if {name}.__class__ is not k_{name}: return None"]
            space[f"d{dtype.num}"] = dtype
            arrays.append(f"array({locals[expression]}, d{dtype.num})")
        text += [f"  return [{', '.join([*arrays, *more])}]", " except Exception: return None"]
        exec("\n".join(text), space)
        return space["feeds"]


class OpenNumbers(Numbers):
    """The numbers of a call that is computed in a graph of its own."""

    def __init__(self, values: Sequence[float | int], whole: bool = True):
        """whole: a value that is needed makes its numbers `constant`; else it is a condition, so that other numbers with the
        same value of the expression will do."""
        super().__init__(values)
        self.whole = whole
        self.constant: set[int] = set()
        """The positions of numbers whose values were needed."""
        self.graph: Graph | None = None

    def call(self, graph: Graph, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """function(*operands), which has these numbers. graph: of the operands."""
        self.graph, state.open_numbers = graph, state.open_numbers + 1
        try:
            return function(*operands)
        finally:
            state.open_numbers -= 1

    def needed(self, number: Expression) -> Any:
        if type(number.value) is bool:
            self.conditions[number.text] = number.value
        elif self.whole:
            self.constant |= {int(i) for i in re.findall(r"s\[(\d+)\]", number.text)}
        else:
            self.conditions[f"({number.text} == {literal(number.value)})"] = True
        return number.value

    def placed(self, number: Expression, dtype: np.dtype) -> Any:
        assert self.graph is not None
        return Symbol(self.graph, self.placeholder(number, self.graph, dtype))

    def node(self, number: Expression, graph: Graph, dtype: np.dtype | None) -> Node:
        if graph is not self.graph:
            raise GraphError("an open number belongs to the graph of one call")
        return self.placeholder(number, graph, scalar_dtype(number.value) if dtype is None else dtype)
