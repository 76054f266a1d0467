"""Data sets, samples by position or one after another, and the orders in which samples are taken."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ....eager import Tensor
from ....errors import ArgumentError, IndexRangeError, ShapeError
from ....ops.operators import check_change
from ....ops.random import HOST_DRAW, Generator, current
from ...lookup.advice import Absent


def numbers_of(generator: Any) -> np.random.Generator:
    """NumPy's generator, seeded by the next draw of `generator` (the library's for None). Raises ArgumentError; TraceError in a
    trace, whose runs would repeat the order."""
    if isinstance(generator, np.random.Generator):
        check_change(generator, HOST_DRAW)
        return generator
    if generator is not None and not isinstance(generator, Generator):
        raise ArgumentError(f"generator is one of staticgrad's or NumPy's, got {type(generator).__name__}")
    seed, draw = map(int, (current() if generator is None else generator).take())
    return np.random.default_rng([seed, draw])


T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base: `__iter__` gives positions (or batches of them), `__len__` their number."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


def _count(what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value <= 0:
        raise ArgumentError(f"{what} should be a positive integer value, but got {what}={value}")
    return int(value)


def _flag(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ArgumentError(f"{what} should be a boolean value, but got {what}={value}")
    return value


class SequentialSampler(Sampler[int]):
    """0, 1, ..."""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


CHUNK = 1024
"""Positions that are drawn at once: programs ask for 10**10 to go on until they stop."""


class RandomSampler(Sampler[int]):
    """All positions in a random order, or `num_samples` of them; with `replacement`, each one anew. Raises ArgumentError."""

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None):
        self.data_source = data_source
        self.replacement = _flag("replacement", replacement)
        self._num_samples = None if num_samples is None else _count("num_samples", num_samples)
        self.generator = generator
        _count("num_samples", self.num_samples)

    @property
    def num_samples(self) -> int:
        """How many: as many as there are unless given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        rng, n, wanted = numbers_of(self.generator), len(self.data_source), self.num_samples
        if self.replacement:
            for begin in range(0, wanted, CHUNK):
                yield from rng.integers(0, n, min(CHUNK, wanted - begin)).tolist()
            return
        orders = itertools.chain.from_iterable(rng.permutation(n).tolist() for _ in itertools.count())
        yield from itertools.islice(orders, wanted)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given positions in a random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None):
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in numbers_of(self.generator).permutation(len(self.indices)).tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` positions with probabilities in proportion to `weights`, which need not sum to 1.

    Raises ArgumentError; without replacement, for more samples than positive weights.
    """

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None):
        self.num_samples = _count("num_samples", num_samples)
        self.replacement = _flag("replacement", replacement)
        self.weights = np.asarray(weights, np.float64)
        if self.weights.ndim != 1:
            raise ArgumentError(f"weights should be a 1d sequence but given weights have shape {self.weights.shape}")
        if not np.isfinite(self.weights).all() or (self.weights < 0).any() or not self.weights.sum() > 0:
            raise ArgumentError("weights have to be finite, at least 0, and not all 0")
        if not replacement and self.num_samples > np.count_nonzero(self.weights):
            raise ArgumentError("cannot sample more positions without replacement than there are positive weights")
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        share = self.weights / self.weights.sum()
        rng = numbers_of(self.generator)
        yield from rng.choice(len(share), self.num_samples, self.replacement, share).tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of `batch_size` positions of another sampler, the last one shorter unless `drop_last`. Raises ArgumentError."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool):
        self.sampler = sampler
        self.batch_size = _count("batch_size", batch_size)
        self.drop_last = _flag("drop_last", drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        positions = iter(self.sampler)
        while batch := list(itertools.islice(positions, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        n = len(self.sampler)  # type: ignore[arg-type]
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th position from `rank` on, so that as many processes share a data set: shuffled anew for each epoch.

    Positions at the beginning come again at the end where the number of samples is not a multiple of num_replicas; with
    drop_last, the rest is left out. Both numbers are those of `sg.distributed` unless given. Raises ArgumentError, and
    DistError before `init_process_group`.
    """

    def __init__(
        self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
        drop_last: bool = False,
    ):  # fmt: skip
        if num_replicas is None or rank is None:
            from ....distributed import get_rank, get_world_size

            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ArgumentError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        self.num_samples = len(dataset) // num_replicas if drop_last else math.ceil(len(dataset) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        order = np.random.default_rng(self.seed + self.epoch).permutation(n) if self.shuffle else np.arange(n)
        return iter(np.resize(order, self.total_size)[self.rank :: self.num_replicas].tolist())

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """The number of the epoch, on which the order depends."""
        self.epoch = epoch


# data sets ------------------------------------------------------------------------------------------------------------


class Dataset(Generic[T_co]):
    """Samples by position: write `__getitem__`, and `__len__` for samplers.

    `__getitems__(positions)`, where it is written, gives several samples at once, as a list. `__getbatch__(positions)` gives
    what `default_collate` would make of them.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after another: write `__iter__`. Workers each iterate a copy; `get_worker_info` tells them apart."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Sample i is (t[i], ...) for tensors with equal first extents. Raises ShapeError."""

    def __init__(self, *tensors: Any):
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise ShapeError("Size mismatch between tensors", f"first extents are {[t.shape[0] for t in tensors]}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def __getbatch__(self, positions: Sequence[int]) -> list[Any] | None:
        if not all(isinstance(t, Tensor) and not t.requires_grad for t in self.tensors):
            return None
        rows = np.asarray(positions, np.int64)
        if rows.size and not -len(self) <= rows.min() <= rows.max() < len(self):
            raise IndexRangeError(f"TensorDataset: a position is out of range for {len(self)} samples")
        return [Tensor(t._data[rows]) for t in self.tensors]


class StackDataset(Dataset[Any]):
    """Sample i is a tuple of the samples i of several data sets, or a dict where they are given by name.

    Raises ShapeError for data sets of different lengths, ArgumentError for both kinds or none.
    """

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]):
        if bool(args) == bool(kwargs):
            raise ArgumentError("Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input")
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in (args or kwargs.values())}  # type: ignore[arg-type]
        if len(lengths) > 1:
            raise ShapeError("Size mismatch between datasets", f"lengths are {sorted(lengths)}")
        self._length = lengths.pop()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: d[index] for name, d in self.datasets.items()}
        return tuple(d[index] for d in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Data sets one after another. Raises ArgumentError for none, and for one without positions."""

    def __init__(self, datasets: Iterable[Dataset[Any]]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise ArgumentError("ConcatDataset does not support IterableDataset", "use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            if -index > len(self):
                raise ArgumentError("absolute value of index should not exceed dataset length")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexRangeError(f"index {index} is out of range for {len(self)} samples")
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset[Any]):
    """Iterable data sets one after another. Raises ArgumentError for another kind."""

    def __init__(self, datasets: Iterable[Dataset[Any]]):
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise ArgumentError("ChainDataset only supports IterableDataset")
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self.datasets)  # type: ignore[arg-type, misc]


class Subset(Dataset[T_co]):
    """The samples of a data set at some positions."""

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, positions: Sequence[int]) -> list[T_co]:
        chosen = [self.indices[i] for i in positions]
        several = getattr(self.dataset, "__getitems__", None)
        return several(chosen) if several is not None else [self.dataset[i] for i in chosen]

    def __getbatch__(self, positions: Sequence[int]) -> Any:
        batch = getattr(self.dataset, "__getbatch__", None)
        return None if batch is None else batch([self.indices[i] for i in positions])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Dataset[Any], lengths: Sequence[int | float], generator: Any = None) -> list[Subset[Any]]:
    """Subsets of these lengths, or shares that sum to 1, without a common sample.

    What shares leave over goes to the first subsets, one each. Raises ArgumentError for lengths that don't sum to the
    data set's. The order is that of `generator`, the library's own unless given.
    """
    total = len(dataset)  # type: ignore[arg-type]
    counts = [int(n) for n in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1 + 1e-9:
        for i, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ArgumentError(f"Fraction at index {i} is not between 0 and 1")
        counts = [math.floor(total * share) for share in lengths]
        for i in range(total - sum(counts)):
            counts[i % len(counts)] += 1
    if sum(counts) != total:
        raise ArgumentError(
            "Sum of input lengths does not equal the length of the input dataset!", f"{counts} and {total} samples"
        )
    order = numbers_of(generator).permutation(total).tolist()
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, counts, strict=True)]


# data pipes: data sets that are chained by methods, which packages register under names of their own -----------------

Pipe = TypeVar("Pipe", bound=type)


class _Pipe:
    """Functions of the class are methods of each pipe: `pipe.name(...)` is `registered(pipe, ...)`."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        functions = type(self).functions
        if name not in functions:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return functools.partial(functions[name], self)

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Let `pipe.function_name(...)` call the function with the pipe first."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: type, enable_df_api_tracing: bool = False
    ) -> None:
        """Let `pipe.function_name(...)` make a pipe of a class. Raises ArgumentError for a name that is taken."""
        if function_name in cls.functions:
            raise ArgumentError(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register


class IterDataPipe(_Pipe, IterableDataset[Any]):
    """A pipe of samples one after another: write `__iter__`.

    Examples:
        >>> @sg.utils.data.functional_datapipe("doubled")
        ... class Doubled(sg.utils.data.IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return (2 * x for x in self.source)
        >>> list(Doubled([1, 2]).doubled())
        [4, 8]
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


class MapDataPipe(_Pipe, Dataset[Any]):
    """A pipe of samples by key: write `__getitem__`.

    Examples:
        >>> class Squares(sg.utils.data.MapDataPipe):
        ...     def __getitem__(self, key):
        ...         return key**2
        >>> Squares()[3]
        9
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def functional_datapipe(name: str, enable_df_api_tracing: bool = False) -> Callable[[Pipe], Pipe]:
    """A decorator of classes of pipes: `pipe.name(...)` makes one over that pipe. Raises TypeError for other classes;
    one over a pipe that is not here can't be made, nor by a name.

    Examples:
        >>> @sg.utils.data.functional_datapipe("reversed")
        ... class Reversed(sg.utils.data.IterDataPipe):
        ...     def __init__(self, source):
        ...         self.source = source
        ...     def __iter__(self):
        ...         return reversed([*self.source])
        >>> list(Reversed([1, 2, 3]).reversed())
        [1, 2, 3]
    """

    def enter(kind: Pipe) -> Pipe:
        if isinstance(kind, Absent):
            return kind
        base = next((base for base in (IterDataPipe, MapDataPipe) if issubclass(kind, base)), None)
        if base is None:
            raise TypeError("functional_datapipe can only decorate IterDataPipe or MapDataPipe")
        base.register_datapipe_as_function(name, kind, enable_df_api_tracing)
        return kind

    return enter


__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "Dataset", "DistributedSampler", "IterableDataset", "IterDataPipe",
    "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler",
    "TensorDataset", "WeightedRandomSampler", "functional_datapipe", "random_split",
]  # fmt: skip
