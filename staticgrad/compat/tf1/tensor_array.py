"""`tf.TensorArray`: a list of tensors of one shape, which loops read and write. It is a tensor with a leading axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import static
from ...operators import F
from ...static.graphs import using
from .dtypes import as_dtype
from .graph import get_default_graph
from .shapes import TensorShape
from .tensor import handles, known, symbols, tensor


class TensorArray:
    """Elements by their numbers. Each write gives a new array, which is the one to use from there on, as in TensorFlow.

    size: the number of elements, which has to be known when the graph is built. element_shape: the first write tells it; a loop
    whose body writes an array builds the body once more to see it. dynamic_size, clear_after_read and infer_shape are accepted.
    """

    def __init__(
        self, dtype: Any, size: Any = 0, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: Any = None, flow: Any = None, infer_shape: bool = True,
        element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None,
    ):  # fmt: skip
        graph = get_default_graph()
        with using(graph):
            self._size = int(known(symbols(size)))
        self.dtype = as_dtype(dtype)
        self.name = name or tensor_array_name or "TensorArray"
        shape = TensorShape(element_shape)
        self._buffer: Any = None
        if shape.is_fully_defined():
            with using(graph):
                self._buffer = handles(graph, self._empty(shape.as_list()))

    def _empty(self, shape: Any) -> Any:
        return static.constant(np.zeros((self._size, *shape), self.dtype.numpy))

    def _zeros(self, element: Any) -> Any:
        """Zeros for all elements, in the shape of this one, of which some extents may be known at run time only."""
        if TensorShape(element.shape).is_fully_defined():
            return self._empty(element.shape)
        return F.add(self._empty((1,) * len(element.shape)), F.expand_dims(F.zeros_like(element), 0))

    @property
    def element_shape(self) -> TensorShape:
        return TensorShape(None) if self._buffer is None else self._buffer.shape[1:]

    @property
    def flow(self) -> Any:
        return self._buffer

    def over(self, buffer: Any) -> TensorArray:
        """The array whose elements are the slices of a tensor."""
        made = TensorArray.__new__(TensorArray)
        made._size, made.dtype, made.name, made._buffer = self._size, self.dtype, self.name, buffer
        return made

    def empty_like(self, other: TensorArray) -> TensorArray:
        """This array, of which nothing is written, with the shape of another one's elements."""
        graph = get_default_graph()
        with using(graph):
            return self.over(handles(graph, self._zeros(symbols(other._written())[0])))

    def _written(self) -> Any:
        if self._buffer is None:
            raise ValueError(f"{self.name}: nothing was written, so the shape of its elements is unknown: give element_shape=")
        return self._buffer

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with another element."""
        graph = get_default_graph()
        with using(graph):
            value = tensor(symbols(value), self.dtype)
            buffer = self._zeros(value) if self._buffer is None else symbols(self._buffer)
            place = F.reshape(F.astype(tensor(symbols(index)), np.int64), (1,))
            return self.over(handles(graph, F.index_copy(buffer, 0, place, F.expand_dims(value, 0))))

    def read(self, index: Any, name: str | None = None) -> Any:
        graph = get_default_graph()
        with using(graph):
            place = F.astype(tensor(symbols(index)), np.int64)
            return handles(graph, F.take(symbols(self._written()), place, axis=0))

    def stack(self, name: str | None = None) -> Any:
        """All elements along a new first axis."""
        return self._written()

    def gather(self, indices: Any, name: str | None = None) -> Any:
        from .arrays import gather

        return gather(self._written(), indices, name=name)

    def concat(self, name: str | None = None) -> Any:
        """All elements joined along their first axis."""
        from .arrays import reshape

        buffer = self._written()
        return reshape(buffer, [-1, *buffer.shape.as_list()[2:]], name=name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array of the slices of a tensor along its first axis."""
        graph = get_default_graph()
        with using(graph):
            made = self.over(handles(graph, tensor(symbols(value), self.dtype)))
        made._size = made._buffer.shape.as_list()[0]
        return made

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the slices of a tensor as the elements of these numbers."""
        graph = get_default_graph()
        with using(graph):
            value = tensor(symbols(value), self.dtype)
            buffer = self._zeros(value[0]) if self._buffer is None else symbols(self._buffer)
            places = F.astype(tensor(symbols(indices)), np.int64)
            return self.over(handles(graph, F.index_copy(buffer, 0, places, value)))

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array of the parts of a tensor, which have to be of one length."""
        from .arrays import reshape

        found = known(symbols(lengths))
        if len(set(found)) > 1:
            raise ValueError(f"{self.name}: elements of different lengths {found} are not supported")
        return self.unstack(reshape(value, [len(found), found[0], *value.shape.as_list()[1:]]))

    def size(self, name: str | None = None) -> Any:
        from .arrays import constant, shape

        return constant(np.int32(self._size)) if self._size is not None else shape(self._buffer)[0]

    def identity(self) -> TensorArray:
        return self

    grad = None
    """Gradients flow through the tensor; arrays of gradients don't exist."""

    def __repr__(self) -> str:
        return f"<tf.TensorArray {self.name!r} dtype={self.dtype.name} element_shape={self.element_shape}>"
