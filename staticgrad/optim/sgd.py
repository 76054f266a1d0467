"""Stochastic gradient descent, and Muon, which makes its steps orthogonal; Adafactor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.types import finfo
from ..errors import ArgumentError
from ..ops.operators import F, Symbol
from ..ops.operators import Tensor as AnyTensor
from .groups import LEARNING_RATE, ParamGroup, any_number, is_one_number, only_real
from .optimizer import Hyper, Named, Optimizer, Updated, hyperparameters, with_decay


class SGD(Optimizer):
    """p - lr g, with g + weight_decay p for g, and momentum.

    maximize: go up along the gradient, here and in the other optimizers.
    b = momentum b + (1 - dampening) g (b = g at first); the step is lr b, or lr (g + momentum b) with `nesterov`.
    Raises ArgumentError for negative numbers, and for `nesterov` without momentum or with dampening.
    Source: PyTorch's SGD; Sutskever et al., "On the importance of initialization and momentum", ICML 2013.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.SGD([w], lr=0.25)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.detach()
        tensor([0.5000])
    """

    not_negative = ("lr", "momentum", "weight_decay")
    flags = ("nesterov",)
    saves_count = False

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-3, momentum: Any = 0, dampening: Any = 0, weight_decay: Any = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        super().check(group)
        any_number("dampening value", group["dampening"])
        if group["nesterov"] and (not group.uses("momentum") or group.uses("dampening")):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        return ("momentum_buffer",) if group.uses("momentum") else ()

    def counts(self, group: ParamGroup) -> bool:
        return group.uses("momentum") and group.uses("dampening")

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        if t is None:
            return {}
        later = F.astype(F.gt(t, 1), np.float64)
        return {"inflow": 1 - hyper("dampening") * later}

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        g = with_decay(p, g, hyper, group)
        if not group.uses("momentum"):
            return p - hyper("lr") * g, {}
        inflow = hyper("inflow") * g if self.counts(group) else g
        b = hyper("momentum") * slots["momentum_buffer"] + inflow
        along = g + hyper("momentum") * b if group["nesterov"] else b
        return p - hyper("lr") * along, {"momentum_buffer": b}


# Muon ----------------------------------------------------------------------------------------------------------------

# Steps along the nearest orthogonal matrix of the momentum; Adafactor: second moments of rows and columns.


class Muon(Optimizer):
    """p (1 - lr weight_decay) - lr r O(b), with b = momentum b + (1 - momentum) g, or with `nesterov` its next value.

    O: `ns_steps` steps of Newton and Schulz's iteration with `ns_coefficients`, after which all singular values are near 1;
    computed in the parameter's dtype (PyTorch rounds to bfloat16). r: sqrt(max(1, rows / columns)), or with adjust_lr_fn
    "match_rms_adamw" 0.2 sqrt(max(rows, columns)). For matrices. Raises ArgumentError.
    Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024.
    """

    not_negative = ("lr", "momentum", "weight_decay")
    flags = ("nesterov",)
    kept_slots = ("momentum_buffer",)

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-3, weight_decay: Any = 0.1, momentum: Any = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        super().check(group)
        if group["adjust_lr_fn"] not in (None, "original", "match_rms_adamw"):
            raise ArgumentError(f"Adjust learning rate function {group['adjust_lr_fn']} is not supported")
        if len(group["ns_coefficients"]) != 3:
            raise ArgumentError("Coefficients must be a tuple of exactly 3 values", f"got {group['ns_coefficients']!r}")
        if not 0 <= group["ns_steps"] < 100:
            raise ArgumentError("Number of steps must be less than 100 for computational efficiency")
        for p in group.get("params", ()):
            if len(p.shape) != 2:
                raise ArgumentError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.shape}")
        only_real("Muon", group)

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        momentum: Any = hyper("momentum")
        rows, columns = p.shape
        b = slots["momentum_buffer"] + (1 - momentum) * (g - slots["momentum_buffer"])
        along = g + momentum * (b - g) if group["nesterov"] else b
        step = _orthogonal(along, group["ns_coefficients"], group["ns_steps"], group["eps"])
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        return p * (1 - hyper("lr") * hyper("weight_decay")) - hyper("lr") * ratio * step, {"momentum_buffer": b}


def _orthogonal(x: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """Near the orthogonal factor of a matrix's polar decomposition, by a polynomial of odd powers in every step."""
    a, b, c = (float(v) for v in coefficients)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / F.maximum(F.sqrt(F.sum(F.square(x))), eps)
    for _ in range(steps):
        gram = F.matmul(x, x.T)
        x = a * x + F.matmul(b * gram + c * F.matmul(gram, gram), x)
    return x.T if tall else x


class Adafactor(Optimizer):
    """p (1 - lr weight_decay) - a u / max(1, rms(u) / d): u = g / sqrt(v), a = max(eps[1], rms(p)) min(lr, 1 / sqrt(t)).

    v: a running mean of g^2 with weight t^beta2_decay of the newest; of matrices (the last two axes) only means of rows and of
    columns are kept, r c / mean(r). eps: (least root of v, the dtype's precision for None; least scale). Raises ArgumentError.
    Source: Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018, algorithms 4 and 5.
    """

    kept_slots = ("row_var", "col_var", "variance")
    counts_steps = True

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-2, beta2_decay: Any = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
        d: Any = 1.0, weight_decay: Any = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        any_number(LEARNING_RATE, group["lr"])
        first, second = group["eps"]
        for name, value in (
            ("Learning rate", group["lr"]), ("weight_decay", group["weight_decay"]),
            ("epsilon1", 0.0 if first is None else first), ("epsilon2", second),
        ):  # fmt: skip
            if not is_one_number(value) or (not isinstance(value, Symbol) and not value >= 0):
                raise ArgumentError(f"{name} should be >= 0 but is: {value}")
        if not group["beta2_decay"] <= 0:
            raise ArgumentError(f"beta2_decay should be <= 0 but is: {group['beta2_decay']}")
        if not group["d"] >= 1:
            raise ArgumentError(f"Clipping threshold d should be >= 1 but is: {group['d']}")
        only_real("Adafactor", group)

    def kept(self, group: ParamGroup, p: Any) -> tuple[str, ...]:
        """Means of the rows and columns of matrices, all of vectors."""
        return ("row_var", "col_var") if len(p.shape) > 1 else ("variance",)

    def first(self, name: str, p: Any, group: ParamGroup) -> np.ndarray:
        shapes = {"row_var": (*p.shape[:-1], 1), "col_var": (*p.shape[:-2], 1, *p.shape[-1:])}
        return np.zeros(shapes.get(name, p.shape), p.dtype)

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {"inflow": F.pow(t, hyper("beta2_decay")), "rho": F.minimum(hyper("lr"), 1 / F.sqrt(t))}

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        least, scale = group["eps"]
        least = float(finfo(p.dtype).eps) if least is None else least
        inflow, square = hyper("inflow"), F.square(g)

        def running(name: str, value: Any) -> Any:
            return slots[name] + inflow * (value - slots[name])

        if len(p.shape) > 1:
            rows, columns = running("row_var", F.mean(square, -1, True)), running("col_var", F.mean(square, -2, True))
            v = F.matmul(rows, columns) / F.maximum(F.mean(rows, -2, True), least)
            kept = {"row_var": rows, "col_var": columns}
        else:
            v = running("variance", square)
            kept = {"variance": v}
        u = g * F.rsqrt(F.maximum(v, least * least))
        step = F.maximum(_rms(p), scale) * hyper("rho") / F.maximum(_rms(u) / hyper("d"), 1.0)
        return p * (1 - hyper("lr") * hyper("weight_decay")) - step * u, kept


def _rms(x: Any) -> Any:
    return F.sqrt(F.mean(F.square(x)))
