"""`tf.TensorArray`: a list of tensors of one shape, which loops read and write. It is a tensor with a leading axis."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .arrays import concat, constant, convert_to_tensor, gather, identity, reshape, shape, zeros
from .core import REGISTRY, F, TensorType, UnknownExtentError, apply, fits, has_rank, pytree, state, static, using
from .dtypes import TensorShape, as_dtype
from .graph import get_default_graph
from .handles import Operation
from .tensor import built, handles, known, symbols, tensor


def _number(value: Any) -> Any:
    """An integer where the value is known, else a tensor."""
    try:
        return int(known(symbols(value)))
    except UnknownExtentError:
        return value


def _in_graph(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method on symbols that makes parts of the default graph."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        graph = get_default_graph()
        with using(graph):
            return handles(graph, method(*args, **kwargs))

    return call


class TensorArray:
    """Elements by their numbers. Each write gives a new array, which is the one to use from there on, as in TensorFlow.

    size: the number of elements, an integer or a tensor. dynamic_size: a write beyond the end makes it larger; a loop that does
    so runs once more, before, to count its writes. element_shape: the first write tells it; a loop whose body writes an array
    builds the body once more to see it. infer_shape: where it is False, elements may differ in their first extent; see `Parts`.
    clear_after_read is accepted.
    """

    def __init__(
        self, dtype: Any, size: Any = 0, dynamic_size: bool | None = None, clear_after_read: bool | None = None,
        tensor_array_name: str | None = None, handle: Any = None, flow: Any = None, infer_shape: bool = True,
        element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None,
    ):  # fmt: skip
        graph = get_default_graph()
        with using(graph):
            self._size = _number(size)
        self.dtype, self.dynamic_size, self.infer_shape = as_dtype(dtype), bool(dynamic_size), bool(infer_shape)
        self.name = name or tensor_array_name or "TensorArray"
        shape = TensorShape(element_shape)
        self._buffer: Any = None
        if shape.is_fully_defined():
            with using(graph):
                self._buffer = handles(graph, self._empty(shape.as_list()))

    def _empty(self, shape: Any) -> Any:
        if isinstance(self._size, int):
            return static.constant(np.zeros((self._size, *shape), self.dtype.numpy))
        return zeros([self._size, *shape], self.dtype).symbol

    def _zeros(self, element: Any) -> Any:
        """Zeros for all elements, in the shape of this one, of which some extents may be known at run time only."""
        if TensorShape(element.shape).is_fully_defined():
            return self._empty(element.shape)
        return F.add(self._empty((1,) * len(element.shape)), F.expand_dims(F.zeros_like(element), 0))

    def resized(self, size: Any) -> TensorArray:
        """The array with so many elements, at least as many as it has; the new ones are zeros."""
        made = self.over(None)
        made._size = size
        if self._buffer is not None:
            graph = get_default_graph()
            with using(graph):
                first = symbols(self._buffer)
                whole = made._zeros(F.getitem(first, 0)) if self._size != 0 else made._empty(self.element_shape.as_list())
                places = F.index_along(first, 0)
                made._buffer = handles(graph, F.index_copy(whole, 0, F.reshape(places, (-1,)), first))
        return made

    @property
    def element_shape(self) -> TensorShape:
        return TensorShape(None) if self._buffer is None or self._buffer.shape.ndims is None else self._buffer.shape[1:]

    flow = property(lambda self: self._buffer)

    def over(self, buffer: Any) -> TensorArray:
        """The array whose elements are the slices of a tensor."""
        made = TensorArray.__new__(TensorArray)
        made._size, made.dtype, made.name, made._buffer = self._size, self.dtype, self.name, buffer
        made.dynamic_size, made.infer_shape = self.dynamic_size, self.infer_shape
        return made

    def empty_like(self, other: TensorArray) -> TensorArray:
        """This array, of which nothing is written, with the shape of another one's elements."""
        graph = get_default_graph()
        with using(graph):
            return self.over(handles(graph, built(graph, lambda: self._zeros(symbols(other._written())[0]))))

    def _written(self) -> Any:
        if self._buffer is None:
            raise ValueError(f"{self.name}: nothing was written, so the shape of its elements is unknown: give element_shape=")
        return self._buffer

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with another element."""
        graph = get_default_graph()
        with using(graph):
            end = _number(index) if self.dynamic_size else None
            if isinstance(end, int) and isinstance(self._size, int) and end >= self._size:
                return self.resized(end + 1).write(end, value)
            place = F.reshape(F.astype(tensor(symbols(index)), np.int64), (1,))
            return self._placed(graph, index, place, tensor(symbols(value), self.dtype))

    def _placed(self, graph: Any, index: Any, place: Any, value: Any) -> TensorArray:
        if not self.infer_shape and self._buffer is None and has_rank(value) and value.ndim:
            return Parts.like(self, value)._placed(graph, index, place, value)
        given = handles(graph, (place, value))

        def build() -> Any:
            place, value = symbols(given)
            buffer = self._zeros(value) if self._buffer is None else symbols(self._buffer)
            if not fits(value.shape, buffer.shape[1:]):
                raise ValueError(
                    f"Inconsistent shapes: saw {TensorShape(value.shape)} but expected {TensorShape(buffer.shape[1:])} "
                    "(and infer_shape=True)"
                )
            return F.index_copy(buffer, 0, place, F.expand_dims(value, 0))

        return self.over(handles(graph, built(graph, build)))

    def read(self, index: Any, name: str | None = None) -> Any:
        return gather(self._written(), index, name=name or "TensorArrayReadV3")

    def carried(self) -> Any:
        """The tensor that stands for the array in a loop."""
        return self._written()

    def stack(self, name: str | None = None) -> Any:
        """All elements along a new first axis."""
        return self._written()

    def gather(self, indices: Any, name: str | None = None) -> Any:
        return gather(self._written(), indices, name=name)

    def concat(self, name: str | None = None) -> Any:
        """All elements joined along their first axis."""
        buffer = self._written()
        if buffer.shape.ndims is None:
            return reshape(buffer, concat([[-1], shape(buffer)[2:]], 0), name=name)
        return reshape(buffer, [-1, *buffer.shape.as_list()[2:]], name=name)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array of the slices of a tensor along its first axis."""
        made = self.over(_in_graph(lambda: tensor(symbols(value), self.dtype))())
        extents = made._buffer.shape
        made._size = extents.as_list()[0] if extents.ndims else None
        if made._size is None:
            made._size = shape(made._buffer)[0]
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
        """The array of the parts of a tensor."""
        with suppress(UnknownExtentError):
            found = known(symbols(lengths))
            if len(set(found)) == 1:
                return self.unstack(reshape(value, [len(found), found[0], *convert_to_tensor(value).shape.as_list()[1:]]))
        graph = get_default_graph()
        with using(graph):
            whole = tensor(symbols(value), self.dtype)
            sizes = F.astype(tensor(symbols(lengths)), np.int64)
            made = Parts.like(self, whole)
            made._buffer, made._lengths = handles(graph, (whole, sizes))
        made._size = sizes.shape[0] if sizes.shape[0] is not None else made._size
        return made

    def size(self, name: str | None = None) -> Any:
        return constant(np.int32(self._size)) if isinstance(self._size, int) else identity(self._size)

    def identity(self) -> TensorArray:
        return self

    grad = None
    """Gradients flow through the tensor; arrays of gradients don't exist."""

    def close(self, name: str | None = None) -> Operation:
        """Accepted."""
        graph = get_default_graph()
        with using(graph):
            return Operation(graph, static.group(name=graph.full_name(name or "TensorArrayCloseV3")).node)

    def __repr__(self) -> str:
        return f"<tf.TensorArray {self.name!r} dtype={self.dtype.name} element_shape={self.element_shape}>"


def _tail(element: Any) -> tuple[int, ...]:
    """The extents of a symbol but the first. Raises UnknownExtentError for one that is unknown."""
    found: tuple[int, ...] = element.shape[1:]
    if None in found:
        raise UnknownExtentError("an array whose elements differ needs to know all of their extents but the first")
    return found


class Parts(TensorArray):
    """An array whose elements differ in their first extent: they lie one after another in the order of their numbers, and
    `lengths` has their extents."""

    _lengths: Any

    @classmethod
    def like(cls, array: TensorArray, element: Any) -> Parts:
        """An empty one, for elements like this symbol."""
        made = cls.__new__(cls)
        made._size, made.dtype, made.name, made.infer_shape = array._size, array.dtype, array.name, False
        made.dynamic_size = array.dynamic_size
        graph = get_default_graph()
        count = array._size if isinstance(array._size, int) else symbols(array._size)
        made._buffer, made._lengths = handles(graph, (
            static.constant(np.zeros((0, *_tail(element)), array.dtype.numpy)),
            static.constant(np.zeros(count, np.int64)) if isinstance(count, int) else zeros([array._size], np.int64).symbol,
        ))  # fmt: skip
        return made

    def over(self, buffer: Any) -> TensorArray:
        made = Parts.__new__(Parts)
        made._size, made.dtype, made.name, made.infer_shape = self._size, self.dtype, self.name, False
        made.dynamic_size = self.dynamic_size
        made._buffer, made._lengths = buffer
        return made

    def carried(self) -> Any:
        return self._buffer, self._lengths

    @property
    def element_shape(self) -> TensorShape:
        return TensorShape([None, *self._buffer.shape.as_list()[1:]])

    def empty_like(self, other: TensorArray) -> TensorArray:
        return self

    def _place(self, index: Any) -> tuple[Any, Any, Any, Any]:
        """The elements, their lengths, and where that of a number begins and ends."""
        whole, lengths = symbols((self._buffer, self._lengths))
        number = F.astype(tensor(symbols(index)), np.int64)
        before = F.where(F.lt(F.index_along(lengths, 0), number), lengths, F.zeros_like(lengths))
        start = F.sum(before)
        return whole, lengths, start, F.add(start, F.take(lengths, number, 0))

    def resized(self, size: Any) -> TensorArray:
        graph = get_default_graph()
        with using(graph):
            lengths = symbols(self._lengths)
            if isinstance(size, int):
                whole = static.constant(np.zeros(size, np.int64))
            else:
                whole = zeros([size], np.int64).symbol
            grown = F.index_copy(whole, 0, F.index_along(lengths, 0), lengths)
            made = self.over((self._buffer, graph.handle(grown.node)))
        made._size = size
        return made

    def _placed(self, graph: Any, index: Any, place: Any, value: Any) -> TensorArray:
        whole, lengths, start, stop = self._place(index)
        joined = F.concatenate([whole[:start], value, whole[stop:]], axis=0)
        count = apply(REGISTRY["count"], value, axis=(0,), dtype=np.dtype(np.int64))
        sizes = F.index_copy(lengths, 0, place, F.reshape(count, (1,)))
        return self.over(handles(graph, (joined, sizes)))

    @_in_graph
    def read(self, index: Any, name: str | None = None) -> Any:
        whole, _, start, stop = self._place(index)
        return whole[start:stop]

    def concat(self, name: str | None = None) -> Any:
        return identity(self._buffer, name=name)

    def stack(self, name: str | None = None) -> Any:
        """All elements along a new first axis. A run in which they have different extents raises InvalidArgumentError."""
        first = self._lengths[0]
        extents = [first, *self._buffer.shape.as_list()[1:]]
        return reshape(self._buffer, [-1, *extents], name=name)

    def gather(self, indices: Any, name: str | None = None) -> Any:
        return gather(self.stack(), indices, name=name)

    def _written(self) -> Any:
        return self.stack()


class Counted(TensorArray):
    """In the place of a dynamic array in a loop that counts its writes: the number of elements that it has by now."""

    def __init__(self, like: TensorArray, size: Any):
        self._size, self.dtype, self.name, self._buffer, self.dynamic_size = size, like.dtype, like.name, None, True
        self.infer_shape = like.infer_shape

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        return Counted(self, self._grown(index))

    @_in_graph
    def _grown(self, index: Any) -> Any:
        return F.maximum(tensor(symbols(self._size)), F.add(F.astype(tensor(symbols(index)), np.int32), 1))

    def _written(self) -> Any:
        raise NotImplementedError(
            f"{self.name}: a loop that makes an array larger can't read it; give TensorArray(size=...) the number of elements"
        )

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        return self.write(_in_graph(lambda: F.amax(tensor(symbols(indices)), 0))(), None)

    def over(self, buffer: Any) -> TensorArray:
        return Counted(self, buffer)

    @_in_graph
    def carried(self) -> Any:
        return tensor(symbols(self._size), np.int32)


def counted(array: TensorArray) -> TensorArray:
    """What stands for a dynamic array where writes are counted."""
    return Counted(array, array._size)


def grown(array: TensorArray, count: Any) -> TensorArray:
    """A dynamic array that is large enough for writes that were counted, in a run of their own."""
    graph = get_default_graph()
    if state.inside:
        raise NotImplementedError(
            f"{array.name}: a loop in the body of another one can't make an array larger: give TensorArray(size=...) the "
            "number of elements"
        )
    with using(graph):
        kind = TensorType((), np.dtype(np.int32))
        (size,) = graph.host_call([symbols(count)], list, [kind], f"{array.name}/size", "TensorArraySizeV3")
    return array.resized(size)


# arrays among the variables of a loop ---------------------------------------------------------------------------------


def mapped_arrays(change: Callable[..., Any], value: Any, *others: Any) -> Any:
    """A nest with arrays changed; change(array, *what others have in its place)."""
    if isinstance(value, TensorArray):
        return change(value, *others)
    if isinstance(value, (list, tuple)):
        items = [mapped_arrays(change, *each) for each in zip(value, *others, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _grows(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_grows(item) for item in value)
    return isinstance(value, TensorArray) and value.dynamic_size and not isinstance(value, Counted)


def large_enough(given: list[Any], loop: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """The loop variables with dynamic arrays of the size that the loop writes. loop: of variables, their last values."""
    if not _grows(given):
        return given
    last = loop(mapped_arrays(lambda array: counted(array) if _grows(array) else array, given))
    return mapped_arrays(lambda array, after: grown(array, after._size) if _grows(array) else array, given, last)


def buffers(value: Any) -> Any:
    """A nest with the tensors of its arrays in their places."""
    return mapped_arrays(lambda array: array.carried(), value)


def arrays(value: Any, like: Any) -> Any:
    """A nest with arrays over the tensors that stand where `like` has arrays."""
    if isinstance(like, TensorArray):
        return like.over(value)
    if isinstance(like, (list, tuple)) and isinstance(value, (list, tuple)):
        items = [arrays(item, other) for item, other in zip(value, like, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def on_buffers(fn: Callable[..., Any], like: list[Any]) -> Callable[..., Any]:
    return lambda *args: buffers(fn(*arrays(list(args), like)))


def with_elements(body: Callable[..., Any], given: list[Any]) -> list[Any]:
    """The loop variables, with arrays whose elements have a shape: that of the body's first write where there is none yet."""

    def blank(array: TensorArray) -> bool:
        return not isinstance(array, Counted) and array._buffer is None

    found = []
    mapped_arrays(lambda array: found.append(blank(array)), given)
    if not any(found):
        return given
    written = body(*given)
    after = list(written) if isinstance(written, (list, tuple)) and len(written) == len(given) else [written]
    return mapped_arrays(lambda array, other: _blank_like(array, other) if blank(array) else array, given, after)


def _blank_like(array: TensorArray, other: TensorArray) -> TensorArray:
    """An array of which nothing is written, for elements like another one's."""
    if not isinstance(other, Parts):
        return array.empty_like(other)
    graph = get_default_graph()
    with using(graph):
        return Parts.like(array, symbols(other._buffer))


def invariants(value: Any, like: Any) -> Any:
    """The shapes that loop variables keep: those of `value`, and of arrays of parts any number of rows."""
    if isinstance(like, Parts):
        whole, lengths = value
        return [(None, *whole.shape[1:]), lengths.shape]
    if isinstance(like, (list, tuple)) and isinstance(value, (list, tuple)):
        return [invariants(*each) for each in zip(value, like, strict=True)]
    return pytree.unflatten(*_shapes_of(value))


def _shapes_of(value: Any) -> Any:
    leaves, structure = pytree.flatten(value, pytree.ordered)
    return structure, [x.shape if has_rank(x) else None for x in leaves]


def has_parts(value: Any) -> bool:
    """Whether an array of parts is in a nest."""
    if isinstance(value, (list, tuple)):
        return any(map(has_parts, value))
    return isinstance(value, Parts)
