"""The pipeline on one screen: from a prepared graph and feed shapes to a plan.

specialise   bind extents
check        positions that nothing proves to be in range
merge loops  a loop, and what its gradients ask of the same loop, become one
stabilise    laws that need whole ops: log(softmax(x)) and its kin
expand       ops written in other ops
simplify     algebra, constants, broadcasts and reshapes that say nothing
bodies       the same for the bodies of loops and branches, and what can leave them
layouts      which values are views of which memory
fuse         groups over one iteration space
absorb       sums that products compute as they go
parts        what is concatenated is computed in its place
schedule     order, in-place writes of variables
reuse        results written over operands that nobody needs any more
build        emit and compile kernels, lay out memory, write the table

What comes before the schedule is done once for all shapes that meet the same conditions; see `rebinding.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..errors import ArgumentError
from ..ir import REGISTRY, Cell, Graph, Node
from ..ops.rewrites.algebra import ALGEBRA, STABILISING
from ..types import TensorType
from .execute.plan import Plan
from .fusion.concat_elision import ConcatElision
from .fusion.epilogue import fuse_epilogues
from .fusion.fuse import Fuser
from .fusion.layout import Layouts
from .lower.instruction_builder import Builder, written
from .passes.functionalize import FunctionalGraph
from .passes.index_ranges import check_indexes
from .passes.rewrite import simplify
from .passes.specialize import expand, specialize
from .passes.strict import run_on_host
from .passes.subgraphs import has_subgraphs, lower_subgraphs, merge
from .passes.user_passes import Pass, UserPasses
from .rebinding import Another, Decided, Inspect, Template, Unsuitable, Writer, changed, leading
from .schedule.donation import donate_buffers
from .schedule.order import schedule
from .templates import VAIN, Templates

Stage = Callable[[Graph, Sequence[Node]], tuple[Graph, dict[Node, Node]]]


def compile_plan(
    prepared: FunctionalGraph,
    known: dict[Node, TensorType],
    inspect: Inspect = None,
    strict: bool = False,
    passes: Sequence[Pass] = (),
) -> Plan:
    """A plan for feeds of the `known` types. `inspect(stage, graph, results)` sees every stage: tests verify there.
    strict: with eager mode's bits, see `strict.py`. passes: of the user, see `user_passes.py`."""
    decided = _decided(prepared, known, inspect, strict, passes)
    return _scheduled(decided, prepared, known, strict, passes)


def specialized_plan(
    prepared: FunctionalGraph,
    known: dict[Node, TensorType],
    templates: Templates,
    strict: bool = False,
    passes: Sequence[Pass] = (),
) -> tuple[Plan, str]:
    """The same plan with decisions of an earlier trace where they hold, and which of the two happened, in words; "" for the
    first trace of a program. templates: of earlier traces; it grows."""
    if strict or passes or prepared.deferred:
        return compile_plan(prepared, known, None, strict, passes), ""
    types = [known[feed] for feed in prepared.feeds]
    reason, axes = "", leading(prepared, known)
    for template in templates.kept:
        try:
            swapped, equal = template.same(prepared)
            try:
                filler = template.values(types, equal)
            except Unsuitable:
                moved = changed(template.shapes, [kind.shape for kind in types])
                axes = moved if moved else axes
                raise
            decided, write = template.filled(filler, swapped)
        except Another:
            continue
        except Unsuitable as why:
            reason = reason if reason else f"decisions made anew, because {why}"
            continue
        templates.served(template)
        same = template.shapes == [kind.shape for kind in types]
        return _scheduled(decided, prepared, known, write=write), "" if same else "new shape, plan re-bound"
    if templates.vain >= VAIN:
        return compile_plan(prepared, known), reason
    try:
        template = Template(prepared, known, axes, partial(_decided, specialized=True), written)
        if template.twins:
            plan = compile_plan(prepared, known)
        else:
            decided, write = template.first()
            plan = _scheduled(decided, prepared, known, write=write)
    except Exception as error:  # what is wrong with the program is wrong with numbers, too
        templates.failed(error)
        return compile_plan(prepared, known), reason
    template.complete = True
    templates.add(template)
    return plan, reason


def _decided(
    prepared: FunctionalGraph,
    known: dict[Node, TensorType],
    inspect: Inspect = None,
    strict: bool = False,
    passes: Sequence[Pass] = (),
    specialized: bool = False,
) -> Decided:
    """All that comes before the schedule. specialized: extents are bound."""
    laws: list[tuple[str, str]] = []
    user = UserPasses(passes, len(prepared.results))
    given = [f for f in prepared.feeds if f in prepared.graph]
    graph, found = reduced(
        prepared.graph, [*prepared.results, *given], known, laws, inspect, strict, user=user, specialized=specialized
    )
    graph.finish()
    results = found[: len(prepared.results)]
    moved = dict(zip(given, found[len(results) :], strict=True))
    feeds = [moved.get(f, f) for f in prepared.feeds]
    fetches = results[: len(prepared.fetches)]
    assigns = list(zip([cell for cell, _ in prepared.assigns], results[len(fetches) :], strict=True))
    _variables(graph, [cell for cell, _ in assigns])
    layouts = Layouts(graph)
    fuser = Fuser(graph, results, layouts)
    groups = fuser.run()
    groups, sums, decisions = fuse_epilogues(graph, groups, layouts, results)
    parts = ConcatElision(graph, groups, sums, layouts, results).place([value for _, value in assigns])
    made = fuser.decisions + decisions
    return Decided(graph, feeds, fetches, assigns, layouts, groups, sums, made, laws, parts, user.notes)


def _scheduled(
    decided: Decided,
    prepared: FunctionalGraph,
    known: dict[Node, TensorType],
    strict: bool = False,
    passes: Sequence[Pass] = (),
    write: Writer = written,
) -> Plan:
    """The schedule, and the plan."""
    graph, layouts, fetches = decided.graph, decided.layouts, decided.fetches
    order = schedule(graph, decided.groups, decided.sums, layouts, fetches, decided.assigns)
    donate_buffers(order, layouts, fetches)
    builder = Builder(graph, layouts, order, decided.feeds, fetches, write).build()
    stream = builder.stream
    return Plan(
        graph, stream.instructions, builder, builder.fetches, [cell for cell, _ in decided.assigns],
        decided.decisions + stream.decisions, decided.laws, order.notes + decided.notes + stream.notes, decided.feeds,
        prepared.draws, strict, decided.passed, Stages(prepared, known, strict, tuple(passes)),
    )  # fmt: skip


def reduced(
    graph: Graph,
    results: Sequence[Node],
    known: dict[Node, TensorType],
    laws: list[tuple[str, str]],
    inspect: Inspect = None,
    strict: bool = False,
    inner: bool = False,
    user: UserPasses | None = None,
    specialized: bool = False,
) -> tuple[Graph, list[Node]]:
    """The passes before layouts, for a program or (inner) the body of a loop or branch, into which passes of the user don't
    look."""

    def body(graph: Graph, wanted: Sequence[Node], types: dict[Node, TensorType]) -> tuple[Graph, list[Node]]:
        return reduced(graph, wanted, types, laws, inspect, inner=True)

    loops = has_subgraphs(graph)
    stages: list[tuple[str, Stage]] = [
        *([] if specialized else [("specialise", lambda g, r: specialize(g, r, known))]),
        *([] if inner else [("check", check_indexes)]),
        *([("merge loops", merge)] if loops else []),
        ("stabilise", lambda g, r: simplify(g, r, STABILISING, laws)),
        ("expand", expand),
        ("simplify", lambda g, r: simplify(g, r, ALGEBRA, laws)),
    ]
    if strict:
        stages = [("specialise", lambda g, r: specialize(g, r, known)), ("strict", run_on_host)]
    elif loops:
        stages += [
            ("bodies", lambda g, r: lower_subgraphs(g, r, body)),
            ("expand", expand),
            ("simplify", lambda g, r: simplify(g, r, ALGEBRA, laws)),
        ]
    found = list(results)
    last = dict(stages)  # a stage that runs twice is over after the second time
    for stage, step in stages:
        graph, moved = step(graph, found)
        found = [moved[r] for r in found]
        if user is not None and step is last[stage]:
            graph, found = user.after(stage, graph, found)
        if inspect is not None:
            inspect(stage, graph, found)
    return graph, found


@dataclass(frozen=True)
class Stages:
    """What a plan was made of, to look at its graph after any stage again."""

    prepared: FunctionalGraph
    known: dict[Node, TensorType]
    strict: bool
    passes: tuple[Pass, ...]

    def graph(self, stage: str) -> Graph:
        """The graph after a stage; its `outputs` are the fetches, then the values of assigned variables. Raises
        ArgumentError for a name that is no stage."""
        seen: dict[str, tuple[Graph, list[Node]]] = {"prepare": (self.prepared.graph, self.prepared.results)}

        def inspect(name: str, graph: Graph, results: Sequence[Node]) -> None:
            seen[name] = graph, list(results)

        given = [f for f in self.prepared.feeds if f in self.prepared.graph]
        results = self.prepared.results
        user = UserPasses(self.passes, len(results))
        reduced(self.prepared.graph, [*results, *given], self.known, [], inspect, self.strict, user=user)
        if stage not in seen:
            raise ArgumentError(f"there is no stage {stage!r}", f"one of {', '.join(seen)}, fuse")
        graph, results = seen[stage]
        cells = [f"{cell} after" for cell, _ in self.prepared.assigns]
        names = [f"result {i}" for i in range(len(self.prepared.fetches))] + cells
        graph.outputs = dict(zip(names, results, strict=False))
        return graph


def _variables(graph: Graph, cells: Sequence[Cell]) -> None:
    """Assigned variables have leaves, read or not."""
    there = {node.attrs["cell"] for node in graph.nodes if node.op.leaf == "variable"}
    for cell in cells:
        if cell not in there:
            graph.add(REGISTRY["variable"], (), {"cell": cell}, cell.type, cell.name)
