"""Calls on small tensors take routes, which do what the functions do."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
import staticgrad.nn.functional as F
from staticgrad.eager.calls import routes
from staticgrad.eager.calls.routes import USES, route_of
from staticgrad.eager.tensor import PublicTensor
from staticgrad.errors import GradientError, IndexRangeError, ShapeError

X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
INDEX = np.array([2, 0, -1])
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "squeeze": lambda x, i: x[:1].squeeze(),
    "squeeze along": lambda x, i: x[:1].squeeze(0),
    "unsqueeze": lambda x, i: x.unsqueeze(-1),
    "flatten": lambda x, i: x.flatten(),
    "flatten a vector": lambda x, i: x[0].flatten(),
    "permute": lambda x, i: x.permute(1, 0),
    "permute a tuple": lambda x, i: x.permute((1, 0)),
    "transpose": lambda x, i: x.transpose(0, 1),
    "mT": lambda x, i: x.mT,
    "t": lambda x, i: x.t(),
    "expand": lambda x, i: x.expand(2, 3, -1),
    "view": lambda x, i: x.view(2, 6),
    "ellipsis": lambda x, i: x[..., 1],
    "new axis": lambda x, i: x[None],
    "int and slice": lambda x, i: x[1, ::2],
    "rows": lambda x, i: x[i],
    "elements": lambda x, i: x[i, i],
    "mask": lambda x, i: x[x > 0],
    "index_select": lambda x, i: x.index_select(0, i.abs()),
    "gather": lambda x, i: x.gather(1, i.abs().unsqueeze(1)),
    "scatter_reduce": lambda x, i: x.scatter_reduce(1, i.abs().unsqueeze(1), x[:, 1:], "amax"),
    "index_reduce": lambda x, i: x.index_reduce(0, i.abs(), x * 2, "prod", include_self=False),
    "index_add": lambda x, i: x.index_add(0, i, x, alpha=2),
    "index_copy": lambda x, i: x.index_copy(0, i[:2], x[1:]),
    "index_fill": lambda x, i: x.index_fill(0, i[:1], 2.5),
    "index_fill by a tensor": lambda x, i: x.index_fill(1, i[:1], x[0, 0].detach()),
    "index_put": lambda x, i: x.index_put((i, i.abs()), x[:, 0]),
    "index_put rows": lambda x, i: x.index_put((i,), x[0], accumulate=True),
    "index_put by a mask": lambda x, i: x.index_put((x > 0,), x[0, 0]),
    "index_put several by a mask": lambda x, i: x.index_put((x > 0,), x[x > 0] * 2),
    "index_put after all": lambda x, i: x.index_put((None, i), x[:, :3]) if x.ndim > 2 else x,
    "isin": lambda x, i: sg.isin(i, i[1:]) * x[:, 0],
    "embedding": lambda x, i: F.embedding(i.abs(), x),
    "cat": lambda x, i: sg.cat([x, x * 2], 1),
    "stack": lambda x, i: sg.stack([x, x], dim=1),
    "split": lambda x, i: x.split(2, 1)[1],
    "unbind": lambda x, i: x.unbind()[2],
    "max": lambda x, i: x.max(1).values,
    "min of positions": lambda x, i: x.min(dim=0).indices,
    "median": lambda x, i: x.median(1).values,
    "topk": lambda x, i: x.topk(2, dim=1).values,
    "argmax": lambda x, i: x.argmax(),
    "where": lambda x, i: sg.where(x > 0, x, -x),
    "the method where": lambda x, i: x.where(x > 0, sg.zeros(1)),
    "clamp": lambda x, i: x.clamp(min=-1, max=2.5),
    "masked_fill": lambda x, i: x.masked_fill(x > 0, 3),
    "matrix and vector": lambda x, i: x @ x[0],
    "dot": lambda x, i: x[0].dot(x[1]),
    "scatter_add": lambda x, i: sg.zeros(3, 4).scatter_add(0, sg.tensor([[0, 1, 2, 0]] * 3), x),
    "roll": lambda x, i: x.roll(1, 0),
    "sum of booleans": lambda x, i: (x > 0).sum(),
}


CALLS |= {
    "a new axis and a slice": lambda x, i: x[:, None, 1:],
    "swapped axes of a view": lambda x, i: x[1:].swapaxes(-1, 0),
    "transposed by an order": lambda x, i: x.transpose(1, 0),
    "expanded new axis": lambda x, i: x.unsqueeze(1).expand(-1, 2, -1),
    "argmin": lambda x, i: x.argmin(1, keepdim=True),
    "max of all": lambda x, i: x.max(),
    "max of two": lambda x, i: sg.max(x, -x),
    "positions of max": lambda x, i: sg.max(x, 0, keepdim=True).indices,
    "stack of others": lambda x, i: sg.stack([x, x.detach()]),
    "where of another": lambda x, i: sg.where(x.detach() > 0, x, 0.0),
    "tril": lambda x, i: x.tril(),
}


def facts(out: Any, x: Any) -> Any:
    """A result, the nodes that made it, what it shares and the gradient."""
    grad = sg.grad(out.sum(), x)[0].tolist() if out.requires_grad else None
    node = out.grad_fn
    names = node and (type(node).__name__, [n and type(n).__name__ for n, _ in node.next_functions])
    return out.tolist(), str(out.dtype), out.is_view, out._base is x, out.is_contiguous(), names, grad


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_route_does_what_the_function_does(name: str, tracked: bool) -> None:
    x, index = sg.tensor(X, requires_grad=tracked), sg.tensor(INDEX)
    with sg.eager_kernels(False):
        first, *others = [facts(CALLS[name](x, index), x) for _ in range(USES + 3)]
    assert all(found == first for found in others)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", [sg.no_grad, sg.inference_mode])
def test_a_route_without_a_tape_does_what_the_function_does(name: str, mode: Any) -> None:
    x, index = sg.tensor(X, requires_grad=True), sg.tensor(INDEX)

    def seen() -> Any:
        out = CALLS[name](x, index)
        return out.is_inference(), out.requires_grad, out.grad_fn, out._base is x, out.tolist()

    with sg.eager_kernels(False), mode():
        first, *others = [seen() for _ in range(USES + 3)]
    assert all(found == first for found in others)


@pytest.mark.parametrize("name", ["embedding", "gather", "max", "stack", "cat", "where", "tril"])
def test_a_route_saves_what_the_function_saves(name: str) -> None:
    x, index, saved = sg.tensor(X, requires_grad=True), sg.tensor(INDEX), []

    def pack(value: Any) -> Any:
        saved[-1].append(value.tolist())
        return value

    with sg.eager_kernels(False):
        for _ in range(USES + 3):
            saved.append([])
            with sg.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
                out = CALLS[name](x, index)
            out.sum().backward()
    assert all(found == saved[0] for found in saved)


def test_a_call_that_recurs_in_the_second_step_of_training_takes_a_route_there(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def noted(function: Any, *args: Any) -> Any:
        made[-1].append(function.__name__)
        return route_of(function, *args)

    monkeypatch.setattr(routes, "route_of", noted)
    x = sg.ones(3, 7, 5, requires_grad=True)
    for _ in range(3):
        made.append([])
        x.narrow(2, 1, 3).flatten(1).sum().backward()
    assert not made[0]
    assert {"narrow", "flatten"} <= {*made[1]}
    assert not made[2]


def test_a_change_of_what_a_route_saved_is_refused() -> None:
    table, index = sg.ones(3, 2, requires_grad=True), sg.tensor([0, 2])
    out = repeated(lambda: F.embedding(index, table))
    index.zero_()
    with pytest.raises(sg.GradientError, match="modified"):
        out.sum().backward()


def repeated(call: Callable[[], Any]) -> Any:
    return [call() for _ in range(USES + 2)][-1]


def test_zeros_of_both_signs_have_routes_of_their_own() -> None:
    x, mask = sg.ones(2), sg.tensor([True, False])
    assert repeated(lambda: x.masked_fill(mask, 0.0))[0].item() == 0
    assert math.copysign(1, repeated(lambda: x.masked_fill(mask, -0.0))[0].item()) == -1
    assert math.copysign(1, repeated(lambda: x.masked_fill(mask, 0.0))[0].item()) == 1


def test_arguments_of_other_classes_have_routes_of_their_own() -> None:
    x = sg.tensor([[1.0, 2.0]])
    repeated(lambda: x.squeeze(0))
    repeated(lambda: x.narrow(1, 0, 1))
    with pytest.raises(Exception, match="integer"):
        x.narrow(1, 0.0, 1)  # type: ignore[arg-type]
    assert repeated(lambda: sg.where(x > 1, 1, 0)).dtype == sg.int64
    assert repeated(lambda: sg.where(x > 1, 1.0, 0.0)).dtype == sg.float32


def test_a_view_of_another_dtype_has_a_route_of_its_own() -> None:
    for x in (sg.arange(3), sg.arange(3, dtype=sg.float32), sg.arange(3, dtype=sg.float64)):
        if x.is_floating_point():
            x.requires_grad_()
        view = repeated(lambda x=x: x.unsqueeze(1).expand(3, 2))
        assert view.tolist() == [[0, 0], [1, 1], [2, 2]]
        assert view.requires_grad == x.requires_grad


def test_the_default_dtype_counts() -> None:
    mask = sg.tensor([True, False])
    assert repeated(lambda: sg.where(mask, 1.0, 0.0)).dtype == sg.float32
    sg.set_default_dtype(sg.float64)
    try:
        assert sg.where(mask, 1.0, 0.0).dtype == sg.float64
    finally:
        sg.set_default_dtype(sg.float32)


def test_errors_name_op_and_line() -> None:
    x, index = sg.zeros(3, 2), sg.tensor([0, 1])
    repeated(lambda: x[index])
    with pytest.raises(IndexRangeError, match=r"index 7 is out of range for axis 0 with extent 3[\s\S]*test_routes.py"):
        x[sg.tensor([0, 7])]
    with pytest.raises(ShapeError, match=r"test_routes\.py"):
        sg.cat([x, sg.zeros(2)])


def test_a_view_by_a_route_shares_changes() -> None:
    x = sg.zeros(2, 3)
    view = repeated(lambda: x.permute(1, 0))
    version = x._version
    view.add_(1)
    assert x._version == version + 1
    assert x.sum().item() == 6
    y = x.requires_grad_() * 2
    z = (y * y).sum()
    repeated(lambda: y.flatten()).mul_(2)
    with pytest.raises(sg.GradientError, match="modified"):
        z.backward()


def test_constants_of_a_route_are_not_returned() -> None:
    x = sg.tensor([1, 2])
    found = [repeated(lambda: x.isnan()) for _ in range(2)]
    assert found[0] is not found[1]


def test_fills_and_copies_count_as_changes() -> None:
    x = sg.ones(3)
    y = x[:2]
    for change in (lambda: y.zero_(), lambda: y.fill_(2.0), lambda: y.copy_(sg.ones(2))):
        version = x._version
        change()
        assert x._version == version + 1
    assert x.tolist() == [1, 1, 1]
    w = sg.ones(2, requires_grad=True)
    z = w * y
    y.zero_()
    with pytest.raises(sg.GradientError, match="modified"):
        z.sum().backward()
    with pytest.raises(sg.GradientError, match="leaf"):
        w.fill_(0)
    with sg.no_grad():
        assert w.fill_(3) is w
    assert w.tolist() == [3, 3]
    assert sg.tensor([1, 2]).fill_(1.0).tolist() == [1, 1]


@pytest.mark.parametrize("draw", [sg.rand, sg.randn])
@pytest.mark.parametrize("dtype", [sg.float32, sg.float64])
def test_random_numbers_of_a_seed_stay_the_same(draw: Any, dtype: Any) -> None:
    found = []
    for wait in (False, True):
        with sg.eager_kernels(wait, wait=wait):
            sg.manual_seed(3)
            found.append(draw(64, dtype=dtype).tolist())
    assert found[0] == found[1]


def test_checked_indices_are_passed_on_and_still_watched() -> None:
    table, index = sg.ones(3, 2, requires_grad=True), sg.tensor([2, 0])
    before = index.clone()
    repeated(lambda: F.embedding(index, table))
    views = len(index._views or ())
    out = repeated(lambda: F.embedding(index, table))
    assert len(index._views or ()) == views, "no call makes a view"
    index.add_(1)
    with pytest.raises(GradientError, match="modified"):
        out.sum().backward()
    assert F.embedding(before, table).tolist() == out.tolist()


def test_tensors_of_the_public_class_alone_take_routes() -> None:
    assert repeated(lambda: sg.squeeze(sg.ones(1, 2))).__class__ is PublicTensor
    assert repeated(lambda: sg.squeeze(np.ones((1, 2), np.float32))).shape == (2,)  # type: ignore[arg-type]
