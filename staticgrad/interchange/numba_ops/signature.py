"""The shapes of an op's operands and results: NumPy's generalized signatures, as "(n,m),(m)->(n)"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

from ...base.types import broadcast_shapes, shape_text
from ...errors import ArgumentError, ShapeError, UnknownExtentError

Axis = str | int
"""An axis by its letter, or an extent."""
Shape = tuple[int, ...]
CORE = r"\(\s*(?:\w+(?:\s*,\s*\w+)*\s*,?)?\s*\)"
FORM = re.compile(rf"\s*({CORE}(?:\s*,\s*{CORE})*)\s*->\s*({CORE}(?:\s*,\s*{CORE})*)\s*")


class Signature(NamedTuple):
    """The axes of one item of each operand and of each result. Further axes in front are those of a batch, and broadcast.
    rule: where it is given, the function of the operands' shapes that gives those of the results."""

    operands: tuple[tuple[Axis, ...], ...]
    results: tuple[tuple[Axis, ...], ...]
    rule: Callable[..., Any] | None = None

    @property
    def elementwise(self) -> bool:
        """Whether an item of everything is a number."""
        return not any((*self.operands, *self.results))

    def batch(self, shapes: Sequence[Shape], name: str) -> Shape:
        """The shape of the batch. Raises ShapeError."""
        leads = []
        for shape, core in zip(shapes, self.operands, strict=True):
            if len(shape) < len(core):
                raise ShapeError(f"{name}: an operand {text(core)} has at least {len(core)} axes, got {shape_text(shape)}")
            leads.append(shape[: len(shape) - len(core)])
        return broadcast_shapes(*leads)

    def extents(self, shapes: Sequence[Shape], name: str) -> dict[Axis, Any]:
        """The extent of each axis, None where it is unknown. Raises ShapeError."""
        found: dict[Axis, Any] = {}
        for shape, core in zip(shapes, self.operands, strict=True):
            for axis, extent in zip(core, shape[len(shape) - len(core) :], strict=True):
                known = axis if isinstance(axis, int) else found.get(axis)
                if known is None or extent is None:
                    found[axis] = extent if known is None else known
                elif known != extent:
                    raise ShapeError(f"{name}: {axis} is {known} and {extent} in {', '.join(map(shape_text, shapes))}")
                else:
                    found[axis] = known
        if self.rule is not None:
            for core, shape in zip(self.results, shapes_by(self.rule, shapes, name), strict=True):
                found.update(zip(core, shape, strict=True))
        found.update({axis: axis for core in self.results for axis in core if isinstance(axis, int)})
        return found

    def reverse(self) -> Signature:
        """That of the derivative: from the cotangents of the results and the operands to the cotangents of the operands."""
        return Signature((*self.results, *self.operands), self.operands)

    def __str__(self) -> str:
        return f"{','.join(map(text, self.operands))}->{','.join(map(text, self.results))}"


def text(core: Sequence[Axis]) -> str:
    """The axes of an item."""
    return f"({','.join(map(str, core))})"


def parsed(given: str) -> Signature:
    """The signature of a text. Raises ArgumentError."""
    found = FORM.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ArgumentError(f"no signature: {given!r}", 'write one as "(n,m),(m)->(n)"; () is a number')
    operands, results = (tuple(map(_axes, re.findall(CORE, side))) for side in found.groups())
    unknown = {axis for core in results for axis in core if isinstance(axis, str)}.difference(*operands)
    if unknown:
        raise ArgumentError(
            f"no operand has the axis {min(unknown)} of {given!r}", "write its extent, or give shape= instead of a signature"
        )
    return Signature(operands, results)


def _axes(core: str) -> tuple[Axis, ...]:
    return tuple(int(axis) if axis.isdigit() else axis for axis in re.findall(r"\w+", core))


def of_numbers(operands: int, results: int = 1) -> Signature:
    """That of a function of numbers."""
    return Signature(((),) * operands, ((),) * results)


def by_rule(rule: Callable[..., Any], shapes: Sequence[Shape], name: str) -> Signature:
    """The signature for operands of such ranks, where a function gives the shape of the result, or a list of several. Raises
    ShapeError."""
    operands = tuple(tuple(f"{name}{i}" for i in range(len(shape))) for name, shape in zip(_letters("x"), shapes, strict=False))
    found = shapes_by(rule, shapes, name)
    results = tuple(tuple(f"{name}{i}" for i in range(len(shape))) for name, shape in zip(_letters("y"), found, strict=False))
    return Signature(operands, results, rule)


def _letters(letter: str) -> Iterator[str]:
    return (f"{letter}{i}_" for i in count())


def shapes_by(rule: Callable[..., Any], shapes: Sequence[Shape], name: str) -> list[Shape]:
    """The shapes of the results by a function of the user's. Raises ShapeError."""
    if any(None in shape for shape in shapes):
        raise UnknownExtentError(f"{name}: extents are unknown", "give the placeholders known extents")
    found = rule(*shapes)
    results = found if isinstance(found, list) else [found]
    for shape in results:
        if not isinstance(shape, tuple) or not all(isinstance(extent, int) and extent >= 0 for extent in shape):
            raise ShapeError(f"{name}: shape= has to give a tuple of extents, or a list of tuples, got {found!r}")
    return results
