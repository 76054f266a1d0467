"""Programs of function transforms in a compiled function and in a session: the values of eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.ops.pytree import flatten, ordered
from tests.helpers import assert_close
from tests.namespaces.func.programs import PROGRAMS, Program

RTOL = 1e-9


def leaves(tree: Any) -> list[Any]:
    return flatten(tree, ordered)[0]


def agree(actual: Any, expected: Any) -> None:
    for i, (a, b) in enumerate(zip(leaves(actual), leaves(expected), strict=True)):
        assert_close(a, b, RTOL, what=f"result {i}")


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_session_agrees_with_eager_mode(program: Program):
    arrays = program.arrays()
    expected = program.run(sg, *[sg.tensor(a, dtype=sg.float64) for a in arrays])
    graph = sg.Graph()
    with graph.as_default():
        given = [sg.placeholder(sg.float64, a.shape) for a in arrays]
        results = leaves(program.run(sg, *given))
    with sg.Session(graph=graph) as session:
        agree([np.asarray(v) for v in session.run(results, dict(zip(given, arrays, strict=True)))], leaves(expected))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_a_compiled_function_agrees_with_eager_mode(program: Program):
    given = [sg.tensor(a, dtype=sg.float64) for a in program.arrays()]
    expected = program.run(sg, *given)
    compiled = sg.compile(lambda *xs: program.run(sg, *xs))
    agree(compiled(*given), expected)
    agree(compiled(*given), expected)
