"""Numbers of Python among the arguments whose values differ between calls: a rate, a step index.

After calls with a few values, a number is no part of the key of its trace any more. The function then computes with a
`Expression` in its place. An expression that is an operand of an op becomes a feed of the plan, computed in each call from the
numbers of that call, in Python's arithmetic. The outcome of a comparison, or a value that Python needs, is a condition of the
trace. Each call carries its own numbers, so threads do not mix them up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.types import TensorType, bool_
from ..ir import REGISTRY
from ..operators import append, state
from ..operators.unknown_numbers import NUMBERS, Expression, Numbers
from .numbers import StateNumbers
from .plain import same
from .segments.runs import Again

if TYPE_CHECKING:
    from .arguments import Call

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

    def varied(self, call: Call) -> bool:
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
