"""What is saved, and the index of a checkpoint: which files have which parts of which tensors, and values that are no tensors.

A nesting of dicts is flat in it. The name of a value is its path with points between the keys, as in PyTorch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ...base.tables import record
from ...base.types import shape_text
from ...eager import Tensor
from ...errors import ArgumentError
from ...interchange.serialization.files import Table, restored
from ...interchange.serialization.storages import SerializationError

FILE = "model.safetensors.index.json"
"""The name under which other libraries look for the index of several safetensors files."""
Keys: TypeAlias = tuple[str | int, ...]


@runtime_checkable
class Stateful(Protocol):
    """An object with state: a module, an optimizer, or one of the program's own."""

    def state_dict(self) -> dict[str, Any]:
        """The state, as nested dicts."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over such a state."""


def state_of(found: Stateful) -> dict[str, Any]:
    """The state of an object; this process's part of one whose state is divided."""
    return getattr(found, "sharded_state_dict", found.state_dict)()


class Shard:
    """A process's part of a tensor that is larger: `tensor`, whose first element is at `offsets` of a whole of shape `shape`.

    In the state of `save` the parts of all processes make the whole. In that of `load` the part is read, whatever the parts
    were when it was saved. Raises ArgumentError for a part that does not lie in the whole.

    Examples:
        >>> from staticgrad.distributed.checkpoint import Shard
        >>> rows = Shard(sg.zeros(2, 3), offsets=(4, 0), shape=(8, 3))  # rows 4 and 5 of 8
    """

    def __init__(self, tensor: Tensor, offsets: tuple[int, ...], shape: tuple[int, ...]):
        self.tensor = tensor
        self.offsets = tuple(map(int, offsets))
        self.shape = tuple(map(int, shape))
        sizes = tuple(tensor.shape)
        inside = len(sizes) == len(self.offsets) == len(self.shape) and all(
            at >= 0 and at + size <= extent for at, size, extent in zip(self.offsets, sizes, self.shape, strict=True)
        )
        if not inside:
            raise ArgumentError(
                f"Shard: a part of shape {shape_text(sizes)} at {self.offsets} does not lie in a whole of shape "
                f"{shape_text(self.shape)}"
            )


@record()
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, its shape, its file, and its name there."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    file: str = ""
    key: str = ""


@record()
class TensorStorageMetadata:
    """A tensor of a checkpoint. path: the keys that lead to it."""

    size: tuple[int, ...]
    dtype: str
    chunks: tuple[ChunkStorageMetadata, ...]
    path: Keys = ()


@record()
class BytesStorageMetadata:
    """A value that is no tensor, in words of JSON. path: the keys that lead to it."""

    value: str
    path: Keys = ()


@record()
class Metadata:
    """What a checkpoint has, by name."""

    state_dict_metadata: Mapping[str, TensorStorageMetadata | BytesStorageMetadata]

    def text(self) -> str:
        """The index, as a file has it."""
        tensors = {n: m for n, m in self.state_dict_metadata.items() if isinstance(m, TensorStorageMetadata)}
        values = {n: m for n, m in self.state_dict_metadata.items() if isinstance(m, BytesStorageMetadata)}
        chunks = [chunk for found in tensors.values() for chunk in found.chunks]
        sizes = [np.dtype(m.dtype).itemsize * int(np.prod(c.sizes)) for m in tensors.values() for c in m.chunks]
        content = {
            "metadata": {
                "total_size": sum(sizes),
                "tensors": {
                    name: [found.size, found.dtype, found.path, [[c.offsets, c.sizes, c.key] for c in found.chunks]]
                    for name, found in tensors.items()
                },
                "values": {name: [found.path, json.loads(found.value)] for name, found in values.items()},
            },
            "weight_map": {chunk.key: chunk.file for chunk in chunks},
        }
        return json.dumps(content)


def read(folder: str | os.PathLike[str]) -> Metadata:
    """The index of a folder. Raises SerializationError where there is none, or where it is damaged."""
    place = Path(folder, FILE)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SerializationError(
            f"load: there is no checkpoint in {os.fspath(folder)}", f"it would have a file {FILE}, which save writes last"
        ) from None
    try:
        content = json.loads(text)
        files, told = content["weight_map"], content["metadata"]
        found: dict[str, Any] = {
            name: TensorStorageMetadata(
                tuple(size),
                dtype,
                tuple(ChunkStorageMetadata(tuple(o), tuple(s), files[k], k) for o, s, k in chunks),
                tuple(path),
            )
            for name, (size, dtype, path, chunks) in told["tensors"].items()
        }
        found |= {name: BytesStorageMetadata(json.dumps(v), tuple(path)) for name, (path, v) in told["values"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SerializationError(f"load: the index {place} is damaged", repr(error)) from None
    return Metadata(found)


def is_tensor(value: Any) -> bool:
    """Whether a value of a state is an array of some kind."""
    return isinstance(value, (Tensor, Shard, np.ndarray, np.generic))


def leaves(value: Any, path: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """The values of a nesting with their paths. A list or tuple without tensors is one value; so is an empty dict."""
    if isinstance(value, Mapping) and (value or not path):
        for key, item in value.items():
            if not isinstance(key, (str, int)):
                raise SerializationError(f"save: keys are strings or numbers, got {key!r} below {name_of(path)!r}")
            yield from leaves(item, (*path, key))
    elif isinstance(value, (list, tuple)) and has_tensors(value):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path, value


def has_tensors(value: Any) -> bool:
    """Whether there are tensors in a nesting."""
    if isinstance(value, (Mapping, list, tuple)):
        return any(map(has_tensors, value.values() if isinstance(value, Mapping) else value))
    return is_tensor(value)


def name_of(path: Keys) -> str:
    """The name of the value at a path."""
    return ".".join(map(str, path))


def named(state: Any) -> dict[str, tuple[Keys, Any]]:
    """The values of a state, which are at paths, by name. Raises SerializationError where two have one name."""
    found: dict[str, tuple[Keys, Any]] = {}
    for path, value in leaves(state):
        other = found.setdefault(name_of(path), (path, value))
        if other[0] != path:
            raise SerializationError(f"save: {other[0]} and {path} have one name, {name_of(path)!r}")
    return found


def as_text(name: str, value: Any) -> str:
    """A value that is no tensor in words of JSON. Raises SerializationError."""
    table = Table()
    root = table.item(value)
    if table.arrays:
        raise SerializationError(f"save: {name} has arrays in a set or as keys", "put them into a dict or a list")
    return json.dumps([table.objects, root])


def from_text(text: str) -> Any:
    """The value that `as_text` took."""
    objects, root = json.loads(text)
    found = restored(objects, {}, [], None)
    return found[root["at"]] if isinstance(root, dict) else root
