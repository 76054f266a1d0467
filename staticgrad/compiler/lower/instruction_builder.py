"""From a schedule to instructions over buffers.

For each unit of the schedule the builder finds its buffers and appends instructions: a group becomes the call of its kernel,
a product one of BLAS or of our own, a concatenation copies. Beside it stands what a run binds: feeds, variables, results,
numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from ...base.types import OpenType
from ...ir import Cell, Exchange, Graph, Layout, Node, Pointwise
from ...ops.leaves import Source
from ..backend.kernel_cache import NOW
from ..codegen.kernel_writer import KernelWriter
from ..codegen.operands import BufferRef, KernelSource
from ..fusion.fuse import Group
from ..fusion.node_facts import Layouts, inlined
from ..runtime.loader import get_num_threads
from ..schedule.order import CHECKED, Schedule, ScheduleNode
from . import control_flow, native_calls
from .instructions import STRIDED, Buffer, Instruction, Memory, Place, bound, lay_out, memory_of
from .native_calls import InstructionStream, Placement

PARALLEL_WORK = 150_000
"""Cost units (an addition of one element, some 0.02 ns) from which more threads pay for their start: about 3 us."""
COPY_LIFE = 16
"""Instructions after which a copy of a value is made anew rather than kept in memory."""


def written(group: Group, layouts: Layouts, place: dict[Node, Node], number: dict[Node, int]) -> KernelSource:
    """The kernel of a group."""
    return KernelWriter(group, layouts, place, number).write("kernel")


Writer = Callable[[Group, Layouts, dict[Node, Node], dict[Node, int]], KernelSource]


def _meeting(units: Sequence[ScheduleNode]) -> int:
    """Before which unit processes begin to compare their plans: after the checks that come before the first exchange, since a
    run that one of them refuses exchanges nothing. -1 where there is none."""
    first = next((i for i, unit in enumerate(units) if unit.kind == "start"), -1)
    return max([0, *(i + 1 for i, unit in enumerate(units[:first]) if unit.priority == CHECKED)]) if first >= 0 else -1


class GraphLowering:
    """Lowers the schedule of one graph, a program or a body, to instructions that it appends to a stream."""

    body = True
    """It lowers the body of a loop or branch."""
    fetched_nodes: Sequence[Node] = ()
    """What a program returns."""

    def __init__(
        self, graph: Graph, layouts: Layouts, schedule: Schedule, stream: InstructionStream,
        buffers: Mapping[Node, Buffer] = MappingProxyType({}), shards: int = 0, write: Writer = written,
    ):  # fmt: skip
        """buffers: those of the leaves of a body; shards: how many threads share the batch of a loop, if any do; write: writes
        the kernel of a group."""
        self.write = write
        self.graph, self.layouts, self.schedule = graph, layouts, schedule
        self.number = {node: i for i, node in enumerate(graph.nodes)}
        self.stream = stream
        self.shards = shards
        self.buffers: dict[Node, Buffer] = dict(buffers)
        self.saved: dict[ScheduleNode, Buffer] = {}
        self.copies: dict[Node, tuple[Buffer, int]] = {}
        """Of values in row-major order, and the number of the instruction that used each last."""

    def lower(self) -> None:
        """Append the instructions of the schedule."""
        for leaf in self.graph.nodes:
            if leaf.op.leaf and leaf not in self.buffers:
                self.leaf(leaf)
        for node in self.schedule.constants:
            self.buffers[node] = self._fixed(node)
        meeting = _meeting(self.schedule.units)
        for number, unit in enumerate(self.schedule.units):
            if number == meeting:
                begins = [call for each in self.schedule.units if each.kind == "start" for call in each.calls]
                control_flow.compare_plans(self, [call for call in begins if isinstance(call, Exchange)])
            since = len(self.stream)
            match unit.kind:
                case "start":
                    control_flow.begin(self, unit)
                case "wait":
                    control_flow.await_end(self, unit)
                case "kernel":
                    self._kernel(unit)
                case "native":
                    for call in unit.calls:
                        native_calls.lower_call(self, unit.makes[0], call)
                case "copy":
                    self._copy(unit)
                case "host":
                    self._host(unit)
                case "commit":
                    self._commit(unit)
                case "loop":
                    control_flow.loop(self, unit)
                case "branch":
                    control_flow.branch(self, unit)
                case kind:
                    raise AssertionError(kind)
            if meeting >= 0:
                control_flow.look(self, since)

    def nested(
        self, graph: Graph, layouts: Layouts, schedule: Schedule, buffers: Mapping[Node, Buffer], shards: int
    ) -> GraphLowering:
        """The lowering of a body, on the same stream."""
        return GraphLowering(graph, layouts, schedule, self.stream, buffers, shards, self.write)

    # buffers --------------------------------------------------------------------------------------------------------

    def leaf(self, node: Node) -> None:
        """Give a leaf its buffer; leaves of which only the shape is read have none."""
        if node.op.leaf == "constant":
            self.buffers[node] = self._fixed(node)

    def _fixed(self, node: Node) -> Buffer:
        """The buffer of a value that is known now."""
        array = np.ascontiguousarray(self._constant(node)).reshape(node.type.shape)
        return Buffer("fixed", array.shape, array.dtype, memory=array)

    def _constant(self, node: Node) -> np.ndarray:
        """A number, position or extent that an instruction reads from memory."""
        if node.op.leaf == "shape":
            return np.asarray(node.op.eval(**node.attrs))
        if node.op.leaf == "constant":
            return np.asarray(node.attrs["value"].array)
        with np.errstate(all="ignore"):
            return np.asarray(node.op.eval(*(self._constant(i) for i in node.inputs), **node.attrs))

    def buffer(self, node: Node) -> Buffer:
        """The buffer of a base, made at its first use."""
        node = self.schedule.place.get(node, node)
        if node not in self.buffers:
            if node in self.layouts.part:
                at = self.layouts.at[node].offset * node.type.dtype.itemsize
                whole = self.buffer(self.layouts.base[node])
                self.buffers[node] = Buffer("part", node.type.shape, node.type.dtype, offset=at, base=whole)
            elif inlined(node):
                self.buffers[node] = self._fixed(node)
            else:
                self.buffers[node] = self.stream.temporary(node.type.shape, node.type.dtype)
        return self.buffers[node]

    def view(self, node: Node) -> Place:
        """The first element of a value under its own layout."""
        layout = self.layouts.at[node]
        return self.buffer(self.layouts.base[node]), layout.offset * node.type.dtype.itemsize

    def contiguous(self, node: Node) -> Place:
        """The value in row-major order; copied where its layout is another, once for instructions that are near each other."""
        if self.layouts.at[node].is_contiguous:
            return self.view(node)
        to, at = self.copies.get(node, (None, 0))
        if to is None or len(self.stream) > at + COPY_LIFE:
            to = self.stream.temporary(node.type.shape, node.type.dtype)
            native_calls.copy(self, node, to, Layout.contiguous(node.type.shape))
        self.copies[node] = to, len(self.stream)
        return to, 0

    def array(self, node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """A node's value as a view of the plan's memory, for host calls; in a loop, that of the current iteration."""
        if node.op.leaf == "shape" or (inlined(node) and self.layouts.base[node] not in self.buffers):
            return self._constant(node)
        base, at = self.buffer(self.layouts.base[node]), self.layouts.at[node]
        flat = memory_of(base, arrays).reshape(-1)
        strides = tuple(s * base.dtype.itemsize for s in at.strides)
        return np.lib.stride_tricks.as_strided(flat[at.offset :], at.shape, strides)

    # instructions ---------------------------------------------------------------------------------------------------

    def chunks(self, work: int, span: int) -> int:
        """The number of chunks of a range: by its work, at most one for each thread."""
        threads = self.stream.threads
        if threads == 1 or span < 2:
            return 1
        if self.shards:
            return min(self.shards, span)
        return min(threads, span) if work >= PARALLEL_WORK else 1

    def _kernel(self, unit: ScheduleNode) -> None:
        assert unit.group is not None
        kernel = self.write(unit.group, self.layouts, self.schedule.place, self.number)
        chunks = self.chunks(kernel.work, kernel.rows)
        sizes = list(kernel.sizes)
        if kernel.chunked:
            sizes[kernel.chunks_at] = chunks
        buffers = [(self._parameter(ref, kernel, chunks), ref.offset * ref.dtype.itemsize) for ref in kernel.buffers]
        texts = {emit.code for node in unit.group.members if isinstance(emit := node.op.emit, Pointwise) and emit.code}
        code = self.stream.code(kernel.body + "".join(sorted(texts)), kernel.name)
        span = chunks if kernel.chunked else kernel.rows
        name = "+".join(dict.fromkeys(n.op.name for n in unit.group.members))
        last = unit.group.members[-1]
        self.stream.add(
            Instruction(
                "kernel", name, last, buffers, sizes, code, 0, span, chunks, source=kernel.body,
                kernel=kernel.loops, nodes=list(unit.group.members), work=kernel.work,
            )
        )  # fmt: skip
        if kernel.folds and chunks > 1:
            self.stream.add(Instruction("fold", name, last, buffers, sizes, code, -1, -1))

    def _parameter(self, ref: BufferRef, kernel: KernelSource, chunks: int) -> Buffer:
        if ref.kind == "value":
            assert ref.node is not None
            return self.buffer(ref.node)
        if ref.kind == "numbers":
            return Buffer("fixed", (len(kernel.numbers),), ref.dtype, memory=np.array(kernel.numbers, np.float64))
        return self.stream.temporary((chunks * max(ref.length, 1),), ref.dtype)

    def _copy(self, unit: ScheduleNode) -> None:
        source = unit.source
        assert source is not None
        whole = Layout.contiguous(source.type.shape)
        if unit.target is None:  # an old value, saved before it is overwritten
            to = self.stream.temporary(whole.shape, source.type.dtype)
            self.saved[unit] = to
            native_calls.copy(self, source, to, whole)
        elif unit.target is source:
            base, at = self.layouts.copies[source]
            operand = self.buffer(base), at.offset * source.type.dtype.itemsize, at
            native_calls.copy(self, source, self.buffer(source), Layout.contiguous(at.shape), operand)
        elif unit.saved is not None:
            native_calls.copy(self, source, self.buffer(unit.target), whole, (self.saved[unit.saved], 0, whole))
        else:
            native_calls.copy(self, source, self.buffer(unit.target), whole)

    def _host(self, unit: ScheduleNode) -> None:
        node = unit.makes[0]
        self.buffer(node)
        buffers = [
            (self.buffer(self.layouts.base[i]), 0) for p, i in enumerate(node.inputs)
            if p not in node.op.shape_only and i.op.leaf != "shape"
        ]  # fmt: skip
        buffers.append((self.buffer(node), 0))
        self.stream.add(Instruction("host", node.op.name, node, buffers, nodes=[node], operands=self))

    def _commit(self, unit: ScheduleNode) -> None:
        assert unit.source is not None
        assert unit.target is not None
        source, target = self.buffer(self.layouts.base[unit.source]), self.buffer(unit.target)
        self.stream.add(Instruction("host", "copy", unit.source, [(source, 0), (target, 0)], target=target))


class Builder(GraphLowering, Placement):
    """Lowers a program, and lays out the memory of its plan."""

    body = False

    def __init__(
        self, graph: Graph, layouts: Layouts, schedule: Schedule, feeds: Sequence[Node], fetches: Sequence[Node],
        write: Writer = written, when: float = NOW, held: bool = False, asks: bool = True,
    ):  # fmt: skip
        """when, asks: see `InstructionStream`. held: values that only the host reads are arrays of NumPy's."""
        super().__init__(graph, layouts, schedule, InstructionStream(get_num_threads(), when, asks), write=write)
        self.status = self.stream.status
        self.held = held
        self.feed_index = {node: i for i, node in enumerate(feeds)}
        self.fetched_nodes = fetches
        self.cells: list[Cell] = []
        self.cell_buffers: dict[Cell, Buffer] = {}
        self.argument_nodes = [n for n in graph.nodes if n.op.leaf == "argument"]
        self.argument_index = {node: i for i, node in enumerate(self.argument_nodes)}
        self.argument_sources: list[Source] = [node.attrs["source"] for node in self.argument_nodes]
        self.argument_values = np.zeros(max(len(self.argument_nodes), 1))
        self.generator_state = np.zeros(2, np.int64)
        self.views: dict[Node, Buffer] = {}
        """The values that host calls read or write, where they lie."""

    def build(self) -> Builder:
        """Lower the program, place its buffers, and point the instructions at them."""
        self.lower()
        self.fetches = [self._fetch(node) for node in self.fetched_nodes]
        self.outputs = self._outputs()
        self._arena()
        self.point(self.stream.instructions, self.stream.loops)
        return self

    def leaf(self, node: Node) -> None:
        kind, shape, dtype = node.op.leaf, node.type.shape, node.type.dtype
        if kind == "placeholder":
            self.buffers[node] = Buffer("feed", shape, dtype, index=self.feed_index[node])
        elif kind == "variable":
            cell = node.attrs["cell"]
            if cell not in self.cell_buffers:
                self.cell_buffers[cell] = Buffer("state", shape, dtype)
                self.cells.append(cell)
            self.buffers[node] = self.cell_buffers[cell]
        elif kind == "argument":
            at = self.argument_index[node]
            self.buffers[node] = Buffer("fixed", (), dtype, memory=self.argument_values[at : at + 1].reshape(()))
        elif kind == "generator":
            self.buffers[node] = Buffer("fixed", (2,), dtype, memory=self.generator_state)
        else:
            super().leaf(node)

    def array(self, node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray:
        if node.op.leaf == "shape" or (inlined(node) and self.layouts.base[node] not in self.buffers):
            return self._constant(node)
        view = self.views.get(node)
        if view is None:
            view = base = self.buffer(self.layouts.base[node])
            if self.layouts.base[node] is not node:
                view = Buffer("view", node.type.shape, node.type.dtype, layout=self.layouts.at[node], base=base)
            self.views[node] = view
        return view.array(arrays)

    def _fetch(self, node: Node) -> Buffer:
        unit = self.schedule.saved.get(node)
        if isinstance(node.type, OpenType):
            return self.buffer(node)
        if unit is not None:
            base, layout = self.saved[unit], None
        else:
            base, layout = self.buffer(self.layouts.base[node]), self.layouts.at[node]
            if layout == Layout.contiguous(base.shape) and layout.shape == node.type.shape:
                layout = None
            elif base.root.kind == "arena" and node.type.size >= STRIDED and not layout.is_contiguous:
                base, layout = self.contiguous(node)[0], None
        base.root.last = len(self.stream)
        return Buffer("view", node.type.shape, node.type.dtype, layout=layout, base=base)

    def _outputs(self) -> list[Buffer]:
        """Buffers that become arrays of their own: those that one fetch takes whole."""
        fetched = Counter(buffer.root for buffer in self.fetches)
        whole = [buffer.root for buffer in self.fetches if buffer.layout is None]
        found = [buffer for buffer in whole if buffer.kind == "arena" and fetched[buffer] == 1]
        for i, buffer in enumerate(found):
            buffer.kind, buffer.index = "output", len(self.feed_index) + i
        return found

    def _arena(self) -> None:
        if self.held:
            native = {buffer.root for each in self.stream.instructions if each.kind != "host" for buffer, _ in each.buffers}
            native |= {buffer.root for buffer in self.fetches}
            for buffer in self.stream.temporaries:
                if buffer.kind == "arena" and buffer not in native:
                    buffer.kind = "held"
        buffers = [buffer for buffer in self.stream.temporaries if buffer.kind == "arena"]
        self.memory = Memory(lay_out(buffers), bound(buffers))
        self.allocate(buffers, self.memory.arena)
