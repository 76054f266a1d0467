"""Tables of ONNX's ops: how each is read as functions of this library, and how each op of the IR is written as nodes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.dtypes import BFLOAT16, as_dtype
from ...errors import DTypeError, ShapeError, StaticgradError
from ...ir import Expand, Extent, Graph, Node, Subgraph
from ...ops.control.subgraph_tracing import parameter
from ...ops.operators import F, Symbol, lines_of

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


# writing --------------------------------------------------------------------------------------------------------------

Name = str
Writer = Callable[..., Any]
WRITERS: dict[str, Writer] = {}
"""How the ops of the IR are written: `write(builder, node, *names of the operands)` gives the name of the result, or a tuple of
them for a node with several; None where the op's own rule is to be written."""
OPSET = 18
"""The version of ONNX's op set that models are written in."""


class UnwrittenError(StaticgradError, NotImplementedError):
    """An operation has no ONNX counterpart.

    broken:  sg.onnx.export(lambda x: sg.special.airy_ai(x), (x,), "model.onnx")
    fixed:   compute it outside of the model
    """


def writer(*ops: str) -> Callable[[Writer], Writer]:
    """Enter a function as the writer of ops of the IR."""

    def enter(write: Writer) -> Writer:
        WRITERS.update(dict.fromkeys(ops, write))
        return write

    return enter


class Scope:
    """The nodes of one ONNX graph under construction. `outer`: the graph around it, whose constants it shares."""

    def __init__(self, outer: Scope | None = None):
        self.outer = outer
        self.nodes: list[Any] = []
        self.values: dict[str, np.ndarray] = {} if outer is None else outer.values
        """The values of constants, which are nodes of the outermost graph."""
        self.constants: dict[Any, str] = {} if outer is None else outer.constants
        self.taken: set[str] = set() if outer is None else outer.taken

    def name(self, base: str) -> str:
        """A name that nothing else has."""
        found, i = base, 0
        while found in self.taken or not found:
            i += 1
            found = f"{base}_{i}"
        self.taken.add(found)
        return found

    def add(self, op: str, inputs: Sequence[Name], **attrs: Any) -> Name:
        """A node of an ONNX op with one result; its name."""
        return self.several(op, inputs, 1, **attrs)[0]

    def several(self, op: str, inputs: Sequence[Name], outputs: int, **attrs: Any) -> tuple[Name, ...]:
        """A node of an ONNX op; the names of its results."""
        import onnx

        names = tuple(self.name(op.lower()) for _ in range(outputs))
        self.nodes.append(onnx.helper.make_node(op, list(inputs), names, name=self.name(f"{op}_node"), **attrs))
        return names

    def constant(self, value: Any, dtype: Any = None) -> Name:
        """The name of a constant with this value."""
        array = np.array(value, dtype)  # contiguous
        key = array.dtype, array.shape, array.tobytes()
        if key not in self.constants:
            self.constants[key] = name = self.name("constant")
            self.values[name] = array
        return self.constants[key]

    def ints(self, values: Any) -> Name:
        """The name of an int64 constant."""
        return self.constant(list(values), np.int64)

    def like(self, value: Any, node: Node) -> Name:
        """A number in the dtype of a node."""
        return self.constant(value, node.type.dtype)

    # the walk

    def write(self, node: Node, names: dict[Node, Any]) -> None:
        """Append the nodes that compute `node`, whose operands have names. Raises UnwrittenError."""
        write = WRITERS.get(node.op.plain.name)
        if any(n.type.dtype.kind == "c" for n in (node, *node.inputs)):
            write = None
        elif node.op.plain is not node.op and isinstance(node.op.emit, Expand):
            write = None  # floats of 16 bits are computed in float32, between casts
        made = None if write is None else write(self, node, *(names[i] for i in node.inputs))
        if made is not None:
            names[node] = made
        elif node.op.leaf == "constant" and node.type.dtype in CODES:
            names[node] = self.constant(node.attrs["value"].array)
        elif isinstance(node.op.emit, Expand):
            names[node] = self.expanded(node, names)
        elif isinstance(node.op.emit, Extent):
            names[node] = self.constant(node.op.emit.rule(node), node.type.dtype)
        else:
            raise UnwrittenError(f"onnx.export: {node.op.name} has no ONNX counterpart", where=node.where)

    def expanded(self, node: Node, names: dict[Node, Any]) -> Any:
        """A composite op, written in the ops that its rule makes it of, over leaves that stand for its operands."""
        graph = Graph()
        leaves = {i: parameter(graph, i.type) if i.inputs else graph.append(i) for i in dict.fromkeys(node.inputs)}
        names.update({leaf: names[i] for i, leaf in leaves.items()})
        rule: Any = node.op.emit.rule  # type: ignore[union-attr]
        with lines_of(node.where):
            result: Node = rule(node, *(Symbol(graph, leaves[i]) for i in node.inputs)).node
        self.walk(graph, [result], names)
        return names[result]

    def walk(self, graph: Graph, results: Sequence[Node], names: dict[Node, Any]) -> None:
        """Write the nodes of a graph that the results need and that have no name yet."""
        for node in graph.reaching(results, stop=set(names)):
            if node not in names:
                self.write(node, names)

    def body(self, subgraph: Subgraph, inputs: Sequence[tuple[str, Node]], given: Mapping[Node, Name]) -> Any:
        """(nodes, names of the results) of a body, in a scope of its own. given: the names of its parameters."""
        inner = Scope(self)
        names: dict[Node, Any] = dict(given)
        inner.walk(subgraph.graph, subgraph.results, names)
        return inner, [inner.add("Identity", [names[r]]) for r in subgraph.results]


def value_info(name: str, dtype: np.dtype, shape: Sequence[Any]) -> Any:
    """The declaration of a value. Raises DTypeError for a dtype without a number."""
    import onnx

    if dtype not in CODES:
        raise DTypeError(f"onnx.export: {name} is {dtype}, which is not written")
    return onnx.helper.make_tensor_value_info(name, CODES[dtype], list(shape))


def static_shape(node: Node) -> tuple[int, ...]:
    """The extents of a node. Raises ShapeError where one is unknown."""
    if not node.type.static:
        raise ShapeError(f"onnx.export: {node.op.name} is {node.type}, extents have to be known", where=node.where)
    return node.type.shape
