"""Saving: which process writes what, and in which order files appear. Loading, which reads what another number of processes
wrote."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ...base import interpreter
from ...base.communicators import Communicator
from ...base.files import replacing
from ...base.types import shape_text
from ...eager import Tensor
from ...eager.conversion import from_numpy
from ...eager.grad_mode import no_grad
from ...errors import ArgumentError, ShapeError
from ...interchange.serialization.safetensors import safe_open, to_bytes
from ...interchange.serialization.storages import SerializationError
from ..collectives import all_gather_object, broadcast_object_list, cut
from ..process_groups import is_initialized, member
from . import index
from .index import BytesStorageMetadata, ChunkStorageMetadata, Keys, Metadata, Shard, Stateful, TensorStorageMetadata, state_of

OWN = r"[0-9a-f]{16}-\d{5}-of-\d{5}\.safetensors"
"""Names of the processes' files: an own one for each checkpoint, so no file that an index names is written again."""
PART = re.compile(rf"{OWN}|({OWN}|{re.escape(index.FILE)})\.[0-9a-f]{{16}}\.tmp")
"""These, and what a process leaves that dies while it writes one of them or the index."""


class FileSystemWriter:
    """The folder of a checkpoint, for `save(..., storage_writer=)`. overwrite: whether it may have one already. Other arguments
    are for PyTorch's writer and have no effect."""

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
        serialization_format: Any = None,
    ):  # fmt: skip
        self.path = Path(path)
        self.overwrite = overwrite


class DefaultSavePlanner:
    """Each value is written once, by the process that has the least to write, as `save` does it without a planner."""

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ):  # fmt: skip
        pass


def save(
    state_dict: Mapping[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_writer: Any = None,
    planner: Any = None, process_group: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Write the state of all processes of a group into one folder, which all of them see.

    state_dict: nested dicts of tensors, arrays, numbers, strings, `Shard`s, modules, optimizers and other `Stateful` objects.
    What several processes have under one name is written once: they hold the same, as after `DistributedDataParallel`; what
    only one has gets a name of its own, such as f"random.{rank}". checkpoint_id: the folder, or a `FileSystemWriter` as
    storage_writer. A former checkpoint there is replaced once the new one is complete. no_dist: this process alone.

    Returns the index. Raises, in all processes, DistError where one of them failed, ShapeError for tensors of one name that
    differ in shape or dtype, SerializationError for other values that differ and for what is no state.
    """
    cut("distributed.checkpoint.save")
    of, metadata, write = _begin(state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist)
    if of.writer is not None:
        of.writer.submit(lambda: None).result()  # checkpoints on their way
    write(of)
    return metadata


def async_save(
    state_dict: Mapping[str, Any], *, checkpoint_id: str | os.PathLike[str] | None = None, storage_writer: Any = None,
    planner: Any = None, process_group: Any = None, async_checkpointer_type: Any = None, async_stager: Any = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> Future[None]:  # fmt: skip
    """As `save`, and the program goes on once the values are copied: a thread writes them. Returns a future, whose `result()`
    waits for the end and raises what `save` would raise. Checkpoints are written in the order of the calls, and a process ends
    after its last one. `async_checkpointer_type` and `async_stager` are for
    PyTorch's stagers and have no effect."""
    cut("distributed.checkpoint.async_save")
    of, _, write = _begin(state_dict, checkpoint_id, storage_writer, planner, process_group, no_dist)
    channel = of.channel()
    if of.writer is None:
        of.writer = ThreadPoolExecutor(1, "checkpoint")
    return of.writer.submit(write, channel)


def folder_of(what: str, checkpoint_id: Any, storage: Any, kind: Any) -> Path:
    """Where a checkpoint is. Raises ArgumentError."""
    if storage is not None and not isinstance(storage, kind):
        raise ArgumentError(f"{what}: checkpoints are folders of safetensors files, got {type(storage).__name__}")
    if (checkpoint_id is None) == (storage is None):
        raise ArgumentError(f"{what}: give the folder, as checkpoint_id or as {kind.__name__}(folder)")
    return Path(checkpoint_id if storage is None else storage.path)


def group_of(what: str, process_group: Any, no_dist: bool) -> Communicator:
    """The processes that save or load together; one by itself where there is no group."""
    if no_dist or (process_group is None and not is_initialized()):
        return ALONE
    return member(process_group, what)


ALONE = Communicator(-1, (0,), None, 0)


def together(of: Communicator, what: str, work: Callable[[], None]) -> None:
    """Do this process's part of something. Raises in all processes where one of them fails: its error there, DistError in the
    others."""
    error: Exception | None = None
    try:
        work()
    except Exception as caught:
        error = caught
    try:
        of.meet(what if error is None else f"{what} failed ({type(error).__name__}: {error})")
    finally:
        if error is not None:
            raise error


def states(state: Mapping[str, Any]) -> dict[str, Any]:
    """A state with those of its objects in their place."""
    if not isinstance(state, Mapping):
        raise ArgumentError(f"a dict is expected, such as {{'model': model}}, got {type(state).__name__}")
    return {key: state_of(value) if isinstance(value, Stateful) else value for key, value in state.items()}


def _begin(
    state: Mapping[str, Any], checkpoint_id: Any, storage: Any, planner: Any, process_group: Any, no_dist: bool
) -> tuple[Communicator, Metadata, Callable[[Communicator], None]]:
    """The index of a state, and what writes the copies that this process has made, with a communicator for the thread in which
    it does. All processes of the group take part."""
    folder = folder_of("save", checkpoint_id, storage, FileSystemWriter)
    if planner is not None and not isinstance(planner, DefaultSavePlanner):
        raise ArgumentError("save: planners of one's own are not supported", "change the state before it is saved")
    of = group_of("save", process_group, no_dist)
    own: dict[str, tuple[Keys, Any]] = {}
    offer: dict[str, tuple[Any, ...]] = {}

    def look() -> None:
        if storage is not None and not storage.overwrite and (folder / index.FILE).exists():
            raise ArgumentError(f"save: {folder} has a checkpoint", "write FileSystemWriter(folder, overwrite=True)")
        own.update(index.named(states(state)))
        offer.update({name: _offer(name, *found, of.size > 1) for name, found in own.items()})

    together(of, f"the state for {folder}", look)
    offers: list[Any] = [(os.urandom(8).hex(), offer)]
    if of is not ALONE:
        offers = offers * of.size
        all_gather_object(offers, offers[0], process_group)
    token = offers[0][0]
    files = [f"{token}-{rank:05}-of-{of.size:05}.safetensors" for rank in range(of.size)]
    metadata, file = _divided([told for _, told in offers], files, of), files[of.rank]
    content = to_bytes(
        {
            chunk.key: _array(own[name][1])
            for name, found in metadata.state_dict_metadata.items()
            if isinstance(found, TensorStorageMetadata)
            for chunk in found.chunks
            if chunk.file == file
        }
    )
    return of, metadata, lambda channel: _write(folder, file, content, metadata, channel)


def _array(value: Any) -> np.ndarray:
    if isinstance(value, Shard):
        value = value.tensor
    return value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)


def _offer(name: str, path: Keys, value: Any, compared: bool) -> tuple[Any, ...]:
    """What a process tells the others of a value: (path, text), or (path, dtype, whole shape, offsets, shape, checksum)."""
    if not index.is_tensor(value):
        return path, index.as_text(name, value)
    array = _array(value)
    whole, offsets = (value.shape, value.offsets) if isinstance(value, Shard) else (array.shape, (0,) * array.ndim)
    return path, array.dtype.name, whole, offsets, array.shape, zlib.crc32(np.ascontiguousarray(array).data) if compared else 0


def _divided(offers: Sequence[Mapping[str, tuple[Any, ...]]], files: Sequence[str], of: Communicator) -> Metadata:
    """Who writes what: of the processes that have a part, the one with the fewest bytes so far. Where they differ it is
    the first one, with a warning: the buffers of a batch norm may differ so, and so do parts that are no `Shard`s."""
    written = [0] * of.size
    differing: list[str] = []
    found: dict[str, Any] = {}
    for name in {name: None for told in offers for name in told}:
        holders = {rank: told[name] for rank, told in enumerate(offers) if name in told}
        first = next(iter(holders))
        path, *about = holders[first]
        for rank, (_, *other) in holders.items():
            if len(about) != len(other) or other[:2] != about[:2]:
                said = [f"rank {of.ranks[r]} has {_told(holders[r])}" for r in (first, rank)]
                kind: Any = SerializationError if len(about) == len(other) == 1 else ShapeError
                raise kind(
                    f"save: {name} is not the same in all processes: {', '.join(said)}",
                    "what each process has for itself gets a name of its own, such as f'random.{rank}'",
                )
        if len(about) == 1:
            found[name] = BytesStorageMetadata(about[0], path)
            continue
        dtype, whole = about[:2]
        parts: dict[Any, dict[int, int]] = {}
        for rank, (_, _, _, offsets, sizes, checksum) in holders.items():
            parts.setdefault((offsets, sizes), {})[rank] = checksum
        chunks = []
        for (offsets, sizes), checksums in parts.items():
            same = len({*checksums.values()}) == 1
            rank = min(checksums, key=written.__getitem__) if same else min(checksums)
            if not same:
                differing.append(name)
            written[rank] += int(np.prod(sizes)) * np.dtype(dtype).itemsize
            key = name if sizes == whole else f"{name}@{','.join(map(str, offsets))}"
            chunks.append(ChunkStorageMetadata(offsets, sizes, files[rank], key))
        if sum(int(np.prod(c.sizes)) for c in chunks) < int(np.prod(whole)):
            raise ShapeError(f"save: the shards of {name} do not make a whole of shape {shape_text(whole)}")
        found[name] = TensorStorageMetadata(whole, dtype, tuple(chunks), path)
    if differing:
        names = ", ".join(differing[:5]) + (", ..." if differing[5:] else "")
        interpreter.warn(
            f"save: values that differ between processes are saved as process {of.ranks[0]} has them: {names}; parts of a "
            "larger tensor have to be Shards, and what each process has for itself gets a name of its own",
            4,
        )
    return Metadata(found)


def _told(offer: tuple[Any, ...]) -> str:
    return repr(index.from_text(offer[1])) if len(offer) == 2 else f"{offer[1]} {shape_text(offer[2])}"


def _write(folder: Path, file: str, content: bytes, metadata: Metadata, channel: Communicator) -> None:
    """Write this process's file, and in process 0 the index after all files."""

    def part() -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / file) as stream:
            stream.write(content)

    def last() -> None:
        if channel.rank == 0:
            with replacing(folder / index.FILE) as stream:
                stream.write(metadata.text().encode())
            _clean(folder, metadata)

    together(channel, f"the files of {folder}", part)
    together(channel, f"the index of {folder}", last)


def _clean(folder: Path, metadata: Metadata) -> None:
    """Remove the files of other checkpoints, of those that were never complete as well."""
    tensors = [found for found in metadata.state_dict_metadata.values() if isinstance(found, TensorStorageMetadata)]
    named = {chunk.file for found in tensors for chunk in found.chunks}
    for path in folder.iterdir():
        if PART.fullmatch(path.name) and path.name not in named:
            with suppress(OSError):
                path.unlink()


# loading --------------------------------------------------------------------------------------------------------------


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
