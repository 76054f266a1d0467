"""The instruction stream of a plan while it grows: a program and the bodies of its loops and branches append to one stream.
Beside it, the memory of a plan's buffers."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ...ir import Cell
from ..backend import kernel_cache
from ..backend.abi import COUNT, STATUS_WORDS, N
from ..backend.machine_code import NOW, Code, Wanted, code
from ..fusion.fuse import Decision
from ..runtime import thread_pool
from ..runtime.plan_memory import room
from .exchange_state import Exchanges
from .instructions import ALIGN, PER_RUN, Buffer, Instruction, LoopInstruction


class InstructionStream:
    """Instructions in the order in which they run, and the state that all bodies share."""

    def __init__(self, threads: int, when: float = NOW, asks: bool = True) -> None:
        """when: kernels are compiled, see `machine_code.code`. asks: for machine code at once; otherwise `ask` does, if the
        stream becomes a plan."""
        self.threads, self.when, self.asks = threads, when, asks
        self.codes: dict[Wanted, Code] = {}
        self.instructions: list[Instruction] = []
        self.temporaries: list[Buffer] = []
        """Buffers that get a place in the arena, unless they become results."""
        self.loops: list[LoopInstruction] = []
        self.stacks: dict[Buffer, np.ndarray] = {}
        """Of each stack that grows: (address, capacity in bytes, items), in words that the driver writes."""
        self.exchanges = Exchanges()
        self.status = Buffer("fixed", (STATUS_WORDS,), np.dtype(np.int64))
        self.landing = -1
        """The number of the instruction where both ways of the latest branch meet. It can't become part of the instruction
        before it, which one way skips."""
        self.decisions: list[Decision] = []
        self.notes: list[str] = []

    def __len__(self) -> int:
        return len(self.instructions)

    def code(self, text: str, name: str) -> Code:
        """Machine code for instructions: the same object for the same code."""
        wanted = Wanted(text, name)
        if wanted not in self.codes:
            self.codes[wanted] = code(wanted, self.when) if self.asks else Code(wanted)
        return self.codes[wanted]

    def ask(self) -> None:
        """Give the instructions the machine code for which the stream has not asked."""
        self.codes = {wanted: code(wanted, self.when) for wanted in self.codes}
        for instruction in self.instructions:
            if instruction.code is not None:
                instruction.code = self.codes.get(instruction.code.wanted, instruction.code)

    def library(self, module: str, kernel: str) -> Code:
        """A kernel of a file in `kernels/`, see `kernel_cache.library_source`, or of the user's, see `numba_functions.py`."""
        return self.code(kernel_cache.library_source(module, kernel) if module else "", kernel)

    def add(self, instruction: Instruction) -> Instruction:
        at = len(self.instructions)
        for buffer, _ in instruction.buffers:
            buffer.root.last = at
        if instruction.chunks > 1:
            instruction.pool = thread_pool.address
        self.instructions.append(instruction)
        return instruction

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
        at = len(self.instructions)
        buffer = Buffer("arena", shape, dtype, at, at)
        self.temporaries.append(buffer)
        return buffer

    def outlive(self, begin: int, mark: int) -> None:
        """Buffers that instructions from `begin` on use live for all of them, except for temporaries from `mark` on: a loop
        repeats these instructions."""
        own = set(self.temporaries[mark:])
        for instruction in self.instructions[begin:]:
            for buffer, _ in instruction.buffers:
                root = buffer.root
                if root not in own:
                    root.first, root.last = min(root.first, begin), max(root.last, len(self.instructions) - 1)


# the memory of a plan's buffers, and the pointers of its instructions ------------------------------------------------

# What is left of lowering in a finished plan.


class Placement:
    """Places the buffers of a program and points its instructions at them; binds what is known later: variables, the status."""

    cell_buffers: dict[Cell, Buffer]
    status: Buffer
    """The words by which instructions report errors."""

    def allocate(self, buffers: Sequence[Buffer], size: int) -> None:
        """Give buffers, whose offsets are known, their memory in an arena of so many bytes. Raises OutOfMemoryError."""
        (raw,) = room(
            lambda: [np.empty(size + ALIGN, np.uint8)],
            f"the plan's buffers need {size:.1e} bytes, and there is no memory for that",
            "use smaller batches, or a scan over parts of them",
        )
        shift = -raw.ctypes.data % ALIGN
        self.arena = raw[shift : shift + size]
        for buffer in buffers:
            part = self.arena[buffer.offset : buffer.offset + buffer.nbytes]
            buffer.memory = part.view(buffer.dtype).reshape(buffer.shape)

    def point(self, instructions: Sequence[Instruction], loops: Sequence[LoopInstruction] = ()) -> None:
        """Point the instructions at their buffers."""
        self.patches: list[list[int]] = []
        """(number of an array of a run, address to write its address to, bytes to add)"""
        self._unbound: dict[Buffer, list[tuple[np.ndarray, int, int]]] = {}
        """The pointers to a buffer whose memory is bound later."""
        for instruction in instructions:
            pointers = instruction.pointers
            for i, (part, offset) in enumerate(instruction.buffers):
                buffer, add = part, offset
                while buffer.kind == "part" and buffer.loop is None:
                    assert buffer.base is not None
                    buffer, add = buffer.base, add + buffer.offset
                if buffer.loop is not None:
                    buffer.loop.move(pointers.ctypes.data + 8 * i, buffer, add)
                elif buffer.kind == "stack":
                    continue  # its loop sets the pointer when it begins
                elif buffer.kind in PER_RUN:
                    self.patches.append([buffer.index, pointers.ctypes.data + 8 * i, add])
                elif buffer.memory is None:
                    self._unbound.setdefault(buffer, []).append((pointers, i, add))
                else:
                    pointers[i] = buffer.memory.ctypes.data + add
        for loop in loops:
            loop.finish()

    def bind_status(self, array: np.ndarray) -> None:
        self._bind(self.status, array)

    def bind_state(self, cell: Cell, array: np.ndarray) -> None:
        self._bind(self.cell_buffers[cell], array)

    def _bind(self, buffer: Buffer, array: np.ndarray) -> None:
        buffer.memory = array
        address = array.__array_interface__["data"][0]
        for pointers, i, add in self._unbound.get(buffer, ()):
            pointers[i] = address + add


def lacks(loops: Sequence[LoopInstruction], stacks: Sequence[np.ndarray], instruction: Instruction) -> tuple[int, int] | None:
    """(iterations, items) of a loop whose number of iterations exceeds the items of a stack that it reads, or is negative;
    else None."""
    state = next((loop for loop in loops if loop.instruction is instruction), None)
    if state is None or state.words[COUNT // 8] < 0:
        return None
    places = {words.ctypes.data: words for words in stacks}
    n = int(state.words[N // 8])
    items = min((int(places[address][2]) for _, address, _, filled in state.growing if not filled), default=0)
    return (n, items) if n < 0 or n > items else None


def free_stacks(stacks: Sequence[np.ndarray]) -> None:
    """Free the memory of stacks that grew; they start empty again."""
    free = ctypes.CDLL(None).free
    free.argtypes = (ctypes.c_void_p,)
    for words in stacks:
        free(int(words[0]))
        words[:] = 0
