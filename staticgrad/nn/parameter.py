"""Parameters: leaf tensors that a Module trains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.types import get_default_dtype
from ..eager import PublicTensor, Tensor, branded, no_grad
from ..operators import F, MetaTensor, Symbol, as_array, disabled_torch_function

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
            else:
                made = Tensor(np.array(np.empty(0, get_default_dtype()) if data is None else as_array(data)), requires_grad)
            return mark(made if cls is Parameter else branded(made, cls))


def tensor_of(data: Any) -> Tensor:
    """A tensor of its own over the data, which requires grad if the data does."""
    if isinstance(data, Tensor):
        return Tensor(data._data, data.requires_grad)
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
    if isinstance(value, MetaTensor):
        return MetaTensor(value.value, tensor.requires_grad, parameter=tensor._parameter)
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
