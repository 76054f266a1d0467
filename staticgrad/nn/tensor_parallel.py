"""Linear layers whose weights are divided among processes: columns of the first of a pair, rows of the second.

Source: Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism" (2019). Between
the two each process has its part of the features; outside of them all processes have the same values and the same loss, so each
of them differentiates that loss, and not the sum of all.
"""

from __future__ import annotations

from typing import Any

from .. import functional
from ..autograd.function import Function
from ..base.types import DTypeLike
from ..errors import ArgumentError
from ..operators import Tensor as AnyTensor
from ..operators import TensorLike
from .layers import Linear
from .module import Module
from .parameter import Parameter


class _Divide(Function):
    """All processes have x, and go on with parts of what is made of it: its cotangent is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, x: Any, group: Any) -> Any:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Join.apply(g, ctx.group), None


class _Join(Function):
    """The sum of what the processes have, in all of them: each one's cotangent is that of the sum."""

    @staticmethod
    def forward(ctx: Any, x: Any, group: Any) -> Any:
        from ..distributed.nn.functional import all_reduce

        ctx.group = group
        return all_reduce(x, group=group)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _Divide.apply(g, ctx.group), None


class _Part(Module):
    """A linear layer of which this process has a part of the features."""

    weight: AnyTensor
    bias: AnyTensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, process_group: Any = None, device: Any = None,
        dtype: DTypeLike | None = None,
    ):  # fmt: skip
        from ..distributed.process_groups import member

        super().__init__()
        of = member(process_group, type(self).__name__)
        self.in_features, self.out_features, self.process_group = in_features, out_features, process_group
        features = (out_features, in_features)[self.axis]
        if features % of.size:
            raise ArgumentError(f"{type(self).__name__}: {features} features can't be divided among {of.size} processes")
        whole = Linear(in_features, out_features, bias, device, dtype)
        count = features // of.size
        self._mine = slice(of.rank * count, (of.rank + 1) * count)
        self.weight = Parameter(self._part(whole.weight.detach(), self.axis))
        own = None if whole.bias is None else whole.bias.detach()
        if own is not None and self.axis == 0:
            own = self._part(own, 0)
        self.register_parameter("bias", None if own is None else Parameter(own.clone()))

    axis = 0
    """The axis of the weight that is divided."""

    def _part(self, x: Any, axis: int) -> Any:
        return (x[self._mine] if axis == 0 else x[:, self._mine]).clone()

    def load_whole(self, weight: Any, bias: Any = None) -> None:
        """Take this process's part of the weight and bias of a whole layer."""
        self.weight.detach().copy_(self._part(weight.detach(), self.axis))
        if self.bias is not None and bias is not None:
            self.bias.detach().copy_(self._part(bias.detach(), 0) if self.axis == 0 else bias.detach())

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class ColumnParallelLinear(_Part):
    """A linear layer of which each process has some of the results; the first of a pair, whose second is `RowParallelLinear`.

    x (..., in_features), the same in all processes -> (..., out_features / processes). What follows works on these features one
    by one, as activations do. The weight has shape (out_features / processes, in_features) and begins as the part of a whole
    layer's that `nn.Linear` would make, so one seed gives all processes parts of one layer. `load_whole(weight, bias)` takes
    the part of another one. Raises DistError before `init_process_group`, ArgumentError for features that can't be divided.
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.linear(_Divide.apply(input, self.process_group), self.weight, self.bias)


class RowParallelLinear(_Part):
    """A linear layer of which each process has some of the inputs; the second of a pair, see `ColumnParallelLinear`.

    x (..., in_features / processes) -> (..., out_features), the same in all processes: the sum of what each of them computes,
    and the bias, which all have. The weight has shape (out_features, in_features / processes). Raises DistError, ArgumentError.
    """

    axis = 1

    def forward(self, input: TensorLike) -> AnyTensor:
        total: AnyTensor = _Join.apply(functional.linear(input, self.weight), self.process_group)
        return total if self.bias is None else total + self.bias
