"""A program over symbols, filled in, is the program that is built with those numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.types import StackType, TensorType, TupleType, float32
from staticgrad.compiler.passes.specialize import FunctionalGraph, functionalize
from staticgrad.compiler.passes.symbolic_extents import Conditions, Survey, SymbolicExtent, SymbolicProgram, Unfollowed
from staticgrad.ir import REGISTRY, Cell, Node
from staticgrad.operators import Symbol, append


def built(rows: Any) -> FunctionalGraph:
    """Reshapes, a loop and a gradient over (rows, 6)."""
    graph = sg.Graph()
    with graph.as_default():
        kind = TensorType((rows, 6), float32)
        x = append(graph, REGISTRY["placeholder"], (), {"type": kind}, name="x")
        y: Any = sg.reshape(x, (rows * 2, 3))
        loop = sg.scan(lambda c, row: (c + row, sg.tanh(c) * 2.0), sg.sum(y, 1), sg.transpose(y))[1]
        cut = y[: rows // 2] if rows > 2 else y
        loss = sg.sum(loop) + sg.sum(sg.square(cut))
        fetches = [loss, *sg.gradients(loss, [x]), cut]
    return functionalize(graph, [f.node for f in fetches], [x.node], [])


def texts(prepared: FunctionalGraph) -> list[str]:
    """All nodes, those of bodies included."""
    found = []
    for node in prepared.graph.nodes:
        bodies = [value.graph for value in node.attrs.values() if hasattr(value, "params")]
        found += [str(node), str(node.type), *(f"{n} {n.type} {n.inputs}" for body in bodies for n in body.nodes)]
        found += [f"{name}={value}" for name, value in node.attrs.items() if not hasattr(value, "params")]
    return found


def symbolic(rows: int = 8) -> SymbolicProgram:
    record = Conditions()
    n = record.symbol("x.shape[0]", rows)
    return SymbolicProgram(built(n), record, [(0, 0)])


@pytest.mark.parametrize("rows", [3, 4, 8, 9, 100])
def test_filled_in_it_is_the_program_of_those_numbers(rows: int):
    program = symbolic()
    filler = program.filler([TensorType((rows, 6), float32)])
    assert not isinstance(filler, str)
    assert texts(program.filled(filler, {})) == texts(built(rows))


def test_conditions_and_shapes_are_checked():
    program = symbolic()
    assert program.filler([TensorType((2, 6), float32)]) == "x.shape[0] == 2 is true now"
    assert program.filler([TensorType((9, 7), float32)]) == "an argument is f32[9,7] instead of f32[9,6]"
    assert program.filler([TensorType((), float32)]) == "arguments have other axes"


def test_restated_it_has_symbols_of_its_own():
    program = symbolic()
    restated = program.restated([TensorType((20, 6), float32)])
    [feed] = restated.prepared.feeds
    n = feed.type.shape[0]
    assert type(n) is SymbolicExtent
    assert n._record is restated.conditions is not program.conditions
    assert n._value == 20
    assert restated.conditions.conditions == []


def test_an_attribute_of_an_unknown_kind_may_hide_an_extent():
    node = Node(REGISTRY["identity"], (), {"setting": object()}, TensorType((), float32))
    with pytest.raises(Unfollowed, match="an attribute is a object"):
        Survey().nodes([node])


def test_extents_are_found_wherever_they_are():
    n = Conditions().symbol("n", 6)
    kind = TensorType((n, 2), float32)
    depends = Survey().depends
    assert all(map(depends, (n, (1, (2, n)), kind, TupleType([kind]), StackType(kind))))
    assert not any(map(depends, (1, "n", (1, 2), None, TensorType((6, 2), float32), np.dtype(np.float32), Cell("c", kind))))
    assert isinstance(Symbol(sg.Graph(), Node(REGISTRY["shape"], (), {"type": kind}, kind)).shape[0], int)
