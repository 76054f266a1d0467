"""Normalization layers, with PyTorch's names and first values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.types import DTypeLike, ShapeLike
from ..eager import Tensor
from ..errors import ArgumentError, ShapeError
from ..namespaces import functional
from ..namespaces.functional.normalization import check_eps, kept, renew
from ..ops.operators import F, TensorLike
from ..ops.operators import Tensor as AnyTensor
from . import init
from .layers import _extent, _extents
from .module import Module
from .parameter import Parameter, room_on, tensor_of

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossMapLRN2d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d",
    "InstanceNorm3d", "LocalResponseNorm", "RMSNorm", "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """Weight (ones) and bias (zeros) of (num_features,); running_mean, running_var and num_batches_tracked are buffers.

    They change at each training step, in every mode: in a Session with the optimizer's step, or as
    `sg.get_collection("update_ops")`.
    """

    weight: Tensor | None
    bias: Tensor | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    _version = 2
    dims: tuple[int, ...] = ()

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True,
    ):  # fmt: skip
        super().__init__()
        n = self.num_features = _extent(type(self).__name__, "num_features", num_features)
        self.eps = float(check_eps(type(self).__name__, eps))
        self.momentum = momentum
        self.affine = bool(affine)
        self.track_running_stats = bool(track_running_stats)
        room = room_on(device, dtype)
        self.register_parameter("weight", Parameter(room(n, 1)) if affine else None)
        self.register_parameter("bias", Parameter(room(n, 0)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", tensor_of(room(n, 0)) if tracked else None)
        self.register_buffer("running_var", tensor_of(room(n, 1)) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor_of(room((), 0, np.dtype(np.int64))) if tracked else None)

    def reset_running_stats(self) -> None:
        """Mean 0, variance 1, no batches."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """First values again, of statistics too."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """Statistics of the whole batch."""

    def forward(self, input: AnyTensor) -> AnyTensor:
        if len(input.shape) not in self.dims:
            raise ShapeError(f"expected {' or '.join(f'{d}D' for d in self.dims)} input (got {len(input.shape)}D input)")
        momentum: Any = 0.0 if self.momentum is None else self.momentum
        counts = self.training and self.num_batches_tracked is not None
        count = kept(self.num_batches_tracked, input) + 1 if counts else None
        if count is not None and self.momentum is None:  # the plain average of all batches
            momentum = 1 / count.astype(input.dtype)
        out = functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or self.running_mean is None, momentum, self.eps,
        )  # fmt: skip
        if count is not None:
            renew(self.num_batches_tracked, count, input)
        return out


class BatchNorm1d(_BatchNorm):
    """`functional.batch_norm` of (n, c) or (n, c, l).

    Examples:
        >>> nn.BatchNorm1d(4)(sg.randn(8, 4)).shape
        torch.Size([8, 4])
    """

    dims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`functional.batch_norm` of (n, c, h, w).

    Examples:
        >>> nn.BatchNorm2d(3)(sg.randn(2, 3, 5, 5)).shape
        torch.Size([2, 3, 5, 5])
    """

    dims = (4,)


class BatchNorm3d(_BatchNorm):
    """`functional.batch_norm` of (n, c, d, h, w)."""

    dims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm by the statistics of the batches of all processes of a group (of (n, c, ...)), with gradients through them.

    It takes part in every exchange, so all processes have to call it equally often. Before `init_process_group`, and with one
    process, it is batch norm.
    """

    dims = (2, 3, 4, 5)

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def forward(self, input: AnyTensor) -> AnyTensor:
        from ..distributed.process_groups import get_world_size, is_initialized

        several = is_initialized() and get_world_size(self.process_group) > 1
        if not several or not (self.training or self.running_mean is None):
            return super().forward(input)
        if len(input.shape) not in self.dims:
            raise ShapeError(f"expected at least 2D input (got {len(input.shape)}D input)")
        from ..distributed.nn.functional import all_reduce

        axes = (0, *range(2, len(input.shape)))
        along = (1, -1) + (1,) * (len(input.shape) - 2)
        ones = F.ones_like(input[:, :1]).sum().reshape(1)  # in each process another number of samples, maybe
        sums = all_reduce(F.concatenate([F.sum(input, axes), ones], 0), "sum", self.process_group)
        count = sums[-1].detach()
        mean = sums[:-1] / count
        centered = input - mean.reshape(along)
        var = all_reduce(F.sum(centered * centered, axes), "sum", self.process_group) / count
        if self.num_batches_tracked is not None:
            number = kept(self.num_batches_tracked, input) + 1
            momentum: Any = 1 / number.astype(input.dtype) if self.momentum is None else self.momentum
            for held, now in ((self.running_mean, mean), (self.running_var, var * (count / (count - 1)))):
                renew(held, kept(held, input) * (1 - momentum) + now.detach() * momentum, input)
            renew(self.num_batches_tracked, number, input)
        out: AnyTensor = centered * F.rsqrt(var.reshape(along) + self.eps)
        if self.weight is not None:
            out = out * self.weight.reshape(along)
        return out if self.bias is None else out + self.bias.reshape(along)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """Replace each batch norm in a module by one of this class, with the same parameters and statistics."""
        made: Module = module
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            made = synced = cls(
                module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats, process_group
            )
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(synced, name, getattr(module, name))
            synced.training = module.training
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made


class _InstanceNorm(_NormBase):
    """As batch norm, for each sample by itself; by default without weights and running statistics."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: AnyTensor) -> AnyTensor:
        most = self.dims[0]
        if len(input.shape) not in (most - 1, most):
            raise ShapeError(f"expected {most - 1}D or {most}D input (got {len(input.shape)}D input)")
        channels = input.shape[len(input.shape) - most + 1]
        if self.affine and channels is not None and channels != self.num_features:
            raise ShapeError(
                f"expected input's size at dim=1 to match num_features ({self.num_features}), but got: {channels}."
            )
        single = len(input.shape) == most - 1
        out = functional.instance_norm(
            F.expand_dims(input, 0) if single else input, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or self.running_mean is None, 0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return F.squeeze(out, 0) if single else out


class InstanceNorm1d(_InstanceNorm):
    """`functional.instance_norm` of (n, c, l) or (c, l)."""

    dims = (3,)


class InstanceNorm2d(_InstanceNorm):
    """`functional.instance_norm` of (n, c, h, w) or (c, h, w)."""

    dims = (4,)


class InstanceNorm3d(_InstanceNorm):
    """`functional.instance_norm` of (n, c, d, h, w) or (c, d, h, w)."""

    dims = (5,)


class LocalResponseNorm(Module):
    """`functional.local_response_norm`."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` by an older name; an even `size` reaches as far as the odd one below it.

    PyTorch's own never takes the first channel out of its running sum, so its values differ for later channels; its gradient
    is that of the windows as they are here.
    """

    def forward(self, input: TensorLike) -> AnyTensor:
        width = self.size - 1 + self.size % 2
        return functional.local_response_norm(input, width, self.alpha * width / self.size, self.beta, self.k)


class GroupNorm(Module):
    """`functional.group_norm` with weight (ones) and bias (zeros) of (num_channels,). Raises ArgumentError.

    Examples:
        >>> nn.GroupNorm(2, 4)(sg.randn(2, 4, 5)).shape
        torch.Size([2, 4, 5])
    """

    weight: Tensor | None
    bias: Tensor | None

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: DTypeLike | None = None, *, bias: bool = True,
    ):  # fmt: skip
        super().__init__()
        self.num_groups = _extent("GroupNorm", "num_groups", num_groups)
        self.num_channels = _extent("GroupNorm", "num_channels", num_channels)
        if self.num_groups == 0 or self.num_channels % self.num_groups:
            raise ArgumentError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.eps = float(check_eps("GroupNorm", eps))
        self.affine = bool(affine)
        room = room_on(device, dtype)
        self.register_parameter("weight", Parameter(room(self.num_channels, 1)) if affine else None)
        self.register_parameter("bias", Parameter(room(self.num_channels, 0)) if affine and bias else None)

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """`functional.rms_norm` over the last axes, with weight (ones) of `normalized_shape`.

    Examples:
        >>> nn.RMSNorm(4)(sg.randn(2, 4)).shape
        torch.Size([2, 4])
    """

    weight: Tensor | None

    def __init__(
        self, normalized_shape: ShapeLike, eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: DTypeLike | None = None,
    ):  # fmt: skip
        super().__init__()
        self.normalized_shape = _extents("RMSNorm", "normalized_shape", normalized_shape)
        self.eps = None if eps is None else check_eps("RMSNorm", eps)
        self.elementwise_affine = bool(elementwise_affine)
        room = room_on(device, dtype)
        ones = Parameter(room(self.normalized_shape, 1)) if elementwise_affine else None
        self.register_parameter("weight", ones)

    def forward(self, input: TensorLike) -> AnyTensor:
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
