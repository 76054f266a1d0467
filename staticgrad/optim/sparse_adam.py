"""Adam for tables of which a step uses a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import shape_text
from ..eager import Tensor
from ..errors import GradientError
from ..operators import F, Symbol, apply
from ..operators import Tensor as AnyTensor
from ..ops.gathering import gather_op, index_add_op, scatter_op
from ..ops.sparse_rows import first_of_op, rows_in_graph, rows_of
from .groups import ParamGroup, above_zero, at_least_zero, flag, only_real, two_below_one
from .optimizer import Hyper, Optimizer, hyperparameters


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

    @hyperparameters()
    def __init__(
        self,
        params: Any = None,
        lr: Any = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: Any = 1e-8,
        maximize: bool = False,
    ) -> None: ...

    def check(self, group: ParamGroup) -> None:
        above_zero("learning rate", group["lr"])
        above_zero("epsilon value", group["eps"])
        two_below_one(group["betas"])
        flag("maximize", group["maximize"])
        only_real("SparseAdam", group)

    def sense(self, group: ParamGroup) -> None:
        at_least_zero("learning rate", group["lr"])  # where schedules begin or end
        self.check(ParamGroup({**group, "lr": 1.0}))

    def ascent(self, g: Any, group: ParamGroup) -> Any:
        """g: `rule` reads its rows first, which the negated gradient doesn't tell."""
        return g

    def slots(self, group: ParamGroup) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def counts(self, group: ParamGroup) -> bool:
        return True

    def scalars(self, group: ParamGroup, hyper: Hyper, t: Any) -> dict[str, Any]:
        beta1, beta2 = hyper("beta1"), hyper("beta2")
        return {
            "inflow1": 1 - beta1,
            "inflow2": 1 - beta2,
            "step_size": hyper("lr") * F.sqrt(1 - beta2**t) / (1 - beta1**t),
        }

    def rule(
        self, p: AnyTensor, g: AnyTensor, slots: dict[str, AnyTensor], hyper: Hyper, group: ParamGroup
    ) -> tuple[AnyTensor, dict[str, AnyTensor]]:
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
