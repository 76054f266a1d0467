"""State that a function does not read is no guard; a number that it reads and that changes becomes an input, wherever it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import staticgrad as sg
from tests.helpers import assert_same

X = np.linspace(-1.0, 1.0, 6).reshape(2, 3).astype(np.float32)


class Plain:
    value = 0


class Inner(sg.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.count = sg.nn.Linear(3, 3), 0

    def forward(self, x):
        return self.linear(x)


class Layer(sg.nn.Dropout):
    """Derived from a layer of the library, whose code reads settings where a trace does not see it."""

    def __init__(self):
        super().__init__(0.0)
        self.count = 0

    def forward(self, x):
        return super().forward(x)


class Net(sg.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.layer, self.plain = Inner(), Layer(), Plain()
        self.count, self.name, self.last, self.items, self.table = 0, "", None, [0, 0], {"a": 0}

    def forward(self, x):
        return self.layer(self.inner(x))

    def scaled(self, x):
        return self(x) * self.count

    def of_parity(self, x):
        return self(x) * 2 if self.count % 2 else self(x)

    def of_layer(self, x):
        return self(x) * self.layer.count

    def of_item(self, x):
        return self(x) * self.items[0]

    def of_table(self, x):
        return self(x) * self.table["a"]

    def of_object(self, x):
        return self(x) * self.plain.value

    def rolled(self, x):
        return sg.roll(self(x), self.count, -1)


Change = Callable[[Net, int], None]
UNREAD: dict[str, Change] = {
    "a number": lambda net, i: setattr(net, "count", i),
    "a text": lambda net, i: setattr(net, "name", "a" * i),
    "a tensor": lambda net, i: setattr(net, "last", sg.ones(i + 1)),
    "a number of a member": lambda net, i: setattr(net.inner, "count", i),
    "a number of a derived layer": lambda net, i: setattr(net.layer, "count", i),
    "a new attribute": lambda net, i: setattr(net, f"more{i}", i),
    "an item": lambda net, i: net.items.__setitem__(0, i),
}
READ: dict[str, tuple[str, Change]] = {
    "a number": ("scaled", UNREAD["a number"]),
    "whether it is odd": ("of_parity", UNREAD["a number"]),
    "a number of a derived layer": ("of_layer", UNREAD["a number of a derived layer"]),
    "an item": ("of_item", UNREAD["an item"]),
    "an item of a dict": ("of_table", lambda net, i: net.table.__setitem__("a", i)),
    "an object's": ("of_object", lambda net, i: setattr(net.plain, "value", i)),
    "a shift": ("rolled", UNREAD["a number"]),
}


def traces(method: str, change: Change, kind: str) -> int:
    net = Net()
    step = sg.compile(net) if kind == "module" else sg.compile(getattr(net, method))
    for i in range(8):
        change(net, i)
        assert_same(step(X), getattr(net, method)(sg.tensor(X)), f"call {i}", 1e-5)
    return len(step.recompiles)


@pytest.mark.parametrize("kind", ["module", "method"])
@pytest.mark.parametrize("name", UNREAD)
def test_what_is_not_read_is_no_guard(name, kind):
    assert traces("forward", UNREAD[name], kind) == 1


@pytest.mark.parametrize("name", READ)
def test_a_number_that_changes_is_an_input(name):
    method, change = READ[name]
    assert traces(method, change, "method") <= (4 if "odd" in name else 3)


@pytest.mark.parametrize(
    "change",
    [
        lambda net: setattr(net.layer, "p", 0.9), lambda net: net.eval(), lambda net: setattr(net.layer, "training", False),
        lambda net: setattr(net.inner.linear, "weight", sg.nn.Parameter(sg.ones(3, 3))),
        lambda net: setattr(net.inner, "forward", lambda x: x * 3), lambda net: setattr(net, "inner", sg.nn.Linear(3, 3)),
    ],
)  # fmt: skip
def test_settings_of_layers_are_guards(change):
    """The library's code reads these."""
    net = Net()
    sg.manual_seed(0)
    step = sg.compile(net)
    for _ in range(2):
        step(X)
    change(net)
    for _ in range(2):
        sg.manual_seed(1)
        found = step(X)
        sg.manual_seed(1)
        assert_same(found, net(sg.tensor(X)), rtol=1e-5)


ROLLED: dict[str, Callable[[Any, Any], Any]] = {
    "an axis": lambda x, k: sg.roll(x, k, -1),
    "flattened": lambda x, k: sg.roll(x, k),
    "two axes": lambda x, k: sg.roll(x, (k, 1), (0, 1)),
    "both by it": lambda x, k: sg.roll(x, (k, -k), (0, 1)),
    "its gradient": lambda x, k: sg.grad((sg.roll(x, k, 1) ** 2 * x).sum(), [x])[0],
}
SHIFTS = [3, -1, 0, 2, 7, -8, 1]


@pytest.mark.parametrize("settings", [{}, {"numerics": "strict"}, {"on_break": "split"}], ids=str)
@pytest.mark.parametrize("name", ROLLED)
def test_roll_by_a_number_that_changes(name, settings):
    fn = ROLLED[name]
    x = np.arange(12.0).reshape(3, 4)
    by_number, by_tensor = sg.compile(fn, **settings), sg.compile(fn, **settings)
    for k in SHIFTS:
        expected = fn(sg.tensor(x, requires_grad=True), k)
        assert_same(by_number(sg.tensor(x, requires_grad=True), k), expected, f"{k}", 1e-12)
        assert_same(by_tensor(sg.tensor(x, requires_grad=True), sg.tensor(k)), expected, f"tensor {k}", 1e-12)
    assert len(by_number.recompiles) <= 3
    assert len(by_tensor.recompiles) == 1
    assert by_tensor.segmented is by_number.segmented is None
    with sg.Graph().as_default(), sg.Session() as session:
        fed, shift = sg.placeholder(sg.float64, [None, 4]), sg.placeholder(sg.int32, [])
        result = sg.roll(fed, shift, 1)
        for k in SHIFTS:
            np.testing.assert_array_equal(session.run(result, {fed: x, shift: k}), np.roll(x, k, 1))
