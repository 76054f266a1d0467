"""Factors and systems in plans: by loops for small matrices and by LAPACK for others, in any batch and order of memory, with
the values, gradients and errors of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import linalg
from staticgrad.operators import F
from tests.helpers import rng_of, sweep
from tests.ops import modes
from tests.ops.test_linear_systems import with_slopes

EXTENTS = (1, 2, 16, 17, 33, 70)
"""Both sides of the extent from which LAPACK factors matrices, and of the block of sides."""


def definite(x: Any) -> Any:
    return x @ x.mT / x.shape[-1] + np.eye(x.shape[-1], dtype=x.dtype)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a: linalg.cholesky(definite(a)),
    "cholesky_inverse": lambda a: F.cholesky_inverse(linalg.cholesky(definite(a))),
    "inv": linalg.inv,
    "slogdet": lambda a: linalg.slogdet(a).logabsdet,
    "logdet": lambda a: F.logdet(definite(a)),
    "lu_factor": lambda a: linalg.lu_factor(a).LU,
}
SYSTEMS: dict[str, Callable[..., Any]] = {
    "solve": linalg.solve,
    "solve of the transposed": lambda a, b: linalg.solve(a.mT, b),
    "cholesky_solve": lambda a, b: F.cholesky_solve(b, linalg.cholesky(definite(a))),
    "lower": lambda a, b: linalg.solve_triangular(a, b, upper=False),
    "upper": lambda a, b: linalg.solve_triangular(a, b, upper=True),
    "upper, transposed": lambda a, b: linalg.solve_triangular(a.mT, b, upper=True),
    "lower, transposed": lambda a, b: linalg.solve_triangular(a.mT, b, upper=False),
    "lower with ones": lambda a, b: linalg.solve_triangular(a / a.shape[-1], b, upper=False, unitriangular=True),
    "from the right": lambda a, b: linalg.solve_triangular(a, b.mT, upper=True, left=False),
    "transposed, from the right": lambda a, b: linalg.solve_triangular(a.mT, b.mT, upper=True, left=False),
}
SIDES = (1, 3, 70)


def matrices(*shape: int) -> np.ndarray:
    return rng_of(str(shape)).normal(size=shape) / np.sqrt(shape[-1]) + 3 * np.eye(shape[-1])


def compare(call: Callable[..., Any], arrays: list[np.ndarray], dtype: str) -> None:
    arrays = [a.astype(dtype) for a in arrays]
    expected = modes.eager(with_slopes(call), arrays)
    function = sg.compile(lambda *xs: tuple(with_slopes(call)(*xs)))
    results = [r.detach().numpy() for r in function(*modes.leaves(arrays))]
    assert function.plan.host_calls == 0
    for found, wanted in zip(results, expected, strict=True):
        assert found.dtype == wanted.dtype
        size = np.abs(wanted).max(initial=0) + 1e-30
        np.testing.assert_allclose(found / size, wanted / size, atol=2e-4 if dtype == "float32" else 1e-11)


WAYS = [(name, n, dtype) for name in FUNCTIONS for n in EXTENTS for dtype in ("float32", "float64")]


@pytest.mark.parametrize(("name", "n", "dtype"), sweep(WAYS, lambda _, way: way[2] == "float64" or way[1] in (1, 17)))
def test_factors(name, n, dtype):
    for lead in ((), (2, 2)):
        compare(FUNCTIONS[name], [matrices(*lead, n, n)], dtype)


WAYS_OF_SYSTEMS = [(name, n, dtype) for name in SYSTEMS for n in (1, 16, 33) for dtype in ("float32", "float64")]


@pytest.mark.parametrize(("name", "n", "dtype"), sweep(WAYS_OF_SYSTEMS, lambda _, way: way[2] == "float64" or way[1] == 16))
def test_systems(name, n, dtype):
    for sides in SIDES:
        for lead in ((), (3,)):
            right = rng_of(name).normal(size=(*lead, n, sides))
            compare(SYSTEMS[name], [matrices(*lead, n, n), right], dtype)


BATCHES = {
    "one matrix": ((), (4, 3)), "one matrix of some": ((3,), (4, 3)), "one right side": ((4, 3), ()),
    "outer matrices": ((4, 1), (4, 3)), "outer sides": ((4, 3), (4, 1)), "crossed": ((4, 1), (1, 3)),
}  # fmt: skip


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("name", BATCHES)
def test_batches_that_broadcast(name, n):
    left, right = BATCHES[name]
    for sides in (1, 5):
        for call in ("solve", "lower"):
            arrays = [matrices(*left, n, n), rng_of(name).normal(size=(*right, n, sides))]
            compare(SYSTEMS[call], arrays, "float64")


def test_a_batch_between_broadcast_axes_is_the_hosts():
    arrays = [matrices(2, 1, 3, 4, 4), rng_of("between").normal(size=(2, 5, 3, 4, 2))]
    expected = modes.eager(with_slopes(SYSTEMS["lower"]), arrays)
    for found, wanted in zip(modes.compiled(with_slopes(SYSTEMS["lower"]), arrays, "fast"), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", [3, 20])
def test_orders_of_memory(n):
    """Operands are read where they lie, where one stride leads from matrix to matrix, or copied."""
    a, b = matrices(5, 4, n, n), rng_of("orders").normal(size=(4, 5, n, 3))
    ways: list[Callable[..., Any]] = [
        lambda a, b: SYSTEMS["lower"](a.swapaxes(0, 1), b),
        lambda a, b: SYSTEMS["lower"](a[::2, ::2].swapaxes(0, 1), b[:2, :3, :, :1]),
        lambda a, b: SYSTEMS["solve"](a[0].mT, b[:, 0].flip(0)),
        lambda a, b: linalg.cholesky(definite(a)[::2].mT),
        lambda a, b: linalg.inv(a.permute(0, 2, 1, 3)[:, :, 1]),
        lambda a, b: linalg.solve_triangular(a[0], b[:, 0].mT[:, 1:], upper=False, left=False),
    ]  # fmt: skip
    for way in ways:
        compare(way, [a, b], "float64")


@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
def test_empty_matrices(shape):
    for call in FUNCTIONS.values():
        compare(call, [np.ones(shape)], "float32")
    for name in ("solve", "lower", "from the right"):
        compare(SYSTEMS[name], [np.ones(shape), np.ones((*shape[:-1], 2))], "float32")
        compare(SYSTEMS[name], [matrices(3, 3), np.ones((3, 0))], "float64")


@pytest.mark.parametrize(
    "name", ["cholesky", "cholesky_inverse", "inv", "slogdet", "solve", "cholesky_solve", "from the right"]
)
@pytest.mark.parametrize("n", [4, 18])
def test_second_gradients(name, n):
    """Of plans, against the interpreter's."""
    call, arrays = {**FUNCTIONS, **SYSTEMS}[name], [matrices(2, n, n), rng_of(name).normal(size=(2, n, 2))]
    arrays = arrays if name in SYSTEMS else arrays[:1]

    def program(*xs):
        results = with_slopes(call)(*xs)
        return [*results, *modes.slopes(results[1] * results[1], xs)]

    expected = modes.interpreter(program, arrays)
    for found, wanted in zip(modes.compiled(program, arrays, "fast"), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_a_system_and_its_gradient_share_the_factors():
    function = sg.compile(lambda *xs: tuple(with_slopes(linalg.solve)(*xs)))
    function(*modes.leaves([matrices(20, 20), np.ones((20, 3))]))
    assert [i.name for i in function.plan.instructions].count("linalg_lu_factor") == 1
    function = sg.compile(lambda x: tuple(with_slopes(lambda a: linalg.slogdet(a).logabsdet)(x)))
    function(*modes.leaves([matrices(20, 20)]))
    assert [i.name for i in function.plan.instructions].count("linalg_lu_factor") == 1


# errors -----------------------------------------------------------------------------------------------------------------------


def singular(n: int) -> np.ndarray:
    return np.ones((n, n))


FAILS: dict[str, tuple[Callable[..., Any], str]] = {
    "cholesky": (linalg.cholesky, "linalg_cholesky: Matrix is not positive definite"),
    "inv": (linalg.inv, "linalg_inv: Singular matrix"),
    "solve": (lambda a: linalg.solve(a, a[..., :1]), "linalg_solve: Singular matrix"),
    "cholesky_inverse": (lambda a: F.cholesky_inverse(a - 1), "linalg_cholesky_inverse: element 1 of the diagonal is 0"),
    "slogdet": (lambda a: modes.slopes(linalg.slogdet(a).logabsdet, [a])[0], "linalg_inv: Singular matrix"),
}


@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("name", FAILS)
def test_errors_are_those_of_eager_mode(name, n):
    call, text = FAILS[name]
    for run in (modes.eager, *modes.MODES.values()):
        with pytest.raises(sg.errors.LinAlgError, match=text):
            run(lambda a: [call(a)], [singular(n)])
        with pytest.raises(sg.errors.LinAlgError, match=text):
            run(lambda a: [call(a)], [np.stack([np.eye(n) + 1, singular(n)])])


@pytest.mark.parametrize("pivot", [0, 5, -1])
def test_pivots_that_are_no_rows(pivot):
    x, b, pivots = matrices(4, 4), np.ones((4, 1)), np.array([1, 2, pivot, 4], np.int32)
    for run in (modes.eager, *modes.MODES.values()):
        with pytest.raises(sg.errors.IndexRangeError, match=f"lu_order: pivot {pivot} is the number of no row"):
            run(lambda x, b: [linalg.lu_solve(x, sg.tensor(pivots), b)], [x, b])


@pytest.mark.parametrize("n", [3, 20])
def test_a_failure_changes_nothing(n):
    count = sg.zeros(())

    @sg.compile
    def step(a):
        count.add_(1)
        return linalg.solve(a, a[:, :1]).sum() + linalg.cholesky(a).sum()

    step(sg.tensor(np.eye(n)))
    with pytest.raises(sg.errors.LinAlgError, match="Matrix is not positive definite"):
        step(sg.tensor(-np.eye(n)))
    assert step(sg.tensor(np.eye(n))).item() == n + 1
    assert step.plan.host_calls == 0


@pytest.mark.parametrize("n", [3, 20])
def test_determinants_of_singular_matrices(n):
    function = sg.compile(lambda a: (*linalg.slogdet(a), linalg.det(a)))
    sign, logarithm, value = function(sg.tensor(singular(n)))
    assert (sign.item(), logarithm.item(), value.item()) == (0, -np.inf, 0)


@pytest.mark.parametrize("n", [3, 20])
def test_nan_is_no_error(n):
    x = np.eye(n)
    x[1, 1] = np.nan
    for call in (linalg.cholesky, linalg.inv, lambda a: linalg.solve(a, a[:, :1])):
        found, wanted = sg.compile(call)(sg.tensor(x)).numpy(), call(sg.tensor(x)).numpy()
        assert np.isnan(found).any()
        assert np.isnan(wanted).any()


@pytest.mark.parametrize("n", [4, 20])
def test_in_loops(n):
    """Kalman's recursion: each step solves with the covariance that the one before left."""

    def program(p, h):
        def body(p, row):
            gain = linalg.solve(p + np.eye(n), row[:, None])
            p = p - gain @ gain.mT * 0.1 + linalg.cholesky(p @ p.mT + np.eye(n)) * 0.01
            return p, linalg.slogdet(p).logabsdet

        last, traces = sg.scan(body, p, h)
        return [last, traces, *modes.slopes(last.sum() + traces.sum(), [p, h])]

    arrays = [matrices(n, n), rng_of("loop").normal(size=(5, n))]
    expected = modes.eager(program, arrays)
    for found, wanted in zip(modes.compiled(program, arrays, "fast"), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def test_threads_have_the_same_results():
    a, b = sg.tensor(matrices(8, 40, 40)), sg.tensor(rng_of("threads").normal(size=(8, 40, 300)))
    before = sg.get_num_threads()

    def program(a, b):
        return linalg.solve(a, b), SYSTEMS["upper"](a, b), linalg.cholesky(definite(a))

    try:
        found = []
        for threads in (1, 3):
            sg.set_num_threads(threads)
            found.append(
                sg.compile(lambda a, b: (linalg.solve(a, b), SYSTEMS["upper"](a, b), linalg.cholesky(definite(a))))(a, b)
            )
    finally:
        sg.set_num_threads(before)
    for one, several in zip(*found, strict=True):
        np.testing.assert_allclose(one.numpy(), several.numpy(), rtol=1e-12)


def test_threads_share_a_batch_of_factors():
    """Though it is a check: each matrix that is not definite has the same error."""
    a = matrices(64, 24, 24)
    before = sg.get_num_threads()
    try:
        sg.set_num_threads(3)
        step = sg.compile(lambda a: linalg.cholesky(a))
        a = (a @ np.swapaxes(a, -1, -2) + np.eye(24)).astype(np.float32)
        np.testing.assert_allclose(step(sg.tensor(a)).numpy(), np.linalg.cholesky(a), rtol=1e-3, atol=1e-5)
    finally:
        sg.set_num_threads(before)
    [factors] = [each for each in step.plan.instructions if each.check]
    assert factors.chunks == 3
    for bad in ([5], [63], [1, 30, 60]):
        a[bad] *= -1
        with pytest.raises(sg.errors.LinAlgError, match="Matrix is not positive definite"):
            step(sg.tensor(a))
        a[bad] *= -1


def test_many_runs_and_new_shapes():
    function = sg.compile(lambda a, b: linalg.solve(a, b).sum())
    for n in (3, 5, 20, 7, 40, 20):
        a, b = matrices(n, n), np.ones((n, 2))
        np.testing.assert_allclose(function(sg.tensor(a), sg.tensor(b)).item(), np.linalg.solve(a, b).sum())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 2, 5, 17, 65])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_gradients_of_determinants_of_any_rank(n, lost, dtype):
    rng = np.random.default_rng(n)
    u, v = (np.linalg.qr(rng.standard_normal((n, n)))[0] for _ in range(2))
    s = np.linspace(1, 2, n) ** 0.2
    s[:lost] = 0
    others = np.array([np.prod(np.delete(s, i)) for i in range(n)])
    wanted = (u * (others * np.linalg.det(u) * np.linalg.det(v))) @ v.T
    stacked = np.stack([(u * s) @ v.T, np.eye(n), (u * s).T @ v]).astype(dtype)
    function = sg.compile(lambda a: sg.autograd.grad(linalg.det(a).sum(), [a])[0])
    found = function(*modes.leaves([stacked])).numpy()
    assert function.plan.host_calls == (n > 64)
    for one, expected in ((found[0], wanted), (found[1], np.eye(n))):
        np.testing.assert_allclose(one, expected, rtol=0, atol=200 * np.finfo(dtype).eps * np.abs(expected).max(initial=1))


def test_a_determinant_of_what_is_not_finite_has_cofactors_of_nan():
    x = np.stack([np.full((3, 3), np.nan), np.eye(3), np.diag([np.inf, 1.0, 1.0])])
    for run in (modes.eager, *modes.MODES.values()):
        (found,) = run(lambda a: modes.slopes(F.sum(linalg.det(a)), [a]), [x])
        assert np.isnan(found[[0, 2]]).all()
        np.testing.assert_array_equal(found[1], np.eye(3))


# matrices that several systems share ------------------------------------------------------------------------------------------

SHARED = {
    "none": ((4, 4), (3, 4, 2), True), "last": ((5, 4, 4), (7, 5, 4, 1), True), "extent 1": ((1, 4, 4), (6, 4, 2), True),
    "first": ((1, 5, 4, 4), (3, 5, 4, 2), True), "both": ((3, 1, 4, 4), (1, 6, 4, 2), True),
    "a right side": ((4, 4), (3, 2, 4), False), "right sides": ((1, 5, 4, 4), (3, 5, 2, 4), False),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("solver", [linalg.solve, lambda a, b, left: linalg.solve_triangular(a, b, upper=True, left=left)])
def test_a_shared_matrix_is_that_of_each_system(name, solver):
    of_a, of_b, left = SHARED[name]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(of_a) + 4 * np.eye(4), rng.standard_normal(of_b)
    lead = np.broadcast_shapes(of_a[:-2], of_b[:-2])

    def shared(a, b):
        return with_slopes(lambda a, b: solver(a, b, left=left))(a, b)

    def apart(a, b):
        each = [F.clone(F.broadcast_to(x, (*lead, *x.shape[-2:]))) for x in (a, b)]
        return solver(*each, left=left)

    for run in (modes.eager, *modes.MODES.values()):
        for found, wanted in zip(run(shared, [a, b]), modes.eager(with_slopes(apart), [a, b]), strict=True):
            assert found.shape == wanted.shape
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_shared_matrix_is_read_once():
    a, b = modes.leaves([matrices(6, 6), np.ones((50, 6, 1))])
    function = sg.compile(lambda a, b: linalg.solve_triangular(a, b, upper=True))
    function(a, b)
    (call,) = [i for i in function.plan.instructions if i.name == "linalg_solve_triangular"]
    assert call.sizes[:2] == [6, 50]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sides", [15, 16, 65, 130])
@pytest.mark.parametrize("n", [17, 48, 70])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_systems_with_many_sides_are_solved_by_blocks(n, sides, upper, turned, dtype):
    """By products of blocks of rows, in any order of memory, with the accuracy of LAPACK's solution."""
    rng = rng_of(f"{n} {sides}")
    a = (rng.standard_normal((2, n, n)) / np.sqrt(n) + 2 * np.eye(n)).astype(dtype)
    b = rng.standard_normal((2, n, sides)).astype(dtype)
    kept = np.triu(a) if upper else np.tril(a)

    @sg.compile
    def solved(a, b):
        return linalg.solve_triangular(a.mT if turned else a, b, upper=upper)

    given = np.ascontiguousarray(np.swapaxes(a, -1, -2)) if turned else a
    x = solved(sg.tensor(given), sg.tensor(b)).numpy().astype(np.float64)
    eps = np.finfo(dtype).eps
    assert np.abs(kept.astype(np.float64) @ x - b).max() < 30 * eps * np.abs(x).max()
