"""`.pt` files of PyTorch's, read without PyTorch and without executing anything.

Such a file is a zip archive with a pickle, `data.pkl`, and the bytes of each storage beside it, `data/0`, `data/1` and so on.
A pickle is a program that looks up names and calls them. Here it finds a table of immutable records, so that it can build
containers, numbers and descriptions of tensors and nothing else. Tensors are made of the descriptions when it has ended.
"""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...base.devices import device
from ...base.dtypes import as_dtype
from ...eager import Tensor
from ...errors import DeviceError
from ...ops.operators.dispatch import Size
from .safetensors import DTYPES, decoded
from .storages import ArrayInStorage, MapLocation, SerializationError, Storages, check_saved_on

STORAGES = {
    "DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
    "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL",
    "ComplexFloatStorage": "C64", "ComplexDoubleStorage": "C128",
}  # fmt: skip
"""PyTorch's classes of storages, and the names of their dtypes in safetensors files."""
DTYPE_NAMES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool", "complex64", "complex128")


class StorageRecord(NamedTuple):
    """A storage: the file of its bytes, dtype, elements, device."""

    key: str
    kind: str
    elements: int
    location: str


class TensorRecord(NamedTuple):
    """A tensor: a part of a storage."""

    storage: StorageRecord
    place: ArrayInStorage
    requires_grad: bool
    parameter: bool = False


class StorageKind(NamedTuple):
    name: str


class Rebuild(NamedTuple):
    """A function that a pickle may call."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


def _tensor(
    storage: Any, offset: int, size: Any, stride: Any, requires_grad: bool = False, hooks: Any = None, metadata: Any = None
) -> TensorRecord:
    extents, steps = tuple(size), tuple(stride)
    if not isinstance(storage, StorageRecord) or not all(type(n) is int and n >= 0 for n in (offset, *extents, *steps)):
        raise ValueError("not a tensor")
    if len(extents) != len(steps):
        raise ValueError("a tensor has as many strides as extents")
    return TensorRecord(storage, ArrayInStorage(0, offset, extents, steps), bool(requires_grad))


def _parameter(data: Any, requires_grad: bool, hooks: Any, state: Any = None) -> TensorRecord:
    if not isinstance(data, TensorRecord):
        raise ValueError("a parameter is a tensor")
    return data._replace(requires_grad=bool(requires_grad), parameter=True)


def _of_type(function: Any, kind: Any, args: Any, state: Any) -> TensorRecord:
    """A tensor with further attributes, which are left out."""
    if function not in (ALLOWED["torch._utils", "_rebuild_tensor_v2"], ALLOWED["torch._utils", "_rebuild_parameter"]):
        raise ValueError("not a tensor")
    return function(*args)


def _latin(text: Any, encoding: Any) -> bytes:
    """Bytes as protocol 2 has them."""
    if not isinstance(text, str) or encoding != "latin1":
        raise ValueError("not bytes")
    return text.encode("latin1")


ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("collections", "Counter"): Counter,
    ("torch._utils", "_rebuild_tensor_v2"): Rebuild(_tensor),
    ("torch._utils", "_rebuild_tensor"): Rebuild(_tensor),
    ("torch._utils", "_rebuild_parameter"): Rebuild(_parameter),
    ("torch._utils", "_rebuild_parameter_with_state"): Rebuild(_parameter),
    ("torch._tensor", "_rebuild_from_type_v2"): Rebuild(_of_type),
    ("torch", "Tensor"): StorageKind("Tensor"),
    ("torch.nn.parameter", "Parameter"): StorageKind("Parameter"),
    ("torch", "Size"): Rebuild(Size),
    ("torch", "device"): Rebuild(device),
    ("_codecs", "encode"): Rebuild(_latin),
    **{("torch", name): StorageKind(kind) for name, kind in STORAGES.items()},
    **{("torch", name): as_dtype(name) for name in DTYPE_NAMES},
    **{(module, "set"): Rebuild(lambda items: set(items)) for module in ("builtins", "__builtin__")},
    **{(module, "frozenset"): Rebuild(lambda items: frozenset(items)) for module in ("builtins", "__builtin__")},
    **{(module, "complex"): Rebuild(lambda real, imag: complex(real, imag)) for module in ("builtins", "__builtin__")},
}
"""The objects that a pickle finds by a module and a name. All are immutable, because a pickle can also set attributes."""


safe: dict[tuple[str, str], Any] = {}
"""Classes and functions of the program's, by module and name, that files may make values with."""


def _entry(item: Any) -> tuple[tuple[str, str], Any]:
    value, path = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
    module, _, name = path.rpartition(".")
    return (module, name), value


def add_safe_globals(safe_globals: Sequence[Any]) -> None:
    """Let files of PyTorch's make values with these classes and functions: `load` calls them. (object, "module.name") names one
    otherwise than it does itself."""
    safe.update(map(_entry, safe_globals))


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` was given."""
    return [*safe.values()]


def clear_safe_globals() -> None:
    """Forget them."""
    safe.clear()


@contextmanager
def safe_globals(safe_globals: Sequence[Any]) -> Iterator[None]:
    """`add_safe_globals` for a while."""
    before = dict(safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        safe.clear()
        safe.update(before)


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, source: str):
        super().__init__(stream, encoding="utf-8")
        self._source = source

    def find_class(self, module: str, name: str) -> Any:
        found = ALLOWED.get((module, name), safe.get((module, name)))
        if found is None:
            raise SerializationError(
                f"load: {self._source} uses {module}.{name}, which is neither a tensor nor a container; it was not executed",
                "in PyTorch, save the state alone: torch.save(model.state_dict(), path)",
                "or, where you trust the file, name the class in sg.serialization.add_safe_globals([...])",
            )
        return found

    def persistent_load(self, pid: Any) -> StorageRecord:
        word, kind, key, location, count = pid
        if word != "storage" or not isinstance(kind, StorageKind) or kind.name not in DTYPES:
            raise ValueError("not a storage")
        if type(count) is not int or count < 0:
            raise ValueError("a storage has a number of elements")
        return StorageRecord(str(key), kind.name, count, str(location))


OPCODES = frozenset({
    *("MARK", "STOP", "POP", "POP_MARK", "DUP", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2", "LONG"),
    *("LONG1", "LONG4", "FLOAT", "BINFLOAT", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINSTRING"),
    *("BINSTRING", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8", "EMPTY_LIST", "APPEND", "APPENDS", "LIST", "EMPTY_TUPLE"),
    *("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS", "EMPTY_SET", "ADDITEMS", "FROZENSET"),
    *("GET", "BINGET", "LONG_BINGET", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GLOBAL", "STACK_GLOBAL", "REDUCE", "NEWOBJ"),
    *("NEWOBJ_EX", "BUILD", "BINPERSID", "PROTO", "FRAME"),
})  # fmt: skip
"""Those that files of torch.save's have."""


def _check_opcodes(program: bytes) -> None:
    """Raises ValueError for an opcode that no state needs, or a place in the memo that would take memory to reach."""
    from pickletools import genops

    for number, (opcode, argument, _) in enumerate(genops(program)):
        if opcode.name not in OPCODES:
            raise ValueError(f"opcode {opcode.name}")
        if opcode.name.endswith("PUT") and not 0 <= int(argument or 0) <= 2 * number + 256:
            raise ValueError(f"memo place {argument}")


def read(data: bytes, source: str, map_location: MapLocation) -> Any:
    """The state in a file. Raises SerializationError and DeviceError."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        found = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        if len(found) != 1 or any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise SerializationError(f"load: {source} is a zip archive, but not one of torch.save's")
        folder = found[0].removesuffix("data.pkl")
        if f"{folder}constants.pkl" in archive.namelist():
            raise SerializationError(
                f"load: {source} holds a TorchScript program",
                "in PyTorch, save the state alone: torch.save(model.state_dict(), path)",
            )
        program = archive.read(found[0])
        _check_opcodes(program)
        state = _Unpickler(io.BytesIO(program), source).load()
        return _Reader(archive, folder, map_location).value(state)
    except RecursionError:
        raise SerializationError(f"load: the containers in {source} are nested too deeply") from None
    except (SerializationError, DeviceError):
        raise
    except (zipfile.BadZipFile, pickle.UnpicklingError, EOFError, RuntimeError) as error:  # RuntimeError: encrypted
        raise SerializationError(f"load: {source} is damaged", f"{type(error).__name__}: {error}") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
        raise SerializationError(
            f"load: {source} does not hold a state of PyTorch's", f"{type(error).__name__}: {error}"
        ) from None


class _Reader:
    """Makes tensors of their descriptions."""

    def __init__(self, archive: zipfile.ZipFile, folder: str, map_location: MapLocation):
        self._archive, self._folder, self._map_location = archive, folder, map_location
        self._storages: dict[StorageRecord, np.ndarray] = {}
        self._shared = Storages()
        self._known: dict[int, Any] = {}
        order = f"{folder}byteorder"
        self._order = archive.read(order).decode() if order in archive.namelist() else sys.byteorder
        if self._order not in ("little", "big"):
            raise ValueError(f"byte order {self._order}")

    def value(self, item: Any) -> Any:
        """An object with tensors in place of descriptions; dicts and lists are filled where they are."""
        kind = type(item)
        if kind not in (TensorRecord, dict, OrderedDict, Counter, list, tuple):
            return None if kind is StorageRecord else item
        if id(item) in self._known:
            return self._known[id(item)]
        self._known[id(item)] = item
        if kind is TensorRecord:
            self._known[id(item)] = self._tensor(item)
        elif kind is tuple:
            self._known[id(item)] = tuple(self.value(part) for part in item)
        elif kind is list:
            item[:] = [self.value(part) for part in item]
        else:
            if kind in (OrderedDict, Counter):  # a pickle can set attributes, and hide methods
                for name in set(vars(item)) - {"_metadata"}:
                    del vars(item)[name]
            for key in list(item):
                item[key] = self.value(item[key])
        return self._known[id(item)]

    def _tensor(self, record: TensorRecord) -> Tensor:
        made = self._shared.tensor(record.storage, self._storage(record.storage), record.place)
        if record.requires_grad:
            made.requires_grad_()
        made._parameter = record.parameter
        return made

    def _storage(self, record: StorageRecord) -> np.ndarray:
        if record not in self._storages:
            check_saved_on(record.location, self._map_location)
            stored = np.dtype(DTYPES[record.kind])
            content = self._archive.read(f"{self._folder}data/{record.key}")
            expected = record.elements * stored.itemsize
            if len(content) != expected:
                raise ValueError(f"storage {record.key} has {len(content)} bytes instead of {expected}")
            elements = np.frombuffer(content, stored.newbyteorder("<") if self._order == "little" else stored.newbyteorder(">"))
            self._storages[record] = decoded(elements, record.kind)
        return self._storages[record]
