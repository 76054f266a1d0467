"""Positions in tensors that are another number in each call: one trace serves them, and memory is shared as in eager mode."""

from __future__ import annotations

import numbers
from contextlib import nullcontext

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_same

pytestmark = pytest.mark.usefixtures("few_kernels")

MODES = {"default": {}, "strict": {"numerics": "strict"}, "split": {"on_break": "split"}}
POSITIONS = {
    "item": lambda x, k: x[k] * 2,
    "negative": lambda x, k: x[-k - 1] * 2,
    "of the second axis": lambda x, k: x[:, k] * 2,
    "two": lambda x, k: x[k, -k - 1] + 1,
    "beside a slice": lambda x, k: x[k, 1:3].sum(),
    "item of an item": lambda x, k: x[1][k].exp(),
    "slice": lambda x, k: x[k : k + 2] * 2,
    "slice with a step": lambda x, k: x[k : k + 3 : 2].sum(0),
    "two slices": lambda x, k: (x[k : k + 2, k : k + 2] ** 2).sum(),
    "narrow": lambda x, k: x.narrow(1, k, 2) * 2,
    "select": lambda x, k: sg.select(x, 0, k) * 2,
    "roll": lambda x, k: sg.roll(x, -k, -1),
    "in a loop": lambda x, k: sum(x[k + i].sum() * i for i in range(2)),
    "with a remainder": lambda x, k: x[(k * 3) % 5] + x[k // 2],
}
"""For k from 0 to 4 and x of 7 x 6 elements."""


def operand(dtype="float32", **named):
    return sg.tensor(np.random.default_rng(0).standard_normal((7, 6)), dtype=dtype, **named)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", POSITIONS)
def test_values(name, mode):
    f, x = POSITIONS[name], operand()
    compiled = sg.compile(f, **MODES[mode])
    for k in (0, 1, 2, 3, 4, 2, 0):
        assert_same(compiled(x, k), f(x, k))
    assert mode == "split" or len(compiled.recompiles) <= 4, compiled.recompiles  # k // 2 has values, too


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", POSITIONS)
def test_gradients(name, dtype):
    def slopes(w, k):
        (first,) = sg.autograd.grad((POSITIONS[name](w, k) ** 3).sum(), w, create_graph=True)
        (second,) = sg.autograd.grad((first**2).sum(), w)
        return first, second

    compiled, w = sg.compile(slopes), operand(dtype, requires_grad=True)
    for k in (0, 1, 2, 3, 4, 1):
        for found, expected in zip(compiled(w, k), slopes(w, k), strict=True):
            assert_same(found.detach(), expected.detach())


@pytest.mark.parametrize("f", [lambda x, k: x[k] * 2, lambda x, k: x[k : k + 2] * 2, lambda x, k: x.narrow(0, k, 3) * 2])
def test_positions_outside(f):
    """Errors, and slices that are cut off, are those of eager mode."""
    compiled, x = sg.compile(f), operand()
    for k in (0, 1, 2, 3, 5, 6, 7, -1, -7, -8, 3):
        try:
            expected = f(x, k)
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(x, k)
        else:
            assert_same(compiled(x, k), expected)


class Holder:
    def __init__(self):
        self.position = 0


def by_state(holder):
    def f(x, k):
        holder.position = (holder.position + 1) % 5
        return x[holder.position] * 2

    return f


def by_others(holder):
    return lambda x, k: x[holder.position] * 2


@pytest.mark.parametrize("make", [by_state, by_others])
def test_positions_in_state(make):
    eager, compiled, x = Holder(), Holder(), operand()
    f, g = make(eager), sg.compile(make(compiled))
    for i in (0, 1, 2, 3, 4, 3, 0):
        if make is by_others:
            eager.position = compiled.position = i
        assert_same(g(x, i), f(x, i))
        assert eager.position == compiled.position
    assert len(g.recompiles) <= 4


def kept_view(x, k):
    y = x[k]
    x.add_(1)
    return y * 2


def changed_view(x, k):
    y = x[k]
    y.mul_(3)
    return x * 1


def changed_part(x, k):
    x[k] += 1
    x[k : k + 2] = 0
    return x.sum()


def changed_detached(x, k):
    x[k].detach().add_(1)
    return x * 1


def changed_view_of_it(x, k):
    y = x[k]
    y[1:].zero_()
    return y * 1


def kept_view_of_a_view(x, k):
    y = x[k : k + 3][k % 2]
    x.add_(1)
    return y * 2


def transposed(x, k):
    y = x[k : k + 2]
    y.t_()
    y.add_(1)
    return y


def given_away(x, k):
    y = sg.zeros(6)
    y.data = x[k]
    y.add_(1)
    return x * 1


SHARED = {
    "result": lambda x, k: x[k],
    "slice": lambda x, k: x[k : k + 2],
    "column": lambda x, k: (x[:, k], x[:, k].is_contiguous()),
    "of a result": lambda x, k: (y := x * 2, y[k]),
    "view of it": lambda x, k: x[k][1:3],
    "detached": lambda x, k: x[k].detach(),
    "kept view": kept_view,
    "changed view": changed_view,
    "changed part": changed_part,
    "changed detached": changed_detached,
    "changed view of it": changed_view_of_it,
    "given away": given_away,
    "kept view of a view": kept_view_of_a_view,
    "transposed": transposed,
    "viewed": lambda x, k: x[k : k + 2].view(-1),
    "contiguous": lambda x, k: x[k : k + 2].contiguous(),
    "contiguous copy": lambda x, k: x[:, k : k + 2].contiguous(),
    "changed through a view": lambda x, k: (x[k].view(2, 3).add_(1), x * 1),
    "changed copy": lambda x, k: (x[:, k : k + 2].reshape(-1).add_(1), x * 1),
    "as_strided": lambda x, k: x[k : k + 3].as_strided((2, 2), (6, 1), 6 * k + 1),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SHARED)
def test_memory_is_shared_as_eagerly(name, mode):
    f = SHARED[name]
    compiled, x, y = sg.compile(f, **MODES[mode]), operand(), operand()
    for k in (0, 1, 2, 3, 4, 1):
        found, expected = compiled(x, k), f(y, k)
        assert_same(found, expected)
        for result in (found, expected):
            for part in result if isinstance(result, tuple) else (result,):
                if isinstance(part, sg.Tensor):
                    part.add_(1)
        assert_same(found, expected)
        assert_same(x, y)


LAYOUTS = {
    "view": lambda x, k: x[k : k + 2].view(-1) * 2,
    "view of an item": lambda x, k: x[k].view(2, 3) * 2,
    "view of a view": lambda x, k: x[k : k + 2].view(-1)[k : k + 3].view(3, 1) * 2,
    "view_as": lambda x, k: x.narrow(0, k, 3).view_as(sg.zeros(2, 9)) * 2,
    "contiguous": lambda x, k: x[k : k + 2].unsqueeze(1).contiguous() * 2,
    "contiguous copy": lambda x, k: x[:, k : k + 2].contiguous().view(-1) * 2,
    "returned copy": lambda x, k: x[:, k : k + 2].contiguous(),
    "reshape": lambda x, k: x[:, k : k + 2].reshape(-1) * 2,
    "of a result": lambda x, k: (x * 2)[k : k + 2].view(-1) * 2,
    "detached": lambda x, k: x[k : k + 2].data.view(-1) * x.sum(),
    "as_strided": lambda x, k: x[k : k + 3].as_strided((2, 2), (6, 1)) * 2,
}
ANSWERS = {
    "order": lambda x, k: [p.is_contiguous() for p in (x[k : k + 2], x[:, k : k + 2], x[k], x[:, k], x.t()[k : k + 1])],
    "strides": lambda x, k: [*x[k : k + 3 : 2].stride(), *x[:, k].stride(), *x.t()[k : k + 2].stride()],
    "strides of a result": lambda x, k: [*(x.t()[k : k + 2] + 1).stride(), (x.t()[k : k + 2] + 1).is_contiguous()],
    "is_view": lambda x, k: [x[k].is_view, x[k : k + 2].is_view, (x[k] + 1).is_view],
    "changes": lambda x, k: (y := x * 2, z := y[k : k + 2], y.add_(1), z._version)[-1],
    "read-only": lambda x, k: changed(x[:, :1].expand(7, 6)[k]),
}


def changed(x):
    try:
        return x.add_(1).sum()
    except sg.StaticgradError as error:
        return type(error).__name__


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*LAYOUTS, *ANSWERS])
def test_layouts(name, mode):
    """What is asked of the memory of a view does not depend on its position, so that one trace serves all."""
    f, x = {**LAYOUTS, **ANSWERS}[name], operand()
    compiled = sg.compile(f, **MODES[mode])
    for k in (0, 1, 2, 3, 4, 2, 0):
        found, expected = compiled(x, k), f(x, k)
        if name in ANSWERS:
            assert found == expected
        else:
            assert_same(found, expected)
    assert mode == "split" or name == "changes" or compiled.traces <= 4, compiled.recompiles


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_gradients_of_layouts(name, dtype):
    def slopes(w, k):
        (first,) = sg.autograd.grad((LAYOUTS[name](w, k) ** 3).sum(), w, create_graph=True)
        (second,) = sg.autograd.grad((first**2).sum(), w)
        return first, second

    compiled, w = sg.compile(slopes), operand(dtype, requires_grad=True)
    for k in (0, 1, 2, 3, 4, 1):
        for found, expected in zip(compiled(w, k), slopes(w, k), strict=True):
            assert_same(found.detach(), expected.detach())
    assert compiled.traces <= 4, compiled.recompiles


LENGTHS = {
    "to a length": lambda x, k: x[: k + 1].view(-1) * 2,
    "from a position": lambda x, k: x[k:].view(-1) * 2,
    "between": lambda x, k: x[k : 2 * k + 1].view(-1, 2) * 2,
    "copy": lambda x, k: x[:, : k + 1].contiguous() * 2,
}


@pytest.mark.parametrize("name", LENGTHS)
def test_layouts_of_parts_of_any_length(name):
    def slope(w, k):
        return sg.autograd.grad((LENGTHS[name](w, k) ** 3).sum(), w)[0]

    compiled, w = sg.compile(slope), sg.tensor(np.random.default_rng(0).standard_normal((40, 12)), requires_grad=True)
    for k in (2, 3, 4, 5, 6, 7, 8, 9, 10, 5):
        assert_same(compiled(w, k), slope(w, k))
    assert compiled.traces <= 4, compiled.recompiles


def changed_before_backward(x, k):
    z = x * 1
    loss = (z[k : k + 2] ** 2).sum()
    z.add_(1)
    loss.backward()


def changed_data_before_backward(x, k):
    y = x.detach()
    loss = (x[0] * y[k]).sum()
    y.data.add_(1)
    loss.backward()


@pytest.mark.parametrize("step", [changed_before_backward, changed_data_before_backward])
def test_values_that_changed_before_the_backward_pass(step):
    compiled = sg.compile(step)
    for k in (0, 1, 2, 3, 4):
        outcomes = []
        for f in (compiled, step):
            x = operand(requires_grad=True)
            try:
                f(x, k)
                outcomes.append((None, x.grad))
            except sg.StaticgradError as error:
                outcomes.append((type(error), None))
        assert outcomes[0][0] is outcomes[1][0]
        if outcomes[1][1] is not None:
            assert_same(outcomes[0][1], outcomes[1][1])


def test_a_table_whose_rows_are_trained():
    def step(table, k):
        loss = (table[k] ** 2).sum() + table[k : k + 2].exp().sum()
        table.grad = None
        loss.backward()
        with sg.no_grad():
            table.sub_(0.1 * table.grad)
        return loss

    tables = [operand(requires_grad=True) for _ in "12"]
    compiled = sg.compile(step, on_break="error")
    for k in (0, 1, 2, 3, 4, 5, 2):
        assert_same(compiled(tables[0], k).detach(), step(tables[1], k).detach())
    assert_same(tables[0].detach(), tables[1].detach())
    assert len(compiled.recompiles) <= 4


INDEX = sg.tensor([3, 1, 0, 4, 2])
OF_TENSORS = {
    "roll by a number": lambda x, i: x.roll(-INDEX[i].item(), -1),
    "roll by a tensor": lambda x, i: x.roll(-INDEX[i], -1),
    "item": lambda x, i: x[INDEX[i].item()] * 2,
    "of the second axis": lambda x, i: x[:, INDEX[i].item()] * 2,
    "a list": lambda x, i: x[[INDEX[i].item(), 1]] * 2,
}


@pytest.mark.parametrize("name", OF_TENSORS)
def test_positions_of_tensors(name):
    """A number that a tensor has is no value in the trace: it is computed in each run, without a cut."""
    f, x = OF_TENSORS[name], operand()
    compiled = sg.compile(f)
    for i in (0, 1, 2, 3, 4, 1, 0, 2):
        assert_same(compiled(x, i), f(x, i) * 1)
    assert compiled.segmented is None
    assert compiled.traces <= 4, compiled.recompiles


def matched(value):
    match value:
        case float():
            return 5.0
        case int():
            return 7.0
    return 9.0


KINDS = {
    "isinstance": lambda x, n: x * (2.0 if isinstance(n, float) else 3.0),
    "isinstance of several": lambda x, n: x * (2.0 if isinstance(n, (str, int)) else 3.0),
    "a class": lambda x, n: x * (2.0 if n.__class__ is float else 3.0),
    "a type": lambda x, n: x * (2.0 if type(n) is float else 3.0),
    "a base class": lambda x, n: x * (2.0 if isinstance(n, numbers.Real) else 3.0),
    "an attribute": lambda x, n: x * (2.0 if hasattr(n, "bit_length") else 3.0),
    "a method": lambda x, n: x * (2.0 if n.is_integer() else 3.0) if isinstance(n, float) else x * n.bit_length(),
    "a pattern": lambda x, n: x * matched(n),
    "a scalar": lambda x, n: x * (2.0 if np.isscalar(n) else 3.0),
    "a text": lambda x, n: x * len(f"{n:.1f}"),
}


NUMBERS = {
    "a float of a tensor": lambda x, i: x.sum().item(), "an int of a tensor": lambda x, i: INDEX[i].item(),
    "an int": lambda x, i: i, "a float": lambda x, i: i / 2,
}  # fmt: skip


@pytest.mark.parametrize("mode", ["default", "split"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_numbers(name, number, mode):
    """A number that runs compute, or that changes, is an int or a float to the code."""

    def f(x, i):
        return KINDS[name](x, NUMBERS[number](x, i))

    compiled, x = sg.compile(f, **MODES[mode]), operand()
    for i in range(5):
        assert_same(compiled(x, i), f(x, i))


def test_a_function_that_each_call_traces_runs_in_segments():
    """The result is a view of the tensor at the number's place: no plan serves two calls."""
    data, w = sg.arange(100.0), sg.ones(4, requires_grad=True)

    def f(i):
        part = data[i : i + 4]
        return part, (part * w).sum()

    compiled = sg.compile(f)
    for i in range(20):
        with pytest.warns(RuntimeWarning, match="was traced anew in each of its latest 16 calls") if i == 15 else nullcontext():
            found = compiled(i)
        for a, b in zip(found, f(i), strict=True):
            assert_same(a, b)
    assert compiled.segmented is not None
    compiled(3)[0].mul_(0)
    assert not data[3:7].any()


def test_a_function_that_is_called_again_keeps_its_traces():
    data = sg.arange(100.0)
    compiled = sg.compile(lambda i: data[i : i + 4])
    for i in range(24):
        for _ in range(1 + (i % 8 == 7)):
            assert_same(compiled(i), data[i : i + 4])
    assert compiled.segmented is None
