"""The nesting of a state as a table for JSON, and back.

Each object of the table is `[kind, content]`, each object after those that it contains. None, True, numbers and strings stand
for themselves; `{"at": i}` is object i, so that objects that occur twice are one object again.
"""

from __future__ import annotations

import base64
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..base.devices import device
from ..base.dtypes import ANY_DTYPE, SUPPORTED, DType, as_dtype
from ..eager import Tensor
from ..operators import Symbol, frontends, state
from ..operators.sizes import Size
from .storages import Place, SerializationError, Storages, UnsafeObjectError, part

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
    """The objects of a table. places: for each array the name of its storage, and the rest of its `Place`.

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

    def place(number: int) -> tuple[str, Place]:
        storage, offset, shape, strides = places[number]
        return storage, Place(0, offset, tuple(shape), tuple(strides))

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
