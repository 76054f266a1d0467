"""Data sets: samples by position, or one after another."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from ....eager import Tensor
from ....errors import ArgumentError, IndexRangeError, ShapeError
from ...lookup.advice import Absent
from .samplers import numbers_of

T_co = TypeVar("T_co", covariant=True)


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
