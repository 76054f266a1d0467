"""Iterators: they give the elements of a data set to the runs of a graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Iterator as AnyIterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import SourceRun, TensorType, UnrankedType, pytree, static, using
from ..dtypes import as_dtype
from ..errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from ..graph import get_default_graph
from ..handles import Operation
from ..shapes import TensorShape
from ..tensor import handles

if TYPE_CHECKING:
    from .dataset import Dataset

# the structure of the elements of a data set, and their types ---------------------------------------------------------

Element = Any
"""Arrays in a nest of tuples and dicts."""
Values = dict[Any, np.ndarray]
"""Of the tensors that a data set was made of, by their nodes: known when its iterator is initialized."""


def rule(value: Any) -> pytree.Container | None:
    """Tuples and dicts have components; a list is an array."""
    return None if isinstance(value, list) else pytree.ordered(value)


class Spec:
    """The structure of elements, and the dtype and shape of each component."""

    def __init__(self, structure: Any, kinds: Sequence[tuple[np.dtype, TensorShape]]):
        self.structure, self.kinds = structure, list(kinds)

    @staticmethod
    def of(element: Element) -> Spec:
        leaves, structure = pytree.flatten(element, rule)
        return Spec(structure, [(a.dtype, TensorShape(a.shape)) for a in map(np.asarray, leaves)])

    def each(self, change: Callable[[TensorShape], TensorShape]) -> Spec:
        return Spec(self.structure, [(dtype, change(shape)) for dtype, shape in self.kinds])

    def types(self) -> list[TensorType]:
        return [_type(dtype, shape) for dtype, shape in self.kinds]

    def nest(self, values: Iterable[Any]) -> Any:
        return pytree.unflatten(self.structure, values)


def _type(dtype: np.dtype, shape: TensorShape) -> TensorType:
    return UnrankedType(dtype) if shape.dims is None else TensorType(tuple(shape.as_list()), dtype)


def leaves_of(element: Element) -> list[Any]:
    return pytree.flatten(element, rule)[0]


def components_of(item: Any, structure: Any) -> tuple[list[Any], Any]:
    """The leaves of an element that Python gave, in which a list may stand for a tuple."""
    if structure is pytree.LEAF:
        return [item], structure
    return pytree.flatten(tuple(item) if isinstance(item, list) else item, rule)


def shapes_in(shapes: Any) -> list[Any]:
    """The shapes in a nest, where a list, a TensorShape, or a tuple of numbers is a shape."""
    if isinstance(shapes, dict):
        return [s for value in shapes.values() for s in shapes_in(value)]
    if isinstance(shapes, tuple) and not all(n is None or isinstance(n, (int, np.integer)) for n in shapes):
        return [s for value in shapes for s in shapes_in(value)]
    return [shapes]


def shapes_of(shapes: Any, spec: Spec) -> list[TensorShape]:
    found = [shapes] if spec.structure is pytree.LEAF else shapes_in(shapes)
    if len(found) != len(spec.kinds):
        raise ValueError(f"{len(spec.kinds)} shapes are needed, one per component, got {shapes!r}")
    return [TensorShape([None if d == -1 else d for d in s] if isinstance(s, (list, tuple)) else s) for s in found]


class Iterator:
    """Gives the elements of a data set to runs: each run that needs a tensor of `get_next()` takes one element."""

    def __init__(self, spec: Spec):
        self._spec = spec
        self._elements: AnyIterator[Element] | None = None
        self._ahead: list[list[np.ndarray]] = []
        self.initializer: Operation | None = None

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None, shared_name: str | None = None,
                       output_classes: Any = None) -> Iterator:  # fmt: skip
        """An iterator without a data set: `make_initializer(dataset)` gives it one."""
        dtypes, structure = pytree.flatten(output_types, rule)
        blank = Spec(structure, [(as_dtype(d).numpy, TensorShape(None)) for d in dtypes])
        shapes = [TensorShape(None)] * len(dtypes) if output_shapes is None else shapes_of(output_shapes, blank)
        return Iterator(Spec(structure, [(k, s) for (k, _), s in zip(blank.kinds, shapes, strict=True)]))

    @staticmethod
    def from_string_handle(string_handle: Any, output_types: Any, output_shapes: Any = None,
                           output_classes: Any = None) -> FedIterator:  # fmt: skip
        """The iterator whose `string_handle()` is fed in a run."""
        return FedIterator(string_handle, Iterator.from_structure(output_types, output_shapes)._spec)

    def string_handle(self, name: str | None = None) -> Any:
        """A tensor whose value stands for this iterator, for `from_string_handle`."""
        HANDLES[id(self)] = self
        graph = get_default_graph()
        with using(graph), static.control_dependencies(None):
            return graph.handle(static.constant(np.int64(id(self)), name=name or "IteratorToStringHandle").node)

    output_types = property(lambda self: self._spec.nest(as_dtype(dtype) for dtype, _ in self._spec.kinds))
    output_shapes = property(lambda self: self._spec.nest(shape for _, shape in self._spec.kinds))

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """An operation that begins the data set anew; the tensors that it was made of take their values from that run."""
        graph = get_default_graph()
        tensors = list(dataset._tensors)

        def begin(values: Sequence[np.ndarray]) -> None:
            self.restart(dataset, {t.node: v for t, v in zip(tensors, values, strict=True)})

        return graph.host_action(tensors, begin, name or "MakeIterator")

    def restart(self, dataset: Dataset, values: Values) -> None:
        self._elements = dataset._elements(values)
        self._ahead.clear()

    def get_next(self, name: str | None = None) -> Any:
        """The next element as tensors; a run raises OutOfRangeError after the last."""
        graph = get_default_graph()
        token = object()

        def part(i: int) -> Callable[[SourceRun], np.ndarray]:
            def source(run: SourceRun) -> np.ndarray:
                if token not in run.shared:
                    run.shared[token] = self._pull(run.look)
                return run.shared[token][i]

            return source

        made = []
        with using(graph), static.control_dependencies(None):
            for i, kind in enumerate(self._spec.types()):
                made.append(graph.leaf(kind, graph._scope + (name or "IteratorGetNext")))
                graph._types[made[-1].node] = "IteratorGetNext"
                graph.sources[made[-1].node] = part(i)
        return self._spec.nest(handles(graph, made))

    def pull(self) -> list[np.ndarray]:
        """The arrays of the next element. Raises OutOfRangeError after the last."""
        return self._pull(False)

    def _pull(self, look: bool) -> list[np.ndarray]:
        if not self._ahead:
            if self._elements is None:
                raise FailedPreconditionError(
                    "GetNext() failed because the iterator has not been initialized.",
                    "Ensure that you have run the initializer operation for this iterator before getting the next element.",
                )
            element = next(self._elements, None)
            if element is None:
                raise OutOfRangeError("End of sequence")
            self._ahead.append([np.asarray(a) for a in leaves_of(element)])
        return self._ahead[0] if look else self._ahead.pop(0)


HANDLES: weakref.WeakValueDictionary[int, Iterator] = weakref.WeakValueDictionary()
"""Iterators by the values of their handles."""


class FedIterator:
    """The iterator whose handle is fed."""

    def __init__(self, handle: Any, spec: Spec):
        self._handle, self._spec = handle, spec

    def get_next(self, name: str | None = None) -> Any:
        """The next element of that iterator as tensors."""
        graph = self._handle.graph

        def pull(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
            found = HANDLES.get(int(arrays[0]))
            if found is None:
                raise InvalidArgumentError("the value is no handle of an iterator: feed what `string_handle()` gives")
            return found.pull()

        kinds = list(self._spec.types())
        made = graph.host_call([self._handle.symbol], pull, kinds, name or "IteratorGetNext", "IteratorGetNext")
        return self._spec.nest(made)
