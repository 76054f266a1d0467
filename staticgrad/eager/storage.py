"""The memory that tensors lie in, as PyTorch's storages show it: `x.untyped_storage()` in bytes, `x.storage()` in elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.devices import CPU, Device
from ..base.dtypes import DType, public
from ..errors import ArgumentError
from ..ops.operators import frontends, state
from .pending import settle_all
from .python_functions import memory_of_array
from .tensor import Tensor


class UntypedStorage:
    """The bytes of the memory of one or more tensors. Two are equal where they are the same memory."""

    device: Device = CPU
    is_cuda = False
    is_sparse = False

    def __init__(self, elements: np.ndarray):
        self._elements = elements

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return self._elements.__array_interface__["data"][0]

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._elements.nbytes

    def size(self) -> int:
        """How many elements there are."""
        return self._elements.size

    def element_size(self) -> int:
        """Bytes of an element."""
        return self._elements.itemsize

    def tolist(self) -> list[Any]:
        """The elements as plain numbers."""
        return self._elements.tolist()

    def is_shared(self) -> bool:
        """Whether other processes may have a part in it."""
        from ..base.shared_memory import pages_of

        return pages_of(self._elements) is not None

    def is_pinned(self) -> bool:
        """False: there are no other devices."""
        return False

    def resize_(self, size: int) -> Any:
        """Raises ArgumentError: NumPy's arrays keep their memory."""
        raise ArgumentError(f"a storage can't be resized to {size}: it is the memory of an array", "use x.resize_ or x.set_")

    @property
    def _cdata(self) -> int:
        """What names the memory."""
        return self.data_ptr()

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, place: Any) -> Any:
        found = self._elements[place]
        return found.item() if isinstance(found, np.generic) else type(self)(found)

    def __setitem__(self, place: Any, value: Any) -> None:
        self._elements[place] = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash(self.data_ptr())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.size()} elements of {self._elements.dtype}>"


class TypedStorage(UntypedStorage):
    """The same memory as elements of a dtype."""

    @property
    def dtype(self) -> DType:
        """The dtype of an element."""
        return public(self._elements.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory in bytes."""
        return UntypedStorage(self._elements.view(np.uint8))


def storage(self: Tensor) -> TypedStorage:
    """The memory that this tensor lies in, as elements of its dtype; views of a tensor have the same."""
    settle_all()
    return TypedStorage(memory_of_array(self._data)[0])


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this tensor lies in, in bytes; views of a tensor have the same."""
    return storage(self).untyped()


def share_memory_(self: Tensor) -> Tensor:
    """Move this tensor to memory that it shares with processes that are forked, or to which it is sent by `multiprocessing`.
    What one of them writes, all read. Tensors that had the former memory in common with this one keep it."""
    from ..base.shared_memory import shared  # with `multiprocessing`

    settle_all()
    if frontends.tracing and state.tracer is not None:
        state.tracer.no_value(self, "shared memory")
    if not self.is_shared():
        self._rebind(shared(self._data))
    return self


def is_shared(self: Tensor) -> bool:
    """Whether it lies in memory that processes share; see `share_memory_`."""
    return untyped_storage(self).is_shared()


for _function in (storage, untyped_storage, share_memory_, is_shared):
    setattr(Tensor, _function.__name__, _function)
