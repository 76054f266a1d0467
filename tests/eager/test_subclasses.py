"""Classes derived from `sg.Tensor` and `nn.Parameter`, and `__torch_function__`, of them and of foreign classes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad import nn
from staticgrad.operators import untaken

F = nn.functional


class Plain(sg.Tensor):
    """Results have its class."""


class Below(Plain):
    """Derived from the former."""


CALLS: list[tuple[Any, tuple[str, ...], dict[str, Any]]] = []


class Logged(sg.Tensor):
    """Notes what is called on it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CALLS.append((func, tuple(kind.__name__ for kind in types), kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Silent(sg.Tensor):
    """Takes over nothing."""

    from staticgrad.operators import disabled_torch_function as __torch_function__


class Foreign:
    """No tensor; takes over everything."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        CALLS.append((func, tuple(kind.__name__ for kind in types), kwargs))
        return "taken"


class Declining:
    """Takes over nothing, aloud."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class WithExtra(sg.Tensor):
    """Made of data and something else, as PyTorch's documentation shows it."""

    def __new__(cls, data, extra, *args, **named):
        return super().__new__(cls, data, *args, **named)

    def __init__(self, data, extra, *args, **named):
        self.extra = extra


class Meta(type(nn.Parameter)):  # type: ignore[misc]  # to checkers Parameter is a plain class
    """A metaclass of a user's."""


class OwnParameter(nn.Parameter, metaclass=Meta):
    """A parameter of a class of its own."""


class OnManifold(sg.Tensor):
    """As geoopt has them."""

    from staticgrad.operators import disabled_torch_function as __torch_function__

    def __new__(cls, data, manifold="sphere", requires_grad=False):
        made = sg.Tensor._make_subclass(cls, data, requires_grad)
        made.manifold = manifold
        return made


class ManifoldParameter(OnManifold, nn.Parameter):
    """Both."""

    def __new__(cls, data, manifold="sphere", requires_grad=True):
        return super().__new__(cls, data, manifold, requires_grad)


X = sg.tensor([1.0, 2.0])


def plain() -> Any:
    return Plain([1.0, 2.0])


RESULTS = {
    "operator": lambda p: p + 1,
    "reflected": lambda p: 1 - p,
    "a plain tensor first": lambda p: X * p,
    "matmul": lambda p: X @ p,
    "comparison": lambda p: p == 1,
    "index": lambda p: p[0],
    "method": lambda p: p.sum(),
    "property": lambda p: p.T,
    "data": lambda p: p.data,
    "function": lambda p: sg.exp(p),
    "in a list": lambda p: sg.stack([X, p]),
    "second operand": lambda p: sg.where(X > 0, X, p),
    "of nn.functional": lambda p: F.linear(p, sg.ones(3, 2)),
    "composite": lambda p: F.softmax(p, 0),
    "one that draws": lambda p: F.dropout(p, 0.5),
    "like": lambda p: sg.zeros_like(p),
    "clone": lambda p: sg.clone(p),
    "reshape": lambda p: sg.reshape(p, (2, 1)),
    "named argument": lambda p: sg.mean(input=p),
    "copy_": lambda p: X.clone().copy_(p),
    "in place": lambda p: X.clone().add_(p),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_have_the_class(name: str):
    p = plain()
    found, expected = RESULTS[name](p), RESULTS[name](X)
    assert type(found) is Plain
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if name != "one that draws":
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_results_of_several_and_what_is_no_tensor():
    p = plain()
    assert [type(x) for x in (*p.max(0), *p.split(1), *p)] == [Plain] * 6
    assert type(p.shape) is sg.Size
    assert type(p.numpy()) is np.ndarray
    assert p.tolist() == [1.0, 2.0]
    assert repr(p + 1) == "Plain([2., 3.])"
    assert type(Below([1.0]) + plain()[:1]) is type(plain()[:1] + Below([1.0])) is Below


def test_tensors_of_the_library_ask_nothing():
    assert type(X + 1) is type(sg.ones(2)) is type(X) is sg.Tensor
    assert "Asking" not in [kind.__name__ for kind in type(X).__mro__]


CALLED = {
    "m + 1": "add", "1 + m": "add", "x + m": "add", "x - m": "sub", "x / m": "div", "1 - m": "__rsub__", "1 / m": "__rdiv__",
    "m ** 2": "pow", "m @ x": "matmul", "x @ m": "matmul", "-m": "neg", "m < 1": "lt", "m == 1": "__eq__",
    "m[0]": "__getitem__",
    "m.sum()": "sum", "len(m)": "__len__", "m.T": "__get__", "m.add_(1)": "add_", "x.add_(m)": "add_", "x.copy_(m)": "copy_",
    "sg.add(m, 1)": "add", "sg.stack([m, x])": "stack", "F.relu(m)": "relu", "sg.einsum('i,i', m, x)": "einsum",
}  # fmt: skip


@pytest.mark.parametrize("text", CALLED)
def test_calls_have_pytorchs_functions(text: str):
    names = {"m": Logged([1.0, 2.0]), "x": X.clone(), "sg": sg, "F": F}
    CALLS.clear()
    eval(text, names)
    assert [(func.__name__, types) for func, types, _ in CALLS] == [(CALLED[text], ("Logged",))]


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("m + 1", sg.Tensor.add), ("sg.add(m, 1)", sg.add), ("m.matmul(x)", sg.Tensor.matmul), ("sg.matmul(x, m)", sg.matmul),
        ("F.relu(m)", F.relu), ("sg.relu(m)", sg.relu), ("F.softmax(m, 0)", F.softmax), ("sg.mean(m)", sg.mean),
        ("m.sum()", sg.Tensor.sum), ("sg.sum(m)", sg.sum), ("sg.linalg.norm(m)", sg.linalg.norm), ("sg.exp(m)", sg.exp),
    ],
)  # fmt: skip
def test_a_table_of_functions_finds_them(text: str, function: Any):
    CALLS.clear()
    eval(text, {"m": Logged([1.0, 2.0]), "x": X, "sg": sg, "F": F})
    assert CALLS[0][0] is function


def test_named_arguments_are_handed_on():
    CALLS.clear()
    sg.sum(Logged([1.0, 2.0]), dim=0)
    F.dropout(Logged([1.0]), p=0.0)
    assert [kwargs for _, _, kwargs in CALLS] == [{"dim": 0}, {"p": 0.0}]


FOREIGN = (
    "sg.add(o, 1)", "sg.matmul(x, o)", "x @ o", "x + o", "o - x", "sg.cat([x, o])", "F.linear(o, x)", "F.relu(o)", "x.mul(o)",
    "sg.sum(o, dim=0)", "sg.mean(o)", "x.add_(o)", "x.copy_(o)", "x[o]", "sg.exp(o)", "sg.hypot(x, o)", "sg.floor_divide(o, 2)",
    "sg.where(x > 0, o, x)", "sg.einsum('i,i', o, x)", "sg.reshape(o, (1,))", "x < o", "sg.clone(o)", "nn.Linear(2, 2)(o)",
    "sg.zeros_like(o)", "sg.linalg.inv(o)", "sg.fft.fft(o)", "sg.add(x, 1, out=o)",
)  # fmt: skip


@pytest.mark.parametrize("text", FOREIGN)
def test_foreign_objects_take_over(text: str):
    CALLS.clear()
    assert eval(text, {"o": Foreign(), "x": X.clone(), "sg": sg, "F": F, "nn": nn}) == "taken"
    assert [types for _, types, _ in CALLS] == [("Foreign",)]


def test_an_instance_may_take_over_by_a_method():
    class Counting:
        def __init__(self):
            self.calls = 0

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.calls += 1
            return self.calls

    counting = Counting()
    assert (sg.add(counting, 1), sg.add(1, counting), counting.calls) == (1, 2, 2)


def test_all_decline():
    with pytest.raises(TypeError, match="no implementation found for 'add' on types that implement __torch_function__"):
        sg.add(Declining(), 1)
    with pytest.raises(TypeError, match="no implementation found for 'add'"):
        plain() + Logged([1.0, 2.0])  # neither class is derived from the other
    with pytest.raises(TypeError):
        plain() + object()


def test_nobody_takes_over_inside_untaken():
    with untaken():
        assert type(plain() + 1) is type(sg.exp(plain())) is sg.Tensor
    assert type(plain() + 1) is Plain


def test_a_class_that_takes_over_nothing():
    s = Silent([1.0, 2.0])
    assert [type(y) for y in (s + 1, X + s, s.T, s.detach(), s.clone(), sg.stack([s]))] == [sg.Tensor] * 6
    assert isinstance(s, Silent)
    assert "Asking" not in [kind.__name__ for kind in Silent.__mro__]

    class Again(Silent):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "again"

    assert Again([1.0]) + 1 == "again"


def test_constructors():
    assert Plain(2, 3).shape == (2, 3)
    assert Plain().shape == (0,)
    assert type(sg.Tensor(plain())) is sg.Tensor
    made = WithExtra([1.0, 2.0], "metres")
    assert made.extra == "metres"
    assert type(made * 2) is WithExtra
    assert not hasattr(made * 2, "extra")


def test_as_subclass_is_a_view_with_gradients():
    x = sg.tensor([1.0, 2.0], dtype=sg.float64, requires_grad=True)
    y = x.as_subclass(Plain)
    assert type(y) is Plain
    assert y._is_view()
    assert not y.is_leaf
    assert y.data_ptr() == x.data_ptr()
    (g,) = sg.grad((y * y * y).sum().as_subclass(sg.Tensor), x, create_graph=True)
    assert g.tolist() == [3.0, 12.0]
    (h,) = sg.grad(g.sum(), x)
    assert h.tolist() == [6.0, 12.0]
    z = sg.zeros(3)
    z.as_subclass(Plain)[1] = 5.0
    assert z.tolist() == [0.0, 5.0, 0.0]


def test_as_subclass_refuses_other_classes():
    for cls, text in ((int, "does not inherit from Tensor"), (3, "cls must be a type")):
        with pytest.raises(TypeError, match=text):
            X.as_subclass(cls)


def test_a_leaf_of_a_class():
    leaf = sg.Tensor._make_subclass(Plain, sg.ones(2), True)
    (leaf * leaf).sum().backward()
    assert leaf.is_leaf
    assert type(leaf.grad) is sg.Tensor
    assert leaf.grad.tolist() == [2.0, 2.0]
    with pytest.raises(TypeError):
        sg.Tensor._make_subclass(int, sg.ones(2))


def test_copies_keep_class_and_attributes():
    p = plain()
    p.note = [3]
    for made in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(made) is Plain
        assert made.note == [3]
        assert made.note is not p.note
        assert made.tolist() == [1.0, 2.0]
    w = sg.ones(2, requires_grad=True)
    w.note = [3]
    assert type(copy.deepcopy(w)) is sg.Tensor
    assert copy.deepcopy(w).note == pickle.loads(pickle.dumps(w)).note == [3]


def test_attributes_are_the_users():
    """Libraries hand on what a tensor has by its `__dict__`."""
    p, q = plain(), plain()
    p.requires_grad_()
    (p * 2).sum().backward()
    p.note, p.more = [3], 1
    assert vars(p) == p.__dict__ == {"note": [3], "more": 1}
    q.__dict__ = copy.deepcopy(p.__dict__)
    assert q.note == [3]
    assert q.note is not p.note
    assert q.grad is None
    assert not q.requires_grad
    q.__dict__["more"] = 2
    q.__dict__.update(other=5)
    del q.__dict__["note"]
    assert (q.more, q.other, q.__dict__.pop("other"), hasattr(q, "note"), hasattr(q, "other")) == (2, 5, 5, False, False)
    q.__dict__.clear()
    assert vars(q) == {}
    assert type(copy.deepcopy(p.__dict__)) is type(pickle.loads(pickle.dumps(p.__dict__))) is dict


# parameters -----------------------------------------------------------------------------------------------------------------


def test_parameters_of_a_class():
    p = OwnParameter(sg.ones(2))
    assert type(p) is OwnParameter
    assert type(OwnParameter) is Meta
    assert type(p + 1) is sg.Tensor
    assert isinstance(p, nn.Parameter)
    assert p.requires_grad
    assert p.is_leaf
    assert not isinstance(nn.Parameter(sg.ones(2)), OwnParameter)
    assert issubclass(OwnParameter, sg.Tensor)
    assert type(pickle.loads(pickle.dumps(p))) is OwnParameter
    assert isinstance(copy.deepcopy(p), nn.Parameter)


class Scaled(nn.Module):
    """Has a parameter of a class."""

    def __init__(self):
        super().__init__()
        self.weight = ManifoldParameter(sg.tensor([1.0, 2.0]))

    def forward(self, x):
        assert self.weight.manifold == "sphere"
        return (self.weight * x).sum()


def trained(compiled: bool) -> list[float]:
    model = Scaled()
    assert [name for name, _ in model.named_parameters()] == ["weight"]
    optimizer = sg.optim.SGD(model.parameters(), 0.1)

    def step(x):
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        return loss

    run = sg.compile(step, on_break="error") if compiled else step
    losses = [run(sg.tensor([1.0, 3.0])).item() for _ in range(4)]
    assert type(model.weight) is ManifoldParameter
    assert model.weight.manifold == "sphere"
    return losses


def test_modules_train_them_eagerly_and_compiled():
    np.testing.assert_allclose(trained(False), trained(True), rtol=1e-6)


# compiled -------------------------------------------------------------------------------------------------------------------


def test_arguments_of_a_class_keep_it_in_a_compiled_function():
    def f(x):
        return x * 2, isinstance(x, Plain)

    with pytest.raises(sg.TraceError, match="a tensor of class Plain"):
        sg.compile(f, on_break="error")(plain())
    compiled = sg.compile(f)
    for _ in range(3):
        y, known = compiled(plain())
        assert type(y) is Plain
        assert known
        assert y.tolist() == [2.0, 4.0]
    assert compiled(X)[1] is False


def test_results_of_a_class_in_a_compiled_function():
    held = plain()
    for f in (lambda x: x * held, lambda x: (x * 2).as_subclass(Plain) + 1):
        compiled = sg.compile(f)
        for _ in range(3):
            found, expected = compiled(X), f(X)
            assert type(found) is type(expected) is Plain
            assert found.tolist() == expected.tolist()


def test_symbols_have_no_class():
    x = sg.placeholder(sg.float32, [2])
    assert x.as_subclass(sg.Tensor) is x
    with pytest.raises(sg.TraceError, match="a tensor of class Plain"):
        x.as_subclass(Plain)


@pytest.mark.parametrize("base", [sg.Tensor, nn.Parameter])
@pytest.mark.parametrize("detached", [False, True])
def test_a_compiled_function_that_changes_one_in_place_leaves_its_class(base, detached):
    class Point(base):
        pass

    def run(compiled):
        point = sg.Tensor._make_subclass(Point, sg.ones(2), True)
        point.factor = 0.5

        def step():
            point.grad = None
            loss = (point * point).sum()
            loss.backward()
            with sg.no_grad():
                target = point.detach() if detached else point
                target.copy_(target - 0.1 * point.grad * (point.factor if isinstance(point, Point) else 9.0))
            return loss

        call = sg.compile(step) if compiled else step
        losses = [call().item() for _ in range(4)]
        assert type(point) is Point
        return losses

    assert run(True) == pytest.approx(run(False), rel=1e-6)
