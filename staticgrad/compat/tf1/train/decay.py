"""The variable that counts the steps of a training, and learning rates as tensors that follow it; moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import convert_to_tensor
from ..core import FLOATING, F, normal_op, static, using
from ..draws import Numbers
from ..dtypes import int64
from ..graph import Graph, GraphKeys, get_default_graph
from ..handles import Operation
from ..tensor import operation, symbols, tensor
from ..variable_scopes import slot_name
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


# learning rates -------------------------------------------------------------------------------------------------------


def _progress(global_step: Any, steps: Any, like: Any) -> tuple[Any, Any, Any]:
    rate = tensor(like)
    rate = rate if rate.dtype.kind in FLOATING else F.astype(rate, np.float32)
    return rate, F.astype(tensor(global_step), rate.dtype), F.astype(tensor(steps), rate.dtype)


def _by_rate(name: str, label: str, function: Callable[[Any, Any, Any], Any], doc: str) -> Callable[..., Any]:
    """A function of the rate, decay_rate and step / decay_steps."""

    def decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Any:
        rate, step, steps = _progress(global_step, decay_steps, learning_rate)
        done = F.div(step, steps)
        return function(rate, tensor(decay_rate, rate.dtype), F.floor(done) if staircase else done)

    decay.__name__, decay.__doc__ = name, doc
    return operation(label)(decay)


exponential_decay = _by_rate(
    "exponential_decay", "ExponentialDecay", lambda r, d, p: F.mul(r, F.pow(d, p)), "rate * decay_rate ** (step / decay_steps)."
)
natural_exp_decay = _by_rate(
    "natural_exp_decay", "NaturalExpDecay", lambda r, d, p: F.mul(r, F.exp(F.mul(F.neg(d), p))),
    "rate * exp(-decay_rate * step / decay_steps).",
)  # fmt: skip
inverse_time_decay = _by_rate(
    "inverse_time_decay", "InverseTimeDecay", lambda r, d, p: F.div(r, F.add(F.mul(d, p), 1)),
    "rate / (1 + decay_rate * step / decay_steps).",
)  # fmt: skip


@operation("PolynomialDecay")
def polynomial_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, end_learning_rate: Any = 0.0001, power: Any = 1.0,
    cycle: bool = False,
) -> Any:  # fmt: skip
    """From rate to end_learning_rate over decay_steps, as (1 - step / decay_steps) ** power."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    if cycle:
        rounds = F.where(F.eq(step, 0), F.ones_like(step), F.ceil(F.div(step, steps)))
        steps = F.mul(steps, rounds)
    else:
        step = F.minimum(step, steps)
    end = tensor(end_learning_rate, rate.dtype)
    left = F.sub(1, F.div(step, steps))
    return F.add(F.mul(F.sub(rate, end), F.pow(left, tensor(power, rate.dtype))), end)


@operation("CosineDecay")
def cosine_decay(learning_rate: Any, global_step: Any, decay_steps: Any, alpha: float = 0.0) -> Any:
    """rate * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha). Loshchilov and Hutter, ICLR 2017."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    p = F.div(F.minimum(step, steps), steps)
    cosine = F.mul(F.add(F.cos(F.mul(p, math.pi)), 1), 0.5)
    return F.mul(rate, F.add(F.mul(cosine, 1 - alpha), alpha))


@operation("PiecewiseConstant")
def piecewise_constant(x: Any, boundaries: Any, values: Any) -> Any:
    """values[i] for boundaries[i - 1] < x <= boundaries[i]. Raises ValueError unless there is one more value."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    x, result = tensor(x), tensor(values[-1])
    for boundary, value in reversed(list(zip(boundaries, values, strict=False))):
        result = F.where(F.le(x, tensor(boundary, x.dtype)), tensor(value, result.dtype), result)
    return result


piecewise_constant_decay = piecewise_constant


@operation("SGDRDecay")
def cosine_decay_restarts(
    learning_rate: Any, global_step: Any, first_decay_steps: Any, t_mul: Any = 2.0, m_mul: Any = 1.0, alpha: Any = 0.0
) -> Any:
    """`cosine_decay` that begins anew after each period; periods grow by t_mul, starts by m_mul. Loshchilov and Hutter."""
    rate, step, steps = _progress(global_step, first_decay_steps, learning_rate)
    growth, share, least = (tensor(v, rate.dtype) for v in (t_mul, m_mul, alpha))
    done = F.div(step, steps)
    even = F.eq(growth, 1)
    safe = F.where(even, F.full_like(growth, 2.0), growth)
    number = F.floor(F.div(F.log(F.sub(1, F.mul(done, F.sub(1, safe)))), F.log(safe)))
    begun = F.div(F.sub(1, F.pow(safe, number)), F.sub(1, safe))
    round_ = F.where(even, F.floor(done), number)
    part = F.where(even, F.sub(done, F.floor(done)), F.div(F.sub(done, begun), F.pow(safe, number)))
    cosine = F.mul(F.mul(F.pow(share, round_), 0.5), F.add(F.cos(F.mul(part, math.pi)), 1))
    return F.mul(rate, F.add(F.mul(F.sub(1, least), cosine), least))


def _linear_cosine(rate: Any, step: Any, steps: Any, periods: Any, alpha: Any, beta: Any, noise: Any) -> Any:
    step = F.minimum(step, steps)
    line = F.div(F.sub(steps, step), steps)
    line = line if noise is None else F.add(line, noise)
    wave = F.mul(F.add(F.cos(F.mul(F.div(step, steps), F.mul(periods, 2 * math.pi))), 1), 0.5)
    return F.mul(rate, F.add(F.mul(F.add(line, alpha), wave), beta))


@operation("LinearCosineDecay")
def linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, num_periods: Any = 0.5, alpha: Any = 0.0, beta: Any = 0.001
) -> Any:
    """rate * ((alpha + line) * cosine + beta). Bello et al., "Neural optimizer search with reinforcement learning", 2017."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    periods, a, b = (tensor(v, rate.dtype) for v in (num_periods, alpha, beta))
    return _linear_cosine(rate, step, steps, periods, a, b, None)


@operation("NoisyLinearCosineDecay")
def noisy_linear_cosine_decay(
    learning_rate: Any, global_step: Any, decay_steps: Any, initial_variance: Any = 1.0, variance_decay: Any = 0.55,
    num_periods: Any = 0.5, alpha: Any = 0.0, beta: Any = 0.001,
) -> Any:  # fmt: skip
    """`linear_cosine_decay` with normal noise of variance initial_variance / (1 + step) ** variance_decay on the line."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    periods, a, b, first, fall = (tensor(v, rate.dtype) for v in (num_periods, alpha, beta, initial_variance, variance_decay))
    spread = F.sqrt(F.div(first, F.pow(F.add(F.minimum(step, steps), 1), fall)))
    draw = Numbers(None).draw(normal_op, (), rate.dtype)
    return _linear_cosine(rate, step, steps, periods, a, b, F.mul(draw, spread))


# averages -------------------------------------------------------------------------------------------------------------


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
