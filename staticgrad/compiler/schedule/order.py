"""The schedule: units of work in order, and the buffer of each value.

A unit is a kernel, a native call, a copy or a host call. The order respects data dependences. Within that, checks come as
early and writes to variables as late as possible, so that an error leaves the state unchanged. A variable whose new value is
computed element by element is written in place after the last read of the old value; other assignments are copies at the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from types import MappingProxyType

from ...base import communicators
from ...ir import Call, Cell, Copy, Exchange, Gemm, Graph, Layout, Native, Node, Reduction, Region, Result, View, may_fail
from ...ir.walks import ordered
from ..fusion.epilogue import Sum
from ..fusion.fuse import Group
from ..fusion.node_facts import FULL, ROW, SCALAR, Layouts, gather_of, inlined, native_form, origin

# Values that are released early: a chain of units that ends with less memory in use runs as soon as it can.
#
# The optimizer's update of a parameter, which the program writes after the whole backward pass, follows the gradient of that
# parameter then, so that gradients and new values of all parameters are never there together.

SMALL = 16
"""The most bytes of a number."""
LONGEST = 64
"""The most units of a chain: an optimizer's update of one parameter has some twenty."""


def owners(graph: Graph) -> dict[Node, Node]:
    """For each node, where the host computes all of them, the value whose memory it has: an operand's, for NumPy's views."""
    found: dict[Node, Node] = {}
    at: dict[Node, Layout | None] = {}
    for node in graph.nodes:
        form, found[node], at[node] = native_form(node), node, None
        if hasattr(node.type, "shape"):
            at[node] = Layout.contiguous(node.type.shape)
        seen = at[node.inputs[0]] if isinstance(form, View) and not node.op.leaf else None
        if seen is not None:
            layout = form.rule(node, seen)
            if layout is not None:
                found[node], at[node] = found[node.inputs[0]], layout
    return found


def early_release(order: Sequence[ScheduleNode], owners: Mapping[Node, Node]) -> list[ScheduleNode]:
    """The units in an order that respects `after`, as the given one does. owners: see the function."""
    search = _Search(order, owners)
    for unit in [unit for unit in order if not unit.after and search.small(unit)] + [*order]:
        if unit not in search.done:
            search.run(unit)
    return search.found


class _Search:
    def __init__(self, order: Sequence[ScheduleNode], owners: Mapping[Node, Node]):
        self.place = {unit: i for i, unit in enumerate(order)}
        self.followers: dict[ScheduleNode, list[ScheduleNode]] = {unit: [] for unit in order}
        self.waiting = {unit: len(unit.after) for unit in order}
        self.makes: dict[ScheduleNode, list[Node]] = {}
        self.reads: dict[ScheduleNode, set[Node]] = {}
        self.readers: dict[Node, int] = {}
        self.done: set[ScheduleNode] = set()
        self.found: list[ScheduleNode] = []
        for unit in order:
            for before in unit.after:
                self.followers[before].append(unit)
            self.makes[unit] = [node for node in unit.makes if owners[node] is node]
            self.reads[unit] = {owner for owner in (owners[node] for node in unit.reads) if not owner.op.leaf}
            for owner in self.reads[unit]:
                self.readers[owner] = self.readers.get(owner, 0) + 1

    def run(self, unit: ScheduleNode) -> None:
        """Append a unit, then chains that have become ready."""
        ready = self._append(unit)
        while ready:
            chain = self._chain(heappop(ready)[1])
            for each in chain:
                for entry in self._append(each):
                    heappush(ready, entry)

    def small(self, unit: ScheduleNode) -> bool:
        """Whether it makes only a number, such as a learning rate, which chains then find there."""
        return bool(unit.makes) and sum(map(_bytes, unit.makes)) <= SMALL

    def _append(self, unit: ScheduleNode) -> list[tuple[int, ScheduleNode]]:
        """Append a unit that is ready. Returns those that have become ready by it, as a heap."""
        if unit in self.done:
            return []
        self.done.add(unit)
        self.found.append(unit)
        for owner in self.reads[unit]:
            self.readers[owner] -= 1
        ready = []
        for follower in self.followers[unit]:
            self.waiting[follower] -= 1
            if not self.waiting[follower]:
                ready.append((self.place[follower], follower))
        heapify(ready)
        return ready

    def _chain(self, first: ScheduleNode) -> list[ScheduleNode]:
        """A unit that is ready and units that become ready by it, in order, up to the first place where less memory is in use
        than before; none where there is no such place."""
        if first in self.done:
            return []
        if self.small(first):
            return [first]
        chain: list[ScheduleNode] = []
        ready, more = [(self.place[first], first)], 0
        waiting: dict[ScheduleNode, int] = {}
        readers: dict[Node, int] = {}
        while ready and len(chain) < LONGEST:
            unit = heappop(ready)[1]
            chain.append(unit)
            more += sum(_bytes(node) for node in self.makes[unit] if node in self.readers)  # others are released at once
            for owner in self.reads[unit]:
                readers[owner] = readers.get(owner, self.readers[owner]) - 1
                more -= _bytes(owner) if not readers[owner] else 0
            if more < 0:
                return chain
            for follower in self.followers[unit]:
                waiting[follower] = waiting.get(follower, self.waiting[follower]) - 1
                if not waiting[follower]:
                    heappush(ready, (self.place[follower], follower))
        return []


def _bytes(node: Node) -> int:
    kind = node.type
    return int(kind.nbytes) if hasattr(kind, "nbytes") else 0


CHECKED, STARTING, ORDINARY, WRITING, WAITING = range(5)
"""Of the units that are ready, those of the first kind come first."""


@dataclass(eq=False, slots=True, repr=False)
class ScheduleNode:
    """One unit of work. `makes`: nodes that get memory; `reads`: bases of the operands."""

    kind: str
    """kernel, native, copy, host, loop, branch; start, wait: of an exchange; commit: the host copies into a variable"""
    makes: list[Node]
    reads: set[Node]
    position: int
    group: Group | None = None
    calls: list[Call] = field(default_factory=list)
    over: Node | None = None
    """For a native call, the operand whose memory the result may take ..."""
    beside: Sequence[Node] = ()
    """... unless the call reads that memory in this form."""
    source: Node | None = None
    """For a copy, the value that is copied; for the beginning of an exchange, its result ..."""
    target: Node | None = None
    """... and the base into which it is copied: the variable, for a commit."""
    saved: ScheduleNode | None = None
    """For a commit, the unit that saved the old value which it reads."""
    priority: int = ORDINARY
    after: set[ScheduleNode] = field(default_factory=set)

    def __repr__(self) -> str:
        return f"<unit {self.position}: {self.kind} of {len(self.makes)} nodes>"


@dataclass(repr=False)
class Schedule:
    """The units in order; `place` maps a value to the variable or value in whose memory it is computed."""

    units: list[ScheduleNode]
    place: dict[Node, Node]
    constants: list[Node]
    """Positions, extents and numbers that a unit reads from memory."""
    saved: dict[Node, ScheduleNode]
    """Old values of variables that this run writes: fetched, or assigned elsewhere."""
    notes: list[str]

    def __repr__(self) -> str:
        return f"<Schedule of {len(self.units)} units>"


def schedule(
    graph: Graph, groups: Sequence[Group], sums: Sequence[Sum], layouts: Layouts, fetches: Sequence[Node],
    assigns: Sequence[tuple[Cell, Node]], waits: Mapping[Node, Node] = MappingProxyType({}),
    owners: Mapping[Node, Node] | None = None,
) -> Schedule:  # fmt: skip
    """Order the work for `fetches` and `assigns`. waits: views that are read after another node was computed. owners: given
    where the host computes values, which are to be released early: see below."""
    position = {node: i for i, node in enumerate(graph.nodes)}
    units, constants = _units(graph, groups, sums, layouts, position)
    if owners is not None:
        for unit in units:
            if unit.kind == "host" and not may_fail(unit.makes[0]):
                unit.priority = ORDINARY
    maker = {node: unit for unit in units for node in unit.makes}
    known = set(constants)
    for unit in units:
        for base in unit.reads:
            if base in maker:
                unit.after.add(maker[base])
            elif not base.op.leaf and base not in known:
                raise AssertionError(f"no unit computes {base.op.name} {base.type}, which {unit} reads")
        unit.after.discard(unit)
    if waits:
        _wait(units, maker, layouts, waits)
    _in_order(units, maker, position)
    place: dict[Node, Node] = {}
    notes = _whole(graph, [*fetches, *(value for _, value in assigns)])
    saved = _assign(graph, units, maker, layouts, fetches, assigns, place, notes, owners is not None)
    order = _ordered(units)
    return Schedule(order if owners is None else early_release(order, owners), place, constants, saved, notes)


def _wait(
    units: Sequence[ScheduleNode], maker: Mapping[Node, ScheduleNode], layouts: Layouts, waits: Mapping[Node, Node]
) -> None:
    """Let readers of such views come after the nodes for which these wait."""
    awaited: dict[Node, set[ScheduleNode]] = {}
    for node in layouts.base:
        before = {maker[base] for base in [layouts.base[waits[node]]] if base in maker} if node in waits else set()
        for operand in node.inputs:
            if operand in awaited and (layouts.base[node] is not node or node not in maker):
                before |= awaited[operand]
        if before:
            awaited[node] = before
    for unit in units:
        members = unit.group.members if unit.group is not None else unit.makes
        for node in members:
            for operand in node.inputs:
                unit.after |= {other for other in awaited.get(operand, ()) if other is not unit}


def _whole(graph: Graph, results: Sequence[Node]) -> list[str]:
    """Values that are 0 except in a few rows and have to be computed as a whole."""
    wanted = set(results)
    notes = []
    for node in graph.nodes:
        if node.op.sparse:
            names = list(dict.fromkeys(user.op.name for user in graph.succ[node]))
            why = "it is a result" if node in wanted else f"{', '.join(names)} needs all of it"
            notes.append(f"{node.op.name} {node.type}: made in whole, zeros included, because {why}")
    return notes


def _units(
    graph: Graph, groups: Sequence[Group], sums: Sequence[Sum], layouts: Layouts, position: dict[Node, int]
) -> tuple[list[ScheduleNode], list[Node]]:
    fused = {node for group in groups for node in group.members} | {node for found in sums for node in found.members}
    units = [_sum(found, layouts, position) for found in sums]
    for group in groups:
        inside = set(group.members)
        reads = {
            layouts.source(i) for n in group.members for i in n.inputs if origin(i) not in inside and not inlined(origin(i))
        }
        units.append(ScheduleNode("kernel", list(group.outputs), reads, position[group.members[-1]], group))
    taken_out: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        if isinstance(node.op.emit, Result) and isinstance(node.inputs[0].op.emit, Region):
            taken_out.setdefault(node.inputs[0], []).append(node)
    for node in graph.nodes:
        if node in fused or node.op.leaf or layouts.source(node) is not node:
            continue
        if inlined(node) or (isinstance(node.op.emit, Result) and isinstance(node.inputs[0].op.emit, Region)):
            continue
        if isinstance(node.op.emit, Region):
            makes = [node, *taken_out.get(node, ())]
            priority = CHECKED if may_fail(node) else ORDINARY
            reads = {layouts.source(i) for i in node.inputs}
            units.append(ScheduleNode(node.op.emit.kind, makes, reads, position[node], priority=priority))
            continue
        if node in layouts.copies and layouts.base[layouts.copies[node][0]] is node:  # computed in that order
            units.append(ScheduleNode("native", [node], {layouts.copies[node][0]}, position[node]))
            continue
        if node in layouts.copies:
            units.append(ScheduleNode("copy", [node], {layouts.copies[node][0]}, position[node], source=node, target=node))
            continue
        reads = {layouts.source(i) for p, i in enumerate(node.inputs) if p not in node.op.shape_only}
        emit = node.op.emit
        calls = layouts.calls(node)
        if calls is not None:
            assert isinstance(emit, Native)
            if any(isinstance(call, Exchange) for call in calls):
                units += _exchange(node, calls, layouts, position)
                continue
            calls = [call for call in calls if not _lies_there(node, call, layouts)]
            priority = CHECKED if emit.check is not None else ORDINARY
            unit = ScheduleNode("native", [node], reads, position[node], calls=calls, priority=priority)
            if emit.inplace is not None:
                unit.over = node.inputs[emit.inplace]
                unit.beside = [i for p, i in enumerate(node.inputs) if p != emit.inplace]
            units.append(unit)
        else:
            units.append(ScheduleNode("host", [node], reads, position[node], priority=CHECKED))
    needed = {base for unit in units for base in unit.reads}
    return units, [n for n in graph.nodes if inlined(n) and n in needed]


def _exchange(node: Node, calls: Sequence[Call], layouts: Layouts, position: dict[Node, int]) -> list[ScheduleNode]:
    """The beginning of an exchange and its end, which keeps what is sent in memory. It waits for no earlier exchange."""
    [call] = calls
    assert isinstance(call, Exchange)
    overwritten = call.function == "Ibcast" and communicators.group(call.group).rank != call.root
    sent = set() if overwritten else {layouts.source(node.inputs[0])}
    start = ScheduleNode("start", [], sent, position[node], calls=list(calls), source=node, priority=STARTING)
    return [start, ScheduleNode("wait", [node], set(sent), position[node], priority=WAITING, after={start})]


def _in_order(units: Sequence[ScheduleNode], maker: Mapping[Node, ScheduleNode], position: Mapping[Node, int]) -> None:
    """Let exchanges begin in the order of the program, which is the same in all processes, and after the checks that wait for
    none of them: a run that fails has exchanged nothing."""
    starts = sorted([unit for unit in units if unit.kind == "start"], key=lambda unit: unit.position)
    if not starts:
        return
    others = [u for u in units if u.kind == "host" and u.makes[0].op.exchanges]
    line = sorted([*starts, *others], key=lambda unit: unit.position)
    for before, unit in pairwise(line):
        unit.after.add(before)
    for start in starts:  # decisions
        assert start.source is not None
        earlier = [maker[last] for last in start.source.inputs[1:] if last in maker]
        start.after |= {unit for unit in earlier if unit.kind != "wait"}
    waits = Waits(units, ())
    for unit in units:
        if unit.priority == CHECKED and not waits.reached(starts[0], {unit}):
            starts[0].after.add(unit)


def _sum(found: Sum, layouts: Layouts, position: dict[Node, int]) -> ScheduleNode:
    """The unit of products that accumulate in the memory of their sum."""
    calls: list[Call] = []
    addend = found.addend
    for product, factor in found.products:
        assert isinstance(product.op.emit, Native)
        planned = layouts.calls(product)
        assert planned is not None
        [call] = planned
        assert isinstance(call, Gemm)
        calls.append(replace(call, product=product, addend=addend, factor=factor))
        addend = found.out
    operands = [operand for product, _ in found.products for operand in product.inputs]
    reads = {layouts.source(i) for i in (*operands, *([found.addend] if found.addend is not None else []))}
    return ScheduleNode("native", [found.out], reads, position[found.out], calls=calls, over=found.addend, beside=operands)


def _lies_there(node: Node, call: Call, layouts: Layouts) -> bool:
    """Whether a copy would read a part of the node in the memory that it overwrites."""
    if not isinstance(call, Copy):
        return False
    operand = node.inputs[call.operand]
    return layouts.base[operand] is node and layouts.at[operand].same(call.layout)


def _assign(
    graph: Graph, units: list[ScheduleNode], maker: dict[Node, ScheduleNode], layouts: Layouts, fetches: Sequence[Node],
    assigns: Sequence[tuple[Cell, Node]], place: dict[Node, Node], notes: list[str], early: bool,
) -> dict[Node, ScheduleNode]:  # fmt: skip
    """Add the units that assign; returns those that save old values. early: values of the host are assigned as soon as nothing
    that may fail comes afterwards."""
    variables = {node.attrs["cell"]: node for node in graph.nodes if node.op.leaf == "variable"}
    written = {variables[cell] for cell, _ in assigns if cell in variables}
    commits: list[ScheduleNode] = []
    saved: dict[Node, ScheduleNode] = {}
    moved = [value for cell, value in assigns if not _stays(value, variables[cell], layouts)]
    for value in [*fetches, *moved]:  # `a, b = b, a`, or a fetch of the old value: saved before anything is written
        if layouts.base[value] in written and value not in saved:
            saved[value] = ScheduleNode("copy", [], {layouts.base[value]}, -1, source=value, priority=CHECKED)
    checks = [u for u in units if u.priority == CHECKED]
    units.extend(saved.values())
    waits = Waits(units, checks)
    readers_of: dict[Node, list[ScheduleNode]] = {}
    for unit in units:
        for read in unit.reads:
            readers_of.setdefault(read, []).append(unit)
    for cell, value in assigns:
        variable = variables[cell]
        base = layouts.base[value]
        readers = readers_of.get(variable, [])
        reason = _why_not_in_place(value, base, variable, maker, layouts, place, readers, waits)
        if reason is None:
            writer = _writer(maker[base])
            place[base] = variable
            others = {u for u in readers if u not in (writer, maker[base])}
            writer.after |= others
            waits.come_before(writer, others)
            writer.priority = writer.priority if writer.kind == "start" else WRITING
            how = "exchange" if writer.kind == "start" else "kernel"
            notes.append(f"{cell}: written in place by the {how} that computes {base.op.name}")
            continue
        notes.append(f"{cell}: copied at the end, because {reason}")
        if _stays(value, variable, layouts):
            continue
        commit = ScheduleNode("copy", [], {base}, 1 << 30, source=value, target=variable, priority=WRITING)
        if early and base in maker and maker[base].kind == "host" and value not in saved:
            commit.kind, commit.priority = "commit", ORDINARY
            commit.after |= {*checks, *saved.values()}
        commit.after |= set(readers)
        if base in maker:
            commit.after.add(maker[base])
        elif value in saved:
            commit.saved = saved[value]
            commit.reads = set()
            commit.after.add(saved[value])
        commits.append(commit)
    units.extend(commits)
    return saved


def _stays(value: Node, variable: Node, layouts: Layouts) -> bool:
    """Whether an assignment is x = x. x = flip(x) is not: it is another view of the same memory."""
    return layouts.base[value] is variable and layouts.at[value] == layouts.at[variable]


def _why_not_in_place(
    value: Node, base: Node, variable: Node, maker: dict[Node, ScheduleNode], layouts: Layouts, place: dict[Node, Node],
    readers: list[ScheduleNode], waits: Waits,
) -> str | None:  # fmt: skip
    if base not in maker:
        return "its value is not computed in this run"
    writer = _writer(maker[base])
    if base in place:
        return "its value goes to two variables"
    if layouts.at[value] != Layout.contiguous(value.type.shape) or value.type.size != base.type.size:
        return "its value is a view"
    if writer.kind == "native" and writer.priority != CHECKED:
        if variable in writer.reads and not adds_to(writer, variable, layouts):
            return f"{base.op.name} reads it while it writes"
    elif writer.kind == "start":
        if variable in writer.reads:
            return f"{base.op.name} reads it while it writes"
    elif writer.kind != "kernel":
        return f"{base.op.name} is not a fused kernel"
    else:
        reason = why_not_by_element(writer, base, variable, layouts)
        if reason is not None:
            return reason
    if waits.reached(writer, {u for u in readers if u is not writer}):
        return "the old value is read afterwards"
    if waits.reached(writer, waits.checks):
        return "a check that may fail comes afterwards"
    return None


def _writer(unit: ScheduleNode) -> ScheduleNode:
    """The unit that begins to write the memory of what this one makes."""
    return next(u for u in unit.after if u.kind == "start" and u.source in unit.makes) if unit.kind == "wait" else unit


def adds_to(unit: ScheduleNode, base: Node, layouts: Layouts) -> bool:
    """Whether a native call that reads the base changes it in place."""
    if unit.over is None or layouts.base[unit.over] is not base or any(layouts.base[i] is base for i in unit.beside):
        return False
    at = layouts.at[unit.over]
    return at.is_contiguous and at.offset == 0 and unit.over.type.size == base.type.size


def why_not_by_element(writer: ScheduleNode, base: Node, variable: Node, layouts: Layouts) -> str | None:
    """Why a kernel can't write each element of `base` over the element of the variable or value that it reads; None if it
    can."""
    group = writer.group
    assert group is not None
    kind = group.domain.rank[base]
    if variable in writer.reads and variable.type.shape:  # a 0-d operand is read before anything is written
        if kind not in (FULL, ROW, SCALAR) or base in group.domain.post:
            return "the kernel reads the variable while it accumulates"
        if any(isinstance(n.op.emit, Reduction) and group.domain.rank[n] == ROW for n in group.members):
            return "the kernel walks each row more than once"
        for node in group.members:
            for operand in node.inputs:
                if layouts.base[operand] is not variable:
                    continue
                same = operand.type.shape == base.type.shape == node.type.shape
                moved = gather_of(node) is not None or not same or not layouts.at[operand].same(layouts.at[base])
                moved = moved or (node.op.draws and operand is node.inputs[0])
                if moved or group.domain.rank[node] != kind:
                    return "the kernel reads the variable at other places than it writes"
    return None


class Waits:
    """Which units wait for which, while units that write in place are ordered after the readers of the buffers that they
    write."""

    def __init__(self, units: Sequence[ScheduleNode], checks: Iterable[ScheduleNode]):
        self.checks = set(checks)
        self.next: dict[ScheduleNode, list[ScheduleNode]] = {}
        for unit in units:
            self.come_before(unit, unit.after)

    def come_before(self, unit: ScheduleNode, before: Iterable[ScheduleNode]) -> None:
        for other in before:
            if other is not unit:
                self.next.setdefault(other, []).append(unit)

    def reached(self, first: ScheduleNode, later: Set[ScheduleNode]) -> bool:
        """Whether one of `later` has to wait for `first`. The search proceeds from both ends in turn, so the smaller side
        limits it: a unit that writes a parameter has few successors, and one that reads it has few predecessors.
        `nx.has_path` searches so, too, but for one node, and every training step would import networkx for it."""
        if first in later:
            return True
        ahead, visited, back = [first], {first}, iter(later)
        seen: set[ScheduleNode] = set()
        stack: list[ScheduleNode] = []
        while ahead:
            for unit in self.next.get(ahead.pop(), ()):
                if unit in later:
                    return True
                if unit not in visited:
                    visited.add(unit)
                    ahead.append(unit)
            waiting = stack.pop() if stack else next(back, None)
            if waiting is None:
                return False
            for before in waiting.after:
                if before is first:
                    return True
                if before not in seen:
                    seen.add(before)
                    stack.append(before)
        return False


def _ordered(units: list[ScheduleNode]) -> list[ScheduleNode]:
    """Of the units that are ready, checks come first, then what begins exchanges, then others in the order of the program.
    Writes come late, so that an error changes nothing, and the end of an exchange last: other work is done meanwhile. What an
    exchange needs comes before what a later one needs."""
    serial = {unit: i for i, unit in enumerate(units)}
    starts = sorted([unit for unit in units if unit.kind == "start"], key=lambda unit: unit.position)
    needed: dict[ScheduleNode, int] = {}
    for number, start in enumerate(starts):
        waiting = [start]
        while waiting:
            unit = waiting.pop()
            if unit not in needed:
                needed[unit] = number
                waiting += unit.after
    many = len(starts)
    return ordered(
        {unit: unit.after for unit in units},
        lambda unit: (unit.priority, needed.get(unit, many), unit.position, serial[unit]),
    )


# buffer donation ------------------------------------------------------------------------------------------------------

# Buffer donation: kernels write results, element by element, over an operand without later readers, and products add to one.
#
# Equal kernels are treated alike so that equal layers can share one: where one of them may not overwrite its operand, none
# does.


Pair = tuple[int, int]
"""The numbers of a result and of an operand, as `_numbers` counts them."""


def donate_buffers(order: Schedule, layouts: Layouts, fetches: Sequence[Node]) -> None:
    """Adds such results to `order.place`."""
    made = {node for unit in order.units if unit.kind in ("kernel", "native", "copy", "wait") for node in unit.makes}
    last = {base: unit for unit in order.units for base in unit.reads}
    kept = {layouts.base[value] for value in [*fetches, *order.saved]} | set(order.place)
    for part in layouts.part.values():  # other instructions may still read one of them after the last reader of the other
        kept |= {part, layouts.base[part]}
    free = made - kept
    kernels = [unit for unit in order.units if unit.kind == "kernel"]
    alike: dict[Hashable, list[tuple[ScheduleNode, dict[Node, int]]]] = {}
    for unit in kernels:
        numbers = _numbers(unit, layouts)
        alike.setdefault(_kind(unit, numbers, layouts), []).append((unit, numbers))
    over: dict[Node, Node] = {}
    for same in alike.values():
        pairs = set.intersection(*[_pairs(unit, numbers, layouts, free, last) for unit, numbers in same])
        for result, operand in _apart(pairs):
            for _, numbers in same:
                nodes = list(numbers)
                over[nodes[result]] = nodes[operand]
    for unit in kernels:
        for value in unit.makes:
            if value in over:
                order.place[value] = base = over[value]
                order.notes.append(_note(value, base))
    for unit in order.units:
        if unit.kind != "native" or unit.over is None:
            continue
        [value], base = unit.makes, layouts.base[unit.over]
        dying = {value, base} <= free and value.type.size == base.type.size and last[base] is unit
        if dying and adds_to(unit, base, layouts):
            order.place[value] = base
            order.notes.append(_note(value, base))
    for value, base in order.place.items():
        while base in order.place:  # results that overwrite a result which itself overwrites a buffer
            base = order.place[base]
        order.place[value] = base


def _note(value: Node, base: Node) -> str:
    return f"{value.op.name} {value.type}: written over {base.op.name}, which nobody needs any more"


def _numbers(unit: ScheduleNode, layouts: Layouts) -> dict[Node, int]:
    """The buffers that a kernel's members read, and the members, in the order of their appearance."""
    assert unit.group is not None
    numbers: dict[Node, int] = {}
    for node in unit.group.members:
        for base in (*(layouts.base[operand] for operand in node.inputs), node):
            numbers.setdefault(base, len(numbers))
    return numbers


def _kind(unit: ScheduleNode, numbers: dict[Node, int], layouts: Layouts) -> Hashable:
    """A key that is equal for kernels that differ only in extents."""
    group = unit.group
    assert group is not None
    return tuple(
        (n.op.name, n.type.dtype, group.domain.rank[n], n in group.outputs, *(numbers[layouts.base[i]] for i in n.inputs))
        for n in group.members
    )


def _pairs(
    unit: ScheduleNode, numbers: dict[Node, int], layouts: Layouts, free: set[Node], last: dict[Node, ScheduleNode]
) -> set[Pair]:
    """The results that may overwrite operands."""
    dying = [base for base in numbers if base in unit.reads and base in free and last[base] is unit]
    return {
        (numbers[value], numbers[base])
        for value in unit.makes
        for base in dying
        if value in free and value.type == base.type and value.type.shape
        if why_not_by_element(unit, value, base, layouts) is None
    }


def _apart(pairs: set[Pair]) -> list[Pair]:
    """A selection of the pairs in which no result and no operand occurs twice."""
    chosen: list[Pair] = []
    for pair in sorted(pairs):
        if all(pair[0] != other[0] and pair[1] != other[1] for other in chosen):
            chosen.append(pair)
    return chosen
