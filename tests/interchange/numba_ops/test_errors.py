"""What an op of a function under `@njit` refuses, and how it says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import staticgrad as sg

njit = numba.njit


@njit
def product(x, w):
    return x * w


@njit
def same(x):
    return x


@njit
def writes(x):
    x[0] = 1.0
    return x


@njit
def undefined(x):
    return absent(x)  # noqa: F821


@njit
def shorter(x):
    return x[:-1]


@njit
def perhaps(x):
    if x > 0:
        return x
    return None


@njit
def text(x):
    return "a"


@njit
def mixed(x):
    return x, 1


@njit
def drawn(x):
    return x * np.random.rand()


@njit
def by_python(x):
    with numba.objmode(y="float64"):
        y = float(np.sum(x))
    return y


@njit("f8(f8,i8)")
def declared(x, n):
    return x**n


@njit
def halved(x):
    while x > 1:
        x = x / 2
    return x


@njit
def indexed(x):
    table = np.zeros(3)
    table[0] = x
    return table[0]


def vector(fn: Any, **options: Any) -> Callable[..., Any]:
    return sg.njit_op(fn, signature="(n)->(n)", **options)


def gradient(op: Callable[..., Any], *operands: Any) -> Any:
    x = sg.ones(3, requires_grad=True)
    return sg.grad(op(x, *operands).sum(), x)


REFUSED = {
    "no njit function": (lambda: sg.njit_op(lambda x: x), "ArgumentTypeError", "njit_op takes a function under numba.njit"),
    "vectorize": (lambda: sg.njit_op(numba.vectorize(lambda x: x)), "ArgumentTypeError", "it needs no numba.vectorize"),
    "object mode": (lambda: sg.njit_op(by_python)(sg.ones(3)), "CompileError", "by_python: it runs in object mode"),
    "random": (lambda: sg.njit_op(drawn)(sg.ones(3)), "CompileError", "it draws random numbers"),
    "operands by signature": (lambda: vector(product), "ArgumentError", "its signature has 1 operands, and the function 2"),
    "any number": (lambda: sg.njit_op(njit(lambda *a: a[0])), "ArgumentError", "each parameter is an operand"),
    "no signature": (lambda: sg.njit_op(same, signature="n"), "ArgumentError", "no signature: 'n'"),
    "unknown axis": (lambda: sg.njit_op(same, signature="(n)->(m)"), "ArgumentError", "no operand has the axis m"),
    "both": (lambda: vector(same, shape=lambda x: x), "ArgumentError", "a signature or shape=, not both"),
    "no vjp": (lambda: sg.njit_op(same, vjp="trace"), "ArgumentTypeError", "vjp= is a function"),
    "an operand is missing": (lambda: sg.njit_op(product)(1.0), "ArgumentTypeError", "missing a required argument: 'w'"),
    "too few axes": (lambda: vector(same)(1.0), "ShapeError", "an operand (n) has at least 1 axes"),
    "extents": (
        lambda: sg.njit_op(njit(lambda x, y: x + y), signature="(n),(n)->(n)")(sg.ones(3), sg.ones(4)),
        "ShapeError",
        "n is 3 and 4",
    ),
    "batches": (lambda: sg.njit_op(product)(sg.ones(3), sg.ones(4)), "ShapeError", "shapes don't broadcast"),
    "complex": (lambda: sg.njit_op(same)(sg.ones(3).to(sg.complex64)), "DTypeError", "an operand is complex64"),
    "declared": (lambda: sg.njit_op(declared)(1.0, 2.5), "DTypeError", "declared is declared for (float64, int64)"),
    "declared ranks": (
        lambda: sg.njit_op(njit("f8(f8[:])")(lambda x: x.sum())),
        "ShapeError",
        "is declared for operands of [1] axes",
    ),
    "it writes": (lambda: vector(writes)(sg.ones(3)), "CompileError", "operands can't be written: return what is new"),
    "an example": (lambda: vector(writes, example=[sg.ones(3)]), "CompileError", "operands can't be written"),
    "undefined": (lambda: sg.njit_op(undefined)(1.0), "CompileError", "name 'absent' is not defined"),
    "another rank": (lambda: sg.njit_op(shorter, signature="(n)->()")(sg.ones(3)), "ShapeError", "an array of 1 axes"),
    "no result": (lambda: sg.njit_op(perhaps)(1.0), "CompileError", "is neither a number nor an array of numbers"),
    "a text": (lambda: sg.njit_op(text)(1.0), "CompileError", "is neither a number nor an array of numbers"),
    "several dtypes": (lambda: sg.njit_op(mixed)(1.0), "DTypeError", "results of several dtypes: float32, int64"),
    "shape=": (lambda: sg.njit_op(same, shape=lambda x: 3)(sg.ones(3)), "ShapeError", "shape= has to give a tuple"),
    "no derivative": (lambda: gradient(vector(same)), "GradientError", "same has no derivative"),
    "a loop": (lambda: gradient(sg.njit_op(halved)), "GradientError", "a loop that values end?"),
    "an element": (lambda: gradient(sg.njit_op(indexed)), "GradientError", "it needs the value of a number"),
    "cotangents": (
        lambda: gradient(sg.njit_op(product, vjp=lambda g, x, w: g), 2.0),
        "GradientError",
        "gives 1 cotangents for 2 operands",
    ),
    "a cotangent": (
        lambda: gradient(sg.njit_op(product, vjp=lambda g, x, w: (sg.ones(7), None)), 2.0),
        "GradientError",
        "a cotangent of shape (7,) for operand 0 of shape (3,)",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, kind, message = REFUSED[name]
    with pytest.raises(getattr(sg, kind), match=re.escape(message)):
        call()


@pytest.mark.parametrize("function", [writes, undefined, perhaps, mixed, shorter])
def test_errors_name_the_functions_line(function):
    with pytest.raises(sg.StaticgradError) as caught:
        sg.njit_op(function, signature="(n)->()" if function is shorter else None)(sg.ones(3))
    assert caught.value.where.file == __file__
    assert caught.value.where.line == function.py_func.__code__.co_firstlineno


# what the function raises ---------------------------------------------------------------------------------------------------


@njit
def checked(x, y):
    if y < 0:
        raise ValueError("negative", y)
    return x / y


@njit
def checked_sum(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0:
            raise KeyError(i)
        total += x[i]
    return total


def run(mode: str, op: Callable[..., Any], *arrays: np.ndarray) -> Any:
    if mode == "eager":
        return op(*arrays)
    if mode == "session":
        with sg.Graph().as_default(), sg.Session() as session:
            xs = [sg.placeholder(a.dtype, a.shape) for a in arrays]
            return session.run(op(*xs), dict(zip(xs, arrays, strict=True)))
    return sg.compile(op, wait=True, **({"numerics": "strict"} if mode == "strict" else {}))(*arrays)


ONES = np.ones(3, "float32")


@pytest.mark.parametrize("mode", ["eager", "compile", "strict", "session"])
def test_exceptions_of_the_function(mode):
    op = sg.njit_op(checked)
    with pytest.raises(ValueError, match="negative") as caught:
        run(mode, op, ONES, np.array([1, -2, -3], "float32"))
    assert caught.value.args == ("negative", -2.0)
    assert "in checked (test_errors.py" in caught.value.__notes__[0]
    assert "item 1 of the batch" in caught.value.__notes__[0]
    with pytest.raises(ZeroDivisionError):
        run(mode, op, ONES, np.array([1, 2, 0], "float32"))
    np.testing.assert_array_equal(run(mode, op, ONES, ONES), ONES)


@pytest.mark.parametrize("mode", ["eager", "compile", "strict", "session"])
def test_exceptions_of_a_function_of_arrays(mode):
    op = sg.njit_op(checked_sum, signature="(n)->()")
    with pytest.raises(KeyError) as caught:
        run(mode, op, np.array([[1, 2], [3, -4]], "float32"))
    assert caught.value.args == (1,)


@pytest.mark.parametrize("mode", ["eager", "compile", "session"])
def test_a_result_of_another_shape(mode):
    with pytest.raises(sg.ShapeError, match=r"shorter gives shape \(2,\), and it is declared as \(3,\)"):
        run(mode, vector(shorter), ONES)


def test_nothing_is_changed_by_a_run_that_fails():
    op = sg.njit_op(checked)
    w = sg.tensor([1.0, 2.0, 3.0])

    @sg.compile(wait=True)
    def step(y):
        w.mul_(2)
        return op(w, y)

    step(sg.ones(3))
    assert w.tolist() == [2, 4, 6]
    with pytest.raises(ValueError, match="negative"):
        step(-sg.ones(3))
    assert w.tolist() == [2, 4, 6]


def test_a_handler_of_the_function_catches():
    op = sg.njit_op(checked)

    @sg.compile
    def step(x, y):
        try:
            return op(x, y)
        except ValueError:
            return x * 0

    assert step(sg.ones(2), sg.ones(2)).tolist() == [1, 1]
    assert step(sg.ones(2), -sg.ones(2)).tolist() == [0, 0]


@pytest.mark.parametrize("compiled", [False, True])
def test_exceptions_in_loops_and_branches(compiled):
    op = sg.njit_op(njit(lambda x: 1 / x))

    def loop(x):
        return sg.while_loop(lambda v: v.sum() < 100, lambda v: (op(v - 1.0),), (x,))[0]

    def branch(x):
        return sg.cond(x.sum() > 0, lambda: op(x * 0), lambda: x)

    for fn in (loop, branch):
        with pytest.raises(ZeroDivisionError):
            (sg.compile(fn) if compiled else fn)(sg.ones(3))
    assert (sg.compile(branch) if compiled else branch)(-sg.ones(3)).tolist() == [-1, -1, -1]
