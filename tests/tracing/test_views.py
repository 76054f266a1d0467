"""In-place changes of views and item assignment in compiled functions: values and gradients to second order as eagerly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import raised

pytestmark = pytest.mark.usefixtures("refusing", "few_kernels")

PROGRAMS: list[Callable[..., Any]] = []


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of x (3, 3) and a leaf w (3, 3)."""
    PROGRAMS.append(fn)
    return fn


@program
def one_row(x, w):
    y = x * w
    y[0] = 5.0
    return y


@program
def strided_part(x, w):
    y = x * w
    y[1:3, ::2] += 1
    return y


@program
def diagonal(x, w):
    y = x * w
    y.T.diagonal(1).mul_(w[0, :2]).add_(x[1, :2])
    return y


@program
def windows(x, w):
    y = x * w
    y.unfold(1, 1, 2).mul_(w[0, 0])
    return y * y.unfold(0, 2, 1).sum()


@program
def negative_steps(x, w):
    y = x * w
    y[-1, -2] = w[0, 0]
    y[None, 0] = 1.0
    y[..., 2] *= w[1]
    return y * w


@program
def mask(x, w):
    y = x * w
    y[y > 1] = 0
    return y * w


@program
def mask_of_rows(x, w):
    y = x * w
    y[y[:, 0] > 0.5] = w[0]
    return y * w


@program
def places_of_a_mask_changed(x, w):
    y = x * w
    y[y > 1] += 2.0
    y[y < 0.5] *= w[0, 0]
    y[y > 0.75] -= w[1, 1:2]
    y[y > 0.25] /= 3.0
    y[y > 0.3] **= 2
    return y * w


@program
def rows_of_a_mask_changed(x, w):
    y = x * w
    rows = y[:, 0] > 0.5
    y[rows] += w[0]
    y[rows] *= w[1:2]
    y[~rows] -= 1
    return y * w


@program
def elements_of_a_mask(x, w):
    y = x * w
    mask = y > 0.5
    part = y[mask]
    same = part
    y.add_(1)
    part *= 2
    other = 2.0 - part / 4 + y[mask] * part
    z = w * w
    y[mask] = same
    z[mask] = other
    return y * z


@program
def changed_mask(x, w):
    y = x * w
    mask = y > 0.5
    part = y[mask]
    y[mask] = part + 1
    mask.logical_not_()
    y[mask] = 0.25
    return y * w


@program
def known_mask(x, w):
    y = x * w
    y[np.array([True, False, True])] = w[1]
    y[[True, False, False]] += 1
    return y * w


@program
def integer_arrays(x, w):
    y = x * w
    y[sg.tensor([0, 2])] = w[0]
    y[[0, 1], [1, 2]] = -1.0
    return y * w


@program
def computed_index(x, w):
    y = x * w
    i = (x[0] > 0.2).long().sum()
    y[sg.stack([i - 1, i - 2])] = 2.0
    return y * w


@program
def row_of_another_result(x, w):
    y = x * w
    z = y[0]
    z.mul_(2)
    return y * y


@program
def transposed(x, w):
    y = x * w
    z = y.T
    z[0] = w[:, 0].sum()
    z.add_(1)
    return y * z.T


@program
def reshaped(x, w):
    y = x * w
    y.view(-1)[3] = 7.0
    return y


@program
def reshape_that_copies(x, w):
    h = x * w
    y = h.T.reshape(-1)
    y[0] = 3.0
    return y * h.reshape(-1)


@program
def methods_on_slices(x, w):
    y = x * w
    y[0].zero_()
    y[1].fill_(3.0)
    y[2].copy_(w[0])
    y[:, 0].masked_fill_(y[:, 0] > 2, 0.0)
    y[0].index_fill_(0, sg.tensor([1]), 9.0)
    y[0, 0].exp_()
    return y * w


@program
def rows_one_by_one(x, w):
    out = sg.zeros(3, 3, dtype=x.dtype)
    for i in range(3):
        out[i] = x[i] * w[i] * (i + 1)
    return out


@program
def parts(x, w):
    y = x * w
    a, b = y[0], y.select(0, 1)
    a.add_(b)
    first, second, _ = y.reshape(9).tensor_split(3)
    second.mul_(2)
    first[1:] = second[:2]
    return y * w


@program
def view_read_after_a_change_of_its_base(x, w):
    y = x * w
    z = y[1:]
    y.mul_(2)
    return z * w[1:]


@program
def view_of_a_view(x, w):
    y = x * w
    z = y.permute(1, 0)[1:][:, 0]
    z *= w[0, 0]
    return y * y


@program
def argument(x, w):
    x[0] = w[0].detach()
    return x * w


@program
def state(x, w):
    with sg.no_grad():
        w[0] = 0.5
        w.data[1] = 2.0
    return x * w


@program
def view_of_a_detached_alias(x, w):
    y = x * 2
    row = y.detach()[0]
    y.mul_(2)
    return row * w


def run(fn: Callable[..., Any], compiled: bool, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    x = sg.tensor(rng.random((3, 3)).astype(dtype))
    w = sg.tensor(rng.random((3, 3)).astype(dtype) + 0.5, requires_grad=True)

    def step(x):
        result = fn(x, w)
        (g,) = sg.grad((result**2).sum(), [w], create_graph=True)
        (g**2).sum().backward()
        return result, g

    result, g = (sg.compile(step) if compiled else step)(x)
    return [t.detach().numpy().copy() for t in (result, g, w.grad, x, w)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_as_eagerly(fn, dtype):
    for found, expected in zip(run(fn, True, dtype), run(fn, False, dtype), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.uint8])
def test_integers_and_booleans(kind):
    def step(x):
        y = x.clone()
        y[1] = True
        y[0, 1:] = y[1, :2]
        return y

    x = sg.tensor(np.zeros((2, 3), kind))
    assert sg.compile(step)(x).tolist() == step(x).tolist()


@pytest.mark.parametrize("place", [-1.0, 0.0, 2.0])
def test_nothing_comes_from_places_outside_of_a_mask(place):
    """No NaN: what an operation would give there is not part of the program."""

    def step(x, v):
        y = x * 1
        y[y > 1] /= v
        y.sum().backward()
        return y

    found = []
    for fn in (step, sg.compile(step)):
        x, v = sg.tensor([place, 0.5, float("inf")], requires_grad=True), sg.tensor(0.0, requires_grad=True)
        if place <= 1:
            x = sg.tensor([place, 0.5, 0.25], requires_grad=True)
        found.append((fn(x, v), x.grad, v.grad))
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_changes_of_places_keep_the_dtype():
    def step(x):
        x[x > 2] += 0.5

    for fn in (step, sg.compile(step)):
        with pytest.raises(sg.DTypeError):
            fn(sg.arange(4))

    def whole(x):
        y = x.clone()
        y[y > 1] -= 7
        return y

    assert sg.compile(whole)(sg.arange(4)).tolist() == whole(sg.arange(4)).tolist() == [0, 1, -5, -4]


def wrong_row(y: Any) -> None:
    y[7] = 1.0


def wrong_shape(y: Any) -> None:
    y[0] = sg.ones(4)


def wrong_dtype(y: Any) -> None:
    (y > 0)[0] = 0.5j


def wrong_mask(y: Any) -> None:
    y[y[:2] > 0] = 0.5


def expanded(y: Any) -> None:
    y[0].expand(2, 3)[0] = 1.0


@pytest.mark.parametrize("change", [wrong_row, wrong_shape, wrong_dtype, wrong_mask, expanded])
def test_wrong_assignments(change):
    def step(x):
        y = x * 1
        change(y)
        return y

    x = sg.ones(3, 3)
    errors = []
    for fn in (step, sg.compile(step)):
        with pytest.raises(sg.StaticgradError) as caught:
            fn(x)
        errors.append(caught.value)
        assert "test_views.py" in str(caught.value)
    assert type(errors[0]) is type(errors[1])


def test_leaf_and_its_views():
    w = sg.ones(3, requires_grad=True)

    def leaf():
        w[0] = 1.0

    def view():
        w[0].add_(1)

    for step in (leaf, view):
        for fn in (step, sg.compile(step)):
            what = "a leaf Variable" if step is leaf else "a view of a leaf Variable"
            with raised(sg.GradientError, f"{what} that requires grad is being used in an in-place operation."):
                fn()


@pytest.mark.usefixtures("lines_noted")
def test_saved_value_changed_through_a_view():
    def step(x):
        y = x * 2
        z = (y * y).sum()
        y[0] = 1.0
        z.backward()

    for fn in (step, sg.compile(step)):
        with pytest.raises(sg.GradientError) as caught:
            fn(sg.ones(3, requires_grad=True))
        text = str(caught.value)
        assert text.startswith("one of the variables needed for gradient computation has been modified by an inplace operation")
        assert "saved at test_views.py" in text
        assert "z = (y * y).sum()" in text
        assert "changed at test_views.py" in text
        assert "y[0] = 1.0" in text


def test_keys_are_guarded():
    places, numbers, chosen, values = [0], np.array([1]), np.array([True, False, False]), [5.0]

    def step(x):
        y = x * 1
        y[places] = 7.0
        y[numbers] = y[places] + 1
        y[chosen] = values[0]
        return y

    compiled, x = sg.compile(step), sg.tensor([1.0, 2.0, 3.0])
    for change in (lambda: None, lambda: places.__setitem__(0, 2), lambda: numbers.fill(0), lambda: chosen.fill(False),
                   lambda: values.__setitem__(0, 4.0)):  # fmt: skip
        change()
        assert compiled(x).tolist() == step(x).tolist()


def test_tensors_of_a_graph_are_not_changed():
    with sg.Graph().as_default():
        x = sg.placeholder(shape=(3,), dtype=sg.float32)
        with raised(sg.GraphError, "x[index] = value: "):
            x[0] = 1.0


def test_a_reshape_that_copies_is_no_view_of_a_leaf():
    """Eager mode copies the elements of a broadcast view that no strides describe in the new shape."""

    def step(x):
        y = sg.broadcast_to(x, (2, 3, 3)).reshape((6, 3))[1:]
        z = sg.broadcast_to(x, (2, 3, 3)).reshape((3, 6))
        z.zero_()
        return y, z

    def leaf():
        return sg.tensor(np.arange(9.0).reshape(3, 3), requires_grad=True)

    for found, expected in zip(sg.compile(step)(leaf()), step(leaf()), strict=True):
        np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())


def _changes(x: sg.Tensor, seed: sg.Tensor) -> list[sg.Tensor]:
    """A gradient that is in the memory of another one and of the seed."""
    a, b = x.detach().requires_grad_(), (2 * x).requires_grad_()
    first, second = sg.grad(a + b, [a, b], seed)
    first += 1
    return [first, second, seed * 1]


def _changes_alone(x: sg.Tensor, seed: sg.Tensor) -> list[sg.Tensor]:
    a, b = x.detach().requires_grad_(), (2 * x).requires_grad_()
    first, second = sg.grad(a * b, [a, b], seed)
    first += 1
    return [first, second, seed * 1]


def test_a_change_of_a_gradient_in_the_memory_of_others_is_refused():
    with pytest.raises(sg.TraceError, match="in the memory of its grad_outputs, of another gradient"):
        sg.compile(_changes)(sg.ones(3), sg.ones(3))
    sg.compile(_changes_alone)(sg.ones(3), sg.ones(3))


CHANGED_BY_THEMSELVES = {
    "a part by another part": lambda z: z[:2].mul_(z[1:3]),
    "a part by itself": lambda z: z[:2].mul_(z[:2]),
    "a tensor by a view": lambda z: z.mul_(z.view(6, 4)),
    "a tensor by a row": lambda z: z.div_(z[0]),
    "a row by a row": lambda z: z[0].mul_(z[1]),
    "a tensor by itself": lambda z: z.mul_(z),
    "a power": lambda z: z.pow_(z),
    "a part by a number": lambda z: z[:2].pow_(2),
    "detached": lambda z: z.mul_(z.detach()),
}


@pytest.mark.parametrize("name", CHANGED_BY_THEMSELVES)
def test_gradients_of_changes_by_views_of_the_same_memory(name):
    """An operation that changes its operand in place has saved that operand, and no other one of the same memory."""

    def step(w):
        z = w * 1
        CHANGED_BY_THEMSELVES[name](z)
        z.sum().backward()

    outcomes = []
    for f in (sg.compile(step), step):
        w = sg.tensor(np.linspace(0.5, 1.5, 24).reshape(6, 4), requires_grad=True)
        try:
            f(w)
            outcomes.append(w.grad.tolist())
        except sg.StaticgradError as error:
            outcomes.append(type(error))
    if isinstance(outcomes[1], type):
        assert outcomes[0] is outcomes[1]
    else:
        np.testing.assert_allclose(outcomes[0], outcomes[1], rtol=1e-12)


def test_a_detached_tensor_with_a_tape_of_its_own_is_apart_from_other_changes():
    def step(x, w):
        y, z = x.detach(), x * 1
        y.mul_(w)
        z.add_(1)
        (y * z).sum().backward()
        return z

    outcomes = []
    for f in (sg.compile(step), step):
        w = sg.tensor([2.0, 3.0], requires_grad=True)
        outcomes.append((f(sg.tensor([1.0, 4.0]), w).tolist(), w.grad.tolist()))
    assert outcomes[0] == outcomes[1] == ([2.0, 5.0], [2.0, 20.0])


@pytest.mark.parametrize("on_break", ["error", "split"])
def test_traced_tensors_have_the_name_of_their_class(on_break):
    w, names = sg.ones(2, requires_grad=True), []

    def named(x):
        found = [x, w, x * w, x[:1], w[:1], x.detach(), x.data, (x * 2).expand(3, 2)]
        names.extend(type(y).__name__ for y in found)
        if on_break == "split":
            names.append(type((x * w).sum()).__name__ if x.sum().item() > 0 else "")
        return x * w

    for _ in range(3):
        sg.compile(named, on_break=on_break)(sg.ones(2))
    eager = [*names]
    names.clear()
    named(sg.ones(2))
    assert {*eager} == {*names} == {type(w).__name__}
