"""The output of lowering and the input of plans: instructions, the buffers that they read and write, and the state of
exchanges.

An instruction calls machine code with the addresses of buffers; `y = exp(x @ w)` is two of them, a product and a kernel.
The buffers of a plan lie in one allocation, the arena, where those that are never live together may overlap.
"""

from __future__ import annotations

import ctypes
import math
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from dataclasses import field
from heapq import heappop, heappush
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ...base.communicators import IDLE, Agreed, Communicator, DistError, Functions, Told, digest, functions, group
from ...base.tables import record
from ...ir import Exchange, Layout, Node
from ..backend import abi as t
from ..backend.abi import COUNT, EXIT, GROWING, HEAD, HOST, LARGE_WORK, MOVES, REVERSE, START, N, T
from ..backend.kernel_cache import Code
from ..runtime import loader

if TYPE_CHECKING:
    from ..codegen.loop_ir import Kernel

STRIDED = 1 << 14
"""Elements from which a result that lies in another order of memory is copied by a kernel of its own, sooner than by NumPy."""
WORD = 8
"""Bytes of the largest elements that are copied whole; larger ones are copied as several."""
ALIGN = 64
"""Bytes to whose multiples buffers are aligned."""
PER_RUN = ("feed", "output")
"""Kinds of buffers whose memory is another array in each run."""


@record(eq=False, frozen=False)
class Buffer:
    """Memory of one value: part of the arena, a result's own array, or an array from outside."""

    kind: str  # arena, feed, output, state, fixed; view and part of another; stack; held: by the host, as an array of NumPy's
    shape: tuple[int, ...]
    dtype: np.dtype
    first: int = 0
    """Numbers of the first and the last instruction that use it."""
    last: int = 0
    offset: int = -1
    index: int = -1
    """Number among the arrays of a run: the feeds, then the outputs."""
    memory: np.ndarray | None = None
    layout: Layout | None = None
    base: Buffer | None = None
    loop: LoopInstruction | None = None
    """For an item of a stack (`base`): the loop that moves it from iteration to iteration."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.dtype}{list(self.shape)}>"

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def root(self) -> Buffer:
        """The buffer that owns the memory."""
        return self.base.root if self.base is not None else self

    def array(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The value as an ndarray (a view of its memory), given the arrays of a run."""
        root = self.root
        memory = arrays[root.index] if root.kind in PER_RUN else root.memory
        assert memory is not None
        if self.layout is None:
            return memory
        flat = memory.reshape(-1)
        step = self.dtype.itemsize
        if not math.prod(self.layout.shape):
            return np.empty(self.layout.shape, self.dtype)
        return np.lib.stride_tricks.as_strided(
            flat[self.layout.offset :], self.layout.shape, tuple(s * step for s in self.layout.strides), writeable=False
        )


Place = tuple[Buffer, int]
"""(buffer, bytes to add)"""


class Operands(Protocol):
    """Gives a host call its operands."""

    def array(self, node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """A node's value as a view of the plan's memory, given the arrays of a run."""


@record(eq=False, frozen=False)
class Instruction:
    """One instruction of a plan, with the facts that `explain` prints about it."""

    kind: str
    """kernel, fold, gemm, copy, clear, routine, check, host; loop, repeat, until, branch, go, shards; start, wait, look, match:
    of an exchange"""
    name: str
    node: Node | None
    buffers: list[Place] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    code: Code | None = None
    start: int = 0
    stop: int = 0
    chunks: int = 1
    pool: int = 0
    """Address of the thread pool that shares the chunks."""
    check: bool = False
    source: str = ""
    kernel: Kernel | None = None
    """The loops of which `source` is the text."""
    nodes: list[Node] = field(default_factory=list)
    work: int = 0
    large_gemm: bool = False
    control: int = 0
    """For an instruction of control flow or of an exchange: its operation, see `runtime/control_instructions.py` and
    `runtime/exchange_instructions.py`."""
    exchange: Exchange | None = None
    """What it begins."""
    operands: Operands | None = None
    """For a host call inside a body: the lowering of the body."""
    target: Buffer | None = None
    """The variable into which the host copies the node's value, instead of calling it."""
    pointers: np.ndarray = field(init=False)
    size_array: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.pointers = np.zeros(len(self.buffers), np.int64)
        self.size_array = np.array(self.sizes, np.int64)

    def __repr__(self) -> str:
        return f"<instruction {self.kind} {self.name}>"

    @property
    def address(self) -> int:
        """Of its machine code; 0 for none, and while that is compiled."""
        return 0 if self.code is None else self.code.address

    @property
    def large(self) -> bool:
        """Whether it is shared in the way LARGE; see `runtime/instruction_loop.py`."""
        return self.work >= LARGE_WORK or self.kind == "shards"

    @property
    def flags(self) -> int:
        return int(self.check) | self.large << 1

    def words(self) -> list[int]:
        """The words that the driver reads; see `runtime/instruction_loop.py`."""
        if self.kind == "host":
            return [0, 0, 0, HOST, 0, 0, 0, 0]
        pointers, sizes = self.pointers.ctypes.data, self.size_array.ctypes.data
        if self.control:
            by = loader.address("control" if self.control < START else "exchange")
            return [0, pointers, sizes, self.control, 0, 0, 0, by]
        return [self.address, pointers, sizes, self.start, self.stop, self.chunks, self.flags, self.pool]


class LoopInstruction:
    """The entry of a loop: its state, and the pointers that move with it."""

    def __init__(self, instruction: Instruction):
        self.instruction = instruction
        self.words = instruction.size_array
        self.moves: list[list[int]] = []
        self.growing: list[list[int]] = []
        self.head = self.exit = 0
        self.shards: list[LoopInstruction] = []
        """The copies of a sharded loop."""

    def move(self, address: int, item: Buffer, add: int) -> None:
        """The pointer at `address` follows an item of a stack."""
        self.moves.append([address, item.index, item.nbytes, item.offset + add])

    def start(self, n: int, count: int, reverse: bool, exit: int, head: int) -> None:
        """Set the words that are the same in all runs; see `runtime/control_instructions.py`."""
        for at, value in ((N, n), (COUNT, count), (REVERSE, int(reverse)), (EXIT, exit), (HEAD, head)):
            self.words[at // 8] = value

    def address(self, item: Buffer) -> int:
        """The address of an item in the current iteration."""
        t, n = int(self.words[T // 8]), int(self.words[N // 8])
        place = n - 1 - t if self.words[REVERSE // 8] else t
        return int(self.instruction.pointers[item.index]) + place * item.nbytes + item.offset

    def finish(self) -> None:
        """Store the tables of moves and growing stacks, when all instructions are there."""
        self.tables = [np.array(entries, np.int64).reshape(-1, 4) for entries in (self.moves, self.growing)]
        for at, table in zip((MOVES, GROWING), self.tables, strict=True):
            self.words[at // 8 : at // 8 + 2] = len(table), table.ctypes.data


class Memory(NamedTuple):
    """Bytes of a plan's arena, and the most that are live in one instruction, which no arena can be below."""

    arena: int
    bound: int

    @property
    def ratio(self) -> float:
        return self.arena / self.bound if self.bound else 1.0


def memory_of(buffer: Buffer, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """The current elements of a buffer; of an item of a stack, those of the current iteration."""
    if buffer.kind != "part":
        memory = arrays[buffer.index] if buffer.kind in PER_RUN else buffer.memory
        assert memory is not None
        return memory
    if not buffer.nbytes:
        return np.empty(buffer.shape, buffer.dtype)
    block = (ctypes.c_byte * buffer.nbytes).from_address(address_of(buffer, arrays))
    return np.frombuffer(memoryview(block), buffer.dtype).reshape(buffer.shape)


def address_of(buffer: Buffer, arrays: Sequence[np.ndarray]) -> int:
    """The address of a buffer; see `memory_of`."""
    if buffer.loop is not None:
        return buffer.loop.address(buffer)
    if buffer.kind == "part":
        assert buffer.base is not None
        return address_of(buffer.base, arrays) + buffer.offset
    return memory_of(buffer, arrays).ctypes.data


# what exchanges need of MPI: functions, operands and handles, entered before a run, and their errors ------------------

# Before the first exchange of a run the processes of a group compare what identifies their plans, as they do before
# each exchange of eager mode (`Communicator.meet`): one number for all exchanges of a plan.


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


# the arena: offsets of a plan's own buffers in one allocation ---------------------------------------------------------

# The live-set bound, the most bytes that are live in any instruction, is a lower bound of all layouts. Source of the
# greedy layouts: Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), greedy by size.

MANY = 1000
"""The number of buffers from which they are placed in the order of instructions: placement by size takes quadratic time."""
LOOSE, MOST = 1.15, 4 * MANY
"""The ratio to the bound above which one layout by size is tried too, and the most buffers for which it is."""
RETRIES = 30
"""The most further layouts that are tried while the bound is not met."""


def size_of(buffer: Buffer) -> int:
    """Bytes in the arena."""
    return -(-max(buffer.nbytes, 1) // ALIGN) * ALIGN


def bound(buffers: Sequence[Buffer]) -> int:
    """The most bytes that are live in one instruction."""
    change: dict[int, int] = {}
    for buffer in buffers:
        change[buffer.first] = change.get(buffer.first, 0) + size_of(buffer)
        change[buffer.last + 1] = change.get(buffer.last + 1, 0) - size_of(buffer)
    alive = most = 0
    for row in sorted(change):
        alive += change[row]
        most = max(most, alive)
    return most


ORDERS: tuple[Callable[[Buffer], Any], ...] = (
    lambda s: (-size_of(s), s.first),
    lambda s: (s.first, -size_of(s)),
    lambda s: (-s.last, -size_of(s)),
    lambda s: (-size_of(s) * (s.last - s.first + 1), s.first),
)
"""The orders in which buffers are placed: by size, by first use, by last use, by size times lifetime."""


def lay_out(buffers: Sequence[Buffer]) -> int:
    """Set the offsets. Returns the bytes of the arena.

    The layout is the best of some orders, and of variations that place the topmost buffer first, or the first that meets the
    bound. For many buffers it is the better of two layouts instruction by instruction.
    """
    least, best = bound(buffers), Arena(0, [], [])
    if len(buffers) >= MANY:
        best = min(_by_instruction(buffers), _by_instruction(buffers, backwards=True), key=lambda layout: layout.size)
    orders = ORDERS if len(buffers) < MANY else ORDERS[:1] if best.size > LOOSE * least and len(buffers) <= MOST else ()
    for key in orders:
        tried = _place(sorted(buffers, key=key))
        best = tried if not best.order or tried.size < best.size else best
        if best.size == least:
            break
    order: Sequence[Buffer] = best.order
    retries = RETRIES if len(buffers) < MANY else 0
    while best.size > least and retries:
        top = max(order, key=lambda buffer: buffer.offset + size_of(buffer))
        order = [top, *(buffer for buffer in order if buffer is not top)]
        tried = _place(order)
        best = tried if tried.size < best.size else best
        retries -= 1
    for buffer, offset in zip(best.order, best.offsets, strict=True):
        buffer.offset = offset
    return best.size


class Arena(NamedTuple):
    """Bytes of the arena, and the offsets of buffers in the order in which they were placed."""

    size: int
    order: Sequence[Buffer]
    offsets: list[int]


def _by_instruction(buffers: Sequence[Buffer], backwards: bool = False) -> Arena:
    """Instruction by instruction, forwards or backwards: buffers whose life begins get the smallest gap that fits, large ones
    first; buffers whose life ends leave a gap."""
    begins, ends = (attrgetter("last"), attrgetter("first")) if backwards else (attrgetter("first"), attrgetter("last"))
    sign = -1 if backwards else 1
    order = sorted(buffers, key=lambda buffer: (sign * begins(buffer), -size_of(buffer)))
    ending: list[tuple[int, int, Buffer]] = []
    gaps = Gaps()
    for number, buffer in enumerate(order):
        at = sign * begins(buffer)
        while ending and ending[0][0] < at:
            over = heappop(ending)[2]
            gaps.leave(over.offset, over.offset + size_of(over))
        buffer.offset = gaps.take(size_of(buffer))
        heappush(ending, (sign * ends(buffer), number, buffer))
    return Arena(gaps.end, order, [buffer.offset for buffer in order])


class Gaps:
    """The gaps below `end`, by size, by start and by stop."""

    def __init__(self) -> None:
        self.end = 0
        self.by_size: list[tuple[int, int]] = []
        self.stop_of: dict[int, int] = {}
        self.start_of: dict[int, int] = {}

    def take(self, size: int) -> int:
        """The start of the smallest gap that is large enough, or the end."""
        at = bisect_left(self.by_size, (size, 0))
        if at == len(self.by_size):
            begin = self.start_of.get(self.end, self.end)
            if begin != self.end:
                self._remove(begin, self.end)
            self.end = begin + size
            return begin
        _, begin = self.by_size[at]
        stop = self.stop_of[begin]
        self._remove(begin, stop)
        if begin + size < stop:
            self._insert(begin + size, stop)
        return begin

    def leave(self, begin: int, stop: int) -> None:
        before, after = self.start_of.get(begin), self.stop_of.get(stop)
        if before is not None:
            self._remove(before, begin)
            begin = before
        if after is not None:
            self._remove(stop, after)
            stop = after
        self._insert(begin, stop)

    def _insert(self, begin: int, stop: int) -> None:
        insort(self.by_size, (stop - begin, begin))
        self.stop_of[begin], self.start_of[stop] = stop, begin

    def _remove(self, begin: int, stop: int) -> None:
        del self.by_size[bisect_left(self.by_size, (stop - begin, begin))]
        del self.stop_of[begin], self.start_of[stop]


def _place(order: Sequence[Buffer]) -> Arena:
    """Place each buffer in turn at the lowest offset that is free in all instructions of its lifetime."""
    placed: list[tuple[int, int, int, int]] = []
    peak = 0
    for buffer in order:
        first, last, size = buffer.first, buffer.last, size_of(buffer)
        at = 0
        for begin, end in sorted([place[:2] for place in placed if place[2] <= last and first <= place[3]]):
            if begin - at >= size:
                break
            at = max(at, end)
        buffer.offset = at
        placed.append((at, at + size, first, last))
        peak = max(peak, at + size)
    return Arena(peak, order, [buffer.offset for buffer in order])
