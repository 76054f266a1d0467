"""Moving averages of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import static
from ....operators import F
from ....static.graphs import using
from ..graph import GraphKeys, get_default_graph
from ..handles import Operation
from ..tensor import tensor
from ..variable_scopes import slot_name
from ..variables import Variable


class ExponentialMovingAverage:
    """average = decay * average + (1 - decay) * value, with decay = min(decay, (1 + n) / (10 + n)) where `num_updates` is n."""

    def __init__(
        self, decay: float, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ):
        if zero_debias:
            raise ValueError("ExponentialMovingAverage: zero_debias is not supported")
        self.decay, self.num_updates, self.name = decay, num_updates, name
        self._averages: dict[Any, Variable] = {}

    def apply(self, var_list: Any = None) -> Operation:
        """One operation that updates the averages of variables, all trainable ones unless given; they begin as the initial
        values."""
        graph = get_default_graph()
        chosen = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if var_list is None else list(var_list)
        updates = []
        with using(graph):
            for var in chosen:
                average = self._averages.get(var)
                if average is None:
                    average = self._averages[var] = self._made(graph, var)
                old, new = average.symbol, var.symbol
                decay = tensor(self.decay, old.dtype)
                if self.num_updates is not None:
                    n = F.astype(tensor(self.num_updates), old.dtype)
                    decay = F.minimum(decay, F.div(F.add(n, 1), F.add(n, 10)))
                moved = F.sub(old, F.mul(F.sub(old, new), F.sub(1, decay)))
                updates.append(static.assign(old, moved))
            return Operation(graph, static.group(*updates, name=graph._scope + self.name).node)

    def _made(self, graph: Any, var: Any) -> Variable:
        """The average of a variable, which begins as its initial value, or of a tensor, which begins as zeros."""
        kept = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES]
        name = slot_name(self.average_name(var))
        with graph.name_scope(None), static.control_dependencies(None):
            if isinstance(var, Variable):
                return Variable(var.initial_value, trainable=False, name=name, collections=kept)
            if not var.shape.is_fully_defined():
                raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was {var.shape}.")
            zeros = np.zeros(var.shape.as_list(), var.dtype.numpy)
            return Variable(zeros, trainable=False, name=name, collections=kept)

    def average(self, var: Any) -> Any:
        """The average of a variable; None where there is none."""
        return self._averages.get(var)

    def average_name(self, var: Any) -> str:
        return f"{var.op.name}/{self.name}"

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """The variables by the names under which a checkpoint has their averages, for `Saver`."""
        graph = get_default_graph()
        averaged = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if moving_avg_variables is None else moving_avg_variables
        found = {self.average_name(v): v for v in averaged}
        others = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v not in set(averaged)]
        kept = set(self._averages.values())
        return {**found, **{v.name.removesuffix(":0"): v for v in others if v not in kept}}
