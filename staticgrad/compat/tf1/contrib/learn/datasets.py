"""`tensorflow.examples.tutorials.mnist.input_data` and `tf.contrib.learn.datasets.mnist`: digits from files on this machine."""

from __future__ import annotations

import gzip
import os
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import as_dtype, float32

SOURCE_URL = ""
FILES = "train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


class Datasets(NamedTuple):
    """The parts of a data set."""

    train: DataSet
    validation: DataSet
    test: DataSet


class Dataset(NamedTuple):
    data: Any
    target: Any


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """1 at the class of each label."""
    return np.eye(num_classes)[labels_dense]


def read_idx(path: str) -> np.ndarray:
    """The array of an IDX file of bytes, which may be compressed (`.gz`). Raises ValueError for another file."""
    with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
        data = file.read()
    if data[:3] != b"\0\0\x08":
        raise ValueError(f"Invalid magic number {int.from_bytes(data[:4], 'big')} in MNIST file: {path}")
    axes = data[3]
    shape = np.frombuffer(data, ">i4", axes, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


class DataSet:
    """Images and labels in batches, in an order that is drawn anew for each epoch."""

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, fake_data: bool = False, one_hot: bool = False, dtype: Any = float32,
        reshape: bool = True, seed: int | None = None,
    ):  # fmt: skip
        if fake_data:
            images, labels = np.ones((10000, 28, 28, 1), np.uint8), np.zeros(10000, np.uint8)
            labels = dense_to_one_hot(labels, 10) if one_hot else labels
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        if reshape:
            images = images.reshape(len(images), -1)
        if as_dtype(dtype) == float32:
            images = images.astype(np.float32) * np.float32(1 / 255)
        self._images, self._labels, self._random = images, labels, np.random.RandomState(seed)
        self._at, self._epochs = 0, 0

    @property
    def images(self) -> np.ndarray:
        return self._images

    @property
    def labels(self) -> np.ndarray:
        return self._labels

    @property
    def num_examples(self) -> int:
        return len(self._images)

    @property
    def epochs_completed(self) -> int:
        return self._epochs

    def _mix(self) -> None:
        order = self._random.permutation(self.num_examples)
        self._images, self._labels = self._images[order], self._labels[order]

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The next images and labels; a batch may end one epoch and begin the next."""
        start = self._at
        if start == 0 and self._epochs == 0 and shuffle:
            self._mix()
        if start + batch_size <= self.num_examples:
            self._at = start + batch_size
            return self._images[start : self._at], self._labels[start : self._at]
        self._epochs += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._mix()
        self._at = batch_size - len(rest[0])
        first = self._images[: self._at], self._labels[: self._at]
        return np.concatenate([rest[0], first[0]]), np.concatenate([rest[1], first[1]])


def read_data_sets(
    train_dir: str, fake_data: bool = False, one_hot: bool = False, dtype: Any = float32, reshape: bool = True,
    validation_size: int = 5000, seed: int | None = None, source_url: str = SOURCE_URL,
) -> Datasets:  # fmt: skip
    """The digits in the IDX files of a folder, of which `validation_size` are kept for validation. Raises FileNotFoundError
    for a file that is missing: none is fetched."""
    options: dict[str, Any] = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        empty = np.zeros(0)
        return Datasets(*(DataSet(empty, empty, True, one_hot, **options) for _ in range(3)))
    paths = [os.path.join(train_dir, name + end) for name in FILES for end in (".gz", "") if
             os.path.isfile(os.path.join(train_dir, name + end))]  # fmt: skip
    missing = [name for name in FILES if not any(name in os.path.basename(path) for path in paths)]
    if missing:
        raise FileNotFoundError(f"{train_dir} has no {', '.join(missing)} (.gz): put the files of the data set there")
    arrays = [read_idx(next(p for p in paths if name in os.path.basename(p))) for name in FILES]
    train, train_labels, test, test_labels = (a[..., None] if a.ndim == 3 else a for a in arrays)
    if one_hot:
        train_labels, test_labels = dense_to_one_hot(train_labels, 10), dense_to_one_hot(test_labels, 10)
    if not 0 <= validation_size <= len(train):
        raise ValueError(f"Validation size should be between 0 and {len(train)}. Received: {validation_size}.")
    n = validation_size
    return Datasets(
        train=DataSet(train[n:], train_labels[n:], **options), validation=DataSet(train[:n], train_labels[:n], **options),
        test=DataSet(test, test_labels, **options),
    )  # fmt: skip
