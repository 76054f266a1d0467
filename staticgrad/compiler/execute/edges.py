"""The edges between the operations of a plan: which are fused, why, what each costs or saves, and what could be changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...ir import Native, Node, View
from ..fusion.broadcast_rank import origin
from ..fusion.node_facts import inlined

if TYPE_CHECKING:
    from .plan import Plan

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
