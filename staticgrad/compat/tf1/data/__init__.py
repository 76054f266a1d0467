"""`tf.data`: data sets, whose elements feed a graph by `get_next()`."""

from __future__ import annotations

from typing import Any

from .dataset import Dataset as Dataset
from .iterators import FedIterator as FedIterator
from .iterators import Iterator as Iterator

AUTOTUNE = -1


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    return dataset.make_initializable_iterator(shared_name)


def get_output_types(dataset_or_iterator: Any) -> Any:
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    return dataset_or_iterator.output_classes


class Options:
    """Accepted. Fields can be set; none has an effect."""


class ThreadingOptions:
    """Accepted."""


INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2
"""What the size of a data set may be said to be."""
