"""The instructions of a plan and the buffers that they read and write: the output of lowering, the input of the plan."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...base.tables import record
from ...ir import Exchange, Layout, Node
from ..backend.abi import COUNT, EXIT, GROWING, HEAD, HOST, LARGE_WORK, MOVES, REVERSE, START, N, T
from ..backend.machine_code import Code
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
