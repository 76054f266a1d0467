"""Data sets as chains of Python iterators.

A function given to `map` or `filter` builds a graph of its own, which is compiled once and run for each element.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Iterator as AnyIterator
from itertools import islice
from typing import Any

import numpy as np

from .core import SourceRun, Symbol, TensorType, UnrankedType, pytree, static, using, value_of
from .dtypes import STORAGE, TensorShape, as_dtype, is_storage, numbers
from .errors import FailedPreconditionError, InvalidArgumentError, OutOfRangeError
from .graph import Graph, callable_of, get_default_graph, get_seed
from .handles import Handle, Operation
from .tensor import array_of, handles, is_text, symbols

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


# data sets ------------------------------------------------------------------------------------------------------------


class Dataset:
    """A sequence of elements. Methods give new data sets; nothing is computed before an iterator asks."""

    def __init__(self, spec: Spec, elements: Callable[[Values], AnyIterator[Element]], tensors: Sequence[Symbol] = ()):
        """elements: begins an iteration, from the values of `tensors`."""
        self._spec, self._elements, self._tensors = spec, elements, list(tensors)

    output_types = property(lambda self: self._spec.nest(as_dtype(dtype) for dtype, _ in self._spec.kinds))
    output_shapes = property(lambda self: self._spec.nest(shape for _, shape in self._spec.kinds))
    output_classes = property(lambda self: self._spec.nest(Handle for _ in self._spec.kinds))

    # sources ----------------------------------------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any) -> Dataset:
        """One element."""
        return _of_tensors(tensors, lambda arrays: iter([arrays]), lambda shape: shape)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Dataset:
        """One element per index of the first axis, which all components share. Raises ValueError for different extents."""

        def slices(arrays: list[np.ndarray]) -> AnyIterator[list[Any]]:
            counts = {len(a) for a in arrays}
            if len(counts) != 1:
                raise ValueError(f"Dimensions {sorted(counts)} are not compatible")
            return map(list, zip(*arrays, strict=True))

        return _of_tensors(tensors, slices, lambda shape: shape[1:])

    @staticmethod
    def from_generator(generator: Callable[..., Iterable[Any]], output_types: Any, output_shapes: Any = None,
                       args: Any = ()) -> Dataset:  # fmt: skip
        """The elements of `generator(*args)`."""
        dtypes, structure = pytree.flatten(output_types, rule)
        if output_shapes is None:
            shapes: list[Any] = [None] * len(dtypes)
        else:
            shapes = (
                [output_shapes] if structure is pytree.LEAF else list(pytree.unflatten(structure, shapes_in(output_shapes)))
            )
        kinds = [(as_dtype(d).numpy, TensorShape(s)) for d, s in zip(dtypes, shapes, strict=True)]
        spec = Spec(structure, kinds)

        def elements(values: Values) -> AnyIterator[Element]:
            for item in generator(*args):
                leaves, found = components_of(item, structure)
                if len(leaves) != len(kinds):
                    raise TypeError(f"the generator gave {pytree.text(found)}, expected {pytree.text(structure)}")
                yield spec.nest(_array(v, dtype) for v, (dtype, _) in zip(leaves, kinds, strict=True))

        return Dataset(spec, elements)

    @staticmethod
    def range(*args: int) -> Dataset:
        """The integers of Python's `range` (int64)."""
        ends: list[Any] = [symbols(a) if isinstance(a, Handle) else a for a in args]

        def elements(values: Values) -> AnyIterator[Element]:
            return map(np.int64, range(*(int(values[e.node]) if isinstance(e, Symbol) else int(e) for e in ends)))

        return Dataset(Spec.of(np.int64(0)), elements, [e for e in ends if isinstance(e, Symbol)])

    @staticmethod
    def zip(datasets: Any) -> Dataset:
        """Elements side by side, as many as the shortest has."""
        parts, structure = pytree.flatten(datasets, rule)

        def unflat(each: Iterable[Any]) -> Any:
            return pytree.unflatten(structure, each)

        spec = Spec(
            pytree.flatten(unflat([d._spec.nest([0] * len(d._spec.kinds)) for d in parts]), rule)[1],
            [kind for d in parts for kind in d._spec.kinds],
        )
        return Dataset(
            spec,
            lambda values: (unflat(each) for each in zip(*(d._elements(values) for d in parts), strict=False)),
            [t for d in parts for t in d._tensors],
        )

    # chains -----------------------------------------------------------------------------------------------------------

    def _then(self, elements: Callable[[AnyIterator[Element]], AnyIterator[Element]], spec: Spec | None = None) -> Dataset:
        return Dataset(spec or self._spec, lambda values: elements(self._elements(values)), self._tensors)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Dataset:
        """map_func of each element; the components of a tuple are its arguments. num_parallel_calls is accepted."""
        call, spec = _compiled(map_func, self._spec)
        return self._then(lambda elements: map(call, elements), spec)

    def filter(self, predicate: Callable[..., Any]) -> Dataset:
        """The elements for which the predicate holds."""
        call, _ = _compiled(predicate, self._spec)
        return self._then(lambda elements: (e for e in elements if bool(call(e))))

    def flat_map(self, map_func: Callable[..., Dataset]) -> Dataset:
        """The elements of the data sets that map_func makes of each element, whose tensors are constants there."""

        inner, spec = self._inner(map_func)

        def elements(outer: AnyIterator[Element]) -> AnyIterator[Element]:
            for element in outer:
                yield from inner(element)

        return self._then(elements, spec)

    def _inner(self, map_func: Callable[..., Dataset]) -> tuple[Callable[[Element], AnyIterator[Element]], Spec]:
        """The elements of the data set that map_func makes of an element, and their spec."""

        def made(element: Element) -> Dataset:
            graph = Graph()
            with graph.as_default():
                if isinstance(element, Window):
                    return map_func(*_arguments(element.data_sets()))
                args = _arguments(self._spec.nest(handles(graph, [static.constant(a) for a in leaves_of(element)])))
                return map_func(*args)

        def elements(element: Element) -> AnyIterator[Element]:
            found = made(element)
            return found._elements(_values_now(found._tensors))

        sample = self._spec.nest(np.zeros([d or 1 for d in s.as_list()], k) for k, s in self._spec.kinds)
        return elements, made(Window([sample], self._spec) if isinstance(self, Windows) else sample)._spec

    def interleave(
        self, map_func: Callable[..., Dataset], cycle_length: int | None = None, block_length: int | None = None,
        num_parallel_calls: Any = None, deterministic: bool | None = None, name: str | None = None,
    ) -> Dataset:  # fmt: skip
        """The elements of `cycle_length` data sets at a time, `block_length` of each in turn; map_func as for `flat_map`."""
        width, block = cycle_length or 1, block_length or 1
        inner, spec = self._inner(map_func)

        def elements(outer: AnyIterator[Element]) -> AnyIterator[Element]:
            open_: list[AnyIterator[Element] | None] = [None] * width
            exhausted, turn = False, 0
            while True:
                if open_[turn] is None and not exhausted:
                    element = next(outer, None)
                    exhausted = element is None
                    open_[turn] = None if element is None else inner(element)
                if exhausted and not any(open_):
                    return
                chosen = open_[turn]
                part = [] if chosen is None else list(islice(chosen, block))
                yield from part
                if len(part) < block:
                    open_[turn] = None  # the next data set takes the place at its next turn
                turn = (turn + 1) % width

        return self._then(elements, spec)

    def window(self, size: int, shift: int | None = None, stride: int = 1, drop_remainder: bool = False) -> Dataset:
        """Data sets of `size` elements, `stride` apart, that begin `shift` (size) after one another, as elements for
        `flat_map`; of several components a nest of data sets."""
        step, spec = size if shift is None else shift, self._spec
        made = Dataset(spec, lambda values: iter([]))

        def elements(source: AnyIterator[Element]) -> AnyIterator[Element]:
            held: list[Element] = []
            reach = (size - 1) * stride + 1
            ended = False
            while True:
                while not ended and len(held) < max(reach, 1):
                    item = next(source, None)
                    if item is None:
                        ended = True
                    else:
                        held.append(item)
                if not held or (drop_remainder and len(held) < reach):
                    return
                yield Window(held[:reach:stride], spec)
                missing = step - len(held)
                del held[:step]
                if missing > 0:
                    list(islice(source, missing))

        return Windows(made._spec, lambda values: elements(self._elements(values)), self._tensors)

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """reduce_func(state, element) over all elements, as tensors whose value is computed when the graph is built."""
        state = pytree.unflatten(
            pytree.flatten(initial_state, rule)[1], [array_of(x) for x in pytree.flatten(initial_state, rule)[0]]
        )
        both = Spec.of((state, self._spec.nest(np.zeros([d or 1 for d in s.as_list()], k) for k, s in self._spec.kinds)))
        call, _ = _compiled(reduce_func, Spec(both.structure, [*Spec.of(state).kinds, *self._spec.kinds]))
        for element in self._elements(_values_now(self._tensors)):
            state = call((state, element))
        graph = get_default_graph()
        with using(graph):
            leaves, structure = pytree.flatten(state, rule)
            found = pytree.unflatten(structure, handles(graph, [static.constant(np.asarray(a)) for a in leaves]))
        return found

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Dataset:
        """`batch_size` elements stacked along a new first axis; fewer at the end unless drop_remainder."""
        size, spec = int(batch_size), self._spec

        def elements(source: AnyIterator[Element]) -> AnyIterator[Element]:
            for columns in _columns(source, size, drop_remainder):
                yield spec.nest(np.stack(column) for column in columns)

        extent = size if drop_remainder else None
        return self._then(elements, spec.each(lambda shape: TensorShape([extent]).concatenate(shape)))

    def padded_batch(self, batch_size: int, padded_shapes: Any = None, padding_values: Any = None,
                     drop_remainder: bool = False) -> Dataset:  # fmt: skip
        """As `batch`, of elements padded at the ends of their axes: to `padded_shapes`, whose unknown extents are the largest
        of the batch, with `padding_values` (0)."""
        size, spec, count = int(batch_size), self._spec, len(self._spec.kinds)
        wanted = [s for _, s in spec.kinds] if padded_shapes is None else shapes_of(padded_shapes, spec)
        fill = [0] * count if padding_values is None else leaves_of(padding_values)
        fill = fill * count if len(fill) == 1 else fill

        def stacked(column: Sequence[np.ndarray], shape: TensorShape, value: Any) -> np.ndarray:
            largest = [max(a.shape[i] for a in column) for i in range(np.ndim(column[0]))]
            extents = [m if d is None else d for m, d in zip(largest, shape.as_list(), strict=True)]
            if any(m > d for m, d in zip(largest, extents, strict=True)):
                raise ValueError(f"Attempted to pad to a smaller size than the input element: {largest} to {extents}")
            out = np.full([len(column), *extents], value, column[0].dtype)
            for row, a in zip(out, column, strict=True):
                row[tuple(slice(0, n) for n in a.shape)] = a
            return out

        def elements(source: AnyIterator[Element]) -> AnyIterator[Element]:
            for columns in _columns(source, size, drop_remainder):
                yield spec.nest(stacked(c, s, v) for c, s, v in zip(columns, wanted, fill, strict=True))

        extent = [size if drop_remainder else None]
        kinds = [(k, TensorShape(extent).concatenate(s)) for (k, _), s in zip(spec.kinds, wanted, strict=True)]
        return self._then(elements, Spec(spec.structure, kinds))

    def shuffle(self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool = True) -> Dataset:
        """Each element drawn from a buffer of the next `buffer_size`. The order for a seed is not TensorFlow's."""
        rounds, (of_graph, own) = [0], get_seed(seed)

        def elements(source: AnyIterator[Element]) -> AnyIterator[Element]:
            start = None if of_graph is None or own is None else [of_graph, own, rounds[0] if reshuffle_each_iteration else 0]
            rounds[0] += 1
            rng = np.random.default_rng(start)
            buffer = list(islice(source, int(buffer_size)))
            for element in source:
                place = int(rng.integers(len(buffer)))
                out, buffer[place] = buffer[place], element
                yield out
            rng.shuffle(buffer)
            yield from buffer

        return self._then(elements)

    def repeat(self, count: int | None = None) -> Dataset:
        """All elements `count` times; without end for None or -1."""
        endless = count is None or count == -1

        def elements(values: Values) -> AnyIterator[Element]:
            done = 0
            while endless or done < (count or 0):
                empty = True
                for element in self._elements(values):
                    empty = False
                    yield element
                done += 1
                if empty:
                    return

        return Dataset(self._spec, elements, self._tensors)

    def take(self, count: int) -> Dataset:
        return self._then(lambda elements: elements if count == -1 else islice(elements, int(count)))

    def skip(self, count: int) -> Dataset:
        return self._then(lambda elements: islice(elements, int(count), None))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Every `num_shards`-th element, from the one at `index` on."""
        return self._then(lambda elements: islice(elements, int(index), None, int(num_shards)))

    def concatenate(self, dataset: Dataset) -> Dataset:
        def elements(values: Values) -> AnyIterator[Element]:
            yield from self._elements(values)
            yield from dataset._elements(values)

        kinds = [
            (k, a if a == b else TensorShape([m if m == n else None for m, n in zip(a.as_list(), b.as_list(), strict=True)]))
            for (k, a), (_, b) in zip(self._spec.kinds, dataset._spec.kinds, strict=True)
        ]
        return Dataset(Spec(self._spec.structure, kinds), elements, [*self._tensors, *dataset._tensors])

    def cache(self, filename: str = "") -> Dataset:
        """The elements are computed once and kept in memory; a file name is accepted."""
        kept: list[Element] = []
        complete = [False]

        def elements(values: Values) -> AnyIterator[Element]:
            if complete[0]:
                yield from kept
                return
            kept.clear()
            for element in self._elements(values):
                kept.append(element)
                yield element
            complete[0] = True

        return Dataset(self._spec, elements, self._tensors)

    def enumerate(self, start: int = 0) -> Dataset:
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self))

    def prefetch(self, buffer_size: int) -> Dataset:
        """Accepted: elements are made when they are asked for."""
        return self

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        return transformation_func(self)

    def with_options(self, options: Any) -> Dataset:
        """Accepted."""
        return self

    # iterators --------------------------------------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> Iterator:
        """An iterator over all elements once, which needs no initialization. Raises ValueError where a value is fed."""
        made = Iterator(self._spec)
        made.restart(self, _values_now(self._tensors))
        return made

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        """An iterator that `sess.run(iterator.initializer)` begins."""
        made = Iterator(self._spec)
        made.initializer = made.make_initializer(self)
        return made

    def __iter__(self) -> AnyIterator[Element]:
        raise RuntimeError("__iter__() is only supported inside of tf.function or when eager execution is enabled.")


class Window:
    """Some elements of a data set, which are an element of another."""

    def __init__(self, items: list[Element], spec: Spec):
        self.items, self.spec = items, spec

    def data_sets(self) -> Any:
        """A data set of each component."""

        def component(i: int, kind: tuple[np.dtype, TensorShape]) -> Dataset:
            return Dataset(Spec(pytree.LEAF, [kind]), lambda values: iter([leaves_of(item)[i] for item in self.items]))

        return self.spec.nest(component(i, kind) for i, kind in enumerate(self.spec.kinds))


class Windows(Dataset):
    """A data set of windows. Raises TypeError for its iterators: `flat_map` takes it."""

    def make_one_shot_iterator(self) -> Iterator:
        raise TypeError("the elements of window() are data sets: apply flat_map before an iterator is made")

    def make_initializable_iterator(self, shared_name: str | None = None) -> Iterator:
        raise TypeError("the elements of window() are data sets: apply flat_map before an iterator is made")


def _of_tensors(
    tensors: Any, elements: Callable[[list[np.ndarray]], AnyIterator[list[Any]]], item: Callable[[TensorShape], TensorShape]
) -> Dataset:
    leaves, structure = pytree.flatten(tensors, rule)
    sources = [symbols(x) if isinstance(x, Handle) else array_of(x) for x in leaves]
    kinds = [(STORAGE if is_text(s) else s.dtype, item(x.shape if isinstance(x, Handle) else TensorShape(s.shape)))
             for s, x in zip(sources, leaves, strict=True)]  # fmt: skip
    spec = Spec(structure, kinds)

    def begin(values: Values) -> AnyIterator[Element]:
        arrays = [values[s.node] if isinstance(s, Symbol) else s for s in sources]
        return map(spec.nest, elements(arrays))

    return Dataset(spec, begin, [s for s in sources if isinstance(s, Symbol)])


def _values_now(tensors: Sequence[Symbol]) -> Values:
    """The values of constants. Raises ValueError for what is known in a run only."""
    try:
        return {t.node: value_of(t) for t in tensors}
    except Exception as error:
        raise ValueError(
            "Cannot capture a placeholder or variable in a one-shot iterator: make_initializable_iterator() takes its value "
            f"from a run. ({error})"
        ) from None


def _columns(source: AnyIterator[Element], size: int, drop_remainder: bool) -> AnyIterator[Any]:
    """The components of so many elements at a time, each as a sequence."""
    while chunk := list(islice(source, size)):
        if len(chunk) == size or not drop_remainder:
            yield zip(*map(leaves_of, chunk), strict=True)


def _array(value: Any, dtype: np.dtype) -> np.ndarray:
    return numbers(value) if is_storage(dtype) else np.asarray(value, dtype)


def _arguments(element: Any) -> tuple[Any, ...]:
    return tuple(element) if isinstance(element, tuple) and not hasattr(element, "_fields") else (element,)


def _compiled(fn: Callable[..., Any], spec: Spec) -> tuple[Callable[[Element], Element], Spec]:
    """A function on tensors as one on elements, and the spec of its results."""
    graph = Graph()
    with graph.as_default():
        places = [graph.leaf(kind, "arg") for kind in spec.types()]
        out = fn(*_arguments(spec.nest(handles(graph, places))))
        leaves, structure = pytree.flatten(tuple(out) if isinstance(out, list) else out, rule)
        results = [x if isinstance(x, Handle) else handles(graph, static.constant(array_of(x))) for x in leaves]
    run = callable_of(static.Session(graph), [r.symbol for r in results], places)
    made = Spec(structure, [(r.dtype.numpy, r.shape) for r in results])
    strings = [is_storage(kind) for kind, _ in made.kinds]

    def call(element: Element) -> Element:
        found = run(*leaves_of(element))
        return made.nest(numbers(value) if text else value for value, text in zip(found, strings, strict=True))

    return (call if any(strings) else lambda element: made.nest(run(*leaves_of(element)))), made


# functions of `tf.data` -----------------------------------------------------------------------------------------------

AUTOTUNE = -1
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2
"""What the size of a data set may be said to be."""


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    return dataset.make_initializable_iterator(shared_name)


def _output(what: str) -> Callable[[Any], Any]:
    def get(dataset_or_iterator: Any) -> Any:
        return getattr(dataset_or_iterator, f"output_{what}")

    get.__name__ = f"get_output_{what}"
    return get


get_output_types, get_output_shapes, get_output_classes = map(_output, ("types", "shapes", "classes"))


class Options:
    """Accepted. Fields can be set; none has an effect."""


class ThreadingOptions:
    """Accepted."""
