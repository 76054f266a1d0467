"""Lays out buffers and writes the rows of a plan's table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ...ir import Cell, Graph, Layout, Node, Routine
from ..backend import kernel_cache
from ..backend.abi import STATUS_WORDS
from ..codegen.parameters import BufferRef, KernelSource
from ..codegen.row_tiling import writer_for
from ..fusion.fuse import Group
from ..fusion.iteration_domain import inlined
from ..fusion.layout import Layouts, collapse
from ..runtime import thread_pool
from ..runtime.allocation import room
from ..runtime.threads import get_num_threads
from ..schedule.order import Schedule, ScheduleNode
from . import indexed_moves, matmul
from .control_flow import ControlFlowLowering
from .instructions import PER_RUN, Buffer, Instruction
from .memory import ALIGN, Memory, bound, lay_out

PARALLEL_WORK = 150_000
"""Cost units (an addition of one element, some 0.02 ns) from which more threads pay for their start: about 3 us."""
CALLS = {**indexed_moves.CALLS, **matmul.CALLS}


def written(group: Group, layouts: Layouts, place: dict[Node, Node], number: dict[Node, int]) -> KernelSource:
    """The kernel of a group."""
    return writer_for(group, layouts)(group, layouts, place, number).write("kernel")


class Builder(ControlFlowLowering):
    """Makes rows and slots for a schedule."""

    def __init__(
        self,
        graph: Graph,
        layouts: Layouts,
        plan: Schedule,
        feeds: Sequence[Node],
        fetches: Sequence[Node],
        outer: Builder | None = None,
        given: Mapping[Node, Buffer] = MappingProxyType({}),
        lanes: int = 0,
        write: Callable[[Group, Layouts, dict[Node, Node], dict[Node, int]], KernelSource] | None = None,
    ):
        """outer: for the body of a loop or branch, the builder around it; given: the memory of the body's leaves; lanes:
        how many threads share the batch of a loop, if any do; write: writes the kernel of a group."""
        self.write = written if write is None else write
        self.graph, self.layouts, self.schedule = graph, layouts, plan
        self.number = {node: i for i, node in enumerate(graph.nodes)}
        self.feed_index = {node: i for i, node in enumerate(feeds)}
        self.slots: dict[Node, Buffer] = {}
        self.saved: dict[ScheduleNode, Buffer] = {}
        self.outer, self.given, self.lanes = outer, given, lanes
        self._share(self if outer is None else outer)
        self._leaves()
        for unit in plan.units:
            getattr(self, f"_{unit.kind}")(unit)
        self.fetches = [self._fetch(node) for node in fetches]
        if outer is None:
            self.outputs = self._outputs()
            self._arena()
            self._point()

    def _share(self, whole: Builder) -> None:
        """What the bodies of loops and branches have in common with the plan around them."""
        if whole is self:
            self.rows, self.made, self.loops, self.homes = [], [], [], {}
            self.cells: list[Cell] = []
            self.cell_slots: dict[Cell, Buffer] = {}
            self.status = Buffer("fixed", (STATUS_WORDS,), np.dtype(np.int64))
            self.threads = get_num_threads()
            self.decisions: list[Any] = []
            self.notes: list[str] = []
            return
        self.rows, self.made, self.loops, self.homes = whole.rows, whole.made, whole.loops, whole.homes
        self.status, self.threads = whole.status, whole.threads
        self.decisions, self.notes = whole.decisions, whole.notes

    # memory ---------------------------------------------------------------------------------------------------------

    def _leaves(self) -> None:
        arguments = [n for n in self.graph.nodes if n.op.leaf == "argument"]
        self.argument_nodes = arguments
        places = {node: at for at, node in enumerate(arguments)}
        self.argument_values = np.zeros(max(len(arguments), 1))
        self.generator_state = np.zeros(2, np.int64)
        for node in self.graph.nodes:
            leaf, shape, dtype = node.op.leaf, node.type.shape, node.type.dtype
            if node in self.given:
                self.slots[node] = self.given[node]
            elif leaf == "placeholder":
                self.slots[node] = Buffer("feed", shape, dtype, index=self.feed_index[node])
            elif leaf == "variable":
                cell = node.attrs["cell"]
                slot = self.cell_slots.get(cell)
                if slot is None:
                    slot = self.cell_slots[cell] = Buffer("state", shape, dtype)
                    self.cells.append(cell)
                self.slots[node] = slot
            elif leaf == "constant":
                array = np.ascontiguousarray(node.attrs["value"].array).reshape(shape)
                self.slots[node] = Buffer("fixed", array.shape, dtype, memory=array)
            elif leaf == "argument":
                at = places[node]
                self.slots[node] = Buffer("fixed", (), dtype, memory=self.argument_values[at : at + 1].reshape(()))
            elif leaf == "generator":
                self.slots[node] = Buffer("fixed", (2,), dtype, memory=self.generator_state)
        for node in self.schedule.constants:
            array = np.ascontiguousarray(self._constant(node)).reshape(node.type.shape)
            self.slots[node] = Buffer("fixed", array.shape, array.dtype, memory=array)

    def _constant(self, node: Node) -> np.ndarray:
        """A number, position or extent that something reads from memory."""
        if node.op.leaf == "shape":
            return node.op.eval(**node.attrs)
        if node.op.leaf == "constant":
            return node.attrs["value"].array
        with np.errstate(all="ignore"):
            return np.asarray(node.op.eval(*(self._constant(i) for i in node.inputs), **node.attrs))

    def slot(self, node: Node) -> Buffer:
        """The memory of a base; made at its first use."""
        node = self.schedule.place.get(node, node)
        if node not in self.slots:
            if node in self.layouts.part:
                at = self.layouts.at[node].offset * node.type.dtype.itemsize
                whole = self.slot(self.layouts.base[node])
                self.slots[node] = Buffer("part", node.type.shape, node.type.dtype, offset=at, base=whole)
            elif inlined(node):
                array = np.ascontiguousarray(self._constant(node)).reshape(node.type.shape)
                self.slots[node] = Buffer("fixed", array.shape, array.dtype, memory=array)
            else:
                self.slots[node] = self.temporary(node.type.shape, node.type.dtype)
        return self.slots[node]

    def temporary(self, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
        at = len(self.rows)
        slot = Buffer("arena", shape, dtype, at, at)
        self.made.append(slot)
        return slot

    def _fetch(self, node: Node) -> Buffer:
        unit = self.schedule.saved.get(node)
        if unit is not None:
            base, layout = self.saved[unit], None
        else:
            base, layout = self.slot(self.layouts.base[node]), self.layouts.at[node]
            if layout == Layout.contiguous(base.shape) and layout.shape == node.type.shape:
                layout = None
        base.root.last = len(self.rows)
        return Buffer("view", node.type.shape, node.type.dtype, layout=layout, base=base)

    def _outputs(self) -> list[Buffer]:
        """Slots that become arrays of their own: those that one fetch takes whole."""
        fetched = Counter(slot.root for slot in self.fetches)
        whole = [slot.root for slot in self.fetches if slot.layout is None]
        found = [slot for slot in whole if slot.kind == "arena" and fetched[slot] == 1]
        for i, slot in enumerate(found):
            slot.kind, slot.index = "output", len(self.feed_index) + i
        return found

    def array(self, node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """A node's value as a view, for host calls."""
        if node.op.leaf == "shape" or (inlined(node) and self.layouts.base[node] not in self.slots):
            return self._constant(node)
        if self.outer is not None:
            return self.inside(node, arrays)
        base = self.slot(self.layouts.base[node])
        view = Buffer("view", node.type.shape, node.type.dtype, layout=self.layouts.at[node], base=base)
        return (base if self.layouts.base[node] is node else view).array(arrays)

    def _arena(self) -> None:
        slots = [slot for slot in self.made if slot.kind == "arena"]
        self.memory = Memory(lay_out(slots), bound(slots))
        (raw,) = room(
            lambda: [np.empty(self.memory.arena + ALIGN, np.uint8)],
            f"the plan's buffers need {self.memory.arena:.1e} bytes, and there is no memory for that",
            "use smaller batches, or a scan over parts of them",
        )
        shift = -raw.ctypes.data % ALIGN
        self.arena = raw[shift : shift + self.memory.arena]
        for slot in slots:
            part = self.arena[slot.offset : slot.offset + slot.nbytes]
            slot.memory = part.view(slot.dtype).reshape(slot.shape)

    # pointers -------------------------------------------------------------------------------------------------------

    def _point(self) -> None:
        self.patches: list[list[int]] = []
        """(which of the arrays of a run, address to write its address to, bytes to add)"""
        self._state_uses: dict[Buffer, list[tuple[np.ndarray, int, int]]] = {}
        for row in self.rows:
            for i, (part, offset) in enumerate(row.buffers):
                slot, add = part, offset
                while slot.kind == "part" and slot.place is None:
                    assert slot.base is not None
                    slot, add = slot.base, add + slot.offset
                if slot.place is not None:
                    slot.place.move(row.pointers.ctypes.data + 8 * i, slot, add)
                elif slot.kind == "stack":
                    continue  # a loop looks it up when it begins
                elif slot.kind in PER_RUN:
                    self.patches.append([slot.index, row.pointers.ctypes.data + 8 * i, add])
                elif slot.memory is None:
                    self._state_uses.setdefault(slot, []).append((row.pointers, i, add))
                else:
                    row.pointers[i] = slot.memory.ctypes.data + add
        for loop in self.loops:
            loop.finish()

    def bind_fixed(self, which: str, array: np.ndarray) -> None:
        slot: Buffer = getattr(self, which)
        slot.memory = array
        for pointers, i, add in self._state_uses.get(slot, ()):
            pointers[i] = array.ctypes.data + add

    def bind_state(self, cell: Cell, array: np.ndarray) -> None:
        slot = self.cell_slots[cell]
        slot.memory = array
        address = array.ctypes.data
        for pointers, i, add in self._state_uses.get(slot, ()):
            pointers[i] = address + add

    # rows -----------------------------------------------------------------------------------------------------------

    def add(self, row: Instruction) -> Instruction:
        at = len(self.rows)
        for slot, _ in row.buffers:
            slot.root.last = at
        if row.chunks > 1:
            row.pool = thread_pool.ensure(self.threads)
        self.rows.append(row)
        return row

    def _chunks(self, work: int, span: int) -> int:
        """Into how many pieces a range is cut: by its work, at most one per thread."""
        if self.threads == 1 or span < 2:
            return 1
        if self.lanes:
            return min(self.lanes, span)
        return min(self.threads, span) if work >= PARALLEL_WORK else 1

    def _kernel(self, unit: ScheduleNode) -> None:
        assert unit.group is not None
        kernel = self.write(unit.group, self.layouts, self.schedule.place, self.number)
        chunks = self._chunks(kernel.work, kernel.rows)
        sizes = list(kernel.sizes)
        if kernel.chunked:
            sizes[kernel.chunks_at] = chunks
        slots = [(self._buffer(ref, kernel, chunks), ref.offset * ref.dtype.itemsize) for ref in kernel.buffers]
        address = kernel_cache.load(kernel.body)[kernel.name].address
        span = chunks if kernel.chunked else kernel.rows
        name = "+".join(dict.fromkeys(n.op.name for n in unit.group.members))
        row = Instruction(
            "kernel", name, unit.group.members[-1], slots, sizes, address, 0, span, chunks, source=kernel.body,
            kernel=kernel.loops, nodes=list(unit.group.members), work=kernel.work,
        )  # fmt: skip
        self.add(row)
        if kernel.folds and chunks > 1:
            self.add(Instruction("fold", name, row.node, slots, sizes, address, -1, -1))

    def _buffer(self, ref: BufferRef, kernel: KernelSource, chunks: int) -> Buffer:
        if ref.kind == "value":
            assert ref.node is not None
            return self.slot(ref.node)
        if ref.kind == "numbers":
            return Buffer("fixed", (len(kernel.numbers),), ref.dtype, memory=np.array(kernel.numbers, np.float64))
        return self.temporary((chunks * max(ref.length, 1),), ref.dtype)

    def _view(self, node: Node) -> tuple[Buffer, int]:
        layout = self.layouts.at[node]
        return self.slot(self.layouts.base[node]), layout.offset * node.type.dtype.itemsize

    def _contiguous(self, node: Node) -> tuple[Buffer, int]:
        """The operand in row-major order; copied when its layout is another."""
        if self.layouts.at[node].is_contiguous:
            return self._view(node)
        to = self.temporary(node.type.shape, node.type.dtype)
        self._copy_row(node, to, Layout.contiguous(node.type.shape))
        return to, 0

    def _copy_row(self, node: Node, to: Buffer, layout: Layout, source: tuple[Buffer, int, Layout] | None = None) -> None:
        slot, add = self._view(node) if source is None else source[:2]
        at = self.layouts.at[node] if source is None else source[2]
        size = node.type.dtype.itemsize
        shape, strides_to, strides_from = collapse(at.shape, layout.strides, at.strides)
        kernel = kernel_cache.library("strided_moves", f"copy_i{8 * size}")
        work = math.prod(shape)
        self.add(
            Instruction(
                "copy", "copy", node, [(slot, add), (to, layout.offset * size)],
                [len(shape), *shape, *strides_to, *strides_from], kernel.address, 0, shape[0],
                self._chunks(work, shape[0]), work=work,
            )
        )  # fmt: skip

    def _copy(self, unit: ScheduleNode) -> None:
        source = unit.source
        assert source is not None
        whole = Layout.contiguous(source.type.shape)
        if unit.target is None:  # an old value, saved before it is overwritten
            to = self.temporary(whole.shape, source.type.dtype)
            self.saved[unit] = to
            self._copy_row(source, to, whole)
        elif unit.target is source:
            base, at = self.layouts.copies[source]
            operand = self.slot(base), at.offset * source.type.dtype.itemsize, at
            self._copy_row(source, self.slot(source), Layout.contiguous(at.shape), operand)
        elif unit.saved is not None:
            self._copy_row(source, self.slot(unit.target), whole, (self.saved[unit.saved], 0, whole))
        else:
            self._copy_row(source, self.slot(unit.target), whole)

    def _host(self, unit: ScheduleNode) -> None:
        node = unit.makes[0]
        self.slot(node)
        buffers = [
            (self.slot(self.layouts.base[i]), 0) for p, i in enumerate(node.inputs)
            if p not in node.op.shape_only and i.op.leaf != "shape"
        ]  # fmt: skip
        self.add(Instruction("host", node.op.name, node, [*buffers, (self.slot(node), 0)], nodes=[node], frame=self))

    def _native(self, unit: ScheduleNode) -> None:
        node = unit.makes[0]
        for name, extra in unit.calls:
            if name in CALLS:
                CALLS[name](self, node, *extra)
            else:
                getattr(self, f"_call_{name}")(node, *extra)

    def _call_routine(self, node: Node, routine: Routine) -> None:
        operands = [self._contiguous(x) for p, x in enumerate(node.inputs) if p not in node.op.shape_only]
        chunks = self._chunks(routine.work, routine.span)
        buffers = [*operands, (self.slot(node), 0)]
        if routine.scratch:
            buffers.append((self.temporary((chunks * routine.scratch,), node.type.dtype), 0))
        sizes = [routine.span, chunks, *routine.sizes]
        address = kernel_cache.library(routine.module, routine.kernel).address
        if routine.why:
            self.notes.append(f"{node.op.name} by {routine.module}.{routine.kernel}, {routine.why}")
        row = Instruction(
            "routine", routine.kernel, node, buffers, sizes, address, 0, chunks if routine.span else 0, chunks,
            nodes=[node], work=routine.work,
        )  # fmt: skip
        self.add(row)
        if routine.join:
            address = kernel_cache.library(routine.module, routine.join).address
            self.add(Instruction("routine", routine.join, node, buffers, sizes, address, 0, 1))

    def _call_zero(self, node: Node) -> None:
        slot = self.slot(node)
        kernel = kernel_cache.library("strided_moves", "clear")
        self.add(Instruction("clear", "zero", node, [(slot, 0)], [], kernel.address, 0, slot.nbytes, work=slot.nbytes))

    def _call_copy(self, node: Node, operand: int, layout: Layout) -> None:
        self._copy_row(node.inputs[operand], self.slot(node), layout)
