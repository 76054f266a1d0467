"""The walk back: its order, its targets, and the loop that the eager engine has in place of the general walk."""

from __future__ import annotations

import numpy as np
import pytest

import staticgrad as sg
from staticgrad.autodiff.pull import Pull, between
from staticgrad.eager.backward_engine import BackwardEngine

OPERANDS = {"d": ("b", "c"), "c": ("b",), "b": ("a",), "e": ("x",)}


class Named(Pull[str]):
    """Values are letters, and a rule gives 10 times the cotangent."""

    age = ord

    def __init__(self, targets=(), needed=None):
        super().__init__(targets)
        self.needed, self.seen = needed, []

    def edges(self, value):
        found = [*enumerate(OPERANDS.get(value, ()))]
        return found if self.needed is None else self.needed.get(value, ())

    def hooked(self, value, g):
        self.seen.append(value)
        return g + 1 if value == "b" else g

    def rules(self, value, g, edges):
        return [10 * g for _ in edges]

    def total(self, value, known, g):
        return known + g


def test_a_value_is_visited_once_and_after_all_that_read_it():
    walk = Named(targets={"a", "b"})
    walk.add("d", 1)
    walk.add("d", 1)
    walk.walk()
    assert walk.seen == ["d", "c", "b", "a"]
    assert walk.found == {"b": 20 + 200 + 1, "a": 2210}


def test_only_paths_to_targets_are_taken():
    needed = between("abcde", lambda value: [*enumerate(OPERANDS.get(value, ()))], {"c"})
    assert needed == {"d": [(1, "c")]}
    walk = Named({"c"}, needed)
    walk.add("d", 1)
    walk.walk()
    assert walk.seen == ["d", "c"]
    assert walk.found == {"c": 10}


def program(w, a, v):
    """Values that are read several times, views, parts, products, and operands without a gradient."""
    x = w * a + v
    y = (x @ a).tanh() * x[0] + x.T.exp()
    z = sg.cat([y, x], 0)
    return (z * z).sum() + y[1:].sum() + (v.detach() * w).mean()


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("targets", [False, True])
def test_the_loop_of_the_engine_is_the_general_walk(monkeypatch, create, targets):
    rng = np.random.default_rng(7)
    arrays = [rng.normal(size=(4, 4)) for _ in range(3)]

    def gradients():
        w, v = (sg.tensor(x, requires_grad=True) for x in arrays[:2])
        loss = program(w, sg.tensor(arrays[2]), v)
        if targets:
            (found,) = sg.grad(loss, [w], retain_graph=True, create_graph=create)
            return found.detach().numpy()
        loss.backward(retain_graph=True, create_graph=create)
        return np.stack([w.grad.detach().numpy(), v.grad.detach().numpy()])

    with sg.eager_kernels(False):
        expected = gradients()
        monkeypatch.setattr(BackwardEngine, "walk", Pull.walk)
        np.testing.assert_array_equal(gradients(), expected)
