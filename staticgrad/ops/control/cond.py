"""`cond`: Python's decision on eager tensors, in a graph a node with two subgraphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.types import TensorType, UnrankedType, bool_, shape_text
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ir import REGISTRY, Node, Subgraph
from ..deferred import Definition, defer, written_nodes
from ..known_values import KNOWN, computed, decided, value_of
from ..leaves import fits
from ..operators import F, Operators, Output, Symbol, Tensor, TensorLike, apply, has_rank, public, state
from ..pytree import flatten, paths, text, unflatten
from ..random import stream
from . import carries
from .branch_effects import assign_results, current_values
from .carries import check_callable, check_scalar, eager_tensors, graph_for, own
from .subgraph_tracing import Draws, Traced, outputs, symbol


@public
def cond(pred: TensorLike, true_fn: Callable[..., Output], false_fn: Callable[..., Output], *operands: Any) -> Output:
    """true_fn(*operands) where `pred` holds, else false_fn(*operands); only that one runs.

    pred: one boolean. operands: one after another, or in one tuple (PyTorch's form). The functions may use anything from
    outside (TensorFlow 1's style has no operands); they return the same structure, of the same shapes and dtypes. They may
    draw random numbers, and in a graph assign to variables.

    In a graph it is one node; eagerly, and for a boolean of Python's or NumPy's, an ordinary decision: the other function
    does not run, so what it returns is not looked at. Raises ArgumentError for a branch that is no function; in a graph
    ArgumentError, ShapeError and DTypeError when the branches disagree.

    Examples:
        >>> sg.cond(sg.tensor(True), lambda x: x + 1, lambda x: x - 1, sg.tensor(1.0))
        tensor(2.)
    """
    check_callable("true_fn", true_fn)
    check_callable("false_fn", false_fn)
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = tuple(operands[0])
    level = carries.innermost()
    if level is not None and isinstance(pred, Operators) and (level.loops or isinstance(pred, Symbol)):
        return carries.cond(level, cond, pred, lambda: true_fn(*operands), lambda: false_fn(*operands))
    decided = not hasattr(pred, "dtype") or isinstance(pred, np.generic)
    graph = None if decided else graph_for([pred])
    if graph is None:
        chosen = true_fn if check_scalar(pred, "cond: pred") else false_fn
        if decided:
            return chosen(*operands)
        with stream(always=True):
            leaves, structure = flatten(chosen(*operands))
        result: Output = unflatten(structure, [x if isinstance(x, Symbol) else own(eager_tensors([x]))[0] for x in leaves])
        return result
    chosen_by: Tensor = check_scalar(symbol(graph, pred), "cond: pred")
    chosen_by = chosen_by if chosen_by.dtype == bool_ else F.ne(chosen_by, 0)
    branches: list[Traced] = []
    with Draws(graph, always=True) as draws:
        try:
            for fn in (true_fn, false_fn):
                draws.count = 0
                with draws.inside(None):
                    branches.append(Traced(graph, lambda fn=fn: fn(*operands), [], lambda p: (), "cond", closed=True))
            variables = list(dict.fromkeys(v for branch in branches for v in branch.assigned))
            before = list(dict.fromkeys(n for branch in branches for n in branch.before))
            values = [x.node for x in current_values(graph, variables, before)]
            for branch in branches:
                branch.add_results([branch.assigned.get(v, now) for v, now in zip(variables, values, strict=True)])
        finally:
            for branch in branches:
                branch.withdraw()
        alike = _check_branches(branches[0], branches[1], kept=bool(variables or before) or not hasattr(graph, "host_call"))
    captured = list(dict.fromkeys([*(c for branch in branches for c in branch.captured), draws.stream.node]))
    then, orelse = (branch.subgraph(captured) for branch in branches)
    if not alike:
        return unflatten(branches[0].structure, _chosen(graph, chosen_by, captured, then, orelse))
    node = apply(REGISTRY["branch"], chosen_by, *(Symbol(graph, c) for c in captured), then=then, orelse=orelse)
    results = outputs(node, len(then.results))
    if variables or before:
        count = len(results) - len(variables)
        results = assign_results(graph, variables, results[count:], results[:count], before)
    result = unflatten(branches[0].structure, results)
    return result


def _chosen(graph: Any, chosen_by: Any, captured: list[Node], then: Subgraph, orelse: Subgraph) -> list[Symbol]:
    """The results of branches of different shapes, in a graph that may call Python: in the run only one of them is written.

    Where the condition follows from more than constants, extents and integers that are fed, a run before computes it.
    """

    def write(operands: list[Symbol]) -> list[Symbol]:
        pred, *given = operands
        body = then if value_of(pred) else orelse
        inside = pred.graph
        decided(inside, "cond: the branch that is taken is written alone, because their shapes differ")
        return [Symbol(inside, n) for n in written_nodes(inside, body, [x.node for x in given], KNOWN[inside])]

    if not state.inside and computed(chosen_by):
        kind = TensorType((), bool_)
        (known,) = graph.host_call([chosen_by], lambda arrays: [np.asarray(arrays[0])], [kind], "cond/pred", "LoopCond")
        chosen_by = Symbol(graph, known.node)
    kinds = [_either(a.type, b.type) for a, b in zip(then.results, orelse.results, strict=True)]
    return defer(graph, Definition(write), [chosen_by, *(Symbol(graph, c) for c in captured)], kinds)


def _either(a: TensorType, b: TensorType) -> TensorType:
    """What two types have in common."""
    if isinstance(a, UnrankedType) or isinstance(b, UnrankedType) or len(a.shape) != len(b.shape):
        return UnrankedType(a.dtype)
    return TensorType(tuple([m if m == n else None for m, n in zip(a.shape, b.shape, strict=True)]), a.dtype)


def _check_branches(yes: Traced, no: Traced, kept: bool) -> bool:
    """Whether the results have the same shapes. kept: they have to."""
    alike = True
    if yes.structure != no.structure:
        raise ArgumentError(
            "Incompatible return structures of true_fn and false_fn: The two structures don't have the same nested structure.",
            f"true_fn returns {text(yes.structure)}, false_fn {text(no.structure)}",
        )
    for name, a, b in zip(paths(yes.structure, "result"), yes.symbols, no.symbols, strict=True):
        if a.dtype != b.dtype:
            raise DTypeError(
                f"Incompatible return types of true_fn and false_fn: {name} is {a.dtype} and {b.dtype}",
                "cast one of them with .astype",
            )
        same = has_rank(a) and has_rank(b) and fits(a.shape, b.shape)
        alike = alike and same
        if not same and kept:
            raise ShapeError(
                f"Incompatible return shapes of true_fn and false_fn: {name} is {shape_text(a.shape)} and "
                f"{shape_text(b.shape)}",
                "both branches have to give values of one shape",
            )
    return alike
