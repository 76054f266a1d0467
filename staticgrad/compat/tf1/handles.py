"""Tensors and operations of the dialect: handles on nodes, with TensorFlow's attributes."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from .core import Node, StaticgradError, Symbol, TensorType, has_rank, narrowed, session_or_default, static, using
from .dtypes import DType, TensorShape, as_dtype, string
from .errors import as_tensorflow
from .graph import MAKERS, Graph, run


def evaluate(fetch: Any, feed_dict: Any = None, session: Any = None) -> Any:
    """`session.run(fetch, feed_dict)`, in the default session when none is given. Raises ValueError without one."""
    try:
        chosen = session_or_default(getattr(session, "_session", session), "eval")
    except StaticgradError as error:
        raise ValueError(str(error)) from None
    try:
        return run(chosen, fetch, feed_dict)
    except StaticgradError as error:
        raise as_tensorflow(error) from None


class Moved(threading.local):
    """While a function of the program is called for a graph of its own (see `put_off_function`): its tensors from outside, as
    symbols of that graph."""

    def __init__(self) -> None:
        self.levels: list[tuple[Graph, dict[Node, Symbol]]] = []

    def find(self, graph: Graph, node: Node) -> Symbol | None:
        """Raises NeedsOperand for a tensor from outside that is not known yet; None for one of the inner graph."""
        for outer, moved in reversed(self.levels):
            if graph is outer:
                if node not in moved:
                    raise NeedsOperand(node)
                return moved[node]
        return None


class NeedsOperand(Exception):
    """A function that is put off uses a tensor from outside."""

    def __init__(self, node: Node):
        super().__init__(node)
        self.node = node


MOVED = Moved()


class Operation:
    """An operation of a graph: its name, type, inputs and results. Running it gives None."""

    __slots__ = ("_node", "graph")

    def __init__(self, graph: Graph, node: Node):
        self.graph = graph
        self._node, _ = graph.output_of.get(node, (node, 0))

    @property
    def node(self) -> Node:
        """The node that a session runs for it."""
        if self._node.op.effect == "group":
            return self._node
        if self._node not in self.graph.effects:
            with using(self.graph), static.control_dependencies(None):
                made = static.group(Symbol(self.graph, self._node), name=f"parts/run/{self.name}").node
            self.graph.effects[self._node] = made
        return self.graph.effects[self._node]

    @property
    def name(self) -> str:
        return self.graph.name_of(self._node)

    @property
    def type(self) -> str:
        return "NoOp" if self._node.op.effect == "group" else self.graph.type_of(self._node)

    @property
    def inputs(self) -> list[Tensor]:
        return [self.graph.handle(node) for node in self._node.inputs]

    @property
    def control_inputs(self) -> list[Operation]:
        return [Operation(self.graph, node) for node in self._node.after]

    @property
    def outputs(self) -> list[Tensor]:
        if self._node.op.effect == "group":
            return []
        return [self.graph.handle(node) for node in self.graph.outputs_with(self._node)]

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, text) of the user's line that made it."""
        where = self._node.where
        return [] if where is None else [(where.file, where.line, "", where.text)]

    device = ""

    def values(self) -> list[Tensor]:
        """Its results."""
        return self.outputs

    def get_attr(self, name: str) -> Any:
        """Raises ValueError for an attribute that the operation does not have."""
        if name not in self._node.attrs:
            raise ValueError(f"Operation {self.name!r} has no attr named {name!r}.")
        return self._node.attrs[name]

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Run it in `session`, the default one unless given."""
        evaluate(self, feed_dict, session)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and other._node is self._node

    def __hash__(self) -> int:
        return hash(self._node)

    def __repr__(self) -> str:
        return f"<tf.Operation {self.name!r} type={self.type}>"


class Handle:
    """Common to tensors and variables. `names.py` adds the arithmetic operators, which append operations.

    Compared by identity, as in TensorFlow 1.
    """

    __slots__ = ("__weakref__", "graph", "node")
    __array_priority__ = 100
    __array_ufunc__ = None  # ndarray + tensor is the tensor's business

    graph: Graph
    node: Node

    @property
    def symbol(self) -> Symbol:
        """The same tensor for this library's functions."""
        found = MOVED.find(self.graph, self.node) if MOVED.levels else None
        return self._symbol() if found is None else found

    def _symbol(self) -> Symbol:
        return Symbol(self.graph, self.node)

    @property
    def op(self) -> Operation:
        return Operation(self.graph, self.node)

    @property
    def name(self) -> str:
        first, index = self.graph.output_of.get(self.node, (self.node, 0))
        return f"{self.graph.name_of(first)}:{index}"

    @property
    def dtype(self) -> DType:
        return string if self.node in self.graph.texts else as_dtype(self.node.type.dtype)

    @property
    def shape(self) -> TensorShape:
        symbol = self.symbol
        return TensorShape(symbol.node.type.shape if has_rank(symbol) else None)

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """From here on the tensor has the extents that `shape` knows, which is checked in each run. Raises ValueError where it
        does not agree with those that are known."""
        merged = self.shape.merge_with(shape)
        texts = self.node in self.graph.texts
        if merged != self.shape and merged.dims is not None:
            kind = TensorType(tuple(merged.as_list()), self.node.type.dtype)
            with using(self.graph):
                declare = self.graph.undeclared.pop(self.node, None) if kind.static else None
                node = narrowed(self.symbol, kind).node if declare is None else declare(kind)
            self.graph.replace(self, node)
            if texts:
                self.graph.texts.add(node)

    @property
    def ndim(self) -> int | None:
        """The number of axes; None where it is unknown."""
        return self.shape.ndims

    @property
    def device(self) -> str:
        """Empty: nothing is placed by hand."""
        return ""

    @property
    def value_index(self) -> int:
        return self.graph.output_of.get(self.node, (self.node, 0))[1]

    def consumers(self) -> list[Operation]:
        return [Operation(self.graph, node) for node in self.graph.nodes if self.node in node.inputs]

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Its value in `session`, the default one unless given."""
        return evaluate(self, feed_dict, session)

    def __repr__(self) -> str:
        return f"<tf.{type(self).__name__} {self.name!r} shape={self.shape} dtype={self.dtype.name}>"


class Tensor(Handle):
    """The result of an operation."""

    __slots__ = ()

    def __init__(self, graph: Graph, node: Node):
        self.graph = graph
        self.node = node

    def __bool__(self) -> bool:
        raise TypeError(
            "Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to test if a "
            "tensor is defined, and use TensorFlow ops such as tf.cond to execute subgraphs conditioned on the value of a "
            "tensor."
        )

    def __iter__(self) -> Any:
        raise TypeError("Tensor objects are only iterable when eager execution is enabled. Use tf.unstack or tf.map_fn.")

    def __len__(self) -> int:
        raise TypeError("len is not well defined for symbolic Tensors. Please call `x.shape` rather than `len(x)`.")

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array: run it in a session.")

    def __str__(self) -> str:
        return f'Tensor("{self.name}", shape={self.shape}, dtype={self.dtype.name})'


MAKERS["tensor"], MAKERS["operation"] = Tensor, Operation
