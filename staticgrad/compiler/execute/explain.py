"""Facts about a plan: the cost of its instructions, their graph, how they are nested, and the text of `print(plan)`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ...base.types import TensorType
from ...ir.text import clip
from ...ir.walks import critical_path, dominators, quotient
from ..backend.abi import ENTER, EXIT, GO, REPEAT, T
from ..codegen.cost import Cost, cost_of
from ..lower.instructions import Buffer, Instruction
from .edges import instructions_of, turns
from .tables import html_table

if TYPE_CHECKING:
    import networkx as nx

    from .plan import Plan


def cost(instruction: Instruction) -> Cost:
    """Arithmetic (2 m n k for a product, units of one addition for others) and bytes read and written.

    For kernels both are counted on the loops. Other instructions touch each of their buffers as a whole.
    """
    if instruction.kernel is not None:
        limits = [buffer.nbytes for buffer, _ in instruction.buffers]
        return cost_of(instruction.kernel, instruction.sizes, instruction.start, instruction.stop, limits)
    touched = sum(buffer.nbytes for buffer in dict.fromkeys(buffer for buffer, _ in instruction.buffers))
    return Cost(2 * instruction.work if instruction.kind == "gemm" else instruction.work, touched)


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
