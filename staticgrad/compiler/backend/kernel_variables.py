"""The variables of kernels: the memory that a name stands for, and what becomes of it where ways through the code join.

A variable has memory for each type that it is given. Where ways join, the value goes to the memory that the name stood for
before they parted, if that holds it without loss; otherwise the name has no value there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir

from .kernel_types import Operand, Refused, Type, Value, cast, common, type_of


class Slot(NamedTuple):
    """The memory of a variable; LLVM's first pass puts it into a register."""

    type: Type
    place: Any


Names = dict[str, Operand]
"""Slots, and what is known of names that have one value."""


AMBIGUOUS = object()
"""What a name stands for whose type depends on the way that was taken."""


class Loop(NamedTuple):
    """The blocks that `continue` and `break` jump to. names: before the loop; lost: those that an iteration may leave with a
    value that their slots don't hold."""

    again: Any
    after: Any
    names: Names
    lost: set[str]


class Variables:
    """The variables of one function. once: names that are assigned to once, and read after that only."""

    def __init__(self, builder: ir.IRBuilder, once: Collection[str]):
        self.builder, self.once = builder, once
        self.names: Names = {}
        self.slots: dict[tuple[str, Type], Slot] = {}
        self.read: set[Slot] = set()
        """The slots that the innermost loop has read."""

    def slot(self, kind: Type, name: str = "") -> Slot:
        with self.builder.goto_entry_block():
            return Slot(kind, self.builder.alloca(kind.llvm, name=name))

    def loaded(self, slot: Slot) -> Value:
        return Value(slot.type, self.builder.load(slot.place))

    def store(self, given: Operand, slot: Slot) -> None:
        self.builder.store(cast(self.builder, given, slot.type).llvm, slot.place)

    def put(self, name: str, given: Operand) -> None:
        if name in self.once:
            self.names[name] = given
            return
        kind = type_of(given)
        slot = self.slots.get((name, kind))
        if slot is None:
            slot = self.slots[name, kind] = self.slot(kind, name)
        self.names[name] = slot
        self.store(given, slot)

    def get(self, name: str) -> Operand:
        """Raises Refused where the name has no value."""
        found = self.names[name]
        if found is AMBIGUOUS:
            raise Refused(f"value of {name} here")
        if not isinstance(found, Slot):
            return found
        self.read.add(found)
        return self.loaded(found)

    def back(self, before: Names) -> set[str]:
        """Let names stand for what they did before, with the values that they have now. Returns those whose slots don't hold
        these values."""
        lost = set()
        for name, slot in before.items():
            now = self.names.get(name)
            if now is slot:
                continue
            if isinstance(slot, Slot) and isinstance(now, Slot) and _holds(slot.type, now.type):
                self.store(self.loaded(now), slot)
                self.names[name] = slot
            else:
                lost.add(name)
        return lost

    @contextmanager
    def iterated(self) -> Iterator[None]:
        """Around the code of a loop with its condition."""
        outside, self.read = self.read, set()
        yield
        self.read |= outside

    def left(self, loop: Loop) -> None:
        """After a loop: names with a value of another type have none. Raises Refused where the next iteration would read it."""
        for name, before in loop.names.items():
            if name in loop.lost and before in self.read:
                raise Refused(f"variable of several types: {name}")
            self.names[name] = AMBIGUOUS if name in loop.lost else before


def joined(ends: Sequence[Names]) -> Names:
    """The names after several ways: each of them assigns to a name's memory, or leaves it as it was."""
    found = dict(ends[0])
    for end in ends[1:]:
        for name, known in end.items():
            if found.setdefault(name, known) is not known:
                found[name] = AMBIGUOUS
    return found


def _holds(slot: Type, kind: Type) -> bool:
    """Whether a variable of this type can get such a value: the type that both have in common is its own."""
    try:
        return common(slot, kind) is slot
    except Refused:
        return False
