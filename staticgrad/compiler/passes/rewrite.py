"""Passes that rewrite graphs: the compiler's rules, and what users add to the pipeline.

A pass is a function from a graph to a graph. It is called after the stage that it names, its result is verified, and
`explain()` says what it did. Its graph has concrete shapes; `graph.outputs` names the results of the step in order, and so do
those of the graph that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...errors import ArgumentError, CompileError, StaticgradError
from ...ir import REGISTRY, Graph, Node
from ...ir.text import verify
from ...ops.operators import Symbol, apply, lines_of, state
from ...ops.rewrites import RewriteRule
from .specialize import copy, rebuild

Pass = Callable[[Graph], Graph]
P = TypeVar("P", bound=Pass)
Rule = Callable[..., Symbol | None]

STAGES = ("specialize", "stabilize", "expand", "simplify")
DEFAULT = "simplify"


def graph_pass(stage: str = DEFAULT) -> Callable[[P], P]:
    """Name the stage after which a pass is called: "specialize" (extents are known; ops are as the program wrote
    them), "stabilize", "expand" (composite ops are written in simple ones) or "simplify", the last before fusion.

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


LIMIT = 32  # rewrites of one node: two rules that undo each other would run forever


def simplify(
    graph: Graph, results: Sequence[Node], rules: Sequence[RewriteRule], log: list[tuple[str, str]] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """Apply `rules` to every node, operands first, until none fires. `log` collects (rule, op) by name."""
    by_op: dict[str, list[RewriteRule]] = {}
    for rule in rules:
        for name in rule.ops:
            by_op.setdefault(name, []).append(rule)
    everywhere = [rule for rule in rules if not rule.ops]
    for found in by_op.values():
        found[:0] = everywhere
    seen: dict[Node, Node] = {}

    def better(node: Node, new: Graph) -> Node | None:
        """The replacement by the first rule that matches."""
        candidates = by_op.get(node.op.name, everywhere) if node.op.plain is node.op else everywhere
        if not candidates:
            return None
        operands = [Symbol(new, i) for i in node.inputs]
        saved = state.where  # as `lines_of` does, whose calls would take longer than most rules
        if node.where is not None:
            state.where = node.where
        try:
            for rule in candidates:
                found: Symbol | None = rule.apply(node, *operands)
                if found is not None and found.node is not node:
                    if log is not None:
                        log.append((rule.name, node.op.name))
                    return found.node
        finally:
            state.where = saved
        return None

    def final(node: Node, other: Node, new: Graph) -> Node:
        """The final form of the node that a rule returned. A rule may build several nodes: those below it are rewritten too,
        operands first, without recursion, because they may be deeper than Python's stack."""
        waiting = [(node, other, 1)]  # the requested node, its current form, the number of rules applied
        while waiting:
            asked, now, applied = waiting.pop()
            if asked in seen:
                continue
            if now in seen or not now.inputs:
                now = seen.get(now, now)
            else:
                missing = [(i, i, 0) for i in now.inputs if i not in seen and i.inputs]
                if missing:
                    waiting += [(asked, now, applied), *reversed(missing)]
                    continue
                inputs = tuple(seen.get(i, i) for i in now.inputs)
                now = now if inputs == now.inputs else copy(new, now, inputs)
            found = better(now, new) if applied < LIMIT else None
            if found is not None:
                waiting.append((asked, found, applied + 1))
            else:
                seen[asked] = seen[now] = now
        return seen[node]

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        now = copy(new, node, inputs)
        if now in seen:
            return seen[now]
        other = better(now, new) if now.op.name in by_op or everywhere else None
        if other is None:  # its operands have their final form
            seen[now] = now
            return now
        return final(now, other, new)

    graph, first = rebuild(graph, results, rewrite)
    seen.clear()  # the closures refer to one another and would keep all nodes until the next garbage collection
    graph.prune([first[r] for r in results])  # of the nodes that rules replaced
    if any(_takes_values(node) for node in graph.nodes if node.op.shape_only):
        graph, second = rebuild(graph, [first[r] for r in results], copy)
        first = {old: second[new] for old, new in first.items() if new in second}
        graph.prune([first[r] for r in results])  # of values of which only the shape was read
    kept = graph.pred
    return graph, {old: new for old, new in first.items() if new in kept}


def _takes_values(node: Node) -> bool:
    """Whether an operand that is read for its shape is a value."""
    return any(node.inputs[p].op.leaf != "shape" for p in node.op.shape_only if p < len(node.inputs))


# Products of which one slice is read: the slice of the operand before the product, whose other elements nobody needs.
#
# The gradient of a concatenation is such a slice: of the cotangent of `concat([x, h])` a recurrence needs the part of h
# alone. A rewrite rule sees no readers, and slices of a product that is read as a whole, or in parts, would multiply
# products.


def narrow_products(
    graph: Graph, results: Sequence[Node], log: list[tuple[str, str]] | None = None
) -> tuple[Graph, dict[Node, Node]]:
    """(A B)[rows, columns] = A[rows] B[columns], where a product is read by one slice only."""
    read = _slices(graph, results)
    if not read:
        return graph, {node: node for node in graph.nodes}

    def rewrite(new: Graph, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node not in read:
            return copy(new, node, inputs)
        rows, columns = read[node]
        a, b = (Symbol(new, i) for i in inputs[0].inputs)
        if log is not None:
            log.append(("slice of a product", node.op.name))
        return apply(node.inputs[0].op, _sliced(a, rows, -2), _sliced(b, columns, -1)).node

    rebuilt, moved = rebuild(graph, results, rewrite)
    rebuilt.prune([moved[r] for r in results])  # of the products as a whole
    kept = rebuilt.pred
    return rebuilt, {old: new for old, new in moved.items() if new in kept}


def _slices(graph: Graph, results: Sequence[Node]) -> dict[Node, tuple[Any, Any]]:
    """Slices that are the only readers of a product, with those of its rows and columns."""
    product, piece, found = REGISTRY["matmul"], REGISTRY["slice"], dict[Node, tuple[Any, Any]]()
    candidates = [node for node in graph.nodes if node.op is piece and node.inputs[0].op is product]
    if not candidates:
        return found
    kept = set(results)
    for node in candidates:
        whole = node.inputs[0]
        if whole in kept or len(graph.succ[whole]) != 1 or any(i.type.ndim < 2 for i in whole.inputs):
            continue
        slices = (*node.attrs["slices"], *[(None, None, 1)] * (whole.type.ndim - len(node.attrs["slices"])))
        leading, (rows, columns) = slices[:-2], slices[-2:]
        if any(not _whole(s, d) for s, d in zip(leading, whole.type.shape, strict=False)):
            continue
        if all(isinstance(s, tuple) and s[2] in (None, 1) for s in (rows, columns)):
            found[node] = rows, columns
    return found


def _whole(s: Any, extent: Any) -> bool:
    return isinstance(s, tuple) and s[0] in (None, 0) and s[1] in (None, extent) and s[2] in (None, 1)


def _sliced(x: Any, s: Any, axis: int) -> Any:
    if _whole(s, x.shape[axis]):
        return x
    slices = [(None, None, 1)] * len(x.shape)
    slices[axis] = s
    return apply(REGISTRY["slice"], x, slices=tuple(slices))
