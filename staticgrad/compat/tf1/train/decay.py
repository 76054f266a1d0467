"""Learning rates as tensors of the graph, from the global step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....operators import F
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
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
) -> Any:
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
