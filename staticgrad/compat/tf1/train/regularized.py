"""Optimizers that shrink weights: FTRL, dual averaging and proximal steps, for sparse solutions."""

from __future__ import annotations

from typing import Any

from ....operators import F
from ..arrays import zeros_like
from ..variables import Variable
from .optimizers import Optimizer, _number


def _shrunk(x: Any, amount: Any) -> Any:
    """x moved by `amount` toward 0, and no further."""
    return F.mul(F.sign(x), F.maximum(F.sub(F.abs(x), amount), F.zeros_like(x)))


class _Penalized(Optimizer):
    def __init__(self, learning_rate: Any, l1: float, l2: float, use_locking: bool, name: str):
        if l1 < 0 or l2 < 0:
            raise ValueError(f"the regularization strengths must not be negative, got {l1} and {l2}")
        super().__init__(use_locking, name)
        self.learning_rate, self.l1, self.l2 = learning_rate, l1, l2

    def _proximal(self, moved: Any, rate: Any, var: Any) -> Any:
        """The proximal step of the penalties l1 |w| + l2 w^2 / 2 after a gradient step."""
        shrunk = _shrunk(moved, F.mul(rate, _number(self.l1, var))) if self.l1 else moved
        return F.div(shrunk, F.add(1, F.mul(rate, _number(self.l2, var))))


class ProximalGradientDescentOptimizer(_Penalized):
    """A gradient step, then the proximal step of l1 and l2 penalties. Duchi and Singer, NIPS 2009."""

    def __init__(
        self, learning_rate: Any, l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0,
        use_locking: bool = False, name: str = "ProximalGradientDescent",
    ):  # fmt: skip
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rate = _number(self.learning_rate, var)
        return {"": self._proximal(F.sub(var, F.mul(rate, grad)), rate, var)}


class ProximalAdagradOptimizer(_Penalized):
    """Adagrad's step, then the proximal step of l1 and l2 penalties. Duchi and Singer, NIPS 2009."""

    slot_names = ("accumulator",)

    def __init__(
        self, learning_rate: Any, initial_accumulator_value: float = 0.1, l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0, use_locking: bool = False, name: str = "ProximalAdagrad",
    ):  # fmt: skip
        if initial_accumulator_value <= 0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self.start = initial_accumulator_value

    def initial(self, var: Any, slot: str) -> Any:
        return zeros_like(var.initial_value) + self.start

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        accum = F.add(slots["accumulator"], F.square(grad))
        rate = F.div(_number(self.learning_rate, var), F.sqrt(accum))
        return {"accumulator": accum, "": self._proximal(F.sub(var, F.mul(rate, grad)), rate, var)}


class AdagradDAOptimizer(_Penalized):
    """Dual averaging with Adagrad's scale. Duchi et al., JMLR 12 (2011)."""

    slot_names = ("gradient_accumulator", "gradient_squared_accumulator")

    def __init__(
        self, learning_rate: Any, global_step: Any, initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "AdagradDA",
    ):  # fmt: skip
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self.global_step: Variable = global_step
        self.start = initial_gradient_squared_accumulator_value

    def initial(self, var: Any, slot: str) -> Any:
        return zeros_like(var.initial_value) if slot == "gradient_accumulator" else zeros_like(var.initial_value) + self.start

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        step = F.add(F.astype(self.global_step.symbol, var.dtype), 1)
        rate = _number(self.learning_rate, var)
        total = F.add(slots["gradient_accumulator"], grad)
        squares = F.add(slots["gradient_squared_accumulator"], F.square(grad))
        shrunk = _shrunk(total, F.mul(step, _number(self.l1, var))) if self.l1 else total
        scale = F.add(F.mul(F.mul(_number(self.l2, var), step), rate), F.sqrt(squares))
        new = F.div(F.neg(F.mul(rate, shrunk)), scale)
        return {"gradient_accumulator": total, "gradient_squared_accumulator": squares, "": new}


class FtrlOptimizer(_Penalized):
    """Follow the regularized leader. McMahan et al., KDD 2013."""

    slot_names = ("accum", "linear")

    def __init__(
        self, learning_rate: Any, learning_rate_power: float = -0.5, initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0, l2_regularization_strength: float = 0.0, use_locking: bool = False,
        name: str = "Ftrl", accum_name: str | None = None, linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0, beta: float = 0.0,
    ):  # fmt: skip
        if learning_rate_power > 0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        super().__init__(learning_rate, l1_regularization_strength, l2_regularization_strength, use_locking, name)
        self.power, self.start, self.shrinkage, self.beta = (
            learning_rate_power, initial_accumulator_value, l2_shrinkage_regularization_strength, beta,
        )  # fmt: skip

    def initial(self, var: Any, slot: str) -> Any:
        return zeros_like(var.initial_value) + self.start if slot == "accum" else zeros_like(var.initial_value)

    def rule(self, var: Any, grad: Any, slots: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        rate, l1, l2 = _number(self.learning_rate, var), _number(self.l1, var), _number(self.l2, var)
        accum = F.add(slots["accum"], F.square(grad))
        before, after = F.pow(slots["accum"], -self.power), F.pow(accum, -self.power)
        pulled = F.add(grad, F.mul(var, 2 * self.shrinkage)) if self.shrinkage else grad
        linear = F.sub(F.add(slots["linear"], pulled), F.mul(F.div(F.sub(after, before), rate), var))
        scale = F.add(F.div(F.add(after, self.beta), rate), F.mul(l2, 2))
        new = F.div(F.neg(_shrunk(linear, l1)), scale)
        return {"accum": accum, "linear": linear, "": new}
