"""Facts about a plan: the cost of its instructions, their graph, how they are nested, and the text of `print(plan)`."""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.types import TensorType
from ...ir import Native, Node, View
from ...ir.text import clip
from ...ir.walks import critical_path, dominators, quotient
from ...ops.batching import multilinear
from ..backend.abi import ENTER, EXIT, GO, REPEAT, T
from ..codegen.printers import Cost, cost_of
from ..fusion.node_facts import inlined, origin
from ..lower.instructions import Buffer, Instruction

if TYPE_CHECKING:
    import networkx as nx

    from .plan import Plan

# The edges between the operations of a plan: which are fused, why, what each costs or saves, and what could be changed.

KEEP = "nothing: this is as it should be"

REMEDIES: tuple[tuple[str, str], ...] = (
    (r"more than \d+ (operations|operands|buffers)", "nothing: longer kernels take longer to compile than they save"),
    ("too many nodes lie between", "write the two operations next to each other"),
    ("a node between them", "move what lies between before or after both, or compute it without the stored value"),
    ("(scalar arithmetic is done once|values per column are expensive)", KEEP),
    ("it (reads memory along other axes|is stored in another order)", "store the operand in the other order once, outside"),
    ("copied, because", "reduce along the last axes of memory, or store the operand in the other order once"),
    (r"it needs the finished \w+ of all rows", "reduce along the last axis, where the mathematics allows it"),
    ("they reduce over different domains", "give both reductions the same axes"),
    ("(its (shape|operand|rows)|no iteration domain)", "give both operations one shape: broadcast before, reduce after"),
    ("an operand (does not broadcast|has other axes)", "give both operations one shape and one order of axes"),
    ("an operand of shape .* is repeated", "reshape, so that the part that is repeated is an axis"),
    ("(an operand|a table) of shape .* can't be walked", "make it contiguous before: x.contiguous()"),
    (r"an? \w+ value (can't use|of shape)", "put the axes that are broadcast first or last"),
    ("it reduces", "reduce whole axes, the last ones first"),
    ("it (reads its operand in memory|adds to rows|reads rows|reads elements)", KEEP),
    ("(a kernel adds to the rows|a window of shape|the kernel reduces rows|its work is expensive)", KEEP),
    ("the value that it adds", "give the added value the shape of the rows"),
    ("another kernel computes", "use the value once, or next to its other uses"),
    ("(they are stored anyway|the product is a result)", "don't return the value, if nobody needs it"),
    ("the product is read elsewhere", "use the product in the sum alone"),
    ("it is not read in the order", "add without a transposition or slice between product and sum"),
    ("a product can start from one value", "add the other values before, or after in another sum"),
    ("the addend has a factor", "scale the addend before, in its own kernel"),
    ("the addend is not in memory", KEEP),
    ("the rows of the addend", "give the addend the shape of the product or of one of its rows"),
    ("a product cancels out", "leave the product out"),
    ("its factor is outside the range", "scale the operands"),
    ("NumPy computes", "use an operation with native code"),
    (r"\w+ is a routine", "nothing: products, convolutions and sorts read and write memory"),
    ("no kernel of both was tried", "use the value once, or next to its other uses"),
)
"""What a user could change, by the beginning of a reason (a regular expression)."""


def remedy(reason: str) -> str:
    """What a user could change about a reason; "" where nothing is known."""
    return next((advice for begin, advice in REMEDIES if re.match(begin, reason)), "")


@dataclass(frozen=True, slots=True)
class Edge:
    """A value on its way from the operation that makes it to one that reads it.

    fused: both are in one instruction, so the value stays in a register; bytes: of memory traffic that this saves, or that
    it costs where it is not fused: a read, and one write for the first reader; reason: the compiler's; remedy: what the user
    could change about it.
    """

    producer: Node
    consumer: Node
    fused: bool
    reason: str
    bytes: int
    instructions: tuple[int, int]
    """Of the producer, and of the consumer; -1 for none."""

    @property
    def remedy(self) -> str:
        return "" if self.fused else remedy(self.reason)

    @property
    def ops(self) -> str:
        return f"{self.producer.op.name} -> {self.consumer.op.name}"

    @property
    def where(self) -> str:
        return "" if self.consumer.where is None else self.consumer.where.short

    def as_dict(self) -> dict[str, Any]:
        """The edge as plain data."""
        ends = {
            role: {"op": node.op.name, "type": repr(node.type), "name": node.name, "where": _short(node), "instruction": i}
            for role, node, i in zip(("producer", "consumer"), (self.producer, self.consumer), self.instructions, strict=True)
        }
        return {**ends, "fused": self.fused, "reason": self.reason, "bytes": self.bytes, "remedy": self.remedy}

    def __str__(self) -> str:
        verb = "is fused with" if self.fused else "is not fused with"
        effect = f"{self.bytes:,d} bytes of traffic {'saved' if self.fused else 'paid'}"
        lines = [f"{_named(self.producer)} {verb} {_named(self.consumer)}: {self.reason} ({effect})"]
        return "\n".join(lines + ([f"  to change that: {self.remedy}"] if self.remedy else []))


def _short(node: Node) -> str:
    return "" if node.where is None else node.where.short


def _named(node: Node) -> str:
    name = f' "{node.name}"' if node.name else ""
    return f"{node.op.name}{name} {node.type!r}" + (f" ({node.where.short})" if node.where is not None else "")


def instructions_of(plan: Plan) -> dict[Node, list[int]]:
    """The instructions that compute each node. Views, and results of loops, belong to the instruction that makes them."""
    found: dict[Node, list[int]] = {}
    for i, instruction in enumerate(plan.instructions):
        for node in instruction.nodes:
            found.setdefault(node, []).append(i)
    for node, numbers in turns(plan).items():
        found.setdefault(node, numbers)
    for node in plan.ir.nodes:
        if node not in found and node.inputs and node.inputs[0] in found:
            found[node] = found[node.inputs[0]]
    return found


def turns(plan: Plan) -> dict[Node, list[int]]:
    """The instructions that write the memory of a node in turn: products that add up, the copies of a concatenation."""
    found: dict[Node, list[int]] = {}
    for i, instruction in enumerate(plan.instructions):
        if instruction.node is not None and not instruction.node.op.leaf:  # a copy may save a variable's old value
            found.setdefault(instruction.node, []).append(i)
    return found


def edges_of(plan: Plan) -> list[Edge]:
    """All edges between computed values, in the order of the readers. Views are no operations: their readers read the value
    that they show."""
    homes = instructions_of(plan)
    told: dict[bool, dict[tuple[Node, Node], str]] = {True: {}, False: {}}
    for decision in plan.decisions:
        told[decision.fused][decision.producer, decision.consumer] = decision.reason
        told[decision.fused].setdefault((origin(decision.producer), decision.consumer), decision.reason)
    pairs = [(source, node) for node in operations(plan) for source in _sources(node)]
    results = {source_of(node) for node in (*plan.builder.fetched_nodes, *(value for _, value in plan.assigns))}
    stored = results | {a for a, b in pairs if not _within(homes.get(a, ()), homes.get(b, ()))}
    found, written = [], set[Node]()
    for producer, consumer in pairs:
        a, b = homes.get(producer, ()), homes.get(consumer, ())
        fused = not set(a).isdisjoint(b)
        once = producer not in written and (producer not in stored or not fused)
        traffic = producer.type.nbytes * (1 + once)
        written.add(producer)
        reason = told[fused].get((producer, consumer), "")
        reason = reason if reason else _reason(producer, consumer, fused)
        ends = (a[0] if a else -1, b[0] if b else -1)
        found.append(Edge(producer, consumer, fused, reason, traffic, ends))
    return found


def operations(plan: Plan) -> list[Node]:
    """What a plan computes: the operations of its graph, and those of bodies of loops and branches."""
    inside = (node for instruction in plan.instructions for node in instruction.nodes)
    return [node for node in dict.fromkeys([*plan.ir.nodes, *inside]) if _computes(node)]


def _computes(node: Node) -> bool:
    return not node.op.leaf and not isinstance(node.op.emit, View) and not inlined(node)


def source_of(node: Node) -> Node:
    """The operation whose value a node shows."""
    while isinstance(node.op.emit, View) and node.inputs:
        node = node.inputs[0]
    return node


def _sources(node: Node) -> list[Node]:
    return [source for source in dict.fromkeys(map(source_of, node.inputs)) if _computes(source)]


def _within(makers: Iterable[int], readers: Iterable[int]) -> bool:
    """Whether every instruction that reads a value computes it, too."""
    own = set(makers)
    return all(i in own for i in readers)


def _reason(producer: Node, consumer: Node, fused: bool) -> str:
    """A reason that follows from the kinds of the operations, where no decision was taken about this edge."""
    if fused:
        return "both are in one kernel, through another value"
    for node in (consumer, producer):
        if node.op.emit is None:
            return f"NumPy computes {node.op.name}, from memory to memory"
    for node in (consumer, producer):
        if isinstance(node.op.emit, Native):
            return f"{node.op.name} is a routine, which reads and writes memory"
    return "no kernel of both was tried: the value is in memory when the consumer runs"


def matching(plan: Plan, what: Any) -> list[Node]:
    """The operations of a plan that a user means: a node or symbol, the name of a value or an op, a line ("model.py:12"), the
    number of an instruction."""
    nodes = operations(plan)
    node = getattr(what, "node", what)
    if isinstance(node, Node):
        return [n for n in nodes if n is node or (n.op is node.op and n.where == node.where and n.name == node.name)]
    if isinstance(what, int) and not isinstance(what, bool):
        return list(plan.instructions[what].nodes) if 0 <= what < len(plan.instructions) else []
    text = str(what)
    named = [n for n in nodes if n.name == text]
    if named:
        return named
    if ":" in text:
        return [n for n in nodes if n.where is not None and n.where.short == text]
    return [n for n in nodes if n.op.name == text]


def op_names(plan: Plan) -> list[str]:
    """The ops of a plan, the most frequent first."""
    return [name for name, _ in Counter(n.op.name for n in operations(plan)).most_common()]


def totals(edges: Sequence[Edge]) -> tuple[int, int]:
    """Bytes that fusion saves, and bytes that edges that are not fused cost."""
    return sum(e.bytes for e in edges if e.fused), sum(e.bytes for e in edges if not e.fused)


def cost(instruction: Instruction) -> Cost:
    """Arithmetic (2 for a term of a product or convolution, units of one addition for others) and bytes read and written.

    For kernels both are counted on the loops. Other instructions touch each of their buffers as a whole.
    """
    if instruction.kernel is not None:
        limits = [buffer.nbytes for buffer, _ in instruction.buffers]
        return cost_of(instruction.kernel, instruction.sizes, instruction.start, instruction.stop, limits)
    touched = sum(buffer.nbytes for buffer in dict.fromkeys(buffer for buffer, _ in instruction.buffers))
    node = instruction.node
    terms = instruction.kind == "gemm" or (instruction.kind == "routine" and node is not None and node.op.jvp is multilinear)
    return Cost(2 * instruction.work if terms else instruction.work, touched)


class CriticalPath(NamedTuple):
    """The chain of instructions of most work in which each needs the result of the one before: on any number of threads, a run
    takes at least its time. A loop or branch counts as one instruction.

    dominating: those that are on all paths from the first to the last one; beside each other one, a shorter chain leads around
    it. share: of all work, which is the microseconds of the latest `profile()`, or, before one, bytes and operations.
    """

    instructions: tuple[int, ...]
    dominating: tuple[int, ...]
    share: float
    timed: bool


def critical_path_of(plan: Plan) -> CriticalPath:
    """By networkx: the longest path of the graph of instructions, and the dominators of its end."""
    dag, repeats = _dependences(plan), trips(plan)
    work: dict[int, float] = {}
    outermost = 0
    for i, depth in enumerate(nesting(plan.instructions)):
        outermost = i if depth == 0 else outermost
        own = plan.times.get(i, 0.0) if plan.times else sum(cost(plan.instructions[i])) * max(repeats[i], 1)
        work[outermost] = work.get(outermost, 0.0) + own
    dag.add_nodes_from(work)
    path: list[int] = critical_path(dag, lambda i: work.get(i, 0.0))
    above, dominating = dominators(dag, path[0]) if path else {}, path[-1:]
    while dominating and dominating[-1] in above:
        dominating.append(above[dominating[-1]])
    total = sum(work.values())
    share = sum([work.get(i, 0.0) for i in path]) / total if total else 0.0
    return CriticalPath(tuple(path), tuple(reversed(dominating)), share, bool(plan.times))


def graph_of_instructions(plan: Plan) -> nx.DiGraph[int]:
    """See `Plan.graph`."""
    found = _dependences(plan)
    times = plan.times
    for i, instruction in enumerate(plan.instructions):
        flops, size = cost(instruction)
        found.add_node(
            i, name=instruction.name, kind=instruction.kind, ops=tuple(n.op.name for n in instruction.nodes),
            source=instruction.source or None, bytes=size, cost=flops, microseconds=times.get(i),
            where=instruction.node.where if instruction.node is not None else None,
        )  # fmt: skip
    return found


def _dependences(plan: Plan) -> nx.DiGraph[int]:
    """The numbers of instructions, with an edge where one reads a result of another or writes on in its memory."""
    written = turns(plan)
    blocks = {node: sorted({*numbers, *written.get(node, ())}) for node, numbers in instructions_of(plan).items()}
    found = quotient(plan.ir.dag, blocks)
    for numbers in written.values():
        found.add_edges_from(pairwise(numbers))
    return found


def overview(plan: Plan) -> str:
    """The text of `print(plan)`: instructions, inputs and results, memory, and further methods."""
    arena, bound = plan.memory
    inputs = [f"{node.name or 'input'} {node.type}" for node in plan.feeds]
    shapes = [buffer.shape if buffer.layout is None else buffer.layout.shape for buffer in plan.fetches]
    results = [repr(TensorType(shape, buffer.dtype)) for shape, buffer in zip(shapes, plan.fetches, strict=True)]
    written = f"; writes {_listed([cell.name or 'a variable' for cell in plan.written])}" if plan.written else ""
    return "\n".join(
        [
            f"Plan of {len(plan.instructions)} instructions ({_kinds(plan)}): {plan.kernels} generated kernels, "
            f"{plan.host_calls} host calls",
            f"  inputs   {_listed(inputs)}",
            f"  results  {_listed(results)}{written}",
            f"  memory   {arena:,d} bytes, {bound:,d} of them live at once{_held(plan)}",
            "  more     .explain() for decisions and reasons, .source(i) for a kernel's text, .profile() for times",
        ]
    )


def _held(plan: Plan) -> str:
    """The arrays of a strict plan's host calls, which are no part of the arena."""
    return f", and {plan.held:,d} in arrays of NumPy's" if plan.held else ""


def _kinds(plan: Plan) -> str:
    kinds = Counter(instruction.kind for instruction in plan.instructions)
    return ", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none"


def html_of(plan: Plan) -> str:
    """The plan as a table for notebooks."""
    arena, bound = plan.memory
    rows = [
        ("instructions", f"{len(plan.instructions)} ({_kinds(plan)})"),
        ("generated kernels", plan.kernels),
        ("host calls", plan.host_calls),
        ("inputs", ", ".join(f"{node.name or 'input'} {node.type}" for node in plan.feeds)),
        ("results", ", ".join(f"{buffer.dtype}{list(buffer.shape)}" for buffer in plan.fetches)),
        ("writes", _listed([cell.name or "a variable" for cell in plan.written])),
        ("memory", f"{arena:,d} bytes, {bound:,d} of them live at once{_held(plan)}"),
    ]
    return html_table("staticgrad plan", ("", ""), rows)


def _listed(texts: Sequence[str]) -> str:
    """The first few texts."""
    shown = ", ".join(clip(text, 40) for text in texts[:LISTED])
    return (shown or "none") + (f" and {len(texts) - LISTED} more" if len(texts) > LISTED else "")


LISTED = 3
"""The most inputs, results and variables that an overview names."""


def counted(lines: Iterable[str]) -> list[str]:
    """Each distinct line, with the number of its occurrences."""
    return [f"  {line}" + (f"  ({n} times)" if n > 1 else "") for line, n in Counter(lines).items()]


def nesting(instructions: Sequence[Instruction]) -> list[int]:
    """The number of loops and branches around each instruction."""
    depths: list[int] = []
    ends: list[int] = []
    for i, instruction in enumerate(instructions):
        ends = [end for end in ends if end > i]
        depths.append(max(len(ends) - (instruction.control in (REPEAT, GO)), 0))
        if instruction.control == ENTER:
            ends.append(int(instruction.size_array[EXIT // 8]))
        elif instruction.kind == "branch":
            ends.append(int(instructions[int(instruction.size_array[0]) - 1].size_array[0]))
    return depths


def trips(plan: Plan) -> list[int]:
    """How often loops repeated each instruction in the plan's latest run."""
    counts: list[int] = []
    inside: list[int] = []
    for instruction in plan.instructions:
        if instruction.control == ENTER:
            inside.append(int(instruction.size_array[T // 8]))
        elif instruction.control == REPEAT:
            inside.pop()
        counts.append(math.prod(inside))
    return counts


def summary(plan: Plan) -> str:
    arena, bound = plan.memory
    buffers = arena_buffers(plan)
    unshared = sum(buffer.nbytes for buffer in buffers)
    native = sum(instruction.kind != "host" for instruction in plan.instructions)
    budget = "" if plan.budget is None else f"\n{plan.budget.line()}"
    return (
        f"{len(plan.instructions)} instructions: {native} native ({plan.kernels} generated kernels), "
        f"{plan.host_calls} on the host; "
        f"{len(buffers)} buffers in an arena of {arena:,d} bytes ({unshared:,d} without reuse, {bound:,d} live at once)"
        f"{budget}"
    )


def arena_buffers(plan: Plan) -> list[Buffer]:
    """The plan's own buffers, in the order of their first use."""
    roots = [buffer.root for instruction in plan.instructions for buffer, _ in instruction.buffers]
    return list(dict.fromkeys(root for root in roots if root.kind == "arena"))


# figures and tables for people ----------------------------------------------------------------------------------------

# Figures and tables for people: sizes in bytes, tables in HTML.


CELL = "text-align:left;padding:2px 10px;font-variant-numeric:tabular-nums"


def size_text(size: float) -> str:
    """Bytes with a unit: `4.2 MB`."""
    for unit in ("B", "kB", "MB"):
        if size < 1000 or (unit == "B" and size < 10_000):
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} GB"


def html_table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table for notebooks."""
    titles = "".join(f'<th scope="col" style="{CELL}">{html.escape(title)}</th>' for title in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{html.escape(str(cell))}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<table><caption style="text-align:left">{html.escape(caption)}</caption>'
        f"<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"
    )
