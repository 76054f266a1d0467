"""Moving averages of variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import convert_to_tensor
from ..core import F, static, using
from ..graph import GraphKeys, get_default_graph
from ..handles import Operation
from ..tensor import symbols, tensor
from ..variable_scopes import slot_name
from ..variables import Variable


class ExponentialMovingAverage:
    """average = decay * average + (1 - decay) * value, with decay = min(decay, (1 + n) / (10 + n)) where `num_updates` is n.

    zero_debias: averages of tensors, which begin as zeros, are divided by 1 - decay ** number of updates.
    """

    def __init__(
        self, decay: float, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ):
        self.decay, self.num_updates, self.name, self._debiased = decay, num_updates, name, zero_debias
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
                if isinstance(var, Variable) and var not in graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES):
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
                if average is None:
                    average = self._averages[var] = self._made(graph, var)
                old, new = average.symbol, var.symbol
                decay = tensor(self.decay, old.dtype)
                if self.num_updates is not None:
                    n = F.astype(tensor(self.num_updates), old.dtype)
                    decay = F.minimum(decay, F.div(F.add(n, 1), F.add(n, 10)))
                if self._debiased and not isinstance(var, Variable):
                    updates.append(static.assign(*_debiased(graph, average, new, decay)))
                    continue
                moved = F.sub(old, F.mul(F.sub(old, new), F.sub(1, decay)))
                updates.append(static.assign(old, moved))
            return Operation(graph, static.group(*updates, name=graph._scope + self.name).node)

    def _made(self, graph: Any, var: Any) -> Variable:
        """The average of a variable, which begins as its initial value, or of a tensor, which begins as zeros."""
        kept = [GraphKeys.GLOBAL_VARIABLES]
        name = slot_name(f"{var.op.name}/{self.name}")
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
        """The name of the average of a variable, also before there is one."""
        if var in self._averages:
            return str(self._averages[var].op.name)
        return str(get_default_graph().unique_name(f"{var.op.name}/{self.name}", mark_as_used=False))

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """The variables by the names under which a checkpoint has their averages, for `Saver`."""
        graph = get_default_graph()
        averaged = moving_avg_variables
        if averaged is None:
            averaged = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)
            averaged += [v for v in graph.get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES) if v not in averaged]
        found = {self.average_name(v): v for v in averaged}
        others = [v for v in graph.get_collection(GraphKeys.GLOBAL_VARIABLES) if v not in set(averaged)]
        return {**{v.op.name: v for v in others if v.op.name not in found}, **found}


def assign_moving_average(variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None) -> Any:
    """Update a moving average; the result is its new value. zero_debias: it begins as 0 and is divided by
    1 - decay ** number of updates, of which variables beside it keep count."""
    graph = variable.graph
    with using(graph):
        new, old = tensor(symbols(value), variable.symbol.dtype), variable.symbol
        decay = tensor(symbols(decay), old.dtype)
        if not zero_debias:
            made = static.assign(old, F.sub(old, F.mul(F.sub(old, new), F.sub(1, decay))))
        else:
            made = static.assign(*_debiased(graph, variable, new, decay))
        graph.adopt(made.node, name or "AssignMovingAvg", "AssignSub")
    return graph.handle(made.node)


def _debiased(graph: Any, average: Variable, new: Any, decay: Any) -> tuple[Any, Any]:
    """An average and its new value: the sum over the weights of all values so far, which two variables beside it keep."""
    label = average.op.name
    with graph.name_scope(None), static.control_dependencies(None):
        total = Variable(np.zeros(average.shape.as_list(), average.dtype.numpy), trainable=False, name=f"{label}/biased")
        count = Variable(np.zeros((), average.dtype.numpy), trainable=False, name=f"{label}/local_step")
    moved = F.sub(total.symbol, F.mul(F.sub(total.symbol, new), F.sub(1, decay)))
    steps = F.add(count.symbol, 1)
    with static.control_dependencies([static.assign(total.symbol, moved), static.assign(count.symbol, steps)]):
        return average.symbol, F.div(moved, F.sub(1, F.pow(decay, steps)))


def weighted_moving_average(
    value: Any, decay: Any, weight: Any, truediv: bool = True, collections: Any = None, name: str | None = None
) -> Any:  # fmt: skip
    """The moving average of value * weight over that of the weight, in two variables."""
    value, weight = convert_to_tensor(value), convert_to_tensor(weight)
    kept = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
    graph = value.graph
    with graph.name_scope(name or "WeightedMovingAvg"):
        parts = []
        for label, x in (("value", value * weight), ("weight", weight)):
            start = np.zeros(x.shape.as_list(), x.dtype.numpy)
            var = Variable(start, trainable=False, collections=kept, name=label)
            parts.append(assign_moving_average(var, x, decay, zero_debias=False))
        return parts[0] / parts[1]
