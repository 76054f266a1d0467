"""Tensors in safetensors files, read and written by the `safetensors` package: files of PyTorch's load here, and vice versa.

Nothing in a file is executed.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from ...base.devices import check_device
from ...base.dtypes import BFLOAT16, SUPPORTED, as_dtype
from ...base.files import replacing
from ...base.types import MOST_AXES, complex128
from ...eager import Tensor
from ...errors import StaticgradError
from ...ops.operators import as_array
from ...ops.operators.dispatch import Size

__all__ = ["SafetensorsError", "from_bytes", "load_file", "metadata", "safe_open", "save_file", "to_bytes"]

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
    "U16": "<u2", "U32": "<u4", "U64": "<u8",
    "BOOL": "u1", "C64": "<c8", "C128": "<c16",
}  # fmt: skip
"""Dtypes of the format that become tensors, with NumPy's name for their elements in a file."""
PAIRS = "staticgrad.complex128"
"""The metadata that names the float64 tensors whose last axis is that of real and imaginary parts: the format has no
complex128."""


class SafetensorsError(StaticgradError, ValueError):
    """A file is not in the safetensors format, or holds something that can't be loaded.

    broken:  load_file("model.pt")
    fixed:   load_file("model.safetensors")
    """


def load_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The tensors of a file by name. Raises SafetensorsError for a damaged file."""
    file = Path(path)
    arrays, _ = from_bytes(file.read_bytes(), str(file))
    return {name: Tensor(array) for name, array in arrays.items()}


def metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The texts by name that `save_file` wrote beside the tensors. Raises SafetensorsError for a damaged file."""
    file = Path(path)
    return from_bytes(file.read_bytes(), str(file))[1]


def save_file(tensors: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors by name, such as a `state_dict()`; a former file is replaced at once, or not at all.

    Raises SafetensorsError for a dtype that the format lacks, and for names or metadata that it can't have.

    Examples:
        >>> from staticgrad import safetensors
        >>> safetensors.save_file({"weight": sg.ones(2)}, "model.safetensors")
        >>> safetensors.load_file("model.safetensors")
        {'weight': tensor([1., 1.])}
    """
    if not isinstance(tensors, Mapping):
        raise SafetensorsError(
            f"save_file: expected tensors by name, got {type(tensors).__name__}", "pass a dict, such as model.state_dict()"
        )
    if metadata is not None and not _texts(metadata):
        raise SafetensorsError(f"save_file: metadata is a dict of strings to strings, got {metadata!r}")
    arrays = {name: value._data if isinstance(value, Tensor) else as_array(value) for name, value in tensors.items()}
    content = to_bytes(arrays, metadata)
    with replacing(path) as stream:
        stream.write(content)


class safe_open:
    """A file whose tensors are read one by one or in part, under the names of the `safetensors` package. The file is mapped
    into memory: what nobody asks for is not read. framework, device: as there; tensors are this library's, on the CPU.

    Raises SafetensorsError for a damaged file.

    Examples:
        >>> from staticgrad import safetensors
        >>> safetensors.save_file({"rows": sg.arange(6.0).reshape(3, 2)}, "rows.safetensors")
        >>> with safetensors.safe_open("rows.safetensors") as file:
        ...     file.get_slice("rows")[1:]
        tensor([[2., 3.],
                [4., 5.]])
    """

    def __init__(self, filename: str | os.PathLike[str], framework: str = "pt", device: Any = "cpu"):
        from safetensors import SafetensorError
        from safetensors import safe_open as checked

        check_device(device)
        self._source = os.fsdecode(filename)
        try:
            with checked(self._source, "np"):
                pass
        except SafetensorError as error:
            raise SafetensorsError(str(error), f"is {self._source} a whole safetensors file?") from None
        with open(self._source, "rb") as stream:
            start = stream.read(8)
            start += stream.read(struct.unpack("<Q", start)[0])
        header = _header(start, self._source)
        self._texts: dict[str, str] = header.pop("__metadata__", {})
        self._pairs = {*_pairs(self._texts.pop(PAIRS, "[]"), self._source)}
        self._entries = header
        self._begin = len(start)
        self._bytes: np.ndarray = np.memmap(self._source, np.uint8, "r") if header else np.empty(0, np.uint8)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bytes = np.empty(0, np.uint8)

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return sorted(self._entries)

    def metadata(self) -> dict[str, str]:
        """The texts by name that are beside the tensors."""
        return dict(self._texts)

    def get_tensor(self, name: str) -> Tensor:
        """A tensor with memory of its own."""
        return self.get_slice(name)[...]

    def get_slice(self, name: str) -> PySafeSlice:
        """A tensor of which parts are read: `file.get_slice("rows")[3:5]`."""
        if name not in self._entries:
            raise SafetensorsError(f"{self._source} does not contain tensor {name}", f"it has {', '.join(self.keys())}")
        entry = self._entries[name]
        kind, shape, (begin, end) = entry["dtype"], _shape(name, entry, self._source), entry["data_offsets"]
        stored = self._bytes[self._begin + begin : self._begin + end].view(DTYPES[kind]).reshape(shape)
        return PySafeSlice(stored, kind, name in self._pairs)


class PySafeSlice:
    """A tensor in a file. `slice[key]` is a tensor of the elements at `key`, with memory of its own; nothing else is read."""

    def __init__(self, stored: np.ndarray, kind: str, pairs: bool = False):
        self._stored = stored
        self._kind = kind
        self._pairs = pairs

    def get_shape(self) -> list[int]:
        """Of the whole tensor."""
        return list(self._stored.shape[:-1] if self._pairs else self._stored.shape)

    @property
    def shape(self) -> Size:
        """The same, as tensors have it: a `TensorDataset` takes slices, too."""
        return Size(self.get_shape())

    def get_dtype(self) -> str:
        """The format's name of it, such as "F32"."""
        return "C128" if self._pairs else self._kind

    def __len__(self) -> int:
        return self.get_shape()[0]

    def __getitem__(self, key: Any) -> Tensor:
        if self._pairs:
            return Tensor(np.ascontiguousarray(self._stored).view(complex128)[..., 0][key].copy())
        return Tensor(decoded(np.asarray(self._stored[key]), self._kind))


def to_bytes(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> bytes:
    """The content of a file. Raises SafetensorsError for names and dtypes that the format can't have."""
    for name, array in arrays.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise SafetensorsError(f"{name!r} can't be the name of a tensor", "names are strings, '__metadata__' is reserved")
        if array.dtype not in SUPPORTED:
            raise SafetensorsError(f"{name}: dtype {array.dtype} is not supported")
    from safetensors import SafetensorError
    from safetensors.numpy import save

    rows = {name: np.asarray(array, array.dtype.newbyteorder("="), order="C") for name, array in arrays.items()}
    pairs = [name for name, array in rows.items() if array.dtype == complex128]
    for name in pairs:
        rows[name] = rows[name][..., None].view(np.float64)
    texts = None if metadata is None else dict(metadata)
    if pairs:
        texts = {**(texts or {}), PAIRS: json.dumps(pairs)}
    try:
        return save(rows, texts)
    except (SafetensorError, UnicodeError) as error:
        raise SafetensorsError(str(error)) from None


def from_bytes(data: bytes, source: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The arrays of a file by name, each with memory of its own, and its metadata.

    source: the file, for messages. Raises SafetensorsError for damaged content.
    """
    from safetensors import SafetensorError, deserialize

    try:
        found = dict(deserialize(data))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise SafetensorsError(str(error), f"{source} has {len(data)} bytes; is it a whole safetensors file?") from None
    header = _header(data, source)
    texts = header.pop("__metadata__", {})
    arrays = {name: _array(name, found[name], source) for name in header}
    for name in _pairs(texts.pop(PAIRS, "[]"), source):
        array = arrays.get(name)
        if array is None or array.dtype != np.float64 or array.shape[-1:] != (2,):
            raise SafetensorsError(f"{name!r} holds no pairs of float64 numbers", source)
        arrays[name] = array.view(complex128)[..., 0]
    return arrays, texts


def _pairs(text: str, source: str) -> list[str]:
    """The names of tensors of pairs."""
    try:
        names = json.loads(text)
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SafetensorsError(f"{PAIRS} has to be a list of names", source)
    return names


def _header(data: bytes, source: str) -> dict[str, Any]:
    """What the file says of its tensors, in its order; `deserialize` has checked all that it reads of it."""
    (length,) = struct.unpack("<Q", data[:8])
    try:
        header: dict[str, Any] = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError) as error:  # in fields that the format does not have
        raise SafetensorsError("Error while deserializing: invalid JSON in header", f"{source}: {error}") from None
    return header


def _array(name: str, entry: Mapping[str, Any], source: str) -> np.ndarray:
    """One tensor. Raises SafetensorsError for a dtype or a shape that arrays can't have."""
    shape, kind = _shape(name, entry, source), entry["dtype"]
    return decoded(np.frombuffer(entry["data"], DTYPES[kind]).reshape(shape), kind)


def _shape(name: str, entry: Mapping[str, Any], source: str) -> tuple[int, ...]:
    """The shape of a tensor. Raises SafetensorsError for a dtype or a shape that arrays can't have."""
    kind, shape = entry["dtype"], tuple(entry["shape"])
    if kind not in DTYPES:
        raise SafetensorsError(f"{name}: dtype {kind} is not supported", f"{source}: one of {', '.join(DTYPES)} is")
    if len(shape) > MOST_AXES or math.prod(n for n in shape if n) >= 2**60:  # NumPy multiplies the other extents, too
        raise SafetensorsError(f"Error while deserializing: invalid shape for tensor `{name}`", f"{source}: {list(shape)}")
    return shape


def decoded(stored: np.ndarray, kind: str) -> np.ndarray:
    """Elements as a file has them as an array with memory of its own, in a dtype that tensors have."""
    if kind == "BOOL":  # any byte but 0 is true, in NumPy's arrays only 1
        return stored.astype(bool)
    native = stored.astype(stored.dtype.newbyteorder("="), copy=True)
    return native.view(as_dtype(BFLOAT16)) if kind == "BF16" else native


def _texts(metadata: Any) -> bool:
    return isinstance(metadata, Mapping) and all(isinstance(text, str) for pair in metadata.items() for text in pair)
