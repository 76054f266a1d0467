"""Traces that serve other shapes: the user's code runs once with symbolic extents, and is not run again where they may differ.

The second trace of a function whose arguments are alike but for some extents reads these extents as symbols
(`compiler/passes/symbolic_extents.py`). What Python decides by them becomes a condition. Arguments that meet the conditions,
while the guards of the trace hold, get the recorded program with their own numbers.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from typing import Any

from ..base.types import Shape, TensorType
from ..compiler.passes.symbolic_extents import Conditions, SymbolicProgram, Unfollowed
from ..compiler.plan_store import KEPT, VAIN
from ..eager.grad_mode import modes
from .arguments import ArrayKey, CallArguments
from .specialization import Specialization

Axis = tuple[int, int]
"""(number of an array among the arguments, axis)."""


class Symbols:
    """The extents of a call's arrays, those on `axes` as symbols; equal ones as one. Extents of 0 and 1 stay numbers: most code
    treats them apart. numbers: of the call, by their texts, that may be extents; those on `axes` follow the arrays."""

    def __init__(self, call: CallArguments, axes: set[Axis], numbers: Mapping[str, int]):
        self.conditions = Conditions()
        self.axes: list[Axis] = []
        """Where each symbol's value is found."""
        known: dict[int, Any] = {}
        labels = call.array_labels()
        self.shapes: list[Shape] = []
        for number, array in enumerate(call.arrays):
            shape: list[Any] = list(array.shape)
            for axis, extent in enumerate(array.shape):
                if extent > 1 and (number, axis) in axes:
                    if extent not in known:
                        known[extent] = self.conditions.symbol(f"{labels[number]}.shape[{axis}]", extent)
                        self.axes.append((number, axis))
                    shape[axis] = known[extent]
            self.shapes.append(tuple(shape))
        self.numbers: dict[str, Any] = {}
        """The symbols of numbers."""
        for i, (text, value) in enumerate(numbers.items()):
            if value > 1 and (len(call.arrays) + i, 0) in axes:
                self.numbers[text] = self.conditions.symbol(text, value)


class TraceTemplate:
    """One trace over symbols. Raises Unfollowed where its program can't be filled in."""

    def __init__(self, trace: Specialization, symbols: Symbols):
        self.trace = trace
        self.pattern = pattern_of(trace.key)
        lengths = [(trace.first_length + i, 0) for i in range(len(symbols.numbers))]
        self.program = SymbolicProgram(trace.program.prepared, symbols.conditions, [*symbols.axes, *lengths])
        if trace.tape is not None:
            trace.tape.follow(symbols.conditions)

    def specialization(self, call: CallArguments, first: bool = False) -> Specialization | str:
        """The specialization that a trace of this call would have given, without its plan; or the condition that does not
        hold, in words, "" for arguments of another kind. first: of the call that was traced."""
        if not first and (self.pattern != pattern_of(call.key) or not self.trace.accepts(call)):
            return ""
        types = [TensorType(array.shape, array.dtype) for array in self.trace.fed(call.arrays, call)]
        filler = self.program.filler(types)
        if isinstance(filler, str):
            return filler
        cells = self.trace.cells(self.program.prepared, filler, first)
        program = self.trace.program.of(self.program.filled(filler, cells), self.program)
        return self.trace.again(call, program, filler, cells, first)


class TraceTemplates:
    """Those of one function."""

    def __init__(self) -> None:
        self.kept: list[TraceTemplate] = []
        """The latest that served comes first."""
        self.shapes: dict[Hashable, tuple[list[Shape], set[Axis]]] = {}
        """By the kind of arguments: the shapes of the latest trace, and the axes that ever changed."""
        self.vain = 0
        """How many traces over symbols in a row served one shape only."""
        self.needed: dict[Hashable, set[str]] = {}
        """By the kind of arguments, the numbers of which traces needed the values, by their texts."""
        self.refused: set[str] = set()
        """Numbers that were of no use as extents."""
        self.error = ""
        """Why the latest trace over symbols failed."""

    def find(self, call: CallArguments) -> tuple[Specialization | None, str]:
        """A specialization of a kept trace; or None, and the condition that did not hold."""
        why = ""
        for template in self.kept:
            found = template.specialization(call)
            if isinstance(found, Specialization):
                self.kept = [template, *[other for other in self.kept if other is not template]]
                return found, ""
            why = why if why else found
        return None, why

    def note(self, call: CallArguments, needed: Set[str]) -> None:
        """Note the numbers of which a trace needed the values."""
        self.needed.setdefault(pattern_of(call.key), set()).update(needed)

    def symbols(self, call: CallArguments, numbers: Mapping[str, int]) -> Symbols | None:
        """The symbols for a trace; None where the shapes are the first of their kind, or symbols have been of no use. numbers:
        the integers of the call, by their texts."""
        shapes = [*(array.shape for array in call.arrays), *((number,) for number in numbers.values())]
        key = pattern_of(call.key)
        before, axes = self.shapes.get(key, (shapes, set()))
        for number, (old, new) in enumerate(zip(before, shapes, strict=True)):
            axes |= {(number, axis) for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b}
        self.shapes[key] = shapes, axes
        if not axes or self.vain >= VAIN or not all(source.flags.c_contiguous for source in call.sources):
            return None
        wanted = self.needed.get(key, set()) - self.refused
        symbols = Symbols(call, axes, {text: n if text in wanted else 0 for text, n in numbers.items()})
        return symbols if symbols.axes or symbols.numbers else None

    def add(self, template: TraceTemplate, symbols: Symbols) -> None:
        """Keep a trace. One that serves a single shape is of no use."""
        if template.program.conditions.pinned:
            self._vain(symbols)
        else:
            self.vain = 0
            self.kept = [template, *self.kept][:KEPT]

    def _vain(self, symbols: Symbols) -> None:
        if symbols.numbers:  # shapes alone may be of use
            self.refused.update(symbols.numbers)
        else:
            self.vain += 1

    def failed(self, error: BaseException, symbols: Symbols) -> None:
        self._vain(symbols)
        self.error = str(error) if isinstance(error, Unfollowed) else f"{type(error).__name__}: {error}".partition("\n")[0]


def pattern_of(key: tuple[Any, ...]) -> Hashable:
    """A key without extents, and the grad mode."""
    parts = [(*part[:1], len(part.shape), *part[2:]) if isinstance(part, ArrayKey) else part for part in key]
    return modes.now.grad, *parts
