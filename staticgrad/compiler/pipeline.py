"""The pipeline on one screen: from a prepared graph and feed shapes to a plan.

specialize   bind extents; what has extents that the run decides becomes a program of its own
check        a check for each index that nothing proves to be in range
merge loops  a loop and the equal loop of its gradient become one
stabilize    rewrite rules that need whole ops: log(softmax(x)) and the like
expand       ops written in other ops
simplify     algebra, constants, redundant broadcasts and reshapes, products of which a slice is read
bodies       the same for bodies of loops and branches; loop-invariant code motion
layouts      which values are views of which memory
fuse         groups over one iteration domain
epilogues    sums that products compute as they write their result
concat       parts of concatenations are computed in place
schedule     order, in-place writes of variables
donation     results that overwrite operands without later readers
build        generate and compile kernels, lay out memory, write the instruction stream

The stages before the schedule run once for all shapes that meet the same conditions; see `rebinding.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from ..base.types import TensorType
from ..errors import ArgumentError, StaticgradError
from ..ir import REGISTRY, Cell, Graph, Node, Pointwise, Reduction
from ..ops.rewrites.algebra import ALGEBRA, STABILIZING
from . import memory_budget
from .backend.kernel_cache import NOW
from .backend.kernel_cache import tiers as tiers
from .execute.plan import Plan
from .fusion.epilogue import ConcatElision, fuse_epilogues
from .fusion.fuse import Fuser
from .fusion.node_facts import Layouts
from .lower.instruction_builder import Builder, written
from .passes.rewrite import Pass, UserPasses, narrow_products, simplify
from .passes.specialize import FunctionalGraph, check_indexes, expand, run_on_host, specialize
from .passes.subgraphs import has_subgraphs, lower_subgraphs, merge
from .passes.symbolic_extents import Make, SymbolicProgram, Unfollowed, divide
from .plan_store import VAIN, Templates
from .rebinding import Another, Decided, Inspect, Template, Unsuitable, Writer, changed, leading
from .runtime import loader
from .schedule.order import Schedule, donate_buffers, owners, schedule

Stage = Callable[[Graph, Sequence[Node]], tuple[Graph, dict[Node, Node]]]

loader.begin()  # the first plan imports this module


def compile_plan(
    prepared: FunctionalGraph, known: dict[Node, TensorType], inspect: Inspect = None, strict: bool = False,
    passes: Sequence[Pass] = (), when: float = NOW, budget: int | float | None = None, make: Make | None = None,
) -> Plan:  # fmt: skip
    """A plan for feeds of the `known` types. `inspect(stage, graph, results)` sees every stage: tests verify there.
    strict: with eager mode's bits, see `specialize.py`. passes: of the user, see `rewrite.py`. when: kernels are compiled, see
    `machine_code.code`; whoever runs the plan waits for workers, see `Plan.wait`. budget: of memory, see `memory_budget.py`.
    make: makes the programs of parts with extents that the run decides, see `symbolic_extents.py`."""
    if budget is not None:
        return _within_budget(budget, prepared, known, inspect, strict, passes, when, make)
    decided = _decided(prepared, known, inspect, strict, passes, make=make)
    return _scheduled(decided, prepared, known, strict, passes, when=when, make=make)


def _within_budget(
    budget: int | float, prepared: FunctionalGraph, known: dict[Node, TensorType], inspect: Inspect, strict: bool,
    passes: Sequence[Pass], when: float, make: Make | None,
) -> Plan:  # fmt: skip
    """The plan whose buffers are within a budget."""
    rewrites: list[tuple[str, str]] = []
    user = UserPasses(passes, len(prepared.results))
    given = prepared.kept
    wanted = [*prepared.results, *given]
    graph, found = reduced(prepared.graph, wanted, known, rewrites, inspect, strict, user=user, make=make)

    def arrange(graph: Graph, results: Sequence[Node], waits: dict[Node, Node], early: bool) -> tuple[Decided, Schedule]:
        decided = _grouped(graph, results, prepared, given, rewrites, user)
        return decided, _order(decided, waits, early)

    def lower(arranged: tuple[Decided, Schedule]) -> tuple[Builder, int]:
        decided, order = arranged
        builder = Builder(
            decided.graph, decided.layouts, order, decided.feeds, decided.fetches, when=NOW if strict else when, held=strict,
            asks=False,
        ).build()  # fmt: skip
        return builder, builder.memory.arena + _held(decided, order, strict)

    def build(arranged: tuple[Decided, Schedule], builder: Builder) -> Plan:
        builder.stream.ask()
        return _plan(*arranged, builder, prepared, known, strict, passes, make)

    return memory_budget.within(budget, graph, found, strict, arrange, lower, build)


def specialized_plan(
    prepared: FunctionalGraph, known: dict[Node, TensorType], templates: Templates, strict: bool = False,
    passes: Sequence[Pass] = (), origin: SymbolicProgram | None = None, when: float = NOW, budget: int | float | None = None,
    make: Make | None = None,
) -> tuple[Plan, str]:  # fmt: skip
    """The same plan with decisions of an earlier trace where they hold, and which of the two happened, in words; "" for the
    first trace of a program. templates: of earlier traces; it grows. origin: the program over symbols that was filled in.
    when: see `compile_plan`."""
    if strict or passes or prepared.deferred or budget is not None:
        why = "numerics are strict" if strict else "passes of the user decide for themselves" if passes else ""
        why = "memory has a budget" if budget is not None else why
        plan = compile_plan(prepared, known, None, strict, passes, when, budget, make)
        return plan, _anew(why or "sizes are known in the run", origin)
    types = [known[feed] for feed in prepared.feeds]
    reason, other = "", templates.error
    axes = leading(prepared, known) if templates.axes is None else templates.axes
    for kept in templates.kept:
        template = kept.made()
        try:
            swapped, equal = template.same(prepared)
            try:
                filler = template.values(types, equal)
            except Unsuitable:
                moved = changed(template.shapes, [kind.shape for kind in types])
                axes = moved if moved else axes
                raise
            decided, write = template.filled(filler, swapped)
        except Another as why:
            other = other if other else str(why)
            continue
        except Unsuitable as why:
            reason = reason if reason else f"decisions made anew, because {why}"
            continue
        templates.served(kept)
        same = template.shapes == [kind.shape for kind in types]
        return _scheduled(decided, prepared, known, write=write, when=when), "" if same else "new shape, plan re-bound"
    reason = reason if reason else _anew(other, origin)
    if templates.vain >= VAIN or not axes:
        return compile_plan(prepared, known, when=when), reason
    try:
        recorded = None if origin is None else origin.restated(types)
        template = Template(prepared, known, axes, partial(_decided, specialized=True), written, recorded)
        if template.twins:
            plan = compile_plan(prepared, known, when=when)
        else:
            decided, write = template.first()
            plan = _scheduled(decided, prepared, known, write=write, when=when)
    except (Unsuitable, Unfollowed, StaticgradError) as error:  # an error of the program comes again with its numbers
        templates.failed(error)
        return compile_plan(prepared, known, when=when), reason
    template.complete = True
    templates.add(template)
    return plan, reason


def _anew(why: str, origin: SymbolicProgram | None) -> str:
    """The note on a plan whose decisions could not be taken from the template of its trace: the reason."""
    return f"decisions made anew, because {why}" if origin is not None and why else ""


def _decided(
    prepared: FunctionalGraph, known: dict[Node, TensorType], inspect: Inspect = None, strict: bool = False,
    passes: Sequence[Pass] = (), specialized: bool = False, make: Make | None = None,
) -> Decided:  # fmt: skip
    """All that comes before the schedule. specialized: extents are bound."""
    rewrites: list[tuple[str, str]] = []
    user = UserPasses(passes, len(prepared.results))
    given = prepared.kept
    graph, found = reduced(
        prepared.graph, [*prepared.results, *given], known, rewrites, inspect, strict, user=user, specialized=specialized,
        make=make,
    )  # fmt: skip
    return _grouped(graph, found, prepared, given, rewrites, user)


def _grouped(
    graph: Graph, found: Sequence[Node], prepared: FunctionalGraph, given: Sequence[Node], rewrites: list[tuple[str, str]],
    user: UserPasses,
) -> Decided:  # fmt: skip
    """From layouts to concatenations. given: see `FunctionalGraph.kept`; found: what results and these have become."""
    results = list(found[: len(prepared.results)])
    moved = dict(zip(given, found[len(results) :], strict=True))
    fused = (Pointwise, Reduction)  # what an operation that can't fail for these operands has become
    exchanges = [node for node in graph.nodes if node.op.exchanges]  # other processes wait for them, read or not
    graph.prune([*results, *exchanges, *(node for node in moved.values() if not isinstance(node.op.emit, fused))])
    graph.finish()
    feeds = [moved.get(f, f) for f in prepared.feeds]
    fetches = results[: len(prepared.fetches)]
    assigns = list(zip([cell for cell, _ in prepared.assigns], results[len(fetches) :], strict=True))
    _variables(graph, [cell for cell, _ in assigns])
    layouts = Layouts(graph, results)
    fuser = Fuser(graph, results, layouts)
    groups = fuser.run()
    groups, sums, decisions = fuse_epilogues(graph, groups, layouts, results)
    parts = ConcatElision(graph, groups, sums, layouts, results).place([value for _, value in assigns])
    made = fuser.decisions + decisions
    return Decided(graph, feeds, fetches, assigns, layouts, groups, sums, made, rewrites, parts, user.notes)


def _scheduled(
    decided: Decided, prepared: FunctionalGraph, known: dict[Node, TensorType], strict: bool = False,
    passes: Sequence[Pass] = (), write: Writer = written, when: float = NOW, make: Make | None = None,
) -> Plan:  # fmt: skip
    """The schedule and the plan."""
    order = _order(decided, {})
    builder = Builder(
        decided.graph, decided.layouts, order, decided.feeds, decided.fetches, write, NOW if strict else when, strict
    ).build()
    return _plan(decided, order, builder, prepared, known, strict, passes, make)


def _plan(
    decided: Decided, order: Schedule, builder: Builder, prepared: FunctionalGraph, known: dict[Node, TensorType],
    strict: bool, passes: Sequence[Pass], make: Make | None,
) -> Plan:  # fmt: skip
    """The plan of a program that is lowered."""
    stream = builder.stream
    plan = Plan(
        decided.graph, stream.instructions, builder, builder.fetches, decided.assigns,
        decided.decisions + stream.decisions, decided.rewrites, order.notes + decided.notes + stream.notes, decided.feeds,
        prepared.draws, strict, decided.passed, Stages(prepared, known, strict, tuple(passes), make),
    )  # fmt: skip
    plan.held = _held(decided, order, strict)
    return plan


def _held(decided: Decided, order: Schedule, strict: bool) -> int:
    """The most bytes of NumPy's arrays in a run."""
    return memory_budget.held(order, decided.graph).peak if strict else 0


def _order(decided: Decided, waits: dict[Node, Node], early: bool = False) -> Schedule:
    """The schedule, with buffers that are donated. early: values of host calls are released early."""
    layouts, fetches = decided.layouts, decided.fetches
    shared = owners(decided.graph) if early else None
    order = schedule(decided.graph, decided.groups, decided.sums, layouts, fetches, decided.assigns, waits, shared)
    donate_buffers(order, layouts, fetches)
    return order


def reduced(
    graph: Graph, results: Sequence[Node], known: dict[Node, TensorType], rewrites: list[tuple[str, str]],
    inspect: Inspect = None, strict: bool = False, inner: bool = False, user: UserPasses | None = None,
    specialized: bool = False, make: Make | None = None,
) -> tuple[Graph, list[Node]]:  # fmt: skip
    """The passes before layouts, for a program or (inner) the body of a loop or branch, into which passes of the user don't
    look."""

    def body(graph: Graph, wanted: Sequence[Node], types: dict[Node, TensorType]) -> tuple[Graph, list[Node]]:
        return reduced(graph, wanted, types, rewrites, inspect, inner=True, make=make)

    def algebra(graph: Graph, wanted: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
        graph, first = simplify(graph, wanted, ALGEBRA, rewrites)
        graph, second = narrow_products(graph, [first[r] for r in wanted], rewrites)
        return graph, {old: second[new] for old, new in first.items() if new in second}

    loops = has_subgraphs(graph)

    def bind(graph: Graph, wanted: Sequence[Node]) -> tuple[Graph, dict[Node, Node]]:
        graph, first = specialize(graph, wanted, known, None if user is None else user.notes)
        if make is None:
            return graph, first
        count = len(wanted) if user is None else user.results
        graph, second = divide(graph, [first[r] for r in wanted], count, make)
        return graph, {old: second[new] for old, new in first.items() if new in second}

    stages: list[tuple[str, Stage]] = [
        *([] if specialized else [("specialize", bind)]), *([] if inner else [("check", check_indexes)]),
        *([("merge loops", merge)] if loops else []), ("stabilize", lambda g, r: simplify(g, r, STABILIZING, rewrites)),
        ("expand", expand), ("simplify", algebra),
    ]  # fmt: skip
    if strict:
        stages = [("specialize", bind), ("strict", run_on_host)]
    elif loops:
        stages += [
            ("bodies", lambda g, r: lower_subgraphs(g, r, body)),
            ("expand", expand),
            ("simplify", algebra),
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
    make: Make | None

    def graph(self, stage: str) -> Graph:
        """The graph after a stage; its `outputs` are the fetches, then the values of assigned variables. Raises
        ArgumentError for a name that is no stage."""
        seen = self.graphs()
        if stage not in seen:
            raise ArgumentError(f"there is no stage {stage!r}", f"one of {', '.join(seen)}, fuse")
        return seen[stage]

    def graphs(self) -> dict[str, Graph]:
        """The graphs after all stages, see `graph`."""
        seen: dict[str, tuple[Graph, list[Node]]] = {"functionalize": (self.prepared.graph, self.prepared.results)}

        def inspect(name: str, graph: Graph, results: Sequence[Node]) -> None:
            seen[name] = graph, list(results)

        given, results = self.prepared.kept, self.prepared.results
        user = UserPasses(self.passes, len(results))
        reduced(self.prepared.graph, [*results, *given], self.known, [], inspect, self.strict, user=user, make=self.make)
        cells = [f"{cell} after" for cell, _ in self.prepared.assigns]
        names = [f"result {i}" for i in range(len(self.prepared.fetches))] + cells
        for graph, results in seen.values():
            graph.outputs = dict(zip(names, results, strict=False))
        return {name: graph for name, (graph, _) in seen.items()}


def _variables(graph: Graph, cells: Sequence[Cell]) -> None:
    """Assigned variables have leaves, read or not."""
    there = {node.attrs["cell"] for node in graph.nodes if node.op.leaf == "variable"}
    for cell in cells:
        if cell not in there:
            graph.add(REGISTRY["variable"], (), {"cell": cell}, cell.type, cell.name)
