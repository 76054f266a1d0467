"""Queues between runs: Python's, one per session, to which runs add elements and from which they take them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .core import Condition, TensorType, UnrankedType, lock, user_line, using
from .dtypes import as_dtype
from .errors import CancelledError, OutOfRangeError
from .graph import get_default_graph, get_seed
from .handles import Handle, Operation
from .shapes import TensorShape, extents
from .tensor import symbols, tensor

Element = tuple[np.ndarray, ...]


class _State:
    """The elements of a queue in one session."""

    def __init__(self, seed: tuple[int | None, int | None]) -> None:
        self.items: list[Element] = []
        self.changed = Condition()
        self.closed = False
        self.random = np.random.default_rng([s for s in seed if s is not None] or None)

    def wait(self, ready: Callable[[], bool]) -> None:
        while not ready():
            self.changed.wait(0.1)  # a wait without an end would not see Ctrl-C


class QueueBase:
    """Base of the queues.

    capacity: the number of elements that fit, negative for any; dtypes: of the components of an element; shapes: theirs, needed
    by `dequeue_many`; names: of the components, for elements that are dicts. An operation on a full or an empty queue waits for
    another thread.
    """

    kind = "queue"

    def __init__(self, capacity: int, dtypes: Any, shapes: Any, names: Any, name: str, seed: int | None = None):
        self.dtypes = [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]
        given = [None] * len(self.dtypes) if shapes is None else list(shapes)
        if shapes is not None and len(self.dtypes) == 1 and not (given and isinstance(given[0], (list, tuple, TensorShape))):
            given = [shapes]
        if len(given) != len(self.dtypes):
            raise ValueError(
                f"Queue shapes must have the same length as dtypes, got {len(given)} shapes, {len(self.dtypes)} dtypes."
            )
        self.shapes = [TensorShape(s) for s in given]
        self.names = [names] if isinstance(names, str) else names
        self._capacity = capacity if capacity >= 0 else 2**62
        self._graph = get_default_graph()
        self.name = self._graph.scoped(name)
        self._seed = get_seed(seed)
        self._states: weakref.WeakKeyDictionary[Any, _State] = weakref.WeakKeyDictionary()
        self._lock = lock()

    @property
    def queue_ref(self) -> QueueBase:
        return self

    def _of(self, session: Any) -> _State:
        with self._lock:
            return self._states.setdefault(session, _State(self._seed))

    # elements in ------------------------------------------------------------------------------------------------------

    def _components(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            if self.names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            vals = [vals[n] for n in self.names]
        elif self.names is not None:
            raise ValueError("Queue with names must enqueue a dictionary")
        items = list(vals) if isinstance(vals, (list, tuple)) and (len(self.dtypes) > 1 or len(vals) == 1) else [vals]
        if len(items) != len(self.dtypes):
            raise ValueError(f"The queue takes {len(self.dtypes)} components, got {len(items)}")
        with using(self._graph):
            return [tensor(symbols(v), d) for v, d in zip(items, self.dtypes, strict=True)]

    def _fit(self, components: Sequence[Any], batched: bool) -> None:
        for x, shape in zip(components, self.shapes, strict=True):
            known = getattr(x.node.type, "shape", None)
            if known is not None and shape.dims is not None and not isinstance(x.node.type, UnrankedType):
                own = TensorShape(known[1:] if batched else known)
                if not own.is_compatible_with(shape):
                    raise ValueError(f"Shapes {own} and {shape} are incompatible")

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that adds one element."""
        components = self._components(vals)
        self._fit(components, False)
        return self._adding(components, lambda arrays: [tuple(arrays)], name or f"{self.name}_enqueue")

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """An operation that adds the elements along the first axis."""
        components = self._components(vals)
        self._fit(components, True)
        return self._adding(components, lambda arrays: list(zip(*arrays, strict=True)), name or f"{self.name}_EnqueueMany")

    def _adding(self, components: list[Any], elements: Callable[..., list[Element]], name: str) -> Operation:
        where = user_line()

        def act(arrays: Sequence[np.ndarray], session: Any) -> None:
            state = self._of(session)
            with state.changed:
                for element in elements([np.array(a) for a in arrays]):
                    state.wait(lambda: state.closed or len(state.items) < self._capacity)
                    if state.closed:
                        raise CancelledError(f"{self.kind} '{self.name}' is closed.", where=where)
                    self._put(state, element)
                    state.changed.notify_all()

        return self._graph.host_action(components, act, name, with_session=True)

    def _put(self, state: _State, element: Element) -> None:
        state.items.append(element)

    # elements out -----------------------------------------------------------------------------------------------------

    def _available(self, state: _State) -> int:
        return len(state.items)

    def _take(self, state: _State) -> Element:
        return state.items.pop(0)

    def _taken(self, session: Any, count: int, up_to: bool, where: Any) -> list[Element]:
        state = self._of(session)
        found: list[Element] = []
        with state.changed:
            state.wait(lambda: state.closed or self._available(state) >= (1 if count > self._capacity else count))
            if len(state.items) < count and state.closed and not (up_to and state.items):
                raise OutOfRangeError(
                    f"{self.kind} '{self.name}' is closed and has insufficient elements (requested {count}, current size "
                    f"{len(state.items)})", where=where,
                )  # fmt: skip
            while len(found) < count and (state.items or not state.closed):
                state.wait(lambda: state.closed or self._available(state) > 0)
                if state.items:
                    found.append(self._take(state))
                    state.changed.notify_all()
        return found

    def _results(self, count: int | None, up_to: bool, name: str) -> Any:
        where = user_line()
        lead = [] if count is None else [None if up_to else count]
        kinds: list[TensorType] = []
        for dtype, shape in zip(self.dtypes, self.shapes, strict=True):
            if shape.dims is None:
                kinds.append(UnrankedType(dtype.numpy))
            else:
                kinds.append(TensorType((*lead, *extents(shape)), dtype.numpy))

        def call(arrays: Sequence[np.ndarray], session: Any) -> list[np.ndarray]:
            found = self._taken(session, 1 if count is None else count, up_to, where)
            return list(found[0]) if count is None else [self._stacked(column) for column in zip(*found, strict=True)]

        with using(self._graph):
            made = self._graph.host_call([], call, kinds, name, "QueueDequeueV2", with_session=True)
        if self.names is not None:
            return dict(zip(self.names, made, strict=True))
        return made[0] if len(made) == 1 else made

    def _stacked(self, column: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(column)

    def dequeue(self, name: str | None = None) -> Any:
        """The components of one element; a run raises `tf.errors.OutOfRangeError` once the queue is closed and empty."""
        return self._results(None, False, name or f"{self.name}_Dequeue")

    def dequeue_many(self, n: int, name: str | None = None) -> Any:
        """The components of `n` elements, stacked. Raises ValueError without shapes."""
        self._check_shapes()
        return self._results(int(n), False, name or f"{self.name}_DequeueMany")

    def dequeue_up_to(self, n: int, name: str | None = None) -> Any:
        """As `dequeue_many`, of the elements that are left once the queue is closed."""
        self._check_shapes()
        return self._results(int(n), True, name or f"{self.name}_DequeueUpTo")

    def _check_shapes(self) -> None:
        if any(not shape.is_fully_defined() for shape in self.shapes):
            raise ValueError(f"All shapes must be fully defined: {[str(s) for s in self.shapes]}")

    # state ------------------------------------------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """An operation after which nothing can be added."""

        def act(arrays: Sequence[np.ndarray], session: Any) -> None:
            state = self._of(session)
            with state.changed:
                state.closed = True
                state.changed.notify_all()

        return self._graph.host_action([], act, name or f"{self.name}_Close", with_session=True)

    def _asked(self, fn: Callable[[_State], Any], dtype: Any, name: str) -> Handle:
        def call(arrays: Sequence[np.ndarray], session: Any) -> list[np.ndarray]:
            return [np.asarray(fn(self._of(session)), dtype)]

        kind = TensorType((), np.dtype(dtype))
        (made,) = self._graph.host_call([], call, [kind], name, "QueueSizeV2", with_session=True)
        return made

    def size(self, name: str | None = None) -> Handle:
        """The number of elements."""
        return self._asked(lambda state: len(state.items), np.int32, name or f"{self.name}_Size")

    def is_closed(self, name: str | None = None) -> Handle:
        return self._asked(lambda state: state.closed, np.bool_, name or f"{self.name}_Closed")


class FIFOQueue(QueueBase):
    """First in, first out."""

    kind = "FIFOQueue"

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "fifo_queue",
    ):  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, name)


class RandomShuffleQueue(QueueBase):
    """Elements come out in random order; `min_after_dequeue` stay until the queue is closed."""

    kind = "RandomShuffleQueue"

    def __init__(
        self, capacity: int, min_after_dequeue: int, dtypes: Any, shapes: Any = None, names: Any = None,
        seed: int | None = None, shared_name: str | None = None, name: str = "random_shuffle_queue",
    ):  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, name, seed)
        self._least = min_after_dequeue

    def _available(self, state: _State) -> int:
        return len(state.items) - self._least

    def _take(self, state: _State) -> Element:
        return state.items.pop(int(state.random.integers(len(state.items))))


class PaddingFIFOQueue(QueueBase):
    """A FIFO queue whose elements may differ in extents that `shapes` leaves open; `dequeue_many` fills up with zeros."""

    kind = "PaddingFIFOQueue"

    def __init__(
        self, capacity: int, dtypes: Any, shapes: Any, names: Any = None, shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ):  # fmt: skip
        super().__init__(capacity, dtypes, shapes, names, name)

    def _check_shapes(self) -> None:
        if any(shape.dims is None for shape in self.shapes):
            raise ValueError("All shapes must have a defined rank")

    def _stacked(self, column: Sequence[np.ndarray]) -> np.ndarray:
        sizes = np.max([item.shape for item in column], axis=0)
        out = np.zeros((len(column), *map(int, sizes)), column[0].dtype)
        for k, item in enumerate(column):
            out[k][tuple(slice(n) for n in item.shape)] = item
        return out


class PriorityQueue(QueueBase):
    """Elements come out by their first component, an int64, the least first."""

    kind = "PriorityQueue"

    def __init__(
        self, capacity: int, types: Any, shapes: Any = None, names: Any = None, shared_name: str | None = None,
        name: str = "priority_queue",
    ):  # fmt: skip
        kinds = list(types) if isinstance(types, (list, tuple)) else [types]
        own = None if shapes is None else [(), *shapes]
        super().__init__(capacity, [np.int64, *kinds], own, names, name)

    def _put(self, state: _State, element: Element) -> None:
        import bisect

        bisect.insort(state.items, element, key=lambda item: int(item[0]))
