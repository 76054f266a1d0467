"""The text of `Plan.explain()` and `print(plan)`, and the measurements of `Plan.profile()`."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import UninitializedError
from ...ir import Node
from ...ir.walks import quotient
from ...types import TensorType
from ..backend.abi import ENTER, EXIT, GO, REPEAT, T
from ..backend.kernel_cache import without_comments
from ..codegen.cost import Cost, cost_of
from ..lower.instructions import Buffer, Instruction
from ..runtime import loader

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


def graph_of_instructions(plan: Plan) -> nx.DiGraph[int]:
    """See `Plan.graph`."""
    blocks_of: dict[Node, list[int]] = {}
    for i, instruction in enumerate(plan.instructions):
        for node in instruction.nodes:
            blocks_of.setdefault(node, []).append(i)
    for i, instruction in enumerate(plan.instructions):
        if instruction.node is not None:
            blocks_of.setdefault(instruction.node, [i])
    graph = plan.ir
    for node in graph.nodes:  # views, and results of loops, belong to the instruction that makes them
        if node not in blocks_of and node.inputs and node.inputs[0] in blocks_of:
            blocks_of[node] = blocks_of[node.inputs[0]]
    found = quotient(graph.dag, blocks_of)
    times = plan.times
    for i, instruction in enumerate(plan.instructions):
        flops, size = cost(instruction)
        found.add_node(
            i, name=instruction.name, kind=instruction.kind, ops=tuple(n.op.name for n in instruction.nodes),
            source=instruction.source or None, bytes=size, cost=flops, microseconds=times.get(i),
            where=instruction.node.where if instruction.node is not None else None,
        )  # fmt: skip
    return found


def explain(plan: Plan) -> str:
    """The plan as text: instructions, buffers, fusion decisions, rewrite rules that fired, how variables are written."""
    lines = [summary(plan), f"tier: {plan.tier}", "", "instructions"]
    kernels = {code: number for number, code in enumerate(plan.sources())}
    depths = nesting(plan.instructions)
    for i, instruction in enumerate(plan.instructions):
        what = f"kernel {kernels[without_comments(instruction.source)]}" if instruction.source else instruction.kind
        where = instruction.node.where.short if instruction.node is not None and instruction.node.where is not None else ""
        name = _clip("  " * depths[i] + instruction.name, 46)
        flops, size = cost(instruction)
        lines.append(f"  {i:3d}  {what:10s} {name:46s} {size:>10,d} B {flops:>12,d} flop  x{instruction.chunks}  {where}")
    lines += ["", "buffers in the arena (bytes, offset, instructions of first and last use)"]
    lines += [
        f"  {buffer.nbytes:>10,d} at {buffer.offset:>10,d}  {buffer.first:3d} to {buffer.last:3d}"
        for buffer in arena_buffers(plan)
    ]
    lines += ["", "fusion"]
    lines += counted(f"{'yes' if d.fused else 'no '}  {d}" for d in plan.decisions)
    if plan.passed:
        lines += ["", "passes of the user", *(f"  {line}" for line in plan.passed)]
    if plan.rewrites:
        lines += ["", "rewrite rules applied"]
        lines += [f"  {n} x {rule} (at {op})" for (rule, op), n in Counter(plan.rewrites).items()]
    if plan.notes:
        lines += ["", "variables, values written over others, and the choice of routines"]
        lines += counted(plan.notes)
    hosts = [each for each in plan.instructions if each.kind == "host"]
    if hosts:
        lines += ["", f"host calls ({'numerics=strict' if plan.strict else 'no native code for these yet'})"]
        lines += [f"  {each.name} {each.node.type if each.node is not None else ''}" for each in hosts]
    return "\n".join(lines)


def overview(plan: Plan) -> str:
    """The text of `print(plan)`: instructions, inputs and results, memory, and further methods."""
    arena, bound = plan.memory
    kinds = Counter(instruction.kind for instruction in plan.instructions)
    inputs = [f"{node.name or 'input'} {node.type}" for node in plan.feeds]
    shapes = [buffer.shape if buffer.layout is None else buffer.layout.shape for buffer in plan.fetches]
    results = [repr(TensorType(shape, buffer.dtype)) for shape, buffer in zip(shapes, plan.fetches, strict=True)]
    written = f"; writes {_listed([cell.name or 'a variable' for cell in plan.written])}" if plan.written else ""
    return "\n".join(
        [
            f"Plan of {len(plan.instructions)} instructions: {plan.kernels} generated kernels, {plan.host_calls} host calls",
            f"  kinds    {', '.join(f'{n} {kind}' for kind, n in kinds.most_common()) or 'none'}",
            f"  inputs   {_listed(inputs)}",
            f"  results  {_listed(results)}{written}",
            f"  memory   {arena:,d} bytes, {bound:,d} of them live at once",
            "  more     .explain() for all instructions and reasons, .source(i) for a kernel's text, .profile() for times",
        ]
    )


def _listed(texts: Sequence[str]) -> str:
    """The first few texts."""
    shown = ", ".join(_clip(text, 40) for text in texts[:LISTED])
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


def _clip(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


@dataclass(repr=False)
class Profile:
    """The median time of each instruction, in microseconds; in a loop, that of all iterations."""

    instructions: list[tuple[str, str, float]]
    """(kind, name, microseconds) of each."""
    total: float
    costs: list[Cost]
    """Of each instruction, for all iterations."""

    def __repr__(self) -> str:
        return f"<Profile of {len(self.instructions)} instructions: {self.total:.2f} us>"

    def __str__(self) -> str:
        lines = [f"{'kind':8s} {'what':50s} {'us':>9s} {'share':>6s} {'Gflop/s':>8s} {'GB/s':>7s}"]
        for (kind, name, us), (flops, size) in zip(self.instructions, self.costs, strict=True):
            share = us / self.total if self.total else 0.0
            speed, bandwidth = (flops / us / 1e3, size / us / 1e3) if us else (0.0, 0.0)
            lines.append(f"{kind:8s} {_clip(name, 50):50s} {us:9.2f} {share:6.1%} {speed:8.2f} {bandwidth:7.2f}")
        lines.append(f"{'total':59s} {self.total:9.2f}")
        return "\n".join(lines)


LEAST, MOST, LONG = 10, 1000, 100.0
"""The least and most runs of an instruction in one native call, and the microseconds from which the least is enough."""


def profile(plan: Plan, repeats: int = 200) -> Profile:
    """Time each native instruction by itself, on feeds of zeros; variables are restored afterwards.

    An instruction runs `repeats` times at least, in native calls of ten and more. Each round times all instructions, so that
    other load on the machine affects all equally; the median round counts. Host calls are not timed. Raises UninitializedError
    when the plan has not run yet, because it has no variables to run on.
    """
    plan.wait()
    runs, rounds = plan.alone(_rounds, plan, repeats)
    often = trips(plan)
    counts = np.maximum([count for _, count in runs[1:]], 1)
    times = np.maximum(np.median((rounds[:, 1:] - rounds[:, :1]) / counts, axis=0), 0.0)
    found, costs = [], []
    for us, i in zip(times.tolist(), _timed(plan), strict=True):
        instruction, n = plan.instructions[i], often[i]
        found.append((instruction.kind, instruction.name if n == 1 else f"{instruction.name}, {n:,d} times", us * n))
        flops, size = cost(instruction)
        costs.append(Cost(flops * n, size * n))
    plan.times = {i: us for (_, _, us), i in zip(found, _timed(plan), strict=True)}
    return Profile(found, sum(us for _, _, us in found), costs)


def _rounds(plan: Plan, repeats: int) -> tuple[list[tuple[int, int]], np.ndarray]:
    """The instructions to time with their runs in one call, and the microseconds that they took in each round."""
    if len(plan.bound) < len(plan.builder.cells):
        raise UninitializedError("profile: the plan has no variables before its first run", "run it once")
    saved = [(array, array.copy()) for array in plan.bound.values()]
    kept = plan.stage([np.zeros(node.type.shape, node.type.dtype) for node in plan.feeds])
    try:
        runs = list(zip([0, *_timed(plan)], [0, *_counts(plan)], strict=True))
        return runs, np.array([[_repeated(plan, i, n) for i, n in runs] for _ in range(max(1, repeats // LEAST))])
    finally:
        plan.status[:4] = 0
        for array, before in saved:
            array[...] = before
        del kept


def _timed(plan: Plan) -> list[int]:
    """The numbers of the native instructions that compute something."""
    return [i for i, each in enumerate(plan.instructions) if each.kind not in ("host", "shards") and not each.control]


def _repeated(plan: Plan, i: int, count: int) -> float:
    """Microseconds of one native call that runs an instruction so many times.

    Integers that it made are set to 0 afterwards. They may be positions that other instructions read, and out of range
    where the instruction changed them in place each time or a check refused them.
    """
    copies = np.repeat(plan.table[i : i + 1], count + 1, axis=0)
    begin = time.perf_counter_ns()
    loader.step(0, 0, 0, copies.ctypes.data, 1, count + 1, plan.call[6], plan.hold)  # not from 0: this is no run of the plan
    took = time.perf_counter_ns() - begin
    for buffer in {buffer.root for buffer, _ in plan.instructions[i].buffers} if plan.instructions else ():
        if buffer.kind == "arena" and buffer.dtype.kind in "iu" and buffer.memory is not None:
            buffer.memory[...] = 0
    return took / 1e3


def _counts(plan: Plan) -> list[int]:
    """How often to run each instruction in one call: some ten times, and more often where that is short, as the call itself
    takes time. Not at all in a loop that made no iteration, because its pointers are not set.
    """
    often = trips(plan)
    runs = [(i, LEAST * (often[i] > 0)) for i in _timed(plan)]
    return [int(np.clip(LEAST * LONG / max(_repeated(plan, i, n), 1e-3), n, MOST)) if n else 0 for i, n in runs]
