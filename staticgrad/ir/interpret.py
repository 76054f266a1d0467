"""The NumPy interpreter: the reference for every stage of the compiler, and the one loop that evaluates nodes in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import IndexRangeError, StaticgradError
from .graph import Graph
from .node import Node


def evaluate(
    nodes: Iterable[Node],
    values: dict[Node, Any],
    leaf: Callable[[Node], Any] | None = None,
    seen: Callable[[Node, dict[Node, Any]], None] | None = None,
    notes: Sequence[str] = (),
) -> dict[Node, Any]:
    """Evaluate nodes in this order into `values`; those that have a value keep it.

    leaf: the values of leaves that are no constants. seen: called with each node and the values so far. Raises the ops' errors
    with the user's line and `notes`.
    """
    for node in nodes:
        if node in values:
            continue
        op = node.op
        try:
            if leaf is None or not op.leaf or op.leaf == "constant":
                value = op.eval(*[values[i] for i in node.inputs], **node.attrs)
            else:
                value = leaf(node)
        except StaticgradError as error:
            raise type(error)(error.summary, *error.details, *notes, where=node.where) from None
        except IndexError as error:
            raise IndexRangeError(f"{op.name}: {error}", *notes, where=node.where) from error
        except ValueError as error:
            raise StaticgradError(f"{op.name}: {error}", *notes, where=node.where) from error
        values[node] = value if isinstance(value, tuple) else np.asarray(value)
        if seen is not None:
            seen(node, values)
    return values


def interpret(
    graph: Graph,
    targets: Sequence[Node],
    leaves: Mapping[Node, np.ndarray],
    leaf: Callable[[Node], Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[Node, Any]:
    """`evaluate` of the targets and their ancestors, without NumPy's warnings. `leaves` gives the values of leaves.

    Returns all values by node.
    """
    with np.errstate(all="ignore"):
        return evaluate(graph.reaching(targets, stop=set(leaves)), dict(leaves), leaf, notes=notes)
