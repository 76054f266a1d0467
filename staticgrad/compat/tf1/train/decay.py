"""Learning rates as tensors of the graph, from the global step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....operators import F
from ....ops.random import normal_op
from ..draws import Numbers
from ..tensor import operation, tensor


def _progress(global_step: Any, steps: Any, like: Any) -> tuple[Any, Any, Any]:
    rate = tensor(like)
    rate = rate if rate.dtype.kind == "f" else F.astype(rate, np.float32)
    return rate, F.astype(tensor(global_step), rate.dtype), F.astype(tensor(steps), rate.dtype)


@operation("ExponentialDecay")
def exponential_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Any:
    """rate * decay_rate ** (step / decay_steps)."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    p = F.div(step, steps)
    return F.mul(rate, F.pow(tensor(decay_rate, rate.dtype), F.floor(p) if staircase else p))


@operation("NaturalExpDecay")
def natural_exp_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Any:
    """rate * exp(-decay_rate * step / decay_steps)."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    p = F.div(step, steps)
    return F.mul(rate, F.exp(F.mul(F.neg(tensor(decay_rate, rate.dtype)), F.floor(p) if staircase else p)))


@operation("InverseTimeDecay")
def inverse_time_decay(learning_rate: Any, global_step: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Any:
    """rate / (1 + decay_rate * step / decay_steps)."""
    rate, step, steps = _progress(global_step, decay_steps, learning_rate)
    p = F.div(step, steps)
    return F.div(rate, F.add(F.mul(tensor(decay_rate, rate.dtype), F.floor(p) if staircase else p), 1))


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
