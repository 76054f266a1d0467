"""Complex numbers in plans: kernels compute with their parts, so training steps on spectra have no call of the host."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.ops.fourier import radices
from tests.helpers import sweep

RNG = np.random.default_rng(0)


def hosts(fn: Any) -> list[str]:
    """The operations that a compiled function's plans have the host compute."""
    return [row.name for row in fn.plan.instructions if row.kind == "host"]


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def spectral_layer(x: Any, w: Any, bias: Any) -> Any:
    """A layer of a Fourier neural operator: the lowest modes of an image, mixed between channels."""
    modes = sg.fft.rfft2(x)
    low = sg.einsum("bixy,ioxy->boxy", modes[..., :3, :3], w)
    whole = sg.nn.functional.pad(low, (0, modes.shape[-1] - 3, 0, modes.shape[-2] - 3))
    return sg.nn.functional.gelu(sg.fft.irfft2(whole, s=x.shape[-2:]) + bias)


def magnitudes(x: Any, w: Any, bias: Any) -> Any:
    """A loss of spectrograms, as of a vocoder: magnitudes and their logarithms."""
    spectrum = sg.stft(x.reshape(4, -1), 20, hop_length=5, window=sg.hann_window(20, dtype=x.dtype), return_complex=True)
    seen = spectrum * w.reshape(-1)[: spectrum.shape[-2], None]
    return sg.log(seen.abs() + 1e-3) + sg.angle(seen) + bias.sum()


def filtered(x: Any, w: Any, bias: Any) -> Any:
    """A signal, filtered in frequencies and transformed back."""
    flat = x.reshape(4, -1)
    spectrum = sg.stft(flat, 20, hop_length=5, window=sg.hann_window(20, dtype=x.dtype), return_complex=True)
    gain = sg.sigmoid(spectrum.abs()) * sg.exp(1j * bias.sum() + w.mean())
    return sg.istft(spectrum * gain, 20, hop_length=5, window=sg.hann_window(20, dtype=x.dtype), length=flat.shape[-1])


def dense(x: Any, w: Any, bias: Any) -> Any:
    """Products of complex matrices, a division, and a transform of 15 points."""
    z = sg.fft.fft(x.reshape(-1, 15), dim=-1)
    y = z @ z.mH / (2 + w.sum() * sg.ones(1, dtype=x.dtype)) + sg.tanh(z[:, :1]) * sg.sqrt(z[:, 1:2])
    return y.real - y.imag + sg.where(y.real > 0, y, y.conj()).abs() + bias.sum()


def systems(x: Any, w: Any, bias: Any) -> Any:
    """Systems of which the matrix, the sides or both are complex, an inverse, and products of elements."""
    whole = w.reshape(4, 3, 3) + 3 * sg.eye(3, dtype=x.dtype)
    sides = x.reshape(4, -1)[:, :6].reshape(4, 3, 2) * (1 + bias.sum())
    both = sg.linalg.solve(whole, sg.linalg.solve(whole.real, sides + 1j * sides.flip(1))) + sg.linalg.solve(whole, sides)
    return (sg.linalg.inv(whole) @ both).abs() + both.prod(1, keepdim=True).real + sg.cumprod(both, 1).imag


STEPS: dict[str, Callable[..., Any]] = {
    "spectral layer": spectral_layer, "magnitudes": magnitudes, "filtered": filtered, "dense": dense, "systems": systems,
}  # fmt: skip


def operands(dtype: str) -> list[np.ndarray]:
    whole = "complex64" if dtype == "float32" else "complex128"
    x, w = RNG.standard_normal((4, 2, 6, 10)).astype(dtype), (draw(2, 2, 3, 3) / 2).astype(whole)
    return [x, w, np.float64(0.1) * RNG.standard_normal((2, 1, 1)).astype(dtype)]


def with_slopes(f: Callable[..., Any], *given: Any) -> list[Any]:
    """The value, its gradients, and those of a function of the gradients."""
    out = f(*given)
    loss = (out * sg.sin(out)).sum()
    first = sg.grad(loss, given, create_graph=True)
    second = sg.grad(sum((g.abs() ** 2).sum() for g in first), given)
    return [out, *first, *second]


WAYS = [(name, dtype) for name in STEPS for dtype in ("float32", "float64")]


@pytest.mark.parametrize(("name", "dtype"), sweep(WAYS, lambda i, way: way[1] == "float64" or i < 4))
def test_steps_have_no_call_of_the_host(name: str, dtype: str):
    arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in operands(dtype)]
    given = [sg.tensor(a, requires_grad=True) for a in arrays]
    wanted = [v.detach().numpy() for v in with_slopes(STEPS[name], *given)]
    compiled = sg.compile(lambda *xs: with_slopes(STEPS[name], *xs), on_break="error")
    compiled(*given)
    found = [v.detach().numpy() for v in compiled(*given)]
    assert hosts(compiled) == []
    scale = 2e-4 if dtype == "float32" else 1e-10
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=scale, atol=scale * np.abs(theirs).max())
    with sg.Graph().as_default(), sg.Session() as session:
        feeds = [sg.placeholder(a.dtype, a.shape) for a in arrays]
        out = STEPS[name](*feeds)
        loss = (out * sg.sin(out)).sum()
        first = sg.gradients(loss, feeds)
        second = sg.gradients(sum((g.abs() ** 2).sum() for g in first), feeds)
        fetched = session.run([out, *first, *second], dict(zip(feeds, arrays, strict=True)))
    for mine, theirs in zip(fetched, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=scale, atol=scale * np.abs(theirs).max())


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 12])
@pytest.mark.parametrize("axis", [0, 1])
def test_products_of_any_number_of_elements(n: int, axis: int):
    z = draw(*((n, 3) if axis == 0 else (3, n)))
    calls: list[tuple[Callable[..., Any], Any]] = [
        (lambda v: sg.prod(v, axis), z.prod(axis)),
        (lambda v: sg.prod(v, axis, keepdim=True), z.prod(axis, keepdims=True)),
        (lambda v: sg.cumprod(v, axis), z.cumprod(axis)),
    ]
    for call, wanted in calls:
        compiled = sg.compile(call)
        np.testing.assert_allclose(compiled(sg.tensor(z)).numpy(), wanted, rtol=1e-12)
        assert hosts(compiled) == []


def definite(a: Any) -> Any:
    return a @ a.mH / a.shape[-1] + sg.eye(a.shape[-1], dtype=a.dtype)


def parts_of(call: Callable[..., Any]) -> Callable[..., Any]:
    """Several results as one real one."""

    def parts(a: Any) -> Any:
        found = call(a)
        flat = [v.reshape(-1) for v in (found if isinstance(found, tuple) else (found,))]
        return sg.cat([sg.view_as_real(v).reshape(-1) if v.is_complex() else v for v in flat])

    return parts


linalg = sg.linalg
FACTORS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a: linalg.cholesky(definite(a)),
    "cholesky_inverse": lambda a: sg.cholesky_inverse(linalg.cholesky(definite(a))),
    "cholesky_solve": lambda a: sg.cholesky_solve(a[..., :2], linalg.cholesky(definite(a))),
    "det": lambda a: linalg.det(a * 0.4),
    "inv": linalg.inv,
    "lu_factor": lambda a: linalg.lu_factor(a).LU,
    "lu_factor, tall": lambda a: linalg.lu_factor(a[..., :2]).LU,
    "lu_factor, wide": lambda a: linalg.lu_factor(a[..., :2, :]).LU,
    "lu_solve": lambda a: linalg.lu_solve(*linalg.lu_factor(a), a.mT[..., :2]),
    "matrix_exp": lambda a: linalg.matrix_exp(a * 0.9),
    "qr": lambda a: tuple(linalg.qr(a)),
    "qr, tall": lambda a: tuple(linalg.qr(a[..., :2])),
    "qr, wide": lambda a: tuple(linalg.qr(a[..., :2, :])),
    "qr, complete": lambda a: tuple(linalg.qr(a[..., :2, :], "complete")),
    "slogdet": lambda a: tuple(linalg.slogdet(a)),
    "solve": lambda a: linalg.solve(a.mT, a[..., :1]),
    "triangles": lambda a: (
        linalg.solve_triangular(a, a.mT, upper=True) + linalg.solve_triangular(a, a, upper=False, left=False)
    ),
}  # fmt: skip
OF_FACTORS = [(name, n, dtype) for name in FACTORS for n in (3, 18) for dtype in ("c16", "f8", "c8", "f4")]


@pytest.mark.parametrize(("name", "n", "dtype"), sweep(OF_FACTORS, lambda i, way: way[2] == "c16" or way[1:] == (18, "f8")))
def test_factors_have_kernels_over_complex_numbers_too(name: str, n: int, dtype: str):
    a = np.random.default_rng(n).standard_normal((2, n, n)) / np.sqrt(n)
    a = (a + (0.5j * a[:, ::-1] if dtype[0] == "c" else 0) + 2 * np.eye(n)).astype(dtype)
    call = parts_of(FACTORS[name])

    def slopes(x: Any) -> list[Any]:
        out = call(x)
        first = sg.grad((out * sg.cos(out)).mean(), x, create_graph=True)[0]
        return [out, first, sg.grad((first.abs() ** 2).sum(), x)[0]]

    wanted = [v.detach().numpy() for v in slopes(sg.tensor(a, requires_grad=True))]
    compiled = sg.compile(slopes, on_break="error")
    found = [v.detach().numpy() for v in compiled(sg.tensor(a, requires_grad=True))]
    assert hosts(compiled) == []
    scale = 3e-4 if dtype in ("c8", "f4") else 1e-10
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=scale * np.abs(theirs).max())


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_exponentials_of_any_size(dtype: str):
    """Beside squares of the exponential of a small part, by its series."""
    for n, size in ((1, 0.0), (4, 1e-3), (4, 1.0), (20, 30.0), (3, 40.0)):
        a = np.random.default_rng(n).standard_normal((2, n, n)) * (size / n)
        a = (a - 2 * a.mT if dtype[0] == "f" else a + 1j * a[:, ::-1]).astype(dtype)
        part, total = a.astype("c16") / 2**12, np.eye(n, dtype="c16")
        for k in range(12, 0, -1):
            total = np.eye(n) + part @ total / k
        for _ in range(12):
            total = total @ total
        compiled = sg.compile(sg.linalg.matrix_exp)
        found = compiled(sg.tensor(a)).numpy()
        assert hosts(compiled) == []
        near = 1e-3 if dtype in ("f4", "c8") else 1e-9
        np.testing.assert_allclose(found, total, rtol=0, atol=near * np.abs(total).max())


def test_a_singular_system_is_named():
    for call in (sg.linalg.inv, lambda v: sg.linalg.solve(v, v)):
        with pytest.raises(sg.linalg.LinAlgError, match="Singular matrix"):
            sg.compile(call)(sg.ones(2, 2, dtype=sg.complex128))


LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 22, 31, 49, 60, 128, 400, 1000]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("whole", [np.complex64, np.complex128])
def test_transforms_of_any_length_have_a_kernel(n: int, whole: type):
    assert radices(n) is not None
    norm = ("backward", "ortho", "forward")[LENGTHS.index(n) % 3]
    part = np.dtype(whole).type(0).real.dtype
    for shape, axis in (((19, n), 1), ((2, n), 1), ((n, 17), 0), ((2, n, 3), 1)) if n > 1 else (((n,), 0),):
        z, x = draw(*shape).astype(whole), RNG.standard_normal(shape).astype(part)
        half = np.fft.rfft(x, axis=axis).astype(whole)
        calls: dict[str, tuple[Any, np.ndarray]] = {
            "fft": (z, np.fft.fft(z, axis=axis, norm=norm)), "ifft": (z, np.fft.ifft(z, axis=axis, norm=norm)),
            "rfft": (x, np.fft.rfft(x, axis=axis, norm=norm)), "irfft": (half, np.fft.irfft(half, n, axis=axis, norm=norm)),
        }  # fmt: skip
        for name, (given, wanted) in calls.items():
            more = {"n": n} if name == "irfft" else {}
            compiled = sg.compile(functools.partial(getattr(sg.fft, name), dim=axis, norm=norm, **more))
            found = compiled(sg.tensor(given)).numpy()
            assert hosts(compiled) == []
            rtol = 1e-5 if whole is np.complex64 else 1e-13
            np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * max(np.abs(wanted).max(), 1e-30))


def test_transforms_along_several_axes_and_nan_of_one_line():
    z = draw(5, 6, 7).astype(np.complex64)
    compiled = sg.compile(lambda v: (sg.fft.fftn(v), sg.fft.ifft2(v, dim=(0, 1)), sg.fft.fft(v, dim=1)))
    z[2, :, 3] = np.nan
    whole, plane, lines = (v.numpy() for v in compiled(sg.tensor(z)))
    assert hosts(compiled) == []
    assert np.isnan(whole).all()
    assert np.isnan(plane[:, :, 3]).all()
    assert np.isfinite(np.delete(plane, 3, 2)).all()
    assert np.isnan(lines[2, :, 3]).all()
    assert np.isnan(lines).sum() == 6
    np.testing.assert_allclose(np.delete(plane, 3, 2), np.fft.ifft2(np.delete(z, 3, 2), axes=(0, 1)), atol=1e-6)


def test_large_prime_factors_are_the_host_s():
    x = RNG.standard_normal((3, 37))
    compiled = sg.compile(sg.fft.fft)
    np.testing.assert_allclose(compiled(sg.tensor(x)).numpy(), np.fft.fft(x), atol=1e-12)
    assert hosts(compiled) == ["fft_c2c"]


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_products_of_integers_have_a_kernel(dtype: str):
    compiled = sg.compile(sg.matmul)
    for a, b in (
        ((3, 5), (5, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((70, 33), (33, 300)), ((2, 1, 3, 4), (5, 4, 2)), ((5,), (5, 3)),
        ((6, 2, 3), (3, 2)),
    ):  # fmt: skip
        x, y = (RNG.integers(0, 127, shape).astype(dtype) for shape in (a, b))
        np.testing.assert_array_equal(compiled(sg.tensor(x), sg.tensor(y)).numpy(), x @ y)
    x, y = (RNG.integers(-100, 100, (7, 6)).astype(dtype) for _ in range(2))
    np.testing.assert_array_equal(compiled(sg.tensor(x).T, sg.tensor(y)).numpy(), x.T @ y)
    assert hosts(compiled) == []


FUNCTIONS = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p",
    "log2", "reciprocal", "sgn", "sigmoid", "sin", "sinh", "sqrt", "square", "tan", "tanh",
)  # fmt: skip
LOSING = {"expm1": np.expm1, "log1p": np.log1p}
"""Functions of NumPy that lose digits of small results, and parts of infinite ones: those of more bits are compared."""
CORNERS = (0.0, -0.0, 1.0, -1.0, 0.5, -30.0, 30.0, 700.0, 1e-200, 1e200)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_elementary_functions_as_numpy_s(name: str):
    """To a few units in the last place of the larger part, with the signs of zeros."""
    corners = [complex(a, b) for a in CORNERS for b in CORNERS]
    z = np.concatenate([draw(2000) * np.exp(2 * RNG.standard_normal(2000)), corners])
    compiled = sg.compile(getattr(sg, name))
    found, wanted = compiled(sg.tensor(z)).numpy(), getattr(sg, name)(sg.tensor(z)).numpy()
    assert hosts(compiled) == []
    if name in LOSING:
        wanted = LOSING[name](z.astype(np.clongdouble))
    size = np.maximum(abs(wanted.real), abs(wanted.imag))
    for a, b in ((found.real, wanted.real), (found.imag, wanted.imag)):
        if name not in LOSING:
            np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
        if name not in (*LOSING, "reciprocal", "sgn"):
            np.testing.assert_array_equal(np.signbit(a[b == 0]), np.signbit(b[b == 0]))
        near = size < np.finfo(float).max
        np.testing.assert_array_less(abs(a - b)[near], 4e-15 * size[near] + 1e-199)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in (*LOSING, "reciprocal")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities_and_nan_as_in_c(name: str):
    """As NumPy's, which are C's, but for signs of zeros beside NaN, which C leaves open."""
    edges = (np.inf, -np.inf, np.nan)
    z = np.array(
        [complex(a, b) for a in (*edges, -2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 30.0) for b in (*edges, -1.0, -0.0, 0.0, 2.0)]
    )
    z = z[~np.isfinite(z)]
    found, wanted = (f(sg.tensor(z)).numpy() for f in (sg.compile(getattr(sg, name)), getattr(sg, name)))
    for a, b, other in ((found.real, wanted.real, wanted.imag), (found.imag, wanted.imag, wanted.real)):
        np.testing.assert_allclose(a, b, rtol=1e-14)
        zero = (b == 0) & ~np.isnan(other)
        np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))


def test_powers_with_plain_exponents_and_complex_ones():
    z, w = draw(50), draw(50)
    for exponent in (0, 1, 2, 3, -1, -4, 2.5, 1j, 7 + 2j):
        compiled = sg.compile(lambda z, exponent=exponent: z**exponent)
        np.testing.assert_allclose(compiled(sg.tensor(z)).numpy(), z**exponent, rtol=1e-12)
    compiled = sg.compile(lambda z, w: z**w)
    np.testing.assert_allclose(compiled(sg.tensor(z), sg.tensor(w)).numpy(), z**w, rtol=1e-12)
    assert hosts(compiled) == []
    zero = sg.tensor(np.zeros(3, complex))
    np.testing.assert_array_equal(compiled(zero, sg.tensor(np.array([0, 2, 1 + 1j]))).numpy(), [1, 0, 0])


def test_assignments_to_a_part():
    def step(z: Any) -> Any:
        spectrum = sg.zeros(2, 5, dtype=sg.complex128)
        spectrum[:, :3] = z * 2
        loss = sg.fft.irfft(spectrum, n=8).square().sum()
        return spectrum, *sg.autograd.grad(loss, z)

    z, compiled = sg.tensor(draw(2, 3), requires_grad=True), sg.compile(step)
    for found, wanted in zip(compiled(z), step(z), strict=True):
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=1e-12, atol=1e-12)
    assert hosts(compiled) == []
