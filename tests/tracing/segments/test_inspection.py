"""Functions that run in segments: every verb shows all segments, with the cuts and the user's lines between them."""

from __future__ import annotations

import pytest

import staticgrad as sg
from staticgrad.errors import ArgumentError
from staticgrad.tracing.segments.inspection import CUT


@pytest.fixture(scope="module")
def stepped():
    @sg.compile(on_break="split")
    def step(x):
        y = x * 2 + 1
        if y.sum().item() > 0:
            y = sg.exp(y)
        else:
            y = y - 1
        return (y * y).sum()

    x = sg.ones((4, 4))
    step(x), step(-x)
    return step


def test_all_segments_are_shown(stepped):
    text = sg.to_text(stepped)
    assert [text.count(name) for name in ("cut(", "exp(%", "sub(%", "placeholder after %6")] == [1, 1, 1, 2]
    assert "if y.sum().item() > 0:" in text
    cut = next(node for node in sg.to_networkx(stepped).nodes.values() if node["op"] == CUT.name)
    assert cut["line"] == "if y.sum().item() > 0:"
    assert "subgraph" in sg.to_dot(stepped, group="kernel")
    assert sg.draw(stepped) is not None
    found = sg.profile(stepped, repeats=10)
    assert [name for _, name, _ in found.instructions] == ["0: mul+add+sum", "1: exp+mul+sum", "2: sub+mul+sum"]
    page = str(stepped.explain())
    assert "segment 2, after segment 0: 3 operations" in page
    assert [page.count(name) for name in ("mul+add+sum", "exp+mul+sum", "sub+mul+sum")] == [1, 1, 1]
    assert stepped.explain()._repr_html_().count("<table>") == 4


def test_segments_without_operations_have_an_explanation():
    @sg.compile
    def step(x):
        return sum(x.tolist())

    assert step(sg.ones(2)) == 2.0
    page = str(step.explain())
    assert page.startswith("step runs in segments, because ")
    assert "no segment holds an operation, so there is no plan" in page
    with pytest.raises(sg.TraceError, match="step runs in segments without operations, so there is no plan"):
        sg.profile(step)


def test_two_operations_in_different_segments(stepped):
    assert "segment 1: exp " in str(stepped.explain(why_not=("exp", "mul")))
    assert "no kernel reaches across a cut" in str(stepped.explain(why_not=("add", "exp")))
    with pytest.raises(ArgumentError, match="no operation 'tanh' in any segment"):
        stepped.explain(why_not=("tanh", "exp"))
