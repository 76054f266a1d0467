"""Plans that are read from the kernel cache: instructions, buffers and machine code, without the graph that they came from.

A second process should not run the compiler's passes again to get the same instructions. It reads them, and runs them as the
plan that was stored. Where somebody asks such a plan about itself (operations, decisions, sources, the user's line of an
error), the same plan is compiled anew and answers.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...base.dtypes import as_dtype
from ...base.interpreter import rlock
from ...base.types import TensorType
from ...errors import CompileError
from ...ir import Cell, Exchange, Layout, Node
from ...ops.leaves import Source
from ..backend import disk_cache as disk
from ..backend import kernel_cache
from ..backend.abi import (
    COUNT,
    ENTER,
    GROWING,
    LOOK,
    MATCH,
    MOVES,
    PAUSED,
    REPEAT,
    SINCE,
    START,
    STATUS_WORDS,
    WAIT,
    N,
    T,
)
from ..backend.kernel_cache import Code, Wanted, own
from ..lower.instructions import Buffer, Exchanges, GroupExchanges, Instruction, LoopInstruction, Memory, Place
from ..lower.native_calls import Placement
from ..runtime import loader
from .plan import Plan

LARGEST = 1 << 22
"""The most bytes of arrays that a stored plan has of its own."""
LATER = REPEAT, WAIT, LOOK, MATCH
"""Operations of instructions that share the state of an earlier one."""
OF_NODES = ("node", "nodes", "source", "kernel")
"""What an instruction says about its operations."""
OF_GRAPH = ("ir", "assigns", "decisions", "rewrites", "notes", "feeds", "passed", "stages")
"""What a plan says about its graph."""


# writing ------------------------------------------------------------------------------------------------------------


def packed(
    plan: Plan, cells: Mapping[Cell, int], sources: Mapping[Source, int], constants: Mapping[tuple[int, int], int]
) -> bytes | None:
    """The plan, before its first run, as bytes. None for one that Python takes part in. Cells, sources of hyperparameters, and
    constants (by address and bytes) are stored as their numbers."""
    builder, stream = plan.builder, plan.builder.stream
    if any(each.kind == "host" for each in plan.instructions):
        return None
    writer = _Writer(plan, cells, constants)
    fetches = [writer.number(buffer) for buffer in plan.fetches]
    outputs = [writer.number(buffer) for buffer in builder.outputs]
    state = [(cells[cell], writer.number(builder.cell_buffers[cell])) for cell in builder.cells]
    instructions = [writer.instruction(each) for each in plan.instructions]
    loops, stacks = writer.loops(), [writer.number(buffer) for buffer in stream.stacks]
    if writer.size > LARGEST or None in writer.codes:
        return None
    record = {
        "buffers": writer.buffers, "codes": writer.codes, "instructions": instructions, "fetches": fetches, "outputs": outputs,
        "state": state, "written": [cells[cell] for cell in plan.written], "memory": (*plan.memory,), "draws": plan.draws,
        "arguments": [sources[source] for source in builder.argument_sources], "threads": stream.threads,
        "exchanges": writer.exchanges(), "loops": loops, "stacks": stacks, "sparse": plan.sparse, "only_moves": plan.only_moves,
        "contents": b"".join(writer.contents),
    }  # fmt: skip
    return marshal.dumps(record)


class _Writer:
    def __init__(self, plan: Plan, cells: Mapping[Cell, int], constants: Mapping[tuple[int, int], int]):
        self.builder, self.constants = plan.builder, constants
        begins = (ENTER, START)
        self.entries = {each.size_array.ctypes.data: i for i, each in enumerate(plan.instructions) if each.control in begins}
        """The numbers of the instructions that enter loops and begin exchanges, by the addresses of their state."""
        self._loop_numbers = {loop: i for i, loop in enumerate(plan.builder.stream.loops)}
        self.buffers: list[Any] = []
        self.codes: list[Any] = []
        self.contents: list[bytes] = []
        self.size = 0
        self._numbers: dict[Buffer, int] = {}
        self._code_numbers: dict[Wanted, int] = {}

    def number(self, buffer: Buffer) -> int:
        """Of a buffer, which comes after the buffer that it is a part of."""
        if buffer not in self._numbers:
            base = -1 if buffer.base is None else self.number(buffer.base)
            layout = None if buffer.layout is None else (buffer.layout.shape, buffer.layout.strides, buffer.layout.offset)
            facts = (buffer.kind, buffer.shape, buffer.dtype.name, buffer.first, buffer.last, buffer.offset, buffer.index)
            self._numbers[buffer] = len(self.buffers)
            loop = -1 if buffer.loop is None else self._loop_numbers[buffer.loop]
            self.buffers.append((*facts, layout, base, loop, self._content(buffer)))
        return self._numbers[buffer]

    def _content(self, buffer: Buffer) -> Any:
        """How memory that is known now is found again."""
        builder, memory = self.builder, buffer.memory
        if buffer.kind != "fixed" or buffer is builder.status:
            return ["status"] if buffer is builder.status else None
        assert memory is not None
        if memory is builder.generator_state:
            return ["generator"]
        address = memory.ctypes.data
        if address in self.entries and memory.nbytes == 8:
            return ["iterations", self.entries[address]]
        argument, rest = divmod(address - builder.argument_values.ctypes.data, 8)
        if not rest and 0 <= argument < len(builder.argument_values):
            return ["argument", argument]
        number = self.constants.get((address, memory.nbytes))
        if number is not None and not memory.flags.writeable:
            return ["constant", number]
        content = memory.tobytes()
        self.contents.append(content)
        self.size += len(content)
        return ["bytes", self.size - len(content), len(content)]

    def instruction(self, each: Instruction) -> Any:
        places = [(self.number(buffer), add) for buffer, add in each.buffers]
        code = -1 if each.code is None else self._code(each.code.wanted)
        entry = self.entries[each.size_array.ctypes.data] if each.control in LATER else -1
        return [
            each.kind, each.name, places, _sizes(each), code, entry, each.start, each.stop, each.chunks, bool(each.pool),
            each.check, each.work, each.large_gemm, each.control, each.exchange and astuple(each.exchange),
        ]  # fmt: skip

    def loops(self) -> list[Any]:
        """Of each loop, the number of its entry, and the stacks that grow in it."""
        stream = self.builder.stream
        stacks = {words.ctypes.data: self.number(buffer) for buffer, words in stream.stacks.items()}
        return [
            (
                self.entries[loop.words.ctypes.data],
                [(k, stacks[address], size, filled) for k, address, size, filled in loop.growing],
            )
            for loop in stream.loops
        ]

    def exchanges(self) -> list[Any]:
        """Of each group its number and size, and the instructions that begin to compare plans, and exchanges."""
        groups = self.builder.stream.exchanges.groups.values()
        entries = self.entries
        return [
            (
                each.number,
                len(each.found),
                entries[each.compare.size_array.ctypes.data],
                [entries[begun.size_array.ctypes.data] for begun in each.begun],
            )
            for each in groups
        ]

    def _code(self, wanted: Wanted) -> int:
        if wanted not in self._code_numbers:
            self._code_numbers[wanted] = len(self.codes)
            file = kernel_cache.file(wanted.text) if wanted.text else ("", "")
            self.codes.append((*file, wanted.name))
        return self._code_numbers[wanted]


def _sizes(each: Instruction) -> list[int]:
    """The sizes of an instruction, without addresses of this process and what a run leaves in the state of a loop."""
    sizes: list[int] = each.size_array.tolist()
    if each.control >= START:
        return [0] * len(sizes)
    if each.kind == "shards":
        sizes[0] = 0
    elif each.control in (ENTER, REPEAT):
        for at in (T, MOVES, MOVES + 8, GROWING, GROWING + 8, PAUSED, SINCE):
            sizes[at // 8] = 0
        if sizes[COUNT // 8] >= 0:
            sizes[N // 8] = -1
    return sizes


# reading ------------------------------------------------------------------------------------------------------------


class StoredInstruction(Instruction):
    """An instruction that asks its plan about its operations."""

    __slots__ = ("plan",)

    def __init__(
        self, plan: StoredPlan, buffers: list[Place], sizes: list[int], code: Code | None, facts: Sequence[Any]
    ):  # fmt: skip
        self.plan: StoredPlan
        self.plan, self.buffers, self.sizes, self.code = plan, buffers, sizes, code
        self.kind, self.name, self.start, self.stop, self.chunks, pooled, self.check, self.work, *rest = facts
        self.large_gemm, self.control, call = rest
        self.exchange = None if call is None else Exchange(*call)
        self.pool = loader.pool_address if pooled else 0
        self.operands = None
        self.__post_init__()

    def __getattr__(self, name: str) -> Any:  # of what is not set yet
        if name not in OF_NODES:
            raise AttributeError(name)
        self.plan.tell()
        return getattr(self, name)


class StoredBuilder(Placement):
    """What a plan needs of the lowering that it came from."""

    argument_sources: list[Source]
    argument_values: np.ndarray
    generator_state: np.ndarray

    def __init__(self, plan: StoredPlan, buffers: list[Buffer], record: Mapping[str, Any], cells: Sequence[Cell]):
        self.plan = plan
        self.memory = Memory(*record["memory"])
        self.fetches = [buffers[i] for i in record["fetches"]]
        self.outputs = [buffers[i] for i in record["outputs"]]
        self.cells = [cells[cell] for cell, _ in record["state"]]
        self.cell_buffers = {cells[cell]: buffers[i] for cell, i in record["state"]}
        self.stream: Any = SimpleNamespace(
            loops=[], stacks={buffers[i]: np.zeros(3, np.int64) for i in record["stacks"]}, threads=record["threads"],
            temporaries=[b for b in buffers if b.kind == "arena"], exchanges=Exchanges(),
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        """What only the lowering itself has."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.plan.twin().builder, name)


class StoredPlan(Plan):
    """A plan that was read; see the module."""

    _written: list[Cell]
    _sparse: bool
    _only_moves: bool

    def __init__(self, feed_types: list[TensorType], remake: Callable[[], Plan]):
        """feed_types: of the arrays that a run gets. remake: compiles the plan."""
        self.feed_types, self._remake = feed_types, remake
        self._twin: Plan | None = None
        self._told = False
        self.strict, self.budget, self.last_read, self.times = False, None, None, {}
        self.lock = rlock()
        self._making = rlock()

    @property
    def written(self) -> list[Cell]:
        return self._written

    @property
    def sparse(self) -> bool:
        return self._sparse

    @property
    def only_moves(self) -> bool:
        return self._only_moves

    def open_results(self) -> list[tuple[int, Node]]:
        """None: Python takes part in plans with such results."""
        return []

    def twin(self) -> Plan:
        """The same plan, compiled anew when it is first asked for."""
        with self._making:
            if self._twin is None:
                self._twin = self._remake()
            return self._twin

    def tell(self) -> None:
        """Enter what the instructions and the plan say about operations. Raises CompileError where the plan that is compiled is
        another, which no two processes with the same key should see."""
        with self._making:
            if self._told:
                return
            twin = self.twin()
            if [_form(each) for each in twin.instructions] != [_form(each) for each in self.instructions]:
                raise CompileError("the plan in the kernel cache is not the one that the compiler makes")
            for name in OF_GRAPH:
                setattr(self, name, getattr(twin, name))
            for mine, other in zip(self.instructions, twin.instructions, strict=True):
                for name in OF_NODES:
                    setattr(mine, name, getattr(other, name))
                if mine.code is not None and other.code is not None:
                    mine.code.wanted = other.code.wanted
            self._told = True

    def __getattr__(self, name: str) -> Any:  # of what is not set yet
        if name not in OF_GRAPH:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.tell()
        return self.__dict__[name]


def _form(each: Instruction) -> tuple[Any, ...]:
    return each.kind, each.name, each.start, each.stop, each.chunks, len(each.buffers), _sizes(each), each.control


Opened = tuple[Mapping[str, Any], Sequence[Code]]
"""The record of a plan, and its machine code in this process."""


def opened(content: bytes) -> Opened | None:
    """The bytes of a plan, read; None where some of its machine code is not in the kernel cache."""
    record, codes = marshal.loads(content), []
    for name, key, function in record["codes"]:
        address = kernel_cache.stored(disk.File(name, key), function) if name else own(function)
        if not address:
            return None
        codes.append(Code(Wanted("", function), address))
    return record, codes


def unpacked(
    content: Opened, feed_types: list[TensorType], cells: Sequence[Cell], sources: Sequence[Source],
    arrays: Sequence[np.ndarray], remake: Callable[[], Plan],
) -> StoredPlan:  # fmt: skip
    """The plan. cells, sources, arrays: by their numbers; remake: compiles it."""
    record, codes = content
    rest = record["contents"]
    plan = StoredPlan(feed_types, remake)
    values, generator = np.zeros(max(len(record["arguments"]), 1)), np.zeros(2, np.int64)
    status = Buffer("fixed", (STATUS_WORDS,), np.dtype(np.int64))
    buffers: list[Buffer] = []
    counters: list[tuple[Buffer, int]] = []
    for kind, shape, dtype, first, last, offset, index, layout, base, _, known in record["buffers"]:
        buffer = Buffer(kind, tuple(shape), as_dtype(dtype), first, last, offset, index)
        if layout is not None:
            buffer.layout = Layout(tuple(layout[0]), tuple(layout[1]), layout[2])
        buffer.base = None if base < 0 else buffers[base]
        if known is not None:
            what, *at = known
            if what == "iterations":
                counters.append((buffer, at[0]))
            elif what == "status":
                buffer = status
            elif what == "generator":
                buffer.memory = generator
            elif what == "argument":
                buffer.memory = values[at[0] : at[0] + 1].reshape(())
            elif what == "constant":
                buffer.memory = arrays[at[0]].reshape(buffer.shape)
            else:
                part = np.frombuffer(rest[at[0] : at[0] + at[1]], buffer.dtype)
                buffer.memory = part.reshape(buffer.shape).copy()  # some are scratch
        buffers.append(buffer)
    plan.builder = builder = StoredBuilder(plan, buffers, record, cells)  # type: ignore[assignment]
    builder.status, builder.argument_values, builder.generator_state = status, values, generator
    builder.argument_sources = [sources[i] for i in record["arguments"]]
    plan.instructions = []
    for kind, name, places, sizes, code, entry, *facts in record["instructions"]:
        given = [(buffers[i], add) for i, add in places]
        machine_code = None if code < 0 else codes[code]
        each = StoredInstruction(plan, given, sizes, machine_code, [kind, name, *facts])
        if entry >= 0:  # it repeats a loop, or awaits an exchange, whose state it shares
            each.pointers, each.size_array = plan.instructions[entry].pointers, plan.instructions[entry].size_array
        plan.instructions.append(each)
    _loops(plan, record, buffers)
    for number, size, compare, begun in record["exchanges"]:
        found = builder.stream.exchanges.groups[number] = GroupExchanges(number, size)
        found.compare, found.begun = plan.instructions[compare], [plan.instructions[i] for i in begun]
    for buffer, entry in counters:
        buffer.memory = plan.instructions[entry].size_array[:1].reshape(())
    builder.allocate(builder.stream.temporaries, builder.memory.arena)
    builder.point(plan.instructions, builder.stream.loops)
    plan.fetches, plan.draws = builder.fetches, record["draws"]
    plan._sparse, plan._only_moves = record["sparse"], record["only_moves"]
    plan._written = [cells[i] for i in record["written"]]
    plan.assemble()
    return plan


def _loops(plan: StoredPlan, record: Mapping[str, Any], buffers: Sequence[Buffer]) -> None:
    """The loops of the instructions, and the items that they move."""
    stream = plan.builder.stream
    for entry, growing in record["loops"]:
        state = LoopInstruction(plan.instructions[entry])
        state.growing = [[k, stream.stacks[buffers[i]].ctypes.data, size, filled] for k, i, size, filled in growing]
        stream.loops.append(state)
    for buffer, (*_, loop, _) in zip(buffers, record["buffers"], strict=True):
        if loop >= 0:
            buffer.loop = stream.loops[loop]
