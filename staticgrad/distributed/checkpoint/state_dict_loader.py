"""Loading: each process reads the parts that it asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from ...base.types import shape_text
from ...eager import Tensor
from ...eager.conversion import from_numpy
from ...eager.grad_mode import no_grad
from ...errors import ArgumentError, ShapeError
from ...interchange.serialization.safetensors import safe_open
from ...interchange.serialization.storages import SerializationError
from ..collectives import broadcast_object_list, cut
from . import index
from .index import BytesStorageMetadata, Keys, Metadata, Shard, Stateful, TensorStorageMetadata
from .state_dict_saver import ALONE, folder_of, group_of, states, together


class CheckpointException(SerializationError):
    """A checkpoint lacks what `load` is asked for.

    broken:  load({"model": other_model}, checkpoint_id="checkpoint")
    fixed:   load({"model": model}, checkpoint_id="checkpoint")
    """


class FileSystemReader:
    """The folder of a checkpoint, for `load(..., storage_reader=)`."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """Its index. Raises SerializationError where there is none."""
        return index.read(self.path)


class DefaultLoadPlanner:
    """How `load` works. allow_partial_load: values that a checkpoint lacks stay as they are; else they raise."""

    def __init__(self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False):
        self.allow_partial_load = allow_partial_load


def load(
    state_dict: MutableMapping[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_reader: Any = None,
    planner: Any = None, process_group: Any = None, no_dist: bool = False,
) -> None:  # fmt: skip
    """Read a checkpoint into a state of the form of that which was saved: tensors in place, other values into their dicts.

    Each process asks for what it needs; how many there were when it was saved does not matter. An empty dict gets all that was
    saved below it: an optimizer that has made no step has no state yet. `Stateful` objects get their state by
    `load_state_dict`. checkpoint_id: the folder, or a `FileSystemReader` as storage_reader. planner: a `DefaultLoadPlanner`.

    Raises CheckpointException for values that the checkpoint lacks, ShapeError for another shape, SerializationError without
    a checkpoint, SafetensorsError for a damaged file; before anything is changed, except for damaged files.
    """
    cut("distributed.checkpoint.load")
    folder = folder_of("load", checkpoint_id, storage_reader, FileSystemReader)
    planner = DefaultLoadPlanner() if planner is None else planner
    if not isinstance(planner, DefaultLoadPlanner):
        raise ArgumentError("load: planners of one's own are not supported", "change the state after it is loaded")
    of = group_of("load", process_group, no_dist)
    told: list[Any] = [None]

    def read() -> None:
        if of.rank == 0:
            told[0] = index.read(folder)

    together(of, f"the index of {folder}", read)
    if of is not ALONE:
        broadcast_object_list(told, group_src=0, group=process_group)

    def take() -> None:
        inside = states(state_dict)
        reader = _Reader(folder, told[0], planner.allow_partial_load)
        reader.check(inside)
        if not inside:
            reader.filled(state_dict, ())
        for key, value in inside.items():
            found = reader.filled(value, (key,))
            if isinstance(state_dict[key], Stateful):
                state_dict[key].load_state_dict(found)
            elif found is not value:
                state_dict[key] = found

    together(of, f"load of {folder}", take)


class _Reader:
    """Reads values of a checkpoint. partial: values that it lacks stay."""

    def __init__(self, folder: Path, metadata: Metadata, partial: bool):
        self._folder = folder
        self._saved = metadata.state_dict_metadata
        self._partial = partial
        self._files: dict[str, safe_open] = {}

    def check(self, state: Any) -> None:
        """Raises CheckpointException for what is not there, ShapeError for tensors of other shapes."""
        for name, (path, value) in index.named(state).items():
            saved = self._saved.get(name)
            empty = isinstance(value, Mapping) and not value
            if saved is None and not self._partial and not (empty and self._below(path)):
                raise CheckpointException(
                    f"load: there is no {name!r} in {self._folder}",
                    "load the state that was saved, or write planner=DefaultLoadPlanner(allow_partial_load=True)",
                )
            if isinstance(saved, TensorStorageMetadata) and index.is_tensor(value) and tuple(value.shape) != saved.size:
                raise ShapeError(
                    f"load: {name} has shape {shape_text(tuple(value.shape))}, and {shape_text(saved.size)} in {self._folder}"
                )

    def filled(self, value: Any, path: Keys) -> Any:
        """The value with what was saved: the same object where it can hold that."""
        if isinstance(value, Mapping):
            return self._mapping(value, path)
        if isinstance(value, (list, tuple)) and index.has_tensors(value):
            items = [self.filled(item, (*path, i)) for i, item in enumerate(value)]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else type(value)(items)
        saved = self._saved.get(index.name_of(path))
        if saved is None:
            return value
        if isinstance(saved, BytesStorageMetadata):
            return index.from_text(saved.value)
        if isinstance(value, Shard):
            self._copy(value.tensor, self._region(saved, value.offsets, tuple(value.tensor.shape)))
            return value
        array = self._region(saved, (0,) * len(saved.size), saved.size)
        if isinstance(value, Tensor):
            self._copy(value, array)
            return value
        if isinstance(value, np.ndarray):
            value[...] = array
            return value
        return array[()] if isinstance(value, np.generic) else from_numpy(array)

    def _copy(self, tensor: Any, array: np.ndarray) -> None:
        with no_grad():
            tensor.copy_(from_numpy(array))

    def _mapping(self, value: Any, path: Keys) -> Any:
        keys = value.keys() if value else self._below(path)
        found = {key: self.filled(value[key] if value else self._blank((*path, key)), (*path, key)) for key in keys}
        changed = {key: item for key, item in found.items() if key not in value or item is not value[key]}
        if changed and not isinstance(value, MutableMapping):
            return {**value, **changed}
        value.update(changed)
        return value

    def _below(self, path: Keys) -> list[str | int]:
        """The keys that were saved below a path."""
        depth = len(path)
        below = [saved.path for saved in self._saved.values() if saved.path[:depth] == path and len(saved.path) > depth]
        return [*dict.fromkeys(keys[depth] for keys in below)]

    def _blank(self, path: Keys) -> Any:
        """What a saved value is read into where there is none: None for a value, a dict for several."""
        return {} if self._below(path) else None

    def _region(self, saved: TensorStorageMetadata, offsets: tuple[int, ...], sizes: tuple[int, ...]) -> np.ndarray:
        """A part of a tensor, of the parts in which it was saved."""
        out = np.empty(sizes, saved.dtype)
        for chunk in saved.chunks:
            begin = [max(a, b) for a, b in zip(offsets, chunk.offsets, strict=True)]
            end = [min(a + n, b + m) for a, n, b, m in zip(offsets, sizes, chunk.offsets, chunk.sizes, strict=True)]
            if all(a < b for a, b in zip(begin, end, strict=True)):
                there = tuple(slice(a - at, b - at) for a, b, at in zip(begin, end, chunk.offsets, strict=True))
                here = tuple(slice(a - at, b - at) for a, b, at in zip(begin, end, offsets, strict=True))
                if chunk.file not in self._files:
                    self._files[chunk.file] = safe_open(self._folder / chunk.file)
                out[here] = self._files[chunk.file].get_slice(chunk.key)[there].numpy()
        return out
