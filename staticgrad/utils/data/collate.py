"""Batches of samples."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...eager import Tensor, tensor
from ...errors import ArgumentError, DTypeError
from ...operators import F, is_tensor


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
