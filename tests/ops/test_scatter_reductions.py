"""Values combined at positions: against PyTorch with ties and zeros, in every mode; so many that no table of places fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.operators import F
from tests.ops import modes

REDUCTIONS = ["sum", "prod", "mean", "amax", "amin"]
X = np.array([[1.0, 0.0, 2.0, -1.0], [2.0, 2.0, 0.0, -2.0], [0.0, 1.0, 3.0, 0.5]])
VALUES = np.array(
    [[1.0, 2.0, 2.0, 0.0], [0.0, 2.0, 0.0, -2.0], [1.0, 0.0, 0.0, 4.0], [3.0, 2.0, 2.0, 0.0], [0.0, 0.0, 2.0, 1.0]]
)
INDEX = np.array([[0, 1, 0, 2], [0, 1, 0, 1], [1, 1, 2, 2], [0, 2, 0, 1], [1, 1, 0, 2]])
ROWS = np.array([0, 1, 1, 0, 1])
WEIGHTS = np.linspace(-1.0, 2.0, 12).reshape(3, 4)

Calls = dict[str, tuple[Callable[..., Any], list[np.ndarray]]]


def calls(reduce: str, include_self: bool) -> Calls:
    """Each spelling, with its operands: along the first axis and the last one, of a smaller index, in one axis, by slices."""
    settings: Any = {"reduce": reduce, "include_self": include_self}
    found: Calls = {
        "first axis": (lambda x, v, i: x.scatter_reduce(0, i, v, **settings), [X, VALUES, INDEX]),
        "last axis": (lambda x, v, i: x.scatter_reduce(-1, i, v, **settings), [X.T, VALUES.T, INDEX.T]),
        "smaller index": (lambda x, v, i: x.scatter_reduce(0, i, v, **settings), [X, VALUES[:4, :3], INDEX[:4, :3]]),
        "vector": (lambda x, v, i: x.scatter_reduce(0, i, v, **settings), [X[:, 0], VALUES[:, 0], INDEX[:, 0]]),
        "repeated index": (
            lambda x, v, i: x.scatter_reduce(0, i.reshape(-1, 1).expand(5, 4), v, **settings), [X, VALUES, ROWS]),
    }  # fmt: skip
    if reduce != "sum":
        found["slices"] = (lambda x, v, i: x.index_reduce(0, i, v, **settings), [X, VALUES, ROWS])
        found["columns"] = (lambda x, v, i: x.index_reduce(1, i, v, **settings), [X.T, VALUES.T, ROWS])
    return found


def with_slopes(call: Callable[..., Any]) -> modes.Program:
    def program(x: Any, values: Any, index: Any) -> list[Any]:
        out = call(x, values, index)
        weights = (
            WEIGHTS.reshape(-1)[: out.numel() if hasattr(out, "numel") else 12].reshape(tuple(out.shape)).astype(out.dtype)
        )
        return [out, *modes.slopes(out * weights, [x, values])]

    return program


def of_torch(call: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    torch = pytest.importorskip("torch")
    x, values, index = (torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays)
    out = call(x, values, index)
    weights = torch.tensor(WEIGHTS.reshape(-1)[: out.numel()].reshape(tuple(out.shape)), dtype=out.dtype)
    slopes = torch.autograd.grad((out * weights).sum(), [x, values])
    return [t.detach().numpy() for t in (out, *slopes)]


@pytest.mark.filterwarnings("ignore:index_reduce")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("include_self", [True, False], ids=["with self", "without self"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_values_and_gradients_are_those_of_pytorch(reduce, include_self, dtype):
    for name, (call, operands) in calls(reduce, include_self).items():
        arrays = [a.astype(dtype) if a.dtype.kind == "f" else a for a in operands]
        expected = of_torch(call, arrays)
        for mode, run in {"eager": modes.eager, **modes.MODES}.items():
            for found, wanted in zip(run(with_slopes(call), arrays), expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, err_msg=f"{name}, {mode}")
                assert found.dtype == wanted.dtype


@pytest.mark.parametrize("include_self", [True, False], ids=["with self", "without self"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_second_gradients(reduce, include_self):
    """Those of products at zeros, too, which PyTorch refuses; of extrema between ties."""
    rng = np.random.default_rng(0)
    for call, (x, values, index) in calls(reduce, include_self).values():
        if reduce in ("amax", "amin"):
            x, values = (
                rng.permutation(x.size).reshape(x.shape) * 0.5,
                rng.permutation(values.size).reshape(values.shape) + 0.25,
            )
        operands = [sg.tensor(a.copy(), requires_grad=True) for a in (x, values)]
        assert sg.autograd.gradgradcheck(lambda x, v, f=call, i=index: f(x, v, sg.tensor(i)), operands)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_samples_and_tangents(reduce):
    def call(x, values, index):
        return x.scatter_reduce(0, index, values, reduce)

    x, values, index = (sg.tensor(a) for a in (X, VALUES, INDEX))
    rows = [call(x[:, j], values[:, j], index[:, j]) for j in range(4)]
    np.testing.assert_allclose(sg.func.vmap(call, in_dims=1, out_dims=1)(x, values, index).numpy(), sg.stack(rows, 1).numpy())
    if reduce not in ("amax", "amin"):
        tangent = sg.tensor(np.cos(VALUES))
        _, along = sg.func.jvp(lambda v: call(x, v, index), (values,), (tangent,))
        (slope,) = sg.grad((call(x, v := values.clone().requires_grad_(), index) * sg.tensor(WEIGHTS)).sum(), [v])
        np.testing.assert_allclose((along * sg.tensor(WEIGHTS)).sum().item(), (slope * tangent).sum().item())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_dtypes_and_special_values(reduce, dtype):
    """NaN stays, and infinities of one place don't reach another one."""
    torch = pytest.importorskip("torch")
    x, values = np.array([3, 1, 2, 0]).astype(dtype), np.array([1, 3, 0, 2, 1, 4]).astype(dtype)
    index = np.array([0, 0, 2, 2, 3, 0])
    if dtype.startswith("float"):
        values[[1, 3]] = np.inf, np.nan
    for include_self in (True, False):
        try:
            wanted = torch.tensor(x).scatter_reduce(
                0, torch.tensor(index), torch.tensor(values), reduce, include_self=include_self
            )
        except RuntimeError:
            continue

        def run(x, i, v, include_self=include_self):
            return x.scatter_reduce(0, i, v, reduce, include_self=include_self)

        for call in (run, sg.compile(run)):
            found = call(sg.tensor(x), sg.tensor(index), sg.tensor(values)).numpy()
            np.testing.assert_array_equal(found, wanted.numpy())


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_memory_grows_with_the_values_and_the_places(reduce):
    """A table of these places by these values would have 20 GB."""
    places, number = 50_000, 100_000
    rng = np.random.default_rng(0)
    arrays = [rng.random(places, np.float32), rng.random(number, np.float32) + 0.5, rng.integers(0, places, number)]

    def step(x, values, index):
        return sg.grad(x.scatter_reduce(0, index, values, reduce).sum(), [x, values])

    x, values, index = modes.leaves(arrays)
    eager = step(x, values, index)
    fn = sg.compile(step)
    for found, expected in zip(fn(x, values, index), eager, strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
    assert fn.plan.host_calls == 0


def test_one_place_may_have_all_values():
    values = sg.tensor(np.linspace(0.99, 1.01, 3000), requires_grad=True)
    places = sg.zeros(3000, dtype=sg.int64)

    def run(v):
        product = sg.zeros(2, dtype=sg.float64).scatter_reduce(0, places, v, "prod", include_self=False)
        return sg.grad(product.sum(), [v])[0]

    expected = np.prod(values.detach().numpy()) / values.detach().numpy()
    for call in (run, sg.compile(run), sg.compile(run, numerics="strict")):
        np.testing.assert_allclose(call(values).numpy(), expected, rtol=1e-10)


def of_bags(mode):
    def run(table, index, starts):
        return sg.grad(sg.nn.functional.embedding_bag(index, table, starts, mode=mode).square().sum(), [table])[0]

    return run


INDICES = np.random.default_rng(0).integers(0, 200_000, 200_000)
LARGE = {
    "index_fill": (
        lambda x, i: x.index_fill(0, i, 2.0),
        [np.zeros(200_000), INDICES],
        lambda x, i: np.where(np.isin(np.arange(200_000), i), 2.0, 0.0),
    ),
    "isin": (sg.isin, [np.arange(0, 400_000, 2), INDICES], np.isin),
    **{
        f"embedding_bag {mode}": (
            of_bags(mode),
            [np.linspace(-1.0, 2.0, 200_000).reshape(-1, 1), INDICES, np.arange(0, 200_000, 2)],
            lambda x, i, starts, pick=pick: pick(x, i.reshape(-1, 2)),
        )
        for mode, pick in {
            "sum": lambda x, i: np.bincount(i.ravel(), np.repeat(2 * x[i].sum(1), 2), 200_000).reshape(-1, 1),
            "max": lambda x, i: np.bincount(i.max(1), 2 * x[i.max(1), 0], 200_000).reshape(-1, 1),
        }.items()
    },
}


@pytest.mark.parametrize("name", LARGE)
def test_positions_are_looked_up_without_tables(name):
    """A table of all places by all positions would have 40 GB."""
    run, arrays, reference = LARGE[name]
    for call in (run, sg.compile(run)):
        np.testing.assert_allclose(call(*modes.leaves(arrays)).detach().numpy(), reference(*arrays))


def test_the_first_of_the_largest_rows_of_a_bag_has_the_gradient():
    torch = pytest.importorskip("torch")
    table = np.array([[1.0, 2.0], [1.0, 3.0], [0.0, 3.0], [-1.0, 0.0]])
    for index, starts in (([0, 1, 2, 1], [0, 3, 3]), ([2, 1, 0, 3], [0, 1, 2])):
        theirs = torch.tensor(table, requires_grad=True)
        wanted = torch.nn.functional.embedding_bag(torch.tensor(index), theirs, torch.tensor(starts), mode="max")
        wanted.sum().backward()

        def run(weight, index=index, starts=starts):
            out = sg.nn.functional.embedding_bag(sg.tensor(index), weight, sg.tensor(starts), mode="max")
            return out, sg.grad(out.sum(), [weight])[0]

        for call in (run, sg.compile(run)):
            for found, expected in zip(call(*modes.leaves([table])), (wanted, theirs.grad), strict=True):
                np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())


def test_complex_numbers():
    a = sg.tensor(np.array([1 + 1j, 2.0]), requires_grad=True)
    b = sg.tensor(np.array([1j, 0.0, 3.0]), requires_grad=True)
    index = sg.tensor([0, 0, 1])
    for reduce in ("sum", "prod", "mean"):
        for include_self in (True, False):
            assert sg.autograd.gradcheck(
                lambda a, b, r=reduce, s=include_self: a.scatter_reduce(0, index, b, r, include_self=s), (a, b)
            )
    for call in (lambda a, b: a.scatter_reduce(0, index, b, "amax"), lambda a, b: a.index_reduce(0, index, b, "amin")):
        with pytest.raises(sg.errors.DTypeError, match="complex numbers have no order"):
            call(a, b)


def test_positions_are_checked():
    for run in (lambda i: sg.ones(3).scatter_reduce(0, i, sg.ones(1), "amax"), lambda i: F.index_reduce(
        sg.ones(3), 0, i, sg.ones(1), "amax")):  # fmt: skip
        for call in (run, sg.compile(run)):
            with pytest.raises(sg.errors.IndexRangeError, match="index 3 is out of range for axis 0 with extent 3"):
                call(sg.tensor([3]))
