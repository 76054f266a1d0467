"""Runs an exported step. This file is part of the package that `plan.export` writes: it needs NumPy and llvmlite, nothing else.

`plan.json` is the program: memory regions, and instructions that call kernels on places in them. `weights.safetensors` has the
values of variables and constants. Kernels are compiled when the step is first loaded. Matrix products are NumPy's.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

ALIGN = 64
"""Bytes at whose multiples memory begins."""
FIRST, FORM = 3, 13
"""Of the sizes of a product: the position of the first one, and how many each has before the offsets of its batches."""
NAMES = {
    "F64": "float64", "F32": "float32", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
    "BOOL": "bool", "F16": "float16", "BF16": "bfloat16", "U16": "uint16", "U32": "uint32", "U64": "uint64",
    "C64": "complex64",
}  # fmt: skip
"""The dtypes of safetensors files, with NumPy's names."""
PAIRS = "staticgrad.complex128"
"""The metadata that names the float64 arrays whose last axis is that of real and imaginary parts."""
LEAST = 4096
"""Bytes of a stack that is not empty."""
FORMAT = 1
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


class Step:
    """A compiled step. Calling it with one array per input returns the result, or the tuple of them.

    state: the arrays of the variables by name, which calls change in place; arguments: hyper-parameters by name, which may be
    assigned; inputs, results: (name, shape, dtype) of each.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None):
        self.folder = Path(__file__).parent if folder is None else Path(folder)
        table = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        if table["format"] != FORMAT:
            raise ValueError(f"{self.folder} has format {table['format']}, and this engine reads {FORMAT}")
        self.table: dict[str, Any] = table
        values = read_safetensors(self.folder / "weights.safetensors")
        self.memory = [self._region(region, values) for region in table["regions"]]
        self.inputs = [(row["name"], tuple(row["shape"]), row["dtype"]) for row in table["inputs"]]
        self.results = [(row["name"], tuple(row["shape"]), row["dtype"]) for row in table["results"]]
        self.state = {row["name"]: self._view(row) for row in table["state"]}
        self.arguments: dict[str, float] = dict(table["arguments"])
        self._argument_values = self._named_region("arguments", np.float64)
        self._generator = self._named_region("generator", np.int64)
        self._status = self._named_region("status", np.int64)
        self._functions: dict[tuple[str, str], Any] = {}
        self.stacks = [Stack() for _ in range(table["stacks"])]
        self.pointers = [self._addresses(row["places"]) for row in table["instructions"]]
        self.loops: dict[int, LoopState] = {}
        self._instructions = [self._instruction(i, row) for i, row in enumerate(table["instructions"])]

    def __call__(self, *arrays: Any) -> Any:
        """One run. Raises ValueError for arrays that do not fit, IndexError for an index out of range."""
        if len(arrays) != len(self.inputs):
            raise ValueError(
                f"this step takes {len(self.inputs)} arrays ({', '.join(n for n, *_ in self.inputs)}), got {len(arrays)}"
            )
        for row, value in zip(self.table["inputs"], arrays, strict=True):
            place, array = self._view(row), np.asarray(value)
            if array.shape != place.shape:
                raise ValueError(f"{row['name']}: this step was compiled for shape {place.shape}, got {array.shape}")
            if not np.can_cast(array.dtype, place.dtype, "same_kind"):
                raise ValueError(f"{row['name']}: this step takes {place.dtype}, got {array.dtype}")
            place[...] = array
        if self._argument_values is not None:
            self._argument_values[: len(self.arguments)] = list(self.arguments.values())
        at, last = 0, len(self._instructions)
        while at < last:
            to = self._instructions[at]()
            at = at + 1 if to is None else to
        if self._generator is not None:
            self._generator[1] += self.table["draws"]
        found = tuple(self._view(row).copy() for row in self.table["results"])
        return found[0] if len(found) == 1 else found

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Write the variables, with the constants, to a safetensors file: that of the package, unless another is given."""
        file = self.folder / "weights.safetensors" if path is None else Path(path)
        constants = {k: v for k, v in read_safetensors(self.folder / "weights.safetensors").items() if k not in self.state}
        write_safetensors(file, {**constants, **self.state})

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read variables from a safetensors file, by name. Raises KeyError for one that is not in the file."""
        values = read_safetensors(path)
        for name, array in self.state.items():
            array[...] = values[name]

    # memory ---------------------------------------------------------------------------------------------------------

    def _region(self, region: Mapping[str, Any], values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The bytes of a region, with its values."""
        size = max(region["bytes"], 1)
        raw = np.zeros(size + ALIGN, np.uint8)
        shift = -raw.ctypes.data % ALIGN
        memory = raw[shift : shift + size]
        if region["value"]:
            content = np.ascontiguousarray(values[region["value"]]).reshape(-1).view(np.uint8)
            memory[: content.size] = content
        return memory

    def _named_region(self, kind: str, dtype: Any) -> np.ndarray | None:
        for region, memory in zip(self.table["regions"], self.memory, strict=True):
            if region["kind"] == kind:
                return memory[: region["bytes"]].view(dtype)
        return None

    def _view(self, row: Mapping[str, Any]) -> np.ndarray:
        """The array at a place of a region."""
        dtype, memory = dtype_of(row["dtype"]), self.memory[row["region"]]
        strides = row.get("strides")
        if 0 in row["shape"]:
            return np.zeros(row["shape"], dtype)
        return np.ndarray(row["shape"], dtype, memory.data, row.get("offset", 0), strides)

    def _addresses(self, places: list[list[int]]) -> np.ndarray:
        """The addresses of places, which a kernel gets; 0 for those that a loop moves from iteration to iteration."""
        return np.array([self.memory[region].ctypes.data + offset if region >= 0 else 0 for region, offset in places], np.int64)

    # instructions ---------------------------------------------------------------------------------------------------

    def _instruction(self, i: int, row: Mapping[str, Any]) -> Callable[[], int | None]:
        """An instruction as a function without arguments, which returns the number of the next one; None: that after it."""
        kind, pointers = row["kind"], self.pointers[i]
        if kind == "product":
            return self._product(row, pointers)
        if kind == "go":
            return lambda: row["to"]
        if kind == "unless":
            return lambda: None if ctypes.c_uint8.from_address(int(pointers[0])).value else row["to"]
        if kind == "enter":
            self.loops[i] = LoopState(self, row, pointers)
            return self.loops[i].enter
        if kind == "repeat":
            return self.loops[row["loop"]].repeat
        function = self._function(row["file"], row["function"])
        sizes = np.array(row["sizes"], np.int64)
        call = (pointers.ctypes.data, sizes.ctypes.data, row["start"], row["stop"])

        def run(kept: Any = (pointers, sizes)) -> None:
            function(*call)

        if not row["check"]:
            return run
        status = self._status
        assert status is not None

        def checked() -> None:
            run()
            if status[0]:
                bad, status[0] = int(status[1]), 0
                raise IndexError(f"{row['name']}: {bad} is out of range ({row['where']})")

        return checked

    def _function(self, file: str, name: str) -> Any:
        """A kernel, compiled when its file is first used."""
        if (file, name) not in self._functions:
            code = importlib.import_module(".language.object_code", __package__)
            for kernel, address in code.load_kernels(__package__, Path(__file__).parent / "kernels" / f"{file}.py").items():
                self._functions[file, kernel] = FUNCTION(address)
        return self._functions[file, name]

    def _product(self, row: Mapping[str, Any], pointers: np.ndarray) -> Callable[[], None]:
        """C = alpha op(A) op(B) + E, for each product of an instruction and each matrix of a batch."""
        still = all(region >= 0 for region, _ in row["places"])
        known = list(_products(row, pointers)) if still else []

        def run() -> None:
            for left, right, to, alpha, begin in known if still else _products(row, pointers):
                value = left @ right
                if alpha != 1.0:
                    value *= to.dtype.type(alpha)
                to[...] = value if begin is None else value + begin

        return run


Product = tuple[np.ndarray, np.ndarray, np.ndarray, float, "np.ndarray | None"]


def _products(row: Mapping[str, Any], pointers: np.ndarray) -> Iterator[Product]:
    """(op(A), op(B), C, alpha, E) of each product, on the memory at its places: rows of its range, or columns, or batches."""
    sizes, dtype, at = row["sizes"], dtype_of(row["dtype"]), FIRST
    for number in range(sizes[0]):
        ta, tb, m, n, k, lda, ldb, ldc, batches, bits, lde, across, _ = sizes[at : at + FORM]
        alpha = struct.unpack("<d", struct.pack("<q", bits))[0]
        offsets = np.array(sizes[at + FORM : at + FORM + 4 * batches]).reshape(batches, 4)
        places = pointers[4 * number : 4 * number + 4].tolist()
        rows, columns = slice(None), slice(None)
        if not sizes[1]:  # or the range is over shares of threads
            part = slice(row["start"], row["stop"])
            offsets = offsets[part] if batches > 1 else offsets
            rows, columns = (rows, part) if across else (part, columns) if batches == 1 else (rows, columns)
        for first in offsets.tolist():
            a, b, c, e = (place + offset * dtype.itemsize for place, offset in zip(places, first, strict=True))
            left = _matrix(a, k if ta else m, m if ta else k, lda, dtype)
            right = _matrix(b, n if tb else k, k if tb else n, ldb, dtype)
            left, right = left.T if ta else left, right.T if tb else right
            begin = None if lde < 0 else _matrix(e, m, n, lde, dtype)[rows, columns]
            yield left[rows], right[:, columns], _matrix(c, m, n, ldc, dtype)[rows, columns], alpha, begin
        at += FORM + 4 * batches


def _matrix(address: int, rows: int, columns: int, distance: int, dtype: np.dtype) -> np.ndarray:
    """The matrix at an address. distance: elements from row to row."""
    if not rows or not columns:
        return np.zeros((rows, columns), dtype)
    size = ((rows - 1) * distance + columns) * dtype.itemsize
    memory: Any = (ctypes.c_byte * size).from_address(address)
    return np.ndarray((rows, columns), dtype, memory, 0, (distance * dtype.itemsize, dtype.itemsize))


class Stack:
    """Memory for the items of a loop of unknown length. items: how many there are."""

    def __init__(self) -> None:
        self.memory = np.zeros(0, np.uint8)
        self.items = 0

    def grow(self, size: int) -> None:
        """Make room for so many bytes."""
        if size > self.memory.size:
            more = np.zeros(max(size, 2 * self.memory.size, LEAST), np.uint8)
            more[: self.memory.size] = self.memory
            self.memory = more


class LoopState:
    """A loop: an instruction that enters it, and one that ends each iteration.

    length: of a loop of known length, -1 where a condition ends it; count: the number of the place that holds the length;
    moves: (instruction, number of its pointer, number of the place, bytes per item, bytes to add) of pointers that advance with
    the iterations; growing: (number of the place, stack, bytes per item, whether this loop fills it).
    """

    def __init__(self, step: Step, row: Mapping[str, Any], pointers: np.ndarray):
        self.step, self.row, self.pointers = step, row, pointers
        self.t = self.n = 0
        region = row["counter"]
        self.counter = None if region < 0 else step.memory[region][:8].view(np.int64)
        """Memory from which instructions after the loop read the number of iterations."""

    def enter(self) -> int:
        """Begin. Returns the number of the next instruction."""
        row = self.row
        self.n = row["length"]
        if row["count"] >= 0:
            self.n = ctypes.c_int64.from_address(int(self.pointers[row["count"]])).value
            held = [self.step.stacks[stack].items for _, stack, _, fills in row["growing"] if not fills]
            if self.n < 0 or any(self.n > items for items in held):
                raise ValueError(f"{row['name']}: {self.n} iterations, and a stack of {min(held, default=0)} places")
        self._grow(max(self.n, 0), max(self.n, 0))
        return self._begin(0)

    def repeat(self) -> int:
        """End an iteration. Returns the number of the next instruction."""
        return self._begin(self.t + 1)

    def _begin(self, t: int) -> int:
        self.t, row = t, self.row
        if self.counter is not None:
            self.counter[0] = t
        if t == self.n:
            return int(row["exit"])
        if self.n < 0:
            self._grow(t + 1, t)
        place = self.n - 1 - t if row["reverse"] else t
        for instruction, pointer, number, size, add in row["moves"]:
            self.step.pointers[instruction][pointer] = self.pointers[number] + place * size + add
        return int(row["head"])

    def _grow(self, items: int, filled: int) -> None:
        for number, at, size, fills in self.row["growing"]:
            stack = self.step.stacks[at]
            if fills:
                stack.items = filled
                stack.grow(items * size)
            self.pointers[number] = stack.memory.ctypes.data


# weights --------------------------------------------------------------------------------------------------------------


def dtype_of(name: str) -> np.dtype:
    """NumPy's dtype of a name."""
    if name == "bfloat16":
        import ml_dtypes  # noqa: F401 - from then on NumPy knows the name
    return np.dtype(name)


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file: 8 bytes with the length of a JSON header, the header, the data."""
    data = Path(path).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    texts, found = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = (8 + length + at for at in entry["data_offsets"])
        dtype = dtype_of(NAMES[entry["dtype"]])
        array = np.frombuffer(data[begin:end], f"<u{dtype.itemsize}").astype(f"u{dtype.itemsize}").view(dtype)
        found[name] = array.reshape(entry["shape"])
    for name in json.loads(texts.get(PAIRS, "[]")):
        found[name] = found[name].view(np.complex128)[..., 0]
    return found


def write_safetensors(path: str | os.PathLike[str], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays in the same format, in place of the former file."""
    parts, at = list[bytes](), 0
    codes = {name: code for code, name in NAMES.items()}
    pairs = [name for name, array in arrays.items() if array.dtype == np.complex128]
    header: dict[str, Any] = {"__metadata__": {PAIRS: json.dumps(pairs)}} if pairs else {}
    for name, array in arrays.items():
        array = np.ascontiguousarray(array[..., None]).view(np.float64) if name in pairs else array
        content = array.astype(array.dtype.newbyteorder("<"), order="C").tobytes()
        header[name] = {"dtype": codes[str(array.dtype)], "shape": list(array.shape), "data_offsets": [at, at + len(content)]}
        parts.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    temporary = f"{os.fspath(path)}.tmp"
    Path(temporary).write_bytes(b"".join([struct.pack("<Q", len(text)), text, *parts]))
    os.replace(temporary, path)
