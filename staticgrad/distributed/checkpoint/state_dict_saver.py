"""Saving: which process writes what, and in which order files appear."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
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
from ...errors import ArgumentError, ShapeError
from ...interchange.serialization.safetensors import to_bytes
from ...interchange.serialization.storages import SerializationError
from ..collectives import all_gather_object, cut
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
