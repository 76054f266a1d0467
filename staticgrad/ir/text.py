"""Graphs for people and for other programs: a listing, a plain networkx graph, DOT, GraphML. Beside it, the verifier."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.dtypes import SHORT
from ..base.files import replacing
from ..base.types import TensorType
from ..errors import StaticgradError, VerifyError, Where
from . import Cell, Graph, Literal, Node, Subgraph

if TYPE_CHECKING:
    import networkx as nx


COLUMN = 48
"""The widest expression that moves the comments of a listing to the right."""
LONG = 72
"""The length to which texts of source lines and attributes are cut."""
SHORT_ARRAY = 6
"""Constants of at most this many elements are shown with their values."""


# names and kinds ----------------------------------------------------------------------------------------------------


def outputs_of(graph: Graph) -> Mapping[str, Node]:
    """The named results of a graph; empty for one that is still being built."""
    return getattr(graph, "outputs", {})


def numbering(graph: Graph) -> dict[Node, str]:
    """`%0`, `%1`, ... in the graph's order: the name of a node in every listing, drawing and export.

    Readers iterate over this rather than over the graph, to which another thread may be adding nodes.
    """
    return {node: f"%{i}" for i, node in enumerate(graph.nodes)}


def backward_part(graph: Graph) -> set[Node]:
    """The nodes that only gradients (the outputs named `grad/...`) need."""
    outputs = outputs_of(graph)
    if not any(name.startswith("grad/") for name in outputs):
        return set()
    forward = graph.reaching(node for name, node in outputs.items() if not name.startswith("grad/"))
    return set(graph.nodes).difference(forward)


def kind_of(node: Node, backward: set[Node] | frozenset[Node] = frozenset()) -> str:
    """ "input", "state", "constant", "effect", "backward" or "op": the key of colors in drawings and exports."""
    if node.op.leaf == "constant":
        return "constant"
    if node.op.leaf:
        return "state" if isinstance(node.attrs.get("cell"), Cell) else "input"
    if node.op.effect:
        return "effect"
    return "backward" if node in backward else "op"


# text ---------------------------------------------------------------------------------------------------------------


def to_text(graph: Graph, *, lines: bool = True) -> str:
    """A listing, one node a line: number, type, expression, and with `lines` the user's line.

        %0  f32[?,64]   placeholder "x"   # model.py:8  x = sg.placeholder(sg.float32, (None, 64), "x")
        ...
        %3  f32[?,128]  matmul(%0, %1)    # model.py:12  h = x @ w + b
        %4  f32[?,128]  add(%3, %2)       # model.py:12

    Attributes follow the operands; `after %7` is a control edge. The text of a source line is shown where it differs
    from the one above. The named results of the graph come last.

    Examples:
        >>> x = sg.placeholder(sg.float32, [2], name="x")
        >>> print(sg.to_text(sg.exp(x).graph, lines=False))
        %0  f32[2]  placeholder "x"
        %1  f32[2]  exp(%0)
    """
    number = numbering(graph)
    return "\n".join([*_aligned(_rows(number, "", lines)), *_outputs_line(graph, number)])


def _aligned(rows: Sequence[tuple[str, str, str, str]]) -> list[str]:
    wide = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    column = max((len(row[2]) for row in rows if len(row[2]) <= COLUMN), default=0)
    return [
        f"{name:<{wide[0]}}  {type_:<{wide[1]}}  {expression:<{column}}  {comment}".rstrip()
        for name, type_, expression, comment in rows
    ]


def _outputs_line(graph: Graph, number: Mapping[Node, str]) -> list[str]:
    outputs = outputs_of(graph)
    if not outputs:
        return []
    return ["outputs: " + ", ".join(f"{name} = {number.get(node, '?')}" for name, node in outputs.items())]


MOST_LINES, FIRST_LINES, LAST_LINES = 400, 150, 50
"""`print(graph)` shows listings of up to this many lines in full, and this many lines of longer ones."""


def overview(graph: Graph) -> str:
    """The listing of a graph; of a long one its first and last lines, and where to find the others."""
    if len(graph.nodes) > MOST_LINES:
        first, last = list(graph.nodes[:FIRST_LINES]), list(graph.nodes[-LAST_LINES:])
        number = {node: f"%{i}" for i, node in enumerate(graph.nodes)}
        parts = [_aligned(_rows(number, "", True, part)) for part in (first, last)]
        left = len(graph.nodes) - FIRST_LINES - LAST_LINES
        middle = f"... {left:,} more nodes: sg.to_text(graph) lists all, sg.draw(graph, path) draws groups of them ..."
        return "\n".join([*parts[0], middle, *parts[1], *_outputs_line(graph, number)])
    return to_text(graph)


def _rows(
    number: Mapping[Node, str], indent: str, lines: bool, nodes: Sequence[Node] | None = None
) -> list[tuple[str, str, str, str]]:
    """Number, type, expression and comment of each node; a body follows its node, set in, with its own numbers."""
    rows = []
    above = None
    for node in number if nodes is None else nodes:
        name = number[node]
        comment = _comment(node.where, with_text=node.where != above) if lines else ""
        rows.append((indent + name, repr(node.type), _expression(node, number), comment))
        above = node.where
        for key, body in node.attrs.items():
            if isinstance(body, Subgraph):
                inner = numbering(body.graph)
                given = ", ".join(inner[p] for p in body.params)
                made = ", ".join(inner[r] for r in body.results)
                rows.append((f"{indent}  {key}({given})", "", f"returns {made}", ""))
                rows += _rows(inner, indent + "    ", lines)
    return rows


def _expression(node: Node, number: Mapping[Node, str]) -> str:
    """`add(%2, %3)`, `sum(%5, axis=(0,), keepdims=False)`, `placeholder "x"`, `constant 2.0`, `group() after %3`."""
    attrs = attrs_text(node)
    if node.op.leaf:
        text = " ".join([node.op.name, *attrs.values()])
    else:
        operands = [number.get(operand, "?") for operand in node.inputs]
        text = f"{node.op.name}({', '.join([*operands, *(f'{key}={value}' for key, value in attrs.items())])})"
    if node.name:
        text += f' "{node.name}"'
    if node.after:
        text += " after " + ", ".join(number.get(n, "?") for n in node.after)
    return text


def attrs_text(node: Node) -> dict[str, str]:
    """The attributes as texts, without those that the node's type or name tells already."""
    return {
        key: clip(attr_text(value))
        for key, value in node.attrs.items()
        if not (isinstance(value, TensorType) and value == node.type)
        and not (isinstance(value, Cell) and value.name == node.name)
    }


def attr_text(value: Any) -> str:
    """One attribute: dtypes by their short names, the values of short arrays, everything else as Python shows it."""
    if isinstance(value, np.dtype):
        return SHORT.get(value, str(value))
    if isinstance(value, Literal) and value.array.size <= SHORT_ARRAY:
        return _elements_text(value.array)
    if isinstance(value, tuple):
        inner = ", ".join(map(attr_text, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def _elements_text(array: np.ndarray) -> str:
    """The elements, each in the fewest digits that tell it from others of its dtype, as nested lists."""
    return f"[{', '.join(map(_elements_text, array))}]" if array.ndim else str(array[()])


def _comment(where: Where | None, *, with_text: bool) -> str:
    if where is None:
        return ""
    return f"# {where.short}  {clip(where.text)}".rstrip() if with_text else f"# {where.short}"


def clip(text: str, width: int = LONG) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


# other programs -----------------------------------------------------------------------------------------------------


def to_networkx(graph: Graph) -> nx.DiGraph:
    """A plain DiGraph whose nodes are `"%0"`, `"%1"`, ... and whose attributes are strings and booleans.

    Nodes: op, type, attrs, name, where, line, kind (see `kind_of`) and output (the names of results, or "").
    Edges: `operands`, the positions that the source takes among the inputs of the target ("0,1" for mul(x, x), as a
    DiGraph holds one edge for a pair; "" for none), and `control`, whether it is (also) a control edge.

    Examples:
        >>> import networkx as nx
        >>> x = sg.tensor([1.0, 2.0], requires_grad=True)
        >>> graph = sg.to_networkx(sg.graph_of((x * x).sum(), backward=False))
        >>> [graph.nodes[node]["op"] for node in nx.topological_sort(graph)]
        ['variable', 'mul', 'sum']
    """
    import networkx as nx

    number, backward = numbering(graph), backward_part(graph)
    result: dict[Node, list[str]] = {}
    for name, node in outputs_of(graph).items():
        result.setdefault(node, []).append(name)
    plain = nx.DiGraph()
    for node in number:
        plain.add_node(
            number[node],
            op=node.op.name,
            type=repr(node.type),
            attrs=", ".join(f"{key}={value}" for key, value in attrs_text(node).items()),
            name=node.name,
            where="" if node.where is None else node.where.short,
            line="" if node.where is None else node.where.text,
            kind=kind_of(node, backward),
            output=",".join(result.get(node, ())),
        )
    for node in number:
        for parent in dict.fromkeys(node.parents):
            positions = [str(i) for i, operand in enumerate(node.inputs) if operand is parent]
            plain.add_edge(number[parent], number[node], operands=",".join(positions), control=parent in node.after)
    return plain


FILLS = {
    "input": "#cfe3f7",
    "state": "#d3ecd2",
    "constant": "#ececec",
    "op": "#ffffff",
    "backward": "#fde3c8",
    "effect": "#f5cfcf",
}


def to_dot(graph: Graph, groups: Mapping[str, Sequence[Node]] | None = None) -> str:
    """The graph in Graphviz's DOT language: boxes with op, type and the user's line, filled by kind.

    Edges carry operand positions where a node has several operands; control edges are dashed; results are framed bold.
    groups: nodes that get a common frame, by its title.
    """
    plain = to_networkx(graph)
    lines = [
        "digraph staticgrad {",
        '  node [shape=box, style=filled, fontname="monospace", fontsize=10];',
        '  edge [fontname="monospace", fontsize=8];',
    ]
    for name, data in plain.nodes(data=True):
        title = f"{name} {data['op']}" + (f' "{data["name"]}"' if data["name"] else "")
        place = clip(f"{data['where']}  {data['line']}".strip())
        label = "\n".join(text for text in (title, data["type"], data["attrs"], place, data["output"]) if text)
        bold = ", penwidth=2" if data["output"] else ""
        lines.append(f'  {_quoted(name)} [label={_quoted(label)}, fillcolor="{FILLS[data["kind"]]}"{bold}];')
    number = numbering(graph) if groups else {}
    for i, (title, members) in enumerate((groups or {}).items()):
        inner = " ".join(f"{_quoted(number[node])};" for node in members)
        lines.append(f"  subgraph cluster_{i} {{ label={_quoted(title)}; {inner} }}")
    for source, target, data in plain.edges(data=True):
        several = plain.in_degree(target) > 1 or "," in data["operands"]
        options = [f"label={_quoted(data['operands'])}"] if several and data["operands"] else []
        options += ["style=dashed"] if data["control"] and not data["operands"] else []
        lines.append(f"  {_quoted(source)} -> {_quoted(target)}" + (f" [{', '.join(options)}];" if options else ";"))
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    """A DOT string. Only the quote, the backslash and line ends mean anything inside one."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 can't hold, escaped or not."""


def to_graphml(graph: Graph, path: str | os.PathLike[str] | None = None) -> str:
    """The graph of `to_networkx` in GraphML (for yEd, Gephi, Cytoscape); also written to `path` when one is given."""
    import networkx as nx

    plain = to_networkx(graph)
    for _, data in plain.nodes(data=True):
        data.update({key: FORBIDDEN.sub("\ufffd", value) for key, value in data.items()})
    text = '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(nx.generate_graphml(plain)) + "\n"
    if path is not None:
        with replacing(path) as file:
            file.write(text.encode())
    return text


# the rules of the IR, checked ----------------------------------------------------------------------------------------

# By tests after each stage, and by the compiler after each pass that a user adds.


def verify(graph: Graph, *, static: bool = False) -> Graph:
    """Raise VerifyError unless the graph is well formed; returns it.

    Operands come first, belong to the graph, and fit: inferring each node again gives its type. The edges are those of the
    nodes. With `static`, every extent is known.
    """
    seen = set()
    for position, node in enumerate(graph.nodes):
        what = f"%{position} {node.op.name}"
        for parent in node.parents:
            if parent not in seen:
                raise VerifyError(f"{what} uses {parent!r}, which does not come before it")
        if static and not node.type.static:
            raise VerifyError(f"{what} has unknown extents: {node.type}")
        _check_operands(node, what)
        for name, value in node.attrs.items():
            if isinstance(value, Subgraph):
                _check_body(value, f"{what}, {name}", static=static)
        seen.add(node)
    if len(seen) != len(graph.nodes):
        raise VerifyError("a node is listed twice")
    again = Graph.of(graph.nodes)
    if graph.nodes != list(graph.pred) or (graph.succ, graph.pred) != (again.succ, again.pred):
        raise VerifyError("the edges of the graph are not those of its nodes", "change graphs by `append` and `prune` only")
    return graph


def _check_body(body: Subgraph, what: str, *, static: bool) -> None:
    """Raise VerifyError unless a subgraph is well formed and reads outside values only through its parameters."""
    try:
        verify(body.graph, static=static)
    except VerifyError as error:
        raise VerifyError(f"{what}: {error.summary}") from error
    leaves = {node for node in body.nodes if node.op.leaf not in ("", "constant", "shape")}
    if leaves:
        raise VerifyError(f"{what} reads {sorted(leaf.op.name for leaf in leaves)}, which are not its parameters")
    if any(node.op.effect for node in body.nodes):
        raise VerifyError(f"{what} has effects")


def _check_operands(node: Node, what: str) -> None:
    """Raise VerifyError unless the node's type follows from its inputs and attributes."""
    try:
        again = node.op.typed([i.type for i in node.inputs], node.attrs)
    except StaticgradError as error:
        raise VerifyError(f"{what} does not fit its operands: {error.summary}") from error
    if not (_binds(again, node.type) if node.op.leaf else again == node.type):
        raise VerifyError(f"{what} is {node.type}, its operands give {again}")
    try:
        hash(node.key)
    except TypeError as error:
        raise VerifyError(f"{what} has an attribute that can't be hashed: {error}") from error


def _binds(declared: TensorType, type_: TensorType) -> bool:
    """A leaf may know more extents than its declaration: those that a run has bound."""
    return (
        declared.dtype == type_.dtype
        and declared.ndim == type_.ndim
        and all(a is None or a == b for a, b in zip(declared.shape, type_.shape, strict=True))
    )
