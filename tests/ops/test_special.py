"""NaN, infinities, signed zeros, denormals, empty arrays, axes of extent 1; gradients at ties and edges; integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional
from staticgrad.eager import Tensor
from staticgrad.errors import ArgumentError, DTypeError, IndexRangeError, ShapeError
from staticgrad.ir import Graph
from staticgrad.operators import F
from tests.helpers import assert_close, placeholders
from tests.ops.elementwise_cases import ELEMENTWISE
from tests.ops.modes import MODES, eager, slopes
from tests.ops.test_cases import run_compiled, run_interpreter

nan, inf = np.nan, np.inf
SPECIAL = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-40, -1e-40, 1e-30, 3e38, -3e38, 89.0, -104.0]

UNARY = {row.name: row for row in ELEMENTWISE if row.operands == 1}

BINARY: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "pow": np.power,
    **{row.name: row.numpy for row in ELEMENTWISE if row.operands == 2},
}


def agree(actual: np.ndarray, expected: np.ndarray, ulps: float, signs: bool, what: str) -> None:
    """Equal, NaN to NaN, or within `ulps`; zeros with their signs where asked. Denormals may be flushed."""
    limits = np.finfo(expected.dtype) if expected.dtype.kind == "f" and ulps else None
    if limits is None:
        assert_close(actual, expected, what=what, signs=signs)
    else:
        assert_close(actual, expected, ulps * float(limits.eps), float(limits.tiny), what, signs)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str):
    x = np.array(SPECIAL, dtype)
    row = UNARY[name]
    with np.errstate(all="ignore"):
        expected = row.numpy(x)
    agree(getattr(F, name)(Tensor(x)).numpy(), expected, row.ulps, row.signs, "eager")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, dtype: str):
    x, y = np.array(SPECIAL, dtype)[:, None], np.array(SPECIAL, dtype)
    with np.errstate(all="ignore"):
        expected = BINARY[name](x, y)
    agree(getattr(F, name)(Tensor(x), Tensor(y)).numpy(), expected, 0, name not in ("maximum", "minimum"), "eager")


@pytest.mark.parametrize("backend", [run_interpreter, run_compiled], ids=["interpret", "compiled"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_backends_agree_on_special_values(backend: Any, dtype: str):
    """All ops of both tables in one program. A plan may drop the sign of a zero (`nsz`)."""
    x, y = np.array(SPECIAL, dtype)[:, None], np.array(SPECIAL, dtype)
    graph = Graph()
    a, b = placeholders(graph, [x, y], [x.shape, y.shape])
    expected, targets, ulps, names = [], [], [], []
    with np.errstate(all="ignore"):
        for name, row in UNARY.items():
            names.append(name)
            targets.append(getattr(F, name)(b))
            expected.append(row.numpy(y))
            ulps.append(max(row.ulps, 8 if backend is run_compiled and row.ulps else 0))
        for name, reference in BINARY.items():
            names.append(name)
            targets.append(getattr(F, name)(a, b))
            expected.append(reference(x, y))
            ulps.append((16 if name in ("pow", "hypot") else 4 if name == "atan2" else 0) if backend is run_compiled else 0)
    results = backend(graph, [t.node for t in targets], [a.node, b.node], [x, y])
    for name, result, value, units in zip(names, results, expected, ulps, strict=True):
        agree(result, value, units, False, name)


REDUCTIONS = [
    # function, operand, result
    ("sum", [inf, -inf], nan),
    ("sum", [], 0.0),
    ("sum", [-0.0, -0.0], -0.0),
    ("mean", [], nan),
    ("mean", [inf, 1], inf),
    ("max", [1, nan, 2], nan),
    ("min", [1, nan, 0], nan),
    ("max", [-inf, -inf], -inf),
    ("max", [nan], nan),
    ("logsumexp", [-inf, -inf], -inf),
    ("logsumexp", [inf, 0], inf),
    ("logsumexp", [nan, 0], nan),
    ("logsumexp", [], -inf),
    ("logsumexp", [1000, 1000], 1000 + np.log(2)),
    ("logsumexp", [-1000, -1000], -1000 + np.log(2)),
    ("argmax", [1, nan, nan], 1),
    ("argmin", [1, nan, 0], 1),
    ("argmax", [3, 3], 0),
    ("norm", [inf, 1], inf),
    ("norm", [0, 0], 0.0),
    ("norm", [], 0.0),
]


@pytest.mark.parametrize(("name", "x", "expected"), REDUCTIONS, ids=str)
def test_reductions(name: str, x: list[float], expected: float):
    result = getattr(F, name)(Tensor(np.array(x, np.float64)))
    np.testing.assert_allclose(result.item(), expected, rtol=1e-12)


ROWS = [
    # function, row, result
    ("softmax", [0.0, -inf], [1.0, 0.0]),
    ("softmax", [-inf, -inf], [nan, nan]),
    ("softmax", [inf, 0.0], [nan, nan]),
    ("softmax", [nan, 0.0], [nan, nan]),
    ("softmax", [7.0], [1.0]),
    ("softmax", [], []),
    ("softmax", [1e4, 1e4], [0.5, 0.5]),
    ("log_softmax", [0.0, -inf], [0.0, -inf]),
    ("log_softmax", [7.0], [0.0]),
    ("log_softmax", [-inf, -inf], [nan, nan]),
    ("log_softmax", [-1e4, 0.0], [-1e4, 0.0]),
    ("log_softmax", [], []),
    ("cumsum", [1.0, nan, 1.0], [1.0, nan, nan]),
]


@pytest.mark.parametrize(("name", "x", "expected"), ROWS, ids=str)
def test_rows(name: str, x: list[float], expected: list[float]):
    np.testing.assert_allclose(getattr(F, name)(Tensor(np.array(x, np.float64))).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("backend", [run_interpreter, run_compiled], ids=["interpret", "compiled"])
def test_backends_agree_on_rows(backend: Any):
    graph, x = Graph(), np.array([[0, -inf], [-inf, -inf], [inf, 0], [nan, 0], [1e4, 1e4], [3, 3]])
    (a,) = placeholders(graph, [x], [(None, None)])
    names = ("softmax", "log_softmax", "sum", "amax", "amin", "logsumexp", "argmax", "argmin", "norm")
    axis = {name: {"dim": 1} for name in names[2:]}
    targets = [getattr(F, name)(a, **axis.get(name, {})) for name in names]
    results = backend(graph, [t.node for t in targets], [a.node], [x])
    for name, result in zip(names, results, strict=True):
        eager = getattr(F, name)(Tensor(x), **axis.get(name, {}))
        np.testing.assert_allclose(result, eager.numpy(), rtol=1e-12, err_msg=name)


# gradients where a derivative has to be chosen --------------------------------------------------------------

CHOICES: list[tuple[str, Any, list[float], list[float]]] = [
    ("relu at 0", lambda x: x.relu(), [-1, 0, -0.0, 2], [0, 0, 0, 1]),
    ("abs at 0", lambda x: x.abs(), [-1, 0, 2], [-1, 0, 1]),
    ("max ties", lambda x: x.max(), [1, 3, 3, 2], [0, 0.5, 0.5, 0]),
    ("min ties", lambda x: x.min(), [1, 3, 1, 1], [1 / 3, 0, 1 / 3, 1 / 3]),
    ("maximum ties", lambda x: sg.maximum(x, sg.tensor([1.0, 2.0, 3.0])), [2, 2, 2], [1, 0.5, 0]),
    ("minimum ties", lambda x: sg.minimum(x, sg.tensor([1.0, 2.0, 3.0])), [2, 2, 2], [0, 0.5, 1]),
    ("clip edges", lambda x: x.clip(-1, 1), [-2, -1, 0, 1, 2], [0, 1, 1, 1, 0]),
    ("sqrt at 0", lambda x: x.sqrt(), [0, 4], [inf, 0.25]),
    ("pow 0 at 0", lambda x: x**0, [0, 2], [0, 0]),
    ("pow 3 at 0", lambda x: x**3, [0, 2], [0, 12]),
    ("0 ** x", lambda x: 0.0**x, [1, 2], [0, 0]),
    ("norm at 0", lambda x: x.norm(), [0, 0], [0, 0]),
    ("std of what is equal", lambda x: x.std(), [3, 3], [0, 0]),
    ("floor", lambda x: x.floor(), [0.5, 1], [0, 0]),
    ("sign", lambda x: x.sign(), [0.5, 0], [0, 0]),
    ("where keeps NaN out", lambda x: sg.where(x > 0, x.log(), 0), [1, 2], [1, 0.5]),
    ("repeated index", lambda x: x[[0, 0, 1]], [1, 2, 3], [2, 1, 0]),
    ("x + x", lambda x: x + x, [1, 2], [2, 2]),
    ("x * x", lambda x: x * x, [1, 2], [2, 4]),
    ("x / x", lambda x: x / x, [1, 2], [0, 0]),
    ("x ** x", lambda x: x**x, [1, 2], [1, 4 * (1 + np.log(2))]),
    ("logsumexp of -inf", lambda x: x.logsumexp(), [-inf, 0], [0, 1]),
    ("xlogy by a at 0", lambda x: sg.xlogy(x, np.array([2.0, 0.0, -1.0, inf])), [0, 0, 0, 0], [np.log(2), 0, 0, inf]),
    ("xlogy by b, a 0", lambda x: sg.xlogy(np.zeros(3), x), [2, 0.5, -1], [0, 0, 0]),
    ("xlog1py by a at 0", lambda x: sg.special.xlog1py(x, np.array([1.0, -1.0, -2.0])), [0, 0, 0], [np.log(2), 0, 0]),
    ("entr", lambda x: sg.special.entr(x), [0, 1, -1], [inf, -1, nan]),
    ("logit", lambda x: sg.logit(x), [0, 0.5, 1, 2], [inf, 4, inf, nan]),
    ("elu at 0", lambda x: functional.elu(x, 2.0), [0, -0.0, 1], [2, 2, 1]),
    ("celu at 0", lambda x: functional.celu(x, 2.0), [0, -0.0, 1], [1, 1, 1]),
    ("selu at 0", lambda x: functional.selu(x), [0, 1], [1.7580993408473766, 1.0507009873554805]),
    ("softplus at its threshold", lambda x: functional.softplus(x, 2.0, 10.0), [5, 6], [1 / (1 + np.exp(-10)), 1]),
    ("hardswish", lambda x: functional.hardswish(x), [-inf, -3, 3, inf], [0, 0, 1, 1]),
    ("logaddexp of infinities", lambda x: sg.logaddexp(x, np.zeros(3)), [inf, -inf, 0], [1, 0, 0.5]),
    ("fmax ties", lambda x: sg.fmax(x, np.array([1.0, 2.0, nan])), [1, 1, 1], [1, 0, 1]),
    ("lerp", lambda x: sg.lerp(x, np.array([inf, inf]), np.array([0.25, 0.75])), [1, 1], [0.75, 0.25]),
    ("clamp to infinity", lambda x: sg.clamp(np.array([1.0, np.inf, 2]), min=x), [np.inf, np.inf, np.inf], [1, 0, 1]),
    ("clamp from infinity", lambda x: sg.clamp(np.array([1.0, -np.inf, 2]), max=x), [-np.inf, -np.inf, np.inf], [1, 0, 0]),
    ("clamp to an empty interval", lambda x: sg.clip(np.array([-1.0, 1, 2]), x, np.ones(3)), [1, 0, 3], [0, 0, 0]),
    ("logcumsumexp of a wide range", lambda x: x.logcumsumexp(0), [-800, 0, 90, 180, 1000], [1, 1, 1, 1, 1]),
    ("logcumsumexp of a falling range", lambda x: x.logcumsumexp(0), [1000, 180, 0, -800], [4, 0, 0, 0]),
    ("median ties", lambda x: x.median(), [1, 2, 2, 3, 2], [0, 1 / 3, 1 / 3, 0, 1 / 3]),
    ("nanmedian ties", lambda x: x.nanmedian(), [2, nan, 2, 1, 3], [0.5, 0, 0.5, 0, 0]),
    ("max along an axis, ties", lambda x: x.max(0)[0], [1, 3, 3], [0, 1, 0]),
    ("eigvalsh of equal values", lambda x: sg.linalg.eigvalsh(x.reshape(2, 2)), [3, 0, 0, 3], [1, 0, 0, 1]),
    ("svdvals of equal values", lambda x: sg.linalg.svdvals(x.reshape(2, 2)), [3, 0, 0, 3], [1, 0, 0, 1]),
    ("nuclear norm of equal values", lambda x: sg.linalg.matrix_norm(x.reshape(2, 2), "nuc"), [3, 0, 0, 3], [1, 0, 0, 1]),
    ("multi_margin_loss at its margin", lambda x: functional.multi_margin_loss(x.reshape(1, 4), np.array([0])),
     [1, 0, 1, 2], [-0.5, 0, 0.25, 0.25]),
    ("multilabel_margin_loss at its margin", lambda x: functional.multilabel_margin_loss(x, np.array([0, -1, 1, 1])),
     [1, 0, 1, 2], [-0.5, 0, 0.25, 0.25]),
    ("binary_cross_entropy of 0 and 1", lambda x: functional.binary_cross_entropy(x, np.array([0.0, 1, 0, 1]), reduction="sum"),
     [0, 0, 1, 1], [0, -1e12, 1e12, 0]),
    ("smooth_l1_loss", lambda x: functional.smooth_l1_loss(x, np.zeros(4), reduction="sum"), [inf, -inf, 1, nan],
     [1, -1, 1, nan]),
    ("huber_loss", lambda x: functional.huber_loss(x, np.zeros(4), reduction="sum"), [inf, -inf, 1, nan], [1, -1, 1, nan]),
    ("prelu of an infinite slope", lambda x: functional.prelu(x, np.array([inf])), [1, inf, -1], [1, 1, inf]),
    ("sinc of small numbers", lambda x: sg.sinc(x), [0, 1e-40], [0, -(np.pi**2) * 1e-40 / 1.5 / 2]),
    ("-x / y, where x y overflows", lambda x: 3e300 / x, [1e10], [-3e280]),
]  # fmt: skip


def chosen(*xs: Any) -> list[Any]:
    """The gradients of all rows."""
    return [slopes(fn(x), [x])[0] for (_, fn, _, _), x in zip(CHOICES, xs, strict=True)]


@pytest.mark.parametrize("mode", ["eager", *MODES])
def test_chosen_derivatives(mode: str):
    with np.errstate(all="ignore"):
        found = {"eager": eager, **MODES}[mode](chosen, [np.array(x, np.float64) for _, _, x, _ in CHOICES])
    for (name, _, _, expected), gradient in zip(CHOICES, found, strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-12, err_msg=name)


# every mode ------------------------------------------------------------------------------------------------

VALUES = np.array([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.4, -0.4, 0.5, -0.5, 2.5, -2.5, 1e-40, 3e38])
PAIRS = [a.reshape(-1) for a in np.meshgrid(VALUES, VALUES)]
ZEROS_OF_BOTH_SIGNS = (PAIRS[0] == 0) & (PAIRS[1] == 0) & (np.signbit(PAIRS[0]) != np.signbit(PAIRS[1]))
TIES = [a[~ZEROS_OF_BOTH_SIGNS] for a in PAIRS]
"""Of which the sign of the larger and of the smaller is not defined."""

FUNCTIONS: dict[str, tuple[Any, list[np.ndarray]]] = {
    **{
        name: (getattr(F, name), [VALUES])
        for name in (
            *("relu", "abs", "sign", "floor", "ceil", "round", "sqrt", "square", "neg", "reciprocal", "rsqrt", "clone"),
            *("exp", "expm1", "log", "log1p", "tanh", "sigmoid", "erf", "sin", "cos"),
        )
    },
    **{name: (getattr(F, name), PAIRS) for name in ("add", "sub", "mul", "div", "pow", "remainder", "floor_divide")},
    **{name: (getattr(F, name), TIES) for name in ("maximum", "minimum")},
    "clamp": (lambda x: x.clamp(-0.5, 0.5), [VALUES]),
    "clamp, NaN": (lambda x: x.clamp(min=nan), [VALUES]),
    "clamp, below": (lambda x: x.clamp(min=1), [VALUES]),
    "where": (lambda x: F.where(x > 0, x, -x), [VALUES]),
    **{
        f"{name} of {row}": (lambda x, name=name: getattr(F, name)(x), [np.array(row)])
        for name in ("sum", "mean", "amax", "amin", "logsumexp", "norm", "std")
        for row in ([-0.0, -0.0], [1, nan, nan, 2], [inf, inf], [-inf, inf], [3, 1, 3, 1])
    },
}


def with_slopes(dtype: str) -> tuple[Any, list[np.ndarray]]:
    """All functions and their gradients as one program, and its operands."""
    arrays = [a.astype(dtype) for _, operands in FUNCTIONS.values() for a in operands]

    def program(*xs: Any) -> list[Any]:
        given, results = iter(xs), []
        for fn, operands in FUNCTIONS.values():
            mine = [next(given) for _ in operands]
            value = fn(*mine)
            results += [value, *slopes(value, mine)]
        return results

    return program, arrays


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_has_the_same_special_values(mode: str, dtype: str):
    """Values and gradients: NaN, infinities and the signs of zeros are the same everywhere, and strict modes have the bits."""
    with np.errstate(all="ignore"):
        program, arrays = with_slopes(dtype)
        found, expected = MODES[mode](program, arrays), eager(program, arrays)
    parts = ("value", "slope", "slope 2")
    names = [f"{name} {part}" for name, (_, given) in FUNCTIONS.items() for part in parts[: 1 + len(given)]]
    for name, a, b in zip(names, found, expected, strict=True):
        np.testing.assert_array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b), err_msg=f"{name}: signs")
        np.testing.assert_array_equal(a == 0, b == 0, err_msg=f"{name}: zeros")
        exact = "strict" in mode or mode == "interpreter"
        ulps = 0 if exact else 16
        np.testing.assert_allclose(
            a, b, rtol=ulps * np.finfo(a.dtype).eps, atol=0 if exact else np.finfo(a.dtype).tiny, err_msg=name
        )


NOT_A_NUMBER: list[tuple[str, Any, list[float], list[float]]] = [
    ("relu", lambda x: x.relu(), [nan, 1], [1, 1]),
    ("abs", lambda x: x.abs(), [nan, 1], [0, 1]),
    ("maximum", lambda x: F.maximum(x, 0.5), [nan, 1], [1, 1]),
    ("minimum", lambda x: F.minimum(x, 2.0), [nan, 1], [1, 1]),
    ("clamp", lambda x: x.clamp(-2, 2), [nan, 1], [0, 1]),
    ("max", lambda x: x.max(), [nan, 1, nan], [0.5, 0, 0.5]),
    ("min", lambda x: x.min(), [nan, 1, nan], [0.5, 0, 0.5]),
    ("pow 0", lambda x: x**0, [nan, 1], [0, 0]),
]


@pytest.mark.parametrize(("name", "fn", "x", "expected"), NOT_A_NUMBER, ids=[c[0] for c in NOT_A_NUMBER])
def test_derivatives_at_nan(name: str, fn: Any, x: list[float], expected: list[float]):
    """PyTorch's, which are chosen: no derivative exists."""
    leaf = sg.tensor(np.array(x), requires_grad=True)
    fn(leaf).sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), expected)


EMPTY = [  # over the axis of extent 0, and over all axes
    ("sum", [0, 0], 0), ("mean", [nan, nan], nan), ("var", [nan, nan], nan), ("std", [nan, nan], nan), ("norm", [0, 0], 0),
    ("logsumexp", [-inf, -inf], -inf), ("all", [True, True], True), ("any", [False, False], False),
]  # fmt: skip
IMPOSSIBLE = ("amax", "amin", "argmax", "argmin")


def in_session(function: Any, x: np.ndarray) -> Any:
    with sg.Graph().as_default():
        t = sg.placeholder(x.dtype, [None] * x.ndim)
        with sg.Session() as session:
            return session.run(function(t), {t: x})


PLACES = {
    "eager": lambda function, x: function(Tensor(x)).numpy(),
    "session": in_session,
    "compiled": lambda function, x: sg.compile(function)(x).numpy(),
}


@pytest.mark.parametrize("mode", PLACES)
@pytest.mark.parametrize(("name", "along", "whole"), EMPTY, ids=[row[0] for row in EMPTY])
def test_reductions_over_no_elements(name: str, along: Any, whole: Any, mode: str):
    """As PyTorch has them."""
    x = np.zeros((2, 0), np.float32)
    for axis, expected in ((1, along), ((0, 1), whole), (0, []), ((), np.zeros((2, 0)))):
        if axis == () and name not in ("sum", "all", "any"):
            continue
        result = PLACES[mode](lambda t, axis=axis: getattr(F, name)(t, dim=axis), x)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_extrema_of_no_elements(name: str):
    for function in (getattr(F, name), sg.compile(getattr(F, name))):
        for axis in (1, None):
            with pytest.raises(ShapeError, match="zero-size array to a reduction which has no identity"):
                function(Tensor(np.zeros((2, 0), np.float32)), axis)
        assert function(Tensor(np.zeros((2, 0), np.float32)), 0).shape == (0,)


# integers and booleans --------------------------------------------------------------------------------------

INTEGERS = [
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("floor_divide", np.floor_divide),
    ("pow", np.power),
    ("remainder", np.remainder),
    ("maximum", np.maximum),
    ("minimum", np.minimum),
    ("lt", np.less),
    ("eq", np.equal),
]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
@pytest.mark.parametrize(("name", "reference"), INTEGERS, ids=[n for n, _ in INTEGERS])
def test_integers(name: str, reference: Any, dtype: str):
    x, y = np.array([[7, 3], [5, 0]], dtype), np.array([2, 3], dtype)
    expected = reference(x, y)
    result = getattr(F, name)(Tensor(x), Tensor(y)).numpy()
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def _of_integers(x: Any, y: Any) -> list[Any]:
    trunc, floor = (F.div(x, y, rounding_mode=mode) for mode in ("trunc", "floor"))
    return [F.fmod(x, y), F.remainder(x, y), trunc, floor, x // y, x % y]


@pytest.mark.parametrize("mode", ["eager", *MODES])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_divisions_of_integers(dtype: str, mode: str):
    """Python's integers are the judge; the quotient of the least one and -1 is no number of the dtype, and wraps around."""
    limits = np.iinfo(dtype)
    least, most = int(limits.min), int(limits.max)
    values = [v for v in {least, least + 1, -7, -3, -1, 0, 1, 3, 7, most} if least <= v <= most]
    pairs = [(a, b) for a in values for b in values if b]
    x, y = (np.array(side, dtype) for side in zip(*pairs, strict=True))
    found = {"eager": eager, **MODES}[mode](_of_integers, [x, y])
    rests = [abs(a) % abs(b) * (1 if a >= 0 else -1) for a, b in pairs]
    floors, remainders = zip(*(divmod(a, b) for a, b in pairs), strict=True)
    quotients = [(a - r) // b for (a, b), r in zip(pairs, rests, strict=True)]
    for array, expected in zip(found, (rests, remainders, quotients, floors, floors, remainders), strict=True):
        assert array.dtype == dtype
        wrapped = [(int(v) - least) % (most - least + 1) + least for v in expected]
        assert array.tolist() == wrapped


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int32", "int64"])
def test_integer_reductions_and_shapes(dtype: str):
    x = np.array([[1, 0, 1], [1, 1, 0]], dtype)
    t = Tensor(x)
    assert t.sum().dtype == np.int64
    assert t.sum().item() == 4
    assert t.cumsum(1).dtype == np.int64
    assert t.max().dtype == x.dtype
    assert t.amax(0).tolist() == x.max(0).tolist()
    assert t.mean().dtype == np.float32
    assert t.mean().item() == pytest.approx(2 / 3)
    assert t.argmax(1).tolist() == x.argmax(1).tolist()
    assert t.T.reshape(-1).tolist() == x.T.reshape(-1).tolist()
    assert (t / 2).dtype == np.float32
    assert (t * 0.5).dtype == np.float32
    assert t.exp().dtype == np.float32
    assert t.sqrt().dtype == np.float32
    assert sg.concatenate([t, t * 1.5]).dtype == np.float32
    assert not t.sum().requires_grad
    if dtype != "bool":
        assert (-t).dtype == x.dtype
        assert t.relu().dtype == x.dtype
        assert t.clip(0, 1).tolist() == x.tolist()
        assert (t + 1).dtype == x.dtype


ERRORS: list[tuple[Any, type[Exception], str]] = [
    (lambda: sg.ones(2, 3) @ sg.ones(4, 2), ShapeError, "matmul: inner sizes differ, (2, 3) @ (4, 2)"),
    (lambda: sg.ones(2) @ sg.ones(3), ShapeError, "matmul: inner sizes differ, (2,) @ (3,)"),
    (lambda: sg.ones(2) @ sg.tensor(1.0), ShapeError, "matmul: operands can't be 0-d"),
    (lambda: sg.ones(2, 3) + sg.ones(4), ShapeError, "add: shapes don't broadcast, (2, 3) and (4,)"),
    (
        lambda: sg.where(sg.ones(2) > 0, sg.ones(3), 0),
        ShapeError,
        "where: shapes don't broadcast, (2,) and (3,) and ()",
    ),
    (lambda: sg.ones(6).reshape(4, -1), ShapeError, "reshape: can't reshape (6,) into (4, -1)"),
    (lambda: sg.ones(6).reshape(5), ShapeError, "reshape: can't reshape (6,) into (5,): 6 elements and 5"),
    (
        lambda: sg.ones(6).reshape(-1, -1),
        ArgumentError,
        "reshape: at most one extent may be -1, the others >= 0, got (-1, -1)",
    ),
    (lambda: sg.ones(6).reshape(2.0, 3), ArgumentError, "reshape: a shape is a tuple of integers, got (2.0, 3)"),
    (lambda: sg.ones(2, 3).sum(2), ArgumentError, "axis 2 is out of range for 2 axes"),
    (lambda: sg.ones(2, 3).sum((0, 0)), ArgumentError, "an axis is named twice in (0, 0)"),
    (lambda: sg.ones(2, 3).sum(1.0), ArgumentError, "axis must be an integer, got 1.0"),
    (lambda: sg.ones(0).max(), ShapeError, "max: zero-size array to a reduction which has no identity"),
    (lambda: sg.ones(2, 0).argmax(1), ShapeError, "argmax: zero-size array to a reduction which has no identity"),
    (lambda: np.squeeze(sg.ones(2, 3), 1), ShapeError, "squeeze: cannot squeeze axis 1 of (2, 3): its extent is not 1"),
    (lambda: sg.ones(2, 3).permute(0, 0), ArgumentError, "permute: (0, 0) is not an order of 2 axes"),
    (lambda: sg.ones(2, 3).expand(4, 3), ShapeError, "broadcast_to: can't broadcast (2, 3) to (4, 3)"),
    (lambda: sg.ones(3).expand(-1, 3), ArgumentError, "expand: -1 is not allowed for a new axis, got (-1, 3) for (3,)"),
    (
        lambda: sg.concatenate([sg.ones(2, 3), sg.ones(2)]),
        ShapeError,
        "concatenate: all operands need the same number of axes",
    ),
    (
        lambda: sg.concatenate([sg.ones(2, 3), sg.ones(2, 4)]),
        ShapeError,
        "concatenate: extents differ away from axis 0",
    ),
    (lambda: sg.concatenate([]), ArgumentError, "concatenate: need at least one operand"),
    (lambda: sg.concatenate(None), ArgumentError, "concatenate: expected a sequence of tensors, got NoneType"),
    (lambda: sg.stack(3), ArgumentError, "stack: expected a sequence of tensors, got int"),
    (lambda: sg.ones(4).split(1.5), ArgumentError, "split: the size is an integer >= 0, or several of them, got 1.5"),
    (lambda: sg.ones(4).split("a"), ArgumentError, "split: the size is an integer >= 0, or several of them, got 'a'"),
    (lambda: sg.ones(4).reshape(None), ArgumentError, "reshape: a shape is a tuple of integers, got None"),
    (lambda: sg.ones(4).flatten("a"), ArgumentError, "axis must be an integer, got 'a'"),
    (lambda: sg.ones(4).flatten(1), ArgumentError, "axis 1 is out of range for 1 axes"),
    (lambda: sg.arange("a"), ArgumentError, "arange: stop has to be a number, got 'a'"),
    (lambda: sg.arange(0, 3, 0), ArgumentError, "arange: step must be nonzero"),
    (lambda: sg.arange(0, inf), ArgumentError, "arange: "),
    (lambda: sg.linspace(0, None), ArgumentError, "linspace: stop has to be a number, got None"),
    (lambda: sg.linspace(0, 1, -1), ArgumentError, "a shape is a tuple of integers >= 0, got (-1,)"),
    (lambda: sg.eye(-1), ArgumentError, "a shape is a tuple of integers >= 0, got (-1, -1)"),
    (lambda: sg.eye("a"), ArgumentError, "a shape is a tuple of integers >= 0, got ('a', 'a')"),
    (lambda: sg.randperm(-1), ArgumentError, "a shape is a tuple of integers >= 0, got (-1,)"),
    (lambda: sg.dropout(sg.ones(2), "a"), ArgumentError, "dropout probability has to be between 0 and 1, but got a"),
    (lambda: functional.pad(sg.ones(2), 3), ArgumentError, "pad: expected numbers of elements (before, after) of axes, got 3"),
    (lambda: functional.pad(sg.ones(2), (1, 1), value="a"), ArgumentError, "pad: value has to be a number, got 'a'"),
    (lambda: functional.layer_norm(sg.ones(2, 3), None), ArgumentError, "a shape is a tuple of integers, got None"),
    (lambda: functional.rms_norm(sg.ones(2, 3), 3.0), ArgumentError, "a shape is a tuple of integers, got 3.0"),
    (lambda: functional.layer_norm(sg.ones(2, 3), 3, "a"), DTypeError, "can't make a tensor of str"),
    (lambda: functional.embedding([0], None), DTypeError, "can't make a tensor of NoneType"),
    (
        lambda: functional.cross_entropy(sg.ones(1, 2), [0], label_smoothing="a"),
        ArgumentError,
        "label_smoothing must be between 0.0 and",
    ),
    (
        lambda: functional.batch_norm(sg.ones(2, 3), [0.0] * 3, [1.0] * 3, training=True),
        ArgumentError,
        "batch_norm: running_mean changes in training: it has to be a tensor, got list",
    ),
    (
        lambda: functional.batch_norm(sg.ones(2, 3), sg.zeros(3), sg.ones(3), training=True, momentum="a"),
        ArgumentError,
        "batch_norm: momentum has to be a number, got 'a'",
    ),
    (
        lambda: functional.scaled_dot_product_attention(*[sg.ones(2, 3)] * 3, scale="a"),
        ArgumentError,
        "scaled_dot_product_attention: scale has to be a number, got 'a'",
    ),
    (lambda: np.split(sg.ones(5), 2), ShapeError, "split: an extent of 5 can't be divided into 2 equal parts"),
    (lambda: sg.flatten(sg.ones(2, 3), 2), ArgumentError, "axis 2 is out of range for 2 axes"),
    (lambda: sg.ones(3)[3], IndexRangeError, "slice: index 3 is out of range for axis 0 with extent 3"),
    (lambda: sg.ones(3)[0, 0], IndexRangeError, "too many indices: 2 for 1 axes"),
    (lambda: sg.ones(3)[[0, 3]], IndexRangeError, "index 3 is out of range for axis 0 with extent 3"),
    (
        lambda: sg.ones(3)[1.5],
        IndexRangeError,
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got float)",
    ),
    (lambda: sg.ones(3)[::0], ArgumentError, "a slice step can't be 0"),
    (lambda: sg.ones(3)[[True, False]], IndexRangeError, "a mask of shape (2,) doesn't fit x of shape (3,)"),
    (lambda: sg.take(sg.ones(3), [1.5], 0), DTypeError, "indices must be integers, got float64"),
    (
        lambda: sg.one_hot(sg.tensor([3]), 3),
        IndexRangeError,
        "index 3 is out of range for axis 0 with extent 3",
    ),
    (lambda: sg.one_hot(sg.tensor([0]), 0), ArgumentError, "one_hot: classes must be a positive integer, got 0"),
    (lambda: sg.tensor([True]) - sg.tensor([True]), DTypeError, "sub: booleans have no arithmetic"),
    (lambda: -sg.tensor([True]), DTypeError, "neg: booleans have no arithmetic"),
    (lambda: sg.ones(2) & sg.ones(2), DTypeError, "& is for booleans, got float32"),
    (lambda: sg.tensor([2]) ** -1, DTypeError, "pow: integers can't be raised to negative powers"),
    (lambda: sg.tensor([1.0]) // 1j, DTypeError, "complex"),
    (lambda: sg.tensor([1.0]) + 10**400, DTypeError, "is out of range for float32"),
    (lambda: sg.tensor([1], dtype="uint8") + 300, DTypeError, "the number 300 is out of range for uint8"),
    (lambda: sg.placeholder("uint8", (1,)) + 300, DTypeError, "the number 300 is out of range for uint8"),
    (lambda: sg.tensor([True]) ** -1, DTypeError, "pow: integers can't be raised to negative powers"),
    (lambda: sg.tensor([True]) ** sg.tensor([-1]), DTypeError, "integers can't be raised to negative powers"),
    (lambda: sg.tensor([1.0]).astype("longdouble"), DTypeError, "dtype float128 is not supported"),
    (lambda: sg.tensor([1.0]).astype("nonsense"), DTypeError, "'nonsense' is not a dtype"),
    (lambda: sg.outer(sg.ones(2, 2), sg.ones(2)), ShapeError, "outer: operands have one axis"),
    (lambda: sg.clip(sg.ones(2), sg.ones(3)), ShapeError, "clip: shapes don't broadcast, (2,) and (3,) and ()"),
]


@pytest.mark.parametrize(("fn", "error", "text"), ERRORS, ids=[e[2][:40] for e in ERRORS])
def test_error_texts(fn: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        fn()
    assert text in caught.value.summary
    assert caught.value.where is not None
    assert caught.value.where.file == __file__, "the user's line"


@pytest.mark.parametrize(
    "way",
    [
        lambda x: sg.clamp(x), lambda x: sg.clip(x), lambda x: x.clamp(), lambda x: x.clip(None, None),
        lambda x: sg.clamp(x, min=None, max=None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["eager", "compiled", "graph"])
def test_clamp_needs_a_bound(way, kind):
    runs = {"eager": lambda: way(sg.ones(2)), "compiled": lambda: sg.compile(way)(sg.ones(2)), "graph": lambda: in_a_graph(way)}
    with pytest.raises(ArgumentError) as caught:
        runs[kind]()
    assert caught.value.summary == "torch.clamp: At least one of 'min' or 'max' must not be None"


def in_a_graph(way):
    with sg.Graph().as_default():
        way(sg.placeholder(sg.float32, (2,)))


def test_clamp_in_place_needs_a_bound():
    with pytest.raises(ArgumentError, match="At least one of 'min' or 'max' must not be None"):
        sg.ones(2).clamp_()


@pytest.mark.parametrize("other", ["a", None, [1.0], (1.0,)])
def test_what_is_no_operand_of_an_operator(other):
    """As in PyTorch, so that a class of the user's is asked for its side of the operator."""
    with pytest.raises(TypeError, match=rf"unsupported operand type\(s\) for \+: 'Tensor' and '{type(other).__name__}'"):
        sg.tensor([1.0]) + other
