"""DataLoader: batches of a data set, made here or by worker processes."""

from __future__ import annotations

import copy
import functools
import itertools
import multiprocessing
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ....base.types import is_number
from ....eager import Tensor, tensor
from ....errors import ArgumentError, DTypeError
from ....ops.operators import F, is_tensor
from .datasets import BatchSampler, IterableDataset, RandomSampler, SequentialSampler, numbers_of
from .workers import Job, Worker, stop

T_co = TypeVar("T_co", covariant=True)


def seed_of_workers(generator: Any) -> int:
    """A seed for the workers of one pass over the data; each adds its number."""
    return int(numbers_of(generator).integers(2**62))


class DataLoader(Generic[T_co]):
    """Batches of a data set, as an iterable that starts anew with each `iter`.

    batch_size: None for samples as they are. shuffle: a new random order each time, from `generator` (the library's unless
    given). sampler: the order of positions; batch_sampler: lists of positions, in place of batch_size, shuffle, sampler and
    drop_last. collate_fn: makes a batch of a list of samples. num_workers: processes that make batches ahead, each
    prefetch_factor of them (2 unless given); batch i comes from worker i % num_workers, and batches come in order. What a
    worker raises is raised here, with its traceback. timeout: seconds to wait for a batch, 0 for any time.
    persistent_workers: keep the processes from one `iter` to the next. Raises ArgumentError for options that exclude each
    other. pin_memory, pin_memory_device and in_order are accepted and change nothing on a CPU.
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None, multiprocessing_context: Any = None, generator: Any = None, *,
        prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
        in_order: bool = True,
    ):  # fmt: skip
        if isinstance(num_workers, bool) or not isinstance(num_workers, (int, np.integer)) or num_workers < 0:
            raise ArgumentError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
                f"got {num_workers!r}",
            )
        if not is_number(timeout) or timeout < 0:
            raise ArgumentError("timeout option should be non-negative", f"got {timeout!r}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ArgumentError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor <= 0:
            raise ArgumentError("prefetch_factor option should be positive", f"got {prefetch_factor}")
        if persistent_workers and num_workers == 0:
            raise ArgumentError("persistent_workers option needs num_workers > 0")
        self.dataset: Any = dataset
        self.num_workers, self.timeout = int(num_workers), float(timeout)
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers, self.worker_init_fn, self.generator = persistent_workers, worker_init_fn, generator
        self.multiprocessing_context = multiprocessing_context
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.drop_last = bool(drop_last)
        self.iterable = isinstance(dataset, IterableDataset)
        self._set_order(batch_size, shuffle, sampler, batch_sampler)
        self.collate_fn = collate_fn or (default_convert if self.batch_sampler is None else default_collate)
        self._kept: list[Worker] = []

    def _set_order(self, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        """`sampler`, `batch_sampler` and `batch_size`. Raises ArgumentError."""
        if self.iterable and (shuffle or sampler is not None or batch_sampler is not None):
            name = "shuffle" if shuffle else "sampler" if sampler is not None else "batch_sampler"
            raise ArgumentError(f"DataLoader with IterableDataset: expected unspecified {name} option")
        if sampler is not None and shuffle:
            raise ArgumentError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or self.drop_last:
                raise ArgumentError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and self.drop_last:
            raise ArgumentError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self.iterable:
                sampler = itertools.repeat(None)
            else:
                sampler = RandomSampler(self.dataset, generator=self.generator) if shuffle else SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, self.drop_last)
        self.batch_size, self.sampler, self.batch_sampler = batch_size, sampler, batch_sampler

    def __len__(self) -> int:
        """The number of batches. Raises TypeError for a data set or sampler without a length."""
        if self.iterable:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self._tasks())  # type: ignore[arg-type]

    def _tasks(self) -> Iterable[Any]:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _fetcher(self) -> Callable[[Any], Callable[[Any], Any]]:
        make = _from_iterable if self.iterable else _from_positions
        return functools.partial(make, self.collate_fn, self.batch_sampler is not None, self.drop_last)

    def __iter__(self) -> Iterator[T_co]:
        if self.num_workers:
            return _WithWorkers(self)
        return self._here()

    def _here(self) -> Iterator[Any]:
        fetch = self._fetcher()(self.dataset)
        for task in self._tasks():
            try:
                batch = fetch(task)
            except StopIteration:
                return
            yield batch

    def _workers(self) -> list[Worker]:
        """Processes for one `iter`; those of the last one where they are kept."""
        if self._kept and all(worker.process.is_alive() for worker in self._kept):
            return self._kept
        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        found: list[Worker] = []
        try:
            for i in range(self.num_workers):
                job = Job(self.dataset, self._fetcher(), self.worker_init_fn, i, self.num_workers)
                found.append(Worker(context, job))
        except BaseException:
            stop(found)
            raise
        if self.persistent_workers:
            self._kept = found
            weakref.finalize(self, stop, found)
        return found


def _from_positions(collate: Callable[[Any], Any], batched: bool, drop_last: bool, dataset: Any) -> Callable[[Any], Any]:
    """A function from positions (one, unless `batched`) to a batch."""

    def fetch(task: Any) -> Any:
        if not batched:
            return collate(dataset[task])
        if collate is default_collate and (whole := getattr(dataset, "__getbatch__", None)) is not None:
            batch = whole(task)
            if batch is not None:
                return batch
        several = getattr(dataset, "__getitems__", None)
        return collate(several(task) if several is not None else [dataset[i] for i in task])

    return fetch


def _from_iterable(collate: Callable[[Any], Any], batched: bool, drop_last: bool, dataset: Any) -> Callable[[Any], Any]:
    """The same of the next samples, as many as a task has members. Raises StopIteration at the end."""
    samples = iter(dataset)

    def fetch(task: Any) -> Any:
        if not batched:
            return collate(next(samples))
        batch = list(itertools.islice(samples, len(task)))
        if not batch or (drop_last and len(batch) < len(task)):
            raise StopIteration
        return collate(batch)

    return fetch


class _WithWorkers(Iterator[Any]):
    """One pass over the data with worker processes."""

    def __init__(self, loader: DataLoader[Any]):
        self.tasks = iter(loader._tasks())
        self.timeout = loader.timeout
        self.iterable = loader.iterable
        seed = seed_of_workers(loader.generator)
        self.workers = loader._workers()
        self.owned = not loader.persistent_workers
        if self.owned:
            self.close = weakref.finalize(self, stop, self.workers)
        self.loader = loader
        self.epoch = max(worker.begin(seed) for worker in self.workers)
        self.turn = itertools.cycle(list(self.workers))
        self.running = set(self.workers)
        self.waiting: deque[Worker] = deque()
        """Who makes the batches to come, in order."""
        for _ in range((loader.prefetch_factor or 1) * len(self.workers)):
            self._give()

    def _give(self) -> None:
        """The next task, to the worker whose turn it is."""
        task = next(self.tasks, self) if self.running else self
        if task is not self:
            worker = next(w for w in self.turn if w in self.running)
            worker.send("task", task)
            self.waiting.append(worker)

    def __next__(self) -> Any:
        while self.waiting:
            worker = self.waiting.popleft()
            try:
                kind, value = worker.receive(self.epoch, self.timeout)
            except BaseException:
                self._finish(failed=True)
                raise
            if kind == "end":  # of its part of an iterable data set
                self.running.discard(worker)
            self._give()
            if kind == "error":
                raise value.again()
            if kind == "batch":
                return value
        self._finish()
        raise StopIteration

    def _finish(self, failed: bool = False) -> None:
        self.waiting.clear()
        self.running.clear()
        if self.owned:
            self.close()
        elif failed and self.workers and self.epoch == self.workers[0].epoch:
            stop(self.workers)


__all__ = ["DataLoader"]


# batches of samples --------------------------------------------------------------------------------------------------


def default_collate(batch: Sequence[Any]) -> Any:
    """One batch of samples: tensors, arrays and numbers get a new first axis (Python floats are float64, as in PyTorch);
    mappings and sequences are batched member by member; text stays a list.

    Raises DTypeError for what can't be batched, ShapeError for tensors of different shapes, ArgumentError for sequences of
    different lengths.
    """
    first = batch[0]
    if is_tensor(first):
        return F.stack(list(batch))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "USO":
        return F.stack([Tensor(a) for a in batch])
    if isinstance(first, (np.bool_, np.number)):
        return Tensor(np.asarray(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype=np.float64)
    if isinstance(first, int):
        return tensor(np.asarray(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _mapping(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise ArgumentError("each element in list of batch should be of equal size")
        parts = [default_collate(members) for members in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else _sequence(first, parts)
    raise DTypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first).__name__}",
        "give DataLoader a collate_fn of your own",
    )


def default_convert(data: Any) -> Any:
    """Arrays as tensors, in any nesting, and everything else as it is."""
    if isinstance(data, np.ndarray) and data.dtype.kind not in "USO":
        return Tensor(data)
    if isinstance(data, Mapping):
        return _mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence(data, [default_convert(value) for value in data])
    return data


def _mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """A mapping of the same type, where it can be made."""
    try:
        if hasattr(like, "update"):
            made = copy.copy(like)
            made.update(values)
            return made
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _sequence(like: Sequence[Any], values: list[Any]) -> Any:
    """A sequence of the same type, where it can be made; a list for a tuple, as in PyTorch."""
    if isinstance(like, (tuple, list)):
        return values
    try:
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values
