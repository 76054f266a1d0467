"""Samplers: the order of positions, and batches of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from ....errors import ArgumentError
from ....ops.operators import check_change
from ....ops.random import HOST_DRAW, Generator, current


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
