"""Adam and AdamW."""

from __future__ import annotations

from typing import Any

from ..operators import F
from ..operators import Tensor as AnyTensor
from .checks import as_tuple, at_least_zero, two_below_one
from .groups import ParamGroup
from .optimizer import Hyper, Optimizer


class Adam(Optimizer):
    """m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  p - lr (m / c1) / (sqrt(v / c2) + eps).

    c1 = 1 - beta1^t and c2 = 1 - beta2^t correct the zero start; `weight_decay` adds weight_decay p to g.
    Raises ArgumentError for negative numbers and betas outside [0, 1).
    Source: Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1; eps as in PyTorch.

    Examples:
        >>> model = nn.Linear(3, 1)
        >>> opt = optim.Adam(model.parameters(), lr=1e-2)
        >>> for _ in range(3):
        ...     loss = (model(sg.ones((4, 3))) ** 2).mean()
        ...     opt.zero_grad()
        ...     loss.backward()
        ...     opt.step()
        >>> opt.lr = 1e-3
    """

    def __init__(
        self,
        params: Any = None,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 0.0,
    ):
        super().__init__(params, {"lr": lr, "betas": as_tuple(betas), "eps": eps, "weight_decay": weight_decay})

    def check(self, group: ParamGroup) -> None:
        at_least_zero("learning rate", group["lr"])
        at_least_zero("epsilon value", group["eps"])
        two_below_one(group["betas"])
        at_least_zero("weight_decay value", group["weight_decay"])

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def counts(self, group: ParamGroup) -> bool:
        return True

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        beta1, beta2 = hyper("beta1"), hyper("beta2")
        return {
            "inflow1": 1 - beta1,
            "inflow2": 1 - beta2,
            "step_size": hyper("lr") / (1 - beta1**t),
            "root_scale": 1 / F.sqrt(1 - beta2**t),
        }

    def rule(
        self, p: AnyTensor, g: AnyTensor, slots: dict[str, AnyTensor], hyper: Hyper, group: ParamGroup
    ) -> tuple[AnyTensor, dict[str, AnyTensor]]:
        if group.uses("weight_decay"):
            g = g + hyper("weight_decay") * p
        return self.moved(p, g, slots, hyper)

    def moved(
        self, p: AnyTensor, g: AnyTensor, slots: dict[str, AnyTensor], hyper: Hyper
    ) -> tuple[AnyTensor, dict[str, AnyTensor]]:
        """The step without weight decay."""
        m = hyper("beta1") * slots["exp_avg"] + hyper("inflow1") * g
        v = hyper("beta2") * slots["exp_avg_sq"] + hyper("inflow2") * (g * g)
        new_p = p - hyper("step_size") * m / (F.sqrt(v) * hyper("root_scale") + hyper("eps"))
        return new_p, {"exp_avg": m, "exp_avg_sq": v}


class AdamW(Adam):
    """Adam with decoupled weight decay: p shrinks by the factor 1 - lr weight_decay first; g is left alone.

    Raises ArgumentError as Adam does. Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR
    2019, algorithm 2, with PyTorch's scaling by lr.
    """

    def __init__(
        self,
        params: Any = None,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: Any = 1e-8,
        weight_decay: Any = 1e-2,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        scalars = super().scalars(group, hyper, t)
        if group.uses("weight_decay"):
            scalars["shrink"] = 1 - hyper("lr") * hyper("weight_decay")
        return scalars

    def rule(
        self, p: AnyTensor, g: AnyTensor, slots: dict[str, AnyTensor], hyper: Hyper, group: ParamGroup
    ) -> tuple[AnyTensor, dict[str, AnyTensor]]:
        return self.moved(hyper("shrink") * p if group.uses("weight_decay") else p, g, slots, hyper)
