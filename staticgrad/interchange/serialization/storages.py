"""Tensors by the memory that they share: which memory a file holds, and which part of it each tensor is."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ...base.devices import check_device, device
from ...eager import Tensor
from ...eager.tape import memory_of
from ...errors import ArgumentError, DeviceError, StaticgradError


class ArrayInStorage(NamedTuple):
    """The elements of an array: `storage` has them from `offset` on, at `strides`; both count elements."""

    storage: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Span(NamedTuple):
    """The bytes between the first and the last element of an array."""

    low: int
    high: int
    position: int
    """Which array."""


def share(arrays: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[ArrayInStorage]]:
    """The memory to store, and the place of each array in it.

    Arrays of one dtype that overlap in memory are parts of one storage. An array that overlaps no other one, or only
    equal ones, is stored by itself, contiguous and in its shape.
    """
    storages: list[np.ndarray] = []
    places: dict[int, ArrayInStorage] = {}
    for group in _overlapping(arrays):
        members = [arrays[span.position] for span in group]
        first = members[0]
        alike = all(_layout(other) == _layout(first) for other in members)
        stored = np.ascontiguousarray(first).reshape(first.shape) if alike else _memory(group, first.dtype)
        for span, array in zip(group, members, strict=True):
            if alike:
                place = ArrayInStorage(len(storages), 0, array.shape, _steps(stored))
            else:
                start = array.__array_interface__["data"][0]
                place = ArrayInStorage(len(storages), (start - group[0].low) // array.itemsize, array.shape, _steps(array))
            places[span.position] = place
        storages.append(stored)
    return storages, [places[i] for i in range(len(arrays))]


def _overlapping(arrays: Sequence[np.ndarray]) -> list[list[Span]]:
    """Groups of arrays of one dtype whose memory overlaps, in the order of their first arrays."""
    spans = sorted(Span(*np.lib.array_utils.byte_bounds(a), i) for i, a in enumerate(arrays))
    groups: list[list[Span]] = []
    newest: dict[Hashable, list[Span]] = {}
    for span in spans:
        array = arrays[span.position]
        kind = array.dtype, span.low % array.itemsize
        group = newest.get(kind)
        if group is None or not array.size or span.low >= max(other.high for other in group):
            group = []
            groups.append(group)
            if array.size:
                newest[kind] = group
        group.append(span)
    return sorted(groups, key=lambda group: min(span.position for span in group))


def _layout(array: np.ndarray) -> Any:
    return array.__array_interface__["data"][0], array.shape, array.strides


def _steps(array: np.ndarray) -> tuple[int, ...]:
    return tuple(step // array.itemsize for step in array.strides)


def _memory(group: Sequence[Span], dtype: np.dtype) -> np.ndarray:
    low, high = group[0].low, max(span.high for span in group)
    return np.frombuffer(memoryview((ctypes.c_char * (high - low)).from_address(low)), dtype)


class Storages:
    """Tensors made of stored memory: those of one storage share it."""

    def __init__(self) -> None:
        self._owners: dict[Hashable, Tensor] = {}

    def tensor(self, key: Hashable, storage: np.ndarray, place: ArrayInStorage) -> Tensor:
        """The tensor at a place. Raises ValueError for one outside of the storage."""
        tensor = Tensor(part(storage, place))
        tensor._memory = memory_of(self._owners.setdefault(key, tensor))
        return tensor


def part(storage: np.ndarray, place: ArrayInStorage) -> np.ndarray:
    """The array at a place, which shares the memory. Raises ValueError for one outside of it, TypeError for no numbers."""
    size = storage.itemsize
    if 0 in place.shape:
        return np.empty(place.shape, storage.dtype)
    if place.offset < 0:
        raise ValueError("a negative offset")
    memory, strides = storage.reshape(-1).view(np.uint8), [step * size for step in place.strides]
    return np.ndarray(place.shape, storage.dtype, memory, place.offset * size, strides)


# the error of files that can't be written or read ---------------------------------------------------------------------


class SerializationError(StaticgradError, pickle.UnpicklingError, RuntimeError, ValueError):
    """A value can't be saved, or a file holds something that can't be loaded.

    broken:  sg.save(model, "model.pt", weights_only=True)
    fixed:   sg.save(model.state_dict(), "model.pt", weights_only=True)
    """


class UnsafeObjectError(SerializationError):
    """A value that only a pickle can hold."""


# Where a file's tensors were, and where they are to be: on the CPU, the only device.

MapLocation: TypeAlias = "str | device | Mapping[str, str] | Callable[[Any, str], Any] | None"


def check_location(map_location: MapLocation) -> None:
    """Raises DeviceError for a device other than the CPU, and ArgumentError for anything that is no device."""
    if map_location is None or callable(map_location):
        return
    if isinstance(map_location, Mapping):
        for found in map_location.values():
            check_device(found)
    elif isinstance(map_location, (str, device)):
        check_device(map_location)
    else:
        raise ArgumentError(f"load: map_location is a device, a dict or a function, got {type(map_location).__name__}")


def check_saved_on(location: str, map_location: MapLocation) -> None:
    """Raises DeviceError for a tensor of another device, unless map_location says that it goes to the CPU."""
    if isinstance(map_location, Mapping):
        location = str(map_location.get(location, location))
    elif map_location is not None:
        return
    if location != "cpu":
        raise DeviceError(
            f"Attempting to deserialize object on a {location.partition(':')[0].upper()} device but tensors here are in the "
            "CPU's memory",
            'load(..., map_location="cpu")',
        )
