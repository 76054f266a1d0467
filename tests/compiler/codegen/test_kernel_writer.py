"""The text of generated kernels. `UPDATE_GOLDEN=1 pytest -n 0 PATH_OF_THIS_FILE` writes the golden files anew."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from staticgrad.autodiff.reverse import gradients
from staticgrad.compiler.execute.plan import Plan
from staticgrad.ir import REGISTRY
from staticgrad.operators import F, Symbol, append
from staticgrad.ops.leaves import hyper
from staticgrad.ops.random import DrawPosition, generator, normal_op, rng_op_type, uniform_op
from tests.compiler.helpers import Bench, ops_of

GOLDEN = Path(__file__).parent.parent.parent / "golden"
F32 = np.dtype(np.float32)


def written(plan: Plan) -> str:
    """The kernels of a plan; comments without the lines that they lead home to."""
    return re.sub(r"  \S+\.py:\d+$", "", plan.source(), flags=re.MULTILINE).rstrip() + "\n"


# golden files -----------------------------------------------------------------------------------------------------


def pointwise(b: Bench) -> list[Symbol]:
    return [F.tanh(b.feed(4, 5) * 0.7 + 1) * F.sigmoid(b.feed(4, 5))]


def bias_relu(b: Bench) -> list[Symbol]:
    return [F.relu(b.feed(4, 5) + b.feed(5))]


def cross_entropy(b: Bench) -> list[Symbol]:
    x, labels = b.feed(8, 10), b.feed(value=np.arange(8))
    loss = -F.mean(F.take_along_axis(F.log_softmax(x), F.expand_dims(labels, 1), 1))
    return [loss, *gradients([loss], [x])]


def one_class_of_many(b: Bench) -> list[Symbol]:
    x, labels = b.feed(8, 100), b.feed(value=np.arange(8))
    return [F.where(F.eq(F.expand_dims(labels, 1), F.index_along(x, 1)), x, 0)]


def layer_norm(b: Bench) -> list[Symbol]:
    x = b.feed(4, 5)
    centred = x - F.mean(x, 1, keepdims=True)
    return [centred * F.rsqrt(F.mean(F.square(centred), 1, keepdims=True) + 1e-5) * b.feed(5) + b.feed(5)]


def layer_norm_of_many(b: Bench) -> list[Symbol]:
    x = b.feed(8, 100)
    centred = x - F.mean(x, 1, keepdims=True)
    return [centred * F.rsqrt(F.mean(F.square(centred), 1, keepdims=True) + 1e-5) * b.feed(100) + b.feed(100)]


def logistic(b: Bench) -> list[Symbol]:
    x, w, y = b.variable(80, 20), b.feed(20), b.feed(80)
    loss = F.mean(F.softplus(x @ w) - y * (x @ w))
    return [loss, *gradients([loss], [w])]


def kept_in_blocks(b: Bench) -> list[Symbol]:
    return [F.log_softmax(F.softmax(b.feed(8, 40)) * F.exp(b.feed(8, 1)))]


def adam(b: Bench) -> list[Symbol]:
    options = {"lr": 0.01, "beta1": 0.9, "beta2": 0.999}
    w, g = b.variable(4, 5), b.feed(4, 5)
    m, v = b.variable(4, 5, name="m"), b.variable(value=np.ones((4, 5), F32), name="v")
    lr, beta1, beta2 = (F.astype(hyper(options, name, b.graph), F32) for name in options)
    b.assign(m, new_m := beta1 * m + (1 - beta1) * g)
    b.assign(v, new_v := beta2 * v + (1 - beta2) * F.square(g))
    b.assign(w, w - lr * new_m / (F.sqrt(new_v) + 1e-8))
    return []


def column_sum(b: Bench) -> list[Symbol]:
    x = F.exp(b.feed(4, 32))
    return [F.sum(x, 0), F.amax(x, 0)]


def general_broadcast(b: Bench) -> list[Symbol]:
    return [b.feed(2, 3, 4, 5) * b.feed(3, 1, 5) + F.permute(b.feed(4, 3, 2), (2, 1, 0))[..., None]]


def booleans(b: Bench) -> list[Symbol]:
    x, y = b.feed(4, 5), b.feed(4, 5)
    return [mask := F.logical_and(x > y, ~(x == 0.5)), F.all(mask, 1), F.any(mask), F.where(mask, x, y)]


def integers(b: Bench) -> list[Symbol]:
    i, j = b.feed(4, 5, dtype=np.int32), b.feed(4, 5, dtype=np.int32)
    return [i * 3 - j, F.maximum(i, j), F.amax(i, 1), F.argmax(i, 1), F.sum(j)]


def scalars(b: Bench) -> list[Symbol]:
    x = b.feed(dtype=np.float64)
    return [F.sqrt(F.exp(x) + 1), 1 / x]


def kept_values(b: Bench) -> list[Symbol]:
    return [F.softmax(F.softmax(b.feed(4, 5)) * 3)]


def totals(b: Bench) -> list[Symbol]:
    x = b.feed(4, 5)
    return [F.sqrt(F.sum(F.square(x))), F.max(x)]


def draws(b: Bench) -> list[Symbol]:
    x = b.feed(4, 5)
    rng = append(b.graph, REGISTRY["generator"], (), {"type": rng_op_type})
    u = DrawPosition(rng, None, 0).draw(uniform_op, x, shape=None, dtype=F32)
    return [F.where(u >= 0.5, x, 0) + DrawPosition(rng, None, 1).draw(normal_op, x, shape=None, dtype=F32)]


def running_sum(b: Bench) -> list[Symbol]:
    return [F.cumsum(b.feed(4, 20), 1) * b.feed(20) + 1]


KERNELS = (
    pointwise, bias_relu, cross_entropy, one_class_of_many, layer_norm, adam, column_sum, general_broadcast, booleans, integers,
    scalars, kept_values, totals, draws, layer_norm_of_many, logistic, kept_in_blocks, running_sum,
)  # fmt: skip


@pytest.mark.parametrize("write", KERNELS, ids=lambda write: write.__name__)
def test_golden(write: Callable[[Bench], list[Symbol]]):
    b = Bench()
    text = written(b.plan(*write(b)))
    file = GOLDEN / f"{write.__name__}.py"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text)
    assert text == file.read_text(), f"{file} differs; if the change is meant, UPDATE_GOLDEN=1 writes it anew"


def test_no_golden_file_is_left_over():
    assert {f.stem for f in GOLDEN.glob("*.py")} == {write.__name__ for write in KERNELS}


@pytest.mark.parametrize("write", [k for k in KERNELS if k not in (draws, adam)], ids=lambda write: write.__name__)
def test_the_golden_kernels_compute_what_the_interpreter_does(write: Callable[[Bench], list[Symbol]]):
    b = Bench()
    b.check(*write(b))


def test_draws_are_those_of_the_ops():
    b = Bench()
    (y,) = draws(b)
    plan = b.plan(y)
    results = []
    for run in (plan.run, plan.run_unjitted):
        generator.manual_seed(3)
        results.append(run(b.arrays, {})[0])
    rng = np.array([3, 0])
    u = uniform_op.eval(rng, b.arrays[0], shape=None, dtype=F32, index=0)
    n = normal_op.eval(rng, b.arrays[0], shape=None, dtype=F32, index=1)
    for result in results:
        np.testing.assert_allclose(result, np.where(u >= 0.5, b.arrays[0], 0) + n, rtol=1e-6, atol=1e-6)


# what must not shape the text ---------------------------------------------------------------------------------------


def codes(plan: Plan) -> list[str]:
    """The kernels without their comments."""
    return [re.sub(r"  # .*", "", text) for text in plan.sources()]


def of_shape(rows: int, columns: int) -> list[str]:
    b = Bench()
    x, bias = b.feed(rows, columns), b.feed(columns)
    y = F.softmax(F.relu(x + bias) * 0.3)
    return codes(b.plan(y, *gradients([F.mean(y * y)], [x, bias])))


def test_extents_do_not_decide_what_is_folded():
    def of(rows: int) -> list[str]:
        b = Bench()
        x = b.feed(rows, 10)
        return codes(b.plan(*gradients([F.sum(F.exp(x))], [x])))

    assert of(2) == of(64)


@pytest.mark.parametrize("shape", [(2, 10), (1, 10), (0, 10), (100, 10), (64, 11), (10, 10)])
def test_extents_are_arguments(shape: tuple[int, int]):
    assert of_shape(*shape) == of_shape(64, 10)


def test_numbers_are_arguments():
    def of(number: float) -> list[str]:
        b = Bench()
        return codes(b.plan(F.exp(b.feed(4, 5) * number) + number * 2))

    assert of(0.3) == of(0.7)
    assert of(1.0) != of(0.3), "simple numbers are written out"


def test_equal_layers_share_one_text():
    b = Bench()
    x = b.feed(4, 5)
    for _ in range(3):
        x = F.relu(x @ b.feed(5, 5) + b.feed(5))
    plan = b.check(x)
    assert len(ops_of(plan)) == 3
    assert plan.kernels == 1


# comments -----------------------------------------------------------------------------------------------------------


def test_lines_lead_home():
    b = Bench()
    y = F.exp(b.feed(4, 5))
    lines = [line for line in b.plan(y).source().splitlines() if "exp_f32" in line]
    assert len(lines) == 1
    assert re.search(r"# %1 exp  test_kernel_writer\.py:\d+$", lines[0])
    assert lines[0].endswith(y.node.where.short)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("two\nlines", "two?lines"), ("x\n    raise SystemExit", "x?    raise SystemExit"), ("a\r\0b", "a??b"),
     ("half \ud800", "half ?"), ("\u2028", "?"), ("  # y", "  # y")],
)  # fmt: skip
def test_names_stay_in_comments(name: str, shown: str):
    """They are the user's, or those of a graph from a file: nothing of them is run."""
    b = Bench()
    x = b.feed(3)
    named = append(b.graph, REGISTRY["exp"], (x,), {}, name=name)
    [source] = b.check(F.sum(named * 2), named).sources().values()
    assert f"  # {shown} f32[3]\n" in source


def test_buffers_are_named():
    b = Bench()
    text = b.plan(F.softmax(F.exp(b.feed(4, 5)))).source()
    assert re.search(r"x\d+ = f32_at\(buffers, \d+\)  # x0 f32\[4,5\]", text)


# deep kernels ---------------------------------------------------------------------------------------------------------


def twice_normalised(b: Bench) -> list[Symbol]:
    x = b.feed(4, 17)
    for _ in range(2):
        x = (x - F.mean(x, 1, keepdims=True)) * F.rsqrt(F.var(x, 1, keepdims=True, correction=0) + 0.1)
    return [x]


def three_softmaxes(b: Bench) -> list[Symbol]:
    x = b.feed(4, 17)
    first = F.softmax(x)
    second = F.softmax(first * 3)
    return [F.softmax(second * x) - first, second]


def gradient_of_deep(b: Bench) -> list[Symbol]:
    x = b.feed(4, 17)
    y = F.logsumexp(F.softmax(x) * F.amax(x, 1, keepdims=True), 1)
    return [y, *gradients([y], [x])]


@pytest.mark.parametrize("write", [twice_normalised, three_softmaxes, gradient_of_deep], ids=lambda w: w.__name__)
@pytest.mark.parametrize("threads", [1, 2])
def test_many_levels_in_one_kernel(write: Callable, threads: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: threads)
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.PARALLEL_WORK", 0)
    b = Bench()
    plan = b.check(*write(b), rtol=1e-4)
    assert plan.kernels == 1
    assert all(row.chunks == threads for row in plan.instructions if row.kind == "kernel")


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("fold", [F.sum, F.amax], ids=lambda f: f.__name__)
def test_threads_share_a_large_reduction(fold: Callable, axis: int | None, monkeypatch: pytest.MonkeyPatch):
    """Also one that keeps no axis: its work is that of the elements which it folds."""
    monkeypatch.setattr("staticgrad.compiler.lower.instruction_builder.get_num_threads", lambda: 2)
    b = Bench()
    plan = b.check(fold(b.feed(700, 500), axis), rtol=1e-4)
    assert max(row.chunks for row in plan.instructions) == 2


# floating-point meaning -------------------------------------------------------------------------------------------

INFINITE = np.array([[1.0, np.inf, -np.inf], [np.nan, -0.0, 3e38]], F32)

EXACT: dict[str, Callable[[Symbol], Symbol]] = {
    "inf - inf": lambda x: (x + x) - x,
    "a large number in between": lambda x: (x + 1e10) - 1e10,
    "overflow": lambda x: (x * 2) / 2,
    "a quotient of small numbers": lambda x: (x * 1e-40) / np.full((1, 3), 1e-40, F32),
    "is finite": lambda x: F.isfinite(F.log(F.abs(x)) + x),
    "is not a number": lambda x: F.isnan(x - x),
    "negative zero": lambda x: 1 / (x * 0.5),
    "minus itself": lambda x: x - x,
    "times zero": lambda x: x * F.mul(x[0, 0], 0.0),
}


@pytest.mark.parametrize("name", EXACT)
def test_values_are_not_rearranged(name: str):
    """Kernels round as NumPy does, one operation at a time; only the steps of a sum have no order."""
    b = Bench()
    b.check(EXACT[name](b.feed(value=INFINITE)), rtol=0.0)


FAR = np.array([[-(2**63)], [-(2**32) - 1], [-(2**31) - 1], [-1], [0], [3], [2**31 - 1], [2**31], [2**32 + 3], [2**63 - 1]])


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
@pytest.mark.parametrize("columns", [5, 40])
def test_positions_compare_with_any_integer(name: str, columns: int):
    """Kernels compare them as int32."""
    b = Bench()
    x, far, compare = b.feed(len(FAR), columns), b.feed(value=FAR), getattr(F, name)
    at, row = F.index_along(x, 1), F.index_along(x, 0)
    pairs = (at, far), (far, at), (at, far + 1), (at, row), (row, at), (at, F.sum(far * 0) + 3)
    b.check(*(F.where(compare(*pair), x, 0) for pair in pairs))


@pytest.mark.parametrize(("shape", "over"), [((5, 6), (0,)), ((2, 3, 4), (0,)), ((2, 3, 4), (0, 1)), ((2, 3, 4, 5), (2, 3))])
def test_positions_away_from_the_columns_are_those_of_the_row(shape: tuple[int, ...], over: tuple[int, ...]):
    """Loops over the columns have no divisions then, which are not vectorized."""
    for axis in range(len(shape)):
        b = Bench()
        x, wanted = b.feed(*shape), b.feed(value=np.array(1))
        plan = b.check(F.sum(F.where(F.eq(F.index_along(x, axis), wanted), x, 0), over), F.index_along(x, axis) * x)
        if axis < len(shape) - 1 and plan.instructions:
            for line in plan.source().splitlines():
                assert not ("//" in line and "columns + j" in line), (shape, over, axis, line)
