"""Numbers of Python whose values differ between runs: those that a step takes from a tensor (`loss.item()`), and those that it
keeps between calls (`self.iteration`).

A number of a tensor is known after the run. It can be computed with, stored and returned; code that needs its value cuts the
trace. A number of the state is known when a call begins: what depends on it in another way than arithmetic becomes a guard on
the expression that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.types import TensorType, bool_
from ..compiler.passes.symbolic_extents import SymbolicExtent
from ..eager.grad_mode import set_grad_enabled
from ..errors import StaticgradError
from ..ir import REGISTRY, Node
from ..ops.leaves import Source, argument
from ..ops.operators import F, append, as_array, state
from ..ops.operators.unknown_numbers import FLOAT, FUNCTIONS, NUMBERS, Expression, Numbers, UnknownNumber, closed, literal
from ..ops.pointwise import cast
from ..ops.reductions import sum_op
from ..ops.shaping import reshape_op
from .containers import same
from .segments.runs import Again

if TYPE_CHECKING:
    from .arguments import CallArguments


COMPARISONS = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal"}
LARGE = 2.0**62
LAST = (1 << 63) - 1
"""The largest integer of 64 bits."""
EXACT = 1 << 53
"""The integers that float64 has all of."""


class RunNumber(UnknownNumber):
    """The value of a traced tensor of one element, of 64 bits. source: the user's tensor that it was taken from.

    limit: what an integer's magnitude is at most; rounded: for one that may need more bits than its tensor has, the value as
    a tensor of float64, from which `exactly` finds those that were lost.
    """

    __slots__ = ("limit", "rounded", "source", "value")

    def __init__(self, value: Any, kind: type, source: Any = None, limit: int = 1 << 63, rounded: Any = None):
        self.value, self.kind = value, kind
        self.source = value if source is None else source
        self.limit, self.rounded = limit, rounded

    def tensor(self) -> Any:
        if self.rounded is not None and state.tracer.decisions is not None:
            rounded = RunNumber(self.rounded, float, self.source)
            if rounded.operate("<", LARGE) and rounded.operate(">", -LARGE):
                self.limit, self.rounded = int(LARGE), None
        return self.value if self.rounded is None else self.needed()

    def cast(self, dtype: np.dtype) -> Any:
        return F.astype(self.tensor() if self.rounded is None or dtype.kind != "f" else self.rounded, dtype)

    def combined(self, symbol: str, other: Any, swapped: bool) -> Any:
        if type(other) is Expression and isinstance(other.value, np.generic):
            return self.needed()
        if symbol in COMPARISONS:
            return self._compared(symbol, other, swapped)
        kind = float if float in (self.kind, other.kind if issubclass(type(other), UnknownNumber) else type(other)) else int
        if symbol == "/" and self._divides(self if swapped else other):
            kind = float
        elif symbol not in FUNCTIONS or symbol == "/":
            return self.needed()
        with set_grad_enabled(False):
            if kind is int:
                return self._integers(symbol, other, swapped)
            return RunNumber(self._rounded(symbol, other, swapped), float, self.source)

    def _rounded(self, symbol: str, other: Any, swapped: bool) -> Any:
        """The result in float64."""
        mine, theirs = self.cast(FLOAT), other.cast(FLOAT) if issubclass(type(other), UnknownNumber) else float(other)
        return getattr(F, FUNCTIONS[symbol])(*((theirs, mine) if swapped else (mine, theirs)))

    def _integers(self, symbol: str, other: Any, swapped: bool) -> Any:
        """A sum, a difference or a product of integers. Python's have any number of bits, of which the tensor has the last 64.
        A run decides whether a large product has more."""
        if type(other) is RunNumber:
            most, theirs = other.limit, other.value
        elif not (other.within(-EXACT, EXACT) if type(other) is Expression else -EXACT <= other <= EXACT):
            return self.needed()
        elif type(other) is Expression:
            most, theirs = EXACT, other.tensor()
        else:
            most, theirs = abs(other), other
        limit = self.limit * most if symbol == "*" else self.limit + most
        rounded = self._rounded(symbol, other, swapped) if limit > LAST else None
        if symbol == "*" and limit > LAST + 1:
            if state.tracer.decisions is None:
                return self.needed()
            product = RunNumber(rounded, float, self.source)
            if not (product.operate("<", LARGE) and product.operate(">", -LARGE)):
                return self.needed()
            limit, rounded = int(LARGE), None
        pair = (theirs, self.value) if swapped else (self.value, theirs)
        return RunNumber(getattr(F, FUNCTIONS[symbol])(*pair), int, self.source, limit, rounded)

    def _divides(self, divisor: Any) -> bool:
        """Whether a division is one of tensors: Python's raises an error where the divisor is 0, a guard on a number of
        the state and a decision on one of the run."""
        if not isinstance(divisor, RunNumber):
            return bool(divisor != 0) and (type(divisor) is not int or abs(divisor) <= EXACT)
        if state.tracer.decisions is None:
            return False
        if divisor._against("==", 0):
            raise ZeroDivisionError("division by zero")
        return True

    def operate(self, symbol: str, other: Any, swapped: bool = False) -> Any:
        return self._against(symbol, other) if symbol in COMPARISONS else super().operate(symbol, other, swapped)

    def _against(self, symbol: str, other: Any) -> Any:
        """The outcome of a comparison with any object."""
        if type(other) in NUMBERS or issubclass(type(other), UnknownNumber):
            return super().operate(symbol, other)
        if type(other) is bool:
            return super().operate(symbol, int(other))
        return NotImplemented if other is None or isinstance(other, (str, bytes, list, tuple, dict)) else self.needed()

    def _compared(self, symbol: str, other: Any, swapped: bool) -> Any:
        """The outcome of a comparison, which the trace goes on with."""
        kinds = {self.kind, other.kind if issubclass(type(other), UnknownNumber) else type(other)}
        if state.tracer.decisions is None or not self._comparable(other, kinds):
            return self.needed()
        dtype = np.dtype(np.float64 if float in kinds else np.int64)
        with set_grad_enabled(False):
            mine = self.cast(dtype)
            theirs = other.cast(dtype) if issubclass(type(other), UnknownNumber) else dtype.type(other)
            pair = (theirs, mine) if swapped else (mine, theirs)
            return state.tracer.truth(getattr(F, COMPARISONS[symbol])(*pair))

    def _comparable(self, other: Any, kinds: set[type]) -> bool:
        """Whether tensors compare as Python does: it compares integers with other numbers exactly."""
        if type(other) is Expression:
            return kinds == {self.kind} and (self.kind is float or other.within(-EXACT, EXACT))
        if type(other) is RunNumber:
            return kinds == {self.kind}
        if kinds == {int}:
            return bool(-(1 << 63) <= other < 1 << 63)
        return self.kind is float and (type(other) is float or bool(abs(other) <= EXACT))

    def needed(self, *args: Any) -> Any:
        """Python needs the value: cuts the trace."""
        return float(self.source)

    def __bool__(self) -> Any:
        return self._against("!=", 0)

    def __abs__(self) -> Any:
        return self.needed()

    def __reduce__(self) -> Any:
        return self.needed()


def listed(data: Any, dtype: np.dtype | None = None) -> Any:
    """A number of the trace, or nested lists with some in them, as a tensor; anything else as it is. Numbers of the call are
    one input of the plan. dtype: of the tensor; None: that of the numbers."""
    parts: list[Any] = []
    values = _values(data, parts)
    if not any(issubclass(type(x), UnknownNumber) for x in parts):
        return data
    try:
        like = as_array(values)
    except StaticgradError:
        return data
    dtype = like.dtype if dtype is None else dtype
    try:
        np.array(values, dtype)
    except OverflowError:
        return closed(data)
    of_runs = any(type(x) is RunNumber for x in parts)
    if like.size != len(parts) or (of_runs and dtype.kind in "iu" and dtype.itemsize < 8):
        return data  # there are arrays in it, or a run would have to tell whether the dtype holds the numbers
    given = [x.source for x in parts if type(x) is Expression and x.source.wider]
    if given and not of_runs:
        texts = [x.text if type(x) is Expression else literal(x) for x in parts]
        kinds = tuple([type(x.value) if type(x) is Expression else type(x) for x in parts])
        given[0].conditions[f"tuple(map(type, ({', '.join(texts)},)))"] = kinds
        found = given[0].placed(Expression(given[0], f"[{', '.join(texts)}]", like.ravel().tolist()), dtype)
    else:
        found = F.stack([x.cast(dtype) if issubclass(type(x), UnknownNumber) else np.array(x, dtype) for x in parts])
    return F.reshape(found, like.shape)


def _values(data: Any, parts: list[Any]) -> Any:
    """Nested lists with values in the place of numbers of the trace. parts: gets what is in them."""
    if type(data) in (list, tuple):
        return [_values(x, parts) for x in data]
    parts.append(data)
    return data.value if type(data) is Expression else data.sample() if type(data) is RunNumber else data


def exactly(value: int, rounded: float) -> int:
    """The integer whose last 64 bits are those of `value`, and which `rounded` is close to."""
    return value + (round((int(rounded) - value) / 2**64) << 64)


def magnitude(node: Node) -> int:
    """What the magnitude of an integer tensor's elements is at most, by the dtypes that it was made of."""
    if node.type.dtype.kind not in "biu":
        return 1 << 63
    limit = 1 if node.type.dtype.kind == "b" else int(np.iinfo(node.type.dtype).max) + 1
    if node.op is sum_op and node.type.static and node.inputs[0].type.static:
        return min(limit, magnitude(node.inputs[0]) * (node.inputs[0].type.size // max(node.type.size, 1)))
    return min(limit, magnitude(node.inputs[0])) if node.op in (cast, reshape_op) else limit


def position(key: Any) -> Any:
    """A key of a container with the value of a number that the function keeps, or of an extent, which Python needs."""
    return key.__index__() if type(key) is SymbolicExtent else closed(key)


def has_number(value: Any) -> bool:
    """Whether an attribute of an op has a number of the trace in it."""
    if type(value) is dict:
        return any(map(has_number, value.values()))
    return any(map(has_number, value)) if type(value) in (tuple, list) else issubclass(type(value), UnknownNumber)


class Condition:
    """An expression over the numbers of the state, as a function."""

    __slots__ = ("function", "numbers")

    def __init__(self, numbers: StateNumbers, function: Callable[[list[Any]], Any]):
        self.numbers, self.function = numbers, function

    def __call__(self) -> Any:
        return self.function(self.numbers.values)


class StateNumbers(Numbers):
    """The numbers that a function keeps; `self[text]` evaluates an expression over those of the present call."""

    def __init__(self) -> None:
        super().__init__(())
        self._functions: dict[str, Callable[[list[Any]], Any]] = {}

    def placed(self, number: Expression, dtype: np.dtype) -> Any:
        """A tensor of an expression, which each run evaluates; the value itself, on which the trace depends, if the dtype or
        float64, in which runs read numbers, does not hold it."""
        if dtype.kind in "iu":
            bounds = np.iinfo(dtype)
            if not number.within(max(int(bounds.min), -EXACT), min(int(bounds.max), EXACT)):
                return number.needed()
        graph = state.tracer.graph
        node = append(graph, argument, (), {"source": Source(self, number.text)}).node  # type: ignore[arg-type]
        found = state.tracer.plain(node)
        return found if found.dtype == dtype else F.astype(found, dtype)

    def function(self, text: str) -> Callable[[list[Any]], Any]:
        found = self._functions.get(text)
        if found is None:
            found = self._functions[text] = eval(f"lambda s: {text}", self.space)
        return found

    def condition(self, text: str) -> Condition:
        """A function that evaluates an expression."""
        return Condition(self, self.function(text))

    def __getitem__(self, text: str) -> Any:
        return self.function(text)(self.values)


# numbers of Python among the arguments whose values differ between calls: a rate, a step index -----------------------

# After calls with a few values, a number is no part of the key of its trace any more. The function then computes with a
# `Expression` in its place. An expression that is an operand of an op becomes a feed of the plan, computed in each call from
# the numbers of that call, in Python's arithmetic. The outcome of a comparison, or a value that Python needs, is a condition of
# the trace. Each call carries its own numbers, so threads do not mix them up.

NONE: Mapping[str, Any] = MappingProxyType({})
VALUES = 3
"""Values of an argument in traces, from which it is a run-time number."""
PINNED = 2
"""Traces that need the value of a number, from which it is part of the key, unless another trace did not need it."""


class NumberKey(NamedTuple):
    """The part of a key for a number of any value."""

    kind: type

    def __repr__(self) -> str:
        return f"any {self.kind.__name__}"


class ArgumentNumbers(Numbers):
    """The numbers of one call in its trace, and what the trace computes of them.

    labels: of the numbers; kept: the numbers that the function keeps, with which it may combine them; extents: what stands for
    numbers, of either, that are extents of the trace, by their texts. Each of these is the extent of an array without elements
    that runs are fed, so that plans for other values are found and made as those for other shapes are.
    """

    name = "a"
    wider = True

    def __init__(self, values: Sequence[Any], labels: Sequence[str], kept: StateNumbers, extents: Mapping[str, Any] = NONE):
        super().__init__(values)
        self.labels, self.state, self.extents = list(labels), kept, extents
        self.lengths = [
            append(state.tracer.graph, REGISTRY["placeholder"], (), {"type": TensorType((extent, 0), bool_)}).node
            for extent in extents.values()
        ]
        """The placeholders of those arrays."""

    def number(self, i: int) -> Any:
        text = f"a[{i}]"
        return self.extents[text] if text in self.extents else super().number(i)

    def placed(self, number: Expression, dtype: np.dtype) -> Any:
        """A tensor of an expression, or of a list of them; the value itself, on which the trace depends, if the dtype does not
        hold it."""
        try:
            np.array(number.value, dtype)
        except (OverflowError, ValueError):
            return number.needed()
        return state.tracer.plain(self.placeholder(number, state.tracer.graph, dtype))

    def pinned(self) -> set[int]:
        """The positions of the numbers whose values Python needed."""
        return {i for i in range(len(self.values)) if f"a[{i}]" in self.conditions}

    def finish(self) -> NumberFeeds:
        """What calls compute, after the trace."""
        return NumberFeeds(self)


class NumberFeeds:
    """The arrays that a plan is fed for the numbers of a call, and the conditions on these. nodes: the placeholders of
    the arrays; arrays: see `Numbers.feeds`."""

    def __init__(self, numbers: ArgumentNumbers):
        self.state = numbers.state
        self.nodes = [*numbers.nodes.values(), *numbers.lengths]
        self.extents = [*numbers.extents]
        self.conditions, self.labels = dict(numbers.conditions), numbers.labels
        keeps = any("s[" in text for text in (*self.conditions, *self.extents, *[text for text, _, _ in numbers.nodes]))
        lengths = [f"empty(({text}, 0), bool)" for text in self.extents]
        self.arrays = numbers.feeds(["  s = kept.values"] if keeps else [], lengths, kept=self.state, same=same)

    def difference(self, values: Sequence[Any]) -> str:
        """The first condition that does not hold for other numbers, in words; "" where all hold."""
        space = {**StateNumbers.space, "a": values, "s": self.state.values}
        for text, value in self.conditions.items():
            try:
                now = eval(text, space)
            except Exception as error:
                return f"{self.worded(text)} raises {type(error).__name__}"
            if not same(value, now):
                return f"{self.worded(text)} is {now} instead of {value}"
        changed = [self.worded(text) for text in self.extents]
        return f"{' or '.join(changed)} is another extent" if changed else ""

    def worded(self, text: str) -> str:
        for i, label in enumerate(self.labels):
            text = text.replace(f"a[{i}]", label)
        return text


def needed(conditions: Iterable[tuple[str, Any]]) -> set[str]:
    """The texts of numbers that are in expressions of which a trace needed the values. A remainder is no length: it has few
    values, and a trace for each."""
    lengths = [text for text, value in conditions if type(value) is int and "%" not in text]
    return {number for text in lengths for number in re.findall(r"[as]\[\d+\]", text)}


class NumbersRefused(Again):
    """A trace with run-time numbers failed. The next one has their values."""


class VaryingArguments:
    """The arguments of one function that are run-time numbers, by their positions among the parts of a key."""

    def __init__(self) -> None:
        self.positions: frozenset[int] = frozenset()
        self.seen: dict[tuple[int, type], set[str]] = {}
        """Values of a class in traces."""
        self.constant: set[int] = set()
        """Those that the function can only use by their values."""
        self.free: set[int] = set()
        """Those that a trace served without needing their values."""
        self.needed: dict[int, int] = {}
        """How many traces needed the values."""

    def varied(self, call: CallArguments) -> bool:
        """Note the values of a call that is to be traced; whether there are more run-time numbers now."""
        found = set()
        for position, value in call.others:
            if type(value) in NUMBERS and position not in self.positions and position not in self.constant:
                seen = self.seen.setdefault((position, type(value)), set())
                seen.add(repr(value))
                if len(seen) >= VALUES:
                    found.add(position)
        self.positions |= found
        return bool(found)

    def fixed(self, positions: Sequence[int]) -> None:
        """Take these by their values from now on."""
        self.constant.update(positions)
        self.positions -= self.constant

    def traced(self, positions: Sequence[int], pinned: set[int]) -> None:
        """Note what a trace needed. positions: of the call's numbers; pinned: which of these it needed."""
        for i, position in enumerate(positions):
            if i not in pinned:
                self.free.add(position)
            elif position not in self.free:
                self.needed[position] = self.needed.get(position, 0) + 1
                if self.needed[position] >= PINNED:
                    self.fixed([position])
