"""Queues between runs, Python's, one per session, to which runs add elements and from which they take them; the threads that
fill them."""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import concat, convert_to_tensor, expand_dims, fill, gather, identity, stack
from ..arrays import shape as shape_of
from ..core import Condition, TensorType, UnrankedType, get_default_session, lock, static, user_line, using
from ..draws import random_uniform
from ..dtypes import TensorShape, as_dtype, extents
from ..errors import CancelledError, OutOfRangeError
from ..gathering import argsort, boolean_mask
from ..graph import GraphKeys, control_dependencies, get_default_graph, get_seed
from ..handles import Handle, Operation
from ..sparse import SparseTensor
from ..tensor import KIND, arguments, listed, symbols, tensor
from ..variables import Variable, count_up_to

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


# threads that fill queues ---------------------------------------------------------------------------------------------


class Coordinator:
    """Asks threads to stop, and waits for them."""

    def __init__(self, clean_stop_exception_types: Any = None):
        self._stop = threading.Event()
        self._clean = (OutOfRangeError, *(clean_stop_exception_types or ()))
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []
        self._joined = False

    def request_stop(self, ex: Any = None) -> None:
        """Ask all to stop; an exception that is not a clean end is raised by `join`."""
        if isinstance(ex, tuple):  # of sys.exc_info()
            ex = ex[1]
        if self._joined and ex is not None and not isinstance(ex, self._clean):
            raise RuntimeError("Too late to raise an exception: the coordinator has joined its threads.") from ex
        if isinstance(ex, BaseException) and not isinstance(ex, self._clean) and self._error is None:
            self._error = ex
        self._stop.set()

    def clear_stop(self) -> None:
        self._error, self._joined = None, False
        self._stop.clear()

    @property
    def joined(self) -> bool:
        """Whether `join` has ended."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raise what a thread reported, if one did."""
        if self._error is not None:
            raise self._error

    def should_stop(self) -> bool:
        return self._stop.is_set()

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        self._threads.append(thread)

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Ask all to stop where the body raises."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def join(self, threads: Any = None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Wait for the threads; raises what a thread reported. RuntimeError for threads that don't end in time."""
        end = None
        for thread in [*self._threads, *(threads or [])]:
            while thread.is_alive():
                thread.join(0.1)
                if self._stop.is_set():
                    end = end or time.monotonic() + stop_grace_period_secs
                    if time.monotonic() > end:
                        break
            if thread.is_alive() and not ignore_live_threads:
                raise RuntimeError("Coordinator stopped with threads still running.")
        self._joined = True
        self.raise_requested_exception()


class LooperThread(threading.Thread):
    """A thread that repeats `run_loop` until its coordinator stops: every `timer_interval_secs`, without a pause for None."""

    def __init__(self, coord: Coordinator, timer_interval_secs: float | None, target: Any = None, args: Any = None,
                 kwargs: Any = None):  # fmt: skip
        super().__init__(daemon=True)
        self._coord, self._interval, self._function = coord, timer_interval_secs, target
        self._given = tuple(args or ()), dict(kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Coordinator, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None) -> Any:
        """Begin such a thread."""
        made = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        made.start()
        return made

    def run(self) -> None:
        with self._coord.stop_on_exception():
            self.start_loop()
            while not self._coord.should_stop():
                self.run_loop()
                if self._interval is not None and self._coord.wait_for_stop(self._interval):
                    break
            self.stop_loop()

    def start_loop(self) -> None: ...

    def stop_loop(self) -> None: ...

    def run_loop(self) -> None:
        if self._function is not None:
            self._function(*self._given[0], **self._given[1])


class QueueRunner:
    """Runs the enqueue operations of a queue, each in a thread, until one has no more elements; then closes the queue."""

    def __init__(
        self, queue: QueueBase, enqueue_ops: Sequence[Operation], close_op: Operation | None = None,
        cancel_op: Operation | None = None, queue_closed_exception_types: Any = None, queue_runner_def: Any = None,
        import_scope: str | None = None,
    ):  # fmt: skip
        if queue is None or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        self.queue, self.enqueue_ops = queue, list(enqueue_ops)
        self.close_op = queue.close() if close_op is None else close_op
        self.cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._ends = (OutOfRangeError, CancelledError, *(queue_closed_exception_types or ()))
        self.exceptions_raised: list[BaseException] = []

    @property
    def name(self) -> str:
        return self.queue.name

    def create_threads(self, sess: Any, coord: Coordinator | None = None, daemon: bool = False,
                       start: bool = False) -> list[threading.Thread]:  # fmt: skip
        """One thread per operation, and with a coordinator one that closes the queue when that stops."""
        left = [len(self.enqueue_ops)]
        lock = threading.Lock()

        def feed(op: Operation) -> None:
            try:
                while coord is None or not coord.should_stop():
                    sess.run(op)
            except self._ends:
                pass
            except Exception as error:
                self.exceptions_raised.append(error)
                if coord is None:
                    raise
                coord.request_stop(error)
            finally:
                with lock:
                    left[0] -= 1
                    last = not left[0]
                if last:
                    sess.run(self.close_op)

        def stop() -> None:
            coord.wait_for_stop()  # type: ignore[union-attr]  # begun with a coordinator alone
            sess.run(self.cancel_op)

        threads = [threading.Thread(target=feed, args=(op,), daemon=daemon) for op in self.enqueue_ops]
        if coord is not None:
            threads.append(threading.Thread(target=stop, daemon=daemon))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            if start:
                thread.start()
        return threads


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Let `start_queue_runners` start it."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess: Any = None, coord: Any = None, daemon: bool = True, start: bool = True,
                        collection: str = GraphKeys.QUEUE_RUNNERS) -> list[threading.Thread]:  # fmt: skip
    """Start the threads of all queue runners of the graph. Raises ValueError without a session."""
    chosen = get_default_session() if sess is None else sess
    if chosen is None:
        raise ValueError(
            "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an explicit "
            "session to tf.start_queue_runners(sess=sess)"
        )
    if isinstance(chosen, static.Session):
        from ..session import Session

        chosen = Session.over(chosen)
    runners = chosen.graph.get_collection(collection)
    return [thread for runner in runners for thread in runner.create_threads(chosen, coord, daemon, start)]


# batches of the values of tensors in many runs ------------------------------------------------------------------------

# Batches of the values of tensors in many runs, by queues that threads fill.


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor; after so many runs a run raises `tf.errors.OutOfRangeError`. Counts in a local variable."""
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    graph = get_default_graph()
    with graph.name_scope(name or "limit_epochs"):
        epochs = Variable(np.int64(0), trainable=False, name="epochs", collections=[GraphKeys.LOCAL_VARIABLES])
        counter = count_up_to(epochs, num_epochs)
        with control_dependencies([counter]):
            return identity(tensor)


def input_producer(
    input_tensor: Any, element_shape: Any = None, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None,
    capacity: int = 32, shared_name: str | None = None, summary_name: str | None = None, name: str | None = None,
    cancel_op: Any = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the rows of a tensor, filled by a queue runner, in another random order each time."""
    with get_default_graph().name_scope(name or "input_producer"):
        rows = convert_to_tensor(input_tensor)
        shape = rows.shape.as_list()[1:] if element_shape is None else element_shape
        if shuffle:
            rows = gather(rows, argsort(random_uniform([rows.shape.as_list()[0]], seed=seed)))
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [shape])
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        return queue


def range_input_producer(
    limit: int, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> FIFOQueue:  # fmt: skip
    """A queue of the integers below `limit`."""
    return input_producer(
        np.arange(limit, dtype=np.int32), [], num_epochs, shuffle, seed, capacity, name=name or "input_producer"
    )


def slice_input_producer(
    tensor_list: Any, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
    shared_name: str | None = None, name: str | None = None,
) -> list[Any]:  # fmt: skip
    """One row of each tensor, the same in all, another in each run."""
    if not tensor_list:
        raise ValueError("Expected at least one tensor in slice_input_producer().")
    with get_default_graph().name_scope(name or "input_producer"):
        tensors = [convert_to_tensor(t) for t in tensor_list]
        queue = range_input_producer(tensors[0].shape.as_list()[0], num_epochs, shuffle, seed, capacity)
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]


def _batched(
    tensors: Any, batch_size: int, threads: int, queue_of: Any, enqueue_many: bool, shapes: Any, allow_smaller: bool, name: str,
) -> Any:  # fmt: skip
    named = isinstance(tensors, dict)
    with get_default_graph().name_scope(name):
        if any(isinstance(t, SparseTensor) for t in (tensors.values() if named else listed(tensors))):
            raise TypeError(
                f"{name}: sparse tensors can't be elements of a queue; give tf.sparse_tensor_to_dense of them, or feed "
                "batches to a tf.sparse_placeholder"
            )
        items = [convert_to_tensor(t) for t in (tensors.values() if named else listed(tensors))]
        if shapes is None:
            shapes = [t.shape.as_list()[1:] if enqueue_many else t.shape for t in items]
        queue = queue_of([t.dtype for t in items], shapes)
        add = queue.enqueue_many if enqueue_many else queue.enqueue
        add_queue_runner(QueueRunner(queue, [add(items)] * threads))
        take = queue.dequeue_up_to if allow_smaller else queue.dequeue_many
        found = take(batch_size)
    found = found if isinstance(found, list) else [found]
    if named:
        return dict(zip(tensors, found, strict=True))
    return found if len(found) > 1 else found[0]


def batch(
    tensors: Any, batch_size: int, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False, shapes: Any = None,
    dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Batches of the values of tensors in many runs, made by queue runners. enqueue_many: the tensors hold many elements."""
    cls = PaddingFIFOQueue if dynamic_pad else FIFOQueue
    return _batched(
        tensors, batch_size, num_threads, lambda d, s: cls(capacity, d, s), enqueue_many, shapes, allow_smaller_final_batch,
        name or "batch",
    )  # fmt: skip


def shuffle_batch(
    tensors: Any, batch_size: int, capacity: int, min_after_dequeue: int, num_threads: int = 1, seed: int | None = None,
    enqueue_many: bool = False, shapes: Any = None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """`batch` through a `RandomShuffleQueue`."""
    return _batched(
        tensors, batch_size, num_threads, lambda d, s: RandomShuffleQueue(capacity, min_after_dequeue, d, s, seed=seed),
        enqueue_many, shapes, allow_smaller_final_batch, name or "shuffle_batch",
    )  # fmt: skip


# batches of several lists of tensors, and of those elements that are to be kept -----------------------------------------


def _joined(lists: Any, enqueue_many: bool) -> Any:
    """One list of what several give in turn: each run takes one element of each, or all elements of all."""
    names = list(lists[0]) if isinstance(lists[0], dict) else None
    rows = [[each[name] for name in names] if names else listed(each) for each in lists]
    found = [concat(list(column), 0) if enqueue_many else stack(list(column)) for column in zip(*rows, strict=True)]
    return dict(zip(names, found, strict=True)) if names else found


def _kept(keep_input: Any, tensors: Any, enqueue_many: bool) -> Any:
    """The rows to keep, as many elements: none, one or all."""
    keep = convert_to_tensor(keep_input)
    items = list(tensors.values()) if isinstance(tensors, dict) else listed(tensors)
    rows = [convert_to_tensor(t) if enqueue_many else expand_dims(convert_to_tensor(t), 0) for t in items]
    mask = keep if keep.shape.ndims else fill([shape_of(rows[0])[0]], keep)
    found = [boolean_mask(t, mask) for t in rows]
    return dict(zip(tensors, found, strict=True)) if isinstance(tensors, dict) else found


def _variant(of: Callable[..., Any], join: bool, keep: bool, doc: str) -> Callable[..., Any]:
    """`batch` or `shuffle_batch` of a list of lists of tensors, of elements for which `keep_input` holds, or of both."""
    own = dict(inspect.signature(of).parameters)
    shuffled, first = "min_after_dequeue" in own, own.pop("tensors")
    if join:
        first = first.replace(name="tensors_list")
        del own["num_threads"]
    parameters = [first, *own.values()]
    if keep:
        parameters.insert(4 if shuffled else 1, inspect.Parameter("keep_input", KIND, annotation="Any"))
    signed = inspect.Signature(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = arguments(signed, args, kwargs)
        many, tensors, kept = given["enqueue_many"], given.pop(first.name), given.pop("keep_input", None)
        if keep:
            tensors = [_kept(kept, each, many) for each in tensors] if join else _kept(kept, tensors, many)
            many = given["enqueue_many"] = True
        if join:
            tensors, given["enqueue_many"] = _joined(tensors, many), True
            given["name"] = given["name"] or (None if many else name)
        return of(tensors, **given)

    name = f"{'maybe_' if keep else ''}{of.__name__}{'_join' if join else ''}"
    call.__name__, call.__doc__ = name, doc
    call.__signature__ = signed  # type: ignore[attr-defined]
    return call


batch_join = _variant(batch, True, False, "`batch` of the elements of several lists of tensors, which take turns.")
shuffle_batch_join = _variant(shuffle_batch, True, False, "`shuffle_batch` of the elements of several lists of tensors.")
maybe_batch = _variant(
    batch, False, True, "`batch` of those elements for which `keep_input` (one boolean, or one for each element) holds."
)
maybe_shuffle_batch = _variant(shuffle_batch, False, True, "`shuffle_batch` of those elements for which `keep_input` holds.")
maybe_batch_join = _variant(batch, True, True, "`batch_join` of those elements for which `keep_input` holds.")
maybe_shuffle_batch_join = _variant(
    shuffle_batch, True, True, "`shuffle_batch_join` of those elements for which `keep_input` holds."
)
