"""`save` and `load`: safetensors files whose metadata holds the nesting, and PyTorch's `.pt` files.

A dict of tensors gives a file that any reader of safetensors reads, tensors under their keys. Other nestings name tensors by
their paths.
"""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, TypeAlias

import numpy as np

from ...base.devices import device
from ...base.dtypes import ANY_DTYPE, SUPPORTED, DType, as_dtype
from ...base.files import replacing
from ...eager import PublicTensor, Tensor
from ...errors import ArgumentError
from ...ops.operators import Symbol, frontends, state
from ...ops.operators.dispatch import Size
from . import torch_archive
from .safetensors import from_bytes, to_bytes
from .storages import ArrayInStorage, MapLocation, SerializationError, Storages, UnsafeObjectError, check_location, part, share

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
        raise ArgumentError(
            f"save: expected a path or a stream of bytes, got {type(f).__name__}", "the object comes first: sg.save(obj, path)"
        )


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
    `save` pickled with the same words; do it with files that you trust. `pickle_module`, `mmap` and the further arguments
    of `pickle.Unpickler` are accepted and do nothing.

    Raises SerializationError for objects that are not allowed, SafetensorsError or SerializationError for a damaged file,
    DeviceError for tensors that were on another device unless map_location names the CPU, and OSError.
    """
    check_location(map_location)
    pickle.Unpickler(io.BytesIO(), **pickle_load_args)  # which refuses what PyTorch's refuses
    if isinstance(f, (str, os.PathLike)):
        source = os.fsdecode(f)
        with open(f, "rb") as stream:
            data = stream.read()
    elif hasattr(f, "read"):
        source = str(getattr(f, "name", type(f).__name__))
        data = f.read()
    else:
        raise ArgumentError(
            f"load: expected a path or a stream of bytes, got {type(f).__name__}",
            "a module takes what is loaded: model.load_state_dict(sg.load(path))",
        )
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


# the nesting of a state as a table for json ---------------------------------------------------------------------------

# The nesting of a state as a table for JSON, and back.
#
# Each object of the table is `[kind, content]`, each object after those that it contains. None, True, numbers and strings stand
# for themselves; `{"at": i}` is object i, so that objects that occur twice are one object again.


PLAIN = (type(None), bool, int, float, str)
SEQUENCES: dict[type, str] = {list: "list", tuple: "tuple", Size: "Size", set: "set", frozenset: "frozenset"}
MAPPINGS: dict[type, str] = {dict: "dict", OrderedDict: "OrderedDict", Counter: "Counter"}
BUILDERS: dict[str, Callable[[Any], Any]] = {
    **{name: kind for kind, name in (SEQUENCES | MAPPINGS).items()},
    "Counter": lambda pairs: Counter(dict(pairs)),
    "complex": lambda pair: complex(*pair),
    "bytes": base64.b64decode,
    "dtype": DType,
    "numpy.dtype": as_dtype,
    "device": device,
}


class Table:
    """Objects of a nesting, each once. `path` is where the nesting is walked at the moment."""

    def __init__(self) -> None:
        self.objects: list[list[Any]] = []
        self.arrays: list[np.ndarray] = []
        self.names: list[str] = []
        """Where each array was met first."""
        self._known: dict[int, int | None] = {}
        self._kept: list[Any] = []  # so that nothing takes the id of another object
        self._path: list[str] = []

    def item(self, value: Any) -> Any:
        """A value in words of JSON. Raises SerializationError for one that is neither state nor a container of it."""
        if type(value) in PLAIN:
            return value
        if id(value) in self._known:
            known = self._known[id(value)]
            if known is None:
                raise SerializationError(f"{self.where} contains itself, which a file can't express")
            return {"at": known}
        self._known[id(value)] = None
        self._kept.append(value)
        entry = self._entry(value)
        self._known[id(value)] = len(self.objects)
        self.objects.append(entry)
        return {"at": len(self.objects) - 1}

    @property
    def where(self) -> str:
        return f"the value at {'.'.join(self._path)!r}" if self._path else "the value"

    def _entry(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind in SEQUENCES:
            return [SEQUENCES[kind], [self._inside(str(i), item) for i, item in enumerate(value)]]
        if kind in MAPPINGS:
            return [MAPPINGS[kind], [[self.item(key), self._inside(str(key), item)] for key, item in value.items()]]
        if kind is complex:
            return ["complex", [value.real, value.imag]]
        if kind in (bytes, bytearray):
            return ["bytes", base64.b64encode(value).decode()]
        if kind is device:
            return ["device", str(value)]
        if isinstance(value, ANY_DTYPE) and value in SUPPORTED:
            return ["numpy.dtype" if isinstance(value, np.dtype) else "dtype", value.name]
        if isinstance(value, Tensor):
            return ["tensor", self._tensor(value)]
        if isinstance(value, (np.ndarray, np.generic)) and value.dtype in SUPPORTED:
            array = self._array(np.asarray(value))
            return ["array", {"array": array, "scalar": isinstance(value, np.generic)}]
        if isinstance(value, Symbol) and state.tracer is not None:
            value.numpy(force=True)  # cuts the trace
        if isinstance(value, Symbol) or hasattr(value, "initializer"):
            raise SerializationError(
                f"{self.where} is a tensor of a graph, whose value lies in a session", "save sess.run(tensor)"
            )
        raise UnsafeObjectError(
            f"{self.where} is an object of class {kind.__name__}, which is not a tensor, a number, a string, None, or a dict, "
            "list, tuple or set of these",
            "save its state: obj.state_dict() or vars(obj); or let save pickle it, without weights_only",
        )

    def _inside(self, name: str, value: Any) -> Any:
        self._path.append(name)
        found = self.item(value)
        self._path.pop()
        return found

    def _tensor(self, tensor: Tensor) -> dict[str, Any]:
        if frontends.tracing and state.tracer is not None:
            state.tracer.no_value(tensor, "a copy")
        found = {"array": self._array(tensor._data), "requires_grad": tensor._tracked}
        return found | ({"parameter": True} if tensor._parameter else {}) | ({"name": tensor.name} if tensor.name else {})

    def _array(self, array: np.ndarray) -> int:
        self.arrays.append(array)
        self.names.append(".".join(self._path))
        return len(self.arrays) - 1


def restored(objects: Sequence[Any], storages: Mapping[str, np.ndarray], places: Sequence[Any], unpickle: Any) -> list[Any]:
    """The objects of a table. places: for each array the name of its storage, and the rest of its `ArrayInStorage`.

    unpickle: makes an object of pickled bytes and of the objects before it, or raises. Raises what comes of a damaged table:
    KeyError, IndexError, TypeError, ValueError.
    """
    found: list[Any] = []
    shared = Storages()

    def item(value: Any) -> Any:
        if type(value) is not dict:
            return value
        if not 0 <= value["at"] < len(found):
            raise ValueError("an object that is defined later")
        return found[value["at"]]

    def place(number: int) -> tuple[str, ArrayInStorage]:
        storage, offset, shape, strides = places[number]
        return storage, ArrayInStorage(0, offset, tuple(shape), tuple(strides))

    for kind, content in objects:
        if kind == "tensor":
            storage, at = place(content["array"])
            made: Any = shared.tensor(storage, storages[storage], at)
            if content["requires_grad"]:
                made.requires_grad_()
            made._parameter, made.name = bool(content.get("parameter")), str(content.get("name", ""))
        elif kind == "array":
            storage, at = place(content["array"])
            made = part(storages[storage], at)
            made = made[()] if content["scalar"] else made
        elif kind == "pickle":
            made = unpickle(storages[content].tobytes(), found)
        elif kind in MAPPINGS.values():
            made = BUILDERS[kind]([(item(key), item(value)) for key, value in content])
        elif kind in SEQUENCES.values():
            made = BUILDERS[kind]([item(value) for value in content])
        else:
            made = BUILDERS[kind](content)
        found.append(made)
    return found
