"""What the exchanges of a plan need of MPI: functions, operands and handles, which are entered before a run, and their errors.

Before the first exchange of a run the processes of a group compare what identifies their plans, as they do before each exchange
of eager mode (`Communicator.meet`): one number for all exchanges of a plan.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from ...base.communicators import IDLE, Agreed, Communicator, DistError, Functions, Told, digest, functions, group
from ...ir import Exchange, Node
from ..backend import abi as t
from .instructions import Instruction, Place


class GroupExchanges:
    """The exchanges of a plan with the members of one group."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.compare = beginning("compare plans")
        """Begins the comparison of plans."""
        self.found = np.zeros(size, np.int64)
        """Their numbers."""
        self.begun: list[Instruction] = []
        """The instructions that begin exchanges, in order."""
        self.compared = False
        """While the plan is lowered: whether an instruction waits for the comparison."""
        self._members: Communicator | None = None

    @property
    def told(self) -> list[Told]:
        """The exchanges, as processes tell each other of them."""
        found = []
        for each in self.begun:
            assert each.exchange is not None
            call, line = each.exchange, None if each.node is None else each.node.where
            where = "compiled" if line is None else f"compiled, {line.short}"
            found.append(Told(call.told, where, call.function, call.reduction, call.root, call.dtype, call.shape, call.table))
        return found

    @property
    def texts(self) -> list[str]:
        return [each.exchange.told for each in self.begun if each.exchange is not None]

    def ready(self) -> None:
        """Enter what belongs to the group that has the number now. Raises DistError for one that was destroyed."""
        members = group(self.number)
        if self._members is not members:
            self._members = members
            self._bind(functions(), members)

    def _bind(self, known: Functions, members: Communicator) -> None:
        """Enter the group's functions and operands."""
        state, word = self.compare.size_array, known.dtype(np.dtype(np.int64))
        state[t.FOUND // 8], state[t.MEMBERS // 8] = self.found.ctypes.data, members.present
        state[t.DIGEST // 8], state[t.COUNT_OF_GROUP // 8] = digest(["compiled", *self.texts]), members.count.ctypes.data
        addresses = state.ctypes.data + t.MINE, self.found.ctypes.data
        _enter(state, known, members, "Iallgather", [addresses[0], 1, word, addresses[1], 1, word, members.handle])
        for each in self.begun:
            _enter_exchange(each, known, members)

    def has(self, instruction: Instruction) -> bool:
        """Whether it belongs to an exchange with this group."""
        states = [each.size_array for each in (self.compare, *self.begun)]
        return any(each is instruction.size_array for each in states)

    def may_go_on(self, instruction: Instruction) -> bool:
        """Whether a run goes on after an instruction that reported an error: others have no inputs left, and take part in the
        exchanges of the plan. Raises DistError where processes are at different exchanges."""
        if instruction.control != t.MATCH or int(instruction.size_array[t.ERROR // 8]) != t.DIFFERENT:
            return False
        members = group(self.number)
        all_of_them = members.learn(self.told)
        if any(theirs[0].what == IDLE.what for theirs in all_of_them):
            members.plan_beside_idle(all_of_them)
            return True
        if members.agree_on_rows(all_of_them):
            raise Agreed("processes have other numbers of rows")
        raise members.differ(all_of_them)

    def _what(self, instruction: Instruction) -> Told:
        """Its exchange."""
        numbers = [i for i, each in enumerate(self.begun) if each.size_array is instruction.size_array]
        return self.told[numbers[0] if numbers else 0]

    def check(self, instruction: Instruction) -> None:
        """While a run waits, look at the other processes, see `Communicator.check`."""
        state = instruction.size_array
        waited, longest = (time.monotonic_ns() - int(state[t.WAITED // 8])) / 1e9, int(state[t.TIMEOUT // 8]) / 1e9
        told = self._what(instruction)
        group(self.number).check(f"{told.what} at {told.line}", waited, longest)

    def error(self, instruction: Instruction) -> DistError:
        """The error that an instruction reported."""
        state, members = instruction.size_array, group(self.number)
        code, (what, line, *_) = int(state[t.ERROR // 8]), self._what(instruction)
        if code == t.LATE:
            return members.late(what, int(state[t.TIMEOUT // 8]) / 1e9, f"at {line}")
        if code == t.UNDER_WAY:
            return DistError(f"{what}: an exchange of a run that was broken off is still under way", f"at {line}")
        from mpi4py import MPI

        return DistError(f"{what}: {MPI.Get_error_string(code)}", f"at {line}")


class Exchanges:
    """The exchanges of a plan."""

    def __init__(self) -> None:
        self.groups: dict[int, GroupExchanges] = {}
        self.waiting: dict[Node, Instruction] = {}
        """While the plan is lowered: what is under way, the oldest first."""
        self.work = 0
        """Cost units since the latest look."""

    def __bool__(self) -> bool:
        return bool(self.groups)

    def ready(self) -> None:
        """Before a run, see `GroupExchanges.ready`."""
        for each in self.groups.values():
            each.ready()

    def of(self, instruction: Instruction) -> GroupExchanges:
        """Those with the group of an instruction."""
        return next(each for each in self.groups.values() if each.has(instruction))


def _enter(state: np.ndarray, known: Functions, members: Communicator, name: str, operands: list[int]) -> None:
    """Enter a function and its operands, of which the last is where it writes what identifies the exchange."""
    state[t.FUNCTION // 8], state[t.TEST // 8] = known.address(name), known.address("Test")
    state[t.TIMEOUT // 8] = int(members.timeout * 1e9)
    operands.append(state.ctypes.data + t.REQUEST)
    at = t.OPERANDS // 8
    state[at : at + len(operands)] = operands


def _enter_exchange(instruction: Instruction, known: Functions, members: Communicator) -> None:
    """Enter what begins an exchange. MPI counts the elements that a process sends to another one, or receives from it."""
    call = instruction.exchange
    assert call is not None
    state, (sent, _), (received, _) = instruction.size_array, *instruction.buffers
    if members.mpi is None:  # others are only supposed to be there: a barrier of this process stands for the exchange
        _enter(state, known, members, "Ibarrier", [members.handle])
        state[t.SENT // 8] = state[t.RECEIVED // 8] = 0
        return
    dtype, op = known.dtype(sent.dtype), known.op(call.reduction)
    count = received.nbytes // received.dtype.itemsize
    send, receive = t.OPERANDS, t.OPERANDS + 8
    match call.function:
        case "Iallreduce" | "Ireduce_scatter_block":
            operands = [0, 0, count, dtype, op, members.handle]
        case "Ireduce":
            operands = [0, 0, count, dtype, op, call.root, members.handle]
        case "Ibcast":
            send, receive = 0, t.OPERANDS
            operands = [0, count, dtype, call.root, members.handle]
        case "Iallgather" | "Ialltoall":
            receive, part = t.OPERANDS + 24, count // members.size
            operands = [0, part, dtype, 0, part, dtype, members.handle]
        case name:
            raise AssertionError(name)
    _enter(state, known, members, call.function, operands)
    state[t.SENT // 8], state[t.RECEIVED // 8] = send, receive


def beginning(
    name: str, node: Node | None = None, buffers: Sequence[Place] = (), exchange: Exchange | None = None
) -> Instruction:
    """The instruction that begins an exchange."""
    return Instruction(
        "start", name, node, [*buffers], [0] * t.EXCHANGE_WORDS, control=t.START, exchange=exchange,
        nodes=[] if node is None else [node],
    )  # fmt: skip
