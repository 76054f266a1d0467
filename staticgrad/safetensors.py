"""Tensors in safetensors files: what PyTorch and others save loads here, and the other way round.

Format: 8 bytes of length (little-endian), that many of JSON - name to dtype, shape and the places of its first and last
byte behind the JSON - and then the elements, row-major, little-endian, without gaps. Nothing in a file is executed.
Source: https://github.com/huggingface/safetensors, "Format".
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .eager import Tensor
from .errors import StaticgradError
from .files import repeated_key, replacing
from .operators import as_array

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
NAMES = {np.dtype(code): name for name, code in DTYPES.items() if name not in ("F16", "BF16")}
LONGEST_HEADER = 100_000_000  # as in the reference implementation


class SafetensorsError(StaticgradError, ValueError):
    """A file is not in the safetensors format, or holds what can't be loaded.

        broken:  load_file("model.pt")
        fixed:   load_file("model.safetensors")
    """


def load_file(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The tensors of a file by name; float16 and bfloat16 become float32. Raises SafetensorsError for a damaged file."""
    file = Path(path)
    data = file.read_bytes()
    header, length = _header(file, data)
    body = memoryview(data)[8 + length :]
    result, end = {}, 0
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    for name, entry in entries.items():
        if not _well_formed(entry):
            raise SafetensorsError(f"Error while deserializing header: invalid entry for tensor `{name}`", f"{file}: {entry!r}")
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        result[name], end = _loaded(file, name, entry, body, end)
    if end != len(body):
        raise SafetensorsError(
            "Error while deserializing header: incomplete metadata, file not fully covered",
            f"{file} has {len(body)} bytes of tensors, its header says {end}",
        )
    return {name: result[name] for name in entries}


def metadata(path: Any) -> dict[str, str]:
    """The texts by name that `save_file` wrote beside the tensors. Raises SafetensorsError for a damaged file."""
    file = Path(path)
    header, _ = _header(file, file.read_bytes())
    found: dict[str, str] = header.get("__metadata__", {})
    if not _texts(found):
        raise SafetensorsError("Error while deserializing header: invalid metadata", f"{file}: texts by name are expected")
    return found


def _header(file: Path, data: bytes) -> tuple[dict[str, Any], int]:
    """The entries of a file by name, and the bytes that they take. Raises SafetensorsError."""
    if len(data) < 8:
        raise SafetensorsError("Error while deserializing header: header too small", f"{file} has {len(data)} bytes")
    (length,) = struct.unpack("<Q", data[:8])
    if length > min(LONGEST_HEADER, len(data) - 8):
        raise SafetensorsError(
            "Error while deserializing header: header too large",
            f"{file} says that its header has {length} bytes; is it a safetensors file?",
        )
    try:
        header = json.loads(data[8 : 8 + length], object_pairs_hook=_object, parse_constant=_no_constant)
    except ValueError as error:
        raise SafetensorsError("Error while deserializing header: invalid header", f"{file}: {error}") from None
    except RecursionError:
        header = None
    if not isinstance(header, dict):
        raise SafetensorsError("Error while deserializing header: invalid header", f"{file}: no object of tensors by name")
    return header, length


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two tensors of one name would share it, and the bytes of the first be nobody's."""
    if (name := repeated_key(pairs)) is not None:
        raise ValueError(f"the key {name!r} occurs twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _well_formed(entry: Any) -> bool:
    """Whether this describes a tensor: a dtype, a shape that NumPy can have, and two places."""
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str):
        return False
    shape, places = entry.get("shape"), entry.get("data_offsets")
    if not isinstance(shape, list) or not isinstance(places, list) or len(places) != 2:
        return False
    if not all(type(n) is int and n >= 0 for n in [*shape, *places]):
        return False
    return len(shape) <= 64 and math.prod(n for n in shape if n) < 2**60  # NumPy multiplies what is beside a 0, too


def _loaded(file: Path, name: str, entry: Mapping[str, Any], body: memoryview, begin: int) -> tuple[Tensor, int]:
    """One tensor, and where the next one begins. Raises SafetensorsError."""
    kind, shape, (first, last) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    if kind not in DTYPES:
        raise SafetensorsError(f"{name}: dtype {kind} is not supported", f"{file}: one of {', '.join(DTYPES)} is")
    dtype = np.dtype(DTYPES[kind])
    if first != begin or last - first != math.prod(shape) * dtype.itemsize or last > len(body):
        raise SafetensorsError(
            f"Error while deserializing header: invalid offset for tensor `{name}`",
            f"{file}: {kind} of shape {shape} at bytes {first} to {last}, after byte {begin} of {len(body)}",
        )
    if kind == "BOOL":  # any byte but 0 is true, in NumPy's arrays only 1
        array = np.frombuffer(body[first:last], np.uint8).reshape(shape) != 0
    else:
        array = np.frombuffer(body[first:last], dtype).reshape(shape)
    if kind == "BF16":  # the upper half of a float32
        array = (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    elif kind == "F16":
        array = array.astype(np.float32)
    return Tensor(array.astype(array.dtype.newbyteorder("="), copy=True)), last


def _texts(metadata: Any) -> bool:
    return isinstance(metadata, Mapping) and all(isinstance(text, str) for pair in metadata.items() for text in pair)


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
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    arrays, end = [], 0
    for name, value in tensors.items():
        if not isinstance(name, str) or name == "__metadata__":
            raise SafetensorsError(f"{name!r} can't be the name of a tensor", "names are strings, '__metadata__' is reserved")
        array = np.asarray(value._data if isinstance(value, Tensor) else as_array(value), order="C")
        if array.dtype not in NAMES:
            raise SafetensorsError(f"{name}: dtype {array.dtype} is not supported")
        header[name] = {
            "dtype": NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]
        }  # fmt: skip
        arrays.append(array.astype(array.dtype.newbyteorder("<"), copy=False))
        end += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # the elements begin at a multiple of 8
    with replacing(path) as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for array in arrays:
            stream.write(array.tobytes())
