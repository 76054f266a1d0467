"""Graphs of the IR as ONNX models: the walk over nodes, and what writers of ops build with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import DTypeError, ShapeError, StaticgradError
from ...ir import Expand, Extent, Graph, Node, Subgraph
from ...ops.control.subgraph_tracing import parameter
from ...ops.operators import Symbol, lines_of
from .records import CODES

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
