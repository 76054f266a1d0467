"""Graphs as JSON text, and back: structure, types, attributes and constants. Values of variables are not part of it."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .errors import GraphError, StaticgradError, Where
from .ir import REGISTRY, Cell, Graph, Literal, Node, Subgraph
from .printing import numbering, outputs_of
from .types import StackType, TensorType, TupleType, as_dtype, as_shape

FORMAT = "staticgrad graph"
VERSION = 1
READABLE = 16
"""Constants of at most this many elements are written as numbers, larger ones as base64."""


# writing ------------------------------------------------------------------------------------------------------------


def to_json(graph: Graph, *, indent: int | None = None) -> str:
    """The graph as JSON text that `from_json` reads.

    Constants are part of it. Variables are listed by name, with their type but not their value; their initial value
    goes along when it is a node of this graph. Raises GraphError for two variables of one name, and for an attribute
    that text can't hold (the source of a hyper-parameter, a function).
    """
    writer = _Writer(graph)
    nodes = [writer.node(node) for node in writer.number]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "intern": graph.intern,
        "nodes": nodes,
        "cells": {name: writer.cell(cell) for name, cell in writer.cells.items()},
        "outputs": {name: writer.index[node] for name, node in outputs_of(graph).items()},
    }
    return json.dumps(document, indent=indent, allow_nan=False)


class _Writer:
    def __init__(self, graph: Graph):
        self.graph = graph
        self.number = numbering(graph)
        self.index = {node: i for i, node in enumerate(self.number)}
        self.cells: dict[str, Cell] = {}

    def body(self, body: Subgraph) -> dict[str, Any]:
        """The body of a loop or branch: a graph in the graph, without variables of its own."""
        writer = _Writer(body.graph)
        return {
            "nodes": [writer.node(node) for node in writer.number],
            "params": [writer.index[node] for node in body.params],
            "results": [writer.index[node] for node in body.results],
        }

    def node(self, node: Node) -> dict[str, Any]:
        entry: dict[str, Any] = {"op": node.op.name, "type": _type(node.type)}
        if node.inputs:
            entry["inputs"] = [self.index[operand] for operand in node.inputs]
        if node.after:
            entry["after"] = [self.index[parent] for parent in node.after]
        if node.attrs:
            entry["attrs"] = {key: self.attr(value, key, node) for key, value in node.attrs.items()}
        if node.name:
            entry["name"] = node.name
        elif self.graph.given_name(node):  # somebody may have noted it
            entry["given_name"] = self.graph.given_name(node)
        if node.where is not None:
            entry["where"] = [node.where.file, node.where.line]
        return entry

    def cell(self, cell: Cell) -> dict[str, Any]:
        initial = self.index.get(cell.initial) if isinstance(cell.initial, Node) else None
        return {"type": _type(cell.type), "trainable": cell.trainable, "initial": initial}

    def attr(self, value: Any, key: str, node: Node) -> Any:
        """Plain JSON for None, booleans, numbers, texts and tuples (as lists); an object with one tag for the rest."""
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, tuple):
            return [self.attr(item, key, node) for item in value]
        if isinstance(value, np.dtype):
            return {"dtype": value.name}
        if isinstance(value, TensorType):
            return {"type": _type(value)}
        if isinstance(value, Subgraph):
            return {"subgraph": self.body(value)}
        if isinstance(value, Literal):
            return {"array": _array(value.array)}
        if isinstance(value, np.generic):
            return {"scalar": _array(np.asarray(value))}
        if isinstance(value, Cell):
            if self.cells.setdefault(value.name, value) is not value:
                raise GraphError(
                    f"to_json: two variables are named {value.name!r}", "name them apart: variables are saved by name"
                )
            return {"cell": value.name}
        raise GraphError(
            f"to_json: can't hold the attribute {key}={value!r} of {self.number[node]} {node.op.name}: it is a "
            f"{type(value).__name__}, not a number, text, tuple, dtype, type, array or variable",
            where=node.where,
        )


def _type(type_: TensorType) -> dict[str, Any]:
    if isinstance(type_, TupleType):
        return {"parts": [_type(part) for part in type_.parts]}
    if isinstance(type_, StackType):
        return {"item": _type(type_.item)}
    return {"shape": list(type_.shape), "dtype": type_.dtype.name}


def _array(array: np.ndarray) -> dict[str, Any]:
    """Shape, dtype, and the values: a list of numbers when small and finite, else little-endian base64."""
    entry: dict[str, Any] = {"shape": list(array.shape), "dtype": array.dtype.name}
    if array.size <= READABLE and (array.dtype.kind != "f" or np.isfinite(array).all()):
        entry["values"] = array.reshape(-1).tolist()
    else:
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        entry["base64"] = base64.b64encode(little.tobytes()).decode("ascii")
    return entry


# reading ------------------------------------------------------------------------------------------------------------


def from_json(text: str, *, cells: Mapping[str, Cell] | None = None) -> Graph:
    """The graph that `to_json` wrote.

    cells: existing storage for variables by name; the others get new cells without a value. Raises GraphError for text
    that is not such a graph, and for an op that this version of staticgrad doesn't have.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphError(f"from_json: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise GraphError(f"from_json: not a graph: the text has no \"format\": \"{FORMAT}\"")
    if document.get("version") != VERSION:
        raise GraphError(f"from_json: version {document.get('version')!r} of the format is unknown, expected {VERSION}")
    try:
        return _Reader(document, cells if cells is not None else {}).graph
    except GraphError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, binascii.Error, StaticgradError) as error:
        raise GraphError(f"from_json: malformed graph: {type(error).__name__}: {error}") from error


class _Reader:
    def __init__(self, document: dict[str, Any], given: Mapping[str, Cell]):
        self.cells = {
            name: given[name] if name in given else Cell(name, _read_type(entry["type"]), trainable=entry["trainable"])
            for name, entry in document["cells"].items()
        }
        self.graph = Graph(intern=document["intern"])
        self.nodes: list[Node] = []
        for entry in document["nodes"]:
            self.nodes.append(self.node(entry))
        for name, entry in document["cells"].items():
            if name not in given and entry["initial"] is not None:
                self.cells[name].initial = self.at(entry["initial"])
        outputs = {name: self.at(index) for name, index in document["outputs"].items()}
        if outputs:
            self.graph.outputs = outputs

    def node(self, entry: dict[str, Any]) -> Node:
        op = REGISTRY.get(entry["op"])
        if op is None:
            raise GraphError(f"from_json: %{len(self.nodes)} is of an unknown op, {entry['op']!r}")
        inputs = tuple(self.at(i) for i in entry.get("inputs", ()))
        after = tuple(self.at(i) for i in entry.get("after", ()))
        attrs = {key: self.attr(value) for key, value in entry.get("attrs", {}).items()}
        where = Where(*entry["where"]) if "where" in entry else None
        name = entry.get("name", "")
        if name:
            self.graph.unique_name(name)  # taken from now on
        node = self.graph.add(op, inputs, attrs, _read_type(entry["type"]), name, where, after)
        given = entry.get("given_name", "")
        if given and not name:
            self.graph.give_name(node, self.graph.unique_name(given))
        return node

    def at(self, index: int) -> Node:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self.nodes):
            raise GraphError(f"from_json: %{len(self.nodes)} refers to %{index}, which does not come before it")
        return self.nodes[index]

    def attr(self, value: Any) -> Any:
        if isinstance(value, list):
            return tuple(self.attr(item) for item in value)
        if not isinstance(value, dict):
            return value
        ((tag, inner),) = value.items()
        if tag == "cell":
            return self.cells[inner]
        if tag == "subgraph":
            return _read_body(inner)
        if tag not in TAGGED:
            raise GraphError(f"from_json: %{len(self.nodes)} has an attribute of an unknown kind, {tag!r}")
        return TAGGED[tag](inner)


def _read_body(entry: dict[str, Any]) -> Subgraph:
    reader = _Reader({"cells": {}, "intern": True, "outputs": {}, **entry}, {})
    return Subgraph(reader.graph, [reader.at(i) for i in entry["params"]], [reader.at(i) for i in entry["results"]])


def _read_type(entry: dict[str, Any]) -> TensorType:
    if "parts" in entry:
        return TupleType([_read_type(part) for part in entry["parts"]])
    if "item" in entry:
        return StackType(_read_type(entry["item"]))
    return TensorType(as_shape(entry["shape"], unknown=True), as_dtype(entry["dtype"]))


def _read_array(entry: dict[str, Any]) -> np.ndarray:
    dtype = as_dtype(entry["dtype"])
    if "values" in entry:
        flat = np.array(entry["values"], dtype)
    else:
        data = base64.b64decode(entry["base64"], validate=True)
        flat = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False)
    return flat.reshape(entry["shape"])


TAGGED: dict[str, Callable[[Any], Any]] = {
    "array": lambda entry: Literal(_read_array(entry)),
    "dtype": as_dtype,
    "float": float,
    "scalar": lambda entry: _read_array(entry)[()],
    "type": _read_type,
}
"""How the objects among the attributes are read; `cell` needs the document."""
