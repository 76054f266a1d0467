"""`plan.export`: the package runs where neither this one nor SciPy can be imported, and gives the same values."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from staticgrad.command_line.inspecting import exported
from staticgrad.compiler.execute.exported_engine import _products, read_safetensors, write_safetensors
from staticgrad.errors import ArgumentError, UninitializedError
from staticgrad.safetensors import load_file
from tests.helpers import raised

ALONE = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("staticgrad", "scipy", "networkx", "safetensors", "threadpoolctl", "opt_einsum"):
            raise ImportError(f"{name} is not needed")
sys.meta_path.insert(0, Refuse())
import numpy as np
import step
trained = step.load()
x, i = np.load("x.npy"), np.load("i.npy")
losses = [trained(x, i) for _ in range(3)]
trained.arguments["lr"] = 0.0
losses += [trained(x, i), trained(x, i)]
np.save("losses.npy", np.array(losses))
trained.save()
for bad, error in (((x,), ValueError), ((x[:2], i), ValueError), ((x, i + 90), IndexError)):
    try:
        trained(*bad)
    except error as caught:
        print(type(caught).__name__, caught)
"""


def training() -> tuple[Any, Any, Any]:
    """A step with an embedding, whose indices are checked, products, random numbers, sums and an optimizer."""
    sg.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 3))
    table = nn.Embedding(7, 6)
    opt = optim.SGD([*model.parameters(), *table.parameters()], lr=0.1, momentum=0.5)

    @sg.compile
    def step(x: Any, i: Any) -> Any:
        loss = (model(x + table(i)) ** 2).mean() + 0.01 * sg.rand(())
        opt.minimize(loss)
        return loss

    return step, model, opt


def test_a_package_runs_alone(tmp_path: Path):
    step, model, opt = training()
    x, i = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32), np.array([0, 3, 6, 3])
    step(x, i)
    assert step.export(tmp_path / "step") == tmp_path / "step"
    step.export(tmp_path / "step")  # in place of the former one
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "i.npy", i)
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "ValueError this step takes 2 arrays (x, i), got 1",
        "ValueError x: this step was compiled for shape (4, 6), got (2, 6)",
        f"IndexError bounded: 90 is out of range ({Path(__file__).name}:{_line('+ table(i)')})",
    ]
    expected = [step(x, i).item() for _ in range(3)]
    opt.param_groups[0]["lr"] = 0.0
    expected += [step(x, i).item() for _ in range(2)]
    np.testing.assert_allclose(np.load(tmp_path / "losses.npy"), expected, rtol=1e-6)
    saved = load_file(tmp_path / "step" / "weights.safetensors")
    np.testing.assert_allclose(saved["0.weight"].numpy(), model[0].weight.detach().numpy(), rtol=1e-5)
    assert {"0.weight.momentum_buffer"} <= set(saved)
    for file in ("README.md", "plan.json", "engine.py", "kernels/kernel_0.py", "language/dialect.py"):
        assert (tmp_path / "step" / file).stat().st_size > 0
    assert "staticgrad." not in "".join(path.read_text() for path in (tmp_path / "step" / "kernels").glob("*.py"))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_a_package_of_16_bits(tmp_path: Path, kind: str):
    net = nn.Linear(3, 2).to(kind)
    step = sg.compile(lambda x: net(x).relu())
    x = sg.randn(4, 3, dtype=kind)
    expected = step(x)
    step.export(tmp_path / "step")
    program = f"""
import numpy as np
import step
run = step.load()
x = np.array({x.tolist()}, step.engine.dtype_of("{kind}"))
first = run(x).astype(float).tolist()
run.save()
assert step.load()(x).astype(float).tolist() == first
print(first)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == expected.tolist()


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
def test_a_package_of_complex_numbers(tmp_path: Path, kind: str):
    """A transform, products, sums and a complex parameter that is trained."""
    sg.manual_seed(0)
    w = nn.Parameter(sg.randn(4, 3, dtype=kind))
    opt = optim.SGD([w], lr=0.1, momentum=0.5)

    @sg.compile
    def step(x: Any) -> Any:
        y = sg.fft.fft(x, dim=0) @ w
        loss = (y.abs() ** 2).mean()
        opt.minimize(loss)
        return loss, y.conj().T

    x = sg.randn(6, 4, dtype=kind)
    step(x)
    step.export(tmp_path / "step")
    np.save(tmp_path / "x.npy", x.numpy())
    program = f"""{ALONE.partition("trained =")[0]}
run, x = step.load(), np.load("x.npy")
found = [run(x) for _ in range(2)]
run.save()
found.append(step.load()(x))
np.save("losses.npy", np.array([loss for loss, _ in found]))
np.save("last.npy", found[-1][1])
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = [step(x) for _ in range(3)]
    precision = 1e-5 if kind == "complex64" else 1e-12
    np.testing.assert_allclose(np.load(tmp_path / "losses.npy"), [loss.item() for loss, _ in expected], rtol=precision)
    last = np.load(tmp_path / "last.npy")
    assert str(last.dtype) == kind
    np.testing.assert_allclose(last, expected[-1][1].detach().numpy(), rtol=100 * precision, atol=precision)
    saved = load_file(tmp_path / "step" / "weights.safetensors")
    assert {str(value.dtype) for value in saved.values() if value.dtype.is_complex} == {kind}


def _line(text: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)


def test_what_can_not_be_exported(tmp_path: Path):
    inverse = sg.compile(lambda x: sg.linalg.inv(x))
    inverse(np.eye(2, dtype=np.float32))
    with raised(ArgumentError, "export: linalg_apply_lu, linalg_lu_factor, linalg_regular calls SciPy's LAPACK inside"):
        inverse.export(tmp_path / "a")
    values = sg.compile(lambda x: sg.linalg.svdvals(x))
    values(np.eye(2, dtype=np.float32))
    with raised(ArgumentError, "export: there is no native code for linalg_svdvals"):
        values.export(tmp_path / "a")
    selection = sg.compile(lambda x: sg.exp(sg.masked_select(x, x > 0)) + 1)
    selection(sg.ones(3))
    with raised(ArgumentError, "export: extents of the step are decided by its values"):
        selection.export(tmp_path / "a")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("keep")
    with raised(ArgumentError, f"export: {tmp_path / 'full'} exists and is no exported step"):
        inverse.export(tmp_path / "full")
    with sg.Graph().as_default(), sg.Session() as sess:
        plan = sess.plan(sg.Variable(np.ones(2, np.float32)) * 2)
        with raised(UninitializedError, "export: the plan has no variables before its first run"):
            plan.export(tmp_path / "a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_files_of_arrays(tmp_path: Path):
    arrays: dict[str, Any] = {
        "a": np.arange(6.0).reshape(2, 3).T,
        "b": np.array([True, False]),
        "pairs": np.arange(6).reshape(2, 3).T * (1 + 2j),
        "number": np.asarray(1.5 - 2j),
        "single": np.arange(2).astype(np.complex64) * 1j,
        "c": np.int8(3)[()],
        "": np.zeros(0),
    }
    arrays["c"] = np.asarray(arrays["c"])
    write_safetensors(tmp_path / "w", arrays)
    for found in (read_safetensors(tmp_path / "w"), {k: v.numpy() for k, v in load_file(tmp_path / "w").items()}):
        assert set(found) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype


def test_products_of_the_engine():
    """The table of a product: transposed operands, rows apart, a factor, a sum, a batch with offsets."""
    rng = np.random.default_rng(0)
    a, b, e = rng.standard_normal((2, 4, 3)), rng.standard_normal((5, 4)), rng.standard_normal(5)
    memory = [np.ascontiguousarray(x) for x in (a, b, np.zeros((2, 3, 5)), e)]
    pointers = np.array([x.ctypes.data for x in memory])
    half = int.from_bytes(np.float64(0.5).tobytes(), "little", signed=True)
    sizes = [1, 0, 0, 1, 1, 3, 5, 4, 3, 4, 5, 2, half, 0, 0, 0, 0, 0, 0, 0, 12, 0, 15, 0]
    (first, second) = _products({"sizes": sizes, "dtype": "float64", "start": 0, "stop": 2}, pointers)
    for left, right, to, alpha, begin in (first, second):
        assert begin is not None
        to[...] = alpha * (left @ right) + begin
    one = [1, 0, 0, 0, 0, 2, 3, 4, 4, 3, 3, 1, half, -1]
    for across, (start, stop), shape in ((0, (1, 2), (1, 3)), (1, (1, 3), (2, 2))):  # a part of a product
        row = {"sizes": [*one, across, 0, 0, 0, 0, 0], "dtype": "float64", "start": start, "stop": stop}
        ((left, right, to, _, begin),) = _products(row, pointers)
        assert (left @ right).shape == to.shape == shape
        assert begin is None
    expected = 0.5 * (a.transpose(0, 2, 1) @ b.T) + e
    np.testing.assert_allclose(memory[2], expected)


@pytest.mark.parametrize("numerics", ["fast", "strict"])
def test_results_are_those_of_the_function(tmp_path: Path, numerics: str):
    """Views, results that are inputs, repeated results."""
    w = sg.tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    fn = sg.compile(lambda x: (F.relu(x @ w).T, x, w[1:]), numerics=numerics)
    x = np.ones((4, 2), np.float32)
    expected = fn(x)
    if numerics == "strict":
        with raised(ArgumentError, "export: there is no native code for"):
            fn.export(tmp_path / "step")
        return
    fn.export(tmp_path / "step")
    found = exported(tmp_path / "step")(x)
    for value, tensor in zip(
        found, [t for t in expected if t is not expected[1]] if len(found) == 2 else expected, strict=True
    ):
        np.testing.assert_array_equal(value, np.asarray(tensor))


def nested(x: Any) -> Any:
    """Loops of unknown length in a loop, with a gradient, which reads the stacks of all backwards, and a branch."""

    def body(c: Any, v: Any) -> Any:
        grown = sg.while_loop(lambda d: d.sum() < 2.0, lambda d: d * 1.5 + 0.1, c.abs() * 0.1 + v * v)
        return sg.cond(grown.sum() < 3.0, lambda: grown, lambda: grown * 0.5), grown.sum()

    x = x.detach().requires_grad_() if not x.requires_grad else x
    last, seen = sg.scan(body, x[0], x)
    (g,) = sg.grad(last.sum() + seen.sum(), [x])
    return last, seen, g


def test_loops(tmp_path: Path):
    x = np.random.default_rng(0).uniform(0.1, 0.5, (5, 3)).astype(np.float32)
    step = sg.compile(nested)
    expected = step(sg.tensor(x))
    step.export(tmp_path / "step")
    assert any(each.control for each in step.plan.instructions)
    found = exported(tmp_path / "step")
    for _ in range(2):
        for value, tensor in zip(found(x), expected, strict=True):
            np.testing.assert_allclose(value, tensor.detach().numpy(), rtol=1e-6)


def test_native_code_with_products_is_refused(tmp_path: Path):
    q = sg.randn(1, 8, 256, 32)
    step = sg.compile(lambda q: sg.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True), wait=True)
    step(q)
    with pytest.raises(ArgumentError, match=r"attention.* computes products inside of its native code"):
        step.plan.export(tmp_path / "step")
