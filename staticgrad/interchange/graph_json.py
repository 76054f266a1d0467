"""Graphs as JSON text, and back: structure, types, attributes and constants. Values of variables are not part of it."""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .. import version
from ..base.dtypes import SHORT
from ..base.files import repeated_key, replacing
from ..base.types import MOST_AXES, SingletonType, StackType, TensorType, TupleType
from ..compiler.passes.specialize import FunctionalGraph
from ..compiler.program import Program, around_plans
from ..errors import GraphError, StaticgradError, Where
from ..ir import REGISTRY, Cell, Graph, Literal, Node, Subgraph, over_types
from ..ir.text import clip, numbering, outputs_of
from ..ops.random import rng_op_type

FORMAT = "staticgrad graph"
VERSION = 1
READABLE = 16
"""Constants of at most this many elements are written as numbers, larger ones as base64."""
DEEPEST = 16
"""Bodies in bodies, and lists in lists, of a file that is read."""
LONGEST = 10_000
"""Characters of a name or path in a file that is read."""
INT64 = 2**63
NAMED = {str(dtype): dtype for dtype in SHORT}


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
        elif self.graph.given_name(node):  # users may refer to it
            entry["given_name"] = self.graph.given_name(node)
        if node.where is not None:
            entry["where"] = [node.where.file, node.where.line]
        return entry

    def cell(self, cell: Cell) -> dict[str, Any]:
        initial = self.index.get(cell.initial) if isinstance(cell.initial, Node) else None
        entry = {"type": _type(cell.type), "trainable": cell.trainable, "initial": initial}
        return entry if cell.stream is None else {**entry, "stream": list(cell.stream)}

    def attr(self, value: Any, key: str, node: Node) -> Any:
        """Plain JSON for None, booleans, numbers, texts and tuples (as lists); an object with one tag for the rest."""
        if value is None or isinstance(value, (bool, str)) or (type(value) is int and -INT64 <= value < INT64):
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
                    f"to_json: two variables are named {value.name!r}", "give them different names: variables are saved by name"
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
    """Shape, dtype, and the values: a list of real numbers when small and finite, else little-endian base64."""
    entry: dict[str, Any] = {"shape": list(array.shape), "dtype": array.dtype.name}
    if array.size <= READABLE and array.dtype.kind != "c" and (array.dtype.kind != "f" or np.isfinite(array).all()):
        entry["values"] = array.reshape(-1).tolist()
    else:
        little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
        entry["base64"] = base64.b64encode(little.tobytes()).decode("ascii")
    return entry


# reading ------------------------------------------------------------------------------------------------------------


def from_json(text: str, *, cells: Mapping[str, Cell] | None = None) -> Graph:
    """The graph that `to_json` wrote.

    cells: existing storage for variables by name; the others get new cells without a value. A file is not trusted: every
    node, those of bodies included, is inferred again and has to give the type that is written down, and its attributes
    have to satisfy its op's record. Raises GraphError, which names the node and the field, for anything else: text
    that is not such a graph, an op that this version of staticgrad doesn't have, nesting deeper than 16.

    Examples:
        >>> x = sg.placeholder(sg.float32, [], name="x")
        >>> graph = sg.from_json(sg.to_json(x.graph))
        >>> [node.op.name for node in graph.nodes]
        ['placeholder']
    """
    if not isinstance(text, str):
        raise GraphError(f"from_json: expected text, got {type(text).__name__}", "read the file with open(path).read()")
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except GraphError:
        raise
    except ValueError as error:  # JSONDecodeError, or an integer of thousands of digits
        raise GraphError(f"from_json: not JSON: {error}") from None
    except RecursionError:
        raise GraphError("from_json: the text is nested too deeply") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise GraphError(f'from_json: not a graph: the text has no "format": "{FORMAT}"')
    version = document.get("version")
    if version.__class__ is not int or version != VERSION:
        raise GraphError(f"from_json: version {_short(version)} of the format is unknown, expected {VERSION}")
    return _Reader(document, {} if cells is None else cells, "").graph


def _refuse_constant(name: str) -> NoReturn:
    raise GraphError(f"from_json: not JSON: {name} is not a JSON number", 'non-finite numbers are written {"float": "nan"}')


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if (name := repeated_key(pairs)) is not None:
        raise GraphError(f"from_json: the key {_short(name)} occurs twice")
    return dict(pairs)


def _short(value: Any) -> str:
    return clip(repr(value))


class _Reader:
    """One graph, or one body, of a document. `place`: where it is, for errors."""

    def __init__(self, document: dict[str, Any], given: Mapping[str, Cell], place: str, depth: int = 0):
        self.place, self.depth = place, depth
        self.at_node = ""
        self.nodes: list[Node] = []
        self.entries = self.field(document, "cells", dict)
        self.cells = {name: self.cell(name, entry, given) for name, entry in self.entries.items()}
        self.graph = Graph(intern=self.field(document, "intern", bool))
        for i, entry in enumerate(self.field(document, "nodes", list)):
            self.at_node = f"{place}%{i}"
            self.nodes.append(self.node(entry))
        self.at_node = place
        for name, entry in self.entries.items():
            if name not in given:
                self.cells[name].initial = self.initial(name, entry)
        outputs = self.field(document, "outputs", dict)
        found = {self.text(name, "a name among the outputs"): self.ref(at, "outputs") for name, at in outputs.items()}
        if found:
            self.graph.outputs = found

    def fail(self, what: str, *details: str, where: Where | None = None) -> NoReturn:
        place = f"{self.at_node} " if self.at_node else ""
        raise GraphError(f"from_json: {place}{what}", *details, where=where)

    def field(self, entry: Any, key: str, kind: type, *default: Any) -> Any:
        """`entry[key]`, of this type."""
        if key not in entry:
            if default:
                return default[0]
            self.fail(f"has no field {key!r}" if self.at_node else f"the graph has no field {key!r}")
        if entry[key].__class__ is not kind:
            self.fail(f"{key}: expected {_KINDS[kind]}, got {_short(entry[key])}")
        return entry[key]

    def text(self, value: Any, what: str) -> str:
        if value.__class__ is not str or len(value) > LONGEST:
            self.fail(f"{what} is a text of at most {LONGEST} characters, got {_short(value)}")
        return value

    def ref(self, at: Any, what: str) -> Node:
        if at.__class__ is not int or not 0 <= at < len(self.nodes):
            self.fail(f"{what}: refers to %{_short(at)}, which does not come before it")
        return self.nodes[at]

    # nodes

    def node(self, entry: Any) -> Node:
        if entry.__class__ is not dict:
            self.fail(f"is no object, but {_short(entry)}")
        name = self.field(entry, "op", str)
        op = REGISTRY.get(name)
        if op is None:
            self.fail(f"is of an unknown op, {_short(name)}")
        self.at_node += f" {name}"
        inputs = tuple(self.ref(at, "inputs") for at in self.field(entry, "inputs", list, []))
        after = tuple(self.ref(at, "after") for at in self.field(entry, "after", list, []))
        attrs = {key: self.attr(value, f"attrs.{clip(key)}") for key, value in self.field(entry, "attrs", dict, {}).items()}
        where = self.where(self.field(entry, "where", list, None))
        given = self.type(self.field(entry, "type", dict), "type")
        name = self.text(entry.get("name", ""), "name")
        noted = self.text(entry.get("given_name", ""), "given_name")
        for key in entry:
            if key not in ("op", "type", "inputs", "after", "attrs", "name", "given_name", "where"):
                self.fail(f"has an unknown field, {_short(key)}")
        try:
            op = over_types(op, [*(i.type for i in inputs), given])
        except StaticgradError as error:
            self.fail(error.summary, *error.details, where=where)
        node = Node(op, inputs, attrs, given, name, where, after)
        self.check(node)
        if name:
            self.graph.claim_name(name)  # taken from now on
        self.graph.append(node)
        if noted and not name:
            self.graph.give_name(node, self.graph.claim_name(noted))
        return node

    def check(self, node: Node) -> None:
        """Raises GraphError unless the node's type follows from its inputs and attributes."""
        try:
            found = node.op.typed([i.type for i in node.inputs], node.attrs)
        except StaticgradError as error:
            self.fail(f"is not valid: {error.summary}", *error.details, where=node.where)
        except RecursionError:
            self.fail("is nested too deeply")
        if found != node.type:
            self.fail(f"type: the file says {node.type}, its operands and attributes give {found}", where=node.where)
        if node.op.effect in ("read", "assign") and node.inputs[0].op.leaf != "variable":
            self.fail("inputs: the first has to be a variable", where=node.where)
        if self.depth and (node.op.effect or node.op.leaf in ("variable", "argument")):
            self.fail("can't be in the body of a loop or branch", where=node.where)

    def where(self, entry: Any) -> Where | None:
        if entry is None:
            return None
        if len(entry) != 2 or entry[1].__class__ is not int or not 0 <= entry[1] < 2**31:
            self.fail(f"where: expected a file and a line, got {_short(entry)}")
        return Where(self.text(entry[0], "where"), entry[1])

    def attr(self, value: Any, what: str, depth: int = 0) -> Any:
        if depth > DEEPEST:
            self.fail(f"{what}: is nested too deeply")
        if value.__class__ is list:
            return tuple(self.attr(item, what, depth + 1) for item in value)
        if value.__class__ is not dict:
            return self.plain(value, what)
        if len(value) != 1:
            self.fail(f"{what}: expected an object with one tag, got {_short(value)}")
        ((tag, inner),) = value.items()
        if tag == "cell":
            if inner.__class__ is not str or inner not in self.cells:
                self.fail(f"{what}: there is no variable {_short(inner)}")
            return self.cells[inner]
        if tag == "subgraph":
            return self.body(inner, what)
        if tag == "float":
            if inner not in ("nan", "inf", "-inf"):
                self.fail(f"{what}: expected nan, inf or -inf, got {_short(inner)}")
            return float(inner)
        if tag == "dtype":
            return self.dtype(inner, what)
        if tag == "type":
            return self.type(inner, what)
        if tag == "array":
            return Literal(self.array(inner, what))
        if tag == "scalar":
            array = self.array(inner, what)
            if array.shape:
                self.fail(f"{what}: a scalar has no axes, got {array.ndim}")
            return array[()]
        self.fail(f"{what}: is of an unknown kind, {_short(tag)}")

    def plain(self, value: Any, what: str) -> Any:
        if value.__class__ is int and not -INT64 <= value < INT64:
            self.fail(f"{what}: an integer is beyond 64 bits")
        if value.__class__ is float and not math.isfinite(value):
            self.fail(f"{what}: a number is too large")
        return self.text(value, what) if value.__class__ is str else value

    def body(self, entry: Any, what: str) -> Subgraph:
        if entry.__class__ is not dict:
            self.fail(f"{what}: expected a body, got {_short(entry)}")
        if self.depth == DEEPEST:
            self.fail(f"{what}: is nested too deeply")
        inner = {**entry, "cells": {}, "intern": True, "outputs": {}}
        reader = _Reader(inner, {}, f"{self.at_node}, {what}, ", self.depth + 1)
        params = [reader.ref(at, "params") for at in reader.field(entry, "params", list)]
        results = [reader.ref(at, "results") for at in reader.field(entry, "results", list)]
        for param in params:
            if param.op.leaf not in ("placeholder", "generator"):
                reader.fail(f"params: {param.op.name} can't be a parameter")
        if len(set(params)) != len(params):
            reader.fail("params: a parameter is listed twice")
        body = Subgraph(reader.graph, params, results)
        if any(node.op.leaf in ("placeholder", "generator") for node in body.nodes):
            reader.fail("has leaves that are not its parameters")
        return body

    # variables, types, arrays

    def cell(self, name: str, entry: Any, given: Mapping[str, Cell]) -> Cell:
        what = f"cells.{clip(name)}"
        self.text(name, "the name of a variable")
        if entry.__class__ is not dict:
            self.fail(f"{what}: expected an object, got {_short(entry)}")
        kind, trainable = self.field(entry, "type", dict), self.field(entry, "trainable", bool)
        type_ = self.type(kind, f"{what}.type")
        if name in given:
            return given[name]
        if isinstance(type_, (TupleType, StackType)):
            self.fail(f"{what}.type: a variable is one tensor")
        return Cell(name, type_, trainable=trainable, stream=self.stream(entry.get("stream"), type_, f"{what}.stream"))

    def stream(self, given: Any, kind: TensorType, what: str) -> tuple[int, int] | None:
        """The (seed, draw) with which a generator's state begins; None for a variable."""
        if given is None:
            return None
        whole = given.__class__ is list and [n.__class__ for n in given] == [int, int] and all(0 <= n < INT64 for n in given)
        if not whole or kind != rng_op_type:
            self.fail(f"{what}: expected a seed and a draw of {rng_op_type}, got {_short(given)} of {kind}")
        return given[0], given[1]

    def initial(self, name: str, entry: dict[str, Any]) -> Node | None:
        at = entry.get("initial")
        if at is None:
            return None
        node, kind = self.ref(at, f"cells.{clip(name)}.initial"), self.cells[name].type
        fits = node.type.ndim == kind.ndim and node.type.dtype == kind.dtype and type(node.type) is TensorType
        if not fits or any(None not in (a, b) and a != b for a, b in zip(node.type.shape, kind.shape, strict=True)):
            self.fail(f"cells.{clip(name)}.initial: is {node.type}, and the variable {kind}")
        return node

    def dtype(self, value: Any, what: str) -> np.dtype:
        if value.__class__ is not str or value not in NAMED:
            self.fail(f"{what}: expected one of {', '.join(NAMED)}, got {_short(value)}")
        return NAMED[value]

    def shape(self, value: Any, what: str, *, unknown: bool) -> tuple[Any, ...]:
        if value.__class__ is not list or len(value) > MOST_AXES:
            self.fail(f"{what}: a shape is a list of at most {MOST_AXES} extents, got {_short(value)}")
        for extent in value:
            if not (extent is None and unknown) and not (extent.__class__ is int and 0 <= extent < INT64):
                self.fail(f"{what}: {_short(extent)} can't be an extent")
        return tuple(value)

    def type(self, entry: Any, what: str, depth: int = 0) -> TensorType:
        if entry.__class__ is not dict or depth > DEEPEST:
            self.fail(f"{what}: expected a type, got {_short(entry)}")
        keys = set(entry)
        if keys == {"parts"} and entry["parts"].__class__ is list:
            return TupleType([self.type(part, what, depth + 1) for part in entry["parts"]])
        if keys == {"item"}:
            return StackType(self.type(entry["item"], what, depth + 1))
        if keys != {"shape", "dtype"}:
            self.fail(f"{what}: a type has the fields shape and dtype, or parts, or item, got {_short(entry)}")
        kind = TensorType(self.shape(entry["shape"], what, unknown=True), self.dtype(entry["dtype"], what))
        try:
            kind.check_size()
        except StaticgradError as error:
            self.fail(f"{what}: {error.summary}", *error.details)
        return kind

    def array(self, entry: Any, what: str) -> np.ndarray:
        if entry.__class__ is not dict or set(entry) not in ({"shape", "dtype", "values"}, {"shape", "dtype", "base64"}):
            self.fail(f"{what}: an array has the fields shape, dtype and either values or base64, got {_short(entry)}")
        dtype, shape = self.dtype(entry["dtype"], what), self.shape(entry["shape"], what, unknown=False)
        try:
            TensorType(shape, dtype).check_size()
            flat = self.values(entry["values"], dtype, what) if "values" in entry else self.decoded(entry, dtype, what)
        except StaticgradError as error:
            if isinstance(error, GraphError):
                raise
            self.fail(f"{what}: {error.summary}", *error.details)
        if flat.size != math.prod(shape):
            self.fail(f"{what}: {flat.size} elements don't fill shape {shape}")
        return flat.reshape(shape)

    def values(self, values: Any, dtype: np.dtype, what: str) -> np.ndarray:
        if dtype.kind == "c":
            self.fail(f"{what}: {dtype} numbers are written as base64")
        kinds = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float)}[dtype.kind]
        if values.__class__ is not list or any(v.__class__ not in kinds for v in values):
            self.fail(f"{what}: expected a list of {_KINDS[kinds[-1]]} each, got {_short(values)}")
        try:
            with np.errstate(over="ignore"):
                flat = np.array(values, dtype)
        except OverflowError:
            flat = None
        if flat is None or (dtype.kind == "f" and not np.isfinite(flat).all()):
            self.fail(f"{what}: a number is too large for {dtype}")
        return flat

    def decoded(self, entry: dict[str, Any], dtype: np.dtype, what: str) -> np.ndarray:
        try:
            data = base64.b64decode(entry["base64"], validate=True)
        except (TypeError, ValueError, binascii.Error):
            self.fail(f"{what}: not base64: {_short(entry['base64'])}")
        if len(data) % dtype.itemsize:
            self.fail(f"{what}: {len(data)} bytes are no whole number of {dtype} elements")
        if dtype.kind == "b" and data.strip(b"\0\1"):
            self.fail(f"{what}: a boolean is neither 0 nor 1")
        return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False)


_KINDS = {
    str: "a text", int: "an integer", bool: "true or false", float: "a number", list: "a list", dict: "an object",
}  # fmt: skip


# recorded programs ----------------------------------------------------------------------------------------------------
# `STATICGRAD_RECORD=folder`: a file for each program that is compiled, which `staticgrad replay folder` makes and runs again.
#
# A file has the functional graph as JSON, the shapes of its arguments, and what became of it: a process that crashed leaves its
# last one without an end. Variables and hyper-parameters are in it by their types alone; constants with their values.

SETTING = "STATICGRAD_RECORD"
_numbers = count()


def begin(folder: str) -> None:
    """Record from here on."""
    Path(folder).mkdir(parents=True, exist_ok=True)

    @contextmanager
    def recorded(program: Program, known: Mapping[Node, TensorType]) -> Iterator[None]:
        file = Path(folder, f"{os.getpid()}-{next(_numbers):05}.json")
        told = _told(program, known)
        _write(file, told | {"outcome": "not finished"})
        try:
            yield
        except BaseException as error:
            _write(file, told | {"outcome": f"{type(error).__name__}: {error}"})
            raise
        _write(file, told | {"outcome": "compiled"})

    around_plans.append(recorded)


def _write(file: Path, content: Mapping[str, Any]) -> None:
    with replacing(file) as stream:
        stream.write(json.dumps(content).encode())


def _told(program: Program, known: Mapping[Node, TensorType]) -> dict[str, Any]:
    prepared = program.prepared
    told: dict[str, Any] = {"staticgrad": version.__version__, "strict": program.strict, "draws": prepared.draws}
    told["shapes"] = [list(known[feed].shape) for feed in prepared.feeds]
    kinds = {str(i): known[feed] for i, feed in enumerate(prepared.feeds)}  # values that decide what is computed are in them
    told["values"] = {i: np.asarray(kind.value).tolist() for i, kind in kinds.items() if isinstance(kind, SingletonType)}
    try:
        told["graph"] = json.loads(to_json(_stateless(prepared)), object_hook=_without_folders)
    except GraphError as error:  # a function of the program's, which no text holds
        told["graph"], told["why"] = None, error.summary
    return told


def _without_folders(entry: dict[str, Any]) -> dict[str, Any]:
    """A node whose line names the file alone."""
    if isinstance(entry.get("where"), list):
        file, line = entry["where"]
        entry["where"] = [os.path.basename(file), line]
    return entry


def _stateless(prepared: FunctionalGraph) -> Graph:
    """The graph without what belongs to a process: variables by number, hyper-parameters as feeds."""
    graph, copies, cells = Graph(), dict[Node, Node](), dict[Cell, Cell]()

    def cell_of(cell: Cell) -> Cell:
        return cells.setdefault(cell, Cell(f"v{len(cells)}", cell.type, trainable=cell.trainable))

    feeds = list(prepared.feeds)
    for node in prepared.graph.nodes:
        op, attrs = node.op, node.attrs
        if op.leaf == "variable":
            attrs = {"cell": cell_of(attrs["cell"])}
        elif op.name == "argument":
            op, attrs = REGISTRY["placeholder"], {"type": node.type}
            feeds.append(node)
        name = graph.unique_name(node.name) if node.name else ""
        inputs, after = (tuple(copies[x] for x in nodes) for nodes in (node.inputs, node.after))
        copies[node] = graph.add(op, inputs, attrs, node.type, name, node.where, after)
    outputs = {f"feed {i}": copies[feed] for i, feed in enumerate(feeds)}
    outputs |= {f"fetch {i}": copies[fetch] for i, fetch in enumerate(prepared.fetches)}
    for cell, value in prepared.assigns:
        if cell not in cells:  # written and never read
            graph.add(REGISTRY["variable"], (), {"cell": cell_of(cell)}, cell.type)
        outputs[f"assign {cells[cell].name}"] = copies[value]
    graph.outputs = outputs
    return graph


class Recorded:
    """A file of a recording: what its program was and became. Raises GraphError for another file."""

    def __init__(self, file: Path):
        try:
            told = json.loads(file.read_text(encoding="utf-8"))
            self.outcome, self.why, self.version = told["outcome"], told.get("why", ""), told["staticgrad"]
            self.strict, self.draws, self.shapes, self.values = told["strict"], told["draws"], told["shapes"], told["values"]
            self.graph = None if told["graph"] is None else from_json(json.dumps(told["graph"]))
        except (KeyError, TypeError, ValueError) as error:
            raise GraphError(f"{file.name} is no recorded program: {error!r}") from None

    def program(self) -> tuple[Program, list[Node]]:
        """The program, and its feeds."""
        assert self.graph is not None
        by: dict[str, dict[str, Node]] = {"feed": {}, "fetch": {}, "assign": {}}
        for name, node in self.graph.outputs.items():
            kind, _, number = name.partition(" ")
            by[kind][number] = node
        cells = {cell.name: cell for node in self.graph.nodes if node.op.leaf == "variable" for cell in [node.attrs["cell"]]}
        feeds = [by["feed"][str(i)] for i in range(len(by["feed"]))]
        fetches = [by["fetch"][str(i)] for i in range(len(by["fetch"]))]
        assigns = [(cells[name], node) for name, node in by["assign"].items()]
        program = Program(self.graph, fetches, feeds, numerics="strict" if self.strict else "fast")
        return program.of(FunctionalGraph(self.graph, feeds, fetches, assigns, self.draws, []), None), feeds

    def arrays(self, feeds: list[Node], rng: np.random.Generator) -> list[np.ndarray]:
        """Random values of the recorded shapes, and the recorded ones where they decide."""
        shapes = [*self.shapes, *([[]] * (len(feeds) - len(self.shapes)))]
        made = [random_of(TensorType(tuple(shape), feed.type.dtype), rng) for feed, shape in zip(feeds, shapes, strict=True)]
        for i, value in self.values.items():
            made[int(i)] = np.asarray(value, made[int(i)].dtype)
        return made


def random_of(type_: TensorType, rng: np.random.Generator) -> np.ndarray:
    """Numbers that most operations accept: floats in (0.1, 0.9), integers 0 and 1. The state of a generator is a seed."""
    if type_ == rng_op_type:
        return np.array([1, 0], np.int64)
    if type_.dtype.kind in "fcV":
        return rng.uniform(0.1, 0.9, type_.shape).astype(type_.dtype)
    return rng.integers(0, 2, type_.shape).astype(type_.dtype)
