"""Tensors and operations of the dialect: handles on nodes, with TensorFlow's attributes and operators.

The functions of the dialect take and give handles. `operation` turns their arguments into symbols of the graph, which
this library's functions take, and names the result as TensorFlow does.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import static
from ...errors import StaticgradError, UnknownExtentError
from ...ir import Node
from ...operators import F, Symbol, has_rank
from ...ops import pytree
from ...ops.deferred import Definition, defer, narrowed
from ...ops.known_values import value_of
from ...static.defaults import session_or_default
from ...static.dependencies import Operation as Effect
from ...static.graphs import using
from ...types import TensorType
from .dtypes import DType, as_dtype
from .errors import as_tensorflow
from .graph import MAKERS, Graph, get_default_graph
from .host import run
from .shapes import Dimension, TensorShape


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
    """Common to tensors and variables. `operators.py` adds the arithmetic operators, which append operations.

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
        raise NotImplementedError

    @property
    def op(self) -> Operation:
        return Operation(self.graph, self.node)

    @property
    def name(self) -> str:
        first, index = self.graph.output_of.get(self.node, (self.node, 0))
        return f"{self.graph.name_of(first)}:{index}"

    @property
    def dtype(self) -> DType:
        return as_dtype(self.node.type.dtype)

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
        if merged != self.shape and merged.dims is not None:
            with using(self.graph):
                node = narrowed(self.symbol, TensorType(tuple(merged.as_list()), self.node.type.dtype)).node
            self.graph.replace(self, node)

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

    @property
    def symbol(self) -> Symbol:
        if MOVED.levels:
            found = MOVED.find(self.graph, self.node)
            if found is not None:
                return found
        return Symbol(self.graph, self.node)

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


# between the dialect and the library ----------------------------------------------------------------------------------


def symbols(value: Any) -> Any:
    """Handles, dtypes and shapes in a nest as the library's symbols, dtypes and tuples; everything else as it is."""
    if isinstance(value, Handle):
        return value.symbol
    if isinstance(value, DType):
        return value.numpy
    if isinstance(value, TensorShape):
        return tuple(value.as_list())
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, slice):
        return slice(symbols(value.start), symbols(value.stop), symbols(value.step))
    if isinstance(value, dict):
        return {key: symbols(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [symbols(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def handles(graph: Graph, value: Any) -> Any:
    """Symbols and operations in a nest as handles."""
    if isinstance(value, Symbol):
        return graph.handle(value.node)
    if isinstance(value, Effect):
        return Operation(graph, value.node)
    if isinstance(value, dict):
        return {key: handles(graph, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [handles(graph, item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def graph_of(values: Iterable[Any]) -> Graph:
    """The graph of the first tensor in nested values, else the default graph."""
    stack = list(values)[::-1]
    while stack:
        value = stack.pop()
        if isinstance(value, Symbol) and isinstance(value.graph, Graph):
            return value.graph
        if isinstance(value, (Handle, Operation)):
            return value.graph if not any(value.graph is outer for outer, _ in MOVED.levels) else get_default_graph()
        if isinstance(value, (list, tuple)):
            stack += value[::-1]
        elif isinstance(value, dict):
            stack += list(value.values())[::-1]
    return get_default_graph()


def array_of(value: Any, dtype: np.dtype | None = None) -> np.ndarray:
    """An array as TensorFlow makes one: Python's integers are int32, its floats float32; arrays keep their dtype.

    Raises TypeError for values that `dtype` can't hold, as floats in an integer dtype.
    """
    array = np.asarray(value)
    if dtype is None:
        if not hasattr(value, "dtype") and not _has_arrays(value):
            if array.dtype == np.int64 and np.all(np.abs(array) < 2**31):
                array = array.astype(np.int32)
            elif array.dtype == np.float64:
                array = array.astype(np.float32)
        return array
    lossy = {"f": "iub", "i": "b", "u": "b", "b": "", "O": "fiub", "U": "fiub", "S": "fiub"}.get(array.dtype.kind, "")
    if array.size and dtype.kind in lossy:
        sample = array.ravel()[0].item() if array.dtype.kind != "O" else value
        raise TypeError(f"Expected {as_dtype(dtype).name}, got {sample!r} of type '{type(sample).__name__}' instead.")
    return array.astype(dtype)


def _has_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(hasattr(v, "dtype") or _has_arrays(v) for v in value)


def tensor(value: Any, dtype: Any = None) -> Any:
    """A symbol, or an array, number or nest (of tensors too) as a constant of the default graph. Raises TypeError and
    ValueError for another dtype than the one wanted."""
    wanted = None if dtype is None else as_dtype(dtype).numpy
    value = symbols(value)
    if isinstance(value, Symbol):
        if wanted is not None and value.dtype != wanted:
            name = as_dtype(wanted).name
            raise ValueError(f"Tensor conversion requested dtype {name} for Tensor with dtype {value.dtype.name}: {value!r}")
        return value
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Symbol, list, tuple)) for v in value) and _has_symbols(value):
        first = next(_symbols_in(value))
        return F.stack([tensor(v, first.dtype if wanted is None else wanted) for v in value])
    return static.constant(array_of(value, wanted))


def _symbols_in(value: Any) -> Any:
    for item in value:
        if isinstance(item, Symbol):
            yield item
        elif isinstance(item, (list, tuple)):
            yield from _symbols_in(item)


def _has_symbols(value: Any) -> bool:
    return next(_symbols_in(value), None) is not None


def pair(x: Any, y: Any, op: str) -> tuple[Any, Any]:
    """Two operands of one dtype: a plain value takes that of the tensor beside it. Raises TypeError for two dtypes."""
    x, y = symbols(x), symbols(y)
    if isinstance(y, Symbol) and not isinstance(x, Symbol):
        x = tensor(x, y.dtype)
    x = tensor(x)
    y = y if isinstance(y, Symbol) else tensor(y, x.dtype)
    if x.dtype != y.dtype:
        raise TypeError(
            f"Input 'y' of '{op}' Op has type {y.dtype.name} that does not match type {x.dtype.name} of argument 'x'."
        )
    return x, y


SIZES = frozenset({
    "shape", "dims", "axis", "axes", "dim", "dimension", "reduction_indices", "squeeze_dims", "keepdims", "keep_dims", "perm",
    "multiples", "paddings", "begin", "size", "depth", "num", "num_segments", "maxlen", "num_or_size_splits", "num_rows",
    "num_columns", "batch_shape", "batch_dims", "k", "block_size", "output_shape", "exclusive", "reverse",
})  # fmt: skip
"""Parameters of the dialect's functions that decide about shapes: a function gets their values as plain Python. A tensor that
has no value before the run puts the function off until then."""


def operation(
    default: str, type_: str | None = None, sizes: frozenset[str] = SIZES, types: Callable[..., Any] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of the dialect, from one on symbols: handles in, handles out, the result named `name` or `default`.

    sizes: parameters that are plain values; see SIZES. types: (the function's arguments) -> the type of its result where its
    sizes are unknown before the run.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(fn).parameters)
        spelled = {name.rstrip("_"): name for name in names if name.endswith("_") and name.rstrip("_") not in names}
        plain = {name: i for i, name in enumerate(names) if name in sizes}

        def write(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            if plain:
                args = [known(arg) if i < len(names) and names[i] in plain else arg for i, arg in enumerate(args)]
                kwargs = {key: known(arg) if key in plain else arg for key, arg in kwargs.items()}
            return fn(*args, **kwargs)

        @functools.wraps(fn)
        def call(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
            if spelled:  # TensorFlow's word for it is a name of this module, or of Python
                kwargs = {spelled.get(key, key): value for key, value in kwargs.items()}
            graph = graph_of((args, kwargs))
            graph.check_open()
            with using(graph):
                before = len(graph.nodes)
                given = symbols(args), symbols(kwargs)
                try:
                    out = write(*given)
                except UnknownExtentError:
                    out = put_off(graph, write, given, types)
                if graph.gradient_overrides:
                    out = MAKERS["overridden"](graph, type_ or default, given, out)
                out = named(graph, out, name or default, type_ or default, before)
            return handles(graph, out)

        return call

    return decorate


def extents_of(x: Any) -> tuple[int, ...]:
    """The shape of a tensor as integers. Raises UnknownExtentError for an unknown extent."""
    if None in x.shape:
        raise UnknownExtentError(f"the extents of {x.describe()} are needed, and some are unknown until the graph runs")
    found: tuple[int, ...] = x.shape
    return found


def extent_of(x: Any, axis: int) -> int:
    """One extent as an integer. Raises UnknownExtentError for an unknown one."""
    found: int | None = x.shape[axis]
    if found is None:
        raise UnknownExtentError(f"extent {axis} of {x.describe()} is needed, and is unknown until the graph runs")
    return found


def known(value: Any) -> Any:
    """Tensors in a nest as plain numbers and lists. Raises UnknownExtentError for one that has no value before the run."""
    if isinstance(value, Symbol):
        return value_of(value).tolist()
    if isinstance(value, slice):
        return slice(known(value.start), known(value.stop), known(value.step))
    if isinstance(value, (list, tuple)):
        return type(value)(known(item) for item in value)
    return value


def put_off(graph: Graph, write: Callable[..., Any], given: tuple[Any, Any], types: Callable[..., Any] | None) -> Any:
    """The results of a function whose shapes are known only in the run, or not completely before it."""
    leaves, structure = pytree.flatten(given, _nest)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Symbol)]
    made: list[Any] = [pytree.LEAF]
    """The structure of the results."""

    def definition(operands: list[Symbol]) -> list[Any]:
        filled = list(leaves)
        for i, operand in zip(places, operands, strict=True):
            filled[i] = operand
        results, made[0] = pytree.flatten(write(*pytree.unflatten(structure, filled)), pytree.ordered)
        return results

    kinds = None if types is None else types(*given[0], **given[1])
    if isinstance(kinds, list):
        made[0] = pytree.flatten([None] * len(kinds), pytree.ordered)[1]
    elif kinds is not None:
        kinds = [kinds]
    found = defer(graph, Definition(definition, Graph), [leaves[i] for i in places], kinds)
    return pytree.unflatten(made[0], found)


def put_off_function(graph: Graph, build: Callable[[], Any]) -> Any:
    """The results of `build()`, a function of the program with tensors of the graph, called when their ranks are known."""
    nodes: list[Node] = []
    made: list[Any] = [pytree.LEAF]

    def definition(operands: list[Symbol]) -> list[Any]:
        MOVED.levels.append((graph, dict(zip(nodes, operands, strict=True))))
        try:
            results, made[0] = pytree.flatten(build(), pytree.ordered)
        finally:
            MOVED.levels.pop()
        return results

    while True:
        try:
            found = defer(graph, Definition(definition, Graph), [Symbol(graph, n) for n in nodes])
            return pytree.unflatten(made[0], found)
        except NeedsOperand as error:
            nodes.append(error.node)


def _nest(value: Any) -> Any:
    if isinstance(value, slice):
        return pytree.Container(_slice, slice, None, (value.start, value.stop, value.step))
    return pytree.ordered(value)


def _slice(like: Any, keys: Any, items: list[Any]) -> slice:
    return slice(*items)


def named(graph: Graph, out: Any, name: str, type_: str, before: int) -> Any:
    """Name the results of a function that began when the graph had `before` nodes; "" for no name. A result from before gets
    a node of its own, as every function of TensorFlow makes an operation."""
    if isinstance(out, (list, tuple)):
        items = [named(graph, item, name if not i else "", type_, before) for i, item in enumerate(out)]
        graph.adopt_outputs([item.node for item in items if isinstance(item, Symbol)])
        return type(out)(*items) if hasattr(out, "_fields") else type(out)(items)
    if not isinstance(out, Symbol):
        return out
    node = out.node
    if node not in graph.nodes[before:] or node in graph._types:
        out = static.identity(out)
        node = out.node
    if name:
        graph.adopt(node, name, type_)
    return out
