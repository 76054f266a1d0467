"""Plans that NumPy runs: values, the memory that they read and write, and what they decline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager.calls.array_plans import ArrayPlan
from staticgrad.eager.calls.op_calls import placeholders
from staticgrad.errors import ArgumentError
from staticgrad.ir import REGISTRY, Graph
from staticgrad.nn.functional import pad
from staticgrad.operators import F, apply
from tests.helpers import assert_close

SHAPE = (3, 4)


def flat(nested: Any) -> tuple[Any, ...]:
    return tuple([x for part in nested for x in part])


def put(x: Any, axis: int, place: Any) -> Any:
    """Zeros with x in a place of an axis: from one position to another in (3, 4), or as one of three in a new axis."""
    shape = (4,) if len(x.shape) == 1 else SHAPE if isinstance(place, tuple) else (3, 3, 4)
    slices = (*[(None, None, 1)] * axis, (*place, 1) if isinstance(place, tuple) else place)
    return apply(REGISTRY["unslice"], x, np.zeros(shape, np.float32), slices=slices)


def repeated(x: Any) -> Any:
    return F.concatenate([x] * 4)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "a chain in one array": lambda x, y: ((x * y + 1).exp() - x).sqrt(),
    "a value that is read twice": lambda x, y: (z := x * y) + z.exp() * z,
    "an operand": lambda x, y: x,
    "a view of an operand": lambda x, y: x.T,
    "views of one value": lambda x, y: ((z := x + y).T, z.reshape(-1), z),
    "a view that outlives its value": lambda x, y: (z := (x + y).T) + (x + y).exp().T * z,
    "a broadcast that outlives its value": lambda x, y: F.broadcast_to((z := x[0] * 2), SHAPE) + (z + 1) * x,
    "an op that may return its operand": lambda x, y: ((z := x * y).contiguous() + z).clamp(0.5, 1.5) * z,
    "numbers": lambda x, y: (x.sum() * y.mean() + 1).exp() / x.amax(),
    "a loop": lambda x, y: flat(sg.scan(lambda c, x: ((c[0] * x, c[0]), (c[1], x + c[0])), (y[0], x[1]), x, reverse=True)),
    "parts of one value": lambda x, y: (
        pad(x[:, :2] * -0.0, (0, 2)) + pad(y[:, 1:3], (1, 1)) + pad((z := x[:, 3:] - y[:, 3:]), (3, 0)),
        pad(x[:2], (0, 0, 0, 1)) + y,
        z,
    ),
    "parts that fill a value": lambda x, y: (
        put(x[:, :2] * -0.0, 1, (0, 2)) + put((x * y)[:, :1], 1, (2, 3)) + put((z := y[:, 3:] - x[:, 3:]), 1, (3, 4)),
        put((x[:2] * y[:2]).relu(), 0, (0, 2)) + put(y[2:].sigmoid() * -0.0, 0, (2, 3)),
        put(x[:, :3], 1, (0, 3)) + put(y[:, 1:], 1, (1, 4)),
        put(x[:, :3] * y[:, :3], 1, (1, 4)) + put(z, 1, (0, 1)),
        z,
    ),
    "elements that fill a value": lambda x, y: put(x * -0.0, 1, 0) + put(y, 1, 1) + put(x * y, 1, 2),
    "a loop over elements of items": lambda x, y: flat(
        sg.scan(lambda c, x: (c * (1 - x * x).sigmoid() + x.exp(), (z := (c * x).relu(), -x, z + 1)), y[0], repeated(x))
    ),
    "a loop that fills a value": lambda x, y: flat(
        sg.scan(
            lambda c, x: (c + x, put(c[:2] * x[:2], 0, (0, 2)) + put(x[2:] * -0.0, 0, (2, 4))), y[0], repeated(x), reverse=True
        )
    ),
    "a loop without items": lambda x, y: flat(sg.scan(lambda c, _: (c * 0.5, c + 1), x @ y.T, None, length=9)),
    "a part that is read twice": lambda x, y: (z := pad(x[:, :2], (0, 2))) + pad(y[:, 2:], (2, 0)) * z,
    "softmax": lambda x, y: ((x * 2).softmax(-1), (y * 2).log_softmax(0)),
    "integers": lambda x, y: (x > y, x.argmax(1), F.where(x > y, x, y)),
}


def plan_of(function: Callable[..., Any]) -> ArrayPlan:
    graph = Graph()
    operands = placeholders(graph, [(SHAPE, np.dtype(np.float32))] * 2)
    out = function(*operands)
    return ArrayPlan(graph, [x.node for x in (out if isinstance(out, tuple) else (out,))], [x.node for x in operands])


def operands() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(0.5, 1.5, SHAPE).astype(np.float32) for _ in range(2)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_have_the_bits_of_single_operations(name: str):
    function, arrays = FUNCTIONS[name], operands()
    with sg.no_grad():
        wanted = function(*[sg.tensor(a) for a in arrays])
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    plan, given = plan_of(function), operands()
    for _ in range(2):
        found = plan.call(*given)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b.numpy())
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b.numpy()), err_msg="zeros of another sign")
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
        for a, b in zip(given, arrays, strict=True):
            np.testing.assert_array_equal(a, b, err_msg="an operand was overwritten")
        for i, a in enumerate(found):
            others = [*given, *found[:i], *found[i + 1 :]]
            assert not any(np.shares_memory(a, b) for b in others), "a result is in memory of somebody else"


def test_a_dead_value_gives_its_memory():
    assert plan_of(FUNCTIONS["a chain in one array"]).source.count(", out=d2)") == 4


def test_other_arrays_are_declined():
    plan = plan_of(lambda x, y: x + y)
    x, y = operands()
    assert plan.call(x, y) is not None
    for other in (y.astype(np.float64), y[:2], y.view(np.recarray), 1.0):
        assert plan.call(x, other) is None


def test_errors_are_left_to_single_operations():
    graph = sg.Graph()
    (x,) = placeholders(graph, [((3,), np.dtype(np.int64))])
    plan = ArrayPlan(graph, [F.take(sg.arange(3), x).node], [x.node])
    np.testing.assert_array_equal(plan.call(np.array([2, 0, 1]))[0], [2, 0, 1])
    assert plan.call(np.array([2, 0, 3])) is None


NONE: dict[str, Callable[..., Any]] = {
    "a loop of an unknown number of iterations": lambda x: sg.while_loop(lambda c: c.sum() < 100, lambda c: (c + x,), (x,))[0],
    "a branch": lambda x: sg.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1),
    "random numbers": lambda x: x + sg.rand(3, 4),
}


@pytest.mark.parametrize("name", NONE)
def test_graphs_without_a_plan(name: str):
    graph = sg.Graph()
    with graph.as_default():
        (x,) = placeholders(graph, [(SHAPE, np.dtype(np.float32))])
        out = NONE[name](x)
    with pytest.raises(ArgumentError, match="no plan of NumPy"):
        ArrayPlan(graph, [out.node], [x.node])


@pytest.mark.parametrize("layer", [sg.nn.LSTM, sg.nn.GRU, sg.nn.RNN])
def test_layers_with_loops(layer: Any):
    """The values have the bits of single operations. The gradient of a loop adds up cotangents in another order."""
    sg.manual_seed(0)
    model, x = layer(3, 4, num_layers=2, bidirectional=True), sg.randn(5, 2, 3)
    found = []
    for context in (sg.eager_kernels(False), sg.eager_kernels(False, wait=True, plans=True)):
        model.zero_grad()
        with context:
            out, _ = model(x.requires_grad_())
            out.square().sum().backward()
        found.append([out.detach().numpy(), *[p.grad.numpy() for p in model.parameters()]])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for a, b in zip(*found, strict=True):
        assert_close(a, b, rtol=1e-4, atol=1e-6)


def test_a_thread_changes_its_back_end():
    """Plans of one are none of the other."""
    x = sg.tensor(operands()[0], requires_grad=True)
    outs = []
    for kernels in (False, True, False):
        with sg.eager_kernels(kernels, wait=True, plans=True):
            outs.append(sg.nn.functional.gelu(x))
    np.testing.assert_array_equal(outs[0].detach().numpy(), outs[2].detach().numpy())
    calls = [out._record.saved.reverse.plan.__class__ is ArrayPlan for out in outs]
    assert calls == [True, False, True]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_keeps_its_weights(masked: bool, dtype: Any):
    """Without a mask; the bits are those of the op and of its gradient in any case."""
    mask = sg.tensor(np.tri(33, dtype=bool)) if masked else None

    def attended(plans: bool) -> tuple[list[np.ndarray], list[tuple[int, ...]]]:
        rng = np.random.default_rng(0)
        q, k, v = (sg.tensor(rng.normal(size=(2, 3, 33, 8)).astype(dtype), requires_grad=True) for _ in range(3))
        with sg.eager_kernels(False, plans=plans, wait=plans):
            out: Any = sg.functional.scaled_dot_product_attention(q, k, v, mask, 0.0, not masked)
            kept = [x.shape for x in getattr(out._record, "kept", ())]
            out.backward(out.detach())
        return [out.detach().numpy(), *[x.grad.numpy() for x in (q, k, v)]], kept

    (found, kept), (wanted, _) = attended(True), attended(False)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    assert kept == ([] if masked else [(2, 3, 33, 33)])
