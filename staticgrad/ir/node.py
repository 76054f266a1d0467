"""The IR's node: frozen, slotted, compared by identity; and the storage of a variable, an attribute of its node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..base.dtypes import DType
from ..base.types import TensorType
from ..errors import Where
from .op import OpDef

NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


class Literal:
    """A constant array as an attribute: hashable by its bytes when small, by identity when large."""

    __slots__ = ("_key", "array")

    SMALL = 256  # bytes

    def __init__(self, array: np.ndarray):
        if array.flags.writeable or array.base is not None:  # a read-only view changes with its base
            array = array.copy()
            array.flags.writeable = False
        self.array = array
        small = array.nbytes <= self.SMALL
        self._key: Hashable = (array.dtype, array.shape, array.tobytes()) if small else id(array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> Any:
        return Literal, (self.array,)

    def same(self, other: object) -> bool:
        """Whether the arrays have equal bytes, large ones too."""
        if self == other:
            return True
        if not isinstance(other, Literal) or (self.array.dtype, self.array.shape) != (other.array.dtype, other.array.shape):
            return False
        return self.array.tobytes() == other.array.tobytes()

    def __repr__(self) -> str:
        return str(self.array.item()) if self.array.size == 1 else f"<{self.array.dtype} {self.array.shape}>"


class _Fields:
    """The fields of a node while they can be set."""

    __slots__ = ("__weakref__", "_key", "after", "attrs", "inputs", "name", "op", "type", "uniform", "where")


def _own(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node: dtypes are NumPy's, which kernels and files know."""
    return {name: value.numpy if value.__class__ is DType else value for name, value in attrs.items()}


class Node(_Fields):
    """One operation of a graph.

    inputs: operands in order, repeats allowed; after: nodes that have to run first (control edges); attrs: hashable
    values; where: the user's line. Nodes never change and may be shared by graphs.
    """

    __slots__ = ()

    op: OpDef
    inputs: tuple[Node, ...]
    attrs: Mapping[str, Any]
    type: TensorType
    name: str
    where: Where | None
    after: tuple[Node, ...]
    uniform: bool | None
    """Whether it is one number computed from constants and extents; None until the compiler needs to know."""
    _key: Hashable | None

    def __new__(
        cls, op: OpDef, inputs: tuple[Node, ...], attrs: Mapping[str, Any], type: TensorType, name: str = "",
        where: Where | None = None, after: tuple[Node, ...] = (),
    ) -> Node:  # fmt: skip
        new: Any = _Fields()
        shared = attrs.__class__ is MappingProxyType  # another node's
        new.attrs = attrs if shared else MappingProxyType(_own(attrs)) if attrs else NO_ATTRS
        new.op, new.inputs, new.type, new.name, new.where, new.after = op, inputs, type, name, where, after
        new.uniform = new._key = None
        new.__class__ = cls  # frozen from here on; a call per field would take most of the time
        return new

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"nodes are frozen: can't set {name!r}; build another node instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"nodes are frozen: can't delete {name!r}")

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def parents(self) -> tuple[Node, ...]:
        """All predecessors: inputs and control inputs."""
        return self.inputs + self.after if self.after else self.inputs

    @property
    def key(self) -> Hashable:
        """The key of interning. The type is part of it: a cast-free op keeps its dtype through its inputs only."""
        key = self._key
        if key is None:
            kind: Hashable = self.type
            if kind.__class__ is TensorType:  # tuples are compared without a call
                kind = self.type.shape, self.type.dtype
            key = self.op, self.inputs, tuple(sorted(self.attrs.items())) if self.attrs else (), kind, self.after
            object.__setattr__(self, "_key", key)
        return key

    def __repr__(self) -> str:
        return f"<{self.name or self.op.name} {self.type}>"


class Cell:
    """A place that holds an array between runs; compared by identity.

    A Session keeps the arrays of the cells of its graph. The cell of an eager tensor refers to `tensor`, whose own
    buffer is the storage. `initial` is the node that a Session's initializer evaluates, or None. `stream` is the (seed, draw)
    with which a session begins the state of a random generator; each run that draws from it advances it.
    """

    __slots__ = ("__weakref__", "initial", "name", "stream", "tensor", "trainable", "type")

    def __init__(
        self, name: str, type: TensorType, *, tensor: Any = None, initial: Any = None, trainable: bool = True,
        stream: tuple[int, int] | None = None,
    ):  # fmt: skip
        self.name = name
        self.stream = stream
        self.type = type
        self.tensor = tensor
        self.initial = initial
        self.trainable = trainable

    def __reduce__(self) -> Any:
        """Without the node of its initial value, which its graph enters."""
        return _cell, (self.name, self.type, self.tensor, self.trainable, self.stream)

    def __lt__(self, other: Cell) -> bool:  # attributes are sorted by key; equal keys never compare values
        return id(self) < id(other)

    def __repr__(self) -> str:
        return self.name or "cell"


def _cell(name: str, kind: TensorType, tensor: Any, trainable: bool, stream: tuple[int, int] | None) -> Cell:
    return Cell(name, kind, tensor=tensor, trainable=trainable, stream=stream)
