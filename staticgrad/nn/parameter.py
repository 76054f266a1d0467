"""Parameters: leaf tensors that a Module trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.devices import check_device
from ..base.dtypes import as_dtype
from ..base.types import DTypeLike, TensorType, as_shape, get_default_dtype
from ..eager import PublicTensor, Tensor, branded, no_grad
from ..ops.operators import F, MetaTensor, Symbol, as_array, disabled_torch_function, for_meta, misuse

if TYPE_CHECKING:

    class Parameter(Tensor):
        """As type checkers see it: a Tensor."""

        def __init__(self, data: Any = None, requires_grad: bool = True): ...

    class Buffer(Tensor):
        """As type checkers see it: a Tensor."""

        def __init__(self, data: Any = None, *, persistent: bool = True): ...

else:

    class _BufferType(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, Tensor) and is_buffer(instance)

    class Buffer(metaclass=_BufferType):
        """`Buffer(data)` is a Tensor over the same memory that a Module registers as a buffer when it is assigned.

        persistent: whether it is saved with the module. data: a tensor or numbers; nothing is an empty tensor.
        """

        def __new__(cls, data: Any = None, *, persistent: bool = True) -> Tensor:
            made = Tensor(np.empty(0, get_default_dtype())) if data is None else tensor_of(data)
            made._persistent = persistent
            return made

    class _ParameterMeta(type(PublicTensor)):
        def __instancecheck__(cls, instance: Any) -> bool:
            if cls is not Parameter:
                return super().__instancecheck__(instance)
            return isinstance(instance, (Tensor, Symbol)) and instance._parameter

    class Parameter(PublicTensor, metaclass=_ParameterMeta):
        """`Parameter(data)` is a Tensor that requires grad; a Module registers it when assigned.

        It makes a plain Tensor, so that arithmetic stays on its short path; `isinstance(p, nn.Parameter)` holds for it. Classes
        that are derived from it have instances of their own.
        data: a tensor, whose memory it shares; numbers or an array, which it copies; nothing is an empty tensor. Raises
        DTypeError for a dtype that is not floating.

        Examples:
            >>> nn.Parameter(sg.zeros(2)).requires_grad
            True
        """

        __slots__ = ()
        __torch_function__ = disabled_torch_function
        _parameter = True

        def __new__(cls, data: Any = None, requires_grad: bool = True) -> Tensor:
            if isinstance(data, Tensor):
                made = mark(data.detach().requires_grad_(requires_grad))
            elif isinstance(data, MetaTensor):
                if requires_grad:
                    misuse.check_floating(data.dtype)
                return MetaTensor(data.value, requires_grad, parameter=True)
            else:
                made = Tensor(np.array(np.empty(0, get_default_dtype()) if data is None else as_array(data)), requires_grad)
            return mark(made if cls is Parameter else branded(made, cls))


def room_on(device: Any, dtype: DTypeLike | None) -> Callable[..., Any]:
    """What gives a layer the data of its tensors: `room(shape)` is an array that is yet to be written, `room(shape, value)` one
    that has a value everywhere; on device meta both are tensors without memory. Raises DeviceError, DTypeError."""
    own, meta = get_default_dtype() if dtype is None else as_dtype(dtype), for_meta(device)
    if not meta:
        check_device(device)

    def room(shape: Any, value: Any = None, kind: np.dtype = own) -> Any:
        if meta:
            return MetaTensor(TensorType(as_shape(shape), kind))
        return np.empty(shape, kind) if value is None else np.full(shape, value, kind)

    return room


def tensor_of(data: Any) -> Any:
    """A tensor of its own over the data, which requires grad if the data does."""
    if isinstance(data, Tensor):
        return Tensor(data._data, data.requires_grad)
    if isinstance(data, MetaTensor):
        return MetaTensor(data.value, data.requires_grad)
    return Tensor(as_array(data))


def is_buffer(tensor: Tensor) -> bool:
    """Whether a tensor is a `Buffer`."""
    return "_persistent" in vars(tensor)


def mark(tensor: Tensor) -> Tensor:
    """Make it a Parameter in the eyes of `isinstance`."""
    tensor._parameter = True
    return tensor


def on_device(tensor: Any, value: Any) -> Any:
    """`value`, a tensor of another device, in the role of a parameter or buffer."""
    return Parameter(value, tensor.requires_grad) if tensor._parameter else value


def clear_gradients(parameters: Iterable[Tensor], set_to_none: bool) -> None:
    """Drop each gradient, or fill it with zeros."""
    for p in parameters:
        if set_to_none:  # without reading it: a traced step then doesn't depend on its former value
            p.grad = None
            continue
        g = p.grad
        if g is None:
            continue
        with no_grad():
            if g.is_leaf and (not isinstance(g, Tensor) or g._data.flags.writeable):
                g.zero_()
            else:  # recorded by create_graph: another value takes its place
                p.grad = F.zeros_like(g)
