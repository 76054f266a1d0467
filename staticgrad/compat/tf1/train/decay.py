"""The variable that counts the steps of a training, and learning rates as tensors that follow it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import FLOATING, F, normal_op
from ..draws import Numbers
from ..dtypes import int64
from ..graph import Graph, GraphKeys, get_default_graph
from ..tensor import operation, tensor
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
