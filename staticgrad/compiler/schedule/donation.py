"""Buffer donation: kernels write results, element by element, over an operand without later readers, and products add to one.

Equal kernels are treated alike so that equal layers can share one: where one of them may not overwrite its operand, none does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ...ir import Node
from ..fusion.layout import Layouts
from .order import Schedule, ScheduleNode, adds_to, why_not_by_element

Pair = tuple[int, int]
"""The numbers of a result and of an operand, as `_numbers` counts them."""


def donate_buffers(order: Schedule, layouts: Layouts, fetches: Sequence[Node]) -> None:
    """Adds such results to `order.place`."""
    made = {node for unit in order.units if unit.kind in ("kernel", "native", "copy", "wait") for node in unit.makes}
    last = {base: unit for unit in order.units for base in unit.reads}
    kept = {layouts.base[value] for value in [*fetches, *order.saved]} | set(order.place)
    for part in layouts.part.values():  # other instructions may still read one of them after the last reader of the other
        kept |= {part, layouts.base[part]}
    free = made - kept
    kernels = [unit for unit in order.units if unit.kind == "kernel"]
    alike: dict[Hashable, list[tuple[ScheduleNode, dict[Node, int]]]] = {}
    for unit in kernels:
        numbers = _numbers(unit, layouts)
        alike.setdefault(_kind(unit, numbers, layouts), []).append((unit, numbers))
    over: dict[Node, Node] = {}
    for same in alike.values():
        pairs = set.intersection(*[_pairs(unit, numbers, layouts, free, last) for unit, numbers in same])
        for result, operand in _apart(pairs):
            for _, numbers in same:
                nodes = list(numbers)
                over[nodes[result]] = nodes[operand]
    for unit in kernels:
        for value in unit.makes:
            if value in over:
                order.place[value] = base = over[value]
                order.notes.append(_note(value, base))
    for unit in order.units:
        if unit.kind != "native" or unit.over is None:
            continue
        [value], base = unit.makes, layouts.base[unit.over]
        dying = {value, base} <= free and value.type.size == base.type.size and last[base] is unit
        if dying and adds_to(unit, base, layouts):
            order.place[value] = base
            order.notes.append(_note(value, base))
    for value, base in order.place.items():
        while base in order.place:  # results that overwrite a result which itself overwrites a buffer
            base = order.place[base]
        order.place[value] = base


def _note(value: Node, base: Node) -> str:
    return f"{value.op.name} {value.type}: written over {base.op.name}, which nobody needs any more"


def _numbers(unit: ScheduleNode, layouts: Layouts) -> dict[Node, int]:
    """The buffers that a kernel's members read, and the members, in the order of their appearance."""
    assert unit.group is not None
    numbers: dict[Node, int] = {}
    for node in unit.group.members:
        for base in (*(layouts.base[operand] for operand in node.inputs), node):
            numbers.setdefault(base, len(numbers))
    return numbers


def _kind(unit: ScheduleNode, numbers: dict[Node, int], layouts: Layouts) -> Hashable:
    """A key that is equal for kernels that differ only in extents."""
    group = unit.group
    assert group is not None
    return tuple(
        (n.op.name, n.type.dtype, group.domain.rank[n], n in group.outputs, *(numbers[layouts.base[i]] for i in n.inputs))
        for n in group.members
    )


def _pairs(
    unit: ScheduleNode, numbers: dict[Node, int], layouts: Layouts, free: set[Node], last: dict[Node, ScheduleNode]
) -> set[Pair]:
    """The results that may overwrite operands."""
    dying = [base for base in numbers if base in unit.reads and base in free and last[base] is unit]
    return {
        (numbers[value], numbers[base])
        for value in unit.makes
        for base in dying
        if value in free and value.type == base.type and value.type.shape
        if why_not_by_element(unit, value, base, layouts) is None
    }


def _apart(pairs: set[Pair]) -> list[Pair]:
    """A selection of the pairs in which no result and no operand occurs twice."""
    chosen: list[Pair] = []
    for pair in sorted(pairs):
        if all(pair[0] != other[0] and pair[1] != other[1] for other in chosen):
            chosen.append(pair)
    return chosen
