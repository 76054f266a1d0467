"""`save` and `load`: safetensors files whose metadata holds the nesting, and PyTorch's `.pt` files.

A dict of tensors gives a file that any reader of safetensors reads, tensors under their keys. Other nestings name tensors by
their paths.
"""

from __future__ import annotations

import io
import json
import os
import pickle
from collections.abc import Mapping
from typing import IO, Any, TypeAlias

import numpy as np

from ..base.files import replacing
from ..eager import PublicTensor, Tensor
from ..errors import ArgumentError
from ..safetensors import from_bytes, to_bytes
from . import torch_archive
from .nesting import Table, restored
from .storages import MapLocation, SerializationError, UnsafeObjectError, check_location, share

FileLike = str | os.PathLike[str] | IO[bytes]
Loaded: TypeAlias = Any
"""The content of a file, whose type the program that wrote it knows."""
KEY = "staticgrad"
"""The metadata of a file under which the nesting is."""
PICKLE = "__pickle__"
ZIP, OLD_PICKLE = b"PK\x03\x04", b"\x80"


def save(
    obj: Any, f: FileLike, pickle_module: Any = None, pickle_protocol: int | None = None,
    _use_new_zipfile_serialization: bool = True, *, weights_only: bool | None = None,
) -> None:  # fmt: skip
    """Write a nesting of dicts, lists, tuples, sets, numbers, strings, None, arrays and tensors, such as a checkpoint.

    f: a path, whose former file is replaced at once or not at all, or a stream of bytes. Tensors that share memory share it
    when they are loaded; one tensor that occurs twice is one tensor. The file is in the format of safetensors.

    Other objects, such as whole modules, are pickled; loading runs code of the file then, and has to be asked for by
    `weights_only=False`. weights_only=True raises SerializationError for them, before anything is written; False pickles in any
    case. Arguments about pickle are accepted otherwise, and do nothing. Raises OSError.

    Examples:
        >>> model = nn.Linear(2, 1)
        >>> optimizer = optim.Adam(model.parameters())
        >>> state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
        >>> sg.save(state, "checkpoint.pt")
        >>> sg.load("checkpoint.pt")["epoch"]
        3
    """
    table = Table()
    try:
        try:
            root = _pickled(obj, table, pickle_protocol) if weights_only is False else table.item(obj)
        except UnsafeObjectError as unsafe:
            if weights_only:
                raise
            try:
                root = _pickled(obj, table := Table(), pickle_protocol)
            except (pickle.PicklingError, AttributeError, TypeError):
                raise unsafe from None
    except RecursionError:
        raise SerializationError("save: the containers are nested too deeply") from None
    storages, places = share(table.arrays)
    names = _unique(table, [place.storage for place in places], len(storages))
    content = {
        "objects": table.objects,
        "places": [[names[p.storage], p.offset, p.shape, p.strides] for p in places],
        "root": root,
    }
    try:
        text = json.dumps(content, separators=(",", ":"))
    except ValueError as error:  # an integer of more than 4,300 digits
        raise SerializationError(f"save: {error}") from None
    data = to_bytes(dict(zip(names, storages, strict=True)), {KEY: text})
    if isinstance(f, (str, os.PathLike)):
        with replacing(f) as stream:
            stream.write(data)
    elif hasattr(f, "write"):
        f.write(data)
    else:
        raise ArgumentError(f"save: expected a path or a stream of bytes, got {type(f).__name__}")


def _unique(table: Table, owners: list[int], count: int) -> list[str]:
    """A name for each storage: the path of the first array that lies in it."""
    names: list[str] = [""] * count
    taken = {"__metadata__"}
    for i in range(count):
        path = table.names[owners.index(i)].encode("utf-8", "replace").decode()
        name, number = path, 1
        while name in taken:
            number += 1
            name = f"{path}#{number}"
        taken.add(name)
        names[i] = name
    return names


class _Pickler(pickle.Pickler):
    def __init__(self, stream: IO[bytes], protocol: int | None, table: Table):
        super().__init__(stream, protocol)
        self._table = table

    def persistent_id(self, obj: Any) -> Any:
        plain = isinstance(obj, Tensor) and issubclass(PublicTensor, type(obj))  # others keep their class
        return self._table.item(obj)["at"] if plain else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: IO[bytes], objects: list[Any]):
        super().__init__(stream)
        self._objects = objects

    def persistent_load(self, pid: Any) -> Any:
        return self._objects[pid]


def _pickled(obj: Any, table: Table, protocol: int | None) -> Any:
    stream = io.BytesIO()
    _Pickler(stream, protocol, table).dump(obj)
    table.arrays.append(np.frombuffer(stream.getvalue(), np.uint8))
    table.names.append(PICKLE)
    table.objects.append(["pickle", len(table.arrays) - 1])
    return {"at": len(table.objects) - 1}


def load(
    f: FileLike, map_location: MapLocation = None, pickle_module: Any = None, *, weights_only: bool | None = None,
    mmap: bool | None = None, **pickle_load_args: Any,
) -> Loaded:  # fmt: skip
    """The state that `save` wrote, the tensors of any safetensors file by name, or the state in a `.pt` file of PyTorch's.

    f: a path, or a stream of bytes, which is read from its position to its end. map_location: a device, a dict of devices or
    a function; it can only name the CPU. No code of a file is executed: a `.pt` file holds a pickle, of which only containers,
    numbers, strings and tensors are understood. weights_only=False loads objects that
    `save` pickled with the same words; do it with files that you trust. `pickle_module`, `mmap` and further arguments are
    accepted and do nothing.

    Raises SerializationError for objects that are not allowed, SafetensorsError or SerializationError for a damaged file,
    DeviceError for tensors that were on another device unless map_location names the CPU, and OSError.
    """
    check_location(map_location)
    if isinstance(f, (str, os.PathLike)):
        source = os.fsdecode(f)
        with open(f, "rb") as stream:
            data = stream.read()
    elif hasattr(f, "read"):
        source = str(getattr(f, "name", type(f).__name__))
        data = f.read()
    else:
        raise ArgumentError(f"load: expected a path or a stream of bytes, got {type(f).__name__}")
    if not isinstance(data, bytes):
        raise ArgumentError(f"load: expected a stream of bytes, {source} gives {type(data).__name__}", 'open it with "rb"')
    if not data:
        raise SerializationError(f"load: {source} has no more bytes", "after writing to a stream, go to its start: f.seek(0)")
    if data.startswith(ZIP):
        return torch_archive.read(data, source, map_location)
    if data.startswith(OLD_PICKLE) and data[8:9] != b"{":  # a safetensors file begins with any length and a brace
        raise SerializationError(
            f"load: {source} is a bare pickle, as PyTorch wrote before 1.6, which is not read",
            "save it again in PyTorch: torch.save(torch.load(path), path)",
        )
    arrays, metadata = from_bytes(data, source)
    if KEY not in metadata:
        return {name: Tensor(array) for name, array in arrays.items()}
    return _nested(arrays, metadata[KEY], source, weights_only is False)


def _nested(arrays: Mapping[str, np.ndarray], text: str, source: str, trusted: bool) -> Any:
    def unpickle(content: bytes, objects: list[Any]) -> Any:
        if not trusted:
            raise SerializationError(
                f"load: {source} holds pickled objects; loading them runs code of the file",
                "load(..., weights_only=False) loads files that you trust",
            )
        return _Unpickler(io.BytesIO(content), objects).load()

    try:
        content = json.loads(text)
        places = content["places"]
        objects = [[kind, places[part][0] if kind == "pickle" else part] for kind, part in content["objects"]]
        found = restored(objects, arrays, places, unpickle)
        root = content["root"]
        return found[root["at"]] if isinstance(root, dict) else root
    except SerializationError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        if trusted:
            raise
        raise SerializationError(f"load: the description of the nesting in {source} is damaged", repr(error)) from None
