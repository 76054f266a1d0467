"""`detect_anomaly` for plans: a run that ends in NaN is replayed in NumPy, which names the operation that made the first one.

Nothing is watched while a plan runs: its results and the variables that it wrote are looked at afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.types import FLOATING, INEXACT
from ...errors import AnomalyError
from ...ir import Node, Subgraph
from ...ir.subgraph import interpret, watched

if TYPE_CHECKING:
    from .plan import Plan

UNCHANGED = "nothing was changed by this run"
SHOWN = 4
"""Operands and results that an error describes."""


def run_watched(plan: Plan, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """`Plan.execute`, on bound state. Raises AnomalyError where a result or a variable is NaN afterwards; the variables have
    their former values then, and random numbers are given back."""
    before = [(plan.bound[cell], plan.bound[cell].copy()) for cell in plan.written]
    results = plan.execute(arrays)
    if not any(map(has_nan, results)) and not any(has_nan(array) for array, _ in before):
        return results
    for array, value in before:
        array[...] = value
    error = first_nan(plan, arrays)
    plan.give_back()
    raise error


def has_nan(value: Any) -> bool:
    """Whether an array, or one of several, has a NaN."""
    if isinstance(value, tuple):
        return any(map(has_nan, value))
    array = np.asarray(value)
    return array.dtype.kind in INEXACT and bool(np.isnan(array).any())


def first_nan(plan: Plan, arrays: Sequence[np.ndarray]) -> AnomalyError:
    """The error that names the operation from which the NaN of a run came, found by a replay in NumPy."""
    ends = [*plan.builder.fetched_nodes, *(value for _, value in plan.assigns)]
    values = replay(plan, arrays)
    bad = [node for node in dict.fromkeys(ends) if has_nan(values[node])]
    if not bad:
        return AnomalyError(
            "the compiled step returned nan values, and NumPy's replay of it did not",
            "this is a defect of the compiler, or an overflow that another order of operations avoids",
            UNCHANGED,
        )
    position = {node: i for i, node in enumerate(plan.ir.nodes)}
    guilty = min((_source(node, values) for node in bad), key=lambda node: position[node])
    reached = _reached(plan, bad)
    inner = _inside(guilty, values)
    if inner is not None:
        node, found, evaluations = inner
        place = f"in evaluation {evaluations} of the bodies of {_name(guilty)}" + (
            f" at {guilty.where}" if guilty.where else ""
        )
        return AnomalyError(_summary(node), *_operands(node, found), place, *reached, where=node.where or guilty.where)
    first = _infinite(guilty, values, plan)
    return AnomalyError(_summary(guilty), *_operands(guilty, values), *first, *reached, where=guilty.where)


def _source(node: Node, values: dict[Node, Any]) -> Node:
    """The operation from which a NaN came: no operand of it is NaN."""
    while True:
        above = next((operand for operand in node.inputs if has_nan(values[operand])), None)
        if above is None:
            return node
        node = above


def _summary(node: Node) -> str:
    if node.op.leaf:
        return f"{_name(node)} holds nan values before the compiled step"
    return f"{_name(node)} returned nan values, as the first operation of the compiled step"


class _Found(Exception):
    """The first NaN in a body, and the values so far."""

    def __init__(self, node: Node, values: dict[Node, Any]):
        self.node, self.values = node, values


def replay(plan: Plan, arrays: Sequence[np.ndarray]) -> dict[Node, Any]:
    """The values of all nodes of a plan on bound state, by NumPy. Raises the operations' errors, with the user's lines."""
    ends = [*plan.builder.fetched_nodes, *(value for _, value in plan.assigns)]
    fed = dict(zip(plan.feeds, arrays, strict=True))
    return interpret(plan.ir, ends, fed, lambda leaf: _leaf_value(plan, leaf), [UNCHANGED])


def _leaf_value(plan: Plan, leaf: Node) -> Any:
    """The value of a leaf of a plan on bound state."""
    builder, kind = plan.builder, leaf.op.leaf
    if kind == "variable":
        return plan.bound[leaf.attrs["cell"]]
    if kind == "argument":
        return np.asarray(builder.argument_values[builder.argument_index[leaf]], leaf.type.dtype)
    if kind == "generator":
        return builder.generator_state.copy()
    return leaf.op.eval(**leaf.attrs)


def _inside(node: Node, values: dict[Node, Any]) -> tuple[Node, dict[Node, Any], int] | None:
    """The operation in the bodies of a loop or branch that made the first NaN, the values around it, and which evaluation of a
    body it was; None for another operation."""
    if not any(isinstance(value, Subgraph) for value in node.attrs.values()):
        return None
    evaluations = 0

    def look() -> None:
        nonlocal evaluations
        evaluations += 1

    def seen(inner: Node, known: dict[Node, Any]) -> None:
        if has_nan(known[inner]) and not any(has_nan(known[operand]) for operand in inner.inputs):
            raise _Found(inner, known)

    try:
        with np.errstate(all="ignore"), watched(look, seen):
            node.op.eval(*[values[operand] for operand in node.inputs], **node.attrs)
    except _Found as found:
        deeper = _inside(found.node, found.values)
        return (found.node, found.values, evaluations) if deeper is None else (*deeper[:2], evaluations)
    return None


def _operands(node: Node, values: dict[Node, Any]) -> Iterator[str]:
    for i, operand in enumerate(node.inputs[:SHOWN]):
        yield f"operand {i}, {_name(operand)}: {_range(values[operand])}"
    yield f"{'value' if node.op.leaf else 'result'}: {_range(values[node])}"


def _infinite(node: Node, values: dict[Node, Any], plan: Plan) -> Iterator[str]:
    infinite = next((n for n in plan.ir.nodes if n in values and not n.op.leaf and _has_inf(values[n])), None)
    if infinite is not None and infinite is not node:
        yield f"infinity came first, from {_name(infinite)}" + (f" at {infinite.where}" if infinite.where is not None else "")


def _reached(plan: Plan, bad: Sequence[Node]) -> Iterator[str]:
    cells = [cell.name or "a variable" for cell, value in plan.assigns if value in bad]
    if cells:
        more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
        yield f"it reached {', '.join(cells[:SHOWN])}{more}"
    yield UNCHANGED


def _name(node: Node) -> str:
    return f'{node.op.name} "{node.name}"' if node.name else node.op.name


def _has_inf(value: Any) -> bool:
    array = np.asarray(value) if not isinstance(value, tuple) else np.empty(0)
    return array.dtype.kind in INEXACT and bool(np.isinf(array).any())


def _range(value: Any) -> str:
    """Shape, range, and the count of NaN and infinite elements."""
    if isinstance(value, tuple):
        return f"{len(value)} values"
    array = np.asarray(value)
    shape = f"{array.dtype}{list(array.shape)}"
    if array.dtype.kind not in FLOATING or not array.size:
        return f"{shape} from {array.min()} to {array.max()}" if array.size and array.dtype.kind in "iub" else shape
    known = array[np.isfinite(array)].astype(np.float64)
    text = f"{shape} from {known.min():.6g} to {known.max():.6g}" if known.size else f"{shape} without a finite element"
    for what, where in (("nan", np.isnan(array)), ("inf", np.isinf(array))):
        if where.any():
            first = tuple(int(i) for i in np.argwhere(where)[0])
            text += f", {int(where.sum())} of {array.size} {what}" + (f", the first at {first}" if first else "")
    return text
