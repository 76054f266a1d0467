"""Products: tiles of registers, what they leave over, and transposes, against NumPy in float64."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.compiler.backend import kernel_cache
from staticgrad.compiler.backend.abi import AMPLE, FORM, ROOMY, scratch_of
from staticgrad.compiler.backend.abi import kernel as source_of
from staticgrad.operators import F
from tests.compiler.helpers import Bench
from tests.helpers import rng_of

ROWS, COLUMNS, DEPTHS = (0, 1, 7, 8, 31, 33, 64), (0, 1, 8, 15, 16, 17, 33, 100), (0, 1, 8, 257, 520)
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
BESIDE = 16


def operand(rng: np.random.Generator, shape: tuple[int, int], turned: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """A matrix, and how it is stored."""
    matrix = rng.standard_normal(shape).astype(dtype)
    return matrix, np.ascontiguousarray(matrix.T) if turned else matrix


def kernel_of(kind: str) -> int:
    text, name = source_of(kind)
    return kernel_cache.load(text)[name]


def run(c: np.ndarray, a: np.ndarray, b: np.ndarray, e: np.ndarray, sizes: list[int], ranges: list[tuple[int, int]]):
    """Call the kernel on ranges of rows, or columns, as threads do; where operands are packed, on as many chunks."""
    packed, size = sizes[FORM - 1], c.dtype.itemsize
    kernel = ENTRY(kernel_of(f"f{8 * size}" + ("_packed" if packed else "")))
    scratch = np.empty((len(ranges), scratch_of(size, sizes[3]) if packed else 0), np.int8)
    numbers = np.array([1, len(ranges) if packed else 0, scratch.shape[1], *sizes], np.int64)
    places = np.array([x.ctypes.data for x in (a, b, c, e, scratch)], np.int64)
    for i, (begin, end) in enumerate(ranges):
        kernel(places.ctypes.data, numbers.ctypes.data, *((i, i + 1) if packed else (begin, end)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("turned_a", "turned_b"), list(itertools.product((0, 1), repeat=2)))
@pytest.mark.parametrize("added", ["nothing", "the result", "a row", "a matrix"])
def test_all_remainders(dtype: str, turned_a: int, turned_b: int, added: str):
    """Rows beyond eights, columns beyond vectors, depths beyond a panel, cut by rows and by columns, in place and packed;
    nothing is written beside the result."""
    rng = rng_of(dtype)
    for m, n, k, across in itertools.product(ROWS, COLUMNS, DEPTHS, (0, 1)):
        a, x = operand(rng, (m, k), turned_a, dtype)
        b, y = operand(rng, (k, n), turned_b, dtype)
        c = np.full(m * n + BESIDE, 7, dtype)
        e = {"a row": rng.standard_normal((1, n)).astype(dtype), "a matrix": rng.standard_normal((m, n)).astype(dtype)}.get(
            added, c[: m * n].reshape(m, n)
        )
        alpha, step = (1.0, -1) if added == "nothing" else (-0.75, 0 if added == "a row" else n)
        exact = alpha * a.astype(np.float64) @ b + (0.0 if added == "nothing" else e)
        form = [turned_a, turned_b, m, n, k, max(x.shape[1], 1), max(y.shape[1], 1), n, 1, bits(alpha), step, across]
        span, old = n if across else m, c.copy()
        for packed in (0, 1) if m in (1, 8, 33) and n not in (8, 15, 17) else (0,):
            c[:] = old
            run(c, x, y, e, [*form, packed, 0, 0, 0, 0], [(0, span // 3), (span // 3, span)])
            tolerance = float(np.finfo(dtype).eps) * 4 * (k + 8)
            off = np.abs(c[: m * n].reshape(m, n) - exact).max(initial=0.0)
            assert off <= tolerance, (m, n, k, across, packed)
            assert (c[m * n :] == 7).all()


def test_nothing_before_the_result_is_read():
    """Where nothing is added, the rows of E are not rows before C, which may be no memory of the process."""
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 8 * page)
    room = np.frombuffer(memory, np.float32)
    guard = ctypes.c_void_p(room.ctypes.data), ctypes.c_size_t(page)
    libc = ctypes.CDLL(None)
    assert libc.mprotect(*guard, 0) == 0
    m, n, k = 2051, 3, 2
    a, b, c = np.ones((m, k), "f4"), np.ones((k, n), "f4"), room[page // 4 :][: m * n].reshape(m, n)
    for packed in (0, 1):
        run(c, a, b, c, [0, 0, m, n, k, k, n, n, 1, bits(1.0), -1, 0, packed, 0, 0, 0, 0], [(0, m)])
        assert (c == k).all()
    assert libc.mprotect(*guard, mmap.PROT_READ | mmap.PROT_WRITE) == 0


def bits(number: float) -> int:
    return int(np.float64(number).view(np.int64))


@pytest.mark.parametrize(("m", "n", "k"), [(4, 512, 512), (13, 512, 512), (300, 10, 512), (8, 600, 300)])
@pytest.mark.parametrize("turned", [0, 1])
def test_what_tiles_leave_over_is_not_always_for_blas(m: int, n: int, k: int, turned: int):
    """Few rows, or columns, of many: tiles with rows done twice, which are added once, and tiles along the rows of C."""
    rng = rng_of("edges")
    a, x = operand(rng, (m, k), turned, "f4")
    b, y = operand(rng, (k, n), turned, "f4")
    c = rng.standard_normal((m, n)).astype("f4")
    exact = c + a.astype(np.float64) @ b
    run(c, x, y, c, [turned, turned, m, n, k, x.shape[1], y.shape[1], n, 1, bits(1.0), n, 0, 0, 0, 0, 0, 0], [(0, m)])
    np.testing.assert_allclose(c, exact, rtol=0, atol=2e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("turned_a", "turned_b"), list(itertools.product((0, 1), repeat=2)))
def test_blocks(dtype: str, turned_a: int, turned_b: int):
    """More rows, columns and steps than a block has, by two chunks."""
    rng, (m, n, k) = rng_of("blocks"), (530, 2070, 258)
    a, x = operand(rng, (m, k), turned_a, dtype)
    b, y = operand(rng, (k, n), turned_b, dtype)
    c, e = np.empty((m, n), dtype), rng.standard_normal((1, n)).astype(dtype)
    form = [turned_a, turned_b, m, n, k, x.shape[1], y.shape[1], n, 1, bits(0.5), 0, turned_b, 1]
    run(c, x, y, e, [*form, 0, 0, 0, 0], [(0, 0), (0, 0)])
    tolerance = float(np.finfo(dtype).eps) * 4 * (k + 8)
    np.testing.assert_allclose(c, 0.5 * (a.astype(np.float64) @ b) + e, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("turned_a", "turned_b"), list(itertools.product((0, 1), repeat=2)))
def test_few_steps(dtype: str, turned_a: int, turned_b: int):
    """Packed products of 0 to 8 steps store E and what these add, in as many chunks as there are tiles, and in more."""
    rng = rng_of("steps")
    for k, (m, n), across, chunks in itertools.product(range(9), ((33, 100), (70, 17)), (0, 1), (1, 2, 9)):
        a, x = operand(rng, (m, k), turned_a, dtype)
        b, y = operand(rng, (k, n), turned_b, dtype)
        c, e = np.full((m, n), np.nan, dtype), rng.standard_normal((1, n)).astype(dtype)
        form = [turned_a, turned_b, m, n, k, max(x.shape[1], 1), max(y.shape[1], 1), n, 1, bits(0.5)]
        for step, added in ((-1, 0.0), (0, e)):
            run(c, x, y, e, [*form, step, across, 1, 0, 0, 0, 0], [(0, 0)] * chunks)
            exact = 0.5 * (a.astype(np.float64) @ b) + added
            case = str((k, m, n, across, chunks, step))
            np.testing.assert_allclose(c, exact, rtol=0, atol=float(np.finfo(dtype).eps) * 40, err_msg=case)


OTHER_CACHE = """
import builtins, io, itertools, sys
real = open
builtins.open = lambda file, *a, **k: (
    io.StringIO(sys.argv[1]) if str(file).endswith("cache/index2/size") else real(file, *a, **k)
)
from tests.compiler.backend import test_gemm as tests
assert tests.ROOMY == (sys.argv[1] == "2048K")
for case in itertools.product(("f4", "f8"), *[range(2)] * 2):
    tests.test_few_steps(case[0], *case[1:])
    tests.test_blocks(case[0], *case[1:])
for shapes in ((1100, 0, 1100), (1500, 0, 900), (0, 1100, 1100)):
    tests.test_products_of_no_steps(shapes)
"""


@pytest.mark.skipif(not AMPLE, reason="needs AVX-512: other CPUs pack products in one way")
def test_cpus_with_another_l2_cache():
    """Both operands are copied where it is small, and B alone where it is ROOMY."""
    program = [sys.executable, "-c", OTHER_CACHE, "1024K" if ROOMY else "2048K"]
    done = subprocess.run(program, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shapes", [(1100, 0, 1100), (1500, 0, 900), (0, 1100, 1100)])
def test_products_of_no_steps(shapes: tuple[int, int, int]):
    """The large gradient of a weight for an empty batch, which is 0, and a layer without features, which is its bias."""
    m, k, n = shapes
    a, b, row = np.ones((m, k), "f4"), np.ones((k, n), "f4"), np.arange(1, n + 1, dtype="f4")
    step = sg.compile(lambda a, b, row: a @ b + row)
    np.testing.assert_array_equal(np.asarray(step(a, b, row)), np.broadcast_to(row, (m, n)))


@pytest.mark.parametrize(
    ("shapes", "turned", "why"),
    [
        ((256, 1100, 256), "", "which many tiles read" if ROOMY else "which outgrow the cache"),
        ((150, 2100, 256), "", "which outgrow the cache"),
        ((1100, 80, 40), "a", "" if ROOMY else "as columns of the left one are pages apart"),
        ((16, 1000, 1100), "", "" if ROOMY else "as rows of the right one are pages apart"),
        ((300, 200, 300), "", "which many tiles read" if not AMPLE else ""),
        ((40, 1100, 400), "", "as their rows are long" if ROOMY else "which many tiles read" if not AMPLE else ""),
        ((1100, 20, 1000), "", "which many tiles read" if ROOMY else "as the result outgrows the cache"),
        ((4400, 20, 150), "", "as the result outgrows the cache" if ROOMY or not AMPLE else ""),
        ((96, 256, 128), "", ""),
    ],
)
def test_large_operands_are_packed(shapes: tuple[int, int, int], turned: str, why: str):
    m, k, n = shapes
    rng = rng_of("packed")
    a, b = rng.standard_normal((k, m) if turned else (m, k)).astype("f4"), rng.standard_normal((k, n)).astype("f4")
    step = sg.compile(lambda a, b: (a.T if turned else a) @ b)
    found = np.asarray(step(a, b))
    np.testing.assert_allclose(found, (a.T if turned else a).astype(np.float64) @ b, rtol=0, atol=1e-3)
    assert f"{m}x{k}x{n} packs its operands, {why}" in step.plan.explain() if why else "packs" not in step.plan.explain()


def test_batches_have_places_of_their_own():
    rng = rng_of("batches")
    a, b, e = (rng.standard_normal(shape).astype("f4") for shape in ((3, 20, 40), (40, 48), (3, 48)))
    c = np.empty((3, 20, 48), np.float32)
    places = [place for i in range(3) for place in (800 * i, 0, 960 * i, 48 * i)]
    run(c, a, b, e, [0, 0, 20, 48, 40, 40, 48, 48, 3, bits(1.0), 0, 0, 0, *places], [(0, 1), (1, 3)])
    np.testing.assert_allclose(c, a @ b + e[:, None], rtol=1e-4, atol=1e-5)


def test_special_values_go_the_way_of_arithmetic():
    a, b = np.ones((16, 3), np.float32), np.ones((3, 32), np.float32)
    a[1, 1], a[2, 2], b[0, 3] = np.nan, np.inf, -np.inf
    found = np.asarray(sg.compile(lambda a, b: a @ b)(a, b))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, a @ b)


def test_products_by_one_matrix_are_one_product():
    rng = rng_of("batch")
    x, w = rng.standard_normal((4, 8, 16)).astype("f4"), rng.standard_normal((16, 32)).astype("f4")
    names = []
    for fn in (lambda x, w: x @ w, lambda x, w: x.mT @ w[:8]):
        step = sg.compile(fn)
        expected = fn(sg.tensor(x), sg.tensor(w)).numpy()
        np.testing.assert_allclose(np.asarray(step(x, w)), expected, rtol=1e-4, atol=1e-5)
        names.append(next(row.name for row in step.plan.instructions if row.kind == "gemm"))
    assert names == ["32x16x32", "16x8x32 x4"]


# several products in one row -------------------------------------------------------------------------------------------------


def both(b: Bench) -> list[Any]:
    x = b.feed(100, 60)
    return [x @ b.feed(60, 70), b.feed(40, 100) @ x]


def one_of_the_other(b: Bench) -> list[Any]:
    x = b.feed(100, 60) @ b.feed(60, 60)
    return [x @ b.feed(60, 70)]


def summed(b: Bench) -> list[Any]:
    return [b.feed(100, 60) @ b.feed(60, 70) + b.feed(100, 60) @ b.feed(60, 70) + b.feed(70)]


def batches(b: Bench) -> list[Any]:
    x = b.feed(5, 33, 60)
    return [x @ b.feed(5, 60, 33), b.feed(3, 60) @ x.mT]


def small(b: Bench) -> list[Any]:
    x = b.feed(10, 6)
    return [x @ b.feed(6, 7), b.feed(4, 10) @ x]


def few_rows(b: Bench) -> list[Any]:
    x = b.feed(300, 100)
    return [b.feed(3, 300) @ x, b.feed(17, 300) @ x]


def over_an_operand(b: Bench) -> list[Any]:
    """The second product is added to what the first one reads."""
    x = F.cumsum(b.feed(60, 60), 0)
    return [F.cumsum(x @ b.feed(60, 60), 0), F.cumsum(x + b.feed(60, 60) @ b.feed(60, 60), 0)]


def packed(b: Bench) -> list[Any]:
    x = b.feed(130, 300)
    return [x @ b.feed(300, 900), b.feed(20, 130) @ x, x @ b.feed(2 * 900, 300).T]


def updates(b: Bench) -> list[Any]:
    """The first product reads a variable that the second one is added to."""
    w = b.variable(60, 60)
    b.assign(w, w - b.feed(60, 100) @ b.feed(100, 60))
    return [b.feed(100, 60) @ w]


JOINED: dict[str, tuple[Callable[[Bench], list[Any]], list[str]]] = {
    "both": (both, ["100x60x70, 40x100x60"]),
    "one of the other": (one_of_the_other, ["100x60x60", "100x60x70"]),
    "summed": (summed, ["100x60x70 + x4, 100x60x70 + add"]),
    "batches": (batches, ["33x60x33 x5, 3x60x33 x5"]),
    "small": (small, ["10x6x7", "4x10x6"]),
    "few rows": (few_rows, ["3x300x100, 17x300x100"]),
    "over an operand": (over_an_operand, ["60x60x60", "60x60x60 + cumsum"]),
    "packed": (packed, ["130x300x900, 20x130x300, 130x300x1800"]),
    "updates": (updates, ["100x60x60", "-1 * 60x100x60 + w"]),
}


@pytest.mark.parametrize("name", JOINED)
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_meet_once_for_products_that_are_apart(name: str, threads: int):
    write, expected = JOINED[name]
    before = sg.get_num_threads()
    sg.set_num_threads(threads)
    try:
        b = Bench()
        plan = b.check(*write(b), rtol=1e-3)
    finally:
        sg.set_num_threads(before)
    found = [row.name for row in plan.instructions if row.kind == "gemm"]
    assert found == (expected if threads > 1 else [name for names in expected for name in names.split(", ")])
