"""Containers of layers and of parameters that change before, between and inside compiled steps, against eager mode."""

from __future__ import annotations

import collections

import pytest

import staticgrad as sg
from staticgrad import nn

pytestmark = pytest.mark.usefixtures("interpreted")


class Scaled(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.weight = nn.Parameter(sg.tensor([factor, 1.0]))

    def forward(self, x):
        return x * self.weight


def weight(factor):
    return nn.Parameter(sg.tensor([factor, 1.0]))


def sequential():
    return nn.Sequential(Scaled(2.0), Scaled(3.0), nn.Tanh())


def add(container, values):
    container += values


def layers(factor=5.0):
    return [Scaled(factor), nn.Tanh()]


SEQUENCE = {
    "append": lambda m, new: m.append(new()),
    "extend": lambda m, new: m.extend([new(), new()]),
    "insert": lambda m, new: m.insert(1, new()),
    "pop": lambda m, new: m.pop(0),
    "[0] =": lambda m, new: m.__setitem__(0, new()),
    "[-1] =": lambda m, new: m.__setitem__(-1, new()),
    "del [0]": lambda m, new: m.__delitem__(0),
    "del [-1]": lambda m, new: m.__delitem__(-1),
    "del [1:]": lambda m, new: m.__delitem__(slice(1, None)),
    "+=": lambda m, new: add(m, type(m)(new()) if isinstance(m, nn.Sequential) else [new()]),
    "swap": lambda m, new: (lambda a, b: (m.__setitem__(0, b), m.__setitem__(1, a)))(m[0], m[1]),
    "a weight": lambda m, new: setattr(m[0], "weight", weight(7.0)),
}
PARAMETERS = {
    **{name: SEQUENCE[name] for name in ("append", "extend", "[0] =", "[-1] =", "+=", "swap")},
    "a number": lambda m, new: m.append(2.0),
}
MAPPING = {
    "[a] =": lambda m, new: m.__setitem__("a", new()),
    "[new] =": lambda m, new: m.__setitem__("n", new()),
    "del": lambda m, new: m.__delitem__("b") if "b" in m else None,
    "pop": lambda m, new: m.pop("a") if "a" in m else None,
    "clear": lambda m, new: m.clear(),
    "update": lambda m, new: m.update({"a": new(), "n": new()}),
    "swap": lambda m, new: (lambda a, b: m.update({"a": b, "b": a}))(m["a"], m["b"]),
}
PARAMETER_MAPPING = {
    **MAPPING,
    "a number": lambda m, new: m.__setitem__("n", 2.0),
    "a number's place": lambda m, new: (m.__setitem__("a", m.get("a", 2.0)), m.__setitem__("n", 3.0), m.pop("n")),
    "setdefault": lambda m, new: m.setdefault("n", new()),
    "popitem": lambda m, new: m.popitem(),
}


def applied(m, x):
    return m(x)


def applied_in_turn(m, x):
    for i, layer in enumerate(m):
        x = layer(x) + i
    return x


def applied_by_name(m, x):
    for i, (name, layer) in enumerate(m.items()):
        x = layer(x) + i + len(name)
    return x


def multiplied(m, x):
    for i, w in enumerate(m):
        x = x * w + i
    return x


def multiplied_by_name(m, x):
    for i, (name, w) in enumerate(m.items()):
        x = x * w + i + len(name)
    return x


def scaled():
    return Scaled(5.0)


KINDS = {
    "Sequential": (sequential, SEQUENCE, applied, scaled),
    "a named Sequential": (
        lambda: nn.Sequential(collections.OrderedDict(first=Scaled(2.0), second=nn.Tanh())),
        {name: SEQUENCE[name] for name in ("[0] =", "del [0]", "a weight")}, applied, scaled,
    ),
    "ModuleList": (lambda: nn.ModuleList([Scaled(2.0), Scaled(3.0)]), SEQUENCE, applied_in_turn, scaled),
    "ModuleDict": (lambda: nn.ModuleDict({"a": Scaled(2.0), "b": Scaled(3.0)}), MAPPING, applied_by_name, scaled),
    "ParameterList": (lambda: nn.ParameterList([weight(2.0), weight(3.0)]), PARAMETERS, multiplied, lambda: weight(5.0)),
    "ParameterDict": (
        lambda: nn.ParameterDict({"a": weight(2.0), "b": weight(3.0)}), PARAMETER_MAPPING, multiplied_by_name,
        lambda: weight(5.0),
    ),
}  # fmt: skip
MODES = {
    "whole": lambda step: sg.compile(step),
    "strict": lambda step: sg.compile(step, numerics="strict"),
    "cut": lambda step: sg.compile(lambda x: step(x * (1.0 if x.sum().item() > -100 else 2.0)), on_break="split"),
}


def history(wrap, make, change, use, new, when):
    """The results, the gradients and the names of the parameters after each of four calls."""
    m, made = make(), new()
    found = []

    def step(x):
        if when == "inside":
            change(m, lambda: made)
        result = use(m, x).sum()
        if result.requires_grad:
            result.backward()
        return result

    wrapped = wrap(step)
    if when == "before":
        change(m, lambda: made)
    for i in range(4):
        try:
            found.append(wrapped(sg.tensor([i + 0.5, 0.25])).item())
        except (AttributeError, IndexError, KeyError) as error:
            return [*found, type(error)]
        found.append([(name, p.tolist(), None if p.grad is None else p.grad.tolist()) for name, p in m.named_parameters()])
        if when == "between" and i == 1:
            change(m, lambda: made)
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("when", ["before", "between", "inside"])
@pytest.mark.parametrize("kind", KINDS)
def test_changes(kind, when, mode):
    make, changes, use, new = KINDS[kind]
    for name, change in changes.items():
        expected = history(lambda step: step, make, change, use, new, when)
        assert history(MODES[mode], make, change, use, new, when) == expected, name
