"""Names from before PyTorch 0.4 work, eagerly and compiled, and a warning at the user's line names today's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autograd import Variable


def loss_of(x):
    return (x * 2.0).sum()


def creator(x):
    assert loss_of(x).creator.name() == "SumBackward0"


def previous_functions(x):
    node = loss_of(x).grad_fn
    assert [fn.name() for fn, _ in node.previous_functions] == ["MulBackward0"]


def retain_variables(x):
    loss = loss_of(x)
    loss.backward(retain_variables=True)
    loss.backward()


def retain_variables_of_several(x):
    loss = loss_of(x)
    sg.autograd.backward([loss], retain_variables=True)
    loss.backward()


def volatile(x):
    assert x.volatile is False


def first_place(x):
    assert loss_of(x).data[0].shape == ()


NAMES = [
    (creator, FutureWarning, "Use `grad_fn` instead"),
    (previous_functions, FutureWarning, "Use `next_functions` instead"),
    (retain_variables, FutureWarning, "Use `retain_graph` instead"),
    (retain_variables_of_several, FutureWarning, "Use `retain_graph` instead"),
    (volatile, UserWarning, "volatile was removed"),
    (first_place, FutureWarning, "Use `tensor.item\\(\\)`"),
]


@pytest.mark.parametrize(("use", "category", "text"), NAMES)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_former_names_work_and_warn(use, category, text, compiled):
    def run(x):
        use(x)
        return x * 1.0

    x = sg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.warns(category, match=text) as told:
        (sg.compile(run) if compiled else run)(x)
    assert [w.filename for w in told] == [__file__]


def test_volatile_has_no_effect():
    with pytest.warns(UserWarning, match="Use `with torch.no_grad\\(\\):` instead"):
        assert Variable(sg.ones(2), requires_grad=True, volatile=True).requires_grad


@pytest.mark.parametrize("place", [0, -1, np.int64(0)])
def test_the_place_of_a_scalar_is_the_scalar(place):
    x = sg.tensor(3.0, requires_grad=True)
    with pytest.warns(FutureWarning, match="0-dim"):
        first = (x * x)[place]
    first.backward()
    assert first.item() == 9.0
    assert x.grad.item() == 6.0
    total = 0.0
    with pytest.warns(FutureWarning, match="0-dim"):
        total += (x * x).data[place]
    assert total.item() == 9.0


def test_a_placeholder_of_no_axes_has_a_first_place():
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float64, [])
        with pytest.warns(FutureWarning, match="0-dim"):
            first = x[0]
        assert sg.Session().run(first, {x: 2.5}) == 2.5


@pytest.mark.parametrize("key", [1, -2, (0, 0), True, slice(None)])
def test_other_keys_of_a_scalar_mean_what_they_mean(key):
    x = sg.tensor(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if key is True:
            assert x[key].shape == (1,)
        else:
            with pytest.raises(IndexError, match="too many indices"):
                x[key]
