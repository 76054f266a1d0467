"""All segments of a function at once: their graphs joined by the cuts between them, explanations, and times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...base.types import TensorType
from ...compiler.execute.explain import Explanation
from ...compiler.execute.profile import Profile
from ...errors import ArgumentError
from ...ir import Graph, Node, OpDef

if TYPE_CHECKING:
    from .roads import Segment

TRUTH = TensorType((), np.dtype(bool))


def _nothing(*values: Any, **attrs: Any) -> Any:
    raise NotImplementedError("a cut stands for Python code, which no graph runs")


CUT = OpDef(name="cut", infer=lambda *types, **attrs: TRUTH, eval=_nothing, doc="Python code between two segments.")


class SegmentInstruction(NamedTuple):
    """Where a node of a joined graph is computed. instruction: of the segment's plan; -1 for a node that none computes."""

    segment: int
    instruction: int


def joined(segments: Sequence[Segment]) -> tuple[Graph, dict[Node, SegmentInstruction]]:
    """One graph of all segments, and the place of each node. A `cut` reads the results of a segment, on the user's line, and
    the inputs of each segment that follows it come after it (a control edge)."""
    from ...compiler.execute.explain import instructions_of

    graph, cuts, places = Graph(), dict[Any, Node](), dict[Node, SegmentInstruction]()
    for number, segment in enumerate(segments):
        plan = segment.plan
        if plan is None:
            continue
        copies: dict[Node, Node] = {}
        before = cuts.get(segment.after)
        within = instructions_of(plan)
        for node in plan.ir.nodes:
            after = (before,) if before is not None and node.op.leaf == "placeholder" else ()
            made = Node(node.op, tuple(copies[x] for x in node.inputs), node.attrs, node.type, node.name, node.where, after)
            copies[node] = graph.append(made)
            places[made] = SegmentInstruction(number, within[node][0] if node in within else -1)
        results = [copies[node] for node in plan.builder.fetched_nodes if node in copies]
        if segment.where is None:
            graph.outputs.update({f"result {i} of segment {number}": node for i, node in enumerate(results)})
        else:
            attrs = {"for": segment.reason}
            cuts[segment] = graph.append(Node(CUT, tuple(results), attrs, TRUTH, f"cut {number}", segment.where, ()))
    return graph, places


def kernel_names(segments: Sequence[Segment], places: Mapping[Node, SegmentInstruction]) -> dict[Node, str]:
    """The kernel of each node of a joined graph that one computes."""
    computed = {node: place for node, place in places.items() if place.instruction >= 0}
    return {node: f"segment {s}: {segments[s].plan.instructions[i].name}" for node, (s, i) in computed.items()}


def title_of(number: int, segment: Segment) -> str:
    """A segment in a few words: its number, and the cut at its end."""
    end = "to the end of the function" if segment.where is None else f"cut at {segment.where.short} for {segment.reason}"
    return f"segment {number}, {end}"


def explained(
    name: str, why: str, small: float, wandering: bool, segments: Sequence[Segment], detail: bool,
    why_not: tuple[Any, Any] | None,
) -> Explanation:  # fmt: skip
    """The cuts with the user's lines, and the plan of each segment. small: elements of an operation's result, on average, of a
    function that runs operation by operation for that reason; else 0. wandering: it does because each call took another road.
    Raises ArgumentError for a why_not about an operation that no segment has."""
    lines = [f"{name} runs in segments, because {why}"]
    if small:
        lines.append(
            f"its operations are small, {small:.0f} elements on average, so calls run operation by operation now, which is "
            'faster without plans; on_break="split" keeps to segments'
        )
    if wandering:
        lines.append(
            "its latest calls each took another road through the code, so calls run operation by operation now: a plan that is "
            'run once costs more than it saves; on_break="split" keeps to segments'
        )
    for number, segment in enumerate(segments):
        line = "the end of the function" if segment.where is None else f"{segment.where}, for {segment.reason}"
        follows = "" if segment.after is None else f", after segment {segments.index(segment.after)}"
        lines.append(f"segment {number}{follows}: {segment.operations} operations, {segment.runs} runs, cut at {line}")
    if not any(segment.operations for segment in segments):
        lines.append("no segment holds an operation, so there is no plan")
    if why_not is not None:
        return Explanation(lines, answer=_answer(segments, *why_not))
    parts = []
    for number, segment in enumerate(segments):
        if segment.plan is not None:
            part = segment.plan.explain(detail=detail)
            part.title = f"segment {number}"
            parts.append(part)
    return Explanation(lines, parts=parts, detail=detail)


def _answer(segments: Sequence[Segment], a: Any, b: Any) -> str:
    from ...compiler.execute.explain import matching, op_names

    plans = {number: segment.plan for number, segment in enumerate(segments) if segment.plan is not None}
    homes = [[number for number, plan in plans.items() if matching(plan, what)] for what in (a, b)]
    for what, found in zip((a, b), homes, strict=True):
        if not found:
            names = list(dict.fromkeys(name for plan in plans.values() for name in op_names(plan)))
            raise ArgumentError(
                f"why_not: there is no operation {what!r} in any segment",
                f"name a value, a line such as 'model.py:12', or one of {', '.join(names[:12])}",
            )
    both = [number for number in homes[0] if number in homes[1]]
    if both:
        return "\n".join(f"segment {number}: {plans[number].explain(why_not=(a, b))}" for number in both)
    cut = segments[min(homes[0][0], homes[1][0])]
    where = "" if cut.where is None else f", which is cut at {cut.where}, for {cut.reason}"
    return (
        f"{a!r} is in segment {homes[0][0]} and {b!r} in segment {homes[1][0]}{where}: no kernel reaches across a cut\n"
        "  to change that: don't read the value in Python; sg.where and sg.cond choose without a cut"
    )


def profiled(segments: Sequence[Segment], measure: Callable[[Any], Profile]) -> Profile:
    """The times of all segments, one after another. Names begin with the number of the segment."""
    rows, costs, facts, untimed = [], [], [], 0
    for number, segment in enumerate(segments):
        if segment.plan is not None:
            found = measure(segment.plan)
            rows += [(kind, f"{number}: {name}", us) for kind, name, us in found.instructions]
            costs += found.costs
            facts += [{**row, "segment": number} for row in found.facts]
            untimed += found.untimed
    return Profile(rows, sum(us for _, _, us in rows), costs, untimed, facts)
