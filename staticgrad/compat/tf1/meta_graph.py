"""Graphs as text: `GraphDef` and `MetaGraphDef`, whose content is this library's JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .core import Effect, GraphError, Node, StaticVariable, from_json, to_json
from .graph import Graph, get_default_graph
from .handles import Handle, Operation
from .variables import Variable


class NodeDef:
    """One operation of a `GraphDef`."""

    def __init__(self, name: str = "", op: str = "", input: Iterable[str] = (), device: str = ""):
        self.name, self.op, self.input, self.device = name, op, list(input), device
        self.attr: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f'name: "{self.name}"\nop: "{self.op}"\n' + "".join(f'input: "{i}"\n' for i in self.input)


class GraphDef:
    """A graph as text. node: its operations."""

    def __init__(self, text: str = "", node: Sequence[NodeDef] = ()):
        self._text, self.node, self._why = text, list(node), ""

    @classmethod
    def of(cls, graph: Graph) -> GraphDef:
        """The operations of a graph. Where it has parts that text can't hold, writing or importing it raises ValueError."""
        nodes = [NodeDef(op.name, op.type, [t.op.name for t in op.inputs]) for op in graph.get_operations()]
        made = cls("", nodes)
        try:
            made._text = json.dumps(_document(graph, {}))
        except ValueError as error:
            made._why = str(error)
        return made

    def _written(self) -> str:
        if self._why:
            raise ValueError(self._why)
        return self._text

    def SerializeToString(self, **options: Any) -> bytes:
        return json.dumps({"graph": self._written(), "nodes": [[n.name, n.op, n.input] for n in self.node]}).encode()

    def ParseFromString(self, serialized: bytes) -> int:
        """Read what `SerializeToString` wrote. Raises ValueError for anything else."""
        try:
            found = json.loads(serialized)
            self._text, self.node = found["graph"], [NodeDef(*n) for n in found["nodes"]]
        except (ValueError, KeyError, TypeError):
            raise ValueError("Error parsing message: not a graph that staticgrad wrote") from None
        return len(serialized)

    @staticmethod
    def FromString(serialized: bytes) -> GraphDef:
        made = GraphDef()
        made.ParseFromString(serialized)
        return made

    def CopyFrom(self, other: GraphDef) -> None:
        self._text, self.node = other._text, list(other.node)

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self._written())


class MetaGraphDef:
    """A graph with its collections, and the names of the variables that a `Saver` saves."""

    def __init__(self, document: dict[str, Any] | None = None):
        self._document = {} if document is None else document

    @property
    def graph_def(self) -> GraphDef:
        return GraphDef(json.dumps(self._document))

    @property
    def collection_def(self) -> dict[str, Any]:
        return self._document.get("collections", {})

    @property
    def saved(self) -> dict[str, str] | None:
        """Names in the checkpoint -> names of variables; None without a saver."""
        return self._document.get("saver")

    @property
    def document(self) -> dict[str, Any]:
        return self._document

    def SerializeToString(self, **options: Any) -> bytes:
        return json.dumps(self._document).encode()

    def ParseFromString(self, serialized: bytes) -> int:
        """Read what `SerializeToString` wrote. Raises ValueError for anything else."""
        try:
            self._document = json.loads(serialized)
        except ValueError:
            raise ValueError("Error parsing message: not a meta graph that staticgrad wrote") from None
        return len(serialized)


def _document(graph: Graph, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ValueError for a graph with parts that text can't hold."""
    if graph.host_calls:
        raise ValueError("the graph calls Python functions (py_func, queues, iterators), which text can't hold")
    graph.name_all()
    try:
        text = to_json(graph)
    except GraphError as error:
        raise ValueError(f"the graph can't be written as text: {error.summary}") from None
    collections = {}
    for key in graph.get_all_collection_keys():
        items = [_entry(item) for item in graph.get_collection(key)]
        if all(item is not None for item in items):
            collections[str(key)] = items
    return {
        "graph": text,
        "types": {graph.name_of(n): type_ for n, type_ in graph._types.items()},
        "outputs": {graph.name_of(n): [graph.name_of(first), i] for n, (first, i) in graph.output_of.items()},
        "store": {full: v.op.name for full, v in graph.variable_store.items()},
        "collections": collections,
        **extra,
    }


def _entry(item: Any) -> Any:
    """An item of a collection as text; None for one that has none."""
    if isinstance(item, Variable):
        return {"variable": item.op.name}
    if isinstance(item, Handle) and item.node.op.effect != "group":
        return {"tensor": item.name}
    if isinstance(item, Operation):
        return {"operation": item.name}
    return {"value": item} if isinstance(item, (bool, int, float, str)) else None


def add_document(
    graph: Graph, document: dict[str, Any], scope: str = "", replaced: Mapping[str, Any] | None = None
) -> dict[str, Node]:
    """Add a graph to another: the new nodes by their names in the text. replaced: nodes that stand for some of them.

    Raises ValueError for a name that is taken.
    """
    graph.check_open()
    try:
        loaded = from_json(document["graph"])
    except (GraphError, KeyError) as error:
        raise ValueError(f"not a graph that staticgrad wrote: {error}") from None
    prefix = f"{scope}/" if scope else ""
    moved: dict[Node, Node] = {}
    found: dict[str, Node] = {}
    types, given = document["types"], dict(replaced or {})
    for node in loaded.nodes:
        name = loaded.name_of(node)
        if name in given:
            found[name] = moved[node] = given[name]
            continue
        inputs, after = tuple(moved[i] for i in node.inputs), tuple(moved[i] for i in node.after)
        own = node.name and graph.claim_name(prefix + node.name)
        made = moved[node] = graph.add(node.op, inputs, node.attrs, node.type, own, node.where, after)
        if not own and name in types:
            graph.give_name(made, graph.claim_name(prefix + name))
        found[name] = made
        if name in types:
            graph._types[made] = types[name]
    for name, (first, index) in document["outputs"].items():
        graph.output_of[found[name]] = found[first], index
    for name, node in found.items():
        if node.op.leaf == "variable" and node not in graph.variable_of:
            _enter_variable(graph, node, found.get(f"{name}/{graph.initializer_name}"), moved)
    return found


def _enter_variable(graph: Graph, node: Node, initializer: Node | None, moved: Mapping[Node, Node]) -> None:
    cell = node.attrs["cell"]
    cell.initial, cell.name = moved.get(cell.initial, cell.initial), node.name
    made = StaticVariable.__new__(StaticVariable)
    made.graph, made.node = graph, node
    if initializer is not None:
        made.initializer = Effect(graph, initializer)
    graph.variable_of[node] = made
    graph.handle(node)


def _restored(graph: Graph, entry: Any, found: Mapping[str, Node]) -> Any:
    ((kind, value),) = entry.items()
    if kind == "value":
        return value
    if kind == "operation":
        return Operation(graph, found[value])
    if kind == "variable":
        return graph.handle(found[value])
    first = found[value.rpartition(":")[0]]
    return graph.handle(graph.outputs_with(first)[int(value.rpartition(":")[2])])


def export_meta_graph(
    filename: str | None = None, meta_info_def: Any = None, graph_def: Any = None, saver_def: Any = None,
    collection_list: Any = None, as_text: bool = False, graph: Graph | None = None, export_scope: str | None = None,
    clear_devices: bool = False, clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
    save_debug_info: bool = False, **options: Any,
) -> MetaGraphDef:  # fmt: skip
    """The graph with its collections, written to a file if given. Raises ValueError for a graph that text can't hold: with
    Python functions, or operations whose shapes are known in the run only."""
    graph = get_default_graph() if graph is None else graph
    document = _document(graph, {} if saver_def is None else {"saver": saver_def})
    if collection_list is not None:
        chosen = {str(key) for key in collection_list}
        document["collections"] = {key: items for key, items in document["collections"].items() if key in chosen}
    made = MetaGraphDef(document)
    if filename:
        with open(filename, "wb") as file:
            file.write(made.SerializeToString())
    return made


def import_meta(meta_graph_or_file: Any, scope: str | None = None) -> tuple[MetaGraphDef, dict[str, Node]]:
    """Add a meta graph to the default graph."""
    if isinstance(meta_graph_or_file, MetaGraphDef):
        meta = meta_graph_or_file
    else:
        meta = MetaGraphDef()
        try:
            with open(meta_graph_or_file, "rb") as file:
                meta.ParseFromString(file.read())
        except FileNotFoundError:
            raise OSError(f"File {meta_graph_or_file} does not exist.") from None
    graph = get_default_graph()
    found = add_document(graph, meta.document, scope or "")
    for key, items in meta.document["collections"].items():
        for item in items:
            graph.add_to_collection(key, _restored(graph, item, found))
    for full, name in meta.document["store"].items():
        graph.variable_store[f"{scope}/{full}" if scope else full] = graph.handle(found[name])
    return meta, found


def import_graph_def(
    graph_def: GraphDef, input_map: Mapping[str, Any] | None = None, return_elements: Sequence[str] | None = None,
    name: str | None = None, op_dict: Any = None, producer_op_list: Any = None,
) -> Any:  # fmt: skip
    """Add the operations of a graph to the default graph, in the scope `name` ("import"). input_map: tensors in place of those
    of these names. Returns the operations and tensors that `return_elements` names. Raises ValueError."""
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a GraphDef proto.")
    graph = get_default_graph()
    scope = "" if name == "" else graph.claim_name(graph._scope + (name or "import"))
    given = {key.removesuffix(":0"): value.node for key, value in (input_map or {}).items()}
    found = add_document(graph, graph_def.document, scope, given)
    result = []
    for element in return_elements or ():
        op, colon, index = element.partition(":")
        if op not in found:
            raise ValueError(f"Requested return_element {element!r} not found in graph_def.")
        node = found[op]
        result.append(graph.handle(graph.outputs_with(node)[int(index)]) if colon else Operation(graph, node))
    return result if return_elements is not None else None


def saved_names(variables: Mapping[str, Any]) -> dict[str, str]:
    return {key: v.op.name for key, v in variables.items()}


Graph.as_graph_def = lambda self, from_version=None, add_shapes=False: GraphDef.of(self)  # type: ignore[attr-defined]
