"""A training step as a graph for a Session: of a function that calls `backward`, which no graph does, its trace is taken.

The trace's graph has the gradients as nodes. Placeholders feed the arguments, variables hold the tensors that the step reads
or changes, and one operation assigns what the step leaves in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..compiler.passes.functionalize import FunctionalGraph
from ..errors import TraceError
from ..ir import REGISTRY, Cell, Node
from ..operators import Symbol, append
from ..static import Graph, Operation, Variable, constant, group, placeholder
from ..tracing import compile
from .comparison_case import Case, leaves_of


class DefinedStep(NamedTuple):
    """A step in a graph: its result, gradients by the names of the tensors that are `wanted`, variables by the id of the tensor
    that they stand for, and the operation that changes them, where the function returns none."""

    graph: Graph
    inputs: dict[str, Symbol]
    result: Any
    gradients: dict[str, Symbol | None]
    variables: Mapping[int, Node | Variable]
    update: Operation | None
    wanted: dict[str, Any]


def traced_step(case: Case, args: list[Any], leaves: dict[str, Any]) -> DefinedStep:
    """The graph of a step that calls `backward`. args: tensors, `leaves` by name. Raises TraceError for a function that needs
    values while it is traced, and whose trace is no single graph."""
    wanted = {**{name: leaf for name, leaf in leaves.items() if leaf.requires_grad}, **case.parameters}
    numbers = {id(leaf): i for i, leaf in enumerate(leaves.values())}

    def step(*args: Any) -> Any:
        result = case.fn(*args)
        given = [x for arg in args for _, x in leaves_of(arg) if hasattr(x, "requires_grad")]
        return result, [(given[numbers[id(x)]] if id(x) in numbers else x).grad for x in wanted.values()]

    traced = compile(step, on_break="error").specialization_of(*args)
    prepared: FunctionalGraph = traced.program.prepared
    made = {cell for binding in traced.bindings.values() for cell in binding.cells}
    graph = Graph()
    with graph.as_default():
        inputs = {
            name: placeholder(leaf.dtype, leaf.shape, name=re.sub(r"\W+", "_", name).strip("_") or "input")
            for name, leaf in leaves.items()
        }
        cells, copies = _copied(graph, prepared, [x.node for x in inputs.values()])
        symbols = [Symbol(graph, copies[node]) for node in prepared.fetches]
        result, gradients = traced.results.build(symbols, [*inputs.values()])  # type: ignore[arg-type]
        assigns = []
        for cell, value in prepared.assigns:
            if cell not in made:
                variable = _variable(cell) if cell not in cells else cells[cell]
                cells[cell] = variable
                assigns.append(append(graph, REGISTRY["assign"], (variable.node, copies[value]), {}))
        update = group(*assigns, name="update") if assigns else None
    variables = {id(cell.tensor): variable for cell, variable in cells.items()}
    return DefinedStep(graph, inputs, result, dict(zip(wanted, gradients, strict=True)), variables, update, wanted)


def _copied(graph: Graph, prepared: FunctionalGraph, feeds: list[Node]) -> tuple[dict[Cell, Variable], dict[Node, Node]]:
    """Write a trace into a static graph. Returns variables by the trace's cells, and the copies of nodes."""
    if len(feeds) != len(prepared.feeds):
        raise TraceError("the step reads gradients that its arguments have already", "pass tensors without .grad")
    copies = dict(zip(prepared.feeds, feeds, strict=True))
    cells: dict[Cell, Variable] = {}
    for node in prepared.graph.nodes:
        if node in copies:
            continue
        if node.op.leaf == "variable":
            cell = node.attrs["cell"]
            cells[cell] = _variable(cell)
            copies[node] = cells[cell].node
            continue
        inputs = tuple(copies[x] for x in node.inputs)
        name = graph.unique_name(node.name) if node.name else ""
        copies[node] = graph.add(node.op, inputs, node.attrs, node.type, name, node.where)
        if node.op.leaf == "generator":
            graph.generator = Symbol(graph, copies[node])
    graph.draws = prepared.draws
    return cells, copies


def _variable(cell: Cell) -> Variable:
    """A variable that starts from the value of the tensor that a trace's cell stands for."""
    tensor = cell.tensor
    data = np.zeros(cell.type.shape, cell.type.dtype) if tensor is None else tensor._data
    return Variable(constant(data.copy()), trainable=cell.trainable, name=cell.name or "variable")
