"""PyTorch as judge: promotion, values, gradients, ties, error texts. `pytest -m oracle`, where torch is installed."""

from __future__ import annotations

import itertools
import operator
import warnings
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.dtypes import DTYPES
from tests.helpers import assert_close, rng_of

pytestmark = pytest.mark.oracle


# promotion --------------------------------------------------------------------------------------------------

NAMES = [str(d) for d in DTYPES]
SCALARS = [True, 2, 0.5]


@pytest.mark.parametrize("left", NAMES)
def test_promotion(torch, left):
    """All pairs, with axes, 0-d, and beside Python numbers."""
    for left_shape in ((2,), ()):
        a, ta = sg.ones(left_shape, dtype=left), torch.ones(left_shape, dtype=getattr(torch, left))
        for right, right_shape in itertools.product(NAMES, ((2,), ())):
            b, tb = sg.ones(right_shape, dtype=right), torch.ones(right_shape, dtype=getattr(torch, right))
            expected = str(torch.result_type(ta, tb)).removeprefix("torch.")
            assert str((a * b).dtype) == expected, (left_shape, right, right_shape)
            assert str(sg.concatenate([a.reshape(-1), b.reshape(-1)]).dtype) == str(
                torch.cat([ta.reshape(-1), tb.reshape(-1)]).dtype
            ).removeprefix("torch.")
        for scalar in SCALARS:
            expected = str(torch.result_type(ta, scalar)).removeprefix("torch.")
            assert str((a * scalar).dtype) == expected == str((scalar * a).dtype), (left_shape, scalar)


@pytest.mark.parametrize(
    "name",
    ["exp", "sqrt", "sigmoid", "tanh", "mean", "sum", "cumsum", "max", "abs", "sign", "square", "relu", "softmax"],
)
def test_result_dtypes_of_unary_functions(torch, name):
    for dtype in NAMES:
        x, t = sg.ones(2, dtype=dtype), torch.ones(2, dtype=getattr(torch, dtype))
        args = {"softmax": (0,), "cumsum": (0,)}.get(name, ())
        try:
            expected = str(getattr(t, name)(*args).dtype).removeprefix("torch.")
        except (RuntimeError, NotImplementedError):
            continue  # fewer dtypes there
        if (name, dtype) in (("sign", "bool"), ("square", "bool"), ("abs", "bool")):
            continue  # an error here
        assert str(getattr(x, name)(*args).dtype) == expected, dtype


@pytest.mark.parametrize("symbol", ["truediv", "floordiv", "mod", "pow", "lt", "add"])
def test_result_dtypes_of_operators(torch, symbol):
    function = getattr(operator, symbol)
    for left, right in itertools.product(NAMES[1:], repeat=2):
        expected = function(torch.ones(2, dtype=getattr(torch, left)), torch.ones(2, dtype=getattr(torch, right))).dtype
        found = function(sg.ones(2, dtype=left), sg.ones(2, dtype=right)).dtype
        assert str(found) == str(expected).removeprefix("torch."), (left, right)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 0.0, 0.5, 1.0, 2.0, 3.0, -1.0])
def test_result_dtypes_of_plain_exponents(torch, exponent):
    """Those that have an op of their own, too."""
    for dtype in NAMES:
        x, t = sg.ones(2, dtype=dtype), torch.ones(2, dtype=getattr(torch, dtype))
        assert str((x**exponent).dtype) == str((t**exponent).dtype).removeprefix("torch."), dtype


# values and gradients ---------------------------------------------------------------------------------------

PROGRAMS: list[tuple[str, Any, tuple[tuple[int, ...], ...]]] = [
    ("arithmetic", lambda m, x, y: (x + y) * (x - 2 * y) / (y * y + 1) - x**3 + 2.5 / (x * x + 1), ((3, 4), (4,))),
    ("powers", lambda m, x, y: m.exp(y) ** x + (x * x + 0.5) ** -1.5 + 2**y, ((3, 4), (3, 1))),
    (
        "functions",
        lambda m, x: m.tanh(x) + m.sigmoid(x) * m.sin(x) - m.log1p(x * x) + m.expm1(x).cos() + m.erf(x),
        ((3, 4),),
    ),
    ("relu and abs", lambda m, x: m.relu(x) * abs(x) + m.sqrt(m.square(x) + 1), ((3, 4),)),
    ("maximum", lambda m, x, y: m.maximum(x, y) - m.minimum(x, y * 2) + m.where(x > y, x, y * y), ((3, 4), (3, 4))),
    ("clamp", lambda m, x: x.clamp(-0.5, 0.8) + x.clamp(min=0), ((5, 4),)),
    ("reductions", lambda m, x: x.sum(0) * x.mean(1, keepdim=True) + x.logsumexp(1, keepdim=True) + x.max(), ((3, 4),)),
    ("norm and std", lambda m, x: x.norm() + (x.var() if m is not sg else x.var(ddof=1)), ((3, 4),)),
    ("softmax", lambda m, x: x.softmax(-1) * x.log_softmax(0), ((3, 4),)),
    ("matmul", lambda m, x, y: (x @ y).tanh() @ y.T, ((3, 4), (4, 2))),
    ("batched matmul", lambda m, x, y: x @ y, ((5, 1, 2, 3), (4, 3, 2))),
    ("vectors", lambda m, x, y: x @ y + m.outer(x, y).sum() + m.dot(y, x), ((4,), (4,))),
    ("shapes", lambda m, x: x.reshape(2, 6).T.unsqueeze(0).expand(3, -1, -1).permute(2, 0, 1).flatten() * 2, ((3, 4),)),
    ("slices", lambda m, x: x[1:, ::2] * x[0, 1] + x[-1, None, -2:] + x[[0, 2], 1].sum(), ((3, 4),)),
    ("indices", lambda m, x: x[[0, 0, 2]] + x[:, [1, 1, 0, 3]].sum(0) * x[[0, 1], [2, 3]].sum(), ((3, 4),)),
    ("concatenate", lambda m, x, y: (m.cat if m is not sg else m.concatenate)([x, y, x * y], 1) ** 2, ((3, 4), (3, 4))),
    ("stack", lambda m, x, y: m.stack([x, y.sum(0)]).cumsum(1), ((4,), (3, 4))),
    ("in place", lambda m, x: _in_place(x), ((3, 4),)),
    ("dtypes", lambda m, x: x.float() * x.double() + x.long() * x, ((3, 4),)),
]


def _in_place(x: Any) -> Any:
    y = x * 2
    y += x
    y[0] = x[1] * x[2]
    y[:, 1] *= x[:, 0]
    y.view(-1)[2:5].mul_(0.5)
    y.clamp_(-1.5, 1.5).mul_(y.sum())
    return y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "program", "shapes"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_values_and_gradients(torch, name, program, shapes, dtype):
    rng = rng_of(name)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    mine, theirs = (
        [sg.tensor(a, requires_grad=True) for a in arrays],
        [torch.tensor(a, requires_grad=True) for a in arrays],
    )
    y, t = program(sg, *mine), program(torch, *theirs)
    rtol = 2e-5 if dtype == "float32" else 1e-11
    assert_close(y.detach().numpy(), t.detach().numpy(), rtol, what="value")
    seed = rng.standard_normal(tuple(t.shape)).astype(str(t.dtype).removeprefix("torch."))
    y.backward(sg.tensor(seed))
    t.backward(torch.tensor(seed))
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        assert_close(a.grad.numpy(), b.grad.numpy(), rtol * 10, what=f"gradient {i}")


@pytest.mark.parametrize(("name", "program", "shapes"), PROGRAMS[:14], ids=[p[0] for p in PROGRAMS[:14]])
def test_second_gradients(torch, name, program, shapes):
    rng = rng_of(name)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    mine, theirs = (
        [sg.tensor(a, requires_grad=True) for a in arrays],
        [torch.tensor(a, requires_grad=True) for a in arrays],
    )
    first = sg.grad((program(sg, *mine) ** 2).sum(), mine, create_graph=True)
    other = torch.autograd.grad((program(torch, *theirs) ** 2).sum(), theirs, create_graph=True)
    second = sg.grad(sum((g**2).sum() for g in first), mine)
    expected = torch.autograd.grad(sum((g**2).sum() for g in other), theirs)
    for a, b in zip(second, expected, strict=True):
        assert_close(a.numpy(), b.numpy(), 1e-9)


CHOICES = ["relu", "abs", "sign", "max", "min", "amax"]


@pytest.mark.parametrize("name", CHOICES)
def test_derivatives_at_kinks(torch, name):
    values = [0.0, -0.0, 1.0, 1.0, -1.0, -1.0]
    x, t = sg.tensor(values, requires_grad=True), torch.tensor(values, requires_grad=True)
    getattr(x, "max" if name == "amax" else name)().sum().backward()
    getattr(t, name)().sum().backward()
    assert x.grad.tolist() == t.grad.tolist()


def test_ties_of_maximum_and_edges_of_clamp(torch):
    for fn in (lambda m, x: m.maximum(x, m.ones(3)), lambda m, x: m.minimum(x, m.ones(3)), lambda m, x: x.clamp(0, 1)):
        x, t = sg.tensor([0.0, 1.0, 2.0], requires_grad=True), torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
        fn(sg, x).sum().backward()
        fn(torch, t).sum().backward()
        assert x.grad.tolist() == t.grad.tolist()


def test_clamp_to_bounds_that_cross(torch):
    values = [[-2.0, -0.5, 0.0, 0.5, 2.0], [1.0] * 5, [-1.0] * 5]
    mine = [sg.tensor(v, requires_grad=True) for v in values]
    theirs = [torch.tensor(v, requires_grad=True) for v in values]
    sg.clamp(*mine).sum().backward()
    torch.clamp(*theirs).sum().backward()
    assert [x.grad.tolist() for x in mine] == [t.grad.tolist() for t in theirs]


def test_special_rows_of_softmax(torch):
    rows = [[0.0, -np.inf], [-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 1.0], [1e4, -1e4]]
    for name in ("softmax", "log_softmax", "logsumexp"):
        mine, theirs = getattr(sg.tensor(rows), name)(-1), getattr(torch.tensor(rows), name)(-1)
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), err_msg=name)


# error texts ------------------------------------------------------------------------------------------------


def _twice(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    y.backward()


def _leaf_in_place(m: Any) -> None:
    w = m.ones(2, requires_grad=True)
    w += 1


def _view_of_leaf(m: Any) -> None:
    w = m.ones(2, requires_grad=True)
    w[0].add_(1)


def _modified(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def _anomaly(m: Any) -> None:
    x = m.zeros(1, requires_grad=True)
    with m.autograd.detect_anomaly() if m is not sg else m.detect_anomaly():
        (x.sqrt() * 0).sum().backward()


TEXTS: list[tuple[str, Any, int]] = [
    # name, program, length of the common beginning
    ("second backward", _twice, 400),
    ("leaf", _leaf_in_place, 74),
    ("view of a leaf", _view_of_leaf, 80),
    ("modified", _modified, 93),
    ("anomaly", _anomaly, 60),
    ("vector root", lambda m: (m.ones(2, requires_grad=True) * 2).backward(), 54),
    ("no grad", lambda m: m.ones(1).backward(), 76),
    ("integer", lambda m: m.ones(1, dtype=m.int64).requires_grad_(), 24),
    ("numpy", lambda m: m.ones(1, requires_grad=True).numpy(), 84),
    ("retain_grad", lambda m: m.ones(1).retain_grad(), 61),
    ("hook", lambda m: m.ones(1).register_hook(print), 68),
    ("flag", lambda m: (m.ones(1, requires_grad=True) * 2).requires_grad_(False), 58),
    ("item", lambda m: m.ones(2).item(), 55),
    ("bool", lambda m: bool(m.ones(2)), 62),
    ("len", lambda m: len(m.tensor(1)), 21),
    ("iteration", lambda m: list(m.tensor(1)), 26),
    ("dropout", lambda m: m.dropout(m.ones(1), 2.0, True) if m is not sg else m.dropout(m.ones(1), 2.0), 55),
    ("seed", lambda m: (m.ones(2, requires_grad=True) * 2).backward(m.ones(3)), 20),
    ("view", lambda m: m.ones(2, 3).T.view(-1), 115),
    ("t", lambda m: m.ones(1, 2, 3).t(), 60),
]


@pytest.mark.parametrize(("name", "program", "length"), TEXTS, ids=[t[0] for t in TEXTS])
def test_error_texts_begin_as_pytorchs(torch, name, program, length):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((RuntimeError, TypeError, ValueError)) as theirs:
            program(torch)
    with pytest.raises(sg.StaticgradError) as mine:
        program(sg)
    assert mine.value.summary[:length].lower() == str(theirs.value)[:length].lower()
