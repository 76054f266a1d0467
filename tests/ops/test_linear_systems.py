"""Systems that are solved from a triangle or from factors: as PyTorch in every mode, whatever the other half holds, and by
substitution, never by factors of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import linalg
from staticgrad.compat import tf1
from staticgrad.operators import F
from tests.ops import modes

RNG = np.random.default_rng(0)
N = 5
FULL = RNG.normal(size=(N, N)) + 3 * np.eye(N)
FACTOR = np.linalg.cholesky(FULL @ FULL.T)
RIGHT = RNG.normal(size=(N, 2))
BATCH = RNG.normal(size=(7, N, N)) + 3 * np.eye(N)
LU, PIVOTS = np.array([[0.5, 2.0, 1.0], [0.25, 3.0, -1.0], [-0.5, 0.2, 2.0]]), np.array([2, 3, 3], np.int32)

Row = tuple[Callable[..., Any], Callable[..., Any], list[np.ndarray]]


def row(call: Callable[..., Any], *arrays: np.ndarray) -> Row:
    """One program for both libraries: it is called with the functions of one."""
    return lambda *xs: call(SGLike, *xs), lambda *xs: call(pytest.importorskip("torch"), *xs), list(arrays)


class SGLike:
    """The names of PyTorch that the programs use, for tensors of all modes."""

    linalg = linalg
    triangular_solve = staticmethod(F.triangular_solve)
    cholesky_solve = staticmethod(F.cholesky_solve)
    cholesky_inverse = staticmethod(F.cholesky_inverse)
    lu_solve = staticmethod(F.lu_solve)
    tensor = staticmethod(np.asarray)


def programs() -> dict[str, Row]:
    found: dict[str, Row] = {}
    for upper in (True, False):
        for unit in (True, False):
            found[f"solve_triangular {upper=} {unit=}"] = row(
                lambda T, a, b, u=upper, d=unit: T.linalg.solve_triangular(a, b, upper=u, unitriangular=d),
                FULL, RIGHT)  # fmt: skip
        found[f"solve_triangular from the right {upper=}"] = row(
            lambda T, a, b, u=upper: T.linalg.solve_triangular(a, b, upper=u, left=False), FULL, RIGHT.T)  # fmt: skip
        found[f"triangular_solve {upper=}"] = row(
            lambda T, b, a, u=upper: T.triangular_solve(b, a, upper=u, transpose=True)[0], RIGHT, FULL)  # fmt: skip
        factor = FACTOR.T if upper else FACTOR
        half = (lambda x: x.triu()) if upper else (lambda x: x.tril())
        found[f"cholesky_solve {upper=}"] = row(
            lambda T, b, x, u=upper, h=half: T.cholesky_solve(b, h(x), u), RIGHT, factor)  # fmt: skip
        found[f"cholesky_inverse {upper=}"] = row(lambda T, x, u=upper, h=half: T.cholesky_inverse(h(x), u), factor)
        found[f"cholesky {upper=}"] = row(lambda T, x, u=upper: T.linalg.cholesky(x, upper=u), FULL @ FULL.T)
    found["more matrices than rows"] = row(lambda T, a, b: T.linalg.solve_triangular(a, b, upper=True), BATCH, RIGHT)
    found["one matrix, many sides"] = row(lambda T, a, b: T.linalg.solve_triangular(a, b, upper=False), FULL, BATCH)
    for left in (True, False):
        for adjoint in (True, False):
            found[f"lu_solve {left=} {adjoint=}"] = row(
                lambda T, x, b, s=left, a=adjoint: T.linalg.lu_solve(x, T.tensor(PIVOTS), b, left=s, adjoint=a),
                LU, RIGHT[:3] if left else RIGHT[:3].T)  # fmt: skip
    found["lu_factor"] = row(lambda T, a: T.linalg.lu_factor(a)[0], FULL)
    found["lu_factor of more columns"] = row(lambda T, a: T.linalg.lu_factor(a)[0], FULL[:3])
    found["lu_factor of more rows"] = row(lambda T, a: T.linalg.lu_factor(a)[0], FULL[:, :3])
    return found


PROGRAMS = programs()


def with_slopes(call: Callable[..., Any]) -> modes.Program:
    def program(*xs: Any) -> list[Any]:
        out = call(*xs)
        weights = np.cos(np.arange(np.prod(out.shape))).reshape(tuple(out.shape)).astype(out.dtype)
        return [out, *modes.slopes(out * weights, xs)]

    return program


def of_torch(call: Callable[..., Any], arrays: list[np.ndarray]) -> list[np.ndarray]:
    torch = pytest.importorskip("torch")
    xs = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = call(*xs)
    weights = torch.cos(torch.arange(out.numel(), dtype=torch.float64)).reshape(out.shape).to(out.dtype)
    return [t.detach().numpy() for t in (out, *torch.autograd.grad((out * weights).sum(), xs))]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_are_those_of_pytorch(name, dtype):
    ours, theirs, operands = PROGRAMS[name]
    arrays = [a.astype(dtype) for a in operands]
    expected, tolerance = of_torch(theirs, arrays), 2e-3 if dtype == "float32" else 1e-9
    for mode, run in {"eager": modes.eager, **modes.MODES}.items():
        for found, wanted in zip(run(with_slopes(ours), arrays), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=mode)
            assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", [n for n in PROGRAMS if "many sides" not in n])
def test_second_gradients(name):
    ours, _, arrays = PROGRAMS[name]
    xs = [sg.tensor(a[:2] if a is BATCH else a, requires_grad=True) for a in arrays]
    assert sg.autograd.gradgradcheck(lambda *xs: ours(*(x @ x.mT for x in xs) if name.startswith("cholesky up") else xs), xs)


@pytest.mark.parametrize("name", [n for n in PROGRAMS if not n.startswith("cholesky up")])
def test_no_matrix_is_factored_again(name):
    """Neither forward nor backward: products, substitutions and moves are all that runs on the host."""
    ours, _, arrays = PROGRAMS[name]
    fn = sg.compile(with_slopes(ours))
    fn(*modes.leaves(arrays))
    ran = {op for _, unit in fn.plan.graph.nodes(data=True) for op in unit["ops"] if op.startswith("linalg_")}
    factored = {"linalg_lu_factor"} if name.startswith("lu_factor") else set()
    assert ran - factored <= {"linalg_solve_triangular", "linalg_cholesky_inverse"}


UNREAD = {
    "solve_triangular": lambda a, b: linalg.solve_triangular(a, b, upper=False),
    "cholesky_solve": lambda a, b: F.cholesky_solve(b, a),
    "cholesky_inverse": lambda a, b: F.cholesky_inverse(a) + 0 * b[0, 0],
}


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 0.0, 1e30, "singular"])
@pytest.mark.parametrize("name", UNREAD)
def test_the_other_half_is_not_read(name, garbage):
    """Not forward, not backward: not even where it makes the whole matrix singular."""
    other = np.ones((N, N)) * FACTOR[:, :1] if garbage == "singular" else np.full((N, N), garbage)
    filled = np.tril(FACTOR) + np.where(np.tri(N, dtype=bool), 0, other)
    program = with_slopes(UNREAD[name])
    expected = modes.eager(program, [np.tril(FACTOR), RIGHT])
    for mode, run in {"eager": modes.eager, **modes.MODES}.items():
        for found, wanted in zip(run(program, [filled, RIGHT]), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, err_msg=mode)


def test_a_zero_on_the_diagonal_gives_infinities_as_in_pytorch():
    torch = pytest.importorskip("torch")
    a, b = np.array([[2.0, 1.0], [0.0, 0.0]]), np.ones((2, 1))
    wanted = torch.linalg.solve_triangular(torch.tensor(a), torch.tensor(b), upper=True).numpy()
    for matrices in (a, np.stack([a] * 5)):  # by BLAS, and row by row
        found = sg.linalg.solve_triangular(sg.tensor(matrices), sg.tensor(b), upper=True).numpy()
        np.testing.assert_array_equal(found.reshape(-1, 2, 1)[-1], wanted)
    raised = pytest.raises(sg.errors.LinAlgError, match="linalg_solve_triangular: the matrix is not invertible")
    with tf1.Graph().as_default(), tf1.Session() as session, raised:  # as TensorFlow
        session.run(tf1.linalg.triangular_solve(tf1.constant(a), tf1.constant(b), lower=False))
    with pytest.raises(sg.errors.LinAlgError, match="linalg_cholesky_inverse: element 2 of the diagonal is 0"):
        sg.cholesky_inverse(sg.tensor(a))


SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
DETERMINANTS = {
    "regular": FULL, "singular": SINGULAR, "twice singular": np.ones((3, 3)), "near singular": SINGULAR + 1e-9 * np.eye(3),
    "several": np.stack([SINGULAR, FULL[:3, :3]]), "empty": np.ones((0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DETERMINANTS)
def test_derivatives_of_determinants(name, dtype):
    x = DETERMINANTS[name].astype(dtype)

    def minor(m, i, j):
        return (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m.astype(float), i, 0), j, 1))

    (slope,) = sg.grad(sg.linalg.det(t := sg.tensor(x, requires_grad=True)).sum(), [t])
    n = range(x.shape[-1])
    expected = [[[minor(m, i, j) for j in n] for i in n] for m in (x if x.ndim == 3 else [x])]
    np.testing.assert_allclose(slope.numpy(), np.reshape(expected, x.shape), atol=1e-4 if dtype == "float32" else 1e-7)


LEAST = {
    "tall": (RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))),
    "wide": (RNG.normal(size=(3, 6)), RNG.normal(size=(3, 2))),
    "square": (FULL, RIGHT),
    "several": (RNG.normal(size=(2, 6, 3)), RNG.normal(size=(2, 6, 2))),
}


@pytest.mark.parametrize("driver", [None, "gels", "gelsy", "gelsd"])
@pytest.mark.parametrize("name", LEAST)
def test_least_squares(name, driver):
    torch = pytest.importorskip("torch")
    arrays = list(LEAST[name])
    expected = of_torch(lambda a, b: torch.linalg.lstsq(a, b, driver=driver).solution, arrays)
    program = with_slopes(lambda a, b: linalg.lstsq(a, b, driver=driver).solution)
    for mode, run in {"eager": modes.eager, **modes.MODES}.items():
        for found, wanted in zip(run(program, arrays), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9, err_msg=mode)
    rank = sg.linalg.lstsq(*map(sg.tensor, arrays), driver=driver).rank
    assert rank.tolist() == torch.linalg.lstsq(*map(torch.tensor, arrays), driver=driver).rank.tolist()


def test_least_squares_of_a_singular_matrix():
    torch = pytest.importorskip("torch")
    a, b = np.stack([SINGULAR[:2].T, SINGULAR[:, :2]]), RNG.normal(size=(2, 3, 2))
    wanted = torch.linalg.lstsq(torch.tensor(a), torch.tensor(b))
    found = sg.linalg.lstsq(sg.tensor(a), sg.tensor(b))
    np.testing.assert_allclose(found.solution.numpy(), wanted.solution.numpy())
    assert found.rank.tolist() == wanted.rank.tolist() == [1, 2]
    assert sg.autograd.gradgradcheck(lambda b: sg.linalg.lstsq(sg.tensor(a), b).solution, [sg.tensor(b, requires_grad=True)])


def test_one_matrix_does_as_much_in_many_orders_of_memory():
    a, b = sg.tensor(FULL), sg.tensor(RIGHT)
    expected = sg.linalg.solve_triangular(a, b, upper=True).numpy()
    turned = sg.tensor(np.asfortranarray(FULL)), sg.tensor(np.ascontiguousarray(RIGHT.T)).mT
    np.testing.assert_allclose(sg.linalg.solve_triangular(*turned, upper=True).numpy(), expected)
    assert sg.linalg.solve_triangular(a, b, upper=True).is_contiguous()
