"""The instruction stream of a plan while it grows: a program and the bodies of its loops and branches append to one stream."""

from __future__ import annotations

import numpy as np

from ..backend import kernel_cache
from ..backend.abi import STATUS_WORDS
from ..backend.machine_code import NOW, Code, Wanted, code
from ..fusion.fuse import Decision
from ..runtime import thread_pool
from .exchange_state import Exchanges
from .instructions import Buffer, Instruction, LoopInstruction


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
