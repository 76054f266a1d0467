"""Answers about a plan: what its instructions cost, which operations are fused and why not, and how two plans differ.

`print(plan)` shows the overview, `plan.explain()` the `Explanation`: data, a page of text in which repeated structures are
folded, and all details. `plan.edges()` has a row for each pair of operations that touch, with the reason that fusion
recorded.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.types import TensorType
from ...errors import ArgumentError
from ...ir import Native, Node, View
from ...ir.text import clip
from ...ir.walks import critical_path, dominators, quotient
from ...ops.rules import multilinear
from ..backend.abi import ENTER, EXIT, GO, REPEAT, T
from ..backend.kernel_cache import without_comments
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


# what a plan does and why: data, a page in which repeated structures are folded, and in full --------------------------

MOST_ROWS = 16
"""Kinds of instructions that a folded text lists."""
MOST_EDGES = 8
MOST_NOTES = 5
WIDTH = 46
LONGEST_PATH = 8
"""Operations of a path between two that are listed."""


@dataclass(frozen=True)
class Row:
    """One instruction. what: its kind, or the number of its kernel; names: variables that it reads or writes."""

    number: int
    what: str
    name: str
    bytes: int
    flops: int
    chunks: int
    where: str
    names: tuple[str, ...]
    depth: int

    @property
    def kind(self) -> tuple[Any, ...]:
        """Instructions of equal kinds are folded."""
        return self.what, self.name, self.bytes, self.flops, self.chunks

    def as_dict(self) -> dict[str, Any]:
        """The instruction as plain data."""
        facts = ("number", "what", "name", "bytes", "flops", "chunks", "where", "depth")
        return {key: getattr(self, key) for key in facts} | {"names": list(self.names)}


@dataclass(repr=False)
class Explanation:
    """What a plan does, and why.

    `print` it for a page; `detail=True` unfolds all of it. The data: `rows` (instructions), `edges` between operations, with
    reasons and bytes; `critical`, the chain of most work; `notes`, `rewrites`, `passed` (passes of the user), `host_calls`;
    `as_dict()` is all of that as plain data. `"text" in explanation` searches the unfolded text. parts: of a function that runs
    in segments.
    """

    heading: list[str]
    rows: list[Row] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    buffers: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Of the arena: bytes, offset, instructions of first and last use."""
    decisions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rewrites: list[tuple[str, str]] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    host_calls: list[str] = field(default_factory=list)
    strict: bool = False
    critical: CriticalPath | None = None
    parts: list[Explanation] = field(default_factory=list)
    detail: bool = False
    answer: str = ""
    """To `why_not`."""
    title: str = ""
    """Of a part: its segment."""

    # text -----------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        if self.answer:
            return self.answer
        return self.unfolded() if self.detail else self.folded()

    def __repr__(self) -> str:
        return str(self)

    def __contains__(self, text: str) -> bool:
        return text in (self.answer if self.answer else self.unfolded())

    def splitlines(self) -> list[str]:
        """The lines of the text."""
        return str(self).splitlines()

    def folded(self) -> str:
        """A page."""
        lines = list(self.heading)
        most = max(MOST_ROWS // max(len(self.parts), 1), 2)
        for part in self.parts[:MOST_EDGES]:
            lines += ["", part.title, *part.heading[:1], *part._folded_rows(most)]
            lines += part._folded_edges(most // 2) if part.edges else []
        if len(self.parts) > MOST_EDGES:
            lines.append(f"and {len(self.parts) - MOST_EDGES} more segments")
        if self.rows:
            lines += ["", *self._folded_rows(MOST_ROWS), "", *self._critical_path(MOST_NOTES)]
        if self.edges:
            lines += ["", *self._folded_edges(MOST_EDGES)]
        lines += _section("passes of the user", self.passed, MOST_NOTES)
        lines += _section("rewrite rules applied", self._rules(), MOST_NOTES)
        lines += _section("memory and the choice of routines", counted_alike(self.notes), MOST_NOTES)
        lines += _section(self._host_title, counted_alike(self.host_calls), MOST_NOTES)
        return "\n".join(
            [*lines, "", "explain(detail=True) lists everything; explain(why_not=(a, b)) answers for two operations"]
        )

    def unfolded(self) -> str:
        """Everything."""
        lines = list(self.heading)
        for part in self.parts:
            lines += ["", part.title, part.unfolded()]
        if self.parts:
            return "\n".join(lines)
        lines += ["", "instructions"]
        for row in self.rows:
            name = clip("  " * row.depth + row.name, WIDTH)
            lines.append(
                f"  {row.number:3d}  {row.what:10s} {name:{WIDTH}s} {row.bytes:>10,d} B {row.flops:>12,d} flop  x{row.chunks}  "
                f"{row.where}"
            )
        lines += ["", *self._critical_path(len(self.rows))]
        lines += ["", "buffers in the arena (bytes, offset, instructions of first and last use)"]
        lines += [f"  {size:>10,d} at {offset:>10,d}  {first:3d} to {last:3d}" for size, offset, first, last in self.buffers]
        lines += ["", "fusion", *counted(self.decisions)]
        saved, paid = totals(self.edges)
        lines += ["", f"edges ({saved:,d} bytes of traffic saved, {paid:,d} paid)"]
        for edge in self.edges:
            verb = "fused" if edge.fused else "not fused"
            lines.append(f"  {edge.bytes:>10,d} B  {verb:9s}  {edge.ops}: {edge.reason}  {edge.where}".rstrip())
        for title, texts in (
            ("passes of the user", self.passed),
            ("rewrite rules applied", self._rules()),
            ("variables, values written over others, and the choice of routines", [x.strip() for x in counted(self.notes)]),
            (self._host_title, self.host_calls),
        ):
            lines += _section(title, texts, len(texts))
        return "\n".join(lines)

    @property
    def _host_title(self) -> str:
        return f"host calls ({'numerics=strict' if self.strict else 'no native code for these yet'})"

    def _rules(self) -> list[str]:
        return [f"{n} x {rule} (at {op})" for (rule, op), n in Counter(self.rewrites).most_common()]

    def _folded_rows(self, most: int) -> list[str]:
        kinds: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            kinds.setdefault(row.kind, []).append(row)
        heavy = sorted(kinds.values(), key=lambda rows: -sum(r.bytes + r.flops for r in rows))[:most]
        shown = [rows for rows in kinds.values() if any(rows is other for other in heavy)]
        lines = [f"instructions: {len(self.rows)} of {len(kinds)} kinds, in the order of their first occurrence"]
        for rows in shown:
            first, n = rows[0], len(rows)
            about = ", ".join(patterns(name for row in rows for name in row.names)[:2])
            about = clip(about if about else first.where, WIDTH)
            lines.append(
                f"  {f'{n} x' if n > 1 else '':>6s} {first.what:10s} {clip(first.name, WIDTH):{WIDTH}s} "
                f"{size_text(n * first.bytes):>9s} {n * first.flops:>14,d} flop  {about}".rstrip()
            )
        rest = [row for row in self.rows if all(row.kind != rows[0].kind for rows in shown)]
        if rest:
            lines.append(
                f"  and {len(rest)} smaller ones of {len(kinds) - len(shown)} kinds: {size_text(sum(r.bytes for r in rest))}, "
                f"{sum(r.flops for r in rest):,d} flop"
            )
        return lines

    def _critical_path(self, most: int) -> list[str]:
        """Of each kind of instruction on the critical path how many there are, those of most bytes and operations."""
        if self.critical is None:
            return []
        path, dominating, share, timed = self.critical
        kinds: dict[tuple[Any, ...], list[Row]] = {}
        for number in path:
            kinds.setdefault(self.rows[number].kind, []).append(self.rows[number])
        heavy = sorted(kinds.values(), key=lambda rows: -sum(r.bytes + r.flops for r in rows))[:most]
        around = len(path) - len(dominating)
        lines = [
            f"critical path: a chain of {len(path)} of {len(self.rows)} instructions, {share:.0%} of the "
            f"{'time' if timed else 'bytes and operations'}"
            + (f"; shorter chains lead around {around} of them (*)" if around else "")
        ]
        for rows in kinds.values():
            if any(rows is other for other in heavy):
                first, numbers = rows[0], ", ".join(f"{r.number}{'' if r.number in dominating else ' (*)'}" for r in rows)
                lines.append(
                    f"  {f'{len(rows)} x' if len(rows) > 1 else '':>6s} {first.what:10s} {clip(first.name, WIDTH):{WIDTH}s} "
                    f"{clip(numbers, WIDTH)}"
                )
        if len(kinds) > len(heavy):
            lines.append(f"  and {len(path) - sum(map(len, heavy))} smaller ones")
        return lines

    def _folded_edges(self, most: int) -> list[str]:
        fused = [e for e in self.edges if e.fused]
        apart = [e for e in self.edges if not e.fused]
        saved, paid = totals(self.edges)
        lines = [
            f"fusion: {len(fused)} of {len(self.edges)} edges, which saves {size_text(saved)} of traffic; the others cost "
            f"{size_text(paid)}"
        ]
        kinds: dict[tuple[str, str], list[Edge]] = {}
        for edge in apart:
            kinds.setdefault((edge.ops, edge.reason), []).append(edge)
        ranked = sorted(kinds.values(), key=lambda edges: -sum(e.bytes for e in edges))
        for edges in ranked[:most]:
            first, size = edges[0], size_text(sum(e.bytes for e in edges))
            lines.append(
                f"  {f'{len(edges)} x' if len(edges) > 1 else '':>6s} {size:>9s}  {first.ops}: {first.reason}  {first.where}"
            )
            if first.remedy and not first.remedy.startswith("nothing"):
                lines.append(f"{'':19s}to change that: {first.remedy}")
        if len(ranked) > most:
            rest = [e for edges in ranked[most:] for e in edges]
            lines.append(f"  and {len(rest)} smaller ones: {size_text(sum(e.bytes for e in rest))}")
        return lines

    # data -----------------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data, for `json`."""
        saved, paid = totals(self.edges)
        return {
            "heading": list(self.heading),
            "critical_path": None if self.critical is None else self.critical._asdict(),
            "instructions": [row.as_dict() for row in self.rows],
            "edges": [edge.as_dict() for edge in self.edges],
            "bytes_saved": saved,
            "bytes_paid": paid,
            "buffers": [dict(zip(("bytes", "offset", "first", "last"), b, strict=True)) for b in self.buffers],
            "rewrites": [{"rule": rule, "op": op} for rule, op in self.rewrites],
            "notes": list(self.notes),
            "passes": list(self.passed),
            "host_calls": list(self.host_calls),
            "parts": [part.as_dict() for part in self.parts],
        }

    def to_json(self) -> str:
        """`as_dict` as JSON."""
        return json.dumps(self.as_dict())

    def _repr_html_(self) -> str:
        rows = [
            (row.number, row.what, row.name, f"{row.bytes:,d}", f"{row.flops:,d}", row.where, ", ".join(row.names))
            for row in self.rows
        ]
        head = ("number", "kind", "operations", "bytes", "flops", "line", "variables")
        own = html_table("\n".join([self.title, *self.heading] if self.title else self.heading), head, rows)
        return "".join([own, *(part._repr_html_() for part in self.parts)])


def _section(title: str, texts: Sequence[str], most: int) -> list[str]:
    if not texts:
        return []
    more = [f"  and {len(texts) - most} more"] if len(texts) > most else []
    return ["", title, *(f"  {text}" for text in texts[:most]), *more]


def counted_alike(texts: Iterable[str]) -> list[str]:
    """Texts that differ in numbers only, once, with their count."""
    alike = Counter(patterns(texts, unique=False))
    return [f"{n} x {text}" if n > 1 else text for text, n in alike.most_common()]


def patterns(names: Iterable[str], unique: bool = True) -> list[str]:
    """Names with `*` for the numbers in their paths: `layers.*.weight`."""
    found = [re.sub(r"(?<![\w])\d+(?=[./])", "*", name) for name in names]
    return list(dict.fromkeys(found)) if unique else found


def explanation(plan: Plan, *, detail: bool = False, why_not: tuple[Any, Any] | None = None) -> Explanation:
    """See `Plan.explain`."""
    edges = edges_of(plan)
    numbers = {code: number for number, code in enumerate(plan.sources())}
    depths = nesting(plan.instructions)
    rows = [_row(i, each, numbers, depths[i]) for i, each in enumerate(plan.instructions)]
    return Explanation(
        [summary(plan)],
        rows,
        edges,
        [(b.nbytes, b.offset, b.first, b.last) for b in arena_buffers(plan)],
        [f"{'yes' if d.fused else 'no '}  {d}" for d in plan.decisions],
        [*_widened(plan), *plan.notes],
        list(plan.rewrites),
        list(plan.passed),
        [f"{i.name} {i.node.type if i.node is not None else ''}" for i in plan.instructions if i.kind == "host"],
        plan.strict,
        critical_path_of(plan),
        detail=detail,
        answer="" if why_not is None else answer(plan, edges, *why_not),
    )


def _widened(plan: Plan) -> list[str]:
    """A note on weights of float32 that an argument of float64 has cast."""
    given = [feed.name or "an argument" for feed in plan.feeds if feed.dtype == np.float64 and feed.type.ndim]
    wide = [node for node in plan.ir.nodes if isinstance(node.type, TensorType) and node.dtype == np.float64]
    read = {source_of(x) for node in wide for x in node.inputs}
    cast = {x.name for x in read if x.op.leaf == "variable" and x.name and x.dtype == np.float32}
    text = f'{", ".join(sorted(cast))} of float32 become float64, because {", ".join(given)} is: .astype("float32") is faster'
    return [text] if cast and given else []


def _row(i: int, instruction: Instruction, kernels: dict[str, int], depth: int) -> Row:
    flops, size = Cost(*cost(instruction))
    what = f"kernel {kernels[without_comments(instruction.source)]}" if instruction.source else instruction.kind
    node = instruction.node
    where = node.where.short if node is not None and node.where is not None else ""
    read = (source_of(x) for member in instruction.nodes for x in member.inputs)
    names = tuple(dict.fromkeys(x.name for x in read if x.op.leaf == "variable" and x.name))
    return Row(i, what, instruction.name, size, flops, instruction.chunks, where, names, depth)


def answer(plan: Plan, edges: Sequence[Edge], a: Any, b: Any) -> str:
    """Why two operations are not fused, or that they are. Raises ArgumentError for something that is not in the plan."""
    ends = []
    for what in (a, b):
        found = matching(plan, what)
        if not found:
            names = op_names(plan)
            raise ArgumentError(
                f"why_not: there is no operation {what!r} in this plan",
                f"name a value, a line such as 'model.py:12', the number of an instruction, or one of {', '.join(names[:12])}",
            )
        ends.append(set(found))
    between = [e for e in edges if e.producer in ends[0] and e.consumer in ends[1]]
    between = between if between else [e for e in edges if e.producer in ends[1] and e.consumer in ends[0]]
    kinds: dict[str, list[Edge]] = {}
    for edge in between:
        kinds.setdefault(f"{edge.ops}{edge.fused}{edge.reason}", []).append(edge)
    texts = [str(found[0]) + (f"\n  and {len(found) - 1} more like it" if len(found) > 1 else "") for found in kinds.values()]
    return "\n".join(texts) if texts else _apart(plan, ends[0], ends[1], a, b)


def _apart(plan: Plan, first: set[Any], second: set[Any], a: Any, b: Any) -> str:
    """What is said of operations of which neither reads the other."""
    import networkx as nx

    path = None
    for sources, targets in ((first, second), (second, first)):
        for source in list(sources)[:4]:
            below = nx.descendants(plan.ir.dag, source) & targets
            if below and path is None:
                path = nx.shortest_path(plan.ir.dag, source, min(below, key=plan.ir.nodes.index))
    if path is None:
        reasons = [
            str(d) for d in plan.decisions if {d.producer, d.consumer} & first and {d.producer, d.consumer} & second
        ]  # fmt: skip
        told = f": {reasons[0]}" if reasons else ", so a kernel of both would save no traffic"
        return f"neither of {a!r} and {b!r} reads the other{told}"
    names = [node.op.name for node in path]
    steps = " -> ".join(names if len(names) <= LONGEST_PATH else [*names[:3], f"{len(names) - 5} more", *names[-2:]])
    return f"{b!r} does not read {a!r} directly, but through {steps}: ask for two that follow each other"


# What differs between two plans: figures, instructions, kernels, fusion, rewrite rules.

MOST = 20
"""Lines of a section."""


@dataclass(repr=False)
class PlanDifference:
    """`print` it for a text. figures: (name, of the first plan, of the second one); instructions, rewrites: (text, count in the
    first plan, count in the second one) where the counts differ; fusion: the same for edges, with whether they are fused."""

    figures: list[tuple[str, int, int]]
    instructions: list[tuple[str, int, int]]
    fusion: list[tuple[str, int, int]]
    rewrites: list[tuple[str, int, int]]

    @property
    def same(self) -> bool:
        """Whether the plans do the same."""
        return not (self.instructions or self.fusion or self.rewrites) and all(a == b for _, a, b in self.figures)

    def as_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        return {name: [list(row) for row in rows] for name, rows in vars(self).items()}

    def __str__(self) -> str:
        if self.same:
            return "the plans are the same"
        lines = [f"{'':24s} {'first':>14s} {'second':>14s}"]
        lines += [f"{name:24s} {a:>14,d} {b:>14,d}{'' if a == b else f'  {b - a:+,d}'}" for name, a, b in self.figures]
        for title, rows in (("instructions", self.instructions), ("edges", self.fusion), ("rewrite rules", self.rewrites)):
            if rows:
                lines += ["", f"{title} (how many: first -> second)"]
                lines += [f"  {a:>4d} -> {b:<4d} {text}" for text, a, b in rows[:MOST]]
            if len(rows) > MOST:
                lines.append(f"  and {len(rows) - MOST} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = [*self.figures, *self.instructions, *self.fusion, *self.rewrites]
        return html_table("the difference of two plans", ("", "first", "second"), rows)


def difference(first: Plan, second: Plan) -> PlanDifference:
    """See `Plan.diff`."""
    a, b = explanation(first), explanation(second)
    figures = zip(_figures(first, a), _figures(second, b), strict=True)
    return PlanDifference(
        [(name, one, other) for (name, one), (_, other) in figures],
        _changed((f"{r.what.split()[0]} {r.name}" for r in a.rows), (f"{r.what.split()[0]} {r.name}" for r in b.rows)),
        _changed(_edges(a), _edges(b)),
        _changed((f"{rule} (at {op})" for rule, op in a.rewrites), (f"{rule} (at {op})" for rule, op in b.rewrites)),
    )


def _edges(of: Explanation) -> Iterable[str]:
    return (f"{e.ops} {'fused' if e.fused else f'not fused: {e.reason}'}" for e in of.edges)


def _figures(plan: Plan, of: Explanation) -> list[tuple[str, int]]:
    data = of.as_dict()
    return [
        ("operations", len(plan.ir.nodes)), ("instructions", len(plan.instructions)), ("generated kernels", plan.kernels),
        ("host calls", plan.host_calls), ("bytes of the arena", plan.memory[0]),
        ("bytes read and written", sum(r.bytes for r in of.rows)), ("flops", sum(r.flops for r in of.rows)),
        ("bytes saved by fusion", data["bytes_saved"]),
    ]  # fmt: skip


def _changed(first: Iterable[str], second: Iterable[str]) -> list[tuple[str, int, int]]:
    a, b = Counter(first), Counter(second)
    changed = [(text, a[text], b[text]) for text in dict.fromkeys([*a, *b]) if a[text] != b[text]]
    return sorted(changed, key=lambda row: -abs(row[1] - row[2]))
