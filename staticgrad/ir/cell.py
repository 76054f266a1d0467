"""The storage of a variable, as an attribute of its node."""

from __future__ import annotations

from typing import Any

from ..base.types import TensorType


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

    def __lt__(self, other: Cell) -> bool:  # attributes are sorted by key; equal keys never compare values
        return id(self) < id(other)

    def __repr__(self) -> str:
        return self.name or "cell"
