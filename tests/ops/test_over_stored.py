"""Floats of 16 bits and unsigned integers of more than 8: what they become, and that all modes round alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.base.dtypes import HALF, WIDE_UNSIGNED, as_dtype
from staticgrad.ir import REGISTRY, Expand, over
from tests.ops import modes

KINDS = ("float16", "bfloat16")
EACH = pytest.mark.parametrize("kind", KINDS)
F = sg.nn.functional


def bits(x: Any) -> np.ndarray:
    array = np.asarray(x)
    return array.view(np.uint16) if array.dtype in HALF else array


def drawn(kind: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype(as_dtype(kind))


# records ----------------------------------------------------------------------------------------------------------------


def test_a_record_of_its_own():
    half = as_dtype("float16")
    made = over(REGISTRY["exp"], half)
    assert made is over(made, half) is not REGISTRY["exp"]
    assert made.plain is REGISTRY["exp"]
    assert isinstance(made.emit, Expand)
    for moves in ("reshape", "gather", "concatenate", "where", "identity"):
        assert over(REGISTRY[moves], half) is REGISTRY[moves]


@EACH
def test_each_op_rounds_once(kind: str):
    x, y = sg.tensor(drawn(kind, 50)), sg.tensor(drawn(kind, 50)[::-1].copy())
    for op in (sg.add, sg.mul, sg.div, sg.maximum, sg.atan2):
        assert np.array_equal(bits(op(x, y)), bits(op(x.float(), y.float()).to(kind)))
    for function in (sg.exp, sg.tanh, sg.sum, sg.mean, sg.var, F.gelu, F.softplus, sg.cumsum):
        args = (0,) if function is sg.cumsum else ()
        found = function(x, *args)
        assert found.dtype == as_dtype(kind)
        assert np.array_equal(bits(found), bits(function(x.float(), *args).to(kind)))


@EACH
def test_sums_with_a_weight_round_it_and_then_once(kind: str):
    x, y = sg.tensor(drawn(kind, 50)), sg.tensor(drawn(kind, 50)[::-1].copy())
    weight = float(as_dtype(kind).type(0.3))
    for op, sign in ((sg.add, 1), (sg.sub, -1)):
        expected = bits((x.float() + sign * weight * y.float()).to(kind))
        assert np.array_equal(bits(op(x, y, alpha=0.3)), expected)
        assert np.array_equal(bits(sg.compile(lambda x, y, op=op: op(x, y, alpha=0.3))(x, y)), expected)
    places = sg.arange(50)
    expected = bits((x.float() + (weight * y.float()).to(kind).float()).to(kind))
    assert np.array_equal(bits(x.index_add(0, places, y, alpha=0.3)), expected)


@EACH
def test_products_accumulate_in_float32(kind: str):
    x, w = sg.ones(3, 4000, dtype=kind), sg.ones(4000, 2, dtype=kind)
    assert (x @ w).tolist() == [[4000.0 if kind == "float16" else 4000 // 16 * 16] * 2] * 3


def test_a_number_that_scales_is_not_rounded():
    x = sg.tensor([3.0], dtype="float16")
    assert (x * 0.1).item() == 0.300048828125
    assert (x / 3.0005).item() == 1.0
    assert (x + 0.1).item() == 3.099609375
    assert (x * sg.tensor(0.1)).item() == 0.300048828125
    assert sg.compile(lambda x, y: x * y)(x, sg.tensor(0.1)).item() == 0.300048828125


# dtypes -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("float16", "bfloat16", "float32"), ("float16", "float32", "float32"), ("bfloat16", "float64", "float64"),
        ("bfloat16", "int64", "bfloat16"), ("float16", "bool", "float16"), ("uint32", "bfloat16", "bfloat16"),
        ("bfloat16", "complex64", "complex64"), ("uint16", "uint16", "uint16"),
    ],
)  # fmt: skip
def test_promotion(a: str, b: str, expected: str):
    for x, y in ((a, b), (b, a)):
        assert (sg.ones(2, dtype=x) * sg.ones(2, dtype=y)).dtype.name == expected
        assert sg.promote_types(getattr(sg, x), getattr(sg, y)).name == expected


@pytest.mark.parametrize("other", ["int64", "uint8", "bool", "uint32", "complex64"])
def test_wide_unsigned_integers_are_not_promoted(other: str):
    with pytest.raises(sg.DTypeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
        sg.ones(2, dtype="uint16") * sg.ones(2, dtype=other)


def test_there_is_no_complex32():
    with pytest.raises(sg.DTypeError, match="complex32"):
        sg.ones(2, dtype="float16") * 1j
    with pytest.raises(sg.DTypeError, match="expected float32 or float64, got float16"):
        sg.complex(sg.ones(2, dtype="float16"), sg.ones(2, dtype="float16"))
    assert (sg.ones(2, dtype="bfloat16") * 1j).dtype == np.complex64


@EACH
def test_texts(kind: str):
    assert repr(sg.tensor([1.5, -2.0], dtype=kind)) == f"tensor([ 1.5000, -2.0000], dtype=torch.{kind})"
    assert sg.ones(1, dtype=kind).type() == {"float16": "torch.HalfTensor", "bfloat16": "torch.BFloat16Tensor"}[kind]
    assert (sg.ones((), dtype=kind).half().item(), sg.ones((), dtype=kind).bfloat16().tolist()) == (1.0, 1.0)


def test_casts_go_by_way_of_float32():
    twice = sg.tensor([1 + 2**-11 + 2**-40], dtype="float64")
    assert twice.half().item() == 1.0
    assert sg.compile(lambda x: x.half())(twice).item() == 1.0
    assert sg.tensor([70000]).half().item() == np.inf
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert sg.tensor([2.5 + 1j]).to("bfloat16").item() == 2.5
    assert sg.tensor([-2.5], dtype="bfloat16").long().item() == -2


@pytest.mark.parametrize("target", ["complex64", "complex128"])
@pytest.mark.parametrize("kind", [*KINDS, "uint16", "uint64"])
def test_casts_to_complex_numbers(kind: str, target: str):
    x = np.array([0, 1, 3]).astype(as_dtype(kind))
    graph = sg.Graph()
    with graph.as_default():
        given = sg.placeholder(kind, [3])
        made = given.to(as_dtype(target))
    with sg.Session(graph=graph) as sess:
        found = sess.run(made, {given: x})
    compiled = sg.compile(lambda x: x.to(as_dtype(target)))(sg.tensor(x))
    for y in (found, compiled.numpy(), sg.tensor(x).to(as_dtype(target)).numpy()):
        assert y.dtype == target
        assert y.tolist() == [0, 1, 3]


@EACH
def test_creation_and_views(kind: str):
    x = sg.arange(6, dtype=kind).reshape(2, 3)
    assert sg.randn(3, dtype=kind).dtype == sg.rand(3, dtype=kind).dtype == sg.full((3,), 2.0, dtype=kind).dtype == x.dtype
    x[1] = 7
    x[:, 0] += 1
    assert x.tolist() == [[1, 1, 2], [8, 7, 7]]
    assert x.T[1].tolist() == [1, 7]
    assert x[sg.tensor([1, 0, 1]), 0].tolist() == [8, 1, 8]
    assert x[x > 6].tolist() == [8, 7, 7]
    assert x.view(sg.int16).dtype == np.int16
    assert sg.from_numpy(x.numpy()).dtype is x.dtype


@EACH
def test_memory_is_shared_with_other_libraries(kind: str):
    x = sg.ones(3, dtype=kind)
    y, z = sg.from_dlpack(x), sg.from_dlpack(sg.to_dlpack(x))
    x[1] = 5
    assert y.tolist() == z.tolist() == [1, 5, 1]
    assert y.dtype is z.dtype is x.dtype


@EACH
def test_they_can_be_the_default(kind: str):
    sg.set_default_dtype(kind)
    try:
        assert repr(sg.tensor([1.5])) == "tensor([1.5000])"
        assert (sg.arange(3) / 2).dtype == sg.rand(2).dtype == sg.nn.Linear(2, 2).weight.dtype == as_dtype(kind)
        if kind == "bfloat16":
            assert sg.tensor([1j]).dtype is sg.complex64
    finally:
        sg.set_default_dtype("float32")


@EACH
@pytest.mark.usefixtures("interpreted")
def test_norms_take_weights_in_float32(kind: str):
    x, w, v = sg.tensor(drawn(kind, 4, 6)), sg.rand(6), sg.ones(6)
    for norm in (
        lambda x: F.layer_norm(x, (6,), w, w), lambda x: F.group_norm(x, 2, w, w), lambda x: F.rms_norm(x, (6,), w),
        lambda x: F.batch_norm(x, None, None, w, w, True), lambda x: F.batch_norm(x, w, v, w, w),
        lambda x: F.batch_norm(x, w.clone(), v.clone(), w, w, True),
    ):  # fmt: skip
        for run in (norm, sg.compile(norm)):
            assert np.array_equal(bits(run(x)), bits(norm(x.float()).to(kind)))


# modes ------------------------------------------------------------------------------------------------------------------

PROGRAMS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x, w: [(x * 0.1 + x.exp()).tanh() / (w.sum() + 3), x > 0, x.abs().sqrt().sign()],
    "products": lambda x, w: [(x @ w).relu(), x.mean(0), (x * x).sum(1, keepdim=True), x.max(), x.argmax(1)],
    "moves": lambda x, w: [sg.cat([x, x.flip(0)], 1)[1:, ::2], x[sg.tensor([2, 0])], F.pad(x, (1, 1))],
    "choices": lambda x, w: [sg.where(x > 0, x, w[0, 0]), x.masked_fill(x > 1, 2), x.gather(1, sg.tensor([[0, 1]] * 5))],
    "functions": lambda x, w: [F.softmax(x, -1), F.layer_norm(x, (8,)), F.gelu(x), sg.sort(x, 1)[0], x.cumsum(1)],
    "gradients": lambda x, w: modes.slopes((F.silu(x @ w) * 0.3).sum(), [x, w]),
    "second gradients": lambda x, w: modes.slopes(modes.slopes((x @ w).tanh().sum(), [x])[0].sum(), [x, w]),
    "casts": lambda x, w: [x.float() * 2, x.long(), x.double().to(x.dtype), (x > 0).to(x.dtype), x.half(), x.bfloat16()],
}  # fmt: skip


def leaves(arrays: list[np.ndarray]) -> list[Any]:
    return [sg.tensor(a, requires_grad=True) for a in arrays]


@EACH
@pytest.mark.parametrize("name", PROGRAMS)
def test_modes_give_the_same_bits(name: str, kind: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(modes, "leaves", leaves)
    program, arrays = PROGRAMS[name], [drawn(kind, 5, 8), drawn(kind, 8, 3)]
    expected = modes.interpreter(program, arrays)
    runs = {
        "eager": lambda: modes.eager(program, arrays),
        "session": lambda: modes.session(program, arrays, "strict"),
        "compiled": lambda: modes.compiled(program, arrays, "strict"),
    }
    for mode, run in runs.items():
        for mine, theirs in zip(run(), expected, strict=True):
            assert mine.dtype == theirs.dtype
            assert np.array_equal(bits(mine), bits(theirs)), mode
    for found in (modes.session(program, arrays, "fast"), modes.compiled(program, arrays, "fast")):
        for mine, theirs in zip(found, expected, strict=True):
            assert mine.dtype == theirs.dtype
            close = 2e-3 if kind == "float16" else 1.6e-2
            np.testing.assert_allclose(mine.astype(float), theirs.astype(float), close, close * 4)


@EACH
def test_a_network_trains_alike_eagerly_and_compiled(kind: str):
    def losses(wrap: Callable[..., Any]) -> list[float]:
        sg.manual_seed(0)
        net = sg.nn.Sequential(sg.nn.Linear(6, 8), sg.nn.ReLU(), sg.nn.LayerNorm(8), sg.nn.Linear(8, 3)).to(kind)
        opt = sg.optim.SGD(net.parameters(), lr=0.1, momentum=0.5)
        x, y = sg.randn(10, 6, dtype=kind), sg.randint(0, 3, (10,))

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        step = wrap(step)
        return [step(x, y).item() for _ in range(6)]

    eager = losses(lambda step: step)
    assert eager[-1] < eager[0]
    assert losses(lambda step: sg.compile(step, numerics="strict")) == eager


@EACH
def test_plans_of_eager_calls_round_as_numpy_does(kind: str):
    """Single ops, a function of several, and a backward pass."""

    def steps() -> list[np.ndarray]:
        x = sg.tensor(drawn(kind, 40, 50), requires_grad=True)
        loss = (F.gelu(x * 2) + x.exp()).mean()
        loss.backward()
        assert x.grad is not None
        return [loss.detach().numpy(), x.grad.numpy()]

    with sg.eager_kernels(False):
        expected = steps()
    with sg.eager_kernels(wait=True):
        found = [steps() for _ in range(4)]
    for mine in found:
        for one, other in zip(mine, expected, strict=True):
            assert one.dtype == as_dtype(kind)
            np.testing.assert_allclose(one.astype(float), other.astype(float), 4e-3 if kind == "float16" else 3e-2)


def test_a_tape_becomes_a_graph():
    x = sg.tensor([1.0, 2.0], dtype="bfloat16", requires_grad=True)
    assert "exp" in str(sg.to_text(sg.graph_of((x.exp() * 2).sum())))


# kernels ----------------------------------------------------------------------------------------------------------------


@EACH
def test_all_numbers_of_16_bits_are_widened(kind: str):
    every = np.arange(1 << 16, dtype=np.uint16).view(as_dtype(kind))
    expected = every.astype(np.float32)
    found = sg.compile(lambda x: x.float())(sg.from_numpy(every)).numpy()
    numbers = ~np.isnan(expected)
    assert np.array_equal(found[numbers].view(np.uint32), expected[numbers].view(np.uint32))
    assert np.isnan(found[~numbers]).all()


EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 65504.0, 65519.99, 65520.0, 2.0**-24, 2.0**-25, 2.0**-25 * 1.0000001, 2.0**-14)


@EACH
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats_are_rounded_to_the_nearest(kind: str):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 1 << 32, 300_000, dtype=np.uint32).view(np.float32)
    spread = (rng.standard_normal(100_000) * 2.0 ** rng.integers(-30, 18, 100_000)).astype(np.float32)
    x = np.concatenate([numbers, spread, np.array(EDGES, np.float32)])
    expected = x.astype(as_dtype(kind))
    found = sg.compile(lambda x: x.to(kind))(sg.from_numpy(x)).numpy()
    known = ~np.isnan(x)
    assert np.array_equal(bits(found)[known], bits(expected)[known])
    assert np.isnan(found[~known].astype(np.float32)).all()


# unsigned integers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", sorted(WIDE_UNSIGNED, key=str), ids=str)
def test_unsigned_integers(dtype: np.dtype):
    most = int(np.iinfo(dtype).max)
    x = sg.tensor(np.array([0, 3, most], dtype))
    assert x.tolist() == [0, 3, most]
    assert repr(sg.tensor([1, 2], dtype=dtype)) == f"tensor([1, 2], dtype=torch.{dtype})"
    assert (x[1:2] * 2).tolist() == [6]
    assert (x == x).all()
    assert (x[:2].float() / 2).tolist() == [0.0, 1.5]
    assert sg.cat([x, x[:1]]).tolist() == [0, 3, most, 0]
    assert x[sg.tensor([1, 0])].tolist() == [3, 0]
    compiled = sg.compile(lambda x: (sg.cat([x, x]), x.long(), x * x, x[:2].to(sg.float32)))
    assert [r.tolist() for r in compiled(x[:2])] == [[0, 3, 0, 3], [0, 3], [0, 9], [0.0, 3.0]]
