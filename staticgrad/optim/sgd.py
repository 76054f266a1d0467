"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..operators import F
from ..operators import Tensor as AnyTensor
from .groups import ParamGroup, any_number, at_least_zero, flag
from .optimizer import Hyper, Optimizer, hyperparameters, with_decay


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

    @hyperparameters()
    def __init__(
        self,
        params: Any = None,
        lr: Any = 1e-3,
        momentum: Any = 0,
        dampening: Any = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None: ...

    def check(self, group: ParamGroup) -> None:
        at_least_zero("learning rate", group["lr"])
        at_least_zero("momentum value", group["momentum"])
        any_number("dampening value", group["dampening"])
        at_least_zero("weight_decay value", group["weight_decay"])
        flag("nesterov", group["nesterov"])
        if group["nesterov"] and (not group.uses("momentum") or group.uses("dampening")):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        return ("momentum_buffer",) if group.uses("momentum") else ()

    saves_count = False

    def counts(self, group: ParamGroup) -> bool:
        return group.uses("momentum") and group.uses("dampening")

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        if t is None:
            return {}
        later = F.astype(F.gt(t, 1), np.float64)
        return {"inflow": 1 - hyper("dampening") * later}

    def rule(
        self, p: AnyTensor, g: AnyTensor, slots: dict[str, AnyTensor], hyper: Hyper, group: ParamGroup
    ) -> tuple[AnyTensor, dict[str, AnyTensor]]:
        g = with_decay(p, g, hyper, group)
        if not group.uses("momentum"):
            return p - hyper("lr") * g, {}
        inflow = hyper("inflow") * g if self.counts(group) else g
        b = hyper("momentum") * slots["momentum_buffer"] + inflow
        along = g + hyper("momentum") * b if group["nesterov"] else b
        return p - hyper("lr") * along, {"momentum_buffer": b}
