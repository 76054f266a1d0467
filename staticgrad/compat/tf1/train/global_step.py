"""The variable that counts the steps of a training."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import int64
from ..graph import Graph, GraphKeys, get_default_graph
from ..variables import Variable


def create_global_step(graph: Graph | None = None) -> Variable:
    """The int64 variable that counts steps. Raises ValueError where there is one."""
    graph = get_default_graph() if graph is None else graph
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        made = Variable(
            np.zeros((), np.int64), trainable=False, name="global_step", dtype=int64,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )  # fmt: skip
    return made


def get_global_step(graph: Graph | None = None) -> Variable | None:
    """The variable that counts steps; None where there is none."""
    graph = get_default_graph() if graph is None else graph
    found: list[Variable] = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        raise ValueError(f"Found {len(found)} variables in the collection of global steps")
    if found:
        return found[0]
    named: list[Variable] = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v.name == "global_step:0"]
    return named[0] if named else None


def get_or_create_global_step(graph: Graph | None = None) -> Variable:
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step in a session."""
    return int(sess.run(global_step_tensor))


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises TypeError unless it is an integer without axes."""
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    if global_step_tensor.shape.ndims not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')
