"""Loops, branches and exchanges with other processes as instructions.

A body is laid out like a program whose variables are the carries. Its instructions stand between the one that enters the loop
and the one that repeats it, and its kernels write carries in place where nothing reads the old value any more. Items of
stacks are parts of memory, whose addresses the loop advances from iteration to iteration; see
`runtime/control_instructions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...base.communicators import group
from ...base.types import bool_
from ...ir import REGISTRY, Cell, Copy, Exchange, Gemm, Graph, Layout, Node, Reduction, Subgraph
from ...ops.control.subgraph_tracing import copied, twin
from ...ops.operands import LoopOperands
from ..backend import abi as t
from ..backend.abi import ENTER, GO, LOOP_WORDS, REPEAT, UNLESS
from ..fusion.epilogue import fuse_epilogues
from ..fusion.fuse import Fuser
from ..fusion.node_facts import FULL, ROW, Layouts, gather_of, inlined, origin
from ..runtime import loader
from ..schedule.order import Schedule, ScheduleNode, schedule
from .instructions import Buffer, GroupExchanges, Instruction, LoopInstruction, Place, beginning
from .native_calls import InstructionStream, copy

if TYPE_CHECKING:
    from .instruction_builder import GraphLowering

# batch sharding -------------------------------------------------------------------------------------------------------

# Batch sharding: a loop over independent rows of a batch is cut into shards, one per thread (`shards` of the runtime).
#
# The analysis is of memory, not of operations: of everything that an iteration writes, row b of the batch reads row b only.
# Memory outside the loop and items of stacks are only read, so they may be read anywhere.

LEAST_ROWS = 8
"""Rows of the batch that a shard has at least."""


def aligned(order: Schedule, layouts: Layouts, values: Sequence[Node], written: set[Node], batch: int) -> bool:
    """Whether every schedule node of a body computes row b of its results from rows b of the memory that the body writes.

    values: the results of the body; written: the variables that it writes. All values that it computes count as written.
    """
    inside = {*written, *(node for unit in order.units for node in unit.makes)}
    if order.saved or any(not _local(Layout.contiguous(v.type.shape), v.type.size, batch) for v in values):
        return False
    check = _Check(layouts, inside, batch)
    return all(check.unit(unit) for unit in order.units)


def _local(at: Layout, size: int, batch: int) -> bool:
    """Whether row b of this layout lies in row b of memory of `size` elements."""
    if not at.shape or at.shape[0] != batch or size % batch:
        return False
    reach = at.offset + sum(s * (d - 1) for d, s in zip(at.shape[1:], at.strides[1:], strict=True))
    return at.strides[0] == size // batch and at.offset >= 0 and reach < size // batch and min((0, *at.strides)) >= 0


class _Check:
    def __init__(self, layouts: Layouts, inside: set[Node], batch: int):
        self.layouts, self.inside, self.batch = layouts, inside, batch

    def operand(self, node: Node) -> bool:
        """Whether the operand is not written by this loop, or read row by row."""
        base = self.layouts.base[node]
        return base not in self.inside or _local(self.layouts.at[node], base.type.size, self.batch)

    def unit(self, unit: ScheduleNode) -> bool:
        if unit.kind == "kernel":
            return self.kernel(unit)
        if unit.kind == "copy":
            assert unit.source is not None
            return self.operand(unit.source) and unit.source not in self.layouts.copies
        node = unit.makes[0]
        if unit.kind != "native" or not _local(Layout.contiguous(node.type.shape), node.type.size, self.batch):
            return False
        if all(isinstance(call, Gemm) for call in unit.calls):
            return node.type.ndim == 2 and all(self.product(node, call) for call in unit.calls if isinstance(call, Gemm))
        return all(
            isinstance(call, Copy)
            and self.operand(node.inputs[call.operand])
            and _local(call.layout, node.type.size, self.batch)
            for call in unit.calls
        )

    def product(self, node: Node, call: Gemm) -> bool:
        left, right = (node if call.product is None else call.product).inputs
        begins = call.addend is None or call.addend is node or self.operand(call.addend)
        return begins and self.operand(left) and self.layouts.base[right] not in self.inside

    def kernel(self, unit: ScheduleNode) -> bool:
        """Whether the rows of the kernel's iteration domain are whole rows of the batch."""
        assert unit.group is not None
        domain, members = unit.group.domain, set(unit.group.members)
        if domain.post or domain.rows % self.batch:
            return False
        for node in unit.group.members:
            if domain.rank[node] not in (FULL, ROW) or node.type.shape[:1] != (self.batch,):
                return False
            for operand in node.inputs:
                source = origin(operand)
                if source in members or inlined(source) or self.layouts.base[operand] not in self.inside:
                    continue
                same = isinstance(node.op.emit, Reduction) or operand.type.ndim == node.type.ndim
                if gather_of(node) is not None or not same or not self.operand(operand):
                    return False
        return True


def split(instructions: Sequence[Instruction], shards: int, shard: int, moved: dict[int, Buffer]) -> list[Instruction]:
    """The instructions of a body for one shard. moved: by the id of an item's buffer, the one that this shard's loop moves."""
    result = []
    for each in instructions:
        span = each.stop - each.start
        buffers = [(moved.get(id(buffer), buffer), add) for buffer, add in each.buffers]
        start, stop = each.start + span * shard // shards, each.start + span * (shard + 1) // shards
        result.append(replace(each, buffers=buffers, start=start, stop=stop, chunks=1, pool=0, work=each.work // shards))
    return result


def fits(instructions: Sequence[Instruction], shards: int, batch: int) -> bool:
    """Whether the range of every instruction can be cut where the batch is."""
    spans = [each.stop - each.start for each in instructions]
    return all(
        not each.control and not each.check and each.kind in ("kernel", "gemm", "copy") and each.chunks == shards
        and (span == shards or span % batch == 0)
        for each, span in zip(instructions, spans, strict=True)
    )  # fmt: skip


def worth(nodes: Sequence[Node], times: int) -> int:
    """A rough estimate of the cost units of so many iterations: elements of values times the terms of sums in products."""
    inner = [node.inputs[0].type.shape[-1:] if node.inputs else () for node in nodes]
    return times * sum(node.type.size * math.prod(extents) for node, extents in zip(nodes, inner, strict=True))


SHARDED_WORK = 5_000_000
"""Cost units (some 0.02 ns) of a loop from which shards pay: 100 us."""


def loop(b: GraphLowering, unit: ScheduleNode) -> None:
    """Append the instructions of a loop."""
    stream, node = b.stream, unit.makes[0]
    operands = LoopOperands(node.attrs, node.inputs)
    results = {n.attrs["index"]: n for n in unit.makes[1:]}
    consts = [_whole(b, c) for c in operands.consts]
    carries = [_carry(b, init, results.get(i)) for i, init in enumerate(operands.inits)]
    first = len(carries)
    n = -1 if operands.dynamic else node.attrs["length"]
    filled = [_stack(b, n, item, results.get(first + j)) for j, item in enumerate(operands.items)]
    roots = [*(b.contiguous(s) for s in operands.stacks), *((buffer, 0) for buffer in filled)]
    counted = [b.contiguous(operands.count)] if operands.count is not None else []
    name = "while" if n < 0 else f"{n} times"
    enter = Instruction("loop", name, node, [*roots, *counted], [0] * LOOP_WORDS, control=ENTER)
    state = LoopInstruction(enter)
    stream.loops.append(state)
    items = [*operands.item_params, *operands.items]
    _grow(stream, state, roots, len(operands.stacks), items)
    begin, mark = len(stream), len(stream.temporaries)
    stream.add(enter)
    until = _until(b, operands, [*consts, *carries])
    places = [
        Buffer("part", p.type.shape, p.type.dtype, index=k, offset=0, base=root, loop=state)
        for k, (p, (root, _)) in enumerate(zip(items, roots, strict=True))
    ]
    given = [*consts, *carries, *places[: len(operands.stacks)]]
    carried = range(len(consts), len(consts) + first)
    shards = _shards(b, operands, n)
    targets = [*carries, *places[len(operands.stacks) :]]
    sharded = Body(operands.body, given, carried, targets, shards).lower(b)
    stream.add(_repeat(enter))
    if sharded:
        _shard(stream, begin, shards, state)
    after = len(stream)
    head = begin + 3 if sharded else begin + 1
    reverse = node.attrs["reverse"]
    state.start(n, len(roots) if counted else -1, reverse, state.exit or after, head)
    for shard in state.shards:
        shard.start(n, -1, reverse, shard.exit, shard.head)
    if until is not None:
        until.size_array[0] = after
    stream.outlive(begin, len(stream.temporaries) if sharded else mark)
    steps = results.get(first + len(filled))
    if steps is not None:
        done = Buffer("fixed", (), np.dtype(np.int64), memory=enter.size_array[:1].reshape(()))
        scalar = Layout.contiguous(())
        copy(b, steps, b.buffer(steps), scalar, (done, 0, scalar))


def branch(b: GraphLowering, unit: ScheduleNode) -> None:
    """Append the instructions of a branch: a conditional jump, and both bodies."""
    stream, node = b.stream, unit.makes[0]
    then, orelse = node.attrs["then"], node.attrs["orelse"]
    results = {n.attrs["index"]: n for n in unit.makes[1:]}
    operands = [_whole(b, i) for i in node.inputs[1:]]
    targets = [
        b.buffer(results[i]) if i in results else stream.temporary(r.type.shape, r.type.dtype)
        for i, r in enumerate(then.results)
    ]
    unless = stream.add(Instruction("branch", "if", node, [b.contiguous(node.inputs[0])], [0], control=UNLESS))
    Body(then, operands, range(0), targets).lower(b)
    go = stream.add(Instruction("go", "else", node, [], [0], control=GO))
    unless.size_array[0] = len(stream)
    Body(orelse, operands, range(0), targets).lower(b)
    stream.landing = go.size_array[0] = len(stream)


@dataclass
class Body:
    """A subgraph that is lowered in the middle of the plan around it."""

    subgraph: Subgraph
    given: Sequence[Buffer]
    """The buffers of its parameters."""
    carried: range
    """The parameters that the first results overwrite."""
    targets: Sequence[Buffer]
    """The buffers that the results go to."""
    shards: int = 0
    """The number of shards of its batch that the loop may have."""

    def lower(self, outer: GraphLowering) -> bool:
        """Append its instructions. Returns whether they can be cut into shards."""
        graph, buffers, moved = Graph(intern=True), dict[Node, Buffer](), dict[Node, Node]()
        cells: list[tuple[Cell, Node]] = []
        params, outcomes = self.subgraph.params, self.subgraph.results
        for k, (param, buffer) in enumerate(zip(params, self.given, strict=True)):
            if k in self.carried:
                cells.append(_variable(graph, f"carry {len(cells)}", param))
                leaf = cells[-1][1]
            else:
                leaf = twin(graph, param)
            moved[param], buffers[leaf] = leaf, buffer
        results = copied(graph, outcomes, moved)
        for k in range(len(cells), len(results)):
            cells.append(_variable(graph, f"result {k - len(self.carried)}", outcomes[k]))
            buffers[cells[-1][1]] = self.targets[k]
        layouts = Layouts(graph)
        variables = {leaf for _, leaf in cells}
        values: list[Node] = []
        for r, (_, leaf) in zip(results, cells, strict=True):
            again = (layouts.base[r] in variables and r is not leaf) or r in values  # a store of its own, not a copy later
            values.append(graph.add(REGISTRY["identity"], (r,), {}, r.type) if again else r)
        layouts = Layouts(graph)
        fuser = Fuser(graph, values, layouts)
        groups, sums, decisions = fuse_epilogues(graph, fuser.run(), layouts, values)
        assigns = [(cell, value) for (cell, _), value in zip(cells, values, strict=True)]
        order = schedule(graph, groups, sums, layouts, [], assigns)
        batch = values[0].type.shape[0] if self.shards else 0
        shards = self.shards if self.shards and aligned(order, layouts, values, variables, batch) else 0
        stream = outer.stream
        first = len(stream)
        outer.nested(graph, layouts, order, buffers, shards).lower()
        stream.decisions += [*fuser.decisions, *decisions]
        stream.notes += [f"in a body, {note}" for note in order.notes]
        return shards > 0 and fits(stream.instructions[first:], shards, batch)


# operands of loops ------------------------------------------------------------------------------------------------


def _whole(b: GraphLowering, node: Node) -> Buffer:
    """An operand of a body: all of it, in row-major order."""
    buffer, add = b.contiguous(node)
    return Buffer("part", node.type.shape, node.type.dtype, offset=add, base=buffer)


def _carry(b: GraphLowering, init: Node, last: Node | None) -> Buffer:
    """The buffer of a carry. It holds the initial value before the loop, and the loop's result after it."""
    to = b.stream.temporary(init.type.shape, init.type.dtype) if last is None else b.buffer(last)
    copy(b, init, to, Layout.contiguous(init.type.shape))
    return to


def _stack(b: GraphLowering, n: int, item: Node, result: Node | None) -> Buffer:
    """The buffer of stacked items. There may be no result: rewrite rules that fire late can remove its last reader."""
    if n >= 0:
        return b.stream.temporary((n, *item.type.shape), item.type.dtype) if result is None else b.buffer(result)
    buffer = Buffer("stack", item.type.shape, item.type.dtype)
    b.stream.stacks[buffer] = np.zeros(3, np.int64)
    if result is not None:
        b.buffers[result] = buffer
    return buffer


def _grow(stream: InstructionStream, state: LoopInstruction, roots: Sequence[Place], given: int, items: Sequence[Node]) -> None:
    """Register the stacks whose memory moves as it grows. The first `given` are read, the others are filled."""
    for k, ((buffer, _), item) in enumerate(zip(roots, items, strict=True)):
        while buffer.kind == "part" and buffer.loop is None and buffer.base is not None:
            buffer = buffer.base
        if buffer.kind == "stack":
            words = stream.stacks[buffer]
            state.growing.append([k, words.ctypes.data, item.type.nbytes, int(k >= given)])


def _until(b: GraphLowering, operands: LoopOperands, given: Sequence[Buffer]) -> Instruction | None:
    """The instructions of the condition. They end the loop where it does not hold."""
    if operands.cond is None:
        return None
    flag = b.stream.temporary((), bool_)
    Body(operands.cond, given, range(0), [flag]).lower(b)
    result = operands.cond.results[0]
    return b.stream.add(Instruction("until", "unless the condition holds", result, [(flag, 0)], [0], control=UNLESS))


def _repeat(enter: Instruction) -> Instruction:
    """The instruction that ends an iteration. It shares its state with the entry of the loop."""
    repeat = Instruction("repeat", enter.name, enter.node, control=REPEAT)
    repeat.pointers, repeat.size_array = enter.pointers, enter.size_array
    return repeat


# shards -------------------------------------------------------------------------------------------------------------


def _shards(b: GraphLowering, operands: LoopOperands, n: int) -> int:
    """The number of shards that a loop of n iterations may have by its size."""
    threads = b.stream.threads
    rows = [init.type.shape[0] if init.type.shape else 0 for init in operands.inits]
    enough = rows and min(rows) == max(rows) and rows[0] % threads == 0 and rows[0] >= LEAST_ROWS * threads
    if threads == 1 or b.body or not enough or worth(operands.body.nodes, n) < SHARDED_WORK:
        return 0
    return threads


def _shard(stream: InstructionStream, begin: int, shards: int, state: LoopInstruction) -> None:
    """Replace the instructions of a loop by those of each shard, and one before them that runs the shards in parallel."""
    enter, *body, _ = stream.instructions[begin:]
    del stream.instructions[begin:]
    ranges = [0] * (1 + 2 * shards)
    run = stream.code(loader.source("shards"), "shards")
    fork = Instruction("shards", f"{shards} shards", enter.node, sizes=ranges, code=run, stop=shards, chunks=shards)
    go = Instruction("go", "after the shards", enter.node, sizes=[0], control=GO)
    stream.add(fork)
    stream.add(go)
    items = [buffer for instruction in body for buffer, _ in instruction.buffers if buffer.loop is state]
    for shard in range(shards):
        own = state if shard == 0 else LoopInstruction(replace(enter))
        moved = {} if shard == 0 else {id(buffer): replace(buffer, loop=own) for buffer in items}
        first = len(stream)
        for instruction in (own.instruction, *split(body, shards, shard, moved), _repeat(own.instruction)):
            stream.add(instruction)
        own.head, own.exit = first + 1, len(stream)
        fork.size_array[1 + 2 * shard : 3 + 2 * shard] = first, own.exit
        if shard:
            state.shards.append(own)
            stream.loops.append(own)
    go.size_array[0] = len(stream)


def _variable(graph: Graph, name: str, like: Node) -> tuple[Cell, Node]:
    cell = Cell(name, like.type)
    return cell, graph.add(REGISTRY["variable"], (), {"cell": cell}, like.type, name)


# exchanges with other processes: instructions that begin them, wait for them and let MPI go on meanwhile --------------

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
