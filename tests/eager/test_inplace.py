"""In-place operations: values, versions, views, gradients, and the errors where a gradient would be wrong."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.eager import Tensor
from tests.helpers import assert_close, directional

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation"


def leaf(*shape: int, seed: int = 0) -> Tensor:
    return sg.tensor(np.random.default_rng(seed).uniform(0.5, 1.5, shape), requires_grad=True)


# values -----------------------------------------------------------------------------------------------------

VALUES: list[tuple[str, Any, Any]] = [
    ("add_", lambda x: x.add_(2), lambda a: a + 2),
    ("sub_", lambda x: x.sub_(2), lambda a: a - 2),
    ("mul_", lambda x: x.mul_(2), lambda a: a * 2),
    ("div_", lambda x: x.div_(2), lambda a: a / 2),
    ("pow_", lambda x: x.pow_(2), lambda a: a**2),
    ("neg_", lambda x: x.neg_(), np.negative),
    ("abs_", lambda x: x.abs_(), np.abs),
    ("exp_", lambda x: x.exp_(), np.exp),
    ("log_", lambda x: x.log_(), np.log),
    ("sqrt_", lambda x: x.sqrt_(), np.sqrt),
    ("tanh_", lambda x: x.tanh_(), np.tanh),
    ("relu_", lambda x: x.relu_(), lambda a: np.maximum(a, 0)),
    ("floor_", lambda x: x.floor_(), np.floor),
    ("clamp_", lambda x: x.clamp_(0.7, 1), lambda a: np.clip(a, 0.7, 1)),
    ("zero_", lambda x: x.zero_(), np.zeros_like),
    ("fill_", lambda x: x.fill_(3), lambda a: np.full_like(a, 3)),
    ("copy_", lambda x: x.copy_([1, 2, 3]), lambda a: np.broadcast_to([1.0, 2, 3], a.shape)),
    ("masked_fill_", lambda x: x.masked_fill_(x > 1, 0), lambda a: np.where(a > 1, 0, a)),
    ("reciprocal_", lambda x: x.reciprocal_(), np.reciprocal),
]


@pytest.mark.parametrize(("name", "change", "reference"), VALUES, ids=[v[0] for v in VALUES])
def test_values_memory_and_version(name, change, reference):
    a = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3))
    x = Tensor(a.copy())
    data = x._data
    assert x._version == 0
    assert change(x) is x
    assert x._data is data
    assert x._version == 1
    assert_close(data, np.asarray(reference(a)), 1e-15)


def test_augmented_assignment_keeps_the_object():
    x = kept = sg.tensor([1.0, 2.0])
    x += 1
    x -= 0.5
    x *= 4
    x /= 2
    x **= 2
    x //= 2
    x %= 4
    assert x is kept
    assert x.tolist() == [0.0, 0.0]
    assert x.dtype == np.float32


def test_the_dtype_stays_or_it_is_an_error():
    x = sg.tensor([1, 2])
    x += 1
    assert x.dtype == np.int64
    half = sg.ones(2)
    half += sg.ones(2, dtype=sg.float64)
    assert half.dtype == np.float32
    with pytest.raises(sg.DTypeError, match=r"^add_: result type float32 can't be cast to the desired output type int64"):
        x += 0.5
    with pytest.raises(sg.ShapeError, match=r"^add_: output with shape \(2,\) doesn't match the broadcast shape \(3, 2\)"):
        x += sg.ones(3, 2, dtype=sg.int64)
    assert x.tolist() == [2, 3]
    assert x._version == 1


# leaves -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.add_(1),
        lambda w: w.zero_(),
        lambda w: w.copy_(0),
        lambda w: w.__setitem__(0, 1.0),
        lambda w: w.normal_(),
        lambda w: w.__iadd__(1),
    ],
    ids=["add_", "zero_", "copy_", "setitem", "normal_", "+="],
)
def test_leaf_that_requires_grad(change):
    w = sg.ones(2, requires_grad=True)
    with pytest.raises(sg.GradientError, match=r"^a leaf Variable that requires grad is being used in an in-place operation."):
        change(w)
    assert w.tolist() == [1, 1]
    assert w._version == 0
    with sg.no_grad():
        change(w)
    assert w.is_leaf
    assert w.requires_grad
    assert w._version == 1


@pytest.mark.parametrize(
    "view", [lambda w: w[0], lambda w: w.T, lambda w: w.view(-1), lambda w: w[None]], ids=["0", "T", "view", "None"]
)
def test_view_of_a_leaf(view):
    w = sg.ones(2, 2, requires_grad=True)
    text = "^a view of a leaf Variable that requires grad is being used in an in-place operation."
    with pytest.raises(sg.GradientError, match=text):
        view(w).mul_(2)
    assert w.tolist() == [[1, 1], [1, 1]]


def test_update_under_no_grad_between_steps():
    w = sg.tensor(1.0, requires_grad=True)
    for _ in range(3):
        loss = w * w
        loss.backward()
        with sg.no_grad():
            w -= 0.1 * w.grad
        w.grad.zero_()
    assert w.item() == pytest.approx(0.512)


# saved values -----------------------------------------------------------------------------------------------


def test_operand_changed_before_backward():
    x, y = leaf(3), leaf(3, seed=1)
    h = x * 1
    z = h * y
    h += 1
    with pytest.raises(sg.GradientError) as caught:
        z.sum().backward()
    assert caught.value.summary == f"{MODIFIED}: [float64 (3,)], which MulBackward0 needs"


def test_result_changed_before_backward():
    x = leaf(3)
    y = x.exp()
    with sg.no_grad():
        y.mul_(2)
    with pytest.raises(sg.GradientError) as caught:
        y.sum().backward()
    assert caught.value.summary == f"{MODIFIED}: the output of ExpBackward0"


def test_changing_what_nobody_needs_is_fine():
    x = leaf(3)
    h = x * 2
    z = h + 1
    h.mul_(5)
    z.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.detach().add_(1),
        lambda x: x[0].detach().add_(1),
        lambda x: x.detach()[0].add_(1),
    ],
    ids=["detach", "view-detach", "detach-view"],
)
def test_changes_through_detached_aliases_are_seen(change):
    x = leaf(3)
    y = (x * x).sum()
    change(x)
    with pytest.raises(sg.GradientError, match=r"modified by an inplace operation"):
        y.backward()


def test_changes_through_a_view_are_seen_by_base_and_siblings():
    x = leaf(2, 3)
    h = x * 1
    a, b = h[0], h.view(-1)
    y = (b * b).sum() + (h.exp() * h).sum()
    with sg.no_grad():
        a += 1
    assert h._version == b._version == a._version == 1
    with pytest.raises(sg.GradientError, match=r"modified by an inplace operation"):
        y.backward()


def test_aliases_made_by_the_constructor_share_their_version():
    x = leaf(3)
    h = x * 1
    y = (h * h).sum()
    Tensor(h).zero_()
    assert h._version == 1
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.backward()


def test_a_view_outlives_the_rebinding_of_its_base():
    x = leaf(3)
    h = x * 1
    view = h[:2]
    h.data = sg.zeros(3, dtype=sg.float64)
    view *= 2
    assert h.tolist() == [0, 0, 0]
    view.sum().backward()
    assert x.grad.tolist() == [2, 2, 0]


def test_rebinding_data():
    x = leaf(3)
    y = (x * x).sum()
    x.data = sg.zeros(3, dtype=sg.float64)
    assert x.tolist() == [0, 0, 0]
    assert x.requires_grad
    with pytest.raises(sg.GradientError, match=r"modified by an inplace operation"):
        y.backward()
    with pytest.raises(sg.DTypeError, match=r"^a tensor that requires gradients can't hold int64"):
        x.data = sg.tensor([1, 2, 3])


# recorded changes -------------------------------------------------------------------------------------------


def chain(x: Tensor) -> Tensor:
    x = x * 2
    x += 1
    x *= x.clone()
    x.mul_(3).sub_(x.sum())
    x.pow_(2).add_(1).log_().div_(x.sum())
    return x


def rows(x: Tensor) -> Tensor:
    x = x * 1
    x[0] = x[1].exp() + x[2]
    x[1:, 0] += x[0, 0]
    x[1:, 0] *= x[1:, 1].clone()
    x[[0, 2], [1, 1]] = 5 * x[1, :2]
    return x


def through_view(x: Tensor) -> Tensor:
    x = x * 1
    x[0] *= x[1].clone()
    x.T[0].exp_()
    flat = x.view(-1)
    flat[1:4] += flat[2:5].clone()
    flat.sub_(x.mean()).view(3, 3)[2].mul_(3.0)
    return x * flat.sum()


def view_taken_before(x: Tensor) -> Tensor:
    x = x * 1
    row, column, other = x[0], x[:, 0], x[2]
    x.mul_(x.sum())
    row.add_(column.sum())
    column *= other[1].clone()
    return x + row * column + other


def buffer(x: Tensor) -> Tensor:
    out = sg.zeros(3, 3, dtype=sg.float64)
    early = out[1]
    for i in range(3):
        out[i] = x[i] * (i + 1) + (out[i - 1].exp() if i else 0)
    return out * out + early


def overwritten(x: Tensor) -> Tensor:
    y = x * 2
    z = y * 1
    y.zero_()
    y += x
    return y * z


def masked(x: Tensor) -> Tensor:
    y = x * 1
    y[y > 1] = 0.5
    y[sg.tensor([True, False, True])] *= y[1].clone()
    y.masked_fill_(y < 0.6, 2.0)
    return y * x


def copied(x: Tensor) -> Tensor:
    y = sg.zeros_like(x)
    y.copy_(x)
    y[0].copy_(y[1] * 2)
    return y * y


def cut(x: Tensor) -> Tensor:
    y = x * 2
    z = y * 3
    y.detach_()
    return z + y


@pytest.mark.parametrize(
    "fn", [chain, rows, through_view, view_taken_before, buffer, overwritten, masked, copied], ids=lambda f: f.__name__
)
def test_gradients_through_recorded_changes(fn):
    """Against differences, first and second order."""
    rng = np.random.default_rng(0)
    x, v, w = rng.uniform(0.5, 1.5, (3, 3)), rng.standard_normal((3, 3)), rng.standard_normal((3, 3))

    def slope(a: np.ndarray) -> np.ndarray:
        t = sg.tensor(a, requires_grad=True)
        return sg.grad((fn(t) * Tensor(w)).sum(), t)[0].numpy()

    t = sg.tensor(x, requires_grad=True)
    y = fn(t)
    (g,) = sg.grad((y * Tensor(w)).sum(), t, create_graph=True)
    numeric = directional(lambda a: (fn(Tensor(a)).detach().numpy() * w).sum(), [x], [v])
    assert float((g.detach().numpy() * v).sum()) == pytest.approx(float(numeric), rel=1e-7)
    (h,) = sg.grad((g * Tensor(v)).sum(), t, allow_unused=True)
    numeric = directional(lambda a: (slope(a) * v).sum(), [x], [w])
    exact = 0.0 if h is None else float((h.numpy() * w).sum())
    assert exact == pytest.approx(float(numeric), rel=1e-6, abs=1e-9)


def test_recorded_and_unrecorded_changes_give_the_same_values():
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 3))
    for fn in (chain, rows, through_view, view_taken_before, buffer, overwritten, masked, copied):
        recorded = fn(sg.tensor(x, requires_grad=True)).detach().numpy()
        with sg.no_grad():
            assert_close(fn(sg.tensor(x, requires_grad=True)).numpy(), recorded, 1e-15, what=fn.__name__)


def test_non_leaf_keeps_its_tape():
    x = leaf(3)
    y = x * 2
    first = y.grad_fn
    y += 1
    assert y.grad_fn.name() == "AddBackward0"
    assert y.grad_fn.next_functions[0][0] is first
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_untracked_tensor_becomes_tracked():
    x, total = leaf(3), sg.zeros(3, dtype=sg.float64)
    for _ in range(3):
        total += x * x
    assert total.requires_grad
    assert not total.is_leaf
    total.sum().backward()
    assert_close(x.grad.numpy(), 6 * x.detach().numpy(), 1e-15)


def test_detach_in_place_cuts_what_comes_after():
    x = leaf(3)
    cut(x).sum().backward()
    assert x.grad.tolist() == [6, 6, 6]
    y = (x * 2).detach_()
    assert y.is_leaf
    assert not y.requires_grad
    with pytest.raises(sg.GradientError, match=r"^Can't detach views in-place. Use detach\(\) instead."):
        (x * 2)[0].detach_()


def test_retain_grad_follows_the_value():
    x = leaf(3)
    y = x * 2
    y.retain_grad()
    y *= 3
    (y * 5).sum().backward()
    assert y.grad.tolist() == [5, 5, 5]


OVERWRITTEN = {
    "zero_": lambda y: y.zero_(),
    "fill_": lambda y: y.fill_(3.0),
    "copy_": lambda y: y.copy_(sg.ones(3, dtype=y.dtype)),
    "normal_": lambda y: y.normal_(),
    "y[:] = 0": lambda y: y.__setitem__(slice(None), 0.0),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("change", OVERWRITTEN.values(), ids=OVERWRITTEN)
def test_what_is_overwritten_has_a_gradient_of_0(change, compiled):
    def step(x):
        y = x * 2
        change(y)
        assert y.requires_grad
        y.sum().backward()

    x = leaf(3)
    (sg.compile(step) if compiled else step)(x)
    assert x.grad.tolist() == [0, 0, 0]


def test_a_copied_value_has_the_gradient():
    x, other = leaf(3), leaf(3)
    y = x * 2
    y.copy_(other * 3)
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]
    assert other.grad.tolist() == [3, 3, 3]


# views ------------------------------------------------------------------------------------------------------

VIEWS: list[tuple[str, Any]] = [
    ("x[0]", lambda x: x[0]),
    ("x[1, 2]", lambda x: x[1, 2]),
    ("x[:, ::2]", lambda x: x[:, ::2]),
    ("x[::-1]", lambda x: x[::-1]),
    ("T", lambda x: x.T),
    ("mT", lambda x: x.mT),
    ("permute", lambda x: x.permute(1, 0)),
    ("reshape", lambda x: x.reshape(3, 2)),
    ("view", lambda x: x.view(-1)),
    ("unsqueeze", lambda x: x.unsqueeze(1)),
    ("squeeze", lambda x: x[:1].squeeze(0)),
    ("flatten", lambda x: x.flatten()),
    ("transpose", lambda x: x.transpose(0, 1)),
    ("x[None, 0]", lambda x: x[None, 0]),
    ("detach", lambda x: x.detach()),
    ("data", lambda x: x.data),
    ("split", lambda x: sg.tensor_split(x, 3, 1)[1]),
    ("x[...]", lambda x: x[...]),
    ("diagonal", lambda x: x.diagonal(1)),
    ("diagonal of a transpose", lambda x: x.T.diagonal()),
    ("linalg.diagonal", lambda x: sg.linalg.diagonal(x, offset=-1)),
    ("unfold", lambda x: x.unfold(1, 1, 2)),
    ("unfold of a transpose", lambda x: x.T.unfold(0, 1, 2)),
    ("as_strided", lambda x: x.as_strided((2, 2), (1, 3), 1)),
]


@pytest.mark.parametrize(("name", "view"), VIEWS, ids=[v[0] for v in VIEWS])
def test_views_share_memory(name, view):
    x = Tensor(np.arange(6.0).reshape(2, 3))
    v = view(x)
    with sg.no_grad():
        v += 10
    assert np.sum(x.numpy() >= 10) == v.numel()
    assert x._version == (name != "data")
    x.zero_()
    assert not v.numpy().any()
    assert v._version == (2 if name != "data" else 1)


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.clone(),
        lambda x: x[[0, 1]],
        lambda x: x * 1,
        lambda x: x[x >= 0],
        lambda x: x.flip(0),
        lambda x: x.diag(),
        lambda x: x.rot90(),
        lambda x: x.diff(n=0),
        sg.diagonal_copy,
        lambda x: x.narrow_copy(0, 0, 2),
        lambda x: sg.split_copy(x, 1)[1],
        lambda x: sg.unbind_copy(x)[1],
        lambda x: sg.as_strided_copy(x, (2,), (1,)),
    ],
)
def test_copies_dont(copy):
    x = Tensor(np.arange(6.0).reshape(2, 3))
    copy(x).zero_()
    assert x.numpy().any()
    assert x._version == 0


@pytest.mark.parametrize(
    "view", [lambda x: x.diagonal(0, 1, 0), lambda x: x.unfold(0, 2, 2), lambda x: x.as_strided((2,), (4,), 1)]
)
def test_gradients_of_changed_strided_views(view):
    """Those of a product with a mask, in all modes."""
    w = np.arange(9.0).reshape(3, 3)
    factor = sg.ones(3, 3, dtype=sg.float64)
    view(factor).fill_(3.0)

    def changed(w):
        x = w * 2
        part = view(x)
        part.mul_(3)
        return (x * x).sum() + part.sum()

    def product(w):
        x = w * 2 * factor
        return (x * x).sum() + view(x).sum()

    expected = sg.func.grad(product)(Tensor(w)).numpy()
    leaf = Tensor(w, requires_grad=True)
    changed(leaf).backward()
    compiled = sg.compile(lambda x: sg.autograd.grad(changed(x), x)[0])(Tensor(w, requires_grad=True))
    for found in (leaf.grad, compiled, sg.func.grad(changed)(Tensor(w))):
        np.testing.assert_allclose(found.numpy(), expected)


def test_windows_that_meet_are_read_only():
    x = sg.zeros(6)
    for change in (lambda x: x.unfold(0, 3, 2).add_(1), lambda x: x.as_strided((2, 2), (1, 1)).add_(1)):
        with pytest.raises(sg.GradientError, match=r"memory is read-only"):
            change(x)
        with pytest.raises(sg.GradientError, match=r"memory is read-only"):
            sg.compile(change)(x)


def test_view_refuses_to_copy():
    x = sg.ones(2, 3).T
    with pytest.raises(sg.ShapeError, match=r"^view size is not compatible with input tensor's size and stride"):
        x.view(-1)
    assert x.reshape(-1).shape == (6,)
    assert x.contiguous().view(-1).shape == (6,)
    assert not x.is_contiguous()


def test_broadcast_views_are_read_only():
    x = sg.zeros(1, 3)
    text = "^unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please"
    for change in (
        lambda x: x.add_(1), lambda x: x.copy_(sg.ones(2, 3)), lambda x: x.uniform_(), lambda x: x.clamp_(0, 1),
        lambda x: x.__setitem__((slice(None), 0), 1.0), lambda x: sg.mul(sg.ones(2, 3), 2, out=x),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            change(x.expand(2, 3))
        with pytest.raises(RuntimeError, match=text):
            sg.compile(lambda x, change=change: change(x.expand(2, 3)))(x)
    with pytest.raises(sg.GradientError, match="add_: this tensor's memory is read-only"):
        x.expand(2, 3)[1].add_(1)


def test_a_leaf_that_views_another_tensors_memory():
    x = leaf(3)
    h = x * 2
    other = h[0].detach().requires_grad_()
    assert other.is_leaf
    h += 1
    assert other.item() == h[0].item(), "shares memory, not the tape"
    base = sg.zeros(3, dtype=sg.float64)
    view = base[:2].requires_grad_()
    with pytest.raises(sg.GradientError, match=r"a view of this tensor is a leaf that requires grad"):
        base += x
    assert base.tolist() == [0, 0, 0]
    assert view.is_leaf


# setitem ----------------------------------------------------------------------------------------------------

KEYS: list[tuple[Any, Any]] = [
    (0, 1.0),
    ((1, 2), 5.0),
    (slice(1, None), [7.0, 8, 9]),
    ((slice(None), 0), [1.0, 2.0]),
    (..., 3.0),
    ([0, 1], 2.0),
    (([0, 1], [2, 0]), [4.0, 5.0]),
    (np.array([[True, False, True], [False, True, False]]), 9.0),
    ((slice(None), slice(None, None, -1)), [[1.0, 2, 3]]),
    (np.int64(1), 2),
    ((slice(None), None), 4.0),
    (slice(5, 9), 1.0),
    ((0, [0, 2]), [4.0, 5.0]),
    (([1, 0], slice(None, 2), None), [[[4.0], [5.0]]]),
]


@pytest.mark.parametrize(("key", "value"), KEYS, ids=[str(k) for k, _ in KEYS])
@pytest.mark.parametrize("recorded", [False, True])
def test_setitem(key, value, recorded):
    a = np.arange(6.0).reshape(2, 3)
    x = sg.tensor(a, requires_grad=recorded) * 1
    x[key] = sg.tensor(value, dtype=sg.float64, requires_grad=recorded)
    a[key] = value
    assert_close(x.detach().numpy(), a)
    assert x._version == 1


SETITEM_ERRORS: list[tuple[Any, Any, type[Exception], str]] = [
    (5, 1.0, sg.IndexRangeError, "setitem: index 5 is out of bounds for axis 0 with size 2"),
    ((0, 0, 0), 1.0, sg.IndexRangeError, "setitem: too many indices for array"),
    (0, [1.0, 2.0], sg.ShapeError, "setitem: can't write a value of shape (2,) to places of shape (3,)"),
    ("a", 1.0, sg.IndexRangeError, "setitem: only integers, slices"),
]


@pytest.mark.parametrize(("key", "value", "error", "text"), SETITEM_ERRORS, ids=[e[3][:30] for e in SETITEM_ERRORS])
@pytest.mark.parametrize("recorded", [False, True])
def test_setitem_errors(key, value, error, text, recorded):
    x = sg.zeros(2, 3, requires_grad=recorded) * 1
    with pytest.raises(error) as caught:
        x[key] = value
    assert caught.value.summary.startswith(text)
    assert x._version == 0
    assert not x.detach().numpy().any()


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("key", [0, (..., 0), (0, ...)])
def test_setitem_drops_leading_axes_of_extent_1(key, recorded):
    x = sg.zeros(3, requires_grad=recorded) * 1
    x[key] = sg.tensor([[4.0]], requires_grad=recorded)
    assert x.tolist() == [4, 0, 0]


CASTS = [  # values, what is written, the tensor afterwards
    ([True, True, True], 0, [False, True, False]),
    ([False, False, False], 2, [True, False, True]),
    ([False, False, False], 0.5, [True, False, True]),
    ([1, 2, 3], 1.7, [1, 2, 1]),
    ([1, 2, 3], True, [1, 2, 1]),
]


@pytest.mark.parametrize("key", [slice(None, None, 2), [0, 2], np.array([True, False, True])], ids=["slice", "list", "mask"])
@pytest.mark.parametrize(("values", "written", "expected"), CASTS)
def test_setitem_casts_a_number_as_pytorch_does(values, written, expected, key):
    def write(x, value):
        x[key] = value
        return x

    compiled = sg.compile(lambda x, value: write(x.clone(), value))
    for value in (written, sg.tensor(written)):
        assert write(sg.tensor(values), value).tolist() == expected
        assert compiled(sg.tensor(values), value).tolist() == expected


def test_setitem_of_floats_into_integers():
    x = sg.tensor([1, 2])
    x[:] = sg.tensor([1.5, -1.5])
    assert x.tolist() == [1, -1]
    for key, value in (([0, 1], sg.tensor([1.5, 2.5])), (0, 1j)):
        with pytest.raises(sg.DTypeError, match=r"^setitem: (float32|complex128) values can't be written to a int64 tensor"):
            x[key] = value


@pytest.mark.parametrize("compiled", [False, True])
def test_setitem_with_a_repeated_index(compiled):
    """The last value stays, and all values have the gradient of the place, as PyTorch has it."""

    def changed(x, v):
        y = x * 2
        y[[0, 0, 2]] = v
        return (y * sg.tensor([1.0, 2.0, 3.0])).sum()

    x, v = sg.ones(3, requires_grad=True), sg.tensor([5.0, 6.0, 7.0], requires_grad=True)
    total = (sg.compile(changed) if compiled else changed)(x, v)
    total.backward()
    assert total.item() == 6.0 + 4.0 + 21.0
    assert x.grad.tolist() == [0.0, 4.0, 0.0]
    assert v.grad.tolist() == [1.0, 1.0, 3.0]


def test_changes_of_data_are_not_counted():
    """A backward pass computes with the values that it finds, as in PyTorch; changes of `detach()` are errors."""
    x = sg.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    x.data.mul_(2)
    assert (x._version, x.tolist()) == (0, [2.0, 4.0])
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    y = x * x
    x.detach().mul_(2)
    assert x._version == 1
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
        y.sum().backward()


OWN_OPERAND = {
    "mul_": (lambda z: z.mul_(z), False),
    "div_": (lambda z: z.div_(z), False),
    "pow_": (lambda z: z.pow_(z), False),
    "atan2_": (lambda z: z.atan2_(z), False),
    "hypot_": (lambda z: z.hypot_(z), False),
    "fmod_": (lambda z: z.fmod_(z), False),
    "xlogy_": (lambda z: z.xlogy_(z), False),
    "addcmul_": (lambda z: z.addcmul_(z, z), False),
    "view": (lambda z: z.mul_(z.view(2, 2)), False),
    "add_": (lambda z: z.add_(z), True),
    "sub_": (lambda z: z.sub_(z, alpha=3.0), True),
    "detached": (lambda z: z.mul_(z.detach().clone()), True),
    "copy": (lambda z: z.mul_(z + 0), True),
    "square_": (lambda z: z.square_(), True),
    "renorm_": (lambda z: z.renorm_(2, 0, 0.5), True),
    "logit_": (lambda z: z.logit_(0.125), True),
    "pow_ of a number": (lambda z: z.pow_(2.0), True),
}
"""Whether there is a gradient: PyTorch keeps the former value for the operand that is changed, not for another one."""


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", OWN_OPERAND)
def test_a_tensor_that_is_changed_by_itself(name, compiled):
    change, smooth = OWN_OPERAND[name]

    def run(x):
        z = x * 1
        change(z)
        z.sum().backward()

    x = sg.tensor([[0.5, 1.25], [2.0, 0.75]], requires_grad=True)
    call = sg.compile(run) if compiled else run
    if not smooth:
        with pytest.raises(sg.GradientError, match="modified by an inplace operation"):
            call(x)
    else:
        call(x)
        assert x.grad is not None


# parts of a whole ---------------------------------------------------------------------------------------------------------

PARTS = {
    "split": (lambda x: x.split(2), "Output 0 of Split "),
    "sizes": (lambda x: x.split([2, 4]), "Output 0 of SplitWithSizes "),
    "chunk": (lambda x: x.chunk(3), "Output 0 of Split "),
    "unbind": (lambda x: x.reshape(3, 2).unbind(), "Output 0 of Unbind "),
    "iteration": (lambda x: list(x.reshape(3, 2)), "Output 0 of Unbind "),
}
PART_CHANGES = {
    "method": lambda part: part.mul_(2),
    "item": lambda part: part.__setitem__(0, 1.0),
    "view": lambda part: part[:1].zero_(),
}


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("change", PART_CHANGES)
@pytest.mark.parametrize("case", PARTS)
def test_parts_are_not_changed_where_that_is_recorded(case: str, change: str, mode: str):
    cut, text = PARTS[case]

    def step(x, recorded):
        h = x * 1
        part = cut(h)[0]
        with sg.set_grad_enabled(recorded):
            PART_CHANGES[change](part)
        return h, sg.grad(h.sum(), x)[0]

    x = sg.arange(1.0, 7, requires_grad=True)
    run = step if mode == "eager" else sg.compile(step)
    with pytest.raises(sg.GradientError, match=text + "is a view and is being modified inplace. .* multiple views"):
        run(x, True)
    h, g = run(x, False)
    assert g.tolist() == [1] * 6
    assert h[0].item() == (2 if change == "method" else change == "item")


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("case", PARTS)
def test_parts_of_a_changed_whole_have_no_gradient(case: str, mode: str):
    cut, _ = PARTS[case]

    def step(x, of_part):
        h = x * 1
        parts = cut(h)
        h.mul_(2)
        return sg.grad((parts[0] if of_part else h).sum(), x)[0]

    x = sg.arange(1.0, 7, requires_grad=True)
    run = step if mode == "eager" else sg.compile(step)
    with pytest.raises(sg.GradientError, match="its base or another view of its base has been modified inplace"):
        run(x, True)
    assert run(x, False).tolist() == [2] * 6


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize(
    "cut", [lambda x: x.tensor_split(3), lambda x: x.unsafe_split(2), lambda x: x.unsafe_chunk(3), lambda x: x.hsplit(3)],
    ids=["tensor_split", "unsafe_split", "unsafe_chunk", "hsplit"],
)  # fmt: skip
def test_parts_that_may_be_changed(cut: Any, mode: str):
    def step(x):
        h = x * 1
        cut(h)[1].mul_(3)
        return sg.grad(h.sum(), x)[0]

    run = step if mode == "eager" else sg.compile(step)
    assert run(sg.ones(6, requires_grad=True)).tolist() == [1, 1, 3, 3, 1, 1]


def test_maxima_are_no_parts():
    x = sg.tensor([[1.0, 2.0]], requires_grad=True)
    values, _ = x.max(1)
    values.mul_(3).sum().backward()
    assert x.grad.tolist() == [[0, 3]]


# operands in the memory that is changed -----------------------------------------------------------------------------------


def overlapping(z: Any) -> dict[str, Any]:
    """Changes of z (3, 3), by operands that lie in a part of its memory or in another order."""
    return {
        "copy_": lambda: z.copy_(z.t()),
        "part": lambda: z[1:].copy_(z[:-1]),
        "add_": lambda: z.add_(z.t()),
        "items": lambda: z.__setitem__(slice(1, None), z[:-1]),
        "method": lambda: z[1:].mul_(z[:-1]),
        "detached": lambda: z.t().detach().mul_(z),
        "detached copy": lambda: z.t().detach().copy_(z),
        "another order": lambda: z.t().detach().tanh_().add_(z.detach(), alpha=0.5),
        "row": lambda: z.copy_(z[0]),
        "places": lambda: z.scatter_(0, sg.tensor([[0, 1, 2]]), z),
    }


@pytest.mark.parametrize("mode", ["eager", "compiled"])
@pytest.mark.parametrize("case", overlapping(None))
def test_operands_in_the_memory_that_is_overwritten(case: str, mode: str):
    def change(x):
        z = x * 1
        overlapping(z)[case]()
        return z

    run = change if mode == "eager" else sg.compile(change)
    with pytest.raises(sg.GradientError, match="input tensor and the written-to tensor refer to a single memory location"):
        run(sg.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_operands_in_the_same_places_or_in_others(mode: str):
    def change(x):
        z = x * 1
        z.copy_(z)
        z.add_(z.view(3, 3))
        z[0].add_(z[1])
        z[:, 0].copy_(z[:, 1])  # neither is a range of the memory
        z.copy_(z.t().clone())
        return z

    run = change if mode == "eager" else sg.compile(change)
    assert run(sg.arange(9.0).reshape(3, 3)).tolist() == [[10, 8, 14], [10, 8, 14], [14, 10, 16]]


@pytest.mark.parametrize("mode", ["eager", "compiled"])
def test_no_memory_is_overwritten_where_there_are_no_elements(mode: str):
    def change(x):
        return sg.cos(sg.broadcast_to(x[1:], (2, 0, 3)) * 2).squeeze().masked_fill_(x[1:] > 0, 0.5)

    run = change if mode == "eager" else sg.compile(change)
    assert run(sg.ones(1, 3)).shape == (2, 0, 3)


def test_results_are_not_written_over_a_part_of_an_operand():
    z = sg.arange(9.0).reshape(3, 3)
    with pytest.raises(sg.GradientError, match="refer to a single memory location"):
        sg.add(z[:-1], 1, out=z[1:])
    assert sg.add(z, 1, out=z).tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


LOST = {
    "addcdiv_, first": lambda z, a: z.addcdiv_(z, a),
    "addcdiv_, alias": lambda z, a: z.addcdiv_(z.detach(), a),
    "lerp_, end": lambda z, a: z.lerp_(z.view(2), a),
    "lerp_, weight": lambda z, a: z.lerp_(a, z),
    "lerp_, named": lambda z, a: z.lerp_(a, weight=z),
    "lerp_, alias as weight": lambda z, a: z.lerp_(a, z.detach()),
    "mul_": lambda z, a: z.mul_(a).mul_(z.detach()),
}
KEPT_VALUES = {
    "addcdiv_": (lambda z, a: z.addcdiv_(z, a.detach()), [3.0, 3.0]),
    "lerp_": (lambda z, a: z.lerp_(z.view(2), 0.25), [1.0, 1.0]),
    "copysign_": (lambda z, a: z.copysign_(z), [1.0, 1.0]),
    "copysign_, alias": (lambda z, a: z.copysign_(z.detach()), [1.0, 1.0]),
    "eq_": (lambda z, a: z.eq_(a), [0.0, 0.0]),
    "nextafter_": (lambda z, a: z.nextafter_(a), [1.0, 1.0]),
}


@pytest.mark.parametrize("mode", ["eager", "compiled", "compiled whole", "in segments"])
@pytest.mark.parametrize("case", LOST)
def test_operands_that_a_method_of_several_operations_overwrites(case: str, mode: str):
    """Values that it computes from them on the way are lost, too. compiled whole: with the backward pass."""
    x, a = sg.tensor([0.25, 0.75], requires_grad=True), sg.tensor([0.5, 0.5], requires_grad=True)

    def total(x, a):
        if mode == "in segments":
            assert float(x.sum()) == 1
        return LOST[case](x * 1, a * 1).sum()

    def step(x, a):
        total(x, a).backward()

    run = sg.compile(step) if mode == "compiled whole" else total if mode == "eager" else sg.compile(total, on_break="split")
    with pytest.raises(sg.GradientError, match="modified by an inplace operation"):  # noqa: PT012 - where it is depends on the mode
        loss = run(x, a)
        loss.backward()


@pytest.mark.parametrize("mode", ["eager", "compiled", "compiled whole"])
@pytest.mark.parametrize("case", KEPT_VALUES)
def test_gradients_that_need_no_overwritten_operand(case: str, mode: str):
    change, wanted = KEPT_VALUES[case]
    x, a = sg.tensor([0.25, 0.75], requires_grad=True), sg.tensor([0.5, 0.5], requires_grad=True)

    def total(x, a):
        return change(x * 1, a * 1).sum() + 0 * x.sum()

    def gradient(x, a):
        return sg.grad(total(x, a), x)[0]

    if mode == "compiled whole":
        assert sg.compile(gradient)(x, a).tolist() == wanted
    else:
        assert sg.grad((total if mode == "eager" else sg.compile(total))(x, a), x)[0].tolist() == wanted


OPERAND_FORMS = ("z", "alias", "view", "other", "constant")
METHODS_OF_PLACES = ("scatter_", "scatter_add_", "index_add_", "index_copy_")
METHODS_OF_TWO = ("addcmul_", "addcdiv_", "lerp_", "clamp_")
OPERAND_METHODS = (
    "add_", "sub_", "mul_", "div_", "pow_", "remainder_", "fmod_", "atan2_", "copysign_", "hypot_", "xlogy_", "ldexp_", "copy_",
    "clamp_min_", "clamp_max_", "float_power_", *METHODS_OF_TWO, *METHODS_OF_PLACES,
)  # fmt: skip
DIFFER = {
    "addcdiv_": "PyTorch saves an operand that no gradient needs",
    "ldexp_": "PyTorch saves an operand that no gradient needs",
    "float_power_": "float64 there, which float32 does not take",
}


def run_in_place(t: Any, method: str, forms: tuple[str, ...], squared: bool) -> Any:
    """The gradients, or the kind of error, of a method with operands in some of `OPERAND_FORMS`."""
    x = t.tensor([0.3, 0.6, 0.45, 0.7], dtype=t.float64, requires_grad=True)
    y = t.tensor([0.5, 0.2, 0.8, 0.4], dtype=t.float64, requires_grad=True)
    z, other = x * 1, y * 1
    of = {"z": z, "alias": z.detach(), "view": z.view(4), "other": other, "constant": y.detach()}
    where = (0, t.tensor([0, 2, 1, 3])) if method in METHODS_OF_PLACES else ()
    try:
        getattr(z, method)(*where, *(of[form] for form in forms))
        ((z * z) if squared else z).sum().backward()
    except RuntimeError as error:
        text = str(error)
        return "lost" if "modified by an inplace" in text else "overlap" if "single memory" in text else "another error"
    grads = [None if v.grad is None else [round(g, 6) for g in v.grad.tolist()] for v in (x, y)]
    return grads, [round(v, 6) for v in z.tolist()]


@pytest.mark.oracle
@pytest.mark.parametrize("method", OPERAND_METHODS)
def test_operands_in_all_forms_are_as_in_pytorch(method: str):
    import torch

    for forms in itertools.product(OPERAND_FORMS, repeat=1 + (method in METHODS_OF_TWO)):
        for squared in (False, True):
            found, wanted = (run_in_place(t, method, forms, squared) for t in (sg, torch))
            assert found == wanted or (method in DIFFER and wanted in ("lost", "another error")), (forms, squared)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_a_broadcast_view_is_filled(compiled):
    def step(a):
        b = a * 1.0
        view = b[None].expand(2, 3)
        view.fill_(2.0)
        first = (view + b).sum()
        view.zero_()
        return first + b.sum() + (a * a).sum(), view

    a = sg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    total, view = (sg.compile(step) if compiled else step)(a)
    assert (total.item(), view.tolist()) == (38.0, [[0.0] * 3] * 2)
    total.backward()
    assert a.grad.tolist() == [2.0, 4.0, 6.0]
    x = sg.zeros(1, 3)
    assert x.expand(4, 3).fill_(7).tolist() == [[7.0] * 3] * 4
    assert (x.tolist(), x._version) == ([[7.0] * 3], 1)
    with pytest.raises(sg.errors.GradientError, match="more than one element of the written-to tensor"):
        x.expand(4, 3).copy_(sg.ones(4, 3))
