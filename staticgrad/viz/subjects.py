"""What the verbs take - tensors, graphs, modules, functions, sessions, plans - as the graph or plan that is meant."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..eager import Tensor
from ..eager.tape_graph import graph_of
from ..errors import ArgumentError, GraphError
from ..ir import Graph, Node, text
from ..ir.text import backward_part, outputs_of
from ..ops.operators import Symbol
from .placement import by_kernel, by_module, groups_of, titles

if TYPE_CHECKING:
    import networkx as nx

    from ..compiler.execute.explain import Explanation, PlanDifference
    from ..compiler.execute.plan import Plan
    from ..compiler.execute.profile import Profile
    from ..tracing import CompiledFunction
    from ..tracing.segments.runs import SegmentedRuns


def graph_meant(
    what: Any, verb: str, *, backward: bool | None = None, inputs: Sequence[Any] | None = None, stage: str | None = None
) -> Graph:
    """The graph of a subject. Raises GraphError, with the name of the verb, for something that has none."""
    return kernels_of(what, verb, backward=backward, inputs=inputs, stage=stage)[0]


def kernels_of(
    what: Any, verb: str, *, backward: bool | None = None, inputs: Sequence[Any] | None = None, stage: str | None = None
) -> tuple[Graph, dict[Node, str]]:
    """The graph of a subject, and the instruction that computes each node, where there is a plan of this graph. A function that
    runs in segments has one graph of all of them, with the cuts between. Raises GraphError, as `graph_meant`."""
    what = _called(what, verb, inputs)
    segments = segments_of(what)
    if segments is not None and stage is None:
        return segments.graph()
    plan = made_plan(what)
    if plan is not None and stage is None:
        return by_kernel(plan)
    return _graph(what, plan, verb, backward, stage), {}


def _graph(what: Any, plan: Plan | None, verb: str, backward: bool | None, stage: str | None) -> Graph:
    if stage is not None:
        if plan is None:
            raise ArgumentError(f"{verb}: only what is compiled has stages, got {type(what).__name__}")
        return plan.stages.graph(stage) if stage != "fuse" else plan.ir
    if not isinstance(what, Graph) and isinstance(getattr(what, "graph", None), Graph) and not isinstance(what, Symbol):
        what = what.graph  # a session that has run nothing
    if isinstance(what, Graph):
        return what if backward is not False or not backward_part(what) else _forward(what)
    several = what if isinstance(what, (list, tuple)) else (what,)
    if not several or not all(isinstance(item, (Tensor, Symbol)) for item in several):
        raise GraphError(
            f"{verb} needs a graph, a tensor or a symbol, a compiled function, a session, a plan, or a module with its inputs; "
            f"got {type(what).__name__}"
        )
    return graph_of(*several, backward=backward)


def made_plan(what: Any) -> Plan | None:
    """The plan of a compiled function or a session, or a plan itself; None for anything that has none. Of the plans of a
    session, the longest counts: a step rather than an initializer."""
    module = sys.modules.get("staticgrad.compiler.execute.plan")
    if module is not None and isinstance(what, module.Plan):
        return what
    compiled = compiled_function(what)
    if compiled is not None:
        plan: Plan = compiled.plan
        return plan
    static = sys.modules.get("staticgrad.static.session")
    if static is not None and isinstance(what, static.Session):
        return max(what.plans, key=lambda plan: len(plan.instructions), default=None)
    return None


def segments_of(what: Any) -> SegmentedRuns | None:
    """The segments of a compiled function that runs in several; None for anything else."""
    compiled = compiled_function(what)
    if compiled is None or compiled.segmented is None or compiled.segmented.plan is None:
        return None
    return compiled.segmented


def compiled_function(what: Any) -> CompiledFunction[..., Any] | None:
    """The compiled function that it is, or, as a compiled module, calls; None for anything else."""
    tracing = sys.modules.get("staticgrad.tracing.function")
    made = getattr(what, "forward", what) if hasattr(what, "_orig_mod") else what
    return made if tracing is not None and isinstance(made, tracing.CompiledFunction) else None


def plan_meant(
    what: Any, verb: str, *, inputs: Sequence[Any] | None = None, feeds: Mapping[Any, Any] | None = None, run: bool = False
) -> Plan:
    """The plan of a subject, made where there is none yet. feeds: of a graph, by placeholder. run: it has run, so that it has
    variables. Raises GraphError for something that can't be compiled."""
    from ..static import Session

    what = _called(what, verb, inputs)
    if isinstance(what, Session) and not what.plans:
        raise GraphError(
            f"{verb}: this session has run nothing yet, so there is no plan", "run a step, or pass sess.plan(fetches)"
        )
    plan = made_plan(what)
    if plan is not None:
        return plan
    graph = graph_meant(what, verb)
    if not outputs_of(graph):
        raise GraphError(f"{verb}: a graph without results has no plan", "pass a session that has run it, or a tensor of it")
    session = Session(graph)
    fetches = [Symbol(graph, node) for node in dict.fromkeys(outputs_of(graph).values())]
    given = {} if feeds is None else dict(feeds)
    if run:
        session.run(fetches, given)
    return session.plan(fetches, given)


def _called(what: Any, verb: str, inputs: Sequence[Any] | None) -> Any:
    """A module or function, called with its inputs: as a compiled function. Anything else as it is."""
    compiled = compiled_of(what)
    if compiled is not None:
        return called(compiled, verb, inputs)
    if inputs is not None:
        raise ArgumentError(f"{verb}: inputs are for modules and functions, got {type(what).__name__}")
    return what


def called(compiled: CompiledFunction[..., Any], verb: str, inputs: Sequence[Any] | None) -> CompiledFunction[..., Any]:
    """A compiled function after a call with these inputs. Raises ArgumentError for one that was never called."""
    if inputs is not None:
        compiled(*inputs)
    elif compiled.latest is None and compiled.segmented is None:
        raise ArgumentError(
            f"{verb}: {compiled.name} has not been called yet, so it has no graph", f"{verb}(it, inputs=(x, ...)) calls it"
        )
    return compiled


def compiled_of(what: Any) -> CompiledFunction[..., Any] | None:
    """The compiled function of a module, of a function, or itself; None for anything else."""
    nn = sys.modules.get("staticgrad.nn.module")
    is_module = nn is not None and isinstance(what, nn.Module)
    plain = isinstance(what, Callable) and not isinstance(what, (type, Tensor, Symbol, Graph))  # type: ignore[arg-type]
    if not is_module and not plain:
        return None
    from ..static import Session
    from ..tracing import CompiledFunction, compile

    if isinstance(what, (CompiledFunction, Session)):
        return what if isinstance(what, CompiledFunction) else None
    if is_module:
        forward = what.forward
        return forward if isinstance(forward, CompiledFunction) else CompiledFunction(what, on_break=None)
    return compile(what)


def _forward(graph: Graph) -> Graph:
    """The part of a graph that its gradients are not."""
    cut = Graph()
    outputs = {name: node for name, node in outputs_of(graph).items() if not name.startswith("grad/")}
    for node in graph.reaching(outputs.values()):
        cut.append(node)
    cut.outputs = outputs
    return cut


# the verbs that take anything with a graph or plan --------------------------------------------------------------------

# The verbs that take anything with a graph or plan: `to_text`, `to_dot`, `to_networkx`, `to_graphml`, `explain`, `profile`.
#
# `draw` is in `draw.py`. Subjects are tensors, symbols, graphs, modules and functions (with `inputs`), compiled functions,
# sessions and plans; `subjects.py` finds what is meant.


def to_text(what: Any, *, lines: bool = True, inputs: Sequence[Any] | None = None, stage: str | None = None) -> str:
    """A listing of a graph, one node a line: number, type, expression, and with `lines` the user's line.

        %0  f32[?,64]   placeholder "x"   # model.py:8  x = sg.placeholder(sg.float32, (None, 64), "x")
        ...
        %3  f32[?,128]  matmul(%0, %1)    # model.py:12  h = x @ w + b
        %4  f32[?,128]  add(%3, %2)       # model.py:12

    what: a tensor, symbol, graph, compiled function, session or plan; a module or function with its `inputs`. stage: of a
    compiled one, the compiler's stage after which the graph is shown ("specialize", "simplify", ...). Attributes follow the
    operands; `after %7` is a control edge. The named results of the graph come last.

    Examples:
        >>> print(sg.to_text(sg.nn.Linear(2, 1), inputs=(np.ones((3, 2), "float32"),), lines=False))
        %0  f32[3,2]  placeholder "input"
        %1  f32[1,2]  variable "weight"
        ...
    """
    return text.to_text(graph_meant(what, "to_text", inputs=inputs, stage=stage), lines=lines)


def to_networkx(what: Any, *, inputs: Sequence[Any] | None = None, stage: str | None = None) -> nx.DiGraph:
    """A plain DiGraph whose nodes are `"%0"`, `"%1"`, ... and whose attributes are strings and booleans; see `to_text` for the
    subjects and `stage`.

    Nodes: op, type, attrs, name, where, line, kind ("input", "state", "constant", "op", "backward", "effect") and output (the
    names of results, or ""). Edges: `operands`, the positions that the source takes among the inputs of the target ("0,1" for
    mul(x, x), as a DiGraph holds one edge for a pair; "" for none), and `control`, whether it is (also) a control edge. The
    instructions of a plan are `plan.graph`.

    Examples:
        >>> import networkx as nx
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> graph = sg.to_networkx(sg.graph_of((x * x).sum(), backward=False))
        >>> [graph.nodes[node]["op"] for node in nx.topological_sort(graph)]
        ['variable', 'mul', 'sum']
    """
    return text.to_networkx(graph_meant(what, "to_networkx", inputs=inputs, stage=stage))


def to_dot(what: Any, *, inputs: Sequence[Any] | None = None, stage: str | None = None, group: str | None = None) -> str:
    """The graph in Graphviz's DOT language: boxes with op, type and the user's line, filled by kind; see `to_text` for the
    subjects and `stage`.

    Edges carry operand positions where a node has several operands; control edges are dashed; results are framed bold.
    group: "module" or "kernel" frames the nodes of one module, or of one instruction of the plan.
    """
    graph, kernels = kernels_of(what, "to_dot", inputs=inputs, stage=stage)
    if group is None:
        return text.to_dot(graph)
    names = kernels if group == "kernel" and kernels else by_module(graph)
    return text.to_dot(graph, titles(groups_of(graph, names.get)))


def to_graphml(what: Any, path: str | os.PathLike[str] | None = None, *, inputs: Sequence[Any] | None = None) -> str:
    """The graph of `to_networkx` in GraphML (for yEd, Gephi, Cytoscape); also written to `path` when one is given."""
    return text.to_graphml(graph_meant(what, "to_graphml", inputs=inputs), path)


def explain(
    what: Any, *, inputs: Sequence[Any] | None = None, feeds: Mapping[Any, Any] | None = None, detail: bool = False,
    why_not: tuple[Any, Any] | None = None,
) -> Explanation:  # fmt: skip
    """What the plan of a subject does, and why: a page of text when printed, and data; see `Plan.explain`.

    what: a compiled function, session or plan; a tensor, or a graph with its `feeds`; a module or function with its `inputs`.
    A function that runs in segments is explained with its cuts. detail: everything. why_not=(a, b): why two operations are not
    fused. Raises GraphError for a subject without a plan.

    Examples:
        >>> print(sg.explain(lambda x: sg.exp(-x).sum(), inputs=(np.ones(3, "float32"),)))
        1 ... 1 native (1 generated kernels), 0 on the host...
    """
    compiled = compiled_of(what)
    if compiled is not None:
        return called(compiled, "explain", inputs).explain(detail=detail, why_not=why_not)
    return plan_meant(what, "explain", inputs=inputs, feeds=feeds).explain(detail=detail, why_not=why_not)


def plan_diff(first: Any, second: Any, *, inputs: Sequence[Any] | None = None) -> PlanDifference:
    """What differs between the plans of two subjects: figures, instructions, which edges are fused, rewrite rules. inputs: of
    both, where they are modules or functions.

    Examples:
        >>> f, g = sg.compile(lambda x: sg.exp(x) + 1), sg.compile(lambda x: sg.exp(x))
        >>> _ = f(np.ones(3, "float32")), g(np.ones(3, "float32"))
        >>> sg.plan_diff(f, f)
        the plans are the same
        >>> "kernel exp+add" in str(sg.plan_diff(f, g))
        True
    """
    return plan_meant(first, "plan_diff", inputs=inputs).diff(plan_meant(second, "plan_diff", inputs=inputs))


def profile(
    what: Any, *, inputs: Sequence[Any] | None = None, feeds: Mapping[Any, Any] | None = None, repeats: int = 200
) -> Profile:
    """The time, bytes and flops of each instruction of a subject's plan, beside what this machine can do.

    See `explain` for the subjects. Instructions are timed one by one, on the values of runs on random feeds, and variables keep
    theirs. Print it for a table; `export_chrome_trace(path)` writes a timeline for Perfetto. Nothing is measured in ordinary
    runs.

    Examples:
        >>> found = sg.profile(lambda x: sg.exp(-x).sum(), inputs=(np.ones(3, "float32"),), repeats=10)
        >>> [name for _, name, _ in found.instructions]
        ['neg+exp+sum']
    """
    compiled = compiled_of(what)
    if compiled is not None:
        return called(compiled, "profile", inputs).profile(repeats)
    return plan_meant(what, "profile", inputs=inputs, feeds=feeds, run=True).profile(repeats)
