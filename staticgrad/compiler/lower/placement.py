"""The memory of a plan's buffers, and the pointers of its instructions: what is left of lowering in a finished plan."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from ...ir import Cell
from ..backend.abi import COUNT, N
from ..runtime.allocation import room
from .instructions import ALIGN, PER_RUN, Buffer, Instruction, LoopInstruction


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
        address = array.ctypes.data
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
