"""Adam and its relatives: steps divided by a running size of the gradient."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ..base.types import shape_text
from ..eager import Tensor
from ..errors import GradientError
from ..ops.gathering import gather_op, index_add_op, scatter_op
from ..ops.operators import F, Symbol, apply
from ..ops.operators import Tensor as AnyTensor
from ..ops.sparse_rows import first_of_op, rows_in_graph, rows_of
from .groups import ParamGroup, above_zero, at_least_zero, only_real, two_below_one
from .optimizer import Hyper, Named, Optimizer, Updated, hyperparameters, with_decay


def decayed(p: AnyTensor, g: AnyTensor, hyper: Hyper, group: ParamGroup) -> tuple[AnyTensor, AnyTensor]:
    """(p, g) with weight decay: added to g, or shrinking p where it is decoupled (`shrunk` gives the factor)."""
    if group["decoupled_weight_decay"] and group.uses("weight_decay"):
        return hyper("shrink") * p, g
    return p, with_decay(p, g, hyper, group)


def shrunk(group: ParamGroup, hyper: Hyper) -> dict[str, Any]:
    """The factor 1 - lr weight_decay of decoupled weight decay."""
    decoupled = group["decoupled_weight_decay"] and group.uses("weight_decay")
    return {"shrink": 1 - hyper("lr") * hyper("weight_decay")} if decoupled else {}


class _Moments(Optimizer):
    """First and second moments of the gradient, and how many there were."""

    not_negative: ClassVar[tuple[str, ...]] = ("lr", "eps", "betas", "weight_decay")
    flags: ClassVar[tuple[str, ...]] = ("decoupled_weight_decay",)
    kept_slots: ClassVar[tuple[str, ...]] = ("exp_avg", "exp_avg_sq")
    counts_steps = True

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {"inflow1": 1 - hyper("beta1"), "inflow2": 1 - hyper("beta2"), **shrunk(group, hyper)}

    def moments(self, g: AnyTensor, slots: dict[str, AnyTensor], hyper: Hyper) -> tuple[AnyTensor, AnyTensor]:
        """Both moments with this gradient in them."""
        m = hyper("beta1") * slots["exp_avg"] + hyper("inflow1") * g
        return m, hyper("beta2") * slots["exp_avg_sq"] + hyper("inflow2") * (g * g)


class Adam(_Moments):
    """m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  p - lr (m / c1) / (sqrt(v / c2) + eps).

    c1 = 1 - beta1^t and c2 = 1 - beta2^t correct the zero start; `weight_decay` adds weight_decay p to g, or with
    `decoupled_weight_decay` shrinks p first. amsgrad: v / c2 is divided by at its largest so far (Reddi et al., 2018).
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

    flags = ("decoupled_weight_decay", "amsgrad")

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None: ...  # fmt: skip

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        return (*super().slots(group), "max_exp_avg_sq") if group["amsgrad"] else super().slots(group)

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {
            **super().scalars(group, hyper, t),
            "step_size": hyper("lr") / (1 - hyper("beta1") ** t),
            "root_scale": 1 / F.sqrt(1 - hyper("beta2") ** t),
        }

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        p, g = decayed(p, g, hyper, group)
        m, v = self.moments(g, slots, hyper)
        after = {"exp_avg": m, "exp_avg_sq": v}
        if group["amsgrad"]:
            v = after["max_exp_avg_sq"] = F.maximum(slots["max_exp_avg_sq"], v)
        return p - hyper("step_size") * m / (F.sqrt(v) * hyper("root_scale") + hyper("eps")), after


class AdamW(Adam):
    """Adam with decoupled weight decay: p shrinks by the factor 1 - lr weight_decay first; g is left alone.

    Raises ArgumentError as Adam does. Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR
    2019, algorithm 2, with PyTorch's scaling by lr.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.AdamW([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.detach()
        tensor([0.8990])
    """

    @hyperparameters(decoupled_weight_decay=True)
    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
        capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None: ...  # fmt: skip


class NAdam(_Moments):
    """Adam with Nesterov's momentum, whose factor mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) grows towards beta1.

    p - lr ((1 - mu_t) / (1 - M_t) g + mu_{t+1} / (1 - M_t mu_{t+1}) m) / (sqrt(v / c2) + eps), M_t = mu_1 ... mu_t.
    Raises ArgumentError as Adam does. Source: Dozat, "Incorporating Nesterov momentum into Adam", 2016.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item() < 1
        True
    """

    not_negative = (*_Moments.not_negative, "momentum_decay")
    scalar_slots = frozenset({"mu_product"})

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 2e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, momentum_decay: Any = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None: ...  # fmt: skip

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        return ("mu_product", *super().slots(group))

    def start(self, name: str, group: ParamGroup) -> Any:
        return 1.0 if name == "mu_product" else 0.0

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        def mu(step: Any) -> Any:
            return hyper("beta1") * (1 - 0.5 * 0.96 ** (step * hyper("momentum_decay")))

        return {
            **super().scalars(group, hyper, t),
            "root_scale": 1 / F.sqrt(1 - hyper("beta2") ** t),
            "float64": {"mu": mu(t), "mu_next": mu(t + 1), "lr": hyper("lr")},
        }

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        p, g = decayed(p, g, hyper, group)
        m, v = self.moments(g, slots, hyper)
        exact = hyper("float64")
        mu, mu_next, lr = exact["mu"], exact["mu_next"], exact["lr"]
        product = slots["mu_product"] * mu
        now = F.astype(lr * (1 - mu) / (1 - product), p.dtype)
        ahead = F.astype(lr * mu_next / (1 - product * mu_next), p.dtype)
        size = F.sqrt(v) * hyper("root_scale") + hyper("eps")
        return p - (now * g + ahead * m) / size, {"exp_avg": m, "exp_avg_sq": v, "mu_product": product}


class RAdam(_Moments):
    """Adam whose division starts once the variance of its divisor is finite, which is after about five steps.

    With rho_inf = 2 / (1 - beta2) - 1 and rho = rho_inf - 2 t beta2^t / c2: p - lr m / c1 while rho <= 5, then
    p - lr r (m / c1) sqrt(c2) / (sqrt(v) + eps) with
    r^2 = (rho - 4) (rho - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho). Raises ArgumentError as Adam does.
    Source: Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020, algorithm 2.

    Examples:
        >>> w = sg.tensor([1.0], requires_grad=True)
        >>> opt = optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> opt.step()
        >>> w.item() < 1
        True
    """

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False,
    ) -> None: ...  # fmt: skip

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        beta1, beta2 = hyper("beta1"), hyper("beta2")
        c2 = 1 - beta2**t
        limit = 2 / (1 - beta2) - 1
        rho = limit - 2 * t * beta2**t / c2
        safe = F.where(F.gt(rho, 5), rho, 5.0)
        square = (safe - 4) * (safe - 2) * limit / ((limit - 4) * (limit - 2) * safe)
        rectified = F.gt(rho, 5)
        return {
            **super().scalars(group, hyper, t),
            "step_size": hyper("lr") / (1 - beta1**t),
            "rectified": F.astype(rectified, np.float64),
            "root": F.sqrt(c2 * F.where(rectified, square, 0.0)),
        }

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        p, g = decayed(p, g, hyper, group)
        m, v = self.moments(g, slots, hyper)
        factor = F.where(F.gt(hyper("rectified"), 0), hyper("root") / (F.sqrt(v) + hyper("eps")), F.astype(1.0, p.dtype))
        return p - hyper("step_size") * m * factor, {"exp_avg": m, "exp_avg_sq": v}


class Adamax(_Moments):
    """Adam with the largest gradient in place of the root of the second moment: u = max(beta2 u, |g| + eps);
    p - lr / c1 m / u. Raises ArgumentError as Adam does. Source: Kingma and Ba, ICLR 2015, algorithm 2.
    """

    kept_slots = ("exp_avg", "exp_inf")

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 2e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None: ...  # fmt: skip

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        return {"inflow1": 1 - hyper("beta1"), "step_size": hyper("lr") / (1 - hyper("beta1") ** t)}

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        g = with_decay(p, g, hyper, group)
        m = hyper("beta1") * slots["exp_avg"] + hyper("inflow1") * g
        u = F.maximum(hyper("beta2") * slots["exp_inf"], F.abs(g) + hyper("eps"))
        return p - hyper("step_size") * m / u, {"exp_avg": m, "exp_inf": u}


# Adam for tables of which a step uses a few rows ---------------------------------------------------------------------


class SparseAdam(Optimizer):
    """Adam of the rows that a step used, for the weights of embeddings: all other rows, and their moments, stay as they are.

    m += (1 - beta1) (g - m) and v += (1 - beta2) (g^2 - v) for these rows, g being summed over what names a row several
    times; p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps). A compiled step never walks the table.

    maximize: go up along the gradient. Takes gradients that are 0 except in some rows by construction: those of `embedding`,
    `embedding_bag` and indexing along axis 0, sums of such, times numbers. In eager code, `.grad` has to be what backward()
    left. Raises GradientError for other gradients, before anything is changed, and ArgumentError for numbers that are not
    positive and betas outside [0, 1). Source: PyTorch's SparseAdam.

    Examples:
        >>> table = sg.ones(4, 2, requires_grad=True)
        >>> opt = optim.SparseAdam([table], lr=0.1)
        >>> F.embedding(sg.tensor([1]), table).sum().backward()
        >>> opt.step()
        >>> table.detach()[:2]
        tensor([[1.0000, 1.0000],
                [0.9000, 0.9000]])
    """

    flags = ("maximize",)
    kept_slots = ("exp_avg", "exp_avg_sq")
    counts_steps = True

    @hyperparameters()
    def __init__(
        self, params: Any = None, lr: Any = 1e-3, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        maximize: bool = False,
    ) -> None: ...  # fmt: skip

    def check(self, group: ParamGroup) -> None:
        above_zero("learning rate", group["lr"])
        above_zero("epsilon value", group["eps"])
        two_below_one(group["betas"])
        only_real("SparseAdam", group)

    def sense(self, group: ParamGroup) -> None:
        at_least_zero("learning rate", group["lr"])  # where schedules begin or end
        self.check(ParamGroup({**group, "lr": 1.0}))

    def ascent(self, g: Any, group: ParamGroup) -> Any:
        """g: `rule` reads its rows first, which the negated gradient doesn't tell."""
        return g

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        beta1, beta2 = hyper("beta1"), hyper("beta2")
        return {
            "inflow1": 1 - beta1,
            "inflow2": 1 - beta2,
            "step_size": hyper("lr") * F.sqrt(1 - beta2**t) / (1 - beta1**t),
        }

    def rule(self, p: AnyTensor, g: AnyTensor, slots: Named, hyper: Hyper, group: ParamGroup) -> Updated:
        found = rows_in_graph(g, p) if isinstance(g, Symbol) else _of_array(g)
        if found is None:
            raise GradientError(
                "SparseAdam does not support dense gradients, please consider Adam instead",
                f"the gradient of a parameter {shape_text(p.shape)} is not that of rows taken along axis 0, or was changed "
                "after backward()",
            )
        values, index = found
        if group["maximize"]:
            values = -values
        first = apply(first_of_op, index, p)
        total = apply(scatter_op, values, values, first, axis=0)
        alone = F.reshape(F.eq(first, F.index_along(first, 0)), (-1,) + (1,) * (len(p.shape) - 1))

        def moved(place: Any, by: Any) -> Any:
            return apply(index_add_op, place, F.where(alone, by, F.astype(0.0, p.dtype)), index)

        m, v = (apply(gather_op, slots[name], index, axis=0) for name in ("exp_avg", "exp_avg_sq"))
        dm, dv = hyper("inflow1") * (total - m), hyper("inflow2") * (total * total - v)
        by = -(hyper("step_size") * (m + dm) / (F.sqrt(v + dv) + hyper("eps")))
        return moved(p, by), {"exp_avg": moved(slots["exp_avg"], dm), "exp_avg_sq": moved(slots["exp_avg_sq"], dv)}


def _of_array(g: Any) -> tuple[Any, Any] | None:
    """(values of rows, their positions) of an eager gradient; None where it is, or was made, another."""
    noted = rows_of(g._data)
    if noted is None:
        return None
    rows = np.unique(noted)
    values = g._data[rows]
    if np.count_nonzero(values) != np.count_nonzero(g._data):
        return None
    return Tensor(values), Tensor(rows)
