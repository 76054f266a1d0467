"""Tables of ONNX's ops: how each is read as functions of this library, and how each op of the IR is written as nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.dtypes import BFLOAT16, as_dtype
from ...errors import DTypeError
from ...ops.operators import F

T = Any
"""An input or result of a node: a tensor of any mode, the array of a value that is known when the node is read, None for an
optional input that is absent, or a list for a sequence."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """How a node of an op is read: `write(*inputs, **attributes)` gives its result, or a tuple of them.

    Attributes are keyword-only parameters by their ONNX names, with the defaults of the standard. A parameter `call` gets the
    `NodeContext`.
    """

    op: str
    write: Callable[..., Any]
    values: tuple[int, ...] = ()
    """Inputs that are given as arrays, because shapes or the choice of operations depend on their values."""
    state: tuple[int, ...] = ()
    """Inputs that are not trained, because they are statistics."""
    names: frozenset[str] = frozenset()
    """Attributes that it knows."""
    domain: str = ""
    raw: bool = False
    """Inputs are given as they are, known or not: for ops that look at types, or move values whatever they are."""

    def __reduce__(self) -> Any:
        return _reader_of, (self.domain, self.op)  # functions without a name are not pickled


def _reader_of(domain: str, op: str) -> Reader:
    return READERS[domain, op]


@dataclass(frozen=True, slots=True, eq=False)
class NodeContext:
    """What a reader may ask about its node beyond inputs and attributes."""

    opset: int
    outputs: int
    """The number of results that the node names, absent ones before the last included."""
    body: Callable[..., Callable[..., list[Any]]]
    """body(graph attribute) -> function of its inputs that returns its outputs; it sees the values around the node."""
    symbolic: bool
    """Whether its graphs read symbols from around the node."""


READERS: dict[tuple[str, str], Reader] = {}
"""Readers by domain and op."""


def reader(
    op: str, *, values: Sequence[int] = (), state: Sequence[int] = (), domain: str = "", raw: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as the reader of an op."""

    def enter(write: Callable[..., Any]) -> Callable[..., Any]:
        names = [p.name for p in inspect.signature(write).parameters.values() if p.kind is p.KEYWORD_ONLY]
        READERS[domain, op] = Reader(op, write, tuple(values), tuple(state), frozenset(names), domain, raw)
        return write

    return enter


def one_to_one(names: dict[str, str]) -> None:
    """Readers of ops that are one function of this library on the same operands: ONNX's name -> the name in `sg`."""
    for op, name in names.items():
        READERS["", op] = Reader(op, getattr(F, name))


BUFFERS = "staticgrad.buffers"
"""The property of a model that lists the initializers which are not trained, as JSON."""

# dtypes -----------------------------------------------------------------------------------------------------------------

DTYPES: dict[int, np.dtype] = {
    1: np.dtype(np.float32), 2: np.dtype(np.uint8), 3: np.dtype(np.int8), 4: np.dtype(np.uint16), 5: np.dtype(np.int16),
    6: np.dtype(np.int32), 7: np.dtype(np.int64), 9: np.dtype(np.bool_), 10: np.dtype(np.float16), 11: np.dtype(np.float64),
    12: np.dtype(np.uint32), 13: np.dtype(np.uint64), 14: np.dtype(np.complex64), 15: np.dtype(np.complex128),
    16: as_dtype(BFLOAT16),
}  # fmt: skip
"""ONNX's numbers of the dtypes that tensors have here."""
CODES = {dtype: code for code, dtype in DTYPES.items()}


def dtype_of(code: int) -> np.dtype:
    """The dtype of an ONNX number. Raises DTypeError for one that tensors don't have here."""
    if code not in DTYPES:
        import onnx

        name = onnx.TensorProto.DataType.Name(code).lower()
        raise DTypeError(f"ONNX: dtype {name} is not supported", "convert the model to float32, float64 or integers first")
    return DTYPES[code]
