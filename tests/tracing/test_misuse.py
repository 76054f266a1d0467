"""What eager mode refuses, a compiled function refuses too: the same class, the same words, the user's line."""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.errors import StaticgradError

pytestmark = pytest.mark.usefixtures("refusing")

Program = Callable[[Any, Any], Any]
"""(x: three numbers; w: three that require grad) -> what a compiled function returns"""


def of(*steps: Callable[..., Any]) -> Program:
    """The steps one after the other; each gets x, w, and what the step before gave."""

    def program(x: Any, w: Any) -> Any:
        last = None
        for step in steps:
            last = step(x, w) if last is None else step(x, w, last)
        return x * 1

    return program


def changed_under_no_grad(x: Any, w: Any, y: Any) -> Any:
    with sg.no_grad():
        w.mul_(2)
    return y


def column(x: Any) -> Any:
    """(3, 2), whose elements do not lie in row-major order."""
    return sg.stack([x, x]).T


MISUSES: dict[str, Program] = {
    # a graph that is gone
    "backward twice": of(lambda x, w: (w * x).sum(), lambda x, w, y: y.backward() or y, lambda x, w, y: y.backward()),
    "backward of a part that was freed": of(
        lambda x, w: sg.exp(w * x), lambda x, w, h: h.sum().backward() or h, lambda x, w, h: (h * 2).sum().backward()
    ),
    "grad twice": of(
        lambda x, w: (w * x).sum(), lambda x, w, y: sg.grad(y, w) and y, lambda x, w, y: sg.grad(y, w)
    ),
    "grad, then backward": of(
        lambda x, w: (w * x).sum(), lambda x, w, y: sg.grad(y, [w]) and y, lambda x, w, y: y.backward()
    ),
    "backward after create_graph=True, retain_graph=False": of(
        lambda x, w: (w * w * x).sum(), lambda x, w, y: sg.grad(y, w, create_graph=True, retain_graph=False) and y,
        lambda x, w, y: y.backward(),
    ),
    "a scan, twice": of(
        lambda x, w: sg.scan(lambda c, i: (c * i * w, c), w, x)[0].sum(), lambda x, w, y: y.backward() or y,
        lambda x, w, y: y.backward(),
    ),
    # saved values
    "an operand of mul changed": of(
        lambda x, w: (h := w * 2, h * w), lambda x, w, p: (p[0].add_(1), p[1])[1].sum().backward()
    ),
    "the result of exp changed": of(lambda x, w: sg.exp(w), lambda x, w, y: (y.mul_(2)).sum().backward()),
    "the result of tanh changed, by +=": of(lambda x, w: sg.tanh(w), lambda x, w, y: operator.iadd(y, 1).sum().backward()),
    "a leaf changed under no_grad": of(
        lambda x, w: (w * w).sum(), changed_under_no_grad, lambda x, w, y: y.backward()
    ),
    "a detached alias changed": of(
        lambda x, w: (w * w).sum(), lambda x, w, y: w.detach().mul_(2) is None or y, lambda x, w, y: y.backward()
    ),
    "an operand changed before grad": of(
        lambda x, w: (h := w * 2, sg.square(h).sum()), lambda x, w, p: p[0].zero_() is None or p[1],
        lambda x, w, y: sg.grad(y, w),
    ),
    "an argument changed": of(
        lambda x, w: (w * x).sum(), lambda x, w, y: x.add_(1) is None or y, lambda x, w, y: y.backward()
    ),
    # leaves
    "in place on a leaf": of(lambda x, w: w.add_(1)),
    "+= on a leaf": of(lambda x, w: operator.iadd(w, x)),
    "zero_ of a leaf": of(lambda x, w: w.zero_()),
    "copy_ to a leaf": of(lambda x, w: w.copy_(x)),
    "uniform_ of a leaf": of(lambda x, w: w.uniform_()),
    "in place on a view of a leaf": of(lambda x, w: w[:2].add_(1)),
    "in place on a reshaped leaf": of(lambda x, w: w.reshape(3, 1).mul_(2)),
    "x[i] = value of a leaf": of(lambda x, w: w.__setitem__(0, 1.0)),
    "requires_grad off for a result": of(lambda x, w: (w * 2).requires_grad_(False)),
    "requires_grad of integers": of(lambda x, w: x.astype(sg.int64).requires_grad_()),
    "detach_ of a view": of(lambda x, w: (w * 2)[:2].detach_()),
    "data of another kind": of(lambda x, w: setattr(w, "data", np.ones(3, np.int64))),
    # in place
    "read-only memory": of(lambda x, w: sg.broadcast_to(x * 1, (2, 3)).add_(1)),
    "in place with another shape": of(lambda x, w: (x * 1).add_(sg.ones(2, 3))),
    "in place with another kind": of(lambda x, w: (x * 1).astype(sg.int64).add_(1.5)),
    "copy_ of another shape": of(lambda x, w: (x * 1).copy_(sg.ones(2))),
    "fill_ with several numbers": of(lambda x, w: (x * 1).fill_(np.ones(2))),
    # backward
    "backward of several numbers": of(lambda x, w: (w * x).backward()),
    "backward of no history": of(lambda x, w: x.sum().backward()),
    "backward under no_grad": of(lambda x, w: sg.no_grad(lambda: (w * x).sum())().backward()),
    "a gradient of another shape": of(lambda x, w: (w * x).backward(sg.ones(2))),
    "an integer gradient": of(lambda x, w: (w * x).backward(sg.tensor([1, 2, 3]))),
    "two roots, one gradient": of(lambda x, w: sg.autograd.backward([w.sum(), w.sum()], [None])),
    "backward of a number": of(lambda x, w: sg.autograd.backward([1.0])),
    "no inputs": of(lambda x, w: (w * x).sum().backward(inputs=[])),
    "an input without grad": of(lambda x, w: sg.grad((w * x).sum(), [x])),
    "an unused input": of(lambda x, w: sg.grad(w.sum(), [sg.zeros(2, requires_grad=True)])),
    "a grad that is no tensor": of(lambda x, w: setattr(w, "grad", 1.0)),
    "a grad of another shape": of(lambda x, w: setattr(w, "grad", sg.ones(2))),
    "a hook without grad": of(lambda x, w: (x * 1).register_hook(lambda g: None)),
    "retain_grad without grad": of(lambda x, w: (x * 1).retain_grad()),
    "a hook that is no function": of(lambda x, w: (w * 1).register_hook(1)),
    "a hook of another shape": of(
        lambda x, w: w * 1, lambda x, w, h: h.register_hook(lambda g: sg.ones(2)) and h,
        lambda x, w, h: h.sum().backward(),
    ),
    # shapes and values
    "view of a transpose": of(lambda x, w: column(x).view(-1)),
    "view of a sum of transposes": of(lambda x, w: (column(x) + column(x)).view(6)),
    "view of a part": of(lambda x, w: sg.stack([x, x])[:, :2].view(4)),
    "view of a broadcast": of(lambda x, w: sg.broadcast_to(x, (2, 3)).view(-1)),
    "item of several numbers": of(lambda x, w: x.item()),
    "truth of several numbers": of(lambda x, w: bool(x)),
    "an index that is floating": of(lambda x, w: [1, 2][x[0]]),
    "len of a number": of(lambda x, w: len(x.sum())),
    "iteration over a number": of(lambda x, w: list(x.sum())),
    "numpy with grad": of(lambda x, w: (w * x).numpy()),
    "a copy of a result": of(lambda x, w: copy.deepcopy(w * x)),
    "type_as a number": of(lambda x, w: x.type_as(1)),
    "size of an axis that is not there": of(lambda x, w: x.size(3)),
}  # fmt: skip


def error_of(run: Callable[[], Any]) -> StaticgradError:
    with pytest.raises(StaticgradError) as caught:
        run()
    assert caught.value.where is not None
    assert caught.value.where.file == __file__
    return caught.value


def words(error: StaticgradError) -> str:
    """The first words, without the names of derivatives: a trace may write an operation in others."""
    return " ".join(re.sub(r"\w+Backward0", "", error.summary).split()[:12])


def operands() -> tuple[Any, Any]:
    return sg.tensor([1.0, 2.0, 3.0]), sg.tensor([0.5, -1.0, 2.0], requires_grad=True)


@pytest.mark.parametrize("name", MISUSES)
@pytest.mark.parametrize("passed", [True, False], ids=["argument", "captured"])
def test_compiled_as_eager(name, passed):
    program = MISUSES[name]
    x, w = operands()
    eager = error_of(lambda: program(x, w))
    left = x.tolist(), w.tolist(), None if w.grad is None else w.grad.tolist()
    x, w = operands()
    if passed:
        compiled = error_of(lambda: sg.compile(program)(x, w))
    else:
        compiled = error_of(lambda: sg.compile(lambda x: program(x, w))(x))
    assert (type(compiled), words(compiled)) == (type(eager), words(eager))
    assert (x.tolist(), w.tolist(), None if w.grad is None else w.grad.tolist()) == left
    assert w.requires_grad


IN_A_GRAPH = [
    "view of a transpose", "view of a sum of transposes", "view of a part", "item of several numbers",
    "truth of several numbers", "len of a number", "iteration over a number", "size of an axis that is not there",
    "type_as a number",
]  # fmt: skip
"""What means the same there."""


def in_a_graph(program: Program) -> Any:
    with sg.Graph().as_default():
        return program(sg.placeholder(np.float32, [3]), sg.Variable(np.ones(3, np.float32)))


@pytest.mark.parametrize("name", IN_A_GRAPH)
def test_in_a_graph_as_eager(name):
    eager, graph = error_of(lambda: MISUSES[name](*operands())), error_of(lambda: in_a_graph(MISUSES[name]))
    assert (type(graph), words(graph)) == (type(eager), words(eager))


@pytest.mark.parametrize("name", [name for name in MISUSES if name not in IN_A_GRAPH])
def test_in_a_graph_there_is_no_tape(name):
    """Nothing is changed there, nothing is freed: it is right, or another error of ours with the line."""
    try:
        in_a_graph(MISUSES[name])
    except StaticgradError as raised:
        error: StaticgradError | None = raised
    else:
        error = None
    assert error is None or (error.where is not None and error.where.file == __file__)


FINE: dict[str, Program] = {
    "sums are walked twice": of(
        lambda x, w: w.sum() + x.sum(), lambda x, w, y: y.backward() or y, lambda x, w, y: y.backward()
    ),
    "a graph that is kept": of(
        lambda x, w: (w * x).sum(), lambda x, w, y: y.backward(retain_graph=True) or y, lambda x, w, y: y.backward()
    ),
    "gradients of gradients": of(
        lambda x, w: (w * w * x).sum(), lambda x, w, y: sg.grad(y, w, create_graph=True)[0], lambda x, w, g: g.sum().backward()
    ),
    "two losses of two graphs": of(lambda x, w: (w * x).sum().backward() or x, lambda x, w, _: (w * w).sum().backward()),
    "a change that nobody needs undone": of(lambda x, w: w * 2, lambda x, w, y: y.add_(1).sum().backward()),
    "the operation that changes it": of(lambda x, w: w * 2, lambda x, w, y: y.mul_(w).sum().backward()),
    "exp_": of(lambda x, w: w * 1, lambda x, w, y: y.exp_().sum().backward()),
    "grads of parts that share nothing that was saved": of(
        lambda x, w: (w * x, w + x), lambda x, w, p: p[0].sum().backward() or p, lambda x, w, p: p[1].sum().backward()
    ),
    "view of what lies in order": of(lambda x, w: sg.stack([x, x]).view(3, 2).view(-1)),
    "view after contiguous": of(lambda x, w: column(x).contiguous().view(-1)),
    "view that splits an axis": of(lambda x, w: sg.stack([x, x, x, x]).T.view(3, 2, 2)),
    "a step between two losses": of(
        lambda x, w: (w * x).sum().backward() or x, changed_under_no_grad, lambda x, w, _: (w * x).sum().backward()
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_what_eager_allows_is_allowed_compiled(name):
    x, w = operands()
    FINE[name](x, w)
    y, v = operands()
    sg.compile(FINE[name], numerics="strict")(y, v)
    if w.grad is None:
        assert v.grad is None
    else:
        np.testing.assert_allclose(v.grad.numpy(), w.grad.numpy(), rtol=1e-6)
    np.testing.assert_array_equal(v.detach().numpy(), w.detach().numpy())


def test_order_of_an_argument_is_part_of_the_trace():
    """A transposed tensor can't be viewed flat; a row-major one can, whichever came first."""
    rows, columns = sg.arange(6.0).reshape(2, 3), sg.arange(6.0).reshape(3, 2).T
    for first, second in ((rows, columns), (columns, rows)):
        f = sg.compile(lambda x: x.view(-1) if x.is_contiguous() else x.reshape(-1) * -1, numerics="strict")
        for given in (first, second, first, second):
            sign = 1 if given is rows else -1
            np.testing.assert_array_equal(f(given), sign * given.reshape(-1))


ORDERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "T": lambda x: x.T,
    "swapped twice": lambda x: x.swapaxes(0, 1).swapaxes(0, 1),
    "permuted": lambda x: x.permute(1, 2, 0),
    "permuted + 1": lambda x: x.permute(1, 2, 0) + 1,
    "permuted + row-major": lambda x: x.permute(2, 1, 0) + x.contiguous(),
    "row-major + permuted": lambda x: x + x.permute(2, 1, 0),
    "permuted + a vector": lambda x: x.permute(1, 2, 0) * x[0, 0, 0],
    "exp of a part": lambda x: sg.exp(x[:, :2].T),
    "reversed": lambda x: sg.flip(x, 0),
    "a broadcast": lambda x: sg.broadcast_to(x[:1], (2, 2, 2)),
    "a broadcast, computed": lambda x: sg.broadcast_to(x[:1].T, (2, 2, 2)) * 2,
    "a part, detached": lambda x: x[:, :1].detach(),
    "a clone": lambda x: x.T.clone(),
    "a reshape": lambda x: x.T.reshape(2, 4),
    "a reshape in place": lambda x: x.permute(0, 2, 1).reshape(2, 2, 2, 1),
    "a cast": lambda x: x.T.astype(sg.float64),
    "where": lambda x: sg.where(x.T > 0, x.T, 1.0),
    "a product": lambda x: x.mT @ x,
    "one element": lambda x: x[:1, :1, :1].T,
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_of_elements_as_eager(name):
    x = sg.tensor(np.arange(8, dtype=np.float32).reshape(2, 2, 2))
    eager = ORDERS[name](x)
    found: list[Any] = []

    def f(x: Any) -> Any:
        y = ORDERS[name](x)
        found.append((y.is_contiguous(), y.stride(), y.contiguous() is y))
        return y

    sg.compile(f, numerics="strict")(x)
    with sg.Graph().as_default():
        f(sg.placeholder(np.float32, [2, 2, 2]))
    for contiguous, strides, same in found:
        assert contiguous is same is eager.is_contiguous()
        long = [(d, a, b) for d, a, b in zip(eager.shape, strides, eager.stride(), strict=True) if d > 1]
        assert [a for _, a, _ in long] == [b for _, _, b in long]
