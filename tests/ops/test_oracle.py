"""PyTorch as judge of every op's corners: dtypes, empty and 0-d operands, layouts, special values, second gradients.

`pytest -m oracle`, where torch is installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional
from staticgrad.base.dtypes import DTYPES
from tests.helpers import assert_close, rng_of
from tests.ops.elementwise_cases import ELEMENTWISE
from tests.ops.test_pointwise import SAVING, SAVING_NOTHING
from tests.ops.test_special import PAIRS, VALUES

pytestmark = pytest.mark.oracle


# one table of programs, of both libraries -----------------------------------------------------------------------------


def named(*names: str) -> dict[str, Callable[..., Any]]:
    return {name: lambda m, *xs, name=name: getattr(m, name)(*xs) for name in names}


def method(name: str, *args: Any) -> Callable[..., Any]:
    return lambda m, x: getattr(x, name)(*args)


def of(theirs: str, mine: str) -> Callable[..., Any]:
    """A function that has another name here."""
    return lambda m, *args: getattr(m, mine if m is sg else theirs)(*args)


UNARY: dict[str, Callable[..., Any]] = {
    **named(*(row.name for row in ELEMENTWISE if row.operands == 1)),
    **named("logical_not", "rsqrt", "ones_like", "zeros_like"),
    **{f"{name} over all": method(name) for name in ("sum", "mean", "max", "min", "argmax", "argmin", "norm")},
    **{
        f"{name} along {axis}": method(name, axis)
        for name in ("sum", "mean", "argmax", "argmin", "logsumexp", "softmax", "log_softmax", "cumsum")
        for axis in (0, -1)
    },
    "max along 0": lambda m, x: x.max(0)[0],
    "T": lambda m, x: x.T if x.ndim == 2 else x,
    **{name: method(name, -1) for name in ("reshape", "unsqueeze")},
    **{name: method(name) for name in ("flatten", "squeeze")},
    "expand": lambda m, x: x.expand(2, *x.shape),
    "x[[0, 0]]": lambda m, x: x[[0, 0]],
    "x[1:]": lambda m, x: x[1:],
    "x[::2]": lambda m, x: x[::2],
    "x[x > 0]": lambda m, x: x[x > 0],
    "x[-1]": lambda m, x: x[-1],
    "x[None]": lambda m, x: x[None],
    "x[..., 0]": lambda m, x: x[..., 0],
    "x[True]": lambda m, x: x[True],
    "x[..., mask]": lambda m, x: x[..., x.reshape(-1)[: x.shape[-1]] > 0],
    **{
        f"clamp {low}, {high}": lambda m, x, low=low, high=high: x.clamp(low, high)
        for low, high in ((0, 1), (1, None), (0.5, 1.5), (None, 0.5))
    },
    "masked_fill": lambda m, x: x.masked_fill(x > 0, 0),
    "masked_fill by a float": lambda m, x: x.masked_fill(x > 0, 1.5),
    "where": lambda m, x: m.where(x > 0, x, x * x),
    "where, int": lambda m, x: m.where(x > 0, 1, x),
    "where, float": lambda m, x: m.where(x > 0, x, 0.5),
    **{f"x ** {p!r}": lambda m, x, p=p: x**p for p in (0, 1, 2, 3, 0.5, 2.0)},
    "2.0 ** x": lambda m, x: 2.0**x,
    "x + True": lambda m, x: x + True,
    "x + 1": lambda m, x: x + 1,
    "x + 0.5": lambda m, x: x + 0.5,
    "1 - x": lambda m, x: 1 - x,
    "x * True": lambda m, x: x * True,
    "x / 2": lambda m, x: x / 2,
    "1 / x": lambda m, x: 1 / x,
    "x // 2": lambda m, x: x // 2,
    "x % 2": lambda m, x: x % 2,
    "x // 0.5": lambda m, x: x // 0.5,
    "x % 0.75": lambda m, x: x % 0.75,
    "x == 1": lambda m, x: x == 1,
    "x < 0.5": lambda m, x: x < 0.5,
    "x >= True": lambda m, x: x >= True,
    "True ^ (x > 0)": lambda m, x: True ^ (x > 0),
    "~(x > 0)": lambda m, x: ~(x > 0),
    "concatenate": lambda m, x: of("cat", "concatenate")(m, [x, x]),
    "stack": lambda m, x: m.stack([x, x], -1),
    "float": method("float"),
    "long": method("long"),
    "bool": method("bool"),
}
BINARY: dict[str, Callable[..., Any]] = {
    **named("add", "sub", "mul", "div", "maximum", "minimum", "floor_divide", "remainder", "eq", "ne", "lt", "le", "gt", "ge"),
    **named("logical_and", "logical_or", "logical_xor", *(row.name for row in ELEMENTWISE if row.operands == 2)),
    "outer": lambda m, x, y: m.outer(x.reshape(-1), y.reshape(-1)),
    "dot": lambda m, x, y: m.dot(x.reshape(-1), y.reshape(-1)),
    "concatenate": lambda m, x, y: of("cat", "concatenate")(m, [x, y]),
}
MATRICES: dict[str, Callable[..., Any]] = {
    "matmul": lambda m, x, y: x.T @ y,
    "einsum": lambda m, x, y: m.einsum("ij,ij->i", x, y),
    "einsum to a number": lambda m, x, y: m.einsum("ij,ij->", x, y),
    "einsum of one": lambda m, x, y: m.einsum("ij->j", x),
}

SHAPES = [(2, 3), (0, 3), (3, 0), (1,), (), (1, 1), (5,)]
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "row-major": lambda a: a,
    "column-major": lambda a: np.ascontiguousarray(a.T).T,
    "reversed": lambda a: a[::-1].copy()[::-1],
    "every other": lambda a: np.repeat(a, 2, 0)[::2],
}


def drawn(shape: tuple[int, ...], dtype: np.dtype, seed: str) -> np.ndarray:
    a = np.asarray(rng_of(seed).integers(-3, 4, shape))
    if dtype.kind == "b":
        return a > 0
    return np.abs(a).astype(dtype) if dtype.kind == "u" else (a + (0.25 if dtype.kind == "f" else 0)).astype(dtype)


NO_BOOLEANS = "sign", "square"
"""Of booleans they raise here."""


def compare(torch: Any, fn: Callable[..., Any], arrays: list[np.ndarray], what: str) -> None:
    """Where PyTorch has a result, there is the same one here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = fn(torch, *(torch.tensor(a.copy()) for a in arrays)).numpy()
        except (RuntimeError, IndexError, ZeroDivisionError, TypeError):
            return  # fewer dtypes, or shapes, than here
    if arrays[0].dtype == bool and fn is MATRICES["matmul"]:
        return  # booleans have no arithmetic here
    found = fn(sg, *map(sg.as_tensor, arrays)).numpy()
    if expected.size == 0 and found.dtype != expected.dtype:
        found = found.astype(expected.dtype)  # PyTorch looks at dtypes less closely where there are no elements
    assert_close(found, expected, 1e-5, what=what)


@pytest.mark.parametrize("dtype", list(map(str, DTYPES)))
@pytest.mark.parametrize("name", UNARY)
def test_of_one_operand(torch: Any, name: str, dtype: str):
    if dtype == "bool" and name in NO_BOOLEANS:
        return
    for shape in SHAPES:
        for layout in LAYOUTS if len(shape) == 2 else ("row-major",):
            x = LAYOUTS[layout](drawn(shape, np.dtype(dtype), "x"))
            compare(torch, UNARY[name], [x], f"{shape} {layout}")


@pytest.mark.parametrize("dtype", list(map(str, DTYPES)))
@pytest.mark.parametrize("name", [*BINARY, *MATRICES])
def test_of_two_operands(torch: Any, name: str, dtype: str):
    for other in DTYPES if name in BINARY else [np.dtype(dtype)]:
        for shape in SHAPES if name in BINARY else [s for s in SHAPES if len(s) == 2]:
            arrays = [drawn(shape, np.dtype(dtype), "x"), drawn(shape, other, "y")]
            compare(torch, {**BINARY, **MATRICES}[name], arrays, f"{shape} {other}")


# special values -------------------------------------------------------------------------------------------------------

SPECIAL: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    **{
        name: (fn, [VALUES])
        for name, fn in named(
            *("rsqrt", *(row.name for row in ELEMENTWISE if row.operands == 1 and row.name not in ("isnan", "isfinite"))),
        ).items()
    },
    **{name: (fn, PAIRS) for name, fn in named("add", "sub", "mul", "div", "pow", "maximum", "minimum").items()},
    "clamp": (lambda m, x: x.clamp(-0.5, 0.5), [VALUES]),
    "clamp by NaN": (lambda m, x: x.clamp(min=np.nan), [VALUES]),
    **{
        f"{name} of {row}": (lambda m, x, name=name: getattr(x, name)(), [np.array(row)])
        for name in ("sum", "mean", "max", "min", "norm")
        for row in ([-0.0, -0.0], [1, np.nan, np.nan, 2], [np.inf, np.inf], [-np.inf, np.inf], [3.0, 1, 3, 1], [0.0, 0.0])
    },
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_and_gradients(torch: Any, name: str):
    fn, arrays = SPECIAL[name]
    mine = [sg.tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, expected = fn(sg, *mine), fn(torch, *theirs)
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-12, err_msg="value")
    for a, b in zip(sg.grad(y.sum(), mine), torch.autograd.grad(expected.sum(), theirs), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, err_msg="gradient")


# second gradients -----------------------------------------------------------------------------------------------------


def torchs(torch: Any, fn: Any, x: Any) -> Any:
    """A program of the tables of `test_pointwise`, which names functions of this library, in PyTorch."""
    same = (
        *("max_pool1d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "pad", "leaky_relu", "hardtanh", "relu6"),
        *("hardshrink", "softshrink", "threshold"),
    )
    names = {name: getattr(torch.nn.functional, name) for name in same}
    names["nll_loss"] = lambda x, target: torch.nn.functional.nll_loss(x, torch.tensor(target))
    with pytest.MonkeyPatch.context() as patch:
        for name, function in names.items():
            patch.setattr(functional, name, function)
        for name in ("maximum", "where"):
            patch.setattr(sg.operators.F, name, lambda *args, name=name: getattr(torch, name)(*map(torch.as_tensor, args)))
        return fn(x)


@pytest.mark.parametrize("name", [*SAVING, *SAVING_NOTHING])
def test_which_gradients_require_grad(torch: Any, name: str):
    fn, array = {**SAVING, **SAVING_NOTHING}[name]
    x, t = sg.tensor(array, requires_grad=True), torch.tensor(array, requires_grad=True)
    (first,) = sg.grad(fn(x).sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad(torchs(torch, fn, t).sum(), t, create_graph=True)
    assert_close(first.detach().numpy(), expected.detach().numpy(), 1e-12)
    assert first.requires_grad == expected.requires_grad == (name in SAVING)
    if expected.requires_grad:
        (second,) = sg.grad(first.sum(), x)
        assert_close(second.numpy(), (torch.autograd.grad(expected.sum(), t)[0] * 1).numpy(force=True), 1e-12)


# to PyTorch and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", ["as_tensor", "tensor", "from_dlpack"])
def test_conversion_to_torch(torch: Any, convert: str):
    for x in (sg.tensor([1.0, 2.0]), sg.tensor([[1], [2]]), sg.tensor(2.0), sg.tensor([True]), sg.ones(0, 3)):
        found = getattr(torch, convert)(x)
        assert_close(found.numpy(), x.numpy())
    with pytest.raises(sg.GradientError, match="Can't export tensors that require gradient"):
        getattr(torch, convert)(sg.ones(2, requires_grad=True))
