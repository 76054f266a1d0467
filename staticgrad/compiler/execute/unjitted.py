"""Generated kernels as plain Python: the same text with nothing compiled, so a debugger can step through it.

Buffers are `Pointer`s, which raise where native code would silently read or write outside their memory.
"""

from __future__ import annotations

import ctypes
import linecache
import operator
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...ops.random import normal_op, stream_seed, uniform_op
from ...types import DTYPES, SHORT, bool_
from ..backend.abi import BEHIND, COUNT, ENTER, GO, GROWING, HEAD, MOVES, REVERSE, UNLESS, N, T
from ..backend.elementary import PYTHON
from ..lower.instructions import Instruction, memory_of


class Pointer:
    """A pointer to element `at` of a flat array; indices of either sign are allowed. Raises IndexError outside the array."""

    __slots__ = ("array", "at")

    def __init__(self, array: np.ndarray, at: int = 0):
        self.array, self.at = array, at

    def _place(self, i: Any) -> int:
        place = self.at + int(i)
        if not 0 <= place < self.array.size:
            raise IndexError(f"element {place} of a buffer of {self.array.size}")
        return place

    def __getitem__(self, i: Any) -> Any:
        return self.array[self._place(i)]

    def __setitem__(self, i: Any, value: Any) -> None:
        self.array[self._place(i)] = value


def run_unjitted(
    source_body: str, name: str, buffers: Sequence[Any], sizes: Sequence[int], start: int, stop: int
) -> None:
    """Run rows [start, stop) of a kernel's text. `buffers`: flat arrays or Pointers, of the dtypes that it reads."""
    names = vocabulary()
    file = f"<{name} {zlib.crc32(source_body.encode()):08x}>"
    linecache.cache[file] = len(source_body), None, source_body.splitlines(keepends=True), file  # for the debugger
    exec(compile(source_body, file, "exec"), names)
    pointers = [b if isinstance(b, Pointer) else Pointer(b) for b in buffers]
    with np.errstate(all="ignore"):
        names[name](pointers, list(sizes), start, stop)


def pointers(buffers: Sequence[tuple[Any, int]], arrays: Sequence[np.ndarray]) -> list[Pointer]:
    """Buffers of an instruction, (buffer, bytes to add) each, for `run_unjitted`; `arrays` are the plan's feeds."""
    result = []
    for buffer, add in buffers:
        memory = memory_of(buffer, arrays)
        result.append(Pointer(memory.reshape(-1), add // memory.itemsize))
    return result


def next_instruction(instruction: Instruction, at: int) -> int:
    """Run a control-flow instruction in Python (see `runtime/control_instructions.py`). Returns the number of the next one."""
    words = instruction.size_array
    if instruction.control == GO:
        return int(words[0])
    if instruction.control == UNLESS:
        return at + 1 if ctypes.c_uint8.from_address(int(instruction.pointers[0])).value else int(words[0])
    if instruction.control == ENTER and words[COUNT // 8] >= 0:
        words[N // 8] = ctypes.c_int64.from_address(int(instruction.pointers[words[COUNT // 8]])).value
    t, n = 0 if instruction.control == ENTER else int(words[T // 8]) + 1, int(words[N // 8])
    words[T // 8] = t
    _grow(instruction, t + 1 if n < 0 else n)
    if t == n:
        return int(words[BEHIND // 8])
    place = n - 1 - t if words[REVERSE // 8] else t
    for target, buffer, step, add in _entries(words, MOVES):
        ctypes.c_int64.from_address(target).value = int(instruction.pointers[buffer]) + place * step + add
    return int(words[HEAD // 8])


def _grow(instruction: Instruction, places: int) -> None:
    realloc = ctypes.CDLL(None).realloc
    realloc.restype, realloc.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)
    for buffer, home, step, fills in _entries(instruction.size_array, GROWING):
        address, capacity = (ctypes.c_int64 * 2).from_address(home)
        if fills and places * step > capacity:
            address, capacity = realloc(address, places * step), places * step
            (ctypes.c_int64 * 2).from_address(home)[:] = [address, capacity]
        instruction.pointers[buffer] = address


def _entries(words: np.ndarray, at: int) -> list[list[int]]:
    n, address = words[at // 8 : at // 8 + 2].tolist()
    return np.array((ctypes.c_int64 * (4 * n)).from_address(address)).reshape(n, 4).tolist() if n else []


def vocabulary() -> dict[str, Any]:
    """The names that a kernel's text uses, with their Python meaning."""
    names: dict[str, Any] = {"np": np, "math": SimpleNamespace(sqrt=np.sqrt), **PYTHON, **TWINS}
    for dtype in DTYPES:
        names[f"{SHORT[dtype]}_at"] = _reader(dtype)
        if dtype != bool_:
            names[SHORT[dtype]] = _number(dtype)
    return names


def _reader(dtype: np.dtype) -> Callable[[Sequence[Pointer], int], Pointer]:
    def read(buffers: Sequence[Pointer], i: int) -> Pointer:
        pointer = buffers[i]
        if pointer.array.dtype != dtype:
            raise TypeError(f"buffer {i} holds {pointer.array.dtype}, the kernel reads {dtype}")
        return pointer

    return read


def _number(dtype: np.dtype) -> Callable[[Any], Any]:
    """A cast with the semantics of machine code: integers wrap around."""
    return lambda x: np.asarray(x).astype(dtype)[()]


def _identity(fn: Any) -> Any:
    return fn


def _relu(x: Any) -> Any:
    return type(x)(0) if x <= 0 else x


def _sign(x: Any) -> Any:
    return type(x)(1) if x > 0 else type(x)(-1) if x < 0 else type(x)(0)


def _seed(seed: int, draw: int, element: int) -> int:
    return stream_seed(int(seed), int(draw)) if element == 0 else 0


def _draws(op: Any, dtype: np.dtype) -> Callable[[int, int, int], Any]:
    """One element of a draw. It is drawn with the elements before it, which are kept for the next call."""

    @cache
    def first(seed: int, draw: int, n: int) -> np.ndarray:
        return np.asarray(op.eval(np.array([seed, draw]), shape=(n,), dtype=dtype, index=0))

    return lambda seed, draw, element: first(int(seed), int(draw), 1 << int(element).bit_length())[int(element)]


def _dot_rows(out: Any, out_at: int, x: Any, x_at: int, w: Any, w_at: int, n: int, columns: int, stride: int) -> None:
    for i in range(n):
        out[out_at + i] = sum(x[x_at + i * stride + j] * w[w_at + j] for j in range(columns))


def _add_rows(out: Any, out_at: int, x: Any, x_at: int, w: Any, w_at: int, n: int, columns: int, stride: int) -> None:
    for j in range(columns):
        out[out_at + j] += sum(x[x_at + i * stride + j] * w[w_at + i] for i in range(n))


TWINS: dict[str, Callable[..., Any]] = {
    "kernel": _identity,
    "inline": _identity,
    **{f"plus_{s}": operator.add for s in ("f32", "f64", "int")},
    **{f"dot_rows_{s}": _dot_rows for s in ("f32", "f64")},
    **{f"add_rows_{s}": _add_rows for s in ("f32", "f64")},
    **{f"relu_{s}": _relu for s in ("f32", "f64", "int")},
    **{f"sign_{s}": _sign for s in ("f32", "f64", "int")},
    **{f"maximum_{s}": max for s in ("int", "bool")},
    **{f"minimum_{s}": min for s in ("int", "bool")},
    **{f"floor_divide_{s}": np.floor_divide for s in ("f32", "f64", "int")},
    **{f"remainder_{s}": np.remainder for s in ("f32", "f64", "int")},
    "pow_int": np.power,
    "uniform_seed": _seed,
    **{f"uniform_{SHORT[d]}": _draws(uniform_op, d) for d in (np.dtype(np.float32), np.dtype(np.float64))},
    **{f"normal_{SHORT[d]}": _draws(normal_op, d) for d in (np.dtype(np.float32), np.dtype(np.float64))},
}
"""The Python meaning of the functions of the dialect, of row products, integer division and random numbers."""
