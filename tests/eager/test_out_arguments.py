"""`out=`: values, identity, resizing, refusals, in eager and compiled code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import staticgrad as sg

X = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

CALLS: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "op": (lambda x, out: sg.square(x, out=out), [[0.0, 1.0, 4.0], [9.0, 16.0, 25.0]]),
    "two operands": (lambda x, out: sg.add(x, x, alpha=2, out=out), [[0.0, 3.0, 6.0], [9.0, 12.0, 15.0]]),
    "checked": (lambda x, out: sg.div(x, 2, rounding_mode="floor", out=out), [[0.0, 0.0, 1.0], [1.0, 2.0, 2.0]]),
    "reduction": (lambda x, out: sg.sum(x, 0, out=out), [3.0, 5.0, 7.0]),
    "product": (lambda x, out: sg.matmul(x, x.T, out=out), [[5.0, 14.0], [14.0, 50.0]]),
    "composite": (lambda x, out: sg.addmm(sg.ones(2, 2), x, x.T, out=out), [[6.0, 15.0], [15.0, 51.0]]),
    "joined": (lambda x, out: sg.cat([x[0], x[1, :1]], out=out), [0.0, 1.0, 2.0, 3.0]),
    "copy of a view": (lambda x, out: sg.transpose_copy(x, 0, 1, out=out), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
    "in a module": (lambda x, out: sg.linalg.norm(x, dim=1, out=out), [5.0**0.5, 50.0**0.5]),
    "factory": (lambda x, out: sg.arange(4, out=out), [0.0, 1.0, 2.0, 3.0]),
    "condition": (lambda x, out: sg.where(x > 2, x, 0.0, out=out), [[0.0, 0.0, 0.0], [3.0, 4.0, 5.0]]),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_result_is_written(call: str, compiled: bool):
    function, expected = CALLS[call]

    def run(x: Any) -> tuple[Any, bool]:
        out = sg.empty(0)
        found = function(x, out)
        return out, found is out

    out, same = (sg.compile(run) if compiled else run)(sg.tensor(X))
    assert same
    assert out.dtype == sg.float32
    assert out.shape == sg.tensor(expected).shape
    assert out.tolist() == pytest.approx(expected) if out.ndim == 1 else sg.allclose(out, sg.tensor(expected))


def test_several_results():
    values, places = sg.empty(0), sg.empty(0, dtype=sg.int64)
    found = sg.sort(sg.tensor([3.0, 1.0, 2.0]), out=(values, places))
    assert found[0] is values
    assert found.indices is places
    assert (values.tolist(), places.tolist()) == ([1.0, 2.0, 3.0], [1, 2, 0])


def test_another_shape_is_resized_with_a_warning():
    out = sg.zeros(2, 3)
    with pytest.warns(UserWarning, match=r"An output with one or more elements was resized since it had shape \[2, 3\]"):
        sg.exp(sg.zeros(4), out=out)
    assert out.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert out._version == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sg.zeros(2, out=out) is out  # a factory, which says nothing
    assert out.tolist() == [0.0, 0.0]


def test_memory_and_dtype_stay():
    whole = sg.zeros(2, 6, dtype=sg.float64)
    out = whole[:, ::2]
    sg.square(sg.tensor(X), out=out)
    assert whole.tolist() == [[0.0, 0.0, 1.0, 0.0, 4.0, 0.0], [9.0, 0.0, 16.0, 0.0, 25.0, 0.0]]
    counts = sg.zeros(3, dtype=sg.int64)
    sg.sum(sg.tensor(X), 0, out=counts)  # computed in the dtype of `out`
    assert counts.tolist() == [3, 5, 7]


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: sg.exp(x, out=5), TypeError, r"exp\(\): argument 'out' must be Tensor, not int"),
    (lambda x: sg.exp(x, out=sg.zeros(2, 3, dtype=sg.int64)), sg.DTypeError, "exp: result type float32 can't be cast"),
    (lambda x: sg.exp(x, out=sg.zeros(3).expand(2, 3)), sg.GradientError, "more than one element of the written-to tensor"),
    (lambda x: sg.exp(x.requires_grad_(), out=sg.zeros(2, 3)), sg.GradientError, r"exp\(\): functions with out=... arguments"),
    (lambda x: sg.exp(x, out=sg.zeros(2, 3, requires_grad=True)), sg.GradientError, r"exp\(\): functions with out=..."),
    (lambda x: sg.sort(x, out=sg.zeros(2, 3)), TypeError, r"sort\(\): expected 2 tensors in 'out', got 1"),
    (lambda x: sg.allclose(x, x, out=x), TypeError, r"allclose\(\) got an unexpected keyword argument 'out'"),
]


@pytest.mark.parametrize("row", range(len(REFUSED)))
def test_refusals(row: int):
    call, error, text = REFUSED[row]
    with pytest.raises(error, match=text):
        call(sg.tensor(X))


def test_saved_values_notice():
    w, out = sg.ones(3, requires_grad=True), sg.ones(3)
    y = w * out
    sg.exp(sg.ones(3), out=out)
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.sum().backward()
    with sg.no_grad():
        sg.exp(w, out=out)
    assert not out.requires_grad


def test_tensors_of_a_graph_are_not_written():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [2])
        with pytest.raises(sg.GraphError, match="exp: a tensor that has its value already can't take over that of"):
            sg.exp(sg.ones(2), out=x)
        with pytest.raises(sg.GraphError, match="belongs to a graph"):
            sg.exp(x, out=sg.ones(2))
