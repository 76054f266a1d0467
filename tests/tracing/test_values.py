"""Arguments and results: arrays of every kind in, structures of every kind out."""

from __future__ import annotations

import copy
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import functional as F
from staticgrad import nn, optim
from tests.tracing.helpers import Program, agree, batch, labels, of

pytestmark = pytest.mark.usefixtures("refusing")

X = batch(4, 3)
Point = namedtuple("Point", "x y")


@dataclass
class Output:
    loss: Any
    parts: Any = None
    name: str = "out"


# results ----------------------------------------------------------------------------------------------------------------

KEPT = sg.tensor([1.0, 2.0], requires_grad=True)
RESULTS = {
    "nothing": lambda x: None,
    "tensor": lambda x: x * 2,
    "0-d": lambda x: x.sum(),
    "number": lambda x: 3.5,
    "text": lambda x: "done",
    "tuple": lambda x: (x + 1, x - 1),
    "list": lambda x: [x + 1, 2, None],
    "empty": lambda x: ((), [], {}),
    "dict": lambda x: {"a": x + 1, 2: {"b": (x.sum(), "c")}},
    "named tuple": lambda x: Point(x + 1, [x]),
    "argument": lambda x: x,
    "argument and more": lambda x: (x, x + 1, x),
    "same twice": lambda x: (lambda y: (y, y, {"y": y}))(x * 2),
    "views": lambda x: (x.T, x[1], x.reshape(-1), x[:, ::2]),
    "constant": lambda x: sg.ones(2, 2),
    "reached": lambda x: (KEPT, KEPT.detach(), KEPT * 1),
    "integers": lambda x: (x.argmax(axis=1), x > 0, x.shape, x.ndim),
    "not used": lambda x: KEPT.sum(),
}


@pytest.mark.parametrize("fn", RESULTS.values(), ids=RESULTS)
def test_results(fn):
    agree(lambda: Program(fn), [(sg.tensor(X),), (sg.tensor(X + 1),)])


def test_results_that_come_back_themselves():
    x = sg.tensor(X)
    step = sg.compile(lambda x, y: (x, y, KEPT, [x]))
    a, b, c, d = step(x, X)
    assert a is x
    assert b is X
    assert c is KEPT
    assert d[0] is x


def test_equal_results_are_one_tensor():
    a, b = sg.compile(lambda x: (lambda y: (y, [y]))(x * 2))(X)
    assert a is b[0]


def test_results_are_fresh():
    step = sg.compile(lambda x: (x * 2, KEPT.detach().clone(), sg.ones(2)))
    first = [np.asarray(r) for r in step(X)]
    second = [np.asarray(r) for r in step(X)]
    for a, b in zip(first, second, strict=True):
        assert not np.shares_memory(a, b)
        a[...] = 7
        assert b.flags.writeable
    np.testing.assert_array_equal(step(X)[0], X * 2)
    np.testing.assert_array_equal(KEPT.detach(), [1.0, 2.0])


def test_dataclasses():
    step = sg.compile(lambda x: Output(x.sum(), {"double": x * 2}))
    first, second = step(X), step(X + 1)
    assert isinstance(first, Output)
    assert first.name == "out"
    assert first.loss.item() == pytest.approx(X.sum(), rel=1e-5)
    np.testing.assert_array_equal(second.parts["double"], (X + 1) * 2)


def test_results_are_one_operation_of_the_tape():
    loss = sg.compile(lambda x: (x * KEPT[0]).sum())(X)
    assert loss.grad_fn.name() == "CompiledCallBackward"


# arguments --------------------------------------------------------------------------------------------------------------


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


LARGE = batch(9, 7)
ARRAYS = {
    "float64": X.astype(np.float64),
    "columns": np.asfortranarray(X),
    "transposed": np.ascontiguousarray(X.T).T,
    "strided": LARGE[::2, ::3][:4],
    "reversed": X[::-1],
    "broadcast": np.broadcast_to(X[0], (4, 3)),
    "read-only": frozen(X),
    "big-endian": X.astype(">f4"),
    "int8": np.arange(12, dtype=np.int8).reshape(4, 3),
    "bool": X > 0,
    "no rows": X[:0],
    "no columns": X[:, :0],
    "0-d": np.array(2.0, np.float32),
    "one element": X[:1, :1],
    "unaligned": np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(4, 3),
    "memory map": None,
    "list of numbers": [1.0, 2.0],
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_arrays(array, tmp_path):
    if array is None:
        array = np.memmap(tmp_path / "x", np.float32, "w+", shape=(4, 3))
        array[...] = X

    def fn(x):
        x = x if isinstance(x, list) else [x]
        return [(part * 2 + 1) for part in x]

    step = sg.compile(fn)
    for _ in range(2):
        for actual, expected in zip(step(array), fn(array), strict=True):
            np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected))
    assert len(step.recompiles) == 1


class Foreign:
    """An array of another library."""

    def __array__(self, dtype=None, copy=None):
        return X


def test_arrays_of_other_libraries():
    step = sg.compile(lambda x: x * 2)
    np.testing.assert_array_equal(step(Foreign()), X * 2)
    step(Foreign())
    assert step.recompiles == ["first call"]


@pytest.mark.parametrize(
    "array",
    [np.array(["a"]), np.array([1 + 2j], np.clongdouble), np.array([None]), np.array([1.0], np.longdouble)],
    ids=["text", "complex", "object", "long"],
)
def test_dtypes_that_are_not_supported(array):
    with pytest.raises(sg.DTypeError):
        sg.compile(lambda x: x * 2)(array)


@pytest.mark.parametrize("n", [0, 1])
def test_batches_of_no_and_one_sample(n):
    def make():
        net = nn.Linear(3, 2)
        opt = optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            loss = F.cross_entropy(net(x), y, reduction="sum")
            opt.zero_grad()
            loss.backward()
            opt.step()
            return loss

        return Program(step, of(net), (opt,))

    agree(make, [(X, labels(4, 2)), (X[:n], labels(n, 2)), (X, labels(4, 2))])


def overlapping(weight):
    """Arguments that share memory with a parameter of shape (4, 3)."""
    memory = weight.detach().numpy()
    return {
        "tensor": lambda: weight.detach(),
        "array": lambda: memory,
        "view": lambda: memory[1:],
        "reshaped": lambda: memory.reshape(2, 6),
        "transposed": lambda: memory.T,
        "through a buffer": lambda: np.frombuffer(memoryview(memory).cast("B"), np.float32).reshape(4, 3),
        "through a list": lambda: [memory],
    }


@pytest.mark.parametrize("kind", overlapping(sg.zeros(4, 3)))
def test_arguments_that_share_memory_with_parameters(kind):
    """What is computed of an argument after the change sees it, as it does eagerly."""

    def make():
        w = sg.tensor(X, requires_grad=True)

        def step(x):
            x = x[0] if isinstance(x, list) else x
            loss = (w * w).sum() + (x * x).sum() if x.shape != w.shape else (w * x).sum() + (w * w).sum()
            w.grad = None
            loss.backward()
            with sg.no_grad():
                w.sub_(0.1 * w.grad)
            return loss, x * 2

        return Program(step, {"w": w})

    def compare(wrap):
        program = make()
        step = wrap(program.step)
        w = program.tensors["w"]
        found = []
        for _ in range(3):
            argument = overlapping(w)[kind]()
            loss, double = step(argument)
            found.append((loss.item(), w.detach().numpy().copy(), np.array(double)))
            assert double.shape == (argument[0] if isinstance(argument, list) else argument).shape
        return found

    for (a, v, x), (b, w, y) in zip(compare(sg.compile), compare(lambda step: step), strict=True):
        assert a == pytest.approx(b, rel=1e-5)
        np.testing.assert_allclose(v, w, rtol=1e-5)
        np.testing.assert_allclose(x, y, rtol=1e-5)


def test_part_of_a_parameter_memory_that_is_not_written():
    """Parameters in one arena: a batch from elsewhere in it is no copy, one that overlaps is."""
    arena = np.arange(20, dtype=np.float32)
    w = sg.tensor([0.0] * 8, requires_grad=True)
    w.data = arena[:8]

    @sg.compile
    def step(x):
        w.grad = None
        (w * x).sum().backward()
        with sg.no_grad():
            w.sub_(w.grad)
        return w * 1

    for part in (arena[8:16], arena[4:12]):
        expected = arena[:8] - part
        np.testing.assert_array_equal(step(part).detach(), expected)


# parameters -------------------------------------------------------------------------------------------------------------


def linear_step(net):
    opt = optim.SGD(net.parameters(), lr=0.1)

    @sg.compile
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss

    return step


def test_values_written_between_calls_are_seen():
    y = labels(4, 2)
    changes = {
        "data": lambda net: setattr(net.weight, "data", sg.tensor(batch(2, 3, seed=5))),
        "in place": lambda net: net.load_state_dict({"weight": batch(2, 3, seed=6), "bias": np.ones(2, np.float32)}),
        "numpy": lambda net: net.weight.detach().numpy().fill(0.5),
        "columns": lambda net: setattr(net.bias, "data", sg.ones(2)),
    }
    net = nn.Linear(3, 2)
    step = linear_step(net)
    for change in changes.values():
        step(X, y)
        change(net)
        twin = copy.deepcopy(net)
        twin.zero_grad()
        expected = F.cross_entropy(twin(sg.tensor(X)), sg.tensor(y))
        expected.backward()
        assert step(X, y).item() == pytest.approx(expected.item(), rel=1e-5)
        np.testing.assert_allclose(net.weight.detach(), (twin.weight - 0.1 * twin.weight.grad).detach(), rtol=1e-4, atol=1e-6)
    assert step.recompiles == ["first call"]


def old_alias(w, x):
    d = w.data
    w.data = x * 2
    return d * 1, w * 1


def changed_old_alias(w, x):
    d = w.detach()
    e = d.detach()
    w.data = x * 2
    e.add_(1)
    return d * 1, e * 1, w * 1


def alias_with_other_data(w, x):
    d = w.detach()
    d.data = x * 3
    d.add_(1)
    with sg.no_grad():
        w.mul_(2)
    return d * 1, w * 1


def alias_of_a_result(w, x):
    y = x * 2
    z = y.detach()
    y.data = x * 5
    z.add_(1)
    return y * 1, z * 1


def former_data_in_the_new(w, x):
    d = w.data
    w.data = d - 0.1 * x
    d.zero_()
    return d * 1, w * 1


def data_with_a_tape(w, x):
    other = x.detach().clone().requires_grad_(True)
    w.data = other * 2
    (w * 3).sum().backward()
    return other.grad, w.grad * 1


def old_view(w, x):
    first = w[:1]
    w.data = x * 2
    return first * 1, w * 1


@pytest.mark.parametrize(
    "step",
    [
        old_alias, changed_old_alias, alias_with_other_data, alias_of_a_result, former_data_in_the_new, data_with_a_tape,
        old_view,
    ],
)  # fmt: skip
def test_other_data_inside_a_step(step):
    """It gives a tensor other memory: what shares the former is not changed by it."""

    def make():
        w = sg.tensor([1.0, 2.0], requires_grad=True)
        return Program(lambda x: step(w, x), {"w": w})

    agree(make, [(sg.tensor(batch(2, seed=seed)),) for seed in range(3)])


def test_data_that_is_not_in_row_major_order():
    net = nn.Linear(3, 2)
    step = linear_step(net)
    y = labels(4, 2)
    step(X, y)
    before = np.asfortranarray(batch(2, 3))
    net.weight.data = before
    with pytest.raises(sg.TraceError, match=r"a tensor of shape \(2, 3\) does not lie in memory in row-major order"):
        step(X, y)
    np.testing.assert_array_equal(net.weight.detach(), before)
    net.weight.data = net.weight.data.contiguous()
    step(X, y)
    assert not np.array_equal(net.weight.detach().numpy(), before)


def test_parameters_that_share_memory():
    arena = np.ones(6, np.float32)
    first, second = sg.tensor([0.0] * 4, requires_grad=True), sg.tensor([0.0] * 4, requires_grad=True)
    first.data, second.data = arena[:4], arena[2:]

    @sg.compile
    def step():
        first.grad = second.grad = None
        (first * second).sum().backward()
        with sg.no_grad():
            first.sub_(first.grad)

    with pytest.raises(sg.TraceError, match="shares memory with another one of shape"):
        step()
    np.testing.assert_array_equal(arena, 1)
    second.data = sg.ones(4)
    step()
    np.testing.assert_array_equal(first.detach(), [0, 0, 0, 0])
    second.data = arena[1:5]  # found out when the plan is bound again
    with pytest.raises(sg.TraceError, match="shares memory"):
        step()


def test_copies_of_a_model_are_models_of_their_own():
    y = labels(4, 2)
    net = nn.Linear(3, 2)
    step = linear_step(net)
    step(X, y)
    other = copy.deepcopy(net)
    before = other.weight.detach().numpy().copy()
    step(X, y)
    np.testing.assert_array_equal(other.weight.detach(), before)
    twin = linear_step(other)
    twin(X, y)
    np.testing.assert_allclose(other.weight.detach(), net.weight.detach(), rtol=1e-5)


def test_a_function_without_parameters():
    step = sg.compile(lambda a, b: sg.softmax(a @ b, 1))
    np.testing.assert_allclose(step(X, X.T).numpy(), sg.softmax(sg.tensor(X) @ sg.tensor(X.T), 1).numpy(), rtol=1e-5)
    assert step.plan.written == []


def test_loop():
    step = sg.compile(lambda x, y: x.sum() + y)
    assert [r.item() for r in step.loop([(X, 1.0), (X, 2.0)])] == pytest.approx([X.sum() + 1, X.sum() + 2], rel=1e-5)
    assert [r.shape for r in sg.compile(lambda x: x * 2).loop([X, X[:1]])] == [(4, 3), (1, 3)]
