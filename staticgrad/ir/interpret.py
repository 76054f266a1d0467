"""The NumPy interpreter: the reference for every stage of the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import IndexRangeError, StaticgradError
from . import Graph, Node


def interpret(graph: Graph, targets: Sequence[Node], leaves: Mapping[Node, np.ndarray]) -> dict[Node, np.ndarray]:
    """Evaluate the targets and their ancestors, in order. `leaves` gives the values of leaves; constants have their own.

    Returns all values by node. Raises the ops' errors with the user's line.
    """
    values: dict[Node, Any] = dict(leaves)
    with np.errstate(all="ignore"):
        for node in graph.reaching(targets, stop=set(leaves)):
            if node in values:
                continue
            try:
                value = node.op.eval(*(values[i] for i in node.inputs), **node.attrs)
            except StaticgradError as error:
                raise type(error)(error.summary, *error.details, where=node.where) from None
            except IndexError as error:
                raise IndexRangeError(f"{node.op.name}: {error}", where=node.where) from error
            except ValueError as error:
                raise StaticgradError(f"{node.op.name}: {error}", where=node.where) from error
            values[node] = value if isinstance(value, tuple) else np.asarray(value)
    return values
