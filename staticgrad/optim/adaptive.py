"""Steps with a size of their own for each element: Adagrad, Adadelta, RMSprop, Rprop; and averaged SGD."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops.operators import F
from .groups import ParamGroup, any_number, at_least_zero, is_one_number
from .optimizer import Hyper, Named, Optimizer, Updated, hyperparameters, with_decay


class Adagrad(Optimizer):
    """s = s + g^2;  p - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps), where s starts as initial_accumulator_value.

    Raises ArgumentError for negative numbers. Source: Duchi, Hazan and Singer, "Adaptive subgradient methods", 2011.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.detach()
        tensor([0.9000])
    """

    not_negative = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    kept_slots = ("sum",)
    counts_steps = True

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-2, lr_decay: Any = 0, weight_decay: Any = 0,
        initial_accumulator_value: Any = 0, eps: Any = 1e-10, foreach: bool | None = None, *, maximize: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None: ...  # fmt: skip

    def start(self, name: str, group: ParamGroup) -> Any:
        return group["initial_accumulator_value"]

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {"step_size": hyper("lr") / (1 + (t - 1) * hyper("lr_decay"))}

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        g = with_decay(p, g, hyper, group)
        total = slots["sum"] + g * g
        return p - hyper("step_size") * g / (F.sqrt(total) + hyper("eps")), {"sum": total}


class Adadelta(Optimizer):
    """v = rho v + (1 - rho) g^2;  d = sqrt(u + eps) / sqrt(v + eps) g;  u = rho u + (1 - rho) d^2;  p - lr d.

    Raises ArgumentError for negative numbers and rho above 1. Source: Zeiler, "ADADELTA", 2012, algorithm 1.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.Adadelta([w])
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item() < 1
        True
    """

    not_negative = ("lr", "rho", "eps", "weight_decay")
    kept_slots = ("square_avg", "acc_delta")
    counts_steps = True

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1.0, rho: Any = 0.9, eps: Any = 1e-6, weight_decay: Any = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        super().check(group)
        if is_one_number(group["rho"]) and isinstance(group["rho"], (int, float)) and group["rho"] > 1:
            raise ArgumentError(f"Invalid rho value: {group['rho']}")

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {"inflow": 1 - hyper("rho")}

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        g = with_decay(p, g, hyper, group)
        v = hyper("rho") * slots["square_avg"] + hyper("inflow") * (g * g)
        d = F.sqrt(slots["acc_delta"] + hyper("eps")) / F.sqrt(v + hyper("eps")) * g
        u = hyper("rho") * slots["acc_delta"] + hyper("inflow") * (d * d)
        return p - hyper("lr") * d, {"square_avg": v, "acc_delta": u}


class RMSprop(Optimizer):
    """v = alpha v + (1 - alpha) g^2;  p - lr g / (sqrt(v) + eps), along a momentum buffer b = momentum b + that quotient.

    centered: v less the square of the running mean of g. Raises ArgumentError for negative numbers.
    Source: Hinton, lecture 6 of "Neural networks for machine learning", 2012; centered: Graves, 2013.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.RMSprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item() < 1
        True
    """

    not_negative = ("lr", "eps", "momentum", "weight_decay", "alpha")
    flags = ("centered",)
    counts_steps = True

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-2, alpha: Any = 0.99, eps: Any = 1e-8, weight_decay: Any = 0,
        momentum: Any = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None: ...  # fmt: skip

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        momentum = ("momentum_buffer",) if group.uses("momentum") else ()
        return ("square_avg", *momentum, *(("grad_avg",) if group["centered"] else ()))

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {"inflow": 1 - hyper("alpha")}

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        g = with_decay(p, g, hyper, group)
        v = hyper("alpha") * slots["square_avg"] + hyper("inflow") * (g * g)
        after = {"square_avg": v}
        if group["centered"]:
            mean = after["grad_avg"] = slots["grad_avg"] + hyper("inflow") * (g - slots["grad_avg"])
            v = v - mean * mean
        step = g / (F.sqrt(v) + hyper("eps"))
        if group.uses("momentum"):
            step = after["momentum_buffer"] = hyper("momentum") * slots["momentum_buffer"] + step
        return p - hyper("lr") * step, after


class Rprop(Optimizer):
    """Steps of a size that grows by etas[1] while an element of the gradient keeps its sign and shrinks by etas[0] where it
    changes, within step_sizes; there the element waits for one step. The size starts as lr.

    Raises ArgumentError unless 0 < etas[0] < 1 < etas[1]. Source: Riedmiller and Braun, 1993, without backtracking.
    """

    not_negative = ("lr",)
    kept_slots = ("prev", "step_size")
    counts_steps = True

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-2, etas: tuple[Any, Any] = (0.5, 1.2),
        step_sizes: tuple[Any, Any] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        super().check(group)
        for name in ("etas", "step_sizes"):
            if not isinstance(group[name], tuple) or len(group[name]) != 2:
                raise ArgumentError(f"{name} are two numbers, got {group[name]!r}")
            for value in group[name]:
                at_least_zero(f"{name} value", value)
        if not 0.0 < group["etas"][0] < 1.0 < group["etas"][1]:
            raise ArgumentError(f"Invalid eta values: {group['etas'][0]}, {group['etas'][1]}")

    def start(self, name: str, group: ParamGroup) -> Any:
        return group["lr"] if name == "step_size" else 0.0

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        agreement = g * slots["prev"]
        turned = F.lt(agreement, 0)
        same = F.where(F.gt(agreement, 0), hyper("etaplus"), F.astype(1.0, p.dtype))
        grown = slots["step_size"] * F.where(turned, hyper("etaminus"), same)
        size = F.minimum(F.maximum(grown, hyper("step_size_min")), hyper("step_size_max"))
        g = F.where(turned, F.astype(0.0, p.dtype), g)
        return p - F.sign(g) * size, {"prev": g, "step_size": size}


class ASGD(Optimizer):
    """SGD with steps eta = lr / (1 + lambd lr t)^alpha and decay 1 - lambd eta, and `ax`, the average of p from step t0 on.

    Raises ArgumentError for a negative learning rate or weight decay.
    Source: Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992.
    """

    not_negative = ("lr", "weight_decay")
    kept_slots = ("eta", "mu", "ax")
    counts_steps = True
    scalar_slots = frozenset({"eta", "mu"})

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-2, lambd: Any = 1e-4, alpha: Any = 0.75, t0: Any = 1e6, weight_decay: Any = 0,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        super().check(group)
        for name in ("lambd", "alpha", "t0"):
            any_number(f"{name} value", group[name])

    def start(self, name: str, group: ParamGroup) -> Any:
        return {"eta": group["lr"], "mu": 1.0, "ax": 0.0}[name]

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        lr, lambd = hyper("lr"), hyper("lambd")
        return {
            "float64": {
                "lambd": lambd,
                "eta": lr / (1 + lambd * lr * t) ** hyper("alpha"),
                "mu": 1 / F.maximum(t - hyper("t0"), 1.0),
            }
        }

    def rule(self, p: Any, g: Any, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        g = with_decay(p, g, hyper, group)
        exact = hyper("float64")
        p = F.astype(1 - exact["lambd"] * slots["eta"], p.dtype) * p - F.astype(slots["eta"], p.dtype) * g
        mean = F.where(F.eq(slots["mu"], 1), p, slots["ax"] + (p - slots["ax"]) * F.astype(slots["mu"], p.dtype))
        return p, {"eta": exact["eta"], "mu": exact["mu"], "ax": mean}
