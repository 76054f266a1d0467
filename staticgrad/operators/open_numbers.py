"""Numbers of Python that a function computes with, whose values are left open.

A function is called with `OpenNumber`s in the place of numbers and with symbols in the place of tensors. Python's arithmetic
makes expressions of them, and an expression that is an operand of an op becomes a placeholder. What else the function asks for
is noted: the outcome of a comparison, or the value of an expression. So the graph serves all numbers with the same answers, and
one function computes its placeholders from them, in Python's arithmetic, as the function itself would.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.types import TensorType, scalar_dtype
from ..errors import GraphError
from ..ir import REGISTRY, Graph, Node
from .dispatch import state
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
KINDS = (float, int)
SPACE: dict[str, Any] = {"abs": abs, "array": np.array, "inf": math.inf, "nan": math.nan}


class OpenNumbers:
    """The open numbers of one call of a function. values: in this call; numbers: what stands for them."""

    def __init__(self, values: Sequence[float | int], whole: bool = True):
        """whole: a value that is needed makes its numbers `needed`; else it is an answer, so that other numbers with the same
        value of the expression will do."""
        self.whole = whole
        self.numbers = [OpenNumber(self, f"s[{i}]", value, frozenset([i])) for i, value in enumerate(values)]
        self.answers: dict[str, Any] = {}
        """The outcomes of comparisons, by expression."""
        self.needed: set[int] = set()
        """The positions of numbers whose values were needed."""
        self.graph: Graph | None = None
        self.nodes: dict[tuple[str, type, np.dtype], Node] = {}
        """The placeholders, by expression, its class in Python, and their dtype."""

    def call(self, graph: Graph, function: Callable[..., Any], operands: Sequence[Any]) -> Any:
        """function(*operands), which has these numbers. graph: of the operands."""
        self.graph, state.open_numbers = graph, state.open_numbers + 1
        try:
            return function(*operands)
        finally:
            state.open_numbers -= 1

    def feeds(self) -> Callable[[Sequence[float | int]], list[np.ndarray] | None]:
        """A function of numbers: the arrays to feed; None where they have other answers."""
        lines = ["def feeds(s):"]
        lines += [f"    if ({text}) is not {answer!r}: return None" for text, answer in self.answers.items()]
        names: dict[str, str] = {}
        space, arrays = dict(SPACE), []
        for (text, kind, dtype), _ in self.nodes.items():
            if text not in names:
                name = names[text] = f"v{len(names)}"
                lines += [f"    {name} = {text}", f"    if {name}.__class__ is not {kind.__name__}: return None"]
            space[f"d{dtype.num}"] = dtype
            arrays.append(f"array({names[text]}, d{dtype.num})")
        exec("\n".join([*lines, f"    return [{', '.join(arrays)}]"]), space)
        found: Callable[[Sequence[float | int]], list[np.ndarray] | None] = space["feeds"]
        return found


class UnknownNumber:
    """Stands for a number of Python. Its operators call `operate`; whatever else Python does with a number takes `needed`."""

    __slots__ = ()
    __array_ufunc__ = None  # NumPy leaves operators to it

    def operate(self, symbol: str, other: Any, swapped: bool = False) -> Any:
        """The result of an operator; swapped: this number is the second operand."""
        raise NotImplementedError

    def needed(self) -> Any:
        """The value, where Python needs it."""
        raise NotImplementedError

    def sample(self) -> Any:
        """A number of this kind."""
        raise NotImplementedError

    def __pos__(self) -> Any:
        return self


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


class OpenNumber(UnknownNumber):
    """An expression of open numbers. It passes for a number of Python's, as `isinstance` and `__class__` tell; whatever takes
    its value through C gets it by `__float__` or `__index__`, which is noted. positions: of the numbers in it."""

    __slots__ = ("all", "positions", "text", "value")

    def __init__(self, all: OpenNumbers, text: str, value: Any, positions: frozenset[int]):
        self.all, self.text, self.value, self.positions = all, text, value, positions

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.value)

    def needed(self) -> Any:
        """The value, on which the function's computation depends."""
        if self.all.whole:
            self.all.needed |= self.positions
        else:
            self.all.answers[f"{self.text} == {self.value!r}"] = True
        return self.value

    def tensor(self) -> Any:
        """The number as a tensor of 64 bits."""
        graph = self.all.graph
        assert graph is not None
        return Symbol(graph, self.node(graph, np.dtype(np.int64 if type(self.value) is int else np.float64)))

    def operate(self, symbol: str, other: Any, swapped: bool = False) -> Any:
        """An expression of this and another number; the value itself of a comparison."""
        if type(other) is OpenNumber:
            theirs, text, positions = other.value, other.text, self.positions | other.positions
        elif type(other) in KINDS or type(other) is bool:
            theirs, text, positions = other, f"({other!r})", self.positions
        else:
            return NotImplemented
        pair, texts = (self.value, theirs), (self.text, text)
        if swapped:
            pair, texts = pair[::-1], texts[::-1]
        value, text = OPERATORS[symbol](*pair), f"({texts[0]} {symbol} {texts[1]})"
        if type(value) is bool:
            self.all.answers[text] = value
            return value
        found = OpenNumber(self.all, text, value, positions)
        return found if type(value) in KINDS else found.needed()

    def sample(self) -> Any:
        return type(self.value)(1)

    def __neg__(self) -> Any:
        return OpenNumber(self.all, f"(-{self.text})", -self.value, self.positions)

    def __abs__(self) -> Any:
        return OpenNumber(self.all, f"abs({self.text})", abs(self.value), self.positions)

    def __bool__(self) -> bool:
        found: bool = self.operate("!=", 0)
        return found

    def __reduce__(self) -> Any:
        return type(self.value), (self.needed(),)

    def node(self, graph: Graph, dtype: np.dtype | None) -> Node:
        """The placeholder that stands for it in a graph. Raises GraphError for another graph than that of its call."""
        if graph is not self.all.graph:
            raise GraphError("an open number belongs to the graph of one call")
        dtype = scalar_dtype(self.value) if dtype is None else dtype
        key = self.text, type(self.value), dtype
        found = self.all.nodes.get(key)
        if found is None:
            kind = TensorType((), dtype)
            found = self.all.nodes[key] = graph.add(REGISTRY["placeholder"], (), {"type": kind}, kind)
        return found


def closed(value: Any) -> Any:
    """A value with the values of the open numbers in it, which are needed then."""
    if type(value) is OpenNumber:
        return value.needed()
    if type(value) in (tuple, list):
        return type(value)(map(closed, value))
    return {k: closed(v) for k, v in value.items()} if type(value) is dict else value
