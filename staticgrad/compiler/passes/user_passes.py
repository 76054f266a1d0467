"""Passes that users add to the pipeline.

A pass is a function from a graph to a graph. It is called after the stage that it names, its result is verified, and
`explain()` says what it did. Its graph has concrete shapes; `graph.outputs` names the results of the step in order, and so do
those of the graph that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...errors import ArgumentError, CompileError, StaticgradError
from ...ir import Graph, Node
from ...ir.verify import verify
from ...operators import Symbol, lines_of
from .specialize import copy, rebuild

Pass = Callable[[Graph], Graph]
P = TypeVar("P", bound=Pass)
Rule = Callable[..., Symbol | None]

STAGES = ("specialize", "stabilize", "expand", "simplify")
DEFAULT = "simplify"


def graph_pass(stage: str = DEFAULT) -> Callable[[P], P]:
    """Name the stage after which a pass is called: "specialize" (extents are known; the ops are those that the program
    wrote), "stabilize", "expand" (composite ops are written in simple ones) or "simplify", the last before fusion.

    Without this decorator a pass is called after "simplify". Raises ArgumentError for another stage.
    """
    if stage not in STAGES:
        raise ArgumentError(f"a pass is called after one of {', '.join(STAGES)}; got {stage!r}")

    def mark(function: P) -> P:
        function.stage = stage  # type: ignore[attr-defined]
        return function

    return mark


def rewrite(graph: Graph, rule: Rule) -> Graph:
    """A copy of a graph in which `rule(node, *operands)` has looked at every node, operands first.

    The operands are tensors of the new graph: any of this library's functions can be applied to them. The tensor that the rule
    returns stands for the node; None keeps it. Raises CompileError for a result of another shape or dtype.

    Examples:
        >>> def without_neg(graph):
        ...     return sg.rewrite(graph, lambda node, *operands: operands[0] if node.op.name == "neg" else None)
        >>> f = sg.compile(lambda x: -x, passes=[without_neg])
        >>> f(sg.ones(2))
        tensor([1., 1.])
    """

    def place(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        with lines_of(node.where):
            better = rule(node, *(Symbol(new, i) for i in inputs)) if inputs else None
        if better is None:
            return copy(new, node, inputs)
        if not isinstance(better, Symbol) or better.graph is not new:
            raise CompileError(
                f"a rule returned {better!r} for {node!r}", "return a tensor made of the operands that it got, or None"
            )
        if better.node.type != node.type:
            raise CompileError(f"a rule replaced {node!r} by a value of type {better.node.type}")
        return better.node

    names, results = list(graph.outputs), list(graph.outputs.values())
    new, copies = rebuild(graph, results, place)
    new.outputs = {name: copies[node] for name, node in zip(names, results, strict=True)}
    return new


def check_passes(passes: Sequence[Pass]) -> tuple[Pass, ...]:
    """The passes as a tuple. Raises ArgumentError unless each is a function."""
    if callable(passes):
        raise ArgumentError("passes is a list of functions, got one function", "passes=[it]")
    for given in passes:
        if not callable(given):
            raise ArgumentError(f"a pass is a function from a graph to a graph, got {type(given).__name__}")
    return tuple(passes)


def name_of(given: Pass) -> str:
    return getattr(given, "__name__", type(given).__name__)


def stage_of(given: Pass) -> str:
    return getattr(given, "stage", DEFAULT)


@dataclass
class UserPasses:
    """The passes of one compilation."""

    passes: Sequence[Pass]
    results: int
    """The number of values kept by the pipeline that are results; the others are feeds."""
    notes: list[str] = field(default_factory=list)
    """The changes by each pass."""

    def after(self, stage: str, graph: Graph, kept: list[Node]) -> tuple[Graph, list[Node]]:
        """The graph, and the values that are kept, after the passes of a stage. Raises CompileError."""
        for given in self.passes:
            if stage_of(given) == stage:
                before = len(graph)
                graph, kept = applied(given, graph, kept, self.results)
                self.notes.append(f"{name_of(given)}, after {stage}: {before} nodes, then {len(graph)}")
        return graph, kept


def applied(given: Pass, graph: Graph, kept: Sequence[Node], results: int) -> tuple[Graph, list[Node]]:
    """The graph that a pass returns, and the new nodes of the values to keep.

    Raises CompileError, naming the pass, where its result is no graph, is not well formed, reads nodes that it was not given,
    or has other results.
    """
    name = name_of(given)
    graph.outputs = {f"result {i}": node for i, node in enumerate(kept[:results])}
    leaves = {node for node in graph.nodes if node.op.leaf not in ("", "constant", "shape")}
    new: Any = given(graph)
    if not isinstance(new, Graph):
        raise CompileError(f"the pass {name} returned {type(new).__name__}, not a graph", "return sg.rewrite(graph, rule)")
    try:
        verify(new, static=True)
    except StaticgradError as error:
        raise CompileError(f"the pass {name} made a graph that is not well formed: {error.summary}") from error
    if unknown := [node for node in new.nodes if node.op.leaf not in ("", "constant", "shape") and node not in leaves]:
        raise CompileError(f"the pass {name} reads {unknown[0]!r}, which the graph that it was given does not have")
    if missing := [key for key in graph.outputs if key not in new.outputs]:
        raise CompileError(f"the pass {name} lost {missing[0]!r}", "copy graph.outputs to the new graph, or use sg.rewrite")
    for key, node in graph.outputs.items():
        if new.outputs[key].type != node.type or new.outputs[key] not in new:
            raise CompileError(f"the pass {name} made {key} {new.outputs[key].type}; it was {node.type}")
    for feed in kept[results:]:
        new.append(feed)
    return new, [*(new.outputs[key] for key in graph.outputs), *kept[results:]]
