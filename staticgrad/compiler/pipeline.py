"""The pipeline on one screen: from a prepared graph and feed shapes to a plan.

specialise   bind extents
stabilise    laws that need whole ops: log(softmax(x)) and its kin
expand       ops written in other ops
simplify     algebra, constants, broadcasts and reshapes that say nothing
layouts      which values are views of which memory
fuse         groups over one iteration space
schedule     order, in-place writes of variables
reuse        results written over operands that nobody needs any more
build        emit and compile kernels, lay out memory, write the table
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir import Graph, Node
from ..ops.laws import ALGEBRA, STABILISING
from ..types import TensorType
from .builder import Builder
from .fuse import Fuser
from .layout import Layouts
from .plan import Plan
from .prepare import Prepared
from .reuse import reuse
from .schedule import schedule
from .simplify import simplify
from .specialise import expand, specialise


def compile_plan(
    prepared: Prepared,
    known: dict[Node, TensorType],
    inspect: Callable[[str, Graph, Sequence[Node]], None] | None = None,
) -> Plan:
    """A plan for feeds of the `known` types. `inspect(stage, graph, results)` sees every stage: tests verify there."""
    laws: list[tuple[str, str]] = []
    graph, results, feeds = prepared.graph, prepared.results, prepared.feeds
    for stage, step in (
        ("specialise", lambda g, r: specialise(g, r, known)),
        ("stabilise", lambda g, r: simplify(g, r, STABILISING, laws)),
        ("expand", expand),
        ("simplify", lambda g, r: simplify(g, r, ALGEBRA, laws)),
    ):
        graph, moved = step(graph, [*results, *(f for f in feeds if f in graph)])
        results = [moved[r] for r in results]
        feeds = [moved.get(f, f) for f in feeds]
        if inspect is not None:
            inspect(stage, graph, results)
    fetches = results[: len(prepared.fetches)]
    assigns = list(zip([cell for cell, _ in prepared.assigns], results[len(fetches) :], strict=True))
    for cell, _ in assigns:
        _variable(graph, cell)
    layouts = Layouts(graph)
    fuser = Fuser(graph, results, layouts)
    groups = fuser.run()
    order = schedule(graph, groups, layouts, fetches, assigns)
    reuse(order, layouts, fetches)
    builder = Builder(graph, layouts, order, feeds, fetches)
    return Plan(
        graph, builder.rows, builder, builder.fetches, [cell for cell, _ in assigns], fuser.decisions, laws,
        order.notes, feeds, prepared.draws,
    )  # fmt: skip


def _variable(graph: Graph, cell) -> None:
    """An assigned variable has a leaf, read or not."""
    from ..ir import REGISTRY

    if not any(n.op.leaf == "variable" and n.attrs["cell"] is cell for n in graph.nodes):
        graph.add(REGISTRY["variable"], (), {"cell": cell}, cell.type, cell.name)
