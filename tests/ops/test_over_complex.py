"""Ops over complex numbers: gradients to second order, both modes of a graph, transforms, refusals."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import func
from staticgrad.autograd import gradcheck, gradgradcheck
from staticgrad.errors import DTypeError
from staticgrad.ir import REGISTRY, Expand, Pointwise, over
from tests.helpers import assert_close

close = functools.partial(assert_close, rtol=None)

EYE, C64 = np.eye(2), np.dtype("complex64")
CASES: dict[str, Any] = {
    "sums": lambda x, y: x + 2 * y - x.real,
    "products": lambda x, y: x * y.conj() / (y + 3),
    "powers": lambda x, y: x**y + x**3 + x.square() * y.reciprocal(),
    "elementary": lambda x, y: (x.exp() + y.log() + x.sqrt()) * (y.sin() + x.cos() + y.tan()),
    "hyperbolic": lambda x, y: x.tanh() * y.cosh() + x.sinh() + y.sigmoid(),
    "inverse functions": lambda x, y: x.asin() + y.acos() + x.atan() + y.asinh() + x.acosh() + y.atanh(),
    "logarithms": lambda x, y: x.log2() + y.log10() + x.log1p() + y.expm1() + x.exp2(),
    "parts": lambda x, y: abs(x) * y.imag + x.angle() - y.real,
    "signs": lambda x, y: (x * y).sgn(),
    "pairs": lambda x, y: sg.view_as_complex(sg.view_as_real(x) ** 2) * sg.polar(abs(y), x.real),
    "matrix products": lambda x, y: x @ y.mH + sg.einsum("ij,kj->ik", x, y),
    "reductions": lambda x, y: (x * y).sum(0) + x.mean(1) + y.prod(0) + x.cumprod(1)[0] + y.cumsum(0)[1],
    "logarithms of sums": lambda x, y: x.logsumexp(0) + y.logcumsumexp(1)[0] + sg.logaddexp(x, y)[1],
    "moments and norms": lambda x, y: x.var() + sg.linalg.norm(y) + x.std(0).sum(),
    "moves": lambda x, y: sg.cat([x.T, y[[1, 0, 1]]]).reshape(2, 5) * sg.stack([x, y])[0, 0, 1],
    "choices": lambda x, y: sg.where(y.real > 0, x, y) + sg.nn.functional.pad(x, (1, 0))[:, :2],
    "solutions": lambda x, y: sg.linalg.solve(x, y) + sg.linalg.inv(y),
    "determinants": lambda x, y: sg.stack([sg.linalg.det(x), *sg.linalg.slogdet(y)]),
    "cholesky": lambda x, y: sg.linalg.cholesky(x @ x.mH + 3 * EYE),
    "decompositions": lambda x, y: sg.linalg.eigvalsh(x @ x.mH) + sg.linalg.svdvals(y) + abs(sg.linalg.eigvals(x)),
    "factors": lambda x, y: sg.linalg.qr(x)[1] + sg.linalg.lu(y)[1] + sg.linalg.pinv(x),
    "convolution": lambda x, y: sg.nn.functional.conv1d(x[None], y[:, None, :1].expand(2, 2, 1)),
}
"""Functions of two matrices of complex numbers, of two rows and columns."""


def draw(seed: int, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


X, Y = draw(0, 2, 2), draw(1, 2, 2)


def leaves() -> list[Any]:
    return [sg.tensor(v, requires_grad=True) for v in (X, Y)]


@pytest.mark.filterwarnings("ignore:Input #:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_gradients(name):
    assert gradcheck(CASES[name], leaves())
    assert gradgradcheck(CASES[name], leaves())


@pytest.mark.parametrize("name", CASES)
def test_forward_mode_and_many_samples(name):
    f = CASES[name]
    x, y, t, u = (sg.tensor(v) for v in (X, Y, draw(2, 2, 2), draw(3, 2, 2)))
    out, tangent = func.jvp(f, (x, y), (t, u))
    step = 1e-6
    assert tangent.dtype == out.dtype
    numerical = (f(x + step * t, y + step * u) - f(x - step * t, y - step * u)) / (2 * step)
    np.testing.assert_allclose(tangent.numpy(), numerical.numpy(), rtol=1e-6, atol=1e-7)
    xs, ys = sg.tensor(draw(4, 3, 2, 2)), sg.tensor(draw(5, 3, 2, 2))
    close(func.vmap(f)(xs, ys), sg.stack([f(a, b) for a, b in zip(xs, ys, strict=True)]).numpy(), rtol=1e-12)


IN_ALL_MODES = ("products", "powers", "elementary", "parts", "signs", "pairs", "matrix products", "reductions", "moves",
                "choices", "solutions")  # fmt: skip


def everything(x: Any, y: Any, gradients: Any) -> list[Any]:
    """Values and gradients of cases."""
    results = []
    for name in IN_ALL_MODES:
        out = CASES[name](x, y)
        loss = sg.sum(abs(out) ** 2)
        results += [out, *gradients(loss, [x, y])]
    return results


def test_modes_agree():
    def step(x: Any, y: Any) -> list[Any]:
        return everything(x, y, lambda loss, xs: [
            sg.zeros_like(x) if g is None else g for x, g in zip(xs, sg.grad(loss, xs, allow_unused=True), strict=True)
        ])  # fmt: skip

    expected = [r.detach().numpy() for r in step(*leaves())]
    compiled = sg.compile(step)
    compiled(*leaves())
    for mine, theirs in zip(compiled(*leaves()), expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine.detach(), theirs, rtol=1e-9, atol=1e-12)
    assert not any(row.kind == "host" for row in compiled.plan.instructions)
    with sg.Graph().as_default(), sg.Session() as session:
        x, y = sg.placeholder(sg.complex128, [2, 2]), sg.placeholder(sg.complex128, [2, 2])
        fetches = everything(x, y, lambda loss, xs: [
            sg.zeros_like(x) if g is None else g for x, g in zip(xs, sg.gradients(loss, xs), strict=True)
        ])  # fmt: skip
        for mine, theirs in zip(session.run(fetches, {x: X, y: Y}), expected, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


def test_a_record_of_its_own():
    mul, made = REGISTRY["mul"], over(REGISTRY["mul"], C64)
    assert made is over(made, C64) is not mul
    assert made.plain is mul
    assert (made.name, made.grad_name(None), type(made.emit)) == (mul.name, mul.grad_name(None), Expand)
    assert over(REGISTRY["reshape"], C64) is REGISTRY["reshape"]  # it moves values of any dtype


def test_elementwise_ops_are_written_in_parts_or_run_on_the_host():
    """Only `real`, `imag` and `complex` meet numbers of two parts in a kernel."""
    in_kernels = set()
    for op in REGISTRY.values():
        if isinstance(op.emit, Pointwise) and dataclasses.is_dataclass(op):
            try:
                made = over(op, C64)
            except DTypeError:
                continue
            if isinstance(made.emit, Pointwise):
                in_kernels.add(op.name)
    assert in_kernels == {"real", "imag", "complex"}


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z < z, lambda z: z.max(), lambda z: z.argmax(), lambda z: z.floor(), lambda z: sg.maximum(z, z),
        lambda z: z.sort(), lambda z: sg.relu(z), lambda z: z.clamp(0, 1), lambda z: z // 2, lambda z: z % 2,
        lambda z: z.sign(), lambda z: z.softmax(0), lambda z: z.median(), lambda z: z.trunc(), lambda z: sg.lgamma(z),
        lambda z: z.isposinf(), lambda z: sg.cosine_similarity(z, z), lambda z: sg.set_default_dtype(z.dtype),
    ],
)  # fmt: skip
def test_refusals(call):
    with pytest.raises(DTypeError, match="complex"):
        call(sg.tensor(X))
    with pytest.raises(DTypeError, match="complex"), sg.Graph().as_default():
        call(sg.placeholder(sg.complex128, [2, 2]))


def test_requests_of_gradients():
    (x, _) = leaves()
    with pytest.raises(sg.GradientError, match="only for real scalar outputs but got complex128"):
        (x * x).sum().backward()
    with pytest.raises(DTypeError, match=r"grad_output\[0\] has a dtype of complex128 and output\[0\] has a dtype of float64"):
        abs(x).sum().backward(sg.tensor(1j, dtype=sg.complex128))
    (x * x).sum().backward(sg.tensor(1.0 + 0j, dtype=sg.complex128))
    close(x.grad, 2 * X.conj())
