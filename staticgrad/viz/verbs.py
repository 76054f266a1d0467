"""The verbs that take anything with a graph or plan: `to_text`, `to_dot`, `to_networkx`, `to_graphml`, `explain`, `profile`.

`draw` is in `draw.py`. Subjects are tensors, symbols, graphs, modules and functions (with `inputs`), compiled functions,
sessions and plans; `subjects.py` finds what is meant.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ir import text
from .grouping import by_module, groups_of, titles
from .subjects import called, compiled_of, graph_meant, kernels_of, plan_meant

if TYPE_CHECKING:
    import networkx as nx

    from ..compiler.execute.explanation import Explanation, PlanDifference
    from ..compiler.execute.profile import Profile


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
