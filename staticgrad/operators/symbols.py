"""Tensors that stand for nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ShapeError, TraceError
from ..ir import Graph, Node
from ..types import TensorType
from .dispatch import frontends
from .methods import Operators


class Symbol(Operators):
    """A tensor of a graph that has no value yet. Hashable by identity, so it can be a key of a feed."""

    __slots__ = ("__weakref__", "graph", "node")

    def __init__(self, graph: Graph, node: Node):
        self.graph = graph
        self.node = node

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        return self.node.type.shape

    @property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return self.node.type.dtype

    @property
    def type(self) -> TensorType:
        return self.node.type

    @property
    def name(self) -> str:
        """Unique in its graph, which finds it by that: `session.run(t.name)`."""
        return self.graph.name_of(self.node)

    @property
    def op(self) -> str:
        """The op's name."""
        return self.node.op.name

    @property
    def size(self) -> int:
        return self.node.type.size

    def numel(self) -> int:
        return self.size

    def operand(self) -> Node:
        """The node that an op applied now takes as its input."""
        return self.node

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in `session`, the default one when left out; see `Session.run`."""
        return frontends.evaluate(self, feed_dict, session)

    def describe(self) -> str:
        return f'"{self.name}" {self.node.type}'

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("len() of a 0-d tensor")
        if self.shape[0] is None:
            self._no_value("its length (the extent is unknown)", "give the placeholder a known extent")
        return self.shape[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def _no_value(self, what: str, *advice: str) -> Any:
        raise TraceError(f"{self.describe()} is symbolic: Python can't have {what} before the graph runs", *advice)

    def __bool__(self) -> bool:
        return self._no_value(
            "its truth value",
            "use sg.where(condition, a, b) for values, sg.cond to choose what runs, sg.while_loop to repeat, or decide on "
            "plain Python values",
        )

    def __float__(self) -> float:
        return self._no_value("a number", "fetch it with Session.run, or return it from the compiled function")

    __int__ = __index__ = item = numpy = tolist = __float__

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return self._no_value("an array", "fetch it with Session.run, or return it from the compiled function")

    def __format__(self, spec: str) -> str:
        return self._no_value("a number to format", "fetch it with Session.run, and format that") if spec else repr(self)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self._no_value("a copy of its own", "use x.clone() for a tensor of the same value")

    def __getstate__(self) -> Any:
        return self._no_value("what could be saved", "save what Session.run, or the compiled function, gives")

    def backward(self, *args: Any, **kwargs: Any) -> None:
        raise TraceError(
            f"{self.describe()} is symbolic: backward() belongs to eager code and to @sg.compile",
            "in a graph, take sg.gradients(loss, variables), or opt.minimize(loss)",
        )

    def __repr__(self) -> str:
        where = self.node.where
        return f"<sg.Symbol {self.name!r} {self.node.type}{' ' + where.short if where else ''}>"
