"""Lowering of exchanges with other processes to instructions that begin them, wait for them and let MPI go on meanwhile; see
`runtime/exchange_instructions.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.communicators import group
from ...ir import Exchange, Layout, Node
from ..backend import abi as t
from .exchange_state import GroupExchanges, beginning
from .instructions import Instruction
from .native_calls import copy

if TYPE_CHECKING:
    from ..schedule.order import ScheduleNode
    from .instruction_builder import GraphLowering

LOOK_WORK = 1_500_000
"""Cost units (some 0.02 ns) of instructions after which a plan lets MPI go on with exchanges: about 30 us, where a look that
has nothing to do takes 0.1 us."""


def compare_plans(b: GraphLowering, calls: list[Exchange]) -> None:
    """Append the instructions that begin the comparison of plans, one for each group."""
    found = b.stream.exchanges.groups
    for call in calls:
        if call.group not in found:
            found[call.group] = GroupExchanges(call.group, group(call.group).size)
            b.stream.add(found[call.group].compare)


def begin(b: GraphLowering, unit: ScheduleNode) -> None:
    """Append the instruction that begins an exchange; before the first one of a group, that which compares the plans."""
    node, [call] = unit.source, unit.calls
    assert node is not None
    assert isinstance(call, Exchange)
    members = b.stream.exchanges.groups[call.group]
    if not members.compared:
        members.compared = True
        b.stream.add(_later(members.compare, "match", t.MATCH))
    instead = "Ibcast" if group(call.group).rank == call.root else "Ireduce"  # whose result is the operand
    if call.function == instead and unread(b, node):
        sent = received = b.contiguous(node.inputs[0])
    else:
        received = b.buffer(node), 0
        if call.function == instead:
            copy(b, node.inputs[0], received[0], Layout.contiguous(node.type.shape))
        sent = received if call.function == "Ibcast" else b.contiguous(node.inputs[0])
    instruction = beginning(node.op.name, node, [sent, received], call)
    members.begun.append(b.stream.add(instruction))
    b.stream.exchanges.waiting[node] = instruction
    b.stream.exchanges.work = 0


def unread(b: GraphLowering, node: Node) -> bool:
    """Whether nothing in this process reads the result of an exchange."""
    read = any(node in unit.reads for unit in b.schedule.units)
    return not read and node not in b.schedule.place and node not in map(b.layouts.base.get, b.fetched_nodes)


def await_end(b: GraphLowering, unit: ScheduleNode) -> None:
    """Append the instruction that waits for an exchange."""
    first = b.stream.exchanges.waiting.pop(unit.makes[0])
    b.stream.add(_later(first, "wait", t.WAIT))
    at, end = b.stream.instructions.index(first), len(b.stream) - 1
    others = sum(not each.control for each in b.stream.instructions[at:end])
    assert first.exchange is not None
    b.stream.notes.append(
        f"{first.exchange.told}: begun by instruction {at}, as soon as its operand is there, and awaited by {end}, when no "
        f"other work is left; {others} instructions run meanwhile"
    )


def look(b: GraphLowering, since: int) -> None:
    """Let MPI go on with what is under way, once the instructions from `since` on have taken long enough."""
    found = b.stream.exchanges
    if not found.waiting:
        return
    found.work += sum(each.work for each in b.stream.instructions[since:])
    if found.work >= LOOK_WORK:
        found.work = 0
        for first in found.waiting.values():  # of one that has ended, a look does nothing
            b.stream.add(_later(first, "look", t.LOOK))


def _later(first: Instruction, kind: str, control: int) -> Instruction:
    """An instruction that shares the buffers and the state of the one that begins an exchange."""
    later = Instruction(kind, first.name, first.node, first.buffers, control=control)
    later.nodes = [] if control == t.LOOK else first.nodes
    later.pointers, later.size_array = first.pointers, first.size_array
    return later
