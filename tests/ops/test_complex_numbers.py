"""Complex tensors as users meet them: creation, promotion, text, views, in-place changes, files, graphs as JSON, optimizers."""

from __future__ import annotations

import functools
import io

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import optim, safetensors
from staticgrad.errors import DTypeError, GradientError, ShapeError
from tests.helpers import assert_close

close = functools.partial(assert_close, rtol=None)

Z = np.array([1 + 2j, -3.5j, 0])


def test_creation():
    assert sg.tensor([1 + 2j]).dtype == sg.complex64
    assert sg.tensor(Z).dtype == sg.complex128
    assert sg.tensor([1, 2j], dtype=sg.cdouble).dtype == sg.complex128
    assert sg.full((2,), 1j).dtype == sg.zeros(2, dtype="torch.cfloat").dtype == sg.complex64
    assert sg.ones(2).cfloat().is_complex()
    assert sg.complex(sg.ones(2), sg.zeros(1)).tolist() == [1, 1]
    close(sg.polar(sg.tensor([2.0]), sg.tensor([np.pi / 2])), np.array([2j], np.complex64), atol=1e-6)
    assert complex(sg.tensor(3 + 4j)) == sg.tensor(3 + 4j).item() == 3 + 4j
    assert sg.tensor(3 + 4j).type() == "torch.ComplexFloatTensor"
    with pytest.raises(DTypeError, match="Expected object of scalar type float32 but got scalar type float64"):
        sg.complex(sg.ones(2), sg.ones(2, dtype=sg.float64))


def test_random_numbers():
    sg.manual_seed(0)
    x = sg.randn(2000, dtype=sg.complex64)
    assert abs(x.var().item() - 1) < 0.1
    assert abs(x.real.var().item() - 0.5) < 0.05
    assert sg.rand_like(x).imag.min() >= 0
    assert x.uniform_(2, 3).imag.min() >= 2
    with pytest.raises(DTypeError, match="exponential_ is not implemented for complex numbers"):
        x.exponential_()


def test_promotion():
    assert (sg.ones(2) * 1j).dtype == (sg.ones(2, dtype=sg.int64) * 1j).dtype == sg.complex64
    assert (sg.ones(2, dtype=sg.float64) * 1j).dtype == (sg.ones(2, dtype=sg.float64) + sg.tensor(1j)).dtype == sg.complex128
    assert sg.promote_types(sg.float64, sg.complex64) == sg.complex128
    assert sg.can_cast(sg.float32, sg.complex64)
    with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
        assert sg.tensor(Z).to(sg.float32).tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.array([1 + 2j, 3.5 - 1j], np.complex64), "tensor([1.0000+2.j, 3.5000-1.j])"),
        (np.array(1j), "tensor(0.+1.j, dtype=torch.complex128)"),
        (np.array([1e-6 + 1j, 1e5], np.complex64), "tensor([1.0000e-06+1.j, 1.0000e+05+0.j])"),
        (np.array([np.nan + 1j * np.inf, 1], np.complex64), "tensor([nan+infj, 1.+0.j])"),
        (np.zeros((0, 2), np.complex64), "tensor([], size=(0, 2))"),
    ],
)
def test_text(values, text):
    assert repr(sg.tensor(values)).replace("size=(0, 2), dtype=torch.complex64", "size=(0, 2)") == text


def test_parts_are_views():
    x = sg.zeros(3, dtype=sg.complex64)
    x.real[1] = 2
    x.imag.add_(1)
    sg.view_as_real(x)[2, 0] = 5
    assert x.tolist() == [1j, 2 + 1j, 5 + 1j]
    pairs = sg.tensor([[1.0, 2.0]])
    sg.view_as_complex(pairs).mul_(1j)
    assert pairs.tolist() == [[-2, 1]]
    with pytest.raises(ShapeError, match="last dimension of size 2"):
        sg.view_as_complex(sg.ones(3))
    with pytest.raises(DTypeError, match="imag is not implemented for tensors with non-complex dtypes"):
        _ = sg.ones(2).imag
    with pytest.raises(DTypeError, match="result type complex64 can't be cast to the desired output type float32"):
        sg.ones(2).add_(1j)


def test_recorded_changes_of_parts():
    def f(a):
        q = a * 2
        r = q.real
        r.mul_(3)
        q.imag[1] = 7
        sg.view_as_real(q)[0, 1] = 5
        q.add_(1j)
        return (q.abs() + r).sum(), sg.grad((q.abs() + q.real * r).sum(), [a])[0]

    a = sg.tensor(Z, requires_grad=True)
    total, slope = f(a)
    expected = 6 * Z.real + 1j * np.array([5, 7, 0]) + 1j
    close(total, np.sum(np.abs(expected) + expected.real))
    close(slope, expected.real / np.abs(expected) * 6 + 12 * expected.real + 1j * np.array([0, 0, 2]))
    step = sg.compile(f)
    step(a)
    for mine, theirs in zip(step(a), (total, slope), strict=True):
        close(mine, theirs.detach().numpy())
    close(sg.func.grad(lambda a: f_of_parts(a).sum())(sg.tensor(Z)), np.array([3 + 0j] * 3))
    with pytest.raises(GradientError, match="a complex64 view of float32 memory can't be changed in place"):
        sg.view_as_complex(sg.ones(1, 2, requires_grad=True) * 2).mul_(2)


def f_of_parts(a):
    q = a * 1
    q.real.mul_(3)
    return q.real


def test_files():
    state = {"a": sg.tensor(Z), "b": sg.tensor(Z).cfloat(), "c": 1 + 2j}
    stream = io.BytesIO()
    sg.save(state, stream)
    stream.seek(0)
    found = sg.load(stream)
    assert found["c"] == 1 + 2j
    for name in "ab":
        assert found[name].dtype == state[name].dtype
        assert found[name].equal(state[name])


def test_safetensors_hold_complex128_as_pairs(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"z": sg.tensor(Z)}, path, {"note": "text"})
    assert safetensors.load_file(path)["z"].tolist() == Z.tolist()
    assert safetensors.metadata(path) == {"note": "text"}


def test_graphs_as_json():
    graph = sg.Graph()
    with graph.as_default():
        x = sg.placeholder(sg.complex64, [3], name="x")
        y = sg.identity(sg.sum(abs(x * (1 + 2j)) + sg.fft.fft(x).real), name="y")
    copy = sg.from_json(sg.to_json(graph))
    with sg.Session(graph=graph) as session:
        expected = session.run(y, {x: Z.astype(np.complex64)})
    with sg.Session(graph=copy) as session:
        close(session.run("y:0", {"x:0": Z.astype(np.complex64)}), expected)


@pytest.mark.parametrize(
    ("made", "options"),
    [(optim.SGD, {"momentum": 0.9}), (optim.Adam, {"amsgrad": True}), (optim.Adagrad, {"initial_accumulator_value": 0.1}),
     (optim.Rprop, {}), (optim.LBFGS, {"line_search_fn": "strong_wolfe"})],
)  # fmt: skip
def test_optimizers_update_both_parts(made, options):
    target = Z + 1
    whole = sg.tensor(Z, requires_grad=True)
    parts = sg.tensor(np.stack([Z.real, Z.imag], -1), requires_grad=True)
    for p, seen in ((whole, lambda: whole), (parts, lambda: sg.view_as_complex(parts))):
        optimizer = made([p], lr=0.1, **options)

        def closure(optimizer=optimizer, seen=seen):
            optimizer.zero_grad()
            loss = (sg.fft.fft(seen() - target).abs() ** 2).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
    close(sg.view_as_real(whole), parts.detach().numpy(), rtol=1e-12)


def test_a_compiled_step_with_an_optimizer():
    def trained(compiles: bool) -> np.ndarray:
        w = sg.nn.Parameter(sg.tensor(Z + np.linspace(0.1, 0.3, Z.size) * (1 + 2j)))  # no part of a gradient is 0
        optimizer = optim.Adam([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (sg.fft.ifft(w * x).abs() ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        run = sg.compile(step) if compiles else step
        for _ in range(3):
            run(sg.tensor(Z - 1))
        return w.detach().numpy()

    close(trained(True), trained(False), rtol=1e-12)
