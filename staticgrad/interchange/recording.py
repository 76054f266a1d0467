"""`STATICGRAD_RECORD=folder`: a file for each program that is compiled, which `staticgrad replay folder` makes and runs again.

A file has the functional graph as JSON, the shapes of its arguments, and what became of it: a process that crashed leaves its
last one without an end. Variables and hyper-parameters are in it by their types alone; constants with their values.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from .. import version
from ..base.files import replacing
from ..base.types import SingletonType, TensorType
from ..compiler.passes.specialize import FunctionalGraph
from ..compiler.program import Program, around_plans
from ..errors import GraphError
from ..ir import REGISTRY, Cell, Graph, Node
from ..ops.random import rng_op_type
from .graph_json import from_json, to_json

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
