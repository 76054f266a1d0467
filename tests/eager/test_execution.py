"""How an op is run: short paths and the general one, plans of promotion, numbers, ops inside ops."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import Tensor
from staticgrad.eager.calls.fast_ops import BINARY, REFLECTED, UNARY, UNARY_OPERATORS
from staticgrad.eager.execution import number
from staticgrad.errors import StaticgradError
from staticgrad.ir import OpDef
from staticgrad.operators import F, apply
from tests.helpers import assert_close

X = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4))


ELEMENTWISE = {name: dunder for name, dunder in BINARY.items() if name != "matmul"}


def short_paths() -> list[tuple[str, Any, Any]]:
    """What it is, the method, and the same by the general path."""
    rows: list[tuple[str, Any, Any]] = []
    for name, dunder in ELEMENTWISE.items():
        rows.append((name, lambda x, n=name: getattr(x, n)(x * 2), lambda x, n=name: getattr(F, n)(x, F.mul(x, 2))))
        rows.append((f"{name} 2.5", lambda x, d=dunder: getattr(x, d)(2.5), lambda x, n=name: getattr(F, n)(x, 2.5)))
    for name, dunder in REFLECTED.items():
        rows.append((f"3 {name}", lambda x, d=dunder: getattr(x, d)(3), lambda x, n=name: getattr(F, n)(3, x)))
    for name in (*UNARY, *UNARY_OPERATORS):
        rows.append((name, lambda x, n=name: getattr(x, n)(), lambda x, n=name: getattr(F, n)(x)))
    for name in ("sum", "mean", "amax", "amin"):
        for axis in (None, 0, -1, (0, 1)):
            rows.append(
                (
                    f"{name} {axis}",
                    lambda x, n=name, a=axis: getattr(x, n)(a, keepdims=True),
                    lambda x, n=name, a=axis: getattr(F, n)(x, a, True),
                )
            )
    for name in ("softmax", "log_softmax"):
        rows.append((name, lambda x, n=name: getattr(x, n)(0), lambda x, n=name: getattr(F, n)(x, 0)))
    return rows


SHORT = [
    *short_paths(),
    ("matmul", lambda x: x @ x.T, lambda x: F.matmul(x, F.permute(x))),
    ("T", lambda x: x.T, F.permute),
    ("reshape", lambda x: x.reshape(2, -1), lambda x: F.reshape(x, (2, 6))),
    ("reshape tuple", lambda x: x.reshape((2, 6)), lambda x: F.reshape(x, (2, 6))),
    ("x[1]", lambda x: x[1], lambda x: F.getitem(x, 1)),
    ("x[1:]", lambda x: x[1:], lambda x: F.getitem(x, slice(1, None))),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "short", "general"), SHORT, ids=[s[0] for s in SHORT])
def test_short_paths_do_what_the_general_one_does(name, short, general, dtype):
    x = sg.tensor(X.astype(dtype), requires_grad=True)
    a, b = short(x), general(x)
    assert_close(a.detach().numpy(), b.detach().numpy(), what=name)
    assert a.requires_grad == b.requires_grad
    assert a.is_view == b.is_view
    if a.grad_fn is not None:
        assert a.grad_fn.name() == b.grad_fn.name()
        assert dict(a.grad_fn.attrs) == dict(b.grad_fn.attrs)
        (g,), (h,) = sg.grad(a.sum(), x), sg.grad(b.sum(), x)
        assert_close(g.numpy(), h.numpy(), what=f"gradient of {name}")
    with sg.no_grad():
        assert not short(x).requires_grad


@pytest.mark.parametrize(
    "make", [lambda x: x + x.long(), lambda x: x.long() + 1.5, lambda x: x + np.ones(4), lambda x: x * True]
)
def test_other_operands_take_the_general_path(make):
    x = sg.tensor(X.astype(np.float32), requires_grad=True)
    y = make(x)
    assert_close(y.detach().numpy(), np.asarray(make(_Array(x.detach().numpy()))).astype(y.dtype), 1e-6)


class _Array(np.ndarray):
    """An array with PyTorch's `long`."""

    def __new__(cls, a: np.ndarray) -> Any:
        return a.view(cls)

    def long(self) -> np.ndarray:
        return np.asarray(self).astype(np.int64)


def test_numbers_keep_their_sign_and_kind():
    """Numbers are kept by value and type: 0.0 == -0.0 and 1 == True must not share a tensor."""
    one = sg.tensor([1.0])
    assert (one / -0.0).item() == -np.inf
    assert (one / 0.0).item() == np.inf
    assert np.signbit((sg.tensor([-0.0]) * 1.0).item())
    assert number(1, np.dtype(np.float32)) is number(1, np.dtype(np.float32))
    assert number(1, np.dtype(np.float32)).dtype != number(1, np.dtype(np.float64)).dtype
    assert (one * 1e-40).dtype == np.float32
    assert (one * 1e300).item() == np.inf


def test_numbers_are_never_changed_in_place():
    x = sg.zeros((), requires_grad=True)
    y = x + 2
    operand = y.grad_fn.inputs[1]
    assert not operand.numpy().flags.writeable


def test_the_default_dtype_is_asked_each_time():
    x = sg.tensor([1, 2])
    assert (x * 0.5).dtype == np.float32
    sg.set_default_dtype("float64")
    try:
        assert (x * 0.5).dtype == np.float64
        assert F.where(x > 1, 1.0, 0.0).dtype == np.float64
    finally:
        sg.set_default_dtype("float32")
    assert F.where(x > 1, 1.0, 0.0).dtype == np.float32


def test_zero_dimensional_tensors_promote_each_time():
    """What is remembered follows from dtypes alone; whether an operand has axes is looked at again."""
    wide, narrow = sg.ones(2, dtype=sg.float64), sg.ones(2)
    assert (narrow * wide).dtype == np.float64
    assert (narrow * sg.tensor(1.0, dtype=sg.float64)).dtype == np.float32
    assert (narrow * wide).dtype == np.float64
    assert (sg.tensor(1.0) * wide).dtype == np.float64


@pytest.mark.parametrize(
    "inner", [lambda t: t.exp() + 1, lambda t: t.sum(0, keepdims=True) * t, lambda t: t.softmax(), lambda t: F.clip(t, 0)]
)
def test_an_op_may_be_made_of_eager_ops(inner):
    op = OpDef("made", infer=lambda x: x, eval=lambda x: inner(Tensor(x))._data)
    x = Tensor(X)
    assert_close(apply(op, x).numpy(), inner(x).numpy())


def test_errors_of_an_eval_stay_themselves():
    def fail(x: np.ndarray) -> np.ndarray:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        apply(OpDef("failing", infer=lambda x: x, eval=fail), Tensor(X))


def test_no_warnings():
    """NumPy's floating-point warnings are not PyTorch's way; NaN and infinity are values."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = sg.tensor([0.0, -1.0, np.inf], requires_grad=True)
        y = x.log() + x.sqrt() + x / x + (x * 1e38 * 10).exp() + x.mean() + x.float().long()
        y.sum().backward()
        sg.ones(2).double().mul(1e300).float()
        sg.ones(0).mean()


def test_errors_name_op_shapes_and_line():
    h, w = sg.ones(32, 784), sg.ones(128, 10)
    with pytest.raises(sg.ShapeError) as caught:
        h @ w  # the product
    text = str(caught.value)
    assert text.splitlines()[0] == "matmul: inner sizes differ, (32, 784) @ (128, 10)"
    assert "test_execution.py" in text.splitlines()[1]
    assert "# the product" in text.splitlines()[1]
    assert "the right operand would need shape (784, 10)" in text
    assert isinstance(caught.value, (StaticgradError, ValueError))


def test_eager_programs_import_no_compiler():
    program = (
        "import sys, staticgrad as sg\n"
        "x = sg.ones(3, 3, requires_grad=True); ((x @ x).tanh().softmax() * x).sum().backward()\n"
        "with sg.no_grad(): x -= 0.1 * x.grad\n"
        "print([m for m in ('llvmlite', 'networkx', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
