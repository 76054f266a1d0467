"""Minimizing in a graph: slots are Variables that no optimizer trains, the step is one operation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import static
from ..base.types import get_default_dtype
from ..eager import Tensor
from ..errors import ArgumentError, GraphError
from ..ops.operators import F, Symbol
from ..static.graphs import element
from .groups import Member, ParamGroup

if TYPE_CHECKING:
    from .optimizer import Optimizer


def compute_gradients(optimizer: Optimizer, loss: Symbol, var_list: Iterable[Any] | None) -> list[tuple[Any, Any]]:
    """(gradient, variable) for the variables of `loss`'s graph that the optimizer updates."""
    graph = loss.graph
    if var_list is not None:
        variables = [_variable(graph, v, required=True) for v in var_list]
    elif optimizer.implicit:
        variables = [v for v in graph.variables if v.trainable]  # type: ignore[attr-defined]
    else:
        found = (_variable(graph, p, required=isinstance(p, Symbol)) for p in optimizer.parameters())
        variables = [v for v in found if v is not None]
    if not variables:
        raise GraphError("No variables to optimize.", "make one: w = sg.Variable(initial_value), and use it in the loss")
    return list(zip(static.gradients(loss, variables), variables, strict=True))


def _variable(graph: Any, ref: Any, *, required: bool) -> Any:
    """The variable of `graph` that `ref` is or, for an eager tensor, was taken in as; None where it was not.

    Raises GraphError.
    """
    try:
        node = element(graph, ref)
    except GraphError:
        if required:
            raise
        return None
    variable = graph.variable_of.get(node)
    if variable is None and required:
        raise GraphError(f"only variables can be minimized over, got {ref!r}")
    return variable


def apply_gradients(optimizer: Optimizer, pairs: list[tuple[Any, Any]]) -> Any:
    """One operation that assigns the rule's update for each pair (gradient, variable), and the running statistics of
    the layers that the gradients depend on."""
    graph = pairs[0][1].graph
    position = _positions(optimizer, graph)
    by_group: dict[int, list[tuple[Any, Any]]] = {}
    for g, v in pairs:
        if v.node in position:
            place = position[v.node]
        elif optimizer.implicit:
            place = 0
        else:
            raise ArgumentError(f'variable "{v.name}" is not among the parameters of this optimizer')
        by_group.setdefault(place, []).append((g, v))
    assigns = []
    with graph.as_default():
        for place, given in by_group.items():
            group = optimizer.param_groups[place]
            members = [Member(v, g, _slots(optimizer, group, v)) for g, v in given]
            for v, g, slots in members:
                graph.trains(v.node, [slot.node for slot in slots.values()], g)
            step = _step(optimizer, graph, place) if optimizer.counts(group) else None
            assigns += [static.assign(at, value) for at, value in optimizer.updates(group, step, members, graph)]
        updates = graph.updates_needed_by(g for g, _ in pairs)
        return static.group(*assigns, *updates, name=type(optimizer).__name__)


def _positions(optimizer: Optimizer, graph: Any) -> dict[Any, int]:
    """The group of each variable that the optimizer was given."""
    result = {}
    for i, group in enumerate(optimizer.param_groups):
        for p in group["params"]:
            v = _variable(graph, p, required=False) if isinstance(p, Tensor) else p
            if v is not None:
                result[v.node] = i
    return result


def _slots(optimizer: Optimizer, group: ParamGroup, v: Any) -> dict[str, Any]:
    known = optimizer.variables.setdefault(v.graph.variable_of[v.node], {})
    kept = optimizer.kept(group, v)
    for name in kept:
        if name not in known:
            known[name] = static.Variable(_first(optimizer.first(name, v, group)), trainable=False, name=f"{v.name}/{name}")
    return {name: known[name] for name in kept}


def _first(values: np.ndarray) -> Any:
    """The first value of a slot. Equal elements are one number in the graph, so it takes no memory."""
    if values.size < 2 or (values != values.flat[0]).any():
        return values
    with static.control_dependencies(None):
        return F.broadcast_to(static.constant(values.flat[0], values.dtype), values.shape)


def _step(optimizer: Optimizer, graph: Any, place: int) -> Any:
    known = optimizer.variables.setdefault((graph, place), {})
    if "step" not in known:
        first = np.zeros((), get_default_dtype())
        known["step"] = static.Variable(first, trainable=False, name=f"{type(optimizer).__name__}/step")
    return known["step"]
