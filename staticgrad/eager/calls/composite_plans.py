"""The two plans of a function of several ops: parts of one graph, that of the function and of its gradient."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence, Set
from typing import TYPE_CHECKING

from ...autodiff.reverse import gradients
from ...base.dtypes import FLOATS
from ...base.interpreter import module
from ...ir import Expand, Extent, Graph, Index, Node, Pointwise, Region, Result, View
from ...ir.walks import reached
from ...ops.operators import Symbol
from ..backward_graphs import moved_from
from ..grad_mode import modes
from ..sparse_gradients import sparse_gradient_of
from ..tensor import Tensor
from .composite_records import Form, Saved, Unread
from .kernels import NONE, Computation, program_of, requests
from .op_calls import family_of, placeholders

if TYPE_CHECKING:
    from ...ops.operators import OpenNumbers


def program(
    form: Form, tensors: Sequence[Tensor], recording: bool, opened: tuple[OpenNumbers, Hashable] | None = None
) -> tuple[Computation, Saved] | None:
    """The program of a call, its `Saved` and, where `recording`, the plan of its backward pass. opened: the open numbers in the
    form, which are fed after the tensors, and what stands for the form without them."""
    kinds = [(t._data.shape, t._data.dtype) for t in tensors]
    tracked = tuple([i for i, t in enumerate(tensors) if recording and t._tracked])
    if any(0 in shape for shape, _ in kinds):
        return None
    graph = Graph()
    operands = placeholders(graph, kinds)
    try:
        out = form(*operands) if opened is None else opened[0].call(graph, form.__call__, operands)
    except Exception:  # whatever a function raises for symbols, with values it runs, or raises it again
        return None
    numbers: list[Node] = []
    whole: Hashable = form
    if opened is not None:
        if opened[0].constant:
            return None
        numbers += opened[0].nodes.values()
        whole = opened[1], *opened[0].conditions.items()
    several = out.__class__ is tuple
    outs = [*out] if several else [out]
    if not all(isinstance(x, Symbol) for x in outs) or outs[0].dtype not in FLOATS:
        return None
    count = len(outs) if several else 0
    family = (whole, family_of(kinds), tracked)
    described = ... if opened is not None else (form, tuple(kinds), tracked)
    if not tracked:
        forward = program_of(graph, [x.node for x in outs], [*[x.node for x in operands], *numbers], family)
        return forward, Saved(NONE, (), (), count, (), {"call": form})
    floating = [x for x in outs if x.dtype in FLOATS]
    seeds = placeholders(graph, [(x.shape, x.dtype) for x in floating])
    cotangents = gradients(floating, [operands[i] for i in tracked], seeds)
    reached = {i: x for i, x in zip(tracked, cotangents, strict=True) if x is not None}
    if not reached:
        return None
    positions, found = tuple(reached), [*reached.values()]
    name = str(outs[0].node.op.grad_name(outs[0].node))
    feeds = [*[x.node for x in (*operands, *seeds)], *numbers]
    fetches = [x.node for x in (*outs, *found)]
    if not modes.now.numpy or any(isinstance(node.op.emit, Region) for node in graph.nodes):
        graph, feeds, fetches = _whole(graph, feeds, fetches)
    elif any(node.op.vjp_all is not None for node in graph.nodes):
        graph, feeds, fetches = _sharing(graph, feeds, fetches)
    n, end = len(operands), len(operands) + len(seeds)
    feeds, given, numbers = feeds[:n], feeds[n:end], feeds[end:]
    results, fetches = fetches[: len(outs)], fetches[len(outs) :]
    if any(map(_few_rows, fetches)) or {*results} & {*feeds, *numbers}:
        return None
    views = {i: view.steps(given) for i, x in zip(positions, fetches, strict=True) if (view := moved_from(x, given))}
    computed = [x for i, x in zip(positions, fetches, strict=True) if i not in views]
    read, kept = _boundary(graph, results, computed)
    values = [(i, x) for i, x in enumerate([*feeds, *results]) if x in read]
    read_by = [*given, *[x for _, x in values], *kept, *[x for x in numbers if x in read]]
    backward = NONE
    if computed:
        reverse = program_of(graph, computed, read_by, family, part="backward")
        backward = requests.new(lambda: (reverse, None))
        if backward.plan is None:
            return None
    shapes, attrs = [(x.shape, x.dtype) for x in outs], {"call": form}
    smooth = tuple([i for i, x in enumerate(outs) if x.dtype in FLOATS])
    reads = tuple([i if i < n else i - n - len(results) for i, _ in values])
    fed = tuple([i for i, x in enumerate(numbers) if x in read])
    nodes = Unread((fetches, read_by), "backward")
    saved = Saved(backward, reads, positions, count, shapes, attrs, name, smooth, views, nodes, fed, described)
    return program_of(graph, [*results, *kept], [*feeds, *numbers], family), saved


def _few_rows(cotangent: Node) -> bool:
    """Whether a cotangent is 0 but for a few rows, which the backward pass keeps apart; see `sparse_gradients.py`."""
    found = sparse_gradient_of(cotangent)
    return found is not None and sum(part.type.size for part in found.parts) < cotangent.type.size


def _whole(graph: Graph, feeds: list[Node], fetches: list[Node]) -> tuple[Graph, list[Node], list[Node]]:
    """The graph of function and gradient: a loop also computes what the loop of its gradient reads."""
    ready = module("staticgrad.compiler.passes.specialize").functionalize(graph, fetches, feeds)
    merged, moved = module("staticgrad.compiler.passes.subgraphs").merge(ready.graph, [*ready.feeds, *ready.fetches])
    return merged, [moved[n] for n in ready.feeds], [moved[n] for n in ready.fetches]


def _sharing(graph: Graph, feeds: list[Node], fetches: list[Node]) -> tuple[Graph, list[Node], list[Node]]:
    """The same in which function and gradient read the same values, as attention's weights: NumPy takes longer to compute them
    again than to keep them."""
    rules, copy = module("staticgrad.ops.rewrites.layer_rules").SHARING, module("staticgrad.compiler.passes.specialize").copy
    new = Graph(intern=True)
    moved: dict[Node, Node] = {}
    for node in graph.reaching([*feeds, *fetches]):
        inputs = tuple([moved[x] for x in node.inputs])
        rule = rules.get(node.op.name)
        better = None if rule is None else rule(node, [Symbol(new, x) for x in inputs])
        moved[node] = copy(new, node, inputs) if better is None else better.node
    return new, [moved[n] for n in feeds], [moved[n] for n in fetches]


def _boundary(graph: Graph, outs: Sequence[Node], gradients: Sequence[Node]) -> tuple[set[Node], list[Node]]:
    """What the gradients read of a function's computation: its operands and results, and values to keep. Values that cost
    little are computed again instead, unless they need more memory kept than they take: the mask of a dropout is kept, and not
    the random numbers."""
    forward = set(graph.reaching(outs))
    forward |= {n for n in graph.nodes if isinstance(n.op.emit, Result) and n.inputs[0] in forward}
    backward = [node for node in graph.reaching(gradients) if node not in forward]
    free = {n for n in forward if n in outs or n.op.leaf == "placeholder"}
    needed = [i for node in backward for i in node.inputs if i in forward]
    needed += [node for node in gradients if node in forward]
    sources = {node: _sources(node, free) for node in needed}
    readers = Counter(n for found in sources.values() for n in found if n not in free)
    read: set[Node] = set()
    kept: set[Node] = set()
    for node, found in sources.items():
        if sum(n.type.nbytes for n in found if readers[n] == 1) > node.type.nbytes:
            kept.add(node)
        else:
            read.update(n for n in found if n in free)
            kept.update(n for n in found if n not in free)
    return read, [node for node in graph.nodes if node in kept]


def _sources(node: Node, free: Set[Node]) -> list[Node]:
    """The values from which a value is computed again at little cost: the value itself where it is free or costs more."""

    def again(n: Node) -> bool:
        return n not in free and _costs_little(n)

    return [n for n in reached([node], lambda n: n.inputs if again(n) else ()) if not again(n)]


def _costs_little(node: Node) -> bool:
    emit = node.op.emit
    if isinstance(emit, Expand):  # a broadcast, but not what folds an axis
        return bool(node.type.size > max((i.type.size for i in node.inputs[:1]), default=0))
    if modes.now.numpy:  # each operation takes time of its own
        return bool(node.op.leaf or node.op.aliases)
    if node.op.draws:  # a random number takes as long as some thirty additions
        return False
    return bool(node.op.leaf) or isinstance(emit, (Pointwise, View, Extent, Index))
