"""What ops need of their operands as numbers: extents that are known, arguments that are integers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import linalg
from staticgrad.errors import DTypeError, ShapeError
from staticgrad.ops.operands import extents, integer
from tests.helpers import assert_same

EXTENTS: dict[str, tuple[Callable[[Any], Any], tuple[int | None, ...], str]] = {
    "kron": (lambda x: sg.kron(x, x), (2, None), "kron: the extent of axis 1 is unknown"),
    "cov": (lambda x: x.cov(), (2, None), "cov: the extent of axis 1 is unknown"),
    "masked_scatter": (lambda x: x.masked_scatter(x > 0, x), (2, None), "masked_scatter: the extent of axis 1 is unknown"),
    "index_put": (lambda x: x.index_put((0,), x[0]), (None, 3), "index_put: the extent of axis 0 is unknown"),
    "lu": (lambda x: linalg.lu(x), (3, None), "lu_factor: the extent of axis 1 is unknown"),
    "pinv": (lambda x: linalg.pinv(x), (None, 3, 2), "pinv: the extent of axis 0 is unknown"),
    "lstsq": (lambda x: linalg.lstsq(x, np.ones((3, 1), np.float32)), (3, None), "lstsq: the extent of axis 1 is unknown"),
    "solve_ex": (lambda x: linalg.solve_ex(x, x), (None, 2, 2), "solve_ex: the extent of axis 0 is unknown"),
    "tensorinv": (lambda x: linalg.tensorinv(x, 1), (None, 3), "tensorinv: the extent of axis 0 is unknown"),
    "multinomial": (lambda x: x.multinomial(2, True), (None, 3), "multinomial: the extent of axis 0 is unknown"),
}


@pytest.mark.parametrize(("build", "shape", "text"), EXTENTS.values(), ids=EXTENTS)
def test_an_extent_that_is_needed_as_a_number_is_named(build: Callable[[Any], Any], shape: tuple[int | None, ...], text: str):
    with sg.Graph().as_default(), pytest.raises(ShapeError, match=re.escape(text)):
        build(sg.placeholder(sg.float32, shape))


INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "combinations(): r": lambda x, bad: sg.combinations(x[0], bad),
    "chunk(): chunks": lambda x, bad: x.chunk(bad),
    "diff(): n": lambda x, bad: x.diff(bad),
    "diagonal(): offset": lambda x, bad: x.diagonal(bad),
    "diag_embed(): offset": lambda x, bad: x.diag_embed(bad),
    "tril(): diagonal": lambda x, bad: x.tril(bad),
    "kthvalue(): k": lambda x, bad: x.kthvalue(bad),
    "topk(): k": lambda x, bad: x.topk(bad),
    "narrow(): length": lambda x, bad: x.narrow(0, 0, bad),
    "select(): index": lambda x, bad: x.select(0, bad),
    "roll(): a shift": lambda x, bad: x.roll(bad, 0),
    "rot90(): k": lambda x, bad: x.rot90(bad),
    "unfold(): step": lambda x, bad: x.unfold(0, 1, bad),
    "slice_scatter(): end": lambda x, bad: x.slice_scatter(x, 0, 0, bad),
    "matrix_power(): n": lambda x, bad: x.matrix_power(bad),
    "tensordot(): dims": lambda x, bad: sg.tensordot(x, x, bad),
    "randint(): high": lambda x, bad: sg.randint(bad, (2,)),
}


@pytest.mark.parametrize("bad", [1.5, "x"])
@pytest.mark.parametrize(("words", "call"), INTEGERS.items(), ids=INTEGERS)
def test_an_argument_that_is_no_integer_is_named(words: str, call: Callable[[Any, Any], Any], bad: Any):
    with pytest.raises(DTypeError, match=re.escape(f"{words} has to be an integer, got {bad!r}")):
        call(sg.ones((3, 3)), bad)


def test_integers_are_those_of_python_numpy_and_tensors():
    assert [integer("f", "n", n) for n in (2, np.int32(2), sg.tensor(2))] == [2, 2, 2]


def test_extents_of_a_range_of_axes():
    x = sg.zeros((2, 3, 4))
    assert (extents("f", x), extents("f", x, -2), extents("f", x, 0, -2)) == ((2, 3, 4), (3, 4), (2,))


INTEGERS: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda x, n: x[n : n + 2],
    "list": lambda x, n: x * [10, 20, 30][n],
    "sizes": lambda x, n: x.repeat(n) + x.reshape(n, -1).tile(n).sum() + x.split(n)[1].sum() + sg.full((n,), 1.0).sum(),
    "axes": lambda x, n: (
        x.unsqueeze(n - 1).sum(n - 1).cumsum(n - 2).roll(n).narrow(0, n, n) + x.view(1, -1).expand(n, -1).sum()
    ),
    "counts": lambda x, n: x.topk(n)[0] + sg.eye(n).sum() + x.select(0, n) + sg.one_hot(sg.arange(3), n + 1).sum(),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_may_be_tensors(interpreted: None, name: str):
    fn, x = INTEGERS[name], sg.arange(6.0)
    for run in (fn, sg.compile(fn)):
        assert_same(run(x, sg.tensor(2)), fn(x, 2))
    with sg.Graph().as_default(), sg.Session() as sess:
        n = sg.placeholder(sg.int64, ())
        if name == "slice":  # its extent is that of the run
            assert_same(sg.tensor(sess.run(fn(x, n), {n: 2})), fn(x, 2))
            return
        with pytest.raises(sg.TraceError, match="is symbolic: Python can't have a number before the graph runs"):
            fn(x, n)
