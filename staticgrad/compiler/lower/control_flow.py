"""Loops and branches as rows of the plan's table.

A body is laid out like a program whose variables are what the loop carries: its rows lie between those that turn the loop,
its kernels write carries in place where nobody needs the old value any more. Items of stacks are parts of memory that the
loop moves along from iteration to iteration; see `runtime/control_instructions.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ir import REGISTRY, Cell, Graph, Layout, Node, Subgraph
from ...ops.control.loop_operands import Loop
from ...ops.control.subgraph_tracing import copied, twin
from ...types import bool_
from ..backend.abi import BEHIND, COUNT, ENTER, GO, GROWING, HEAD, LOOP_WORDS, MOVES, REPEAT, REVERSE, UNLESS, N, T
from ..fusion.epilogue import fuse_epilogues
from ..fusion.fuse import Fuser
from ..fusion.layout import Layouts
from ..runtime import loader
from ..schedule.order import ScheduleNode, schedule
from .batch_sharding import LEAST_ROWS, aligned, fits, split, worth
from .instructions import Buffer, Instruction, memory_of

LANES_WORK = 5_000_000
"""Cost units (some 0.02 ns) of a loop from which lanes pay: 100 us."""


class LoopInstruction:
    """A loop of the plan: its state, and what moves with it."""

    def __init__(self, row: Instruction):
        self.row = row
        self.words = row.size_array
        self.moves: list[list[int]] = []
        self.growing: list[list[int]] = []
        self.head = self.behind = 0
        self.copies: list[LoopInstruction] = []
        """The other lanes of the loop."""

    def move(self, address: int, slot: Buffer, add: int) -> None:
        """The pointer at `address` goes to the item of a stack."""
        self.moves.append([address, slot.index, slot.nbytes, slot.offset + add])

    def start(self, n: int, count: int, reverse: bool, behind: int, head: int) -> None:
        """What does not change from run to run; see `runtime/control_instructions.py`."""
        for at, value in ((N, n), (COUNT, count), (REVERSE, int(reverse)), (BEHIND, behind), (HEAD, head)):
            self.words[at // 8] = value

    def address(self, slot: Buffer) -> int:
        """Where the item is in the iteration under way."""
        t, n = int(self.words[T // 8]), int(self.words[N // 8])
        place = n - 1 - t if self.words[REVERSE // 8] else t
        return int(self.row.pointers[slot.index]) + place * slot.nbytes + slot.offset

    def finish(self) -> None:
        """Write down what moves, when all rows are there."""
        self.tables = [np.array(entries, np.int64).reshape(-1, 4) for entries in (self.moves, self.growing)]
        for at, table in zip((MOVES, GROWING), self.tables, strict=True):
            self.words[at // 8 : at // 8 + 2] = len(table), table.ctypes.data


class ControlFlowLowering:
    """The part of `Builder` that lays out loops and branches."""

    rows: list[Instruction]
    made: list[Buffer]
    homes: dict[Buffer, np.ndarray]
    loops: list[LoopInstruction]
    landing = -1
    """Where both ways of the last branch meet: what comes then is not part of the row before, which one way leaves out."""

    def _loop(self: Any, unit: ScheduleNode) -> None:
        node = unit.makes[0]
        loop = Loop(node.attrs, node.inputs)
        results = {n.attrs["index"]: n for n in unit.makes[1:]}
        consts = [self._whole(c) for c in loop.consts]
        carries = [self._carry(init, results.get(i)) for i, init in enumerate(loop.inits)]
        first = len(carries)
        n = -1 if loop.dynamic else node.attrs["length"]
        filled = [self._stack(n, item, results.get(first + j)) for j, item in enumerate(loop.items)]
        roots = [*(self._contiguous(s) for s in loop.stacks), *((slot, 0) for slot in filled)]
        counted = [self._contiguous(loop.count)] if loop.count is not None else []
        row = Instruction("loop", "while" if n < 0 else f"{n} times", node, [*roots, *counted], [0] * LOOP_WORDS, turn=ENTER)
        turning = LoopInstruction(row)
        self.loops.append(turning)
        self._grow(turning, roots, len(loop.stacks), [*loop.item_params, *loop.items])
        begin, mark = len(self.rows), len(self.made)
        self.add(row)
        until = self._until(loop, [*consts, *carries])
        places = [
            Buffer("part", p.type.shape, p.type.dtype, index=k, offset=0, base=root, place=turning)
            for k, (p, (root, _)) in enumerate(zip([*loop.item_params, *loop.items], roots, strict=True))
        ]
        given = [*consts, *carries, *places[: len(loop.stacks)]]
        carried = range(len(consts), len(consts) + first)
        lanes = self._lanes(loop, n)
        cut = self._frame(loop.body, given, carried, [*carries, *places[len(loop.stacks) :]], lanes)
        self.add(repeated(row))
        if cut:
            self._cut(begin, lanes, turning)
        behind = len(self.rows)
        head = begin + 3 if cut else begin + 1
        turning.start(n, len(roots) if counted else -1, node.attrs["reverse"], turning.behind or behind, head)
        for copy in turning.copies:
            copy.start(n, -1, node.attrs["reverse"], copy.behind, copy.head)
        if until is not None:
            until.size_array[0] = behind
        self._outlive(begin, len(self.made) if cut else mark)
        steps = results.get(first + len(filled))
        if steps is not None:
            done = Buffer("fixed", (), np.dtype(np.int64), memory=row.size_array[:1].reshape(()))
            whole = Layout.contiguous(())
            self._copy_row(steps, self.slot(steps), whole, (done, 0, whole))

    def _whole(self: Any, node: Node) -> Buffer:
        """An operand of a body: all of it, in row-major order."""
        slot, add = self._contiguous(node)
        return Buffer("part", node.type.shape, node.type.dtype, offset=add, base=slot)

    def _carry(self: Any, init: Node, last: Node | None) -> Buffer:
        """The memory of a carry, which holds its first value; the last one stays there as the loop's result."""
        to = self.temporary(init.type.shape, init.type.dtype) if last is None else self.slot(last)
        self._copy_row(init, to, Layout.contiguous(init.type.shape))
        return to

    def _stack(self: Any, n: int, item: Node, result: Node | None) -> Buffer:
        """The memory of stacked items; laws that fired late may have left nobody who reads them."""
        if n >= 0:
            return self.temporary((n, *item.type.shape), item.type.dtype) if result is None else self.slot(result)
        slot = Buffer("stack", item.type.shape, item.type.dtype)
        self.homes[slot] = np.zeros(3, np.int64)
        if result is not None:
            self.slots[result] = slot
        return slot

    def _grow(
        self: Any, turning: LoopInstruction, roots: Sequence[tuple[Buffer, int]], given: int, items: Sequence[Node]
    ) -> None:
        """Stacks begin wherever their memory has got to."""
        for k, ((slot, _), item) in enumerate(zip(roots, items, strict=True)):
            while slot.kind == "part" and slot.place is None and slot.base is not None:
                slot = slot.base
            if slot.kind == "stack":
                home = self.homes[slot]
                turning.growing.append([k, home.ctypes.data, item.type.nbytes, int(k >= given)])

    def lacks(self: Any, row: Instruction) -> tuple[int, int] | None:
        """(iterations, places) of a loop that is told to run more often than a stack that it reads has places, or less
        than not at all; else None."""
        turning = next((loop for loop in self.loops if loop.row is row), None)
        if turning is None or turning.words[COUNT // 8] < 0:
            return None
        homes = {home.ctypes.data: home for home in self.homes.values()}
        n = int(turning.words[N // 8])
        places = min((int(homes[home][2]) for _, home, _, filled in turning.growing if not filled), default=0)
        return (n, places) if n < 0 or n > places else None

    def _until(self: Any, loop: Loop, given: Sequence[Buffer]) -> Instruction | None:
        """The rows of the condition, which end the loop where it does not hold."""
        if loop.cond is None:
            return None
        flag = self.temporary((), bool_)
        self._frame(loop.cond, given, range(0), [flag])
        row = Instruction("until", "unless the condition holds", loop.cond.results[0], [(flag, 0)], [0], turn=UNLESS)
        return self.add(row)

    def _branch(self: Any, unit: ScheduleNode) -> None:
        node = unit.makes[0]
        then, orelse = node.attrs["then"], node.attrs["orelse"]
        results = {n.attrs["index"]: n for n in unit.makes[1:]}
        operands = [self._whole(i) for i in node.inputs[1:]]
        targets = [
            self.slot(results[i]) if i in results else self.temporary(r.type.shape, r.type.dtype)
            for i, r in enumerate(then.results)
        ]
        unless = self.add(Instruction("branch", "if", node, [self._contiguous(node.inputs[0])], [0], turn=UNLESS))
        self._frame(then, operands, range(0), targets)
        go = self.add(Instruction("go", "else", node, [], [0], turn=GO))
        unless.size_array[0] = len(self.rows)
        self._frame(orelse, operands, range(0), targets)
        self.landing = go.size_array[0] = len(self.rows)

    def _lanes(self: Any, loop: Loop, n: int) -> int:
        """How many lanes a loop may have by its size."""
        rows = [init.type.shape[0] if init.type.shape else 0 for init in loop.inits]
        enough = rows and min(rows) == max(rows) and rows[0] % self.threads == 0 and rows[0] >= LEAST_ROWS * self.threads
        if self.threads == 1 or self.outer is not None or not enough or worth(loop.body.nodes, n) < LANES_WORK:
            return 0
        return self.threads

    def _cut(self: Any, begin: int, lanes: int, turning: LoopInstruction) -> None:
        """Rows for each lane in place of those of the loop, and the row before them that runs the lanes."""
        enter, *body, _ = self.rows[begin:]
        del self.rows[begin:]
        lanes_at = loader.address["lanes"]
        places = [0] * (1 + 2 * lanes)
        fork = Instruction("lanes", f"{lanes} lanes", enter.node, sizes=places, address=lanes_at, stop=lanes, chunks=lanes)
        go = Instruction("go", "behind the lanes", enter.node, sizes=[0], turn=GO)
        self.add(fork)
        self.add(go)
        for lane in range(lanes):
            own = turning if lane == 0 else LoopInstruction(replace(enter))
            parts = [slot for row in body for slot, _ in row.buffers if slot.place is turning]
            moved = {} if lane == 0 else {id(slot): replace(slot, place=own) for slot in parts}
            first = len(self.rows)
            for row in (own.row, *split(body, lanes, lane, moved), repeated(own.row)):
                self.add(row)
            own.head, own.behind = first + 1, len(self.rows)
            fork.size_array[1 + 2 * lane : 3 + 2 * lane] = first, own.behind
            if lane:
                turning.copies.append(own)
                self.loops.append(own)
        go.size_array[0] = len(self.rows)

    def _frame(
        self: Any, body: Subgraph, given: Sequence[Buffer], carried: range, targets: Sequence[Buffer], lanes: int = 0
    ) -> bool:
        """The rows of a body. given: memory of its parameters, those `carried` are overwritten by the first results;
        targets: where the results go. Returns whether its rows can be cut into lanes."""
        graph, slots, moved = Graph(intern=True), {}, {}
        cells: list[tuple[Cell, Node]] = []
        for k, (param, slot) in enumerate(zip(body.params, given, strict=True)):
            if k in carried:
                cells.append(_variable(graph, f"carry {len(cells)}", param))
                leaf = cells[-1][1]
            else:
                leaf = twin(graph, param)
            moved[param], slots[leaf] = leaf, slot
        results = copied(graph, body.results, moved)
        for k in range(len(cells), len(results)):
            cells.append(_variable(graph, f"result {k - len(carried)}", body.results[k]))
            slots[cells[-1][1]] = targets[k]
        layouts = Layouts(graph)
        variables = {leaf for _, leaf in cells}
        values = []
        for r, (_, leaf) in zip(results, cells, strict=True):
            again = (layouts.base[r] in variables and r is not leaf) or r in values  # a store of its own, not a copy later
            values.append(graph.add(REGISTRY["identity"], (r,), {}, r.type) if again else r)
        layouts = Layouts(graph)
        fuser = Fuser(graph, values, layouts)
        groups, sums, decisions = fuse_epilogues(graph, fuser.run(), layouts, values)
        assigns = [(cell, value) for (cell, _), value in zip(cells, values, strict=True)]
        order = schedule(graph, groups, sums, layouts, [], assigns)
        batch = values[0].type.shape[0] if lanes else 0
        lanes = lanes if lanes and aligned(order, layouts, values, variables, batch) else 0
        first = len(self.rows)
        type(self)(graph, layouts, order, (), (), outer=self, given=slots, lanes=lanes)
        self.decisions += fuser.decisions + decisions
        self.notes += [f"in a body, {note}" for note in order.notes]
        return lanes > 0 and fits(self.rows[first:], lanes, batch)

    def _outlive(self: Any, begin: int, mark: int) -> None:
        """What a loop uses and did not make itself stays as it is for all iterations."""
        own = set(self.made[mark:])
        for row in self.rows[begin:]:
            for slot, _ in row.buffers:
                root = slot.root
                if root not in own:
                    root.first, root.last = min(root.first, begin), max(root.last, len(self.rows) - 1)

    # for host calls -------------------------------------------------------------------------------------------------

    def inside(self: Any, node: Node, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """A node's value in the iteration under way, as a view of the plan's memory."""
        base, at = self.slot(self.layouts.base[node]), self.layouts.at[node]
        flat = memory_of(base, arrays).reshape(-1)
        strides = tuple(s * base.dtype.itemsize for s in at.strides)
        return np.lib.stride_tricks.as_strided(flat[at.offset :], at.shape, strides)


def free_stacks(homes: Sequence[np.ndarray]) -> None:
    """Give back the memory of stacks that grew: they begin anew."""
    free = ctypes.CDLL(None).free
    free.argtypes = (ctypes.c_void_p,)
    for home in homes:
        free(int(home[0]))
        home[:] = 0


def repeated(enter: Instruction) -> Instruction:
    """The row that ends the iterations of a loop."""
    row = Instruction("repeat", enter.name, enter.node, turn=REPEAT)
    row.pointers, row.size_array = enter.pointers, enter.size_array
    return row


def _variable(graph: Graph, name: str, like: Node) -> tuple[Cell, Node]:
    cell = Cell(name, like.type)
    return cell, graph.add(REGISTRY["variable"], (), {"cell": cell}, like.type, name)


