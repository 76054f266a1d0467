"""Layers whose input extent follows from the first input that they see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.devices import check_device
from ..base.dtypes import as_dtype
from ..base.types import DTypeLike, ShapeLike, get_default_dtype
from ..eager import PublicTensor, Tensor
from ..eager.inplace import tracer
from ..errors import ArgumentError, ShapeError, TraceError, UninitializedError
from ..ops.operators import Operators
from .layers import Linear
from .module import Module
from .normalization_layers import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import mark
from .windowed_layers import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d", "LazyConvTranspose1d",
    "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
    "LazyLinear", "UninitializedBuffer", "UninitializedParameter",
]  # fmt: skip


class UninitializedTensorMixin:
    """Has a dtype and no shape yet; `materialize` gives it one. Other tensors and optimizers may hold it meanwhile."""

    __slots__ = ()

    def _begin(self, requires_grad: bool, device: Any, dtype: DTypeLike | None) -> None:
        check_device(device)
        own: Any = self
        Tensor.__init__(own, np.empty(0, get_default_dtype() if dtype is None else as_dtype(dtype)), requires_grad)

    def materialize(self, shape: ShapeLike, device: Any = None, dtype: DTypeLike | None = None) -> None:
        """Take memory of a shape, of undefined values, and become a plain tensor."""
        own: Any = self
        own.__class__ = PublicTensor
        own.data = np.empty(shape, own._data.dtype if dtype is None else dtype)

    @property
    def _no_shape(self) -> Any:
        """Raises UninitializedError."""
        raise UninitializedError(
            "Can't access the shape of an uninitialized parameter or buffer",
            "a lazy module takes its extents from its first input: call it once, without a gradient",
        )

    if not TYPE_CHECKING:  # to type checkers it is an attribute, as in other tensors
        shape = _no_shape

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        own: Any = self
        memo[id(self)] = made = type(own)(own._tracked, dtype=own._data.dtype)
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Tensor):
    """A parameter that has no shape yet."""

    __slots__ = ()

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: DTypeLike | None = None):
        self._begin(requires_grad, device, dtype)
        mark(self)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer that has no shape yet."""

    __slots__ = ()

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: DTypeLike | None = None, persistent: bool = True
    ):
        self._begin(requires_grad, device, dtype)
        self.persistent = persistent


def is_lazy(value: Any) -> bool:
    """Whether a tensor has no shape yet."""
    return isinstance(value, UninitializedTensorMixin)


class LazyModuleMixin(Module):
    """Makes its parameters when it is first called, or when a state dict with them is loaded, and becomes `cls_to_become`."""

    cls_to_become: type[Module]
    extents: str
    """The attribute that follows from the input."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.register_load_state_dict_pre_hook(_take_shapes)

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(value) for value in vars(self).values())

    def extent_of(self, x: Any) -> Any:
        """The extent that follows from an input. Raises ShapeError where it is unknown."""
        raise NotImplementedError

    def shapes(self, extent: int) -> dict[str, tuple[int, ...]]:
        """The shapes of what has none yet."""
        raise NotImplementedError

    def initialize_parameters(self, x: Any, *args: Any, **kwargs: Any) -> None:
        """Give parameters their shapes and first values, from an input."""
        fresh = self.has_uninitialized_params()
        if fresh and tracer() is not None:
            raise TraceError(
                f"{type(self).__name__}: its parameters can't be made while a function is compiled",
                "call the module once on an example before",
            )
        extent = self.extent_of(x)
        if extent is None:
            raise ShapeError(f"{type(self).__name__}: the extent that its parameters follow from is unknown")
        self._become(int(extent))
        if fresh:
            self.reset_parameters()

    def _become(self, extent: int) -> None:
        name = type(self).__name__
        setattr(self, self.extents, extent)
        for label, shape in self.shapes(extent).items():
            value = vars(self)[label]
            if is_lazy(value):
                value.materialize(shape)
        if self.has_uninitialized_params():
            raise UninitializedError(f"module {name} has not been fully initialized")
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def forward(self, input: Any, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(input, *args, **kwargs)
        return self.forward(input, *args, **kwargs)

    def reset_parameters(self) -> None:
        """Nothing before the parameters have shapes."""


def _take_shapes(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    """Before a state dict is loaded: what has no shape yet takes those of its tensors."""
    for label, value in list(vars(module).items()):
        given = state_dict.get(prefix + label)
        if is_lazy(value) and isinstance(given, (Operators, np.ndarray)) and not is_lazy(given):
            value.materialize(given.shape)


def _lazy(own: Any, names: tuple[str, ...], device: Any, dtype: Any, buffers: tuple[str, ...] = ()) -> None:
    """Replace the parameters and buffers of these names, which are there, by ones without a shape."""
    for name in names:
        if vars(own).get(name) is not None:
            setattr(own, name, UninitializedParameter(True, device, dtype))
    for name in buffers:
        if vars(own).get(name) is not None:
            setattr(own, name, UninitializedBuffer(False, device, dtype))


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose in_features is the last extent of its first input."""

    cls_to_become = Linear
    extents = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: DTypeLike | None = None):
        super().__init__(0, out_features, bias, device, dtype)
        _lazy(self, ("weight", "bias"), device, dtype)

    def extent_of(self, x: Any) -> Any:
        return x.shape[-1]

    def shapes(self, extent: int) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.out_features, extent), "bias": (self.out_features,)}


class _LazyConv(LazyModuleMixin):
    """A convolution whose in_channels are those of its first input."""

    extents = "in_channels"
    axes: int
    transposed: bool
    groups: int
    out_channels: int
    kernel_size: tuple[int, ...]

    def __init__(self, out_channels: int, *args: Any, bias: bool, device: Any, dtype: DTypeLike | None, **named: Any):
        super().__init__(0, 0, *args, bias=bias, device=device, dtype=dtype, **named)
        self.out_channels = int(out_channels)
        if self.out_channels % self.groups:
            raise ArgumentError("out_channels must be divisible by groups", f"{type(self).__name__}: got {out_channels}")
        _lazy(self, ("weight", "bias"), device, dtype)

    def extent_of(self, x: Any) -> Any:
        n = len(x.shape)
        if n not in (self.axes + 1, self.axes + 2):
            raise ShapeError(f"Expected {self.axes + 1}D (unbatched) or {self.axes + 2}D (batched) input, but got {n}D")
        channels = x.shape[n - self.axes - 1]
        if channels is not None and channels % self.groups:
            raise ShapeError("in_channels must be divisible by groups", f"{channels} channels in {self.groups} groups")
        return channels

    def shapes(self, extent: int) -> dict[str, tuple[int, ...]]:
        first, second = (extent, self.out_channels) if self.transposed else (self.out_channels, extent)
        return {"weight": (first, second // self.groups, *self.kernel_size), "bias": (self.out_channels,)}


def _conv(base: type[Module]) -> type[Module]:
    name = f"Lazy{base.__name__}"
    transposed: bool = base.transposed  # type: ignore[attr-defined]

    if transposed:

        def init(
            self: Any, out_channels: int, kernel_size: ShapeLike, stride: ShapeLike = 1, padding: ShapeLike = 0,
            output_padding: ShapeLike = 0, groups: int = 1, bias: bool = True, dilation: ShapeLike = 1,
            padding_mode: str = "zeros", device: Any = None, dtype: DTypeLike | None = None,
        ) -> None:  # fmt: skip
            _LazyConv.__init__(
                self, out_channels, kernel_size, stride, padding, output_padding, groups, bias=bias, dilation=dilation,
                padding_mode=padding_mode, device=device, dtype=dtype,
            )  # fmt: skip

    else:

        def init(  # type: ignore[misc]
            self: Any, out_channels: int, kernel_size: ShapeLike, stride: ShapeLike = 1, padding: ShapeLike | str = 0,
            dilation: ShapeLike = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
            dtype: DTypeLike | None = None,
        ) -> None:  # fmt: skip
            _LazyConv.__init__(
                self, out_channels, kernel_size, stride, padding, dilation, groups, bias=bias, padding_mode=padding_mode,
                device=device, dtype=dtype,
            )  # fmt: skip

    doc = f"`{base.__name__}` whose in_channels are those of its first input."
    return type(name, (_LazyConv, base), {"__doc__": doc, "__module__": __name__, "__init__": init, "cls_to_become": base})


LazyConv1d, LazyConv2d, LazyConv3d = map(_conv, (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = map(_conv, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))


class _LazyNorm(LazyModuleMixin):
    """A normalization whose num_features are the channels of its first input."""

    extents = "num_features"
    instances = False
    dims: tuple[int, ...]

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: DTypeLike | None = None, *, bias: bool = True,
    ):  # fmt: skip
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        _lazy(self, ("weight", "bias"), device, dtype, ("running_mean", "running_var"))

    def extent_of(self, x: Any) -> Any:
        n = len(x.shape)
        allowed = (self.dims[0] - 1, self.dims[0]) if self.instances else self.dims
        if n not in allowed:
            raise ShapeError(f"expected {' or '.join(f'{d}D' for d in allowed)} input (got {n}D input)")
        return x.shape[0] if self.instances and n < self.dims[0] else x.shape[1]

    def shapes(self, extent: int) -> dict[str, tuple[int, ...]]:
        return {name: (extent,) for name in ("weight", "bias", "running_mean", "running_var") if vars(self)[name] is not None}


def _norm(base: type[Module]) -> type[Module]:
    doc = f"`{base.__name__}` whose num_features are the channels of its first input."
    members = {
        "__doc__": doc, "__module__": __name__, "cls_to_become": base, "instances": base.__name__.startswith("Instance"),
    }  # fmt: skip
    return type(f"Lazy{base.__name__}", (_LazyNorm, base), members)


LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = map(_norm, (BatchNorm1d, BatchNorm2d, BatchNorm3d))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = map(_norm, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
